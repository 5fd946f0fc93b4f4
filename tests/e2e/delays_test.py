#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The delay of bundles hop by hop, of three nodes in a line in virtual time: without losses each part is what the link's figures say;
with losses, a link that goes down, and tries that fail, the parts add up to the delay to the nanosecond, and to what the bundle
logs say of it. usage: delays_test.py BIN
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

BIN = Path(sys.argv[1])
PARTS = ("queue", "radiation", "channel", "retransmission")


def run(name, *arguments, cwd=None, codes=(0,)):
    done = subprocess.run([BIN / name, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False, cwd=cwd)
    assert done.returncode in codes, (name, arguments, done.stderr)
    return done.stdout


def read(path):
    with open(path, newline="", encoding="ascii") as f:
        return list(csv.DictReader(f))


class Delays(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def world(self, channel, client, *more, keys="rto: 60ms, sessions: 8", codes=(0,)):
        """Its rows of delays.csv, of bundles.csv, and the summary."""
        for number in (1, 2, 3):
            lines = [f"node: ipn:{number}.0", f"socket: {number}.sock", "store: {durability: none}", "bundles: {retry_min: 100ms, retry_max: 1s}", "links:"]
            for other in (number - 1, number + 1):
                if 1 <= other <= 3:
                    lines.append(f"  - {{name: to-{other}, adapter: ltp-udp, peer: ipn:{other}.0, local: 10.0.{number}.{other}:1, "
                                 f"remote: 10.0.{other}.{number}:1, rate: 10Mbit/s, {keys}}}")
            if number != 2:
                lines += ["routes:", f'  - {{to: "ipn:{4 - number}.*", via: to-2}}']
            (self.folder / f"{number}.yaml").write_text("\n".join(lines) + "\n")
        (self.folder / "link.yaml").write_text(channel + "\n")
        run("helio-sim", *(f"--node={n}.yaml" for n in (1, 2, 3)), "--channel", "1-2=link.yaml", "--channel", "2-3=link.yaml", *more, "--client",
            client, "--log-dir", "l", cwd=self.folder, codes=codes)
        files = sorted(os.path.join(self.folder, "l", f) for f in os.listdir(self.folder / "l") if "bundles" in f or "segments" in f)
        summary = json.loads(run("helio-analyze", "--json", "--tables", self.folder / "out", *files))
        self.text = run("helio-analyze", *files)
        return read(self.folder / "out/delays.csv"), read(self.folder / "out/bundles.csv"), summary["bundles"]

    def check_sums(self, rows, bundles, summary):
        """Exactly, each bundle's; and the summary's means are theirs."""
        totals = {(b["source"], b["created_ms"], b["sequence"]): Decimal(b["total_ms"]) for b in bundles if b["total_ms"]}
        by = {}
        for row in rows:
            by.setdefault((row["source"], row["created_ms"], row["sequence"]), []).append(row)
        for key, hops in by.items():
            parts = [Decimal(row[f"{part}_ms"]) for row in hops for part in (*PARTS, "application")]
            self.assertTrue(all(part >= 0 for part in parts), hops)
            self.assertEqual(sum(parts), totals[key])
            self.assertEqual({Decimal(row["total_ms"]) for row in hops}, {totals[key]})
            for row in hops:
                self.assertEqual(sum(Decimal(row[f"{part}_ms"]) for part in (*PARTS, "application")), Decimal(row["hop_ms"]))
            self.assertEqual([int(row["hop"]) for row in hops], list(range(1, len(hops) + 1)))
        self.assertEqual(sum(path["bundles"] for path in summary["delays"]), len(by))
        for path in summary["delays"]:
            told = sum(hop[f"{part}_ms"] for hop in path["hops"] for part in PARTS) + path["application_ms"]
            self.assertAlmostEqual(told, path["total_ms"], places=6)
        return by

    def test_without_losses_by_the_figures_of_the_link(self):
        rows, bundles, summary = self.world("both: {delay: 20ms, rate: 10Mbit/s}", "-d ipn:3.2000 -D 1000000 -W 1 -P 50000")
        by = self.check_sums(rows, bundles, summary)
        large = {(b["source"], b["created_ms"], b["sequence"]) for b in bundles if int(b["payload"]) >= 50000}
        self.assertEqual(len(large), 20)
        for hops in (by[key] for key in large):
            for row, (a, b) in zip(hops, (("ipn:1.0", "ipn:2.0"), ("ipn:2.0", "ipn:3.0"))):
                self.assertEqual((row["from"], row["to"]), (a, b))
                # 50 kB and heads in segments of 1024 bytes, 42 beside each: 49 times one segment's time from the first to the last
                segment = 8 * (1024 + 42) / 10e6 * 1e3
                self.assertAlmostEqual(float(row["radiation_ms"]), 49 * segment, delta=segment)
                self.assertAlmostEqual(float(row["channel_ms"]), 20 + segment, delta=segment)
                self.assertEqual(float(row["retransmission_ms"]), 0)
                self.assertLess(float(row["queue_ms"]), segment)
            self.assertEqual(hops[2]["to"], "")
        self.assertRegex(self.text, "delay of 2[0-9] bundles")
        self.assertIn("  ipn:1.0 to ipn:2.0", self.text)

    def test_what_waits_is_in_the_queue(self):
        rows, bundles, summary = self.world("both: {delay: 20ms, rate: 10Mbit/s}", "-d ipn:3.2000 -D 1M -W 10 -P 50kB", keys="rto: 60ms, sessions: 1")
        self.check_sums(rows, bundles, summary)
        path = max(summary["delays"], key=lambda p: p["total_ms"])
        self.assertGreater(path["hops"][0]["queue_ms"], 5 * path["hops"][0]["radiation_ms"])
        self.assertEqual(path["hops"][0]["retransmission_ms"], 0)

    def test_what_waits_behind_other_sessions_is_in_the_queue(self):
        """Eight sessions begin at once on a line that has room for one: the channel takes what it takes alone."""
        rows, bundles, summary = self.world("both: {delay: 20ms, rate: 10Mbit/s}", "-d ipn:3.2000 -D 1M -W 8 -P 50kB", keys="rto: 600ms, sessions: 8")
        self.check_sums(rows, bundles, summary)
        segment = 8 * (1024 + 42) / 10e6 * 1e3
        first = [row for row in rows if (row["from"], row["to"]) == ("ipn:1.0", "ipn:2.0")]
        self.assertGreaterEqual(len(first), 20)
        for row in first:
            self.assertAlmostEqual(float(row["channel_ms"]), 20 + segment, delta=segment)
            self.assertEqual(float(row["retransmission_ms"]), 0)
        self.assertGreater(max(float(row["queue_ms"]) for row in first), 3 * 49 * segment)

    def test_losses_outages_and_failed_tries(self):
        rows, bundles, summary = self.world("both: {delay: 20ms, rate: 10Mbit/s, erasures: {iid: 0.02}}", "-d ipn:3.2000 -T 3 -W 8 -P 30kB",
                                            "--link=500ms ipn:2.0 to-3 down", "--link=1500ms ipn:2.0 to-3 up")
        self.check_sums(rows, bundles, summary)
        path = max(summary["delays"], key=lambda p: p["total_ms"])
        self.assertGreater(path["hops"][0]["retransmission_ms"], 20)  # a round trip and more for most
        self.assertLess(path["hops"][0]["channel_ms"], 45)
        ways = [row for row in rows if row["from"] == "ipn:1.0"]
        self.assertLess(max(float(row["channel_ms"]) for row in ways), 22)  # of one that lost something it is that of one that lost nothing
        waited = [float(row["queue_ms"]) for row in rows if row["from"] == "ipn:2.0" and row["to"] == "ipn:3.0"]
        self.assertGreater(max(waited), 500)  # while the link was down

    def test_of_links_that_name_no_sessions_the_way_is_one(self):
        """Orange blocks that are lost and go again: tries that failed count as sent again."""
        rows, bundles, summary = self.world("both: {delay: 20ms, rate: 10Mbit/s, erasures: {iid: 0.01}}", "-d ipn:3.2000 -T 2 -W 8 -P 10kB",
                                            keys="rto: 60ms, sessions: 8, colour: orange, recovery: {resend: 3}")
        self.check_sums(rows, bundles, summary)
        self.assertGreater(len(rows), 30)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
