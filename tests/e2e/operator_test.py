# SPDX-License-Identifier: Apache-2.0
"""What heliod and helioctl say to their operator, and when the segment log is complete. usage: operator_test.py BIN
OUT [TEST...]"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Lab  # noqa: E402
from node_case import wait_for  # noqa: E402

PROGRAMS = OUT = ""


class OperatorTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)

    def run_it(self, program, *words):
        return subprocess.run([self.lab.program(program), *words], capture_output=True, text=True, timeout=300)

    def ctl(self, *words, socket=None):
        return self.run_it("helioctl", "--socket", socket or self.lab.socket(1) + ".ctl", "--timeout", "60s", *words)

    def node_to_nowhere(self, **keys):
        link = self.lab.link(2, *self.lab.udp_ports(2), rto="100ms")
        return self.lab.start_node(1, self.lab.write_node(1, [link], **keys))

    def send(self, count):
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            for _ in range(count):
                self.assertEqual(tx.request("ipn:2.7", b"x" * 5000)[0], aap2.SUCCESS)

    def opened(self):
        with open(self.lab.path("node1.segments.csv")) as f:
            return f.read().count(",red_cp_eob,") > 0

    def connections(self, path, count):
        for _ in range(count):
            s = socket.socket(socket.AF_UNIX)
            self.addCleanup(s.close)
            s.connect(path)
            s.settimeout(300)
            yield s

    def test_control_is_never_full(self):
        """128 connections that say nothing: an operator is answered all the same; of 32 places the newest, and who asks, keep theirs."""
        self.lab.start_node(1, self.lab.write_node(1, [], log=False))
        path = self.lab.socket(1) + ".ctl"

        def ask(s):
            s.sendall(b'{"cmd": "counters"}\n')
            said = b""
            while not said.endswith(b"\n"):
                part = s.recv(65536)
                self.assertNotEqual(part, b"", "it was ended")
                said += part
            return json.loads(said)["node"]["control_gave_way"]

        operator, = self.connections(path, 1)
        self.assertEqual(ask(operator), 0)
        silent = list(self.connections(path, 128))
        for s in silent[:97]:
            self.assertEqual(s.recv(10), b"", "who is silent for longest gives way")
        self.assertEqual(ask(operator), 97)  # the operator and 31 more have the places
        self.assertEqual(self.ctl("status").returncode, 0)
        self.assertEqual(silent[97].recv(10), b"", "for helioctl")
        self.assertEqual(ask(silent[-1]), 98)
        # those who asked give way to others when all have asked: who was silent for longest
        for s in self.connections(path, 32):
            ask(s)
        self.assertEqual(operator.recv(10), b"")

    def test_log_is_flushed(self):
        self.node_to_nowhere()
        self.send(1)
        end = time.monotonic() + 300  # half a second is promised; the machine may stall
        while not self.opened() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertTrue(self.opened())

    def test_unknown_sender(self):
        local, nowhere = self.lab.udp_ports(2)
        self.lab.start_node(1, self.lab.write_node(1, [self.lab.link(2, local, nowhere, rto="100ms", unknown_accept=2)]))
        bundle = self.lab.path("bundle")
        made = self.run_it("helio-bundle", "make", "-d", "ipn:1.5", "-s", "ipn:77.1", "--text", "hello", "-o", bundle)
        self.assertEqual(made.returncode, 0, made.stderr)
        with aap2.Client(self.lab.socket(1)) as rx:
            self.assertEqual(rx.configure("ipn:1.5", subscribe=True), aap2.SUCCESS)
            sent = self.run_it("helio-ltp", "send", "--local", "127.0.0.1:0", "--remote", f"127.0.0.1:{local}",
                               "--engine", "77", "--peer-engine", "1", "--rto", "200ms", "--retries", "1000", "--timeout", "200s", bundle)
            self.assertEqual(sent.returncode, 0, sent.stderr)
            self.assertEqual(rx.delivery(), ("ipn:77.1", b"hello"))
        shown = self.ctl("links").stdout
        self.assertIn("UNKNOWN ENGINE", shown)
        row = shown.splitlines()[-1].split()
        self.assertEqual(row[:2], ["to-2", "77"])
        self.assertTrue(row[2].startswith("127.0.0.1:"), row)

    def test_flush(self):
        self.node_to_nowhere()
        self.send(1)
        wait_for(lambda: json.loads(self.ctl("links", "--json").stdout)["links"][0]["span"]["output_ckpt_xmit_count"] > 0)
        self.assertEqual(self.ctl("flush").returncode, 0)
        self.assertTrue(self.opened())

    def test_routes(self):
        """A route that comes lets bundles in, one that goes leaves them waiting for another."""
        self.node_to_nowhere(log=False)

        def states():
            return [b["state"] for b in json.loads(self.ctl("--json", "bundles").stdout)["bundles"]]

        self.assertEqual(self.ctl("link", "to-2", "down").returncode, 0)
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            self.assertNotEqual(tx.request("ipn:9.1", b"x")[0], aap2.SUCCESS)
            self.assertEqual(self.ctl("route", "add", "ipn:9.*", "to-2").returncode, 0)
            self.assertEqual(tx.request("ipn:9.1", b"x")[0], aap2.SUCCESS)
        self.assertEqual(states(), ["waiting"])
        done = self.ctl("route", "remove", "ipn:9.1", "to-2")
        self.assertEqual((done.returncode, "no such route" in done.stderr), (2, True), done.stderr)
        self.assertEqual(self.ctl("route", "remove", "ipn:9.*", "to-2").returncode, 0)
        self.assertEqual(states(), ["no route"])
        self.assertEqual(self.ctl("route", "add", "*", "to-2").returncode, 0)
        self.assertEqual(states(), ["waiting"])
        for words, why in ((("route", "add", "ipn:*", "to-2"), "needs two parts"), (("route", "add", "*", "to-7"), "there are: to-2")):
            done = self.ctl(*words)
            self.assertEqual((done.returncode, why in done.stderr), (2, True), done.stderr)
        self.assertEqual(self.ctl("route", "set", "*", "to-2").returncode, 2)
        self.assertEqual(self.ctl("route", "add", "*").returncode, 2)

    def test_flush_without_log(self):
        self.node_to_nowhere(log=False)
        done = self.ctl("flush")
        self.assertEqual(done.returncode, 1)
        self.assertIn("writes no log", done.stderr)

    def test_helioctl_mistakes(self):
        self.node_to_nowhere(log=False)
        for words in (("link", "to-2", "sideways"), ("delete", "x"), ("link", "to-2"), ("nonsense",), ("status", "x")):
            self.assertEqual(self.ctl(*words).returncode, 2, words)
        done = self.ctl("link", "to-9", "up")
        self.assertEqual((done.returncode, "there are: to-2" in done.stderr), (2, True), done.stderr)
        path = self.lab.socket(1)
        done = self.ctl("status", socket=path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{path} is the application socket; the control socket is {path}.ctl", done.stderr)

    def test_status_units(self):
        self.node_to_nowhere(log=False)
        self.send(3)
        rows = dict(line.split(None, 1) for line in self.ctl("status").stdout.splitlines())
        self.assertRegex(rows["bytes"], r"^15\.\d kB$")
        self.assertEqual(rows["store.limit"], "1.1 GB")
        self.assertRegex(rows["uptime"], r"^\d+ s$")

    def test_class_of_service(self):
        """`dscp` is that of each datagram that leaves, cut by the kernel from a longer one, or not."""
        local, = self.lab.udp_ports(1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            peer.bind(("127.0.0.1", 0))
            peer.settimeout(300)
            peer.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
            link = self.lab.link(2, local, peer.getsockname()[1], rto="100ms", dscp=46)
            self.lab.start_node(1, self.lab.write_node(1, [link], log=False))
            self.send(1)
            for _ in range(5):
                ancillary = peer.recvmsg(65536, 64)[1]
                self.assertEqual([(level, kind, value[0] >> 2) for level, kind, value in ancillary],
                                 [(socket.IPPROTO_IP, socket.IP_TOS, 46)])

    def peer_of_one(self, store="{durability: none}", **keys):
        """A socket as the peer, and what LTP segments it gets: (type, session number, rest)."""
        peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(peer.close)
        local, = self.lab.udp_ports(1)
        peer.bind(("127.0.0.1", 0))
        peer.settimeout(300)
        link = self.lab.link(2, local, peer.getsockname()[1], **{"rto": "50s", "recovery": "plain", **keys})
        self.lab.start_node(1, self.lab.write_node(1, [link], store=store, log=False))

        def segment(kinds):
            while True:
                data = peer.recv(65536)
                originator, at = self.sdnv(data, 1)
                number, at = self.sdnv(data, at)
                if data[0] in kinds:
                    return originator, number, data[at + 1:]  # without extensions
        return peer, ("127.0.0.1", local), segment

    @staticmethod
    def sdnv(data, at):
        v = 0
        while True:
            v = v << 7 | data[at] & 0x7F
            at += 1
            if not data[at - 1] & 0x80:
                return v, at

    def bundles(self):
        return json.loads(self.ctl("bundles", "--json").stdout)["bundles"]

    def test_cancel_session(self):
        peer, node, segment = self.peer_of_one()
        self.send(1)
        _, number, _ = segment({3})
        self.assertEqual(self.ctl("cancel", "to-2", str(number)).returncode, 0)
        originator, cancelled, rest = segment({12})
        self.assertEqual((originator, cancelled, rest), (1, number, b"\x00"))  # USR_CNCLD
        peer.sendto(b"\x0d" + self.sdnv_of(1) + self.sdnv_of(number) + b"\x00", node)
        self.assertEqual(len(self.bundles()), 1)
        self.assertNotEqual(segment({3})[1], number)  # it goes again, in a session of its own
        # one of the peer's: red data whose end never comes
        head = b"\x00" + self.sdnv_of(2) + self.sdnv_of(77) + b"\x00"
        peer.sendto(head + b"\x01\x00\x05hello", node)
        end = time.monotonic() + 300
        while "77" not in self.ctl("sessions").stdout and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.ctl("cancel", "to-2", "2:77").returncode, 0)
        self.assertEqual(segment({14}), (2, 77, b"\x00"))
        for words, code, text in ((("to-2", "2:77"), 1, "no such session"), (("to-2", "2:"), 2, "ORIGINATOR:NUMBER"),
                                  (("to-2", "0:77"), 2, "ORIGINATOR:NUMBER"), (("to-2", "1x"), 2, "ORIGINATOR:NUMBER"),
                                  (("to-2", "18446744073709551616"), 2, "ORIGINATOR:NUMBER"),
                                  (("to-3", "1"), 2, "there are: to-2"), (("to-2",), 2, "cancel LINK SESSION")):
            done = self.ctl("cancel", *words)
            self.assertEqual((done.returncode, text in done.stderr), (code, True), (words, done.stderr))

    @staticmethod
    def sdnv_of(v):
        out = [v & 0x7F]
        while v > 0x7F:
            v >>= 7
            out.insert(0, v & 0x7F | 0x80)
        return bytes(out)

    def test_midst_of_a_session_after_a_restart(self):
        """What a node's earlier run may have reported is not taken for its own; a new node has none."""
        peer, node, segment = self.peer_of_one(store=f"{{path: {self.lab.path('store')}, durability: sync, limit: 100MB}}")
        midst = b"\x03" + self.sdnv_of(2) + self.sdnv_of(77) + b"\x00\x01\x64\x05\x07\x00hello"
        peer.sendto(midst, node)
        originator, number, rest = segment({8, 14})
        self.assertEqual((originator, number), (2, 77))
        serial, _ = self.sdnv(rest, 0)
        peer.sendto(b"\x09" + self.sdnv_of(2) + self.sdnv_of(77) + b"\x00" + self.sdnv_of(serial), node)
        name, process = self.lab.processes[-1]
        self.lab.stop(name, process)
        self.lab.start_node(1, self.lab.path("node1.yaml"))
        peer.sendto(midst, node)
        while True:
            data = peer.recv(65536)
            if data[0] == 14:
                break
            self.assertIn(data[0], {8, 9, 13, 15})
        self.assertEqual(data[1:], b"\x02\x4d\x00\x04")  # SYS_CNCLD

    def test_span_counters(self):
        _, _, segment = self.peer_of_one()
        self.send(1)
        segment({3})
        link, = json.loads(self.ctl("links", "--json").stdout)["links"]
        span = link["span"]
        self.assertEqual((span["output_ckpt_xmit_count"], span["current_export_sessions"], span["input_complete_count"]), (1, 1, 0))
        self.assertGreaterEqual(span["output_seg_popped_bytes"], 5000)
        shown = self.ctl("links").stdout
        self.assertIn("CYCLES", shown)
        self.assertEqual([line.split()[0] for line in shown.splitlines() if line][-1], "to-2")

    def test_colours_by_rule(self):
        rules = [{"size_min": "4kB", "colour": "green"}, {"to": "ipn:2.9", "colour": "orange"}]
        _, _, segment = self.peer_of_one(colours=rules, rto="300ms", retries=1000)
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            for destination, size, kinds in (("ipn:2.7", 5000, {7}), ("ipn:2.7", 500, {3}), ("ipn:2.9", 5000, {7})):
                self.assertEqual(tx.request(destination, b"x" * size)[0], aap2.SUCCESS)
                segment(kinds)
            self.assertEqual(tx.request("ipn:2.9", b"x" * 500)[0], aap2.SUCCESS)
            end = time.monotonic() + 300
            seen = {}
            while seen.get("orange", 0) == 0 and time.monotonic() < end:
                link, = json.loads(self.ctl("links", "--json").stdout)["links"]
                seen = link["bundles_by_colour"]
        self.assertEqual((seen["green"], seen["red"]), (2, 1))
        self.assertGreaterEqual(seen["orange"], 1)  # nobody answers: it goes again

    def test_red_length(self):
        """The beginning of a bundle is red, the rest green; two nodes."""
        ports = self.lab.udp_ports(2)
        rules = [{"size_min": "4kB", "colour": "red", "red": "1kB"}]
        for n, mine, other in ((1, *ports), (2, *ports[::-1])):
            link = self.lab.link(3 - n, mine, other, rto="100ms", recovery="plain", colours=rules if n == 1 else [])
            self.lab.start_node(n, self.lab.write_node(n, [link]))
        with aap2.Client(self.lab.socket(1)) as tx, aap2.Client(self.lab.socket(2)) as rx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            self.assertEqual(rx.configure("ipn:2.7", subscribe=True), aap2.SUCCESS)
            for size in 100, 5000, 200000:
                payload = os.urandom(size)
                self.assertEqual(tx.request("ipn:2.7", payload)[0], aap2.SUCCESS)
                self.assertEqual(rx.delivery(), ("ipn:1.5", payload))
        self.lab.run("helioctl", "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", "flush")
        with open(self.lab.path("node1.segments.csv"), encoding="ascii") as f:
            sent = [line.split(",") for line in f if ",tx," in line and ",1,2,1," in line]
        colours = [(row[8], row[7]) for row in sent if row[8]]
        self.assertIn(("red", "red_cp_eorp"), colours)
        self.assertIn(("green", "green_eob"), colours)

    def test_red_length_arrivals(self):
        """Its parts come in either order, or one never does."""
        peer, node, segment = self.peer_of_one(idle_timeout="3s")

        def counts():
            link, = json.loads(self.ctl("links", "--json").stdout)["links"]
            return link["green_incomplete"], link["bundles_received"]

        path = self.lab.path("bundle")
        made = self.run_it("helio-bundle", "make", "-d", "ipn:1.5", "-s", "ipn:2.1", "--text", "hello" * 50, "-o", path)
        self.assertEqual(made.returncode, 0, made.stderr)
        with open(path, "rb") as f:
            bundle = f.read()

        def part(number, kind, at, data):
            serials = self.sdnv_of(9) + self.sdnv_of(0) if kind == 2 else b""
            peer.sendto(bytes([kind]) + self.sdnv_of(2) + self.sdnv_of(number) + b"\x00\x01" + self.sdnv_of(at) +
                        self.sdnv_of(len(data)) + serials + data, node)
        with aap2.Client(self.lab.socket(1)) as rx:
            self.assertEqual(rx.configure("ipn:1.5", subscribe=True), aap2.SUCCESS)
            part(50, 2, 0, bundle[:100])
            self.assertEqual(segment({8})[1], 50)  # what is red is reported
            part(50, 7, 100, bundle[100:])
            self.assertEqual(rx.delivery(), ("ipn:2.1", b"hello" * 50))
            part(51, 2, 0, bundle[:100])  # its green end is lost, its middle is not
            part(51, 4, 100, bundle[100:150])
            wait_for(lambda: counts()[0] == 1)
            self.assertEqual(counts(), (1, 1))
            part(52, 7, 100, bundle[100:])
            part(52, 2, 0, bundle[:100])
            wait_for(lambda: counts()[1] == 2)
            self.assertEqual(counts(), (1, 2))

    def test_wrong_rules(self):
        """Each mistake with its line and key."""
        for rule, line, text in (("{size_min: 5kB, size_max: 1kB, colour: red}", 3, "size_max: is below size_min"),
                                 ("{to: nowhere, colour: red}", 3, "to: is not a pattern"),
                                 ("{service: 7}", 3, "colour: this key is missing"),
                                 ("{colour: blue}", 3, "colour: "), ("{color: red}", 3, "color: unknown key; did you mean colour?"),
                                 ("{colour: green, red: 5}", 3, "red: counts only with colour: red"),
                                 ("red", 3, "colours: a value is not expected here")):
            path = self.lab.path("wrong.yaml")
            with open(path, "w", encoding="utf-8") as f:
                f.write("node: ipn:1.0\nsocket: /tmp/never.sock\n"
                        "links: [{name: to-2, adapter: ltp-udp, peer: ipn:2.0, local: \"127.0.0.1:1\", remote: \"127.0.0.1:2\", rto: 1s, "
                        f"colours: [{rule}]}}]\nstore: {{durability: none}}\n")
            done = self.run_it("heliod", "--check", path)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"wrong.yaml:{line}: links[to-2].colours", done.stderr)
            self.assertIn(text, done.stderr)

    def test_peer_profile(self):
        """A peer that cancels for the number of reports gets plain recovery, and its bundle again."""
        peer, node, segment = self.peer_of_one(recovery="default")
        self.send(1)
        shown = json.loads(self.ctl("links", "--json").stdout)["links"][0]
        self.assertEqual((shown["peer_profile"], shown["peer_learnt"], shown["peer_against"]), ("auto", "nothing", 0))
        number = segment({3})[1]
        peer.sendto(b"\x0e" + self.sdnv_of(1) + self.sdnv_of(number) + b"\x00\x02", node)  # RLEXC
        self.assertNotEqual(segment({3})[1], number)  # it goes again
        shown = json.loads(self.ctl("links", "--json").stdout)["links"][0]
        self.assertEqual((shown["peer_learnt"], shown["peer_against"], shown["peers_narrowed"]), ("plain", 1, 1))
        with open(self.lab.path("node1.log")) as f:
            self.assertEqual(f.read().count("it gets plain recovery from now on"), 1)

    def test_delete_cancels(self):
        """A bundle on its way is deleted at once, and its session cancelled."""
        _, _, segment = self.peer_of_one()
        self.send(1)
        number = segment({3})[1]
        self.assertEqual(self.ctl("delete", str(self.bundles()[0]["key"])).returncode, 0)
        self.assertEqual(segment({12})[1], number)
        self.assertEqual(self.bundles(), [])

    def test_application_cancels(self):
        """By AAP2: its own bundle, named as the answer to its request named it; nobody else's."""
        _, _, segment = self.peer_of_one()
        with aap2.Client(self.lab.socket(1)) as tx, aap2.Client(self.lab.socket(1)) as other:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            other.send(aap2.cancel({3: 1, 4: 1}))
            self.assertEqual(other.answer()[0], aap2.INVALID_REQUEST)
            self.assertEqual(other.configure("ipn:1.6"), aap2.SUCCESS)
            status, _, headers = tx.request("ipn:2.7", b"x" * 5000)
            self.assertEqual(status, aap2.SUCCESS)
            number = segment({3})[1]
            other.send(aap2.cancel(headers))
            self.assertEqual(other.answer()[0], aap2.NOT_FOUND)
            self.assertEqual(len(self.bundles()), 1)
            tx.send(aap2.cancel(headers))
            self.assertEqual(tx.answer()[0], aap2.SUCCESS)
            self.assertEqual(segment({12})[1], number)
            self.assertEqual(self.bundles(), [])
            tx.send(aap2.cancel(headers))
            self.assertEqual(tx.answer()[0], aap2.NOT_FOUND)

    def test_delete_of_company(self):
        """Bundles that share a block: one of them cannot be taken out of it, the others are not hurt."""
        _, _, segment = self.peer_of_one(aggregate="64kB", aggregate_time="3s")
        self.send(3)
        segment({3})
        first, *others = self.bundles()
        self.assertEqual(self.ctl("delete", str(first["key"])).returncode, 0)
        time.sleep(0.2)
        self.assertEqual({b["key"] for b in self.bundles()} >= {b["key"] for b in others}, True)
        sessions = json.loads(self.ctl("sessions", "--json").stdout)["sessions"]
        self.assertEqual(len(sessions), 1)

    def test_refusal_names_the_node(self):
        """A sender whose `peer` is another node than the one at `remote`: the node that refuses says what, and who it is."""
        a, b = self.lab.udp_ports(2)
        self.lab.start_node(1, self.lab.write_node(1, [self.lab.link(2, a, b, rto="100ms")], log=False))
        self.lab.start_node(3, self.lab.write_node(3, [self.lab.link(1, b, a, rto="100ms")], log=False))
        self.send(1)

        def told():
            with open(self.lab.path("node3.log")) as f:
                return re.search(r"bundles were refused: no route to the destination; the latest from ipn:1.5 to ipn:2.7 over link \S+; "
                                 r"this node is ipn:3.0$", f.read(), re.M)
        wait_for(told)

        def refused():
            with open(self.lab.path("node1.log")) as f:
                return "the peer refused it" in f.read()
        wait_for(refused)

    def test_refusal_is_told(self):
        self.node_to_nowhere(log=False)
        with aap2.Client(self.lab.socket(1)) as tx:
            tx.configure("ipn:1.5")
            self.assertEqual(tx.request("ipn:9.7", b"x")[0], aap2.ERROR)

        def told():
            with open(self.lab.path("node1.log")) as f:
                return "bundle to ipn:9.7 refused: no route to the destination" in f.read()
        wait_for(told)


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("OperatorTest.test_" + t for t in sys.argv[3:])], verbosity=2)
