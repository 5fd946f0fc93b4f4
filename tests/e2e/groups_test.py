#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Groups over real nodes, and endpoints with several subscribers; what a subscriber may send. usage: groups_test.py BIN OUT [TEST...]"""

import time

import aap2
import node_case
from node_case import NodeCase, wait_for


class GroupsTest(NodeCase):
    def test_group(self):
        """Node 1 sends to a group; nodes 2 and 3 are members, 2 with two subscribers, 3 is beyond 2: each has it once."""
        p12, p21, p23, p32 = self.lab.udp_ports(4)
        routes = "routes:\n  - {{to: \"imc:5.*\", via: {0}}}\n"
        one = self.lab.write_node(1, [self.lab.link(2, p12, p21, rto="5s")], log=False, extra=routes.format("to-2"))
        two = self.lab.write_node(2, [self.lab.link(1, p21, p12, rto="5s"), self.lab.link(3, p23, p32, rto="5s")],
                                  log=False, extra=routes.format("to-1") + "  - {to: \"imc:*.*\", via: to-3}\n")
        three = self.lab.write_node(3, [self.lab.link(2, p32, p23, rto="5s")], log=False, extra=routes.format("to-2"))
        for number, config in ((1, one), (2, two), (3, three)):
            self.lab.start_node(number, config)
        members = [self.client(2, "imc:5.1", subscribe=True), self.client(2, "imc:5.1", subscribe=True),
                   self.client(3, "imc:5.1", subscribe=True)]
        tx = self.client(1, "ipn:1.5")
        for i in range(5):
            self.assertEqual(tx.request("imc:5.1", b"to all %d" % i)[0], aap2.SUCCESS)
        for rx in members:
            self.assertEqual(sorted(rx.delivery()[1] for _ in range(5)), [b"to all %d" % i for i in range(5)])
        for n in (1, 2, 3):
            wait_for(lambda n=n: self.lab.control(n, "status")["bundles"] == 0)
        ended = self.lab.control(2, "counters")["agent"]
        self.assertEqual((ended["received"], ended["delivered"], ended["ended"]["delivered"]), (5, 5, 5))
        sender = self.client(2)  # a group sends nothing
        self.assertEqual(sender.configure("imc:5.1"), aap2.INVALID_REQUEST)

    def test_subscribers(self):
        """pass: each bundle to one of two; all: to both; else the second is refused."""
        self.single(extra="endpoints:\n  - {at: \"ipn:1.6\", registrations: pass}\n"
                          "  - {at: \"ipn:1.7\", registrations: all}\n")
        tx = self.client(1, "ipn:1.5")
        got = {}
        for service in (6, 7):
            rx = [self.client(1, f"ipn:1.{service}", subscribe=True, window=4) for _ in range(2)]
            for i in range(8):
                self.assertEqual(tx.request(f"ipn:1.{service}", bytes([i]))[0], aap2.SUCCESS)
            got[service] = [[r.delivery()[1][0] for _ in range(4 if service == 6 else 8)] for r in rx]
        self.assertEqual(sorted(got[6][0] + got[6][1]), list(range(8)))
        self.assertEqual(got[7], [list(range(8))] * 2)
        self.client(1, "ipn:1.8", subscribe=True)
        second = self.client(1)
        self.assertEqual(second.configure("ipn:1.8", subscribe=True), aap2.UNAUTHORIZED)
        wait_for(lambda: self.lab.control(1, "status")["bundles"] == 0)

    def test_subscriber_sends_answers_only(self):
        """Others end its connection, and its deliveries go to the next one."""
        self.single()
        sender = self.client(1, "ipn:1.5")
        strange = {"a bundle": aap2.adu("ipn:1.5", b"x"), "a cancellation": aap2.cancel({3: 1, 4: 1}), "another configuration": aap2.config("ipn:1.7"),
                   "a keepalive": aap2.framed([(aap2.KEEPALIVE, [])]), "an answer to nothing": aap2.response(), "nonsense": b"\x02\xff\xff"}
        for k, (what, data) in enumerate(strange.items()):
            for unanswered in range(0 if what != "an answer to nothing" else 2, 2):
                with self.subTest(what, unanswered=unanswered):
                    ended = self.lab.control(1, "counters")["applications"]["malformed"]
                    one = self.client(1, f"ipn:1.{10 + k}", subscribe=True)
                    if unanswered:
                        self.assertEqual(sender.request(f"ipn:1.{10 + k}", b"kept")[0], aap2.SUCCESS)
                        self.assertEqual(one.delivery(answer=None)[1], b"kept")
                    one.send(data)
                    with self.assertRaises(EOFError):  # no answer, which it would read as a request
                        one.message()
                    self.assertEqual(self.lab.control(1, "counters")["applications"]["malformed"], ended + 1)
                    if unanswered:
                        self.assertEqual(self.client(1, f"ipn:1.{10 + k}", subscribe=True).delivery()[1], b"kept")
                    wait_for(lambda k=k: f"connection of ipn:1.{10 + k} refused: a subscriber may only send answers" in self.log_text())
                    time.sleep(1)  # one line a second

    def test_window_beyond_the_limit(self):
        self.single()
        sender, receiver = self.client(1, "ipn:1.5"), self.client(1, "ipn:1.6", subscribe=True, window=1025)
        for _ in range(1025):
            self.assertEqual(sender.request("ipn:1.6", b"x")[0], aap2.SUCCESS)
        for _ in range(1024):
            receiver.delivery(answer=None)
        receiver.s.settimeout(1)
        with self.assertRaises(TimeoutError):
            receiver.message()


if __name__ == "__main__":
    node_case.main("GroupsTest")
