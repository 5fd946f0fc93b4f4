# SPDX-License-Identifier: Apache-2.0
"""LTP with an erasure code: nodes in virtual time with losses, as datagrams and over CCSDS frames; real nodes with an emulator
that erases datagrams, the receiver killed in the middle; peers with another code. usage: erasure_link_test.py BIN OUT [TEST...]"""

import json
import os
import signal
import subprocess

import aap2
import node_case
from node_case import NodeCase, wait_for

CODE = {"erasure": "rs", "erasure.span": 256, "erasure.rate": 0.7}
# With 5 % lost every second matrix needs more than its 13 repair segments.
ASKS = {**CODE, "erasure.rate": 0.95, "erasure.requests": "yes"}
ADAPTS = {**CODE, "erasure.requests": "yes", "erasure.adaptive": "yes"}


class ErasureLinkTest(NodeCase):
    def links(self, number):
        done = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(number) + ".ctl", "--timeout", "60s", "links", "--json"],
                              capture_output=True, text=True, timeout=300, check=True)
        return json.loads(done.stdout)["links"][0]

    def simulate(self, keys, channel):
        """Two nodes of helio-sim; its result."""
        files = []
        for n in (1, 2):
            link = {"name": "it", "adapter": "ltp-udp", "peer": f"ipn:{3 - n}.0", "local": f"10.0.0.{n}:1113",
                    "remote": f"10.0.0.{3 - n}:1113", "rate": "100Mbit/s", "owlt": "500ms", "sessions": 100, **keys}
            files += ["--node", self.lab.write_node(n, [link], log=False)]
        with open(self.lab.path("channel.yaml"), "w", encoding="utf-8") as f:
            f.write(channel)
        done = subprocess.run([self.lab.program("helio-sim"), *files, "--channel", self.lab.path("channel.yaml"), "--client",
                               "-d ipn:2.2000 -D 10MB -W 200 -P 50kB", "--check", "--json"],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["clients"][0]

    def test_virtual(self):
        """Every bundle comes once, with the code and without it."""
        channel = "forward: {delay: 500ms, erasures: {iid: 0.05}}\nreturn: {delay: 500ms, erasures: {iid: 0.05}}\n"
        for keys in (CODE, {**CODE, "erasure": "rs8"}, {**CODE, "frames": "aos"}, ASKS, {**ASKS, "frames": "aos"}, ADAPTS, {**ADAPTS, "frames": "aos"}, {}):
            with self.subTest(str(keys)):
                client = self.simulate(keys, channel)
                self.assertEqual((client["bundles_confirmed"], client["lost"], client["duplicates"]), (200, 0, 0))

    def nodes(self, keys, store=None, trace="iid:0.05"):
        """Two nodes with a relay between them that erases a twentieth in each direction, or a trace; their files and processes."""
        left, right, relay = self.lab.udp_ports(3)
        self.lab.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{relay}", "--to", f"127.0.0.1:{right}", "--delay", "2ms",
                       "--trace", trace, "--trace-return", trace, "--priority", "normal")
        configs = {}
        for n, local in ((1, left), (2, right)):
            kept = {"store": f"{{path: {self.lab.path(f'store{n}')}, durability: sync}}"} if store else {}
            link = self.lab.link(3 - n, local, relay, rate="50Mbit/s", rto="100ms", sessions=8, **keys[n])
            configs[n] = self.lab.write_node(n, [link], log=False, **kept)
        return configs, {n: self.lab.start_node(n, configs[n]) for n in (1, 2)}

    def test_erased(self):
        """Real nodes: what the relay erased is repaired, and the receiver is killed in the middle: nothing is lost."""
        configs, nodes = self.nodes({1: CODE, 2: CODE}, store=True)
        receiver, sender = self.client(2, "ipn:2.7", subscribe=True), self.client(1, "ipn:1.7")
        payloads = [os.urandom(40000) for _ in range(40)]
        for p in payloads[:20]:
            self.assertEqual(sender.request("ipn:2.7", p)[0], aap2.SUCCESS)
        arrived = {receiver.delivery()[1] for _ in range(10)}
        wait_for(lambda: self.links(2)["erasure"]["received"]["segments_repaired"] > 0)
        self.assertEqual(self.links(2)["erasure"]["received"]["mismatches"], 0)
        nodes[2].send_signal(signal.SIGKILL)
        nodes[2].wait(300)
        self.lab.start_node(2, configs[2])
        for p in payloads[20:]:
            self.assertEqual(sender.request("ipn:2.7", p)[0], aap2.SUCCESS)
        again = self.client(2, "ipn:2.7", subscribe=True)
        while arrived != set(payloads):
            arrived.add(again.delivery()[1])
        told = self.links(2)["erasure"]["received"]
        self.assertEqual((told["mismatches"], told["corrupted"], told["segments_corrupt"]), (0, 0, 0))
        self.assertGreater(self.links(1)["erasure"]["sent"]["repair_segments"], 0)

    def test_requests(self):
        """Real nodes: the receiver asks for more repair segments, and a sender that was killed has none: nothing is lost."""
        configs, nodes = self.nodes({1: ASKS, 2: ASKS}, store=True)
        receiver = self.client(2, "ipn:2.7", subscribe=True)
        payloads, arrived = [os.urandom(40000) for _ in range(60)], set()
        sender = self.client(1, "ipn:1.7")
        for p in payloads[:40]:
            self.assertEqual(sender.request("ipn:2.7", p)[0], aap2.SUCCESS)
        while len(arrived) < 40:
            arrived.add(receiver.delivery()[1])
        self.assertGreater(self.links(1)["erasure"]["sent"]["requests_answered"], 0)
        told = self.links(2)["erasure"]["received"]
        self.assertGreater(told["matrices_requested_repaired"], 0)
        self.assertEqual((told["mismatches"], told["segments_corrupt"]), (0, 0))
        for p in payloads[40:]:
            self.assertEqual(sender.request("ipn:2.7", p)[0], aap2.SUCCESS)
        nodes[1].send_signal(signal.SIGKILL)
        nodes[1].wait(300)
        self.lab.start_node(1, configs[1])
        while arrived != set(payloads):
            arrived.add(receiver.delivery()[1])

    def test_fades_sender(self):
        """Real nodes over the fades of trace F, with an adaptive code; the sender is killed in the middle: nothing is lost."""
        self.fades(1)

    def test_fades_receiver(self):
        """The same of the receiver."""
        self.fades(2)

    def fades(self, victim):
        configs, nodes = self.nodes({1: ADAPTS, 2: ADAPTS}, store=True, trace="F")
        receiver, sender = self.client(2, "ipn:2.7", subscribe=True), self.client(1, "ipn:1.7")
        payloads, arrived = [os.urandom(40000) for _ in range(80)], set()
        for p in payloads:
            self.assertEqual(sender.request("ipn:2.7", p)[0], aap2.SUCCESS)
        while len(arrived) < 20:
            arrived.add(receiver.delivery()[1])
        nodes[victim].send_signal(signal.SIGKILL)
        nodes[victim].wait(300)
        self.lab.start_node(victim, configs[victim])
        if victim == 2:
            receiver = self.client(2, "ipn:2.7", subscribe=True)
        while arrived != set(payloads):
            arrived.add(receiver.delivery()[1])
        told = self.links(2)["erasure"]["received"]
        self.assertEqual((told["mismatches"], told["segments_corrupt"]), (0, 0))
        self.assertGreater(self.links(1)["erasure"]["sent"]["reports"], 0)

    def test_mismatch(self):
        """Peers with another span: the other's packets are counted, and nothing is repaired."""
        self.mismatch({**CODE, "erasure.span": 128})

    def test_requests_of_one(self):
        """One asks, and the other one does not know requests: the same."""
        self.mismatch({**CODE, "erasure.requests": "yes"})

    def mismatch(self, other):
        self.nodes({1: CODE, 2: other})
        self.assertEqual(self.client(1, "ipn:1.7").request("ipn:2.7", bytes(40000))[0], aap2.SUCCESS)
        wait_for(lambda: self.links(2)["erasure"]["received"]["mismatches"] > 0)
        self.assertEqual(self.links(2)["erasure"]["received"]["segments_repaired"], 0)

    def test_mistakes(self):
        for keys, expected in (({"erasure.rate": 0.999}, "erasure.rate"), ({"erasure.span": 60000}, "erasure.span"), ({"erasure": "rs8", "erasure.span": 60000}, "erasure.span"),
                               ({"erasure.span": 20000, "erasure.matrices": 64}, "erasure.matrices"), ({"unknown.accept": 3}, "unknown.accept"),
                               ({"erasure": "ldpc"}, "erasure"), ({"erasure": "rs8", "erasure.requests": "yes"}, "erasure.requests"),
                               ({"erasure.span": 8, "erasure.requests": "yes"}, "erasure.requests"),
                               ({"erasure.adaptive": "yes"}, "erasure.adaptive"), ({"erasure.interleave": 4}, "erasure.interleave")):
            done = self.heliod("--check", self.lab.write_node(1, [self.lab.link(2, 1, 2, rto="1s", rate="50Mbit/s", **{**CODE, **keys})], log=False))
            self.assertEqual(done.returncode, 2, keys)
            self.assertIn(expected, done.stderr)


if __name__ == "__main__":
    node_case.main("ErasureLinkTest")
