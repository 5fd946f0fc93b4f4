# SPDX-License-Identifier: Apache-2.0
"""Bundles (RFC 9171), LTP segments (RFC 5326, RFC 5327) and TCPCL messages (RFC 9174), written from the RFCs for security_claims.py."""
import hashlib
import hmac
import itertools
import struct
import time

DTN_EPOCH_MS = 946684800000
_sequence = itertools.count(1)

# XFER_REFUSE, SESS_TERM and MSG_REJECT reasons of RFC 9174 (tables 6, 8 and 4)
REFUSE = {0: "unknown", 1: "completed", 2: "no resources", 3: "retransmit", 4: "not acceptable", 5: "extension failure", 6: "session terminating"}
TERM = {0: "unknown", 1: "idle timeout", 2: "version mismatch", 3: "busy", 4: "contact failure", 5: "resource exhaustion"}
REJECT = {1: "type unknown", 2: "unsupported", 3: "unexpected"}

XFER_SEGMENT, XFER_ACK, XFER_REFUSE, KEEPALIVE, SESS_TERM, MSG_REJECT, SESS_INIT = range(1, 8)
START, END = 2, 1


# --- CBOR and bundles

def head(major, n):
    if n < 24:
        return bytes([major << 5 | n])
    for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if n < 1 << 8 * size:
            return bytes([major << 5 | code]) + n.to_bytes(size, "big")
    raise ValueError(n)


def cbor(x):
    if isinstance(x, int):
        return head(0, x)
    if isinstance(x, bytes):
        return head(2, len(x)) + x
    if isinstance(x, str):
        return head(3, len(x.encode())) + x.encode()
    return head(4, len(x)) + b"".join(map(cbor, x))


def crc_table(polynomial):
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ polynomial if n & 1 else n >> 1
        table.append(n)
    return table


TABLES = {1: (crc_table(0x8408), 2), 2: (crc_table(0x82F63B78), 4)}


def crc(kind, octets):
    table, size = TABLES[kind]
    mask = (1 << 8 * size) - 1
    value = mask
    for octet in octets:
        value = value >> 8 ^ table[(value ^ octet) & 255]
    return (value ^ mask).to_bytes(size, "big")


def block(items, kind, wrong=False):
    if kind == 0:
        return cbor(items)
    empty = bytes(TABLES[kind][1])
    value = crc(kind, cbor([*items, empty]))
    return cbor([*items, bytes(b ^ 0x55 for b in value) if wrong else value])


def eid(node, service):
    return [2, [node, service]]


def bundle(to, source=(2, 7), payload=b"x", *, report_to=None, flags=0, lifetime_ms=60000, extra=(), crc_kind=1, wrong_crc=False, stamp=None, piece=None):
    """extra: blocks of (type, number, data). stamp: creation time and sequence number. piece: a fragment's offset, and the whole length."""
    created, sequence = stamp or (time.time_ns() // 1000000 - DTN_EPOCH_MS, next(_sequence))
    primary = [7, flags | (piece is not None), crc_kind, eid(*to), eid(*source), eid(*(report_to or source)), [created, sequence], lifetime_ms, *(piece or ())]
    out = [b"\x9f", block(primary, crc_kind, wrong_crc)]
    out += [block([kind, number, 0, 0, data], 0) for kind, number, data in extra]
    return b"".join(out) + block([1, 1, 0, crc_kind, payload], crc_kind) + b"\xff"


# --- LTP

def sdnv(n):
    out = [n & 127]
    while n := n >> 7:
        out.append(n & 127 | 128)
    return bytes(reversed(out))


def unsdnv(octets, at):
    value = 0
    while True:
        octet = octets[at]
        at += 1
        value = value << 7 | octet & 127
        if octet < 128:
            return value, at


def segment(kind, engine, session, content, header=b"", header_count=0, trailer=b"", trailer_count=0):
    return bytes([kind]) + sdnv(engine) + sdnv(session) + bytes([header_count << 4 | trailer_count]) + header + content + trailer


def data(engine, session, offset, octets, checkpoint=None, end=True, client=1):
    """A red data segment; with a checkpoint's number a checkpoint, with end the block's last."""
    content = sdnv(client) + sdnv(offset) + sdnv(len(octets))
    kind = 0
    if checkpoint is not None:
        content += sdnv(checkpoint) + sdnv(0)
        kind = 3 if end else 1
    return segment(kind, engine, session, content + octets)


def whole(engine, session, octets):
    """A block of one segment."""
    return data(engine, session, 0, octets, checkpoint=1 + session % 1000)


def authenticated(kind, engine, session, content, key):
    """RFC 5327, HMAC-SHA1-80 (ciphersuite 0): the value covers all that stands before it, its own tag and length, too."""
    covered = segment(kind, engine, session, content, header=b"\x00\x01\x00", header_count=1, trailer=b"\x00\x0a", trailer_count=1)
    return covered + hmac.new(key, covered, hashlib.sha1).digest()[:10]


def kind_of(datagram):
    return datagram[0] & 15


# --- TCPCL

def contact(flags=0):
    return b"dtn!\x04" + bytes([flags])


def sess_init(node, keepalive=0, mru=1 << 40, items=b""):
    name = node if isinstance(node, bytes) else node.encode()
    return struct.pack(">BHQQH", SESS_INIT, keepalive, mru, mru, len(name)) + name + struct.pack(">I", len(items)) + items


def item(kind, value, flags=0):
    return struct.pack(">BHH", flags, kind, len(value)) + value


def length_item(n):
    return item(1, struct.pack(">Q", n), 1)


def xfer(number, octets, flags=START | END, items=b"", says=None):
    out = struct.pack(">BBQ", XFER_SEGMENT, flags, number)
    if flags & START:
        out += struct.pack(">I", len(items)) + items
    return out + struct.pack(">Q", len(octets) if says is None else says) + octets


def messages(octets):
    """The whole messages at the beginning of octets, each a tuple, and how many octets they take."""
    at, out = 0, []
    try:
        while at < len(octets):
            kind = octets[at]
            if kind == XFER_SEGMENT:
                _, flags, number = struct.unpack_from(">BBQ", octets, at)
                after = at + 10
                if flags & START:
                    after += 4 + struct.unpack_from(">I", octets, after)[0]
                size, = struct.unpack_from(">Q", octets, after)
                after += 8
                if after + size > len(octets):
                    break
                out.append((kind, flags, number, octets[after:after + size]))
                at = after + size
                continue
            shape = {XFER_ACK: ">BBQQ", XFER_REFUSE: ">BBQ", KEEPALIVE: ">B", SESS_TERM: ">BBB", MSG_REJECT: ">BBB", SESS_INIT: ">BHQQH"}[kind]
            fields = struct.unpack_from(shape, octets, at)
            after = at + struct.calcsize(shape)
            if kind == SESS_INIT:
                name = octets[after:after + fields[4]]
                after += fields[4] + 4
                if after > len(octets):
                    break
                after += struct.unpack_from(">I", octets, after - 4)[0]
                fields = (*fields[:4], bytes(name))
            if after > len(octets):
                break
            out.append(fields)
            at = after
    except struct.error:
        pass  # the rest of a message is still on its way
    return out, at
