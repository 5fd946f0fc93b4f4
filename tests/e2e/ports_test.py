#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ports that labs give to their programs: nobody else's, also while they wait for them. usage: ports_test.py BIN SOURCE"""
import os
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

PACKAGE = str(Path(sys.argv[2]).resolve() / "tools/python")
sys.path.insert(0, PACKAGE)

from heliograph import ports  # noqa: E402
from heliograph.lab import Lab  # noqa: E402

TAKE = f"import sys; sys.path.insert(0, {PACKAGE!r})\nfrom heliograph import ports\nprint(*ports.free_ports(100), flush=True)\nsys.stdin.read()\n"


class Ports(unittest.TestCase):
    def test_processes_side_by_side(self):
        """None of them has bound its ports yet."""
        others = [subprocess.Popen([sys.executable, "-c", TAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(6)]
        for p in others:
            self.addCleanup(p.communicate)
        found = [int(port) for p in others for port in p.stdout.readline().split()] + ports.free_ports(50) + Lab.udp_ports(50)
        self.assertEqual((len(found), len(set(found))), (700, 700))

    def test_the_kernel_gives_them_to_nobody(self):
        with open(ports.RANGE, encoding="ascii") as f:
            low = int(f.read().split()[0])
        if low < ports.FIRST + ports.LEAST * ports.BLOCK:
            self.skipTest("its range begins so low that there are none below")
        self.assertLess(max(ports.free_ports(200)), low)

    def test_one_that_is_in_use(self):
        """By a program that asks nobody: of datagrams, of streams."""
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            ports.free_ports(1)
            following = ports.held.ports[-1] if ports.held.ports else None
            with socket.socket(socket.AF_INET, kind) as s:
                if following is None:
                    self.skipTest("the block is at its end")
                s.bind(("127.0.0.1", following))
                self.assertNotIn(following, ports.free_ports(3))

    def test_more_than_there_are(self):
        """A long campaign begins again with what it had first."""
        mine = ports.Held(), ports.blocks()[:3]
        self.addCleanup(setattr, ports, "held", ports.held)
        self.addCleanup(setattr, ports, "blocks", ports.blocks)
        ports.held, ports.blocks = mine[0], lambda: mine[1]
        first = ports.free_ports(16)
        for _ in range(30):
            self.assertEqual(len(set(ports.free_ports(16))), 16)
        self.assertTrue(set(first) & {port for _ in range(6) for port in ports.free_ports(16)})
        with self.assertRaisesRegex(OSError, "all ports are in use"):
            ports.free_ports(3 * ports.BLOCK + 1)

    def test_threads(self):
        """The runs of a campaign: another one has its turn between a look at what is left and taking it."""
        class Slow(list):
            def __bool__(self):
                some = len(self) > 0
                time.sleep(0.001)
                return some

        self.addCleanup(setattr, ports, "take_block", ports.take_block)
        ports.take_block = lambda take=ports.take_block: Slow(take())
        ports.held.ports.clear()
        found = []

        def ask():
            for _ in range(30):
                found.append(ports.free_ports(1)[0])

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((len(found), len(set(found))), (240, 240))

    def test_a_fork(self):
        ports.free_ports(1)
        there, here = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(here, " ".join(map(str, ports.free_ports(40))).encode())
            os._exit(0)
        os.close(here)
        with open(there, encoding="ascii") as f:
            others = f.read().split()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertFalse({int(port) for port in others} & set(ports.free_ports(40)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
