#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""licklider-cli, an LTP implementation that is not ours, exchanges files with helio-ltp in both directions: red, green
and mixed blocks of 1 byte to 20 MB; through losses and duplicates that it makes itself, and through helio-emu with
trace A. Each run leaves its capture. Its own retransmission timer is 2 x owlt + about 4 s, so lossy runs are few.
With recovery `default` helio-ltp uses every switch of that set.
usage: licklider_test.py BIN OUT PEERS-BIN plain|default [TEST...]"""

import csv
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import unittest

import _paths  # noqa: F401
import dissect  # noqa: E402
from bound import await_bound  # noqa: E402
from heliograph.processes import Lab  # noqa: E402
from recorder import Recorder  # noqa: E402

PROGRAMS = OUT = PEERS = RECOVERY = ""
RATE = "200Mbit/s"


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class LickliderTest(unittest.TestCase):
    def setUp(self):
        name = self.id().split(".")[-1]
        self.lab = Lab(PROGRAMS, os.path.join(OUT, name))
        self.addCleanup(self.lab.__exit__)
        self.pcap = os.path.join(OUT, "captures", name)
        self.runs = 0

    def file(self, size):
        path = self.lab.path(f"{size}.bin")
        with open(path, "wb") as f:
            f.write(random.Random(size).randbytes(size))
        return path

    def path_between(self, trace):
        """Ports of the sender, of its peer; of the receiver, of its peer. A recorder stands between them, and a relay
        with this trace behind it; far: a long delay instead."""
        sender, near, far, receiver, link = self.lab.udp_ports(5)
        self.runs += 1
        self.recorder = Recorder(f"{self.pcap}-{self.runs}.pcap", near, far, sender, link if trace else receiver)
        self.addCleanup(self.recorder.stop)
        self.recorder.start()
        if trace:
            self.relay = self.lab.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{link}", "--to",
                                        f"127.0.0.1:{receiver}", "--delay", "60ms" if trace == "far" else "5ms", "--rate", RATE,
                                        "--trace", "none" if trace == "far" else trace, "--json", self.lab.path("relay.json"))
            await_bound(link, self.relay)
            return sender, near, receiver, link
        return sender, near, receiver, far

    def start_peer(self, program, *arguments):
        with open(self.lab.path("licklider.log"), "a") as log:
            p = subprocess.Popen([os.path.join(PEERS, program), *arguments], stdout=log, stderr=log,
                                 stdin=subprocess.DEVNULL)
        self.lab.processes.append(("licklider", p))
        return p

    def end(self, p, what, timeout=300):
        try:
            code = p.wait(timeout)
        except subprocess.TimeoutExpired:
            self.fail(f"{what} did not end")
        self.assertEqual(code, 0, f"{what}: exit code {code}; see {self.lab.out}")

    def start_receiver(self, port, peer_port, out):
        p = self.lab.start("receiver", "helio-ltp", "receive", "--local", f"127.0.0.1:{port}", "--remote",
                           f"127.0.0.1:{peer_port}", "--engine", "2", "--peer-engine", "1", "--output", out,
                           "--rto", "200ms", "--recovery", RECOVERY, "--count", "1", "--timeout", "300s", "--json")
        await_bound(port, p)
        return p

    def check_capture(self, trace, size, complete=True):
        """The run's capture, in which tshark finds nothing malformed; the relay has erased something."""
        self.recorder.stop()
        if trace:
            self.lab.stop("relay", self.relay)
        if trace and trace != "far":
            self.assertGreater(self.lab.load("relay.json")["forward"]["dropped"]["trace"], 0)
        if complete:
            self.check_analysis(size)
        if size > 1000000:  # tshark is slow
            return
        frames = self.dissected()
        self.assertGreater(len(frames), 0)
        for number, frame in enumerate(frames, 1):
            self.assertIn("ltp", frame.protocols())
            self.assertEqual(frame.complaints(), [], f"{self.recorder.path}, frame {number}")

    def dissected(self):
        return dissect.frames(self.recorder.path, "--disable-protocol", "bpv7", "--disable-protocol", "bundle")

    def all_claimed(self, size, heard_only):
        """Whether the reports claim all; heard are those with an acknowledgement, or a checkpoint that answers them."""
        frames = self.dissected()
        heard = {n for f in frames for name in ("ltp.rpt.ack.sno", "ltp.data.rpt") for n in f.numbers(name)}
        claimed, reports = bytearray(size), 0
        for frame in frames:
            if frame.numbers("ltp.rpt.sno"):
                reports += 1
                if not heard_only or frame.number("ltp.rpt.sno") in heard:
                    lower = frame.number("ltp.rpt.lb")
                    for offset, length in zip(frame.numbers("ltp.rpt.clm.off"), frame.numbers("ltp.rpt.clm.len"), strict=True):
                        claimed[lower + offset:lower + offset + length] = b"\x01" * length
        self.assertTrue(reports > 0 or not heard_only)
        return len(claimed) == size and all(claimed)

    def check_analysis(self, size, peer_may_leave=False):
        """helio-analyze finds the one session in the capture, from end to end, whichever end sent it."""
        table = self.lab.path("sessions.csv")
        text = self.lab.run("helio-analyze", "--sessions", table, "--json", self.recorder.path)
        with open(table, newline="") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual(len(rows), 1, rows)
        if peer_may_leave and rows[0]["role"] == "receiver" and not self.all_claimed(size, heard_only=True):
            self.assertEqual((rows[0]["outcome"], rows[0]["red_bytes"], rows[0]["originator"]), ("unfinished", str(size), "1"))
            return
        self.assertEqual((rows[0]["outcome"], rows[0]["block_bytes"], rows[0]["originator"]), ("done", str(size), "1"))
        self.assertEqual(rows[0]["role"], "sender" if rows[0]["segments_sent"] else "receiver")
        summary = json.loads(text)
        self.assertEqual((summary["capture"]["damaged"], summary["capture"]["other"]), (0, 0))
        self.assertEqual((summary["sessions"], summary["bytes"]), (1, size))

    def to_us(self, size, red, trace=None, impair=None):
        """A file from licklider to helio-ltp."""
        data, out = self.file(size), self.lab.path(f"out{self.runs}")
        sender, near, receiver, far = self.path_between(trace)
        ours = self.start_receiver(receiver, far, out)
        more, loses = (["--impair", impair], "loss=0," not in impair) if impair else ([], False)
        peer = self.start_peer("licklider", "send", data, "--to", f"2@127.0.0.1:{near}", "--engine", "1", "--listen",
                               f"127.0.0.1:{sender}", "--red", red, *more)
        self.end(peer, "licklider send")
        self.end(ours, "helio-ltp receive")
        self.check_capture(trace, size, complete=not loses)
        if loses:  # its own acknowledgement, too, and it may be gone when the report is sent again: then the session stays open
            self.check_analysis(size, peer_may_leave=True)
        files = os.listdir(out)
        self.assertEqual(len(files), 1, files)
        self.assertEqual(sha256(os.path.join(out, files[0])), sha256(data))
        shutil.rmtree(out)
        os.remove(data)

    def send_ours(self, data, red, sender, near, rate=RATE, more=()):
        return self.lab.start("sender", "helio-ltp", "send", data, "--local", f"127.0.0.1:{sender}", "--remote",
                              f"127.0.0.1:{near}", "--engine", "1", "--peer-engine", "2", "--red", red,
                              "--rto", "200ms", "--recovery", RECOVERY, "--rate", rate, "--timeout", "300s", "--json",
                              *more)

    def to_command(self, size, red, trace=None):
        """A file from helio-ltp to licklider's own command, which writes the red part. The command ends when it has
        written, and its last report is lost when its process is faster in that than its socket: so up to 3 times, after
        which the file must be there all the same, and the report missing on the wire."""
        data, out, length = self.file(size), self.lab.path("out"), size if red == "all" else int(red)
        for attempts_left in (2, 1, 0):
            sender, near, receiver, far = self.path_between(trace)
            peer = self.start_peer("licklider", "recv", "--listen", f"127.0.0.1:{receiver}", "--engine", "2", "--peer",
                                   f"1@127.0.0.1:{far}", "--out", out)
            await_bound(receiver, peer)
            ours = self.send_ours(data, red, sender, near)
            code = ours.wait(300)
            self.end(peer, "licklider recv")
            self.check_capture(trace, size, code == 0)
            if code == 0:
                break
            if not attempts_left:
                self.assertFalse(self.all_claimed(length, heard_only=False), f"helio-ltp send: exit code {code}; see {self.lab.out}")
        with open(data, "rb") as f:
            sent = f.read(length)
        self.assertEqual(sha256(out), hashlib.sha256(sent).hexdigest())
        os.remove(out)
        os.remove(data)

    def to_library(self, size, red, orange=False):
        """A file from helio-ltp to a program over licklider's library, which writes both parts. Its socket's buffer is
        the kernel's default, some hundred segments: when the machine stalls, green ones may be lost there, once."""
        data, out = self.file(size), self.lab.path("out")
        for attempts_left in (2, 1, 0):
            sender, near, receiver, far = self.path_between(None)
            peer = self.start_peer("licklider-peer", f"127.0.0.1:{receiver}", "2", "1", f"127.0.0.1:{far}", str(size),
                                   str(red), out)
            await_bound(receiver, peer)
            ours = self.send_ours(data, str(red), sender, near, "20Mbit/s", ["--orange"] if orange else [])
            if orange:
                self.assertEqual(ours.wait(300), 1)  # nobody answers, see below
            else:
                self.end(ours, "helio-ltp send")
            try:
                self.assertEqual(peer.wait(300), 0)
                break
            except subprocess.TimeoutExpired:
                peer.kill()
                self.recorder.stop()
                self.assertTrue(red < size and attempts_left, "licklider-peer did not get the block")
        self.check_capture(None, size, not orange)
        self.assertEqual(sha256(out), sha256(data))

    def test_red_to_us(self):
        for size in (1, 1400, 200000, 20000000):
            self.to_us(size, "all")

    def test_green_to_us(self):
        for size in (1, 1400, 2000000):
            self.to_us(size, "none")

    def test_mixed_to_us(self):
        for size, red in ((2, 1), (200000, 100000), (200000, 199999), (20000000, 10000000)):
            self.to_us(size, str(red))

    def test_red_to_command(self):
        for size in (1, 1024, 200000, 20000000):
            self.to_command(size, "all")

    def test_mixed_to_command(self):
        for size, red in ((2, 1), (200000, 100000), (20000000, 10000000)):
            self.to_command(size, str(red))

    def test_green_to_library(self):
        for size in (1, 1024, 500000):
            self.to_library(size, 0)

    def test_orange_to_library(self):
        """It does not know the extension, skips it, and has a green block."""
        for size in (1, 500000):
            self.to_library(size, 0, orange=True)

    def test_mixed_to_library(self):
        for size, red in ((2, 1), (1025, 1024), (200000, 100000), (200000, 199999), (500000, 500)):
            self.to_library(size, red)

    def test_losses_and_duplicates_to_us(self):
        self.to_us(200000, "all", impair="loss=0.1,dup=0.1,seed=5")
        self.to_us(200000, "all", impair="loss=0,dup=0.5,seed=2")

    def test_trace_to_us(self):
        self.to_us(5000000, "all", trace="A")

    def test_trace_to_command(self):
        self.to_command(20000000, "all", trace="A")

    def test_far_to_us(self):
        """The round trip is many times the spacing of checkpoints' copies: each copy comes before any answer."""
        self.to_us(200000, "all", trace="far")
        self.to_us(200000, "100000", trace="far")

    def test_far_to_command(self):
        self.to_command(200000, "all", trace="far")


if __name__ == "__main__":
    PROGRAMS, OUT, PEERS, RECOVERY = sys.argv[1:5]
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(os.path.join(OUT, "captures"))
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
