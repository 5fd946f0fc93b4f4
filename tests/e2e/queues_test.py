#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Priorities through real nodes: chosen by the application, kept over a restart, obeyed by the link and shown to the
receiver. usage: queues_test.py BIN OUT [TEST...]"""

import json
import signal
import subprocess

import aap2
import node_case
from node_case import NodeCase, wait_for

BULK, NORMAL, EXPEDITED = 1, 2, 3


class QueuesTest(NodeCase):
    def ctl(self, number, *words):
        p = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(number) + ".ctl", "--timeout", "60s", *words],
                           capture_output=True, text=True, timeout=300)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        return p.stdout

    def link(self, number):
        return json.loads(self.ctl(number, "--json", "links"))["links"][0]

    def test_limit_of_a_link(self):
        """What a link may hold bounds what comes for it, and nothing else; who is refused hears why, and the operator."""
        ports = self.lab.udp_ports(4)
        links = [self.lab.link(2, ports[0], ports[1], rto="100ms", state="down", queue_bundles=3),
                 self.lab.link(3, ports[2], ports[3], rto="100ms", state="down", queue_bytes="10kB")]
        self.lab.start_node(1, self.lab.write_node(1, links, log=False, extra="bundles: {count: 1000}\n"))
        tx = self.client(1, "ipn:1.5")
        for _ in range(3):
            self.assertEqual(tx.request("ipn:2.7", b"waits")[0], aap2.SUCCESS)
        status, text, _ = tx.request("ipn:2.7", b"too many")
        self.assertEqual((status, text), (aap2.ERROR, "the queue of the link that it would go to is full"))
        taken = 0
        while tx.request("ipn:3.7", bytes(1000))[0] == aap2.SUCCESS:
            taken += 1
        self.assertEqual(taken, 9)
        two, three = json.loads(self.ctl(1, "--json", "links"))["links"]
        self.assertEqual((two["queue_limits"]["bundles"], two["queue_limits"]["bytes"], two["queue_refused"]), (3, 0, 1))
        self.assertEqual((three["queue_limits"]["bytes"], three["queue_refused"]), (10000, 1))
        self.assertEqual(two["queue_limits"]["share_bundles"], 25)  # a tenth of 1000, in four parts

        def told():
            with open(self.lab.path("node1.log")) as f:
                return "link to-2: 1 bundles for ipn:2.0 were refused: its queue is full (queue_bundles, queue_bytes), 3 wait" in f.read()
        wait_for(told)

    def test_limits_while_it_runs(self):
        """link set, and SIGHUP: what is there stays, what comes meets the new limit; the order of the queues likewise."""
        ports = self.lab.udp_ports(2)
        link = self.lab.link(2, ports[0], ports[1], rto="100ms", state="down", queue_bundles=3)
        path = self.lab.write_node(1, [link], log=False, extra="bundles: {count: 1000}\n")
        node = self.lab.start_node(1, path)
        tx = self.client(1, "ipn:1.5")

        def fill():
            taken = 0
            while tx.request("ipn:2.7", b"waits")[0] == aap2.SUCCESS:
                taken += 1
            return taken

        self.assertEqual(fill(), 3)
        self.ctl(1, "link", "set", "to-2", "queue_bundles=5", "weights=1:1:1", "queues=strict")
        self.assertEqual(self.link(1)["queue_limits"]["bundles"], 5)
        self.assertEqual(fill(), 2)
        self.ctl(1, "link", "set", "to-2", "queue_bundles=2")  # those that are there stay
        self.assertEqual((fill(), self.link(1)["backlog"]), (0, "0/5/0"))
        for words, text in (("queue_bundles=few", "queue_bundles"), ("weights=1:0:1", "write three numbers"),
                            ("peers=2", "cannot change while the link is there")):
            p = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", "link", "set", "to-2", words],
                               capture_output=True, text=True, timeout=300)
            self.assertEqual(p.returncode, 2, p.stderr)
            self.assertIn(text, p.stderr)
        self.assertEqual(self.link(1)["queue_limits"]["bundles"], 2)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("queue_bundles: 3", "queue_bundles: 7\n    queue_bytes: 1MB\n    weights: 1:2:3"))
        node.send_signal(signal.SIGHUP)
        wait_for(lambda: self.link(1)["queue_limits"]["bundles"] == 7)
        self.assertEqual(self.link(1)["queue_limits"]["bytes"], 1000000)
        self.assertEqual(fill(), 2)
        with open(self.lab.path("node1.log"), encoding="utf-8") as f:
            self.assertIn("reload: link to-2: queues, weights, queue_bundles, queue_bytes", f.read())

    def test_strict_over_a_restart(self):
        """Six bundles wait for a link that is down; the node is killed and starts again; they arrive by priority, and
        what a rule of the link says is bulk goes last whatever its priority."""
        ports = self.lab.udp_ports(2)
        rule = "[{service: 9, queue: bulk}]"
        one = self.lab.write_node(1, [self.lab.link(2, ports[0], ports[1], rto="100ms", retries=1000, sessions=1, queues="strict",
                                                    priorities=rule, state="down")],
                                  store=f"{{path: {self.lab.path('one.store')}, durability: sync}}", log=False)
        two = self.lab.write_node(2, [self.lab.link(1, ports[1], ports[0], rto="100ms")], log=False)
        self.lab.start_node(2, two)
        node = self.lab.start_node(1, one)
        tx = self.client(1, "ipn:1.5")
        sent = [("ipn:2.7", b"bulk", BULK, 0), ("ipn:2.7", b"plain", 0, 0), ("ipn:2.7", b"soon", EXPEDITED, 0),
                ("ipn:2.7", b"sooner", EXPEDITED, 200), ("ipn:2.9", b"ruled", EXPEDITED, 254),
                ("ipn:2.7", b"normal", NORMAL, 0)]
        for to, payload, priority, ordinal in sent:
            self.assertEqual(tx.request(to, payload, priority=priority, ordinal=ordinal)[0], aap2.SUCCESS)
        self.assertEqual(self.link(1)["backlog"], "2/2/2")
        node.send_signal(signal.SIGKILL)
        node.wait(300)
        node = self.lab.start_node(1, one)
        wait_for(lambda: self.link(1)["backlog"] == "2/2/2")
        bundles = json.loads(self.ctl(1, "--json", "bundles"))["bundles"]
        self.assertEqual([b["priority"] for b in bundles],
                         ["bulk", "normal", "expedited", "expedited", "expedited", "normal"])
        self.assertEqual([b.get("ordinal", 0) for b in bundles], [0, 0, 0, 200, 254, 0])
        rx, ruled = self.client(2, "ipn:2.7", subscribe=True), self.client(2, "ipn:2.9", subscribe=True)
        self.ctl(1, "link", "to-2", "up")
        got = []
        for _ in range(5):
            head, payload = rx.arrival()
            got.append((payload, head.get(103, 0), head.get(104, 0)))
        self.assertEqual(got, [(b"sooner", EXPEDITED, 200), (b"soon", EXPEDITED, 0), (b"plain", NORMAL, 0),
                               (b"normal", NORMAL, 0), (b"bulk", BULK, 0)])
        self.assertEqual(ruled.arrival()[1], b"ruled")
        queues = self.link(1)["queues"]
        wait_for(lambda: self.link(1)["backlog"] == "0/0/0")
        self.assertEqual({name: q["given"] for name, q in self.link(1)["queues"].items()},
                         {"bulk": 2, "normal": 2, "expedited": 2}, queues)

    def test_what_is_not_legal(self):
        self.single()
        tx = self.client(1, "ipn:1.5")
        for priority, ordinal, why in ((4, 0, "priority is 0 to 3"), (NORMAL, 1, "ordinal is"), (EXPEDITED, 255, "ordinal is"),
                                       (0, 7, "ordinal is")):
            status, text, _ = tx.request("ipn:1.5", b"x", priority=priority, ordinal=ordinal)
            self.assertEqual(status, aap2.INVALID_REQUEST)
            self.assertIn(why, text)
        self.assertEqual(tx.request("ipn:1.5", b"x", priority=EXPEDITED, ordinal=254)[0], aap2.SUCCESS)

    def test_helio_perf(self):
        """-p of the generator: what it sends waits in that queue, and arrives."""
        self.pair()
        server = subprocess.Popen([self.lab.program("helio-perf"), "server", "--socket", self.lab.socket(2)],
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait, 20)
        self.addCleanup(server.terminate)
        out = subprocess.run([self.lab.program("helio-perf"), "client", "--socket", self.lab.socket(1), "-d", "ipn:2.2000",
                              "-D", "200k", "-P", "20k", "-W", "2", "-p", "expedited:7", "--json", "-"],
                             capture_output=True, text=True, timeout=300)
        self.assertEqual(out.returncode, 0, out.stderr)
        queues = self.link(1)["queues"]
        self.assertGreaterEqual(queues["expedited"]["given"], 10)
        self.assertEqual(queues["bulk"]["given"], 0)
        for wrong in ("urgent", "bulk:1", "expedited:255", "expedited:"):
            p = subprocess.run([self.lab.program("helio-perf"), "client", "--socket", "x", "-d", "ipn:2.2000", "-T", "1", "-W",
                                "1", "-p", wrong], capture_output=True, text=True)
            self.assertEqual(p.returncode, 2)
            self.assertIn("bulk, normal, expedited, or expedited:N", p.stderr)


if __name__ == "__main__":
    node_case.main("QueuesTest")
