#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-emu relay at its end: each datagram that reached it is in one counter, and what did not leave in the drop log.

usage: emulator_end_test.py BIN_DIR [unittest arguments]
"""
import csv
import os
import signal
import sys
import tempfile
import time
import unittest

import relay_test
from relay_test import OPEN, Relay, udp

COUNT = 500


class EndTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.log = os.path.join(self.folder.name, "drops.csv")

    def tearDown(self):
        while OPEN:
            OPEN.pop()()
        self.folder.cleanup()

    def send(self, relay, near, numbers):
        for i in numbers:
            near.sendto(i.to_bytes(4, "big") + bytes(96), relay.address)
            if i % 50 == 49:
                time.sleep(0.001)

    def got(self, far):
        far.settimeout(0.3)
        numbers = []
        try:
            while True:
                numbers.append(int.from_bytes(far.recv(2000)[:4], "big"))
        except TimeoutError:
            return numbers

    def rows(self):
        with open(self.log, newline="") as f:
            return [row for row in csv.DictReader(f) if row["reason"] != "late"]

    def account(self, relay):
        c = relay.counters["forward"]
        self.assertEqual(c["in"], COUNT)
        self.assertEqual(c["in"], c["out"] + sum(c["dropped"].values()))
        self.assertEqual(c["queued"], 0)
        self.assertEqual(len(self.rows()), sum(c["dropped"].values()))
        return c

    def test_what_is_on_its_way_arrives(self):
        far, near = udp(), udp()
        relay = Relay(far, "--delay", "400ms", "--drop-log", self.log)
        self.send(relay, near, range(COUNT))
        self.assertEqual(relay.stop(), 0)
        self.assertEqual(self.got(far), list(range(COUNT)))
        self.assertEqual(self.account(relay)["out"], COUNT)

    def test_stopped_over_its_end_it_accounts_for_all(self):
        far, near = udp(), udp()
        relay = Relay(far, "--duration", "1s", "--delay", "10ms", "--drop-log", self.log)
        relay.p.send_signal(signal.SIGSTOP)
        self.send(relay, near, range(COUNT // 2))
        time.sleep(1.3)
        self.send(relay, near, range(COUNT // 2, COUNT))
        relay.p.send_signal(signal.SIGCONT)
        relay.p.wait(10)
        relay.stop()
        self.assertEqual(self.got(far), list(range(COUNT // 2)))
        c = self.account(relay)
        self.assertEqual((c["out"], c["dropped"]["end"]), (COUNT // 2, COUNT // 2))
        self.assertEqual({(row["frame"], row["reason"], row["length"]) for row in self.rows()}, {("0", "end", "100")})

    def test_without_a_drain_it_is_lost_and_logged(self):
        far, near = udp(), udp()
        relay = Relay(far, "--delay", "5s", "--drain", "0", "--drop-log", self.log)
        self.send(relay, near, range(COUNT))
        begin = time.monotonic()
        self.assertEqual(relay.stop(), 0)
        self.assertLess(time.monotonic() - begin, 3)
        self.assertEqual(self.account(relay)["dropped"]["end"], COUNT)
        self.assertEqual([(row["frame"], row["reason"]) for row in self.rows()],
                         [(str(i + 1), "end") for i in range(COUNT)])
        self.assertFalse([r for r in relay.counters["not_faithful"] if "ended" in r], "it was wished so")

    def test_a_queue_too_long_to_drain_is_told(self):
        """100 ms of line, 20 ms of delay: the rest is lost, and the run says so."""
        far, near = udp(), udp()
        relay = Relay(far, "--rate", "2Mbit/s", "--overhead", "0", "--delay", "20ms", "--drop-log", self.log)
        self.send(relay, near, range(COUNT))
        self.assertEqual(relay.stop(), 0)
        c = self.account(relay)
        self.assertGreater(c["dropped"]["end"], 100)
        self.assertEqual(self.got(far), list(range(c["out"])))
        self.assertFalse(relay.counters["faithful"])
        self.assertTrue([r for r in relay.counters["not_faithful"] if "still in the queue" in r], relay.counters)

    def test_a_second_signal_does_not_wait(self):
        far, near = udp(), udp()
        relay = Relay(far, "--delay", "60s", "--drop-log", self.log)
        self.send(relay, near, range(COUNT))
        relay.p.send_signal(signal.SIGINT)
        self.assertIn("for 60.0 s at most", relay.p.stderr.readline())
        begin = time.monotonic()
        self.assertEqual(relay.stop(), 0)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(self.account(relay)["dropped"]["end"], COUNT)


if __name__ == "__main__":
    relay_test.BIN = sys.argv.pop(1)
    unittest.main()
