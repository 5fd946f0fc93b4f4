# SPDX-License-Identifier: Apache-2.0
"""What a node does with a store that is damaged, cut, gone, or of an earlier release. usage: store_test.py BIN OUT
[TEST...]"""

import os
import shutil
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import aap2  # noqa: E402
from lab import Failed, Lab  # noqa: E402

PROGRAMS = OUT = ""
FORMAT1 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "store_format1.mdb")


class StoreTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)
        self.store = self.lab.path("store")
        self.data = os.path.join(self.store, "data.mdb")

    def start(self, durability="sync"):
        link = self.lab.link(2, *self.lab.udp_ports(2), rto="100s")
        store = f"{{path: {self.store}, durability: {durability}, limit: 100MiB}}"
        return self.lab.start_node(1, self.lab.write_node(1, [link], store, log=False))

    def log(self):
        with open(self.lab.path("node1.log")) as f:
            return f.read()

    def send(self, *payloads, to="ipn:1.9"):
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            return [tx.request(to, p)[0] for p in payloads]

    def received(self, service, timeout=20):
        with aap2.Client(self.lab.socket(1), timeout) as rx:
            self.assertEqual(rx.configure(f"ipn:1.{service}", subscribe=True), aap2.SUCCESS)
            try:
                return rx.delivery()[1]
            except TimeoutError:
                return None

    def whole(self):
        with open(self.data, "rb") as f:
            return f.read()

    def edit(self, change):
        data = self.whole()
        with open(self.data, "wb") as f:
            f.write(change(data))

    def test_flipped_head(self):
        p = self.start()
        self.assertEqual(self.send(b"for service 9 alone", b"second", to="ipn:1.9"), [aap2.SUCCESS] * 2)
        self.lab.stop("node1", p)
        # the destination in the heads: scheme, allocator, node, service; then the report-to, dtn:none
        head = b"\x02\x00\x01\x09\x01\x04none"
        self.assertGreaterEqual(self.whole().count(head), 2)
        self.edit(lambda data: data.replace(head, head[:3] + b"\x08" + head[4:]))
        p = self.start()
        self.assertIn("2 damaged bundles are set aside", self.log())
        self.assertEqual(self.lab.control(1, "status")["store"]["damaged"], 2)
        self.assertIsNone(self.received(8, timeout=0.5))
        self.assertEqual(self.send(b"third"), [aap2.SUCCESS])
        self.assertEqual(self.received(9), b"third")

    def test_flipped_payload(self):
        p = self.start()
        payload = b"payload that is damaged later " * 300
        self.assertEqual(self.send(payload, b"whole"), [aap2.SUCCESS] * 2)
        self.lab.stop("node1", p)
        self.edit(lambda data: data.replace(payload, payload[:-1] + b"!"))
        p = self.start()
        self.assertEqual(self.received(9), b"whole")
        self.assertIn("is damaged; it is set aside", self.log())
        self.assertEqual(self.lab.control(1, "status")["store"]["damaged"], 1)
        self.lab.stop("node1", p)
        self.start()
        self.assertEqual(self.lab.control(1, "status")["store"]["damaged"], 1)

    def test_cut_file(self):
        p = self.start()
        self.assertEqual(self.send(*[b"x" * 5000] * 30), [aap2.SUCCESS] * 30)
        self.lab.stop("node1", p)
        size = os.path.getsize(self.data)
        whole = self.whole()
        for length in [0, 1, 4096, 8192] + [size * i // 12 for i in range(1, 12)]:
            self.edit(lambda data, n=length: whole[:n])
            try:
                p = self.start()
            except Failed:
                self.assertIn(f"store: {self.data} is", self.log())
                self.assertNotIn("SIGBUS", self.log())
                self.assertEqual(os.path.getsize(self.data), length)
                os.remove(self.lab.path("node1.log"))
                continue
            self.assertEqual(self.lab.control(1, "status")["bundles"], 30)
            self.lab.stop("node1", p)
        self.edit(lambda data: whole)
        self.start()
        self.assertIn("30 bundles were waiting", self.log())

    def test_directory_gone(self):
        for durability in ("sync", "async"):
            p = self.start(durability)
            self.assertEqual(self.send(b"x" * 100), [aap2.SUCCESS])
            shutil.rmtree(self.store)
            self.assertEqual(self.send(b"y" * 100, b"z"), [aap2.ERROR] * 2)
            self.assertIn("its files are gone from their path: bundles are refused", self.log())
            self.assertEqual(self.received(9), b"x" * 100)  # accepted before, and still in the open file
            self.lab.stop("node1", p)
            p = self.start(durability)
            self.assertEqual(self.send(b"new"), [aap2.SUCCESS])
            self.assertEqual(self.received(9), b"new")
            self.lab.stop("node1", p)

    def test_directory_moved_and_back(self):
        self.start()
        os.rename(self.store, self.store + ".away")
        self.assertEqual(self.send(b"lost?"), [aap2.ERROR])
        os.rename(self.store + ".away", self.store)
        self.assertEqual(self.send(b"kept"), [aap2.SUCCESS])
        self.assertEqual(self.received(9), b"kept")

    def test_cut_while_running(self):
        p = self.start()
        self.assertEqual(self.send(*[b"x" * 100_000] * 5), [aap2.SUCCESS] * 5)
        self.lab.stop("node1", p)
        p = self.start()
        os.truncate(self.data, 8192)
        try:
            self.received(9, timeout=5)
        except (EOFError, OSError):
            pass
        self.assertEqual(p.wait(10), 1)
        self.assertIn("SIGBUS: the store's file was cut", self.log())
        p.send_signal(signal.SIGTERM)

    def test_format_1(self):
        os.makedirs(self.store)
        shutil.copy(FORMAT1, self.data)
        p = self.start()
        self.assertIn("3 bundles were waiting", self.log())
        self.assertEqual(self.received(9), b"third, for this node")
        time.sleep(0.1)
        self.lab.stop("node1", p)
        self.start()
        self.assertIn("2 bundles were waiting", self.log())


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("StoreTest.test_" + t for t in sys.argv[3:])], verbosity=2)
