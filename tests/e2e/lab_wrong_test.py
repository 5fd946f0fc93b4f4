# SPDX-License-Identifier: Apache-2.0
"""Labs that make no sense, and Python packages that are not there: one line each, no traceback, nothing computed for nothing.
usage: lab_wrong_test.py BIN"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1)).resolve()
CAMPAIGN = """title: short
mode: sim
report: paper
repetitions: 1
set: {duration: 100ms}
experiments:
  - {name: one, title: One, sweep: {trace: [none]}}
"""
PACKAGES = ("jinja2", "matplotlib", "numpy", "yaml", "sgp4")
WRONG = (
    ("line: 2\ntraffic:\n  - perf: 1-2\n    payload: 0\n", ":4: traffic.0.payload: \"0\" is too little"),
    ("line: 2\ntraffic:\n  - perf: 1-2\n    window: 0\n", ":4: traffic.0.window: \"0\" is too little"),
    ("line: 2\ntraffic:\n  - {perf: 1-2, window: some}\n", ":3: traffic.0.window: \"some\" is no whole number"),
    ("line: 2\ntraffic:\n  - {perf: 1-2, rate: 0b}\n", ":3: traffic.0.rate: \"0b\" is too little"),
    ("line: 2\ntraffic:\n  - {perf: 1-2, duration: 0s}\n", ":3: traffic.0.duration: \"0s\" is too little"),
    ("line: 2\ntraffic:\n  - {ping: 1-2, count: 0}\n", ":3: traffic.0.count: \"0\" is too little"),
    ("line: 2\nnodes: {far: {}}\ntraffic:\n  - {perf: 1-far}\n", ":4: traffic.0.perf: no links lead from 1 to far"),
    ("line: 2\nduration: 5s\nevents:\n  - {at: 9s, link: 1-2, do: down}\n", ":4: 1-2: the lab is over after 5s", "at 9s would not"),
    ("line: 2\nduration: 5s\ntraffic:\n  - {ping: 1-2, start: 5s}\n", ":4: traffic.0.start: the lab is over after 5s"),
    ("line: 2\nduration: 5s\ntraffic:\n  - {perf: 1-2, start: 6s}\nevents:\n  - {at: 5s, link: 1-2, do: up}\n", ":4: traffic.0.start", ":6: 1-2: the lab is over"),
)


class Wrong(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="helio-wrong-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_program(self, name, *words, hidden=None):
        """hidden: a package that is not there."""
        env = dict(os.environ)
        if hidden:
            hiding = self.folder / f"without-{hidden}"
            hiding.mkdir(exist_ok=True)
            (hiding / f"{hidden}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{hidden}'\", name='{hidden}')\n", encoding="ascii")
            env["PYTHONPATH"] = str(hiding)
        done = subprocess.run([BIN / name, *map(str, words)], capture_output=True, text=True, timeout=1000, check=False, env=env)
        self.assertNotIn("Traceback", done.stderr, (name, words, hidden))
        return done

    def test_labs(self):
        path = self.folder / "lab.yaml"
        self.assertGreaterEqual(len(WRONG), 10)
        for text, *wanted in WRONG:
            path.write_text(text, encoding="ascii")
            for words in (("check",), ("up", "--mode", "sim", "--out", self.folder / "out")):
                done = self.run_program("helio-lab", path, *words)
                self.assertEqual(done.returncode, 2, (text, done.stderr))
                for one in wanted:
                    self.assertIn(one, done.stderr, text)
        self.assertFalse((self.folder / "out").exists())

    def test_labs_that_make_sense(self):
        """A node that has links of its own words may reach others; so may what begins in time."""
        path = self.folder / "lab.yaml"
        for text in ("line: 2\nduration: 5s\ntraffic:\n  - {perf: 1-2, start: 4s, payload: 4k, window: 1, rate: 2b}\n",
                     "ring: 3\ntraffic:\n  - {perf: 1-3, data: 1MB}\nevents:\n  - {at: 9s, link: 1-2, do: down}\n"):
            path.write_text(text, encoding="ascii")
            done = self.run_program("helio-lab", path, "check")
            self.assertEqual(done.returncode, 0, (text, done.stderr))

    def test_a_campaign_asks_for_its_report_first(self):
        path, out = self.folder / "short.yaml", self.folder / "out"
        path.write_text(CAMPAIGN, encoding="ascii")
        for package in "jinja2", "matplotlib":
            done = self.run_program("helio-campaign", path, "--out", out, hidden=package)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"Python's module {package} is missing", done.stderr)
            self.assertFalse(list(out.glob("runs/*/result.json")), "nothing was computed")
        done = self.run_program("helio-campaign", path, "--out", out, "--no-report", hidden="jinja2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list(out.glob("runs/*"))), 1)

    def test_each_program_without_each_package(self):
        lab, log = self.folder / "lab.yaml", self.folder / "log.csv"
        campaign = self.folder / "short.yaml"
        lab.write_text("line: 2\nlink: {rate: 1Mbit/s}\n", encoding="ascii")
        campaign.write_text(CAMPAIGN, encoding="ascii")
        self.run_program("helio-sim", "--trace", "A", "--duration", "100ms", "--log", log)
        for package in PACKAGES:
            for name, *words in (("helio-lab", lab, "check"), ("helio-campaign", campaign, "--check"), ("helio-campaign", campaign, "--out", self.folder / package),
                                 ("helio-tune", "--trace", "none", "--duration", "200ms"), ("helio-analyze", "--plot", self.folder / "plots", log),
                                 ("helio-analyze", "--html", self.folder / "page", log), ("helio-trace", "show", "A", "--plot", self.folder / "a.png"),
                                 ("helio-lab", "passes", "--tle", lab, "--station", "rome=41.9,12.5")):
                done = self.run_program(name, *words, hidden=package)
                if done.returncode != 0:
                    self.assertLessEqual(len(done.stderr.splitlines()), 3, (name, package, done.stderr))


unittest.main()
