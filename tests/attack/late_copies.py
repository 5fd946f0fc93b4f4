# SPDX-License-Identifier: Apache-2.0
"""Bundles of three priorities for a group, whose members acknowledge late, at a node with little memory: copies have the same bytes, which are released and loaded again."""
import random
import select
import socket
import struct
import time

from attack import main, paced
from bundle_wire import block, bundle, group, head
from tcpcl_receiver import Reader, begin
from tcpcl_wire import ACK, END, connect, push, segment

MEMORY, TOTAL = "1MiB", "8MiB"  # of the bytes of bundles, and of all: a small total gives nobody a share (SECURITY.md), but the node runs
A_SECOND, SIZES = 400, (100, 300, 1000, 3000, 20000, 100000, 300000)
MEMBERS = {11: 0.2, 12: 3.0, 13: 10.0}  # node: most seconds until it acknowledges
GROUP, QOS = (5, 1), 193
KEYS = {"rate": "100Mbit/s", "rto": "100ms"}
ANSWER = 5  # seconds in which the control socket answers
ROUNDS, PAUSE = 30, 2  # questions during the attack: an endless loop took 22 s of it


def send(port):
    def go(until):
        draw, s = random.Random(1), None
        for i in paced(until, A_SECOND):
            qos = b"\x84" + head(0) + head(draw.choice((0, 1, 2))) + head(draw.choice((0, 0, 5))) + head(0)
            data = bundle((9, 66), group(*GROUP), i, payload=bytes(draw.choice(SIZES)), blocks=block(QOS, 7, qos), lifetime_ms=600000)
            s = s or connect(port, name="ipn:9.0")
            s = s if push(s, segment(i, data), until) else None
    return go


def acknowledge(s, number, until):
    """One session of a member, to its end."""
    draw, reader, due = random.Random(number), Reader(), []
    got = begin(s, f"ipn:{number}.0")
    while got is not None and time.monotonic() < until:
        due += [(time.monotonic() + draw.random() * MEMBERS[number], *transfer) for transfer in reader.transfers(got)]
        due.sort()
        ready = [t for t in due if t[0] <= time.monotonic()]
        due = due[len(ready):]
        s.sendall(b"".join(struct.pack(">BBQQ", ACK, END, transfer, length) for _, transfer, length in ready))
        if select.select([s], [], [], 0.02)[0]:
            got = s.recv(1 << 16) or None
        else:
            got = b""


def member(port, number):
    def go(until):
        while time.monotonic() < until:
            try:
                with socket.create_connection(("127.0.0.1", port), 5, (f"127.0.0.{number}", 0)) as s:
                    acknowledge(s, number, until)
            except OSError:
                time.sleep(0.1)
    return go


def run(scene):
    """Node 9 sends bundles of a group to node 2, for its members 11, 12 and 13. Node 3's goodput to node 2 is measured."""
    entry, there, here, *ports = scene.ports(3 + len(MEMBERS))
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    links = [{**tcpcl, "name": f"n{n}", "peer": f"ipn:{n}.0", "local": f"127.0.0.1:{port}"} for n, port in zip((9, *MEMBERS), (entry, *ports))]
    routes = "".join(f"  - {{to: 'imc:{GROUP[0]}.*', via: n{n}}}\n" for n in MEMBERS)
    scene.node(2, [*links, scene.link(3, here, there, **KEYS)], store=f"{{path: {scene.lab.path('store2')}, durability: async}}",
               extra=f"routes:\n{routes}bundles: {{memory: {MEMORY}, total: {TOTAL}}}\n")
    scene.node(3, [scene.link(2, there, here, **KEYS)])
    scene.receiver(2)
    slowest = 0.0
    before = scene.goodput(3, 2)
    with scene.attack(send(entry), *(member(port, n) for n, port in zip(MEMBERS, ports)), settle=5, least={}):
        for _ in range(ROUNDS):
            began = time.monotonic()
            agent = scene.control(2, "counters")["agent"]
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(PAUSE)
        during = scene.goodput(3, 2)
    scene.figure("node 2", {"before": before, "during": during, "slowest answer, s": round(slowest, 2), **agent})
    scene.took_place("bundles of the group", agent["received"], 500)
    scene.bound("slowest answer of the control socket, s", round(slowest, 2), "<=", ANSWER)
    scene.recovery(lambda: scene.goodput(3, 2), before)


if __name__ == "__main__":
    main(run)
