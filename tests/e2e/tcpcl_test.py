# SPDX-License-Identifier: Apache-2.0
"""TCPCLv4 between real nodes, and between a node and a peer that is written here. usage: tcpcl_test.py BIN OUT [TEST...]"""

import random
import signal
import socket
import struct
import subprocess
import threading
import time

import aap2
import node_case
from node_case import NodeCase, wait_for
from udpcl_test import bundle, ipn, parse

SEGMENT, ACK, REFUSE, KEEPALIVE, TERM, REJECT, INIT = range(1, 8)
END, START = 1, 2


class Peer:
    """The other end of a stream, message by message (RFC 9174)."""

    def __init__(self, s):
        self.s = s
        s.settimeout(300)
        self.got = b""

    def read(self, n):
        data = b""
        while len(data) < n:
            piece = self.s.recv(n - len(data))
            if not piece:
                raise EOFError(f"{len(data)} of {n} bytes")
            data += piece
        return data

    def contact(self, active):
        if active:
            self.s.sendall(b"dtn!\x04\x00")
        header = self.read(6)
        if not active:
            self.s.sendall(b"dtn!\x04\x00")
        return header

    def init(self, name, keepalive=30, segment_mru=1 << 20, transfer_mru=1 << 30):
        name = name.encode()
        self.s.sendall(struct.pack(">BHQQH", INIT, keepalive, segment_mru, transfer_mru, len(name)) + name + bytes(4))

    def message(self):
        """(type, fields…)"""
        kind = self.read(1)[0]
        if kind == INIT:
            keepalive, segment_mru, transfer_mru, n = struct.unpack(">HQQH", self.read(20))
            name = self.read(n).decode()
            items = self.read(struct.unpack(">I", self.read(4))[0])
            return kind, keepalive, segment_mru, transfer_mru, name, items
        if kind == SEGMENT:
            flags, number = struct.unpack(">BQ", self.read(9))
            items = self.read(struct.unpack(">I", self.read(4))[0]) if flags & START else b""
            return kind, flags, number, items, self.read(struct.unpack(">Q", self.read(8))[0])
        sizes = {ACK: ">BQQ", REFUSE: ">BQ", KEEPALIVE: ">", TERM: ">BB", REJECT: ">BB"}
        return kind, *struct.unpack(sizes[kind], self.read(struct.calcsize(sizes[kind])))

    def establish(self, active, name="ipn:2.0", **keys):
        self.header = self.contact(active)
        self.init(name, **keys)
        self.terms = self.message()
        return self

    def segment(self, number, data, flags=START | END, items=b""):
        head = struct.pack(">BBQ", SEGMENT, flags, number)
        if flags & START:
            head += struct.pack(">I", len(items)) + items
        self.s.sendall(head + struct.pack(">Q", len(data)) + data)

    def ack(self, flags, number, length):
        self.s.sendall(struct.pack(">BBQQ", ACK, flags, number, length))

    def transfer(self):
        """The next bundle, acknowledged."""
        data, flags = b"", 0
        while not flags & END:
            kind, flags, number, _, piece = self.message()
            assert kind == SEGMENT
            data += piece
            self.ack(flags, number, len(data))
        return data


def at_rate(test):
    """0.9 MB at 8 Mbit/s take 0.9 s, not less; changed while it is there."""
    receiver = test.client(2, "ipn:2.7", subscribe=True)
    sender = test.client(1, "ipn:1.5")
    for words, least in (((), 0.85), (("link", "set", "to-2", "rate=80Mbit/s"), 0.08)):
        if words:
            test.ctl(1, *words)
        begun = time.monotonic()
        for _ in range(9):
            test.assertEqual(sender.request("ipn:2.7", bytes(100_000))[0], aap2.SUCCESS)
        for _ in range(9):
            test.assertEqual(len(receiver.delivery()[1]), 100_000)
        took = time.monotonic() - begun
        test.assertGreater(took, least)
        test.assertLess(took, 30)
    test.assertEqual(test.link(1)["rate_bps"], 80_000_000)
    test.assertEqual(test.link(2)["rate_bps"], 0)


