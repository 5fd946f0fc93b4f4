# SPDX-License-Identifier: Apache-2.0
"""Bundles that RFC 9171 does not have, or hardly: lengths without end, huge endpoint ids, records of any size, bundles in bundles, check values."""
import itertools
import os
import socket
import struct
import time

from attack import cpu_seconds, main, paced
from bundle_wire import EPOCH, REPORTS, block, bundle, crc16, eid, head
from tcpcl_wire import flood, segment

PEERS = 2
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
TUNNEL = 12  # service of the BIBE link
ADMINISTRATIVE = 2
MOST = 2**64 - 1
BATCH = 64
A_SECOND = 5000  # datagrams


def now_ms():
    return (int(time.time()) - EPOCH) * 1000


def text_eid(octets):
    return b"\x82\x01" + head(octets, 3) + (b"//" + b"a" * octets)[:octets]


def primary(source=None, destination=None, report_to=None, created=None, sequence=0, lifetime=b"\x1a\x00\x36\xee\x80", flags=0, crc=1, version=7):
    """A primary block of any encoded fields; crc: its type; a wrong one beyond 2."""
    fields = head(version) + head(flags) + head(crc if crc < 3 else 1) + (destination or eid(2, 77)) + (source or eid(9, 66)) + (report_to or eid(9, 0))
    fields += b"\x82" + head(now_ms() if created is None else created) + head(sequence) + lifetime
    if crc == 0:
        return b"\x88" + fields
    if crc == 2:
        return b"\x89" + fields + b"\x44\x00\x00\x00\x00"
    out = b"\x89" + fields + b"\x42"
    return out + struct.pack(">H", crc16(out + b"\0\0") ^ (crc > 2))


def whole(first, blocks=b"", payload=b"x"):
    return b"\x9f" + first + blocks + block(1, 1, payload) + b"\xff"


