# SPDX-License-Identifier: Apache-2.0
"""A configured remote entity of helio-cfdp, and others, send it PDUs of every kind, by UDP and as bundles, while another entity sends files."""
import itertools
import os
import pathlib
import random
import socket
import time

import cfdp_wire as cfdp
from attack import main, paced
from bundle_wire import Sender, bundle
from cfdp_case import Entity

A_SECOND = 1000   # PDUs of an attack
SIZE = 3_000_000  # octets of an honest file
RATE = "20Mbit/s"
FIRST = 1000      # the honest entity's transactions have numbers from here on
OUR, HONEST, HOSTILE = 2, 1, 3  # of the hostile ones the first; each kind of PDUs has its own
KEPT = 0.4
TALL = (1 << 64) - 1
OUTSIDE = "outside"  # a folder beside the root, to which a link in the root leads
SERVICE = 64


def garbage(rng, me, seen):
    """Octets, parts of PDUs, headers with lengths that are not true."""
    good = cfdp.pdu(cfdp.metadata("x", 10), me, 1, OUR)
    for number in itertools.count():
        yield (rng.randbytes(rng.randrange(1, 200)), good[:rng.randrange(1, len(good))], b"\x20" + rng.randbytes(rng.randrange(3, 1400)),
               cfdp.pdu(rng.randbytes(20), me, number % 1000, OUR), cfdp.pdu(cfdp.eof(), me, number % 1000, OUR, length=65535))[number % 5]


def numbers(rng, me, seen):
    """Sizes, offsets, ids and transaction numbers near 2^64 and 2^32, some in each place."""
    tops = (TALL, TALL - 1, TALL - 19, 1 << 63, (1 << 63) - 1, 1 << 40, 1 << 32, (1 << 32) - 1)
    for number in itertools.count():
        top, large, id_ = tops[number % len(tops)], number % 16 < 8, TALL - number % 40
        value = top if large else min(top, (1 << 32) - 1)
        make = {"large": large, "numbers": 8, "ids": 1 + number % 8}
        bodies = (cfdp.metadata("tall", value, large=large), cfdp.eof(value, large=large), cfdp.nak(0, value, [(0, value), (value - 1, value)], large=large),
                  cfdp.keep_alive(value, large=large), bytes([cfdp.PROMPT, 0]))
        yield cfdp.pdu(cfdp.file_data(value, rng.randbytes(20), large=large), me, id_, OUR, data=True, **make)
        yield cfdp.pdu(cfdp.file_data(value - 20, rng.randbytes(20), large=large), me, id_ ^ 1 << 63, OUR, data=True, **make)
        yield cfdp.pdu(bodies[number % 5], me, id_, OUR, class_1=number % 3 == 0, **make)
        yield cfdp.pdu(bodies[number % 5], OUR, FIRST + number % 100, me, direction=cfdp.TO_SENDER, **make)


def openings(rng, me, seen):
    """Transactions that begin with metadata, an octet at a high offset or an EOF, of both classes, and are never continued."""
    for number in itertools.count(1):
        yield (cfdp.pdu(cfdp.metadata(f"open{number}", 1 << 20), me, number, OUR, class_1=number % 2 == 0),
               cfdp.pdu(cfdp.file_data(rng.randrange(1 << 30), b"x"), me, number, OUR, data=True),
               cfdp.pdu(cfdp.eof(1 << 30), me, number, OUR))[number % 3]


