# SPDX-License-Identifier: Apache-2.0
"""The Python package with a node: applications, an operator, types, and its installation from the tree.
usage: python_test.py BIN OUT SOURCE [TEST...]"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import unittest

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402
from heliograph.client import Client, Flag, NodeError, Priority  # noqa: E402
from heliograph.control import Control  # noqa: E402

PROGRAMS = OUT = SOURCE = ""


class PythonTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)

    def pair(self):
        ports = self.lab.udp_ports(2)
        for n, mine, other in ((1, *ports), (2, *ports[::-1])):
            link = self.lab.link(3 - n, mine, other, rto="100ms")
            path = self.lab.write_node(n, [link], log=False, extra="bundles: {status_reports: yes}\n")
            self.process = self.lab.start_node(n, path)

    def run_it(self, what):
        return asyncio.run(asyncio.wait_for(what, 300))

    def test_applications(self):
        self.pair()
        payloads = [b"", b"x" * 300000, os.urandom(5000)]

        async def work():
            async with Client(self.lab.socket(1), "7") as tx, Client(self.lab.socket(2), "ipn:2.7", subscribe=True, window=8) as rx:
                self.assertEqual((tx.node, tx.endpoint), ("ipn:1.0", "ipn:1.7"))
                for p in payloads:
                    sent = await tx.send("ipn:2.7", p, lifetime_s=60, priority=Priority.EXPEDITED, ordinal=9)
                    self.assertEqual((sent.source, sent.destination), ("ipn:1.7", "ipn:2.7"))
                got = [await rx.receive() for _ in payloads]
                for _ in payloads:
                    await rx.accept()
                self.assertEqual(sorted(a.payload for a in got), sorted(payloads))
                self.assertEqual({(a.source, a.destination, a.priority) for a in got}, {("ipn:1.7", "ipn:2.7", Priority.EXPEDITED)})
                with self.assertRaisesRegex(NodeError, "nothing waits"):
                    await rx.accept()

        self.run_it(work())

    def test_refused_and_iterated(self):
        """What is refused comes again; a loop answers by itself."""
        self.pair()

        async def work():
            async with Client(self.lab.socket(1), "7") as tx:
                await tx.send("ipn:2.7", b"hello")
                async with Client(self.lab.socket(2), "7", subscribe=True) as rx:
                    self.assertEqual((await rx.receive()).payload, b"hello")
                    await rx.refuse()
                async with Client(self.lab.socket(2), "7", subscribe=True) as rx:
                    async for adu in rx:
                        self.assertEqual(adu.payload, b"hello")
                        break
                    await rx.accept()
                with self.assertRaisesRegex(NodeError, "no route"):
                    await tx.send("ipn:9.7", b"x")

        self.run_it(work())

    def test_wrong_arguments(self):
        """Each error names the argument, and what is right."""
        self.pair()
        for wrong, says in ((7, r"endpoint is 7 \(int\); write a str such as \"7\" or \"ipn:1.7\""), (b"7", "endpoint is b'7'"), (None, "endpoint is None")):
            with self.assertRaisesRegex(TypeError, says):
                Client(self.lab.socket(1), wrong)
        with self.assertRaisesRegex(TypeError, "socket is 5"):
            Client(5, "7")

        async def work():
            async with Client(self.lab.socket(1), "7") as tx:
                for destination, payload, more, error, says in (
                        (7, b"x", {}, TypeError, r"destination is 7 \(int\); write an endpoint as a str, such as \"ipn:2.7\""),
                        ("ipn:2.7", "x", {}, TypeError, r"payload is 'x' \(str\); write bytes: payload.encode\(\)"),
                        ("ipn:2.7", 5, {}, TypeError, "payload is 5"),
                        ("ipn:2.7", b"x", {"lifetime_s": "1h"}, TypeError, r"lifetime_s is '1h' \(str\); write seconds as a number"),
                        ("ipn:2.7", b"x", {"lifetime_s": -1}, ValueError, "lifetime_s is -1"),
                        ("ipn:2.7", b"x", {"report_to": 8}, TypeError, "report_to is 8"),
                        ("2.7", b"x", {}, NodeError, "destination is \"2.7\", which is no endpoint id; write one such as ipn:2.7"),
                        ("ipn:2.7", b"x", {"report_to": "8"}, NodeError, "report_to is \"8\", which is no endpoint id")):
                    with self.assertRaisesRegex(error, says):
                        await tx.send(destination, payload, **more)
                await tx.send("ipn:2.7", bytearray(b"x"))  # the connection lasts

        self.run_it(work())

    def test_reports_and_cancel(self):
        self.pair()

        async def work():
            async with Client(self.lab.socket(1), "7") as tx, Client(self.lab.socket(1), "8", subscribe=True) as monitor:
                async with Client(self.lab.socket(2), "7", subscribe=True) as rx:
                    await tx.send("ipn:2.7", b"x", flags=Flag.REPORT_DELIVERY | Flag.REPORT_TIME, report_to="ipn:1.8")
                    await rx.receive()
                    await rx.accept()
                    report = await monitor.receive()
                    await monitor.accept()
                    self.assertTrue(report.is_report)
                    self.assertEqual((report.source, report.payload[:2]), ("ipn:2.0", b"\x82\x01"))
                async with Control(self.lab.socket(1) + ".ctl") as node:
                    await node.ask("link", name="to-2", state="down")
                    sent = await tx.send("ipn:2.7", b"y" * 1000)
                    self.assertEqual([b["state"] for b in await node.bundles(destination="ipn:2.*")], ["waiting"])
                    self.assertTrue(await tx.cancel(sent))
                    self.assertFalse(await tx.cancel(sent))
                    self.assertEqual(await node.bundles(), [])

        self.run_it(work())

    def test_operator(self):
        self.pair()

        async def work():
            async with Control(self.lab.socket(2) + ".ctl", timeout=5) as node:
                self.assertEqual((await node.status())["node"], "ipn:2.0")
                self.assertEqual([link["name"] for link in await node.links()], ["to-1"])
                self.assertEqual((await node.watch())["links"][0]["peer"], "ipn:1.0")
                with self.assertRaisesRegex(NodeError, "there are: to-1"):
                    await node.ask("link", name="to-9", state="up")
                self.process.send_signal(signal.SIGSTOP)
                try:
                    with self.assertRaisesRegex(NodeError, "does not answer within 5 s"):
                        await node.status()
                finally:
                    self.process.send_signal(signal.SIGCONT)
            with self.assertRaisesRegex(NodeError, "no node answers at /nowhere: no such socket; start heliod"):
                async with Control("/nowhere"):
                    pass
            with self.assertRaisesRegex(NodeError, "no node answers at /nowhere: no such socket; start heliod"):
                async with Client("/nowhere", "7"):
                    pass
        self.run_it(work())

    def test_wrong_sockets(self):
        """Each names the other, and does not wait for ever."""
        self.pair()
        path = self.lab.socket(1)

        async def work():
            with self.assertRaisesRegex(NodeError, f"{path}.ctl is the control socket; applications connect to {path} "):
                async with Client(path + ".ctl", "7", timeout=60):
                    pass
            async with Control(path, timeout=60) as node:
                with self.assertRaisesRegex(NodeError, f"{path} is the application socket; the control socket is {path}.ctl"):
                    await node.status()
            other = self.lab.path("silent")
            server = await asyncio.start_unix_server(lambda reader, writer: None, other)
            with self.assertRaisesRegex(NodeError, "nobody greets within 0.2 s"):
                async with Client(other, "7", timeout=0.2):
                    pass
            server.close()
            async with Client(path, "7") as tx:  # the node goes on
                await tx.send("ipn:2.7", b"x")

        self.run_it(work())

    def test_example(self):
        self.pair()
        hello = os.path.join(SOURCE, "examples", "python", "hello.py")
        there = {**os.environ, "PYTHONPATH": os.path.join(SOURCE, "lab")}
        receiver = subprocess.Popen([sys.executable, hello, self.lab.socket(2), "receive", "7"], stdout=subprocess.PIPE, text=True, env=there)
        self.addCleanup(receiver.stdout.close)
        self.addCleanup(receiver.wait)
        self.addCleanup(receiver.kill)
        for words, code in (("ipn:2.7 good morning", 0), ("ipn:9.7 nobody", 1)):
            done = subprocess.run([sys.executable, hello, self.lab.socket(1), "send", *words.split()], capture_output=True, text=True,
                                  timeout=300, env=there)
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(receiver.stdout.readline(), "ipn:1.4711: good morning\n")


if __name__ == "__main__":
    PROGRAMS, OUT, SOURCE = sys.argv[1:4]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("PythonTest.test_" + t for t in sys.argv[4:])], verbosity=2)
