# SPDX-License-Identifier: Apache-2.0
"""Four nodes that follow a contact plan, in virtual time: a diamond whose contacts never all exist at once. Whatever
happens to a contact, each bundle arrives once, in a contact of the plan. usage: stack_plan_test.py BIN OUT"""
import csv
import json
import os
import shutil
import subprocess
import sys
import unittest

BIN = OUT = ""
LINKS = {1: (2, 3), 2: (1, 4), 3: (1, 4), 4: (2, 3)}


class StackPlanTest(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, first="60s", rates=None):
        """The contact of 1 and 2 lasts so long; links of other rates than the plan says."""
        with open(self.path("plan.yaml"), "w", encoding="utf-8") as f:
            f.write("contacts:\n"
                    f"  - {{from: 1, to: 2, start: 10s, end: {10 + float(first[:-1]):g}s, rate: 500Mbit/s, both: yes, owlt: 5ms}}\n"
                    "  - {from: 2, to: 4, start: 80s, end: 120s, rate: 500Mbit/s, both: yes, owlt: 5ms}\n"
                    "  - {from: 1, to: 3, start: 150s, end: 210s, rate: 500Mbit/s, both: yes, owlt: 5ms}\n"
                    "  - {from: 3, to: 4, start: 0s, end: 5min, rate: 500Mbit/s, both: yes, owlt: 5ms}\n")
        with open(self.path("link.yaml"), "w", encoding="utf-8") as f:
            f.write("both: {delay: 5ms}\n")
        for number, peers in LINKS.items():
            lines = [f"node: ipn:{number}.0", f"socket: /nowhere/{number}.sock", "store: {durability: none}",
                     f"plan: {self.path('plan.yaml')}", "links:"]
            for peer in peers:
                rate = (rates or {}).get((number, peer), "500Mbit/s")
                lines += [f"  - name: to-{peer}", "    adapter: ltp-udp", f"    peer: ipn:{peer}.0",
                          f"    local: 10.0.{number}.{peer}:1113", f"    remote: 10.0.{peer}.{number}:1113", f"    rate: {rate}",
                          "    rto: 30ms"]
            with open(self.path(f"n{number}.yaml"), "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")

    def simulate(self, client, *more):
        words = [os.path.join(BIN, "helio-sim"), "--check", "--json", "--log-dir", self.path("log")]
        for number in LINKS:
            words += ["--node", self.path(f"n{number}.yaml")]
        for pair in ("1-2", "1-3", "2-4", "3-4"):
            words += ["--channel", f"{pair}={self.path('link.yaml')}"]
        words += ["--client", client, *more]
        done = subprocess.run(words, capture_output=True, text=True, timeout=1000)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def arrivals(self, number):
        """What a neighbour brought, for the server."""
        with open(self.path(f"log/node{number}.bundles.csv"), newline="", encoding="utf-8") as f:
            return [r for r in csv.DictReader(f) if r["event"] == "accepted" and r["from"] == "link" and
                    r["destination"] == "ipn:4.2000"]

    def fragments(self, number, times=False):
        """(offset, length, 0 or the time) of those that came, each once."""
        came = [(int(r["fragment_offset"]), int(r["payload"]), int(r["t_ns"]) / 1e9 if times else 0) for r in
                self.arrivals(number) if r["fragment_offset"] != ""]
        self.assertEqual(len(came), len(set(c[:2] for c in came)))
        return came

    def total(self):
        return self.arrivals(4)[0]["adu_length"]

    def run_nodes(self, *more):
        """Bundles of 1 to 4; the times at which they came to 2, 3 and 4, by node."""
        result = self.simulate("-d ipn:4.2000 -D 20M -W 100 -P 500kB -l 1d --linger 5min --ack-timeout 1h", *more)
        client, server = result["clients"][0], result["servers"][0]
        self.assertEqual((client["bundles_sent"], client["bundles_acked"], server["bundles"]), (40, 40, 40))
        self.assertEqual((client["lost"], server["lost"], server["duplicates"], server["wrong_crc"]), (0, 0, 0, 0))
        return {number: [int(r["t_ns"]) / 1e9 for r in self.arrivals(number) if int(r["payload"]) == 500000]
                for number in (2, 3, 4)}

    def predicted(self):
        done = subprocess.run([os.path.join(BIN, "helio-plan"), "route", "--json", self.path("plan.yaml"), "1", "4", "500kB"],
                              capture_output=True, text=True, timeout=300, check=True)
        return json.loads(done.stdout)["routes"][0]["arrival_ns"] / 1e9

    def inside(self, times, start, end):
        self.assertTrue(all(start <= t < end for t in times), (start, end, min(times), max(times)))

    def test_waits(self):
        """All wait for the contact of 1 and 2, then for that of 2 and 4."""
        self.write()
        came = self.run_nodes()
        self.assertEqual((len(came[2]), len(came[3]), len(came[4])), (40, 0, 40))
        self.inside(came[2], 10, 70)
        self.inside(came[4], 80, 120)
        self.assertLess(abs(min(came[4]) - self.predicted()), 0.002)

    def test_full(self):
        """100 ms carry 6.25 MB; the rest goes by 3, and so does one whose report came after the contact, again."""
        self.write(first="0.1s")
        came = self.run_nodes()
        self.assertIn(len(came[2]) + len(came[3]), (40, 41))
        self.assertIn(len(came[2]), (10, 11))
        self.inside(came[2], 10, 10.1)
        self.inside(came[3], 150, 210)

    def test_slow(self):
        """A link of half the rate that the plan says: what the contact could not finish goes by 3."""
        self.write(first="0.1s", rates={(1, 2): "250Mbit/s"})
        came = self.run_nodes()
        self.assertIn(len(came[2]) + len(came[3]), (40, 41))
        self.assertIn(len(came[2]), (4, 5, 6))
        self.inside(came[3], 150, 210)

    def test_cut(self):
        """The link fails in the middle of its contact."""
        self.write()
        came = self.run_nodes("--link", "10.1s ipn:1.0 to-2 down")
        self.assertGreaterEqual(len(came[2]) + len(came[3]), 40)
        self.inside(came[2], 10, 10.11)
        self.inside(came[3], 150, 210)
        self.assertEqual(len(came[4]), len(set(came[4])))

    def test_parts(self):
        """15 MB, and no contact of 1 takes more than 12.5 MB: in parts, by both neighbours, and once."""
        self.write()
        with open(self.path("plan.yaml"), "w", encoding="utf-8") as f:
            f.write("contacts:\n"
                    "  - {from: 1, to: 2, start: 10s, end: 10.1s, rate: 500Mbit/s, both: yes, owlt: 5ms}\n"
                    "  - {from: 2, to: 4, start: 80s, end: 120s, rate: 500Mbit/s, both: yes, owlt: 5ms}\n"
                    "  - {from: 1, to: 3, start: 150s, end: 150.2s, rate: 500Mbit/s, both: yes, owlt: 5ms}\n"
                    "  - {from: 3, to: 4, start: 0s, end: 5min, rate: 500Mbit/s, both: yes, owlt: 5ms}\n"
                    "  - {from: 1, to: 2, start: 160s, end: 160.2s, rate: 500Mbit/s, both: yes, owlt: 5ms}\n"
                    "  - {from: 2, to: 4, start: 200s, end: 220s, rate: 500Mbit/s, both: yes, owlt: 5ms}\n"
                    "  - {from: 1, to: 3, start: 240s, end: 290s, rate: 1Mbit/s, both: yes, owlt: 5ms}\n")  # for answers
        result = self.simulate("-d ipn:4.2000 -D 15M -W 1 -P 15MB -l 1d --linger 5min --ack-timeout 1h")
        client, server = result["clients"][0], result["servers"][0]
        self.assertEqual((client["bundles_sent"], client["bundles_acked"], server["bundles"]), (1, 1, 1))
        self.assertEqual((client["lost"], server["lost"], server["duplicates"], server["wrong_crc"]), (0, 0, 0, 0))
        parts = {number: self.fragments(number) for number in (2, 3, 4)}
        self.assertTrue(parts[2] and parts[3], parts)
        self.assertEqual(sorted(parts[2] + parts[3]), sorted(parts[4]))
        at = 0
        for offset, size, _ in sorted(parts[4]):
            self.assertEqual(offset, at)
            at += size
        self.assertEqual(at, int(self.total()))
        self.inside([t for _, _, t in self.fragments(2, True)], 10, 160.3)
        self.inside([t for _, _, t in self.fragments(3, True)], 150, 150.3)


if __name__ == "__main__":
    BIN, OUT = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
