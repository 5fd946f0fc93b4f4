# SPDX-License-Identifier: Apache-2.0
"""A neighbour's bundles of 5 MB go over the same link as another neighbour's of 50 kB, whose goodput is measured."""
import time

from attack import main
from bundle_wire import Sender, bundle

LONG = 5 << 20
BURST = 160  # bundles: 839 MB, 34 s of the link


def run(scene):
    """Node 2 has an equal part of the link to node 3, however long the bundles of node 4 are."""
    scene.seconds = max(scene.seconds, 32)  # those that the link has in hand go first: 10 to 14 of the long ones take 3 s
    r1, r3, honest, entry = scene.ports(4)
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    shared = {"rate": "200Mbit/s", "rto": "100ms"}
    node = scene.node(1, [{**tcpcl, "name": "from-2", "peer": "ipn:2.0", "local": f"127.0.0.1:{honest}"},
                          {**tcpcl, "name": "from-4", "peer": "ipn:4.0", "local": f"127.0.0.1:{entry}"}, scene.link(3, r1, r3, **shared)])
    scene.node(2, [{**tcpcl, "name": "to-1", "peer": "ipn:1.0", "remote": f"127.0.0.1:{honest}"}], extra="routes:\n  - {to: 'ipn:3.*', via: to-1}\n")
    scene.node(3, [scene.link(1, r3, r1, **shared)], extra="routes:\n  - {to: 'ipn:2.*', via: to-1}\n")
    scene.receiver(3)

    def burst(until):
        s = Sender(entry, 4)
        for number in range(BURST):
            s.send(bundle((4, 66), (3, 77), number, payload=bytes(LONG)))
        while time.monotonic() < until:
            time.sleep(0.1)

    waiting = []

    def clear():
        """The rest of the burst has its part of the link, which is no attack: the operator deletes it."""
        waiting.append(scene.control(1, "status")["bundles"])
        scene.figure("deleted bundles of the burst", scene.control(1, "delete", "destination=ipn:3.77"))

    phases = scene.phases(lambda: scene.goodput(2, 3, payload="50kB", window=200), burst, settle=4.0, clear=clear)
    scene.took_place("bundles that waited", waiting[0], 5)
    scene.bound("goodput of the other neighbour kept", phases["during_ratio"], ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 2048)


if __name__ == "__main__":
    main(run)
