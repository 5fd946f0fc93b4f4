# SPDX-License-Identifier: Apache-2.0
"""helio-store on stores that a node left: whole, in use, damaged, cut, of an earlier format. usage: store_tool_test.py
BIN OUT [TEST...]"""

import json
import os
import shutil
import subprocess
import sys
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Lab  # noqa: E402

PROGRAMS = OUT = ""
FORMAT1 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "store_format1.mdb")
PAYLOADS = [b"payload %d " % i * (1 if i % 2 else 1000) for i in range(6)]


class StoreToolTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)
        self.store = self.lab.path("store")
        self.data = os.path.join(self.store, "data.mdb")
        self.saved = self.lab.path("saved")

    def start(self):
        link = self.lab.link(2, *self.lab.udp_ports(2), rto="100s")
        store = f"{{path: {self.store}, durability: sync, limit: 100MiB}}"
        return self.lab.start_node(1, self.lab.write_node(1, [link], store, log=False))

    def fill(self):
        p = self.start()
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            for payload in PAYLOADS:
                self.assertEqual(tx.request("ipn:1.9", payload)[0], aap2.SUCCESS)
        return p

    def fill_and_stop(self):
        self.lab.stop("node1", self.fill())

    def edit(self, old, new):
        with open(self.data, "rb") as f:
            data = f.read()
        self.assertIn(old, data)
        with open(self.data, "wb") as f:
            f.write(data.replace(old, new))

    def run_it(self, code, command, *words, program="helio-store"):
        done = subprocess.run([self.lab.program(program), command, *words], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def check(self, code=0):
        return json.loads(self.run_it(code, "check", "--json", self.store).stdout)

    def listed(self, code=0):
        return [json.loads(line) for line in self.run_it(code, "list", "--json", self.store).stdout.splitlines()]

    def received(self, count):
        with aap2.Client(self.lab.socket(1)) as rx:
            self.assertEqual(rx.configure("ipn:1.9", subscribe=True), aap2.SUCCESS)
            return [rx.delivery()[1] for _ in range(count)]

    def test_whole(self):
        self.fill_and_stop()
        found = self.check()
        self.assertEqual((found["good"], found["bundles"], found["damaged"], found["format"]), (True, 6, 0, 4))
        rows = self.listed()
        self.assertEqual([r["key"] for r in rows], [1, 2, 3, 4, 5, 6])
        self.assertEqual({(r["source"], r["destination"], r["state"]) for r in rows}, {("ipn:1.5", "ipn:1.9", "whole")})
        self.assertEqual([r["sequence"] for r in rows], [0, 1, 2, 3, 4, 5])
        self.assertEqual([r["payload_bytes"] for r in rows], [len(p) for p in PAYLOADS])
        for r in rows:
            self.assertEqual(r["lifetime_ms"], 86400000)
            self.assertLess(r["here_ms"], 60000)
            self.assertLessEqual(abs(r["here_ms"] + r["left_ms"] - 86400000), 1000)
        shown = self.run_it(0, "list", self.store).stdout.splitlines()
        self.assertEqual((shown[0].split()[0], len(shown)), ("KEY", 7))
        self.run_it(0, "export", self.store, "-o", self.saved)
        self.assertEqual(sorted(os.listdir(self.saved)), [f"{i}.bundle" for i in range(1, 7)])
        for i, payload in enumerate(PAYLOADS):
            path = os.path.join(self.saved, f"{i + 1}.bundle")
            self.run_it(0, "lint", path, program="helio-bundle")
            with open(path, "rb") as f:
                self.assertIn(payload, f.read())
        self.assertIn("File exists", self.run_it(1, "export", self.store, "-o", self.saved).stderr)
        self.assertIn("nothing is damaged", self.run_it(0, "repair", self.store).stdout)
        self.assertEqual([n for n in os.listdir(self.store) if n.startswith("damaged")], [])
        self.start()
        self.assertEqual(self.received(6), PAYLOADS)

    def test_reading_changes_nothing(self):
        self.fill_and_stop()
        with open(self.data, "rb") as f:
            before = f.read()
        self.check()
        self.listed()
        self.run_it(0, "export", self.store, "-o", self.saved, "--key", "3")
        self.assertEqual(os.listdir(self.saved), ["3.bundle"])
        with open(self.data, "rb") as f:
            self.assertEqual(f.read(), before)
        self.assertIn("there is no bundle 9", self.run_it(1, "export", self.store, "-o", self.saved, "--key", "9").stderr)

    def test_in_use(self):
        self.fill()
        for command in (["check"], ["list"], ["repair"], ["export", "-o", self.saved]):
            self.assertIn(f"{self.store} is in use by another heliod; stop it first",
                          self.run_it(1, *command, self.store).stderr)

    def test_not_a_store(self):
        self.assertIn("there is no store", self.run_it(2, "check", OUT).stderr)
        os.makedirs(self.store)
        with open(self.data, "wb"):
            pass
        self.assertIn("the file is empty", self.run_it(1, "check", self.store).stderr)
        with open(self.data, "wb") as f:
            f.write(b"no database" * 1000)
        self.assertIn("data.mdb: ", self.run_it(1, "check", self.store).stderr)
        self.assertIn("DIRECTORY is missing", self.run_it(2, "check").stderr)
        self.assertIn("--output is missing", self.run_it(2, "export", self.store).stderr)
        self.assertIn("--key: \"x\" is not understood", self.run_it(2, "export", self.store, "-o", "x", "--key", "x").stderr)

    def test_repair(self):
        """Two payloads are damaged: they leave the store for a file, the others stay."""
        self.fill_and_stop()
        self.edit(PAYLOADS[1], b"PAYLOAD" + PAYLOADS[1][7:])
        self.edit(PAYLOADS[2][:3000], PAYLOADS[2][:2999] + b"!")  # in a part of the bundle
        self.lab.stop("node1", self.start())
        found = self.check(1)
        self.assertEqual((found["good"], found["bundles"], found["damaged"]), (False, 4, 2))
        self.assertEqual({r["state"] for r in self.listed() if r["key"] in (2, 3)}, {"bundle-damaged"})
        text = self.run_it(1, "check", self.store).stdout
        self.assertIn("bundle 2: the bundle differs from its check value", text)
        self.run_it(0, "export", self.store, "-o", self.saved)
        self.assertEqual(len(os.listdir(self.saved)), 4)
        self.run_it(0, "export", self.store, "-o", self.saved, "--damaged", "--key", "2")
        self.assertIn("2.damaged.bundle", os.listdir(self.saved))
        out = self.lab.path("damaged.jsonl")
        self.assertIn(f"2 damaged bundles are in {out}", self.run_it(0, "repair", self.store, "-o", out).stdout)
        with open(out) as f:
            rows = [json.loads(line) for line in f]
        self.assertEqual([r["key"] for r in rows], [2, 3])
        self.assertIn(b"PAYLOAD", bytes.fromhex(rows[0]["bundle"]))
        self.assertEqual(self.check()["bundles"], 4)
        os.remove(self.lab.path("node1.log"))
        self.start()
        with open(self.lab.path("node1.log")) as f:
            self.assertNotIn("damaged", f.read())
        self.assertEqual(self.received(4), [p for i, p in enumerate(PAYLOADS) if i not in (1, 2)])

    def test_cut(self):
        """What lies before the cut can be saved; a repair makes a new database of it."""
        p = self.fill()
        with aap2.Client(self.lab.socket(1)) as tx:  # then the free pages, and so the roots, are in the middle of the file
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            for destination in ["ipn:1.8"] * 40 + ["ipn:1.9"] * 20:
                self.assertEqual(tx.request(destination, PAYLOADS[2])[0], aap2.SUCCESS)
            self.lab.control(1, "delete", "destination=ipn:1.8")
            for _ in range(30):  # a commit each
                self.assertEqual(tx.request("ipn:1.9", b"short")[0], aap2.SUCCESS)
        self.lab.stop("node1", p)
        size = os.path.getsize(self.data)
        whole = self.lab.path("whole.mdb")
        shutil.copy(self.data, whole)
        saved = []
        for eighth in range(1, 8):
            shutil.copy(whole, self.data)
            os.truncate(self.data, size * eighth // 8)
            self.run_it(1, "check", self.store)
            target = f"{self.saved}{eighth}"
            subprocess.run([self.lab.program("helio-store"), "export", self.store, "-o", target], capture_output=True,
                           timeout=300)
            files = os.listdir(target)
            for name in files:
                self.run_it(0, "lint", os.path.join(target, name), program="helio-bundle")
            saved.append(len(files))
            self.assertEqual(os.path.getsize(self.data), size * eighth // 8)
        self.assertGreater(max(saved), 0)
        self.assertRegex(self.check(1)["pages"], "^page [0-9]+ of table")
        done = self.run_it(0, "repair", "--json", self.store)
        self.assertIn("its pages are damaged", done.stderr)
        self.assertTrue(json.loads(done.stdout)["rescued"])
        self.assertEqual(self.check()["pages"], "whole")
        kept = [n for n in os.listdir(self.store) if n.startswith("damaged-") and n.endswith(".mdb")]
        self.assertEqual(len(kept), 1)
        self.assertEqual(os.path.getsize(os.path.join(self.store, kept[0])), size * 7 // 8)

    def test_damaged_page(self):
        """A node refuses a store with a damaged page and names the command that repairs it; then it starts."""
        self.fill_and_stop()
        with open(self.data, "rb") as f:
            data = bytearray(f.read())
        leaves = [at for at in range(2 * 4096, len(data), 4096)
                  if data[at + 10:at + 12] == b"\x02\0" and PAYLOADS[1] in data[at:at + 4096]]
        self.assertNotEqual(leaves, [])
        for at in leaves:
            data[at + 12:at + 14] = b"\xff\xff"
        with open(self.data, "wb") as f:
            f.write(data)
        link = self.lab.link(2, *self.lab.udp_ports(2), rto="100s")
        path = self.lab.write_node(1, [link], f"{{path: {self.store}, durability: sync, limit: 100MiB}}", log=False)
        done = subprocess.run([self.lab.program("heliod"), path], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"helio-store repair {self.store}", done.stderr)
        with open(self.data, "rb") as f:
            self.assertEqual(f.read(), bytes(data))
        self.assertIn('of table "heads2"', self.check(1)["pages"])
        self.run_it(0, "repair", self.store)
        self.start()

    def test_format_1(self):
        os.makedirs(self.store)
        shutil.copy(FORMAT1, self.data)
        found = self.check()
        self.assertEqual((found["format"], found["bundles"]), (1, 3))
        self.assertEqual({r["state"] for r in self.listed()}, {"unchecked"})
        self.run_it(0, "repair", self.store)
        found = self.check()
        self.assertEqual((found["format"], found["bundles"]), (4, 3))
        self.assertEqual({r["state"] for r in self.listed()}, {"whole"})


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("StoreToolTest.test_" + t for t in sys.argv[3:])], verbosity=2)
