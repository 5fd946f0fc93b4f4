# SPDX-License-Identifier: Apache-2.0
"""Bundles that no contact of a plan takes as a whole, and whose next hop refuses their parts: the time that the node spends on routes for them."""
import os
import random
import time

from attack import main
from bundle_wire import bundle
from tcpcl_wire import connect, push, segment

CONTACTS, NODES, SESSIONS = 3000, range(100, 160), 2
SIZE, PER_SECOND = 260000, 60  # of each session
ECHOES = 100


def write_plan(path):
    """This node reaches its neighbours at any time; by short contacts from them begin routes to NODES, which have many contacts with each other."""
    rng, ends, lines = random.Random(5), {}, ["contacts:"]
    for to in (1, 3, 66):
        lines.append(f"  - {{from: 2, to: {to}, end: 10h, rate: 200Mbit/s, owlt: 1ms, both: yes}}")
    for _ in range(CONTACTS):
        a, b = rng.sample(NODES, 2)
        begin = ends.get((a, b), 0) + rng.randint(1, 300)
        ends[a, b] = begin + rng.randint(1, 60)
        lines.append(f"  - {{from: {a}, to: {b}, start: {begin}s, end: {ends[a, b]}s, rate: {rng.choice([8, 64, 512])}kbit/s, owlt: {rng.randint(1, 900)}ms}}")
    for node in rng.sample(NODES, 10):
        for entry in (1, 3):
            for k in range(40):
                begin = 60 + k * 30 + node % 7
                lines.append(f"  - {{from: {entry}, to: {node}, start: {begin}s, end: {begin + 3}s, rate: 64kbit/s, owlt: 5ms}}")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def note(path):
    """One more: a byte, which the end of the attack cannot cut in two."""
    with open(path, "ab") as f:
        f.write(b".")


def attacker(port, number, path):
    def go(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
        rng, sent, session = random.Random(number), 0, None
        while time.monotonic() < until:
            try:
                session = session or connect(port, source=f"127.0.0.{number}", name="ipn:66.0")
                data = bundle((66, number), (rng.choice(NODES), 1), sent, payload=bytes(SIZE), lifetime_ms=rng.choice((300000, 1200000, 3600000)))
                if not push(session, segment(sent, data, announced=len(data)), until):
                    raise ConnectionError("ended")
                sent += 1
                note(path)
                time.sleep(1 / PER_SECOND)
            except OSError:
                session = None
                time.sleep(0.05)
    return go


def run(scene):
    """Two sessions of a neighbour bring such bundles at 30 MB/s in all; node 1's goodput to node 3 through this node, and the delay of its echo, are measured."""
    plan, p2, p3, tcp = scene.lab.path("plan.yaml"), *scene.ports(3)
    write_plan(plan)
    to_all = "routes:\n  - {to: 'ipn:*.*', via: to-2}\n"  # what is for others leads back: it is refused
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    node = scene.node(2, [{"name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}", **tcpcl},
                          scene.link(3, p2, p3, rate="200Mbit/s", sessions=10, rto="100ms"),
                          {"name": "in", "peer": "ipn:66.0", "local": f"127.0.0.1:{tcp}", "peers": 8, **tcpcl}], extra=f"plan: {plan}\n")
    scene.node(3, [scene.link(2, p3, p2, rate="200Mbit/s", sessions=10, rto="100ms")], extra=to_all)
    scene.node(1, [{"name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{tcp}", **tcpcl}], extra=to_all)
    scene.receiver(3)
    paths = [scene.lab.path(f"sent{number}") for number in range(8, 8 + SESSIONS)]
    delays = {}

    def measure():
        goodput = scene.goodput(1, 3, payload="50kB", window=20)
        delays[len(delays)] = scene.echo(1, 2, count=ECHOES, interval="10ms")["rtt_ms"] or {}
        return goodput

    phases = scene.phases(measure, *[attacker(tcp, 8 + i, path) for i, path in enumerate(paths)], settle=15.0)
    sent = sum(map(os.path.getsize, paths))
    scene.figure("p50 of the echo, ms", [d.get("p50") for d in delays.values()])
    scene.figure("agent of node 2", {k: v for k, v in scene.control(2, "counters")["agent"].items() if k in ("held", "accepted", "refused")})
    scene.bound("bundles of the attack that were sent", sent, ">=", 100)
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.4)
    scene.bound("p50 of the echo under attack, ms", delays[1].get("p50", 1e9), "<=", 5)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
