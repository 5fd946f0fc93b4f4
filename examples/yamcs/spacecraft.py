#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A spacecraft for docs/yamcs.md: telemetry frames to a modem, telecommands from a modulator.

usage: spacecraft.py --frames HOST:PORT --cltus HOST:PORT [-n N] [--rate N] [--erred N] [--log FILE]

It sends TM frames of 256 octets (spacecraft 171, virtual channel 0, with CLCW and FECF) as datagrams. Each has a housekeeping packet
and an idle packet. It receives randomised CLTUs as datagrams, and obeys their telecommand frames by FARM-1. It ends after N frames, or
with SIGTERM or SIGINT."""

import argparse
import binascii
import json
import signal
import socket
import struct
import sys
import time

SCID, LENGTH, APID = 171, 256, 100
START, TAIL = b"\xeb\x90", bytes.fromhex("c5c5c5c5c5c5c579")


def check(octets):
    """The frame error control field."""
    return struct.pack(">H", binascii.crc_hqx(octets, 0xFFFF))


def pseudo_random(n):
    """x^8+x^6+x^4+x^3+x^2+x+1 from all ones (231.0-B-4 6.3)."""
    bits, out = [1] * 8, 0
    for _ in range(8 * n):
        out = out << 1 | bits[0]
        bits = bits[1:] + [bits[0] ^ bits[1] ^ bits[2] ^ bits[3] ^ bits[4] ^ bits[6]]
    return out.to_bytes(n, "big")


def frame_of_cltu(cltu):
    """None: it is none. Codeblocks are not checked; the frame's FECF is."""
    if cltu[:2] != START or cltu[-8:] != TAIL or (len(cltu) - 10) % 8 != 0 or len(cltu) < 18:
        return None
    blocks = cltu[2:-8]
    data = b"".join(blocks[i:i + 7] for i in range(0, len(blocks), 8))
    data = bytes(a ^ b for a, b in zip(data, pseudo_random(len(data))))
    frame = data[:((data[2] & 3) << 8 | data[3]) + 1]
    return frame if len(frame) > 7 and check(frame[:-2]) == frame[-2:] else None


class Spacecraft:
    def __init__(self):
        self.number = self.commands = self.setpoint = 0  # of packets; executed ones; of the latest one
        self.expected = self.bypassed = 0  # V(R), FARM-B counter
        self.lockout = self.retransmit = False

    def obey(self, frame):
        """A word that says what became of it."""
        head, word, number = struct.unpack(">HHB", frame[:5])
        if head & 0x3FF != SCID or word >> 10 != 0:
            return "not for us"
        bypass, control = head >> 13 & 1, head >> 12 & 1
        if bypass:
            self.bypassed = (self.bypassed + 1) % 4
        if control:
            self.lockout = self.retransmit = False
            if frame[5] == 0x82 and len(frame) == 10:
                self.expected = frame[7]
            return "control"
        ahead = (number - self.expected) % 256
        if not bypass and (self.lockout or ahead != 0):
            self.retransmit = self.retransmit or 0 < ahead < 64
            self.lockout = self.lockout or 64 <= ahead < 192
            return "out of sequence"
        if not bypass:
            self.expected, self.retransmit = (self.expected + 1) % 256, False
        packet = frame[5:-2]
        if packet[:2] != b"\x18\x64" or len(packet) != 10 or packet[6:8] != b"\0\1":
            return "unknown"
        self.commands += 1
        self.setpoint = struct.unpack(">H", packet[8:])[0]
        return "executed"

    def clcw(self):
        return struct.pack(">BBBB", 1, 0, self.lockout << 5 | self.retransmit << 3 | self.bypassed << 1, self.expected)

    def frame(self):
        body = struct.pack(">QIfHH", time.time_ns() // 1000000, self.number, 20 + self.number % 10 / 2, self.commands, self.setpoint)
        packet = struct.pack(">HHH", 0x0800 | APID, 0xC000 | self.number % 16384, len(body) - 1) + body
        idle = LENGTH - 6 - len(packet) - 6 - 4 - 2
        packet += struct.pack(">HHH", 0x07FF, 0xC000, idle - 1) + bytes(idle)
        head = struct.pack(">HBBH", SCID << 4 | 1, self.number % 256, self.number % 256, 0x1800)
        self.number += 1
        whole = head + packet + self.clcw()
        return whole + check(whole)


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=address, required=True, help="the modem: where frames are sent to")
    parser.add_argument("--cltus", type=address, required=True, help="the modulator sends CLTUs to this address")
    parser.add_argument("-n", type=int, default=0, help="end after N frames")
    parser.add_argument("--rate", type=float, default=10, help="frames in a second (10)")
    parser.add_argument("--erred", type=int, default=0, help="each Nth frame has a wrong bit")
    parser.add_argument("--log", help="a file with a line of JSON for each CLTU")
    o = parser.parse_args()
    craft, down = Spacecraft(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    up = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    up.bind(o.cltus)
    log = open(o.log, "w", encoding="ascii", buffering=1) if o.log else None
    ends = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ends.append(True))
    due = time.monotonic()
    while not ends and (o.n == 0 or craft.number < o.n):
        while (wait := due - time.monotonic()) > 0 and not ends:
            up.settimeout(wait)
            try:
                cltu = up.recv(4096)
            except socket.timeout:
                break
            frame = frame_of_cltu(cltu)
            result = craft.obey(frame) if frame is not None else "no frame"
            print(f"CLTU of {len(cltu)} octets: {result}; {craft.commands} commands, setpoint {craft.setpoint}", flush=True)
            if log is not None:
                log.write(json.dumps({"cltu": cltu.hex(), "frame": (frame or b"").hex(), "result": result}) + "\n")
        frame = craft.frame()
        if o.erred and craft.number % o.erred == 0:
            frame = frame[:100] + bytes([frame[100] ^ 1]) + frame[101:]
        down.sendto(frame, o.frames)
        due += 1 / o.rate
    print(f"{craft.number} frames, {craft.commands} commands", flush=True)


if __name__ == "__main__":
    sys.exit(main())
