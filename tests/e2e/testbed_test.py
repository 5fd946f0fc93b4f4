#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/testbed.sh: up, down, again and side by side, nothing left behind; and an experiment of two nodes in one.

usage: testbed_test.py BIN_DIR OUT_DIR [unittest arguments]
"""
import csv
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
import testbed
from heliograph import processes
from testbed import Bed

BIN = OUT = ""
OVERHEAD, SEGMENT, BUNDLE, RATE = 42, 1024, 500_000, 50_000_000
BUSY = "priority: realtime\n" if os.geteuid() == 0 else ""  # other programs compute beside


def left_behind(name):
    links = subprocess.run(["ip", "-br", "link"], capture_output=True, text=True).stdout
    return glob.glob(f"/run/netns/helio-{name}-*") + glob.glob(f"/run/helio-testbed/{name}") + \
        [line for line in links.splitlines() if "emu-" in line or "link0" in line]


class TestbedTest(unittest.TestCase):
    def setUp(self):
        self.name = f"t{os.getpid()}-{self._testMethodName[-8:].replace('_', '-')}"

    def tearDown(self):
        Bed.script("down", self.name)
        self.assertEqual(left_behind(self.name), [])

    def up(self, *bridge):
        return Bed.script("up", "--bin", BIN, self.name, "--", *bridge)

    def test_up_and_down_twice(self):
        self.up()
        first = Bed.script("status", self.name).stdout
        self.assertIn("bridge running", first)
        self.up("--delay", "1ms")
        second = Bed.script("status", self.name).stdout
        self.assertIn("bridge running", second)
        self.assertNotEqual(first.splitlines()[0], second.splitlines()[0], "still the first bridge")
        Bed.script("down", self.name)
        self.assertEqual(left_behind(self.name), [])
        Bed.script("down", self.name)
        status = Bed.script("status", self.name, check=False)
        self.assertEqual((status.returncode, status.stdout), (1, f"{self.name}: down\n"))

    def test_down_after_a_kill(self):
        self.up()
        with open(f"/run/helio-testbed/{self.name}/bridge.pid") as f:
            os.kill(int(f.read().split()[0]), signal.SIGKILL)
        end = time.monotonic() + 60
        while "no bridge" not in (said := Bed.script("status", self.name).stdout) and time.monotonic() < end:
            time.sleep(0.1)
        self.assertIn("no bridge", said)
        Bed.script("down", self.name)
        self.assertEqual(left_behind(self.name), [])

    def test_what_does_not_come_up_leaves_nothing(self):
        p = Bed.script("up", "--bin", BIN, self.name, "--", "--delay", "5", check=False)
        self.assertEqual(p.returncode, 1)
        self.assertIn("helio-emu: --delay: ", p.stderr)
        self.assertEqual(left_behind(self.name), [])

    def test_socket_limits_are_raised_and_put_back(self):
        def limit():
            with open("/proc/sys/net/core/rmem_max") as f:
                return int(f.read())
        before = limit()
        self.up()
        self.assertGreaterEqual(limit(), 32 << 20)
        Bed.script("down", self.name)
        if not os.path.exists("/run/helio-testbed"):  # else another testbed still needs them
            self.assertEqual(limit(), before)

    def test_exec(self):
        self.up()
        p = Bed.script("exec", self.name, "source", "sh", "-c", "ip -br address; exit 7", check=False)
        self.assertEqual(p.returncode, 7)
        self.assertIn("10.77.0.1/24", p.stdout)
        self.assertIn("fd77::1/64", p.stdout)

    def test_wrong_words_are_named(self):
        for words, message in ((["upp"], "'upp' is unknown"), (["up", "A B"], "the name 'A B' is wrong"),
                               (["exec", "x", "middle", "true"], "'middle' is no place"),
                               (["up", "--mtu", "9"], "--mtu 9: right is"), (["down", "a", "b"], "one name too many")):
            p = Bed.script(*words, check=False)
            self.assertEqual(p.returncode, 2, p.stderr)
            self.assertIn(message, p.stderr)
        p = Bed.script("exec", self.name, "source", "true", check=False)
        self.assertEqual(p.returncode, 1)
        self.assertIn("there is no testbed", p.stderr)

    def test_several_at_the_same_time(self):
        """All go up at once and down at once, and the limits of sockets are what they were."""
        def limits():
            return subprocess.run(["sysctl", "net.core.rmem_max", "net.core.wmem_max"], capture_output=True).stdout
        before, names = limits(), [f"{self.name}-{i}" for i in range(4)]
        for words in (("up", "--bin", BIN), ("down",)):
            all_of = [subprocess.Popen([testbed.SCRIPT, *words, name], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                      for name in names]
            for p in all_of:
                self.assertEqual((p.communicate(timeout=300)[1], p.returncode), ("", 0))
        for name in names:
            self.assertEqual(left_behind(name), [])
        if not os.path.exists("/run/helio-testbed"):  # else another testbed still needs them
            self.assertEqual(limits(), before)

    def test_two_side_by_side(self):
        with Bed(BIN) as one, Bed(BIN, "--trace", "iid:1") as two:
            ends = [(bed.raw("source"), bed.raw("destination")) for bed in (one, two)]
            for near, _ in ends:
                near.send(testbed.frame(1))
            self.assertEqual([len(far.all(0.3)) for _, far in ends], [1, 0])
            two.script("down", two.name)
            ends[0][0].send(testbed.frame(2))
            self.assertEqual(len(ends[0][1].all(0.3)), 1)


class InTestbed(processes.Lab):
    """A lab whose programs run in the places of a testbed."""

    def __init__(self, bed, programs, out):
        super().__init__(programs, out)
        self.bed, self.place = bed, "source"

    def start(self, name, program, *arguments):
        inside = self.bed.inside(self.place, self.program(program), *arguments)
        with open(self.path(name + ".log"), "a") as log:
            p = subprocess.Popen(inside, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                 start_new_session=True, preexec_fn=processes.die_with_parent())
        self.processes.append((name, p))
        return p


class NodesTest(unittest.TestCase):
    def test_two_nodes_through_trace_a(self):
        shutil.rmtree(OUT, ignore_errors=True)
        with Bed(BIN, "--delay", "5ms", "--rate", str(RATE) + "bit/s", "--trace", "A", "--exempt", "signalling") as bed, \
                InTestbed(bed, BIN, OUT) as nodes:
            common = {"segment": f"{SEGMENT}B", "overhead": OVERHEAD, "rto": "60ms"}
            forward = nodes.link(2, 4556, 4556, rate="50Mbit/s", sessions=5, colour="red", **common)
            back = nodes.link(1, 4556, 4556, rate="unlimited", sessions=64, colour="green", **common)
            forward.update(local="10.77.0.1:4556", remote="10.77.0.2:4556")
            back.update(local="10.77.0.2:4556", remote="10.77.0.1:4556")
            nodes.place = "destination"
            nodes.start_node(2, nodes.write_node(2, [back], extra=BUSY))
            server = nodes.start("server", "helio-perf", "server", "--socket", nodes.socket(2), "--json",
                                 nodes.path("server.json"))
            nodes.place = "source"
            nodes.start_node(1, nodes.write_node(1, [forward], extra=BUSY))
            time.sleep(0.3)
            nodes.run("helio-perf", "client", "--socket", nodes.socket(1), "-d", "ipn:2.2000", "-T", "6", "-W", "20",
                      "-P", str(BUNDLE), "--json", nodes.path("client.json"))
            nodes.stop("server", server, signal.SIGINT)
            emulated = bed.stop()["forward"]
            client, received = nodes.load("client.json"), nodes.load("server.json")
            with open(nodes.path("node1.segments.csv"), newline="") as f:
                first = next(row for row in csv.DictReader(f) if row["dir"] == "tx" and row["udp_len"] == str(SEGMENT))
        capacity = RATE * int(first["length"]) / (SEGMENT + OVERHEAD) * emulated["good_share_active"]
        efficiency = client["goodput_bps"] / capacity
        print(f"efficiency {efficiency:.3f}, good share {emulated['good_share_active']:.4f}", file=sys.stderr)
        self.assertEqual(received["bundles"], client["bundles_sent"])
        self.assertGreater(client["bundles_sent"], 40)
        self.assertEqual((received["duplicates"], received["wrong_crc"]), (0, 0))
        self.assertGreater(emulated["dropped"].pop("trace"), 0)
        self.assertEqual(sum(emulated["dropped"].values()), 0, emulated)
        self.assertTrue(0.80 < efficiency < 1.0, efficiency)


if __name__ == "__main__":
    BIN, OUT = sys.argv.pop(1), sys.argv.pop(1)
    testbed.need_namespaces()
    unittest.main()
