#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A reference transfer over the loopback: each octet arrives once, in its place; what is wrong is said.

usage: transfer_test.py PROGRAM
"""
import json
import os
import subprocess
import sys
import unittest

import _paths  # noqa: F401
from heliograph.ports import free_ports  # noqa: E402

PROGRAM = sys.argv[1]
OCTETS = 20_000_003  # no whole number of pieces
LONG = "250"         # seconds; the transfer ends before
# libsrt's own thread (CSndQueue::worker) sends from room that another of its threads (~CSndBuffer) has freed when the peer goes
# away: 1.5.1, 14 of 100 ends beside six busy processes, none on a quiet machine. Our code hands it octets only by srt_send.
os.environ["ASAN_OPTIONS"] = ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "intercept_send=0")))


def free_port():
    return str(free_ports(1)[0])


def call(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


class Transfer(unittest.TestCase):
    def receiver(self, seconds=LONG):
        """Listens; (process, port). Somebody else may have taken the port meanwhile."""
        for _ in range(10):
            port = free_port()
            child = subprocess.Popen([PROGRAM, "receive", port, "0", seconds, "4000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(child.communicate)
            self.addCleanup(child.kill)
            said = child.stderr.readline()
            if "ready" in said:
                return child, port
        return self.fail(said)

    def test_octets_arrive(self):
        child, port = self.receiver()
        sender = call("send", "127.0.0.1", port, LONG, "4000000", str(OCTETS))
        self.assertEqual(sender.returncode, 0, sender.stderr)
        self.assertEqual(json.loads(sender.stdout)["octets"], OCTETS)
        shown, said = child.communicate()
        self.assertEqual(child.returncode, 0, said)
        shown = json.loads(shown)
        self.assertEqual((shown["octets"], shown["counted"], shown["early"]), (OCTETS, OCTETS, True))
        self.assertLess(shown["lasted"], float(LONG))

    def test_the_receiver_has_enough(self):
        child, port = self.receiver("0.5")
        sender = call("send", "127.0.0.1", port, LONG, "4000000")
        self.assertEqual(sender.returncode, 0, sender.stderr)
        shown, said = child.communicate()
        self.assertEqual(child.returncode, 0, said)
        shown = json.loads(shown)
        self.assertIs(shown["early"], False)
        self.assertGreaterEqual(shown["lasted"], 0.5)

    def test_wrong_words(self):
        for words in ((), ("fetch",), ("send", "127.0.0.1", "1", "1"), ("send", "nowhere", "5000", "1", "65536"), ("receive", "0", "0", "1", "65536"),
                      ("receive", "5000", "1", "1", "65536"), ("receive", "5000", "0", "x", "65536"), ("receive", "5000", "0", "1", "65536", "7")):
            with self.subTest(words=words):
                done = call(*words)
                self.assertEqual(done.returncode, 2)
                self.assertIn("usage: ", done.stderr)

    def test_nobody_there(self):
        done = call("send", "127.0.0.1", free_port(), "1", "65536")
        self.assertEqual(done.returncode, 1)
        self.assertIn("connect: ", done.stderr)


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
