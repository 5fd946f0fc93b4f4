#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""uD3TN's own clients, unchanged, at our nodes: aap2-send and aap2-receive exchange bundles through two nodes,
aap2-ping reaches the echo endpoint. usage: aap2_clients_test.py BIN OUT [TEST...] (with the Python of tests/interop/venv.sh)"""

import os
import random
import shutil
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Lab  # noqa: E402

PROGRAMS = OUT = ""
CLIENTS = os.path.dirname(sys.executable)


def client(name, lab, number, *arguments, **keys):
    command = [os.path.join(CLIENTS, name), "--socket", lab.socket(number), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **keys)


def end(process, data=None):
    out, err = process.communicate(data, timeout=300)
    return process.returncode, out, err.decode()


class ClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(OUT, ignore_errors=True)
        cls.lab = Lab(PROGRAMS, OUT)
        cls.addClassCleanup(cls.lab.__exit__)
        ports = cls.lab.udp_ports(4)
        for n, scheme in ((1, "ipn"), (2, "ipn")):
            store = f"{{path: {cls.lab.path(f'store{n}')}, durability: sync}}"
            link = cls.lab.link(3 - n, ports[n - 1], ports[2 - n], rto="100ms")
            cls.lab.start_node(n, cls.lab.write_node(n, [link], store, extra="bundles: {status_reports: yes}\n"))
        # two more nodes with dtn names
        for n, name, peer in ((3, "alpha", "beta"), (4, "beta", "alpha")):
            link = cls.lab.link(n, ports[n - 1], ports[6 - n], rto="100ms", engine=n, peer_engine=7 - n)
            link["peer"] = f"dtn://{peer}/"
            path = cls.lab.write_node(n, [link])
            with open(path) as f:
                text = f.read()
            with open(path, "w") as f:
                f.write(text.replace(f"node: ipn:{n}.0", f"node: dtn://{name}/"))
            cls.lab.start_node(n, path)

    def registered(self, number, count):
        """Waits until so many applications are connected."""
        for _ in range(15000):
            if self.lab.control(number, "status")["applications"] >= count:
                return
            time.sleep(0.02)
        self.fail("the receiver did not connect")

    def succeeds(self, process, data=None):
        code, _, err = end(process, data)
        self.assertEqual(code, 0, err)

    def exchange(self, sender, receiver, source, destination, agents, payload):
        receive = client("aap2-receive", self.lab, receiver, "-a", agents[1], "-c", "1", "--verify-source", source)
        self.registered(receiver, 1)
        self.succeeds(client("aap2-send", self.lab, sender, "-a", agents[0], destination), payload)
        code, out, err = end(receive)
        self.assertEqual(code, 0, err)
        self.assertEqual(out, payload)

    def test_send_and_receive(self):
        self.exchange(1, 2, "ipn:1.5", "ipn:2.7", ("5", "7"), b"from one to two")
        self.exchange(2, 1, "ipn:2.7", "ipn:1.5", ("7", "5"), bytes(range(256)) * 200)

    def test_sizes(self):
        for n in (1, 65536):
            payload = random.Random(n).randbytes(n)
            self.exchange(1, 2, "ipn:1.5", "ipn:2.7", ("5", "7"), payload)
            self.exchange(2, 1, "ipn:2.7", "ipn:1.5", ("7", "5"), payload)

    def large_sizes(self):
        """By hand: from aap2-send to a receiver of ours, since aap2-receive cuts what does not come by one recv()."""
        for sender, receiver in ((1, 2), (2, 1)):
            with aap2.Client(self.lab.socket(receiver), timeout=300) as rx:
                self.assertEqual(rx.configure(f"ipn:{receiver}.9", subscribe=True), aap2.SUCCESS)
                for n in (1_000_000, 10_000_000, 50_000_000):
                    payload = random.Random(n).randbytes(n)
                    sent = client("aap2-send", self.lab, sender, "-a", "5", f"ipn:{receiver}.9")
                    self.assertEqual(end(sent, payload)[0], 0)
                    self.assertTrue(rx.delivery() == (f"ipn:{sender}.5", payload))

    def test_send_and_receive_dtn(self):
        self.exchange(3, 4, "dtn://alpha/out", "dtn://beta/in", ("out", "in"), b"from alpha to beta")

    def test_waits_for_the_receiver(self):
        self.succeeds(client("aap2-send", self.lab, 1, "ipn:2.99", "early"))
        code, out, err = end(client("aap2-receive", self.lab, 2, "-a", "99", "-c", "1", "-k", "1"))
        self.assertEqual((code, out), (0, b"early"), err)

    def test_refusals(self):
        code, _, err = end(client("aap2-send", self.lab, 1, "-a", "5", "ipn:77.1", "nowhere"))
        self.assertEqual(code, 1)
        self.assertIn("RESPONSE_STATUS_ERROR", err)
        code, _, _ = end(client("aap2-send", self.lab, 1, "--bdm-auth", "ipn:2.7", "as an administrator"))
        self.assertNotEqual(code, 0)

    def test_reports_are_asked_for(self):
        """-r names the end that reports go to, "enables status reports", and gets those of each node on the way."""
        reports = client("aap2-receive", self.lab, 1, "-a", "30", "-c", "4", "-vv")
        taker = client("aap2-receive", self.lab, 2, "-a", "31", "-c", "1")
        self.registered(1, 1)
        self.registered(2, 1)
        self.succeeds(client("aap2-send", self.lab, 1, "-a", "29", "-r", "ipn:1.30", "ipn:2.31", "report!"))
        self.assertEqual(end(taker)[1], b"report!")
        code, out, err = end(reports)
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count("Received Status Report from 'ipn:1.0'"), 2, err)  # received, forwarded
        self.assertEqual(err.count("Received Status Report from 'ipn:2.0'"), 2, err)  # received, delivered

    def test_ping(self):
        code, _, err = end(client("aap2-ping", self.lab, 1, "-a", "6", "-c", "3", "-i", "0.1", "-t", "5", "ipn:2.128"))
        self.assertEqual(code, 0, err)
        self.assertIn("received 3 of 3", err)
        code, _, err = end(client("aap2-ping", self.lab, 4, "-c", "2", "-i", "0.1", "-t", "5", "dtn://alpha/echo"))
        self.assertEqual(code, 0, err)


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
