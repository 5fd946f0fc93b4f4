# SPDX-License-Identifier: Apache-2.0
"""Two peers send small bundles over TCPCL as fast as the node reads: for its echo endpoint, and such as ask for all status reports."""
import os

from attack import main
from bundle_wire import REPORTS, bundle
from tcpcl_wire import flood, segment

COUNT = 60000   # bundles of one flood, each with an id of its own
SOURCES = 5000  # that an echo answers
PEERS = 2
ECHOES, RUNS = 150, 3  # of these measurements the one with the least delay counts: what else this machine does is no affair of the node's
PROMISED = 3  # times as long as beside a flood of the same size at another node
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}


def echoes(peer, node):
    """For the node's echo: each has another payload, and a source that was not answered lately."""
    return b"".join(segment(k, bundle((peer, 100 + k % SOURCES), (node, 128), k, payload=b"%d" % k)) for k in range(COUNT))


def reports(peer, node):
    """Reports of their reception are due, and of their deletion soon: nobody has the endpoint, and they live for 2 to 17 s."""
    return b"".join(segment(k, bundle((peer, 66), (node, 77), k, lifetime_ms=2000 + k // 4, flags=REPORTS)) for k in range(COUNT))


def attacker(port, peer, data):
    def go(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
        flood(port, until, data, source=f"127.0.0.{peer}", name=f"ipn:{peer}.0")
    return go


def run(scene, only):
    """Node 3's goodput to node 2 over LTP, and the delay of node 2's echo, are measured beside the floods."""
    for number, (name, make) in enumerate((("echo", echoes), ("status reports", reports))):
        if only not in (-1, number):
            continue
        p3, p2, tcp, beside = scene.ports(4)
        scene.node(3, [scene.link(2, p3, p2, **KEYS)])
        open_to_all = {"name": "in", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}", "tls": "off", "peers": 8}
        node = scene.node(2, [scene.link(3, p2, p3, **KEYS), open_to_all], extra="bundles: {status_reports: true}\n")
        scene.node(4, [{**open_to_all, "local": f"127.0.0.1:{beside}"}], extra="bundles: {status_reports: true}\n")
        scene.receiver(2)

        def p99():
            return min((scene.echo(3, 2, count=ECHOES, interval="5ms")["rtt_ms"] or {}).get("p99", 1e9) for _ in range(RUNS))

        before, calm = scene.goodput(3, 2), p99()
        with scene.attack(*[attacker(beside, peer, make(peer, 4)) for peer in range(9, 9 + PEERS)]):
            there = p99()  # what the flood costs this machine, at a node beside
        with scene.attack(*[attacker(tcp, peer, make(peer, 2)) for peer in range(9, 9 + PEERS)]):
            during, delay = scene.goodput(3, 2), p99()
        counters = scene.control(2, "counters")["agent"]
        after = scene.recovery(lambda: scene.goodput(3, 2), before, name)
        scene.figure(name, {"before": before, "during": during, "after": after, "p99 ms": {"alone": calm, "flood beside": there, "flood": delay}, "received": counters["received"]})
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", 0.4)
        scene.bound(f"p99 ms of the echo, {name}", delay, "<=", PROMISED * max(there, calm))
        scene.bound(f"bundles of the flood, {name}", counters["received"], ">=", 5000)
        scene.bound(f"RSS, MiB, {name}", scene.rss_peak(node), "<=", 1024 + 64)
        for n in (2, 3, 4):
            scene.end(n)


if __name__ == "__main__":
    main(run, only=-1)
