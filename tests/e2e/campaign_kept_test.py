#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-campaign in virtual time: what becomes of its runs and its programs when it is interrupted, killed, or done by a scheduler.

usage: campaign_kept_test.py BIN
"""
import contextlib
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from campaign_case import PROGRAM, SMALL, Base, campaign


class Kept(Base):
    def test_list_with_gnu_parallel(self):
        path = self.file(SMALL)
        commands = campaign(path, "--out", self.out, "--list").stdout
        self.assertEqual(len(commands.splitlines()), 12)
        subprocess.run(["parallel", "--will-cite", "-j2"], input=commands, text=True, check=True, timeout=1400,
                       env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)})
        self.assertEqual(len(self.runs()), 12)
        self.assertEqual(campaign(path, "--out", self.out, "--list").stdout, "")
        self.assertIn("key", campaign(path, "--out", self.out, "--only", "no", code=2).stderr)

    def test_interrupt_keeps_what_is_done(self):
        """One run that ends soon, and one that does not."""
        path = self.file("set: {trace: none}\nexperiments:\n  - {name: soon, set: {duration: 500ms}}\n  - {name: hours, set: {duration: 100000s}}\n")
        p = subprocess.Popen([PROGRAM, path, "--out", self.out, "--jobs", "1"], stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and not list(self.out.glob("runs/[!.]*")):
            time.sleep(0.05)
        p.send_signal(signal.SIGINT)
        _, error = p.communicate(timeout=1400)
        self.assertEqual(p.returncode, 130)
        self.assertIn("are kept", error)
        self.assertEqual(len(self.runs()), 1)
        self.assertEqual(list(self.out.glob("runs/.part-*")), [])
        self.assertIn("2 different runs (1 done)", campaign(path, "--out", self.out, "--check").stdout)

    def test_killed_in_the_middle_goes_on(self):
        path = self.file(SMALL.replace("500ms", "5s"))
        p = subprocess.Popen([PROGRAM, path, "--out", self.out, "--jobs", "1"], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            p.send_signal(signal.SIGSTOP)  # what is seen is what is left
            os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if list(self.out.glob("runs/[!.]*")) and list(self.out.glob("runs/.part-*")):
                break
            p.send_signal(signal.SIGCONT)
            time.sleep(0.05)
        p.kill()
        p.wait(300)
        kept = {r: (r / "result.json").stat().st_mtime_ns for r in self.runs()}
        self.assertTrue(0 < len(kept) < 12, kept)
        self.assertNotEqual(list(self.out.glob("runs/.part-*")), [])
        campaign(path, "--out", self.out, "--no-report")
        self.assertEqual(len(self.runs()), 12)
        self.assertEqual({r: (r / "result.json").stat().st_mtime_ns for r in kept}, kept)
        self.assertEqual(list(self.out.glob("runs/.part-*")), [])

    def test_killed_leaves_no_program(self):
        path = self.file("set: {duration: 100000s, rate: 500Mbit/s, trace: none}\nexperiments: [{name: hours}]\n")
        p = subprocess.Popen([PROGRAM, path, "--out", self.out], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 300

        def children():
            found = set()
            for threads in Path(f"/proc/{p.pid}/task").glob("*/children"):
                with contextlib.suppress(OSError):  # a thread that has ended by now
                    found |= set(threads.read_text().split())
            return found

        while len(running := children()) < 2 and time.monotonic() < deadline:  # helio-sim and the analyzer of its log
            time.sleep(0.05)
        p.kill()
        p.wait(300)
        while time.monotonic() < deadline and any(Path("/proc", child).exists() for child in running):
            time.sleep(0.05)
        left = [child for child in running if Path("/proc", child).exists()]
        for child in left:
            os.kill(int(child), signal.SIGKILL)
        self.assertEqual((len(running), left), (2, []))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
