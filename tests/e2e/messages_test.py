# SPDX-License-Identifier: Apache-2.0
"""What people write wrong, one message for each: with its place (file, line, key) and what would be right; no traceback,
nothing computed for nothing. The rows are in messages_table.py; they are printed with what was said.
usage: messages_test.py BIN"""

import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from certificates import NODE, Authority
from messages_table import CAMPAIGN, COMMANDS, HEAD, LABS, LINE, NODES, PACKAGES, PLAN

BIN = Path(sys.argv.pop(1)).resolve()
REPORTED = CAMPAIGN.replace("mode: sim\n", "mode: sim\nreport: paper\n")
MODULES = ("jinja2", "matplotlib", "numpy", "yaml", "sgp4")
CHECKS = {"node": ("n.yaml", "heliod --check FOLDER/n.yaml"), "lab": ("lab.yaml", "helio-lab FOLDER/lab.yaml check"),
          "campaign": ("campaign.yaml", "helio-campaign FOLDER/campaign.yaml --check"),
          "channel": ("channel.yaml", "helio-emu check FOLDER/channel.yaml"),
          "station": ("station.yaml", "helio-sle provider --check FOLDER/station.yaml")}
TLE = ("LEO", "1 25544U 98067A   24001.50000000  .00016717  00000-0  10270-3 0  9009", "2 25544  51.6400 100.0000 0005000  50.0000 310.0000 15.50000000    04")
PROGRAMS = {"ip": "iproute2"}  # what is hidden, and no module


