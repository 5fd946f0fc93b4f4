# SPDX-License-Identifier: Apache-2.0
"""A spacecraft's frames, of another kind in each direction: AOS down through an optical channel, telecommand in CLTUs up; a ground station that
sends on to the mission centre; two virtual channels; in virtual time, and with real nodes through the emulator, and by TCP.
usage: frames_way_test.py BIN OUT [TEST...]"""

import json
import os
import subprocess

import aap2
import node_case
from node_case import NodeCase, wait_for

from heliograph import link_keys

DOWN = {"frames": "aos", "frames.in": "cltu", "frames.scid": 171, "frames.vcid": 5, "frames.clcw": "yes"}
UP = {"frames": "cltu", "frames.in": "aos", "frames.scid": 171, "frames.vcid": 5, "frames.clcw": "yes"}


class FramesWayTest(NodeCase):
    def node(self, number, links, more=""):
        path = self.lab.path(f"{number}.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"node: ipn:{number}.0\nsocket: {self.lab.socket(number)}\nstore: {{durability: none}}\n{more}links:\n")
            f.writelines("  - " + "\n    ".join(link_keys.lines(link, self.lab.program("heliod"))) + "\n" for link in links)
        return path

    def space(self, number, vcid=5, **keys):
        """A link between spacecraft (1) and ground station (2)."""
        way = DOWN if number == 1 else UP
        return {"name": f"to-{3 - number}-{vcid}", "adapter": "ltp-udp", "peer": f"ipn:{3 - number}.0", "rto": "80ms", "sessions": 16,
                "local": f"10.0.0.{number}:1113", "remote": f"10.0.0.{3 - number}:1113", "rate": "50Mbit/s", **way, **keys, "frames.vcid": vcid}

    def play(self, files, channel, *clients):
        with open(self.lab.path("channel.yaml"), "w", encoding="utf-8") as f:
            f.write(channel)
        words = [w for f in files for w in ("--node", f)] + [w for c in clients for w in ("--client", c)]
        done = subprocess.run([self.lab.program("helio-sim"), *words, "--channel", self.lab.path("channel.yaml"), "--json"],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def arrived(self, result):
        for client, server in zip(result["clients"], result["servers"]):
            self.assertEqual((server["bundles"], server["duplicates"], server["wrong_crc"]), (client["bundles_confirmed"], 0, 0))
            self.assertGreater(server["bundles"], 10)

    def test_chain(self):
        """Spacecraft, optical channel of erased frames, ground station, mission centre; data down, and orders up."""
        for segment, keys in (("1013B", {}), ("3000B", {"segment": "3000B", "frames.segments": "yes", "frames.randomise": "yes"})):
            with self.subTest(segment):
                ground = [self.space(2, **keys), {"name": "to-3", "adapter": "tcpcl", "peer": "ipn:3.0", "local": "10.0.0.2:4556", "tls": "off"}]
                centre = [{"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "local": "10.0.0.3:4556", "tls": "off", "remote": "10.0.0.2:4556"}]
                files = [self.node(1, [self.space(1, **keys)], "routes: [{to: 'ipn:3.*', via: to-2-5}]\n"), self.node(2, ground),
                         self.node(3, centre, "routes: [{to: 'ipn:1.*', via: to-2}]\n")]
                result = self.play(files, "forward: {delay: 5ms, erasures: {trace: A}}\nreturn: {delay: 5ms, erasures: {iid: 0.05}}\n",
                                   f"--socket {self.lab.socket(1)} -d ipn:3.2000 -D 10MB -W 30 -P 50kB",
                                   f"--socket {self.lab.socket(3)} -d ipn:1.2001 -R 50b -T 1 -P 2kB --ack-timeout 1min")
                self.arrived(result)
                frames = {n["node"].split(".")[0][-1]: n["links"][0]["frames"] for n in result["nodes"][:2]}
                channel = result["channels"][0]
                for n, way in (("2", "forward"), ("1", "return")):
                    lost = channel[way]["dropped"]["trace" if way == "forward" else "random"]
                    self.assertGreater(lost, 0)
                    self.assertLessEqual(abs(frames[n]["received"]["lost"] - lost), 20, frames[n])  # the last losses show to nobody
                    self.assertEqual(frames[n]["line"]["cltu_bad"] + frames[n]["sent"]["dropped"] + frames[n]["sent"]["too_long"], 0)
                self.assertEqual(frames["2"]["clcw"]["vcid"], 5)

    def test_virtual_channels(self):
        """Two on one physical channel, a link each: reliable to the ground station, more of it on to the mission centre."""
        files = [self.node(1, [self.space(1), self.space(1, 6)], "routes: [{to: 'ipn:3.*', via: to-2-6}]\n"),
                 self.node(2, [self.space(2), self.space(2, 6), {"name": "to-3", "adapter": "tcpcl", "peer": "ipn:3.0", "local": "10.0.0.2:4556", "tls": "off"}]),
                 self.node(3, [{"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "remote": "10.0.0.2:4556"}],
                           "routes: [{to: 'ipn:1.*', via: to-2}]\n")]
        result = self.play(files, "forward: {delay: 5ms, erasures: {iid: 0.03}}\nreturn: {delay: 5ms}\n",
                           f"--socket {self.lab.socket(1)} -d ipn:3.2000 -D 3MB -W 30 -P 50kB --ack-timeout 1min",
                           f"--socket {self.lab.socket(1)} -d ipn:2.2001 -D 3MB -W 30 -P 50kB --ack-timeout 1min")
        links = {link["name"]: link["frames"] for node in result["nodes"][:2] for link in node["links"] if "frames" in link}
        for vcid in (5, 6):
            down, ground = links[f"to-2-{vcid}"], links[f"to-1-{vcid}"]
            self.assertGreater(ground["received"]["frames"], 1000)
            self.assertLessEqual(abs(down["sent"]["frames"] - ground["received"]["frames"] - ground["received"]["lost"]), 3)
        self.assertEqual(links["to-1-5"]["line"], links["to-1-6"]["line"])
        for server in result["servers"]:
            self.assertEqual((server["bundles"], server["duplicates"]), (60, 0))

    def links(self, number):
        done = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(number) + ".ctl", "--timeout", "60s", "links", "--json"],
                              capture_output=True, text=True, timeout=300, check=True)
        return json.loads(done.stdout)["links"][0]

    def exchange(self, count=30):
        receiver, sender = self.client(2, "ipn:2.7", subscribe=True), self.client(1, "ipn:1.7")
        payloads = [os.urandom(20000) for _ in range(count)]
        for p in payloads:
            self.assertEqual(sender.request("ipn:2.7", p)[0], aap2.SUCCESS)
        self.assertEqual(sorted(receiver.delivery()[1] for _ in payloads), sorted(payloads))

    def test_emulator(self):
        """Real nodes; the emulator erases whole frames by a trace, and CLTUs."""
        left, right, relay = self.lab.udp_ports(3)
        self.lab.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{relay}", "--to", f"127.0.0.1:{right}", "--delay", "2ms",
                       "--trace", "A", "--trace-return", "iid:0.05", "--priority", "normal", "--json", self.lab.path("relay.json"))
        for n, local, way in ((1, left, DOWN), (2, right, UP)):
            self.lab.start_node(n, self.lab.write_node(n, [self.lab.link(3 - n, local, relay, rto="100ms", rate="50Mbit/s", **way)], log=False))
        self.exchange()
        wait_for(lambda: self.links(1)["bundles_sent"] == 30)
        down, up = self.links(2)["frames"], self.links(1)["frames"]
        self.assertGreater(up["received"]["frames"], 0)
        self.assertEqual(down["verdicts"]["ok"], down["received"]["frames"])
        self.assertEqual((up["line"]["cltu_bad"], up["line"]["foreign"], down["line"]["foreign"]), (0, 0, 0))
        self.assertEqual(down["clcw"]["vcid"], 5)
        done = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(2) + ".ctl", "--timeout", "60s", "links"], capture_output=True,
                              text=True, timeout=300, check=True)
        self.assertIn("FRAMES OF", done.stdout)

    def test_tcp(self):
        """By TCP, over a restart of the listener."""
        ports = self.lab.udp_ports(2)
        down = {**DOWN, "frames.port": "connect", "frames.marker": "yes"}
        up = {**UP, "frames.port": "listen", "frames.marker": "yes"}
        config = {n: self.lab.write_node(n, [self.lab.link(3 - n, ports[n - 1], ports[2 - n], rto="100ms", **way)], log=False)
                  for n, way in ((1, down), (2, up))}
        self.lab.start_node(1, config[1])
        ground = self.lab.start_node(2, config[2])
        wait_for(lambda: self.links(1)["frames"]["line"]["connected"])
        self.exchange(10)
        self.lab.stop("node2", ground)
        wait_for(lambda: not self.links(1)["frames"]["line"]["connected"])
        self.lab.start_node(2, config[2])
        self.exchange(10)
        told = self.links(1)["frames"]["line"]
        self.assertEqual((told["port"], told["connects"], told["skipped_bytes"]), ("connect", 2, 0))


if __name__ == "__main__":
    node_case.main("FramesWayTest")
