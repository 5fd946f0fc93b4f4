#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures that a campaign's file gets: which axis, which lines or bars, which words; and the files of the page, run.
Needs matplotlib. usage: campaign_figures_test.py BIN SOURCE"""
import contextlib
import functools
import io
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock
from pathlib import Path

import _paths  # noqa: F401
try:
    from heliograph import programs  # noqa: E402
    from heliograph.campaign import cli as campaign_cli, equal, figures as campaign_figures, file as campaign_file, names as campaign_names  # noqa: E402
    from heliograph.figures import plot  # noqa: E402
except ModuleNotFoundError:
    if sys.executable == "/usr/bin/python3":
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])  # as the programs do: the system's has what one's own may lack

sys.argv[1] = str(Path(sys.argv[1]).resolve())
programs.PLACE = sys.argv[1]
RATES = ("iid:0.001", "iid:0.003", "iid:0.01", "iid:0.03", "iid:0.1", "iid:0.2", "none")


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(plot.plt.close, "all")
        self.folder = Path(folder.name)

    def load(self, text):
        path = self.folder / "c.yaml"
        path.write_text(text, encoding="utf-8")
        return campaign_file.load(str(path))

    def drawn(self, text, metric="goodput", of=float):
        """The figure of the first experiment, whose n-th setting has the result of(n) ± 0.5; of: n itself by default."""
        campaign = self.load(text)
        experiment, figures = campaign.experiments[0], {}
        table = [types.SimpleNamespace(values=dict(one), mean=lambda m, n=n: of(n), shown_half=lambda m: 0.5, faithful=True, repetitions=1, metrics={metric: (of(n), 0.5)})
                 for n, one in enumerate(dict.fromkeys(run.parameters for run in experiment.runs), 1)]
        with unittest.mock.patch.object(plot, "save", side_effect=lambda figure, folder, name: figures.update({name: figure})), \
                unittest.mock.patch.dict(campaign_figures.PLOTS, {"ltp": (metric,)}):
            campaign_figures.figures(campaign, experiment, table, str(self.folder), lambda name: None)
        return figures[f"{experiment.name}-{metric}"]

    def words(self, figure):
        axes = figure.axes[0]
        return axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()


class Progress(Base):
    def test_what_is_drawn_is_told(self):
        """The report of a long campaign is not silent: each line has the figure that is being drawn."""
        self.load("experiments:\n  - {name: x, sweep: {sessions: [1, 2]}}\n  - {name: y, sweep: {sessions: [3, 4]}}\nset: {trace: none, duration: 100ms}\n")
        said = io.StringIO()

        def save(figure, folder, name):
            plot.plt.close(figure)
            time.sleep(0.05)
            return "<svg></svg>"

        self.assertEqual(campaign_cli.main([str(self.folder / "c.yaml"), "--out", str(self.folder / "out"), "--no-report"]), 0)
        with unittest.mock.patch.object(plot, "save", side_effect=save), contextlib.redirect_stderr(said), \
                unittest.mock.patch.object(programs, "Progress", functools.partial(programs.Progress, stream=said, every=0.01)):
            self.assertEqual(campaign_cli.main([str(self.folder / "c.yaml"), "--out", str(self.folder / "out"), "--report"]), 0)
        lines = said.getvalue().splitlines()
        self.assertIn("helio-campaign: drawing the report", lines)
        self.assertRegex(said.getvalue(), r"(?m)^helio-campaign: \d+ s: the report: experiment 1 of 2, figure x-goodput$")
        self.assertRegex(said.getvalue(), r"(?m)^helio-campaign: \d+ s: the report: experiment 2 of 2, figure y-delivery_p99$")
        self.assertTrue(lines[-1].startswith("helio-campaign: the report is "), lines)
        self.assertEqual(programs.Progress.EVERY, 10.0)  # seconds, where it is not given


class Equal(Base):
    def words(self, goodput, begun, text="{trace: [A], sessions: [2, 4, 8]}"):
        experiment = self.load(f"experiments:\n  - name: x\n    sweep: {text}\n").experiments[0]
        rows = {run.parameters: run for run in experiment.runs}
        return equal.words(experiment, [types.SimpleNamespace(values=run.values, repetitions=1, metrics={"goodput": (goodput[n], None)},
                                                              results={1: {} if begun[n] is None else {"sessions_begun_max": begun[n]}}) for n, run in enumerate(rows.values())])

    def test_sessions_that_change_nothing(self):
        self.assertEqual(self.words((75.0, 88.9, 88.9), (2, 4, 3)),
                         ["Equal with 4 and 8 sessions (trace A): no more than 4 of them were under way at once; others would wait for the line."])
        self.assertEqual(self.words((88.9, 88.9, 88.9), (2, 2, 2), "{sessions: [2, 4, 8]}"),
                         ["Equal with 2, 4 and 8 sessions: no more than 2 of them were under way at once; others would wait for the line."])

    def test_what_the_counters_do_not_show_is_not_said(self):
        for goodput, begun in (((75.0, 88.9, 88.9), (2, 4, 5)), ((75.0, 88.9, 88.9), (2, 4, None)), ((1.0, 2.0, 3.0), (2, 2, 2))):
            self.assertEqual(self.words(goodput, begun), [])
        self.assertEqual(self.words((1.0, 1.0, 1.0), (1, 1, 1), "{rto: [20ms, 40ms, 80ms]}"), [])


class Lines(Base):
    def file(self, *sweep, head="title: T\n"):
        return f"{head}experiments:\n  - name: x\n    title: X\n    sweep: {{{', '.join(sweep)}}}\n"

    def test_rates_of_erasures_are_numbers(self):
        """One line for each recovery, with intervals, over the rate, in whichever order the two are swept."""
        recovery, trace = "recovery: [plain, default]", f"trace: [{', '.join(repr(r) for r in RATES)}]"
        for sweep, first in (((recovery, trace), [7, 1, 2, 3, 4, 5, 6]), ((trace, recovery), [13, 1, 3, 5, 7, 9, 11])):
            figure = self.drawn(self.file(*sweep))
            plain, default = figure.axes[0].containers
            self.assertEqual((plain.get_label(), default.get_label()), ("recovery plain", "recovery default"))
            self.assertTrue(plain.has_yerr)
            self.assertEqual(list(plain.lines[0].get_xdata()), [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2])
            self.assertEqual(list(plain.lines[0].get_ydata()), first)
            self.assertEqual(self.words(figure), ("T: X", "erasure rate", "goodput (Mbit/s)"))
            axes = figure.axes[0]
            self.assertEqual(axes.get_xscale(), "linear")
            self.assertEqual(sorted([*axes.get_xticks(), *axes.get_xticks(minor=True)]), [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2])
            self.assertEqual([t.get_text() for t in axes.get_xticklabels()], ["0", "0.01", "0.03", "0.1", "0.2"])

    def test_decades_have_a_logarithmic_axis(self):
        """More than two decades, and no 0; a tick at each value."""
        for values, scale in ((RATES[:6], "log"), (RATES[:5], "linear"), (RATES, "linear")):
            axes = self.drawn(self.file("recovery: [plain, default]", f"trace: [{', '.join(repr(r) for r in values)}]")).axes[0]
            self.assertEqual(axes.get_xscale(), scale, values)
            if scale == "log":
                self.assertEqual([t.get_text() for t in axes.get_xticklabels()], [r[4:] for r in values])
                text = (self.folder / "x-goodput.tex").read_text(encoding="utf-8")
                self.assertIn("xlabel={erasure rate}, ylabel={goodput (Mbit/s)}, legend pos=outer north east, grid=major, xmode=log]", text)

    def test_other_traces_are_no_numbers(self):
        self.assertEqual([campaign_names.number("trace", v)[0] for v in ("none", "iid:0.25", "iid:A", "A", "iid:")], [0, 0.25, None, None, None])
        self.assertEqual(campaign_names.number("links.a-b.trace", "iid:0.1"), (0.1, ""))
        self.assertEqual([campaign_names.number("link.rate", "20Mbit/s"), campaign_names.number("link.erasure.rate", "0.765")], [(20, "Mbit/s"), (0.765, "")])
        sessions = self.drawn(self.file('trace: [none, "iid:0.1"]', "sessions: [1, 5]"))  # as many of each: what is counted is the axis
        self.assertEqual((sessions.axes[0].get_xlabel(), sessions.axes[0].containers[1].get_label()), ("parallel sessions", "iid:0.1"))

    def test_words_of_a_lab(self):
        """The last word of a key says what it is; names that share it stay whole."""
        lab = self.folder / "lab.yaml"
        lab.write_text("line: 2\nlink: {rate: 20Mbit/s, delay: 5ms, erasures: {iid: 0}}\ntraffic: [{perf: 1-2, duration: 1s, window: 4, payload: 20kB}]\n", encoding="utf-8")
        head = "title: T\nlab: lab.yaml\n"
        figure = self.drawn(self.file("link.recovery: [plain, default]", "link.erasures.iid: [0.001, 0.01, 0.3]", head=head))
        self.assertEqual(self.words(figure)[1], "erasure rate")
        self.assertEqual([c.get_label() for c in figure.axes[0].containers], ["recovery plain", "recovery default"])
        figure = self.drawn(self.file("link.forward.rate: [1Mbit/s, 2Mbit/s]", "link.return.rate: [1Mbit/s, 2Mbit/s, 3Mbit/s]", head=head))
        self.assertEqual(self.words(figure)[1], "link.return.rate (Mbit/s)")

    def test_labels_of_the_file(self):
        labels = 'title: T\nlabels: {trace: "loss, p", recovery plain: RFC 5326, goodput: "G (Mbit/s)"}\n'
        figure = self.drawn(self.file("recovery: [plain, default]", 'trace: ["iid:0.1", "iid:0.2", "iid:0.3"]', head=labels))
        self.assertEqual(self.words(figure), ("T: X", "loss, p", "G (Mbit/s)"))
        self.assertEqual([c.get_label() for c in figure.axes[0].containers], ["RFC 5326", "recovery default"])
        with self.assertRaises(campaign_file.CampaignError) as caught:
            self.load(self.file("sessions: [1, 2]", head="labels:\n  sesions: S\n"))
        self.assertIn('c.yaml:2: labels: the figures show no "sesions"; did you mean sessions?', str(caught.exception))

    def test_titles(self):
        for text, wanted in (("experiments: [{name: x, sweep: {sessions: [1, 2]}}]", "c.yaml"), ("title: T\nexperiments: [{name: x, sweep: {sessions: [1, 2]}}]", "T"),
                             ("experiments: [{name: x, title: X, sweep: {sessions: [1, 2]}}]", "X"),
                             ("title: T\nexperiments: [{name: x, sweep: {sessions: [1, 2]}}, {name: y}]", "T: x")):
            self.assertEqual(self.words(self.drawn(text))[0], wanted)
        words = "A long title of a campaign that has many words, so many that they need more than one line over the figure"
        for sweep in ("sessions: [1, 2]", f"drop: [{', '.join(f'red:every={n * 10**15}' for n in range(1, 9))}]"):
            figure = self.drawn(f"title: {words}\nexperiments: [{{name: x, sweep: {{{sweep}}}}}]")
            figure.canvas.draw()
            title = figure.axes[0]._left_title.get_window_extent()
            self.assertTrue(title.x1 <= figure.bbox.x1 and title.y1 <= figure.bbox.y1, sweep)

    def test_the_highest_point_is_whole(self):
        """Values that differ little are far from 0; a share above 100 % has its note in the figure."""
        figure = self.drawn("experiments: [{name: x, sweep: {sessions: [1, 2]}}]", "efficiency", lambda n: 99.0 + n)
        axes = figure.axes[0]
        self.assertGreaterEqual(axes.get_ylim()[1], 1.03 * 101.5)
        self.assertEqual([t.get_text() for t in axes.texts], ["above 100 %: blocks sent in part before the warm-up's end count in full"])
        self.assertEqual(self.drawn("experiments: [{name: x, sweep: {sessions: [1, 2]}}]", "efficiency", lambda n: 98.0 + n).axes[0].texts[:], [])


class Bars(Base):
    def test_words_are_grouped_and_coloured(self):
        for sweep in ("recovery: [plain, default], trace: [A, F, H]", "trace: [A, F, H], recovery: [plain, default]"):
            figure = self.drawn(f"title: T\nexperiments: [{{name: x, sweep: {{{sweep}}}}}]")
            axes = figure.axes[0]
            self.assertEqual([t.get_text() for t in axes.get_xticklabels()], ["A", "F", "H"])
            self.assertEqual(axes.get_legend_handles_labels()[1], ["recovery plain", "recovery default"])
            self.assertEqual(len({patch.get_facecolor() for patch in axes.patches}), 2)
            self.assertEqual(axes.get_xlabel(), "trace")
        self.assertEqual([patch.get_height() for patch in axes.patches], [1, 3, 5, 2, 4, 6])

    def apart(self, labels):
        """Do labels not meet? Slanted ones are as far apart as their lines of text."""
        figure = plot.bars("", "", labels, [("a", [1.0] * len(labels), [None] * len(labels)), ("b", [1.0] * len(labels), [None] * len(labels))], xlabel="x")
        figure.canvas.draw()
        axes = figure.axes[0]
        texts, pixel = axes.get_xticklabels(), axes.transData.transform
        step, angle = pixel((1, 0))[0] - pixel((0, 0))[0], math.radians(texts[0].get_rotation())
        for text in texts:
            text.set_rotation(0)
        boxes = [text.get_window_extent() for text in texts]
        needed = max(b.width for b in boxes) if angle == 0 else max(b.height for b in boxes) / math.sin(angle)
        return needed < step, [text.get_text() for text in texts]

    def test_labels_do_not_meet(self):
        for count, length in ((3, 4), (7, 12), (14, 20), (20, 24), (21, 24), (38, 10), (80, 24)):
            fits, _ = self.apart([f"{n:0{length}d}" for n in range(count)])
            self.assertTrue(fits, (count, length))
        self.assertEqual(self.apart(["traces/one.txt", "traces/two.txt"])[1], ["one.txt", "two.txt"])
        self.assertEqual(self.apart(["a/x.txt", "b/x.txt"])[1], ["a/x.txt", "b/x.txt"])
        self.assertEqual(self.apart(["a" * 30, "b" * 30])[1], ["a" * 12 + "…" + "a" * 11, "b" * 12 + "…" + "b" * 11])

    def test_the_legend_is_below_the_labels(self):
        figure = plot.bars("", "", [f"a longer label {n}" for n in range(9)], [(name, [1.0] * 9, [None] * 9) for name in "ab"], xlabel="x")
        figure.canvas.draw()
        axes = figure.axes[0]
        legend = axes.get_legend().get_window_extent()
        self.assertLess(legend.y1, axes.xaxis.get_tightbbox(figure.canvas.get_renderer()).y0 + 1)
        self.assertGreater(legend.y0, 0)


class Page(Base):
    def test_files_of_the_page(self):
        """Those of "A figure against the erasure rate", as they are printed; here with fewer and shorter runs."""
        text = Path(f"{sys.argv[2]}/docs/helio-campaign.md").read_text(encoding="utf-8")
        section = text[text.index("## A figure against the erasure rate"):text.index("## Other stacks")]
        files = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", section, re.S))
        self.assertEqual(list(files), ["erasures.yaml", "link.yaml", "erasures-lab.yaml"])
        for name, content in files.items():
            (self.folder / name).write_text(content, encoding="utf-8")
        commands = re.findall(r"^    (helio-campaign \S+)$", section, re.M)
        self.assertEqual(commands, ["helio-campaign erasures.yaml", "helio-campaign erasures-lab.yaml"])
        for command, runs in zip(commands, (60, 50), strict=True):
            self.assertIn(f"{runs} different runs", self.called(command.split()[1], "--check"))
        for name, content in files.items():
            for long, short in (("repetitions: 5", "repetitions: 2"), ("duration: 4s", "duration: 1s"), ("0.001, 0.003, 0.01, 0.03, 0.1", "0.001"), ("0, 0.01, 0.03, 0.1", "0")):
                content = content.replace(long, short)
            (self.folder / name).write_text(content, encoding="utf-8")
        for command in commands:
            self.called(command.split()[1])
        for name, line in (("erasures", "plain LTP"), ("erasures-lab", "recovery plain")):
            for metric in ("goodput", "delivery_mean"):
                svg = (self.folder / f"out/{name}/report/erasures-{metric}.svg").read_text(encoding="utf-8")
                for words in ("erasure rate", line, "0.2"):
                    self.assertIn(f">{words}</text>", svg)
                self.assertTrue((self.folder / f"out/{name}/report/erasures-{metric}.png").exists())
            page = (self.folder / f"out/{name}/report/index.html").read_text(encoding="utf-8")
            self.assertNotIn("trace iid:0.001", page)  # not what all runs have

    def called(self, *words):
        done = subprocess.run([f"{sys.argv[1]}/helio-campaign", *words], cwd=self.folder, capture_output=True, text=True, check=False, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
