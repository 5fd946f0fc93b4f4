#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-ltp with itself: each mixture of colours, several files at once, losses, and every way to fail.
usage: ltp_tool_test.py BIN OUT"""

import filecmp
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import unittest

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402
from node_case import wait_for  # noqa: E402
from recorder import Recorder  # noqa: E402

PROGRAMS = OUT = ""
RETRIES = "10000"  # a stalled machine is not a peer that is gone


class LtpToolTest(unittest.TestCase):
    def setUp(self):
        self.lab = Lab(PROGRAMS, os.path.join(OUT, self.id().split(".")[-1]))
        self.addCleanup(self.lab.__exit__)

    def file(self, size, name="data"):
        path = self.lab.path(f"{name}{size}")
        with open(path, "wb") as f:
            f.write(random.Random(size).randbytes(size))
        return path

    def start(self, mode, name, *arguments):
        out = open(self.lab.path(name + ".json"), "w+")
        err = open(self.lab.path(name + ".log"), "a")
        self.addCleanup(out.close)
        self.addCleanup(err.close)
        p = subprocess.Popen([self.lab.program("helio-ltp"), mode, "--json", *arguments], stdout=out, stderr=err,
                             restore_signals=False)  # SIGXFSZ stays ignored
        self.lab.processes.append((name, p))
        return p

    def receiver(self, port, *more, peer="1", rto="100ms", timeout="280s", idle="60s"):
        """Returns when it is ready. Who waits for a processor gives up as late as who has nobody to wait for: retries, idle time."""
        with open(self.lab.path("receiver.log"), "w"):
            pass  # of this one alone
        p = self.start("receive", "receiver", "--local", f"127.0.0.1:{port}", "--engine", "2", "--peer-engine", peer, "--output", self.lab.path("in"),
                       "--rto", rto, "--retries", RETRIES, "--timeout", timeout, "--idle-timeout", idle, *more)
        wait_for(lambda: ", ready" in self.said("receiver") or p.poll() is not None)
        return p

    def said(self, name):
        with open(self.lab.path(name + ".log")) as f:
            return f.read()

    def send(self, port, *more, rto="100ms", retries=RETRIES, timeout="280s"):
        p = self.start("send", "sender", "--local", "127.0.0.1:0", "--remote", f"127.0.0.1:{port}", "--engine", "1",
                       "--peer-engine", "2", "--rto", rto, "--retries", retries, "--timeout", timeout, *more)
        return p.wait(300), self.lab.load("sender.json")

    def received(self, p, code=0):
        self.assertEqual(p.wait(300), code)
        return self.lab.load("receiver.json")

    def transfer(self, size, red):
        port, = self.lab.udp_ports(1)
        ours = self.receiver(port, "--count", "1")
        path = self.file(size)
        code, sent = self.send(port, path, "--red", str(red), "--rate", "1Gbit/s")
        self.assertEqual(code, 0, sent)
        got = self.received(ours)["blocks"][0]
        self.assertEqual((got["outcome"], got["bytes"], got["red_bytes"]),
                         ("received", size, {"all": size, "none": 0}.get(red, red)))
        self.assertTrue(filecmp.cmp(got["file"], path, shallow=False))
        self.assertEqual(sent["blocks"][0]["outcome"], "sent" if red == "none" else "delivered")

    def test_colours(self):
        for size, red in ((1, "all"), (1, "none"), (2, 1), (100000, "all"), (100000, "none"), (100000, 1),
                          (100000, 99999), (5000000, 2500000)):
            with self.subTest(size=size, red=red):
                self.transfer(size, red)

    def test_several_files(self):
        port, = self.lab.udp_ports(1)
        ours = self.receiver(port, "--count", "3", "--service", "7")
        paths = [self.file(size) for size in (10, 20000, 300000)]
        code, sent = self.send(port, *paths, "--rate", "100Mbit/s", "--service", "7")
        self.assertEqual(code, 0)
        got = {b["session"]: b for b in self.received(ours)["blocks"]}
        for block in sent["blocks"]:
            self.assertTrue(filecmp.cmp(got[block["session"]]["file"], block["file"], shallow=False))
            self.assertEqual(got[block["session"]]["service"], 7)

    def lossy(self, red, code):
        """Every tenth datagram of each direction is lost."""
        port, there, back = self.lab.udp_ports(3)
        recorder = Recorder(self.lab.path("lossy.pcap"), there, back, 9, port, drop=10)
        recorder.to[1] = self.lab.udp_ports(1)[0]
        self.addCleanup(recorder.stop)
        recorder.start()
        ours = self.receiver(port, "--remote", f"127.0.0.1:{back}", "--count", "1", rto="50ms", idle="60s" if red == "all" else "5s")
        p = self.start("send", "sender", "--local", f"127.0.0.1:{recorder.to[1]}", "--remote", f"127.0.0.1:{there}",
                       "--engine", "1", "--peer-engine", "2", "--rto", "10s" if red == "orange" else "50ms", "--retries", RETRIES, "--timeout", "280s", *(["--orange"] if red == "orange" else ["--red", red]),
                       "--rate", "50Mbit/s", self.file(300000))
        self.assertEqual(p.wait(300), red == "orange")
        return self.lab.load("sender.json"), self.received(ours, code)["blocks"][0]

    def test_losses_red(self):
        sent, got = self.lossy("all", 0)
        self.assertGreater(sent["counters"]["retransmitted_bytes"], 20000)
        self.assertTrue(filecmp.cmp(got["file"], self.lab.path("data300000"), shallow=False))

    def test_losses_green(self):
        _, got = self.lossy("none", 1)
        self.assertEqual(got["outcome"], "incomplete")
        self.assertTrue(got["file"].endswith(".part"))
        self.assertTrue(200000 < got["bytes"] < 300000, got)
        with open(got["file"], "rb") as f, open(self.lab.path("data300000"), "rb") as g:
            ours, sent = f.read(), g.read()
        self.assertEqual(ours[:1000], sent[:1000])
        self.assertEqual(sum(a == b or a == 0 for a, b in zip(ours, sent)), len(ours))

    def test_orange(self):
        port, = self.lab.udp_ports(1)
        ours = self.receiver(port, "--count", "1", rto="10s")
        code, sent = self.send(port, self.file(100000), "--orange", "--rate", "1Gbit/s", rto="10s")
        self.assertEqual((code, sent["blocks"][0]["outcome"]), (0, "delivered"))
        got = self.received(ours)
        self.assertEqual((got["blocks"][0]["outcome"], got["counters"]["segments"]["cancel_receiver"]["tx"]),
                         ("received", 1))

    def test_orange_losses(self):
        """Every tenth datagram of each direction is lost; so may be the first answers."""
        sent, got = self.lossy("orange", 1)
        self.assertEqual(sent["blocks"][0]["outcome"], "lost")
        self.assertEqual(got["outcome"], "incomplete")
        self.assertEqual(sent["counters"]["retransmitted_bytes"], 0)

    def test_orange_nobody_there(self):
        port, = self.lab.udp_ports(1)
        code, sent = self.send(port, self.file(1000), "--orange", rto="20ms")
        self.assertEqual((code, sent["blocks"][0]["outcome"]), (1, "not_answered"))

    def test_junk_does_not_redirect(self):
        """Without --remote: who sends what brings nothing gets no answer, also when it lies before the sender's."""
        port, = self.lab.udp_ports(1)
        junk = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(junk.close)
        junk.setblocking(False)
        # noise, a report for nothing, data of an unknown engine
        texts = [b"junk", bytes.fromhex("0801050001020100000001"), b"\x03\x63\x01\x00\x01\x00\x01\x05\x00x"]
        for count, text in enumerate(texts):
            with self.subTest(text=text):
                ours = self.receiver(port, "--count", "1")
                ours.send_signal(signal.SIGSTOP)
                junk.sendto(text, ("127.0.0.1", port))
                timer = threading.Timer(0.3, ours.send_signal, [signal.SIGCONT])
                timer.start()
                code, sent = self.send(port, self.file(3000 + count), rto="1s")
                timer.join()
                self.assertEqual(code, 0, sent)
                self.assertEqual(self.received(ours)["received"], 1)
                with self.assertRaises(BlockingIOError):
                    junk.recv(2000)

    def test_sender_comes_back_elsewhere(self):
        """Another program of the same engine, from another port, after the first one has gone."""
        port, = self.lab.udp_ports(1)
        ours = self.receiver(port, "--count", "2")
        for size in (3000, 4000):
            code, sent = self.send(port, self.file(size))
            self.assertEqual(code, 0, sent)
        self.assertEqual(self.received(ours)["received"], 2)

    def test_largest_numbers(self):
        port, = self.lab.udp_ports(1)
        largest = str(2 ** 64 - 1)
        ours = self.receiver(port, "--count", "1", peer=largest)
        p = self.start("send", "sender", self.file(3000), "--local", "127.0.0.1:0", "--remote", f"127.0.0.1:{port}",
                       "--engine", largest, "--peer-engine", "2", "--rto", "100ms", "--retries", RETRIES, "--timeout", "280s")
        self.assertEqual(p.wait(300), 0)
        block = self.received(ours)["blocks"][0]
        self.assertEqual(block["originator"], largest)
        self.assertTrue(os.path.basename(block["file"]).startswith(largest + "."))

    def test_nobody_there(self):
        port, = self.lab.udp_ports(1)
        code, sent = self.send(port, self.file(1000), retries="3", rto="20ms")
        self.assertEqual(code, 1)
        self.assertEqual((sent["blocks"][0]["outcome"], sent["blocks"][0]["reason"]),
                         ("cancelled", "retransmission_limit"))
        self.assertEqual(sent["counters"]["segments"]["red_cp_eob"]["tx"], 4)

    def test_time_runs_out(self):
        port, = self.lab.udp_ports(1)
        code, sent = self.send(port, self.file(1000), timeout="200ms", rto="10s")
        self.assertEqual((code, sent["blocks"][0]["outcome"]), (1, "unfinished"))
        ours = self.receiver(port, "--count", "1", timeout="200ms")
        self.assertEqual(self.received(ours, 1)["received"], 0)

    def test_refused_by_the_peer(self):
        port, = self.lab.udp_ports(1)
        ours = self.receiver(port, rto="10s")
        code, sent = self.send(port, self.file(1000), "--service", "9", rto="10s")
        self.assertEqual(code, 1)
        self.assertEqual((sent["blocks"][0]["outcome"], sent["blocks"][0]["reason"]),
                         ("cancelled_by_peer", "unreachable_service"))
        ours.send_signal(signal.SIGTERM)
        self.assertEqual(self.received(ours)["counters"]["verdicts"]["no_client_service"], 1)

    def test_full_disk(self):
        """Neither end says that a file arrived that was not written. The limit on the length of a file stands for the disk's."""
        port, = self.lab.udp_ports(1)
        for colour in ([], ["--orange"]):
            ours = self.receiver(port, "--count", "1")
            resource.prlimit(ours.pid, resource.RLIMIT_FSIZE, (65536, 65536))
            code, sent = self.send(port, self.file(200000), "--rate", "1Gbit/s", *colour)
            self.assertEqual(code, 1)
            self.assertNotEqual(sent["blocks"][0]["outcome"], "delivered")
            got = self.received(ours, 1)
            self.assertEqual((got["received"], got["failed"], got["blocks"][0]["outcome"]), (0, 1, "not_written"))
            self.assertTrue(got["blocks"][0]["file"].endswith(".part"))
            self.assertIn("File too large", open(self.lab.path("receiver.log")).read())

    def test_usage(self):
        for words, message in ((["send", "x"], "--local"), (["receive", "--local", "1.2.3.4"], "a numeric address"),
                               (["fetch"], "'fetch' is unknown; right is send or receive"), (["send", "--rto", "1us"], "at least 100us"),
                               (["receive", "--count", "0"], "write a value from 1")):
            done = subprocess.run([self.lab.program("helio-ltp"), *words], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(message, done.stderr)
        done = subprocess.run([self.lab.program("helio-ltp"), "send", self.lab.path("none"), "--local", "127.0.0.1:0",
                               "--remote", "127.0.0.1:9", "--engine", "1", "--peer-engine", "2"],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertIn("No such file", done.stderr)
        done = subprocess.run([self.lab.program("helio-ltp"), "receive", "--local", "127.0.0.1:0", "--engine", "2",
                               "--peer-engine", "1", "--output", self.file(1)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertIn("Not a directory", done.stderr)


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    shutil.rmtree(OUT, ignore_errors=True)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
