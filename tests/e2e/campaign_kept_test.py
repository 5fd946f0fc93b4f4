#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-campaign in virtual time: what becomes of its runs and its programs when it is interrupted, killed, or done by a scheduler.

usage: campaign_kept_test.py BIN
"""
import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from campaign_case import PROGRAM, SMALL, Base, campaign


class Kept(Base):
    def test_list_with_gnu_parallel(self):
        path = self.file(SMALL)
        commands = campaign(path, "--out", self.out, "--list").stdout
        self.assertEqual(len(commands.splitlines()), 12)
        subprocess.run(["parallel", "--will-cite", "-j2"], input=commands, text=True, check=True, timeout=1400,
                       env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)})
        self.assertEqual(len(self.runs()), 12)
        self.assertEqual(campaign(path, "--out", self.out, "--list").stdout, "")
        self.assertIn("key", campaign(path, "--out", self.out, "--only", "no", code=2).stderr)

    def test_interrupt_keeps_what_is_done(self):
        """One run that ends soon, and one that does not."""
        path = self.file("set: {trace: none}\nexperiments:\n  - {name: soon, set: {duration: 500ms}}\n  - {name: hours, set: {duration: 100000s}}\n")
        p = subprocess.Popen([PROGRAM, path, "--out", self.out, "--jobs", "1"], stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and not list(self.out.glob("runs/[!.]*")):
            time.sleep(0.05)
        p.send_signal(signal.SIGINT)
        _, error = p.communicate(timeout=1400)
        self.assertEqual(p.returncode, 130)
        self.assertIn("are kept", error)
        self.assertEqual(len(self.runs()), 1)
        self.assertEqual(list(self.out.glob("runs/.part-*")), [])
        self.assertIn("2 different runs (1 done)", campaign(path, "--out", self.out, "--check").stdout)

    def test_killed_in_the_middle_goes_on(self):
        path = self.file(SMALL.replace("500ms", "5s"))
        p = subprocess.Popen([PROGRAM, path, "--out", self.out, "--jobs", "1"], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            p.send_signal(signal.SIGSTOP)  # what is seen is what is left
            os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if list(self.out.glob("runs/[!.]*")) and list(self.out.glob("runs/.part-*")):
                break
            p.send_signal(signal.SIGCONT)
            time.sleep(0.05)
        p.kill()
        p.wait(300)
        kept = {r: (r / "result.json").stat().st_mtime_ns for r in self.runs()}
        self.assertTrue(0 < len(kept) < 12, kept)
        self.assertNotEqual(list(self.out.glob("runs/.part-*")), [])
        campaign(path, "--out", self.out, "--no-report")
        self.assertEqual(len(self.runs()), 12)
        self.assertEqual({r: (r / "result.json").stat().st_mtime_ns for r in kept}, kept)
        self.assertEqual(list(self.out.glob("runs/.part-*")), [])

    def test_killed_leaves_no_program(self):
        path = self.file("set: {duration: 100000s, rate: 500Mbit/s, trace: none}\nexperiments: [{name: hours}]\n")
        p = subprocess.Popen([PROGRAM, path, "--out", self.out], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 300

        def children():
            found = set()
            for threads in Path(f"/proc/{p.pid}/task").glob("*/children"):
                with contextlib.suppress(OSError):  # a thread that has ended by now
                    found |= set(threads.read_text().split())
            return found

        while len(running := children()) < 2 and time.monotonic() < deadline:  # helio-sim and the analyzer of its log
            time.sleep(0.05)
        p.kill()
        p.wait(300)
        while time.monotonic() < deadline and any(Path("/proc", child).exists() for child in running):
            time.sleep(0.05)
        left = [child for child in running if Path("/proc", child).exists()]
        for child in left:
            os.kill(int(child), signal.SIGKILL)
        self.assertEqual((len(running), left), (2, []))

    def test_a_warmup_that_is_cut_is_told(self):
        """The start of a short run changes its goodput: 2.667 Mbit/s in 4 s instead of 2."""
        link = "trace: none, rate: 50Mbit/s, bundle: 100kB, delay: 1s"
        path = self.file(f"set: {{{link}, duration: 4s}}\nexperiments:\n  - name: x\n    sweep: {{sessions: [5, 20]}}\n"
                         "  - {name: long, set: {duration: 26s, sessions: 5}}\n  - {name: given, set: {warmup: 1s, sessions: 5}}\n")
        said = ("WARNING: delay 1s, sessions 20: the warm-up is cut to 1s, it needs 6.97s: the start changes the figures; "
                "write duration: 28s or longer (2 of 2 settings are too short)")
        for more in (("--check",), ("--out", self.out, "--json")):
            done = campaign(path, *more)
            self.assertIn(f"c.yaml:3: {said}", done.stderr)
            self.assertEqual(done.stderr.count("WARNING"), 1, done.stderr)
        self.assertIn("helio-campaign: drawing the report\n", done.stderr)
        rows = json.loads(done.stdout)
        self.assertEqual([bool(row["warnings"]) for row in rows], [True, True, False, False])
        self.assertAlmostEqual(rows[0]["result"]["goodput_bps"], 8e6 / 3, delta=1e3)
        self.assertAlmostEqual(rows[2]["result"]["goodput_bps"], 2e6, delta=5e4)
        page = (self.out / "report" / "index.html").read_text()
        self.assertIn(said, page)
        self.assertEqual(page.count("(warm-up cut)"), 2)
        about = [json.loads((p / "run.json").read_text()) for p in self.runs()]
        self.assertEqual(sorted((round(a["warmup_s"], 3), round(a["warmup_needed_s"], 3), len(a["warnings"])) for a in about),
                         [(1.0, 6.252, 0), (1.0, 6.252, 1), (1.0, 6.972, 1), (6.252, 6.252, 0)])

    def test_what_is_not_random_is_run_once(self):
        path = self.file("repetitions: 3\nset: {duration: 300ms}\nexperiments:\n  - name: x\n    set: {trace: none}\n    sweep: {sessions: [1, 2]}\n"
                         "  - {name: lost, set: {loss: 0.01}}\n  - {name: back, set: {trace: none, return-trace: \"iid:0.1\"}}\n"
                         "  - {name: late, set: {trace: none, jitter: 1ms}}\n")
        self.assertIn("11 different runs", campaign(path, "--check").stdout)
        campaign(path, "--out", self.out)
        self.assertEqual(len(self.runs()), 11)
        with open(self.out / "report" / "x.csv", newline="") as f:
            self.assertEqual([(r["repetitions"], r["goodput_ci95"]) for r in csv.DictReader(f)], [("1", "")] * 2)
        page = (self.out / "report" / "index.html").read_text()
        self.assertNotIn("runs are missing", page)
        self.assertEqual(campaign(path, "--out", self.out, "--list").stdout, "")
        command = next(json.loads((p / "result.json").read_text())["command"] for p in self.runs() if p.name.startswith("sim-none-2s-"))
        seeds = [subprocess.run([seed if command[i - 1] == "--seed" else word for i, word in enumerate(command)], capture_output=True, text=True, check=True).stdout
                 for seed in ("1", "2")]
        one, other = (json.loads(text) for text in seeds)
        for key in ("goodput_bps", "efficiency"):
            self.assertEqual(one[key], other[key], key)
        for key, value in one["session_ms"].items():  # so it is right: the lengths of the sessions' numbers are some nanoseconds
            self.assertAlmostEqual(value, other["session_ms"][key], delta=1e-4, msg=key)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
