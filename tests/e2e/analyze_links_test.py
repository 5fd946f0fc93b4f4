# SPDX-License-Identifier: Apache-2.0
"""One small exchange, whose table of sessions is known by hand, in every dress that a capture can give it: link types,
VLAN tags, IPv4 and IPv6, formats and their clocks, fragments, joined datagrams, snap lengths, ports, either end.
usage: analyze_links_test.py BIN"""

import csv
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile

BIN = sys.argv[1]
T0 = 1_700_000_000_000_000_000
MS = 1_000_000


def sdnv(v):
    out = [v & 0x7F]
    while v > 0x7F:
        v >>= 7
        out.insert(0, v & 0x7F | 0x80)
    return bytes(out)


def segment(kind, session, body, extensions=0):
    head = bytes([kind]) + sdnv(1) + sdnv(session) + bytes([extensions << 4])
    return head + b"\x99\x02ab" * extensions + body


def data(kind, session, offset, length, cp=None, answers=0, **more):
    serials = b"" if cp is None else sdnv(cp) + sdnv(answers)
    return segment(kind, session, sdnv(1) + sdnv(offset) + sdnv(length) + serials + bytes(length), **more)


def report(session, serial, cp, lower, upper, *claims):
    """Claims are pairs of offset from `lower` and length."""
    body = sdnv(serial) + sdnv(cp) + sdnv(upper) + sdnv(lower) + sdnv(len(claims))
    return segment(8, session, body + b"".join(sdnv(o) + sdnv(n) for o, n in claims))


def ack(session, serial):
    return segment(9, session, sdnv(serial))


# Session 7, 3000 bytes: the middle segment and the first checkpoint are lost. 10 ms in one direction. Of each segment: when it
# was sent, from the sender (True) or to it, whether it came, its bytes.
EXCHANGE = [
    (0, True, True, data(0, 7, 0, 1000, extensions=1)),
    (1, True, False, data(0, 7, 1000, 1000)),
    (2, True, False, data(3, 7, 2000, 1000, 50)),
    (32, True, True, data(3, 7, 2000, 1000, 50)),
    (42, False, True, report(7, 90, 50, 0, 3000, (0, 1000), (2000, 1000))),
    (52, True, True, ack(7, 90)),
    (53, True, True, data(1, 7, 1000, 1000, 51, 90)),
    (63, False, True, report(7, 91, 51, 1000, 2000, (0, 1000))),
    (73, True, True, ack(7, 91)),
]
SENDER = {
    "originator": "1", "session": "7", "colour": "red", "role": "sender", "client_service": "1",
    "block_bytes": "3000", "red_bytes": "3000", "outcome": "done", "cancel_reason": "",
    "t_first_tx_ns": str(T0), "t_close_ns": str(T0 + 73 * MS), "duration_ms": "73.000000", "radiation_ms": "2.000000",
    "first_rx_ms": "", "delivery_ms": "", "segments_sent": "5", "segments_first": "3", "segments_resent": "2",
    "segments_received": "", "duplicates": "", "out_of_order": "", "data_sent": "5000", "data_resent": "2000",
    "reports": "2", "retx_cycles": "1", "cp_sent": "3", "cp_lost": "1", "cp_lost_basis": "rto", "cp_lost_run": "1",
    "rto_checkpoint": "1", "rto_report": "", "rto_ms": "30.000000", "dropped": "", "lossy": "1",
}
RECEIVER = {
    "role": "receiver", "peer": "2", "outcome": "done", "t_first_tx_ns": "", "t_close_ns": str(T0 + 83 * MS),
    "duration_ms": "73.000000", "segments_sent": "", "segments_received": "3", "duplicates": "0", "out_of_order": "0",
    "cp_lost": "", "cp_lost_basis": "", "rto_report": "0", "block_bytes": "3000", "red_bytes": "3000",
}
BOTH = {**SENDER, "role": "both", "peer": "2", "segments_received": "3", "duplicates": "0", "out_of_order": "0",
        "cp_lost_basis": "receiver_log", "rto_report": "0", "first_rx_ms": "10.000000", "delivery_ms": "63.000000"}


def at(end):
    """What is seen at one end: time, from the sender, bytes."""
    seen = []
    for t, out, came, payload in EXCHANGE:
        here = out == (end == "sender")
        if here or came:
            seen.append((T0 + (t if here else t + 10) * MS, out, payload))
    return seen


def udp(payload, ports):
    return struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload


