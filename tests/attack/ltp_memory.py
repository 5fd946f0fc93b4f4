# SPDX-License-Identifier: Apache-2.0
"""LTP blocks that are never finished, from a configured peer's own address: forged, or by a broken peer."""
import os
import socket
import time

import ltp_wire
from attack import main

TOTAL_MIB = 96
SESSIONS, SEGMENT, SEGMENTS = 900, 60000, 18  # 1 MiB each, ten times what the node has


def run(scene):
    """A sender at the peer's address, another port, sends most of 900 blocks of 1 MiB, then single bytes, so that no session is ever silent."""
    p1, p2 = scene.ports(2)
    keys = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
    store = scene.lab.path("store")
    scene.node(1, [scene.link(2, p1, p2, **keys)])
    victim = scene.node(2, [scene.link(1, p2, p1, **keys)], store=f"{{path: {store}, durability: async}}",
                        extra=f"bundles: {{total: {TOTAL_MIB}MiB}}\n")
    scene.receiver(2)

    def fill(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            data, turn = bytes(SEGMENT), 0
            while time.monotonic() < until:
                offset = min(turn, SEGMENTS) * SEGMENT + max(0, turn - SEGMENTS)
                for i in range(SESSIONS):
                    s.sendto(ltp_wire.red_data(1, (1 << 40) + i, data if turn < SEGMENTS else b"x", offset=offset), ("127.0.0.1", p2))
                    if i % 4 == 0:
                        time.sleep(0.001)
                turn += 1

    seen = []

    def measure():
        kept = scene.goodput(1, 2)
        seen.append(scene.control(2, "status")["arriving_bytes"] / 2**20)
        return kept

    phases = scene.phases(measure, fill, settle=10)
    scene.figure("arriving, MiB", [round(mib, 1) for mib in seen])
    scene.bound("MiB of unfinished blocks that status shows", round(seen[1], 1), ">=", TOTAL_MIB / 4)
    scene.bound("… and at most", round(seen[1], 1), "<=", TOTAL_MIB)
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.3)
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", TOTAL_MIB + 64)


if __name__ == "__main__":
    main(run)
