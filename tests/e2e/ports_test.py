#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ports that labs give to their programs: nobody else's, also while they wait for them. usage: ports_test.py BIN SOURCE"""
import collections
import errno
import os
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

PACKAGE = str(Path(sys.argv[2]).resolve() / "lab")
import _paths  # noqa: F401

from heliograph import ports  # noqa: E402
from heliograph.processes import Lab  # noqa: E402

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

    def fresh(self, count=0):
        """As a process that has so many blocks."""
        self.addCleanup(setattr, ports, "held", ports.held)
        ports.held = ports.Held()
        for _ in range(count):
            ports.take_block()

    def no_others(self):
        self.addCleanup(setattr, ports, "blocks", ports.blocks)
        ports.blocks = list

    def test_more_than_there_are(self):
        """A long campaign begins again with what it had first."""
        self.fresh(3)
        self.no_others()
        first = ports.free_ports(16)
        for _ in range(30):
            self.assertEqual(len(set(ports.free_ports(16))), 16)
        self.assertTrue(set(first) & {port for _ in range(6) for port in ports.free_ports(16)})
        with self.assertRaisesRegex(OSError, "all ports are in use"):
            ports.free_ports(3 * ports.BLOCK + 1)

    def test_others_need_some_too(self):
        """A long campaign does not take a block for each of its runs; a port that is given again is not one of the latest."""
        self.fresh()
        latest = collections.deque(maxlen=ports.OWN * ports.BLOCK // 16 - 1)
        for _ in range(50):
            latest.append(ports.free_ports(16))
            self.assertEqual(len({port for found in latest for port in found}), 16 * len(latest))
        self.assertEqual(len(ports.held.blocks), ports.OWN)
        self.assertEqual(len(set(ports.free_ports(ports.OWN * ports.BLOCK + 1))), ports.OWN * ports.BLOCK + 1)  # more than these have

    def test_its_own_are_all_in_use(self):
        self.fresh(ports.OWN)
        own = {port for first in ports.held.blocks for port in range(first, first + ports.BLOCK)}
        self.addCleanup(setattr, ports, "is_free", ports.is_free)
        ports.is_free = lambda port: port not in own
        self.assertEqual(len(set(ports.free_ports(16)) - own), 16)

    def test_others_have_all(self):
        self.fresh()
        self.no_others()
        with self.assertRaises(OSError) as e:
            ports.free_ports(1)
        self.assertEqual((e.exception.errno, e.exception.strerror), (errno.EADDRINUSE, "all blocks of ports are held by other labs"))

    def test_threads(self):
        """The runs of a campaign: another one has its turn between a look at what is left and taking it."""
        class Slow(list):
            def __bool__(self):
                some = len(self) > 0
                time.sleep(0.001)
                return some

        self.addCleanup(setattr, ports, "take_block", ports.take_block)
        ports.take_block = lambda new=True, take=ports.take_block: Slow(take(new))
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
        end, told = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(here, " ".join(map(str, ports.free_ports(40))).encode())
            os.close(here)
            os.close(told)
            os.read(end, 1)  # its ports are its own until it ends
            os._exit(0)
        os.close(here)
        with open(there, encoding="ascii") as f:
            others = f.read().split()
        ours = set(ports.free_ports(40))
        os.close(told)
        os.close(end)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertFalse({int(port) for port in others} & ours)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
