# SPDX-License-Identifier: Apache-2.0
"""Whole nodes over TCPCL in virtual time: a line of three whose links go down and up, bundles of all sizes both ways. Each
arrives once; the same seed gives the same figures. usage: stack_tcpcl_test.py BIN OUT"""
import json
import os
import shutil
import subprocess
import sys
import unittest

BIN = OUT = ""


class StackTcpclTest(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def write(self, keys=""):
        links = {1: [f"{{name: to-2, adapter: tcpcl, peer: ipn:2.0, remote: 10.0.0.2{keys}}}"],
                 2: [f"{{name: to-1, adapter: tcpcl, peer: ipn:1.0, local: 10.0.0.2{keys}}}",
                     f"{{name: to-3, adapter: tcpcl, peer: ipn:3.0, local: 10.0.0.2, remote: 10.0.0.3{keys}}}"],
                 3: [f"{{name: to-2, adapter: tcpcl, peer: ipn:2.0, local: 10.0.0.3, remote: 10.0.0.2{keys}}}"]}
        routes = {1: "routes: [{to: 'ipn:3.*', via: to-2}]\n", 2: "", 3: "routes: [{to: 'ipn:1.*', via: to-2}]\n"}
        for n, rows in links.items():
            with open(os.path.join(self.folder, f"{n}.yaml"), "w", encoding="utf-8") as f:
                f.write(f"node: ipn:{n}.0\nsocket: /nowhere/{n}.sock\nstore: {{durability: none}}\nlinks:\n")
                f.write("".join(f"  - {row}\n" for row in rows) + routes[n])

    def play(self, *more, sizes=(64, 1000, 100000, 400000), seed=1):
        words = [os.path.join(BIN, "helio-sim"), "--check", "--json", "--seed", str(seed)]
        for n in (1, 2, 3):
            words += ["--node", os.path.join(self.folder, f"{n}.yaml")]
        for i, size in enumerate(sizes):
            words += ["--client", f"--socket /nowhere/1.sock -d ipn:3.{2000 + i} -R 10b -T 20 -P {size} --linger 5min --ack-timeout 1h"]
        words += ["--client", "--socket /nowhere/3.sock -d ipn:1.3000 -R 20b -T 20 -P 5000 --linger 5min --ack-timeout 1h"]
        done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def arrived(self, result):
        for client, server in zip(result["clients"], result["servers"]):
            self.assertGreater(client["bundles_sent"], 150)
            self.assertEqual((server["bundles"], server["duplicates"], server["wrong_crc"]), (client["bundles_sent"], 0, 0))

    def test_line(self):
        self.write()
        self.arrived(self.play())

    def test_links_go_down(self):
        self.write(", segment: 50kB, window: 20, window_bytes: 1MB, ending: 100ms")
        script = []
        for second in range(1, 16, 2):
            node, link = ((1, "to-2"), (2, "to-3"), (2, "to-1"), (3, "to-2"))[second // 2 % 4]
            script += ["--link", f"{second}.3s ipn:{node}.0 {link} down", "--link", f"{second + 1}.1s ipn:{node}.0 {link} up"]
        first = self.play(*script)
        self.arrived(first)
        self.assertEqual(self.play(*script), first)


if __name__ == "__main__":
    BIN, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)
