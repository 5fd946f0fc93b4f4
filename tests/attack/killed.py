# SPDX-License-Identifier: Apache-2.0
"""A node with a durable store is killed and started again amid a flood of bundles that nobody fetches, and of fragments that never become any."""
import itertools
import os
import time

from attack import main
from bundle_wire import EPOCH, REPORTS, bundle
from kill_scene import PEERS, KillScene
from tcpcl_wire import flood, segment

BATCH = 64
ANONYMOUS, PROGRAM = 256 + 64, 16  # MiB: bundles.total and 64; pages of the program's files


def run(scene):
    """Two neighbours over TCPCL fill node 2 with bundles and fragments, while it is killed four times; node 3's goodput to it is measured after each start."""
    k = KillScene(scene, "", "bundles: {total: 256MiB, status_reports: true}\n")
    held = []

    def attacker(peer):
        def go(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
            created, number = int((time.time() - EPOCH) * 1000), itertools.count(1)

            def message(n):
                piece = (n % 1000, 2000) if n % 2 else None
                return segment(n, bundle((peer, 66), (2, 77), n // 2000 if piece else n, payload=b"x" * 50, fragment=piece,
                                         flags=REPORTS if n % 5 == 0 else 0, created=created))
            flood(k.port, until, lambda: b"".join(message(n) for n in itertools.islice(number, BATCH)), source=f"127.0.0.{peer}", name=f"ipn:{peer}.0")
        return go

    def count_held():
        time.sleep(1)
        held.append(scene.control(2, "counters")["agent"]["held"])

    k.kill([attacker(peer) for peer in range(9, 9 + PEERS)], 3.0, count_held)
    scene.figure("bundles of the killed nodes", held)
    scene.bound("bundles of the last one that was killed", held[-1], ">=", 2000)
    # Promised (ARCHITECTURE.md, Limits) is the anonymous memory. Resident are also pages of files, which the kernel takes back when memory is short: of
    # the mapped store, as many as it has, and some 7 MiB of the program and its libraries.
    store = k.store_mib()
    scene.figure("store file, MiB", round(store, 1))
    scene.bound("anonymous memory of each node, MiB", max(k.memory), "<=", ANONYMOUS)
    scene.bound("RSS, MiB", scene.rss_peak(k.node), "<=", round(ANONYMOUS + store + PROGRAM, 1))


if __name__ == "__main__":
    main(run)
