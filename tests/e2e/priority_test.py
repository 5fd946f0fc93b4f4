#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The processor before others: `priority: high` and `realtime` of a node. usage: priority_test.py BIN OUT"""

import os
import shutil
import subprocess
import sys
import unittest

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402

PROGRAMS = OUT = ""


class PriorityTest(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(OUT, ignore_errors=True)
        self.lab = Lab(PROGRAMS, OUT)
        self.addCleanup(self.lab.__exit__)

    def test_priority(self):
        """High: for the process, and for the group of the session that it began; a warning where it is not permitted."""
        p = self.lab.start_node(1, self.lab.write_node(1, [], log=False, extra="priority: high\n"))
        with open(self.lab.path("node1.log")) as f:
            log = f.read()
        if os.geteuid() != 0:
            self.assertIn("priority: high is not permitted", log)
            return
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, p.pid), -10)
        self.assertNotIn("not permitted", log)
        if os.path.exists(f"/proc/{p.pid}/autogroup"):
            with open(f"/proc/{p.pid}/autogroup") as f:
                self.assertRegex(f.read(), "nice -10$")
        config = self.lab.write_node(2, [], log=False)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, self.lab.start_node(2, config).pid), os.getpriority(os.PRIO_PROCESS, 0))
        refused = self.lab.write_node(3, [], log=False, extra="priority: high\n")
        os.chmod(self.lab.sockets, 0o777)
        os.chmod(self.lab.out, 0o777)
        try:
            p = subprocess.Popen([self.lab.program("heliod"), refused], stderr=subprocess.PIPE, text=True,
                                 preexec_fn=lambda: (os.setgid(65534), os.setuid(65534)))
        except PermissionError:
            self.skipTest("another user cannot reach the programs here")
        self.addCleanup(p.stderr.close)
        self.assertIn("priority: high is not permitted here", p.stderr.readline())
        self.assertIn("is ready", p.stderr.readline())
        p.terminate()
        self.assertEqual(p.wait(300), 0)

    def test_realtime(self):
        """The loop's thread alone, and not while it takes more than its share."""
        ports = self.lab.udp_ports(2)
        p = {}
        for n, other in ((1, 2), (2, 1)):
            link = self.lab.link(other, ports[n - 1], ports[other - 1], colour="green", rate="unlimited", sessions=64, rto="100ms")
            config = self.lab.write_node(n, [link], log=False, extra="priority: realtime\nlog: {level: info}\n")
            p[n] = self.lab.start_node(n, config)
        with open(self.lab.path("node1.log")) as f:
            log = f.read()
        if subprocess.run(["chrt", "-r", "1", "true"], stderr=subprocess.DEVNULL).returncode != 0:  # a control group may forbid it to root
            self.assertIn("priority: realtime is not permitted", log)
            return
        self.assertNotIn("not permitted", log)
        self.assertEqual(os.sched_getscheduler(p[1].pid) & ~os.SCHED_RESET_ON_FORK, os.SCHED_RR)
        threads = {int(t) for t in os.listdir(f"/proc/{p[1].pid}/task")} - {p[1].pid}
        self.assertEqual({os.sched_getscheduler(t) for t in threads}, {os.SCHED_OTHER} if threads else set())
        self.lab.start("server", "helio-perf", "server", "--socket", self.lab.socket(2))
        for _ in range(5):  # it is of a loop that has no rest: not of one that stalls
            self.lab.run("helio-perf", "client", "--socket", self.lab.socket(1), "-d", "ipn:2.2000", "-T", "3", "-W", "64", "-P", "100000")
            logs = ""
            for n in p:
                with open(self.lab.path(f"node{n}.log")) as f:
                    logs += f.read()
            if "it runs without real-time priority until it uses less" in logs:
                break
        self.assertIn("it runs without real-time priority until it uses less", logs)


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
