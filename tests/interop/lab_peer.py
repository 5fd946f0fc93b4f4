# SPDX-License-Identifier: Apache-2.0
"""Another stack as a node of a lab: what its tests share. The lab is started, its nodes' applications are asked for by AAP2."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(sys.argv[1]).resolve()
import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.lab import state as lab_state  # noqa: E402

SIZES = (1, 1000, 40000)  # of payloads


def lab(*words, code=0):
    done = subprocess.run([BIN / "helio-lab", *map(str, words)], capture_output=True, timeout=300, check=False)
    assert done.returncode == code, (words, done.returncode, done.stdout[-2000:], done.stderr[-3000:])
    return done.stdout


class LabPeer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="helio-lab-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "lab.yaml"

    def up(self, text):
        """Starts the lab with this file."""
        self.file.write_text(text, encoding="utf-8")
        lab(self.file, "up", "--background", "--out", self.folder / "out")
        self.addCleanup(lambda: subprocess.run([BIN / "helio-lab", self.file, "down"], capture_output=True, check=False))
        self.sockets = json.loads(Path(lab_state.State(self.file).file).read_text(encoding="utf-8"))["sockets"]

    def client(self, node, endpoint, subscribe):
        client = aap2.Client(self.sockets[node], timeout=120)
        self.addCleanup(client.close)
        self.assertEqual(client.configure(endpoint, subscribe=subscribe), aap2.SUCCESS)
        return client

    def is_running(self, kind):
        """So the lab says of the other stack's node, rover."""
        status = json.loads(lab(self.file, "status", "--json"))["nodes"]["rover"]
        self.assertEqual((status["kind"], status["state"]), (kind, "running"))

    def down(self):
        """Ends the lab; its result."""
        lab(self.file, "down")
        result = json.loads((self.folder / "out/result.json").read_text(encoding="utf-8"))
        self.assertEqual((result["failed"], result["nodes"]["rover"]["state"]), ([], "running"))
        return result
