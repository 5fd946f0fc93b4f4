# SPDX-License-Identifier: Apache-2.0
"""Bundles of 100 MB for a link that gets no answers: memory stays within bundles.total while the store writes them, and honest bundles still move."""
import time

from attack import main
from memory_scene import MemoryScene

TOTAL = 200  # MiB: bundles.total; two of them fit
SIZE, COUNT = 100000000, 8
KEPT = 0.4


def run(scene):
    """Node 4 sends them for node 5, which is away, to node 2. Node 1 sends to an application of node 2."""
    memory = MemoryScene(scene, {"rate": "2Mbit/s", "sessions": 4, "rto": "2s"}, store=f"{{path: {scene.lab.path('store2')}, durability: async}}",
                         extra=f"bundles: {{total: {TOTAL}MiB}}\n")

    def stored():
        return scene.control(2, "status")["bytes"] >= COUNT * SIZE

    before = memory.goodput()
    with scene.attack(memory.fill(COUNT, SIZE, stored), settle=2):
        during = memory.goodput()
        until = time.monotonic() + 120
        while not stored() and time.monotonic() < until:
            time.sleep(0.2)
        status = scene.control(2, "status")
    scene.figure("node 2", {"before": before, "during": during, **status})
    scene.took_place("MB of bundles", round(status["bytes"] / 1e6), COUNT * SIZE // 1000000)
    scene.bound("anonymous memory, MiB", scene.anonymous_peak(memory.victim), "<=", TOTAL + 64)
    scene.bound("goodput kept", round(during / before, 4), ">=", KEPT)
    scene.recovery(memory.goodput, before, "the bundles are stored")


if __name__ == "__main__":
    main(run)
