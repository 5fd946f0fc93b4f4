# SPDX-License-Identifier: Apache-2.0
"""A neighbour with rules lets the node send status reports to another node: as many, and as long, as the node's report_rate allows."""
import time

from attack import main
from bundle_wire import REPORTS, block, bundle
from tcpcl_wire import connect, flood, push, segment

RATE = 100  # report_rate, the default
PARTIES = 16  # that get one report a second more, at most (docs/agent.md)
A_SECOND = 2000  # bundles that the rule allows
COUNT = 20  # bundles that are sent one by one
UNKNOWN = block(200, 2, b"x", flags=2)  # a block that wants a report of its own when it is not known
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
LARGEST = 6  # octets of LTP that come to the victim for each octet of a bundle, at most


def reflected(peer, number, blocks=b""):
    """It asks for four reports, which go to another node than its own; nobody has its endpoint, and it ends in 2 s."""
    return bundle((peer, 1), (2, 77), number, lifetime_ms=2000, flags=REPORTS, blocks=blocks, report_to=(3, 77))


def run(scene):
    """Node 4 floods node 2 with bundles whose reports go to node 3; node 1's goodput to node 3 over node 2 is measured."""
    p1, p2, p3, p4, tcp = scene.ports(5)
    scene.node(1, [scene.link(2, p1, p2, **KEYS)], extra="routes: [{to: 'ipn:3.*', via: to-2}]\n")
    entry = {"name": "in", "adapter": "tcpcl", "peer": "ipn:4.0", "local": f"127.0.0.1:{tcp}", "tls": "off"}
    rules = f"rules: [{{peer: 'ipn:4.0', way: in, from: 'ipn:4.*', to: 'ipn:2.*', rate: {A_SECOND}, burst: {A_SECOND}}}]\n"
    node = scene.node(2, [scene.link(1, p2, p1, **KEYS), scene.link(3, p3, p4, **KEYS), entry],
                      extra=f"bundles: {{status_reports: true, report_rate: {RATE}}}\n" + rules)
    victim = scene.node(3, [scene.link(2, p4, p3, **KEYS)], extra="routes: [{to: 'ipn:1.*', via: to-2}]\n")
    scene.receiver(3)

    def sums():
        """Reports that node 2 sent, octets that came to node 3 in segments and frames below them, bundles that node 2 received."""
        counters = scene.control(2, "counters")["agent"]
        return counters["reports_sent"], scene.control(3, "links")["links"][0]["socket_bytes_rx"], counters["received"]

    def ratio(name, blocks):
        """Octets that come to the victim for each octet that is sent, at leisure."""
        reports, octets, _ = sums()
        session, sent = connect(tcp, source="127.0.0.4", name="ipn:4.0"), 0
        for k in range(COUNT):
            data = reflected(4, 10**6 + k, blocks)
            sent += len(data)
            push(session, segment(k, data), time.monotonic() + 10)
            time.sleep(0.05)
        time.sleep(4)  # the last ones have ended
        session.close()
        reports, octets = sums()[0] - reports, sums()[1] - octets
        scene.figure(name, {"bundles": COUNT, "octets": sent, "reports": reports, "octets of reports": octets})
        scene.bound(f"reports, {name}", reports, ">=", COUNT)
        scene.bound(f"octets of reports for each octet, {name}", round(octets / sent, 2), "<=", LARGEST)

    before = scene.goodput(1, 3)
    ratio("bundles", b"")
    ratio("bundles with unknown blocks", UNKNOWN)

    def attacker(until):
        number = iter(range(10**6))
        flood(tcp, until, lambda: b"".join(segment(k, reflected(4, k)) for k in (next(number) for _ in range(64))), source="127.0.0.4", name="ipn:4.0")

    first, began = sums(), time.monotonic()
    with scene.attack(attacker):
        during = scene.goodput(1, 3)
        last, took = sums(), time.monotonic() - began
    after = scene.recovery(lambda: scene.goodput(1, 3), before)
    reports, bundles = last[0] - first[0], last[2] - first[2]
    scene.figure("flood", {"before": before, "during": during, "after": after, "seconds": round(took, 1), "bundles": bundles, "reports": reports})
    scene.bound("goodput kept", round(during / before, 4), ">=", 0.4)
    scene.bound("bundles of the flood", bundles, ">=", 1000)
    scene.bound("reports of the flood", reports, ">=", RATE)
    scene.bound("reports a second", round(reports / took, 1), "<=", round(RATE + PARTIES + RATE / took, 1))
    scene.bound("reports for each bundle of the flood", round(reports / bundles, 3), "<=", 1)
    for name, process in (("node", node), ("victim", victim)):
        scene.bound(f"RSS, MiB, {name}", scene.rss_peak(process), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
