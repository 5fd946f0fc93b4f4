#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dtn7-rs exchanges bundles with heliod over UDP: payloads of 1 byte to what fits a datagram, in both directions.
usage: dtn7_test.py BIN OUT DTN7-BIN [TEST...] (with the Python of tests/interop/venv.sh)"""
import os
import random
import shutil
import socket
import sys
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(TOP, "tools"), os.path.join(TOP, "tests", "interop"), os.path.join(TOP, "tests", "e2e")]
import aap2  # noqa: E402
from lab import Lab  # noqa: E402
from dtn7_peers import Dtn7Rs  # noqa: E402

PROGRAMS = OUT = PEERS = ""
SIZES = (1, 100, 1000, 30000, 63000)


def text(size):
    """ASCII, since dtn7-go's interface takes nothing else."""
    return random.Random(size).randbytes(size // 2 + 1).hex()[:size].encode()


def tcp_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Case(unittest.TestCase):
    def setUp(self):
        self.out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(self.out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, self.out)
        self.addCleanup(self.lab.__exit__)

    def start_peer(self, kind, cla, port, peer=None):
        p = kind(self.lab, PEERS, tcp_port())
        p.start(cla, port, peer)
        self.addCleanup(p.kill)
        return p

    def start_node(self, link):
        self.node = self.lab.start_node(1, self.lab.write_node(1, [link], log=False))
        self.addCleanup(self.lab.stop, "node1", self.node)
        self.application = aap2.Client(self.lab.socket(1))
        self.addCleanup(self.application.close)
        self.assertEqual(self.application.configure("ipn:1.7", subscribe=True), aap2.SUCCESS)
        self.sender = aap2.Client(self.lab.socket(1))
        self.addCleanup(self.sender.close)
        self.assertEqual(self.sender.configure("ipn:1.7"), aap2.SUCCESS)

    def to_us(self, peer, sizes):
        for size in sizes:
            with self.subTest(direction="to us", size=size):
                peer.send("ipn:1.7", text(size))
                source, payload = self.application.delivery()
                self.assertTrue(source.startswith(peer.node), source)
                self.assertTrue(payload == text(size), f"{len(payload)} other bytes")

    def to_peer(self, peer, sizes):
        for size in sizes:
            with self.subTest(direction="to the peer", size=size):
                self.assertEqual(self.sender.request(peer.endpoint, text(size))[0], aap2.SUCCESS)
                source, payload = peer.delivery()
                self.assertEqual(source, "ipn:1.7")
                self.assertTrue(payload == text(size), f"{len(payload)} other bytes")


class UdpTest(Case):
    def test_rs_udp(self):
        ours, theirs = self.lab.udp_ports(2)
        peer = self.start_peer(Dtn7Rs, "udp", theirs, (ours, 1))
        self.start_node({"name": "to-rs", "adapter": "udp", "peer": peer.node, "local": f"127.0.0.1:{ours}",
                         "remote": f"127.0.0.1:{theirs}", "mtu": "65535B"})
        self.to_us(peer, SIZES)
        self.to_peer(peer, SIZES)


def main():
    global PROGRAMS, OUT, PEERS
    PROGRAMS, OUT, PEERS = sys.argv[1:4]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)


if __name__ == "__main__":
    main()
