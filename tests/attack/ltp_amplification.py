# SPDX-License-Identifier: Apache-2.0
"""Segments of one byte from a forged address, toward a node that accepts unknown senders: what the owner of that address gets."""
import select
import socket
import time

from attack import main
from ltp_wire import RED_CHECKPOINT, cancel, head, red_block, red_checkpoint, sdnv

HEADERS = 28  # of UDP and IPv4
FORGED = 20  # addresses, of one engine number each
SECONDS = 12  # 21 repetitions at 100 ms, each twice as long as the last up to the timer, and the cancel's


def run(scene):
    """Each of 20 forged addresses sends one segment with one byte, or one of each kind; nobody there answers."""
    p1, p2 = scene.ports(2)
    scene.node(1, [scene.link(2, p1, p2, rate="100Mbit/s", rto="100ms")])
    scene.node(2, [scene.link(1, p2, p1, rate="100Mbit/s", rto="100ms", unknown_accept=64)])
    scene.receiver(2)
    sent, got = {}, {}
    kinds = [
        lambda engine: [red_checkpoint(engine, 1, b"x")],
        lambda engine: [red_block(engine, 1, b"x")],
        lambda engine: [red_checkpoint(engine, 1, b"x", offset=5000, serial=9)],
        lambda engine: [red_block(engine, 1, b"x"), cancel(12, engine, 2), head(RED_CHECKPOINT, engine, 3) + sdnv(99) + sdnv(0) + sdnv(1) + sdnv(1) + sdnv(0) + b"x"],
    ]
    sockets = []
    for i in range(FORGED):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((f"127.0.0.{100 + i}", 0))
        sockets.append(s)
        segments = kinds[i % len(kinds)](1000 + i)
        for segment in segments:
            s.sendto(segment, ("127.0.0.1", p2))
        sent[s], got[s] = sum(len(segment) + HEADERS for segment in segments), [0, 0]
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        for s in select.select(sockets, [], [], 0.2)[0]:
            got[s][0] += 1
            got[s][1] += len(s.recv(1 << 16)) + HEADERS
    worst = max(got[s][1] / sent[s] for s in sockets)
    scene.figure("bytes_sent", sum(sent.values()))
    scene.figure("datagrams_received", sum(g[0] for g in got.values()))
    scene.figure("bytes_received", sum(g[1] for g in got.values()))
    scene.figure("amplification_worst", round(worst, 2))
    link = scene.control(2, "links")["links"][0]
    scene.figure("not_sent", link["unknown_unsent"])
    scene.bound("senders that got an answer", sum(g[0] > 0 for g in got.values()), "==", FORGED)
    scene.bound("amplification, worst", round(worst, 2), "<=", 3)
    scene.bound("segments that were not sent", link["unknown_unsent"], ">=", FORGED)
    scene.figure("phases", {"during": scene.goodput(1, 2)})


if __name__ == "__main__":
    main(run)
