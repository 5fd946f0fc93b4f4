# SPDX-License-Identifier: Apache-2.0
"""What the figures of campaigns draw: intervals where there are any and nowhere else, what was not faithful, whole numbers of sessions.
Looked up in the figures themselves. Needs matplotlib."""
import csv
import json
import os
import tempfile
import types
import unittest
import unittest.mock

from heliograph.campaign import (
    data as campaign_data,
    export as campaign_export,
    figures as campaign_figures,
    pairs as campaign_pairs,
    report as campaign_report,
)
from heliograph.figures import plot


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
            for one, other in zip(campaign_figures.swings(swept, table, name, "goodput"), wanted, strict=True):
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
        for figure in (plot.bars("", "", ["x", "y"], [("A", [1.0, 2.0], [None, None])], weak=[[False, True]]),
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

    def test_ticks_are_where_the_points_are(self):
        """But for those whose labels would meet."""
        def ticks(*values):
            figure = plot.lines("", "", "", [("A", [(x, 10.0 + x, None) for x in values], set()), ("F", [(x, 1.0, None) for x in values], set())])
            figure.canvas.draw()
            axes = figure.axes[0]
            boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
            self.assertFalse([1 for a, b in zip(boxes, boxes[1:]) if a.x1 >= b.x0], values)
            return list(axes.get_xticks()), [label.get_text() for label in axes.get_xticklabels()]

        for values, names in (((5, 125, 1280), ["5", "125", "1280"]), ((0.5, 2.5, 4), ["0.5", "2.5", "4"]), ((7,), ["7"]),
                              ((1, 2, 3, 4, 5, 6, 7, 8, 10, 15, 20), ["1", "2", "3", "4", "5", "6", "7", "8", "10", "15", "20"]),
                              ((50000, 500000, 4000000), ["50000", "500000", "4000000"])):
            self.assertEqual(ticks(*values), (list(values), names))
        self.assertEqual(ticks(0.4, 1, 2.5, 10, 25, 100)[0], [0.4, 10, 25, 100])
        self.assertIsNone(plot.ticks_at(range(40)))
        self.assertIsNone(plot.ticks_at((1, 1.01, 1.02, 1.03, 1000)))
        self.assertIsNone(plot.ticks_at(()))

    def results(self, **goodput):
        """A row of a table with these results, Mbit/s, of repetitions r1, r2 …"""
        found = {int(name[1:]): {"goodput_bps": 1e6 * value} for name, value in goodput.items()}
        return types.SimpleNamespace(values={"trace": "A"}, results=found, repetitions=len(found), faithful=True, reasons=[])

    def test_pairs_are_of_one_realisation(self):
        """Repetition by repetition, and of those alone that both have."""
        ours, theirs = self.results(r1=100.0, r2=200.0, r4=50.0), self.results(r2=210.0, r3=1.0, r4=60.0)
        for found, wanted in zip(campaign_report.percents("goodput", ours, theirs), (5.0, 20.0), strict=True):
            self.assertAlmostEqual(found, wanted)

    def test_a_difference_is_what_the_test_says(self):
        """Half a percent in each repetition is one; 20 % that one repetition alone has is none; nor is what is left when many are tested."""
        swept = types.SimpleNamespace(name="x", sweep={"trace": ["A"]})
        found = []
        with unittest.mock.patch.dict(campaign_data.METRICS, {metric: ("", "", lambda r, v: r["goodput_bps"]) for _, metric in campaign_report.COMPARED}):
            for theirs in ((99.5, 99.49, 99.51), (60.0, 100.0, 100.1), (98.0, 97.0, 96.0)):
                found.append(campaign_report.difference(swept, "relay", self.results(r1=100.0, r2=100.0, r3=100.0), self.results(**{f"r{i}": v for i, v in enumerate(theirs, 1)})))
        one, two, three = campaign_report.judge(found)
        self.assertAlmostEqual(one["goodput_percent"], -0.5)
        self.assertAlmostEqual(two["goodput_percent"], -13.3, places=6)
        self.assertEqual([d["goodput_differs"] for d in (one, two)], [True, False])
        # t = 3 * 3 ** 0.5 with 2 degrees of freedom; of three tests it is the second
        p = 1 - (27 / 29) ** 0.5
        self.assertAlmostEqual(three["goodput_p"], p, places=6)
        self.assertAlmostEqual(three["goodput_p_adjusted"], 2 * p, places=6)
        self.assertEqual((p < 0.05, three["goodput_differs"]), (True, False))
        every, = [d for d in campaign_report.over_all(found) if d["metric"] == "goodput"]
        self.assertEqual(every["settings"], 3)
        self.assertAlmostEqual(every["percent"], (-0.5 - 13.3 - 3) / 3)
        self.assertAlmostEqual(every["median_percent"], 3)
        self.assertAlmostEqual(every["most_percent"], 13.3)

    def test_differences_between_settings_are_of_pairs(self):
        """Rates that differ by 30 % between repetitions and by 1 % between settings: known well. By hand: 1.0, 1.1, 0.9, 1.0, 1.0 %, sd 0.0707, t 2.776."""
        def row(sessions, *goodput):
            found = {n: {"goodput_bps": 1e6 * value} for n, value in enumerate(goodput, 1)}
            return types.SimpleNamespace(values={"trace": "A", "sessions": sessions}, results=found, half=lambda metric: 1.0, grain=lambda: 0.016)

        base = (100.0, 130.0, 110.0, 90.0, 105.0)
        more = [value * (1 + percent / 100) for value, percent in zip(base, (1.0, 1.1, 0.9, 1.0, 1.0))]
        swept = types.SimpleNamespace(name="x", sweep={"trace": ["A"], "sessions": [9, 3, 5]})
        with unittest.mock.patch.dict(campaign_data.METRICS, {metric: ("", "", lambda r, v: r["goodput_bps"]) for metric in campaign_pairs.COMPARED}):
            found = campaign_pairs.judge(campaign_pairs.compared(swept, [row(9, *more), row(3, *base), row(5, *more)]))
        self.assertEqual([(e["from"], e["to"], e["others"]) for e in found], [(3, 5, {"trace": "A"}), (5, 9, {"trace": "A"})])
        up, same = (e["goodput"] for e in found)
        self.assertAlmostEqual(up["percent"], 1.0)
        self.assertAlmostEqual(up["ci95"], 2.776 * 0.005 ** 0.5 / 5 ** 0.5, places=5)
        # two differences in three figures are six tests: t of 5/6 % with 4 degrees of freedom
        self.assertEqual(len(campaign_pairs.COMPARED), 3)
        for metric in campaign_pairs.COMPARED:
            self.assertAlmostEqual(found[0][metric]["ci95_all"] / found[0][metric]["ci95"], 4.8510 / 2.7764, places=3)
            self.assertAlmostEqual(found[0][metric]["p_adjusted"], 6 * found[0][metric]["p"])
        self.assertEqual((up["differs"], same["differs"], same["percent"]), (True, False, 0.0))
        # one bundle is 1.6 %: a difference of 1.0 ± 0.09 % is one of whole bundles
        self.assertEqual((up["step"], up["coarse"], "step" in found[0]["session_mean"]), (1.6, True, False))
        self.assertEqual(campaign_report.pair_shown(up), "+1.00 (steps of 1.6)")
        self.assertEqual(campaign_report.pair_shown({**up, "coarse": False, "ci95_all": 0.11}), "+1.00 ± 0.09 (0.11)")
        self.assertFalse(campaign_pairs.steps_of(row(3), row(5), 0.9)["coarse"])
        self.assertEqual(campaign_pairs.steps("recovery", ["plain", "default", "ion"]), [("plain", "default"), ("plain", "ion")])
        self.assertEqual(campaign_pairs.compared(types.SimpleNamespace(name="x", sweep={"trace": ["A", "F"]}), [row(1, *base)]), [])  # other fades are no pairs

    def test_steps_of_whole_bundles_are_no_interval(self):
        """10 s at some 90 Mbit/s, bundles of 2 MB: 1.6 Mbit/s each, so that ± 0.0 tells nothing."""
        values = {"bundle": "2MB", "duration": "10s", "delay": "5ms", "warmup": "0s"}
        for half, text, coarse in ((0.0, "89.6 (steps of 1.6)", True), (0.7, "89.6 (steps of 1.6)", True), (0.9, "89.6 ± 0.9", False), (None, "89.6", False)):
            row = campaign_data.Row(values, {"goodput": (89.6, half)}, 5, 0, [])
            self.assertAlmostEqual(row.grain(), 1.6 / 89.6)
            self.assertEqual((campaign_report.shown(row, "goodput"), row.coarse("goodput")), (text, coarse))
            self.assertEqual("1 of 1 settings" in (campaign_report.coarse_words([row]) or ""), coarse)
        # the efficiency is counted in the same steps, also where the capacity differs more
        row = campaign_data.Row(values, {"goodput": (89.6, 0.9), "efficiency": (99.0, 0.5)}, 5, 0, [])
        self.assertEqual(campaign_report.shown(row, "efficiency"), "99.0 (steps of 1.8)")
        self.assertIn("1 of 1 settings", campaign_report.coarse_words([row]))

    def test_steps_of_whole_bundles_are_no_interval_in_files(self):
        """The tables for a paper and the CSV file have none where the page has none: steps of 1.6, with equal goodput in all repetitions."""
        rows = [campaign_data.Row({"bundle": "2MB", "duration": "10s", "delay": "5ms", "warmup": "0s", "sessions": sessions}, {
            **dict.fromkeys(campaign_data.METRICS, (None, None)), "goodput": (89.6, half), "efficiency": (99.0, 1.1 * half + 0.0001), "delivery_mean": (70.0, 0.02)}, 5, 0, [])
            for sessions, half in ((3, 0.0), (5, 0.9))]
        swept = types.SimpleNamespace(name="x", sweep={"sessions": [3, 5]}, runs=[types.SimpleNamespace(kind="ltp")])
        metrics = ["goodput", "efficiency", "delivery_mean"]
        body = [line for line in campaign_export.table(swept, rows, metrics).splitlines() if line[:1].isdigit()]
        self.assertEqual(body, [r"3 & $89.6$ & $99$ & $70 \pm 0.02$ \\", r"5 & $89.6 \pm 0.9$ & $99 \pm 0.99$ & $70 \pm 0.02$ \\"])
        with tempfile.TemporaryDirectory() as folder:
            campaign_data.write_csv(f"{folder}/x.csv", swept, rows)
            with open(f"{folder}/x.csv", newline="", encoding="utf-8") as f:
                found = [[r[f"{name}_ci95"] for name in metrics] for r in csv.DictReader(f)]
        self.assertEqual(found, [["", "", "0.02"], ["0.9", "0.99", "0.02"]])
        with unittest.mock.patch.object(campaign_figures.campaign_names, "number", side_effect=lambda _, value: (value, "")):
            (_, points, _), = campaign_figures.series(types.SimpleNamespace(labels={}), swept, rows, "sessions", "efficiency")
        self.assertEqual([half if half is None else round(half, 2) for *_, half in points], [None, 0.99])

    def test_more_than_all_has_a_note(self):
        """An efficiency above 100 %, as it is shown, on the page and in the table for a paper."""
        for mean, text, note in ((100.2, "100.2* ± 0.3", True), (100.06, "100.1* ± 0.3", True), (100.04, "100.0 ± 0.3", False), (99.9, "99.9 ± 0.3", False)):
            row = campaign_data.Row({"rto": "30ms"}, {"efficiency": (mean, 0.3), "session_mean": (120.0, None)}, 5, 0, [])
            self.assertEqual((campaign_report.shown(row, "efficiency"), campaign_report.shown(row, "session_mean")), (text, "120.0"))
            self.assertEqual((campaign_report.above_words([row]) or "").startswith("* Above 100 %: "), note)
            tex = campaign_export.table(types.SimpleNamespace(sweep={"rto": ["30ms"]}), [row], ["efficiency", "session_mean"])
            self.assertEqual(("^{*}" in tex, "\\multicolumn{3}{l}{\\footnotesize * Above 100 \\%: " in tex), (note, note))
            self.assertEqual(tex.count("{"), tex.count("}"))

    def test_what_matters_most_is_first(self):
        table = [types.SimpleNamespace(values={"a": a, "b": b}, mean=lambda metric, mean=100.0 + a + 50 * b: mean) for a in (1, 2) for b in (1, 2)]
        swept = types.SimpleNamespace(name="x", sweep={"a": [1, 2], "b": [1, 2]}, runs=[types.SimpleNamespace(kind="ltp")])
        drawn = []
        with unittest.mock.patch.object(plot, "save", side_effect=lambda figure, *_: drawn.append(figure)):
            self.assertEqual([f["name"] for f in campaign_figures.sensitivity(types.SimpleNamespace(labels={}), swept, table, "", lambda name: None)], ["x-sensitivity-goodput", "x-sensitivity-session_mean"])
        self.assertEqual([label.get_text() for label in drawn[0].axes[0].get_xticklabels()], ["b", "a"])
        self.assertAlmostEqual(drawn[0].axes[0].patches[0].get_height(), (100 * 50 / 176 + 100 * 50 / 177) / 2)

    def test_what_a_crash_left_says_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/run.json"
            self.assertEqual(campaign_report.read_about(path), {})
            for text, wanted in (("{", {}), ("[]", {}), ("", {}), ('{"commit": "x"}', {"commit": "x"})):
                with open(path, "w", encoding="ascii") as f:
                    f.write(text)
                self.assertEqual(campaign_report.read_about(path), wanted)

    def test_figures_of_a_paper_by_hand(self):
        """pgfplots: points with their intervals; booktabs: mean and half of the interval; what TeX would take for its own."""
        text = campaign_export.picture("t", "a_b", "50 %", [("A & F", [(1, 10.5, 0.25), (7, 20.0, None)], {7})])
        for line in ("\\begin{axis}[xlabel={a\\_b}, ylabel={50 \\%}, legend pos=outer north east, grid=major]", "  (1, 10.5) +- (0, 0.25)",
                     "  (7, 20) +- (0, 0) % not faithful", "\\addlegendentry{A \\& F}"):
            self.assertIn(line, text.splitlines())
        self.assertIn("error bars/.cd, y dir=both, y explicit", text)
        swept = types.SimpleNamespace(sweep={"rto": ["30ms"]})
        rows = [campaign_data.Row({"rto": "30ms"}, {"goodput": metric}, 2, 0, []) for metric in ((473.21, 1.52), (473.21, None), (None, None))]
        body = [line for line in campaign_export.table(swept, rows, ["goodput"]).splitlines() if line.endswith(r"\\")]
        self.assertEqual(body, [r"rto & goodput (Mbit/s) \\", r"30ms & $473.2 \pm 1.5$ \\", r"30ms & $473.2$ \\", r"30ms & -- \\"])

    def test_notebook_draws_the_tables(self):
        """Its cells run, and draw what the CSV file has: lines of what is swept beside, no interval where there is none."""
        experiment = types.SimpleNamespace(name="x", title="X", sweep={"trace": ["A", "F"], "sessions": [1, 2, 3]})
        book = json.loads(campaign_export.notebook(types.SimpleNamespace(title="T", experiments=[experiment])))
        self.assertEqual((book["nbformat"], [one["cell_type"] for one in book["cells"]]), (4, ["markdown", "code", "code"]))
        with tempfile.TemporaryDirectory() as folder:
            rows = [(trace, n, base + n, half) for trace, base, half in (("A", 10, 0.5), ("F", 20, "")) for n in (1, 2, 3)]
            with open(f"{folder}/x.csv", "w", encoding="ascii") as f:
                f.write("trace,sessions,repetitions,goodput,goodput_ci95\n" + "".join(f"{t},{n},3,{y},{half}\n" for t, n, y, half in rows))
            before = os.getcwd()
            os.chdir(folder)
            self.addCleanup(plot.plt.close, "all")
            try:
                with unittest.mock.patch.object(plot.plt, "show"):
                    plot.plt.figure()
                    exec("".join("".join(one["source"]) + "\n" for one in book["cells"][1:]), {})  # pylint: disable=exec-used
            finally:
                os.chdir(before)
        a, f = plot.plt.gca().containers
        self.assertEqual([(c.get_label(), list(c.lines[0].get_ydata())) for c in (a, f)], [("A", [11, 12, 13]), ("F", [21, 22, 23])])
        self.assertEqual((a.has_yerr, f.has_yerr), (True, False))
        self.assertEqual([[round(y, 6) for _, y in one] for one in a.lines[2][0].get_segments()], [[10.5, 11.5], [11.5, 12.5], [12.5, 13.5]])

    def test_a_series_keeps_its_colour(self):
        """A trace has its colour in lines and in bars, whatever is left out."""
        lines = plot.lines("", "", "", [("A", [], set()), ("F", [(1, 2.0, None)], set())])
        self.assertEqual(lines.axes[0].lines[0].get_color(), plot.COLOURS[1])
        bars = plot.bars("", "", ["x"], [("A", [1.0], [None]), ("F", [1.0], [None])])
        self.assertEqual([round(v, 3) for v in bars.axes[0].patches[1].get_facecolor()[:3]],
                         [round(int(plot.COLOURS[1][i:i + 2], 16) / 255, 3) for i in (1, 3, 5)])

