# SPDX-License-Identifier: Apache-2.0
"""Bundles in bundles, in virtual time: a tunnel from node 1 to node 3 through node 2, which sees nothing but the bundles
between the tunnel's ends. usage: stack_bibe_test.py BIN OUT"""
import csv
import json
import os
import shutil
import subprocess
import sys
import unittest

BIN = OUT = ""


class StackBibeTest(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        with open(self.path("link.yaml"), "w", encoding="utf-8") as f:
            f.write("both: {delay: 5ms}\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, tunnel="", links=None, routes=None, more="", adapter="ltp-udp", keys="rate: 100Mbit/s, rto: 30ms"):
        """Node 1 and 3 have a tunnel to each other; all that is not for its ends goes by it. `links`, `routes`: more of them,
        by node. `adapter`, `keys`: of the links below the tunnel."""
        for number, peer in ((1, 3), (2, None), (3, 1)):
            lines = [f"node: ipn:{number}.0", f"socket: /nowhere/{number}.sock", "store: {durability: none}", more, "links:"]
            for other in ((2,) if number != 2 else (1, 3)):
                lines.append(f"  - {{name: to-{other}, adapter: {adapter}, peer: ipn:{other}.0, local: '10.0.{number}.{other}:1113', "
                             f"remote: '10.0.{other}.{number}:1113', {keys}}}")
            if peer is not None:
                lines.append(f"  - {{name: tunnel, adapter: bibe, peer: ipn:{peer}.0, local: ipn:{number}.12, "
                             f"remote: ipn:{peer}.12{tunnel}}}")
            lines += (links or {}).get(number, [])
            lines.append("routes:")
            if peer is not None:
                lines.append(f"  - {{to: ipn:{peer}.12, via: to-2}}")
            else:
                lines.append("  - {to: 'ipn:3.*', via: to-3}")
            lines += (routes or {}).get(number, [])
            with open(self.path(f"n{number}.yaml"), "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")

    def simulate(self, client, *more):
        words = [os.path.join(BIN, "helio-sim"), "--check", "--json", "--log-dir", self.path("log")]
        for number in (1, 2, 3):
            words += ["--node", self.path(f"n{number}.yaml")]
        for pair in ("1-2", "2-3"):
            words += ["--channel", f"{pair}={self.path('link.yaml')}"]
        words += ["--client", client, *more]
        return subprocess.run(words, capture_output=True, text=True, timeout=1000)

    def run_all(self, client, *more):
        done = self.simulate(client, *more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.result = json.loads(done.stdout)
        return self.result["clients"][0], self.result["servers"][0]

    def rows(self, number, event):
        with open(self.path(f"log/node{number}.bundles.csv"), newline="", encoding="utf-8") as f:
            return [r for r in csv.DictReader(f) if r["event"] == event]

    def tunnel(self, number):
        links = self.result["nodes"][number - 1]["links"]
        return next(l for l in links if l["name"] == "tunnel")

    def test_whole(self):
        """100 bundles: each arrives once, as it was; the node between sees none of them."""
        self.write()
        client, server = self.run_all("-d ipn:3.2000 -D 1M -W 10 -P 10kB -l 1h")
        self.assertEqual((client["bundles_sent"], client["bundles_acked"], server["bundles"]), (100, 100, 100))
        self.assertEqual((client["lost"], server["lost"], server["duplicates"], server["wrong_crc"]), (0, 0, 0, 0))
        between = {r["destination"] for r in self.rows(2, "accepted")}
        self.assertEqual(between, {"ipn:1.12", "ipn:3.12"})
        sources = {r["source"] for r in self.rows(2, "accepted")}
        self.assertEqual(sources, {"ipn:1.12", "ipn:3.12"})
        sent, came = self.tunnel(1), self.tunnel(3)
        self.assertGreaterEqual(sent["bundles_sent"], 100)
        self.assertEqual(sent["bundles_sent"], came["bundles_received"])
        self.assertEqual(sum(came["thrown_away"].values()), 0)

    def test_segments(self):
        """What is longer than a segment goes in several, and comes as one."""
        self.write(", segment: 10kB")
        client, server = self.run_all("-d ipn:3.2000 -D 1M -W 10 -P 100kB -l 1h")
        self.assertEqual((client["bundles_acked"], server["bundles"], server["wrong_crc"], server["duplicates"]), (10, 10, 0, 0))
        sent, came = self.tunnel(1), self.tunnel(3)
        self.assertGreaterEqual(came["segments_received"], 10 * 11)
        self.assertEqual((came["transfers"], came["transfers_expired"]), (0, 0))
        self.assertEqual(sent["bundles_sent"], came["bundles_received"])
        longest = max(int(r["payload"]) for r in self.rows(2, "accepted"))
        self.assertLessEqual(longest, 10_000 + 40)

    def test_losses(self):
        """Over links that lose a tenth of what is on them: LTP brings it again, and the tunnel knows nothing of it."""
        with open(self.path("link.yaml"), "w", encoding="utf-8") as f:
            f.write("both: {delay: 5ms, erasures: {iid: 0.1}}\n")
        self.write(", segment: 10kB")
        client, server = self.run_all("-d ipn:3.2000 -D 1M -W 10 -P 50kB -l 1h")
        self.assertEqual((client["bundles_acked"], server["bundles"], server["wrong_crc"], server["duplicates"]), (20, 20, 0, 0))

    def test_custody(self):
        """Over links that lose a fifth of their datagrams and have no retransmission: the tunnel's ends recover all of it."""
        with open(self.path("link.yaml"), "w", encoding="utf-8") as f:
            f.write("both: {delay: 5ms, erasures: {iid: 0.2}}\n")
        self.write(", custody: {mode: on, timer: 200ms, signal_after: 20ms}", adapter="udp", keys="rate: 20Mbit/s")
        client, server = self.run_all("-d ipn:3.2000 -D 300k -W 32 -P 1kB -l 1h --linger 5s")
        self.assertEqual((client["bundles_acked"], server["bundles"], server["wrong_crc"], server["duplicates"]), (300, 300, 0, 0))
        sent, came = self.tunnel(1), self.tunnel(3)
        self.assertGreater(sent["custody"]["lost"], 60)  # 300 bundles, over two links in each direction
        self.assertEqual((sent["custody"]["never_issued"], sent["thrown_away"]["forged"]), (0, 0))
        self.assertEqual(sent["custody"]["released"], sent["bundles_sent"])
        self.assertLess(came["custody"]["signals_sent"], came["custody"]["confirmed"])
        self.assertEqual(len(self.rows(2, "refused")), 0)

    def test_custody_refused(self):
        """The node at the end has no room (a rule's rate): it refuses custody, and the bundles stay at the first node."""
        self.write(", custody: {mode: on, timer: 3s}", adapter="udp", keys="rate: 20Mbit/s")
        with open(self.path("n3.yaml"), "a", encoding="utf-8") as f:
            f.write("rules:\n  - {peer: ipn:1.0, way: in, from: 'ipn:*.*', to: 'ipn:*.*', rate: 2, burst: 2}\n")
        client, server = self.run_all("-d ipn:3.2000 -D 20k -W 20 -P 1kB -l 1h --ack-timeout 10min --linger 10min")
        sent = self.tunnel(1)["custody"]
        self.assertEqual((server["bundles"], server["wrong_crc"], client["bundles_sent"]), (20, 0, 20))
        self.assertGreaterEqual(sent["refused"], 10)
        self.assertEqual((sent["lost"], sent["late"]), (0, 0))

    def test_into_itself(self):
        """A tunnel whose end is reached through itself: what would go in circles is refused, said, and waits."""
        self.write(routes={1: ["  - {to: ipn:9.1, via: tunnel}"]})
        for name in ("n1.yaml", "n3.yaml"):
            with open(self.path(name), encoding="utf-8") as f:
                text = f.read().replace("to: ipn:3.12, via: to-2", "to: ipn:3.12, via: tunnel").replace(
                    "to: ipn:1.12, via: to-2", "to: ipn:1.12, via: tunnel")
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(text)
        done = self.simulate("-d ipn:3.2000 -D 100k -W 2 -P 10kB -l 10s --linger 5s --ack-timeout 5s")
        self.assertEqual(done.returncode, 1)
        reasons = {r["reason"] for r in self.rows(1, "failed")}
        self.assertEqual(reasons, {"it_would_go_in_itself__or_too_deep_in_others"})
        depth = [int(r["payload"]) for r in self.rows(1, "accepted") if r["destination"] == "ipn:3.12"]
        self.assertLess(max(depth), 11_000)  # one encapsulation each, and no more

    def test_two_tunnels_in_each_other(self):
        """A second tunnel whose bundles go by the first: as deep as nesting allows."""
        both = {n: [f"  - {{name: outer, adapter: bibe, peer: ipn:{4 - n}.0, local: ipn:{n}.13, remote: ipn:{4 - n}.13}}"]
                for n in (1, 3)}
        self.write(links=both, routes={n: [f"  - {{to: ipn:{4 - n}.2000, via: outer}}", f"  - {{to: ipn:{4 - n}.13, via: tunnel}}"]
                                       for n in (1, 3)})
        client, server = self.run_all("-d ipn:3.2000 -D 100k -W 2 -P 10kB -l 1h")
        self.assertEqual((server["bundles"], server["wrong_crc"], server["duplicates"]), (10, 0, 0))
        self.assertEqual({r["destination"] for r in self.rows(2, "accepted")}, {"ipn:1.12", "ipn:3.12"})
        self.assertGreaterEqual(client["bundles_acked"], 10)

    def test_nesting(self):
        """The same, where one is the most."""
        both = {n: [f"  - {{name: outer, adapter: bibe, peer: ipn:{4 - n}.0, local: ipn:{n}.13, remote: ipn:{4 - n}.13}}"]
                for n in (1, 3)}
        self.write(", nesting: 1", links=both,
                   routes={n: [f"  - {{to: ipn:{4 - n}.2000, via: outer}}", f"  - {{to: ipn:{4 - n}.13, via: tunnel}}"]
                           for n in (1, 3)})
        done = self.simulate("-d ipn:3.2000 -D 20k -W 2 -P 10kB -l 10s --linger 5s --ack-timeout 5s")
        self.assertEqual(done.returncode, 1)
        self.assertIn("it_would_go_in_itself__or_too_deep_in_others", {r["reason"] for r in self.rows(1, "failed")})
        self.assertEqual(self.rows(2, "accepted"), [])

    def test_longer_than_memory(self):
        """A bundle in segments that is longer than `memory`, and no longer than bundles.max, arrives."""
        self.write(", segment: 100kB, memory: 150kB")
        client, server = self.run_all("-d ipn:3.2000 -D 2M -W 4 -P 500kB -l 1h")
        self.assertEqual((client["bundles_acked"], server["bundles"], server["wrong_crc"], server["duplicates"]), (4, 4, 0, 0))
        self.assertEqual(sum(self.tunnel(3)["thrown_away"].values()), 0)

    def test_no_room_behind(self):
        """The node at the end refuses most of what the tunnel brings for a while (a rule's rate): nothing is lost, each
        bundle arrives when there is room, from the store of its encapsulating bundle."""
        for segment in ("", ", segment: 10kB"):
            with self.subTest(segment):
                self.write(segment)
                with open(self.path("n3.yaml"), "a", encoding="utf-8") as f:
                    f.write("rules:\n  - {peer: ipn:1.0, way: in, from: 'ipn:*.*', to: 'ipn:*.*', rate: 2, burst: 2}\n")
                client, server = self.run_all("-d ipn:3.2000 -D 400k -W 20 -P 20kB -l 1h --ack-timeout 10min --linger 10min")
                came = self.tunnel(3)
                self.assertEqual((server["bundles"], server["wrong_crc"], client["bundles_sent"]), (20, 0, 20))
                self.assertGreaterEqual(came["put_off"], 15)
                self.assertEqual(sum(came["thrown_away"].values()), 0)

    def test_another_endpoint(self):
        """What comes from another endpoint of the peer's node, as an application there could send it, is not from the tunnel."""
        self.write()
        with open(self.path("n3.yaml"), encoding="utf-8") as f:
            text = f.read().replace("remote: ipn:1.12", "remote: ipn:1.13")
        with open(self.path("n3.yaml"), "w", encoding="utf-8") as f:
            f.write(text)
        done = self.simulate("-d ipn:3.2000 -D 20k -W 2 -P 10kB -l 10s --linger 5s --ack-timeout 5s")
        self.assertEqual(done.returncode, 1)
        self.result = json.loads(done.stdout)
        self.assertGreaterEqual(self.tunnel(3)["thrown_away"]["foreign"], 2)
        self.assertEqual(self.tunnel(3)["bundles_received"], 0)


if __name__ == "__main__":
    BIN, OUT = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
