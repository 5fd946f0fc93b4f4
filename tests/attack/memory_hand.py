# SPDX-License-Identifier: Apache-2.0
"""A link has more bundles in hand than `bundles.memory` has room for, and its peer acknowledges none: honest bundles still move."""
import signal
import time

from attack import main
from bundle_wire import Sender, bundle

MEMORY = 64  # MiB: bundles.memory
SIZE, COUNT, SESSIONS = 1000000, 150, 120
SHOWN = 64  # sessions of a link that helioctl lists at most
KEPT = 0.4


def run(scene):
    """Node 4 sends bundles for node 5, which has stopped, to node 2: its LTP link gives them to sessions. Node 1 sends to an application of node 2."""
    tcp, entry, l2, l5 = scene.ports(4)
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    keys = {"rate": "2Mbit/s", "sessions": SESSIONS, "rto": "2s"}
    scene.node(1, [{**tcpcl, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{tcp}"}])
    scene.node(2, [{**tcpcl, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}"},
                   {**tcpcl, "name": "from-4", "peer": "ipn:4.0", "local": f"127.0.0.1:{entry}"},
                   scene.link(5, l2, l5, **keys)], store=f"{{path: {scene.lab.path('store2')}, durability: sync}}", extra=f"bundles: {{memory: {MEMORY}MiB}}\n")
    stopped = scene.node(5, [scene.link(2, l5, l2, **keys)])
    scene.receiver(2)

    def goodput():
        return max(scene.goodput(1, 2, payload="50kB", window=20) for _ in range(2))  # the machine's other work costs one of them

    def in_hand():
        return max(len(link["sessions"]) for link in scene.control(2, "links")["links"] if link["name"] == "to-5")

    def fill(until):
        s = Sender(entry, 4)
        for number in range(COUNT):
            s.send(bundle((4, 66), (5, 77), number, payload=bytes(SIZE), lifetime_ms=600000))
        while time.monotonic() < until:
            time.sleep(0.2)

    before = goodput()
    with scene.attack(fill, settle=0):
        until = time.monotonic() + 60
        while in_hand() < SHOWN and time.monotonic() < until:
            time.sleep(0.2)
        stopped.send_signal(signal.SIGSTOP)
        time.sleep(1)
        sessions, during = in_hand(), goodput()
        status = scene.control(2, "status")
        scene.figure("node 2", {"before": before, "during": during, "sessions": sessions, **status})
    stopped.send_signal(signal.SIGCONT)
    scene.took_place("open sessions of the link", sessions, SHOWN)
    scene.took_place("MiB of bundles", round(status["bytes"] / 2**20), 2 * MEMORY)
    scene.bound("goodput kept", round(during / before, 4), ">=", KEPT)


if __name__ == "__main__":
    main(run)
