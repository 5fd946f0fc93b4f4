# SPDX-License-Identifier: Apache-2.0
"""Unconfigured peers at a node with a contact plan: they connect and leave beside queued bundles of others, or come under always-new names, each
with one bundle for a silent neighbour. None of that may cost a question to the plan for every queued bundle. When it did, an honest peer kept
0.15 to 0.4 of its goodput beside 3,000 queued bundles and 20 connections a second, and 0.003 after 900 names."""
import os

from attack import main
from aap2 import Client
from new_peers import attacker

ATTACKERS = 4
QUEUED, CONNECTIONS = 3000, 5  # bundles; connections a second, of each attacker
PER_SECOND, FILL, LEAST = 200, 30.0, 1000  # of each attacker; seconds of the attack before the measurement; names of an attack that took place


def begin(scene, first):
    """Nodes first (the honest peer), first + 1 and first + 2 (its destination). Returns the middle one and its TCPCL port."""
    near, middle, far = first, first + 1, first + 2
    p2, p3, to_silent, silent, tcp = scene.ports(5)
    keys = {"rate": "200Mbit/s", "sessions": 10, "rto": "100ms"}
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    plan = scene.lab.path(f"plan{middle}.yaml")
    with open(plan, "w", encoding="utf-8") as f:
        f.write("contacts:\n" + "".join(f"  - {{from: {middle}, to: {to}, end: 24h, rate: 200Mbit/s, owlt: 1ms, both: yes}}\n" for to in (far, 67)))
    node = scene.node(middle, [{"name": "near", "peer": f"ipn:{near}.0", "local": f"127.0.0.1:{tcp}", **tcpcl}, scene.link(far, p2, p3, **keys),
                               {"name": "in", "peer": "ipn:66.0", "local": f"127.0.0.1:{tcp}", "peers": 8, **tcpcl},
                               scene.link(67, to_silent, silent, **keys)], extra=f"plan: {plan}\n")
    to_all = f"routes:\n  - {{to: 'ipn:*.*', via: to-{middle}}}\n"
    scene.node(far, [scene.link(middle, p3, p2, **keys)], extra=to_all)
    scene.node(near, [{"name": f"to-{middle}", "peer": f"ipn:{middle}.0", "remote": f"127.0.0.1:{tcp}", **tcpcl}], extra=to_all)
    scene.receiver(far)
    return node, tcp


def play(scene, name, first, settle, least, queued=0, **how):
    node, tcp = begin(scene, first)
    paths = [scene.lab.path(f"peers{first}.{k}") for k in range(ATTACKERS)]
    with Client(scene.lab.socket(first + 1)) as c:
        c.configure(f"ipn:{first + 1}.66")
        for _ in range(queued):
            c.request("ipn:67.1", b"x" * 100, lifetime_ms=3600000)
    attackers = [attacker(tcp, 8 + k, path, **how) for k, path in enumerate(paths)]
    phases = scene.phases(lambda: scene.goodput(first, first + 2, payload="50kB", window=20), *attackers, settle=settle, name=name)
    scene.figure(f"bundles that the node holds, {name}", scene.control(first + 1, "counters")["agent"]["held"])
    scene.took_place(f"peers that connected, {name}", sum(os.path.getsize(path) for path in paths if os.path.exists(path)), least)
    scene.bound(f"goodput kept, {name}", phases["during_ratio"], ">=", 0.4)
    scene.bound(f"RSS, MiB, {name}", scene.rss_peak(node), "<=", 1024 + 64)
    for number in range(first, first + 3):
        scene.end(number)


def run(scene):
    """Peers from four addresses connect to a node with a contact plan and leave, 20 times a second in all, beside 3,000 queued bundles. Then they come
    under new names up to 800 times a second, with a bundle each. The goodput of an honest peer through this node is measured."""
    play(scene, "connect and leave", 1, 3.0, 40, queued=QUEUED, per_second=CONNECTIONS, bundles=False)
    play(scene, "always-new names", 11, FILL, LEAST, per_second=PER_SECOND, bundles=True)


if __name__ == "__main__":
    main(run)
