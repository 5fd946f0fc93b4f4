#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Groups over real nodes, and endpoints with several subscribers. usage: groups_test.py BIN OUT [TEST...]"""

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


if __name__ == "__main__":
    node_case.main("GroupsTest")
