# SPDX-License-Identifier: Apache-2.0
"""Nodes with `sandbox: on`: all that a running node does still works, and what its configuration does not name is out of
reach. usage: sandbox_test.py BIN OUT [TEST...]"""

import ctypes
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

import node_case
import tcpcl_tls_test
from certificates import NODE, Authority
from node_case import NodeCase, wait_for

PLAN = "contacts:\n  - {{from: 1, to: 2, start: 0s, end: {end}, rate: 1Gbit/s, both: yes, owlt: 0s}}\n"
# a sanitizer's own end of a process looks at it as a debugger does
NO_LEAKS = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"


def landlock():
    """The kernel's version; 0: none."""
    return max(0, ctypes.CDLL(None).syscall(444, None, 0, 1))


class SandboxTest(NodeCase):
    ctl, links, link, tcpcl, port, up, one_bundle, keys = (
        getattr(tcpcl_tls_test.TcpclTlsTest, name)
        for name in ("ctl", "links", "link", "tcpcl", "port", "up", "one_bundle", "keys"))

    def setUp(self):
        super().setUp()
        os.environ["ASAN_OPTIONS"] = NO_LEAKS
        self.ca = Authority(self.lab.path("ca"))
        self.names = {n: f"{NODE}ipn:{n}.0" for n in (1, 2)}
        self.running = {}

    def start(self, extra=""):
        port, self.http = self.lab.udp_ports(2)
        store = {n: f"{{path: {self.lab.path(f'store{n}')}, durability: sync, limit: 100MiB}}" for n in (1, 2)}
        links = {1: self.tcpcl(2, remote=f"127.0.0.1:{port}", **self.keys(1)), 2: self.tcpcl(1, local=f"127.0.0.1:{port}", **self.keys(2))}
        extras = {1: f"sandbox: on\nhttp: {{listen: '127.0.0.1:{self.http}'}}\n{extra}", 2: "sandbox: on\n"}
        for n in (2, 1):
            config = self.lab.write_node(n, [links[n]], store[n], log=("segments", "bundles"), extra=extras[n])
            self.running[n] = self.lab.start_node(n, config)
        self.up(1)

    def log(self, n):
        with open(self.lab.path(f"node{n}.log"), encoding="utf-8") as f:
            return f.read()

    def said(self, n, text):
        wait_for(lambda: re.search(text, self.log(n)))

    def refuses(self, n, *words):
        p = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(n) + ".ctl", "--timeout", "60s", *words],
                           capture_output=True, text=True, timeout=300)
        self.assertNotEqual(p.returncode, 0, p.stdout)
        return p.stdout + p.stderr

    def test_every_thread(self):
        self.start()
        for n in (1, 2):
            states = glob.glob(f"/proc/{self.running[n].pid}/task/*/status")
            self.assertGreater(len(states), 1)
            for path in states:
                with open(path) as f:
                    status = f.read()
                self.assertIn("Seccomp:\t2\n", status, path)
                self.assertIn("NoNewPrivs:\t1\n", status)
            wanted = r"files of \d+ places only" if landlock() else "Landlock: this kernel has none"
            self.said(n, wanted)

    def test_all_goes_on(self):
        """Bundles, logs that are rotated, certificates that are replaced, links that come and change, HTTP, a restart."""
        self.start()
        self.one_bundle()
        for what in ("segments", "bundles"):
            os.rename(self.lab.path(f"node1.{what}.csv"), self.lab.path(f"node1.{what}.old"))
        self.running[1].send_signal(signal.SIGHUP)
        self.said(1, "logs were reopened")
        for n in (1, 2):  # in the place of the old ones
            self.ca.issue(f"node{n}", self.names[n])
        before = self.link(1)["tls_sessions"]
        self.ctl(1, "link", "to-2", "down")
        wait_for(lambda: self.link(1)["state"] == "down")
        self.ctl(1, "link", "to-2", "up")
        self.up(1)
        self.assertGreater(self.link(1)["tls_sessions"], before)
        self.one_bundle(b"again")
        self.assertTrue(os.path.exists(self.lab.path("node1.bundles.csv")))
        at, to = self.lab.udp_ports(2)
        self.ctl(1, "link", "add", "to-9", "adapter=udp", f"local=127.0.0.1:{at}", f"remote=127.0.0.1:{to}", "peer=ipn:9.0")
        self.assertIn("to-9", self.links(1))
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics", timeout=60) as answer:
            self.assertIn(b"heliograph_node_info", answer.read())
        self.ctl(1, "flush")
        for n in (1, 2):
            self.lab.stop(f"node{n}", self.running[n])
            self.assertNotRegex(self.log(n), "(?i)permission denied|not permitted|not implemented")
        self.running = {n: self.lab.start_node(n, self.lab.path(f"node{n}.yaml")) for n in (2, 1)}
        self.up(1)
        self.one_bundle(b"after a restart")

    def test_a_plan_is_replaced(self):
        plan = self.lab.path("plan.yaml")
        with open(plan, "w") as f:
            f.write(PLAN.format(end="1d"))
        self.start(f"plan: {plan}\n")
        with open(plan + ".new", "w") as f:
            f.write(PLAN.format(end="2d"))
        os.rename(plan + ".new", plan)
        self.ctl(1, "plan", "reload", plan)
        self.running[1].send_signal(signal.SIGHUP)
        self.one_bundle()

    def test_other_files_are_out_of_reach(self):
        other = tempfile.mkdtemp(dir="/var/tmp", prefix="helio-sandbox-")
        self.addCleanup(shutil.rmtree, other)
        authority = Authority(other)
        certificate, key = authority.issue("other", self.names[1])
        self.start()
        keys = ["adapter=tcpcl", "peer=ipn:7.0", "remote=127.0.0.1:9", "tls=required", f"tls_certificate={certificate}", f"tls_key={key}",
                f"tls_ca={authority.file}"]
        if landlock():
            self.assertIn("Permission denied", self.refuses(1, "link", "add", "to-7", *keys))
        else:
            self.ctl(1, "link", "add", "to-7", *keys)


if __name__ == "__main__":
    node_case.main("SandboxTest")
