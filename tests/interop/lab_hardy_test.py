#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hardy's bundle processing agent as a node of a lab (kind: command, hardy_node/): pings from its neighbour and from the node behind that
come back; bundles from both reach its application, which sends them on to a third node. usage: lab_hardy_test.py BIN SOURCE HARDY-BIN"""
import random
import sys
import unittest
from pathlib import Path

from lab_peer import SIZES, LabPeer, aap2, lab

HARDY = Path(sys.argv[3]).resolve()
LAB = f"""nodes:
  earth: {{number: 1}}
  rover:
    number: 2
    kind: command
    bin: {HARDY}
    command: hardy-node {{number}} {{local}} {{remote}} {{peer_number}} 3
    ready: is ready
    ping: yes
  moon: {{number: 3}}
links:
  rover-earth: {{adapter: udp, delay: 20ms}}
  earth-moon: {{rate: 50Mbit/s, delay: 5ms}}
duration: 1h
"""


class Hardy(LabPeer):
    def test_node(self):
        self.up(LAB)
        for node in "earth", "moon":
            said = lab(self.file, "exec", node, "helio-ping", "rover", "-c", "5", "-i", "100ms", "-s", "20kB")
            self.assertIn(b"5 sent, 5 received", said)
        receiver, number = self.client("moon", "ipn:3.7", True), 0
        for node in "earth", "moon":
            sender = self.client(node, f"ipn:{self.sockets[node].rpartition('/')[2].removesuffix('.sock')}.5", False)
            for size in SIZES:
                payload, number = random.Random(f"{node} {size}").randbytes(size), number + 1
                with self.subTest(node=node, size=size):
                    self.assertEqual(sender.request("ipn:2.7", payload)[0], aap2.SUCCESS)
                    source, got = receiver.delivery()
                    self.assertEqual((source, len(got)), ("ipn:2.7", size))
                    self.assertTrue(got == payload)
                    self.assertTrue((self.folder / f"out/node2/received-{number}").read_bytes() == payload)
        self.assertIn(b"ipn:2.0 is ready", lab(self.file, "logs", "rover"))
        self.is_running("command")
        result = self.down()
        self.assertGreaterEqual(result["channels"]["rover-earth"]["forward"]["out"], 10 + 2 * len(SIZES))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
