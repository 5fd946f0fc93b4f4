# SPDX-License-Identifier: Apache-2.0
"""A TCPCL peer for which bundles wait, and that answers them with what RFC 9174 does not have, or refuses all of them."""
import select
import socket
import struct
import time

from attack import cpu_seconds, main
from aap2 import Client
from tcpcl_wire import ACK, CONTACT, INIT, REFUSE, SEGMENT, init

BUNDLES, OCTETS = 3000, 1000
RECEIVED = 100  # bundles that the peer gets, at least
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
SIZES = {4: 1, 5: 3, 6: 3, ACK: 18, REFUSE: 10}  # of messages without data


def refuse(reason):
    return lambda number, length: struct.pack(">BBQ", REFUSE, reason, number)


def late(number, length):
    """Refused, acknowledged, and refused again."""
    return struct.pack(">BBQ", REFUSE, 2, number) + struct.pack(">BBQQ", ACK, 1, number, length) + struct.pack(">BBQ", REFUSE, 4, number)


ANSWERS = {
    **{f"XFER_REFUSE, reason {reason}": refuse(reason) for reason in (0, 1, 2, 3, 4, 5, 6, 0xFF)},
    "refused and acknowledged": late,
    "acknowledges another transfer": lambda number, length: struct.pack(">BBQQ", ACK, 1, number + 5, length),
    "acknowledges more than was sent": lambda number, length: struct.pack(">BBQQ", ACK, 1, number, 2**64 - 1),
    "acknowledges octet by octet": lambda number, length: b"".join(struct.pack(">BBQQ", ACK, 0, number, k) for k in range(0, length, 10)),
    "ends the session": lambda number, length: b"\x05\x00\x03",
    "no answer": lambda number, length: b"",
}


class Reader:
    """Finds the ends of transfers in what node 2 sends."""

    def __init__(self):
        self.data, self.length = b"", 0

    def transfers(self, more):
        """[(number, length)] of those that have ended."""
        self.data, at, found = self.data + more, 0, []
        while at < len(self.data):
            kind = self.data[at]
            if kind != SEGMENT:
                size = SIZES.get(kind)
                if size is None or at + size > len(self.data):
                    break
                at += size
                continue
            if at + 14 > len(self.data):
                break
            flags, number = self.data[at + 1], struct.unpack_from(">Q", self.data, at + 2)[0]
            to = at + 10
            if flags & 2:
                to += 4 + struct.unpack_from(">I", self.data, to)[0]
                self.length = 0
            if to + 8 > len(self.data):
                break
            length = struct.unpack_from(">Q", self.data, to)[0]
            if to + 8 + length > len(self.data):
                break
            self.length += length
            at = to + 8 + length
            if flags & 1:
                found.append((number, self.length))
        self.data = self.data[at:]
        return found


def begin(s, name):
    """Begins a session; returns what follows the node's SESS_INIT. None: it ended."""
    s.sendall(CONTACT + init(name))
    seen = b""
    while len(seen) < 27 or len(seen) < 31 + struct.unpack_from(">H", seen, 25)[0]:
        seen += (got := s.recv(1 << 16))
        if not got:
            return None
    assert seen[6] == INIT
    return seen[31 + struct.unpack_from(">H", seen, 25)[0]:]


def session(tcp, until, answer):
    """One session, to its end. Returns the transfers that came."""
    came = 0
    with socket.create_connection(("127.0.0.1", tcp)) as s:
        s.settimeout(0.2)
        first = begin(s, "ipn:99.0")
        if first is None:
            return came
        reader, out = Reader(), b""
        while time.monotonic() < until:
            ready = select.select([s], [s] if out else [], [], 0.1)
            try:
                got = first or (s.recv(1 << 16) if ready[0] else None)
                if got == b"":
                    return came
                first = b""
                for number, length in reader.transfers(got or b""):
                    came += 1
                    out += answer(number, length)
                if out:
                    out = out[s.send(out):]
            except TimeoutError:
                pass
    return came


def run(scene, only):
    """3,000 bundles wait for node 99 at node 2; node 3's goodput to node 2 is measured."""
    for which, (name, answer) in enumerate(ANSWERS.items()):
        if only not in (-1, which):
            continue
        p3, p2, tcp = scene.ports(3)
        scene.node(3, [scene.link(2, p3, p2, **KEYS)])
        node = scene.node(2, [scene.link(3, p2, p3, **KEYS), {"name": "in", "adapter": "tcpcl", "peer": "ipn:99.0", "local": f"127.0.0.1:{tcp}", "tls": "off"}])
        scene.receiver(2)
        with Client(scene.lab.socket(2)) as c:
            c.configure("ipn:2.55")
            for _ in range(BUNDLES):
                c.request("ipn:99.7", bytes(OCTETS), lifetime_ms=600000)

        def receive(until, answer=answer, tcp=tcp):
            while time.monotonic() < until:
                try:
                    session(tcp, until, answer)
                except OSError:
                    time.sleep(0.01)

        used, began = cpu_seconds(node.pid), time.monotonic()
        phases = scene.phases(lambda: scene.goodput(3, 2), receive, name=name, least={"received": RECEIVED * OCTETS})
        load = (cpu_seconds(node.pid) - used) / (time.monotonic() - began)
        link = next(row for row in scene.control(2, "links")["links"] if row["name"] == "in")
        scene.figure(name, {**phases, "load of node 2": round(load, 2), "segments": link["messages_tx"], "refused": link["refused_rx"]})
        scene.took_place(f"segments with bundles, {name}", link["messages_tx"]["segment"], RECEIVED)
        scene.bound(f"goodput kept, {name}", phases["during_ratio"], ">=", 0.4)
        scene.bound(f"RSS, MiB, {name}", scene.rss_peak(node), "<=", 1024 + 64)
        for n in (2, 3):
            scene.end(n)


if __name__ == "__main__":
    main(run, only=-1)
