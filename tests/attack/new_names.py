# SPDX-License-Identifier: Apache-2.0
"""Unconfigured peers under always-new names, each of which brings one bundle for a silent neighbour and leaves.
Each name must not cost a question for every queued bundle. When it did, an honest peer kept 0.16 and 0.29 of its goodput in two runs.
Nor may each bundle cost a walk over all names that have bundles queued. When it did, 0.03 was left at 3,700 names."""
import os

from attack import main
from new_peers import attacker

ATTACKERS, PER_SECOND = 4, 200  # of each
FILL = 45.0  # seconds of the attack before the measurement
LEAST = 2000  # names of an attack that took place


def run(scene):
    """Four addresses connect under new names up to 800 times a second in all; node 1's goodput to node 3 through this node is measured."""
    p2, p3, to_silent, silent, tcp = scene.ports(5)
    keys = {"rate": "200Mbit/s", "sessions": 10, "rto": "100ms"}
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    node = scene.node(2, [{"name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}", **tcpcl}, scene.link(3, p2, p3, **keys),
                          {"name": "in", "peer": "ipn:66.0", "local": f"127.0.0.1:{tcp}", "peers": 8, **tcpcl},
                          scene.link(67, to_silent, silent, **keys)])
    to_all = "routes:\n  - {to: 'ipn:*.*', via: to-2}\n"
    scene.node(3, [scene.link(2, p3, p2, **keys)], extra=to_all)
    scene.node(1, [{"name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{tcp}", **tcpcl}], extra=to_all)
    scene.receiver(3)
    paths = [scene.lab.path(f"names{number}") for number in range(8, 8 + ATTACKERS)]
    phases = scene.phases(lambda: scene.goodput(1, 3, payload="50kB", window=20), *[attacker(tcp, 8 + i, path, per_second=PER_SECOND, bundles=True) for i, path in enumerate(paths)], settle=FILL)
    names = sum(map(os.path.getsize, paths))
    scene.figure("bundles that node 2 holds", scene.control(2, "counters")["agent"]["held"])
    scene.bound("names under which the attackers came", names, ">=", LEAST)
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
