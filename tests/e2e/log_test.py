# SPDX-License-Identifier: Apache-2.0
"""What the operator's log shows while something goes wrong, and how often. usage: log_test.py BIN OUT [TEST...]"""

import contextlib
import datetime
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Lab  # noqa: E402
from node_case import wait_for  # noqa: E402

PROGRAMS = OUT = ""


class LogTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)

    def pair(self, log=False, extra="", **keys):
        ports = self.lab.udp_ports(2)
        nodes = []
        for n, mine, other in ((1, *ports), (2, *ports[::-1])):
            link = self.lab.link(3 - n, mine, other, **{"rto": "100ms", **keys})
            nodes.append(self.lab.start_node(n, self.lab.write_node(n, [link], log=log if n == 1 else False, extra=extra if n == 1 else "")))
        return nodes

    def send(self, count, lifetime=None, to="ipn:2.7"):
        words = {} if lifetime is None else {"lifetime_ms": lifetime}
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            for _ in range(count):
                self.assertEqual(tx.request(to, b"x" * 1000, **words)[0], aap2.SUCCESS)

    def log(self):
        with open(self.lab.path("node1.log"), encoding="utf-8") as f:
            return f.read()

    def wait(self, what, seconds=300):
        end = time.monotonic() + seconds
        while not re.search(what, self.log()) and time.monotonic() < end:
            time.sleep(0.1)
        self.assertRegex(self.log(), what)

    def ctl(self, *words):
        return subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", *words],
                              capture_output=True, text=True, timeout=300, check=True)

    def test_silent_peer(self):
        """Told once, and when it is heard again; an idle link is not silent."""
        _, peer = self.pair(retries=100, rto="400ms")  # silent after 4 s
        self.send(1)
        wait_for(lambda: json.loads(self.ctl("--json", "status").stdout)["bundles"] == 0)
        time.sleep(5)
        self.assertNotIn("has not answered", self.log())
        peer.send_signal(signal.SIGSTOP)
        self.send(1)
        self.wait(r"warning: link to-2 is silent: ipn:2\.0 has not answered for [0-9.]+ s, longer than [0-9.]+ s")
        time.sleep(1.5)
        peer.send_signal(signal.SIGCONT)
        self.wait(r"info: link to-2: ipn:2\.0 was heard again after [0-9.]+ s")
        self.assertEqual(self.log().count("has not answered"), 1)

    def test_failing_and_expiring(self):
        """A killed peer: what fails is logged at growing distances, not each time; so are bundles that expire."""
        _, peer = self.pair(retries=1, recovery="plain", extra="bundles: {retry_min: 100ms, retry_max: 200ms}\n")
        peer.kill()
        peer.wait()
        self.send(20, lifetime=3_600_000)
        self.wait(r"warning: link to-2: forwarding to ipn:2\.0 failed \d+ times; .*no answer \d+")
        wait_for(lambda: json.loads(self.ctl("--json", "links").stdout)["links"][0]["failed"] > 40)
        self.send(20, lifetime=1000)
        wait_for(lambda: sum(int(n) for n in re.findall(r"warning: (\d+) bundles? expired here before (?:it was|they were) forwarded", self.log())) == 20)
        told, stamps = [line for line in self.log().splitlines() if "forwarding to" in line], []
        for line in told:  # 10 s after the one before, at the earliest
            stamps.append(datetime.datetime.fromisoformat(line.split()[0].replace("Z", "+00:00")).timestamp())
        self.assertTrue(all(b - a > 9 for a, b in zip(stamps, stamps[1:])), told)

    def test_flapping(self):
        self.pair()
        for _ in range(8):
            self.ctl("link", "to-2", "down")
            self.ctl("link", "to-2", "up")
        self.wait(r"warning: link to-2 is flapping: 7 changes within ")
        self.assertLessEqual(len(re.findall(r"link to-2 is (up|open|down)", self.log())), 6)

    def test_store_without_space(self):
        """Another program fills the medium: each bundle that is not stored is an answer to its application, and the log says it once."""
        folder = self.lab.path("small")
        os.makedirs(folder)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", folder], capture_output=True, check=False).returncode != 0:
            self.skipTest("no right to mount a file system")
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)
        local, remote = self.lab.udp_ports(2)
        link = self.lab.link(2, local, remote, rto="10s")
        self.lab.start_node(1, self.lab.write_node(1, [link], log=False, store=f"{{path: {folder}/store, durability: sync}}"))
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            self.assertEqual(tx.request("ipn:2.7", b"x" * 20000)[0], aap2.SUCCESS)
            with contextlib.suppress(OSError), open(f"{folder}/other", "wb", buffering=0) as f:
                while True:
                    f.write(bytes(4096))
            answers = [tx.request("ipn:2.7", b"x" * 20000)[0] for _ in range(100)]
        self.assertGreater(sum(a != aap2.SUCCESS for a in answers), 90)
        self.wait(r"error: store: .*small/store.* bundles could not be stored: the medium is full")
        self.assertEqual(self.log().count("could not be stored"), 1)

    def test_json(self):
        self.pair(extra="log: {format: json}\n")
        self.wait(r"is ready.*\n")
        lines = [json.loads(line) for line in self.log().splitlines()]
        self.assertEqual({tuple(line) for line in lines}, {("time", "level", "node", "text")})
        self.assertEqual({line["node"] for line in lines}, {"ipn:1.0"})
        self.assertTrue(any(line["level"] == "info" and "node ipn:1.0 is ready" in line["text"] for line in lines))

    def test_journal(self):
        """When standard error is the stream that systemd names: its priorities, no time."""
        path = self.lab.write_node(1, [], log=False)
        with open(self.lab.path("node1.log"), "w", encoding="ascii") as f:
            st = os.fstat(f.fileno())
            for stream, begins in ((f"{st.st_dev}:{st.st_ino}", r"<6>node ipn:1\.0 is ready"), (f"{st.st_dev}:{st.st_ino + 1}", r"20\d\d-.* info: node")):
                p = subprocess.Popen([self.lab.program("heliod"), path], stderr=f, env={**os.environ, "JOURNAL_STREAM": stream})
                self.wait("(?m)^" + begins)
                p.terminate()
                self.assertEqual(p.wait(300), 0)


    def test_service_manager(self):
        """systemd gets a notice when the node is ready, that its loop goes round, and that it stops."""
        path = self.lab.write_node(1, [], log=False)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(self.lab.sockets + "/notify")
            s.settimeout(300)
            p = subprocess.Popen([self.lab.program("heliod"), path], stderr=subprocess.DEVNULL,
                                 env={**os.environ, "NOTIFY_SOCKET": self.lab.sockets + "/notify", "WATCHDOG_USEC": "30000000"})
            self.addCleanup(p.kill)
            self.assertEqual(s.recv(100), b"READY=1")
            self.assertEqual([s.recv(100) for _ in range(2)], [b"WATCHDOG=1"] * 2)
            p.terminate()
            got = b"WATCHDOG=1"
            while got == b"WATCHDOG=1":
                got = s.recv(100)
            self.assertEqual(got, b"STOPPING=1")
            self.assertEqual(p.wait(300), 0)


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("LogTest.test_" + t for t in sys.argv[3:])], verbosity=2)
