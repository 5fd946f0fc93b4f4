# SPDX-License-Identifier: Apache-2.0
"""UDPCL between nodes, and between a node and a peer that is written here. usage: udpcl_test.py BIN OUT [TEST...]"""

import socket
import struct
import time

import aap2
import node_case
from node_case import NodeCase, wait_for


NOW = int((time.time() - 946684800) * 1000)  # DTN time


# ---- a BPv7 peer of its own: CBOR by hand (RFC 8949), bundles by RFC 9171 ----

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def head(major, n):
    if n < 24:
        return bytes([major << 5 | n])
    for extra, code in ((1, 24), (2, 25), (4, 26), (8, 27)):
        if n < 1 << 8 * extra:
            return bytes([major << 5 | code]) + n.to_bytes(extra, "big")
    raise ValueError(n)


def cbor(v):
    if isinstance(v, int):
        return head(0, v)
    if isinstance(v, bytes):
        return head(2, len(v)) + v
    return head(4, len(v)) + b"".join(cbor(x) for x in v)


def block(items):
    """With a CRC-32C as last item."""
    whole = cbor([*items, bytes(4)])
    return whole[:-4] + struct.pack(">I", crc32c(whole))


def ipn(node, service):
    return [2, [node, service]]


def bundle(source, destination, payload, sequence, flags=0):
    primary = block([7, flags, 2, destination, source, source, [NOW + sequence, sequence], 3600000])
    return b"\x9f" + primary + block([1, 1, 0, 2, payload]) + b"\xff"


def parse(data, at=0):
    """(value, end); the indefinite array of a bundle too."""
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    if info == 31:
        items = []
        while data[at] != 0xFF:
            item, at = parse(data, at)
            items.append(item)
        return items, at + 1
    n = info
    if info >= 24:
        size = 1 << info - 24
        n, at = int.from_bytes(data[at:at + size], "big"), at + size
    if major == 0:
        return n, at
    if major in (2, 3):
        return data[at:at + n], at + n
    items = []
    for _ in range(n):
        item, at = parse(data, at)
        items.append(item)
    return items, at


