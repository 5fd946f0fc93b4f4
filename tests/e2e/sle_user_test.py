# SPDX-License-Identifier: Apache-2.0
"""helio-sle's user: scripts, fail-over, reconnection, providers that bind, and the options of each service.

usage: sle_user_test.py BIN"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import unittest

import sle_case
from sle_case import RAF

ROCF = "sagr=1.spack=1.rsl-fg=1.rocf=onlc1"
CLTU = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
STATION = f"""sources:
  - {{name: a, rate: 2Mbit/s}}
  - {{name: tm, format: tm, rate: 2Mbit/s}}
instances:
  - {{id: {RAF}, users: CENTRE, source: a, latency: 100ms, min_reporting: 5}}
  - {{id: {ROCF}, users: CENTRE, source: tm, latency: 100ms, gvcids: 0.171.*}}
  - {{id: {CLTU}, users: CENTRE, uplink_rate: 1Mbit/s, events: [{{id: 1, qualifiers: go, actions: interrupt}}]}}
"""


class Line:
    """Between a user and the provider: it can be cut."""

    def __init__(self, to):
        self.to, self.pairs = to, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            other = socket.create_connection(("127.0.0.1", self.to))
            self.pairs.append((one, other))
            for a, b in ((one, other), (other, one)):
                threading.Thread(target=self.carry, args=(a, b), daemon=True).start()

    @staticmethod
    def carry(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def open(self):
        return bool(self.pairs)

    def cut(self):
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for s in pair:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:  # it has ended already
                    pass
                s.close()

    def close(self):
        self.cut()
        self.listener.close()


class UserTest(sle_case.SleCase):
    def script(self, instance, text, code=0, **more):
        with open(self.path("script"), "w") as f:
            f.write(text)
        return self.user(instance, "--script", self.path("script"), code=code, **more)

    def test_script_of_frames(self):
        self.provider(STATION)
        r = self.script(RAF, """bind
get-parameter bufferSize is 20
get-parameter deliveryMode is 1
get-parameter expectedSlduIdentification refused 0
report 2 refused 2                  # the shortest cycle is 5 s
report now
expect status
start from now-10s refused 2        # there is no recording
start quality all
expect frames 100
stop
start quality good                  # again, in the same association
expect frames 20 within 60s
stop
unbind suspend
bind
start
expect frames 20
disconnect
bind
unbind
""")
        self.assertTrue(r["in_order"])
        self.assertGreaterEqual(r["frames"], 140)
        self.assertEqual(self.status()["instances"][0]["counts"]["binds"], 3)
        self.stop()

    def test_script_of_cltus(self):
        self.provider(STATION)
        r = self.script(CLTU, """bind
start first 5
transfer eb9000000000000000000000
expect radiated
transfer eb9000000000000000000000 earliest +200ms latest +2s
expect radiated
transfer eb9000000000000000000000 latest now-2s refused 5      # late
throw 9 refused 2                                              # no such event
throw 1 other refused                                          # no such qualifier
throw 1 go
expect interrupted
expect actions-done
transfer eb9000000000000000000000 refused 0                    # production is interrupted
stop
unbind
""")
        self.assertTrue(r["in_order"])
        counts = self.status()["instances"][2]["counts"]
        self.assertEqual((counts["cltus"], counts["cltus_radiated"], counts["cltus_refused"]), (2, 2, 2))
        e = self.script(CLTU, "bind\nget-parameter deliveryMode\nexpect radiated within 100ms\n", code=1)
        self.assertIn("script:3: it did not come in time", e["end"])
        self.stop()

    def test_what_fails_has_its_line(self):
        self.provider(STATION)
        for text, line, what in (("bind\nstart\n\nget-parameter bufferSize is 21\n", 4, "the value is 20"),
                                 ("bind\nbind\n", 2, "the association is not in a state"),
                                 ("bind\nexpect loss within 100ms\n", 2, "it did not come in time"),
                                 ("bind\nstart refused\n", 2, "it was accepted"),
                                 ("bind\nget-parameter expectedSlduIdentification refused 1\n", 2, "the diagnostic is 0"),
                                 ("start\n", 1, "the association is not in a state")):
            with self.subTest(text):
                r = self.script(RAF, text, code=1)
                self.assertIn(f"script:{line}: {what}", r["end"])
        e = self.script(RAF, "bind\nfly\n", code=1)
        self.assertIn("script:2: 'fly': expected bind", e)
        self.until(lambda: self.status()["instances"][0]["state"] == "unbound", "an association stays")
        self.stop()

    def test_the_end_that_is_expected(self):
        self.provider(STATION)
        with open(self.path("script"), "w") as f:
            f.write("bind\nstart\nexpect frames 1\nexpect end within 60s\nbind refused\n")
        user = subprocess.Popen(self.user_command(RAF, "--script", self.path("script")), stdout=subprocess.PIPE, text=True)
        self.running.append(user)
        self.until(lambda: self.status()["instances"][0]["counts"]["frames"] > 0, "nothing comes")
        self.station.send_signal(signal.SIGTERM)
        out, _ = user.communicate(timeout=300)
        self.assertEqual(user.returncode, 1)  # nobody refuses: nobody is there
        self.assertIn("script:5: ", json.loads(out)["associations"][0]["end"])

    def test_fail_over(self):
        """The second address serves when the first one does not."""
        self.provider(STATION)
        command = self.user_command(RAF, "-n", "20")
        there = command[2]
        for first in ([f"127.0.0.1:{sle_case.free_port()}", there], [there]):
            r = subprocess.run(command[:2] + first + command[3:], capture_output=True, text=True, timeout=300)
            self.assertEqual(r.returncode, 0, r.stderr)
        nowhere = [f"127.0.0.1:{sle_case.free_port()}", f"127.0.0.1:{sle_case.free_port()}"]
        r = subprocess.run(command[:2] + nowhere + command[3:], capture_output=True, text=True, timeout=300)
        self.assertEqual(r.returncode, 1, r.stderr)
        self.stop()

    def test_reconnection(self):
        """The line breaks three times; each time the user goes on behind its last frame, from the recording."""
        self.provider(f"""sources:
  - {{name: a, rate: 2Mbit/s, record: {self.path('record')}}}
