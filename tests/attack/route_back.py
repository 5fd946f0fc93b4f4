# SPDX-License-Identifier: Apache-2.0
"""Bundles whose only route leads back to the node that sent them."""
import time

from attack import main
from aap2 import Client

COUNT = 200


def run(scene):
    """Node 1 sends node 2 bundles for ipn:9.*, to which node 2 has a route through node 1 alone; honest traffic goes to node 2."""
    p1, p2 = scene.ports(2)
    scene.node(1, [scene.link(2, p1, p2, rate="100Mbit/s", sessions=20, rto="100ms")], extra="routes:\n  - {to: 'ipn:9.*', via: to-2}\n")
    scene.node(2, [scene.link(1, p2, p1, rate="100Mbit/s", sessions=20, rto="100ms")], extra="routes:\n  - {to: 'ipn:9.*', via: to-1}\n")
    scene.receiver(2)

    def flood(until):
        with Client(scene.lab.socket(1)) as c:
            c.configure("ipn:1.66")
            for _ in range(COUNT):
                c.request("ipn:9.1", b"x" * 1000, lifetime_ms=600000)
            while time.monotonic() < until:
                time.sleep(0.1)

    phases = scene.phases(lambda: scene.goodput(1, 2), flood)
    agent = scene.control(2, "counters")["agent"]
    scene.figure("agent of node 2", {"held": agent["held"], "refused": agent["refused"]})  # by reason
    scene.bound("bundles that node 2 holds", agent["held"], "==", 0)
    scene.bound("refusals for want of a route", agent["refused"].get("no route to the destination", 0), ">=", COUNT)
    scene.bound("bundles that node 1 keeps", scene.control(1, "counters")["agent"]["held"], "==", COUNT)
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.8)


if __name__ == "__main__":
    main(run)
