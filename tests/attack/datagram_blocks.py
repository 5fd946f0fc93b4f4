# SPDX-License-Identifier: Apache-2.0
"""Bundles of some thousand extension blocks in datagrams: as LTP blocks, and by UDPCL. What costs a peer little to send costs the node its time."""
import os
import socket

from attack import cpu_seconds, main, paced
from bundle_wire import block, bundle
from ltp_wire import RED, RED_END_OF_BLOCK, data

PIECE = 50000    # octets of an LTP segment
KINDS = {"LTP, 20,000 blocks": ("ltp", 20000, 100), "LTP, 5,000 blocks": ("ltp", 5000, 400), "UDP, 5,000 blocks": ("udp", 5000, 400)}
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
ODD = 9
COUNT = 50  # bundles that are sent again and again: a duplicate costs as much


def segments(session, whole):
    """A red block as datagrams."""
    pieces = [(at, whole[at:at + PIECE]) for at in range(0, len(whole), PIECE)]
    return [data(RED if at + len(piece) < len(whole) else RED_END_OF_BLOCK, ODD, session, at, piece) for at, piece in pieces]


def run(scene, only):
    """A configured peer sends 100 to 400 such bundles a second; the goodput of another one over LTP is measured, on the same local address and on another."""
    for number, (name, (adapter, blocks, rate)) in enumerate(KINDS.items()):
        if only not in (-1, number):
            continue
        p2, p3, p4, p5, p9, q2, q9 = scene.ports(7)
        scene.node(3, [scene.link(2, p3, p2, **KEYS)])
        scene.node(4, [scene.link(2, p4, p5, **KEYS)])
        node = scene.node(2, [scene.link(3, p2, p3, **KEYS), scene.link(ODD, p2, p9, **KEYS), scene.link(4, p5, p4, **KEYS),
                              {"name": "udp", "adapter": "udp", "peer": "ipn:8.0", "local": f"127.0.0.1:{q2}", "remote": f"127.0.0.1:{q9}"}])
        scene.receiver(2)
        rest = b"".join(block(200, 100000 - i, b"\x01") for i in range(blocks))
        wholes = [bundle((ODD, 66), (2, 7), k, blocks=rest, lifetime_ms=1000) for k in range(COUNT)]

        def flood(until, adapter=adapter, rate=rate, wholes=wholes, p9=p9, p2=p2, q2=q2, q9=q9):
            os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.bind(("127.0.0.1", p9 if adapter == "ltp" else q9))
                for k in paced(until, rate):
                    for out in segments(1 + k, wholes[k % COUNT]) if adapter == "ltp" else (wholes[k % COUNT],):
                        s.sendto(out, ("127.0.0.1", p2 if adapter == "ltp" else q2))

        for honest, where in ((3, "same address"), (4, "another address")):
            before = scene.goodput(honest, 2)
            used, already = cpu_seconds(node.pid), scene.control(2, "counters")["agent"]["offered"]
            with scene.attack(flood):
                during = scene.goodput(honest, 2)
            scene.took_place(f"bundles, {name}, {where}", scene.control(2, "counters")["agent"]["offered"] - already, 100)
            after = scene.recovery(lambda honest=honest: scene.goodput(honest, 2), before, f"{name}, {where}")
            scene.figure(f"{name}, {where}", {"before": before, "during": during, "after": after, "processor time of node 2, s": round(cpu_seconds(node.pid) - used, 2),
                                              "rests": {row["name"]: row["rests"] for row in scene.control(2, "links")["links"]},
                                              "offered": scene.control(2, "counters")["agent"]["offered"] - already})
            scene.bound(f"goodput kept, {name}, {where}", round(during / before, 4), ">=", 0.4)
        scene.bound(f"RSS, MiB, {name}", scene.rss_peak(node), "<=", 1024 + 64)
        for n in (2, 3, 4):
            scene.end(n)


if __name__ == "__main__":
    main(run, only=-1)
