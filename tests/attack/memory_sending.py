# SPDX-License-Identifier: Apache-2.0
"""A neighbour acknowledges none of the long bundles that its link has in transmission: memory stays within bundles.total, and others keep their goodput."""
import signal
import time

from attack import main
from memory_scene import MemoryScene

TOTAL = 256  # MiB: bundles.total
SIZE, COUNT, SESSIONS = 8000000, 110, 120
KEPT = 0.4


def run(scene):
    """Node 4 sends bundles of 8 MB for node 5, which has stopped, to node 2: its LTP link may have all of them in transmission. Node 1 sends to an application of node 2."""
    memory = MemoryScene(scene, {"rate": "200Mbit/s", "sessions": SESSIONS, "rto": "10s"},
                         store=f"{{path: {scene.lab.path('store2')}, durability: async}}", extra=f"bundles: {{total: {TOTAL}MiB}}\n")
    stopped = memory.node_5()
    before = memory.goodput()
    stopped.send_signal(signal.SIGSTOP)
    with scene.attack(memory.fill(COUNT, SIZE), settle=0):
        until, status, sending = time.monotonic() + 60, {"bytes": 0}, 0
        while status["bytes"] < COUNT * SIZE * 0.7 and time.monotonic() < until:
            time.sleep(0.2)
            status = scene.control(2, "status")
            sending = max(sending, status["sending_bytes"] / 2**20)  # before sessions fail
        during = memory.goodput()
    scene.figure("node 2", {"before": before, "during": during, **status})
    scene.took_place("MB of bundles", round(status["bytes"] / 1e6), 2 * TOTAL)
    scene.took_place("MiB in transmission", round(sending), TOTAL // 8)
    scene.bound("MiB in transmission", round(sending, 1), "<=", TOTAL / 2)
    scene.bound("anonymous memory, MiB", scene.anonymous_peak(memory.victim), "<=", TOTAL + 64)
    scene.bound("goodput kept", round(during / before, 4), ">=", KEPT)
    stopped.send_signal(signal.SIGCONT)
    until = time.monotonic() + 60
    while scene.control(2, "status")["bytes"] > (COUNT - 1) * SIZE and time.monotonic() < until:
        time.sleep(0.5)
    scene.bound("MB of bundles once the neighbour acknowledges again", round(scene.control(2, "status")["bytes"] / 1e6), "<=", (COUNT - 1) * SIZE // 10**6)


if __name__ == "__main__":
    main(run)
