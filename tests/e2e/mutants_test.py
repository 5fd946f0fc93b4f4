# SPDX-License-Identifier: Apache-2.0
"""Mutated bundles for a running node: each is judged and counted, none ends it, and the intact ones among them arrive.
usage: mutants_test.py BIN OUT [COUNT [SEED]]"""

import random
import shutil
import socket
import subprocess
import sys
import threading
import time

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Failed, Lab  # noqa: E402
from ltp_wire import read_sdnv, sdnv  # noqa: E402

COUNT, SEED = 20_000, 9171
BATCH = 500  # datagrams between looks at the node's counters
INTACT = 2_000  # one bundle in so many is as it was
GREEN_END, RED_END, REPORT, REPORT_ACK, CANCEL, CANCEL_ACK = 0x07, 0x03, 0x08, 0x09, 0x0E, 0x0F
TEMPLATES = (
    "-s ipn:2.1 -d ipn:1.7",
    "-s ipn:2.1 -d ipn:1.7 --hop-limit 30:4 --previous-node ipn:2.0 --age 3s",
    "-s ipn:2.1 -d ipn:1.9 -r ipn:2.4 -f report-reception,report-delivery,report-deletion,report-time",
    "-s ipn:2.1 -d ipn:1.7 --fragment 40:4000",
    "-s ipn:2.1 -d ipn:1.7 --fragment 0:100",
    "-s ipn:2.0 -d ipn:1.0 -f admin",
    "-s dtn://far/out -d dtn://away/in --time 0 --age 1ms",
    "-s ipn:2.1 -d ipn:5.5 -r ipn:2.4 -f report-forwarding,no-fragment",
    "-s ipn:2.1 -d ipn:1.3 --block 192:1:0102030405 --block 193:16:ff --block 194:4:00",
    "-d ipn:1.7 -f no-fragment",
    "-s ipn:2.1 -d ipn:1.7 --lifetime 1ms",
    "-s ipn:2.1 -d ipn:5.5 -r ipn:2.4 --hop-limit 1:1 -f report-deletion,report-time",
    "-s ipn:2.1 -d ipn:1.7 -r ipn:2.4 --block 192:2:00 --block 193:6:ff --block 194:20:00",
    "-s ipn:2.1 -d ipn:1.7 --fragment 18446744073709551000:18446744073709551615",
)
CRCS = ("--crc none --primary-crc none", "--crc none --primary-crc none", "--crc 16 --primary-crc 32c")


class Peer:
    """LTP engine 2, as far as whole blocks of one segment need it."""

    def __init__(self, port, node):
        self.s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.bind(("127.0.0.1", port))
        self.s.setblocking(False)
        self.to = ("127.0.0.1", node)
        self.number = 1000
        self.sent = self.blocks = 0

    def send(self, block, red):
        self.number += 1
        head = bytes([RED_END if red else GREEN_END]) + sdnv(2) + sdnv(self.number) + b"\0" + sdnv(1) + sdnv(0) + sdnv(len(block))
        self.s.sendto(head + (sdnv(self.number) + sdnv(0) if red else b"") + block, self.to)
        self.sent += 1
        self.blocks += 1

    def answer(self):
        """Reports and cancels are acknowledged; what the node itself sends is read and no more."""
        while True:
            try:
                data = self.s.recv(65536)
            except BlockingIOError:
                return
            kind = data[0] & 0x0F
            if kind not in (REPORT, CANCEL):
                continue
            originator, at = read_sdnv(data, 1)
            number, at = read_sdnv(data, at)
            session = sdnv(originator) + sdnv(number) + b"\0"
            if kind == REPORT:
                serial, _ = read_sdnv(data, at + 1)
                self.s.sendto(bytes([REPORT_ACK]) + session + sdnv(serial), self.to)
            else:
                self.s.sendto(bytes([CANCEL_ACK]) + session, self.to)
            self.sent += 1


def make(lab, words, crc, n, payload):
    path, data = lab.path("template.cbor"), lab.path("payload")
    with open(data, "wb") as f:
        f.write(payload)
    subprocess.run([lab.program("helio-bundle"), "make", *words.split(), *crc.split(), "--sequence", str(n), "-p", data, "-o", path],
                   check=True)
    with open(path, "rb") as f:
        return f.read()


def head(kind, n):
    """Of a CBOR item."""
    return bytes([kind << 5 | n]) if n < 24 else bytes([kind << 5 | 25]) + n.to_bytes(2, "big")


def encapsulations(inner, number):
    """Payloads for the tunnel's end: the whole bundle, and two segments of it."""
    yield b"\x81" + head(2, len(inner)) + inner
    half = len(inner) // 2
    for at, part in ((0, inner[:half]), (half, inner[half:])):
        yield b"\x84" + head(0, number) + head(0, len(inner)) + head(0, at) + head(2, len(part)) + part


# a report of reception with a time, about a fragment; a record of a type that nobody knows
RECORDS = ("8201868482f51b000000c8b5ff6b4081f481f481f4008202820201821b000000c8b5ff6b400118181864", "821903e8420102")


def templates(lab):
    """Bundles of all kinds, with and without check values: without them a mutation comes further."""
    out, n = [], 0
    for words in TEMPLATES:
        for crc in CRCS:
            out.append(make(lab, words, crc, n, b"a payload of some bytes " * 3))
            n += 1
    for record in RECORDS:
        out.append(make(lab, "-s ipn:2.0 -d ipn:1.0 -f admin", CRCS[0], n, bytes.fromhex(record)))
        n += 1
    inner = out[0]
    for depth in range(4):
        for payload in encapsulations(inner, depth):
            out.append(make(lab, "-s ipn:2.1 -d ipn:1.12", CRCS[0], n, payload))
            n += 1
        inner = out[-3]
    return out