def ipv4(out, body, part=0, ident=1, more=False):
    ends = ((10, 0, 0, 1), (10, 0, 0, 2))
    source, target = ends if out else ends[::-1]
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(body), ident, part | 0x2000 * more, 64, 17, 0, bytes(source),
                       bytes(target)) + body


def ipv6(out, body, extra=b"", following=17):
    ends = (bytes(15) + b"\x01", bytes(15) + b"\x02")
    source, target = ends if out else ends[::-1]
    return struct.pack(">IHBB", 0x60000000, len(extra) + len(body), following, 64) + source + target + extra + body


def ethernet(kind, packet, tags=b""):
    return bytes(12) + tags + struct.pack(">H", kind) + packet + bytes(max(0, 46 - len(packet)))


def cooked(out, kind, packet):
    return struct.pack(">HHH8sH", 4 if out else 0, 1, 6, bytes(8), kind) + packet


def cooked2(out, kind, packet):
    return struct.pack(">HHIHBB8s", kind, 0, 1, 1, 4 if out else 0, 6, bytes(8)) + packet


def pcap(link, frames, nano=True, order="<", snap=65535):
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    for t, frame in frames:
        rest = t % 10**9 // (1 if nano else 1000)
        out += struct.pack(order + "IIII", t // 10**9, rest, min(len(frame), snap), len(frame)) + frame[:snap]
    return out


def pcapng(link, frames):
    def block(kind, body):
        size = 12 + len(body)
        return struct.pack("<II", kind, size) + body + struct.pack("<I", size)
    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack("<HHIHHB3xHH", link, 0, 0, 9, 1, 9, 0, 0))
    for t, frame in frames:
        out += block(6, struct.pack("<IIIII", 0, t >> 32, t & 0xFFFFFFFF, len(frame), len(frame))
                     + frame + bytes(-len(frame) % 4))
    return out


