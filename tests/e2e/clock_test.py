# SPDX-License-Identifier: Apache-2.0
"""Nodes whose wall clock is missing, wrong, or set while they run. usage: clock_test.py BIN OUT SHIM [TEST...]"""

import os
import shutil
import struct
import sys
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Lab  # noqa: E402

PROGRAMS = OUT = SHIM = ""
YEAR = 365.25 * 86400


class ClockTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)
        self.clock = self.lab.path("clock")
        self.set_clock(0)
        self.ports = self.lab.udp_ports(2)

    def set_clock(self, ahead):
        """In seconds; None: a clock at 1970, as of a machine that has none."""
        if ahead is None:
            ahead = 3600 - time.time()
        with open(self.clock, "r+b" if os.path.exists(self.clock) else "wb") as f:
            f.write(struct.pack("=q", int(ahead * 1e9)))

    def start(self, number, durability="sync", shim=True):
        link = self.lab.link(3 - number, *(self.ports if number == 1 else self.ports[::-1]), rto="100ms")
        store = f"{{path: {self.lab.path(f'store{number}')}, durability: {durability}, limit: 100MiB}}"
        if durability == "none":
            store = "{durability: none}"
        config = self.lab.write_node(number, [link], store, log=False)
        if shim:
            os.environ.update(LD_PRELOAD=SHIM, HELIO_TEST_CLOCK=self.clock)
            os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        try:
            return self.lab.start_node(number, config)
        finally:
            os.environ.pop("LD_PRELOAD", None)

    def log(self, number=1):
        with open(self.lab.path(f"node{number}.log")) as f:
            return f.read()

    def send(self, *payloads, to, number=1, **keys):
        with aap2.Client(self.lab.socket(number)) as tx:
            self.assertEqual(tx.configure(f"ipn:{number}.5"), aap2.SUCCESS)
            for p in payloads:
                self.assertEqual(tx.request(to, p, **keys)[:2], (aap2.SUCCESS, ""))

    def check_lives(self, durability):
        """Each run of a node without a clock sends two bundles; the peer delivers all."""
        self.start(2, shim=False)
        with aap2.Client(self.lab.socket(2)) as rx:
            self.assertEqual(rx.configure("ipn:2.7", subscribe=True), aap2.SUCCESS)
            for life in range(4):
                p = self.start(1, durability)
                wanted = [b"%d of life %d" % (i, life) for i in range(2)]
                self.send(*wanted, to="ipn:2.7")
                self.assertEqual([rx.delivery()[1] for _ in wanted], wanted)
                if life == 1:
                    p.kill()
                    p.wait()
                else:
                    self.lab.stop("node1", p)

    def test_ids_without_clock(self):
        self.set_clock(None)
        self.check_lives("sync")

    def test_ids_without_clock_and_store(self):
        self.set_clock(None)
        self.check_lives("none")

    def status(self, number=1):
        return self.lab.control(number, "status")

    def test_wrong_since_start(self):
        """Node 2 is three days ahead from its start on: it drops what node 1 believes to be sent, and its log says why."""
        self.set_clock(3 * 86400)
        self.start(1, "none", shim=False)
        self.start(2, "none")
        self.send(*[b"lost"] * 20, to="ipn:2.7", lifetime_ms=86400_000)
        end = time.monotonic() + 300
        while "arrived after their lifetime" not in self.log(2) and time.monotonic() < end:
            time.sleep(0.1)
        self.assertRegex(self.log(2), r"warning: +\d+ bundles arrived after their lifetime and were dropped; the latest from ipn:1\.5 over link to-1, 2 days too late: "
                         "check the clocks of both nodes")
        while self.lab.control(2, "counters")["agent"]["refused"].get("lifetime expired") != 20 and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(self.lab.control(2, "counters")["agent"]["refused"]["lifetime expired"], 20)
        self.send(b"also lost", to="ipn:2.7", lifetime_ms=60_000)
        time.sleep(3)
        self.assertLessEqual(self.log(2).count("arrived after their lifetime"), 2)  # 10 s apart at first

    def test_future_start(self):
        """A start with a clock of 2060: what came meanwhile ends by its lifetime, new bundles have the time of now."""
        self.set_clock(34 * YEAR)
        p = self.start(1)
        self.send(b"three seconds", to="ipn:1.9", lifetime_ms=3000)
        self.send(b"ten minutes", to="ipn:1.9", lifetime_ms=600000)
        self.lab.stop("node1", p)
        self.set_clock(0)
        p = self.start(1)
        self.assertIn("clock: it is 34 years behind of where it was when the node last noted it", self.log())
        self.assertEqual(self.status()["clock_steps"], 1)
        with aap2.Client(self.lab.socket(1)) as tx:
            tx.configure("ipn:1.5")
            created = tx.request("ipn:1.9", b"now")[2][3]
        self.assertLess(abs(created / 1000 + 946684800 - time.time()), 60)
        end = time.monotonic() + 300
        while self.status()["bundles"] > 2 and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(self.status()["bundles"], 2)  # the one of three seconds is gone
        with aap2.Client(self.lab.socket(1)) as rx:
            self.assertEqual(rx.configure("ipn:1.9", subscribe=True), aap2.SUCCESS)
            self.assertEqual([rx.delivery()[1] for _ in range(2)], [b"ten minutes", b"now"])

    def test_bundles_outlive_a_wrong_start(self):
        p = self.start(1)
        self.send(b"ten minutes", to="ipn:1.9", lifetime_ms=600000)
        self.lab.stop("node1", p)
        self.set_clock(34 * YEAR)
        p = self.start(1)
        self.assertEqual(self.status()["bundles"], 1)
        p.kill()
        p.wait()
        self.set_clock(None)
        self.start(1)
        self.assertIn("clock: it is before the year 2000", self.log())
        with aap2.Client(self.lab.socket(1)) as rx:
            self.assertEqual(rx.configure("ipn:1.9", subscribe=True), aap2.SUCCESS)
            self.assertEqual(rx.delivery()[1], b"ten minutes")

    def test_set_while_running(self):
        self.start(1)
        self.send(b"ten minutes", to="ipn:1.9", lifetime_ms=600000)
        for ahead, word in ((3600, "1 h ahead"), (0, "1 h behind")):
            self.set_clock(ahead)
            end = time.monotonic() + 300
            while f"clock: it is {word} of where it was a second ago" not in self.log() and time.monotonic() < end:
                time.sleep(0.1)
            self.assertIn(f"clock: it is {word} of where it was a second ago", self.log())
        status = self.status()
        self.assertEqual(status["clock_steps"], 2)
        self.assertLess(abs(status["clock_step_ms"] + 3600_000), 5000)  # a stall between two readings is in it
        self.assertEqual(status["bundles"], 1)


if __name__ == "__main__":
    PROGRAMS, OUT, SHIM = sys.argv[1:4]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("ClockTest.test_" + t for t in sys.argv[4:])], verbosity=2)
