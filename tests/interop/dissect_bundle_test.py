#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tshark reads every kind of bundle that we encode: blocks, EIDs, CRCs, fragments, status reports.
usage: dissect_bundle_test.py HELIO-BUNDLE STATUS-REPORTS OUT"""
import itertools
import os
import shutil
import subprocess
import sys

import dissect

TIME_MS = 757382400000  # 2024-01-01
BASE = ("-s", "ipn:1.1", "-d", "ipn:2.1", "--time", str(TIME_MS))
# tshark has no dissector for an application's payload nor for an extension block of a made-up type, and says so.
UNKNOWN = "Unknown type code"
# tshark 4.0 takes the length of a status report for that of the list of items within it, always 4, and so never comes
# to the two numbers of a report on a fragment; it says this twice, for the block and for the record.
PARTLY = ["Data not fully dissected"] * 2
FRAGMENT_TAIL = bytes.fromhex("1903e8" "1a00011170")  # 1000, 70000
SUBJECTS = ("ipn:1.1", "dtn://node/app", None)  # tshark 4.0 does not know three elements (RFC 9758)


class Case:
    def __init__(self, name, args, fields, payload=b"payload", unknown=1, partly=False):
        self.name, self.args, self.payload = name, args, payload
        self.fields = fields    # of bpv7: name -> the values that tshark must read
        self.unknown = unknown  # how many blocks tshark does not look into
        self.partly = partly

    def make(self, program):
        done = subprocess.run([program, "make", "-p", "-", *self.args], input=self.payload, capture_output=True,
                              timeout=300, check=False)
        assert done.returncode == 0, f"{self.name}: {done.stderr}"
        return done.stdout


def crc_cases():
    """Every block with every check, whose lengths and places differ."""
    kinds = {"none": 0, "16": 1, "32c": 2}
    for primary, rest in itertools.product(kinds, kinds):
        args = (*BASE, "-r", "ipn:1.0", "-l", "300s", "--sequence", "9", "--hop-limit", "30:2", "--age", "5ms",
                "--previous-node", "ipn:7.0", "--crc", rest, "--primary-crc", primary)
        types = [kinds[primary]] + [kinds[rest]] * 4
        yield Case(f"CRC {primary}/{rest}", args,
                   {"crc_type": types, "crc_status": [1 for t in types if t > 0],
                    "canonical.type_code": [6, 10, 7, 1], "hop_count.limit": [30], "hop_count.current": [2],
                    "bundle_age.time": [5], "previous_node.uri": ["ipn:7.0"], "primary.lifetime": [300000],
                    "primary.report_uri": ["ipn:1.0"]})


def eid_cases():
    names = ["ipn:1.1", "ipn:4294967294.4294967295", "ipn:0.0", "dtn://node/", "dtn://node/app/part", "dtn:none"]
    for source, destination in itertools.product(names, names):
        if destination in ("ipn:0.0", "dtn:none"):
            continue
        yield Case(f"{source} to {destination}", ("-s", source, "-d", destination, "-r", source),
                   {"primary.src_uri": [source], "primary.dst_uri": [destination], "primary.report_uri": [source]})
    # To tshark 4.0 these have no text; their CRCs and all that follows them must be right still.
    for source, destination in (("ipn:977000.100.1", "ipn:2.1"), ("ipn:1.1", "ipn:977000.4294967295.7"),
                                ("ipn:4294967295.1.1", "ipn:977000.1.0")):
        yield Case(f"{source} to {destination}", ("-s", source, "-d", destination),
                   {"canonical.type_code": [1]})


def flag_cases():
    names = {"app-ack": 0x20, "report-time": 0x40, "report-reception": 0x4000, "report-forwarding": 0x10000,
             "report-delivery": 0x20000, "report-deletion": 0x40000, "no-fragment": 4}
    for name, bit in names.items():
        yield Case(name, (*BASE, "-f", name), {"primary.bundle_flags": [bit]})
    yield Case("all flags", (*BASE, "-f", ",".join(names)), {"primary.bundle_flags": [sum(names.values())]})
    yield Case("a clockless source", ("-s", "ipn:1.1", "-d", "ipn:2.1", "--time", "0"), {"bundle_age.time": [0]})
    for flags in (0, 1, 2, 4, 16, 23):
        yield Case(f"block flags {flags}", (*BASE, "--block", f"200:{flags}:c0ffee", "--block", "201:1:"),
                   {"canonical.type_code": [200, 201, 1], "canonical.block_flags": [flags, 1, 0]}, unknown=2)


def length_cases():
    for n in (0, 1, 23, 24, 255, 256, 60000):
        yield Case(f"{n} bytes", (*BASE, "--sequence", str(n)), {"create_ts.seqno": [n], "canonical.data": [n]},
                   b"p" * n, unknown=min(n, 1))
    for sequence in (2**32 - 1, 2**32, 2**64 - 1):
        yield Case(f"sequence {sequence}", (*BASE, "--sequence", str(sequence)), {"create_ts.seqno": [sequence]})


def fragment_cases():
    """Three pieces, that tshark puts together: it then has one payload that it does not know."""
    total = bytes(range(256)) * 4
    parts = [(0, 300), (300, 23), (323, 701)]
    for at, (offset, n) in enumerate(parts):
        last = at == len(parts) - 1
        fields = {"primary.frag_offset": [offset], "primary.total_len": [len(total)]}
        if last:
            fields["payload.reassembled.length"] = [len(total)]
        yield Case(f"fragment {offset}", (*BASE, "--sequence", "77", "--fragment", f"{offset}:{len(total)}"), fields,
                   total[offset:offset + n], unknown=int(last))


def report_cases(program, folder):
    subprocess.run([program, folder], timeout=300, check=True)
    for n in range(24):
        with open(os.path.join(folder, f"{n}.record"), "rb") as f:
            record = f.read()
        fields = {"status_rep.reason_code": [n % 12], "status_assert.val": [int(i == n % 4) for i in range(4)],
                  "primary.bundle_flags": [2], "admin_rec.type_code": [1]}
        if SUBJECTS[n % 3] is not None:
            fields["status_rep.subj_src_uri"] = [SUBJECTS[n % 3]]
        fragment = n % 5 == 4
        # 6 elements with offset and length (RFC 9171 §6.1.1), or 4
        assert record[2] == (0x86 if fragment else 0x84) and record.endswith(FRAGMENT_TAIL) == fragment, record.hex()
        # creation of the bundle; of its subject; the time of the item
        fields["time.dtntime"] = [TIME_MS, TIME_MS] if n // 4 % 2 == 0 else [TIME_MS, TIME_MS + n, TIME_MS]
        yield Case(f"status report {n}", ("-s", "ipn:2.0", "-d", "ipn:1.0", "-f", "admin", "--time", str(TIME_MS),
                                          "--sequence", str(n)), fields, record, unknown=0, partly=fragment)


def values(frame, name, like):
    got = frame.all(name)
    return [int(v, 0) for v in got] if like and isinstance(like[0], int) else got


def check(case, frame):
    assert frame.protocols()[3:5] == ["bundle", "bpv7"], f"{case.name}: {frame.protocols()}"
    said = frame.complaints()
    assert said == [UNKNOWN] * case.unknown or case.partly and said == PARTLY, f"{case.name}: {said}"
    for key, expected in ({"crc_status": [1] * (1 + len(frame.all("bpv7.canonical.type_code")))} | case.fields).items():
        got = values(frame, "bpv7." + key, expected)
        assert got == expected, f"{case.name}: tshark reads {key} {got}, not {expected}"


def main():
    program, reports, out = sys.argv[1:4]
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    cases = [*crc_cases(), *eid_cases(), *flag_cases(), *length_cases(), *fragment_cases(),
             *report_cases(reports, out)]
    pcap = os.path.join(out, "bundles.pcap")
    dissect.pcap_write(pcap, [(n * 10**6, dissect.datagram(case.make(program), ("127.0.0.1", 40000), ("127.0.0.1", 4556)))
                              for n, case in enumerate(cases)])
    frames = dissect.frames(pcap)
    for case, frame in zip(cases, frames, strict=True):
        check(case, frame)
    print(f"{len(cases)} bundles, nothing malformed, every check value good")


main()
