# SPDX-License-Identifier: Apache-2.0
"""Bundles of 20,000 extension blocks, whose numbers fall, repeat late, or are all targets of security blocks."""
import os
import time

from attack import cpu_seconds, main
from bundle_wire import Sender, block, bundle
from tcpcl_wire import flood, segment

BLOCKS = 20000
COUNT = 40  # bundles that a neighbour sends again and again: a duplicate costs as much
RATE = 20  # such bundles a second, of one neighbour; of two: as many as the node takes


def blocks(number, kind=200, data=b"\x01"):
    return b"".join(block(kind, number(i), data) for i in range(BLOCKS))


def run(scene):
    """A neighbour over TCPCL sends bundles of 20,000 blocks to an endpoint of node 2; another one's goodput is measured, with a rate and without."""
    p3, p2, p5, p6, tcp = scene.ports(5)
    scene.node(3, [scene.link(2, p3, p2, rate="100Mbit/s", sessions=20, rto="100ms")])
    incoming = {"name": "to-1", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}", "tls": "off", "peers": 8}
    scene.node(5, [scene.link(2, p5, p6, rto="100ms")])  # as fast as the sockets take it
    node = scene.node(2, [scene.link(3, p2, p3, rate="100Mbit/s", sessions=20, rto="100ms"), scene.link(5, p6, p5, rto="100ms"), incoming])
    scene.receiver(2)
    shapes = [blocks(lambda i: 100000 - i),                                  # falling
              blocks(lambda i: 100000 - i % (BLOCKS - 1)),                   # the last one has the number of the first
              blocks(lambda i: 100000 - i, 12, b"\x81\x18\x64")]    # security blocks

    def slowly(until):
        s = Sender(tcp, 1)
        while time.monotonic() < until:
            s.send(bundle((1, 66), (2, 7), s.transfers, blocks=shapes[s.transfers % len(shapes)]))
            time.sleep(1 / RATE)

    def at_full_speed(peer):
        data = b"".join(segment(k, bundle((peer, 66), (2, 7), k, blocks=shapes[0], lifetime_ms=1000)) for k in range(COUNT))
        def go(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
            flood(tcp, until, data, source=f"127.0.0.{peer}", name=f"ipn:{peer}.0")
        return go

    def received():
        """Bundles of the neighbours over TCPCL; their links leave the list when their sessions end."""
        others = sum(row["received"] for row in scene.control(2, "links")["links"] if row["adapter"] != "tcpcl")
        return scene.control(2, "counters")["agent"]["received"] - others

    used = cpu_seconds(node.pid)
    phases = scene.phases(lambda: scene.goodput(3, 2), slowly)
    agent = scene.control(2, "counters")["agent"]
    scene.figure("processor time of node 2, s", round(cpu_seconds(node.pid) - used, 2))
    scene.figure("agent of node 2", {"received": agent["received"], "refused": agent["refused"]})
    scene.bound("bundles of many blocks that node 2 holds", agent["held"], ">=", 10)
    scene.bound("malformed ones refused", agent["refused"].get("malformed bundle", 0), ">=", 5)
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.8)
    for name, honest in (("", 3), (", honest link without a rate", 5)):
        before = scene.goodput(honest, 2)
        used, already, began = cpu_seconds(node.pid), received(), time.monotonic()
        with scene.attack(at_full_speed(9), at_full_speed(10)):
            during = scene.goodput(honest, 2)
            load = (cpu_seconds(node.pid) - used) / (time.monotonic() - began)
        scene.took_place("bundles of two neighbours at full speed" + name, received() - already, COUNT // 2)  # each takes node 2 some 25 ms
        after = scene.recovery(lambda honest=honest: scene.goodput(honest, 2), before, "two neighbours at full speed" + name)
        scene.figure("two neighbours at full speed" + name, {"before": before, "during": during, "after": after, "load of node 2": round(load, 2),
                                                             "bundles of theirs": received() - already})
        scene.bound("goodput kept, two neighbours at full speed" + name, round(during / before, 4), ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