def mutate(r, pool):
    b = bytearray(r.choice(pool))
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        at, kind = r.randrange(len(b)), r.random()
        if kind < 0.45:
            b[at] = r.randrange(256)
        elif kind < 0.6:
            b[at] ^= 1 << r.randrange(8)
        elif kind < 0.7:
            del b[at:at + r.randrange(1, 9)]
        elif kind < 0.8:
            b[at:at] = bytes(r.randrange(256) for _ in range(r.randrange(1, 9)))
        elif kind < 0.9:  # a head of CBOR with a number at an edge
            b[at:at + 1] = bytes([r.randrange(8) << 5 | 27]) + r.choice((0, 2**32, 2**63, 2**64 - 1)).to_bytes(8, "big")
        else:
            other = r.choice(pool)
            b = b[:at] + other[r.randrange(len(other)):]
        if len(b) == 0:
            return bytes([r.randrange(256)])
    return bytes(b)


def subscribe(lab, seen):
    c = aap2.Client(lab.socket(1), timeout=None)
    assert c.configure("ipn:1.7", subscribe=True, window=64) == aap2.SUCCESS

    def run():
        try:
            while True:
                seen.append(c.delivery()[1])
        except (EOFError, OSError, ValueError):
            pass
    threading.Thread(target=run, daemon=True).start()
    return c


def received(lab):
    return lab.control(1, "links")["links"][0]["datagrams_rx"]


def attack(lab, peer, count, seed, seen):
    r, pool = random.Random(seed), templates(lab)
    intact = 0
    for i in range(count):
        if i % INTACT == 0:
            path = lab.path("intact.cbor")
            subprocess.run([lab.program("helio-bundle"), "make", "-s", "ipn:2.8", "-d", "ipn:1.7", "--sequence", str(100 + i),
                            "--text", f"intact {i}", "-o", path], check=True)
            with open(path, "rb") as f:
                peer.send(f.read(), True)
            intact += 1
        peer.send(mutate(r, pool), r.random() < 0.1)
        if i % BATCH == BATCH - 1:
            wait_for_node(lab, peer)
    wait_for_node(lab, peer)
    end = time.monotonic() + 300
    while intact > sum(p.startswith(b"intact ") for p in set(seen)):
        if time.monotonic() > end:
            raise Failed(f"of {intact} bundles that were as they should be only {sum(p.startswith(b'intact ') for p in set(seen))} came")
        time.sleep(0.05)
    return intact


def wait_for_node(lab, peer):
    end = time.monotonic() + 300
    while True:
        peer.answer()
        if received(lab) >= peer.sent:
            return
        if time.monotonic() > end:
            raise Failed(f"the node counts {received(lab)} of {peer.sent} datagrams:{lab.why('node1')}")


def main(programs, out, count=COUNT, seed=SEED):
    shutil.rmtree(out, ignore_errors=True)
    seen = []
    with Lab(programs, out) as lab:
        node, port = lab.udp_ports(2)
        keys = lab.link(2, node, port, rto="50ms", retries=2, socket_buffer="8MiB", import_sessions=4096, import_sessions_all=8192)
        tunnel = {"name": "tunnel", "adapter": "bibe", "peer": "ipn:6.0", "local": "ipn:1.12", "remote": "ipn:6.12",
                  "any_source": "yes", "memory": "10kB", "transfers": 8, "hold": "1s"}
        p = lab.start_node(1, lab.write_node(1, [keys, tunnel], f"{{path: {lab.path('store')}, durability: async, limit: 256MiB}}", log=False,
                                             extra="echo: 3\nbundles: {status_reports: yes, report_rate: 100, hop_limit: 9}\n"))
        peer = Peer(port, node)
        app = subscribe(lab, seen)
        intact = attack(lab, peer, count, seed, seen)
        counters = lab.control(1, "counters")
        link, tunnel = (next(x for x in counters["links"] if x["name"] == name) for name in ("to-2", "tunnel"))
        app.close()
        lab.stop("node1", p)
    judge(counters, link, tunnel, peer)
    print(f"{count} mutants, {intact} intact ones: all of these arrived, {len(seen) - intact} mutants besides")


def judge(counters, link, tunnel, peer):
    """Every datagram has a verdict; every bundle offered was taken or refused for a reason; every one taken is somewhere."""
    a = counters["agent"]
    taken = a["received"] + a["accepted_local"]
    pairs = {"datagrams, verdicts": (peer.sent, sum(link["verdicts"].values())),
             "blocks, bundles of the link": (peer.blocks, link["bundles_received"]),
             "bundles of links, applications and node, offered": (peer.blocks + tunnel["received"] + tunnel["encapsulated"] +  # with those tried again
                                                                  a["reports_sent"] + counters["node"]["echoed"], a["offered"]),
             "offered, taken and refused": (a["offered"], taken + a["consumed"] + a["storing"] + sum(a["refused"].values())),
             "taken, held and ended": (taken, a["held"] - a["storing"] + sum(a["ended"].values()))}
    for what, (left, right) in pairs.items():
        if left != right:
            raise Failed(f"{what}: {left} and {right} differ")
    if a["received"] < peer.blocks // 100 or a["refused"]["malformed bundle"] < peer.blocks // 2:
        raise Failed(f"mutations that hardly test: {a}")
    thrown = tunnel["thrown_away"]
    if not (tunnel["bundles_received"] and tunnel["segments_received"] and thrown["malformed"] and a["records_ignored"]):
        raise Failed(f"mutations that hardly test: {tunnel}")


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
    except Failed as e:
        sys.exit(f"mutants_test: {e}")