def pcapng_of_two(frames, order, digits):
    """Two interfaces take turns; the second one's clock counts in 10^-digits seconds, the first one's in microseconds."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack(order + "II", kind, 12 + len(body)) + body + struct.pack(order + "I", 12 + len(body))

    out = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    for n in (6, digits):
        out += block(1, struct.pack(order + "HHIHHB3xHH", 1, 0, 0, 9, 1, n, 0, 0))
    for i, (t, packet) in enumerate(frames):
        frame, t = ethernet(0x800, packet), t // 10**(9 - (6, digits)[i % 2])
        out += block(6, struct.pack(order + "IIIII", i % 2, t >> 32, t & 0xFFFFFFFF, len(frame), len(frame)) + frame)
    return out


def plain(seen, ports=(1113, 1113)):
    return [(t, ipv4(out, udp(payload, ports if out else ports[::-1]))) for t, out, payload in seen]


def analyse(folder, captures, *arguments, code=0):
    """captures: the bytes of files. Returns the table of sessions and the summary."""
    paths = []
    for content in captures:
        paths.append(os.path.join(folder, f"{len(paths)}.pcap"))
        with open(paths[-1], "wb") as f:
            f.write(content)
    out = os.path.join(folder, "tables")
    done = subprocess.run([os.path.join(BIN, "helio-analyze"), "--tables", out, *arguments, *paths],
                          capture_output=True, text=True, timeout=1400, check=False)
    assert done.returncode == code, done.stderr
    if code != 0:
        return done.stderr, None
    with open(os.path.join(out, "sessions.csv"), newline="", encoding="ascii") as f:
        rows = list(csv.DictReader(f))
    with open(os.path.join(out, "summary.json"), encoding="ascii") as f:
        return rows, json.load(f)


def expect(what, folder, captures, row, *arguments, **counters):
    rows, summary = analyse(folder, captures, *arguments)
    assert len(rows) == 1, (what, rows)
    for column, value in row.items():
        assert rows[0][column] == value, (what, column, value, rows[0][column])
    for name, value in counters.items():
        assert summary["capture"][name] == value, (what, name, value, summary["capture"])


def dresses(end):
    """Pairs of a name and a file, all of the same traffic."""
    seen = at(end)

    def frames(make):
        return [(t, make(out, udp(payload, (1113, 1113)))) for t, out, payload in seen]

    local = end == "sender"
    v4, v6 = frames(ipv4), frames(ipv6)
    yield "raw", pcap(101, v4)
    yield "microseconds", pcap(101, v4, nano=False)
    yield "the other order of bytes", pcap(101, v4, order=">")
    yield "pcapng", pcapng(101, v4)
    yield "gzip", gzip.compress(pcap(101, v4))
    yield "raw IPv6", pcap(101, v6)
    yield "link type IPv4", pcap(228, v4)
    yield "Ethernet", pcap(1, [(t, ethernet(0x0800, p)) for t, p in v4])
    yield "Ethernet IPv6", pcap(1, [(t, ethernet(0x86DD, p)) for t, p in v6])
    tags = b"\x88\xa8\x00\x05\x81\x00\x00\x06"
    yield "two VLAN tags", pcap(1, [(t, ethernet(0x0800, p, tags)) for t, p in v4])
    yield "loopback", pcap(0, [(t, struct.pack("<I", 2) + p) for t, p in v4])
    yield "loopback, network order", pcap(108, [(t, struct.pack(">I", 30) + p) for t, p in v6])
    yield "cooked", pcap(113, [(t, cooked(out == local, 0x0800, p)) for (t, out, _), (_, p) in zip(seen, v4)])
    yield "cooked v2", pcap(276, [(t, cooked2(out == local, 0x86DD, p)) for (t, out, _), (_, p) in zip(seen, v6)])
    yield "IPv6 with a header before", pcap(101, frames(lambda out, u: ipv6(out, u, b"\x11" + bytes(7), 0)))
    ports = [(t, ipv4(out, udp(payload, (40000, 1113)))) for t, out, payload in seen]
    yield "both send from another port", pcap(101, ports)
    yield "ports that are not LTP's", pcap(101, plain(seen, (4000, 5000)))


def check_dresses(folder):
    for name, content in dresses("sender"):
        expect(name, folder, [content], SENDER, "--engine", "10.0.0.2=2")
    for name, content in dresses("receiver"):
        expect(name, folder, [content], RECEIVER, "--engine", "10.0.0.2=2", "--engine", "::2=2")
    for place, row in (("sender", SENDER), ("receiver", RECEIVER)):
        expect("given", folder, [pcap(101, plain(at(place)))], row, "--at", place, "--engine", "10.0.0.2:1113=2")
    one, two = (pcap(101, plain(at(end))) for end in ("sender", "receiver"))
    expect("both", folder, [two, one], BOTH, "--engine", "10.0.0.2=2")
    # nobody says who the receiver is
    expect("no name", folder, [one], {**SENDER, "peer": ""})


def check_fragments(folder):
    whole, lost = [], []
    for i, (t, out, payload) in enumerate(at("sender")):
        body = udp(payload, (1113, 1113))
        if len(body) < 600:
            whole.append((t, ipv4(out, body)))
            lost.append((t, ipv4(out, body)))
            continue
        parts = [ipv4(out, body[:600], 0, i, True), ipv4(out, body[600:], 75, i)]
        whole += [(t, parts[1]), (t, parts[0])]
        lost += [(t, parts[0])] if i == 1 else [(t, p) for p in parts]
    expect("fragments", folder, [pcap(101, whole)], SENDER, fragments=10, fragments_lost=0, segments=9)
    expect("a lost fragment", folder, [pcap(101, lost)], {"segments_sent": "4", "outcome": "done"},
           fragments=9, fragments_lost=1, segments=8)
    six = []
    for i, (t, out, payload) in enumerate(at("sender")):
        body = udp(payload, (1113, 1113))
        for start in range(0, len(body), 504):
            more = start + 504 < len(body)
            extra = struct.pack(">BBHI", 17, 0, start | more, i)
            six.append((t, ipv6(out, body[start:start + 504], extra, 44)))
    expect("IPv6 fragments", folder, [pcap(101, six)], SENDER, fragments_lost=0, segments=9)


def check_cut(folder):
    """Heads are enough; what is cut within a head is counted."""
    short = pcap(101, plain(at("sender")), snap=80)
    expect("snap length", folder, [short], SENDER, snapped=5, snapped_unusable=0)
    _, summary = analyse(folder, [pcap(101, plain(at("sender")), snap=36)])
    assert summary["capture"]["snapped_unusable"] > 0
    joined = [(t, out, p) for t, out, p in at("sender") if t != T0 + MS]
    joined[0] = (T0, True, EXCHANGE[0][3] + EXCHANGE[1][3])
    expect("joined datagrams", folder, [pcap(101, plain(joined))], {**SENDER, "segments_sent": "5"}, packets=8, segments=9)


def check_interfaces(folder):
    for order in "<>":
        for digits in (6, 7, 9):
            expect(f"interfaces {order} {digits}", folder, [pcapng_of_two(plain(at("sender")), order, digits)], SENDER)
    mixed = bytearray(pcapng_of_two(plain(at("sender")), "<", 6))
    second = 28 + 32 + 8
    assert mixed[second] == 1
    mixed[second] = 113
    error, _ = analyse(folder, [bytes(mixed)], code=1)
    assert "0.pcap: " in error and "interface" in error, error


def check_ends_early(folder):
    """What the last packet's beginning is there of, is reported and not used; with --strict it is an error."""
    frames = plain(at("sender"))
    for name, make in (("pcap", pcap), ("pcapng", pcapng)):
        whole = make(101, frames + frames[-1:])
        path = os.path.join(folder, "early." + name)
        for content in (whole[:-9], gzip.compress(whole[:-9]), gzip.compress(whole, 0)[:-40]):
            with open(path, "wb") as f:
                f.write(content)
            done = subprocess.run([os.path.join(BIN, "helio-analyze"), "--json", path], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert f"early.{name}:{len(frames) + 1}: malformed row: the capture ends within this packet" in done.stderr, done.stderr
            summary = json.loads(done.stdout)
            assert summary["sessions"] == 1 and summary["malformed_rows"] == 1, summary
            done = subprocess.run([os.path.join(BIN, "helio-analyze"), "--strict", path], capture_output=True, text=True, check=False)
            assert done.returncode == 1 and done.stdout == "", done


def check_others(folder):
    seen = at("sender")
    noise = [(T0 + i, ipv4(True, udp(bytes([0x45, i]), (53, 5353)))) for i in range(50)]
    arp = [(T0, b"\x00")]
    expect("other traffic", folder, [pcap(101, noise + arp + plain(seen))], SENDER, other=51, damaged=0)
    bad = [(T0 + 90 * MS, ipv4(True, udp(b"\x00\x01", (1113, 1113))))]
    expect("a damaged one", folder, [pcap(101, plain(seen) + bad)], SENDER, damaged=1)
    ports = pcap(101, plain(seen, (4000, 5000)) + noise)
    expect("port", folder, [ports], SENDER, "--port", "5000,1113", other=50)
    rows, summary = analyse(folder, [ports], "--port", "1113")
    assert rows == [] and summary["capture"]["other"] == 59
    error, _ = analyse(folder, [pcap(147, plain(seen))], code=1)
    assert "link type 147" in error, error
    for option, wrong, says in (("--at", "middle", ': "middle" is not known; write one of: auto, sender, receiver'), ("--port", "0", ': "0" is not understood; write up to 64 numbers'),
                                ("--port", "1113,", ': "1113,"'), ("--engine", "10.0.0.2", ': "10.0.0.2" is not understood; write an address'),
                                ("--engine", "host=2", ': "host=2"'), ("--bin", "1ns", ": 1ns is out of range; write a value of at least 100us"),
                                ("--rate", "0", ': "0" is not understood; write a rate with its unit')):
        error, _ = analyse(folder, [ports], option, wrong, code=2)
        assert option + says in error, error


def loopback(out, payload, ports):
    """From one port to another of the same machine."""
    body = udp(payload, ports)
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 1, 0, 64, 17, 0, b"\x7f\0\0\1", b"\x7f\0\0\1") + body


