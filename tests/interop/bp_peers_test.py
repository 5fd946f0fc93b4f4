#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bundles of pyD3TN are read by helio-bundle, and bundles of helio-bundle by pyD3TN.
usage: bp_peers_test.py HELIO-BUNDLE [TEST...] (with the Python of tests/interop/venv.sh)"""
import datetime
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import unittest

import cbor2
from pyd3tn.bundle7 import (EID, Bundle, BundleProcFlag, BundleStatusReport, CreationTimestamp, CRCType,
                            PayloadBlock, PrimaryBlock, StatusCode, serialize_bundle7)

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402

PROGRAM = ""
WHEN = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.timezone.utc)
WHEN_MS = int((WHEN - datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)).total_seconds() * 1000)


def helio(*args, stdin=b""):
    return subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, timeout=300, check=False)


def show(wire, strict=False):
    result = helio("show", "--json", *(["--strict"] if strict else []), "-", stdin=wire)
    return result.returncode, json.loads(result.stdout)


def lint(wire):
    result = helio("lint", "--json", "-", stdin=wire)
    found = json.loads(result.stdout)["findings"]
    assert (result.returncode == 0) == (not found)
    return found


def make(*args, payload=b""):
    result = helio("make", "--payload", "-", *args, stdin=payload)
    assert result.returncode == 0, result.stderr
    return result.stdout


def block(shown, number_of_type):
    return next(b for b in shown["blocks"] if b["type"] == number_of_type)


class TheirsToUs(unittest.TestCase):
    def test_every_block_and_crc(self):
        for primary in (CRCType.CRC16, CRCType.CRC32):
            for canonical in CRCType:
                wire = serialize_bundle7(
                    "dtn://peer.dtn/app", "ipn:2.1", b"payload", report_to_eid="ipn:1.0",
                    creation_timestamp=WHEN, sequence_number=7, lifetime=300, hop_limit=30, hop_count=2,
                    bundle_age=5, previous_node_eid="dtn://before.dtn/", crc_type_primary=primary,
                    crc_type_canonical=canonical, flags=BundleProcFlag.REPORT_DELIVERY)
                code, got = show(wire, strict=True)
                self.assertEqual((code, got["findings"], lint(wire)), (0, [], []))
                self.assertEqual(got["source"], "dtn://peer.dtn/app")
                self.assertEqual(got["destination"], "ipn:2.1")
                self.assertEqual(got["report_to"], "ipn:1.0")
                self.assertEqual((got["created_ms"], got["sequence"]), (WHEN_MS, 7))
                self.assertEqual(got["lifetime_ms"], 300000)
                self.assertEqual(got["flags"], ["report-delivery"])
                self.assertEqual(block(got, 6)["previous_node"], "dtn://before.dtn/")
                self.assertEqual(block(got, 10)["hop_limit"], 30)
                self.assertEqual(block(got, 10)["hop_count"], 2)
                self.assertEqual(block(got, 7)["age_ms"], 5000)
                self.assertEqual(block(got, 1)["bytes"], 7)
                self.assertEqual(block(got, 1)["crc"], ("none", "crc16", "crc32c")[canonical])

    def test_without_primary_crc(self):
        wire = serialize_bundle7("ipn:1.1", "ipn:2.1", b"x", creation_timestamp=WHEN,
                                 crc_type_primary=CRCType.NONE)
        self.assertEqual(show(wire, strict=True)[0], 1)
        code, got = show(wire)
        self.assertEqual(code, 0)
        self.assertEqual([(f["section"], f["error"]) for f in got["findings"]], [("RFC 9171 §4.3.1", False)])
        self.assertEqual([f["section"] for f in lint(wire)], ["RFC 9171 §4.3.1"])

    def test_fragment(self):
        wire = serialize_bundle7("ipn:1.1", "ipn:2.1", b"0123", creation_timestamp=WHEN,
                                 flags=BundleProcFlag.IS_FRAGMENT, fragment_offset=6, total_adu_length=10)
        code, got = show(wire, strict=True)
        self.assertEqual((code, got["fragment_offset"], got["total_bytes"]), (0, 6, 10))

    def test_status_report(self):
        report = BundleStatusReport(StatusCode.DELIVERED_BUNDLE, 0, EID("ipn:2.1"),
                                    CreationTimestamp(WHEN, 3), time=WHEN)
        primary = PrimaryBlock(bundle_proc_flags=BundleProcFlag.ADMINISTRATIVE_RECORD, destination="ipn:1.0",
                               source="ipn:2.0", creation_time=CreationTimestamp(WHEN, 0),
                               crc_type=CRCType.CRC32)
        code, got = show(bytes(Bundle(primary, report)), strict=True)
        self.assertEqual(code, 0)
        said = got["status_report"]
        self.assertTrue(said["delivered"])
        self.assertFalse(said["received"] or said["forwarded"] or said["deleted"])
        self.assertEqual((said["subject"]["created_ms"], said["subject"]["sequence"]), (WHEN_MS, 3))

    def test_three_element_ipn(self):
        wire = serialize_bundle7("ipn:977000.100.1", "ipn:2.1", b"x", creation_timestamp=WHEN)
        code, got = show(wire, strict=True)
        self.assertEqual((code, got["source"]), (0, "ipn:977000.100.1"))
        ours = make("-d", "ipn:977000.100.1", "-s", "ipn:2.1", payload=b"x")
        self.assertEqual(str(Bundle.parse(ours).primary_block.destination), "ipn:977000.100.1")

    def test_random_bundles(self):
        rng = random.Random(4)
        for _ in range(40):
            payload = rng.randbytes(rng.choice((0, 1, 23, 24, 255, 256, 70000)))
            wire = serialize_bundle7(f"ipn:{rng.randrange(1, 2**32 - 1)}.{rng.randrange(2**32)}",
                                     f"dtn://n{rng.randrange(99)}/x", payload, creation_timestamp=WHEN,
                                     sequence_number=rng.getrandbits(63), lifetime=rng.randrange(10**6),
                                     crc_type_canonical=rng.choice(list(CRCType)))
            code, got = show(wire, strict=True)
            self.assertEqual((code, got["findings"]), (0, []))
            self.assertEqual(block(got, 1)["bytes"], len(payload))


class Large(unittest.TestCase):
    """By hand, for its time: their check values are made in Python."""

    def both_ways(self):
        for n, crc, ours in ((5_000_000, CRCType.CRC32, "32c"), (50_000_000, CRCType.NONE, "none")):
            payload = random.Random(n).randbytes(n)
            wire = serialize_bundle7("ipn:1.1", "ipn:2.1", payload, creation_timestamp=WHEN, crc_type_primary=CRCType.CRC32,
                                     crc_type_canonical=crc)
            code, got = show(wire, strict=True)
            self.assertEqual((code, got["findings"], block(got, 1)["bytes"]), (0, [], n))
            self.assertEqual(wire.count(payload), 1)
            made = make("-d", "ipn:2.1", "-s", "ipn:1.1", "--crc", ours, payload=payload)
            self.assertTrue(Bundle.parse(made).payload_block.data == payload)


class OursToThem(unittest.TestCase):
    def test_every_block_and_crc(self):
        for crc in ("none", "16", "32c"):
            for primary_crc in ("16", "32c"):
                wire = make("-d", "ipn:2.1", "-s", "dtn://node/app", "-r", "ipn:1.0", "-l", "300s",
                            "--time", str(WHEN_MS), "--sequence", "9", "--hop-limit", "30:2", "--age", "5ms",
                            "--previous-node", "ipn:7.0", "--crc", crc, "--primary-crc", primary_crc,
                            "--flags", "report-delivery,app-ack", payload=b"hello")
                bundle = Bundle.parse(wire)
                p = bundle.primary_block
                self.assertEqual((str(p.destination), str(p.source), str(p.report_to)),
                                 ("ipn:2.1", "dtn://node/app", "ipn:1.0"))
                self.assertEqual((tuple(p.creation_time), p.lifetime), ((WHEN_MS, 9), 300000))
                self.assertEqual(p.bundle_proc_flags, BundleProcFlag.REPORT_DELIVERY |
                                 BundleProcFlag.ACKNOWLEDGEMENT_REQUESTED)
                self.assertEqual(bundle.payload_block.data, b"hello")
                content = {int(b.block_type): cbor2.loads(b.data) for b in bundle.blocks}
                self.assertEqual(content, {6: [2, [7, 0]], 7: 5, 10: [30, 2]})
                # they write the same bytes, check values included, block for block
                self.assertEqual(bytes(p), wire[1:1 + len(bytes(p))])
                for b in bundle.blocks + [bundle.payload_block]:
                    self.assertIn(bytes(b), wire)

    def test_fragment(self):
        wire = make("-d", "ipn:2.1", "-s", "ipn:1.1", "--fragment", "6:10", payload=b"6789")
        p = Bundle.parse(wire).primary_block
        self.assertEqual((p.fragment_offset, p.total_payload_length), (6, 10))

    def test_lengths(self):
        for n in (0, 1, 23, 24, 255, 256, 65535, 65536, 500000):
            wire = make("-d", "dtn://n/x", "-s", "ipn:1.1", payload=b"p" * n)
            bundle = Bundle.parse(wire)
            self.assertEqual(bundle.payload_block.data, b"p" * n)
            self.assertEqual(bytes(bundle), wire)


class EchoToThem(unittest.TestCase):
    def answer(self, mark):
        """What a node's echo sends over UDP for a bundle of pyD3TN."""
        out = os.path.join(os.path.dirname(PROGRAM), "..", "out", "pyd3tn_echo")
        shutil.rmtree(out, ignore_errors=True)
        with Lab(os.path.dirname(PROGRAM), out) as lab, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            peer.bind(("127.0.0.1", 0))
            peer.settimeout(300)
            port = lab.udp_ports(1)[0]
            link = {"name": "to-2", "adapter": "udp", "peer": "ipn:2.0", "local": f'"127.0.0.1:{port}"',
                    "remote": f'"127.0.0.1:{peer.getsockname()[1]}"'}
            lab.start_node(1, lab.write_node(1, [link], log=False, extra=f"echo_mark: {mark}\n"))
            now = datetime.datetime.now(datetime.timezone.utc)
            peer.sendto(serialize_bundle7("ipn:2.7", "ipn:1.128", b"hello", creation_timestamp=now, lifetime=300), ("127.0.0.1", port))
            return peer.recv(65535)

    def test_answer_is_read(self):
        bundle = Bundle.parse(self.answer("no"))
        self.assertEqual((bundle.payload_block.data, str(bundle.primary_block.destination)), (b"hello", "ipn:2.7"))

    def test_mark_is_not(self):
        with self.assertRaisesRegex(ValueError, "236"):
            Bundle.parse(self.answer("yes"))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
