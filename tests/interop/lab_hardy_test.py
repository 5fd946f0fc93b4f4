#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hardy's bundle processing agent as a node of a lab (kind: command, hardy_node/): pings from its neighbour and from the node behind that
come back; bundles from both reach its application, which sends them on to a third node. usage: lab_hardy_test.py BIN SOURCE HARDY-BIN"""
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN, SOURCE, HARDY = (Path(word).resolve() for word in sys.argv[1:4])
sys.path[:0] = [str(SOURCE / "lab"), str(SOURCE / "tests/e2e")]
import aap2  # noqa: E402
from heliograph.lab import state as lab_state  # noqa: E402

SIZES = (1, 1000, 40000)
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


def lab(*words, code=0):
    done = subprocess.run([BIN / "helio-lab", *map(str, words)], capture_output=True, timeout=300, check=False)
    assert done.returncode == code, (words, done.returncode, done.stdout[-2000:], done.stderr[-3000:])
    return done.stdout


class Hardy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="helio-lab-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "lab.yaml"
        self.file.write_text(LAB, encoding="utf-8")
        lab(self.file, "up", "--background", "--out", self.folder / "out")
        self.addCleanup(lambda: subprocess.run([BIN / "helio-lab", self.file, "down"], capture_output=True, check=False))
        self.sockets = json.loads(Path(lab_state.State(self.file).file).read_text(encoding="utf-8"))["sockets"]

    def client(self, node, endpoint, subscribe):
        client = aap2.Client(self.sockets[node], timeout=120)
        self.addCleanup(client.close)
        self.assertEqual(client.configure(endpoint, subscribe=subscribe), aap2.SUCCESS)
        return client

    def test_node(self):
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
        status = json.loads(lab(self.file, "status", "--json"))["nodes"]["rover"]
        self.assertEqual((status["kind"], status["state"]), ("command", "running"))
        lab(self.file, "down")
        result = json.loads((self.folder / "out/result.json").read_text(encoding="utf-8"))
        self.assertEqual((result["failed"], result["nodes"]["rover"]["state"]), ([], "running"))
        self.assertGreaterEqual(result["channels"]["rover-earth"]["forward"]["out"], 10 + 2 * len(SIZES))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