def endpoints(k):
    """Names of up to 20,000 octets, of schemes and services that there are not."""
    names = (text_eid(1000), text_eid(20000), b"\x82\x18\x2a" + head(3, 4) + b"\x01\x02\x03", b"\x82\x02\x83\x01\x02\x03", b"\x82\x02\x82" + head(MOST) + head(MOST),
             b"\x82\x1b" + b"\xff" * 8 + b"\x40", b"\x82\x01\x00", b"\x82\x02" + b"\x9f\x09\x01\xff", b"\x82\x03\x80", text_eid(1), b"\xf6", b"\x9f" * 30 + b"\xff" * 30)
    field = ("source", "destination", "report_to")[k % 3]
    return whole(primary(sequence=k, **{field: names[k // 3 % len(names)]}))


def endless(k):
    """Items of no definite length, in one another; lengths that are not there."""
    shapes = (b"\x9f" * 1000, b"\x9f" + primary(sequence=k) + b"\x9f" * 20000, b"\x9f" + primary(sequence=k) + b"\x85\x01\x01\x00\x00\x5f" + b"\x41x" * 5000 + b"\xff\xff",
              b"\x9f" + primary(sequence=k) + b"\x85\x01\x01\x00\x00\x5b" + b"\xff" * 8, b"\x9b" + b"\xff" * 8 + primary(sequence=k),
              b"\x9f" + primary(sequence=k) + b"\x9f\x01\x01\x00\x00\x41x\xff\xff", b"\x9f" + primary(sequence=k), b"\x9f" + b"\x9f" + primary(sequence=k)[1:] + b"\xff\xff",
              b"\xd9\xd9\xf7" * 3000 + whole(primary(sequence=k)), whole(primary(sequence=k)) + b"x", b"\x82" * 30000)
    return shapes[k % len(shapes)]


def times(k):
    """Created at 0, in the future, at 2^64-1; lives of nothing and of 2^64-1."""
    edges = (0, 1, now_ms(), now_ms() + 10**12, MOST - 1, MOST)
    return whole(primary(created=edges[k % 6], sequence=(k, MOST, 0)[k // 6 % 3], lifetime=head((0, 1, 3600000, MOST - 1, MOST)[k % 5])), blocks=(b"", block(7, 2, head(MOST)))[k % 2])


def checks(k):
    """All types of check value, right and wrong, of the primary block and of others."""
    odd = b"\x86" + head(200) + head(2) + b"\x00" + head(1 + k % 3) + b"\x41x" + (b"\x42\0\0", b"\x44\0\0\0\0", b"\x40")[k // 3 % 3]
    return whole(primary(sequence=k, crc=(0, 1, 2, 3)[k % 4], version=(7, 7, 7, 6, 8)[k % 5]), blocks=odd)


def records(k):
    """Administrative records for the node, of any size: status reports of absurd times and reasons, unknown types, and such as ask for reports."""
    status = b"\x82\x01\x84\x84" + b"\x82\xf5" + head(MOST) + b"\x81\xf5" * 3 + head(k % 300) + eid(2, 1) + b"\x82" + head(MOST) + head(k)
    shapes = (status, status + b"x" * 5, b"\x82\x01\x84\x9b" + b"\xff" * 8, b"\x82\x01" + b"\x81" * 10000, b"\x82" + head(MOST) + b"\x80", b"\x82\x03" + b"\x40", b"\xa0",
              b"\x82\x01\x84\x84\x81\xf4\x81\xf4\x81\xf4\x81\xf4\x00" + text_eid(10000) + b"\x82\x00\x00", b"\x82\x01\x86" + status[3:] + head(MOST) + head(MOST), b"")
    flags = ADMINISTRATIVE | (REPORTS if k % 3 == 0 else 0)
    return whole(primary(sequence=k, destination=eid(2, 0), report_to=eid(2, 0) if k % 2 else None, flags=flags), payload=shapes[k % len(shapes)])


def reports(k):
    """All reports are asked for, to be sent to the node itself, to its echo, to the neighbour, to nobody."""
    to = (eid(2, 0), eid(2, 128), eid(9, 0), eid(10, 128), b"\x82\x01\x00", eid(2, 2000))[k % 6]
    return whole(primary(sequence=k, destination=(eid(2, 77), eid(2, 128), eid(2, 0), eid(5, 5))[k % 4], report_to=to, lifetime=head(1000), flags=REPORTS))


def nested(k):
    """A hundred bundles in one another for the tunnel, or one of them many times."""
    inner = bundle((9, 66), (2, 77), k)
    for _ in range((100, 1, 5)[k % 3]):
        inner = bundle((9, TUNNEL), (2, TUNNEL), k, payload=(inner, b"\x9f" * 30, b"\x82\x04" + head(len(inner), 2) + inner)[0 if k % 5 else k % 3])
    return inner


def extension_blocks(k):
    """Blocks of known types with what they cannot have, twice, with numbers that are taken, and flags that ask for the bundle's end."""
    kinds = (6, 7, 10, 11, 12, 192, 193, 1, 0, MOST)
    data = (b"", b"\xff", head(MOST), b"\x82" + head(MOST) + head(MOST), b"\x81" * 2000, eid(9, 0))[k % 6]
    flags = (0, 1, 2, 4, 16, 0x17, MOST)[k % 7]
    return whole(primary(sequence=k), blocks=b"".join(block(kinds[(k + i) % 10], (2 + i) if k % 4 else 1 + i % 2, data, flags) for i in range(1 + k % 12)))


KINDS = (endpoints, endless, times, checks, records, reports, nested, extension_blocks)


def run(scene, only):
    """Two neighbours over TCPCL send such bundles as fast as node 2 takes them, a third one sends them over UDP; node 3's goodput to it is measured."""
    for number, make in enumerate(KINDS):
        if only not in (-1, number):
            continue
        p3, p2, tcp, udp, odd = scene.ports(5)
        scene.node(3, [scene.link(2, p3, p2, **KEYS)])
        open_to_all = {"name": "in", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}", "tls": "off", "peers": 8}
        node = scene.node(2, [scene.link(3, p2, p3, **KEYS), open_to_all,
                              {"name": "by-udp", "adapter": "udp", "peer": "ipn:8.0", "local": f"127.0.0.1:{udp}", "remote": f"127.0.0.1:{odd}"},
                              {"name": "tunnel", "adapter": "bibe", "peer": "ipn:9.0", "local": f"ipn:2.{TUNNEL}", "remote": f"ipn:9.{TUNNEL}", "any_source": "yes"}],
                          extra="bundles: {status_reports: true}\nroutes:\n  - {to: 'ipn:9.12', via: in}\n")
        scene.receiver(2)

        def by_tcp(peer, make=make, tcp=tcp):
            def go(until):
                os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
                number = itertools.count(peer << 40)
                flood(tcp, until, lambda: b"".join(segment(k, make(k)) for k in itertools.islice(number, BATCH)),
                      source=f"127.0.0.{peer}", name=f"ipn:{peer}.0")
            return go

        def by_udp(until, make=make, udp=udp, odd=odd):
            os.setpriority(os.PRIO_PROCESS, 0, 10)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.bind(("127.0.0.1", odd))
                for k in paced(until, A_SECOND):
                    s.sendto(make((8 << 40) + k)[:60000], ("127.0.0.1", udp))

        def offered():
            agent = scene.control(2, "counters")["agent"]
            return agent["offered"], agent["refused"]

        before = scene.goodput(3, 2)
        used, already, began = cpu_seconds(node.pid), offered()[0], time.monotonic()
        with scene.attack(by_udp, *[by_tcp(peer) for peer in range(9, 9 + PEERS)], settle=2.0):
            during = scene.goodput(3, 2)
            load = (cpu_seconds(node.pid) - used) / (time.monotonic() - began)
        now, refused = offered()
        name = make.__name__
        after = scene.recovery(lambda: scene.goodput(3, 2), before, name)
        scene.figure(name, {"before": before, "during": during, "after": after, "load of node 2": round(load, 2), "offered": now - already, "refused": refused})
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", 0.4)
        scene.bound(f"bundles of the flood, {name}", now - already, ">=", 1000)
        scene.bound(f"RSS, MiB, {name}", scene.rss_peak(node), "<=", 1024 + 64)
        for n in (2, 3):
            scene.end(n)


if __name__ == "__main__":
    main(run, only=-1)
