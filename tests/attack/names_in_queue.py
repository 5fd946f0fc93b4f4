# SPDX-License-Identifier: Apache-2.0
"""Unconfigured peers under always-new names, each of which brings one bundle for the node that an honest peer sends to, over a slow link,
and leaves. When each name kept a turn in the link's queue, 2,000 of them left the honest peer nothing, also 10 s after the attack."""
import os
import time

from attack import main
from bundle_wire import bundle
from tcpcl_wire import connect, push, segment

ATTACKERS, PAYLOAD = 4, 20000
LEAST = 300  # names of an attack that took place


def attacker(port, number):
    def go(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
        names = 0
        while time.monotonic() < until:
            peer = 100000 + number * 10**7 + names
            data = bundle((peer, 1), (3, 999), 1, payload=bytes(PAYLOAD), lifetime_ms=120000)
            try:
                with connect(port, source=f"127.0.0.{number}", name=f"ipn:{peer}.0") as s:
                    push(s, segment(0, data, announced=len(data)), until)
                    s.settimeout(3)
                    s.recv(100)  # its acknowledgement
                names += 1
                time.sleep(0.01)
            except OSError:
                time.sleep(0.005)
    return go


def run(scene):
    """Four addresses connect under new names; node 1's goodput to node 3 through this node is measured. There are at most four names at a
    time, so that node 1 has a sixth: they have a turn each, and all names that left have one."""
    p2, p3, tcp = scene.ports(3)
    keys = {"rate": "2Mbit/s", "sessions": 10, "rto": "100ms"}
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    node = scene.node(2, [{"name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}", **tcpcl}, scene.link(3, p2, p3, **keys),
                          {"name": "in", "peer": "ipn:66.0", "local": f"127.0.0.1:{tcp}", "peers": 8, **tcpcl}])
    to_all = "routes:\n  - {to: 'ipn:*.*', via: to-2}\n"
    scene.node(3, [scene.link(2, p3, p2, **keys)], extra=to_all)
    scene.node(1, [{"name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{tcp}", **tcpcl}], extra=to_all)
    scene.receiver(3)

    def goodput():
        return scene.goodput(1, 3, payload="20kB", window=20)

    result = {"before": goodput()}
    with scene.attack(*[attacker(tcp, 8 + i) for i in range(ATTACKERS)], settle=20.0):
        result["during"] = goodput()
        held = scene.control(2, "counters")["agent"]["held"]
    result["after"] = goodput()  # their bundles still wait
    scene.figure("goodput", result)
    scene.took_place("names whose bundle waits", held, LEAST)
    scene.bound("goodput kept", round(result["during"] / result["before"], 4), ">=", 0.1)
    scene.bound("goodput kept while their bundles wait", round(result["after"] / result["before"], 4), ">=", 0.3)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
