#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the figures of campaigns draw: intervals where there are any and nowhere else, what was not faithful, whole numbers of sessions.
Looked up in the figures themselves. Needs matplotlib. usage: figures_test.py SOURCE"""
import os
import sys
import types
import unittest

sys.path.insert(0, f"{sys.argv[1]}/tools/python")
try:
    from heliograph import campaign_report, plot  # noqa: E402
except ModuleNotFoundError:
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])  # as the programs do: the system's has what one's own may lack


def labels(figure):
    return figure.axes[0].get_legend_handles_labels()[1]


class Figures(unittest.TestCase):
    def test_intervals(self):
        one = [("A", [(1, 10.0, None), (7, 20.0, None)], set())]
        container, = plot.lines("", "", "", one).axes[0].containers
        self.assertFalse(container.has_yerr, "one repetition has no interval")
        some = [("A", [(1, 10.0, 2.0), (7, 20.0, None)], set())]
        container, = plot.lines("", "", "", some).axes[0].containers
        self.assertTrue(container.has_yerr)
        bars = plot.bars("", "", ["x", "y"], [("A", [1.0, 2.0], [None, None])]).axes[0].containers
        self.assertIsNone(bars[0].errorbar)
        bars = plot.bars("", "", ["x", "y"], [("A", [1.0, 2.0], [0.5, None])]).axes[0].containers
        self.assertIsNotNone([c for c in bars if hasattr(c, "errorbar")][0].errorbar)

    def test_sensitivity_by_hand(self):
        """100 and 110 at one value of the other parameter, 200 and 280 at the other: swings of 2/21 and 1/3; 2/3 and 34/39."""
        table = [types.SimpleNamespace(values={"a": a, "b": b}, mean=lambda metric, mean=mean: mean)
                 for a, b, mean in ((1, 1, 100.0), (2, 1, 110.0), (1, 2, 200.0), (2, 2, 280.0))]
        swept = types.SimpleNamespace(sweep={"a": [1, 2], "b": [1, 2]})
        for name, wanted in (("a", (200 / 21, 100 / 3)), ("b", (200 / 3, 3400 / 39))):
            for one, other in zip(campaign_report.swings(swept, table, name, "goodput"), wanted, strict=True):
                self.assertAlmostEqual(one, other)

    def test_figure_5_has_the_tables_intervals(self):
        parts = [("ideal", [22.0, 22.0]), ("lost checkpoints", [74.0, 3.0])]
        figure = plot.stacked("", "", ["RTO 1s", "RTO 30ms"], parts, [135, 33], [42.0, None])
        error, = [c for c in figure.axes[0].containers if type(c).__name__ == "ErrorbarContainer"]
        segments = error.lines[2][0].get_segments()
        self.assertEqual([round(y, 6) for y in (segments[0][0][1], segments[0][1][1])], [54.0, 138.0])
        self.assertIn("95 % interval", labels(figure))
        figure = plot.stacked("", "", ["RTO 1s", "RTO 30ms"], parts, [135, 33], [None, None])
        self.assertNotIn("95 % interval", labels(figure))

    def test_what_was_not_faithful_looks_so(self):
        figure = plot.lines("", "", "", [("A", [(1, 10.0, None), (7, 20.0, None)], {7})])
        self.assertIn("not faithful", labels(figure))
        hollow = [line for line in figure.axes[0].lines if line.get_label() == "not faithful"][0]
        self.assertEqual(list(hollow.get_xdata()), [7])
        for figure in (plot.bars("", "", ["x", "y"], [("A", [1.0, 2.0], [None, None])], weak=[False, True]),
                       plot.stacked("", "", ["x", "y"], [("ideal", [1.0, 2.0])], weak=[False, True])):
            good, weak = figure.axes[0].patches[:2]
            self.assertEqual(weak.get_facecolor(), (1, 1, 1, 1))
            self.assertNotEqual(good.get_facecolor(), weak.get_facecolor())
            self.assertEqual(weak.get_label(), "not faithful")

    def test_whole_numbers_of_sessions(self):
        figure = plot.lines("", "", "", [("A", [(1, 10.0, None), (5, 20.0, None)], set())])
        figure.canvas.draw()
        low, high = figure.axes[0].get_xlim()
        ticks = [t for t in figure.axes[0].get_xticks() if low <= t <= high]
        self.assertTrue(len(ticks) > 1 and all(float(t).is_integer() for t in ticks), ticks)

    def test_a_series_keeps_its_colour(self):
        """A trace has its colour in lines and in bars, whatever is left out."""
        lines = plot.lines("", "", "", [("A", [], set()), ("F", [(1, 2.0, None)], set())])
        self.assertEqual(lines.axes[0].lines[0].get_color(), plot.COLOURS[1])
        bars = plot.bars("", "", ["x"], [("A", [1.0], [None]), ("F", [1.0], [None])])
        self.assertEqual([round(v, 3) for v in bars.axes[0].patches[1].get_facecolor()[:3]],
                         [round(int(plot.COLOURS[1][i:i + 2], 16) / 255, 3) for i in (1, 3, 5)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
