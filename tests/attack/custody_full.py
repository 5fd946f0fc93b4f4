#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A peer that refuses custody: the node at the end of a tunnel is full for a while, and the link below the tunnel leads to the same node. No bundle
that the first node accepted is lost: refused ones stay in its store, and do not go over the link below, which has no custody.

usage: custody_full.py BIN [--json FILE]"""
import time

from attack import main
import aap2  # tests/e2e, in the path by attack

BUNDLES = 300
ROOM = 100  # bundles that node 2 takes
PATIENCE = 60


def write_node(scene, number, peer, local, remote, more=""):
    links = [{"name": "raw", "adapter": "udp", "peer": f"ipn:{peer}.0", "local": f"127.0.0.1:{local}", "remote": f"127.0.0.1:{remote}"},
             {"name": "tunnel", "adapter": "bibe", "peer": f"ipn:{peer}.0", "local": f"ipn:{number}.12", "remote": f"ipn:{peer}.12", "custody": "{mode: on, timer: 3s}"}]
    routes = f"routes:\n  - {{to: ipn:{peer}.12, via: raw}}\n  - {{to: 'ipn:{peer}.*', via: tunnel}}\n"
    scene.node(number, links, store=f"{{path: {scene.lab.path(f'store{number}')}, durability: sync}}", extra=more + routes)


def receive(scene, wanted):
    client = aap2.Client(scene.lab.socket(2), timeout=PATIENCE)
    client.configure("ipn:2.7", subscribe=True)
    found = set()
    try:
        while wanted - found:
            found.add(client.delivery()[1])
    except OSError:
        pass
    return found


def run(scene):
    one, two = scene.ports(2)
    write_node(scene, 1, 2, one, two)
    write_node(scene, 2, 1, two, one, f"bundles: {{count: {ROOM}}}\n")
    sender = aap2.Client(scene.lab.socket(1))
    sender.configure("ipn:1.5")
    accepted = {payload for payload in (b"%d" % i for i in range(BUNDLES)) if sender.request("ipn:2.7", payload, lifetime_ms=3600000)[0] == aap2.SUCCESS}
    time.sleep(8)
    custody = next(link for link in scene.control(1, "links")["links"] if link["name"] == "tunnel")["custody"]
    scene.bound("the attack took place: bundles refused", custody["refused"], ">=", 50)
    scene.bound("bundles accepted", len(accepted), "==", BUNDLES)
    scene.bound("bundles lost", len(accepted - receive(scene, accepted)), "==", 0)


if __name__ == "__main__":
    main(run)
