# SPDX-License-Identifier: Apache-2.0
"""Nodes and their applications for tests of the daemon."""

import json
import os
import shutil
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Lab  # noqa: E402

PROGRAMS = OUT = ""


def wait_for(what, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


class NodeCase(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)
        self.addCleanup(self.stop_all)

    def stop_all(self):
        """Nodes that still run stop cleanly: a crash, a leak or a hang is a failure of the test."""
        for name, p in self.lab.processes:
            if p.returncode is None:
                self.lab.stop(name, p)

    def single(self, **keys):
        """A node without links."""
        config = self.lab.write_node(1, [], log=False, **keys)
        return config, self.lab.start_node(1, config)

    def pair(self, **keys):
        ports = self.lab.udp_ports(2)
        configs = {}
        for n in (1, 2):
            stores = {"store": keys["store"].format(n=n, out=self.lab.out)} if "store" in keys else {}
            link = self.lab.link(3 - n, ports[n - 1], ports[2 - n], rto="100ms")
            configs[n] = self.lab.write_node(n, [link], log=keys.get("log", False), **stores)
        return configs, {n: self.lab.start_node(n, configs[n]) for n in (1, 2)}

    def client(self, number, endpoint=None, **keys):
        c = aap2.Client(self.lab.socket(number))
        self.addCleanup(c.close)
        if endpoint:
            self.assertEqual(c.configure(endpoint, **keys), aap2.SUCCESS)
        return c

    def ctl(self, number, *words):
        """What helioctl says of a node, as an object."""
        p = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(number) + ".ctl", "--timeout", "60s", "--json", *words],
                           capture_output=True, text=True, timeout=300)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        return json.loads(p.stdout)

    def link(self, number):
        """Its first link."""
        return self.ctl(number, "links")["links"][0]

    def log_text(self, number=1):
        """The operator's log of a node so far."""
        with open(self.lab.path(f"node{number}.log"), encoding="utf-8") as f:
            return f.read()

    def heliod(self, *arguments):
        return subprocess.run([self.lab.program("heliod"), *arguments], capture_output=True, text=True, timeout=300)


def main(case):
    """Runs a file of tests. usage: FILE BIN OUT [TEST...]"""
    global PROGRAMS, OUT
    PROGRAMS, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *(f"{case}.test_" + t for t in sys.argv[3:])], verbosity=2)
