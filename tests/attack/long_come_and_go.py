# SPDX-License-Identifier: Apache-2.0
"""Long bundles wait for absent neighbours. An attacker connects under their names, reads 100 octets and leaves, again and again. Another one sends short bundles that fail over an honest link. Other flows keep their goodput."""
import itertools
import select
import time

from absent_scene import begin
from attack import main, paced
from bundle_wire import Sender, bundle
from tcpcl_wire import connect, push, segment

NEIGHBOURS, EACH, SIZE = 8, 3, 40000000
TAKEN, PATIENCE = 100, 0.5  # octets that each connection reads, and the seconds that it waits for them
KEPT = 0.4
FAILING = 20  # bundles a second that fail over the honest link
DTN_EPOCH = 946684800


def come_and_go(port, number):
    """One of the processes, each in the name of another neighbour."""
    def go(until):
        while time.monotonic() < until:
            try:
                with connect(port, name=f"ipn:{number}.0", source=f"127.0.0.{number - 60}") as s:
                    if select.select([s], [], [], PATIENCE)[0]:
                        s.recv(TAKEN)
            except OSError:
                time.sleep(0.01)
    return go


def drip(port):
    """Every second bundle is for a node that node 3 refuses. The others are long for their lifetime and end in transmission."""
    lifetimes = itertools.cycle(range(2, 41))

    def go(until):
        s = None
        for i in paced(until, FAILING):
            s = s or connect(port, name="ipn:4.0")
            if i % 2:
                data = bundle((4, 67), (9, 77), i, payload=b"x")
            else:
                data = bundle((4, 68), (3, 77), i, payload=bytes(100000), lifetime_ms=next(lifetimes), created=int((time.time() - DTN_EPOCH) * 1000))
            s = s if push(s, segment(i, data, announced=len(data)), until) else None
    return go


def run(scene):
    """Node 4 sends three bundles of 40 MB for each of eight neighbours of node 2, which are away. Node 1 sends to node 3 through node 2, and an application of node 2 does so as well."""
    numbers = range(101, 101 + NEIGHBOURS)
    victim, entry = begin(scene, numbers, extra="routes:\n  - {to: 'ipn:9.*', via: to-3}\n")

    def flow():
        return scene.goodput(1, 3, payload="50kB", window=20)

    def application():
        return scene.goodput(2, 3, payload="50kB", window=20)

    before = {"flow": flow(), "application": application()}
    sender = Sender(entry, 4)
    for i in range(NEIGHBOURS * EACH):
        sender.send(bundle((4, 66), (numbers[i % NEIGHBOURS], 77), i, payload=bytes(SIZE), lifetime_ms=600000))
    until = time.monotonic() + 60
    while scene.control(2, "status")["bundles"] < NEIGHBOURS * EACH and time.monotonic() < until:
        time.sleep(0.2)
    sender.s.close()
    with scene.attack(drip(entry), *[come_and_go(entry, n) for n in numbers], settle=2, least={"connections": 50}):
        during = {"flow": flow(), "application": application()}
        status = scene.control(2, "status")
        failed = next(link["failed"] for link in scene.control(2, "links")["links"] if link["name"] == "to-3")
    scene.took_place("bundles that failed over the honest link", failed, 20)
    scene.figure("connections", scene.attacked["connections"])
    scene.figure("node 2", {"before": before, "during": during, **status})
    scene.took_place("MB of bundles", round(status["bytes"] / 1e6), NEIGHBOURS * EACH * SIZE // 10**6)
    for name in before:
        scene.bound(f"goodput kept, {name}", round(during[name] / before[name], 4), ">=", KEPT)
    scene.bound("anonymous memory, MiB", scene.anonymous_peak(victim), "<=", 1024 + 64)
    scene.recovery(flow, before["flow"])


if __name__ == "__main__":
    main(run)
