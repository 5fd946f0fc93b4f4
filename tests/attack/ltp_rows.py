# SPDX-License-Identifier: Apache-2.0
"""LTP blocks of tens of thousands of small bundles, one behind the other, as ION sends them: each is little work, and one block all of it at once."""
import os
import socket

from attack import main, paced
from bundle_wire import bundle
from datagram_blocks import ODD, segments

BUNDLES, BLOCKS = 16000, 20
A_SECOND = 5
DELAY_MS = 40  # p99 of the echo; as one piece of work such a block took the node 88 ms
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}


def run(scene):
    """A configured peer sends five blocks of 16,000 bundles a second; the goodput of another one, and the delay of the node's echo, are measured."""
    p2, p3, p9 = scene.ports(3)
    scene.node(3, [scene.link(2, p3, p2, **KEYS)])
    node = scene.node(2, [scene.link(3, p2, p3, **KEYS), scene.link(ODD, p2, p9, **KEYS)])
    scene.receiver(2)
    blocks = [b"".join(bundle((ODD, 66), (2, 7), BUNDLES * k + i, lifetime_ms=600000) for i in range(BUNDLES)) for k in range(BLOCKS)]

    def flood(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", p9))
            for k in paced(until, A_SECOND):
                for out in segments(1 + k, blocks[k % BLOCKS]):
                    s.sendto(out, ("127.0.0.1", p2))

    def delay():
        return min(scene.echo(3, 2, count=150, interval="5ms")["rtt_ms"]["p99"] for _ in range(3))

    before, calm = scene.goodput(3, 2), delay()
    already = scene.control(2, "counters")["agent"]["received"]
    with scene.attack(flood):
        during, slow = scene.goodput(3, 2), delay()
    received = scene.control(2, "counters")["agent"]["received"] - already
    after = scene.recovery(lambda: scene.goodput(3, 2), before)
    scene.figure("goodput", {"before": before, "during": during, "after": after})
    scene.figure("p99 ms", {"before": calm, "during": slow})
    scene.bound("goodput kept", round(during / before, 4), ">=", 0.4)
    scene.bound("p99 ms of the echo", slow, "<=", max(DELAY_MS, 3 * calm))
    scene.bound("bundles of the flood", received, ">=", 2 * BUNDLES)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
