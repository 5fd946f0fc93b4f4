# SPDX-License-Identifier: Apache-2.0
"""A configured peer that receives node 2's LTP blocks and answers them with what cannot be: each answer makes the node send, or think, again."""
import socket
import time

from attack import cpu_seconds, main
from aap2 import Client
from ltp_wire import CANCEL_BY_RECEIVER, REPORT_ACK, cancel, head, read_sdnv, report, sdnv

BUNDLES, OCTETS = 200, 100000
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
ODD = 9
MOST = 2**64 - 1


def parse(segment):
    """(kind, session, end of the data, serial of the checkpoint or None) of a data segment; None: another one."""
    kind = segment[0] & 15
    if kind > 3:
        return None
    at = 1
    _, at = read_sdnv(segment, at)
    session, at = read_sdnv(segment, at)
    if segment[at]:
        return None
    at += 1
    _, at = read_sdnv(segment, at)
    offset, at = read_sdnv(segment, at)
    length, at = read_sdnv(segment, at)
    return kind, session, offset + length, read_sdnv(segment, at)[0] if kind else None


def gaps(session, end, serial, number):
    """Every other run of ten bytes is missing: reports of as many claims as fit."""
    return [report(2, session, number, serial, end, 0, [(20 * i, 10) for i in range(min(120, end // 20))])]


def one_byte(session, end, serial, number):
    """One byte of all came: the rest is to be sent again, and again."""
    return [report(2, session, number, serial, end, 0, [(0, 1)])]


def cancelled(session, end, serial, number):
    """Each session is cancelled as soon as a checkpoint comes."""
    return [cancel(CANCEL_BY_RECEIVER, 2, session, number % 6)]


def cancelled_and_reported(session, end, serial, number):
    """Reports on a session that was cancelled, and cancels of one that was reported whole."""
    return [report(2, session, number, serial, end, 0, [(0, end)]), cancel(CANCEL_BY_RECEIVER, 2, session), report(2, session, number + 1, serial, end, 0, [(0, 1)])]


def absurd(session, end, serial, number):
    """Claims beyond the block, reports of other checkpoints, empty scopes, all of 2^64."""
    return [report(2, session, number, serial, MOST, 0, [(0, MOST)]), report(2, session, number + 1, MOST, end, 0, [(0, 1)]),
            report(2, session, number + 2, serial, end + 1, 0, [(0, end + 1)]), report(2, session, number + 3, serial, end, end - 1, [(0, 1)]),
            head(8, 2, session) + sdnv(number) + sdnv(serial) + sdnv(end) + sdnv(0) + sdnv(MOST) + sdnv(0) + sdnv(1)]


def many(session, end, serial, number):
    """A hundred reports of one checkpoint, of one gap each."""
    return [report(2, session, number + i, serial, end, 0, [(0, 1000 * i + 1), (1000 * i + 2, max(1, end - 1000 * i - 2))]) for i in range(100)]


def silent(session, end, serial, number):
    """No answer at all, but acknowledgements of nothing."""
    return [head(REPORT_ACK, ODD, session) + sdnv(number)]


KINDS = (gaps, one_byte, cancelled, cancelled_and_reported, absurd, many, silent)


def run(scene, only):
    """Node 9 answers the blocks that wait for it at node 2 in such ways; the goodput of node 3 to node 2, which shares the local address, is measured."""
    for number, answer in enumerate(KINDS):
        if only not in (-1, number):
            continue
        p2, p3, p9 = scene.ports(3)
        scene.node(3, [scene.link(2, p3, p2, **KEYS)])
        node = scene.node(2, [scene.link(3, p2, p3, **KEYS), scene.link(ODD, p2, p9, **KEYS)])
        scene.receiver(2)
        with Client(scene.lab.socket(2)) as c:
            c.configure("ipn:2.55")
            for _ in range(BUNDLES):
                c.request(f"ipn:{ODD}.7", bytes(OCTETS), lifetime_ms=600000)

        def swallow(until, answer=answer, p9=p9, p2=p2):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
                s.bind(("127.0.0.1", p9))
                s.settimeout(0.1)
                serial = 1
                while time.monotonic() < until:
                    try:
                        got = parse(s.recv(1 << 16))
                    except OSError:
                        continue
                    if got is None or got[3] is None:
                        continue
                    for out in answer(got[1], got[2], got[3], serial):
                        s.sendto(out, ("127.0.0.1", p2))
                    serial += 100

        # Without the attack, the link to node 9 sends all the same, to nobody.
        used, began = cpu_seconds(node.pid), time.monotonic()
        # A peer that never reports gets its blocks once, before the attack is counted; then repeated checkpoints only.
        least = KEYS["sessions"] * 100 if answer is silent else KEYS["sessions"] * OCTETS
        phases = scene.phases(lambda: scene.goodput(3, 2), swallow, name=answer.__name__, least={"received": least})
        load = (cpu_seconds(node.pid) - used) / (time.monotonic() - began)
        link = next(row for row in scene.control(2, "links")["links"] if row["name"] == f"to-{ODD}")
        scene.figure(answer.__name__, {**phases, "load of node 2": round(load, 2), "air bytes": link.get("air_bytes")})
        scene.bound(f"goodput kept, {answer.__name__}", phases["during_ratio"], ">=", 0.8)
        scene.bound(f"RSS, MiB, {answer.__name__}", scene.rss_peak(node), "<=", 1024 + 64)
        for n in (2, 3):
            scene.end(n)


if __name__ == "__main__":
    main(run, only=-1)