class Messages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="helio-wrong-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def put(self, name, text):
        path = self.folder / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_text(text.replace("FOLDER", str(self.folder)), encoding="ascii")
        path.chmod(0o600)
        return path

    def run_line(self, line, hidden=None):
        name, *words = shlex.split(line.replace("FOLDER", str(self.folder)))
        return self.run_program(name, *words, hidden=hidden)

    def show(self, title, rows):
        """For people: what was wrong, and what was said."""
        print(f"\n{title}: {len(rows)}")
        for what, said in rows:
            print(f"  {what}\n      {said.replace(str(self.folder) + '/', '')}", flush=True)

    def run_program(self, name, *words, hidden=None):
        """hidden: a package that is not there."""
        env = dict(os.environ)
        if hidden in PROGRAMS:
            env["PATH"] = str(self.folder / "empty")
        elif hidden:
            hiding = self.folder / f"without-{hidden}"
            hiding.mkdir(exist_ok=True)
            (hiding / f"{hidden}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{hidden}'\", name='{hidden}')\n", encoding="ascii")
            env["PYTHONPATH"] = str(hiding)
        done = subprocess.run([BIN / name, *map(str, words)], capture_output=True, text=True, timeout=1000, check=False, env=env)
        self.assertNotIn("Traceback", done.stderr, (name, words, hidden))
        return done

    def check_row(self, row):
        """The one line that is said."""
        name, line = CHECKS[row.kind]
        shutil.rmtree(self.folder / "keys", ignore_errors=True)
        for file, text in row.more.get("files", {}).items():
            self.put(file, text)
        self.put(name, row.text)
        done = self.run_line(line)
        self.assertEqual(done.returncode, row.more.get("code", 2), (row.what, done.stderr))
        said = done.stderr.strip().splitlines()
        first = said[0].split(": ", 1)[1] if said[0].startswith("helio-") else said[0]
        path = self.folder / row.more.get("file", name)
        self.assertTrue(first.startswith(f"{path}:{row.place}"), (row.what, row.place, done.stderr))
        self.assertIn(row.says, first, row.what)
        self.assertTrue("ends" not in row.more or first.endswith(row.says), (row.what, first))
        self.assertIn(row.more.get("also", ""), done.stderr, row.what)
        self.assertEqual(len(said), 1 + ("also" in row.more), (row.what, done.stderr))
        return row.what, first

    def check_rows(self, rows):
        said = []
        for row in rows:
            with self.subTest(row.what):
                said.append(self.check_row(row))
        return said

    def test_nodes(self):
        authority = Authority(str(self.folder / "ca"))
        authority.issue("other", f"{NODE}ipn:9.0")
        authority.issue("plain", "DNS:one.example")
        authority.issue("one", f"{NODE}ipn:1.0")
        self.show("configurations", self.check_rows(NODES))
        self.assertGreaterEqual(len(NODES) + len(LABS), 40)

    def test_the_right_certificate(self):
        """Nothing is said of it."""
        authority = Authority(str(self.folder / "ca"))
        authority.issue("one", f"{NODE}ipn:1.0")
        row, = (row for row in NODES if row.what == "a certificate of another node")
        self.put("n.yaml", row.text.replace("other", "one"))
        done = self.run_line("heliod --check FOLDER/n.yaml")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_labs(self):
        self.show("labs and the like", self.check_rows(LABS))
        for row in LABS:
            if "traffic" in row.text or "events" in row.text:
                path = self.put("lab.yaml", row.text)
                done = self.run_program("helio-lab", path, "up", "--mode", "sim", "--out", self.folder / "out")
                self.assertEqual(done.returncode, 2, (row.what, done.stderr))
                self.assertIn(row.says, done.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_commands(self):
        self.put("plan.yaml", PLAN)
        self.put("plan.txt", PLAN)
        self.put("lab.yaml", LINE)
        self.put("n.yaml", HEAD)
        for name in "n.sock", "n.sock.ctl":
            with socket.socket(socket.AF_UNIX) as s:
                s.bind(str(self.folder / name))
        self.assertGreaterEqual(len(COMMANDS), 15)
        said = []
        for row in COMMANDS:
            with self.subTest(row.what):
                done = self.run_line(row.words)
                self.assertEqual(done.returncode, 2, (row.words, done.stderr))
                self.assertIn(row.says.replace("FOLDER", str(self.folder)), " ".join(done.stderr.split()), row.words)
                self.assertEqual(done.stdout, "", row.words)
                said.append((f"{row.what}: {row.words}", done.stderr.strip().splitlines()[0]))
        self.show("commands", said)

    def test_packages(self):
        self.put("plan.yaml", PLAN)
        self.put("lab.yaml", LINE + "link: {rate: 1Mbit/s}\n")
        self.put("campaign.yaml", REPORTED)
        self.put("tle", "".join(line + "\n" for line in TLE))
        self.run_line("helio-sim --trace A --duration 100ms --log FOLDER/log.csv")
        self.assertGreaterEqual(len(PACKAGES), 10)
        said = []
        for row in PACKAGES:
            with self.subTest(row.what):
                done = self.run_line(row.words, hidden=row.hidden)
                self.assertIn(done.returncode, (1, 2), (row.words, done.stderr))
                self.assertIn(row.says, done.stderr, row.words)
                self.assertLessEqual(len(done.stderr.splitlines()), 3, done.stderr)
                said.append((f"{row.what} without {row.hidden}: {row.words}", done.stderr.strip().splitlines()[-1]))
        self.show("packages", said)

    def test_a_build_that_cannot_be_measured_against(self):
        """One without groups of keys prints them as text for --json, too; one that ends; a folder without programs."""
        bench = Path(__file__).resolve().parents[1] / "bench" / "tcpcl_bench.py"
        for name, script, says in (("old", "printf 'links\\tname\\ttext\\t(required)\\t\\n'", "is from before link keys had groups"), ("ended", "exit 1", "ended with code 1"), ("none", "", "No such file")):
            (self.folder / name).mkdir()
            if script:
                path = self.folder / name / "heliod"
                path.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
                path.chmod(0o755)
            done = subprocess.run([sys.executable, bench, BIN, self.folder / "out", "--seconds", "0.1", "--rounds", "1", "--against", self.folder / name],
                                  capture_output=True, text=True, timeout=100, check=False)
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), done.stderr)
            self.assertIn(says, done.stderr)
            self.assertIn("run that version's own tests/bench/tcpcl_bench.py in turns", done.stderr)

    def test_labs_that_make_sense(self):
        """A node that has links of its own words may reach others; so may what begins in time."""
        path = self.folder / "lab.yaml"
        for text in ("line: 2\nduration: 5s\ntraffic:\n  - {perf: 1-2, start: 4s, payload: 4k, rate: 2b}\n",
                     "ring: 3\ntraffic:\n  - {perf: 1-3, data: 1MB}\nevents:\n  - {at: 9s, link: 1-2, do: down}\n"):
            path.write_text(text, encoding="ascii")
            done = self.run_program("helio-lab", path, "check")
            self.assertEqual(done.returncode, 0, (text, done.stderr))

    def test_a_campaign_asks_for_its_report_first(self):
        path, out = self.folder / "short.yaml", self.folder / "out"
        path.write_text(REPORTED, encoding="ascii")
        for package in "jinja2", "matplotlib":
            done = self.run_program("helio-campaign", path, "--out", out, hidden=package)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"Python's module {package} is missing; in Debian the package python3-{package} has it", done.stderr)
            self.assertFalse(list(out.glob("runs/*/result.json")), "nothing was computed")
        done = self.run_program("helio-campaign", path, "--out", out, "--no-report", hidden="jinja2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list(out.glob("runs/*"))), 1)

    def test_each_program_without_each_package(self):
        lab, log = self.folder / "lab.yaml", self.folder / "log.csv"
        campaign = self.folder / "short.yaml"
        lab.write_text("line: 2\nlink: {rate: 1Mbit/s}\n", encoding="ascii")
        campaign.write_text(REPORTED, encoding="ascii")
        self.run_program("helio-sim", "--trace", "A", "--duration", "100ms", "--log", log)
        for package in MODULES:
            for name, *words in (("helio-lab", lab, "check"), ("helio-campaign", campaign, "--check"), ("helio-campaign", campaign, "--out", self.folder / package),
                                 ("helio-tune", "--trace", "none", "--duration", "200ms"), ("helio-analyze", "--plot", self.folder / "plots", log),
                                 ("helio-analyze", "--html", self.folder / "page", log), ("helio-trace", "info", "A", "--plot", self.folder / "a.png"),
                                 ("helio-lab", "passes", "--tle", lab, "--station", "rome=41.9,12.5")):
                done = self.run_program(name, *words, hidden=package)
                if done.returncode != 0:
                    self.assertLessEqual(len(done.stderr.splitlines()), 3, (name, package, done.stderr))


unittest.main()