instances:
  - {{id: {RAF}, users: CENTRE, source: a, latency: 100ms}}
""")
        line = Line(self.port)
        self.addCleanup(line.close)
        command = self.user_command(RAF, "--numbered", "--reconnect", "200ms")
        command[2] = f"127.0.0.1:{line.port}"
        user = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.running.append(user)
        for k in range(4):
            self.until(lambda: self.status()["instances"][0]["state"] == "active" and line.open(), "it does not start")
            before = self.status()["instances"][0]["counts"]["frames"]
            self.until(lambda before=before: self.status()["instances"][0]["counts"]["frames"] > before + 100, "nothing comes")
            if k < 3:
                line.cut()
        user.send_signal(signal.SIGINT)
        out, _ = user.communicate(timeout=300)
        self.assertEqual(user.returncode, 0, out)
        r = json.loads(out)["associations"][0]
        self.assertEqual((r["reconnects"], r["missing"], r["repeated"], r["wrong"]), (3, 0, 0, 0))
        self.assertGreater(r["frames"], 400)
        self.stop()

    def test_bind_only(self):
        self.provider(STATION)
        r = self.user(RAF, "--bind-only", "-t", "500ms", "--unbind", "suspend", "--report-cycle", "5", "--numbered")
        self.assertEqual((r["frames"], r["in_order"]), (0, True))
        self.assertEqual((r["delay_us"]["min"], r["delay_us"]["max"]), (0, 0))
        counts = self.status()["instances"][0]["counts"]
        self.assertEqual((counts["binds"], counts["unbinds"], counts["frames_offered"]), (1, 1, 0))
        self.assertGreaterEqual(counts["reports"], 0)
        self.assertNotIn("started", self.said())
        self.stop()

    def test_rocf(self):
        self.provider(STATION)
        word = self.user(ROCF, "--gvcid", "0.171.*", "--control-words", "clcw", "--tc-vcid", "0", "-n", "20")
        self.assertGreaterEqual(word["frames"], 20)
        self.assertEqual(word["octets"], 4 * word["frames"])
        none = self.user(ROCF, "--gvcid", "0.171.*", "--control-words", "clcw", "--tc-vcid", "7", "-t", "500ms")
        self.assertEqual(none["frames"], 0)
        none = self.user(ROCF, "--gvcid", "0.171.*", "--control-words", "not-clcw", "-t", "500ms")
        self.assertEqual(none["frames"], 0)
        change = self.user(ROCF, "--gvcid", "0.171.*", "--update-mode", "change", "-n", "20")
        self.assertGreaterEqual(change["frames"], 20)
        self.stop()

    def test_times_of_cltus(self):
        self.provider(STATION)
        with open(self.path("cltus"), "wb") as f:
            f.write((struct.pack(">I", 100) + bytes(100)) * 5)
        r = self.user(CLTU, "--cltus", self.path("cltus"), "--earliest", "+300ms", "--latest", "+20s", "--delay", "10ms")["cltus"]
        self.assertEqual((r["accepted"], r["radiated"]), (5, 5))
        r = self.user(CLTU, "--cltus", self.path("cltus"), "--no-notification")["cltus"]
        self.assertEqual((r["accepted"], r["radiated"]), (5, 0))
        self.assertEqual(self.status()["instances"][2]["counts"]["cltus_radiated"], 10)
        self.stop()

    def test_a_provider_that_binds(self):
        """It connects to its user, unbinds when that has stopped, and comes again."""
        port = sle_case.free_port()
        station = STATION.replace("min_reporting: 5", f"min_reporting: 5, connect: 127.0.0.1:{port}, reconnect: 300ms")
        self.provider(station)
        e = self.user(RAF, "-n", "20", code=1)  # users may not bind it
        self.assertIn("not accessible", e["end"])
        for _ in range(2):
            command = self.user_command(RAF, "-n", "20", "--listen")
            command[2] = f"127.0.0.1:{port}"
            r = subprocess.run(command, capture_output=True, text=True, timeout=300)
            self.assertEqual(r.returncode, 0, r.stderr + r.stdout)
            self.assertGreaterEqual(json.loads(r.stdout)["associations"][0]["frames"], 20)
        self.until(lambda: self.said().count("unbound by CENTRE") == 2, "it is not told")
        self.stop()

    def test_options_that_contradict(self):
        self.provider(STATION)
        for options in (["--tc-vcid", "3"], ["--earliest", "+1s"], ["--bind-only"], ["--script", "x", "--reconnect", "1s"], ["--unbind", "soon"]):
            with self.subTest(options):
                self.user(RAF, *options, code=2)


if __name__ == "__main__":
    sle_case.SleCase.BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
