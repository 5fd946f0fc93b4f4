#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dtn7-rs and dtn7-go exchange bundles with heliod over TCPCLv4, whichever end connects, and dtn7-rs over UDP: payloads of 1
byte to 50 MB in both directions, as far as the peer goes (README.md here says how far, and why). A recorder between the
two keeps each TCPCL session, in which tshark finds nothing wrong.
usage: dtn7_test.py BIN OUT DTN7-BIN [TEST...] (with the Python of tests/interop/venv.sh)"""
import os
import random
import shutil
import sys
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
import dissect  # noqa: E402
from heliograph.processes import Lab  # noqa: E402
from dtn7_peers import Dtn7Go, Dtn7Rs, wait_for  # noqa: E402
from stream_recorder import PORT, StreamRecorder  # noqa: E402

PROGRAMS = OUT = PEERS = ""
KNOWN = {"Unknown type code"}  # tshark does not know what the payload is, and says so
SIZES = (1, 100, 1000, 30000, 63000, 64001, 1000000, 2000000, 5000000, 50000000)


def text(size):
    """ASCII, since dtn7-go's interface takes nothing else."""
    return random.Random(size).randbytes(size // 2 + 1).hex()[:size].encode()


class Case(unittest.TestCase):
    def setUp(self):
        self.out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(self.out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, self.out)
        self.addCleanup(self.lab.__exit__)

    def start_peer(self, kind, cla, port, peer=None):
        p = kind(self.lab, PEERS, self.lab.udp_ports(1)[0])
        p.start(cla, port, peer)
        self.addCleanup(p.kill)
        return p

    def start_node(self, link, node="ipn:1.0", endpoint="ipn:1.7"):
        config = self.lab.write_node(1, [link], log=False)
        with open(config) as f:
            text = f.read().replace("node: ipn:1.0", f"node: {node}")
        with open(config, "w") as f:
            f.write(text)
        self.endpoint = endpoint
        self.node = self.lab.start_node(1, config)
        self.addCleanup(self.lab.stop, "node1", self.node)
        self.application = aap2.Client(self.lab.socket(1), timeout=120)
        self.addCleanup(self.application.close)
        self.assertEqual(self.application.configure(endpoint, subscribe=True), aap2.SUCCESS)
        self.sender = aap2.Client(self.lab.socket(1), timeout=120)
        self.addCleanup(self.sender.close)
        self.assertEqual(self.sender.configure(endpoint), aap2.SUCCESS)

    def link(self):
        return self.lab.control(1, "links")["links"][0]

    def to_us(self, peer, sizes):
        for size in sizes:
            with self.subTest(direction="to us", size=size):
                peer.send(self.endpoint, text(size))
                source, payload = self.application.delivery()
                self.assertTrue(source.startswith(peer.node), source)
                self.assertTrue(payload == text(size), f"{len(payload)} other bytes")

    def to_peer(self, peer, sizes):
        for size in sizes:
            with self.subTest(direction="to the peer", size=size):
                self.assertEqual(self.sender.request(peer.endpoint, text(size))[0], aap2.SUCCESS)
                source, payload = peer.delivery()
                self.assertEqual(source, self.endpoint)
                self.assertTrue(payload == text(size), f"{len(payload)} other bytes")


class UdpTest(Case):
    def test_rs_udp(self):
        ours, theirs = self.lab.udp_ports(2)
        peer = self.start_peer(Dtn7Rs, "udp", theirs, (ours, 1))
        self.start_node({"name": "to-rs", "adapter": "udp", "peer": peer.node, "local": f"127.0.0.1:{ours}",
                         "remote": f"127.0.0.1:{theirs}", "mtu": "65535B"})
        self.to_us(peer, [s for s in SIZES if s < 65000])
        self.to_peer(peer, [s for s in SIZES if s < 65000])


class TcpclTest(Case):
    def start(self, kind, we_connect, **keys):
        """A recorder stands between the two."""
        behind = self.lab.udp_ports(1)[0]
        self.recorder = StreamRecorder(os.path.join(self.out, "session.pcap"), behind)
        link = {"name": "to-peer", "adapter": "tcpcl", "peer": kind.node, "reconnect": "100ms", **keys}
        names = ("ipn:1.0", "ipn:1.7") if kind is Dtn7Rs else ("dtn://helio/", "dtn://helio/in")
        if we_connect:
            peer = self.start_peer(kind, kind.tcpcl, behind)
            self.start_node({**link, "remote": f"127.0.0.1:{self.recorder.port}"}, *names)
        else:
            self.start_node({**link, "local": f"127.0.0.1:{behind}"}, *names)
            peer = self.start_peer(kind, kind.tcpcl, self.lab.udp_ports(1)[0], (self.recorder.port, 1))
        return peer

    def check_capture(self, kind, we_connect):
        """tshark reads all of it, bundles too, and complains of nothing that we sent."""
        self.recorder.stop()
        seen, theirs = set(), 0
        for number, frame in enumerate(dissect.frames(self.recorder.path, "-2"), 1):
            seen.update(frame.protocols())
            from_peer = (frame.number("tcp.srcport") == PORT) == we_connect
            theirs += from_peer
            known = KNOWN | (kind.complaints if from_peer else set())
            self.assertEqual([c for c in frame.complaints() if c not in known], [], f"{self.recorder.path}, frame {number}")
        self.assertLessEqual({"tcpcl", "bpv7"}, seen)
        self.assertGreater(theirs, 0)

    def exchange(self, kind, we_connect, to_us, to_peer, **keys):
        peer = self.start(kind, we_connect, **keys)
        self.to_us(peer, to_us)
        wait_for(lambda: self.link()["state"] == "up", 30, "the link is not up")
        self.to_peer(peer, to_peer)
        link = self.link()
        self.assertEqual((link["messages_rx"]["reject"], link["messages_tx"]["reject"], link["unknown_rx"]), (0, 0, 0))
        self.assertEqual((sum(link["refused_tx"].values()), sum(link["refused_rx"].values())), (0, 0))
        self.check_capture(kind, we_connect)
        return link

    # dtn7-rs: our bundles to its transfer MRU of 64,000 bytes; longer ones go in fragments, which it does not join.

    def test_rs_connects(self):
        self.exchange(Dtn7Rs, False, SIZES[:8], SIZES[:5])

    def test_rs_we_connect(self):
        self.exchange(Dtn7Rs, True, [], SIZES[:5])

    def test_go_connects(self):
        self.exchange(Dtn7Go, False, SIZES, SIZES[:7], segment_mru="64MiB")

    def test_go_we_connect(self):
        self.exchange(Dtn7Go, True, SIZES, SIZES[:7], segment_mru="64MiB")


def main():
    global PROGRAMS, OUT, PEERS
    PROGRAMS, OUT, PEERS = map(os.path.abspath, sys.argv[1:4])
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)


if __name__ == "__main__":
    main()
