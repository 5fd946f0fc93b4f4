# SPDX-License-Identifier: Apache-2.0
"""Bundles in a configured peer's name: what the check of source addresses keeps out, and what it does not."""
import socket
import time

from attack import main
from bundle_wire import bundle
from ltp_wire import red_block

BUNDLES = 50


def run(scene):
    """A sender injects whole bundles in the name of node 1, from another address, and from node 1's own."""
    p1, p2 = scene.ports(2)
    scene.node(1, [scene.link(2, p1, p2, rate="200Mbit/s", sessions=20, rto="100ms")])
    scene.node(2, [scene.link(1, p2, p1, rate="200Mbit/s", sessions=20, rto="100ms")])
    scene.receiver(2)
    forged = [bundle((1, 7), (2, 77), i, b"forged") for i in range(BUNDLES)]

    def received():
        return scene.control(2, "links")["links"][0]["bundles_received"]

    def inject(host, first):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind((host, 0))
            for i, data in enumerate(forged):
                s.sendto(red_block(1, first + i, data, serial=1 + i), ("127.0.0.1", p2))
        time.sleep(0.5)

    def inject_on(until):
        number = 1 << 41
        while time.monotonic() < until:
            inject("127.0.0.9", number)
            number += BUNDLES

    before = received()
    inject("127.0.0.9", 1 << 40)
    scene.bound("bundles accepted from another address", received() - before, "==", 0)
    refused = scene.control(2, "links")["links"][0]["source_refused"]
    scene.bound("datagrams refused from there", refused, ">=", BUNDLES)
    phases = scene.phases(lambda: scene.goodput(1, 2), inject_on)
    scene.bound("goodput kept during the attack", phases["during_ratio"], ">=", 0.95)
    # What no check of addresses can keep out: SECURITY.md, "Forged bundles".
    before = received()
    inject("127.0.0.1", 1 << 42)
    scene.figure("bundles_accepted_from_the_peers_own_address", received() - before)


if __name__ == "__main__":
    main(run)
