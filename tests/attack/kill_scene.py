# SPDX-License-Identifier: Apache-2.0
"""A node with a durable store that is killed and started again amid a flood over TCPCL, beside an honest neighbour. Not an attack itself."""
import os
import time

KILLS, PEERS = 4, 2
START = 5.0  # seconds until a node serves that is started amid the flood
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}


class KillScene:
    """Node 3 sends to node 2, which attackers reach at the TCP port self.port; node 2 has these keys of its store, and these lines of its configuration."""

    def __init__(self, scene, store, extra, **goodput):
        self.scene, self.parameters = scene, goodput
        p3, p2, self.port = scene.ports(3)
        scene.node(3, [scene.link(2, p3, p2, **KEYS)])
        self.links = [scene.link(3, p2, p3, **KEYS),
                      {"name": "in", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{self.port}", "tls": "off", "peers": 8}]
        self.keys = {"store": f"{{path: {scene.lab.path('store')}, durability: async{store}}}", "extra": extra}
        self.took, self.kept, self.memory = [], [], []
        self.node = self.start()
        self.before = self.goodput()

    def start(self):
        node = self.scene.node(2, self.links, **self.keys)
        self.started = time.monotonic()
        self.scene.receiver(2)
        return node

    def goodput(self):
        return self.scene.goodput(3, 2, **self.parameters)

    def store_mib(self):
        return os.path.getsize(self.scene.lab.path("store/data.mdb")) / 2**20

    def kill(self, attackers, settle, before_kill, after_kill=lambda: None):
        """The flood, and each kill with the goodput after it; then its figures and bounds."""
        scene = self.scene
        with scene.attack(*attackers, settle=settle):
            for _ in range(KILLS):
                before_kill()
                scene.nodes[2].kill()
                scene.end(2)
                began = time.monotonic()
                self.node = self.start()
                self.took.append(round(self.started - began, 2))
                self.kept.append(self.goodput())
                self.memory.append(scene.anonymous_peak(self.node))
                after_kill()
        after = scene.recovery(self.goodput, self.before)
        scene.figure("Mbit/s", {"before": self.before, "during": self.kept, "after": after})
        scene.figure("seconds to start", self.took)
        scene.bound("seconds to start, most", max(self.took), "<=", START)
        scene.bound("goodput kept, least", round(min(self.kept) / self.before, 4), ">=", 0.4)
