# SPDX-License-Identifier: Apache-2.0
"""Two nodes whose link follows the contacts of a plan, in virtual time: its rate, in each direction by itself, its light time over a pass.
usage: stack_contact_test.py BIN OUT"""
import csv
import json
import math
import os
import shutil
import subprocess
import sys
import unittest

BIN = OUT = ""


class StackContactTest(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, plan, keys, channel="both: {delay: 5ms}\n"):
        for name, text in (("plan.yaml", plan), ("link.yaml", channel)):
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(text)
        for number, peer in ((1, 2), (2, 1)):
            with open(self.path(f"n{number}.yaml"), "w", encoding="utf-8") as f:
                f.write(f"node: ipn:{number}.0\nsocket: /nowhere/{number}.sock\nstore: {{durability: none}}\n"
                        f"plan: {self.path('plan.yaml')}\nlinks:\n  - {{name: to-{peer}, adapter: ltp-udp, peer: ipn:{peer}.0, "
                        f"local: 10.0.0.{number}:1113, remote: 10.0.0.{peer}:1113, {keys}}}\n")

    def run_nodes(self, client, *more):
        words = [os.path.join(BIN, "helio-sim"), "--check", "--json", "--log-dir", self.path("log"), "--node", self.path("n1.yaml"),
                 "--node", self.path("n2.yaml"), "--channel", self.path("link.yaml"), "--client",
                 "-d ipn:2.2000 -l 1d --linger 5min --ack-timeout 1h " + client, *more]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        result = json.loads(done.stdout)
        client, server = result["clients"][0], result["servers"][0]
        self.assertEqual((client["lost"], server["lost"], server["duplicates"], server["wrong_crc"]), (0, 0, 0, 0))
        self.assertEqual(server["bundles"], client["bundles_sent"])
        return result

    def times(self, number, event):
        """When bundles of the client had this event at a node."""
        with open(self.path(f"log/node{number}.bundles.csv"), newline="", encoding="utf-8") as f:
            return [int(r["t_ns"]) / 1e9 for r in csv.DictReader(f)
                    if r["event"] == event and r["destination"] == "ipn:2.2000" and int(r["payload"]) >= 10000]

    def timers(self, result, node):
        return result["nodes"][node]["links"][0]["timers"]

    def test_rates(self):
        """A contact of 100 Mbit/s, then one of 10: the link paces itself as each of them says."""
        self.write("contacts:\n"
                   "  - {from: 1, to: 2, end: 5s, rate: 100Mbit/s}\n  - {from: 1, to: 2, start: 5s, end: 40s, rate: 10Mbit/s}\n"
                   "  - {from: 2, to: 1, end: 40s, rate: 1Gbit/s}\nranges:\n  - {from: 1, to: 2, end: 40s, owlt: 5ms}\n",
                   "owlt: 5ms, sessions: 10, segment: 9000B")
        result = self.run_nodes("-D 75M -W 700 -P 500kB")
        came = [t - 0.005 for t in self.times(2, "accepted")]
        fast, slow = [t for t in came if t < 5], [t for t in came if t >= 6]
        # The router leaves 7 % of a contact for headers and segments.
        self.assertAlmostEqual(len(fast), 5 * 100e6 / 8 / 500e3 / 1.07, delta=2)
        share = 8950 / 9042  # of payload in what is on the air, within a percent
        for times, rate in ((fast, 100e6), (slow, 10e6)):
            paced = (len(times) - 1) * 500e3 * 8 / (max(times) - min(times))
            self.assertAlmostEqual(paced / (rate * share), 1, delta=0.03)
        self.assertEqual(self.timers(result, 0)["checkpoint"], 0)

    def test_link_is_the_bound(self):
        """A link that is slower than its contact keeps its own rate."""
        self.write("contacts:\n  - {from: 1, to: 2, end: 100s, rate: 100Mbit/s, owlt: 5ms, both: yes}\n",
                   "owlt: 5ms, sessions: 10, rate: 20Mbit/s, segment: 9000B")
        result = self.run_nodes("-D 10M -W 50 -P 100kB")
        self.assertEqual(result["nodes"][0]["links"][0]["rate_bps"], 20_000_000)
        self.assertGreater(max(self.times(2, "accepted")), 10e6 * 8 / 20e6)

    def test_one_way(self):
        """The neighbour may answer only long after our contact: timers stand still, and nothing is sent twice."""
        self.write("contacts:\n  - {from: 1, to: 2, start: 10s, end: 20s, rate: 50Mbit/s}\n"
                   "  - {from: 2, to: 1, start: 30s, end: 40s, rate: 10Mbit/s}\n"
                   "  - {from: 1, to: 2, start: 40s, end: 50s, rate: 50Mbit/s}\n"
                   "ranges:\n  - {from: 1, to: 2, end: 1min, owlt: 5ms}\n", "owlt: 5ms, sessions: 200, segment: 9000B")
        result = self.run_nodes("-D 10M -W 100 -P 100kB", "--duration", "60s")
        came, known = self.times(2, "accepted"), self.times(1, "acknowledged")
        self.assertEqual((len(came), len(known)), (100, 100))
        self.assertTrue(10 <= min(came) and max(came) < 20.005)
        self.assertTrue(30 <= min(known) and max(known) < 40.005)
        for node in (0, 1):
            self.assertEqual({k: v for k, v in self.timers(result, node).items() if v}, {})
        self.assertEqual(result["nodes"][0]["links"][0]["retransmitted_bytes"], 0)

    def pass_of(self, delay):
        """A plan with the light time `delay` at each second, and the channel that has it."""
        def light(t):
            return 0.004 + 0.016 * ((t - 30) / 30) ** 2
        points = "".join(f"{{at: {t}s, owlt: {math.ceil(1e6 * delay(light, t))}us}}, " for t in range(60))
        self.write("contacts:\n  - {from: 1, to: 2, end: 1min, rate: 1Mbit/s, both: yes}\n"
                   f"ranges:\n  - {{from: 1, to: 2, end: 1min, table: [{points}]}}\n",
                   "owlt: 5ms, sessions: 5, recovery: {mode: default, margin: 2ms}",
                   "both:\n  start: 0s\n  delay:\n" +
                   "".join(f"    - {{at: {t}s, delay: {round(1e6 * light(t))}us}}\n" for t in range(61)))
        return self.timers(self.run_nodes("-T 50 -W 20 -P 10kB"), 0)["checkpoint"]

    def test_pass(self):
        """Light takes 20 ms, 4 ms, 20 ms: no timer runs out."""
        self.assertEqual(self.pass_of(lambda light, t: max(light(t), light(t + 1))), 0)

    def test_pass_not_known(self):
        """The same with a plan that does not know it: timers do run out."""
        self.assertGreater(self.pass_of(lambda light, t: 0.004), 0)

    def test_absence(self):
        """By the plan the neighbour is always there; it is away for 110 s. What is tried meanwhile costs little, and all goes as soon as
        the neighbour is there again. 31.9 MB on the air; 114.5 before, when each try was a whole bundle."""
        self.write("contacts:\n  - {from: 1, to: 2, end: 1h, rate: 20Mbit/s, owlt: 5ms, both: yes}\n", "owlt: 5ms, sessions: 10",
                   "both: {delay: 5ms, start: 0, contacts: [{from: 0, to: 20s}, {from: 130s, to: 1h}]}\n")
        result = self.run_nodes("-T 200 -R 1M -P 500kB")
        sent = result["clients"][0]["bundles_sent"]
        link = result["nodes"][0]["links"][0]
        self.assertEqual((link["peer_silences"], link["peer_silent"]), (1, False))
        self.assertLess(link["air_bytes"], 1.1 * sent * 500e3 + 10 * 500e3)  # those under way when it went go twice
        came = sorted(self.times(2, "accepted"))
        self.assertEqual(len(came), sent)
        late = [t for t in came if t > 25]
        self.assertLess(late[0], 130.5)
        waited = sum(20 <= t < 130 for t in self.times(1, "stored"))
        self.assertGreater(waited, 20)
        self.assertLess(late[waited - 1], 130.5 + waited * 500e3 * 8 / 20e6 * 1.2)

    def test_silence(self):
        """The peer is down for an hour: a bundle of 500 kB is sent once then, and once when it is up; some sixty tries in between
        cost half of it."""
        self.write("contacts:\n  - {from: 1, to: 2, end: 2h, rate: 20Mbit/s, owlt: 5ms, both: yes}\n", "owlt: 5ms, sessions: 10",
                   "both: {delay: 5ms, start: 0, contacts: [{from: 0, to: 1ms}, {from: 1h, to: 2h}]}\n")
        result = self.run_nodes("-D 500kB -W 1 -P 500kB --linger 2h", "--duration", "2h")
        link = result["nodes"][0]["links"][0]
        self.assertGreater(link["bundles_failed"], 30)
        self.assertLess(link["air_bytes"], 2.7 * 500e3)  # 2.1 with headers, and 4 kB a try
        self.assertLess(self.times(2, "accepted")[0], 3600 + 61 + 1)


if __name__ == "__main__":
    BIN, OUT = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