def check_ports(folder):
    """Nodes that answer from another socket than the one that they are sent to, to a port that is configured; all on
    one machine; without and with a relay between them that has a port for each way in and out."""
    for end, row in (("sender", SENDER), ("receiver", {**RECEIVER, "peer": "9"})):
        one = [(t, loopback(out, payload, (41001, 1113) if out else (41002, 2113))) for t, out, payload in at(end)]
        expect("one machine, " + end, folder, [pcap(101, one)], row, "--engine", "127.0.0.1:1113=9", pairs=1, segments=len(one),
               pairs_one_way=0, pairs_undecided=0)
    # two machines, ports that are LTP's and not: the reports' is not 1113
    two = [(t, ipv4(out, udp(payload, (41001, 1113) if out else (41002, 2113)))) for t, out, payload in at("sender")]
    expect("two machines", folder, [pcap(101, two)], SENDER, pairs=1, pairs_one_way=0)
    ports = {("sender", True): (41001, 3001), ("sender", False): (3004, 2113), ("receiver", True): (3003, 1113),
             ("receiver", False): (41002, 3002)}
    hops = sorted((t, n, loopback(out, payload, ports[end, out])) for end in ("sender", "receiver")
                  for n, (t, out, payload) in enumerate(at(end)))
    frames = [(t, frame) for t, _, frame in hops]
    expect("a relay", folder, [pcap(101, frames)], {**BOTH, "peer": "9"}, "--engine", "127.0.0.1:1113=9", pairs=2, pairs_one_way=0,
           pairs_undecided=0, other=0)
    expect("a relay, no names", folder, [pcap(101, frames)], {**BOTH, "peer": ""}, pairs=2)
    # only data was captured: how it ended cannot be known, and what is inferred is not called known
    data_only = [(t, frame) for t, frame in plain(at("sender")) if frame[12:16] == bytes((10, 0, 0, 1))]
    expect("one direction", folder, [pcap(101, data_only)],
           {"outcome": "unfinished", "cp_lost_basis": "rto", "role": "sender", "reports": "0"}, pairs=1, pairs_one_way=1)


