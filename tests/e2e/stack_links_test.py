#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-sim --links: a file of helio-emu links in virtual time, with whole nodes. Fates against those of helio-emu on real
sockets, a hand-over with two transmitters' parts, the same bytes twice, hops, and what is wrong with a file.

usage: stack_links_test.py BIN SOURCE [unittest arguments]
"""
import csv
import filecmp
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

BIN, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])


def run(*arguments, code=0):
    done = subprocess.run([os.path.join(BIN, "helio-sim"), *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == code, (arguments, done.returncode, done.stdout[-500:], done.stderr)
    return done


def node(number, links):
    """links: peer -> (local, remote, further keys)."""
    lines = [f"node: ipn:{number}.0", f"socket: /nowhere/{number}.sock", "store: {durability: none}", "links:"]
    for peer, (local, remote, keys) in links.items():
        lines.append(f"  - {{name: to-{peer}, peer: 'ipn:{peer}.0', local: '{local}', remote: '{remote}', {keys}}}")
    with open(f"n{number}.yaml", "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return ["--node", f"n{number}.yaml"]


def links(text):
    with open("links.yaml", "w", encoding="utf-8") as f:
        f.write(text)
    return ["--links", "links.yaml"]


def rows(path):
    with open(path, encoding="ascii", newline="") as f:
        return list(csv.DictReader(f))


LTP = "adapter: ltp-udp, rate: 20Mbit/s, owlt: 30ms, recovery: default"
HANDED = """link: {both: {delay: 5ms}}
links:
  craft-1: {listen: 10.0.0.1:5001, to: 10.0.0.2:6001, forward: {erasures: {iid: 0.02}}}
  craft-2:
    listen: 10.0.0.1:5002
    to: 10.0.0.3:6002
    handover:
      - {at: 0, link: station-a}
      - {at: 2s, link: station-b, gap: 500ms, in_flight: lost}
  station-a: {both: {delay: 8ms}}
  station-b: {forward: {rate: 15Mbit/s, delay: 30ms}}
