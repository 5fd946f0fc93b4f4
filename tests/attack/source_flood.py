# SPDX-License-Identifier: Apache-2.0
"""Floods through the neighbour that an honest source's bundles come through, too: of one source, and of thousands of forged ones."""
import time

from attack import main
from bundle_wire import Sender, bundle

LIMIT = 200   # MiB of the node
FORGED = 5000  # sources
OCTETS = 1000
FLOOD = 5000  # bundles of one flood, at least
SETTLE = 8.0


def run(scene):
    """Node 1 relays floods of node 4 beside its own bundles to node 2, whose link to node 3 is the bottleneck."""
    r2, r3, tcp, entry = scene.ports(4)
    slow = {"rate": "20Mbit/s", "sessions": 16, "rto": "100ms"}
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    scene.node(1, [{**tcpcl, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{tcp}"},
                   {**tcpcl, "name": "from-4", "peer": "ipn:4.0", "local": f"127.0.0.1:{entry}"}],
               store=f"{{durability: none, limit: {LIMIT}MiB}}", extra="routes:\n  - {to: 'ipn:3.*', via: to-2}\n")
    node = scene.node(2, [{**tcpcl, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}"}, scene.link(3, r2, r3, **slow)],
                      store=f"{{durability: none, limit: {LIMIT}MiB}}")
    scene.node(3, [scene.link(2, r3, r2, **slow)], extra="routes:\n  - {to: 'ipn:1.*', via: to-2}\n")
    scene.receiver(3)

    def flood(sources):
        def run_flood(until):
            s = Sender(entry, 4)
            while time.monotonic() < until:
                number = s.transfers
                s.send(bundle((10000 + number % sources, 66), (3, 77), number, payload=bytes(OCTETS), lifetime_ms=15000))
        return run_flood

    def offered():
        """Bundles of node 4 that came to node 1, whatever it did with them."""
        link = next(row for row in scene.control(1, "links")["links"] if row["name"] == "from-4")
        return link["bundles_received"]

    def goodput():
        return scene.goodput(1, 3, payload="20kB", window=16)

    def wait_until_gone():
        until = time.monotonic() + 60
        while any(scene.control(n, "counters")["agent"]["held"] > 100 for n in (1, 2, 3)) and time.monotonic() < until:
            time.sleep(0.5)

    goodput()  # the source is known
    for name, sources in (("one source", 1), ("forged sources", FORGED)):
        wait_until_gone()
        before = goodput()
        already = offered()
        with scene.attack(flood(sources), settle=SETTLE, least={"sent": FLOOD * OCTETS}, name=name):
            during = goodput()
            came = offered() - already
        right_after = goodput()
        held = scene.control(2, "counters")["agent"]
        scene.figure(name, {"before": before, "during": during, "right after": right_after, "held": held["held"], "refused": held["refused"]})
        scene.took_place(f"bundles of node 4 at node 1, {name}", came, FLOOD)
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", 0.4)
        wait_until_gone()
        scene.recovery(goodput, before, name)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", LIMIT + 64)


if __name__ == "__main__":
    main(run)
