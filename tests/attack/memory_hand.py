# SPDX-License-Identifier: Apache-2.0
"""A link has more bundles in hand than `bundles.memory` has room for, and its peer acknowledges none: honest bundles still move."""
import signal
import time

from attack import main
from memory_scene import MemoryScene

MEMORY = 64  # MiB: bundles.memory
SIZE, COUNT, SESSIONS = 1000000, 150, 120
SHOWN = 64  # sessions of a link that helioctl lists at most
KEPT = 0.4


def run(scene):
    """Node 4 sends bundles for node 5, which has stopped, to node 2: its LTP link gives them to sessions. Node 1 sends to an application of node 2."""
    memory = MemoryScene(scene, {"rate": "2Mbit/s", "sessions": SESSIONS, "rto": "2s"},
                         store=f"{{path: {scene.lab.path('store2')}, durability: sync}}", extra=f"bundles: {{memory: {MEMORY}MiB}}\n")
    stopped = memory.node_5()

    def in_hand():
        return max(len(link["sessions"]) for link in scene.control(2, "links")["links"] if link["name"] == "to-5")

    before = memory.goodput()
    with scene.attack(memory.fill(COUNT, SIZE), settle=0):
        until = time.monotonic() + 60
        while in_hand() < SHOWN and time.monotonic() < until:
            time.sleep(0.2)
        stopped.send_signal(signal.SIGSTOP)
        time.sleep(1)
        sessions, during = in_hand(), memory.goodput()
        status = scene.control(2, "status")
        scene.figure("node 2", {"before": before, "during": during, "sessions": sessions, **status})
    stopped.send_signal(signal.SIGCONT)
    scene.took_place("open sessions of the link", sessions, SHOWN)
    scene.took_place("MiB of bundles", round(status["bytes"] / 2**20), 2 * MEMORY)
    scene.bound("goodput kept", round(during / before, 4), ">=", KEPT)


if __name__ == "__main__":
    main(run)
