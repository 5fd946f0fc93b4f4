#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Discovery on a local network: nodes in network namespaces, joined by a bridge, find each other by multicast, exchange bundles,
and forget who leaves. A liar claims the name of another node, and of a configured one; a flood of beacons comes from one host.

usage: discovery_test.py BIN OUT [TEST...]"""
import ctypes
import json
import os
import signal
import shutil
import socket
import struct
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
from certificates import NODE, Authority  # noqa: E402
from heliograph.processes import Lab, die_with_parent  # noqa: E402
from testbed import CLONE_NEWNET, need_namespaces  # noqa: E402

PROGRAMS = OUT = ""
LIBC = ctypes.CDLL(None, use_errno=True)
GROUP, PORT = "224.0.0.26", 3003


def wait_for(what, seconds, message):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = what()
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError(message() if callable(message) else message)


def cbor_uint(n, major=0):
    for bits, head in ((8, 24), (16, 25), (32, 26), (64, 27)):
        if n < 24:
            return bytes([major << 5 | n])
        if n < 1 << bits:
            return bytes([major << 5 | head]) + n.to_bytes(bits // 8, "big")
    raise ValueError(n)


def beacon(node, port, service="tcp", sequence=0, period=1):
    """IPND, as dtn7-rs has it, of the node ipn:NODE.0."""
    name = service.encode()
    services = b"\x82\x81\x82" + cbor_uint(len(name), 3) + name + cbor_uint(port) + b"\xa0"
    return b"\x86\x07\x07\x82\x02\x82" + cbor_uint(node) + b"\0" + cbor_uint(sequence) + services + cbor_uint(period)


class Network:
    """Namespaces behind one bridge, which has a namespace of its own: node N is 10.77.0.N."""

    count = 0

    def __init__(self, nodes):
        Network.count += 1
        self.name = f"helio-disc-{os.getpid()}-{Network.count}"
        self.nodes, self.made = nodes, []

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def space(self, node):
        return f"{self.name}-{node}"

    def __enter__(self):
        try:
            self.add("hub")
            self.ip("-n", self.space("hub"), "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
            self.ip("-n", self.space("hub"), "link", "set", "br0", "up")
            for node in self.nodes:
                self.join(node)
        except BaseException:
            self.__exit__()
            raise
        return self

    def add(self, node):
        self.ip("netns", "add", self.space(node))
        self.made.append(node)
        self.ip("-n", self.space(node), "link", "set", "lo", "up")

    def join(self, node):
        self.add(node)
        self.ip("-n", self.space("hub"), "link", "add", f"p{node}", "type", "veth", "peer", "name", "eth0", "netns", self.space(node))
        self.ip("-n", self.space("hub"), "link", "set", f"p{node}", "master", "br0", "up")
        self.ip("-n", self.space(node), "addr", "add", f"10.77.0.{node}/24", "dev", "eth0")
        self.ip("-n", self.space(node), "link", "set", "eth0", "up")

    def __exit__(self, *_):
        for node in self.made:
            subprocess.run(["ip", "netns", "del", self.space(node)], capture_output=True)

    def enter(self, node, make):
        """What `make` makes is made in that namespace, and stays there."""
        home, there = os.open("/proc/thread-self/ns/net", os.O_RDONLY), os.open(f"/run/netns/{self.space(node)}", os.O_RDONLY)
        try:
            assert LIBC.setns(there, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
            return make()
        finally:
            assert LIBC.setns(home, CLONE_NEWNET) == 0
            os.close(home)
            os.close(there)

    def sender(self, node):
        def make():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("4s4si", b"\0" * 4, b"\0" * 4, socket.if_nametoindex("eth0")))
            return s
        return self.enter(node, make)


class Case(unittest.TestCase):
    nodes = (1, 2, 3)

    def setUp(self):
        self.out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(self.out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, self.out)
        self.addCleanup(self.lab.__exit__)
        self.net = Network(self.nodes)
        self.net.__enter__()
        self.addCleanup(self.net.__exit__)
        self.running = {}

    def config(self, node, found, links=(), more="", discovery=""):
        text = (f"node: ipn:{node}.0\nsocket: {self.lab.socket(node)}\nstore: {{durability: none}}\n{more}"
                "discovery:\n  interface: eth0\n  interval: 500ms\n  silence: 3s\n  patience: 3s\n"
                f"{discovery}  links:\n" + "".join(f"    - {json.dumps(f)}\n" for f in found))
        if links:
            text += "links:\n" + "".join(f"  - {json.dumps(link)}\n" for link in links)
        path = self.lab.path(f"node{node}.yaml")
        with open(path, "w") as f:
            f.write(text)
        return path

    def start(self, node, config):
        with open(self.lab.path(f"node{node}.log"), "a") as log:
            p = subprocess.Popen(["ip", "netns", "exec", self.net.space(node), os.path.join(PROGRAMS, "heliod"), config],
                                 stderr=log, stdout=log, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent())
        self.running[node] = p
        self.addCleanup(self.kill, node, p)
        wait_for(lambda: os.path.exists(self.lab.socket(node)) or p.poll() is not None, 20, f"node {node} did not start")
        self.assertIsNone(p.poll(), self.log(node))

    def kill(self, node, p):
        if p.poll() is None:
            p.terminate()
            self.assertEqual(p.wait(30), 0, self.log(node))

    def log(self, node):
        with open(self.lab.path(f"node{node}.log")) as f:
            return f.read()

    def neighbours(self, node):
        return {n["node"]: n for n in self.lab.control(node, "neighbours")["neighbours"]}

    def wait_up(self, node, peer, seconds=30):
        return wait_for(lambda: self.neighbours(node).get(f"ipn:{peer}.0", {}).get("state") == "up", seconds,
                        lambda: f"node {node} has no link to {peer}: {self.neighbours(node)}\n{self.log(node)}")

    def exchange(self, one, two):
        with aap2.Client(self.lab.socket(one), timeout=60) as a, aap2.Client(self.lab.socket(two), timeout=60) as b:
            self.assertEqual(b.configure(f"ipn:{two}.7", subscribe=True), aap2.SUCCESS)
            self.assertEqual(a.configure(f"ipn:{one}.7"), aap2.SUCCESS)
            for size in (1, 1000, 100000):
                payload = os.urandom(size)
                self.assertEqual(a.request(f"ipn:{two}.7", payload)[0], aap2.SUCCESS)
                self.assertEqual(b.delivery(), (f"ipn:{one}.7", payload))


class ClaimedTest(Case):
    TCP = {"adapter": "tcpcl", "local": "0.0.0.0:4556", "tls": "off", "timers": {"reconnect": "100ms"}}
    CLAIMED = "  names: claimed\n"

    def test_come_and_go(self):
        """Three nodes find each other; one leaves and comes back."""
        for node in self.nodes:
            self.start(node, self.config(node, [self.TCP], discovery=self.CLAIMED))
        for node in self.nodes:
            for peer in self.nodes:
                if peer != node:
                    self.wait_up(node, peer)
        self.exchange(1, 2)
        self.exchange(3, 1)
        self.running[3].terminate()
        self.running[3].wait(30)
        wait_for(lambda: "ipn:3.0" not in self.neighbours(1), 30, "node 3 is still there")
        self.assertEqual([link["peer"] for link in self.lab.control(1, "links")["links"]], ["ipn:2.0"])
        self.assertIn("sends no beacons any more", self.log(1))
        self.wait_up(1, 2)
        os.path.exists(self.lab.socket(3)) and os.unlink(self.lab.socket(3))
        self.start(3, self.lab.path("node3.yaml"))
        self.wait_up(1, 3)
        self.exchange(1, 3)

    def test_mtcp(self):
        """Links of another adapter, by beacons of the other format."""
        mtcp = {"adapter": "mtcp", "local": "0.0.0.0:16162", "timers": {"reconnect": "100ms"}}
        for node in (1, 2):
            self.start(node, self.config(node, [mtcp], discovery=self.CLAIMED + "  formats: dtn7-go\n"))
        self.wait_up(1, 2)
        self.wait_up(2, 1)
        self.exchange(1, 2)

    def test_ipv6(self):
        tcp = {**self.TCP, "local": "[::]:4556"}
        for node in (1, 2):
            self.start(node, self.config(node, [tcp], discovery=self.CLAIMED + "  family: v6\n"))
        self.wait_up(1, 2)
        self.assertIn("fe80::", self.neighbours(1)["ipn:2.0"]["address"])
        self.exchange(1, 2)

    def test_contacts(self):
        """With a contact plan, a link that is up is a contact of limited confidence, until its neighbour is silent."""
        plan = self.lab.path("plan.yaml")
        with open(plan, "w") as f:
            f.write("contacts:\n  - {from: 1, to: 9, start: 0s, end: 1d, rate: 1Mbit/s}\n  - {from: 9, to: 1, start: 0s, end: 1d, rate: 1Mbit/s}\n")
        self.start(1, self.config(1, [self.TCP], more=f"plan: {plan}\n", discovery=self.CLAIMED + "  confidence: 0.25\n  rate: 8Mbit/s\n"))
        self.start(2, self.config(2, [self.TCP], discovery=self.CLAIMED))
        self.wait_up(1, 2)

        def contacts():
            return [c for c in self.lab.control(1, "plan")["contacts_here"] if c["to"] == 2]
        first = wait_for(contacts, 10, lambda: str(self.lab.control(1, "plan")))
        self.assertEqual((len(first), first[0]["confidence"], first[0]["rate_bps"]), (1, 0.25, 8000000))
        self.exchange(1, 2)
        time.sleep(4)  # longer than the silence: it was extended
        self.assertEqual(len(contacts()), 1)
        self.wait_up(1, 2)
        for _ in range(4):  # some beacons are lost, fewer than a silence has
            self.running[2].send_signal(signal.SIGSTOP)
            time.sleep(2.2)
            self.assertEqual(len(contacts()), 1)
            self.running[2].send_signal(signal.SIGCONT)
            time.sleep(1.5)
        self.assertEqual(list(self.neighbours(1)), ["ipn:2.0"], self.log(1))
        self.assertEqual(self.lab.control(1, "neighbours")["beacons"]["configured"], 0)
        self.assertNotIn("no further contact", self.log(1))
        self.exchange(1, 2)
        self.running[2].kill()
        wait_for(lambda: not contacts(), 30, "the contact is still there")

    def test_liar(self):
        """Node 3 claims to be configured node 9, and floods names. Nothing of 9 changes, the flood gets its share, 2 is found."""
        nine = {"name": "to-9", "adapter": "tcpcl", "peer": "ipn:9.0", "remote": "10.77.0.2:9999"}
        self.start(1, self.config(1, [self.TCP], [nine], discovery=self.CLAIMED))
        liar = self.net.sender(3)
        self.addCleanup(liar.close)
        for _ in range(3):
            liar.sendto(beacon(9, 4556), (GROUP, PORT))
            liar.sendto(b"nonsense", (GROUP, PORT))
        for i in range(3000):
            liar.sendto(beacon(1000 + i, 4556), (GROUP, PORT))
        counts = wait_for(lambda: (c := self.lab.control(1, "neighbours")["beacons"])["address"] > 1000 and c, 20, "no flood")
        self.assertEqual((counts["configured"], counts["malformed"]), (3, 3))
        self.assertEqual(len(self.neighbours(1)), 4)
        links = self.lab.control(1, "links")["links"]
        self.assertEqual([link["name"] for link in links if link["peer"] == "ipn:9.0"], ["to-9"])
        self.start(2, self.config(2, [self.TCP], discovery=self.CLAIMED))
        self.wait_up(1, 2)
        self.exchange(2, 1)
        wait_for(lambda: list(self.neighbours(1)) == ["ipn:2.0"], 30, lambda: str(self.neighbours(1)))


    def test_unconfigured_peers(self):
        """A beacon reserves no name: node 2, which is configured nowhere, connects after a lie about it, and stays during others."""
        crowd = {"name": "any", "adapter": "tcpcl", "peer": "ipn:99.0", "local": "0.0.0.0:4557", "peers": 4, "tls": "off"}
        self.start(1, self.config(1, [self.TCP], [crowd], discovery=self.CLAIMED))
        liar = self.net.sender(3)
        self.addCleanup(liar.close)
        liar.sendto(beacon(2, 4556), (GROUP, PORT))
        wait_for(lambda: "ipn:2.0" in self.neighbours(1), 20, "the lie was not heard")
        path = self.lab.path("node2.yaml")
        with open(path, "w") as f:
            f.write(f"node: ipn:2.0\nsocket: {self.lab.socket(2)}\nstore: {{durability: none}}\n"
                    "links: [{name: one, adapter: tcpcl, peer: ipn:1.0, remote: '10.77.0.1:4557', tls: off, timers: {reconnect: 100ms}}]\n")
        self.start(2, path)

        def of_two():
            return [link["name"] for link in self.lab.control(1, "links")["links"] if link["peer"] == "ipn:2.0" and link["up"]]
        wait_for(lambda: of_two() == ["any/ipn:2.0"], 30, lambda: self.log(1))
        for _ in range(5):
            liar.sendto(beacon(2, 4556), (GROUP, PORT))
            time.sleep(0.3)
            self.assertEqual(of_two(), ["any/ipn:2.0"], self.log(1))
        self.exchange(2, 1)
        self.assertGreaterEqual(self.lab.control(1, "neighbours")["beacons"]["configured"], 5)
        self.assertNotIn("any/ipn:2.0 is removed", self.log(1))


class ProvenTest(Case):
    def test_names_by_tls(self):
        """A name needs a certificate. Node 3 beacons as node 2 before node 2 does, and has a certificate of its own."""
        ca = Authority(self.lab.path("ca"))

        def tcp(node):
            certificate, key = ca.issue(f"node{node}", f"{NODE}ipn:{node}.0")
            return {"adapter": "tcpcl", "local": "0.0.0.0:4556", "timers": {"reconnect": "100ms"},
                    "tls": {"mode": "required", "certificate": certificate, "key": key, "ca": ca.file}}
        self.start(3, self.config(3, [tcp(3)]))
        self.start(1, self.config(1, [tcp(1)]))
        liar = self.net.sender(3)
        self.addCleanup(liar.close)
        liar.sendto(beacon(2, 4556), (GROUP, PORT))
        wait_for(lambda: self.neighbours(1).get("ipn:2.0", {}).get("state") == "trying", 20, "the lie was not heard")
        self.start(2, self.config(2, [tcp(2)]))
        def up():
            return [n["address"] for n in self.lab.control(1, "neighbours")["neighbours"] if (n["node"], n["state"]) == ("ipn:2.0", "up")]

        def lie_and_look():
            liar.sendto(beacon(2, 4556), (GROUP, PORT))
            return up()
        wait_for(lie_and_look, 60, lambda: self.log(1))  # node 2 connects here, or the link to the liar gives way
        self.exchange(1, 2)
        wait_for(lambda: up() == ["10.77.0.2:4556"], 60, lambda: self.log(1))  # the lie has ended
        self.exchange(1, 2)
        self.wait_up(1, 3)
        self.assertGreater(self.lab.control(1, "neighbours")["beacons"]["contested"], 0)

    def test_needs_tls(self):
        """Without TLS the configuration is refused, unless names are to be claims."""
        for found, words in (({"adapter": "tcpcl", "tls": "off"}, "proves no names"), ({"adapter": "mtcp"}, "proves no names"),
                             ({"adapter": "tcpcl", "peer": "ipn:2.0"}, "each neighbour's link gets its own"),
                             ({"adapter": "bibe"}, "discovery.links")):
            done = subprocess.run([os.path.join(PROGRAMS, "heliod"), "--check", self.config(1, [found])], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


def main():
    global PROGRAMS, OUT
    PROGRAMS, OUT = map(os.path.abspath, sys.argv[1:3])
    need_namespaces()
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


if __name__ == "__main__":
    main()
