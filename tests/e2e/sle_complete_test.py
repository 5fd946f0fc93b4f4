# SPDX-License-Identifier: Apache-2.0
"""Complete means complete: users of helio-sle's provider that stall, are killed and come back have every frame once, in order.

usage: sle_complete_test.py BIN; SLE_ROUNDS=N: so many users that are killed or stalled (8), SLE_SECONDS=S: of each (0.7)"""

import datetime
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import resting
import sle_case
from sle_case import RAF

FRAME = 1115
ROUNDS, SECONDS = int(os.environ.get("SLE_ROUNDS", 8)), float(os.environ.get("SLE_SECONDS", 0.7))
SOURCE = "{{name: steady, rate: 20Mbit/s{more}}}"
STATION = """tcp_buffer: 32768
sources:
  - """ + SOURCE + """
instances:
  - {{id: """ + RAF + """, users: CENTRE, source: steady, latency: 20ms, buffer: 10, store: 40}}
  - {{id: sagr=1.spack=1.rsl-fg=1.raf=onlt1, users: CENTRE, source: steady, latency: 20ms}}
"""


def utc(ns):
    whole = datetime.datetime.fromtimestamp(ns // 10**9, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{ns % 10**9 // 1000:06d}Z"


def frames(path):
    """(number, time in ns) of each whole frame of a file."""
    with open(path, "rb") as f:
        data = f.read()
    return [struct.unpack(">QQ", data[i + 6:i + 22]) for i in range(0, len(data) - FRAME + 1, FRAME)]


class CompleteTest(sle_case.SleCase):
    def start(self, more=None):
        more = f", record: {self.path('record')}" if more is None else more
        self.provider(STATION.format(more=more))

    def begin(self, *options, instance=RAF):
        command = self.user_command(instance, "--numbered", "--tcp-buffer", "32768", *options)
        p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.running.append(p)
        return p

    def size(self, name):
        return os.path.getsize(self.path(name)) if os.path.exists(self.path(name)) else 0

    def instance(self):
        return self.status()["instances"][0]

    def test_a_stalled_user(self):
        """Its connection is full for many times what may wait: all of it comes, while another user of the source waits for nothing."""
        self.start()
        other = self.begin("-t", "60s", instance="sagr=1.spack=1.rsl-fg=1.raf=onlt1")
        user = self.begin("-o", self.path("out"))
        self.until(lambda: self.size("out") > 0, "nothing comes")
        resting.stop(user)
        self.until(lambda: self.instance().get("behind"), "it does not fall behind")
        before = self.status()["sources"][0]["frames"]
        self.until(lambda: self.status()["sources"][0]["frames"] > before + 3000, "the source waits")
        user.send_signal(signal.SIGCONT)
        self.until(lambda: not self.instance()["behind"], "it does not catch up")
        known = self.status()["sources"][0]["frames"]
        self.until(lambda: self.size("out") > (known - 10) * FRAME // 2, "nothing comes any more")
        for p in (user, other):
            p.send_signal(signal.SIGINT)
            p.wait(300)
        got = [number for number, _ in frames(self.path("out"))]
        self.assertEqual(got, list(range(got[0], got[0] + len(got))))
        self.assertGreater(len(got), 3000)
        status = self.instance()
        self.assertGreaterEqual(status["catch_ups"], 1)
        self.assertEqual(status["counts"]["frames_discarded"], 0)
        self.stop()
        self.assertNotIn("were not delivered", self.said().replace("onlt1: ", ""))

    def test_a_provider_that_wakes_late(self):
        """Its process stands still again and again: its generator makes what was due meanwhile, and no user is aborted for that."""
        self.start(more="")
        user = self.begin("-o", self.path("out"))
        self.until(lambda: self.size("out") > 0, "nothing comes")
        for _ in range(12):
            resting.stop(self.station)
            time.sleep(0.2)
            self.station.send_signal(signal.SIGCONT)
            time.sleep(0.2)
        user.send_signal(signal.SIGINT)
        user.communicate(timeout=300)
        self.assertEqual(user.returncode, 0, self.said())
        got = frames(self.path("out"))
        self.assertEqual([number for number, _ in got], list(range(got[0][0], got[0][0] + len(got))))
        each = FRAME * 8 * 10**9 / 20e6
        behind = [at - number * each for number, at in got]  # of a generator that is never late
        second = int(10**9 / each)
        late = self.status()["sources"][0]["late"]  # on a machine that stands still for more than 1 s
        slower = (min(behind[-second:]) - min(behind[:second]) - late * each) / (got[-1][1] - got[0][1])
        self.assertLess(abs(slower), 0.01, f"{late} late of {len(got)}")
        self.stop()

    def test_a_generator_waits_for_its_recording(self):
        """It makes frames faster than they are written, and has little memory for them: all are recorded."""
        self.provider(f"sources: [{{name: x, count: 200000, record: {self.path('record')}, record_memory: 4MiB}}]\n"
                      f"instances: [{{id: {RAF}, users: CENTRE, source: x}}]\n")
        self.until(lambda: self.status()["sources"][0]["frames"] == 200000, "frames are not made")
        recording = self.status()["sources"][0]["recording"]
        self.assertEqual((recording["frames"], recording["lost"]), (200000, 0))
        self.stop()

    def test_times_after_a_late_wake_up(self):
        """Many frames are due at once: each has a time of its own in microseconds, so that a START behind any of them goes on with the next."""
        size = 64
        self.provider(f"sources: [{{name: x, rate: 100Mbit/s, frame: {size}, record: {self.path('record')}}}]\n"
                      f"instances: [{{id: {RAF}, users: CENTRE, source: x, buffer: 100}}]\n")
        user = subprocess.Popen(self.user_command(RAF, "-o", self.path("out")), stdout=subprocess.PIPE, text=True)
        self.running.append(user)
        self.until(lambda: self.size("out") > 0, "nothing comes")
        for _ in range(3):
            resting.stop(self.station)
            time.sleep(0.5)
            self.station.send_signal(signal.SIGCONT)
            time.sleep(0.2)
        user.send_signal(signal.SIGINT)
        user.communicate(timeout=300)
        with open(self.path("out"), "rb") as f:
            got = [struct.unpack_from(">QQ", part, 6) for part in struct.iter_unpack(f"{size}s", f.read()) for part in part]
        self.assertEqual([number for number, _ in got], list(range(got[0][0], got[0][0] + len(got))))
        steps = [b[1] - a[1] for a, b in zip(got, got[1:])]
        self.assertLess(sorted(steps)[len(steps) // 2], 2000, "no burst was made")
        self.assertGreaterEqual(min(steps), 1000)
        draw = random.Random(1)
        for number, at in (got[draw.randrange(len(got))] for _ in range(5)):
            self.user(RAF, "-n", "10", "--from", utc(at + 1000), "-o", self.path("again"))
            with open(self.path("again"), "rb") as f:
                self.assertEqual(struct.unpack_from(">Q", f.read(), 6)[0], number + 1)
        self.stop()

    def test_a_burst_of_datagrams(self):
        """More than `store` come at once, and the connection has room: they are written, and nobody is aborted."""
        modem = sle_case.free_port()
        self.provider(f"sources: [{{name: x, kind: udp, address: '127.0.0.1:{modem}', vc_counts: no}}]\n"
                      f"instances: [{{id: {RAF}, users: CENTRE, source: x, latency: 20ms, buffer: 5, store: 10}}]\n")
        user = subprocess.Popen(self.user_command(RAF, "-o", self.path("out"), "-n", "61"), stdout=subprocess.PIPE, text=True)
        self.running.append(user)
        self.until(lambda: self.status()["instances"][0]["state"] == "active", "the user does not start")
        resting.stop(self.station)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            for k in range(61):
                s.sendto(bytes([k]) * 100, ("127.0.0.1", modem))
        self.station.send_signal(signal.SIGCONT)
        user.communicate(timeout=300)
        self.assertEqual(user.returncode, 0, self.said())
        with open(self.path("out"), "rb") as f:
            self.assertEqual(f.read(), b"".join(bytes([k]) * 100 for k in range(61)))
        self.stop()

    def test_users_that_are_killed(self):
        """Each goes on behind the last frame that the one before it has on its disk."""
        self.start()
        draw, got = random.Random(1), []
        for k in range(ROUNDS):
            name = f"out{k}"
            options = ["-o", self.path(name)]
            if got:
                options += ["--from", utc(got[-1][1] + 1000)]
            user = self.begin(*options)
            self.until(lambda name=name: self.size(name) > 0 or user.poll() is not None, "nothing comes")
            self.assertIsNone(user.poll(), user.stdout.read() if user.poll() is not None else "")
            time.sleep(draw.random() * SECONDS)
            if k % 3 == 1 and k < ROUNDS - 1:  # stalled, then killed
                resting.stop(user)
                time.sleep(draw.random() * SECONDS)
            if k == ROUNDS - 1:
                user.send_signal(signal.SIGINT)
            else:
                user.kill()
            user.communicate(timeout=300)
            self.until(lambda: self.instance()["state"] == "unbound", "the instance is held")
            got += frames(self.path(name))
        numbers = [number for number, _ in got]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assertEqual(self.status()["sources"][0]["recording"]["lost"], 0)
        self.stop()

    def test_between_two_associations(self):
        """Without a time the second user goes on where the first one stopped in order."""
        self.start()
        numbers = []
        for k in range(3):
            self.user(RAF, "-n", "500", "--numbered", "-o", self.path(f"out{k}"))
            numbers += [number for number, _ in frames(self.path(f"out{k}"))]
            frames_now = self.status()["sources"][0]["frames"]
            self.until(lambda: self.status()["sources"][0]["frames"] > frames_now + 300, "the source waits")
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.stop()

    def test_a_time_in_the_past(self):
        self.start()
        self.until(lambda: self.status()["sources"][0]["frames"] > 2000, "nothing is produced")
        begin = time.time_ns() - 600_000_000
        self.user(RAF, "-n", "1000", "--numbered", "--from", utc(begin), "-o", self.path("out"))
        got = frames(self.path("out"))
        self.assertGreaterEqual(got[0][1], begin // 1000 * 1000)
        self.assertLess(got[0][1], begin + 100_000_000 if got[0][0] > 0 else time.time_ns())
        self.assertEqual([n for n, _ in got], list(range(got[0][0], got[0][0] + len(got))))
        self.stop()
        self.port = sle_case.free_port()
        self.start(more="")
        e = self.user(RAF, "--from", utc(time.time_ns() - 600_000_000), code=1)
        self.assertEqual(e["end"], "START was refused: diagnostic 2")  # invalid start time
        self.stop()

    def test_without_a_recording(self):
        """Never silently: the association is aborted, or the next frame says how many are missing."""
        for when_full in ("by-kind", "drop"):
            with self.subTest(when_full):
                self.port = sle_case.free_port()
                self.start(more=f", when_full: {when_full}")
                user = self.begin("-o", self.path("out"), "--frames-csv", self.path("csv"))
                self.until(lambda: self.size("out") > 0, "nothing comes")
                resting.stop(user)
                self.until(lambda: "were not delivered" in self.said(), "nothing is lost")
                user.send_signal(signal.SIGCONT)
                if when_full == "by-kind":
                    self.assertEqual(user.wait(300), 1)
                    self.assertIn("operational requirement", user.stdout.read())
                else:
                    self.until(lambda: any(line.split(",")[4] not in ("0", "-1", "continuity") for line in self.csv()), "no gap is told")
                    user.send_signal(signal.SIGINT)
                    user.wait(300)
                    told = sum(int(line.split(",")[4]) for line in self.csv()[2:])
                    numbers = [number for number, _ in frames(self.path("out"))]
                    self.assertEqual(told, numbers[-1] - numbers[0] + 1 - len(numbers))
                self.stop()
                for name in ("out", "csv"):
                    os.remove(self.path(name))

    def csv(self):
        with open(self.path("csv")) as f:
            return [line for line in f.read().split("\n") if line.count(",") == 8]


if __name__ == "__main__":
    sle_case.SleCase.BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
