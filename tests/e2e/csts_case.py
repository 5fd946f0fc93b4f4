# SPDX-License-Identifier: Apache-2.0
"""What the tests of helio-csts share: a provider of a table, and its users."""

import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402

PROGRAMS = RESULTS = ""
ANTENNA, NODE = "1.3.112.4.4.2.1.10000", "1.3.112.4.4.2.1.10001"
HEADER = "resource,instance,parameter,type,value\n"
TABLE = HEADER + f"""# a comment
{ANTENNA},1,{ANTENNA}.1.1,integer,5
{ANTENNA},1,{ANTENNA}.1.2,real,-12.75
{ANTENNA},1,{ANTENNA}.1.3,text,tracking
{ANTENNA},2,{ANTENNA}.1.1,integer,
{ANTENNA},2,{ANTENNA}.1.4,boolean,true
{ANTENNA},1,{ANTENNA}.2.1,event,0
"""
PASSWORDS = {"STATION": "aabbccddeeff", "CENTRE": "00112233445566778899"}


def stamp(text):
    """Of a log or a report: s since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def program():
    return os.path.join(PROGRAMS, "helio-csts")


class CstsCase(unittest.TestCase):
    """A provider, and its users."""

    def setUp(self):
        out = os.path.join(RESULTS, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)
        self.out = tempfile.mkdtemp(dir=out)
        self.port, = self.lab.udp_ports(1)
        self.running = []
        self.addCleanup(self.kill)

    def kill(self):
        for p in self.running:
            if p.poll() is None:
                p.kill()
            p.wait()

    def path(self, name):
        return os.path.join(self.out, name)

    def table(self, text=TABLE):
        """Written beside, and renamed: a provider reads the one or the other."""
        with open(self.path("new.csv"), "w", encoding="ascii") as f:
            f.write(text)
        os.replace(self.path("new.csv"), self.path("figures.csv"))

    def until(self, true, what, seconds=300):
        deadline = time.monotonic() + seconds
        while not true():
            self.assertLess(time.monotonic(), deadline, what + self.said())
            time.sleep(0.02)

    def said(self):
        with open(self.path("provider.log"), encoding="utf-8") as f:
            return f.read()

    def secret(self, who):
        path = self.path(who)
        if not os.path.exists(path):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
                f.write(PASSWORDS[who] + "\n")
        return path

    def passwords(self, own, other, level):
        return ["--authentication", level, "--password-file", self.secret(own), "--peer-password-file", self.secret(other)]

    def provider(self, *options):
        with open(self.path("provider.log"), "w", encoding="utf-8") as log:
            p = subprocess.Popen([program(), "provider", self.path("figures.csv"), "--listen", f"127.0.0.1:{self.port}",
                                  "--every", "50ms", *options], stderr=log)
        self.running.append(p)
        self.until(lambda: "listens at" in self.said() or p.poll() is not None, "the provider does not listen")
        self.assertIsNone(p.poll(), self.said())
        return p

    def command(self, *options):
        return [program(), "monitor", f"127.0.0.1:{self.port}", "--json", *options]

    def monitor(self, *options, code=0):
        """Its lines, or what it says on its standard error."""
        r = subprocess.run(self.command(*options), capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(r.returncode, code, r.stderr + r.stdout + self.said())
        return [json.loads(line) for line in r.stdout.splitlines()] if code == 0 else r.stderr

    @staticmethod
    def values(line):
        """{(instance, the end of the parameter): value or state}"""
        return {(p["instance"], p["parameter"].removeprefix(p["resource"])): next(v.get("value", v.get("state")) for v in p["values"])
                for p in line["parameters"]}

    def frames(self, count, size=200):
        path, frames = self.path("frames.bin"), [bytes([i % 251]) * (size + i % 7) for i in range(count)]
        with open(path, "wb") as f:
            for frame in frames:
                f.write(len(frame).to_bytes(4, "big") + frame)
        return path, frames

    def forward(self, path, *options, code=0):
        """Its lines; with a code that is not 0 also what it says on its standard error."""
        r = subprocess.run([program(), "forward", f"127.0.0.1:{self.port}", path, "--json", *options],
                           capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(r.returncode, code, r.stderr + r.stdout + self.said())
        lines = [json.loads(line) for line in r.stdout.splitlines()]
        return lines if code == 0 else (lines, r.stderr)


def main():
    """usage: TEST.py BIN OUT [TEST...]"""
    global PROGRAMS, RESULTS  # pylint: disable=global-statement
    PROGRAMS, RESULTS = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
