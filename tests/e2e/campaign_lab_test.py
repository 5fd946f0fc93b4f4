#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Campaigns over labs with events: what an event brings into mid-run has other fades in each repetition, too, and what it leaves alone keeps
those that the repetition has.

usage: campaign_lab_test.py BIN
"""
import csv
import json
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from campaign_case import Base, campaign

import _paths  # noqa: F401
from heliograph.campaign import export as campaign_export  # noqa: E402

BIN = Path(sys.argv[1])
LAB = """line: 2
link: {rate: 20Mbit/s, delay: 5ms}
links: {1-2: {TRACE}}
traffic:
  - {perf: 1-2, duration: 1s, window: 10, payload: 20kB}
events:
"""
RATE = "  - {at: 600ms, link: 1-2, set: {rate: 15Mbit/s}}\n"
HEAD = "lab: lab.yaml\nrepetitions: 3\nexperiments:\n  - name: x\n"


def traces_of(path):
    """Of a channel's file: both directions have the one of the lab."""
    return re.findall(r"^ *trace: (\S+)$", path.read_text(), re.MULTILINE)


def content(name):
    """The steps that a trace of this name or path has."""
    done = subprocess.run([BIN / "helio-trace", "convert", name, "-"], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line and not line.startswith("#")]


class Folder(Base):
    def test_a_folder_by_its_name_alone(self):
        """One emulator for all links reads a file that names others: where the campaign was started is not where that file is."""
        for text in ("emulator: one\n", "shared: {up: {of: [1-2.forward], rate: 5Mbit/s}}\n"):
            self.file("line: 2\nlink: {delay: 5ms}\ntraffic: [{perf: 1-2, duration: 1s, window: 4, payload: 20kB}]\n" + text, "lab.yaml")
            path = self.file(HEAD.replace("3", "1") + "    sweep: {traffic.0.window: [2, 4]}\n")
            campaign(path, "--out", "here", cwd=self.folder)
            shutil.rmtree(self.folder / "here")

    def test_another_campaign_that_is_not_there(self):
        error = campaign(self.file(HEAD.replace("lab: lab.yaml\n", "")), "--against", "/nowhere", code=2).stderr
        self.assertEqual(error, "helio-campaign: --against /nowhere: no campaign's folder: it has no runs\n")

    def test_what_no_run_has_is_not_shown(self):
        """Over labs there is no capacity, so no efficiency; and a number without an exponent."""
        self.lab_of_two()
        campaign(self.file(HEAD + "    sweep: {traffic.0.window: [2, 4]}\n"), "--out", self.out)
        report = self.out / "report"
        self.assertEqual([p.name for p in report.glob("*efficiency*")], [])
        self.assertGreater(len(list(report.glob("*goodput*"))), 0)
        page = (report / "index.html").read_text()
        self.assertNotIn("channel efficiency", page)
        self.assertNotIn("In all runs: .", page)
        self.assertIn("Lab lab.yaml: SHA-256 ", page)
        self.assertEqual([campaign_export.digits(*one) for one in ((284.2, 2), (0.00001234, 2), (12.34, 4), (1.2e7, 4))], ["280", "0.000012", "12.34", "12000000"])

    def lab_of_two(self):
        self.file("line: 2\nlink: {rate: 20Mbit/s, delay: 5ms, trace: 'iid:0.01'}\ntraffic: [{perf: 1-2, duration: 1s, window: 4, payload: 20kB}]\n", "lab.yaml")


