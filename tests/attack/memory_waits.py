# SPDX-License-Identifier: Apache-2.0
"""A neighbour leaves more bundles behind a link without a peer than `bundles.memory` has room for, and goes: honest bundles still move."""
import tempfile
import time

from attack import main
from memory_scene import MemoryScene

MEMORY = 256  # MiB: the default of bundles.memory
ROUNDS = ((50000, 7000), (1000, 300000))  # bytes of a bundle, bundles: 1.2 times the memory each
KEPT = 0.8


def run(scene):
    """Node 4 leaves bundles for node 5, which does not answer, at node 2; node 1 sends to an application of node 2."""
    # Not on a disk: its speed, 400 or 1,200 Mbit/s of bundles beside other work, has nothing to do with the memory.
    store = tempfile.TemporaryDirectory(dir="/dev/shm")  # pylint: disable=consider-using-with
    memory = MemoryScene(scene, {"rate": "200Mbit/s", "sessions": 10, "rto": "100ms"}, store=f"{{path: {store.name}/store2, durability: sync, limit: 2GiB}}")

    def held():
        return scene.control(2, "counters")["agent"]

    for size, count in ROUNDS:
        name = f"{count} of {size} bytes"
        before = memory.goodput()

        def is_full(count=count):
            return held()["held"] >= 0.9 * count

        with scene.attack(memory.fill(count, size, is_full), settle=0):
            until = time.monotonic() + 90
            while not is_full() and time.monotonic() < until:
                time.sleep(0.2)
        state, queued = held(), scene.control(2, "status")["bytes"]
        during = memory.goodput()
        scene.figure(name, {"before": before, "during": during, "held": state["held"], "queued_bytes": queued})
        scene.bound(f"bundles that queue, of what memory has room for, {name}", round(queued / (MEMORY << 20), 3), ">=", 1.05)
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", KEPT)
        until = time.monotonic() + 60
        while held()["held"] > 100 and time.monotonic() < until:
            scene.control(2, "delete", "destination=ipn:5.*")  # 10,000 at once
        scene.recovery(memory.goodput, before, name)
    scene.end(2)
    store.cleanup()
    scene.bound("RSS, MiB", scene.rss_peak(memory.victim), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
