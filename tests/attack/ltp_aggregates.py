# SPDX-License-Identifier: Apache-2.0
"""LTP blocks of several bundles (client service 2, and rows of client service 1): one of them malformed, lengths that lie, destinations that change."""
import os
import socket
import time

from attack import main, paced
from bundle_wire import block, bundle, head
from datagram_blocks import ODD, PIECE
from ltp_wire import RED, RED_END_OF_BLOCK, data, sdnv

SDA, ROW = 2, 1  # client services
BUNDLES = 2000  # of a block
A_SECOND = 10   # blocks
ROUNDS = 8      # of blocks of all kinds, each with bundles of its own
DELAY_MS = 40   # p99 of the echo, as in ltp_rows
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
RESERVE = 10**6  # numbers of bundles of one kind


def tiny(number, destination=(2, 7)):
    return bundle((ODD, 66), destination, number, lifetime_ms=600000)


def lying(number):
    """Its payload announces 2^60 octets."""
    whole = tiny(number)
    return whole[:-1 - len(block(1, 1, b"x"))] + b"\x85\x01\x01\x00\x00" + head(1 << 60, 2) + b"x\xff"


def damaged(number):
    """All lengths are right, the check value of the primary block is not."""
    whole = bytearray(tiny(number))
    whole[-len(block(1, 1, b"x")) - 2] ^= 1
    return bytes(whole)


def middle(first, odd):
    return [odd(first + k) if k == BUNDLES // 2 else tiny(first + k) for k in range(BUNDLES)]


KINDS = {  # bundles of a block by the number of its first, and whether those with a right length are taken
    "no bundle in the middle": (lambda first: middle(first, lambda k: b"\x00no bundle"), False),
    "a length that lies": (lambda first: middle(first, lying), False),
    "a damaged one": (lambda first: middle(first, damaged), True),
    "an end that is missing": (lambda first: [*map(tiny, range(first, first + BUNDLES - 1)), tiny(first + BUNDLES - 1)[:-1]], False),
    "other endpoints": (lambda first: [tiny(first + k, (2, 1000 + first + k)) for k in range(BUNDLES)], True),
    "other nodes": (lambda first: [tiny(first + k, (1000 + first + k, 7)) for k in range(BUNDLES)], None),
}


def whole_block(service, bundles):
    return b"".join((sdnv(ROW) if service == SDA else b"") + b for b in bundles)


def segments(session, service, whole):
    """A red block as datagrams."""
    pieces = [(at, whole[at:at + PIECE]) for at in range(0, len(whole), PIECE)]
    return [data(RED if at + len(piece) < len(whole) else RED_END_OF_BLOCK, ODD, session, at, piece, service=service) for at, piece in pieces]


def run(scene):
    """A configured peer sends ten such blocks a second; the goodput of another one, and the delay of the node's echo, are measured."""
    p2, p3, p9 = scene.ports(3)
    scene.node(3, [scene.link(2, p3, p2, **KEYS)])
    node = scene.node(2, [scene.link(3, p2, p3, **KEYS), scene.link(ODD, p2, p9, **KEYS)])
    scene.receiver(2)

    def state():
        agent, link = scene.control(2, "counters")["agent"], scene.control(2, "links")["links"][1]
        return {"received": agent["received"], "refused": sum(agent["refused"].values()), "not_a_bundle": link["not_a_bundle"]}

    def give(session, service, bundles):
        """What changed at the node meanwhile."""
        before, until = state(), time.monotonic() + 15
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", p9))
            for out in segments(session, service, whole_block(service, bundles)):
                s.sendto(out, ("127.0.0.1", p2))
            while (after := state()) == before and time.monotonic() < until:
                time.sleep(0.05)
            while (settled := state()) != after:
                after = settled
                time.sleep(0.3)
        return {k: after[k] - before[k] for k in after if after[k] != before[k]}

    sessions, first = iter(range(1, 10**6)), 0
    for service, word in ((SDA, "capsules"), (ROW, "rows")):
        for name, (make, taken) in KINDS.items():
            changes = give(next(sessions), service, make(first))
            first += RESERVE
            scene.figure(f"{name}, {word}", changes)
            if taken is not None:
                wanted = BUNDLES - (name == "a damaged one") if taken else 0
                scene.bound(f"bundles taken, {name}, {word}", changes.get("received", 0), "==", wanted)
            scene.bound(f"verdicts, {name}, {word}", sum(changes.values()), ">=", 1)
    makers = [(service, make) for _ in range(ROUNDS) for make, _ in KINDS.values() for service in (SDA, ROW)]
    ready = [(service, whole_block(service, make(first + RESERVE * k))) for k, (service, make) in enumerate(makers)]

    def attacker(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", p9))
            for k in paced(until, A_SECOND):
                for out in segments(10**6 + k, *ready[k % len(ready)]):
                    s.sendto(out, ("127.0.0.1", p2))

    def delay():
        return min(scene.echo(3, 2, count=150, interval="5ms")["rtt_ms"]["p99"] for _ in range(3))

    before, calm, already = scene.goodput(3, 2), delay(), state()
    with scene.attack(attacker):
        during, slow = scene.goodput(3, 2), delay()
    flooded = state()
    after = scene.recovery(lambda: scene.goodput(3, 2), before)
    scene.figure("goodput", {"before": before, "during": during, "after": after})
    scene.figure("p99 ms", {"before": calm, "during": slow})
    scene.figure("flood", {k: flooded[k] - already[k] for k in flooded})
    scene.bound("goodput kept", round(during / before, 4), ">=", 0.4)
    scene.bound("p99 ms of the echo", slow, "<=", max(DELAY_MS, 3 * calm))
    scene.bound("blocks and bundles of the flood", sum(flooded.values()) - sum(already.values()), ">=", 2 * BUNDLES)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
