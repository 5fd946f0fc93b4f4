# SPDX-License-Identifier: Apache-2.0
"""Logs of virtual time whose second node's clock is shifted and drifts: helio-analyze finds out and puts it right; and
logs that hold two runs. usage: analyze_clock_test.py BIN"""

import csv
import io
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(sys.argv[1])
BEGIN = 10**13  # ns of both clocks when the run begins
RUN = ("--rate", "100Mbit/s", "--duration", "5s", "--bundle", "100kB", "--sessions", "12", "--processing", "4ms")


def run(name, *arguments, code=0):
    done = subprocess.run([BIN / name, *map(str, arguments)], capture_output=True, text=True, timeout=1400, check=False)
    assert done.returncode == code, (name, arguments, done.returncode, done.stderr)
    return done


def analyse(*arguments):
    return json.loads(run("helio-analyze", *arguments, "--json").stdout)


class Clocks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        cls.whole = cls.folder / "both.csv"
        run("helio-sim", *RUN, "--trace", "H", "--seed", "3", "--log", cls.whole)
        with open(cls.whole, newline="", encoding="ascii") as f:
            cls.names, *cls.rows = csv.reader(f)
        cls.one = cls.write("one.csv", "1", lambda t: t)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def write(cls, name, node, clock):
        """The rows of one node, its times by another clock."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(cls.names)
        for row in cls.rows:
            if row[cls.names.index("node")] == node:
                table.writerow([str(round(clock(BEGIN + int(row[0])))), *row[1:]])
        path = cls.folder / name
        path.write_text(text.getvalue())
        return path

    def check_clock(self, shift, drift):
        true = analyse(self.one, self.write("two.csv", "2", lambda t: t))
        two = self.write("two.csv", "2", lambda t: t + shift + drift * (t - BEGIN))
        found = analyse(self.one, two)
        clock, = found["clocks"]
        self.assertEqual((clock["node"], clock["other"]), (1, 2))
        self.assertTrue(clock["differ_for_certain"])
        self.assertAlmostEqual(clock["offset_ms"], shift / 1e6, delta=0.08)  # a segment takes 85 us more than a report
        self.assertAlmostEqual(clock["offset_within_ms"], 5.05, delta=0.1)
        self.assertAlmostEqual(clock["drift_ppm"], drift * 1e6, delta=2)
        self.assertEqual(clock["drifts"], drift != 0)
        told = run("helio-analyze", self.one, two).stdout
        self.assertIn("clocks: node 2 is ", told)
        self.assertIn("--clock auto corrects", told)
        right = analyse(self.one, two, "--clock", "auto")
        for key in ("mean", "p50", "p99", "max"):
            self.assertAlmostEqual(right["delivery_ms"][key], true["delivery_ms"][key], delta=0.1 + 0.004 * true["delivery_ms"][key])
        for key in ("sessions", "checkpoints_lost", "segments_received", "duplicates", "cp_lost_basis", "session_ms"):
            self.assertEqual(right[key], true[key], key)
        fixed, = right["clocks_corrected"]
        self.assertEqual(fixed["node"], 2)
        self.assertIn("; corrected", run("helio-analyze", self.one, two, "--clock", "auto").stdout)
        return true, found, two

    def test_ahead(self):
        true, found, two = self.check_clock(3.2e9, 0)
        self.assertAlmostEqual(found["delivery_ms"]["mean"], true["delivery_ms"]["mean"] + 3200, delta=1)
        given = analyse(self.one, two, "--clock", "2=+3200ms")
        self.assertEqual(given["delivery_ms"], true["delivery_ms"])
        self.assertEqual(given["clocks"][0]["differ_for_certain"], False)

    def test_behind(self):
        true, found, two = self.check_clock(-3.2e9, 0)
        self.assertIsNone(found["delivery_ms"])
        self.assertEqual(analyse(self.one, two, "--clock", "2=-3.2s")["delivery_ms"], true["delivery_ms"])

    def test_ahead_and_drifting(self):
        self.check_clock(3.2e9, 100e-6)

    def test_behind_and_drifting(self):
        self.check_clock(-60e9, -40e-6)

    def test_right_clocks_are_not_spoken_of(self):
        two = self.write("two.csv", "2", lambda t: t)
        told = run("helio-analyze", self.one, two).stdout
        self.assertNotIn("clocks:", told)
        clock, = analyse(self.one, two)["clocks"]
        self.assertAlmostEqual(clock["offset_ms"], 0, delta=0.08)
        self.assertFalse(clock["drifts"] or clock["differ_for_certain"])

    def test_a_busy_machine_is_no_drift(self):
        """One clock; what arrives at node 2 waits in the first part of the run, at node 1 in the last."""
        draw = random.Random(5)
        names = {name: i for i, name in enumerate(self.names)}
        first, last = int(self.rows[0][0]), int(self.rows[-1][0])

        def late(row):
            if row[names["dir"]] != "rx":
                return 0
            part = (int(row[0]) - first) / (last - first)
            busy = part < 0.4 if row[names["node"]] == "2" else part > 0.6
            return draw.uniform(2e5, 1e6) if busy else draw.uniform(0, 3e4)

        rows = sorted(([BEGIN + int(row[0]) + round(late(row)), row] for row in self.rows), key=lambda pair: pair[0])
        logs = []
        for node in "12":
            logs.append(self.folder / f"busy{node}.csv")
            with open(logs[-1], "w", newline="", encoding="ascii") as f:
                csv.writer(f, lineterminator="\n").writerows(
                    [self.names, *([t, *row[1:]] for t, row in rows if row[names["node"]] == node)])
        found = analyse(*logs)
        clock, = found["clocks"]
        self.assertGreater(abs(clock["drift_ppm"]), 1.5 * clock["drift_error_ppm"])  # a line shows
        self.assertFalse(clock["drifts"] or clock["differ_for_certain"])
        told = run("helio-analyze", *logs).stdout
        self.assertIn("perhaps with a drift of -", told)
        self.assertIn("--clock auto leaves the times", told)
        self.assertNotIn("auto corrects", told)
        right = analyse(*logs, "--clock", "auto")
        self.assertEqual((right["clocks_corrected"], right["delivery_ms"]), ([], found["delivery_ms"]))

    def test_extracted_rows_have_the_right_time(self):
        two = self.write("two.csv", "2", lambda t: t + 3.2e9)
        out = self.folder / "extract"
        run("helio-analyze", self.one, two, "--clock", "2=3.2s", "--timeline", "3", "--extract", out)
        with open(out / "segments.csv", newline="", encoding="ascii") as f:
            times = [int(row["t_ns"]) for row in csv.DictReader(f)]
        self.assertEqual(times, sorted(times))
        self.assertLess(times[-1], BEGIN + 6e9)

    def test_two_runs_in_one_log(self):
        other = self.folder / "other.csv"
        run("helio-sim", *RUN, "--trace", "none", "--seed", "4", "--duration", "3s", "--log", other)
        alone = [analyse(path) for path in (self.whole, other)]
        log = self.folder / "runs.csv"
        log.write_text(self.whole.read_text() + other.read_text())
        both = analyse(log)
        self.assertEqual((alone[0]["runs"], both["runs"]), (1, 2))
        self.assertEqual(both["sessions"], sum(a["sessions"] for a in alone))
        seconds = [8 * a["bytes"] / a["goodput_bps"] for a in alone]
        self.assertAlmostEqual(both["goodput_bps"], 8 * sum(a["bytes"] for a in alone) / sum(seconds), delta=1)
        self.assertLess(both["goodput_bps"], 100e6)
        self.assertEqual(both["session_ms"]["max"], max(a["session_ms"]["max"] for a in alone))
        told = run("helio-analyze", log).stdout
        lines = len(self.whole.read_text().splitlines())
        self.assertIn(f"runs.csv:{lines + 2}: the times go back by ", told)
        self.assertIn("2 runs in one log", told)
        for number, one in enumerate(alone, 1):
            part = analyse(log, "--run", number)
            for key in ("sessions", "goodput_bps", "session_ms", "delivery_ms", "checkpoints_lost", "unfinished"):
                self.assertEqual(part[key], one[key], key)
            self.assertIn(f"run {number} of 2 alone", run("helio-analyze", log, "--run", number).stdout)

    def test_two_logs_of_one_node_at_one_time(self):
        again = self.folder / "again.csv"
        again.write_text(self.whole.read_text())
        self.assertFalse(analyse(self.whole)["twin_logs"])
        self.assertTrue(analyse(self.whole, again)["twin_logs"])
        self.assertIn("both logs of node 1 ", run("helio-analyze", self.whole, again).stdout)

    def test_wrong_usage(self):
        for options, text in ((("--clock", "2"), "auto, or a node"), (("--clock", "2=3"), "auto, or a node"),
                              (("--clock", "2=1s", "--clock", "2=2s"), "each node once"),
                              (("--clock", "auto", "--clock", "2=2s"), "do not go together"),
                              (("--clock", "auto", "-"), "no standard input"), (("--run", "0"), "from 1 to")):
            self.assertIn(text, run("helio-analyze", self.whole, *options, code=2).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
