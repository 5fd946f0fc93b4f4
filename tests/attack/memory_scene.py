# SPDX-License-Identifier: Apache-2.0
"""Nodes for attacks on memory: node 4 sends bundles for node 5 to node 2, whose LTP link to node 5 gets no answers; node 1 sends to an application of
node 2."""
import time

from bundle_wire import Sender, bundle


class MemoryScene:
    def __init__(self, scene, keys, store, extra=""):
        """keys: of the link between nodes 2 and 5; store, extra: of node 2's configuration."""
        tcp, self.entry, l2, l5 = scene.ports(4)
        tcpcl = {"adapter": "tcpcl", "tls": "off"}
        self.scene, self.back = scene, scene.link(2, l5, l2, **keys)
        scene.node(1, [{**tcpcl, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{tcp}"}])
        self.victim = scene.node(2, [{**tcpcl, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}"},
                                     {**tcpcl, "name": "from-4", "peer": "ipn:4.0", "local": f"127.0.0.1:{self.entry}"},
                                     scene.link(5, l2, l5, **keys)], store=store, extra=extra)
        scene.receiver(2)

    def node_5(self):
        return self.scene.node(5, [self.back])

    def goodput(self):
        return max(self.scene.goodput(1, 2, payload="50kB", window=20) for _ in range(2))  # the machine's other work costs one of them

    def fill(self, count, size, enough=lambda: False):
        """An attacker who sends so many bundles, and stays connected until it is enough."""
        def go(until):
            s = Sender(self.entry, 4)
            for number in range(count):
                s.send(bundle((4, 66), (5, 77), number, payload=bytes(size), lifetime_ms=600000))
            while time.monotonic() < until and not enough():
                time.sleep(0.2)
        return go
