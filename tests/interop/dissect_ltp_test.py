#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tshark reads every segment that the engines radiate in the scenarios, and reads in it what the trace says.
usage: dissect_ltp_test.py SIM_SCENARIOS SCENARIO-FOLDER OUT"""
import collections
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

import dissect

TYPES = {"red_data": 0, "red_cp": 1, "red_cp_eorp": 2, "red_cp_eob": 3, "green_data": 4, "green_eob": 7, "report": 8,
         "report_ack": 9, "cancel_sender": 12, "cancel_ack_to_sender": 13, "cancel_receiver": 14,
         "cancel_ack_to_receiver": 15}
ORANGE = {"orange": b"OR\x01", "delivered": b"OR\x02", "lost": b"OR\x03"}  # values of the extension, tag 0xC4
REASONS = ["usr_cncld", "unreach", "rlexc", "miscolored", "sys_cncld", "rxmtcycexc"]
LINE = re.compile(r"(?P<ms>\d+)\.(?P<ns>\d{6}) (?P<node>\d+) (?P<what>tx|rx) (?P<session>s\d+) (?P<type>\w+)(?: (?P<orange>orange|delivered|lost))?"
                  r"(?: \[(?P<lo>\d+),(?P<hi>\d+)\))?(?: c(?P<cp>-?\d+))?(?: r(?P<rpt>-?\d+))?"
                  r"(?: scope\[(?P<lower>\d+),(?P<upper>\d+)\))?(?: claims=(?P<claims>\d+)/(?P<bytes>\d+))?"
                  r"(?: (?P<reason>" + "|".join(REASONS) + r"))?(?: service=(?P<service>\d+))?(?: #(?P<attempt>\d+))?"
                  r"(?: \(\w+\)| (?P<verdict>\w+))?$")


def joined(offsets):
    """A set of bytes as ranges [lo, hi)."""
    ranges = []
    for at in sorted(offsets):
        if ranges and ranges[-1][1] == at:
            ranges[-1][1] += 1
        else:
            ranges.append([at, at + 1])
    return ranges


class Scenario:
    """Goes along a trace and its capture, pairs of time and frame: the n-th segment out is the n-th frame."""

    def __init__(self, path, captured):
        self.path = path
        self.captured = iter(captured)
        self.sessions = {}  # name -> originator, number
        self.bases = {}     # session and kind of serial -> what the trace calls 0
        self.arrived = collections.defaultdict(set)  # node, session -> red bytes
        self.reports = {}   # node, session, serial -> scope and claims when first sent
        self.count = collections.Counter()

    def same(self, frame, line, name, expected):
        got = frame.number(name)
        assert got == expected, f"{self.path}: {line.string}: tshark reads {name} {got}, not {expected}"

    def serial(self, frame, line, kind, name, field):
        """The trace counts a session's serials from its first; so the difference is always the same."""
        got = frame.number(field)
        if line[name] is None:
            assert got == 0, f"{self.path}: {line.string}: {field} {got}, not 0"
            return
        base = self.bases.setdefault((line["session"], kind), got - int(line[name]))
        assert got == base + int(line[name]), f"{self.path}: {line.string}: {field} {got}"

    def data(self, frame, line):
        lo, hi = int(line["lo"]), int(line["hi"])
        self.same(frame, line, "ltp.data.offset", lo)
        self.same(frame, line, "ltp.data.length", hi - lo)
        self.same(frame, line, "ltp.data.client.id", int(line["service"] or 1))
        if 1 <= TYPES[line["type"]] <= 3:
            self.serial(frame, line, "cp", "cp", "ltp.data.chkp")
            self.serial(frame, line, "rpt", "rpt", "ltp.data.rpt")

    def report(self, frame, line):
        lower, upper = int(line["lower"]), int(line["upper"])
        self.same(frame, line, "ltp.rpt.lb", lower)
        self.same(frame, line, "ltp.rpt.ub", upper)
        self.same(frame, line, "ltp.rpt.clm.cnt", int(line["claims"]))
        self.serial(frame, line, "cp", "cp", "ltp.rpt.chkp")
        self.serial(frame, line, "rpt", "rpt", "ltp.rpt.sno")
        offsets, lengths = frame.numbers("ltp.rpt.clm.off"), frame.numbers("ltp.rpt.clm.len")
        claims = [[lower + o, lower + o + n] for o, n in zip(offsets, lengths, strict=True)]
        assert sum(lengths) == int(line["bytes"]), f"{self.path}: {line.string}: {claims}"
        # What arrived here within the scope; a report that is repeated says what it said at first.
        key = (line["node"], line["session"], line["rpt"])
        held = joined(b for b in self.arrived[key[:2]] if lower <= b < upper)
        expected = self.reports.setdefault(key, held)
        assert claims == expected, f"{self.path}: {line.string}: tshark reads {claims}, {expected} had arrived"
        self.count["several" if len(claims) > 1 else "single"] += 1

    def orange(self, frame, line):
        """The extension of orange blocks: on all their data and answers, and on nothing else."""
        self.same(frame, line, "ltp.hdr.extn.cnt", 1 if line["orange"] else 0)
        if line["orange"]:
            self.same(frame, line, "ltp.hdr.extn.tag", 0xC4)
            value = bytes.fromhex(frame.all("ltp.hdr.extn.val")[0].replace(":", ""))
            assert value == ORANGE[line["orange"]], f"{self.path}: {line.string}: {value}"
            self.count[line["orange"]] += 1

    def segment(self, line):
        ns, frame = next(self.captured, (None, None))
        assert frame is not None, f"{self.path}: {line.string}: not in the capture"
        assert frame.protocols()[:4] == ["raw", "ip", "udp", "ltp"], f"{self.path}: {line.string}: not LTP"
        kind = TYPES[line["type"]]
        self.same(frame, line, "ltp.type", kind)
        self.count[kind] += 1
        assert frame.all("ip.src") == [f"10.0.0.{line['node']}"]
        session = (frame.number("ltp.session.orig"), frame.number("ltp.session.number"))
        assert self.sessions.setdefault(line["session"], session) == session, f"{self.path}: {line.string}: {session}"
        assert ns == int(line["ms"]) * 10**6 + int(line["ns"]), f"{self.path}: {line.string}: captured at {ns} ns"
        self.orange(frame, line)
        if kind < 8:
            self.data(frame, line)
        elif kind == 8:
            self.report(frame, line)
        elif kind == 9:
            self.serial(frame, line, "rpt", "rpt", "ltp.rpt.ack.sno")
        elif line["reason"]:
            self.same(frame, line, "ltp.cancel.code", REASONS.index(line["reason"]))

    def line(self, text):
        restart = re.search(r" (\d+) restart$", text)
        if restart:
            for key in [k for k in self.arrived if k[0] == restart[1]]:
                del self.arrived[key]
        line = LINE.match(text.strip())
        if line is None:
            assert " tx " not in text, f"{self.path}: the test does not understand: {text}"
        elif line["what"] == "tx":
            self.segment(line)
        elif line["verdict"] == "ok" and TYPES[line["type"]] < 4:
            self.arrived[line["node"], line["session"]].update(range(int(line["lo"]), int(line["hi"])))

    def check(self, trace):
        for text in trace.splitlines():
            self.line(text)
        assert next(self.captured, None) is None, f"{self.path}: more in the capture than the trace says"
        assert len(set(self.sessions.values())) == len(self.sessions), f"{self.path}: {self.sessions}"
        return self.count


