# SPDX-License-Identifier: Apache-2.0
"""Applications that take a bundle each and then stop reading, with a flood for each of them from the neighbour: another application's goodput."""
import itertools
import threading
import time

from attack import main
from aap2 import ADU, Client, framed

RATE = "40Mbit/s"
LIMIT = 64     # MiB of the node that is filled
SETTLE = 15.0  # seconds until it is
FIRST = 300    # the first service number of those that stop
PAYLOAD = 500
FIRST_TIMES = 8000, 2500, 800, 300, 100, 50  # messages of four bundles for one after the other, each up to its part; then for all in turn


def links(scene, adapter):
    p1, p2 = scene.ports(2)
    if adapter == "tcpcl":  # few are under way: the honest bundles do not wait behind the flood's on the link, but for room
        keys = {"adapter": "tcpcl", "tls": "off", "rate": RATE, "window": 64}
        return ({**keys, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{p2}"},
                {**keys, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{p2}"})
    keys = {"rate": RATE, "sessions": 20, "rto": "100ms"}
    return scene.link(2, p1, p2, **keys), scene.link(1, p2, p1, **keys)


def play(scene, adapter, count):
    near, far = links(scene, adapter)
    name = f"{adapter}, {count}"
    scene.node(1, [near], store="{durability: none, limit: 200MiB}")
    node = scene.node(2, [far], store=f"{{durability: none, limit: {LIMIT}MiB}}")
    scene.receiver(2)

    def flood(until):
        with Client(scene.lab.socket(1)) as c:
            c.configure("ipn:1.66")
            threading.Thread(target=lambda: [c.answer() for _ in iter(int, 1)], daemon=True).start()
            order = itertools.chain(*([i] * times for i, times in enumerate(FIRST_TIMES)), itertools.cycle(range(count)))
            for i in order:
                if time.monotonic() > until:
                    break
                c.send((framed([(ADU, [(2, f"ipn:2.{FIRST + i}"), (5, PAYLOAD), (100, 3600000)])]) + bytes(PAYLOAD)) * 4)
                time.sleep(0.0005)

    with Client(scene.lab.socket(1)) as c:
        c.configure("ipn:1.65")
        stopped = [Client(scene.lab.socket(2)) for _ in range(count)]
        for i, s in enumerate(stopped):
            s.configure(f"ipn:2.{FIRST + i}", subscribe=True)
            c.request(f"ipn:2.{FIRST + i}", b"one")
            s.delivery()
    phases = scene.phases(lambda: scene.goodput(1, 2, payload="20kB", window=32), flood, settle=SETTLE, name=name,
                          clear=lambda: scene.control(1, "delete", f"destination=ipn:2.[{FIRST}-{FIRST + count}]"))
    held = scene.control(2, "counters")["agent"]
    scene.figure(f"bundles of node 2, {name}", {"held": held["held"], "refused": held["refused"]})
    scene.bound(f"goodput kept, {name}", phases["during_ratio"], ">=", 0.4)
    scene.bound(f"refused to the floods, {name}", sum(held["refused"].values()), ">=", 100)
    scene.bound(f"RSS, MiB, {name}", scene.rss_peak(node), "<=", LIMIT + 64)
    for s in stopped:
        s.close()
    scene.end(1)
    scene.end(2)


def run(scene):
    """8 and 64 applications of node 2 each took a bundle and stopped reading. Node 1 floods bundles for all of them, over LTP and TCPCL; an application of
    it sends to one of node 2 that goes on."""
    for adapter, count in itertools.product(("ltp", "tcpcl"), (8, 64)):
        play(scene, adapter, count)


if __name__ == "__main__":
    main(run)
