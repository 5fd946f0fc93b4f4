# SPDX-License-Identifier: Apache-2.0
"""A neighbour leaves more bundles behind a link without a peer than `bundles.memory` has room for, and goes: honest bundles still move."""
import tempfile
import time

from attack import main
from bundle_wire import Sender, bundle

MEMORY = 256  # MiB: the default of bundles.memory
ROUNDS = ((50000, 7000), (1000, 300000))  # bytes of a bundle, bundles: 1.2 times the memory each
KEPT = 0.8


def run(scene):
    """Node 4 leaves bundles for node 5, which does not answer, at node 2; node 1 sends to an application of node 2."""
    # Not on a disk: its speed, 400 or 1,200 Mbit/s of bundles beside other work, has nothing to do with the memory.
    store = tempfile.TemporaryDirectory(dir="/dev/shm")  # pylint: disable=consider-using-with
    tcp, entry, l2, l5 = scene.ports(4)
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    scene.node(1, [{**tcpcl, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{tcp}"}])
    victim = scene.node(2, [{**tcpcl, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}"},
                            {**tcpcl, "name": "from-4", "peer": "ipn:4.0", "local": f"127.0.0.1:{entry}"},
                            scene.link(5, l2, l5, rate="200Mbit/s", sessions=10, rto="100ms")], store=f"{{path: {store.name}/store2, durability: sync, limit: 2GiB}}")
    scene.receiver(2)

    def held():
        return scene.control(2, "counters")["agent"]

    def goodput():
        return max(scene.goodput(1, 2, payload="50kB", window=20) for _ in range(2))  # the machine's other work costs one of them

    for size, count in ROUNDS:
        name = f"{count} of {size} bytes"
        before = goodput()

        def fill(until, size=size, count=count):
            s = Sender(entry, 4)
            for number in range(count):
                s.send(bundle((4, 66), (5, 77), number, payload=bytes(size), lifetime_ms=600000))
            while time.monotonic() < until and held()["held"] < 0.9 * count:
                time.sleep(0.2)

        with scene.attack(fill, settle=0):
            until = time.monotonic() + 90
            while held()["held"] < 0.9 * count and time.monotonic() < until:
                time.sleep(0.2)
        state, queued = held(), scene.control(2, "status")["bytes"]
        during = goodput()
        scene.figure(name, {"before": before, "during": during, "held": state["held"], "queued_bytes": queued})
        scene.bound(f"bundles that queue, of what memory has room for, {name}", round(queued / (MEMORY << 20), 3), ">=", 1.05)
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", KEPT)
        until = time.monotonic() + 60
        while held()["held"] > 100 and time.monotonic() < until:
            scene.control(2, "delete", "destination=ipn:5.*")  # 10,000 at once
        scene.recovery(goodput, before, name)
    scene.end(2)
    store.cleanup()
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
