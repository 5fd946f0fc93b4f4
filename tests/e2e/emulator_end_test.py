#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-emu relay at its end: each datagram that reached it is in one counter, and what did not leave in the drop log.

usage: emulator_end_test.py BIN_DIR [unittest arguments]
"""
import csv
import os
import re
import signal
import sys
import tempfile
import time
import unittest

import relay_test
from relay_test import OPEN, Relay, udp
from resting import received, stop

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

    def got(self, relay, far):
        return [int.from_bytes(data[:4], "big") for data in received(far, relay.p.pid)]

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
        self.assertEqual(self.got(relay, far), list(range(COUNT)))
        self.assertEqual(self.account(relay)["out"], COUNT)

    def test_stopped_over_its_end_it_accounts_for_all(self):
        for seconds in (4, 20, 100):  # again where it was stopped only after its end
            far, near, begin = udp(), udp(), time.monotonic()
            relay = Relay(far, "--duration", f"{seconds}s", "--delay", "10ms", "--drop-log", self.log)
            end = time.monotonic() + seconds + 0.3
            stop(relay.p)
            self.send(relay, near, range(COUNT // 2))
            if time.monotonic() < begin + seconds:
                break
            relay.kill()
        time.sleep(max(0, end - time.monotonic()))
        self.send(relay, near, range(COUNT // 2, COUNT))
        relay.p.send_signal(signal.SIGCONT)
        relay.p.wait(300)
        relay.stop()
        self.assertEqual(self.got(relay, far), list(range(COUNT // 2)))
        c = self.account(relay)
        self.assertEqual((c["out"], c["dropped"]["end"]), (COUNT // 2, COUNT // 2))
        self.assertEqual({(row["frame"], row["reason"], row["length"]) for row in self.rows()}, {("0", "end", "100")})

    def test_without_a_drain_it_is_lost_and_logged(self):
        far, near = udp(), udp()
        relay = Relay(far, "--delay", "60s", "--drain", "0", "--drop-log", self.log)
        self.send(relay, near, range(COUNT))
        begin = time.monotonic()
        self.assertEqual(relay.stop(), 0)
        self.assertLess(time.monotonic() - begin, 50)
        self.assertEqual(self.account(relay)["dropped"]["end"], COUNT)
        self.assertEqual([(row["frame"], row["reason"]) for row in self.rows()],
                         [(str(i + 1), "end") for i in range(COUNT)])
        self.assertFalse([r for r in relay.counters["not_faithful"] if "ended" in r], "it was wished so")

    def test_a_queue_too_long_to_drain_is_told(self):
        """25 s of line, 20 ms of delay: the rest is lost, and the run says so."""
        far, near = udp(), udp()
        relay = Relay(far, "--rate", "20kbit/s", "--overhead", "0", "--delay", "20ms", "--drop-log", self.log)
        self.send(relay, near, range(COUNT))
        self.assertEqual(relay.stop(), 0)
        c = self.account(relay)
        self.assertGreater(c["dropped"]["end"], 100)
        self.assertEqual(self.got(relay, far), list(range(c["out"])))
        self.assertFalse(relay.counters["faithful"])
        self.assertTrue([r for r in relay.counters["not_faithful"] if "still in the queue" in r], relay.counters)

    def test_doubts_have_grades(self):
        far, near = udp(), udp()
        relay = Relay(far, "--delay", "20ms")
        relay.stop()
        self.assertEqual((relay.counters["grade"], relay.counters["not_faithful"]), ("faithful", []))
        relay = Relay(far, "--delay", "20ms")
        stop(relay.p)
        self.send(relay, near, range(COUNT))
        time.sleep(0.2)
        relay.p.send_signal(signal.SIGCONT)
        self.assertEqual(relay.stop(), 0)
        self.assertEqual(relay.counters["grade"], "overload")
        late = re.compile(r"forward: a frame left [0-9.]+ ms late, above 10 ms")
        self.assertTrue(any(map(late.fullmatch, relay.counters["not_faithful"])), relay.counters["not_faithful"])
        self.assertRegex(relay.said, "NOT FAITHFUL: overload: forward: ")
        relay = Relay(far, "--rate", "20kbit/s", "--tolerance", "10s")
        self.send(relay, near, range(COUNT))
        self.assertEqual(relay.stop(), 0)
        self.assertEqual(relay.counters["grade"], "losses")

    def test_the_tolerance_follows_trace_and_rate(self):
        far = udp()
        trace = os.path.join(self.folder.name, "trace.txt")
        with open(trace, "w") as f:
            f.write("# step_ns 3000000\n0 5\n1 5\n")
        for options, us in (((), 95), (("--trace", "A"), 100), (("--trace-return", trace), 3000), (("--batch", "0"), 50),
                            (("--rate", "10Mbit/s"), 2 * 1542 * 8 / 10), (("--rate-return", "1kbit/s"), 10000),
                            (("--rate", "1Gbit/s"), 95), (("--trace", "A", "--tolerance", "70us"), 70)):
            relay = Relay(far, *options)
            relay.stop()
            self.assertAlmostEqual(relay.counters["forward"]["late_us"]["tolerance"], us, 1, options)

    def test_a_start_before_the_machine_s(self):
        """Bad steps in the odd seconds since 1970, as of a second that no machine here saw; contacts as well."""
        far, near = udp(), udp()
        trace, scenario = (os.path.join(self.folder.name, n) for n in ("trace.txt", "s.yaml"))
        with open(trace, "w") as f:
            f.write("# step_ns 100000000\n0 10\n1 10\n")
        with open(scenario, "w") as f:
            f.write("forward:\n  start: 2001-02-03T04:05:06Z\n  erasures: {trace: trace.txt}\n"
                    "return:\n  start: 2001-02-03T04:05:06Z\n")
        relay = Relay(far, "--scenario", scenario, "--drop-log", self.log)
        sent = []
        for i in range(250):
            before = time.time()
            near.sendto(i.to_bytes(4, "big"), relay.address)
            sent.append((before, time.time()))
            time.sleep(0.01)
        self.assertEqual(relay.stop(), 0)
        got = set(self.got(relay, far))
        edge = [int(a - 0.02) != int(b + 0.02) for a, b in sent]
        lost = {i for i, (t, _) in enumerate(sent) if int(t) % 2 == 1}
        self.assertGreater(len(lost), 50)
        self.assertEqual({i for i in range(250) if not edge[i]} - got, {i for i in lost if not edge[i]})
        for row in self.rows():
            before, after = sent[int(row["frame"]) - 1]
            self.assertTrue(before - 0.01 < int(row["t_ns"]) / 1e9 < after + 0.01, row)

    def test_a_second_signal_does_not_wait(self):
        far, near = udp(), udp()
        relay = Relay(far, "--delay", "60s", "--drop-log", self.log)
        self.send(relay, near, range(COUNT))
        relay.p.send_signal(signal.SIGINT)
        self.assertIn("for 60.0 s at most", relay.p.stderr.readline())
        begin = time.monotonic()
        self.assertEqual(relay.stop(), 0)
        self.assertLess(time.monotonic() - begin, 50)
        self.assertEqual(self.account(relay)["dropped"]["end"], COUNT)


if __name__ == "__main__":
    relay_test.BIN = sys.argv.pop(1)
    unittest.main()
