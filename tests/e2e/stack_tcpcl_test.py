# SPDX-License-Identifier: Apache-2.0
"""Whole nodes over TCPCL in virtual time: a line of three whose links go down and up, bundles of all sizes in both directions. Each
arrives once, over channels that lose a part of the frames, too; the same seed gives the same figures. usage: stack_tcpcl_test.py BIN OUT"""
import json
import os
import shutil
import subprocess
import sys
import unittest

BIN = OUT = ""


class StackTcpclTest(unittest.TestCase):
    SMALLER = (64, 1000, 50000, 200000)  # over channels with losses, where a play takes many more steps

    def setUp(self):
        self.folder = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def write(self, keys=""):
        links = {1: [f"{{name: to-2, adapter: tcpcl, peer: ipn:2.0, remote: 10.0.0.2{keys}}}"],
                 2: [f"{{name: to-1, adapter: tcpcl, peer: ipn:1.0, local: 10.0.0.2, tls: off{keys}}}",
                     f"{{name: to-3, adapter: tcpcl, peer: ipn:3.0, local: 10.0.0.2, tls: off, remote: 10.0.0.3{keys}}}"],
                 3: [f"{{name: to-2, adapter: tcpcl, peer: ipn:2.0, local: 10.0.0.3, tls: off, remote: 10.0.0.2{keys}}}"]}
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
        done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=1000)
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
        self.write(", segment: 50kB, window: 20, limits: {window_bytes: 1MB}, timers: {ending: 100ms}")
        script = []
        for second in range(1, 16, 2):
            node, link = ((1, "to-2"), (2, "to-3"), (2, "to-1"), (3, "to-2"))[second // 2 % 4]
            script += ["--link", f"{second}.3s ipn:{node}.0 {link} down", "--link", f"{second + 1}.1s ipn:{node}.0 {link} up"]
        first = self.play(*script)
        self.arrived(first)
        self.assertEqual(self.play(*script), first)

    def channels(self, keys):
        path = os.path.join(self.folder, "link.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"both: {{{keys}}}\n")
        return ["--channel", f"1-2={path}", "--channel", f"2-3={path}"]

    def test_losses(self):
        """What the channel loses, TCP sends again: nothing is missing, all of it takes longer."""
        self.write()
        result = self.play(*self.channels("rate: 100Mbit/s, delay: 20ms, duplicate: 0.01, corrupt: 0.005, erasures: {iid: 0.02}"), sizes=self.SMALLER)
        self.arrived(result)
        for channel in result["channels"]:
            self.assertGreater(channel["forward"]["dropped"]["random"], 100)
        self.assertGreater(min(s["delay_ms"]["p50"] for s in result["servers"][:4]), 40)

    def test_links_go_down_on_a_channel(self):
        """Sessions that end in the middle of what is under way, and outages of seconds in which no frame comes."""
        self.write(", segment: 50kB, window: 20, limits: {window_bytes: 1MB}, timers: {ending: 100ms}")
        script = [*self.channels("rate: 50Mbit/s, delay: 50ms, start: 0, outages: [{from: 6s, to: 8s}, {from: 12s, to: 13s}], "
                                 "erasures: {iid: 0.01}")]
        for second in (2, 4, 10, 14):
            script += ["--link", f"{second}.3s ipn:2.0 to-3 down", "--link", f"{second + 1}.1s ipn:2.0 to-3 up"]
        first = self.play(*script, sizes=self.SMALLER)
        self.arrived(first)
        self.assertEqual(self.play(*script, sizes=self.SMALLER), first)

    def test_rate(self):
        """A long path is as full as its rate allows, frames and heads aside."""
        self.write(", window: 4000, limits: {window_bytes: 60MB}")
        words = [os.path.join(BIN, "helio-sim"), "--json", *self.channels("rate: 100Mbit/s, delay: 100ms")]
        for n in (1, 2, 3):
            words += ["--node", os.path.join(self.folder, f"{n}.yaml")]
        done = subprocess.run([*words, "--client", "-d ipn:3.2000 -D 60M -W 60 -P 500k --warmup 1 --linger 1min"], capture_output=True,
                              text=True, timeout=1000, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        goodput = json.loads(done.stdout)["clients"][0]["goodput_bps"]
        self.assertGreater(goodput, 0.93e8)
        self.assertLess(goodput, 1e8 * 1428 / 1510)


if __name__ == "__main__":
    BIN, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)