shared: {uplink: {of: [craft-1.forward, station-a.forward], rate: 20Mbit/s, queue: 1s}}
"""


class LinksTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)

    def tearDown(self):
        os.chdir("/")
        self.folder.cleanup()

    def three(self):
        return [*node(1, {2: ("10.0.0.1:7001", "10.0.0.1:5001", LTP), 3: ("10.0.0.1:7002", "10.0.0.1:5002", LTP)}),
                *node(2, {1: ("10.0.0.2:6001", "10.0.0.1:5001", LTP)}), *node(3, {1: ("10.0.0.3:6002", "10.0.0.1:5002", LTP)}),
                *links(HANDED), "--client", "-d ipn:2.2000 -D 6M -W 20 -P 50kB", "--client", "-d ipn:3.2000 -D 6M -W 20 -P 50kB", "--json"]

    def test_nodes_over_shared_lines_and_a_hand_over(self):
        result = json.loads(run(*self.three(), "--check", "--log-dir", "out").stdout)
        for client in result["clients"]:
            self.assertEqual((client["lost"], client["bundles_acked"]), (0, client["bundles_sent"]))
        self.assertEqual(result["channels"], [])
        for name, link in result["links"].items():
            for way in ("forward", "return"):
                c = link[way]
                self.assertEqual(c["in"] + c["duplicated"], c["out"] + c["queued"] + sum(c["dropped"].values()), (name, way))
        hand = result["links"]["craft-2"]["handover"]
        self.assertEqual((hand["planned"], hand["done"]), (2, 2))
        for way in ("forward", "return"):
            self.assertEqual(hand[way]["in"], hand[way]["gap"] + sum(one["in"] for one in hand[way]["via"].values()))
            for name in ("station-a", "station-b"):
                self.assertEqual(hand[way]["via"][name]["in"], result["links"][name][way]["in"])
                self.assertEqual(hand[way]["via"][name]["out"], result["links"][name][way]["out"])
            self.assertGreater(hand[way]["gap"], 0)
            self.assertEqual(len(rows("out/link-craft-2.drops.csv")), sum(hand[way]["gap"] for way in ("forward", "return")))
        line = result["shared"]["uplink"]
        self.assertEqual([member["of"] for member in line["members"]], ["craft-1.forward", "station-a.forward"])
        self.assertEqual(line["members"][0]["frames"], result["links"]["craft-1"]["forward"]["in"])
        part, own = line["members"][1]["frames"], result["links"]["station-a"]["forward"]  # what waited at the cut took no line
        self.assertTrue(own["out"] <= part < own["in"], (part, own))
        self.assertEqual(line["bytes"], sum(member["bytes"] for member in line["members"]))

    def test_the_same_bytes_twice(self):
        told = [run(*self.three(), "--log-dir", out).stdout for out in ("one", "two")]
        self.assertEqual(told[0], told[1])
        names = sorted(os.listdir("one"))
        self.assertIn("link-station-b.drops.csv", names)
        self.assertEqual(filecmp.cmpfiles("one", "two", names, shallow=False)[0], names)

    def test_the_text_has_the_account(self):
        said = run(*[word for word in self.three() if word != "--json"]).stdout
        for words in ("link craft-1", "handed over, 2 of 2 times; forward: in the gap", "shared uplink: ", "craft-1.forward"):
            self.assertIn(words, said)

    def real_fates(self, text, count):
        """Sends so many frames through the emulator of a file with a link `one`, few at once, and waits until they are counted, so
        that no socket overflows however slow the machine is. The port that it listens at."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asker, \
                subprocess.Popen([os.path.join(BIN, "helio-emu"), "links", links(text)[1], "--control", "control"], stderr=subprocess.PIPE, text=True) as p:
            said = ""
            while "ready" not in said:
                line = p.stderr.readline()
                self.assertTrue(line, said)
                said += line
            port = int(re.search(r"link one 127\.0\.0\.1:(\d+) to", said)[1])
            asker.bind("asker")
            asker.settimeout(300)
            for sent in range(50, count + 1, 50):
                for _ in range(50):
                    near.sendto(b"x" * 200, ("127.0.0.1", port))
                inside, status = 0, {}
                while inside < sent:
                    asker.sendto(b"status one", "control")
                    status = json.loads(asker.recv(65536))
                    inside = status["forward"]["in"]
                self.assertEqual(inside, sent, status)
            p.send_signal(signal.SIGINT)
            said += p.communicate(timeout=300)[1]
            self.assertEqual(p.returncode, 0, said)
        return port

    def test_fates_are_those_of_the_emulator(self):
        """Chances go by the frames' numbers, so it matters to neither when they came. The file is the same but for the port."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far:
            far.bind(("127.0.0.1", 0))  # nobody reads there: what it has no room for has left the link
            to = far.getsockname()[1]
            text = (f"seed: 3\nlinks:\n  one: {{listen: 127.0.0.1:0, to: 127.0.0.1:{to}, drop_log: drops.csv,\n"
                    "    forward: {delay: 1ms, erasures: {iid: 0.2}, duplicate: 0.1, corrupt: 0.05}}\n")
            listen = self.real_fates(text, 1000)
        file = links(text.replace("127.0.0.1:0", f"127.0.0.1:{listen}"))
        chances = ("random", "duplicate", "corrupt")
        real = [(int(r["frame"]), r["reason"]) for r in rows("drops.csv") if r["reason"] in chances]
        run(*node(1, {2: ("127.0.0.1:1", f"127.0.0.1:{listen}", "adapter: udp")}), *node(2, {1: (f"127.0.0.1:{to}", f"127.0.0.1:{listen}", "adapter: udp")}),
            *file, "--client", "-d ipn:2.2000 -D 100k -R 100b -P 100", "--duration", "60s", code=1)
        virtual = [(int(r["frame"]), r["reason"]) for r in rows("drops.csv") if r["direction"] == "forward"]
        self.assertGreater(len(virtual), 250)
        self.assertEqual(virtual, [one for one in real if one[0] <= 1000])

    def test_hops_and_the_example(self):
        """craft-1's traffic passes two links in a row, which have an account each; the example's file is right here, too."""
        with open(os.path.join(SOURCE, "examples/emu-links.yaml"), encoding="utf-8") as f:
            example = f.read()
        text = example + "\n"
        text = re.sub("(craft-1: .*\n.*listen: 127.0.0.1:5001\n)    to: 127.0.0.1:6001", r"\1    to: 127.0.0.1:5009", text)
        text = text.replace("  craft-2:", "  hop: {listen: 127.0.0.1:5009, to: 127.0.0.1:6001}\n  craft-2:")
        nodes = [*node(1, {2: ("127.0.0.1:1", "127.0.0.1:5001", LTP), 3: ("127.0.0.1:2", "127.0.0.1:5002", LTP), 4: ("127.0.0.1:3", "127.0.0.1:5003", LTP)}),
                 *node(2, {1: ("127.0.0.1:6001", "127.0.0.1:5009", LTP)}), *node(3, {1: ("127.0.0.1:6002", "127.0.0.1:5002", LTP)}),
                 *node(4, {1: ("127.0.0.1:6003", "127.0.0.1:5003", LTP)})]
        clients = [word for to in (2, 3, 4) for word in ("--client", f"-d ipn:{to}.2000 -D 1M -W 8 -P 20kB")]
        result = json.loads(run(*nodes, *links(text), *clients, "--json").stdout)
        self.assertEqual([client["lost"] for client in result["clients"]], [0, 0, 0])
        one, two = (result["links"][name]["forward"] for name in ("craft-1", "hop"))
        self.assertEqual(one["out"], two["in"])
        self.assertGreater(two["out"], 50)
        self.assertGreater(result["clients"][0]["delay_ms"]["p50"], 12 + 5)

    def test_a_start_before_time_zero(self):
        """Hand-overs, a transmitter's changes and a direction's own: as when time zero is the start and all is a minute earlier."""
        def told(start, later):
            file = HANDED.replace("shared: {uplink: {", "shared: {uplink: {changes: [{at: %s, rate: 5Mbit/s}], " % later(1))
            file = file.replace("{at: 2s,", "{at: %s," % later(2)).replace("forward: {erasures: {iid: 0.02}}", "forward: {start: %s, changes: [{at: %s, iid: 0.5}]}" % (start, later(1.5)))
            words = self.three()
            links(f"start: {start}\n{file}")
            said = json.loads(run(*words, "--log-dir", "out").stdout)
            with open("out/link-craft-1.drops.csv", encoding="ascii") as one, open("out/link-craft-2.drops.csv", encoding="ascii") as two:
                return said["links"], said["shared"], one.read() + two.read()
        zero = told("2026-01-01T00:00:00Z", lambda s: f"{s}s")
        self.assertIn(",random,", zero[2])
        self.assertIn(",handover,", zero[2])
        self.assertEqual(told("2025-12-31T23:59:00Z", lambda s: f"{60 + s}s"), zero)

    def test_what_is_wrong_is_told(self):
        one = "links:\n  a:\n    listen: 10.0.0.1:5\n    to: 10.0.0.2:1\n"
        nodes = [*node(1, {2: ("10.0.0.1:1", "10.0.0.1:5", LTP)}), *node(2, {1: ("10.0.0.2:1", "10.0.0.1:5", LTP)})]
        for text, wanted in (
                (one + "  b: {listen: 10.0.0.1:1, to: 10.0.0.2:1}\n", ":5: links.b.listen: a node has this address"),
                (one.replace("10.0.0.2:1", "10.0.0.9:1"), ":4: links.a.to: no node has this local address, and no other relay or link listens there"),
                (one + "  b: {listen: 10.0.0.1:5, to: 10.0.0.2:1}\n", ":5: links.b.listen: another relay or link has this address"),
                (one.replace("10.0.0.2:1", "10.0.0.1:6") + "  b: {listen: 10.0.0.1:6, to: 10.0.0.1:5}\n", ":4: links.a.to: frames would go round for ever"),
                (one + "    return_from: 10.0.0.1:7\n    return_to: 10.0.0.1:6\n  b: {listen: 10.0.0.1:6, to: 10.0.0.1:7}\n  c: {listen: 10.0.0.1:7, to: 10.0.0.1:5}\n",
                 ":6: links.a.return_to: frames would go round for ever"),
                (one.replace("10.0.0.2:1", "10.0.0.1:5"), ":4: links.a.to: is the address of listen"),
                (one.replace("10.0.0.2:1", "10.0.0.2"), ":4: links.a.to: \"10.0.0.2\" is not understood"),
                (one + "    forward: {rate: 5}\n", ":5: links.a.forward.rate"),
                (one + "shared: {up: {of: [b.forward], rate: 1Mbit/s}}\n", ":5: shared.up.of: there is no link \"b\""),
                ("links: {}\n", ":1: links: is empty")):
            said = run(*nodes, *links(text), "--duration", "1s", code=2).stderr
            self.assertIn("links.yaml", said)
            self.assertIn(wanted, said, text)
        said = run(*nodes, *links(one + "    pcap_after: /nowhere/x.pcap\n"), "--duration", "1s", code=1).stderr
        self.assertIn("/nowhere/x.pcap: No such file or directory", said)
        self.assertIn("is one file too many", run(*nodes, *links(one), "--links", "x", "--duration", "1s", code=2).stderr)
        self.assertIn("nowhere.yaml", run(*nodes, "--links", "nowhere.yaml", "--duration", "1s", code=2).stderr)
        said = run(*nodes, *links(one), "--relay", "--listen 10.0.0.1:5 --to 10.0.0.2:1", "--duration", "1s", code=2).stderr
        self.assertIn("links.a.listen: another relay or link has this address", said)
        run(*nodes, *links(one), "--duration", "1s")
        back = one.replace("10.0.0.2:1", "10.0.0.1:6") + "  b: {listen: 10.0.0.1:6, to: 10.0.0.2:1, return_to: 10.0.0.1:5}\n"
        run(*nodes, *links(back), "--duration", "1s")  # answers go back as they came


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
