# SPDX-License-Identifier: Apache-2.0
"""Tiny bundles, each for another endpoint of the node: nobody registers any of them."""
import time

from attack import anonymous_mib, main
from bundle_wire import Sender, bundle

TOTAL_MIB = 96
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
FIRST = 1 << 40  # service number


def run(scene):
    """Two peers fill node 2 with such bundles, over TCPCL; node 3's goodput to it, and its anonymous memory, are measured."""
    p3, p2, tcp = scene.ports(3)
    scene.node(3, [scene.link(2, p3, p2, **KEYS)])
    open_to_all = {"name": "in", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}", "tls": "off", "peers": 8}
    node = scene.node(2, [scene.link(3, p2, p3, **KEYS), open_to_all], store=f"{{path: {scene.lab.path('store')}, durability: async}}",
                      extra=f"bundles: {{total: {TOTAL_MIB}MiB}}\n")
    scene.receiver(2)

    def fill(peer):
        def go(until):
            s, k = None, 0
            while time.monotonic() < until:
                try:
                    s = s or Sender(tcp, peer)
                    k += 1
                    if not s.send(bundle((peer, 66), (2, FIRST + 16 * k + peer), k)):
                        s = None
                except OSError:
                    s = None
                    time.sleep(0.05)
        return go

    memory = []

    def measure():
        kept = scene.goodput(3, 2)
        memory.append(anonymous_mib(node.pid))
        return kept

    phases = scene.phases(measure, fill(1), fill(9), settle=12)
    scene.bound("bundles that node 2 holds", scene.control(2, "counters")["agent"]["held"], ">=", 20000)
    scene.bound("anonymous memory, MiB", round(max(memory)), "<=", TOTAL_MIB + 64)
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.4)


if __name__ == "__main__":
    main(run)
