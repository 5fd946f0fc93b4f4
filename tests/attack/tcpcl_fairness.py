# SPDX-License-Identifier: Apache-2.0
"""Established peers send messages that cost little to send, as fast as TCP takes them."""
import multiprocessing
import os
import select
import socket
import struct

from attack import main
from tcpcl_wire import ACK, CONTACT, END, START, flood, init, keepalive, reject, segment

LEAST = 100000  # octets of one flood: connections that are refused send some 50 each
COUNT = 150  # echo requests of one measurement
RUNS = 5     # in turns: alone, at a program that only reads, beside, at it. Of each the one with the least delay counts: what else this machine does is no affair of the node's
PROMISED = 3  # times as long as beside a flood of the same size at another node, which takes the same share of two processors


def tiny_transfers():
    """Bundles of one octet, which are none: each is refused."""
    return b"".join(segment(n, b"x") for n in range(4096))


def empty_segments():
    """A transfer that never ends, of segments without data."""
    return segment(0, b"x", START) + segment(0, b"", 0) * 4096


FLOODS = {
    "reject": (reject() * 65536, 1),
    "keepalive": (keepalive() * 65536, 1),
    "keepalive of three peers": (keepalive() * 65536, 3),
    "empty segments": (empty_segments(), 1),
    "empty segments of three peers": (empty_segments(), 3),
    "tiny transfers of three peers": (tiny_transfers(), 3),
    "acknowledgements of nothing": (struct.pack(">BBQQ", ACK, START | END, 1, 1) * 4096, 1),
    "unknown messages": (b"\x7f" * 4096, 3),
    "data of three peers": (segment(0, bytes(1 << 20), START) + segment(0, bytes(1 << 20), 0) * 2 + segment(0, b"x", END), 3),
}


def read_only(port):
    """A program that begins each session and reads what comes, no more: the part of a flood that is the machine's."""
    room, streams = bytearray(1 << 16), {}
    with socket.create_server(("127.0.0.1", port), backlog=64) as listener, select.epoll() as poll:
        poll.register(listener, select.EPOLLIN)
        while True:
            for fd, _ in poll.poll():
                try:
                    if fd == listener.fileno():
                        s = listener.accept()[0]
                        streams[s.fileno()] = s
                        poll.register(s, select.EPOLLIN)
                        s.sendall(CONTACT + init("ipn:4.0"))
                    elif not streams[fd].recv_into(room):
                        streams.pop(fd).close()
                except OSError:
                    if fd in streams:
                        streams.pop(fd).close()


def run(scene):
    """One to three peers flood node 2 with small messages while node 1 asks its echo; before, the same flood goes to node 3 beside, and to a program that only reads."""
    port, beside, reading = scene.ports(3)
    multiprocessing.get_context("fork").Process(target=read_only, args=(reading,), daemon=True).start()
    incoming = {"name": "to-1", "adapter": "tcpcl", "peer": "ipn:1.0", "peers": 8}
    scene.node(1, [{"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "remote": f"127.0.0.1:{port}"}])
    victim = scene.node(2, [{**incoming, "local": f"127.0.0.1:{port}"}])
    scene.node(3, [{**incoming, "local": f"127.0.0.1:{beside}"}])

    def measure():
        r = scene.echo(1, 2, count=COUNT, interval="5ms")
        delays = r["rtt_ms"] or {}
        return {"p50": delays.get("p50", 1e9), "p99": delays.get("p99", 1e9), "lost": r["sent"] - r["received"]}

    def best(runs):
        return {"p50": min(r["p50"] for r in runs), "p99": min(r["p99"] for r in runs), "lost": sum(r["lost"] for r in runs)}

    measure()  # the link is up, memory is there
    for name, (data, peers) in FLOODS.items():
        def attacker(k, to, data=data):
            def go(until):
                os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # attackers have machines of their own
                os.setpriority(os.PRIO_PROCESS, 0, 10)
                flood(to, until, data, source=f"127.0.0.{9 + k}", name=f"ipn:{99 + k}.0")
            return go

        runs, sent = {"alone": [], "at a reader": [], "beside": [], "at it": []}, []
        for _ in range(RUNS):
            runs["alone"].append(measure())
            for whose, to in (("at a reader", reading), ("beside", beside), ("at it", port)):
                with scene.attack(*[attacker(k, to) for k in range(peers)], least={}):
                    runs[whose].append(measure())
                sent.append(scene.attacked["sent"])
        result = {whose: best(of) for whose, of in runs.items()}
        scene.figure(name, result)
        scene.took_place(f"octets of each run, {name}", min(sent), LEAST)
        scene.bound(f"p99 ms under {name}", result["at it"]["p99"], "<=", PROMISED * max(result["beside"]["p99"], result["alone"]["p99"]))
        scene.bound(f"echoes lost under {name}", result["at it"]["lost"], "==", 0)
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
