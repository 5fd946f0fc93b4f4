# SPDX-License-Identifier: Apache-2.0
"""helio-send and helio-recv beside applications that know the files: nothing is confirmed that was not stored, and none is
kept out. usage: files_forged_test.py BIN OUT"""
import hashlib
import json
import os
import random
import signal
import struct
import sys
import time
import unittest

import aap2
from files_case import FilesCase, wait_for, write

PIECE, RECEIPT = 1, 3
DONE = struct.pack(">BBHI", 2, 0, 0, 0)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF


def ident(name, data):
    """The transfer's id, known to all who know the file (docs/helio-send.md)."""
    return hashlib.sha256(hashlib.sha256(data).digest() + struct.pack(">Q", len(data)) + name.encode()).digest()[:16]


def payload(kind, name, data, body, number=None, offset=0):
    """`number`: the id of the transfer, otherwise the right one. A receipt has no name."""
    text = b"" if kind == RECEIPT else name.encode()
    head = b"HFIL\x01" + bytes([kind]) + b"\0\0" + (number or ident(name, data)) + struct.pack(">QQ", len(data), offset)
    head += hashlib.sha256(data).digest() + struct.pack(">IHH", 0, len(text), 0)
    return head + struct.pack(">I", crc32c(head + bytes(4) + text + body)) + text + body


class ForgedTest(FilesCase):
    LINK = {"rto": "1s", "rate": "50Mbit/s"}

    def count_recv(self, service):
        return self.recv("--json", os.path.join(self.here, "recv.json"), service=service, text=True)

    def stop_recv(self, p):
        """What it said, and its counters."""
        p.send_signal(signal.SIGTERM)
        _, err = self.end(p)
        with open(os.path.join(self.here, "recv.json"), encoding="utf-8") as f:
            return err, json.load(f)

    def forge(self, node, destination, *payloads):
        """From an application of that node, in its own name."""
        with aap2.Client(self.lab.socket(node)) as c:
            self.assertEqual(c.configure(f"{c.node.rpartition('.')[0]}.77"), aap2.SUCCESS)
            for p in payloads:
                self.assertEqual(c.request(destination, p)[0], aap2.SUCCESS)

    def make(self, name, data):
        return write(data, self.here, name)

    def check_there(self, name, data):
        with open(os.path.join(self.to, name), "rb") as f:
            self.assertEqual(f.read(), data)

    def test_what_others_claim(self):
        """Before a file is sent, another one takes its id with a file of one byte, and another sends it with wrong bytes."""
        recv = self.count_recv("2001")
        data = random.Random(1).randbytes(300_000)
        files = {"update.bin": data, "READY": b""}
        stubs = [payload(PIECE, f"stub{n}", b"!", b"!", number=ident(n, d)) for n, d in files.items()]
        self.forge(2, "ipn:2.2001", *stubs, payload(PIECE, "update.bin", data, b"z" * 100, offset=150_000))
        paths = [self.make(n, d) for n, d in files.items()]
        out, _ = self.end(self.start("helio-send", 1, "-b", "50kB", "--ask", "1", "ipn:2.2001", *paths))
        self.assertEqual(out.count("confirmed"), 2, out)
        for name, content in files.items():
            self.check_there(name, content)
        self.assertEqual(sorted(os.listdir(self.to)), [".helio-recv", "READY", "update.bin"])
        said, counts = self.stop_recv(recv)
        self.assertEqual(said.count("helio-recv: from ipn:2.77: a payload with another file's id; refused\n"), 1, said)
        self.assertEqual((counts["refused"]["id"], counts["refused"]["conflict"], counts["files"], counts["incomplete"]), (2, 0, 2, 0))

    def test_two_nodes_send_one_file(self):
        recv = self.count_recv("2002")
        data = random.Random(2).randbytes(2_000_000)
        path = self.make("image.tif", data)
        senders = [self.start("helio-send", node, "-b", "20kB", "--ask", "1", to, path) for node, to in ((1, "ipn:2.2002"), (2, "ipn:!.2002"))]
        for p in senders:
            self.assertIn("image.tif  2000000 bytes  confirmed", self.end(p)[0])
        self.check_there("image.tif", data)
        self.assertEqual(sorted(os.listdir(self.to)), [".helio-recv", "image.tif"])
        self.assertEqual(self.stop_recv(recv)[1]["files"], 1)

    def test_receipts_of_others(self):
        """A spool's file is there until the receiver itself has confirmed it."""
        data = b"published, known to all\n" * 1000
        spool = os.path.dirname(self.make("spool/ephemeris.txt", data))
        sender = self.start("helio-send", 1, "--service", "900", "--spool", spool, "-i", "100ms", "--ask", "1", "--json", os.path.join(self.here, "send.json"), "ipn:2.2003")
        done, refused = DONE + struct.pack(">Q", len(data)), b"\x03\x01" + bytes(14)
        time.sleep(2)  # the endpoint 1.900 is there, and the file is under way
        self.forge(2, "ipn:1.900", *(payload(RECEIPT, "ephemeris.txt", data, body) for body in (refused, done)))
        said = sender.stderr.readline()
        self.assertEqual(said, "helio-send: a receipt from ipn:2.77: only ipn:2.2003 confirms; not believed\n")
        time.sleep(1)
        self.assertEqual(os.listdir(spool), ["ephemeris.txt"])
        recv = self.count_recv("2003")
        wait_for(lambda: not os.listdir(spool))
        self.check_there("ephemeris.txt", data)
        self.stop_recv(recv)
        sender.send_signal(signal.SIGINT)
        self.end(sender)
        with open(os.path.join(self.here, "send.json"), encoding="utf-8") as f:
            counts = json.load(f)
        self.assertEqual((counts["others"], counts["files"], counts["failed"]), (2, 1, 0))

    def test_groups_do_not_confirm(self):
        path = self.make("x", b"x")
        for group in ("imc:5.2001", "dtn://group/~files"):
            _, err = self.end(self.start("helio-send", 1, group, path), 2)
            self.assertIn(f"{group} is a group: its members cannot confirm; --no-wait sends without that", err)


unittest.main(argv=sys.argv[:1], verbosity=2)
