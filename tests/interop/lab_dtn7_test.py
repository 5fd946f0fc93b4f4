#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dtn7-rs as a node of a lab (kind: dtn7-rs): bundles go both ways between it and a node of heliod, and to a node behind that, over TCPCL, MTCP and
UDP through the lab's emulator. Its own programs send and receive, by `exec`. usage: lab_dtn7_test.py BIN SOURCE DTN7-BIN"""
import random
import subprocess
import sys
import time
import unittest
from pathlib import Path

from lab_peer import BIN, SIZES, LabPeer, aap2, lab

DTN7 = Path(sys.argv[3]).resolve()
LAB = ("nodes:\n  earth: {{number: 1}}\n  rover: {{number: 2, kind: dtn7-rs, bin: {bin}}}\n  moon: {{number: 3}}\n"
       "links:\n  rover-earth: {{adapter: {adapter}, {keys}}}\n  earth-moon: {{rate: 50Mbit/s, delay: 5ms}}\nduration: 1h\n")


class Dtn7(LabPeer):
    def received(self):
        """What dtn7-rs has for its service 7, of ours."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            path = self.folder / "got"
            path.unlink(missing_ok=True)
            done = subprocess.run([BIN / "helio-lab", self.file, "exec", "rover", "dtnrecv", "-v", "-e", "7", "-o", path], capture_output=True, timeout=120, check=False)
            if done.returncode == 0 and path.exists():
                return path.read_bytes()
            time.sleep(0.1)
        raise AssertionError(f"nothing came: {done.stdout!r} {done.stderr!r}")

    def exchange(self, adapter, keys):
        self.up(LAB.format(bin=DTN7, adapter=adapter, keys=keys))
        self.is_running("dtn7-rs")
        for node, number in (("earth", 1), ("moon", 3)):  # its neighbour, and the one behind that
            receiver, sender = self.client(node, f"ipn:{number}.7", True), self.client(node, f"ipn:{number}.5", False)
            for size in SIZES:
                payload = random.Random(size + number).randbytes(size)
                with self.subTest(adapter=adapter, node=node, size=size):
                    path = self.folder / "payload"
                    path.write_bytes(payload)
                    lab(self.file, "exec", "rover", "dtnsend", "-r", f"ipn:{number}.7", path)
                    source, got = receiver.delivery()
                    self.assertTrue(source.startswith("ipn:2."), source)
                    self.assertTrue(got == payload, f"{len(got)} other bytes")
                    self.assertEqual(sender.request("ipn:2.7", payload)[0], aap2.SUCCESS)
                    got = self.received()
                    self.assertTrue(got == payload, f"{len(got)} other bytes")
        self.assertIn(b"Local Node ID: ipn:2.0", lab(self.file, "logs", "rover"))
        return self.down()

    def test_tcpcl(self):
        self.exchange("tcpcl", "channel: no")

    def test_mtcp(self):
        self.exchange("mtcp", "channel: no")

    def test_udp_through_the_emulator(self):
        channels = self.exchange("udp", "delay: 20ms")["channels"]
        for way in ("forward", "return"):
            self.assertGreaterEqual(channels["rover-earth"][way]["out"], 2 * len(SIZES), way)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
