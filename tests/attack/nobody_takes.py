# SPDX-License-Identifier: Apache-2.0
"""An application's bundles for an endpoint of the next node that nobody takes, or that takes few, faster than the link, until that node is full."""
import threading
import time

from attack import main, take_slowly
from aap2 import ADU, Client, framed

LIMIT = 32     # MiB of the node that is filled
SETTLE = 15.0  # seconds until it is, and the link is held up
PAUSE = 5.0    # seconds of the slow application, between two bundles
TCPCL = {"adapter": "tcpcl", "tls": "off"}


def links(scene, adapter):
    p1, p2 = scene.ports(2)
    if adapter == "tcpcl":
        return ({**TCPCL, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{p2}"},
                {**TCPCL, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{p2}"})
    keys = {"rate": "40Mbit/s", "sessions": 20, "rto": "100ms"}
    return scene.link(2, p1, p2, **keys), scene.link(1, p2, p1, **keys)


def run(scene):
    """Over LTP and TCPCL, without a registration, with one that reads nothing and with one that reads slowly: another application of the same node, to an endpoint that is taken."""
    def flood(until):
        with Client(scene.lab.socket(1)) as c:
            c.configure("ipn:1.66")
            message = framed([(ADU, [(2, "ipn:2.77"), (5, 1000), (100, 3600000)])]) + bytes(1000)
            threading.Thread(target=lambda: [c.answer() for _ in iter(int, 1)], daemon=True).start()
            while time.monotonic() < until:
                c.send(message * 4)
                time.sleep(0.0005)

    cases = [(adapter, reading) for reading in (None, "registered and not read", f"one read in {PAUSE:.0f} s") for adapter in ("ltp", "tcpcl")]
    for adapter, reading in cases:
        name = f"{adapter}, {reading}" if reading else adapter
        near, far = links(scene, adapter)
        scene.node(1, [near], store="{durability: none, limit: 200MiB}")
        node = scene.node(2, [far], store=f"{{durability: none, limit: {LIMIT}MiB}}")
        scene.receiver(2)
        idle = Client(scene.lab.socket(2))
        if reading:
            idle.configure("ipn:2.77", subscribe=True)
        if reading and "one" in reading:
            threading.Thread(target=take_slowly, args=(idle, PAUSE), daemon=True).start()

        def goodput():
            return scene.goodput(1, 2, payload="20kB", window=16)

        phases = scene.phases(goodput, flood, settle=SETTLE, name=name, clear=lambda: scene.control(1, "delete", "destination=ipn:2.77"))
        held = scene.control(2, "counters")["agent"]
        scene.figure(f"bundles of node 2, {name}", {"held": held["held"], "refused": held["refused"]})
        scene.bound(f"goodput kept, {name}", phases["during_ratio"], ">=", 0.4)
        scene.bound(f"refused to the flood, {name}", sum(held["refused"].values()), ">=", 100)
        scene.bound(f"RSS, MiB, {name}", scene.rss_peak(node), "<=", LIMIT + 64)
        idle.close()
        scene.end(1)
        scene.end(2)


if __name__ == "__main__":
    main(run)
