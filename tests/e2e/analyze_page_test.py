#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-analyze --plot, --html and --extract: the files, what the page shows of segments against the simulator's drop log,
and the page in a real browser. usage: analyze_page_test.py BIN OUT (screenshots go to OUT)"""
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree
from collections import Counter
from pathlib import Path

import browser
import picture

BIN, OUT = Path(sys.argv[1]), Path(sys.argv[2])
PACKAGE = BIN.parent / "lib" / "heliograph"
import _paths  # noqa: F401
SENDER_DATA = range(8)


def run(name, *options, code=0, **more):
    done = subprocess.run([BIN / name, *map(str, options)], capture_output=True, text=True, check=False, timeout=1000, **more)
    assert done.returncode == code, (name, options, done.returncode, done.stderr)
    assert "Warning" not in done.stderr, done.stderr
    return done


def rows(path):
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def page_data(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def renamed(source, target, by):
    """A log of other nodes, so that two logs can be read together."""
    with open(source, encoding="utf-8") as f, open(target, "w", encoding="utf-8") as out:
        out.write(next(f))
        for line in f:
            fields = line.split(",")
            out.write(",".join(str(int(v) + by) if i in (2, 3, 4) and v else v for i, v in enumerate(fields)))


def setUpModule():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    run("helio-sim", "--trace", "A", "--duration", "1500ms", "--log", OUT / "red.csv", "--drop-log", OUT / "drops.csv", "--seed", 3)
    for i, colour in enumerate(("green", "orange")):
        run("helio-sim", "--trace", "F", "--duration", "500ms", "--colour", colour, "--log", OUT / "one.csv")
        renamed(OUT / "one.csv", OUT / f"{colour}.csv", 2 + 2 * i)
    with open(OUT / "red.csv", encoding="utf-8") as f, open(OUT / "sender.csv", "w", encoding="utf-8") as out:
        out.writelines(line for line in f if line.split(",")[2] in ("1", "node"))
    run("helio-analyze", OUT / "red.csv", OUT / "drops.csv", OUT / "green.csv", OUT / "orange.csv", "--html", OUT / "page.html",
        "--plot", OUT / "figures", "--tables", OUT / "tables", "--bin", "50ms", "--json")


class Files(unittest.TestCase):
    def test_figures(self):
        names = {p.name for p in (OUT / "figures").iterdir()}
        wanted = {"goodput", "session-cdf", "delivery-cdf", "decomposition", "sessions", "cycles", "checkpoints", "losses"}
        for name in wanted:
            self.assertIn(name + ".png", names)
            self.assertEqual((OUT / "figures" / (name + ".png")).read_bytes()[:4], b"\x89PNG")
            xml.etree.ElementTree.parse(OUT / "figures" / (name + ".svg"))
        drawn = (OUT / "figures" / "session-cdf.svg").read_text(encoding="utf-8")
        for flow in ("1 → 2 red", "3 → 4 green", "5 → 6 orange"):
            self.assertIn(flow, drawn)

    def test_page_has_all_and_is_small(self):
        text = (OUT / "page.html").read_text(encoding="utf-8")
        self.assertLess(len(text), 6e6)
        self.assertEqual(text.count("<figure "), len(list((OUT / "figures").glob("*.svg"))))
        self.assertFalse(re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', text))
        data = page_data(OUT / "page.html")
        table = {(r["originator"], r["session"]): r for r in rows(OUT / "tables" / "sessions.csv")}
        self.assertEqual(len(data["rows"]), len(table))
        for row in data["rows"]:
            got, real = dict(zip(data["columns"], row)), table[str(row[0]), str(row[1])]
            self.assertEqual(got["outcome"], real["outcome"])
            self.assertEqual(got["cp_lost"], int(real["cp_lost"]) if real["cp_lost"] else None)
            self.assertAlmostEqual(got["duration_ms"] or 0, float(real["duration_ms"] or 0), delta=1e-3)

    def test_extract_can_be_read_again(self):
        lost = next(r for r in rows(OUT / "tables" / "sessions.csv") if r["cp_lost"] not in ("", "0"))
        name = f"{lost['originator']}:{lost['session']}"
        run("helio-analyze", OUT / "red.csv", OUT / "drops.csv", "--extract", OUT / "few", "--session", name, "--timeline", 0)
        run("helio-analyze", OUT / "few" / "segments.csv", OUT / "few" / "drops.csv", "--sessions", OUT / "few.csv", "--strict")
        again, = rows(OUT / "few.csv")
        for key in ("duration_ms", "cp_lost", "cp_lost_basis", "segments_resent", "dropped", "retx_cycles"):
            self.assertEqual(again[key], lost[key], key)

    def test_errors(self):
        self.assertIn("such as 1:17", run("helio-analyze", "x", "--html", "y", "--session", "17", code=2).stderr)
        self.assertIn("is for --html or --extract", run("helio-analyze", "x", "--session", "1:17", code=2).stderr)
        self.assertIn("0 to 64", run("helio-analyze", "x", "--html", "y", "--timeline", "65", code=2).stderr)
        error = run("helio-analyze", OUT / "sender.csv", "--html", OUT / "no" / "page.html", code=2).stderr
        self.assertIn("no/page.html", error)
        self.assertIn("no row has it", run("helio-analyze", OUT / "sender.csv", "--extract", OUT / "none", "--session", "9:9").stderr)
        with open(OUT / "sender.csv", encoding="utf-8") as f:
            done = run("helio-analyze", "-", "--html", OUT / "piped.html", stdin=f)
        self.assertIn("cannot be read twice", done.stderr)
        self.assertEqual(page_data(OUT / "piped.html")["timelines"], [])


    def test_without_what_draws(self):
        folder = OUT / "alone"
        (folder / "bin").mkdir(parents=True)
        program = shutil.copy(BIN / "helio-analyze", folder / "bin")
        missing = "lib/heliograph/__main__.py, which is not there: in Debian the package heliograph-lab has it"
        for main, words in ((None, missing), ("", missing), ("raise SystemExit(77)", "tools/setup.sh lab")):
            if main is not None:  # "": the folder alone, as the package heliograph has it
                (folder / "lib" / "heliograph").mkdir(parents=True, exist_ok=True)
            if main:
                (folder / "lib" / "heliograph" / "__main__.py").write_text(main)
            done = run(program, "/no/such.csv", "--plot", folder / "figures", code=2)
            self.assertIn(words, done.stderr)
            self.assertNotIn("/no/such.csv", done.stderr)  # told before anything is read


    def test_interrupt_leaves_nothing(self):
        """While it is drawn, by a program that does not end by itself."""
        place, told = OUT / "stopped", OUT / "stopped" / "told"
        (place / "bin").mkdir(parents=True)
        (place / "lib" / "heliograph").mkdir(parents=True)
        program = shutil.copy(BIN / "helio-analyze", place / "bin")
        (place / "lib" / "heliograph" / "__main__.py").write_text(f"""import os, sys, time
