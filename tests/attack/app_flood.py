# SPDX-License-Identifier: Apache-2.0
"""An application that sends without end, and others that open connections and begin payloads that they do not finish."""
import threading
import time

from attack import main
from aap2 import ADU, Client, framed

LIMIT = 200  # MiB of the node
CROWD = 40   # connections that hold an unfinished payload


def begin(path, number, length, sent):
    """A connection that announces a payload and sends a part of it."""
    c = Client(path)
    c.configure(f"ipn:1.{5000 + number}")
    c.send(framed([(ADU, [(2, "ipn:9.1"), (5, length)])]))
    c.s.settimeout(0.2)
    try:
        c.s.sendall(bytes(sent))
    except OSError:
        pass
    return c


def run(scene):
    """One application floods the queue of the same link, others hold huge payloads; a second application's goodput is measured."""
    p1, p2 = scene.ports(2)
    keys = {"rate": "40Mbit/s", "sessions": 20, "rto": "100ms"}
    extra = f"bundles: {{total: {LIMIT}MiB, memory: {LIMIT // 4}MiB}}\n"
    node = scene.node(1, [scene.link(2, p1, p2, **keys)], store=f"{{durability: none, limit: {LIMIT}MiB}}", extra=extra)
    scene.node(2, [scene.link(1, p2, p1, **keys)])
    scene.receiver(2)
    path = scene.lab.socket(1)

    def flood(until):
        with Client(path) as c:
            c.configure("ipn:1.66")
            message = framed([(ADU, [(2, "ipn:2.77"), (5, 1000), (100, 3600000)])]) + bytes(1000)
            threading.Thread(target=lambda: [c.answer() for _ in iter(int, 1)], daemon=True).start()
            while time.monotonic() < until:
                c.send(message * 64)

    def hold(until):
        held = [begin(path, i, 100 << 20, 4 << 20) for i in range(CROWD)]
        while time.monotonic() < until:
            time.sleep(1)
        del held

    def clear():
        """The queue of the flood has its share of the link for a minute more, which is no attack: the operator deletes it."""
        counted.update(scene.control(1, "counters")["agent"])
        scene.figure("deleted bundles of the flood", scene.control(1, "delete", "destination=ipn:2.77"))

    counted = {}
    phases = scene.phases(lambda: scene.goodput(1, 2, payload="20kB", window=16), flood, hold, settle=8.0, clear=clear)
    scene.figure("bundles of node 1", {"held": counted["held"], "refused": counted["refused"]})
    scene.bound("goodput of the second application kept", phases["during_ratio"], ">=", 0.4)
    scene.bound("bundles refused to the first", sum(counted["refused"].values()), ">=", 100)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", LIMIT + 64)


if __name__ == "__main__":
    main(run)
