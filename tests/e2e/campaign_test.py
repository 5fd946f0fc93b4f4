#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-campaign in virtual time: errors, what is a run and what repeats it, the report; live runs in real time.

usage: campaign_test.py BIN SOURCE sim|live
"""
import csv
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import browser
from campaign_case import PROGRAM, SMALL, Base, campaign

BIN, SOURCE, KIND = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
# With the package python3-matplotlib, which may not be the Python that this runs with.
PLOTTING = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable


class Campaign(Base):
    def test_errors_have_a_place(self):
        for text, line, words in (
                ("experiments:\n  - name: x\n    sweeps: {sessions: [1]}\n", 3, "did you mean sweep?"),
                ("experiments:\n  - name: x\n    sweep: {sessions: [one]}\n", 3, "from 1 to 65536"),
                ("set: {rto: 30}\nexperiments: [{name: x}]\n", 1, "write it like 30ms"),
                ("mode: fast\nexperiments: [{name: x}]\n", 1, "none of sim, relay, bridge"),
                ("title: x\n", 1, "at least one experiment"), ("experiments: [{name: x}, {name: x}]\n", 1, "already"),
                ("experiments:\n  - name: x\n    sweep: {trace: []}\n", 3, "empty"),
                ("a: [1\n", 1, "this line has a [ without its ]"), ("experiments: [{name: a b}]\n", 1, "letters"),
                ("experiments:\n  - name: x\n    sweep: {[a]: [1]}\n", 3, "a key is one word"),
                ("experiments:\n  - name: x\n    sweep: {sessions: 1-8}\n", 3, "in a list: [1-8]")):
            with self.subTest(text=text):
                error = campaign(self.file(text), "--check", code=2).stderr
                self.assertIn(f"c.yaml:{line}: ", error)
                self.assertIn(words, error)
        self.assertIn("No such file", campaign(self.folder / "none.yaml", code=2).stderr)
        several = campaign(self.file("titel: x\nrepetitions: none\nset: {rto: 30, bundel: 1MB}\nexperiments:\n  - name: x\n    sweep: {sessions: [one], claims: [0]}\n"
                                     "  - {name: y, set: {delay: 5}}\n  - {name: y}\n"), "--check", code=2).stderr
        for line, words in ((1, "did you mean title?"), (2, "from 1 to 1000"), (3, "rto: \"30\" is no duration"), (3, "did you mean bundle?"), (6, "from 1 to 65536"),
                            (6, "from 1 to 10000"), (7, "delay: \"5\" is no duration"), (8, "already an experiment \"y\"")):
            self.assertRegex(several, rf"(?m)^helio-campaign: .*c\.yaml:{line}: .*{re.escape(words)}")
        self.assertEqual(len(several.splitlines()), 8, several)
        # a trace that all have is named once, and no more than 20 are named
        once = campaign(self.file("set: {trace: gone}\nexperiments: [{name: x}, {name: y}]\n"), "--check", code=2).stderr
        self.assertEqual(len(once.splitlines()), 1, once)
        many = campaign(self.file("experiments:\n" + "".join(f"  - {{name: x{i}, a: 1}}\n" for i in range(23))), "--check", code=2).stderr
        self.assertEqual((len(many.splitlines()), many.splitlines()[-1][-10:]), (21, "and 3 more"))
        (self.folder / "binary.yaml").write_bytes(b"\x1f\x8b\xd8")
        self.assertIn("not a text file", campaign(self.folder / "binary.yaml", code=2).stderr)
        self.assertIn("/dev/zero: longer than 1 MiB", campaign("/dev/zero", code=2).stderr)
        twice = campaign(self.file("experiments: [{name: x, sweep: {sessions: [1-3, 2, 3, 8]}}]\n"), "--check").stdout
        self.assertIn("x: 4 runs (sessions 1 2 3 8)", twice)  # none counts as a repetition of itself
        self.assertIn("examples", campaign("--help").stdout)

    def test_runs_once_and_reports(self):
        path = self.file(SMALL)
        campaign(path, "--out", self.out)
        names = self.runs()
        self.assertEqual(len(names), 12)  # what the second experiment needs, the first one has
        times = {p: (p / "result.json").stat().st_mtime_ns for p in names}
        result = json.loads((names[0] / "result.json").read_text())
        again = subprocess.run(result["command"], capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(again.stdout)["session_ms"], result["session_ms"])
        self.assertTrue((names[0] / "sessions.csv.gz").stat().st_size > 0)
        description = json.loads((names[0] / "run.json").read_text())
        self.assertIn("helio-sim", description["versions"])
        self.assertGreaterEqual(description["machine"]["cores"], 1)
        self.assertEqual({tuple(json.loads((p / "run.json").read_text())["trace_seeds"].items()) for p in names},
                         {(("trace", seed),) for seed in (1, 2, 1001, 1002)})  # of iid:A, and of A
        campaign(path, "--out", self.out)
        self.assertEqual(times, {p: (p / "result.json").stat().st_mtime_ns for p in self.runs()})
        shutil.rmtree(names[3])
        campaign(path, "--out", self.out, "--no-report")
        self.assertEqual(self.runs(), names)
        self.check_report()

    def check_report(self):
        page = (self.out / "report" / "index.html").read_text()
        self.assertEqual(page.count("<svg"), 12)  # ten, and what goodput and session time depend on
        self.assertFalse(re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', re.sub(r"<svg.*?</svg>", "", page, flags=re.S)))
        with open(self.out / "report" / "one.csv", newline="", encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual(len(rows), 6)
        got = {(r["trace"], r["sessions"]): r for r in rows}
        done = [json.loads((p / "result.json").read_text()) for p in self.runs() if "-A-3s-" in p.name]
        done = [r for r in done if "iid" not in str(r["command"])]
        mean = sum(r["goodput_bps"] for r in done) / len(done) / 1e6
        self.assertEqual(len(done), 2)
        self.assertAlmostEqual(float(got["A", "3"]["goodput"]), mean, delta=0.001 * mean)
        carried = 100 * sum(r["carried_share"] for r in done) / len(done)
        self.assertAlmostEqual(float(got["A", "3"]["carried_share"]), carried, delta=0.001)
        self.assertIn("of the channel's capacity (rate × payload share × good share)", page.replace("&#39;", "'"))
        self.assertTrue(all(isinstance(r["sessions_begun_max"], int) for r in done), done)
        for words in ("Seeds of A: 1001, 1002.", "Seeds of iid:A: 1, 2.", "2 repetitions know little of their own deviation", "one bundle"):
            self.assertIn(words, page)
        with open(self.out / "report" / "one-differences.csv", newline="", encoding="utf-8") as f:
            pairs = {(r["trace"], r["from"], r["to"]): r for r in csv.DictReader(f)}
        self.assertEqual(set(pairs), {(t, str(n), str(n + 1)) for t in ("A", "iid:A") for n in (1, 2)})
        half = abs(done[0]["goodput_bps"] - done[1]["goodput_bps"]) / 2e6 * 12.706
        self.assertAlmostEqual(float(got["A", "3"]["goodput_ci95"]), half, delta=0.01 * half + 0.01)

    def test_confidence_of_many_repetitions(self):
        import _paths  # noqa: F401
        from heliograph import statistics
        for freedom, expected in ((1, 12.706), (30, 2.042), (31, 2.0395), (40, 2.0211), (60, 2.0003), (120, 1.9799), (10**6, 1.96)):
            self.assertAlmostEqual(statistics.quantile(freedom), expected, delta=1e-3 if freedom < 31 else 1e-4)
        values = [1.0, 3.0] * 20
        mean, half = statistics.interval(values)
        self.assertEqual(mean, 2.0)
        self.assertAlmostEqual(half, 2.0227 * (40 / 39) ** 0.5 / 40 ** 0.5, delta=1e-4)

    def test_another_trace_of_the_same_name_is_another_run(self):
        path = self.file("set: {duration: 200ms}\nexperiments:\n  - name: x\n    sweep: {trace: [my.txt]}\n")
        for seed in (1, 2, 2):
            subprocess.run([BIN / "helio-trace", "gen", "--bad", "gamma:1ms,1", "--good", "gamma:9ms,1", "--duration", "1s", "--seed",
                            str(seed), "-o", self.folder / "my.txt"], check=True, capture_output=True)
            campaign(path, "--out", self.out)
            self.assertEqual(len(self.runs()), seed)
        rows = json.loads(campaign(path, "--out", self.out, "--json", "--no-report").stdout)
        second = next(p for p in self.runs() if p.name.endswith(rows[0]["key"]))
        self.assertEqual(rows[0]["result"], json.loads((second / "result.json").read_text()))

    def test_a_report_without_runs(self):
        """Of none at all there is a message; an experiment without a run has a sentence, and the others their figures."""
        path = self.file("set: {trace: none, duration: 100ms}\nexperiments:\n  - {name: x, sweep: {sessions: [1, 2]}}\n  - {name: y, sweep: {rto: [40ms, 50ms]}}\n")
        self.assertIn("has no finished run of this campaign: run it without --report first", campaign(path, "--out", self.out, "--report", code=1).stderr)
        campaign(path, "--out", self.out, "--no-report")
        for run in self.runs():
            if "rto30ms" not in run.name:
                shutil.rmtree(run)
        campaign(path, "--out", self.out, "--report")
        page = (self.out / "report" / "index.html").read_text()
        self.assertEqual(page.count("No run of this experiment is done"), 1)
        self.assertIn('id="x-goodput"', page)

    def test_failed_run_is_told_and_the_others_kept(self):
        path = self.file('set: {duration: 200ms}\nexperiments:\n  - name: x\n    sweep: {trace: [none, odd.txt]}\n')
        self.file("no trace\n", "odd.txt")
        error = campaign(path, "--out", self.out, code=1).stderr
        self.assertIn("odd.txt", error)
        self.assertEqual(len(self.runs()), 1)

    def test_a_trace_that_is_missing_is_told_by_check(self):
        for trace, words in (("nowhere.txt", 'no file "nowhere.txt"'), ("iid:A2", "a probability or one of")):
            path = self.file(f"experiments:\n  - name: x\n    sweep: {{trace: [none, \"{trace}\"]}}\n")
            error = campaign(path, "--check", code=2).stderr
            self.assertIn("c.yaml:3: trace: ", error)
            self.assertIn(words, error)
        path = self.file("experiments: [{name: x, set: {return-trace: gone.txt}}]\n")
        self.assertIn('return-trace: there is no file "gone.txt"', campaign(path, "--check", code=2).stderr)
        self.file("0 100\n1 5\0\n", "odd.txt")
        path = self.file("experiments: [{name: x, sweep: {trace: [none, odd.txt]}}]\n")
        self.assertIn("odd.txt:2: a NUL byte", campaign(path, "--check", code=2).stderr)

    LAB = """line: 2