if "--check" not in sys.argv:
    with open({str(told) + ".new"!r}, "w") as f:
        f.write(" ".join(sys.argv))
    os.rename({str(told) + ".new"!r}, {str(told)!r})
    time.sleep(10000)
""")
        p = subprocess.Popen([program, OUT / "red.csv", "--plot", place / "figures"], start_new_session=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not told.exists() and p.poll() is None:
            time.sleep(0.02)
        folder = re.search(r"/tmp/helio-analyze-\w+", told.read_text())
        self.assertTrue(Path(folder[0]).is_dir())
        os.killpg(p.pid, signal.SIGINT)
        self.assertEqual(p.wait(timeout=1400), -signal.SIGINT)
        self.assertFalse(Path(folder[0]).exists())


    def test_bins_suit_the_log(self):
        for end, bins in ((10 ** 12, "100 ms"), (int(500e6), "10 ms")):
            with open(OUT / "red.csv", encoding="utf-8") as f, open(OUT / "short.csv", "w", encoding="utf-8") as out:
                out.write(next(f))
                out.writelines(line for line in f if int(line.split(",")[0]) < end)
            run("helio-analyze", OUT / "short.csv", "--plot", OUT / "bins")
            self.assertIn(f"Goodput in each {bins}", (OUT / "bins" / "goodput.svg").read_text(encoding="utf-8"))
    def test_bins_begin_with_the_run(self):
        """A log that begins at 0.73 s of the wall clock and has 1.5 s: one bin of 1 s, and half a one, which is not drawn if there are others."""
        with open(OUT / "red.csv", encoding="utf-8") as f, open(OUT / "late.csv", "w", encoding="utf-8") as out:
            out.write(next(f))
            for line in f:
                t, rest = line.split(",", 1)
                out.write(f"{int(t) + 1_700_000_000_730_000_000},{rest}")
        first = None
        for width in ("1s", "400ms"):
            run("helio-analyze", OUT / "late.csv", "--plot", OUT / "late", "--series", OUT / "late-series.csv", "--bin", width)
            bins = [r for r in rows(OUT / "late-series.csv") if r["originator"] == "1"]
            first = first or bins[0]["t_ns"]
            self.assertEqual(bins[0]["t_ns"], first)
            self.assertLess(int(first) - 1_700_000_000_730_000_000, 1_000_000)
            self.assertEqual(bins[0]["t_s"], "0.000000")
        self.assertEqual([float(r["covered_s"]) for r in bins[:-1]], 3 * [0.4])
        self.assertLess(float(bins[-1]["covered_s"]), 0.36)
        # what is sent is even from the first bin to the last whole one: no ramps
        sent = [float(r["sent_bps"]) for r in bins[:-1]]
        self.assertGreater(min(sent), 0.9 * max(sent))
        self.assertRegex((OUT / "late" / "goodput.svg").read_text(encoding="utf-8"),
                         r"Goodput in each 400 ms; the last \d+ ms, not a whole bin, left out")

    def test_sessions_of_one_segment_have_no_times(self):
        run("helio-sim", "--duration", "300ms", "--colour", "green", "--bundle", "900", "--log", OUT / "small.csv")
        text = run("helio-analyze", OUT / "small.csv", "--plot", OUT / "small").stdout
        self.assertIn(", green\n", text)
        self.assertNotIn("session duration", text)
        self.assertNotIn("0.000", text)
        self.assertFalse((OUT / "small" / "session-cdf.png").exists())
        self.assertTrue((OUT / "small" / "goodput.png").exists())

    def test_plain_words(self):
        text = run("helio-analyze", OUT / "red.csv", OUT / "drops.csv").stdout
        self.assertRegex(text, r"mean session +[\d.]+ ms = [\d.]+ ideal \+ [\d.]+ retransmission cycles \+ [\d.]+ lost checkpoints \+ "
                               r"-?[\d.]+ sessions without losses above the ideal \+ -?[\d.]+ not explained")
        self.assertNotIn("delta", text)

    def test_bins_of_the_page(self):
        self.assertIn("Goodput in each 50 ms", (OUT / "figures" / "goodput.svg").read_text(encoding="utf-8"))


class Limits(unittest.TestCase):
    """A page has limits, and says what it leaves out."""

    def limit(self, module, name, value):
        old = getattr(module, name)
        setattr(module, name, value)
        self.addCleanup(setattr, module, name, old)

    def test_segments(self):
        from heliograph.figures import segments as analysis_segments

        run("helio-analyze", OUT / "red.csv", "--extract", OUT / "limits", "--timeline", 5)
        self.limit(analysis_segments, "SESSION_MAX", 600)
        self.limit(analysis_segments, "PAGE_MAX", 1700)
        with open(OUT / "limits" / "left-out.csv", "a", encoding="utf-8") as f:
            f.write("1,99999999,7\n")
        shown, others = analysis_segments.read(OUT / "limits", str)
        self.assertEqual((len(shown), len(others)), (3, 3))
        self.assertEqual(others[-1], "1:99999999")
        self.assertTrue(all(len(t["segments"]) <= 600 for t in shown))
        self.assertGreater(max(t["cut"] for t in shown), 0)

    def test_sessions_and_bins(self):
        code = """import json, sys