def check_green_relay(folder):
    """No report says where the capture was taken: the first direction begins at the sender, the last one ends at the receiver."""
    frames = []
    for hop, ports in enumerate(((5001, 6001), (6002, 7001))):
        for n, kind in enumerate((4, 4, 7)):
            if (hop, n) != (1, 1):
                frames.append((T0 + (10 * hop + n) * MS, loopback(True, data(kind, 3, 1000 * n, 1000), ports)))
    frames += [(T0 + 50 * MS + i, loopback(True, data(4, 4, 1000 * i, 1000), (5001, 6001))) for i in range(4)]
    frames.sort()
    rows, summary = analyse(folder, [pcap(101, frames)], "--port", "6001,7001")
    assert summary["capture"]["pairs"] == 2 and summary["capture"]["pairs_undecided"] == 0, summary["capture"]
    assert summary["numbers_used_again"] == 0, summary
    row = next(r for r in rows if r["session"] == "3")
    assert len(rows) == 2 and (row["role"], row["segments_sent"], row["segments_received"], row["first_rx_ms"]) == \
        ("both", "3", "2", "10.000000"), rows


def ends_of(folder, captures, *arguments):
    """(place, how it is known, another file of the same end) of each capture, and what the text says of them."""
    _, summary = analyse(folder, captures, *arguments)
    paths = [os.path.join(folder, f"{i}.pcap") for i in range(len(captures))]
    done = subprocess.run([os.path.join(BIN, "helio-analyze"), *arguments, *paths], capture_output=True, text=True, timeout=60, check=True)
    found = summary["capture"]["ends"]
    assert [os.path.join(folder, os.path.basename(e["file"])) for e in found] == paths, found
    assert all(e["sender"] == 1 for e in found), found
    return [(e["place"], e["known_by"], e["same_end"] and os.path.basename(e["same_end"])) for e in found], done.stdout


def check_ends(folder):
    """What each capture was taken for is reported, and by what; and that two of one link and time cannot both be of one end."""
    one, two = (pcap(101, plain(at(end))) for end in ("sender", "receiver"))
    ends, text = ends_of(folder, [two, one])
    assert ends == [("receiver", "times", None), ("sender", "times", None)], ends
    assert "0.pcap: at the receiver's end of 1 -> ? (by the times to its answers)\n" in text, text
    noted = pcap(113, [(t, cooked(not out, 0x0800, p)) for (t, out, _), (_, p) in zip(at("receiver"), plain(at("receiver")))])
    ends, text = ends_of(folder, [noted], "--engine", "10.0.0.2=2")
    assert ends == [("receiver", "capture", None)] and "end of 1 -> 2 (the capture says so)\n" in text, text
    green = [[(T0 + n * MS + late, True, data(kind, 3, 1000 * n, 1000)) for n, kind in enumerate((4, 4, 4, 7))] for late in (0, 2 * MS)]
    both = [pcap(101, plain(seen)) for seen in green]
    ends, text = ends_of(folder, both)
    assert ends == [("sender", "assumed", "1.pcap"), ("sender", "assumed", "0.pcap")], ends
    assert "(assumed, nothing says so); so is " in text and "counts twice" in text, text
    ends, text = ends_of(folder, [one, two], "--at", "sender")
    assert ends == [("sender", "given", "1.pcap"), ("sender", "given", "0.pcap")] and "(--at says so); so is " in text, text
    later = [(t + 10**10, out, p) for t, out, p in green[0]]  # the next file of the same end is none of the other
    ends, _ = ends_of(folder, [both[0], pcap(101, plain(later))])
    assert [e[2] for e in ends] == [None, None], ends


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_dresses(folder)
        check_fragments(folder)
        check_cut(folder)
        check_ends_early(folder)
        check_interfaces(folder)
        check_others(folder)
        check_ports(folder)
        check_green_relay(folder)
        check_ends(folder)


main()
