# SPDX-License-Identifier: Apache-2.0
"""Bundles of bp7 and hardy-bpv7 are read by helio-bundle, and bundles of helio-bundle by both: payloads of 1 byte to 50 MB, each
extension block, each CRC type, fragments. usage: bundle_peers_test.py HELIO-BUNDLE BUNDLE-PEERS OUT"""
import itertools
import json
import os
import random
import subprocess
import sys
import unittest

HELIO = PEERS = OUT = ""
LIBRARIES = ("bp7", "hardy")
CREATED = 700000000000
SIZES = (1, 23, 24, 255, 256, 65535, 65536, 1_000_000, 50_000_000)
CRCS = {"none": 0, "16": 1, "32c": 2}


def run(*words, stdin=b""):
    return subprocess.run(words, input=stdin, capture_output=True, timeout=600, check=False)


def ours(*words, payload=b"payload"):
    done = run(HELIO, "make", "--payload", "-", *words, stdin=payload)
    assert done.returncode == 0, done.stderr
    return done.stdout


def theirs(library, payload=b"payload", **keys):
    done = run(PEERS, library, "make", *(f"{k}={v}" for k, v in keys.items()), stdin=payload)
    assert done.returncode == 0, (library, keys, done.stderr)
    return done.stdout


def shown_by(library, wire):
    """What it says of a bundle, and the payload."""
    path = os.path.join(OUT, "payload")
    done = run(PEERS, library, "show", path, stdin=wire)
    assert done.returncode == 0, (library, done.stderr)
    with open(path, "rb") as f:
        return json.loads(done.stdout), f.read()


def shown_by_us(wire):
    path = os.path.join(OUT, "theirs.bundle")
    with open(path, "wb") as f:
        f.write(wire)
    done = run(HELIO, "show", "--json", "--strict", path)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def block(shown, kind):
    return next(b for b in shown["blocks"] if b["type"] == kind)


class OursToThem(unittest.TestCase):
    def test_blocks_and_crcs(self):
        for library, crc, primary in itertools.product(LIBRARIES, CRCS, ("16", "32c")):
            with self.subTest(library=library, crc=crc, primary=primary):
                wire = ours("-d", "ipn:2.1", "-s", "dtn://node/app", "-r", "ipn:1.0", "-l", "300s", "--time", str(CREATED), "--sequence", "9",
                            "--hop-limit", "30:2", "--age", "5ms", "--previous-node", "ipn:7.0", "--crc", crc, "--primary-crc", primary,
                            "--flags", "report-delivery,app-ack")
                got, payload = shown_by(library, wire)
                self.assertEqual(payload, b"payload")
                self.assertEqual((got["source"], got["destination"], got["report_to"]), ("dtn://node/app", "ipn:2.1", "ipn:1.0"))
                self.assertEqual((got["created"], got["sequence"], got["lifetime"]), (CREATED, 9, 300000))
                self.assertEqual((got["flags"], got["crc"], got["fragment"]), (0x20020, CRCS[primary], None))
                self.assertEqual((got["hops"], got["age"], got["previous"]), ([30, 2], 5, "ipn:7.0"))
                self.assertEqual(sorted((b[0], b[3]) for b in got["blocks"]), [(k, CRCS[crc]) for k in (1, 6, 7, 10)])

    def test_sizes(self):
        rng = random.Random(1)
        for size in SIZES:
            payload = rng.randbytes(size)
            wire = ours("-d", "ipn:2.1", "-s", "ipn:1.1", "-r", "ipn:1.0", payload=payload)
            for library in LIBRARIES:
                self.assertTrue(shown_by(library, wire)[1] == payload, (library, size))

    def test_fragment(self):
        for library in LIBRARIES:
            got, payload = shown_by(library, ours("-d", "ipn:2.1", "-s", "ipn:1.1", "-r", "ipn:1.0", "--fragment", "6:10", payload=b"6789"))
            self.assertEqual((got["fragment"], payload), ([6, 10], b"6789"))

    def test_one_octet_wrong(self):
        """Each of them notices what we would: a check value."""
        wire = bytearray(ours("-d", "ipn:2.1", "-s", "ipn:1.1", "-r", "ipn:1.0", payload=b"p" * 50))
        wire[-20] ^= 1
        for library in LIBRARIES:
            self.assertEqual(run(PEERS, library, "show", os.path.join(OUT, "payload"), stdin=bytes(wire)).returncode, 1, library)


class TheirsToUs(unittest.TestCase):
    def test_blocks_and_crcs(self):
        for library, crc in itertools.product(LIBRARIES, (1, 2)):
            with self.subTest(library=library, crc=crc):
                got = shown_by_us(theirs(library, source="dtn://peer/app", destination="ipn:2.1", report_to="ipn:1.0", created=CREATED, sequence=7,
                                         lifetime=60000, flags=0x20004, crc=crc, hops="30:2", age=5, previous="dtn://before/"))
                self.assertEqual((got["source"], got["destination"], got["report_to"]), ("dtn://peer/app", "ipn:2.1", "ipn:1.0"))
                self.assertEqual((got["created_ms"], got["sequence"], got["lifetime_ms"]), (CREATED, 7, 60000))
                self.assertEqual(sorted(got["flags"]), ["no-fragment", "report-delivery"])
                self.assertEqual((block(got, 10)["hop_limit"], block(got, 10)["hop_count"]), (30, 2))
                self.assertEqual((block(got, 7)["age_ms"], block(got, 6)["previous_node"]), (5, "dtn://before/"))
                self.assertEqual((block(got, 1)["bytes"], block(got, 1)["crc"]), (7, ("none", "crc16", "crc32c")[crc]))

    def test_sizes(self):
        rng = random.Random(2)
        for size, library in itertools.product(SIZES, LIBRARIES):
            payload = rng.randbytes(size)
            wire = theirs(library, payload, source="ipn:1.1", destination="ipn:2.1", report_to="ipn:1.0", created=CREATED)
            self.assertEqual(block(shown_by_us(wire), 1)["bytes"], size)
            self.assertTrue(shown_by("bp7" if library == "hardy" else "hardy", wire)[1] == payload, (library, size))

    def test_random(self):
        """bp7's own."""
        for _ in range(50):
            wire = run(PEERS, "bp7", "random").stdout
            done = run(HELIO, "show", "--json", "-", stdin=wire)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(block(json.loads(done.stdout), 1)["bytes"], 3)


if __name__ == "__main__":
    HELIO, PEERS, OUT = (os.path.abspath(a) for a in sys.argv[1:4])
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)