from heliograph.figures import charts as analysis_plot, page as analysis_page, tables as analysis_data
analysis = analysis_data.Analysis(sys.argv[1])
analysis_page.ROWS_MAX, analysis_plot.POINTS_MAX = 50, 10
shown, total = analysis_page.session_rows(analysis)
drawn = analysis_plot.drawable(analysis.series["1", "2"])
print(json.dumps([[r[6] for r in shown], total, list(drawn["sent_bps"])]))"""
        for python in (sys.executable, "/usr/bin/python3"):  # as the program does: the system's has what one's own may lack
            done = subprocess.run([python, "-B", "-c", code, OUT / "tables"], env={"PYTHONPATH": str(PACKAGE), "HOME": str(OUT)},
                                  capture_output=True, text=True, check=False, timeout=1400)
            if done.returncode == 0:
                break
        times, total, sent = json.loads(done.stdout or done.stderr)
        every = [float(r["duration_ms"]) for r in rows(OUT / "tables" / "sessions.csv") if r["duration_ms"]]
        self.assertEqual((total - len(every), len(times)), (times.count(None), 50))
        self.assertEqual(sorted(round(t, 2) for t in times if t), [round(t, 2) for t in sorted(every)[total - len(every) - 50:]])
        bins = [float(r["sent_bps"]) for r in rows(OUT / "tables" / "series.csv") if r["originator"] == "1"]
        if float(rows(OUT / "tables" / "series.csv")[len(bins) - 1]["covered_s"]) < 0.045:
            bins.pop()
        self.assertEqual(len(sent), len(bins) // 3)
        for i, value in enumerate(sent):
            self.assertAlmostEqual(value, sum(bins[3 * i:3 * i + 3]) / 3, delta=1)


class Segments(unittest.TestCase):
    """What the page says of single segments, counted a second time from the logs."""

    def timelines(self, *inputs):
        from heliograph.figures import segments as analysis_segments

        run("helio-analyze", *inputs, "--extract", OUT / "some")
        return [t for t in analysis_segments.read(OUT / "some", str)[0] if t["originator"] == "1"]

    def fates(self, *inputs):
        return {t["session"]: t["segments"] for t in self.timelines(*inputs)}

    def drops(self):
        return Counter(r["session"] for r in rows(OUT / "drops.csv") if r["direction"] == "forward" and r["session"])

    def test_drop_log_names_the_lost(self):
        found = self.fates(OUT / "red.csv", OUT / "drops.csv")
        self.assertGreater(len(found), 6)
        known = self.drops()
        for session, segments in found.items():
            self.assertEqual(sum(s[4] == 1 for s in segments), known[session])
        self.assertGreater(sum(known[s] for s in found), 50)

    def test_both_ends_logs_name_the_same(self):
        known, timelines = self.drops(), self.timelines(OUT / "red.csv")
        last = max(int(r["t_ns"]) for r in rows(OUT / "red.csv"))
        for t in timelines:  # those under way when the log ends are not known to be lost
            self.assertLessEqual(sum(s[4] == 2 for s in t["segments"]), known[t["session"]])
            if t["start"] < last - 500e6:
                self.assertEqual(sum(s[4] == 2 for s in t["segments"]), known[t["session"]])
        arrived = [s for s in timelines[0]["segments"] if s[4] == 0]
        self.assertTrue(all(5e6 <= s[3] - s[2] < 5.1e6 for s in arrived))

    def test_an_early_end_makes_no_losses(self):
        last = max(int(r["t_ns"]) for r in rows(OUT / "red.csv"))
        for i, end in enumerate((last - 3e6, last - 400e6)):
            with open(OUT / "red.csv", encoding="utf-8") as f, open(OUT / "cut.csv", "w", encoding="utf-8") as out:
                out.write(next(f))
                out.writelines(line for line in f if int(line.split(",")[0]) <= end)
            known, some = self.drops(), 0
            for t in self.timelines(OUT / "cut.csv"):
                self.assertLessEqual(sum(s[4] == 2 for s in t["segments"]), known[t["session"]], (i, t["session"]))
                some += sum(s[4] == 2 for s in t["segments"])
            self.assertGreater(some, 50)

    def test_several_versions_wrote_to_one_log(self):
        from heliograph.figures import segments as analysis_segments

        with open(OUT / "versions.csv", "w", encoding="utf-8") as f:
            f.write("t_ns,dir,node\n1,tx,7\nt_ns,more,dir\n2,x,rx\n")
        self.assertEqual(list(analysis_segments.read_rows(OUT / "versions.csv")),
                         [{"t_ns": "1", "dir": "tx", "node": "7"}, {"t_ns": "2", "more": "x", "dir": "rx"}])

    def test_one_end_alone_knows_less(self):
        for segments in self.fates(OUT / "sender.csv").values():
            self.assertEqual({s[4] for s in segments if s[1] == 0}, {3})

    def test_repetitions_are_matched_in_order(self):
        from heliograph.figures.segments import match

        def at(*times):
            return [{"t_ns": str(t)} for t in times]

        sent = at(0, 100, 200)
        self.assertEqual([(bool(c), bool(d)) for _, c, d in match(sent, at(250), at(5, 104), 50)],
                         [(False, True), (False, True), (True, False)])
        self.assertEqual([c and c["t_ns"] for _, c, _ in match(sent, at(160), [], 50)], [None, "160", None])
        self.assertEqual([c and c["t_ns"] for _, c, _ in match(sent, at(55, 155, 255), [], 50)], ["55", "155", "255"])
        self.assertEqual([(s, c["t_ns"]) for s, c, _ in match([], at(7), [], 5)], [(None, "7")])


class ErasureCode(unittest.TestCase):
    """Two nodes of helio-sim with an erasure code: figures and squares of its matrices are those of the logs' rows."""

    @classmethod
    def setUpClass(cls):
        folder = OUT / "code"
        folder.mkdir()
        nodes = []
        for n in (1, 2):
            link = {"name": "it", "adapter": "ltp-udp", "peer": f"ipn:{3 - n}.0", "local": f"10.0.0.{n}:1113", "remote": f"10.0.0.{3 - n}:1113",
                    "rate": "20Mbit/s", "owlt": "300ms", "sessions": 50, "erasure": "{mode: rs, rate: 0.84, span: 500, requests: yes}"}
            nodes += ["--node", folder / f"{n}.yaml"]
            nodes[-1].write_text(f"node: ipn:{n}.0\nsocket: {folder}/{n}.sock\nstore: {{durability: none}}\nlinks:\n  - "
                                 + "\n    ".join(f"{k}: {v}" for k, v in link.items()) + "\n", encoding="utf-8")
        (folder / "channel.yaml").write_text("forward: {rate: 20Mbit/s, delay: 300ms, erasures: {trace: F}}\nreturn: {delay: 300ms}\n", encoding="utf-8")
        run("helio-sim", *nodes, "--channel", folder / "channel.yaml", "--client", "-d ipn:2.2000 -T 5 -W 40 -P 100kB", "--log-dir", folder / "log")
        logs = [folder / "log" / f"node{n}.segments.csv" for n in (1, 2)]
        cls.rows = [r for log in logs for r in rows(log) if r["dir"] == "matrix"]
        cls.told = run("helio-analyze", *logs).stdout
        cls.summary = json.loads(run("helio-analyze", "--json", "--html", OUT / "code.html", *logs).stdout)
        cls.alone = json.loads(run("helio-analyze", "--json", logs[0]).stdout)

    def of(self, *causes, sender="1"):
        return [r for r in self.rows if r["originator"] == sender and r["cause"] in causes]

    def total(self, column, *causes):
        return sum(int(r[column] or 0) for r in self.of(*causes))

    def test_summary(self):
        there, back = self.summary["erasure"]
        ends = ("whole", "repaired", "failed", "displaced")
        self.assertEqual([(c["originator"], c["peer"]) for c in (there, back)], [(1, 2), (2, 1)])
        self.assertEqual({k: there[k] for k in list(there)[2:-2]}, {
            "matrices_sent": len(self.of("sent")), "segments_sent": self.total("segments", "sent"),
            "repair_segments_sent": self.total("repairs", "sent", "answered"), "requests_answered": len(self.of("answered")),
            "repair_segments_requested": self.total("repairs", "answered"), **{f"matrices_{end}": len(self.of(end)) for end in ends},
            "segments": self.total("segments", *ends), "repair_segments_received": self.total("repairs", *ends),
            "segments_repaired": self.total("repaired", *ends), "segments_lost": self.total("missing", *ends)})
        self.assertGreater(min(there["requests_answered"], there["matrices_repaired"], there["segments_repaired"]), 0)
        self.assertAlmostEqual(there["residual_loss"], there["segments_lost"] / there["segments"])
        self.assertEqual(there["delay_ms"]["max"], max(int(r["delay_ns"]) for r in self.of("repaired")) / 1e6)
        self.assertEqual(back["segments_repaired"], 0)
        self.assertIn("erasure code, 1 -> 2\n", self.told)
        sender = next(c for c in self.alone["erasure"] if c["originator"] == 1)
        self.assertEqual((sender["matrices_sent"], sender["matrices_whole"], sender["residual_loss"]), (there["matrices_sent"], None, None))

    def test_timeline(self):
        lines = page_data(OUT / "code.html")["timelines"]
        self.assertTrue(lines)
        for line in lines:
            end = line["start"] + max([t for t, *_ in line["events"]] + [s[3] or 0 for s in line["segments"]])
            expected = [r for r in self.of("sent", "answered", "whole", "repaired", "failed", "displaced", sender=line["originator"])
                        if line["start"] <= int(r["t_ns"]) <= end]
            self.assertEqual(sorted(m[0] + line["start"] for m in line["matrices"]), sorted(int(r["t_ns"]) for r in expected))
        self.assertTrue(any("all repaired" in m[2] for line in lines for m in line["matrices"]))
        self.assertIn("<h3>Erasure code</h3>", (OUT / "code.html").read_text(encoding="utf-8"))
        self.assertNotIn("Erasure code", (OUT / "page.html").read_text(encoding="utf-8"))

    def test_in_browser(self):
        with browser.Browser() as chromium:
            page = chromium.open(OUT / "code.html")
            page.evaluate("document.getElementById('segments').scrollIntoView()")
            page.evaluate("document.getElementById('lines').focus()")
            page.key("m")
            self.assertIn("repair segments", page.evaluate("document.getElementById('told').textContent"))
            self.assertRegex(page.evaluate("document.getElementById('spoken').textContent"), "matrix \\d+ of \\d+ segments")
            page.screenshot(OUT / "code.png")
            self.assertIn("matrix of the erasure code", page.evaluate("document.getElementById('legend').textContent"))
            self.assertEqual((page.complaints, page.requests), ([], []))
            page.close()


class InBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.enterClassContext(cls.browser) if hasattr(cls, "enterClassContext") else cls.enter()

    @classmethod
    def enter(cls):
        cls.browser.__enter__()
        cls.addClassCleanup(cls.browser.__exit__)

    def setUp(self):
        self.page = self.browser.open(OUT / "page.html")
        self.page.evaluate("document.getElementById('segments').scrollIntoView()")
        self.left, self.top, self.width = self.page.evaluate(
            "(r => [r.x, r.y, r.width])(document.getElementById('lines').getBoundingClientRect())")

    def tearDown(self):
        self.assertEqual((self.page.complaints, self.page.requests), ([], []))
        self.page.close()

    def state(self):
        self.page.seen()
        return {k: float(v) for k, v in self.page.evaluate("({...document.getElementById('lines').dataset})").items()}

    def text(self, selector):
        return self.page.evaluate(f"document.querySelector({selector!r}).textContent")

    def test_wheel_keys_and_drag_change_the_view(self):
        whole = self.state()
        self.assertGreater(whole["visible"], 400)
        self.page.screenshot(OUT / "timeline.png")
        picture.of_page(self.page, "timeline.png", whole=False)
        for _ in range(8):
            self.page.wheel(self.left + 300, self.top + 150, -120)
        near = self.state()
        self.assertLess(near["to"] - near["from"], 0.2 * (whole["to"] - whole["from"]))
        self.assertTrue(whole["from"] < near["from"] < near["to"] < whole["to"])
        share = (300 - 118) / (self.width - 2 - 118 - 12)
        at = [s["from"] + share * (s["to"] - s["from"]) for s in (whole, near)]
        self.assertAlmostEqual(*at, delta=0.02 * (whole["to"] - whole["from"]))  # what is under the pointer stays there
        self.page.evaluate("document.getElementById('lines').focus()")
        self.page.key("ArrowRight")
        right = self.state()
        self.assertGreater(right["from"], near["from"])
        self.assertAlmostEqual(right["to"] - right["from"], near["to"] - near["from"], delta=1)
        self.page.key("+")
        self.assertLess(self.state()["to"] - self.state()["from"], right["to"] - right["from"])
        before = self.state()
        self.page.drag(self.left + 400, self.top + 150, self.left + 600, self.top + 150)
        self.assertLess(self.state()["from"], before["from"])
        self.page.key("0")
        self.assertLess(self.state()["from"], 0)
        self.assertGreaterEqual(self.state()["to"], whole["to"] - 0.02 * whole["to"])

    def test_losses_are_found_and_told(self):
        self.page.evaluate("document.getElementById('lines').focus()")
        self.page.key("l")
        self.assertIn("lost: in the drop log", self.text("#spoken"))
        self.assertIn("lost by: trace", self.text("#told"))
        self.page.screenshot(OUT / "loss.png")
        first = self.state()["chosen"]
        self.page.key("n")
        self.assertEqual(self.state()["chosen"], first + 1)
        self.page.key("Escape")
        self.assertEqual(self.state()["chosen"], -1)

    def test_hover_shows_the_fields(self):
        x = self.page.evaluate("""(() => { const d = document.getElementById('lines').dataset, c = document.getElementById('lines');
            const report = page.timelines[0].segments.find((s) => s[0] === 4 && s[2] !== null);
            return 118 + (report[2] - d.from) / (d.to - d.from) * (c.clientWidth - 130); })()""")
        self.page.mouse("mouseMoved", self.left + 1 + x, self.top + 1 + 318)
        self.page.seen()
        for field in ("report, from the receiver", "claims", "scope to", "checkpoint serial"):
            self.assertIn(field, self.text("#told"))

    def test_sessions_can_be_chosen(self):
        count = self.page.evaluate("document.getElementById('pick').options.length")
        self.assertGreaterEqual(count, 6)
        colours = self.page.evaluate("[...document.getElementById('pick').options].map((o) => o.text).join(' ')")
        for colour in ("red", "green", "orange"):
            self.assertIn(colour, colours)
        seen = set()
        for i in range(count):
            self.page.evaluate(f"(p => {{ p.value = '{i}'; p.dispatchEvent(new Event('change')); }})(document.getElementById('pick'))")
            seen.add(tuple(self.state().values()))
        self.assertGreater(len(seen), count // 2)
        self.page.evaluate("document.querySelector('#rows td button').click()")
        chosen = self.page.evaluate("document.getElementById('pick').selectedOptions[0].text")
        self.assertIn(self.text("#rows td button").split()[1], chosen)

    def column(self, name):
        return self.page.evaluate(f"""(() => {{ const i = page.columns.indexOf({name!r});
            return [...document.querySelectorAll('#rows tbody tr')].map((tr) => tr.children[i].textContent); }})()""")

    def test_table_sorts_and_filters(self):
        times = [float(v) for v in self.column("duration_ms") if v]
        self.assertEqual(times, sorted(times, reverse=True))
        self.page.evaluate("document.querySelector('#rows th[aria-sort] button').click()")
        times = [float(v) for v in self.column("duration_ms") if v]
        self.assertEqual(times, sorted(times))
        self.page.evaluate("(f => { f.value = 'red cp_lost>0'; f.dispatchEvent(new Event('input')); })(document.getElementById('filter'))")
        lost = [r for r in rows(OUT / "tables" / "sessions.csv") if r["colour"] == "red" and int(r["cp_lost"] or 0) > 0]
        self.assertEqual(self.text("#count").split(" of ")[0], str(len(lost)))
        self.assertTrue(lost and set(self.column("colour")) == {"red"})
        self.page.evaluate("(f => { f.value = 'nothing>0'; f.dispatchEvent(new Event('input')); })(document.getElementById('filter'))")
        self.assertIn("no column: nothing>0", self.text("#count"))

    def test_dark(self):
        self.page.screenshot(OUT / "light.png", whole=True)
        dark = self.browser.open(OUT / "page.html", dark=True)
        background = [p.evaluate("getComputedStyle(document.body).backgroundColor") for p in (self.page, dark)]
        self.assertEqual(background, ["rgb(255, 255, 255)", "rgb(22, 24, 28)"])
        dark.screenshot(OUT / "dark.png", whole=True)
        self.assertEqual((dark.complaints, dark.requests), ([], []))
        dark.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
