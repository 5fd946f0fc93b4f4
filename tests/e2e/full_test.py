#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Floods over TCPCL toward nodes without room: the stream stops for a queue that moves, and nothing is refused or lost; for
one that does not move bundles are refused, and their sender keeps them. usage: full_test.py BIN OUT [TEST...]"""

import re
import threading
import time

import aap2
import node_case
from node_case import NodeCase, wait_for

TAKEN = 250    # bundles for the slow application …
PAUSE = 0.04   # … and its time for each, s
WAITING = 200  # bundles for the link that is down
FLIGHT = 17 << 20  # bytes: a fast short path's limit (TCPCL_FLOOR_FAST), and bundles that are half transmitted
YOUNG = 10     # s that a queue counts as moving after its first bundle


class FullTest(NodeCase):
    def tcpcl(self, peer, **keys):
        return {"name": f"to-{peer}", "adapter": "tcpcl", "peer": f"ipn:{peer}.0", "tls": "off", **keys}

    def two(self, near, far, *others):
        """Nodes `near` and `far`, which has room for 100 bundles; `near` sends what is for others over that link, too."""
        port = self.lab.udp_ports(1)[0]
        self.lab.start_node(far, self.lab.write_node(far, [self.tcpcl(near, local=f"127.0.0.1:{port}"), *others], log=False,
                                                     extra="bundles: {count: 100}\n"))
        self.lab.start_node(near, self.lab.write_node(near, [self.tcpcl(far, remote=f"127.0.0.1:{port}")], log=False,
                                                      extra=f"routes: [{{to: '*', via: to-{far}}}]\n"))
        wait_for(lambda: self.link(near)["up"])

    def agent(self, number):
        return self.lab.control(number, "counters")["agent"]

    def log(self, number):
        with open(self.lab.path(f"node{number}.log"), encoding="utf-8") as f:
            return f.read()

    def flood(self, number, destination, count, begin=0):
        tx = self.client(number, f"ipn:{number}.5")
        for i in range(begin, count):
            self.assertEqual(tx.request(destination, b"%d" % i)[0], aap2.SUCCESS)

    def take(self, rx, got, pause=PAUSE):
        try:
            while len(got) < TAKEN:
                got.append(rx.delivery()[1])
                time.sleep(pause)
        except (EOFError, OSError, ValueError):
            pass

    def test_stream_stops_or_refuses(self):
        ports = self.lab.udp_ports(2)
        self.two(1, 2)
        self.two(3, 4, {**self.lab.link(9, *ports, rto="100ms"), "state": "down"})
        got, slow = [], self.client(2, "ipn:2.80", subscribe=True)
        taker = threading.Thread(target=self.take, args=(slow, got), daemon=True)
        taker.start()
        self.flood(1, "ipn:2.80", 1)  # what has taken nothing yet counts as idle beside a burst
        wait_for(lambda: len(got) == 1)
        began = time.monotonic()
        self.flood(3, "ipn:9.1", WAITING)    # for a queue that does not move
        self.flood(1, "ipn:2.80", TAKEN, 1)  # for one that does

        # Both stop at first.
        wait_for(lambda: self.link(2)["held"] > 0 and self.link(4)["held"] > 0)
        wait_for(lambda: "has stopped reading for" in self.log(2) and "has stopped reading for" in self.log(4), 60)
        self.assertRegex(self.log(2), r"link to-1 has stopped reading for [0-9.]+ of [0-9.]+ s: there is no room for bundles of ipn:1.0 "
                                      r"\(bundles.endpoint: \d+ of \d+ bundles for ipn:2.80\), which wait there")
        self.assertRegex(self.log(4), r"link to-3 has stopped reading for [0-9.]+ of [0-9.]+ s: there is no room for bundles of ipn:3.0 "
                                      r"\(bundles.source: \d+ of \d+ bundles of source ipn:3.5")

        # The one that moves takes all, nothing is refused, and its order stays.
        taker.join(120)
        self.assertEqual(got, [b"%d" % i for i in range(TAKEN)])
        self.assertEqual((self.agent(2)["refused"], self.link(1)["failed"]), ({}, 0))

        # The other one refuses: what node 3 brings for others is not behind it any more.
        wait_for(lambda: self.agent(4)["refused"])
        self.assertGreater(time.monotonic() - began, YOUNG - 1)
        self.assertEqual(list(self.agent(4)["refused"]), ["the share of its peer, source or idle endpoint in the node's limits is used up"])
        wait_for(lambda: self.link(4)["held"] == 0)
        rx = self.client(4, "ipn:4.7", subscribe=True)
        self.flood(3, "ipn:4.7", 1)
        self.assertEqual(rx.delivery()[1], b"0")
        here = [self.lab.control(n, "status")["bundles"] for n in (3, 4)]
        self.assertEqual(sum(here), WAITING)  # its sender has what node 4 has not
        self.assertGreater(min(here), 0)
        wait_for(lambda: re.search(r"link to-1 reads again after [0-9.]+ s", self.log(2)) and re.search(r"link to-3 reads again after [0-9.]+ s", self.log(4)))

    def test_traffic_that_begins_behind_a_stop(self):
        """It waits for what the sender's session has under way, not for all that the sender has queued: 60 MB at 1 MB/s are 60 s."""
        self.two(1, 2)
        got, slow, other = [], self.client(2, "ipn:2.80", subscribe=True), self.client(2, "ipn:2.7", subscribe=True)
        threading.Thread(target=self.take, args=(slow, got, 0.1), daemon=True).start()
        self.flood(1, "ipn:2.80", 1)
        wait_for(lambda: len(got) == 1)
        tx, next_one = self.client(1, "ipn:1.6"), self.client(1, "ipn:1.7")
        for _ in range(600):
            self.assertEqual(tx.request("ipn:2.80", bytes(100000))[0], aap2.SUCCESS)
        wait_for(lambda: self.link(2)["held"] > 0)
        self.assertLess(self.link(1)["in_flight_bytes"], FLIGHT)
        before = len(got)
        self.assertEqual(next_one.request("ipn:2.7", b"next")[0], aap2.SUCCESS)
        arrived = []
        threading.Thread(target=lambda: arrived.append((other.delivery()[1], len(got))), daemon=True).start()
        wait_for(lambda: arrived, 60)
        self.assertEqual(arrived[0][0], b"next")
        self.assertLess((arrived[0][1] - before) * 100000, FLIGHT)  # bundles that were received before it


if __name__ == "__main__":
    node_case.main("FullTest")
