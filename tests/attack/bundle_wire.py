# SPDX-License-Identifier: Apache-2.0
"""Bundles as bytes (RFC 9171), and a TCPCL session that sends them (RFC 9174); what answers it gets is not looked at."""
import socket
import struct
import time

from attack import drain

EPOCH = 946684800  # of DTN time
TABLE = []
for value in range(256):
    for _ in range(8):
        value = value >> 1 ^ 0x8408 if value & 1 else value >> 1
    TABLE.append(value)


def crc16(data):
    crc = 0xFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFF


def head(value, kind=0):
    """Head of a CBOR item, in its shortest form."""
    if value < 24:
        return bytes([kind << 5 | value])
    for extra, form in ((24, "B"), (25, ">H"), (26, ">I"), (27, ">Q")):
        if value < 1 << 8 * struct.calcsize(form):
            return bytes([kind << 5 | extra]) + struct.pack(form, value)
    raise ValueError(value)


def eid(node, service):
    return b"\x82\x02\x82" + head(node) + head(service)


def group(number, service):
    """The endpoint of a group (imc), as a destination of bundle()."""
    return b"\x82\x03\x82" + head(number) + head(service)


def block(kind, number, data, flags=0):
    return b"\x85" + head(kind) + head(number) + head(flags) + b"\x00" + head(len(data), 2) + data


def bundle(source, destination, sequence, payload=b"x", blocks=b"", lifetime_ms=3600000, flags=0, fragment=None, created=None, report_to=None):
    """Source, destination (or what group() returns), report_to (the source): (node, service); blocks: encoded; flags: of the bundle; fragment: (offset, total); created: DTN time, ms."""
    created = (int(time.time()) - EPOCH) * 1000 if created is None else created
    form, flags = (b"\x89\x07", flags) if fragment is None else (b"\x8b\x07", flags | IS_FRAGMENT)
    to = destination if isinstance(destination, bytes) else eid(*destination)
    primary = form + head(flags) + b"\x01" + to + eid(*source) + eid(*(report_to or source)) + b"\x82" + head(created) + head(sequence)
    primary += head(lifetime_ms) + (b"" if fragment is None else head(fragment[0]) + head(fragment[1])) + b"\x42"
    primary += struct.pack(">H", crc16(primary + b"\x00\x00"))
    return b"\x9f" + primary + blocks + block(1, 1, payload) + b"\xff"


IS_FRAGMENT = 1
REPORTS = 0x4000 | 0x10000 | 0x20000 | 0x40000  # reception, forwarding, delivery, deletion


class Sender:
    """An active TCPCL session in the name of a node; it sends as fast as the peer reads."""

    def __init__(self, port, node):
        self.s = socket.create_connection(("127.0.0.1", port))
        self.transfers = 0
        name = f"ipn:{node}.0".encode()
        self.s.sendall(b"dtn!\x04\x00")
        self.s.sendall(struct.pack(">BHQQH", 7, 0, 1 << 20, 1 << 30, len(name)) + name + struct.pack(">I", 0))

    def send(self, data):
        self.s.settimeout(10)
        self.s.sendall(struct.pack(">BBQIQ", 1, 3, self.transfers, 0, len(data)) + data)
        self.transfers += 1
        self.s.setblocking(False)
        return drain(self.s)