def sdnv(value):
    """RFC 6256."""
    text = [value & 0x7F]
    while value >> 7:
        value >>= 7
        text.insert(0, 0x80 | value & 0x7F)
    return bytes(text)


def wants_content(out):
    """Does this tshark miss a byte in cancel acknowledgements? They end behind the header (RFC 5326 §3.2.4), but the
    dissector of tshark 4.0 calls any segment malformed that has nothing there, whichever sender wrote it."""
    pcap = os.path.join(out, "probe")
    dissect.pcap_write(pcap, [(0, dissect.datagram(b"\x0d" + sdnv(1) + sdnv(1 << 20) + b"\x00"))])
    return dissect.frames(pcap)[0].complaints() != []


def pad_cancel_acks(pcap, padded):
    """Gives cancel acknowledgements the byte that tshark misses. That they end where they should is checked here."""
    packets = []
    for ns, packet in dissect.pcap_read(pcap):
        segment = packet[28:]
        if segment[0] in (13, 15):
            assert re.fullmatch(rb"[\x0d\x0f]([\x80-\xff]*[\x00-\x7f]){2}\x00", segment, re.DOTALL), segment.hex()
            hosts = [(".".join(map(str, packet[at:at + 4])), 1113) for at in (12, 16)]
            packet = dissect.datagram(segment + b"\x00", *hosts)
        packets.append((ns, packet))
    dissect.pcap_write(padded, packets)


def run(program, path, out, padding):
    pcap = os.path.join(out, os.path.basename(path).replace(".txt", ".pcap"))
    done = subprocess.run([program, "--pcap", pcap, path], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{path}: {done.stdout}{done.stderr}"
    if padding:
        pad_cancel_acks(pcap, pcap + ".padded")
        pcap += ".padded"
    # The blocks are drawn bytes, no bundles.
    captured = dissect.frames(pcap, "--disable-protocol", "bpv7", "--disable-protocol", "bundle")
    for number, frame in enumerate(captured, 1):
        assert not frame.complaints(), f"{pcap}, frame {number}: {frame.complaints()}"
    with open(path, encoding="utf-8") as f:
        times = [ns for ns, _ in dissect.pcap_read(pcap)]
        return Scenario(path, list(zip(times, captured, strict=True))).check(f.read().partition("\n----\n")[2])


def main():
    program, folder, out = sys.argv[1:4]
    os.makedirs(out, exist_ok=True)
    paths = sorted(glob.glob(os.path.join(folder, "*.txt")))
    assert len(paths) > 40, f"{folder}: {len(paths)} scenarios"
    total = collections.Counter()
    padding = wants_content(out)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for count in pool.map(lambda path: run(program, path, out, padding), paths):
            total += count
    missing = set(TYPES.values()) - set(total)
    assert not missing, f"no scenario radiates a segment of type {missing}"
    assert total["several"] >= 5, "reports with several claims"
    assert min(total[kind] for kind in ORANGE) >= 5, "extensions of orange blocks"
    print(f"{sum(total[t] for t in TYPES.values())} segments of {len(paths)} scenarios, all {len(TYPES)} defined types; "
          f"{total['several']} reports with several claims, {total['single']} with one")


main()
