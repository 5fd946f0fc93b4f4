# SPDX-License-Identifier: Apache-2.0
"""Applications with one to sixteen connections send bundles of 10 bytes to a node whose store is none, async and sync."""
import os

from attack import main
from app_wire import OTHER_USER, flooder, small_bundles

OCTETS = 10
LIFETIME_MS = 3000  # they do not fill the node: what its user may hold is another attack (app_flood.py)
DURABILITY = ("none", "async", "sync")
CASES = [(durability, connections, user) for durability in DURABILITY for connections, user in ((1, None), (4, None), (16, None), (16, OTHER_USER))]
KEYS = {"rate": "40Mbit/s", "sessions": 20, "rto": "100ms"}


def run(scene, only):
    """They flood a link as fast as the node takes it; the goodput of another application over the same link is measured."""
    os.chmod(scene.lab.sockets, 0o711)  # for the other user
    for number, (durability, connections, user) in enumerate(CASES):
        if only not in (-1, number):
            continue
        here, there = 2 * number + 1, 2 * number + 2
        p1, p2 = scene.ports(2)
        store = f"{{path: {scene.lab.path(f'store{here}')}, durability: {durability}, limit: 2GiB}}"
        node = scene.node(here, [scene.link(there, p1, p2, **KEYS)], store=store, extra="socket_mode: '0666'\n")
        scene.node(there, [scene.link(here, p2, p1, **KEYS)])
        scene.receiver(there)
        flood = flooder(scene.lab.socket(here), small_bundles(f"ipn:{there}.77", OCTETS, LIFETIME_MS), connections, user=user)
        name = f"store {durability}, {connections} connections of {'the same' if user is None else 'another'} user"

        def goodput(here=here, there=there):
            return scene.goodput(here, there, payload="20kB", window=16)

        before = goodput()
        already = scene.control(here, "counters")["agent"]["offered"]
        with scene.attack(flood, settle=3.0):
            during = goodput()
        scene.took_place(f"bundles, {name}", scene.control(here, "counters")["agent"]["offered"] - already, 1000)
        after = scene.recovery(goodput, before, name)
        scene.figure(name, {"before": before, "during": during, "after": after, "held": scene.control(here, "counters")["agent"]["held"]})
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", 0.4)
        scene.bound(f"RSS, MiB, {name}", scene.rss_peak(node), "<=", 1024 + 64)
        scene.end(here)
        scene.end(there)


if __name__ == "__main__":
    main(run, only=-1)