class TcpclTest(NodeCase):
    def shown(self, number, *words):
        """Output for people."""
        return subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(number) + ".ctl", "--timeout", "60s", *words],
                              capture_output=True, text=True, timeout=300, check=True).stdout

    def links(self, number):
        return {link["name"]: link for link in self.ctl(number, "links")["links"]}

    def link(self, number, name=None):
        links = self.links(number)
        return links[name] if name else next(iter(links.values()))

    def tcpcl(self, peer, **keys):
        return {"name": f"to-{peer}", "adapter": "tcpcl", "peer": f"ipn:{peer}.0", "reconnect": "50ms", "reconnect_max": "200ms",
                **keys}

    def port(self):
        return self.lab.udp_ports(1)[0]

    def up(self, number, name=None):
        wait_for(lambda: self.link(number, name)["state"] == "up")

    def nodes(self, one, two, **keys):
        self.configs = {1: self.lab.write_node(1, [self.tcpcl(2, **one)], log=False, **keys),
                        2: self.lab.write_node(2, [self.tcpcl(1, **two)], log=False)}
        self.running = {n: self.lab.start_node(n, self.configs[n]) for n in (2, 1)}
        self.up(1)

    def exchange(self):
        """Both directions at once."""
        ends = {n: (self.client(n, f"ipn:{n}.7", subscribe=True), self.client(n, f"ipn:{n}.5")) for n in (1, 2)}
        sizes = [0, 1, 100, 5000, 65536, 1 << 20, (1 << 20) + 1, 5000000]
        for n in (1, 2):
            for i, size in enumerate(sizes):
                self.assertEqual(ends[n][1].request(f"ipn:{3 - n}.7", bytes([i]) * size)[0], aap2.SUCCESS)
        for n in (1, 2):
            came = sorted((len(p), p[:1]) for _, p in (ends[n][0].delivery() for _ in sizes))
            self.assertEqual(came, sorted((size, bytes([i]) if size else b"") for i, size in enumerate(sizes)))
        for n in (1, 2):
            wait_for(lambda n=n: self.ctl(n, "status")["bundles"] == 0)

    def peer(self, s):
        self.addCleanup(s.close)
        return Peer(s)

    def single(self, active, **keys):
        """Node 1 with a link to a peer of this test: the peer's end of a stream."""
        if active:  # the peer connects
            port = self.port()
            self.lab.start_node(1, self.lab.write_node(1, [self.tcpcl(2, local=f'"127.0.0.1:{port}"', **keys)], log=False))
            return lambda: self.peer(socket.create_connection(("127.0.0.1", port)))
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        server.settimeout(300)
        link = self.tcpcl(2, remote=f'"127.0.0.1:{server.getsockname()[1]}"', **keys)
        self.lab.start_node(1, self.lab.write_node(1, [link], log=False))
        return lambda: self.peer(server.accept()[0])

    # ---- two nodes ----

    def test_rate(self):
        port = self.port()
        self.nodes({"remote": f"127.0.0.1:{port}", "rate": "8Mbit/s"}, {"local": f"127.0.0.1:{port}"})
        at_rate(self)

    def test_wrong_peer_is_asked_ever_less_often(self):
        """A node answers there, but not the one that the link is for: the pause doubles as for one that is not there."""
        port = self.port()
        config = self.lab.write_node(1, [self.tcpcl(9, remote=f"127.0.0.1:{port}", reconnect_max="10s")], log=False)
        self.lab.start_node(2, self.lab.write_node(2, [self.tcpcl(1, local=f"127.0.0.1:{port}")], log=False))
        begun = time.monotonic()
        self.lab.start_node(1, config)
        wait_for(lambda: self.link(1)["connects_failed"] >= 3)
        time.sleep(1.5)
        connects, most = self.link(1)["connects"], 2  # 30 and more without: 50, 100, 200, 400, 800, 1600 ms …
        pause = at = 0.05
        while at < time.monotonic() - begun:
            most, pause = most + 1, min(2 * pause, 10)
            at += pause
        self.assertLessEqual(connects, most)
        self.assertNotEqual(self.link(1)["state"], "up")
        self.assertIn('the peer at remote is "ipn:2.0"', self.link(1)["down_because"])

    def test_reason_of_a_link_that_is_down(self):
        """Nobody listens; then a peer refuses; then the session is up; then it is set to down."""
        port = self.port()
        link = self.tcpcl(2, remote=f"127.0.0.1:{port}", reconnect_max="100ms")
        config = self.lab.write_node(1, [link], log=False)
        self.lab.start_node(1, config)
        wait_for(lambda: "cannot connect" in self.link(1)["down_because"])
        self.assertRegex(self.link(1)["down_because"], f"^cannot connect to 127.0.0.1:{port}: .*refused; nobody listens there: start the peer.s node, or give its link this address as local")
        self.assertLess(self.link(1)["down_because_ns"], 60e9)
        shown = self.shown(1, "links")
        self.assertRegex(shown, r"ATTENTION +STATE +SINCE +WHY\n.*refused .*cannot connect to")
        self.assertRegex(shown, f"to-2 .* cannot connect to 127.0.0.1:{port}: .*refused")
        server = socket.create_server(("127.0.0.1", port))
        self.addCleanup(server.close)
        server.settimeout(300)
        peer = self.peer(server.accept()[0])
        peer.establish(False)  # all was read: a close with unread octets would throw away what was not sent yet
        peer.s.sendall(bytes((TERM, 0, 4)))
        self.assertEqual(peer.message(), (TERM, 1, 4))
        peer.s.close()
        wait_for(lambda: "the peer ended the session, reason: contact failure" in self.link(1).get("down_because", ""))
        peer = self.peer(server.accept()[0]).establish(False)
        self.up(1)
        self.assertNotIn("down_because", self.link(1))
        self.shown(1, "link", "to-2", "down")
        wait_for(lambda: "it is set to down" in self.link(1).get("down_because", ""))

    def test_reason_without_an_answer(self):
        """The queue of the listener is full: as behind a firewall that drops packets, SYN after SYN has no answer."""
        server = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.addCleanup(server.close)
        for _ in range(4):
            filler = socket.socket()
            self.addCleanup(filler.close)
            filler.setblocking(False)
            filler.connect_ex(server.getsockname())
        at = f"127.0.0.1:{server.getsockname()[1]}"
        self.lab.start_node(1, self.lab.write_node(1, [self.tcpcl(2, remote=at, timeout="3s")], log=False))
        wait_for(lambda: self.link(1).get("down_because", "").startswith("connecting"))
        self.assertRegex(self.link(1)["down_because"], f"^(connecting|cannot connect) to {at}(: no answer .*| for [0-9.]+ m?s)$")
        wait_for(lambda: "cannot connect" in self.link(1)["down_because"])
        self.assertRegex(self.link(1)["down_because"], f"^cannot connect to {at}: no answer to the connection for [0-9.]+ s; a firewall drops the packets, or the address is wrong$")
        with open(self.lab.path("node1.log"), encoding="utf-8") as f:
            log = f.read()
        self.assertIn(f"cannot connect to {at}: no answer to the connection for ", log)
        self.assertNotIn("did not say who it is", log)

    def test_reason_of_a_link_that_listens(self):
        """It says so, and not "-", until the peer has connected."""
        port = self.port()
        self.lab.start_node(1, self.lab.write_node(1, [self.tcpcl(2, local=f"127.0.0.1:{port}")], log=False))
        self.assertRegex(self.shown(1, "links"), r"ATTENTION +STATE +SINCE +WHY\nto-2 +down +- +it waits until the peer connects \(no remote\)\n")
        self.lab.start_node(2, self.lab.write_node(2, [self.tcpcl(1, remote=f"127.0.0.1:{port}")], log=False))
        self.up(1)
        self.assertNotIn("down_because", self.link(1))

    def test_two_nodes(self):
        port = self.port()
        self.nodes({"remote": f"127.0.0.1:{port}"}, {"local": f"127.0.0.1:{port}"})
        self.exchange()
        for n in (1, 2):
            link = self.link(n)
            self.assertEqual((link["failed"], link["messages_tx"]["reject"], link["in_flight"]), (0, 0, 0))
            self.assertEqual(link["messages_rx"]["segment"], link["messages_tx"]["ack"])
            self.assertEqual(link["sessions"][0]["peer"], f"ipn:{3 - n}.0")

    def test_ipv6_and_small_segments(self):
        port = self.port()
        self.nodes({"remote": f'"[::1]:{port}"', "segment": "1kB"}, {"local": f'"[::1]:{port}"', "segment_mru": "700"})
        self.exchange()
        self.assertGreater(self.link(1)["messages_tx"]["segment"], 7000000 // 700)

    def test_unix_socket(self):
        path = self.lab.path("link.sock")
        self.nodes({"remote_path": path}, {"local_path": path})
        self.exchange()

    def test_both_connect(self):
        ports = self.port(), self.port()
        self.nodes({"remote": f"127.0.0.1:{ports[1]}", "local": f"127.0.0.1:{ports[0]}"},
                   {"remote": f"127.0.0.1:{ports[0]}", "local": f"127.0.0.1:{ports[1]}"})
        self.exchange()
        self.assertLessEqual(len(self.link(1)["sessions"]), 2)

    def test_window(self):
        port = self.port()
        self.nodes({"remote": f"127.0.0.1:{port}", "window": 3, "window_bytes": "100kB"}, {"local": f"127.0.0.1:{port}"})
        self.exchange()

    def test_links_come_and_go(self):
        """While bundles flow, a link is added to running nodes, the first one is removed, and one goes down and up."""
        port, other = self.port(), self.port()
        self.nodes({"remote": f"127.0.0.1:{port}"}, {"local": f"127.0.0.1:{port}"})
        receiver, sender = self.client(2, "ipn:2.7", subscribe=True), self.client(1, "ipn:1.5")
        came, sent, enough, last = [], [], threading.Event(), threading.Event()

        def send():
            while not last.is_set():
                sent.append(len(sent))
                if enough.is_set():
                    last.set()
                self.assertEqual(sender.request("ipn:2.7", sent[-1].to_bytes(4, "big") + bytes(3000))[0], aap2.SUCCESS)
                time.sleep(0.002)

        def receive():
            while not last.is_set() or len(came) < len(sent):
                came.append(int.from_bytes(receiver.delivery()[1][:4], "big"))

        threads = [threading.Thread(target=f, daemon=True) for f in (send, receive)]
        for t in threads:
            t.start()
        wait_for(lambda: len(came) > 20)
        self.ctl(2, "link", "add", "second", "adapter=tcpcl", "peer=ipn:1.0", f"local=127.0.0.1:{other}")
        self.ctl(1, "link", "add", "second", "adapter=tcpcl", "peer=ipn:2.0", f"remote=127.0.0.1:{other}", "reconnect=50ms")
        self.up(1, "second")
        self.ctl(1, "link", "set", "second", "window=5", "segment=1kB")
        self.assertEqual(self.link(1, "second")["window"], 5)
        self.ctl(1, "link", "remove", "to-2")
        before = len(came)
        wait_for(lambda: len(came) > before + 20)
        self.ctl(1, "link", "second", "down")
        wait_for(lambda: not self.link(1, "second")["sessions"])
        self.ctl(1, "link", "second", "up")
        self.up(1, "second")
        before = len(came)
        wait_for(lambda: len(came) > before + 20)
        enough.set()
        for t in threads:
            t.join(300)
        self.assertEqual(sorted(came), sent)
        self.assertNotIn("to-2", self.links(1))

    def test_kill(self):
        """kill -9 of either node in turn, and what was accepted arrives, once."""
        port, rng, count = self.port(), random.Random(1), 400
        stores = {n: f"{{path: {self.lab.path(f'store{n}')}, durability: sync, limit: 1GiB}}" for n in (1, 2)}
        keys = ({"remote": f"127.0.0.1:{port}", "segment": "20kB"}, {"local": f"127.0.0.1:{port}"})
        configs = {n: self.lab.write_node(n, [self.tcpcl(3 - n, **keys[n - 1])], stores[n], log=False) for n in (1, 2)}
        nodes = {n: self.lab.start_node(n, configs[n]) for n in (1, 2)}
        server = self.lab.start("server", "helio-perf", "server", "--socket", self.lab.socket(2), "--reconnect", "--json",
                                self.lab.path("server.json"))
        clients, kills = [], 0
        while kills < 10:
            if not clients or clients[-1].poll() is not None:  # where a start of a node takes long, the transfer ends before all kills
                name = f"client{len(clients)}"
                clients.append(self.lab.start(name, "helio-perf", "client", "--socket", self.lab.socket(1), "-d", "ipn:2.2000", "--reconnect",
                                              "-D", str(count * 100000), "-P", "100kB", "-R", "20M", "--json", self.lab.path(f"{name}.json")))
            time.sleep(rng.uniform(0.2, 0.6))
            n = 1 + kills % 2
            nodes[n].send_signal(signal.SIGKILL)
            nodes[n].wait()
            nodes[n] = self.lab.start_node(n, configs[n])
            kills += 1
        self.assertEqual([client.wait(300) for client in clients], [0] * len(clients))
        self.lab.stop("server", server, signal.SIGINT)
        told, server = [self.lab.load(f"client{i}.json") for i in range(len(clients))], self.lab.load("server.json")
        self.assertEqual((sum(client["lost"] for client in told), server["lost"], server["wrong_crc"]), (0, 0, 0))
        self.assertEqual(server["bundles"], sum(client["bundles_sent"] for client in told))

    # ---- a node and a peer of its own ----

    def test_the_peer_connects(self):
        connect = self.single(True)
        receiver, sender = self.client(1, "ipn:1.5", subscribe=True), self.client(1, "ipn:1.5")
        peer = connect().establish(True)
        self.assertEqual(peer.header, b"dtn!\x04\x00")
        self.assertEqual((peer.terms[0], peer.terms[1], peer.terms[4], peer.terms[5]), (INIT, 30, "ipn:1.0", b""))
        self.up(1)
        whole = bundle(ipn(2, 9), ipn(1, 5), b"from far", 1)
        for at in range(0, len(whole), 10):  # octets come as they like
            flags = (START if at == 0 else 0) | (END if at + 10 >= len(whole) else 0)
            peer.segment(7, whole[at:at + 10], flags)
            self.assertEqual(peer.message(), (ACK, flags, 7, min(at + 10, len(whole))))
        self.assertEqual(receiver.delivery(), ("ipn:2.9", b"from far"))
        self.assertEqual(sender.request("ipn:2.9", b"to far")[0], aap2.SUCCESS)
        self.assertEqual(parse(peer.transfer())[0][-1][4], b"to far")
        wait_for(lambda: self.ctl(1, "status")["bundles"] == 0)
        peer.s.sendall(bytes([TERM, 0, 0]))
        self.assertEqual(peer.message(), (TERM, 1, 0))
        self.assertRaises(EOFError, peer.read, 1)
        wait_for(lambda: self.link(1)["state"] in ("down", "refused"))  # it tries again, and nobody listens

    def test_the_node_connects_again(self):
        accept = self.single(False)
        peer = accept().establish(False)
        self.assertEqual(peer.terms[4], "ipn:1.0")
        self.up(1)
        peer.s.close()
        sender = self.client(1, "ipn:1.5")
        peer = accept().establish(False)
        self.up(1)
        for i in range(3):
            self.assertEqual(sender.request("ipn:2.9", bytes([i]) * 100)[0], aap2.SUCCESS)
        first = peer.message()
        peer.s.close()  # nothing was acknowledged: all of them go again
        peer = accept().establish(False)
        came = [parse(peer.transfer())[0][-1][4] for _ in range(3)]
        self.assertEqual(sorted(came), [bytes([i]) * 100 for i in range(3)])
        self.assertEqual(first[0], SEGMENT)
        wait_for(lambda: self.ctl(1, "status")["bundles"] == 0)

    def test_pipelined(self):
        accept = self.single(False)
        peer = accept().establish(False)
        sender = self.client(1, "ipn:1.5")
        for i in range(50):
            self.assertEqual(sender.request("ipn:2.9", bytes([i]))[0], aap2.SUCCESS)
        came = [peer.message() for _ in range(50)]  # not one was acknowledged yet
        self.assertEqual([m[2] for m in came], list(range(50)))
        for m in reversed(came):
            peer.ack(m[1], m[2], len(m[4]))
        wait_for(lambda: self.ctl(1, "status")["bundles"] == 0)
        self.assertEqual(self.link(1)["failed"], 0)

    def test_refused(self):
        accept = self.single(False)
        peer = accept().establish(False, segment_mru=1000)
        sender = self.client(1, "ipn:1.5")
        self.assertEqual(sender.request("ipn:2.9", bytes(300000))[0], aap2.SUCCESS)
        peer.s.sendall(struct.pack(">BBQ", REFUSE, 2, 0))  # no resources
        while (m := peer.message())[2] == 0:  # what had left, then it goes again
            self.assertLessEqual(len(m[4]), 1000)
        self.assertEqual((m[0], m[1], m[2]), (SEGMENT, START, 1))
        data = m[4]
        while not m[1] & END:
            m = peer.message()
            data += m[4]
        peer.s.sendall(struct.pack(">BBQ", REFUSE, 1, 1))  # completed: it has it
        self.assertEqual(parse(data)[0][-1][4], bytes(300000))
        wait_for(lambda: self.ctl(1, "status")["bundles"] == 0)
        self.assertEqual(self.link(1)["refused_rx"]["no resources"], 1)
        self.assertEqual(self.link(1)["failed_because"], {"the peer refused it: no resources": 1})

    def test_longer_than_the_peer_takes(self):
        """The transfer MRU of the peer: it goes in fragments."""
        accept = self.single(False)
        peer = accept().establish(False, transfer_mru=2000)
        self.assertEqual(self.client(1, "ipn:1.5").request("ipn:2.9", bytes(range(250)) * 20)[0], aap2.SUCCESS)
        got = bytearray(5000)
        seen = 0
        while seen < 5000:
            whole = peer.transfer()
            self.assertLessEqual(len(whole), 2000)
            blocks, _ = parse(whole)
            got[blocks[0][8]:blocks[0][8] + len(blocks[-1][4])] = blocks[-1][4]
            seen += len(blocks[-1][4])
        self.assertEqual(bytes(got), bytes(range(250)) * 20)

    def test_who_is_there(self):
        connect = self.single(True)
        for name in ("ipn:9.0", "ipn:1.0", "ipn:!.0", "dtn://other/", "", "no eid"):
            with self.subTest(name):
                peer = connect()
                peer.contact(True)
                peer.init(name)
                self.assertEqual(peer.message(), (TERM, 0, 4))
                self.assertRaises(EOFError, peer.read, 1)
        self.assertEqual(self.link(1)["unknown_refused"], 6)
        peer = connect().establish(True)
        self.up(1)

    def test_another_answers(self):
        accept = self.single(False)
        peer = accept()
        peer.contact(False)
        peer.message()
        peer.init("ipn:3.0")
        self.assertEqual(peer.message(), (TERM, 0, 4))
        wait_for(lambda: self.link(1)["peer_mismatch"] == 1)
        self.assertEqual(self.link(1)["state"], "refused")

    def test_unknown_peers_by_policy(self):
        connect = self.single(True, peers=1)
        receiver = self.client(1, "ipn:1.5", subscribe=True)
        peer = connect().establish(True, name="ipn:9.0")
        wait_for(lambda: "to-2/ipn:9.0" in self.links(1))
        peer.segment(0, bundle(ipn(9, 9), ipn(1, 5), b"hello", 1))
        self.assertEqual(receiver.delivery(), ("ipn:9.9", b"hello"))
        self.assertEqual(self.client(1, "ipn:1.5").request("ipn:9.9", b"back")[0], aap2.SUCCESS)
        m = peer.message()
        if m[0] == ACK:
            m = peer.message()
        self.assertEqual(parse(m[4])[0][-1][4], b"back")
        second = connect()
        second.contact(True)
        second.init("ipn:8.0")  # one place
        self.assertEqual(second.message(), (TERM, 0, 4))
        peer.s.close()
        wait_for(lambda: "to-2/ipn:9.0" not in self.links(1))
        peer = connect().establish(True, name="ipn:8.0")
        wait_for(lambda: "to-2/ipn:8.0" in self.links(1))

    def test_what_is_no_session(self):
        connect = self.single(True, timeout="5s")
        for text in (b"GET / HTTP/1.1\r\n\r\n", b"dtn?\x04\x00", b""):
            peer = connect()
            peer.s.sendall(text)
            self.assertRaises((EOFError, ConnectionResetError), peer.read, 1)
        peer = connect()
        peer.s.sendall(b"dtn!\x03\x00")
        self.assertEqual(peer.read(9), b"dtn!\x04\x00" + bytes([TERM, 0, 2]))
        rng = random.Random(5)
        for _ in range(50):
            peer = connect()
            peer.s.sendall(b"dtn!\x04\x00" + rng.randbytes(rng.randrange(1, 200)))
            peer.s.close()
        peer = connect().establish(True)
        self.up(1)
        self.assertEqual(self.link(1)["unidentified_ends"]["what the peer sent is no contact header"], 2)

    def test_keepalive(self):
        connect = self.single(True)
        peer = connect().establish(True, keepalive=3)
        self.assertEqual(peer.message(), (KEEPALIVE,))
        while (m := peer.message()) == (KEEPALIVE,):
            pass
        self.assertEqual(m, (TERM, 0, 1))  # nothing was heard of this end for six seconds

    def test_configuration(self):
        for keys, text in (({}, "remote: is not given, nor is local"),
                           ({"remote": "127.0.0.1", "remote_path": "/x"}, "remote_path: remote is given, too"),
                           ({"remote": "127.0.0.1", "keepalive": "1500ms"}, "keepalive: is not in whole seconds"),
                           ({"remote": "127.0.0.1", "reconnect_max": "1ms"}, "reconnect_max"),
                           ({"remote": "127.0.0.1:0"}, "remote: has port 0")):
            with self.subTest(text):
                p = self.heliod("--check", self.lab.write_node(1, [self.tcpcl(2, **keys)], log=False))
                self.assertEqual(p.returncode, 2)
                self.assertIn(text, p.stdout + p.stderr)

    def test_old_names_of_keys(self):
        """Each is an error with its line and the new place, and nothing else of it is said."""
        for was, now in (("newcomers", "unidentified"), ("newcomers_address", "unidentified_address")):
            config = self.lab.write_node(1, [self.tcpcl(2, remote="127.0.0.1:1", **{was: 5})], log=False)
            done = self.heliod("--check", config)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, rf"^{config}:\d+: links\[to-2\]\.{was}: belongs under limits: \{{{now}: …\}}\n$")
            config = self.lab.write_node(1, [self.tcpcl(2, remote="127.0.0.1:1", **{now: 5})], log=False)
            self.assertEqual(self.heliod("--check", config).returncode, 0)


if __name__ == "__main__":
    node_case.main("TcpclTest")
