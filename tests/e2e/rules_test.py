# SPDX-License-Identifier: Apache-2.0
"""Rules of ingress and egress at real nodes: what a neighbour may bring and get, what users may send, and changes while they run.

usage: rules_test.py BIN OUT [TEST...]
"""
import os
import pathlib
import socket
import subprocess
import urllib.request

import aap2
import node_case
from node_case import NodeCase, wait_for
from udpcl_test import NOW, parse


class RulesTest(NodeCase):
    def setUp(self):
        super().setUp()
        self.peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.peer.close)
        self.peer.bind(("127.0.0.1", 0))
        self.peer.settimeout(300)

    def start(self, extra):
        """Node 1, whose neighbour ipn:2.0 is the test's own socket."""
        port = self.lab.udp_ports(1)[0]
        self.at = ("127.0.0.1", port)
        self.link = {"name": "to-2", "adapter": "udp", "peer": "ipn:2.0", "local": f"\"127.0.0.1:{port}\"",
                     "remote": f"\"127.0.0.1:{self.peer.getsockname()[1]}\""}
        config = self.lab.write_node(1, [self.link], log=False, extra=extra)
        self.process = self.lab.start_node(1, config)

    def log(self):
        return pathlib.Path(self.lab.path("node1.log")).read_text(encoding="utf-8")

    def refused(self, way, reason):
        return self.lab.control(1, "rules")["counters"][way][reason]

    def reload(self, extra):
        self.lab.write_node(1, [self.link], log=False, extra=extra)
        return self.lab.control(1, "reload")

    def give(self, number, source="ipn:2.5", destination="ipn:1.7", text="x", priority=None):
        made = subprocess.run([self.lab.program("helio-bundle"), "make", "-s", source, "-d", destination, "--text", text, "--time", str(NOW),
                               "--sequence", str(number), *(["--priority", priority] if priority else [])],
                              capture_output=True, timeout=300, check=True)
        self.peer.sendto(made.stdout, self.at)

    def test_neighbour(self):
        """Each permission is refused with its reason; a rate holds; a reload gives more."""
        http = self.lab.udp_ports(1)[0]
        base = f"http: {{listen: \"{http}\"}}\n"
        self.start(base + "rules:\n  - {peer: ipn:2.0, way: in, from: 'ipn:2.*', to: 'ipn:1.7', size_max: 10B}\n")
        app = self.client(1, "ipn:1.7", subscribe=True)
        self.give(1, text="good")
        self.assertEqual(app.delivery(), ("ipn:2.5", b"good"))
        for number, reason, keys in ((2, "source", {"source": "ipn:3.5"}), (3, "destination", {"destination": "ipn:1.8"}),
                                     (4, "priority", {"priority": "expedited"}), (5, "size", {"text": "12345678901"})):
            self.give(number, **keys)
            wait_for(lambda: self.refused("in", reason) == 1)
        self.assertEqual(self.lab.control(1, "counters")["agent"]["refused"]["no rule of this node allows it"], 4)
        wait_for(lambda: "bundles from neighbours were refused" in self.log())
        with urllib.request.urlopen(f"http://127.0.0.1:{http}/metrics", timeout=300) as page:
            self.assertIn('heliograph_rules_refused_total{way="in",reason="priority"} 1', page.read().decode())
        shown = self.lab.run("helioctl", "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", "rules")
        self.assertIn("ipn:2.*", shown)
        rule = self.lab.control(1, "rules")["rules"][0]
        self.assertEqual((rule["way"], rule["peer"], rule["to"], rule["priority"], rule["allowed"]), ("in", "ipn:2.0", "ipn:1.7", "normal", 1))

        done = self.reload(base + "rules:\n  - {peer: ipn:2.0, way: in, priority: expedited, rate: 1, burst: 2}\n")
        self.assertEqual((done["applied"], done["refused"]), (["rules: 1, applications: 0"], []))
        for number in range(10, 20):
            self.give(number, text=f"e{number}", priority="expedited")
        wait_for(lambda: self.refused("in", "rate") >= 6)
        self.assertEqual([app.delivery()[1] for _ in range(2)], [b"e10", b"e11"])
        self.assertEqual(self.refused("in", "priority"), 1)
        done = self.reload(base)
        self.assertEqual(done["applied"], ["rules: 0, applications: 0"])
        self.give(30, source="ipn:9.9", text="anything")
        wait_for(lambda: app.delivery()[1] == b"anything")

    def test_egress(self):
        """What may not leave to the neighbour is refused to the application; what may leaves."""
        self.start("routes:\n  - {to: 'ipn:3.*', via: to-2}\nrules:\n  - {peer: ipn:2.0, way: out, to: 'ipn:2.*'}\n")
        app = self.client(1, "ipn:1.5")
        self.assertEqual(app.request("ipn:3.7", b"through")[:2], (aap2.ERROR, "no rule of this node allows it (rules, way: out: destination)"))
        self.assertEqual(app.request("ipn:2.7", b"own")[0], aap2.SUCCESS)
        self.assertEqual(parse(self.peer.recv(65536))[0][-1][4], b"own")
        self.assertEqual(self.refused("out", "destination"), 1)

    def test_users(self):
        """Endpoints, destinations, priorities and bundles of this test's own user; another user's rule does not count."""
        me = os.getuid()
        self.start(f"applications:\n  - {{user: {me}, at: 'ipn:1.[100-199]', to: 'ipn:1.[100-199]', bundles: 2}}\n"
                   f"  - {{user: {me + 1}}}\n")
        wrong = self.client(1)
        self.assertEqual(wrong.configure("ipn:1.5"), aap2.UNAUTHORIZED)
        app = self.client(1, "ipn:1.100")
        self.assertEqual(app.request("ipn:2.7", b"x")[:2], (aap2.ERROR, "no rule of this node allows it (applications: destination)"))
        for status in (aap2.SUCCESS, aap2.SUCCESS, aap2.ERROR):
            self.assertEqual(app.request("ipn:1.101", b"x")[0], status)
        self.assertEqual([self.refused("application", r) for r in ("endpoint", "destination", "bundles")], [1, 1, 1])
        self.client(1, "ipn:1.101", subscribe=True).delivery()
        wait_for(lambda: self.lab.control(1, "status")["bundles"] < 2)
        self.assertEqual(app.request("ipn:1.101", b"x")[0], aap2.SUCCESS)

    def test_user_of_some_endpoints(self):
        """Programs choose a random service: the message to a user who may have only some says so, and that --service helps."""
        me = os.getuid()
        self.start(f"applications:\n  - {{user: {me}, at: 'ipn:1.[100-199]'}}\n  - {{user: {me + 1}}}\n")
        own, files = ("--socket", self.lab.socket(1)), self.lab.path("files")
        os.mkdir(files)
        for words in (("helio-ping", *own, "-c", "1", "ipn:1.128"), ("helio-send", *own, "ipn:1.2001", __file__), ("helio-recv", *own, "-o", files),
                      ("helio-perf", "client", *own, "-d", "ipn:1.2000", "-n", "1", "-W", "1")):
            done = subprocess.run([self.lab.program(words[0]), *words[1:]], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 1, words)
            self.assertRegex(done.stderr, r"the node refuses to register ipn:1\.\d+: no rule of the node \(key applications\) allows this user the endpoint; choose --service")
            self.assertNotIn("another application", done.stderr)
        done = self.lab.run("helio-ping", *own, "-c", "1", "--service", "150", "ipn:1.128")
        self.assertIn("1 sent, 1 received", done)
        wait_for(lambda: "requests of applications were refused: endpoint; the latest of " in self.log())

    def test_wrong(self):
        """The configuration's errors name the line, the key and what would be right."""
        for extra, key, hint in (("rules:\n  - {peer: ipn:2.0, way: out, rate: 5}\n", "rules.rate", "way: in"),
                                 ("rules:\n  - {peer: 'ipn:2', way: in}\n", "rules.peer", "write"),
                                 ("rules:\n  - {peer: ipn:2.7, way: in}\n", "rules.peer", "the node's id, such as ipn:2.0"),
                                 ("rules:\n  - {peer: 'ipn:2.0|imc:5.*', way: in}\n", "rules.peer", "\"imc:5.*\" is no node"),
                                 ("rules:\n  - {peer: ipn:2.0}\n", "rules.way", "missing"),
                                 ("applications:\n  - {user: nobody-has-this-name}\n", "applications.user", "name or number")):
            done = self.heliod("--check", self.lab.write_node(1, [], log=False, extra=extra))
            self.assertEqual(done.returncode, 2)
            self.assertIn(key, done.stderr)
            self.assertIn(hint, done.stderr)


if __name__ == "__main__":
    node_case.main("RulesTest")
