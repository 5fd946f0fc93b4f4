# SPDX-License-Identifier: Apache-2.0
"""Threads that write for helio-sle's provider: what users get is the same as without, also those who are killed meanwhile.

usage: sle_threads_test.py BIN"""

import os
import random
import signal
import socket
import subprocess
import sys
import time
import unittest

import resting
import sle_case
from sle_complete_test import FRAME, frames, utc

COUNT = 60000
ONLINE = "sagr=1.spack=1.rsl-fg=1.raf=onlc{}"
TIMELY = "sagr=1.spack=1.rsl-fg=1.raf=onlt1"
OFFLINE = "sagr=1.spack=1.rsl-fg=1.raf=offl1"


class ThreadsTest(sle_case.SleCase):
    def begin(self, instance, *options, **more):
        p = subprocess.Popen(self.user_command(instance, "--numbered", *options, **more), stdout=subprocess.PIPE, text=True)
        self.running.append(p)
        return p

    def result(self, user):
        out, _ = user.communicate(timeout=600)
        self.assertEqual(user.returncode, 0, out + self.said())
        return out

    def held(self, name):
        """A pipe to write to, of which nothing is read yet."""
        os.mkfifo(self.path("pipe-" + name))
        return os.open(self.path("pipe-" + name), os.O_RDONLY | os.O_NONBLOCK)

    def let_go(self, pipe, name):
        """What is written to it comes to the file."""
        os.set_blocking(pipe, True)
        with open(self.path(name), "wb") as f:
            p = subprocess.Popen(["cat"], stdin=pipe, stdout=f)
        os.close(pipe)
        self.running.append(p)
        return p

    def assert_complete(self, path, count=None):
        numbers = [number for number, _ in frames(self.path(path))]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        if count is not None:
            self.assertEqual(len(numbers), count)

    def test_instances_with_authentication(self):
        """Two sources with two instances each, as fast as can be: every user verifies every PDU, and has every frame."""
        self.provider("threads: 3\nsources:\n" + "".join(f"  - {{name: s{k}, count: {COUNT}}}\n" for k in (0, 1)) + "instances:\n"
                      + "".join(f"  - {{id: {ONLINE.format(k)}, users: CENTRE, source: s{k % 2}, buffer: 20}}\n" for k in range(1, 5)),
                      level="all")
        pipes = [self.held(f"out{k}") for k in range(1, 5)]  # else the first user may have all of its source before the other one has started
        users = [self.begin(ONLINE.format(k), "--until-end", "-o", self.path(f"pipe-out{k}"), level="all") for k in range(1, 5)]
        self.until(lambda: all(i["state"] == "active" for i in self.status()["instances"]), "the users do not start")
        files = [self.let_go(pipe, f"out{k}") for k, pipe in enumerate(pipes, 1)]
        for user in users:
            self.result(user)
        for file in files:
            self.assertEqual(file.wait(300), 0)
        first = [frames(self.path(f"out{k}"))[0][0] for k in range(1, 5)]
        for k in range(1, 5):
            self.assert_complete(f"out{k}", COUNT - first[k - 1])
        status = self.status()
        self.assertEqual(status["threads"]["count"], 3)
        self.assertGreater(status["threads"]["octets"], COUNT * FRAME)
        for i in status["instances"]:
            c = i["counts"]
            self.assertEqual((c["frames_discarded"], c["frames_dropped"], c["auth_failed"]), (0, 0, 0))
            self.assertEqual(c["frames"], c["frames_offered"] - c["frames_filtered"] - c["frames_refused"])
        self.stop()

    def test_users_that_are_killed(self):
        """While threads write for them: each goes on behind the last frame that the one before it has on its disk, and another user of the
        source has all, too."""
        self.provider(f"threads: 2\nsources: [{{name: fast, rate: 400Mbit/s, record: {self.path('record')}}}]\ninstances:\n"
                      f"  - {{id: {ONLINE.format(1)}, users: CENTRE, source: fast, buffer: 40, store: 400}}\n"
                      f"  - {{id: {ONLINE.format(2)}, users: CENTRE, source: fast, buffer: 40, store: 400}}\n", level="all")
        other = self.begin(ONLINE.format(2), "-o", self.path("other"), level="all")
        draw, got, rounds = random.Random(1), [], 12
        for k in range(rounds):
            options = ["-o", self.path(f"out{k}")] + (["--from", utc(got[-1][1] + 1000)] if got else [])
            user = self.begin(ONLINE.format(1), *options, level="all")
            self.until(lambda k=k: self.size(f"out{k}") > 0 or user.poll() is not None, "nothing comes")
            self.assertIsNone(user.poll(), self.said())
            time.sleep(draw.random() * 0.3)
            if k % 3 == 1:
                resting.stop(user)
                time.sleep(draw.random() * 0.3)
            user.send_signal(signal.SIGINT if k == rounds - 1 else signal.SIGKILL)
            user.communicate(timeout=300)
            self.until(lambda: self.status()["instances"][0]["state"] == "unbound", "the instance is held")
            got += frames(self.path(f"out{k}"))
        other.send_signal(signal.SIGINT)
        other.communicate(timeout=300)
        numbers = [number for number, _ in got]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assert_complete("other")
        status = self.status()
        self.assertEqual(status["sources"][0]["recording"]["lost"], 0)
        self.assertGreater(status["threads"]["writes"], 0)
        self.stop()

    def size(self, name):
        return os.path.getsize(self.path(name)) if os.path.exists(self.path(name)) else 0

    def test_a_burst_for_a_timely_and_a_complete_user(self):
        """More than may wait comes at once from a source that cannot wait. The connections have room: nobody is aborted, nothing discarded."""
        modem = sle_case.free_port()
        self.provider(f"threads: 2\nsources: [{{name: x, kind: udp, address: '127.0.0.1:{modem}', vc_counts: no}}]\ninstances:\n"
                      + "".join(f"  - {{id: {i}, users: CENTRE, source: x, buffer: 20, store: 120}}\n" for i in (ONLINE.format(1), TIMELY)))
        users = []
        for k, instance in enumerate((ONLINE.format(1), TIMELY)):
            users.append(subprocess.Popen(self.user_command(instance, "-o", self.path(f"out{k}"), "-n", "3000"), stdout=subprocess.PIPE, text=True))
            self.running.append(users[-1])
        self.until(lambda: all(i["state"] == "active" for i in self.status()["instances"]), "the users do not start")
        for part in range(5):
            resting.stop(self.station)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                for k in range(600):
                    s.sendto(bytes([part, k % 256]) * (FRAME // 2), ("127.0.0.1", modem))
            self.station.send_signal(signal.SIGCONT)
            self.until(lambda part=part: all(i["counts"]["frames"] >= 600 * (part + 1) - 20 for i in self.status()["instances"]), "frames are missing")
        for user in users:
            self.result(user)
        for k in range(2):
            with open(self.path(f"out{k}"), "rb") as f:
                self.assertEqual(f.read(), b"".join(bytes([p, k % 256]) * (FRAME // 2) for p in range(5) for k in range(600)))
        status = self.status()
        self.assertGreater(status["threads"]["writes"], 0)
        self.assertEqual([i["counts"]["frames_discarded"] for i in status["instances"]], [0, 0])
        self.stop()

    def test_the_end_while_threads_write(self):
        """The provider is asked to end, and users end in all possible ways, in the middle of full output."""
        for k in range(4):
            self.port = sle_case.free_port()
            self.provider("threads: 2\nsources: [{name: s}]\ninstances:\n"
                          + "".join(f"  - {{id: {ONLINE.format(k)}, users: CENTRE, source: s}}\n" for k in (1, 2, 3)), level="all")
            users = [self.begin(ONLINE.format(n), level="all") for n in (1, 2, 3)]
            self.until(lambda: self.status()["threads"]["octets"] > 10_000_000, "nothing is written")
            users[k % 3].kill()
            users[(k + 1) % 3].send_signal(signal.SIGINT)
            users[k % 3].communicate(timeout=300)
            if k > 0:
                time.sleep(0.05 * k)
            self.stop()
            for user in users:
                user.communicate(timeout=300)
            self.assertNotIn("Assertion", self.said())


if __name__ == "__main__":
    sle_case.SleCase.BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
