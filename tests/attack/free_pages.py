# SPDX-License-Identifier: Apache-2.0
"""A neighbour leaves short bundles, every second of which ends: the store's free pages do not lie side by side. Honest bundles still move."""
import tempfile
import time

from attack import main
from bundle_wire import Sender, bundle
from memory_scene import MemoryScene

COUNT, SIZE = 160000, 3000  # with its row, such a bundle fills a page of the store
SHORT_MS, LONG_MS = 60000, 600000  # lifetimes
KEPT = 0.4


def run(scene):
    """Node 4 leaves bundles for node 5, which does not answer, at node 2; node 1 sends to an application of node 2."""
    store = tempfile.TemporaryDirectory(dir="/dev/shm")  # pylint: disable=consider-using-with  # not on a disk: its speed is not in question
    memory = MemoryScene(scene, {"rate": "200Mbit/s", "sessions": 10, "rto": "100ms"}, store=f"{{path: {store.name}/store2, durability: sync, limit: 2GiB}}")

    def fill(until):
        s = Sender(memory.entry, 4)
        for number in range(COUNT):
            s.send(bundle((4, 66), (5, 77), number, payload=bytes(SIZE), lifetime_ms=LONG_MS if number % 2 else SHORT_MS))
        while time.monotonic() < until:
            time.sleep(0.2)

    def held():
        return scene.control(2, "counters")["agent"]["held"]

    before = memory.goodput()
    most, until = 0, time.monotonic() + 180
    with scene.attack(fill, settle=0):
        while time.monotonic() < until and (most < 0.9 * COUNT or held() > 0.52 * most):
            most = max(most, held())
            time.sleep(0.2)
        left = held()
        during = memory.goodput()
    scene.took_place("bundles in the store", most, 0.9 * COUNT)
    scene.bound("bundles left, of these", round(left / max(most, 1), 3), "<=", 0.6)
    scene.figure("goodput, Mbit/s", {"before": before, "between free pages": during})
    scene.bound("goodput kept", round(during / before, 4), ">=", KEPT)
    scene.end(2)
    store.cleanup()
    scene.bound("anonymous memory, MiB", scene.anonymous_peak(memory.victim), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