link: {rate: 20Mbit/s, delay: 5ms}
links: {1-2: {trace: A}}
traffic:
  - {perf: 1-2, duration: 1s, window: 10, payload: 20kB}
"""

    def test_a_missing_trace_of_a_lab_is_told_by_check(self):
        self.file(self.LAB, "lab.yaml")
        path = self.file("lab: lab.yaml\nexperiments:\n  - name: x\n    sweep: {links.1-2.trace: [F, nowhere.htr]}\n")
        for mode in ("sim", "relay"):
            error = campaign(path, "--check", "--mode", mode, code=2).stderr
            self.assertRegex(error, r"links\.1-2\.trace.*nowhere\.htr: cannot be opened")
        for mode in ("sim", "relay"):
            error = campaign(path, "--mode", mode, "--out", self.out / mode, "--no-report", code=2).stderr
            self.assertRegex(error, r"links\.1-2\.trace=nowhere\.htr: .*cannot be opened")
            self.assertFalse((self.out / mode).exists(), "the runs with F, too")

    def test_repetitions_of_a_lab_are_realisations(self):
        """Of each trace that says how it was made; where one does not, other chances make no interval."""
        self.file(self.LAB, "lab.yaml")
        self.trace("made.txt", "--duration", "1s", "--seed", "5")
        bare = [line for line in (self.folder / "made.txt").read_text().splitlines() if not line.startswith("# ") or "step_ns" in line]
        self.file("\n".join(bare) + "\n", "bare.txt")
        path = self.file("lab: lab.yaml\nrepetitions: 3\nset: {links.1-2.jitter: 1us}\nexperiments:\n  - name: x\n"
                         "    sweep: {links.1-2.trace: [A, made.txt, bare.txt, none]}\n")
        campaign(path, "--out", self.out)
        with open(self.out / "report" / "x.csv", newline="") as f:
            rows = {row["links.1-2.trace"]: row for row in csv.DictReader(f)}
        for name in ("A", "made.txt"):
            self.assertGreater(float(rows[name]["session_mean_ci95"]), 0, name)
        self.assertEqual(rows["bare.txt"]["session_mean_ci95"], "")
        page = (self.out / "report" / "index.html").read_text()
        self.assertIn("some of its fades are the same in each repetition: no interval", page)
        for name, found in (("A", True), ("made.txt", False)):  # the file as it is, but for a preset, whose seed was chosen
            first = next(p for p in self.runs() if f"-{name}-" in p.name and "-r1-" in p.name)
            self.assertEqual("/traces/" in (first / "link-1-2.yaml").read_text(), found, name)

    def test_a_timer_suits_the_path(self):
        """Left out, it is the paper's, or twice a longer round trip; too short a one is reported, by check and report, too."""
        path = self.file("set: {trace: none, duration: 4s, rate: 5Mbit/s, bundle: 50kB, sessions: 4}\nexperiments:\n  - name: x\n"
                         "    sweep: {delay: [5ms, 400ms], recovery: [default, plain], stack: [no, yes]}\n")
        done = campaign(path, "--out", self.out, "--json", "--no-report")
        self.assertEqual(done.stderr.count("WARNING: rto"), 0)
        for row in json.loads(done.stdout):
            self.assertEqual(row["parameters"]["rto"], {"5ms": "30ms", "400ms": "1.608s"}[row["parameters"]["delay"]])
            self.assertEqual(row["result"]["rto_firings"], 0, row)
        short = self.file("set: {trace: none, duration: 1s, warmup: 0s, rate: 5Mbit/s, bundle: 50kB}\n"
                          "experiments: [{name: x, sweep: {delay: [5ms, 400ms], rto: [30ms, auto]}}]\n", "short.yaml")
        for more in (("--check",), ("--out", self.out)):
            error = campaign(short, *more).stderr
            self.assertEqual(error.count("WARNING"), 1, error)
            self.assertIn("short.yaml:2: WARNING: rto: 30ms is no longer than the round trip of 804ms", error)
        self.assertIn("WARNING: rto: 30ms", (self.out / "report" / "index.html").read_text())

    def trace(self, name, *options):
        subprocess.run([BIN / "helio-trace", "gen", "--bad", "gamma:4ms,1", "--good", "gamma:36ms,1", *options, "-o",
                        self.folder / name], check=True, capture_output=True)

    def test_repetitions_are_realisations(self):
        """Else their interval is that of one fading counted five times: 0."""
        self.trace("made.txt", "--duration", "1s", "--seed", "5")
        steps = [line for line in (self.folder / "made.txt").read_text().splitlines() if not line.startswith("# ") or "step_ns" in line]
        self.file("\n".join(steps) + "\n", "bare.txt")
        path = self.file("repetitions: 3\nset: {duration: 500ms}\nexperiments:\n  - name: x\n"
                         "    sweep: {trace: [leo-low, made.txt, bare.txt, none, \"iid:0.01\"]}\n"
                         "  - name: fits\n    set: {trace: bare.txt, duration: 300ms}\n")
        campaign(path, "--out", self.out)
        with open(self.out / "report" / "x.csv", newline="") as f:
            rows = {row["trace"]: row for row in csv.DictReader(f)}
        with open(self.out / "report" / "fits.csv", newline="") as f:
            rows["fits"] = next(csv.DictReader(f))
        for name in ("leo-low", "made.txt", "iid:0.01", "fits"):
            self.assertGreater(float(rows[name]["session_mean_ci95"]), 0, name)  # goodput goes by whole blocks
        for name in ("bare.txt", "none"):
            self.assertEqual(rows[name]["session_mean_ci95"], "", name)
        page = (self.out / "report" / "index.html").read_text()
        self.assertIn("Repetitions of leo-low, made.txt: realisations of the same process.", page)
        self.assertIn("Repetitions of bare.txt: parts of the trace that overlap: no interval.", page)
        self.assertIn("Repetitions of none: the same in each repetition: no interval.", page)
        self.assertIn("Repetitions of bare.txt: parts of the trace, one after another.", page)

    def test_warmup_and_follow(self):
        """A long path has its start behind it; the paper's runs count all, as they were."""
        path = self.file("set: {duration: 8s, delay: 250ms, rate: 20Mbit/s, sessions: 20, rto: 1s, trace: none}\nexperiments:\n"
                         "  - name: x\n    sweep: {warmup: [0s, auto, 1s]}\n")
        rows = json.loads(campaign(path, "--out", self.out, "--json", "--no-report").stdout)
        commands = [row["result"]["command"] for row in rows]
        self.assertEqual(["--follow" in c for c in commands], [False, True, True])
        self.assertEqual([c[c.index("--warmup") + 1] for c in commands], ["0", "2s", "1s"])
        whole, steady, _ = (row["result"]["efficiency"] for row in rows)
        self.assertGreater(steady, 0.95)
        self.assertLess(whole, steady - 0.03)

    def test_the_report_states_its_conditions(self):
        """What is fixed, traces by their content, the commit; no bar where there is no interval; whole ticks; dark pages."""
        self.trace("made.txt", "--duration", "1s", "--seed", "5")
        path = self.file("set: {duration: 300ms, delay: 7ms, trace: made.txt}\nexperiments:\n  - name: x\n    sweep: {sessions: [2, 3]}\n"
                         "  - name: one\n    sweep: {recovery: [plain]}\n")  # bars
        campaign(path, "--out", self.out)
        page = (self.out / "report" / "index.html").read_text()
        digest = hashlib.sha256((self.folder / "made.txt").read_bytes()).hexdigest()[:16]
        for text in ("delay 7ms", "duration 300ms", "warmup auto", f"Trace made.txt: SHA-256 {digest}…", "prefers-color-scheme: dark"):
            self.assertIn(text, page)
        run = json.loads((self.runs()[0] / "run.json").read_text())
        if run["commit"]:
            self.assertIn(f"commit {run['commit']}.", page)
        lines = (self.out / "report" / "x-goodput.svg").read_text()
        self.assertNotIn("2.5</text>", lines)
        self.assertNotIn("LineCollection", lines)  # a run has no interval, and so no bar of length 0

    def test_what_a_crash_left_is_no_end(self):
        path = self.file("repetitions: 2\nset: {duration: 200ms}\nexperiments:\n  - name: x\n    set: {trace: F}\n")
        campaign(path, "--out", self.out)
        runs, traces = self.runs(), list((self.out / "traces").iterdir())
        self.assertEqual((len(runs), len(traces)), (2, 2))
        (runs[0] / "result.json").write_text("[]\n")
        (runs[1] / "run.json").unlink()
        (runs[0] / "run.json").write_text("{")
        campaign(path, "--out", self.out, "--report")
        whole = json.loads((runs[1] / "result.json").read_text())
        for part in ({"key": whole["key"], "goodput_bps": 1.0}, {**whole, "goodput_bps": None}, {**whole, "reasons": None}, whole):
            (runs[1] / "result.json").write_text(json.dumps(part))
            campaign(path, "--out", self.out, "--report", code=part is not whole)
        shutil.rmtree(runs[1])
        data = traces[0].read_bytes()
        traces[0].write_bytes(data[:len(data) // 2])
        campaign(path, "--out", self.out)
        self.assertEqual(self.runs(), runs)
        self.assertEqual(len(traces[0].read_bytes()), len(data))

    def test_disk_that_is_full_is_told(self):
        path = self.file("set: {duration: 200ms}\nexperiments: [{name: x}, {name: y, set: {sessions: 3}}]\n")
        gzip = self.folder / "gzip"
        gzip.write_text("#!/bin/sh\necho gzip: $4: No space left on device >&2\nexit 1\n")
        gzip.chmod(0o755)
        error = campaign(path, "--out", self.out, "--no-report", code=1, env={"PATH": f"{self.folder}:/usr/bin:/bin"}).stderr
        self.assertEqual(error.count("No space left on device"), 2)
        self.assertNotIn("Traceback", error)
        self.assertEqual(list((self.out / "runs").iterdir()), [])

    def test_whole_nodes_agree_with_engines(self):
        path = self.file("logs: all\nset: {duration: 5s, stack: yes}\nexperiments:\n  - name: x\n"
                         "    sweep: {trace: [A, \"iid:0.05\"], stack: [no, yes]}\n")
        campaign(path, "--out", self.out)
        got = {}
        for p in self.runs():
            v = json.loads((p / "run.json").read_text())["parameters"]
            got[v["trace"], v["stack"]] = p, json.loads((p / "result.json").read_text())
        for trace in ("A", "iid:0.05"):
            (_, engines), (folder, nodes) = got[trace, "no"], got[trace, "yes"]
            self.assertAlmostEqual(nodes["goodput_bps"] / engines["goodput_bps"], 1, delta=0.01)
            self.assertAlmostEqual(nodes["session_ms"]["mean"] / engines["session_ms"]["mean"], 1, delta=0.1)
            for name in ("node1.yaml", "node1.segments.csv.gz", "node2.segments.csv.gz", "sessions.csv.gz"):
                self.assertTrue((folder / name).exists(), name)
            again = subprocess.run(nodes["command"], capture_output=True, text=True, check=True)
            self.assertEqual(json.loads(again.stdout)["clients"][0]["goodput_bps"], nodes["client_goodput_bps"])
        with open(self.out / "report/x.csv", newline="", encoding="utf-8") as f:
            self.assertEqual([(r["trace"], r["stack"]) for r in csv.DictReader(f)],
                             [(t, s) for t in ("A", "iid:0.05") for s in ("no", "yes")])

    KEYS = """repetitions: 2
logs: none
set: {duration: 500ms, rate: 100Mbit/s, bundle: 50kB}
experiments:
  - name: back
    sweep: {return-trace: [none, A, "iid:0.2"], sessions: [2, 6]}
    set: {trace: none, return-rate: 1Mbit/s}
  - name: rules
    set: {trace: none, drop-return: "report:every=10", rto-max: 1s}
    sweep: {drop: ["checkpoint:first=2", "red:every=100 checkpoint:every=50"]}
  - name: colours
    sweep: {colour: [red, green, orange]}
  - name: contact
    set: {trace: none, stack: yes, duration: 2s}
    sweep: {contacts: ["0s-10s", "0s-500ms 1s-10s"]}
"""

    def results(self):
        return {p.name: (json.loads((p / "run.json").read_text())["parameters"], json.loads((p / "result.json").read_text())) for p in self.runs()}

    def test_keys_of_the_way_back_rules_colours_contacts(self):
        path = self.file(self.KEYS)
        campaign(path, "--out", self.out)
        found = list(self.results().values())
        lost = {v["return-trace"]: r for v, r in found if v.get("return-trace") and v["sessions"] == 6}
        self.assertGreater(lost["iid:0.2"]["rto_firings"], lost["none"]["rto_firings"])
        commands = [" ".join(r["command"]) for v, r in found if v.get("drop", "").startswith("red")]
        self.assertTrue(commands and all("--drop red:every=100 --drop checkpoint:every=50" in c for c in commands))
        traces = {c[c.index("--return-trace") + 1] for v, r in found if v.get("return-trace") == "A" for c in [r["command"]]}
        self.assertEqual(len(traces), 2)  # each repetition has its own fades on the way back, too
        self.assertNotIn("A", traces)
        with open(self.out / "report/back.csv", newline="", encoding="utf-8") as f:
            half = {(r["return-trace"], r["sessions"]): r["goodput_ci95"] for r in csv.DictReader(f)}
        self.assertEqual((half["none", "6"], half["iid:0.2", "6"] != ""), ("", True))
        contact = {v["contacts"]: r["goodput_bps"] for v, r in found if "contacts" in v}
        self.assertAlmostEqual(contact["0s-500ms 1s-10s"] / contact["0s-10s"], 0.75, delta=0.04)
        self.check_exports()
        self.check_against_itself(path)

    def check_exports(self):
        """What a paper takes has the numbers of the tables; the notebook runs."""
        with open(self.out / "report/back.csv", newline="", encoding="utf-8") as f:
            goodput = sorted(float(r["goodput"]) for r in csv.DictReader(f))
        text = (self.out / "report/back-goodput.tex").read_text()
        self.assertEqual(sorted(float(f"{float(y):.6g}") for y in re.findall(r"\(\d+, ([0-9.]+)\) \+-", text)), goodput)
        for name in ("back.tex", "back-goodput.tex", "rules.tex"):
            text = re.sub(r"\\[{}]", "", (self.out / "report" / name).read_text())
            self.assertEqual(text.count("{"), text.count("}"), name)
            self.assertEqual(text.count("\\begin"), text.count("\\end{"), name)
        book = json.loads((self.out / "report/report.ipynb").read_text())
        code = "\n".join("".join(c["source"]) for c in book["cells"] if c["cell_type"] == "code")
        done = subprocess.run([PLOTTING, "-W", "error::SyntaxWarning", "-c", "import matplotlib; matplotlib.use('svg')\n" + code], check=False,
                              cwd=self.out / "report", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.out / "report/back-sensitivity-goodput.svg").exists())

    def compare(self, path, other):
        """(of each setting, over all): what --against makes of another folder, without its figures."""
        code = """import json, sys
sys.path.insert(0, sys.argv[1])
from heliograph.campaign import data as campaign_data, file as campaign_file, report as campaign_report
loaded = campaign_file.load(sys.argv[2])
tables = [campaign_data.rows(e, sys.argv[3]) for e in loaded.experiments]
found = campaign_report.judge(campaign_report.compared(loaded, tables, [sys.argv[4]]))
print(json.dumps((found, campaign_report.over_all(found))))"""
        done = subprocess.run([PLOTTING, "-c", code, SOURCE / "lab", path, self.out, other], check=False, capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"})  # heliod describes the keys
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_against_itself(self, path):
        """The same runs do not differ, however often it is asked; what is a tenth less does."""
        for one in self.compare(path, self.out)[0]:
            self.assertEqual((one["pairs"], one["goodput_percent"], one["goodput_differs"]), (2, 0, False))
        other = self.folder / "other"
        shutil.copytree(self.out / "runs", other / "runs")
        for number, p in enumerate(sorted((other / "runs").iterdir())):
            result = json.loads((p / "result.json").read_text())
            result["goodput_bps"] *= 0.9 + number * 1e-6
            (p / "result.json").write_text(json.dumps(result))
        found, every = self.compare(path, other)
        for one in found:
            self.assertAlmostEqual(one["goodput_percent"], -10, delta=0.01)
            self.assertTrue(one["goodput_differs"])
            self.assertFalse(one["session_differs"])
        (goodput,) = [d for d in every if d["metric"] == "goodput"]
        self.assertLess(goodput["p"], 1e-6)
        self.assertEqual(goodput["settings"], 13)

    def test_keys_that_do_not_go_together(self):
        for text, words in (("{contacts: [0s-4s]}", "add stack: yes"), ("{stack: [yes], colour: [green]}", "only in mode sim"),
                            ("{contacts: [4s-2s], stack: [yes]}", "contacts rise"), ("{contacts: [4s], stack: [yes]}", "write them like"),
                            ("{return-trace: [nofile]}", "no file"), ("{drop: [\"\"]}", "a drop rule is wanted")):
            path = self.file(f"experiments:\n  - name: x\n    sweep: {text}\n")
            error = campaign(path, "--check", code=2).stderr
            self.assertIn(words, error)
            self.assertRegex(error, r"c\.yaml:[23]: ")

    def test_statistics(self):
        """Student's distribution from its table; a paired test by hand: mean 3, sd 1.5811, t = 3 / (sd / 5 ** 0.5) = 4.2426."""
        import _paths  # noqa: F401
        from heliograph import statistics
        for freedom in (1, 2, 4, 10, 30):
            t = statistics.quantile(freedom)
            self.assertAlmostEqual(statistics.beta_share(freedom / 2, 0.5, freedom / (freedom + t * t)), 0.05, places=4)
        self.assertAlmostEqual(statistics.beta_share(0.5, 0.5, 0.25), 1 / 3, places=9)  # the arcsine law
        mean, half, p = statistics.paired([1, 2, 3, 4, 5])
        self.assertAlmostEqual(half, 2.776 * 1.5811 / 5 ** 0.5, places=3)
        self.assertAlmostEqual(p, 0.013236, places=5)
        self.assertEqual((mean, statistics.paired([7]), statistics.paired([0, 0])[2]), (3, (7, None, None), 1.0))
        for got, wanted in zip(statistics.holm([0.01, 0.04, None, 0.03]), (0.03, 0.06, None, 0.06)):
            self.assertEqual(got is None, wanted is None)
            self.assertAlmostEqual(got or 0, wanted or 0)

    def test_steady_state_of_a_table(self):
        """What the other modes make of their logs is what helio-sim counts itself with --warmup and --follow."""
        import _paths  # noqa: F401
        from heliograph.campaign import steady as campaign_steady
        log, table = self.folder / "log.csv", self.folder / "sessions.csv"
        told = subprocess.run([BIN / "helio-sim", "--trace", "H", "--delay", "125ms", "--rate", "50Mbit/s", "--bundle", "50kB", "--duration", "8s",
                               "--warmup", "2s", "--follow", "yes", "--sessions", "40", "--rto", "300ms", "--log", log, "--json"],
                              capture_output=True, text=True, check=True).stdout
        there = json.loads(told)
        subprocess.run([BIN / "helio-analyze", log, "--sessions", table], capture_output=True, check=True)
        here = campaign_steady.steady(table, 2, 8)
        self.assertEqual(here["sessions_timed"], there["sessions_timed"])
        self.assertAlmostEqual(8 * here["delivered_bytes"] / 6, there["goodput_bps"], delta=1)
        for name in ("session_ms", "delivery_ms"):
            for key, value in there[name].items():
                self.assertAlmostEqual(here[name][key], value, places=5, msg=(name, key))
        for name in ("retx_cycles_mean", "checkpoints_lost_mean", "lossy_share"):
            self.assertAlmostEqual(here[name], there[name], places=6)
        self.assertIsNone(campaign_steady.steady(table, 100, 200))
        whole = campaign_steady.steady(table, 0, 8)  # the start is no part of the link
        self.assertGreater(whole["sessions_timed"], here["sessions_timed"])
        self.assertLess(8 * whole["delivered_bytes"] / 8, there["goodput_bps"])

    def test_papers_campaigns_are_right(self):
        for name in ("paper", "paper-quick"):
            text = campaign(SOURCE / f"campaigns/{name}.yaml", "--out", self.out, "--check").stdout
            self.assertIn("5 repetitions", text)
        self.assertIn("mode sim, 3 repetitions, 90 different runs", campaign(SOURCE / "campaigns/erasure.yaml", "--out", self.out, "--check").stdout)

    def test_the_interval_of_lost_checkpoints_is_theirs(self):
        """Of the published penalty: their number's times the timer, and none where they have none."""
        code = """import json, sys
sys.path.insert(0, sys.argv[1])
from heliograph.campaign import data as campaign_data, paper as campaign_paper
def row(trace, rto, lost, half):
    metrics = {name: (1.0, None) for name in campaign_data.METRICS} | {"cp_lost": (lost, half), "session_mean": (22.4, 0.1)}
    return campaign_data.Row({"trace": trace, "rto": rto}, metrics, 3, 0, [])
for half in 0.04, None:
    p = campaign_paper.Paper({}, sys.argv[2])
    p.draw = lambda *_: None
    campaign_paper.figure5(p, [row("none", "30ms", 0.0, None), row("A", "1s", 0.076, half)])
    print(json.dumps([r for r in p.rows if "penalty" in r["quantity"]]))"""
        done = subprocess.run([PLOTTING, "-c", code, SOURCE / "lab", self.folder], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        (known,), (unknown,) = map(json.loads, done.stdout.splitlines())
        self.assertAlmostEqual(known["ours"], 76)
        self.assertAlmostEqual(known["ci95"], 40)
        self.assertIsNone(unknown["ci95"])

    def test_paper_report(self):
        text = (SOURCE / "campaigns/paper-quick.yaml").read_text()
        text = text.replace("duration: 10s", "duration: 2s").replace("repetitions: 5", "repetitions: 1")
        text = re.sub(r"sessions: \[[^]]*\]", "sessions: [1, 3, 7, 10, 15, 20]", text)
        campaign(self.file(text), "--out", self.out)
        rows = json.loads((self.out / "report/published.json").read_text())
        ours = {r["quantity"]: r["ours"] for r in rows}
        self.assertAlmostEqual(ours["ideal session"], 22.4, delta=0.2)
        self.assertAlmostEqual(ours["ideal: goodput at saturation"], 473, delta=6)
        page = (self.out / "report/index.html").read_text()
        for figure in ("5", "6", "7", "8", "9", "10", "11"):
            self.assertIn(f'<figure id="figure-{figure}">', page)
        self.check_in_browser()

    def check_in_browser(self):
        colours = {}
        with browser.Browser() as chromium:
            for dark in (False, True):
                page = chromium.open(self.out / "report/index.html", dark)
                colours[dark] = [page.evaluate(f"getComputedStyle(document.querySelector('{what}')).{which}")
                                 for what, which in (("body", "backgroundColor"), ("body", "color"), ("th", "backgroundColor"), ("td.note", "color"))]
                sizes = page.evaluate("[...document.querySelectorAll('figure[id^=figure-] svg')].map((s) => s.getBoundingClientRect().width)")
                self.assertGreaterEqual(len(sizes), 7)
                self.assertGreater(min(sizes), 300)
                self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
                page.screenshot(self.out / "report.png", whole=True)
                self.assertEqual((page.complaints, page.requests), ([], []))
        self.assertEqual([a for a, b in zip(*colours.values()) if a == b], [], colours)
        with browser.Browser(width=480) as chromium:
            page = chromium.open(self.out / "report/index.html")
            # The last column is as wide as its words want, and can be scrolled to.
            self.assertGreaterEqual(page.evaluate("""(() => { const why = [...document.querySelectorAll('.wide td.note')].pop();
                why.scrollIntoView({inline: 'end'}); const r = why.getBoundingClientRect(); return r.right <= innerWidth ? r.width : -r.right; })()"""), 200)
            page.screenshot(self.out / "narrow.png")


LIVE = """repetitions: 1
logs: all
set: {duration: 2s, rate: 50Mbit/s, bundle: 50kB}
experiments:
  - name: one
    sweep: {trace: [A], sessions: [4]}
"""


class Live(Base):
    """The same file with real processes: the results have the same fields and are of the same size."""

    def live(self, mode):
        path = self.file(LIVE)
        for attempt in range(5):
            real = self.out / f"{mode}-{attempt}"
            told = campaign(path, "--mode", mode, "--out", real, "--no-report").stderr
            campaign(path, "--out", self.out / "sim", "--against", real)
            folder, = (real / "runs").iterdir()
            result = json.loads((folder / "result.json").read_text())
            compared, = json.loads((self.out / "sim/report/comparison.json").read_text())
            self.assertEqual(compared["mode"], mode)
            if result["faithful"] or abs(compared["goodput_percent"]) < 40:
                break
            print(f"attempt {attempt + 1}: this machine was too busy: {result['reasons']}", file=sys.stderr)
        # What a busy machine does to the figures is the campaigns' affair; here they must be those of this link.
        self.assertLess(abs(compared["goodput_percent"]), 40, result)
        self.assertGreater(result["sessions"], 50)
        self.assertIsInstance(result["faithful"], bool)
        self.assertEqual("not faithful: 1 of 1 runs" in told, not result["faithful"], told)
        for name in ("node1.segments.csv.gz", "node2.segments.csv.gz", "sessions.csv.gz", "node1.yaml", "link-1-2.json"):
            self.assertTrue((folder / name).exists(), name)

    def test_relay(self):
        self.live("relay")

    def test_bridge(self):
        self.live("bridge")

    def test_interrupt_ends_all_processes(self):
        path = self.file(LIVE.replace("2s", "60s"))
        p = subprocess.Popen([PROGRAM, path, "--mode", "relay", "--out", self.out], stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and not list(self.out.glob("runs/.part-*/perf-1.log")):
            time.sleep(0.05)
        time.sleep(1)
        p.send_signal(signal.SIGINT)
        _, error = p.communicate(timeout=1400)
        self.assertEqual(p.returncode, 130, error)
        self.assertEqual(subprocess.run(["pgrep", "-f", str(self.out)], capture_output=True, check=False).returncode, 1)


def load_tests(loader, *_):
    return loader.loadTestsFromTestCase({"sim": Campaign, "live": Live}[KIND])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
