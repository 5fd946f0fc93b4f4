# SPDX-License-Identifier: Apache-2.0
"""Two nodes of ION's configuration, and two of HDTN's, become two of heliod, which send bundles in both directions. usage: import_test.py BIN OUT [TEST...]"""

import json
import re
import subprocess

import aap2
import node_case
from node_case import NodeCase, wait_for

SIZES = (0, 1, 1000, 70000, 3000000)


class ImportTest(NodeCase):
    def imported(self, number, name, text):
        """The configuration that is made of a file; sockets of the lab, and no store on disk."""
        path, made = self.lab.path(name), self.lab.path(f"node{number}.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run([self.lab.program("helio-plan"), "import", path, "-o", made], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse([line for line in done.stderr.splitlines() if "left out" in line or "in comments" in line], done.stderr)
        with open(made, encoding="utf-8") as f:
            config = f.read()
        config = re.sub(r"(?m)^socket: .*$", f"socket: {self.lab.socket(number)}", config)
        config = re.sub(r"(?m)^store: .*$", "store: {durability: none}", config)
        with open(made, "w", encoding="utf-8") as f:
            f.write(config)
        self.assertEqual(self.heliod("--check", made).returncode, 0)
        return made

    def exchange(self, configs, adapter):
        for n in (1, 2):
            self.lab.start_node(n, configs[n])
        wait_for(lambda: all(self.link(n)["up"] for n in (1, 2)))
        for a, b in ((1, 2), (2, 1)):
            self.assertEqual((self.link(a)["adapter"], self.link(a)["peer"]), (adapter, f"ipn:{b}.0"))
            receiver, sender = self.client(b, f"ipn:{b}.7", subscribe=True), self.client(a, f"ipn:{a}.5")
            for i, size in enumerate(SIZES):
                self.assertEqual(sender.request(f"ipn:{b}.7", bytes([i]) * size)[0], aap2.SUCCESS)
                self.assertEqual(receiver.delivery()[1], bytes([i]) * size)
            wait_for(lambda a=a: self.ctl(a, "status")["bundles"] == 0)
            self.assertEqual(self.link(b)["bundles_received"], len(SIZES))

    def test_ion_stcp(self):
        ports = self.lab.udp_ports(2)
        configs = {}
        for n in (1, 2):
            ours, theirs = ports[n - 1], ports[2 - n]
            text = f"## begin ionadmin\n1 {n} node.ionconfig\ns\na contact +0 +36000 1 2 1250000\na contact +0 +36000 2 1 1250000\n" \
                   "a range +0 +36000 1 2 0\nm production 1250000\n## end ionadmin\n" \
                   f"## begin bpadmin\n1\na scheme ipn 'ipnfw' 'ipnadminep'\na endpoint ipn:{n}.1 q\na protocol stcp 1400 100\n" \
                   f"a induct stcp 0.0.0.0:{ours} stcpcli\na outduct stcp localhost:{theirs} stcpclo\nw 1\ns\n## end bpadmin\n" \
                   f"## begin ipnadmin\na plan {3 - n} stcp/localhost:{theirs}\n## end ipnadmin\n"
            configs[n] = self.imported(n, f"host{n}.rc", text)
        self.exchange(configs, "stcp")

    def test_hdtn_stcp(self):
        ports = self.lab.udp_ports(2)
        configs = {}
        for n in (1, 2):
            out = {"name": "out", "convergenceLayer": "stcp", "nextHopNodeId": 3 - n, "remoteHostname": "localhost", "remotePort": ports[2 - n],
                   "maxNumberOfBundlesInPipeline": 50, "maxSumOfBundleBytesInPipeline": 50000000, "keepAliveIntervalSeconds": 17}
            into = {"name": "in", "convergenceLayer": "stcp", "boundPort": ports[n - 1], "keepAliveIntervalSeconds": 15}
            configs[n] = self.imported(n, f"hdtn{n}.json", json.dumps({"myNodeId": n, "maxBundleSizeBytes": 10000000, "inductsConfig": {
                "inductVector": [into]}, "outductsConfig": {"outductVector": [out]}}))
        self.exchange(configs, "stcp")

    def test_one_remote(self):
        """Two neighbours behind one address of UDP: bundles for both leave."""
        ours, theirs = self.lab.udp_ports(2)
        config = self.imported(1, "one.rc", f"## begin ionadmin\n1 1 ''\n## end ionadmin\n## begin bpadmin\na induct udp 127.0.0.1:{ours} udpcli\n"
                               f"## end bpadmin\n## begin ipnadmin\na plan 2 udp/127.0.0.1:{theirs}\na plan 3 udp/127.0.0.1:{theirs}\n## end ipnadmin\n")
        self.lab.start_node(1, config)
        sender = self.client(1, "ipn:1.5")
        for peer in (2, 3):
            self.assertEqual(sender.request(f"ipn:{peer}.7", b"x")[0], aap2.SUCCESS)
        wait_for(lambda: [link["bundles_sent"] for link in self.ctl(1, "links")["links"]] == [1, 1])


if __name__ == "__main__":
    node_case.main("ImportTest")
