# SPDX-License-Identifier: Apache-2.0
"""Names of nodes: typed in a configuration, to helioctl and to the programs that send, and shown wherever a node is.
usage: node_names_test.py BIN OUT"""

import json
import signal
import subprocess
import sys
import unittest
import urllib.request

import node_case
from node_case import NodeCase, wait_for

NAMES = """names:
  - {name: ground, node: ipn:1.0}
  - {name: relay, node: ipn:2.0}
  - {name: mars, node: "dtn://mars/"}
"""
PLAN = """contacts:
  - {from: 1, to: 2, start: 0s, end: 1h, rate: 10Mbit/s, owlt: 1ms, both: yes}
"""


class NodeNames(NodeCase):
    def setUp(self):
        super().setUp()
        near, far = self.lab.udp_ports(2)
        self.page = 20000 + near % 40000  # of TCP, unlikely to be in use
        with open(self.lab.path("plan.yaml"), "w", encoding="utf-8") as f:
            f.write(PLAN)
        link = {**self.lab.link(2, near, far, rto="100ms"), "peer": "relay"}
        self.config = self.lab.write_node(1, [link], log=False, extra=f"{NAMES}http: {{listen: {self.page}}}\nplan: {self.lab.path('plan.yaml')}\n"
                                          "routes:\n  - {to: \"mars|relay/9\", via: to-2}\n")
        self.node = self.lab.start_node(1, self.config)
        self.lab.start_node(2, self.lab.write_node(2, [self.lab.link(1, far, near, rto="100ms")], log=False))

    def program(self, name, *words, code=0):
        done = subprocess.run([self.lab.program(name), *words], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def table(self, *words, code=0):
        return self.program("helioctl", "--socket", self.lab.socket(1) + ".ctl", *words, code=code)

    def test_typed_and_shown(self):
        here = ("--socket", self.lab.socket(1))
        told = self.program("helio-ping", *here, "-c", "2", "-i", "50ms", "relay")
        self.assertIn("PING ipn:2.128 (relay), 64 bytes", told)
        self.assertIn("2 received", told)
        server = self.lab.start("server", "helio-perf", "server", "--socket", self.lab.socket(2))
        wait_for(lambda: self.ctl(2, "status")["applications"] >= 1)
        self.assertIn("10 bundles", self.program("helio-perf", "client", *here, "-d", "relay", "-n", "10", "-W", "4", "-P", "1kB"))
        self.lab.stop("server", server)
        self.ctl(1, "link", "to-2", "down")
        self.program("helio-send", *here, "--no-wait", "relay/9", self.config)
        self.program("helio-send", *here, "--no-wait", "mars", self.config)
        self.check_tables()
        self.check_json()
        self.check_page()

    def check_tables(self):
        self.assertEqual(self.table("names").split(), "NAME NODE ground ipn:1.0 relay ipn:2.0 mars dtn://mars/".split())
        self.assertRegex(self.table("links"), r"to-2 +ltp-udp +relay +down")
        self.assertEqual(sorted(line.split()[0] for line in self.table("routes").splitlines()[1:]), ["mars/*", "relay/*", "relay/9"])
        bundles = self.table("bundles", "sort=destination")
        self.assertRegex(bundles, r"ground/\d+ +mars/files .*\n.*ground/\d+ +relay/9 ")
        self.assertNotIn("relay", self.table("bundles", "destination=mars"))
        self.assertRegex(self.table("backlog"), r"(?m)^relay +1 ")
        self.assertRegex(self.table("plan"), r"(?m)^ *ground +relay +now ")
        self.assertIn("node_name                                    ground", self.table("status"))
        self.assertIn("did you mean relay?", self.table("bundles", "destination=relai", code=2))
        key, = (b["key"] for b in self.ctl(1, "bundles")["bundles"] if b["destination"] == "dtn://mars/files")
        self.assertRegex(self.table("why", str(key)), r"mars/files")

    def check_json(self):
        """The ids stay, for programs."""
        link = self.link(1)
        self.assertEqual((link["peer"], link["peer_name"]), ("ipn:2.0", "relay"))
        top = self.ctl(1, "top")
        row = dict(zip(top["columns"], top["rows"][0]))
        self.assertEqual((row["peer"], row["peer_name"], top["node"]["node"], top["node"]["node_name"]), ("ipn:2.0", "relay", "ipn:1.0", "ground"))
        self.ctl(1, "link", "add", "to-3", "adapter=udp", "peer=mars", "local=127.0.0.1:0", "remote=127.0.0.1:9")
        self.assertEqual([one["peer"] for one in self.ctl(1, "links")["links"]], ["ipn:2.0", "dtn://mars/"])
        self.ctl(1, "route", "remove", "relay/9", "to-2")
        self.assertNotIn("ipn:2.9", [one["to"] for one in self.ctl(1, "routes")["routes"]])
        self.ctl(1, "contact", "add", "from=ground", "to=relay", "start=2h", "end=3h", "rate=1Mbit/s")
        self.assertEqual([(c["from"], c["to_name"]) for c in self.ctl(1, "plan")["contacts_here"] if c["state"] == "later"], [(1, "relay")])
        self.ctl(1, "contact", "remove", "ground", "relay", "150min")

    def check_page(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.page}/api/top", timeout=60) as answer:
            top = json.load(answer)
        self.assertEqual(top["rows"][0][top["columns"].index("peer_name")], "relay")

    def test_wrong_names(self):
        here = ("--socket", self.lab.socket(1))
        self.assertIn("\"relai\" is not in names; did you mean relay?", self.program("helio-ping", *here, "relai", code=2))
        self.assertIn("neither an endpoint nor in names", self.program("helio-ping", *here, "venus/7", code=2))
        self.assertIn("which has none", self.program("helio-ping", "--socket", self.lab.socket(2), "relay", code=2))
        self.assertIn("control socket, /none.ctl: No such file", self.program("helio-ping", "--socket", "/none", "relay", code=2))

    def test_reload(self):
        with open(self.config, encoding="utf-8") as f:
            text = f.read()
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(text.replace("relay", "orbiter"))
        self.node.send_signal(signal.SIGHUP)
        wait_for(lambda: self.link(1)["peer_name"] == "orbiter")
        self.assertIn("reload: names: 3", self.log_text())
        self.assertRegex(self.table("links"), r"to-2 +ltp-udp +orbiter ")


if __name__ == "__main__":
    node_case.PROGRAMS, node_case.OUT = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
