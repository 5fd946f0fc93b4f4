#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tasks of README.md are possible: each fault can be seen by the commands of docs/troubleshooting.md and is mended, the rest is done as the pages say.
usage: tasks_test.py BIN SOURCE OUT [TEST...]"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

TASKS = Path(__file__).resolve().parent / "tasks.py"
BIN = SOURCE = OUT = None
CAMPAIGN = """title: Sessions
mode: sim
repetitions: 3
set: {rate: 100Mbit/s, delay: 10ms, recovery: default, duration: 2s}
experiments:
  - {name: sessions, title: Sessions, sweep: {sessions: [1, 2, 4, 8], trace: [none, A]}}
"""


class Tasks(unittest.TestCase):
    def setUp(self):
        self.folder = OUT / self._testMethodName
        shutil.rmtree(self.folder, ignore_errors=True)
        self.env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
        self.addCleanup(lambda: self.tasks("end", self.folder))

    def run_words(self, *words, code=0):
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600, check=False, env=self.env, stdin=subprocess.DEVNULL)
        if code is not None:
            self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def tasks(self, *words, code=0):
        return self.run_words(sys.executable, TASKS, *words, code=code)

    def control(self, node, *words):
        return self.run_words("helioctl", "--socket", self.folder / f"node{node}.sock.ctl", *words)

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(encoding="utf-8")

    def wait(self, look, what, seconds=300):
        """What `look` gives, when it has the pattern."""
        end = time.monotonic() + seconds
        while not re.search(what, text := look()):
            self.assertLess(time.monotonic(), end, (what, text))
            time.sleep(0.3)
        return text

    def edit(self, file, old, new):
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        self.assertEqual(len(re.findall(old, text)), 1, text)
        path.write_text(re.sub(old, new, text), encoding="utf-8")

    def stop(self, line):
        """The program of this folder whose command line begins so."""
        for pid in self.run_words("pgrep", "-f", "^" + line, code=None).split():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/cwd").resolve() == self.folder:
                    os.kill(int(pid), signal.SIGTERM)
                    while Path(f"/proc/{pid}/cwd").exists():
                        time.sleep(0.05)

    def restart(self, node):
        """As the person is told: heliod nodeN.yaml 2>> nodeN.log &"""
        self.stop(f"heliod node{node}.yaml")
        with open(self.folder / f"node{node}.log", "a", encoding="utf-8") as log:
            p = subprocess.Popen(["heliod", f"node{node}.yaml"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env)
        self.addCleanup(p.wait)
        self.addCleanup(p.terminate)

    def bundle_at(self, node):
        return self.wait(lambda: self.control(node, "bundles"), r"(?m)^ *[0-9]+ ").split("\n")[1].split()[0]

    def mended(self, number):
        self.wait(lambda: self.tasks("fault", number, self.folder, "--done", code=None), r"^done: 5 of 5 files arrived")

    def begin(self, number):
        self.tasks("fault", number, self.folder)
        self.assertIn("not yet: 0 of 5", self.tasks("fault", number, self.folder, "--done", code=1))

    def test_fault_1(self):
        """A wrong port: the link of node 2 is silent, and its peer was never heard."""
        self.begin(1)
        self.wait(lambda: self.control(2, "links"), r"(?m)^to-3 .* silent ")
        right = re.search(r"local: (127\.0\.0\.1:\d+)", (self.folder / "node3.yaml").read_text())[1]
        self.edit("node2.yaml", r"(name: to-3,.*remote: )127\.0\.0\.1:\d+", rf"\g<1>{right}")
        self.restart(2)
        self.mended(1)

    def test_fault_2(self):
        """Two keys: the log of the receiver says whose segments it refuses."""
        self.begin(2)
        self.wait(lambda: self.log("node3"), r"segments of .* are refused")
        shutil.copy(self.folder / "link2.key", self.folder / "link3.key")
        self.restart(3)
        self.mended(2)

    def test_fault_3(self):
        """A contact that begins too late: the link waits, and the plan shows when it begins."""
        self.begin(3)
        self.wait(lambda: self.control(2, "links"), r"(?m)^to-3 .* waiting ")
        self.assertRegex(self.control(2, "plan"), r"2 +3 ")
        self.control(2, "contact", "add", "from=2", "to=3", "start=0s", "end=1h", "rate=10Mbit/s", "owlt=1ms")
        self.mended(3)

    def test_fault_4(self):
        """Nobody takes them: they wait at node 3, at an endpoint where no application is."""
        self.begin(4)
        key = self.bundle_at(3)
        self.assertIn("no application is registered there", self.control(3, "why", key))
        self.stop("helio-recv --socket node3.sock --service 2010")
        p = subprocess.Popen(["helio-recv", "--socket", "node3.sock", "-o", "received"], cwd=self.folder, env=self.env, stdout=subprocess.DEVNULL)
        self.addCleanup(p.wait)
        self.addCleanup(p.terminate)
        self.mended(4)

    def test_fault_5(self):
        """A rule: node 2 lets its neighbour bring only what is for node 2."""
        self.begin(5)
        self.wait(lambda: self.log("node2"), r"rules: .* bundles from neighbours were refused; .*: destination")
        self.assertIn("destination", self.control(2, "rules"))
        self.edit("node2.yaml", r'to: "ipn:2\.\*"', 'to: "ipn:2.*|ipn:3.*"')
        self.control(2, "reload")
        self.mended(5)

    def test_nat(self):
        """Task 1 by docs/first-hour.md's link over TCP."""
        if os.getuid() != 0:
            self.skipTest("needs root")
        self.tasks("nat", self.folder)
        self.assertIn("not yet", self.tasks("nat", self.folder, "--done", code=1))
        page = (SOURCE / "docs/first-hour.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```sh\n(# at the station|# in the laboratory)\n(.*?)^```$", page, flags=re.S | re.M)[:5]
        for place, block in blocks:  # both machines have one folder here, so nothing is copied
            machine = "station" if place == "# at the station" else "lab"
            block = block.replace("node.sock", f"{machine}.sock").replace("tcp.yaml", f"{machine}.yaml").replace("tcp.log", f"{machine}.log")
            block = re.sub(r"(?m)^(helio-ping|helioctl|nft add rule inet filter input udp).*\n", "", block)
            with open(self.folder / "shown", "a+", encoding="utf-8") as shown:  # no pipe: nodes in the background keep it open
                p = subprocess.Popen([self.folder / machine, "bash", "-euo", "pipefail", "-c", block], stdin=subprocess.DEVNULL, stdout=shown, stderr=shown, env=self.env)
                self.assertEqual(p.wait(timeout=300), 0, (block, (self.folder / "shown").read_text()))
        self.wait(lambda: self.tasks("nat", self.folder, "--done", code=None), "^done: pings are answered in both directions")

    def test_campaign(self):
        self.tasks("campaign", self.folder)
        self.assertIn("not yet: 0 runs", self.tasks("campaign", self.folder, "--done", code=1))
        (self.folder / "campaign.yaml").write_text(CAMPAIGN, encoding="ascii")
        self.run_words("helio-campaign", self.folder / "campaign.yaml", "--out", self.folder / "out")
        self.assertIn("done: 16 runs", self.tasks("campaign", self.folder, "--done"))


if __name__ == "__main__":
    BIN, SOURCE, OUT = (Path(word).resolve() for word in sys.argv[1:4])
    OUT.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("Tasks.test_" + t for t in sys.argv[4:])], verbosity=2)
