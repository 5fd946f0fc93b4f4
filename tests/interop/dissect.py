# SPDX-License-Identifier: Apache-2.0
"""Captures of UDP over IPv4, and what tshark says of them in a form that keeps fields that occur several times."""
import json
import socket
import struct
import subprocess

SEVERITY_WARNING = 0x600000
# Fields that are only there when a dissector could not follow. That its reassembly of blocks sees several ends is none
# of these: tshark 4.0 takes each checkpoint for the end of its block.
BROKEN = ("_ws.malformed", "_ws.short", "_ws.unreassembled", "ltp.mal_reception_claim", "ltp.neg_reception_claim_count",
          "ltp.sdnv_length_invalid", "ltp.serial_number_too_large", "ltp.fragment.overlap.conflicts",
          "bpv7.payload.fragment.error", "bpv7.payload.fragment.overlap.conflicts")


MAGIC_NS = 0xA1B23C4D
RAW_IP = 101


def ipv4_checksum(header):
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def datagram(data, source=("127.0.0.1", 1113), target=("127.0.0.1", 1113)):
    """IPv4 and UDP around data."""
    udp = struct.pack(">HHHH", source[1], target[1], 8 + len(data), 0) + data
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                       socket.inet_aton(source[0]), socket.inet_aton(target[0]))
    return head[:10] + struct.pack(">H", ipv4_checksum(head)) + head[12:] + udp


def pcap_write(path, packets, snap=65535):
    """Packets are pairs of a time in ns and an IPv4 packet, of which the first `snap` bytes are kept."""
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", MAGIC_NS, 2, 4, 0, 0, 65535, RAW_IP))
        for ns, packet in packets:
            f.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, min(len(packet), snap), len(packet)) + packet[:snap])


def pcap_read(path):
    """The packets of a file with nanoseconds, as pcap_write takes them."""
    with open(path, "rb") as f:
        data = f.read()
    order = "<" if data[:4] == struct.pack("<I", MAGIC_NS) else ">"
    assert struct.unpack_from(order + "IHHiIII", data) == (MAGIC_NS, 2, 4, 0, 0, 65535, RAW_IP)
    packets, at = [], 24
    while at < len(data):
        seconds, ns, captured, length = struct.unpack_from(order + "IIII", data, at)
        assert captured == length and at + 16 + length <= len(data), f"{path}: record at {at}"
        packets.append((seconds * 10**9 + ns, data[at + 16:at + 16 + length]))
        at += 16 + length
    return packets


class Frame:
    """One packet: its fields in order of appearance, each with the layers and subtrees that it stands in."""

    def __init__(self, layers):
        self.fields = []
        self._collect(layers, ())

    def _collect(self, node, path):
        for name, value in node:
            if isinstance(value, list):
                self._collect(value, path + (name,))
                self.fields.append((path, name, None))
            else:
                self.fields.append((path, name, value))

    def all(self, name, within=None):
        return [v for path, n, v in self.fields if n == name and (within is None or within in path)]

    def numbers(self, name, within=None):
        return [int(v, 0) for v in self.all(name, within)]

    def number(self, name):
        found = self.numbers(name)
        assert len(found) == 1, f"{name}: {found}"
        return found[0]

    def protocols(self):
        return self.all("frame.protocols")[0].split(":")

    def complaints(self):
        """What is broken, and messages of severity "warning" or "error"."""
        said = [f"{name} {value or ''}" for _, name, value in self.fields if name.startswith(BROKEN)]
        severe = self.numbers("_ws.expert.severity")
        messages = self.all("_ws.expert.message")
        assert len(severe) == len(messages)
        return said + [m for s, m in zip(severe, messages) if s >= SEVERITY_WARNING]


def frames(pcap, *options):
    done = subprocess.run(["tshark", "-r", pcap, "-o", "ip.check_checksum:TRUE", *options, "-T", "json"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    # Lists of pairs, since a dict would keep one of several fields of the same name.
    packets = json.loads(done.stdout, object_pairs_hook=list)
    return [Frame(dict(dict(p)["_source"])["layers"]) for p in packets]
