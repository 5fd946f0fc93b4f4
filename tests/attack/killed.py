# SPDX-License-Identifier: Apache-2.0
"""A node with a durable store is killed and started again amid a flood of bundles that nobody fetches, and of fragments that never become any."""
import itertools
import os
import time

from attack import main
from bundle_wire import EPOCH, REPORTS, bundle
from tcpcl_wire import flood, segment

KILLS = 4
PEERS = 2
BATCH = 64
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
ANONYMOUS, PROGRAM = 256 + 64, 16  # MiB: bundles.total and 64; pages of the program's files
START = 5.0  # seconds until a node serves that is started amid the flood


def run(scene):
    """Two neighbours over TCPCL fill node 2 with bundles and fragments, while it is killed four times; node 3's goodput to it is measured after each start."""
    p3, p2, tcp = scene.ports(3)
    scene.node(3, [scene.link(2, p3, p2, **KEYS)])
    links = [scene.link(3, p2, p3, **KEYS), {"name": "in", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}", "tls": "off", "peers": 8}]
    keys = {"store": f"{{path: {scene.lab.path('store')}, durability: async}}", "extra": "bundles: {total: 256MiB, status_reports: true}\n"}
    scene.node(2, links, **keys)
    scene.receiver(2)
    before = scene.goodput(3, 2)

    def attacker(peer):
        def go(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
            created, number = int((time.time() - EPOCH) * 1000), itertools.count(1)

            def message(k):
                piece = (k % 1000, 2000) if k % 2 else None
                return segment(k, bundle((peer, 66), (2, 77), k // 2000 if piece else k, payload=b"x" * 50, fragment=piece,
                                         flags=REPORTS if k % 5 == 0 else 0, created=created))
            flood(tcp, until, lambda: b"".join(message(k) for k in itertools.islice(number, BATCH)), source=f"127.0.0.{peer}", name=f"ipn:{peer}.0")
        return go

    took, kept, held, memory = [], [], [], []
    with scene.attack(*[attacker(peer) for peer in range(9, 9 + PEERS)], settle=3.0):
        for _ in range(KILLS):
            time.sleep(1)
            held.append(scene.control(2, "counters")["agent"]["held"])
            scene.nodes[2].kill()
            scene.end(2)
            began = time.monotonic()
            node = scene.node(2, links, **keys)
            took.append(round(time.monotonic() - began, 2))
            scene.receiver(2)
            kept.append(scene.goodput(3, 2))
            memory.append(scene.anonymous_peak(node))
    after = scene.recovery(lambda: scene.goodput(3, 2), before)
    scene.figure("Mbit/s", {"before": before, "during": kept, "after": after})
    scene.figure("bundles of the killed nodes", held)
    scene.figure("seconds to start", took)
    scene.bound("bundles of the last one that was killed", held[-1], ">=", 2000)
    scene.bound("seconds to start, most", max(took), "<=", START)
    scene.bound("goodput kept, least", round(min(kept) / before, 4), ">=", 0.4)
    # Promised (ARCHITECTURE.md, Limits) is the anonymous memory. Resident are also pages of files, which the kernel takes back when memory is short: of
    # the mapped store, as many as it has, and some 7 MiB of the program and its libraries.
    store = os.path.getsize(scene.lab.path("store/data.mdb")) / 2**20
    scene.figure("store file, MiB", round(store, 1))
    scene.bound("anonymous memory of each node, MiB", max(memory), "<=", ANONYMOUS)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", round(ANONYMOUS + store + PROGRAM, 1))


if __name__ == "__main__":
    main(run)
