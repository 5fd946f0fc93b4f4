#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MTCP with pyD3TN: its client sends to a node, and a node sends to it. usage: mtcp_test.py BIN OUT (with the Python of venv.sh)"""
import random
import socket

from pyd3tn.bundle7 import Bundle, serialize_bundle7
from pyd3tn.mtcp import MTCPConnection, MTCPSocket

import _paths  # noqa: F401
import aap2  # noqa: E402
import node_case  # noqa: E402
from node_case import NodeCase, wait_for  # noqa: E402

SIZES = [1, 23, 24, 255, 256, 1000, 65535, 65536, 500_000, 3_000_000]
COUNT = 100


class MtcpTest(NodeCase):
    def setUp(self):
        super().setUp()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.settimeout(300)
        self.addCleanup(self.server.close)
        self.port = self.lab.udp_ports(1)[0]
        link = {"name": "to-2", "adapter": "mtcp", "peer": "ipn:2.0", "local": f"127.0.0.1:{self.port}",
                "remote": f"127.0.0.1:{self.server.getsockname()[1]}"}
        self.lab.start_node(1, self.lab.write_node(1, [link], log=False))
        rng = random.Random(1)
        self.payloads = [rng.randbytes(size) for size in SIZES + [rng.randrange(1, 20000) for _ in range(COUNT - len(SIZES))]]

    def test_from_pyd3tn(self):
        receiver = self.client(1, "ipn:1.5", subscribe=True)
        with MTCPConnection("127.0.0.1", self.port) as peer:
            for payload in self.payloads:
                peer.send_bundle(serialize_bundle7("ipn:2.9", "ipn:1.5", payload))
                self.assertEqual(receiver.delivery(), ("ipn:2.9", payload))

    def test_to_pyd3tn(self):
        s, _ = self.server.accept()
        self.addCleanup(s.close)
        s.settimeout(300)
        sender, peer = self.client(1, "ipn:1.5"), MTCPSocket(s, timeout=300)
        wait_for(lambda: sender.request("ipn:2.9", b"first")[0] == aap2.SUCCESS)
        self.assertEqual(Bundle.parse(peer.recv_bundle()).payload_block.data, b"first")
        for payload in self.payloads:
            self.assertEqual(sender.request("ipn:2.9", payload)[0], aap2.SUCCESS)
            bundle = Bundle.parse(peer.recv_bundle())
            self.assertEqual(str(bundle.primary_block.source), "ipn:1.5")
            self.assertEqual(bundle.payload_block.data, payload)


if __name__ == "__main__":
    node_case.main("MtcpTest")
