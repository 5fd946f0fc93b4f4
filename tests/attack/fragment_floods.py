# SPDX-License-Identifier: Apache-2.0
"""Fragments that never make a bundle, or that make the node count again: other totals, lives of some ms, overlaps of one byte, nothing."""
import itertools
import os
import time

from attack import cpu_seconds, main
from bundle_wire import EPOCH, bundle
from tcpcl_wire import flood, segment

PEERS = 2
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
PIECES = 4000  # of one bundle: nearly as many as the node takes
BATCH = 64


def fragment(peer, bundle_number, offset, total, length=1, lifetime_ms=600000, created=None):
    return bundle((peer, 66), (2, 77), bundle_number, payload=b"x" * length, fragment=(offset, total), lifetime_ms=lifetime_ms, created=created)


def totals(peer, created):
    """One bundle's name, and each fragment says another total."""
    k = 0
    while True:
        yield fragment(peer, 0, k % 7, 1000 + k, created=created)
        k += 1


def expiring(peer, created):
    """As many fragments as a bundle may have, then such as end after some ms: then what is here is counted again."""
    for k in range(PIECES):
        yield fragment(peer, 1, 2 * k, 1000000, created=created)
    k = 0
    while True:
        age = int((time.time() - EPOCH) * 1000) - created
        yield fragment(peer, 1, 2 * PIECES + 2 * (k % 100000), 1000000, created=created, lifetime_ms=age + 15)
        k += 1


def falling(peer, created):
    """Each a byte before the last one, with a gap, of bundle after bundle."""
    k = 0
    while True:
        yield fragment(peer, 10 + k // PIECES, 2 * (PIECES - k % PIECES), 1000000, created=created)
        k += 1


def overlapping(peer, created):
    """Each brings one byte more than the last one, and then the bundle is whole."""
    k = 0
    while True:
        at = k % 1000
        yield fragment(peer, 10 + k // 1000, 0, 1000, length=at + 1, created=created)
        k += 1


def impossible(peer, created):
    """Empty, beyond the total, and totals of 2^64-1."""
    k = 0
    while True:
        for offset, total, length in ((0, 100, 0), (100, 100, 1), (0, 2**64 - 1, 1), (2**64 - 1, 2**64 - 1, 1), (2**64 - 2, 2**64 - 1, 1), (5, 3, 1), (0, 0, 0)):
            yield fragment(peer, k, offset, total, length, created=created)
            k += 1


KINDS = {"other totals": totals, "lives of 15 ms": expiring, "falling offsets": falling, "one byte more": overlapping, "impossible": impossible}


def run(scene, only):
    """Two neighbours over TCPCL send such fragments as fast as node 2 takes them; node 3's goodput to it is measured."""
    for number, (name, make) in enumerate(KINDS.items()):
        if only not in (-1, number):
            continue
        p3, p2, tcp = scene.ports(3)
        scene.node(3, [scene.link(2, p3, p2, **KEYS)])
        open_to_all = {"name": "in", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}", "tls": "off", "peers": 8}
        node = scene.node(2, [scene.link(3, p2, p3, **KEYS), open_to_all])
        scene.receiver(2)

        def attacker(peer, make=make, tcp=tcp):
            def go(until):
                os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
                pieces = enumerate(make(peer, int((time.time() - EPOCH) * 1000)))
                flood(tcp, until, lambda: b"".join(segment(k, piece) for k, piece in itertools.islice(pieces, BATCH)),
                      source=f"127.0.0.{peer}", name=f"ipn:{peer}.0")
            return go

        before = scene.goodput(3, 2)
        used, already, began = cpu_seconds(node.pid), scene.control(2, "counters")["agent"]["offered"], time.monotonic()
        with scene.attack(*[attacker(peer) for peer in range(9, 9 + PEERS)], settle=3.0):
            during = scene.goodput(3, 2)
            load = (cpu_seconds(node.pid) - used) / (time.monotonic() - began)
        agent = scene.control(2, "counters")["agent"]
        after = scene.recovery(lambda: scene.goodput(3, 2), before, name)
        scene.figure(name, {"before": before, "during": during, "after": after, "load of node 2": round(load, 2), "offered": agent["offered"] - already,
                            "refused": agent["refused"]})
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", 0.4)
        scene.bound(f"fragments of the flood, {name}", agent["offered"] - already, ">=", 2000)
        scene.bound(f"RSS, MiB, {name}", scene.rss_peak(node), "<=", 1024 + 64)
        for n in (2, 3):
            scene.end(n)


if __name__ == "__main__":
    main(run, only=-1)
