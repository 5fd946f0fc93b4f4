# SPDX-License-Identifier: Apache-2.0
"""A neighbour's bundles that the next hop refuses, again after each pause, on a link that another neighbour uses, too.
The link that comes and goes guards: it holds without the turns that a refused bundle pays for, too."""
import contextlib
import os
import threading
import time

from attack import main, paced
from bundle_wire import bundle
from tcpcl_wire import connect, push, segment

SIZE = 50000
PER_SECOND = 400  # 1.6 times what the link takes
ROOM = 300      # MiB of bundles: the attacker's part of it is what the link takes in 20 s
UP, DOWN = 4, 2  # seconds
REFUSED = 500   # of an attack that took place
ROUTE = "routes:\n  - {to: 'ipn:9.*', via: to-3}\n"


@contextlib.contextmanager
def contacts(scene, number, link):
    """The link is up for some seconds, then down for some, again and again."""
    over = threading.Event()

    def switch():
        while not over.wait(UP):
            scene.control(number, "link", link, "down")
            over.wait(DOWN)
            scene.control(number, "link", link, "up")

    switcher = threading.Thread(target=switch)
    switcher.start()
    try:
        yield
    finally:
        over.set()
        switcher.join()


def measure_case(scene, name, within, extra=ROUTE):
    r1, r3, honest, entry = scene.ports(4)
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    shared = {"rate": "100Mbit/s", "sessions": 10, "rto": "100ms"}
    node = scene.node(1, [{**tcpcl, "name": "from-2", "peer": "ipn:2.0", "local": f"127.0.0.1:{honest}"},
                          {**tcpcl, "name": "from-4", "peer": "ipn:4.0", "local": f"127.0.0.1:{entry}"}, scene.link(3, r1, r3, **shared)],
                      store=f"{{durability: none, limit: {ROOM}MiB}}", extra=extra)
    scene.node(2, [{**tcpcl, "name": "to-1", "peer": "ipn:1.0", "remote": f"127.0.0.1:{honest}"}], extra="routes:\n  - {to: 'ipn:3.*', via: to-1}\n")
    scene.node(3, [scene.link(1, r3, r1, **shared)], extra="routes:\n  - {to: 'ipn:2.*', via: to-1}\n")
    scene.receiver(3)

    def flood(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
        session = None
        for number in paced(until, PER_SECOND):
            session = session or connect(entry, name="ipn:4.0")
            data = bundle((4, 66), (9, 77), number, payload=bytes(SIZE))  # node 3 has no route to node 9
            session = session if push(session, segment(number, data, announced=len(data)), until) else None

    refused = []

    def clear():
        """The rest of the flood has its part of the link, which is no attack: the operator deletes it."""
        refused.append(next(row["failed"] for row in scene.control(1, "links")["links"] if row["name"] == "to-3"))
        scene.control(1, "delete", "destination=ipn:9.*")

    with within(scene, 1, "to-3"):
        phases = scene.phases(lambda: scene.goodput(2, 3, payload="50kB", window=200), flood, settle=12.0, name=name, clear=clear)
    scene.took_place(f"refusals of node 3, {name}", refused[0], REFUSED)
    scene.bound(f"goodput of the other neighbour kept, {name}", phases["during_ratio"], ">=", 0.4)
    scene.bound(f"RSS, MiB, {name}", scene.rss_peak(node), "<=", ROOM + 64)
    for number in (1, 2, 3):
        scene.end(number)


def run(scene):
    """Node 2's goodput to node 3 through node 1, beside node 4's bundles, which node 3 refuses: over a link that stays up, and over one that comes and goes."""
    scene.seconds = max(scene.seconds, 2 * (UP + DOWN))
    measure_case(scene, "a link that stays up", lambda *_: contextlib.nullcontext())
    measure_case(scene, "a link that comes and goes", contacts)


if __name__ == "__main__":
    main(run)
