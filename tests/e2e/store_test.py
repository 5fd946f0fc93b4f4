# SPDX-License-Identifier: Apache-2.0
"""What a node does with a store that is damaged, cut, gone, or of an earlier release. usage: store_test.py BIN OUT
[TEST...]"""

import os
import shutil
import signal
import sys
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Failed, Lab  # noqa: E402
from node_case import wait_for  # noqa: E402

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

    def start(self, durability="sync", limit="100MiB", extra=""):
        link = self.lab.link(2, *self.lab.udp_ports(2), rto="100s")
        store = f"{{path: {self.store}, durability: {durability}, limit: {limit}}}"
        return self.lab.start_node(1, self.lab.write_node(1, [link], store, log=False, extra=extra))

    def log(self):
        with open(self.lab.path("node1.log")) as f:
            return f.read()

    def send(self, *payloads, to="ipn:1.9"):
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            return [tx.request(to, p)[0] for p in payloads]

    def received(self, service, timeout=300):
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

    def counters(self):
        return self.lab.control(1, "counters")["agent"]

    def drained(self, service=9):
        with aap2.Client(self.lab.socket(1)) as rx:
            self.assertEqual(rx.configure(f"ipn:1.{service}", subscribe=True), aap2.SUCCESS)
            return [rx.delivery()[1] for _ in range(self.lab.control(1, "status")["bundles"])]

    def test_full_refuses(self):
        """The application gets a notice for each bundle; what is here stays. By count, then by bytes."""
        p = self.start(extra="bundles: {count: 20, source: 100, reserve: 0, reserve_queues: 0, endpoint: 100}\n")
        answers = self.send(*[b"%d" % i for i in range(25)])
        self.assertEqual(answers[:20], [aap2.SUCCESS] * 20)
        self.assertNotIn(aap2.SUCCESS, answers[20:])
        self.assertEqual(self.counters()["refused"], {"the node's limit of bundles or bytes is reached": 5})
        self.assertIn("the node's limit of bundles or bytes is reached", self.log())
        self.assertEqual(self.drained(), [b"%d" % i for i in range(20)])
        self.lab.stop("node1", p)
        self.start(limit="100kB", extra="bundles: {source: 100, reserve: 0, endpoint: 100}\n")
        answers = self.send(*[b"%d" % i * 10000 for i in range(12)])
        taken = answers.count(aap2.SUCCESS)
        self.assertTrue(8 <= taken < 12 and answers[:taken] == [aap2.SUCCESS] * taken, answers)
        self.assertLessEqual(self.lab.control(1, "status")["store"]["bytes"], 100000)

    def test_full_drops(self):
        """Those that end first go, in the store as well: over a restart the same are here."""
        for limit, count in (("100MiB", 20), ("100kB", 1000000)):
            shutil.rmtree(self.store, ignore_errors=True)
            extra = f"bundles: {{count: {count}, source: 100, reserve: 0, reserve_queues: 0, endpoint: 100, when_full: drop}}\n"
            payloads = [b"%03d" % i * 1000 for i in range(60)]
            p = self.start(limit=limit, extra=extra)
            with aap2.Client(self.lab.socket(1)) as tx:
                self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
                for payload in payloads:
                    self.assertEqual(tx.request("ipn:1.9", payload)[0], aap2.SUCCESS)
                    time.sleep(0.002)  # each ends later than those before
            held, dropped = self.lab.control(1, "status")["bundles"], self.counters()["ended"]["dropped"]
            self.assertTrue(held + dropped == 60 and 20 <= held < 40, (held, dropped))
            self.assertEqual(self.counters()["refused"], {})
            wait_for(lambda: "bundles were dropped (when_full: drop)" in self.log())
            p.kill()
            p.wait()
            p = self.start(limit=limit, extra=extra)
            self.assertEqual(self.lab.control(1, "status")["bundles"], held)
            self.assertEqual(self.drained(), payloads[-held:])
            self.lab.stop("node1", p)

    def anonymous_bytes(self, p):
        with open(f"/proc/{p.pid}/status") as f:
            return 1024 * int(next(line for line in f if line.startswith("RssAnon")).split()[1])

    def test_flood_stays_within_total(self):
        """Three times what fits: the process grows by no more than the total says, and some 2 MiB of the allocator's."""
        total = 8 << 20
        p = self.start("async", limit="1GiB", extra="bundles: {total: 8MiB, source: 100, reserve: 0, endpoint: 100, count: 10000000}\n")
        self.send(*[b"x" * 1000] * 10)
        before, refused = self.anonymous_bytes(p), 0
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            for _ in range(30000):
                refused += tx.request("ipn:1.9", b"y" * 1000)[0] != aap2.SUCCESS
                if refused == 1000:
                    break
        status = self.lab.control(1, "status")
        self.assertEqual(refused, 1000)
        self.assertGreater(status["bundles"], 8000)  # far more than their bytes would be: 8 MB and more are in the store
        with open(self.lab.program("heliod"), "rb") as f:
            program = f.read()
        sanitized = b"__asan_init" in program or b"__tsan_init" in program
        # A sanitizer's own memory (shadow, red zones, what was freed) is many times the process's.
        self.assertLessEqual(self.anonymous_bytes(p) - before, (20 if sanitized else 1) * total + (2 << 20))

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
        self.edit(lambda data: data.replace(payload[:3000], payload[:2999] + b"!"))  # in a part of the bundle
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
            self.assertIn("its files are not at their path any more: bundles are refused", self.log())
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
            self.received(9)
        except (EOFError, OSError):
            pass
        self.assertEqual(p.wait(300), 1)
        self.assertIn("SIGBUS: the store's file was cut", self.log())
        p.send_signal(signal.SIGTERM)

    def test_format_1(self):
        os.makedirs(self.store)
        shutil.copy(FORMAT1, self.data)
        p = self.start()
        self.assertIn("3 bundles were waiting", self.log())
        self.assertEqual(self.received(9), b"third, for this node")
        wait_for(lambda: self.lab.control(1, "status")["bundles"] == 2)  # our answer has arrived
        self.lab.stop("node1", p)
        self.start()
        self.assertIn("2 bundles were waiting", self.log())


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("StoreTest.test_" + t for t in sys.argv[3:])], verbosity=2)
