#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dtn7-go finds heliod on a local network, and heliod finds it, by its own beacons; then bundles of several sizes go
in both directions over MTCP and TCPCLv4 links that nobody configured. A peer that leaves is forgotten.
usage: dtn7_discovery_test.py BIN OUT DTN7-BIN [TEST...] (with the Python of tests/interop/venv.sh)"""
import json
import os
import random
import sys
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
import discovery_test  # noqa: E402
from discovery_test import wait_for  # noqa: E402
from dtn7_peers import Dtn7Go  # noqa: E402
from testbed import need_namespaces  # noqa: E402

PROGRAMS = OUT = PEERS = ""
SIZES = (1, 100, 1000, 30000, 63000)
MTCP = {"adapter": "mtcp", "local": "0.0.0.0:16162", "timers": {"reconnect": "100ms"}}
TCPCL = {"adapter": "tcpcl", "local": "0.0.0.0:4556", "tls": "off", "timers": {"reconnect": "100ms"}}


def text(size):
    """ASCII, since dtn7-go's interface takes nothing else."""
    return random.Random(size).randbytes(size // 2 + 1).hex()[:size].encode()


class InSpace:
    """A peer in a namespace: its program, and requests to it."""

    def spawn(self, program, *arguments):
        self.net.enter(2, lambda: super(InSpace, self).spawn(program, *arguments))

    def http(self, path, data=None):
        return self.net.enter(2, lambda: super(InSpace, self).http(path, data))


class FoundGo(InSpace, Dtn7Go):
    def discover(self, cla, port):
        with open(self.lab.path("go.toml"), "w") as f:
            f.write(f'[core]\nstore = "{self.lab.path("go-store")}"\nnode-id = "{self.node}"\n[logging]\nlevel = "debug"\n'
                    f'[discovery]\nipv4 = true\nipv6 = false\ninterval = 1\n[agents.webserver]\naddress = "127.0.0.1:{self.web}"\n'
                    f'rest = true\n[[listen]]\nprotocol = "{cla}"\nendpoint = ":{port}"\n[routing]\nalgorithm = "epidemic"\n')
        self.spawn("dtnd-go", self.lab.path("go.toml"))
        register = json.dumps({"endpoint_id": self.endpoint}).encode()
        self.uuid = json.loads(wait_for(lambda: self.answers("/rest/register", register), 20, "dtn7-go did not start"))["uuid"]
        self.inbox = []


class DiscoveryTest(discovery_test.Case):
    nodes = (1, 2)

    def setUp(self):
        super().setUp()
        for node in self.nodes:  # the peers' sockets follow the route of the group
            self.net.ip("-n", self.net.space(node), "route", "add", "224.0.0.0/4", "dev", "eth0")

    def exchange_with(self, kind, cla, port, found, formats, node="ipn:1.0", endpoint="ipn:1.7"):
        config = self.config(1, [found], discovery=f"  names: claimed\n  formats: {formats}\n")
        with open(config) as f:
            text_of = f.read().replace("node: ipn:1.0", f"node: {node}")
        with open(config, "w") as f:
            f.write(text_of)
        self.start(1, config)
        peer = kind(self.lab, PEERS, 9000)
        peer.net = self.net
        self.addCleanup(peer.kill)
        peer.discover(cla, port)
        wait_for(lambda: self.neighbours(1).get(peer.node, {}).get("state") == "up", 60,
                 lambda: f"{self.neighbours(1)}\n{self.log(1)}")
        with aap2.Client(self.lab.socket(1), timeout=120) as receiver, aap2.Client(self.lab.socket(1), timeout=120) as sender:
            self.assertEqual(receiver.configure(endpoint, subscribe=True), aap2.SUCCESS)
            self.assertEqual(sender.configure(endpoint), aap2.SUCCESS)
            for size in SIZES:
                with self.subTest(direction="to us", size=size):
                    peer.send(endpoint, text(size))
                    source, payload = receiver.delivery()
                    self.assertTrue(source.startswith(peer.node), source)
                    self.assertEqual(payload, text(size))
                with self.subTest(direction="to the peer", size=size):
                    self.assertEqual(sender.request(peer.endpoint, text(size))[0], aap2.SUCCESS)
                    self.assertEqual(peer.delivery(60), (endpoint, text(size)))
        beacons = self.lab.control(1, "neighbours")["beacons"]
        self.assertEqual((beacons["malformed"], beacons["contested"], beacons["failed"]), (0, 0, 0))
        peer.kill()
        wait_for(lambda: not self.neighbours(1), 60, "the peer is still there")

    def test_go_mtcp(self):
        self.exchange_with(FoundGo, "mtcp", 16162, MTCP, "dtn7-go", "dtn://helio/", "dtn://helio/in")

    def test_go_tcpcl(self):
        self.exchange_with(FoundGo, "tcpclv4", 4556, TCPCL, "dtn7-go", "dtn://helio/", "dtn://helio/in")


def main():
    global PROGRAMS, OUT, PEERS
    PROGRAMS, OUT, PEERS = map(os.path.abspath, sys.argv[1:4])
    discovery_test.PROGRAMS, discovery_test.OUT = PROGRAMS, OUT
    need_namespaces()
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)


if __name__ == "__main__":
    main()
