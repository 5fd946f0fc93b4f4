# SPDX-License-Identifier: Apache-2.0
"""helio-sle sim: rates that follow from the line, the window, the loss and the round trip; and `pipelining: no` over loopback.

usage: sle_sim_test.py BIN"""

import json
import os
import subprocess
import sys
import unittest

import sle_case
from sle_case import RAF

HEADS = 0.96  # of TCP's payload: what is frames, not heads of PDUs


class SimTest(unittest.TestCase):
    BIN = ""

    def sim(self, *options, code=0):
        done = subprocess.run([os.path.join(self.BIN, "helio-sle"), "sim", *options], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def rate(self, *options):
        found = self.sim(*options)
        for a in found["result"]["associations"]:
            self.assertTrue(a["in_order"], a)
            self.assertEqual((a["missing"], a["repeated"], a["wrong"]), (0, 0, 0), a)
        return found["result"]["measured_bps"], found

    def test_line(self):
        rate, found = self.rate("--line", "20Mbit/s", "--rtt", "50ms", "-t", "4s", "--warmup", "2s")
        self.assertGreater(rate, HEADS * found["capacity_bps"])
        self.assertLess(rate, found["capacity_bps"])

    def test_long_line_is_as_fast(self):
        near, _ = self.rate("--line", "50Mbit/s", "-t", "3s", "--warmup", "2s")
        far, _ = self.rate("--line", "50Mbit/s", "--rtt", "200ms", "-t", "7s", "--warmup", "5s")
        self.assertGreater(far, 0.95 * near)

    def test_blocked_for_each_pdu(self):
        buffer = 20 * 1115
        for rtt in (0.05, 0.2):
            rate, _ = self.rate("--line", "1Gbit/s", "--rtt", f"{rtt * 1e3:g}ms", "--pipelining", "no", "-t", "6s", "--warmup", "2s")
            self.assertLess(abs(rate / (8 * buffer / rtt) - 1), 0.05)

    def test_window_over_round_trip(self):
        rate, _ = self.rate("--line", "1Gbit/s", "--rtt", "100ms", "--tcp-buffer", "200kB", "-t", "6s", "--warmup", "2s")
        self.assertLess(abs(rate / (8 * 200e3 / 0.1) - 1), 0.06)

    def test_random_loss(self):
        options = ("--line", "1Gbit/s", "--rtt", "100ms", "--loss", "0.01", "-t", "100s", "--warmup", "20s", "--congestion")
        reno, found = self.rate(*options, "reno")
        self.assertGreater(found["line_lost"], 0)
        expected = 8 * 1428 / 0.1 * (1.5 / 0.01) ** 0.5  # Mathis
        self.assertLess(abs(reno / expected - 1), 0.35)
        cubic, _ = self.rate(*options, "cubic")
        self.assertGreater(cubic, 0.9 * reno)

    def test_instances_share(self):
        _, found = self.rate("--line", "20Mbit/s", "--rtt", "20ms", "--instances", "3", "--rate", "4Mbit/s", "-t", "3s", "--warmup", "1s")
        for a in found["result"]["associations"]:
            self.assertLess(abs(a["rate_bps"] / 4e6 - 1), 0.05)
            self.assertGreaterEqual(a["delay_us"]["min"], 10000)

    def cltus(self, *options):
        """The first instance; each CLTU was accepted once and radiated."""
        found = self.sim("--service", "fcltu", "--frame", "300", *options)
        for a in found["result"]["associations"]:
            self.assertTrue(a["in_order"], a)
            self.assertEqual((a["cltus"]["radiated"], a["cltus"]["refused"]), (a["cltus"]["accepted"], 0), a)
        return found["result"], found["result"]["associations"][0]["cltus"]

    def test_cltus_one_by_one(self):
        """Each waits for the round trip, whatever the line."""
        for rtt in (0.05, 0.2):
            _, c = self.cltus("--line", "1Gbit/s", "--rtt", f"{rtt * 1e3:g}ms", "--pipelining", "no", "-t", "10s")
            self.assertLess(abs(c["per_second"] * rtt - 1), 0.001)
            self.assertLess(abs(c["notified_us"]["p50"] / (rtt * 1e6) - 1), 0.01)

    def test_cltus_fill_the_line(self):
        result, c = self.cltus("--line", "10Mbit/s", "--rtt", "200ms", "-t", "6s", "--warmup", "2s")
        self.assertGreater(result["measured_bps"], 0.8 * 10e6)  # 300 octets of some 340 of a PDU
        self.assertLess(result["measured_bps"], 300 / 335 * 10e6)
        self.assertEqual(c["sent"], c["accepted"])

    def test_cltus_wait_for_the_uplink(self):
        """What the provider cannot hold is sent again, and counted once."""
        result, c = self.cltus("--rate", "1Mbit/s", "-t", "3s", "--instances", "2", "--line", "10Mbit/s")
        self.assertLess(abs(result["measured_bps"] / 2e6 - 1), 0.02)
        self.assertGreater(c["sent"], c["accepted"])
        _, c = self.cltus("-n", "100")
        self.assertEqual((c["sent"], c["radiated"], c["octets"]), (100, 100, 30000))

    def test_the_same_again(self):
        options = ("--rtt", "20ms", "--loss", "0.001", "-t", "2s", "--seed", "7")
        first, second = self.sim(*options), self.sim(*options)
        for found in (first, second):
            del found["result"]["cpu_s"]
        self.assertEqual(first, second)

    def test_usage(self):
        for options, words in ((("--loss", "2"), "below 1"), (("--congestion", "bbr"), "reno, cubic"), (("-t", "1s", "--warmup", "1s"), "shorter"),
                               (("--record", "/tmp/x"), "nothing is recorded"), (("--pipelining", "maybe"), "yes, no"),
                               (("--service", "rcf"), "raf, fcltu"), (("--service", "fcltu", "--frame", "5000"), "at most 4096"),
                               (("--service", "fcltu", "--record", "/tmp/x"), "not recorded")):
            self.assertIn(words, self.sim(*options, code=2))


class BlockedTest(sle_case.SleCase):
    STATION = """sources:
  - {name: s, count: 2000, when_full: %s}
instances:
  - {id: sagr=1.spack=1.rsl-fg=1.raf=onlc1, users: CENTRE, source: s, buffer: 7, latency: 20ms, pipelining: no}
"""

    def test_all_come(self):
        self.provider(self.STATION % "wait")
        r = self.user(RAF, "--numbered", "--until-end", "--congestion", "reno", "--warmup", "1ms")
        self.assertTrue(r["in_order"], r)
        self.assertEqual((r["missing"], r["repeated"], r["wrong"]), (0, 0, 0), r)

    def test_needs_a_source_that_waits(self):
        with open(self.path("station.yaml"), "w") as f:
            f.write("id: STATION\nusers:\n  - {id: CENTRE}\n" + self.STATION % "drop")
        done = subprocess.run([os.path.join(self.BIN, "helio-sle"), "provider", "--check", self.path("station.yaml")], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("when_full: wait", done.stderr)


if __name__ == "__main__":
    sle_case.SleCase.BIN = SimTest.BIN = sys.argv.pop(1)
    unittest.main()
