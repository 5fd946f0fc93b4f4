# SPDX-License-Identifier: Apache-2.0
"""helio-sle's user as the gateway of a mission control system: frames leave as datagrams, CLTUs arrive as datagrams.

usage: sle_gateway_test.py BIN"""

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import sle_case
from sle_case import RAF

CLTU = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
# A telecommand frame and its CLTUs, made by other code.
FRAME = bytes.fromhex("21ab0c1c2ae51610171e252c333a41484f565d646b727980878e95162a")
PLAIN = bytes.fromhex("eb9021ab0c1c2ae516de10171e252c333afa41484f565d646b10727980878e9516a02a5555555555555ac5c5c5c5c5c5c579")
RANDOMISED = bytes.fromhex("eb90de929246420c1086e57b970a8d0264b649881dfee6ca25c4b0be6de152adc21ed25555555555558ac5c5c5c5c5c5c579")


def with_lengths(items):
    return b"".join(struct.pack(">I", len(x)) + x for x in items)


class GatewayTest(sle_case.SleCase):
    def gateway(self, instance, *options, **more):
        """A user that goes on until it is told to stop."""
        self.told = open(self.path("user.log"), "w+")
        p = subprocess.Popen(self.user_command(instance, "--log", "info", *options, **more), stdout=subprocess.PIPE, stderr=self.told,
                             text=True)
        self.running.append(p)
        return p

    def says(self, text, times=1):
        with open(self.path("user.log")) as f:
            return f.read().count(text) >= times

    def until_started(self, times=1):
        self.until(lambda: self.says(": started", times), "the service is not started")

    def end(self, p):
        p.send_signal(signal.SIGTERM)
        out, _ = p.communicate(timeout=300)
        with open(self.path("user.log")) as f:
            log = f.read()
        self.told.close()
        self.assertEqual(p.returncode, 0, log + out)
        r = json.loads(out)
        return r, r["associations"][0], log

    def station_of_cltus(self, more=""):
        self.provider(f"control: {self.path('control')}\ninstances:\n  - {{id: {CLTU}, users: CENTRE, uplink: {self.path('uplink')}{more}}}\n")

    def control(self, *words):
        subprocess.run([os.path.join(self.BIN, "helio-sle"), "control", self.path("control"), *words], check=True, timeout=100)

    def uplink(self):
        with open(self.path("uplink"), "rb") as f:
            return f.read()

    def setUp(self):
        super().setUp()
        self.at = sle_case.free_port()
        self.down = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def tearDown(self):
        self.down.close()
        super().tearDown()

    def put(self, octets, source=None):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            if source:
                s.bind((source, 0))
            s.sendto(octets, ("127.0.0.1", self.at))

    def test_cltus_in_order(self):
        """Each datagram is a transfer, unchanged, once, in order."""
        self.station_of_cltus()
        u = self.gateway(CLTU, "--cltu-datagrams", f"127.0.0.1:{self.at}", level="none")
        self.until_started()
        draw = random.Random(1)
        cltus = [b"\xeb\x90" + draw.randbytes(draw.randrange(1, 4094)) for _ in range(300)]
        for n, c in enumerate(cltus):
            self.put(c)
            if n % 20 == 19:  # within the socket's buffer
                self.until(lambda: self.says(": a CLTU of", n + 1), "a datagram is missing")
        self.until(lambda: len(self.uplink()) == len(with_lengths(cltus)), "a CLTU is missing")
        _, r, _ = self.end(u)
        self.assertEqual(self.uplink(), with_lengths(cltus))
        self.assertEqual({k: v for k, v in r["cltus"].items() if v}, {"received": 300, "sent": 300, "accepted": 300, "radiated": 300,
                                                                     "other_notifications": r["cltus"]["other_notifications"]})

    def test_frames_become_cltus(self):
        for word, wanted in (("plain", PLAIN), ("randomised", RANDOMISED)):
            with self.subTest(word):
                if os.path.exists(self.path("uplink")):
                    os.remove(self.path("uplink"))
                self.station_of_cltus()
                u = self.gateway(CLTU, "--cltu-datagrams", f"127.0.0.1:{self.at}", "--encode", word)
                self.until_started()
                for wrong in (b"", FRAME[:-1], FRAME + b"\0", b"\x40" + FRAME[1:], PLAIN):
                    self.put(wrong)
                self.put(FRAME)
                self.until(lambda: self.uplink() == with_lengths([wanted]), "no CLTU was radiated")
                _, r, log = self.end(u)
                self.assertEqual((r["cltus"]["received"], r["cltus"]["bad"], r["cltus"]["radiated"]), (6, 5, 1), r)
                self.assertIn("5 CLTUs were dropped: the datagrams are no CLTUs, or no telecommand frames", log)
                self.stop()

    def test_only_one_host(self):
        self.station_of_cltus()
        u = self.gateway(CLTU, "--cltu-datagrams", f"127.0.0.1:{self.at}", "--cltu-source", "127.0.0.2")
        self.until_started()
        self.put(PLAIN)
        self.put(RANDOMISED, source="127.0.0.2")
        self.until(lambda: self.uplink() == with_lengths([RANDOMISED]), "no CLTU was radiated")
        _, r, log = self.end(u)
        self.assertEqual((r["cltus"]["foreign"], r["cltus"]["radiated"]), (1, 1), r)
        self.assertIn("1 CLTUs were dropped: another host sent them", log)

    def test_the_provider_ends_and_begins_again(self):
        """CLTUs without an association are dropped and logged, and none of them is sent later."""
        self.station_of_cltus()
        u = self.gateway(CLTU, "--cltu-datagrams", f"127.0.0.1:{self.at}", "--reconnect", "100ms")
        self.until_started()
        self.put(PLAIN)
        self.until(lambda: len(self.uplink()) == 4 + len(PLAIN), "no CLTU was radiated")
        self.station.kill()
        self.station.wait()
        self.until(lambda: self.says("Connection refused") or self.says("the connection has ended"), "the end is not told")
        for _ in range(7):
            self.put(b"\xeb\x90" + bytes(20))
        self.until(lambda: self.says("7 CLTUs were dropped: the service was not started"), "the drops are not told")
        self.station_of_cltus()
        self.until_started(2)
        self.put(RANDOMISED)
        self.until(lambda: len(self.uplink()) == 8 + len(PLAIN) + len(RANDOMISED), "no CLTU was radiated")
        _, r, _ = self.end(u)
        self.assertEqual(self.uplink(), with_lengths([PLAIN, RANDOMISED]))
        self.assertEqual((r["cltus"]["received"], r["cltus"]["dropped"], r["cltus"]["radiated"], r["reconnects"]), (9, 7, 2, 1), r)

    def test_lost_with_the_association(self):
        """What was sent and not notified is not sent again: nobody knows whether it was radiated."""
        self.station_of_cltus(", uplink_rate: 10bit/s")
        u = self.gateway(CLTU, "--cltu-datagrams", f"127.0.0.1:{self.at}", "--reconnect", "100ms")
        self.until_started()
        for _ in range(5):
            self.put(PLAIN)
        self.until(lambda: self.says(": a CLTU of", 5), "a datagram is missing")
        self.until(lambda: self.status()["instances"][0]["counts"]["cltus"] == 5, "a CLTU is not accepted")
        self.station.kill()
        self.station.wait()
        self.until(lambda: self.says("5 CLTUs were lost with the association"), "the loss is not told")
        os.remove(self.path("uplink"))
        self.station_of_cltus()
        self.until_started(2)
        self.put(RANDOMISED)
        self.until(lambda: self.uplink() == with_lengths([RANDOMISED]), "no CLTU was radiated")
        _, r, _ = self.end(u)
        self.assertEqual((r["cltus"]["lost"], r["cltus"]["radiated"], r["cltus"]["received"]), (5, 1, 6), r)

    def test_production_is_interrupted(self):
        """The provider takes no CLTU before a new START, which comes without the operator."""
        self.station_of_cltus(", uplink_rate: 10bit/s")
        u = self.gateway(CLTU, "--cltu-datagrams", f"127.0.0.1:{self.at}", "--reconnect", "100ms")
        self.until_started()
        for _ in range(3):
            self.put(PLAIN)
        self.until(lambda: self.status()["instances"][0]["counts"]["cltus"] == 3, "a CLTU is not accepted")
        self.control(CLTU, "production", "interrupted")
        self.until(lambda: self.says("STOP, then START again"), "the interruption is not told")
        self.control(CLTU, "production", "operational")
        self.until_started(2)
        self.put(b"\xeb\x90\1\2")
        self.until(lambda: self.uplink() == with_lengths([b"\xeb\x90\1\2"]), "no CLTU was radiated")
        _, r, log = self.end(u)
        self.assertEqual((r["cltus"]["discarded"], r["cltus"]["interrupted"], r["cltus"]["radiated"], r["reconnects"]), (3, 1, 1, 0), r)
        self.assertIn("3 CLTUs were discarded by the provider", log)

    def test_the_end_waits_for_radiation(self):
        """A first signal waits until what was sent is radiated; a second one does not."""
        self.station_of_cltus(", uplink_rate: 300bit/s")
        u = self.gateway(CLTU, "--cltu-datagrams", f"127.0.0.1:{self.at}")
        self.until_started()
        self.put(PLAIN)
        self.until(lambda: self.status()["instances"][0]["counts"]["cltus"] == 1, "the CLTU is not accepted")
        _, r, _ = self.end(u)
        self.assertEqual((r["cltus"]["radiated"], r["cltus"]["lost"]), (1, 0), r)
        self.stop()
        os.remove(self.path("uplink"))
        self.station_of_cltus(", uplink_rate: 1bit/s")
        u = self.gateway(CLTU, "--cltu-datagrams", f"127.0.0.1:{self.at}")
        self.until_started()
        self.put(PLAIN)
        self.until(lambda: self.status()["instances"][0]["counts"]["cltus"] == 1, "the CLTU is not accepted")
        u.send_signal(signal.SIGTERM)
        time.sleep(1)
        self.assertIsNone(u.poll())
        _, r, _ = self.end(u)
        self.assertEqual((r["cltus"]["radiated"], r["cltus"]["lost"]), (0, 1), r)

    def test_production_is_halted(self):
        """START is refused until it is not, and the user goes on asking."""
        self.station_of_cltus()
        self.control(CLTU, "production", "halted")
        u = self.gateway(CLTU, "--cltu-datagrams", f"127.0.0.1:{self.at}", "--reconnect", "50ms")
        self.until(lambda: self.says("START was refused", 3), "START is not asked for again")
        self.control(CLTU, "production", "operational")
        self.until_started()
        self.put(PLAIN)
        self.until(lambda: self.uplink() == with_lengths([PLAIN]), "no CLTU was radiated")
        self.end(u)

    def test_too_many_wait(self):
        """The queue has a limit; what it does not take is dropped and logged, the rest is radiated in order."""
        self.station_of_cltus(", cltu_buffer: 4096, uplink_rate: 3Mbit/s")
        u = self.gateway(CLTU, "--cltu-datagrams", f"127.0.0.1:{self.at}", "--window", "1")
        self.until_started()
        sent = []
        end = time.monotonic() + 100
        while not self.says("or too many waited") and time.monotonic() < end:
            for _ in range(100):
                sent.append(b"\xeb\x90" + struct.pack(">I", len(sent)) + bytes(994))
                self.put(sent[-1])
            time.sleep(0.01)
        _, r, _ = self.end(u)
        self.assertGreater(r["cltus"]["dropped"], 0)
        self.assertGreater(r["cltus"]["radiated"], 10)
        got, at = [], 0
        whole = self.uplink()
        while at < len(whole):
            n = struct.unpack(">I", whole[at:at + 4])[0]
            got.append(whole[at + 4:at + 4 + n])
            at += 4 + n
        self.assertEqual(len(got), r["cltus"]["radiated"])
        self.assertEqual(got, sorted(got))
        self.assertEqual(len(set(got)), len(got))
        self.assertTrue(set(got) <= set(sent))
        self.assertEqual(r["cltus"]["received"], r["cltus"]["radiated"] + r["cltus"]["dropped"], r)

    def test_nobody_listens(self):
        """Frames that nobody receives are counted; both ends of that time are told."""
        self.provider(f"sources:\n  - {{name: a, rate: 1Mbit/s}}\ninstances:\n  - {{id: {RAF}, users: CENTRE, source: a, latency: 20ms}}\n")
        to = sle_case.free_port()
        u = self.gateway(RAF, "--datagrams", f"127.0.0.1:{to}")
        self.until(lambda: self.says("frames are lost: nobody listens there"), "it is not told")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", to))
            s.settimeout(100)
            self.assertEqual(len(s.recv(2000)), 1115)
            self.until(lambda: self.says("frames are received again"), "the other end is not told")
            r, _, _ = self.end(u)
        self.assertGreater(r["udp_failed"], 0)
        self.assertGreaterEqual(r["udp_sent"] + r["udp_failed"], r["frames"])

    def test_datagrams_at_a_rate(self):
        """Frames of a recording do not come faster than the receiver's socket bears."""
        frames = b"".join(struct.pack(">I", n) + bytes(996) for n in range(400))
        with open(self.path("frames"), "wb") as f:
            f.write(frames)
        self.provider(f"sources:\n  - {{name: f, kind: file, file: {self.path('frames')}, frame: 1000}}\n"
                      f"instances:\n  - {{id: {RAF}, users: CENTRE, source: f}}\n")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            s.settimeout(100)
            u = self.gateway(RAF, "--datagrams", f"127.0.0.1:{s.getsockname()[1]}", "--datagram-rate", "2Mbit/s", "-n", "400")
            got, times = b"", []
            for _ in range(400):
                got += s.recv(2000)
                times.append(time.monotonic())
            out, _ = u.communicate(timeout=300)
            self.told.close()
        self.assertEqual(got, frames)
        self.assertEqual(json.loads(out)["udp_sent"], 400)
        self.assertGreater(times[-1] - times[0], 1.5)  # 1.6 s, less what a busy reader found at once

    def test_usage(self):
        for options, wanted in (([RAF, "--cltu-datagrams", "127.0.0.1:9"], "--cltu-datagrams is for FCLTU"),
                                ([CLTU, "--cltu-datagrams", "0.0.0.0:9"], "needs --cltu-source"),
                                ([CLTU, "--cltu-datagrams", "127.0.0.1:9", "--cltu-source", "nowhere"], "a numeric address"),
                                ([CLTU, "--cltu-datagrams", "127.0.0.1:9", "--encode", "both"], "plain, randomised"),
                                ([CLTU, "--cltu-datagrams", "127.0.0.1:9", "--cltus", "x"], "is without --cltus"),
                                ([CLTU, "--cltus", "x", "--encode", "plain"], "need --cltu-datagrams"),
                                ([CLTU, "--cltus", "x", "--reconnect", "1s"], "--reconnect needs --cltu-datagrams"),
                                ([RAF, "--datagram-rate", "1Mbit/s"], "--datagram-rate needs --datagrams"),
                                ([CLTU], "FCLTU needs --cltus, --cltu-datagrams, --event or --bind-only")):
            with self.subTest(options):
                r = subprocess.run(self.user_command(*options), capture_output=True, text=True, timeout=100)
                self.assertEqual(r.returncode, 2, r.stderr)
                self.assertIn(wanted, r.stderr)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            r = subprocess.run(self.user_command(CLTU, "--cltu-datagrams", f"127.0.0.1:{s.getsockname()[1]}"), capture_output=True,
                               text=True, timeout=100)
            self.assertEqual(r.returncode, 1, r.stderr)
            self.assertIn("--cltu-datagrams 127.0.0.1:", r.stderr)


if __name__ == "__main__":
    sle_case.SleCase.BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
