# SPDX-License-Identifier: Apache-2.0
"""A neighbour with rules floods what it may not bring: expedited bundles, bundles in other nodes' names, more bundles than its rate."""
import time

from attack import main
from bundle_wire import Sender, block, bundle

EXPEDITED = block(193, 2, b"\x84\x00\x02\x00\x00", flags=1)  # ION's priority block
SLOW = {"rate": "20Mbit/s", "sessions": 16, "rto": "100ms"}
RULES = "rules:\n  - {peer: ipn:4.0, way: in, from: 'ipn:4.*', rate: 20, burst: 20}\n"
FLOODS = {"expedited": {"source": (4, 66), "blocks": EXPEDITED}, "other names": {"source": (1, 66)}, "beyond its rate": {"source": (4, 66)}}


def flood(port, keys):
    def run_flood(until):
        s, number = Sender(port, 4), 0
        while time.monotonic() < until:
            s.send(bundle(keys["source"], (3, 77), number, payload=bytes(10000), blocks=keys.get("blocks", b""), lifetime_ms=15000))
            number += 1
    return run_flood


def run(scene):
    """Nodes 1 and 4 send through node 2 to node 3, over a slow link with strict priorities; node 2 has rules for node 4."""
    r2, r3, tcp, entry = scene.ports(4)
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    scene.node(1, [{**tcpcl, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{tcp}"}], extra="routes:\n  - {to: 'ipn:3.*', via: to-2}\n")
    node = scene.node(2, [{**tcpcl, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}"},
                          {**tcpcl, "name": "from-4", "peer": "ipn:4.0", "local": f"127.0.0.1:{entry}"},
                          scene.link(3, r2, r3, queues="strict", **SLOW)], extra=RULES)
    scene.node(3, [scene.link(2, r3, r2, **SLOW)], extra="routes:\n  - {to: 'ipn:1.*', via: to-2}\n")
    scene.receiver(3)

    def goodput():
        return scene.goodput(1, 3, payload="20kB", window=16)

    before = goodput()
    refused = {}
    for (name, keys), reason in zip(FLOODS.items(), ("priority", "source", "rate")):
        with scene.attack(flood(entry, keys)):
            during = goodput()
        refused[name] = scene.control(2, "rules")["counters"]["in"][reason]
        after = scene.recovery(goodput, before, name)
        scene.figure(name, {"before": before, "during": during, "after": after, "refused": refused[name]})
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", 0.4)
        scene.bound(f"bundles refused, {name}", refused[name], ">=", 100)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
