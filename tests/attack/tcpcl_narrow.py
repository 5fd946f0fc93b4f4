# SPDX-License-Identifier: Apache-2.0
"""An application fills the queue of a slow TCPCL link with short bundles; a second application's goodput through it is measured."""
import threading
import time

from attack import main
from aap2 import ADU, Client, framed


def run(scene):
    """The link has 2 Mbit/s: the default window of 1024 bundles would hold 4 s of the flood."""
    scene.seconds = max(scene.seconds, 20)  # a bundle waits for 2 s
    port, = scene.ports(1)
    node = scene.node(1, [{"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "remote": f"127.0.0.1:{port}", "rate": "2Mbit/s"}], store="{durability: none, limit: 200MiB}")
    scene.node(2, [{"name": "to-1", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{port}"}])
    scene.receiver(2)
    path = scene.lab.socket(1)

    def flood(until):
        with Client(path) as c:
            c.configure("ipn:1.66")
            message = framed([(ADU, [(2, "ipn:2.77"), (5, 1000), (100, 3600000)])]) + bytes(1000)
            threading.Thread(target=lambda: [c.answer() for _ in iter(int, 1)], daemon=True).start()
            while time.monotonic() < until:
                c.send(message * 64)

    waiting = []

    def clear():
        """The queue of the flood has its share of the link for minutes more, which is no attack: the operator deletes it."""
        waiting.append(scene.control(1, "status")["bundles"])
        scene.figure("deleted bundles of the flood", scene.control(1, "delete", "destination=ipn:2.77"))

    phases = scene.phases(lambda: scene.goodput(1, 2, payload="20kB", window=16), flood, settle=8.0, clear=clear)
    scene.bound("bundles that waited, most of the flood", waiting[0], ">=", 2000)
    scene.bound("goodput of the second application kept", phases["during_ratio"], ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 200 + 64)


if __name__ == "__main__":
    main(run)