class UdpclTest(NodeCase):
    def udp(self, peer, local, remote, host="127.0.0.1", **keys):
        return {"name": f"to-{peer}", "adapter": "udp", "peer": f"ipn:{peer}.0", "local": f"\"{host}:{local}\"",
                "remote": f"\"{host}:{remote}\"", **keys}

    def nodes(self, host="127.0.0.1", **keys):
        ports = self.lab.udp_ports(2)
        for n in (1, 2):
            link = self.udp(3 - n, ports[n - 1], ports[2 - n], host, **keys)
            self.lab.start_node(n, self.lab.write_node(n, [link], log=False))

    def single_with(self, **keys):
        """Node 1, and a socket that its link sends to."""
        peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(peer.close)
        peer.bind(("127.0.0.1", 0))
        peer.settimeout(300)
        port = self.lab.udp_ports(1)[0]
        link = self.udp(2, port, peer.getsockname()[1], **keys)
        self.lab.start_node(1, self.lab.write_node(1, [link], log=False))
        return peer, ("127.0.0.1", port)

    def test_echo_without_a_route_back(self):
        """The log says so; who sent the ping sees only that no answer comes."""
        peer, to = self.single_with()
        for i in range(3):
            peer.sendto(bundle(ipn(9, 5), ipn(1, 128), b"ping %d" % i, i), to)
        wait_for(lambda: self.ctl(1, "counters")["node"]["echo_unsent"] == 3)
        self.assertEqual(self.ctl(1, "counters")["node"]["echo_refused"], 0)

        def log():
            with open(self.lab.path("node1.log"), encoding="utf-8") as f:
                return f.read()

        wait_for(lambda: "answers not sent" in log())
        self.assertRegex(log(), r"warning: echo: [123] answers not sent: no route to the destination; the latest to ipn:9\.5\n")

    def exchange(self):
        """Short and long ones: what fits a datagram, and what goes in fragments."""
        receiver, sender = self.client(2, "ipn:2.7", subscribe=True), self.client(1, "ipn:1.5")
        sizes = [0, 1, 100, 1200, 1400, 1450, 5000, 60000, 300000]
        for i, size in enumerate(sizes):
            self.assertEqual(sender.request("ipn:2.7", bytes([i]) * size)[0], aap2.SUCCESS)
            self.assertEqual(receiver.delivery()[1], bytes([i]) * size)
        wait_for(lambda: self.ctl(1, "status")["bundles"] == 0)

    def test_two_nodes(self):
        self.nodes(rate="100Mbit/s")
        self.exchange()
        link = self.link(1)
        self.assertEqual((link["bundle_max"], link["failed"]), (1472, 0))
        self.assertGreaterEqual(link["late_ns"], link["late_wakeups"] * 1_000_000)  # a pause for the rate never ends early
        self.assertGreater(link["sent"], 300000 // 1472)
        self.assertEqual(self.link(2)["verdicts"]["malformed"], 0)

    def test_ipv6(self):
        self.nodes(host="[::1]", mtu="9000B", rate="100Mbit/s")
        self.exchange()
        self.assertEqual(self.link(1)["bundle_max"], 8952)

    def test_peer_of_its_own(self):
        peer, node = self.single_with()
        receiver, sender = self.client(1, "ipn:1.5", subscribe=True), self.client(1, "ipn:1.5")
        peer.sendto(bundle(ipn(2, 9), ipn(1, 5), b"from far", 1), node)
        self.assertEqual(receiver.delivery(), ("ipn:2.9", b"from far"))
        self.assertEqual(sender.request("ipn:2.9", b"to far")[0], aap2.SUCCESS)
        blocks, end = parse(datagram := peer.recv(65536))
        self.assertEqual(end, len(datagram))
        self.assertEqual((blocks[0][0], blocks[0][3], blocks[0][4]), (7, ipn(2, 9), ipn(1, 5)))
        self.assertEqual(blocks[-1][0], 1)
        self.assertEqual(blocks[-1][4], b"to far")
        self.assertEqual(sender.request("ipn:2.9", bytes(range(250)) * 20)[0], aap2.SUCCESS)
        got = bytearray(5000)
        seen = 0
        while seen < 5000:
            datagram = peer.recv(65536)
            self.assertLessEqual(len(datagram), 1472)
            blocks, _ = parse(datagram)
            primary, payload = blocks[0], blocks[-1][4]
            self.assertEqual(primary[1] & 1, 1)  # a fragment
            offset, total = primary[8], primary[9]
            self.assertEqual((offset, total), (seen, 5000))
            got[offset:offset + len(payload)] = payload
            seen += len(payload)
        self.assertEqual(bytes(got), bytes(range(250)) * 20)
        for at in (2500, 0):  # fragments of it, in any order, from any port of the host
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                primary = block([7, 1, 2, ipn(1, 5), ipn(2, 9), ipn(2, 9), [NOW, 2], 3600000, at, 5000])
                other.sendto(b"\x9f" + primary + block([1, 1, 0, 2, bytes([at % 251]) * 2500]) + b"\xff", node)
        self.assertEqual(receiver.delivery(), ("ipn:2.9", bytes(2500) + bytes([2500 % 251]) * 2500))

    def test_what_is_no_bundle(self):
        peer, node = self.single_with()
        client = self.client(1, "ipn:1.5", subscribe=True)
        good = bundle(ipn(2, 9), ipn(1, 5), b"good", 1)
        for datagram in (b"\0\0\0\0", b"x", good[:-1], good + b"\0", good + good, b"\x9f\xff", b"\xff" * 1000, b"{}"):
            peer.sendto(datagram, node)
        peer.sendto(good, node)
        self.assertEqual(client.delivery()[1], b"good")
        self.assertEqual(self.link(1)["verdicts"], {"bundle": 1, "keepalive": 1, "malformed": 7})

    def test_unknown_senders(self):
        for accept, text in (("no", "unknown_refused"), ("yes", "unknown_accepted")):
            with self.subTest(accept):
                self.stop_all()
                _, node = self.single_with(any_port="no", accept_unknown=accept)
                client = self.client(1, "ipn:1.5", subscribe=True)
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unknown:
                    unknown.sendto(bundle(ipn(77, 9), ipn(1, 5), b"hello", 1), node)
                    wait_for(lambda: self.link(1)[text] == 1)
                if accept == "yes":
                    self.assertEqual(client.delivery(), ("ipn:77.9", b"hello"))
                self.assertEqual(self.link(1)["bundles_received"], int(accept == "yes"))

    def test_keys_while_it_runs(self):
        peer, _ = self.single_with()
        client = self.client(1, "ipn:1.5")
        self.ctl(1, "link", "set", "to-2", "mtu=1000B", "rate=10Mbit/s")
        self.assertEqual((self.link(1)["bundle_max"], self.link(1)["rate_bps"]), (972, 10000000))
        self.assertEqual(client.request("ipn:2.9", bytes(3000))[0], aap2.SUCCESS)
        for _ in range(4):
            self.assertLessEqual(len(peer.recv(65536)), 972)
        self.ctl(1, "link", "to-2", "down")
        self.assertEqual(client.request("ipn:2.9", b"later")[0], aap2.SUCCESS)
        self.ctl(1, "link", "to-2", "up")
        self.assertEqual(parse(peer.recv(65536))[0][-1][4], b"later")


if __name__ == "__main__":
    node_case.main("UdpclTest")
