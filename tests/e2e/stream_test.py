# SPDX-License-Identifier: Apache-2.0
"""STCP and MTCP between real nodes, and between a node and a peer that is written here. usage: stream_test.py BIN OUT [TEST...]"""

import signal
import socket
import struct
import time

import aap2
import node_case
from node_case import NodeCase, wait_for
from udpcl_test import bundle, head, ipn, parse

BOTH = ("stcp", "mtcp")


def frame(adapter, data):
    return (struct.pack(">I", len(data)) if adapter == "stcp" else head(2, len(data))) + data


class Peer:
    """The receiver of a connection, bundle by bundle."""

    def __init__(self, adapter, s):
        self.adapter, self.s = adapter, s
        s.settimeout(300)

    def read(self, n):
        data = b""
        while len(data) < n:
            piece = self.s.recv(n - len(data))
            if not piece:
                raise EOFError(f"{len(data)} of {n} bytes")
            data += piece
        return data

    def length(self):
        if self.adapter == "stcp":
            return struct.unpack(">I", self.read(4))[0]
        first = self.read(1)[0]
        assert first >> 5 == 2, first
        info = first & 31
        return info if info < 24 else int.from_bytes(self.read(1 << info - 24), "big")

    def frame(self):
        return self.read(self.length())


class StreamTest(NodeCase):
    def entry(self, adapter, peer, **keys):
        return {"name": f"to-{peer}", "adapter": adapter, "peer": f"ipn:{peer}.0", **keys}

    def configs(self, adapter, stores=None, **keys):
        at = [f"\"127.0.0.1:{port}\"" for port in self.lab.udp_ports(2)]
        timers = {"reconnect": "100ms", "reconnect_max": "200ms"}
        return {n: self.lab.write_node(n, [self.entry(adapter, 3 - n, local=at[n - 1], remote=at[2 - n], **timers, **keys)],
                                       *([stores[n]] if stores else []), log=False) for n in (1, 2)}

    def up(self, *numbers):
        wait_for(lambda: all(self.link(n)["up"] for n in numbers))

    def test_two_nodes(self):
        for adapter in BOTH:
            with self.subTest(adapter):
                configs = self.configs(adapter)
                for n in (1, 2):
                    self.lab.start_node(n, configs[n])
                self.up(1, 2)
                for a, b in ((1, 2), (2, 1)):
                    receiver, sender = self.client(b, f"ipn:{b}.7", subscribe=True), self.client(a, f"ipn:{a}.5")
                    for i, size in enumerate([0, 1, 100, 30000, 70000, 3000000]):
                        self.assertEqual(sender.request(f"ipn:{b}.7", bytes([i]) * size)[0], aap2.SUCCESS)
                        self.assertEqual(receiver.delivery()[1], bytes([i]) * size)
                    wait_for(lambda a=a: self.ctl(a, "status")["bundles"] == 0)
                    sent, came = self.link(a), self.link(b)
                    self.assertEqual((sent["bundles_sent"], sent["bundles_failed"], sent["in_flight"]), (6, 0, 0))
                    self.assertEqual((came["bundles_received"], came["bundles_refused"], came["unconfirmed_bytes"]), (6, 0, 0))
                self.stop_all()

    def test_kill_and_restart(self):
        """Node 2 stops to read and is killed while bundles come. What was in transmission and what it had not read is lost, of
        what node 1 handed over; what was not written whole comes back. All others arrive. Small socket buffers, so that not
        all is handed over; they end within a bundle, since nothing makes them as long as some bundles."""
        for adapter in BOTH:
            with self.subTest(adapter):
                stores = {n: f"{{path: {self.lab.path(f'{adapter}{n}')}, durability: sync, limit: 1GiB}}" for n in (1, 2)}
                configs = self.configs(adapter, stores, rate="80Mbit/s", socket_buffer="256KiB")
                nodes = {n: self.lab.start_node(n, configs[n]) for n in (1, 2)}
                self.up(1, 2)
                sender, receiver = self.client(1, "ipn:1.5"), self.client(2, "ipn:2.7", subscribe=True)
                sent, came, count = 0, [], 300

                def send(until):
                    nonlocal sent
                    while sent < until:
                        self.assertEqual(sender.request("ipn:2.7", sent.to_bytes(4, "big") + bytes(99996))[0], aap2.SUCCESS)
                        sent += 1
                send(20)
                for _ in range(20):
                    came.append(receiver.delivery()[1])
                nodes[2].send_signal(signal.SIGSTOP)
                send(count // 2)
                before = -1
                while self.link(1)["bundles_sent"] != before:  # until the sockets are full
                    before = self.link(1)["bundles_sent"]
                    time.sleep(1)
                nodes[2].send_signal(signal.SIGKILL)
                nodes[2].wait()
                wait_for(lambda: not self.link(1)["up"])
                broken = self.link(1)
                send(count)
                nodes[2] = self.lab.start_node(2, configs[2])
                receiver = self.client(2, "ipn:2.7", subscribe=True)
                self.up(1, 2)
                wait_for(lambda: self.ctl(1, "status")["bundles"] == 0)
                total = self.link(1)["bundles_sent"]
                self.assertEqual(total, count)  # each was handed over once: none of those that came back was lost
                last = count - 1
                while came[-1][:4] != last.to_bytes(4, "big"):  # in order: the last one ends it
                    came.append(receiver.delivery()[1])
                numbers = {int.from_bytes(data[:4], "big") for data in came}
                lost = count - len(numbers)
                self.assertTrue(all(len(data) == 100000 for data in came))
                self.assertGreaterEqual(lost, 1)
                self.assertLessEqual(lost, broken["bundles_sent"] - 20)
                self.assertGreater(broken["bytes_unacknowledged"], 0)
                self.assertLessEqual(broken["bytes_unacknowledged"], (lost + 1) * 101000)  # and the one that was begun
                self.assertEqual(broken["bundles_cut"], 1)
                self.assertLessEqual(set(range(broken["bundles_sent"], count)), numbers)  # what was not handed over yet arrived
                print(adapter, "handed over:", broken["bundles_sent"], "lost:", lost, "unacknowledged:", broken["bytes_unacknowledged"])
                self.stop_all()

    def test_stop_of_the_sender(self):
        """Node 1 stops while its peer does not read. What the kernel has accepted still arrives; the rest is in the store, and arrives after the
        restart. Nothing is lost, and nothing is sent twice but for the bundle that was begun."""
        for adapter in BOTH:
            with self.subTest(adapter), socket.create_server(("127.0.0.1", 0)) as server:
                server.settimeout(300)
                keys = {"remote": f"127.0.0.1:{server.getsockname()[1]}", "socket_buffer": "256KiB", "reconnect": "100ms"}
                config = self.lab.write_node(1, [self.entry(adapter, 2, **keys)], f"{{path: {self.lab.path(adapter)}, durability: sync}}", log=False)
                node, sender, numbers = self.lab.start_node(1, config), None, []
                for connection in range(2):
                    s, _ = server.accept()
                    with s:
                        peer = Peer(adapter, s)
                        if connection == 0:
                            sender = self.client(1, "ipn:1.5")
                            for i in range(150):
                                self.assertEqual(sender.request("ipn:2.7", i.to_bytes(4, "big") + bytes(49996))[0], aap2.SUCCESS)
                            before = -1
                            while self.link(1)["bundles_sent"] != before:  # until the sockets are full
                                before = self.link(1)["bundles_sent"]
                                time.sleep(1)
                            node.send_signal(signal.SIGTERM)
                            self.assertEqual(node.wait(300), 0)
                            node = self.lab.start_node(1, config)
                        got = []
                        try:
                            while len(numbers) + len(got) < 150:
                                blocks, _ = parse(peer.frame())
                                got.append(int.from_bytes(blocks[-1][4][:4], "big"))
                        except EOFError:
                            self.assertEqual((connection, len(got)), (0, before))  # as many as were handed over
                        numbers += got
                self.assertLess(before, 150)
                self.assertEqual(numbers, list(range(150)))
                print(adapter, "accepted by the kernel at the stop:", before)
                self.stop_all()

    def single(self, adapter, **keys):
        """Node 1 sends to this process and listens; the connection that it opened, and its address."""
        server = socket.create_server(("127.0.0.1", 0))
        server.settimeout(300)
        self.addCleanup(server.close)
        port = self.lab.udp_ports(1)[0]
        keys = {"local": f"127.0.0.1:{port}", "remote": f"127.0.0.1:{server.getsockname()[1]}", **keys}
        self.lab.start_node(1, self.lab.write_node(1, [self.entry(adapter, 2, **keys)], log=False))
        peer, _ = server.accept()
        self.addCleanup(peer.close)
        return Peer(adapter, peer), ("127.0.0.1", port)

    def test_peer_of_its_own(self):
        for adapter in BOTH:
            with self.subTest(adapter):
                peer, at = self.single(adapter, keepalive="500ms")
                receiver, sender = self.client(1, "ipn:1.5", subscribe=True), self.client(1, "ipn:1.5")
                self.assertEqual(peer.length(), 0)  # a keepalive
                self.assertEqual(sender.request("ipn:2.9", b"to far" * 100)[0], aap2.SUCCESS)
                data = b""
                while not data:
                    data = peer.frame()
                blocks, end = parse(data)
                self.assertEqual((end, blocks[-1][4]), (len(data), b"to far" * 100))
                with socket.create_connection(at) as s:
                    stream = b"".join(frame(adapter, b"") + frame(adapter, bundle(ipn(2, 9), ipn(1, 5), bytes([i]) * i * 40, i + 1))
                                      for i in range(20))
                    for i in range(0, len(stream), 77):  # octets come as they like
                        s.sendall(stream[i:i + 77])
                    for i in range(20):  # in their order, although their source proves itself with the first one
                        self.assertEqual(receiver.delivery(), ("ipn:2.9", bytes([i]) * i * 40))
                    self.assertEqual((self.link(1)["keepalives_rx"], self.link(1)["connections"]), (20, 1))
                wait_for(lambda: self.link(1)["ends"].get("the peer closed it") == 1)
                self.stop_all()

    def test_wrong_octets(self):
        wrong = {"stcp": (b"\xff\xff\xff\xff", b"GET / HTTP/1.1\r\n\r\n"), "mtcp": (b"\x5f", b"\x5b" + b"\xff" * 8, b"\x00", b"\x9f\x88")}
        for adapter in BOTH:
            with self.subTest(adapter):
                _, at = self.single(adapter, transfer_idle="500ms", idle="1s")
                client = self.client(1, "ipn:1.5", subscribe=True)
                for octets in wrong[adapter]:
                    with socket.create_connection(at) as s:
                        s.settimeout(300)
                        s.sendall(octets)
                        self.assertEqual(s.recv(1), b"")
                for octets in (b"", frame(adapter, bytes(1000))[:500]):  # silence, and a bundle that does not end
                    with socket.create_connection(at) as s:
                        s.settimeout(300)
                        s.sendall(octets)
                        self.assertEqual(s.recv(1), b"")
                with socket.create_connection(at) as s:  # no bundle: refused, and the next one arrives
                    s.sendall(frame(adapter, b"no bundle") + frame(adapter, bundle(ipn(2, 9), ipn(1, 5), b"good", 1)))
                    self.assertEqual(client.delivery()[1], b"good")
                link = self.link(1)
                self.assertEqual((link["ends"]["the peer was silent"], link["ends"]["a bundle did not grow"]), (1, 1))
                bad = link["ends"].get("a bundle longer than the limit was announced", 0) + link["ends"].get(
                    "the peer sent no byte string of definite length", 0)
                self.assertEqual((bad, link["bundles_refused"], link["bundles_received"]), (len(wrong[adapter]), 1, 2))
                self.stop_all()

    def test_no_room_behind(self):
        """A full queue, and a rule's rate: what is beyond them waits, since its sender gets no notice, and all of it arrives."""
        for adapter in BOTH:
            with self.subTest(adapter):
                port, *far = self.lab.udp_ports(3)
                links = [self.entry(adapter, 2, local=f"127.0.0.1:{port}", remote="127.0.0.1:9", connect="no"),
                         {"name": "to-3", "adapter": "ltp-udp", "peer": "ipn:3.0", "local": f"127.0.0.1:{far[0]}", "remote": f"127.0.0.1:{far[1]}",
                          "rate": "10Mbit/s", "rto": "1s", "state": "down", "queue_bundles": 5}]
                config = self.lab.write_node(1, links, log=False)
                with open(config, "a", encoding="utf-8") as f:
                    f.write("\nrules:\n  - {peer: ipn:2.0, way: in, from: 'ipn:*.*', to: 'ipn:1.*', rate: 20, burst: 5}\n"
                            "  - {peer: ipn:2.0, way: in, from: 'ipn:*.*', to: 'ipn:3.*'}\n")
                self.lab.start_node(1, config)
                client = self.client(1, "ipn:1.5", subscribe=True)
                with socket.create_connection(("127.0.0.1", port)) as s:
                    s.sendall(b"".join(frame(adapter, bundle(ipn(2, 9), ipn(3, 5), b"far", i + 1)) for i in range(30)))
                    s.sendall(b"".join(frame(adapter, bundle(ipn(2, 9), ipn(1, 5), bytes([i]), i + 100)) for i in range(30)))
                    came = [client.delivery()[1] for _ in range(30)]  # past those for node 3
                    self.assertEqual(sorted(came), [bytes([i]) for i in range(30)])
                    held = self.ctl(1, "links")["links"][0]
                    self.assertEqual((held["held"], held["bundles_refused"]), (25, 0))
                    self.ctl(1, "link", "set", "to-3", "queue_bundles=100")
                    wait_for(lambda: self.ctl(1, "links")["links"][0]["held"] == 0)
                    self.assertEqual(self.ctl(1, "status")["bundles"], 30)
                self.stop_all()

    def test_sources(self):
        for source, counter in (("address", "unknown_refused"), ("any", "unknown_accepted")):
            with self.subTest(source):
                port = self.lab.udp_ports(1)[0]
                link = self.entry("stcp", 2, local=f"127.0.0.1:{port}", remote="127.0.0.9:4556", connect="no", source=source)
                self.lab.start_node(1, self.lab.write_node(1, [link], log=False))
                client = self.client(1, "ipn:1.5", subscribe=True)
                with socket.create_connection(("127.0.0.1", port)) as s:
                    s.sendall(frame("stcp", bundle(ipn(77, 9), ipn(1, 5), b"hello", 1)))
                    wait_for(lambda: self.link(1)[counter] == 1)
                    if source == "any":
                        self.assertEqual(client.delivery(), ("ipn:77.9", b"hello"))
                with socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.9", 0)) as s:
                    s.sendall(frame("stcp", bundle(ipn(2, 9), ipn(1, 5), b"hello", 2)))
                    self.assertEqual(client.delivery(), ("ipn:2.9", b"hello"))
                self.assertEqual(self.link(1)["down_because"], "it only receives (no remote, or connect: no)")
                self.stop_all()

    def test_listening_beyond_loopback_warns(self):
        port = self.lab.udp_ports(1)[0]
        link = self.entry("mtcp", 2, local=f"0.0.0.0:{port}", source="any")
        p = self.heliod("--check", self.lab.write_node(1, [link], log=False))
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn("reachable from other machines", p.stdout + p.stderr)
        self.assertIn("any host can bring bundles", p.stdout + p.stderr)


if __name__ == "__main__":
    node_case.main("StreamTest")
