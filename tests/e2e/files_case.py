# SPDX-License-Identifier: Apache-2.0
"""Two nodes with a link, and helio-send and helio-recv at them: what the tests of files share. usage: TEST.py BIN OUT"""
import os
import shutil
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402

BIN, OUT = sys.argv[1:3]


def write(data, *parts):
    path = os.path.join(*parts)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    return path


def wait_for(what, seconds=300):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, what
        time.sleep(0.02)


class FilesCase(unittest.TestCase):
    LINK = {}  # keys of the link between nodes 1 and 2

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(OUT, ignore_errors=True)
        cls.lab = Lab(BIN, OUT)
        cls.addClassCleanup(cls.lab.__exit__)
        a, b = cls.lab.udp_ports(2)
        for number, other, local, remote in ((1, 2, a, b), (2, 1, b, a)):
            cls.lab.start_node(number, cls.lab.write_node(number, [cls.lab.link(other, local, remote, **cls.LINK)], log=False))

    def setUp(self):
        self.here = os.path.join(OUT, self._testMethodName)
        self.to = os.path.join(self.here, "to")
        os.makedirs(self.to)

    def reap(self, p):
        if p.poll() is None:
            p.kill()
        p.communicate()

    def start(self, program, node, *words, stdout=subprocess.PIPE, text=True):
        p = subprocess.Popen([os.path.join(BIN, program), "--socket", self.lab.socket(node), *words], stdout=stdout, stderr=subprocess.PIPE, text=text)
        self.addCleanup(self.reap, p)
        return p

    def recv(self, *words, service="2001", stdout=subprocess.PIPE, text=False):
        p = self.start("helio-recv", 2, "-o", self.to, "--service", service, *words, stdout=stdout, text=text)
        said = p.stderr.readline()
        self.assertIn(f"ipn:2.{service} takes files to", said if text else said.decode())
        return p

    def end(self, p, code=0):
        out, err = p.communicate(timeout=300)
        self.assertEqual(p.returncode, code, (out, err))
        return out, err
