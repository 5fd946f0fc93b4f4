#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line of helio-bundle: exit codes, messages, formats. usage: bundle_tool_test.py BIN-FOLDER"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""
BASE = ["make", "-d", "ipn:2.1", "-s", "ipn:1.1", "--time", "5", "--text", "hello"]


def run(*args, stdin=b""):
    r = subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, timeout=300, check=False)
    return r.returncode, r.stdout, r.stderr.decode()


class Tool(unittest.TestCase):
    def test_usage_errors_say_what_is_right(self):
        for args, hint in (
                ([], "lint"), (["frob"], "lint, show, make, sign, verify, encrypt, decrypt or explain"), (["lint"], "FILE"), (["show"], "FILE"),
                (["lint", "--frob", "-"], "frob"), (BASE + ["--crc", "33"], "none, 16, 32c"),
                (BASE + ["-d", "ipn:1"], "ipn:NODE.SERVICE"), (BASE + ["-l", "3 fortnights"], "write a duration"),
                (BASE + ["-f", "frob"], "frob"), (BASE + ["-f", "fragment"], "fragment"),
                (BASE + ["--hop-limit", "256"], "1 to 255"), (BASE + ["--block", "200:1"], "TYPE:FLAGS:HEX"),
                (BASE + ["--block", "200:1:abc"], "TYPE:FLAGS:HEX"),
                (BASE + ["--priority", "urgent"], "expedited:N"), (BASE + ["--priority", "bulk:1"], "expedited:N"),
                (BASE + ["--priority", "expedited:255"], "expedited:N"), (BASE + ["--fragment", "3"], "OFFSET:TOTAL"),
                (BASE + ["--block", "200:1:"] * 33, "at most 32"), (BASE + ["-p", "-"], "--payload"),
                (BASE + ["--sequence", "-1"], "number"), (BASE + ["stray"], "stray"),
                (["make", "--text", "x"], "--destination"), (["make", "-d", "ipn:2.1"], "--payload")):
            code, out, err = run(*args)
            self.assertEqual((code, out), (2, b""), args)
            self.assertIn(hint, err, args)

    def test_failures(self):
        for args, hint in ((["lint", "/nonexistent"], "/nonexistent"), (["show", "/nonexistent"], "No such file"),
                           (BASE + ["-o", "/nonexistent/x"], "/nonexistent/x"),
                           (BASE + ["--fragment", "3:5"], "no legal bundle"),
                           (BASE + ["--block", "1:0:00"], "no legal bundle")):
            code, _, err = run(*args)
            self.assertEqual(code, 2, args)
            self.assertIn(hint, err, args)
        self.assertEqual(run("lint", "--hex", "-", stdin=b"9fz")[0], 1)

    def test_clean_and_not_clean(self):
        code, wire, _ = run(*BASE)
        self.assertEqual(code, 0)
        self.assertEqual(run("lint", "-", stdin=wire), (0, b"", ""))
        self.assertEqual(run("lint", "--hex", "-", stdin=wire.hex(" ").encode()), (0, b"", ""))
        self.assertEqual(run(*BASE)[1], wire)
        broken = bytearray(wire)
        broken[-3] ^= 1
        code, out, _ = run("lint", "-", stdin=bytes(broken))
        self.assertEqual((code, out.decode()),
                         (1, f"-:{len(wire) - 6}: error: the CRC does not match the block [RFC 9171 §4.2.1]\n"))
        code, out, _ = run("show", "--json", "-", stdin=bytes(broken))
        self.assertEqual((code, json.loads(out)["findings"][0]["section"]), (1, "RFC 9171 §4.2.1"))

    def test_priority(self):
        """As ION writes it: block type 193, [flags, priority, ordinal, label]."""
        code, wire, _ = run(*BASE, "--priority", "expedited:9")
        self.assertEqual(code, 0)
        self.assertIn(bytes.fromhex("4584000209008"[:12]), wire)
        self.assertEqual(run("lint", "-", stdin=wire), (0, b"", ""))
        block = json.loads(run("show", "--json", "-", stdin=wire)[1])["blocks"][0]
        self.assertEqual((block["type"], block["flags"], block["priority"], block["ordinal"]), (193, ["replicate"], "expedited", 9))
        hdtn = run(*BASE, "--block", "13:16:00")[1]
        block = json.loads(run("show", "--json", "-", stdin=hdtn)[1])["blocks"][0]
        self.assertEqual((block["type"], block["priority"]), (13, "bulk"))

    def test_files_and_blocks(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bundle")
            self.assertEqual(run(*BASE, "--block", "200:17:c0ffee", "--fragment", "2:7", "-o", path)[0], 0)
            self.assertEqual(run("lint", path, path)[0], 0)
            code, out, _ = run("show", "--json", path)
            got = json.loads(out)
            self.assertEqual((code, got["fragment_offset"], got["total_bytes"]), (0, 2, 7))
            self.assertEqual([(b["type"], b["bytes"]) for b in got["blocks"]], [(200, 3), (1, 5)])
            self.assertEqual(got["blocks"][0]["flags"], ["replicate", "drop-if-unknown"])
            text = run("show", path)[1].decode()
            self.assertIn("destination: ipn:2.1", text)
            self.assertIn("findings: none", text)

    def test_anonymous_and_clockless(self):
        code, wire, _ = run("make", "-d", "ipn:2.1", "--time", "0", "--text", "x")
        self.assertEqual(code, 0)
        self.assertEqual(run("lint", "-", stdin=wire)[0], 0)
        got = json.loads(run("show", "--json", "-", stdin=wire)[1])
        self.assertEqual((got["source"], got["flags"], got["created"]), ("dtn:none", ["no-fragment"], "unknown"))
        self.assertEqual(got["blocks"][0]["age_ms"], 0)

    def test_long_payload(self):
        payload = bytes(range(256)) * 4000
        code, wire, _ = run("make", "-d", "ipn:2.1", "-s", "ipn:1.1", "-p", "-", stdin=payload)
        self.assertEqual(code, 0)
        self.assertIn(payload, wire)
        self.assertEqual(run("lint", "-", stdin=wire)[0], 0)

    def key(self, folder, name, octets, mode=0o600):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(os.urandom(octets).hex() + "\n")
        os.chmod(path, mode)
        return path

    def test_sign_and_encrypt(self):
        """What one command makes, the others read: also two steps one after the other, and through a pipe."""
        wire = run(*BASE)[1]
        with tempfile.TemporaryDirectory() as folder:
            mac, aes, kek = self.key(folder, "mac", 48), self.key(folder, "aes", 32), self.key(folder, "kek", 16)
            code, signed, err = run("sign", "-k", mac, "-t", "primary", "-t", "payload", "-", stdin=wire)
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(run("lint", "-", stdin=signed)[0], 0)
            code, out, _ = run("verify", "-k", aes, "-k", mac, "--json", "-", stdin=signed)
            got = json.loads(out)
            self.assertEqual((code, got["correct"], [o["target"] for o in got["operations"]]), (0, True, [0, 1]))
            self.assertEqual(run("verify", "-k", aes, "-", stdin=signed)[0], 1)
            blocks = json.loads(run("explain", "--json", "-", stdin=signed)[1])["security_blocks"]
            code, out, err = run("encrypt", "-k", aes, "-t", str(blocks[0]["block"]), "-", stdin=signed)
            self.assertEqual((code, out), (1, b""))  # an integrity block without its target: RFC 9172 section 3.8
            self.assertIn("RFC 9172 does not allow", err)
            altered = signed.replace(b"hello", b"hallo")
            code, out, _ = run("verify", "-k", mac, "-", stdin=altered)
            self.assertEqual(code, 1)
            self.assertIn(b"primary block: correct", out)
            self.assertIn(b"payload: it does not match", out)
            for options, key in ((["-k", aes], aes), (["-k", aes, "--wrap", "--bits", "128"], aes), (["-k", kek, "--wrap"], kek)):
                code, sealed, err = run("encrypt", *options, "-", stdin=signed)
                self.assertEqual((code, err), (0, ""), options)
                self.assertNotIn(b"hello", sealed)
                self.assertEqual(run("lint", "-", stdin=sealed)[0], 0)
                blocks = json.loads(run("explain", "--json", "-", stdin=sealed)[1])["security_blocks"]
                self.assertEqual([b.get("encrypted", False) for b in blocks], [False, True, False, False])
                self.assertEqual(len({b["iv"] for b in blocks[2:]}), 2)
                self.assertEqual(run("verify", "-k", mac, "-", stdin=sealed)[0], 1)
                self.assertEqual(run("decrypt", "-k", mac, "-", stdin=sealed)[0], 1)
                self.assertEqual(run("decrypt", "-k", key, "-", stdin=sealed), (0, signed, ""), options)
            plain = os.path.join(folder, "plain")
            self.assertEqual(run("verify", "-k", mac, "--strip", "-o", plain, "-", stdin=signed)[0], 0)
            self.assertEqual(run("lint", plain)[0], 0)
            shown = json.loads(run("show", "--json", plain)[1])
            self.assertEqual([(b["type"], b["bytes"]) for b in shown["blocks"]], [(1, 5)])
            self.assertEqual(shown["crc"], "crc32c")

    def test_security_mistakes(self):
        wire = run(*BASE)[1]
        with tempfile.TemporaryDirectory() as folder:
            mac, open_key, short = self.key(folder, "mac", 48), self.key(folder, "open", 32, 0o644), self.key(folder, "short", 8)
            aes = self.key(folder, "aes", 32)
            empty, text = os.path.join(folder, "empty"), os.path.join(folder, "text")
            for path, content in ((empty, ""), (text, "not hexadecimal\n")):
                with open(path, "w", encoding="ascii") as f:
                    f.write(content)
                os.chmod(path, 0o600)
            for args, want, hint in (
                    (["sign", "-"], 2, "--key FILE"), (["sign", "-k", mac], 2, "FILE is missing"),
                    (["sign", "-k", open_key, "-"], 2, "chmod o="), (["sign", "-k", empty, "-"], 2, empty),
                    (["sign", "-k", text, "-"], 2, "openssl rand -hex 32"), (["sign", "-k", folder + "/none", "-"], 2, "No such file"),
                    (["sign", "-k", mac, "--bits", "128", "-"], 2, "256, 384, 512"), (["sign", "-k", mac, "-t", "x", "-"], 2, "or payload, or primary"),
                    (["sign", "-k", mac, "--scope", "all,frob", "-"], 2, "primary,target,security"),
                    (["sign", "-k", mac, "-t", "7", "-"], 1, "no such block"), (["encrypt", "-k", short, "-"], 2, "8 bytes; AES-256 needs 32"),
                    (["encrypt", "-k", aes, "--bits", "128", "-"], 2, "32 bytes; AES-128 needs 16"),
                    (["sign", "-k", mac, "--wrap", "-"], 2, "48 bytes; a key that encrypts keys"),
                    (["encrypt", "-k", aes, "-t", "primary", "-"], 1, "does not allow"), (["decrypt", "-k", mac, "-"], 1, "no confidentiality"),
                    (["verify", "-k", mac, "--strip", "-"], 2, "-o FILE"), (["verify", "-"], 2, "--key FILE"), (["verify", "-k", mac, "-o", "x", "-"], 2, "--strip"),
                    (["sign", "-k", mac, "-s", "dtn:none", "-"], 2, "--source")):
                code, out, err = run(*args, stdin=wire)
                self.assertEqual(code, want, args)
                self.assertIn(hint, err, args)
            code, out, _ = run("verify", "-k", mac, "-", stdin=wire)
            self.assertEqual(code, 1)
            self.assertIn(b"no integrity block", out)
            self.assertEqual(run("sign", "-k", mac, "-", stdin=b"\x9f\x00")[0], 1)

    def test_json_of_any_name(self):
        """File names that are no UTF-8, and block numbers above 2^63 - 1, are whole in JSON."""
        with tempfile.TemporaryDirectory() as folder:
            mac = self.key(folder, "mac", 48)
            signed = run("sign", "-k", mac, "-", stdin=run(*BASE)[1])[1]
            block = signed.index(b"\x85\x0b\x02")  # block type 11, number 2
            large = signed[:block + 2] + b"\x1b" + b"\xff" * 8 + signed[block + 3:]
            path = os.path.join(os.fsencode(folder), b"name\xff.cbor")
            with open(path, "wb") as f:
                f.write(large)
            code, out, _ = run("explain", "--json", path)
            got = json.loads(out)
            self.assertEqual((code, got["security_blocks"][0]["block"]), (0, str(2**64 - 1)))
            self.assertIn("name\\xff.cbor", got["file"])
            code, out, _ = run("verify", "-k", mac, "--json", path)
            got = json.loads(out)
            self.assertEqual((code, got["operations"][0]["block"], got["operations"][0]["target"]), (1, str(2**64 - 1), 1))


if __name__ == "__main__":
    PROGRAM = os.path.join(sys.argv.pop(1), "helio-bundle")
    unittest.main(verbosity=2)
