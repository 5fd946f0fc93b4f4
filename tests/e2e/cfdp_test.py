#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-cfdp over UDP, with losses, kills, suspension and links that are down; and over the bundles of two nodes.
usage: cfdp_test.py BIN OUT [TEST...]"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

import node_case
from cfdp_case import HOST, CfdpCase, Entity, Peer, origin, wait_until
from node_case import NodeCase


class CfdpTest(CfdpCase):
    """Entity 1 and entity 2, with a relay between them."""

    def pair(self, loss=0.0, **keys):
        relay = self.relay(loss=loss)
        one, two = self.entity(1), self.entity(2)
        relay.to = [(HOST, one.port), (HOST, two.port)]
        keys = {"allow": "[put, get, list, change]", **keys}
        one.add(2, relay.ports[0], **keys)
        two.add(1, relay.ports[1], **keys)
        relay.start()
        one.start()
        two.start()
        return one, two, relay

    def good(self, out):
        self.assertEqual(out.returncode, 0, out.stdout + out.stderr)
        return out.stdout

    def assert_clean(self, *entities):
        for entity in entities:
            wait_until(entity.idle)
            self.assertEqual(entity.left(), [])

    def test_files_of_each_kind(self):
        one, two, _ = self.pair()
        for size in (0, 1, 1024, 300_000):
            data = self.write(one.root / f"f{size}", size)
            self.good(one.ask("put", f"f{size}", 2))
            self.assertEqual((two.root / f"f{size}").read_bytes(), data)
            self.good(one.ask("get", 2, f"f{size}", f"back/g{size}"))
            self.assertEqual((one.root / f"back/g{size}").read_bytes(), data)
        self.assertIn("file 1024 f1024\n", self.good(one.ask("ls", 2)))
        self.good(one.ask("put", 2, "-r", "create-directory:d", "-r", "rename-file:f1:d/x"))
        self.assertEqual(self.good(one.ask("ls", 2, "d")), "file 1 x\n")
        (two.root / "d/\udcff").touch()
        self.assertEqual(self.good(one.ask("ls", 2, "d")), "file 1 x\nfile 0 \\xff\n")  # no UTF-8
        (two.root / "long").mkdir()
        names = [f"{i:06}" + "n" * 240 for i in range(5000)]  # 1.3 MB
        for name in names:
            (two.root / "long" / name).touch()
        self.assertEqual(self.good(one.ask("ls", 2, "long")), "".join(f"file 0 {name}\n" for name in names))
        self.assert_clean(one, two)

    def test_what_is_refused(self):
        one, two, _ = self.pair(allow="put")
        self.write(one.root / "a", 100)
        (two.root / "passwd").symlink_to("/etc/passwd")
        for words, said in (((("put", "a", 2, "../x")), "filestore rejection"), (("put", "a", 2, ".helio-cfdp/x"), "filestore rejection"),
                            (("put", "a", 2, "passwd"), "filestore rejection"), (("put", "../a", 2), "not allowed"), (("put", "b", 2), "no such file"),
                            (("put", "a", 3), "no such entity"), (("get", 2, "passwd"), "could not send"), (("ls", 2), "could not list"),
                            (("put", 2, "-r", "create-directory:d"), "status 15"), (("cancel", "1:99"), "no such transaction")):
            out = one.ask(*words)
            self.assertEqual(out.returncode, 1, words)
            self.assertIn(said, out.stdout + out.stderr)
        for words in (("put", "\udcff", 2, "x"), ("put", 2, "-r", "create-file:\udcff"), ("get", 2, "\udcff", "x")):  # no UTF-8
            out = one.ask(*words)
            self.assertEqual(out.returncode, 2, words)
            self.assertIn("no UTF-8", out.stderr)
        self.assertEqual(sorted(p.name for p in two.root.iterdir()), [".helio-cfdp", "passwd"])
        self.assert_clean(one, two)

    def test_losses_and_kills(self):
        one, two, relay = self.pair(loss=0.05, rate="16Mbit/s", immediate_nak="yes")
        data = self.write(one.root / "a", 6_000_000)
        one.begin("put", "a", 2, "b")
        kills = 0
        while not (two.root / "b").exists():
            time.sleep(0.5)
            victim = (one, two)[kills % 2]
            victim.kill()
            victim.start()
            kills += 1
        self.assertEqual((two.root / "b").read_bytes(), data)
        self.assertGreater(kills, 2)
        self.assertGreater(relay.lost, 100)
        self.assert_clean(one, two)

    def test_suspended_and_link_down(self):
        one, two, relay = self.pair(rate="4Mbit/s", ack_limit=2, nak_limit=2, inactivity="2s")
        data = self.write(one.root / "a", 1_500_000)
        transaction = one.begin("put", "a", 2, "b")
        time.sleep(0.7)
        for entity in (one, two):
            self.good(entity.ask("suspend", transaction))
        before = relay.passed
        time.sleep(4)  # longer than all timers
        self.assertLessEqual(relay.passed - before, 30)
        self.assertIn("suspended", one.ask("status").stdout)
        one.kill()
        one.start()
        self.assertIn("suspended", one.ask("status").stdout)
        for entity in (one, two):
            self.good(entity.ask("resume", transaction))
        time.sleep(0.7)
        self.good(one.ask("link", 2, "down"))
        self.good(two.ask("link", 1, "down"))
        relay.down = True
        time.sleep(4)
        relay.down = False
        self.assertIn("link down", one.ask("status").stdout)
        self.good(one.ask("link", 2, "up"))
        self.good(two.ask("link", 1, "up"))
        wait_until(lambda: (two.root / "b").exists())
        self.assertEqual((two.root / "b").read_bytes(), data)
        self.assert_clean(one, two)

    def test_few_descriptors(self):
        """Each transaction holds a file: more than there is room for are refused, and none is lost."""
        one = self.entity(1)
        script = self.folder / "few"
        script.write_text(f'#!/bin/sh\nulimit -n 192; exec {one.program} "$@"\n')
        script.chmod(0o755)
        one.program = script
        one.add(2, 9)  # nobody
        self.write(one.root / "a", 1)
        one.start()
        outs = [one.ask("put", "--no-wait", "a", 2) for _ in range(200)]
        self.assertGreater(sum(out.returncode == 0 for out in outs), 32)
        self.assertIn("too many transactions", outs[-1].stderr)
        for _ in range(8):  # clients that wait
            client = socket.socket(socket.AF_UNIX)
            self.addCleanup(client.close)
            client.connect(str(one.control))
        self.good(one.ask("suspend", outs[0].stdout.strip(), timeout=60))  # which is a record in its journal
        self.assertEqual(one.status()["counts"]["abandoned"], 0)

    def test_no_rate(self):
        """Commands are answered while a file is sent as fast as the machine can."""
        one = self.entity(1)
        one.add(2, 9, rate="unlimited", segment=8192)  # nobody
        with (one.root / "a").open("wb") as file:
            file.truncate(4 << 30)
        one.start()
        one.begin("put", "a", 2)
        transfer = one.status()["transactions"][0]
        self.assertEqual(transfer["phase"], "sending")
        self.assertGreater(transfer["octets"], 0)

    def test_done_is_done(self):
        """A peer that says "no error", but not that the file is there, or that each request was performed."""
        one = self.entity(1)
        peer = Peer(2, 1, one.port)
        self.addCleanup(peer.socket.close)
        one.add(2, peer.port)
        self.write(one.root / "a", 100)
        one.start()
        for said, code in (({}, 0), ({"incomplete": 1}, 1), ({"status": 1}, 1), ({"status": 0}, 1), ({"condition": 5}, 1)):
            asked = one.popen("put", "a", 2)
            number, _ = peer.read(4)
            peer.finish(number, **said)
            self.assertEqual(asked.wait(60), code, said)
        asked = one.popen("put", 2, "-r", "create-file:x")
        number, _ = peer.read(4)
        peer.finish(number, status=3)  # without its response
        self.assertEqual(asked.wait(60), 1)

    def test_answers_of_others(self):
        """A file of another entity that quotes our request, or one with another name, is not the file that was asked for."""
        one = self.entity(1)
        peer, other = Peer(2, 1, one.port), Peer(3, 1, one.port)
        for p in (peer, other):
            self.addCleanup(p.socket.close)
            one.add(p.entity, p.port)
        one.start()
        asked = one.popen("get", 2, "x", "y")
        number, _ = peer.read(4)
        peer.finish(number, status=3)
        other.metadata(7, "y", origin(1, number))
        peer.metadata(8, "z", origin(1, number))
        wait_until(lambda: (one.root / "y").exists() and (one.root / "z").exists())
        time.sleep(0.5)
        self.assertIsNone(asked.poll())
        (one.root / "y").unlink()
        peer.metadata(9, "y", origin(1, number))
        self.assertEqual(asked.wait(60), 0)

    def test_new_root(self):
        """A peer that remembers the transactions of the old root takes the files of a new one."""
        one, two, _ = self.pair(inactivity="10s")
        for n in range(2):
            data = self.write(one.root / "a", 5000, seed=n)
            self.good(one.ask("put", "a", 2, f"b{n}"))
            self.assertEqual((two.root / f"b{n}").read_bytes(), data)
            one.stop()
            shutil.rmtree(one.root / ".helio-cfdp")
            time.sleep(1.1)  # numbers begin with the seconds of the clock
            one.start()

    def test_wrong_configuration(self):
        one = self.entity(1)
        one.add(2, 4000, allow="everything")
        config = one.write()
        out = subprocess.run([one.program, "daemon", config], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(out.returncode, 2)
        self.assertIn(f"{config}:13: remotes.allow: 'everything': expected some of put get list change, or none", out.stderr)


class BundlesTest(NodeCase):
    """Two nodes; each has an entity."""

    def test_over_bundles(self):
        configs, nodes = self.pair()
        out = Path(self.lab.out)
        entities = []
        for n in (1, 2):
            entity = self.entity(out, n)
            entity.remotes.append({"entity": 3 - n, "endpoint": f"ipn:{3 - n}.64", "segment": 20000, "rate": "unlimited", "allow": "[put, get, list]",
                                   "ack_timer": "2s", "nak_timer": "2s", "ack_limit": 60, "nak_limit": 60})
            entity.start()
            entities.append(entity)
        one, two = entities
        data = os.urandom(3_000_000)
        (one.root / "a").write_bytes(data)
        out = one.ask("put", "a", 2, "b")
        self.assertEqual(out.returncode, 0, out.stdout + out.stderr)
        self.assertEqual((two.root / "b").read_bytes(), data)
        self.assertEqual(one.ask("get", 2, "b", "c").returncode, 0)
        self.assertEqual((one.root / "c").read_bytes(), data)
        # The node goes away in a transfer, and the daemon, too.
        one.begin("put", "a", 2, "d")
        time.sleep(0.1)
        self.lab.stop("node1", nodes[1])
        two.kill()
        two.start()
        node = self.lab.start_node(1, configs[1])
        wait_until(lambda: (two.root / "d").exists(), 120)
        self.assertEqual((two.root / "d").read_bytes(), data)
        wait_until(lambda: one.idle() and two.idle(), 120)
        # Class 1: what the node had not taken is sent again.
        (one.root / "a").write_bytes(data[:600_000])
        node.send_signal(signal.SIGSTOP)
        one.begin("put", "--class", 1, "a", 2, "e")
        time.sleep(0.5)
        one.kill()
        node.send_signal(signal.SIGCONT)
        one.start()
        wait_until(lambda: (two.root / "e").exists(), 30)
        self.assertEqual((two.root / "e").read_bytes(), data[:600_000])
        wait_until(lambda: one.idle() and two.idle(), 120)
        self.assertEqual(one.left() + two.left(), [])

    def entity(self, out, n):
        entity = Entity(Path(node_case.PROGRAMS) / "helio-cfdp", out, n, socket=self.lab.socket(n))
        entity.top["listen"] = None
        self.addCleanup(entity.stop)
        return entity


if __name__ == "__main__":
    node_case.PROGRAMS, node_case.OUT = sys.argv[1:3]
    os.makedirs(node_case.OUT, exist_ok=True)
    CfdpCase.PROGRAM, CfdpCase.OUT = os.path.join(sys.argv[1], "helio-cfdp"), sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
