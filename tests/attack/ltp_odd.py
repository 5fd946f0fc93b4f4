# SPDX-License-Identifier: Apache-2.0
"""LTP segments of a configured peer that contradict each other: contents, colours, lengths, numbers, spans, extensions, cancels."""
import itertools
import random
import socket

from attack import main, paced
from ltp_wire import (CANCEL_ACK_TO_RECEIVER, CANCEL_ACK_TO_SENDER, CANCEL_BY_RECEIVER, CANCEL_BY_SENDER, GREEN_END, RED, RED_CHECKPOINT, RED_END_OF_BLOCK, cancel, data,
                      extension, green_block, head, red_block, report, report_ack, sdnv)

A_SECOND = 1000  # segments
HONEST, ODD = 3, 9
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
MOST = 2**64 - 1


def contents(k):
    """Each byte of a block comes three times, with other values."""
    return data(RED, ODD, 1 + k // 30, 100 * (k % 10), bytes([k % 256]) * 150)


def colours(k):
    """Red, then green below it, then red again; the end of the red part moves."""
    session, step = 1 + k // 4, k % 4
    return (data(RED, ODD, session, 1000, b"r" * 10), data(4, ODD, session, 500, b"g" * 10), data(2, ODD, session, 1200, b"r" * 10),
            data(GREEN_END, ODD, session, 100, b"g" * 10))[step]


def lengths(k):
    """Ends of blocks below what was received, beyond, at 2^64-1; lengths that are not the data's."""
    session, step = 1 + k // 6, k % 6
    return (data(RED, ODD, session, 5000, b"x" * 10), data(RED_END_OF_BLOCK, ODD, session, 10, b"x"), data(RED, ODD, session, MOST - 1, b"x"),
            data(RED, ODD, session, MOST, b"xx"), data(RED, ODD, session, 0, b"x", length=MOST), data(RED_END_OF_BLOCK, ODD, session, 4999, b"x" * 12))[step]


def numbers(k):
    """Session numbers at 0, 2^32, 2^63 and 2^64-1, in both directions; engine numbers, too."""
    edges = (0, 1, 2**32 - 1, 2**32, 2**63 - 1, 2**63, MOST - 1, MOST)
    return red_block(ODD, edges[k % 8], b"x" * (1 + k % 3), serial=edges[k // 8 % 8] or 1)


def gaps(k):
    """One byte of two, and each 200th segment asks for a report on all of them."""
    kind = RED_CHECKPOINT if k % 200 == 199 else RED
    return data(kind, ODD, 1 + k // 20000, 2 * (k % 20000), b"x", serial=1 + k)


def checkpoints(k):
    """One session, of which each byte is a checkpoint with a serial number of its own, or again an earlier one."""
    serial = 1 + (k if k % 3 else k // 2)
    return data(RED_CHECKPOINT, ODD, 1 + k // 5000, serial, b"x", serial=serial, report_serial=k % 7)


def reports(k):
    """Of sessions that there are not, and could be: absurd spans, claims and serial numbers."""
    mine = 1 + k % 1000
    spans = ((1, 0, [(0, 1)]), (MOST, 0, [(0, MOST)]), (MOST, MOST - 1, [(0, 1)]), (100, 0, [(i * 2, 1) for i in range(40)]), (0, 100, [(0, 1)]),
             (10, 0, [(0, 11)]), (10, 5, [(4, MOST)]), (10, 0, []), (10, 0, [(0, 0)]))
    upper, lower, claims = spans[k % len(spans)]
    return report(2, mine, 1 + k, k % 5, upper, lower, claims)


def cancels(k):
    """Cancels and their acknowledgements, in both directions, of sessions that there are and that there are not, with all reasons."""
    session, step = 1 + k // 5, k % 5
    return (data(RED, ODD, session, 0, b"x" * 20), cancel(CANCEL_BY_SENDER, ODD, session, k % 256), cancel(CANCEL_ACK_TO_SENDER, ODD, session)[:-1],
            cancel(CANCEL_BY_RECEIVER, 2, session, k % 256), cancel(CANCEL_ACK_TO_RECEIVER, 2, session)[:-1])[step]


def acknowledgements(k):
    """Acknowledgements of reports that nobody made, of a session with many of them."""
    return data(RED_CHECKPOINT, ODD, 1, k, b"x", serial=1 + k) if k < 1500 else report_ack(ODD, 1, k)


def extensions(k):
    """Fifteen headers and trailers, of all tags, longer than the segment, or of no length."""
    tags = [(t % 256, bytes(k % 50)) for t in range(k, k + 15)]
    kind, session = (RED, RED_END_OF_BLOCK, 7, 8)[k % 4], 1 + k
    body = sdnv(1) + sdnv(0) + sdnv(1) + (sdnv(1) + sdnv(0) if kind in (1, 2, 3) else b"") + b"x"
    whole = head(kind, ODD, session, tags, tags) + body + b"".join(extension(*t) for t in tags)
    return whole if k % 5 else whole[:-7] + sdnv(MOST)


def services(k):
    """Client services that nobody has, and blocks of several bundles (service 2) that are none."""
    service = (0, 3, 2**32, MOST, 2, 2)[k % 6]
    return red_block(ODD, 1 + k, (b"\x81" * 50, sdnv(MOST) * 3, b"", b"\x9f" * 20, sdnv(1) + sdnv(MOST) + b"x", sdnv(1) * 40)[k % 6] or b"x", service=service)


def noise(k):
    """Whatever begins with each octet."""
    rng = random.Random(k)
    return bytes([k % 256]) + rng.randbytes(rng.randrange(60))


def greens(k):
    """Blocks that are no bundles, of one segment, and their successors beyond the end."""
    return green_block(ODD, 1 + k // 2, b"\x9f" * (1 + k % 5), offset=(0, 3)[k % 2])


KINDS = (contents, colours, lengths, numbers, gaps, checkpoints, reports, cancels, acknowledgements, extensions, services, noise, greens)


def run(scene, only, rate):
    """Node 9 sends such segments to node 2, 1,000 a second; the goodput of node 3, which shares the local address, is measured."""
    p2, p3, p9 = scene.ports(3)
    scene.node(3, [scene.link(2, p3, p2, **KEYS)])
    node = scene.node(2, [scene.link(HONEST, p2, p3, **KEYS), scene.link(ODD, p2, p9, **KEYS)])
    scene.receiver(2)

    def flood_of(make):
        def flood(until):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.bind(("127.0.0.1", p9))
                s.setblocking(False)
                for k in paced(until, rate):
                    try:
                        s.sendto(make(k), ("127.0.0.1", p2))
                        if k % 16 == 0:
                            for _ in itertools.repeat(None, 64):
                                s.recv(1 << 16)
                    except (BlockingIOError, ConnectionError):
                        pass
        return flood

    def counted():
        """Segments of node 9, and what was refused at the local address; the honest peer's segments are not refused."""
        link = next(row for row in scene.control(2, "links")["links"] if row["name"] == f"to-{ODD}")
        data = sum(n for name, n in link["span"].items() if name.startswith("input_seg_") and name.endswith("_count"))
        return data + sum(n for name, n in link["verdicts"].items() if name != "ok")

    figures, bound = {}, 0.8 if rate <= A_SECOND else 0.4
    for number, make in enumerate(KINDS):
        if only not in (-1, number):
            continue
        already = counted()
        figures[make.__name__] = scene.phases(lambda: scene.goodput(3, 2), flood_of(make), settle=1.5, name=make.__name__)
        scene.took_place(f"segments at node 2, {make.__name__}", counted() - already, rate)
        scene.bound(f"goodput kept, {make.__name__}", figures[make.__name__]["during_ratio"], ">=", bound)
    scene.figure("by_kind", figures)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)
    scene.figure("verdicts", next(row for row in scene.control(2, "links")["links"] if row["name"] == f"to-{ODD}").get("verdicts"))


if __name__ == "__main__":
    main(run, only=-1, rate=A_SECOND)