class Events(Base):
    def generated(self, preset, seed):
        path = self.folder / f"{preset}-{seed}.txt"
        subprocess.run([BIN / "helio-trace", "gen", "--preset", preset, "--seed", str(seed), "-o", path], check=True, capture_output=True)
        return path

    def lab(self, *events, trace="trace: A"):
        return self.file(LAB.replace("TRACE", trace) + "".join(events), "lab.yaml")

    def row(self):
        with open(self.out / "report" / "x.csv", newline="") as f:
            return next(csv.DictReader(f))

    def by_hand(self, number):
        """The lab of a repetition as a person would write it down, alone."""
        lab = self.lab(RATE, trace=f"trace: {self.generated('A', 1000 + number)}")
        lab.write_text(lab.read_text() + f"seed: {number}\n")
        out = self.folder / f"hand-{number}"
        subprocess.run([BIN / "helio-lab", lab, "up", "--mode", "sim", "--out", out], check=True, capture_output=True)
        return json.loads((out / "result.json").read_text())["traffic"]["perf-1"]["goodput_bps"]

    def test_fades_go_on_when_something_else_changes(self):
        """In virtual time; each repetition is the lab whose file names that realisation."""
        self.lab(RATE)
        rows = json.loads(campaign(self.file(HEAD), "--out", self.out, "--json").stdout)
        rates = {row["repetition"]: row["result"]["goodput_bps"] for row in rows}
        self.assertEqual(len(set(rates.values())), 3, rates)
        self.assertEqual([row["result"]["realisation"] for row in rows], 3 * [{"kind": "realisation"}])
        self.assertGreater(float(self.row()["session_mean_ci95"]), 0)
        self.assertEqual([row["result"]["trace_seeds"] for row in rows], [{"A": 1000 + n} for n in (1, 2, 3)])
        for number in (1, 2, 3):  # none is the preset's own trace, whose seed was chosen
            self.assertEqual(self.by_hand(number), rates[number])

    def test_the_long_form_of_a_trace(self):
        """Fades go on behind an event there, too."""
        found = []
        for trace in ("trace: A", "erasures: {trace: A}", "erasures: {trace: {file: A}}"):
            self.lab(RATE, trace=trace)
            rows = json.loads(campaign(self.file(HEAD.replace("3", "2")), "--out", self.out, "--json", "--no-report").stdout)
            found.append([row["result"]["goodput_bps"] for row in rows])
        self.assertEqual(found, 3 * found[:1])
        self.assertEqual(len(set(found[0])), 2)

    def test_chances_that_come_later(self):
        self.lab("  - {at: 300ms, link: 1-2, set: {trace: \"iid:0.05\"}}\n", trace="")
        rows = json.loads(campaign(self.file(HEAD), "--out", self.out, "--json").stdout)
        self.assertEqual([row["result"]["realisation"] for row in rows], 3 * [{"kind": "seed"}])
        self.assertEqual(len({row["result"]["session_ms"]["mean"] for row in rows}), 3)
        self.assertGreater(float(self.row()["session_mean_ci95"]), 0)

    def channels(self, folder):
        """The traces of the emulator's files, from the first one on."""
        names = ["link-1-2.yaml", "link-1-2.1.yaml", "link-1-2.2.yaml"]
        return [self.one(traces_of(folder / name)) for name in names]

    def one(self, names):
        self.assertEqual((len(names), len(set(names))), (2, 1), names)
        return names[0]

    def real(self, trace):
        self.lab(f"  - {{at: 300ms, link: 1-2, set: {{trace: {trace}}}}}\n", RATE)
        rows = json.loads(campaign(self.file(HEAD), "--mode", "relay", "--out", self.out, "--json").stdout)
        found = {number: self.channels(next(p for p in self.runs() if f"-r{number}-" in p.name)) for number in (1, 2, 3)}
        return found, {row["result"]["realisation"]["kind"] for row in rows}

    def test_a_trace_that_an_event_sets(self):
        """In real time. Whether it is another one is seen by its content, beside that of helio-trace gen; the rate changes behind it."""
        found, kinds = self.real("F")
        self.assertEqual(kinds, {"realisation"})
        for number in (1, 2, 3):
            first, second, third = found[number]
            self.assertEqual(second, third)
            for preset, path in (("A", first), ("F", second)):
                self.assertEqual(content(path), content(self.generated(preset, 1000 + number)))
        self.assertIn("realisations of the same process", (self.out / "report" / "index.html").read_text())

    def test_a_trace_that_nobody_can_draw_again(self):
        steps = [line for line in self.generated("F", 5).read_text().splitlines() if not line.startswith("# ") or "step_ns" in line]
        bare = self.file("\n".join(steps) + "\n", "bare.txt")
        found, kinds = self.real("bare.txt")
        self.assertEqual(kinds, {"some"})
        self.assertEqual([Path(path).resolve() for way in found.values() for path in way[1:]], 6 * [bare.resolve()])
        self.assertEqual(self.row()["session_mean_ci95"], "")
        self.assertIn("some of its fades are the same in each repetition: no interval", (self.out / "report" / "index.html").read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
