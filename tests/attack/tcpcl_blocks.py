# SPDX-License-Identifier: Apache-2.0
"""Bundles of some thousand extension blocks in some kB: each costs the node too little to be noticed, and all of them its time."""
import os
import time

from attack import cpu_seconds, main
from bundle_wire import block, bundle
from tcpcl_wire import flood, segment

SHAPES = {"160 kB, 20,000 blocks": 20000, "25 kB, 3,500 blocks": 3500, "7 kB, 1,000 blocks": 1000}
COUNT = 40  # bundles that an attacker sends again and again: a duplicate costs as much
PEERS = 2


def bundles(peer, blocks):
    rest = b"".join(block(20, blocks + 1 - i, b"") for i in range(blocks))
    return b"".join(segment(k, bundle((peer, 66), (2, 7), k, blocks=rest, lifetime_ms=1000)) for k in range(COUNT))


def run(scene, blocks, payload):
    """Two neighbours over TCPCL send bundles of many small blocks as fast as node 2 reads; the goodput of node 1, a third one, is measured."""
    (tcp,) = scene.ports(1)
    scene.node(1, [{"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "remote": f"127.0.0.1:{tcp}"}])
    node = scene.node(2, [{"name": "to-1", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}", "tls": "off", "peers": 8}])
    scene.receiver(2)

    def received():
        return sum(row["received"] for row in scene.control(2, "links")["links"] if row["name"] != "to-1")

    scene.goodput(1, 2)  # the link is up, memory is there
    for name, count in SHAPES.items() if blocks == 0 else ((f"{blocks} blocks", blocks),):
        floods = {peer: bundles(peer, count) for peer in range(9, 9 + PEERS)}

        def attacker(peer, data):
            def go(until):
                os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
                flood(tcp, until, data, source=f"127.0.0.{peer}", name=f"ipn:{peer}.0")
            return go

        for size in ("100kB", "1kB") if payload == 0 else (f"{payload}B",):
            window = 16 if size != "1kB" else 256

            def goodput(size=size, window=window):
                return scene.goodput(1, 2, payload=size, window=window)

            before = goodput()
            with scene.attack(*[attacker(*item) for item in floods.items()]):
                used, already, began = cpu_seconds(node.pid), received(), time.monotonic()
                during = goodput()
                load = (cpu_seconds(node.pid) - used) / (time.monotonic() - began)
                theirs = (received() - already) / (time.monotonic() - began)
                scene.took_place(f"bundles, {name}, honest {size}", received() - already, COUNT)
            after = scene.recovery(goodput, before, f"{name}, honest {size}")
            scene.figure(f"{name}, honest {size}", {"before": before, "during": during, "after": after, "load of node 2": round(load, 2),
                                                    "bundles of theirs a second": round(theirs), "bytes of one": len(floods[9]) // COUNT})
            scene.bound(f"goodput kept, {name}, honest {size}", round(during / min(before, after), 4), ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run, blocks=0, payload=0)
