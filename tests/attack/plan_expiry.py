# SPDX-License-Identifier: Apache-2.0
"""Bundles of a source behind a peer, whose lifetimes end while they are on their way, just before their contact ends."""
import time

from attack import main
from aap2 import Client

CONTACT_S, KEPT = 12, 2


def run(scene):
    """Node 1 sends node 2 bundles for node 5, where nobody answers: node 2 has blocks of several bundles on their way. Six bundles live for 6 s, two for
    300 s; then the last contact of node 2's plan ends. Node 2 goes on and keeps the two."""
    p = scene.ports(4)
    plan = scene.lab.path("plan.yaml")
    with open(plan, "w", encoding="utf-8") as f:
        f.write(f"contacts:\n  - {{from: 2, to: 5, end: {CONTACT_S}s, rate: 20Mbit/s, owlt: 1ms, both: yes}}\n")
    scene.node(1, [scene.link(2, p[0], p[1], rate="20Mbit/s", rto="1s")], extra="routes:\n  - {to: 'ipn:5.*', via: to-2}\n")
    silent = {**scene.link(5, p[2], p[3], rate="20Mbit/s", rto="2s", sessions=2, aggregate="200kB", aggregate_time="2s"), "name": "silent"}
    node = scene.node(2, [scene.link(1, p[1], p[0], rate="20Mbit/s", rto="1s"), silent],
                      extra=f"plan: {plan}\nrouting: {{unreachable: keep}}\n", store=f"{{path: {scene.lab.path('store')}, durability: sync}}")
    began = time.monotonic()
    with Client(scene.lab.socket(1)) as c:
        c.configure("ipn:1.66")
        for i in range(6 + KEPT):
            c.request("ipn:5.1", b"x" * 1000, lifetime_ms=6000 if i < 6 else 300000)
        blocks = 0
        while time.monotonic() - began < CONTACT_S + 3 and node.poll() is None:
            blocks = max(blocks, scene.control(2, "links")["links"][1]["aggregates_sent"])
            time.sleep(0.5)
    scene.bound("blocks of several bundles", blocks, ">=", 1)
    scene.bound("bundles that node 2 keeps", scene.control(2, "counters")["agent"]["held"] if node.poll() is None else -1, "==", KEPT)


if __name__ == "__main__":
    main(run)
