# SPDX-License-Identifier: Apache-2.0
"""A node that reads its file again while it runs. usage: reload_test.py BIN OUT [TEST...]"""

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Lab  # noqa: E402
from node_case import wait_for  # noqa: E402

PROGRAMS = OUT = ""


class ReloadTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)
        self.ports = self.lab.udp_ports(6)

    def link(self, peer, **keys):
        at = 2 * (peer - 2)
        return self.lab.link(peer, self.ports[at], self.ports[at + 1], **{"rto": "200ms", "rate": "1Mbit/s", "sessions": 4, **keys})

    def write(self, links, extra=""):
        return self.lab.write_node(1, links, log=False, extra=extra)

    def ctl(self, *words):
        return subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", "--json", *words],
                              capture_output=True, text=True, timeout=300)

    def reload(self):
        done = self.ctl("reload")
        answer = json.loads(done.stdout)
        return done.returncode, answer.get("applied"), answer.get("refused")

    def shown(self, what):
        return json.loads(self.ctl(what).stdout)[what]

    def log(self):
        with open(self.lab.path("node1.log"), encoding="utf-8") as f:
            return f.read()

    def test_links_and_routes(self):
        self.lab.start_node(1, self.write([self.link(2), self.link(3)], "routes: [{to: 'ipn:9.*', via: to-3}]\n"))
        self.assertEqual(self.reload(), (0, [], []))
        said = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", "reload"], capture_output=True,
                              text=True, timeout=300, check=True).stdout
        self.assertEqual(said, f"nothing to apply: {self.lab.path('node1.yaml')} is as it was\n")
        self.assertRegex(self.log(), r"(?m)^\S+ info: control: .* asked for: reload$")
        self.write([self.link(2, rate="2Mbit/s", rto="300ms", sessions=7), self.link(4)],
                   "routes: [{to: 'ipn:8.*', via: to-2}, {to: '*', via: to-4}]\n")
        code, applied, refused = self.reload()
        self.assertEqual((code, refused), (0, []))
        self.assertEqual(set(applied), {"link to-3: removed", "link to-2: rate, sessions, rto", "link to-4: added", "route to ipn:8.* via to-2: added"})
        by_name = {link["name"]: link for link in self.shown("links")}
        self.assertEqual(set(by_name), {"to-2", "to-4"})
        two = by_name["to-2"]
        self.assertEqual((two["rate_bps"], two["rto_ns"], two["window"]), (2_000_000, 300_000_000, 7))
        routes = {(r["to"], r["via"]) for r in self.shown("routes")}
        self.assertEqual(routes, {("ipn:2.*", "to-2"), ("ipn:4.*", "to-4"), ("ipn:8.*", "to-2"), ("*", "to-4")})
        self.write([self.link(2), self.link(4)], "routes: [{to: '*', via: to-4}]\n")
        code, applied, refused = self.reload()
        self.assertEqual(sorted(applied), ["link to-2: rate, sessions, rto", "route to ipn:8.* via to-2: removed"])
        self.assertEqual(self.reload(), (0, [], []))

    def claims(self, name, source):
        """An unconfigured peer at this host, in session under this name; closed when the test ends."""
        s = socket.create_connection(("127.0.0.1", self.ports[5]), timeout=30, source_address=(source, 0))
        self.addCleanup(s.close)
        s.sendall(b"dtn!\x04\0" + struct.pack(">BHQQH", 7, 0, 1 << 20, 1 << 20, len(name)) + name.encode() + bytes(4))
        seen = b""
        while len(seen) < 6 + 25 + len("ipn:1.0"):
            piece = s.recv(4096)
            self.assertNotEqual(piece, b"")
            seen += piece
        wait_for(lambda: f"in/{name}" in self.names(), 20)
        return s

    def names(self):
        return [link["name"] for link in self.shown("links")]

    def ended(self, s, name):
        """Its session, and the link."""
        wait_for(lambda: f"in/{name}" not in self.names(), 20)
        s.settimeout(20)
        with contextlib.suppress(ConnectionError):
            while s.recv(4096):
                pass

    def refused(self, name, source):
        before = next(link for link in self.shown("links") if link["name"] == "in")["names_refused"]
        with socket.create_connection(("127.0.0.1", self.ports[5]), timeout=30, source_address=(source, 0)) as s:
            s.sendall(b"dtn!\x04\0" + struct.pack(">BHQQH", 7, 0, 1 << 20, 1 << 20, len(name)) + name.encode() + bytes(4))
            wait_for(lambda: next(link for link in self.shown("links") if link["name"] == "in")["names_refused"] > before, 20)
        self.assertNotIn(f"in/{name}", self.names())

    def test_reserved_names(self):
        """Unconfigured peers lose names that the operator's changes give to others, or for which their evidence ends."""
        incoming = {"name": "in", "adapter": "tcpcl", "peer": "ipn:66.0", "local": f"127.0.0.1:{self.ports[5]}", "tls": "off", "peers": 8}
        self.lab.start_node(1, self.write([self.link(2), self.link(3), incoming]))
        word, three, nine = self.claims("ipn:7.0", "127.0.0.9"), self.claims("ipn:3.0", "127.0.0.1"), self.claims("ipn:9.0", "127.0.0.9")
        self.assertEqual(self.ctl("route", "add", "ipn:7.*", "to-3").returncode, 0)
        self.ended(word, "ipn:7.0")
        self.refused("ipn:7.0", "127.0.0.9")
        self.claims("ipn:7.0", "127.0.0.1").close()  # the host of to-3's remote
        self.assertEqual(self.ctl("route", "remove", "ipn:7.*", "to-3").returncode, 0)
        wait_for(lambda: "in/ipn:7.0" not in self.names(), 20)
        self.claims("ipn:7.0", "127.0.0.9")
        self.write([self.link(2), self.link(3), incoming], "routes: [{to: 'ipn:7.*', via: to-2}]\n")
        self.assertEqual(self.reload()[0], 0)
        wait_for(lambda: "in/ipn:7.0" not in self.names(), 20)
        # to-3 has another remote: the host of the former one keeps the name only while nobody else has it
        self.write([self.link(2), incoming])
        self.assertEqual(self.reload()[0], 0)
        self.assertIn("in/ipn:3.0", self.names())
        self.write([self.link(2), {**self.link(3), "remote": f"127.0.0.77:{self.ports[3]}"}, incoming])
        self.assertEqual(self.reload()[0], 0)
        self.ended(three, "ipn:3.0")
        self.refused("ipn:3.0", "127.0.0.1")
        self.assertIn("in/ipn:9.0", self.names())
        nine.close()

    def test_what_waits_is_kept(self):
        """Bundles for a link that is removed wait for the next route."""
        self.lab.start_node(1, self.write([self.link(2)]))
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            for _ in range(6):
                self.assertEqual(tx.request("ipn:2.7", b"x" * 1000)[0], aap2.SUCCESS)
        self.write([self.link(3)])
        self.assertEqual(self.reload()[0], 0)
        self.assertEqual({b["state"] for b in self.shown("bundles")}, {"no route"})
        self.write([self.link(3), self.link(2)])
        self.assertEqual(self.reload()[1], ["link to-2: added"])
        end = time.monotonic() + 300
        while {b.get("link") for b in self.shown("bundles")} != {"to-2"} and time.monotonic() < end:
            time.sleep(0.1)
        bundles = self.shown("bundles")
        self.assertEqual((len(bundles), {b.get("link") for b in bundles}), (6, {"to-2"}))

    def test_what_cannot_change(self):
        """It is named each time; the rest is applied."""
        self.lab.start_node(1, self.write([self.link(2)]))
        changed = self.link(2, rate="3Mbit/s", retries=5)
        changed["local"] = f"127.0.0.1:{self.ports[4]}"
        self.write([changed], "bundles: {count: 77}\nlog: {level: error, bundles: /tmp/other.csv}\n")
        for again in False, True:
            code, applied, refused = self.reload()
            self.assertEqual((code, applied), (1, [] if again else ["log.level", "link to-2: rate, recovery.retries"]))
            self.assertEqual([text.partition(" cannot change")[0] for text in refused], ["bundles.count", "log.bundles", "link to-2: local"])
        self.assertEqual(self.shown("links")[0]["rate_bps"], 3_000_000)

    def test_wrong_file(self):
        process = self.lab.start_node(1, self.write([self.link(2)]))
        self.write([self.link(2, rate="quick")])
        done = self.ctl("reload")
        self.assertEqual(done.returncode, 2)
        self.assertIn("rate", done.stderr)
        process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 300
        while self.log().count("nothing has changed") < 2 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.log().count("error: reload: nothing has changed"), 2)
        self.assertEqual(self.shown("links")[0]["rate_bps"], 1_000_000)

    def test_hangup_and_plan(self):
        """By SIGHUP; a plan whose file is another one is read, one that is the same is not."""
        plan = self.lab.path("plan.yaml")

        def write_plan(rate):
            with open(plan, "w", encoding="ascii") as f:
                f.write(f"contacts:\n  - {{from: 1, to: 2, start: 0s, end: 600s, rate: {rate}, owlt: 1ms}}\n")

        def plan_of():
            return json.loads(self.ctl("plan").stdout)

        def wait(count):
            end = time.monotonic() + 300
            while self.log().count("logs were reopened") < count and time.monotonic() < end:
                time.sleep(0.05)

        write_plan("1Mbit/s")
        process = self.lab.start_node(1, self.write([self.link(2)], f"plan: {plan}\n"))
        process.send_signal(signal.SIGHUP)
        wait(1)
        self.assertEqual((plan_of()["reloads"], plan_of()["contacts_here"][0]["rate_bps"]), (0, 1_000_000))
        write_plan("2Mbit/s")
        process.send_signal(signal.SIGHUP)
        wait(2)
        end = time.monotonic() + 300  # another thread reads the plan, later than the line of the log
        while plan_of()["reloads"] < 1 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual((plan_of()["reloads"], plan_of()["contacts_here"][0]["rate_bps"]), (1, 2_000_000))
        process.send_signal(signal.SIGHUP)
        wait(3)
        self.assertEqual(plan_of()["reloads"], 1)


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("ReloadTest.test_" + t for t in sys.argv[3:])], verbosity=2)
