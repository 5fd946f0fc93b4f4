# SPDX-License-Identifier: Apache-2.0
"""TCPCLv4 with TLS between real nodes (RFC 9174 §4.4): who is let in and who is not, what is logged, certificates that are
replaced. usage: tcpcl_tls_test.py BIN OUT [TEST...]"""

import json
import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import urllib.request

import aap2
import node_case
from certificates import BUNDLES, NODE, Authority
import tcpcl_test
from node_case import NodeCase, wait_for
from tcpcl_test import INIT, TERM
from udpcl_test import bundle, ipn

import _paths  # noqa: F401
from stream_recorder import StreamRecorder  # noqa: E402

FAILURE = (TERM, 0, 4)  # SESS_TERM, "contact failure"


class TcpclTlsTest(NodeCase):
    ctl, links, link, tcpcl, port, up, nodes, exchange, peer = (
        getattr(tcpcl_test.TcpclTest, name)
        for name in ("ctl", "links", "link", "tcpcl", "port", "up", "nodes", "exchange", "peer"))

    def setUp(self):
        super().setUp()
        self.ca = Authority(self.lab.path("ca"))
        self.names = {n: f"{NODE}ipn:{n}.0" for n in (1, 2)}

    def keys(self, n, tls="required", ca=None, names=None, by=None, purpose=BUNDLES, **keys):
        """Of node n's link: a certificate by `by` (its own name: the usual)."""
        certificate, key = (by or self.ca).issue(f"node{n}", names if names is not None else self.names[n], purpose)
        return {"tls": tls, "tls.certificate": certificate, "tls.key": key, "tls.ca": (ca or self.ca).file, **keys}

    def start(self, one, two, up=True):
        """Node 1 connects to node 2, through a recorder."""
        port = self.port()
        self.recorder = StreamRecorder(self.lab.path("link.pcap"), port)
        self.addCleanup(self.recorder.stop)
        links = {1: self.tcpcl(2, remote=f"127.0.0.1:{self.recorder.port}", **one),
                 2: self.tcpcl(1, local=f"127.0.0.1:{port}", **two)}
        self.http = {n: self.port() for n in (1, 2)}
        for n in (2, 1):
            self.lab.start_node(n, self.lab.write_node(n, [links[n]], extra=f"http: {{listen: {self.http[n]}}}\n", log=False))
        if up:
            self.up(1)

    def dial(self, port):
        """The node's applications are served a moment before its links listen."""
        def connected():
            try:
                return socket.create_connection(("127.0.0.1", port))
            except ConnectionRefusedError:
                return None
        found = []
        wait_for(lambda: found.append(connected()) or found[-1])
        return found[-1]

    def said(self, n, text, seconds=300):
        def found():
            with open(self.lab.path(f"node{n}.log")) as f:
                return re.search(text, f.read())
        wait_for(found, seconds)

    def session(self, n):
        return self.link(n)["sessions"][0]

    def refusals(self, n):
        """The reasons of heliograph_link_tls_refused_total that are not 0."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http[n]}/metrics", timeout=300) as page:
            found = re.findall(r'^heliograph_link_tls_refused_total\{.*reason="([^"]*)"\} (\S+)$', page.read().decode(), re.M)
        self.assertIn("no TLS", dict(found))
        return {reason for reason, count in found if count != "0"}

    def rows(self, n):
        """The table of `helioctl links` about TLS: its rows as dictionaries, cut where its titles begin."""
        p = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(n) + ".ctl", "--timeout", "60s", "links"], capture_output=True,
                           text=True, timeout=300, check=True)
        lines = p.stdout.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("TLS OF"))
        starts = [m.start() for m in re.finditer(r"(?<=  )\S|^\S", lines[at])] + [None]
        cut = lambda line: [line[a:b].strip() for a, b in zip(starts, starts[1:], strict=False)]
        return [dict(zip(cut(lines[at]), cut(line), strict=True)) for line in lines[at + 1:] if line]

    def one_bundle(self, payload=b"hello"):
        receiver, sender = self.client(2, "ipn:2.7", subscribe=True), self.client(1, "ipn:1.5")
        self.assertEqual(sender.request("ipn:2.7", payload)[0], aap2.SUCCESS)
        self.assertEqual(receiver.delivery()[1], payload)
        receiver.close()
        sender.close()

    def refused(self, one, two, why, at=1, told=None, other=None):
        """No session; node `at` says why, and so does the other one."""
        self.start(one, two, up=False)
        self.said(at, why)
        if told:
            self.assertGreater(self.link(at)["tls_refused"][told], 0)
        self.said(3 - at, other or "contact failure|the peer ended the session|the TLS handshake")
        self.assertIn(self.link(at)["state"], ("down", "refused"))  # the other one may have thought for a moment that it is up

    # ---- it works ----

    def test_rate(self):
        self.start({**self.keys(1), "rate": "8Mbit/s"}, self.keys(2))
        tcpcl_test.at_rate(self)

    def test_exchange(self):
        self.start(self.keys(1), self.keys(2))
        self.exchange()
        for n, role in ((1, "active"), (2, "passive")):
            self.assertEqual(self.rows(n), [{"TLS OF": f"to-{3 - n}", "WANTED": "required", "ROLE": role, "PEER SAYS": f"ipn:{3 - n}.0",
                                             "IN FORCE": "TLSv1.3", "CERTIFICATE NAMES": f"ipn:{3 - n}.0", "BY": "node",
                                             "SUBJECT": f"/CN=node{3 - n}"}])
            tls = self.session(n)["tls"]
            self.assertEqual((tls["version"], tls["cipher"]), ("TLSv1.3", "TLS_AES_128_GCM_SHA256"))
            self.assertEqual((tls["verified"], tls["authenticated_by"]), (True, "node"))
            self.assertEqual((tls["names"], tls["subject"]), ([f"ipn:{3 - n}.0"], f"/CN=node{3 - n}"))
            link = self.link(n)
            self.assertEqual((link["tls"], link["tls_sessions"], link["tls_failed"], link["tls_refused"]),
                             ("required", 1, 0, {}))
            self.assertEqual((link["failed"], link["tls_plain"]), (0, 0))
        for way in (0, 1):  # a contact header with CAN_TLS, then a handshake record of TLS
            self.assertEqual(self.recorder.came(way)[0][:7], b"dtn!\x04\x01\x16")

    def test_unix_socket(self):
        path = self.lab.path("link.sock")
        self.nodes({"remote_path": path, **self.keys(1)}, {"local_path": path, **self.keys(2)})
        self.one_bundle()
        self.assertEqual(self.session(1)["tls"]["authenticated_by"], "node")

    def test_by_host_and_address(self):
        names = {1: "IP:127.0.0.1", 2: "DNS:two.example,IP:127.0.0.1"}
        self.start(self.keys(1, names=names[1], tls_peer="host", tls_host="two.example"),
                   self.keys(2, names=names[2], tls_peer="address"))
        self.one_bundle()
        self.assertEqual([self.session(n)["tls"]["authenticated_by"] for n in (1, 2)], ["host", "address"])

    def test_any_name_or_none(self):
        other = Authority(self.lab.path("other"))
        self.start(self.keys(1, tls_peer="none", purpose="serverAuth", by=other, ca=other, names=""),
                   self.keys(2, tls_peer="ca", ca=other, tls_purpose="any", names=""))
        self.one_bundle()
        one, two = (self.session(n)["tls"] for n in (1, 2))
        self.assertEqual((one["authenticated_by"], two["authenticated_by"]), ("none", "ca"))
        self.assertFalse(one["verified"])
        self.assertEqual([self.rows(n)[0]["CERTIFICATE NAMES"] for n in (1, 2)], ["not verified", "none"])
        self.assertIn("issuer", one["unverified"])
        self.assertTrue(two["verified"])

    def test_each_trusts_the_other(self):
        """No CA: the file of those who are trusted has the peer's own certificate."""
        pairs = {n: self.ca.make(f"alone{n}", ["-addext", f"subjectAltName={self.names[n]}"]) for n in (1, 2)}
        one, two = ({"tls": "required", "tls.certificate": pairs[n][0], "tls.key": pairs[n][1], "tls.ca": pairs[3 - n][0]}
                    for n in (1, 2))
        self.start(one, two)
        self.one_bundle()

    def test_unknown_peers_by_policy(self):
        """A peer is accepted if its certificate names it, else refused."""
        port = self.port()
        keys = self.keys(2)
        self.lab.start_node(2, self.lab.write_node(2, [self.tcpcl(9, local=f"127.0.0.1:{port}", peers=2, **keys)], log=False))
        self.lab.start_node(1, self.lab.write_node(1, [self.tcpcl(2, remote=f"127.0.0.1:{port}", **self.keys(1))], log=False))
        wait_for(lambda: "to-9/ipn:1.0" in self.links(2))
        self.up(1)
        self.one_bundle()
        none, guest = self.rows(2)
        self.assertEqual((none["TLS OF"], none["WANTED"], none["IN FORCE"]), ("to-9", "required", "-"))
        self.assertEqual((guest["TLS OF"], guest["IN FORCE"], guest["CERTIFICATE NAMES"], guest["BY"]),
                         ("to-9/ipn:1.0", "TLSv1.3", "ipn:1.0", "node"))
        self.lab.start_node(3, self.lab.write_node(3, [self.tcpcl(2, remote=f"127.0.0.1:{port}",
                                                                  **self.keys(1))], log=False))
        wait_for(lambda: self.links(2)["to-9"]["tls_refused"].get("its certificate names another node", 0) > 0)
        self.assertNotIn("to-9/ipn:3.0", self.links(2))

    # ---- it is refused ----

    def test_another_ca(self):
        other = Authority(self.lab.path("other"))
        self.refused(self.keys(1), self.keys(2, by=other), r"handshake with the peer at 127\.0\.0\.1:\d+ failed: the peer's certificate: unable to get",
                     other=r"handshake with a connecting peer at 127\.0\.0\.1:\d+ failed: the peer refuses: bad certificate")
        self.assertGreater(self.link(1)["tls_failed"], 0)
        self.assertGreater(self.link(2)["tls_failed"], 0)

    def test_another_ca_of_the_client(self):
        other = Authority(self.lab.path("other"))
        self.refused(self.keys(1, by=other), self.keys(2), r"a connecting peer at 127\.0\.0\.1:\d+ failed: the peer's certificate", at=2,
                     other="the peer refuses: bad certificate")

    def test_another_node(self):
        self.refused(self.keys(1), self.keys(2, names=f"{NODE}ipn:3.0"), "\"ipn:2.0\" is refused: its certificate names another",
                     told="its certificate names another node")
        self.assertGreater(self.link(1)["term_tx"]["contact failure"], 0)

    def test_another_node_connects(self):
        self.refused(self.keys(1, names=f"{NODE}ipn:3.0"), self.keys(2), "\"ipn:1.0\" is refused: its certificate names another",
                     at=2, told="its certificate names another node")

    def test_no_node(self):
        self.refused(self.keys(1), self.keys(2, names="DNS:two.example"), "its certificate names no node",
                     told="its certificate names no node")

    def test_another_host(self):
        self.refused(self.keys(1, tls_peer="host", tls_host="one.example"), self.keys(2, names="DNS:two.example"),
                     "does not name the host", told="its certificate does not name the host")

    def test_another_address(self):
        self.refused(self.keys(1, tls_peer="address"), self.keys(2, names="IP:127.0.0.2"), "does not name the address",
                     told="its certificate does not name the address")

    def test_purpose(self):
        self.refused(self.keys(1), self.keys(2, purpose="serverAuth"), "extended key usage does not allow bundle security")

    # ---- with TLS or without ----

    def test_optional_falls_back(self):
        for one, two in (("optional", "off"), ("off", "optional")):
            with self.subTest(one=one):
                self.start(self.keys(1, tls=one), self.keys(2, tls=two))
                self.one_bundle()
                self.assertIsNone(self.session(1)["tls"])
                self.assertEqual([(r["WANTED"], r["IN FORCE"]) for n in (1, 2) for r in self.rows(n)], [(one, "no"), (two, "no")])
                self.assertEqual(self.link(1 if one == "optional" else 2)["tls_plain"], 1)
                self.assertEqual({w: self.recorder.came(w)[0][5] for w in (0, 1)}, {0: one == "optional", 1: two == "optional"})
                self.stop_all()

    def test_both_optional(self):
        self.start(self.keys(1, tls="optional"), self.keys(2, tls="optional"))
        self.one_bundle()
        self.assertEqual(self.session(2)["tls"]["version"], "TLSv1.3")

    def test_required_refuses_plain(self):
        for one, two, at in (("required", "off", 1), ("off", "required", 2)):
            with self.subTest(one=one):
                self.start(self.keys(1, tls=one), self.keys(2, tls=two), up=False)
                wait_for(lambda: {**self.link(at)["ends"], **self.link(at)["unidentified_ends"]}.get(
                    "TLS is required, and the peer does not offer it", 0) > 0)
                wait_for(lambda: self.link(1)["term_rx" if one == "off" else "term_tx"]["contact failure"] > 0)
                self.said(at, "warning: .*TLS is required, and the peer does not offer it")
                link = self.link(at)
                ends = link["ends"] if one == "required" else link["unidentified_ends"]
                self.assertEqual(link["tls_refused"], {"it connected without TLS, which the link requires": ends["TLS is required, and the peer does not offer it"]})
                self.assertEqual(self.refusals(at), {"no TLS"})
                if one == "off":  # the connecting peer gets the reason before it knows who refuses
                    self.said(1, "warning: .*the peer ended the session, reason: contact failure")
                self.assertLessEqual({self.link(n)["state"] for n in (1, 2)}, {"down", "refused"})
                self.stop_all()

    def test_required_by_a_later_link(self):
        """The first link of the local address lets plain peers in; the one that names this peer does not."""
        port = self.port()
        links = [self.tcpcl(3, local=f"127.0.0.1:{port}", **self.keys(2, tls="optional")),
                 self.tcpcl(1, local=f"127.0.0.1:{port}", **self.keys(2))]
        self.lab.start_node(2, self.lab.write_node(2, links, log=False))
        peer = self.peer(self.dial(port))
        self.assertEqual(peer.contact(True), b"dtn!\x04\x01")
        peer.init("ipn:1.0")
        self.assertEqual(peer.message(), FAILURE)
        self.assertEqual(self.link(2, "to-1")["tls_refused"], {"it connected without TLS, which the link requires": 1})
        peer = self.peer(self.dial(port))
        peer.contact(True)
        peer.init("ipn:3.0")
        self.assertEqual(peer.message()[0], INIT)

    # ---- a peer that is not ours ----

    def connect_tls(self, port, version, **certificate):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = context.maximum_version = version
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if certificate:
            context.load_cert_chain(*self.ca.issue("python", **certificate))
        s = self.dial(port)
        s.sendall(b"dtn!\x04\x01")
        header = s.recv(6, socket.MSG_WAITALL)
        self.assertEqual(header, b"dtn!\x04\x01")
        return self.peer(context.wrap_socket(s))

    def listening(self, **keys):
        port = self.port()
        self.lab.start_node(1, self.lab.write_node(1, [self.tcpcl(2, local=f"127.0.0.1:{port}", **self.keys(1, **keys))],
                                                   log=False))
        return port

    def test_python_connects(self):
        port = self.listening()
        receiver = self.client(1, "ipn:1.5", subscribe=True)
        for version, name in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")):
            with self.subTest(name):
                peer = self.connect_tls(port, version, names=f"{NODE}ipn:2.0")
                peer.init("ipn:2.0")
                self.assertEqual(peer.message()[4], "ipn:1.0")
                self.up(1)
                self.assertEqual(self.session(1)["tls"]["version"], name)
                peer.segment(0, bundle(ipn(2, 9), ipn(1, 5), name.encode() * 9999, 1 + version))
                self.assertEqual(receiver.delivery(), ("ipn:2.9", name.encode() * 9999))
                self.assertEqual(peer.message()[0], 2)
                peer.s.close()
                wait_for(lambda: self.link(1)["state"] in ("down", "refused"))

    def test_python_without_certificate(self):
        port = self.listening()
        with self.assertRaises((ssl.SSLError, EOFError, ConnectionError)):
            peer = self.connect_tls(port, ssl.TLSVersion.TLSv1_3)
            peer.init("ipn:2.0")
            peer.message()
        wait_for(lambda: self.link(1)["tls_failed"] == 1)
        self.said(1, r"a connecting peer at 127\.0\.0\.1:\d+ failed: peer did not return a certificate")
        self.assertEqual(sum(self.link(1)["tls_failed_by"].values()), 1)

    def test_python_says_another_name(self):
        port = self.listening()
        peer = self.connect_tls(port, ssl.TLSVersion.TLSv1_3, names=f"{NODE}ipn:3.0")
        peer.init("ipn:2.0")
        self.assertEqual(peer.message(), FAILURE)
        self.assertEqual(self.link(1)["tls_refused"], {"its certificate names another node": 1})

    def test_handshake_that_stops(self):
        port = self.listening(timeout="5s")
        s = self.peer(self.dial(port)).s
        s.sendall(b"dtn!\x04\x01")
        self.assertEqual(s.recv(6, socket.MSG_WAITALL), b"dtn!\x04\x01")
        self.assertEqual(s.recv(1), b"")
        wait_for(lambda: self.link(1)["unidentified_ends"].get("the peer did not say who it is in time") == 1)
        s = self.peer(self.dial(port)).s
        s.sendall(b"dtn!\x04\x01" + b"GET / HTTP/1.0\r\n\r\n")  # plain text behind the header is TLS, or nothing
        self.assertEqual(s.recv(6, socket.MSG_WAITALL), b"dtn!\x04\x01")
        while s.recv(100):
            pass
        wait_for(lambda: self.link(1)["tls_failed"] == 1)
        self.assertEqual(self.link(1)["tls_failed_by"], {"handshake failed": 1})

    def test_handshakes_of_one_host(self):
        """Eight at once: one more is closed, which is counted and logged, with the address."""
        port = self.listening()
        waiting = [self.peer(self.dial(port)).s for _ in range(9)]
        for s in waiting:
            s.sendall(b"dtn!\x04\x01")
            self.assertEqual(s.recv(6, socket.MSG_WAITALL), b"dtn!\x04\x01")
        self.assertEqual(waiting[-1].recv(1), b"")
        self.assertEqual(self.link(1)["tls_turned_away"], 1)
        self.said(1, r"a connection from 127\.0\.0\.1:\d+ is closed: 8 TLS handshakes with that address are under way \(1 closed so far\)")

    # ---- certificates are replaced ----

    def replace(self, n, **keys):
        """The files of node n's certificate are others."""
        issued = self.ca.issue(f"new{n}", self.names[n], **keys)
        for new, end in zip(issued, ("pem", "key"), strict=True):
            shutil.move(new, os.path.join(self.ca.folder, f"node{n}.{end}"))

    def again(self):
        self.ctl(1, "link", "to-2", "down")
        wait_for(lambda: not self.link(1)["sessions"])
        self.ctl(1, "link", "to-2", "up")
        self.up(1)

    def test_replaced(self):
        self.start(self.keys(1), self.keys(2))
        receiver, sender = self.client(2, "ipn:2.7", subscribe=True), self.client(1, "ipn:1.5")
        done, last = threading.Event(), threading.Event()
        sent, came = [], []

        def send():
            while not last.is_set():
                sent.append(len(sent) % 256)
                if done.is_set():
                    last.set()
                self.assertEqual(sender.request("ipn:2.7", bytes([sent[-1]]) * 50000)[0], aap2.SUCCESS)

        def receive():
            while not last.is_set() or len(came) < len(sent):
                came.append(receiver.delivery()[1][0])

        threads = [threading.Thread(target=f, daemon=True) for f in (send, receive)]
        for t in threads:
            t.start()
        wait_for(lambda: len(came) > 20)
        self.replace(2)
        before = len(came)
        wait_for(lambda: len(came) > before + 20)  # the session that is there goes on
        self.assertEqual(self.session(1)["tls"]["subject"], "/CN=node2")
        self.again()
        self.assertEqual(self.session(1)["tls"]["subject"], "/CN=new2")
        self.said(2, "the certificates were read again")
        self.assertEqual((self.link(2)["tls_reloads"], self.link(2)["tls_loads"]), (1, 2))
        before = len(came)
        wait_for(lambda: len(came) > before + 20)
        done.set()
        for t in threads:
            t.join(300)
        self.assertEqual(sorted(set(came)), sorted(set(sent)))
        self.assertEqual(len(came), len(sent))

    def test_replaced_badly(self):
        self.start(self.keys(1), self.keys(2))
        with open(os.path.join(self.ca.folder, "node2.pem"), "w") as f:
            f.write("not a certificate\n")
        self.again()  # the old one serves
        self.said(2, "tls.certificate: .*node2.pem: .*the earlier certificates stay in use")
        self.assertEqual((self.link(2)["tls_reloads"], self.link(2)["tls_reloads_failed"]), (0, 1))
        self.replace(2)
        self.again()
        self.assertEqual(self.session(1)["tls"]["subject"], "/CN=new2")
        self.assertEqual(self.link(2)["tls_reloads"], 1)

    def test_set(self):
        """Keys of a link that is open."""
        self.start(self.keys(1), self.keys(2))
        p = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", "link", "set", "to-2",
                            "tls_ca=/missing"], capture_output=True, text=True, timeout=300)
        self.assertNotEqual(p.returncode, 0)
        self.assertIn("tls.ca: /missing: No such file or directory", p.stderr)
        certificate, key = self.ca.issue("other1", self.names[1])
        self.ctl(1, "link", "set", "to-2", f"tls_certificate={certificate}", f"tls_key={key}")
        self.again()
        self.assertEqual(self.session(2)["tls"]["subject"], "/CN=other1")

    # ---- the loop goes on while files are read ----

    def many(self, name):
        """A file of many CAs: reading it takes long enough to do something else meanwhile, under sanitizers with fewer of them."""
        with open(self.lab.program("heliod"), "rb") as f:
            return self.ca.many(name, 1000 if b"__asan_init" in f.read() else 5000)

    def while_read(self, ask, answer):
        """`ask` lets node 1 read many CAs. Before `answer` says that it has, it answers others, and takes bundles from one application to another."""
        receiver, sender = self.client(1, "ipn:1.7", subscribe=True), self.client(1, "ipn:1.5")
        for attempt in range(3):  # a machine may hold this program up for longer than the node reads
            ask()
            self.links(1)
            self.assertEqual(sender.request("ipn:1.7", b"meanwhile")[0], aap2.SUCCESS)
            self.assertEqual(receiver.delivery()[1], b"meanwhile")
            early = not answer(False)
            self.assertTrue(answer(True))
            if early:
                return
        self.fail(f"the node did nothing else while it read, {attempt + 1} times")

    def control(self, n):
        s = socket.socket(socket.AF_UNIX)
        self.addCleanup(s.close)
        s.connect(self.lab.socket(n) + ".ctl")
        s.settimeout(300)
        return s

    def answered(self, s, wait):
        """The answer of the control socket `s`, or whether there is one."""
        if not wait:
            return select.select([s], [], [], 0)[0]
        return json.loads(s.makefile().readline())["ok"]

    def test_many_set(self):
        self.start(self.keys(1), self.keys(2))
        files, s = [self.many("one"), self.many("two")], self.control(1)

        def ask():
            files.reverse()
            s.sendall(json.dumps({"cmd": "link-set", "name": "to-2", "keys": f"{{tls_ca: {files[0]}}}"}).encode() + b"\n")
        self.while_read(ask, lambda wait: self.answered(s, wait))
        self.again()
        self.assertTrue(self.session(1)["tls"]["verified"])

    def test_many_reload(self):
        one = self.keys(1)
        self.start(one, self.keys(2))
        files, s = [self.many("one"), self.many("two")], self.control(1)
        with open(self.lab.path("node1.yaml")) as f:
            text = f.read()

        def ask():
            files.reverse()
            with open(self.lab.path("node1.yaml"), "w") as f:
                f.write(text.replace(one["tls.ca"], files[0]))
            s.sendall(b'{"cmd": "reload"}\n')
        self.while_read(ask, lambda wait: self.answered(s, wait))
        self.again()
        self.assertTrue(self.session(1)["tls"]["verified"])

    def test_many_again(self):
        """The same file with other contents: it is read when a connection begins, which waits for it."""
        two = self.keys(2)
        self.start(self.keys(1), two)
        shutil.copy(self.many("one"), two["tls.ca"])
        self.again()
        self.said(2, "the certificates were read again")
        self.assertEqual(self.link(2)["tls_reloads"], 1)
        self.one_bundle()

    def test_end_while_read(self):
        """SIGHUP twice and SIGTERM at once: it ends cleanly."""
        one = self.keys(1)
        self.start(one, self.keys(2))
        with open(self.lab.path("node1.yaml")) as f:
            text = f.read()
        with open(self.lab.path("node1.yaml"), "w") as f:
            f.write(text.replace(one["tls.ca"], self.many("one")))
        node = dict(self.lab.processes)["node1"]
        for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM):
            node.send_signal(number)
            self.links(2)
        self.assertEqual(node.wait(300), 0)

    def test_configuration(self):
        good = self.keys(1)
        for keys, text in (({"tls.certificate": '""'}, "tls.certificate: is not given"),
                           ({"tls.key": '""'}, "tls.key: is not given"), ({"tls.ca": '""'}, "tls.ca: is not given"),
                           ({"tls.peer": "host"}, "tls.host: is not given"), ({"tls": "maybe"}, "off, optional, required")):
            with self.subTest(text):
                link = self.tcpcl(2, remote="127.0.0.1:1", **{**good, **keys})
                p = self.heliod("--check", self.lab.write_node(1, [link], log=False))
                self.assertEqual(p.returncode, 2)
                self.assertIn(text, p.stdout + p.stderr)
        certificate, key = self.ca.issue("other", self.names[2])
        text, short = self.lab.path("text.pem"), self.lab.path("short.pem")
        with open(text, "w") as f:
            f.write("no certificate\n")
        with open(good["tls.certificate"]) as f, open(short, "w") as g:
            g.write(f.read()[:-100])
        os.chmod(text, 0o600)
        for keys, expected in (({"tls": "unset"}, "tls: is not given, and without it the certificates are not used"),
                               ({"tls": "unset", "tls.certificate": '""', "tls.key": '""'}, "tls: is not given, and without it"),
                               ({"tls.certificate": short}, f"tls.certificate: {short}: "), ({"tls.certificate": text}, f"tls.certificate: {text}: "),
                               ({"tls.key": text}, f"tls.key: {text}: "), ({"tls.ca": text}, f"tls.ca: {text}: "),
                               ({"tls.key": key}, f"tls.key: {key}: is not the key of the certificate {good['tls.certificate']}"),
                               ({"tls": "off", "tls.ca": text}, None)):
            with self.subTest(keys=keys):
                link = self.tcpcl(2, remote="127.0.0.1:1", **{**good, **keys})
                p = self.heliod("--check", self.lab.write_node(1, [link], log=False))
                self.assertEqual(p.returncode, 2 if expected else 0, p.stderr)
                self.assertIn(f"links[to-2].{expected}" if expected else "", p.stderr)
        link = self.tcpcl(2, remote="127.0.0.1:1", **{**good, "tls.key": "/missing"})
        p = self.heliod(self.lab.write_node(1, [link], log=False))
        self.assertNotEqual(p.returncode, 0)
        self.assertIn("tls.key: /missing: No such file or directory", p.stdout + p.stderr)


if __name__ == "__main__":
    node_case.main("TcpclTlsTest")