def gaps(rng, me, seen):
    """Every second octet of files, so that each is a range of its own; and NAKs of hundreds of ranges, or of all, for the file that it asked for."""
    yield cfdp.pdu(cfdp.metadata(b"", options=cfdp.message(cfdp.PUT_REQUEST, bytes([me]), "bait", "mine")), me, 99, OUR, class_1=True)
    yield cfdp.pdu(cfdp.eof(), me, 99, OUR, class_1=True)
    for number in itertools.count():
        yield cfdp.pdu(cfdp.file_data(number // 8 * 2, b"x"), me, 1 + number % 8, OUR, data=True)
        if number % 4 == 0:
            low = rng.randrange(1 << 16)
            ranges = [(low + 2 * i, low + 2 * i + 1) for i in range(160)] if number % 8 else [(0, (1 << 32) - 1)]
            yield cfdp.pdu(cfdp.nak(0, (1 << 32) - 1, ranges), OUR, seen[-1] if seen else FIRST + number // 4 % 8, me, direction=cfdp.TO_SENDER)


def forged(rng, me, seen):
    """Ends of the honest entity's transactions, whose numbers are known: cancels, Finished, ACKs, NAKs, other contents."""
    for number in itertools.count():
        of = FIRST + number % 200
        for body in (cfdp.eof(condition=15), cfdp.eof(5), cfdp.metadata("other", 5), bytes([cfdp.PROMPT, 128]), cfdp.ack(cfdp.FINISHED, 0, 2)):
            yield cfdp.pdu(body, HONEST, of, OUR)
            yield cfdp.pdu(body, HONEST, of, OUR, class_1=True)
        yield cfdp.pdu(cfdp.file_data(rng.randrange(SIZE), b"forged"), HONEST, of, OUR, data=True)
        for body in (cfdp.finished(4), cfdp.finished(), cfdp.nak(0, SIZE, [(0, SIZE)]), cfdp.ack(cfdp.EOF), cfdp.keep_alive(0)):
            yield cfdp.pdu(body, OUR, of, HONEST, direction=cfdp.TO_SENDER)


def requests(rng, me, seen):
    """Filestore requests that lead out of the root, by .., absolute names and links, and into the program's own folder."""
    names = ("../" + OUTSIDE + "/made", "a/../../" + OUTSIDE + "/made", "link/made", "link", "/../" + OUTSIDE + "/made", "/etc/passwd", ".helio-cfdp/lock",
             ".helio-cfdp/sequence", "./a", "a//../b", "x\ny", "..", "", "linked")
    for number in itertools.count(1):
        name, other = rng.choice(names), rng.choice(names)
        action = number % 9
        both = (name, other) if action in (cfdp.RENAME, cfdp.APPEND, cfdp.REPLACE) else (name,)
        options = cfdp.request(action, *both) + cfdp.request(cfdp.DELETE, "linked")
        yield cfdp.pdu(cfdp.metadata(b"", options=options), me, number, OUR, class_1=True)
        yield cfdp.pdu(cfdp.eof(), me, number, OUR, class_1=True)
        yield cfdp.pdu(cfdp.metadata(name, 0), me, number | 1 << 30, OUR, class_1=True)  # a file with such a name
        yield cfdp.pdu(cfdp.eof(), me, number | 1 << 30, OUR, class_1=True)


def proxies(rng, me, seen):
    """Proxy put requests for files of ours: to the honest entity, to us, to nobody, and back; listings; and proxies within."""
    for number in itertools.count(1):
        to = (HONEST, OUR, 77, me)[number % 4]
        asked = cfdp.message(cfdp.PUT_REQUEST, bytes([to]), rng.choice(("bait", "../" + OUTSIDE + "/secret", "link/secret", "linked")), f"from{number}")
        if number % 5 == 0:
            asked = cfdp.message(cfdp.LISTING_REQUEST, rng.choice(("", "..", "link", ".helio-cfdp")), f"list{number}")
        yield cfdp.pdu(cfdp.metadata(b"", options=asked), me, number, OUR, class_1=True)
        yield cfdp.pdu(cfdp.eof(), me, number, OUR, class_1=True)


def tiny_files(rng, me, seen):
    """Whole files without octets, which it may send."""
    for number in itertools.count(1):
        yield cfdp.pdu(cfdp.metadata(f"tiny/{number}"), me, number, OUR, class_1=True)
        yield cfdp.pdu(cfdp.eof(), me, number, OUR, class_1=True)


MEETS = {"openings": "started", "gaps": "naks_in", "requests": "started", "proxies": "refused", "tiny_files": "finished"}  # counters that show it
LEAST = 20

KINDS = (garbage, numbers, openings, forged, requests, tiny_files, gaps, proxies)  # the last ones ask for files, which then wait for their link


def note_numbers(pdu, seen):
    """The numbers of transactions that we send to it."""
    if len(pdu) > 9 and pdu[3] & 0x77 == 3 and pdu[4] == OUR:
        seen.append(int.from_bytes(pdu[5:9], "big"))
        del seen[:-8]


class Attacker:
    """Sends PDUs as a hostile entity has its address, an eighth as nobody."""

    def __init__(self, port, own):
        self.port, self.own = port, own

    def by_udp(self, kind, me):
        def attack(until):
            rng, seen, known, unknown = random.Random(1), [], *(socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
            known.bind(("127.0.0.9", self.own[me]))
            unknown.bind(("127.0.0.8", 0))
            known.setblocking(False)
            for number, octets in zip(paced(until, A_SECOND), kind(rng, me, seen)):
                try:
                    (unknown if number % 8 == 7 else known).sendto(octets, ("127.0.0.1", self.port))
                    while True:
                        note_numbers(known.recv(1 << 16), seen)
                except OSError:
                    pass
        return attack

    def by_bundles(self, kind, me):
        def attack(until):
            rng, s = random.Random(1), Sender(self.port, HOSTILE)
            for number, octets in zip(paced(until, A_SECOND), kind(rng, me, [])):
                source = (HOSTILE, SERVICE + (me if number % 8 != 7 else 0))
                s.send(bundle(source, (OUR, SERVICE), number, payload=octets, lifetime_ms=60000))
        return attack


class Pair:
    """The honest entity and ours, as daemons; what they send to each other goes on during an attack."""

    def __init__(self, scene, folder, **addresses):
        folder = pathlib.Path(scene.lab.path(folder))
        os.makedirs(folder)
        self.scene, self.count, self.lost = scene, 0, 0
        self.whole, self.secret = random.Random(7).randbytes(SIZE), b"nobody's\n"
        (folder / OUTSIDE).mkdir()
        (folder / OUTSIDE / "secret").write_bytes(self.secret)
        self.honest, self.ours = (Entity(scene.lab.program("helio-cfdp"), folder, n, sync="no") for n in (HONEST, OUR))
        (self.ours.root / "link").symlink_to(folder / OUTSIDE)
        (self.ours.root / "linked").symlink_to(folder / OUTSIDE / "secret")
        (self.ours.root / "bait").write_bytes(self.whole)
        (self.honest.root / "file").write_bytes(self.whole)
        for e in (self.honest, self.ours):
            e.number_from(FIRST)
        self.folder, self.addresses = folder, addresses

    def add(self, whose, entity, where, **keys):
        whose.add(entity, **{"rate": RATE, "inactivity": "60s", **where, **keys})

    def start(self):
        self.processes = [self.scene.start(f"{self.folder.name}-{e.entity}", "helio-cfdp", "daemon", str(e.write())) for e in (self.honest, self.ours)]
        end = time.monotonic() + 60
        while any(e.ask("status").returncode for e in (self.honest, self.ours)) and time.monotonic() < end:
            time.sleep(0.1)

    def transfer(self):
        """Mbit/s of a file by class 2; then one by class 1, which counts as lost unless it is there, whole, 10 s later."""
        self.count += 1
        name, other, began = f"good{self.count}", f"plain{self.count}", time.monotonic()
        done = self.honest.ask("put", "file", OUR, name, "--class", "2")
        took = time.monotonic() - began
        good = done.returncode == 0 and (self.ours.root / name).read_bytes() == self.whole
        self.honest.ask("put", "file", OUR, other, "--class", "1")
        end, path = time.monotonic() + 10, self.ours.root / other
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.05)
        self.lost += not path.exists() or path.read_bytes() != self.whole
        for p in (self.ours.root / name, path):
            p.unlink(missing_ok=True)
        return round(SIZE * 8e-6 / took, 3) if good else 0.0

    def play(self, way, attackers, kinds):
        scene = self.scene
        for me, kind in enumerate(kinds, HOSTILE):
            name, reached = f"{kind.__name__}, {way}", MEETS.get(kind.__name__)
            before = self.ours.status()["counts"]
            phases = scene.phases(self.transfer, attackers(kind, me), name=name, settle=1.5, least={"sent": 5000})
            after = self.ours.status()["counts"]
            scene.took_place(f"PDUs, {name}", after["pdus_in"] - before["pdus_in"], A_SECOND)
            if reached:
                scene.took_place(f"{reached}, {name}", after[reached] - before[reached], LEAST)
            scene.bound(f"goodput kept, {name}", phases["during_ratio"], ">=", KEPT)
        scene.figure(f"counts, {way}", self.ours.status()["counts"])
        scene.figure(f"files of class 1, and lost ones, {way}", (self.count, self.lost))
        scene.bound(f"files outside of the root, {way}", sorted(p.name for p in (self.folder / OUTSIDE).iterdir()), "==", ["secret"])
        scene.bound(f"the file outside is changed, {way}", (self.folder / OUTSIDE / "secret").read_bytes() != self.secret, "==", False)
        scene.bound(f"files beside the root, {way}", sorted(p.name for p in self.ours.folder.iterdir()), "==", sorted(("config.yaml", "control.sock", "root")))
        scene.bound(f"files at the honest entity, {way}", sorted(p.name for p in self.honest.root.iterdir()), "==", [".helio-cfdp", "file"])
        for whose, p in zip(("honest", "ours"), self.processes):
            scene.bound(f"the entity runs, {whose}, {way}", p.poll(), "==", None)
            scene.bound(f"RSS, MiB, {whose}, {way}", scene.rss_peak(p), "<=", 256)


def by_udp(scene):
    own = dict(enumerate(scene.ports(len(KINDS)), HOSTILE))
    pair = Pair(scene, "udp")
    pair.add(pair.honest, OUR, {"address": f"127.0.0.1:{pair.ours.port}"})
    pair.add(pair.ours, HONEST, {"address": f"127.0.0.1:{pair.honest.port}"})
    for me, port in own.items():
        pair.add(pair.ours, me, {"address": f"127.0.0.9:{port}"}, allow="[put, get, list, change]")
    pair.start()
    pair.play("UDP", Attacker(pair.ours.port, own).by_udp, KINDS)


def by_bundles(scene):
    tcp, entry = scene.ports(2)
    link = {"adapter": "tcpcl", "tls": "off"}
    scene.node(1, [{**link, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{tcp}"}])
    scene.node(2, [{**link, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}"},
                   {**link, "name": "from-3", "peer": f"ipn:{HOSTILE}.0", "local": f"127.0.0.1:{entry}"}])
    pair = Pair(scene, "bundles")
    for e, number in ((pair.honest, 1), (pair.ours, 2)):
        e.top |= {"listen": None, "socket": scene.lab.socket(number), "service": SERVICE}
    keys = {"segment": 16000}
    pair.add(pair.honest, OUR, {"endpoint": f"ipn:2.{SERVICE}"}, **keys)
    pair.add(pair.ours, HONEST, {"endpoint": f"ipn:1.{SERVICE}"}, **keys)
    for me in range(HOSTILE, HOSTILE + len(KINDS)):
        pair.add(pair.ours, me, {"endpoint": f"ipn:{HOSTILE}.{SERVICE + me}"}, allow="[put, get, list, change]")
    pair.start()
    pair.play("bundles", Attacker(entry, None).by_bundles, KINDS)
    scene.bound("class 1 files lost over bundles", pair.lost, "==", 0)


def run(scene):
    """1,000 PDUs a second as a configured remote entity sends them, an eighth from another address: garbage, numbers near 2^64, transactions that are
    never continued, gaps and NAKs, forged ends of others' transactions, names that lead out of the root, proxy requests, tiny files."""
    by_udp(scene)
    by_bundles(scene)


if __name__ == "__main__":
    main(run)
