# SPDX-License-Identifier: Apache-2.0
"""Bundle security of nodes: what is signed is accepted, what is forged is not, keys are replaced, no IV is used twice.

usage: security_test.py BIN OUT [TEST...]
"""
import contextlib
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import aap2
import node_case
from node_case import NodeCase, wait_for
from udpcl_test import NOW, ipn, parse

BIB, BCB = 11, 12
RULE = "  - {{role: {role}, context: {context}, key: {key}{more}}}\n"


def rule(role, key="link", context="bib-hmac-sha2", **keys):
    return RULE.format(role=role, context=context, key=key, more="".join(f", {k}: {v}" for k, v in keys.items()))


def rules(*items, folder):
    return f"security_keys: {folder}\nsecurity:\n" + "".join(items)


def blocks(bundle):
    """{type: data} of the extension blocks and the payload."""
    return {b[0]: b[4] for b in parse(bundle)[0][1:]}


def sequence(data):
    """The items of an abstract security block (RFC 9172 section 3.6), which is a sequence of CBOR."""
    items, at = [], 0
    while at < len(data):
        item, at = parse(data, at)
        items.append(item)
    return items


class Transfer:
    """Numbered bundles of 20 kB from one application to another, in bursts, until it is stopped."""

    BURST = 16

    def __init__(self, sender, receiver, destination):
        self.sender, self.receiver, self.destination = sender, receiver, destination
        self.sent, self.got, self.wrong, self.stopping = 0, [], [], threading.Event()
        self.threads = [threading.Thread(target=run, daemon=True) for run in (self.send, self.receive)]
        for t in self.threads:
            t.start()

    @staticmethod
    def text(i):
        return b"%8d" % i * 2500

    def send(self):
        while not self.stopping.is_set():
            for _ in range(self.BURST):
                self.sender.send(aap2.adu(self.destination, self.text(self.sent)))
                self.sent += 1
            self.wrong += [a for a in (self.sender.answer() for _ in range(self.BURST)) if a[0] != aap2.SUCCESS]

    def receive(self):
        with contextlib.suppress(OSError, EOFError, ValueError):
            while True:
                self.got.append(self.receiver.delivery()[1])

    def stop(self):
        self.stopping.set()
        self.threads[0].join(300)
        assert not self.wrong, self.wrong[:3]


class SecurityTest(NodeCase):
    def setUp(self):
        super().setUp()
        self.keys = tempfile.mkdtemp(prefix="helio-keys-")  # of mode 0700
        self.addCleanup(shutil.rmtree, self.keys)
        self.peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.peer.close)
        self.peer.bind(("127.0.0.1", 0))
        self.peer.settimeout(300)

    # ---- parts ----

    def folder(self, name):
        path = os.path.join(self.keys, name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def key(self, folder, name="link", secret=None, algorithm="hmac-sha-384", mode=0o600, file=None, **keys):
        """Writes a key file; its secret."""
        secret = secret or secrets.token_hex(32)
        path = pathlib.Path(self.folder(folder), file or name)
        text = f"id: {name}\nalgorithm: {algorithm}\n" + "".join(f"{k}: {v}\n" for k, v in keys.items())
        path.write_text(text + f"key: {secret}\n", encoding="ascii")
        path.chmod(mode)
        return secret

    def udp_link(self, peer, to=None, name=None):
        port = self.lab.udp_ports(1)[0]
        there = (to or self.peer).getsockname()[1]
        return {"name": name or f"to-{peer}", "adapter": "udp", "peer": f"ipn:{peer}.0", "local": f"\"127.0.0.1:{port}\"",
                "remote": f"\"127.0.0.1:{there}\""}, ("127.0.0.1", port)

    def node_with(self, extra, store="{durability: none}", links=()):
        """Node 1, whose neighbour ipn:2.0 is the test's own socket."""
        link, self.at = self.udp_link(2)
        config = self.lab.write_node(1, [link, *links], log=False, store=store, extra=extra)
        return config, self.lab.start_node(1, config)

    def security(self, number=1):
        return self.lab.control(number, "security")["security"]

    def failed(self, reason, number=1):
        return self.security(number)["failed"][reason]

    def tool(self, *arguments, stdin=b""):
        p = subprocess.run([self.lab.program("helio-bundle"), *arguments], input=stdin, capture_output=True, timeout=300, check=False)
        self.assertEqual(p.returncode, 0, p.stderr)
        return p.stdout

    def bundle(self, text, number, secret=None, destination="ipn:1.7", flags=None, source="ipn:2.5"):
        """Signed with the secret if there is one."""
        made = self.tool("make", "-s", source, "-d", destination, "--text", text, "--time", str(NOW), "--sequence", str(number),
                         *(["-f", flags, "-r", "ipn:2.6"] if flags else []))
        if secret is None:
            return made
        path = os.path.join(self.keys, "tool.key")
        with open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(secret + "\n")
        return self.tool("sign", "-k", path, "-t", "payload", "-", stdin=made)

    def give(self, bundle):
        self.peer.sendto(bundle, self.at)

    # ---- what arrives ----

    def test_forged_bundle_does_not_displace(self):
        """The forgery has the id of the true bundle and arrives before it, and after it."""
        good, bad = self.key("one"), secrets.token_hex(32)
        self.node_with("bundles: {status_reports: yes}\n" + rules(rule("acceptor"), folder=self.folder("one")))
        app = self.client(1, "ipn:1.7", subscribe=True)
        asks = "report-delivery,report-deletion"
        self.give(self.bundle("false", 1, bad, flags=asks))
        wait_for(lambda: self.failed("failed") == 1)
        status = self.lab.control(1, "counters")["agent"]
        self.assertEqual((status["delivered"], status["reports_sent"], status["held"]), (0, 0, 0))
        self.give(self.bundle("true", 1, good, flags=asks))
        self.assertEqual(app.delivery(), ("ipn:2.5", b"true"))
        report = parse(self.peer.recv(65536))[0]
        self.assertEqual((report[0][3], report[0][4]), (ipn(2, 6), ipn(1, 0)))
        self.give(self.bundle("false", 1, bad, flags=asks))
        wait_for(lambda: self.failed("failed") == 2)
        self.give(self.bundle("next", 2, good))
        self.assertEqual(app.delivery(), ("ipn:2.5", b"next"))
        counters = self.lab.control(1, "counters")["agent"]
        self.assertEqual((counters["delivered"], counters["reports_sent"]), (2, 1))
        self.assertEqual(self.security()["bundles_dropped"], 2)
        self.assertEqual(self.lab.control(1, "status")["security"], self.security())
        wait_for(lambda: "security: " in self.log() and "failed security operation" in self.log())
        for secret in (good, bad):
            self.assertNotIn(secret, self.log() + str(self.lab.control(1, "security")))

    def log(self, number=1):
        return pathlib.Path(self.lab.path(f"node{number}.log")).read_text(encoding="utf-8")

    def test_missing_signature(self):
        """It is dropped where one is wanted, passes in a dry run, and a bundle of another source needs none."""
        good = self.key("one")
        folder = self.folder("one")
        config, _ = self.node_with(rules(rule("acceptor", **{"from": "ipn:2.*"}), folder=folder))
        app = self.client(1, "ipn:1.7", subscribe=True)
        self.give(self.bundle("without", 1))
        wait_for(lambda: self.failed("missing") == 1)
        self.give(self.bundle("with", 2, good))
        self.assertEqual(app.delivery()[1], b"with")
        text = pathlib.Path(config).read_text(encoding="utf-8")
        pathlib.Path(config).write_text(text.replace("key: link", "key: link, dry_run: yes"), encoding="utf-8")
        self.lab.control(1, "reload")
        self.give(self.bundle("tried", 3))
        self.assertEqual(app.delivery()[1], b"tried")
        self.assertEqual((self.failed("missing"), self.security()["passed"]), (2, 1))
        pathlib.Path(config).write_text(text.replace("ipn:2.*", "ipn:3.*"), encoding="utf-8")
        self.lab.control(1, "reload")
        self.give(self.bundle("another", 4))
        self.assertEqual(app.delivery()[1], b"another")
        self.assertEqual(self.failed("missing"), 2)

    def test_roles_on_the_way(self):
        """A verifier leaves the operation in the bundle, an acceptor removes it."""
        good = self.key("one")
        for number, role, kept in ((1, "verifier", True), (2, "acceptor", False)):
            third = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.addCleanup(third.close)
            third.bind(("127.0.0.1", 0))
            third.settimeout(300)
            link, _ = self.udp_link(3, third)
            _, node = self.node_with(rules(rule(role), folder=self.folder("one")), links=[link])
            self.give(self.bundle("false", number, secrets.token_hex(32), destination="ipn:3.7"))
            self.give(self.bundle("relay", number, good, destination="ipn:3.7"))
            got = blocks(third.recv(65536))
            self.assertEqual((got[1], BIB in got), (b"relay", kept))
            self.assertEqual(self.failed("failed"), 1)
            self.lab.stop("node1", node)

    # ---- two nodes ----

    def two_nodes(self, extras, stores=None):
        ports = self.lab.udp_ports(2)
        configs = {}
        for n in (1, 2):
            link = self.lab.link(3 - n, ports[n - 1], ports[2 - n], rto="100ms")
            configs[n] = self.lab.write_node(n, [link], log=False, extra=extras[n], store=(stores or {}).get(n, "{durability: none}"))
            self.lab.start_node(n, configs[n])
        return configs

    def test_rotation(self):
        """The new key is at the receiver first; nothing is lost, and then the old one is not accepted any more."""
        old, new = self.key("one", file="old"), secrets.token_hex(32)
        self.key("two", file="old", secret=old)
        self.two_nodes({1: rules(rule("source"), folder=self.folder("one")), 2: rules(rule("acceptor"), folder=self.folder("two"))})
        sender, app = self.client(1, "ipn:1.5"), self.client(2, "ipn:2.7", subscribe=True)

        def send(text):
            self.assertEqual(sender.request("ipn:2.7", text)[0], aap2.SUCCESS)

        def exchange(text):
            send(text)
            self.assertEqual(app.delivery()[1], text)

        exchange(b"old")
        self.key("two", file="new", secret=new, **{"from": "2026-01-01T00:00:00Z"})
        self.assertEqual(self.lab.control(2, "reload")["refused"], [])
        exchange(b"old key, both are valid")
        self.key("one", file="new", secret=new, **{"from": "2026-01-01T00:00:00Z"})
        self.lab.control(1, "reload")
        exchange(b"new key, both are valid")
        os.remove(os.path.join(self.folder("two"), "old"))
        self.lab.control(2, "reload")
        exchange(b"new key alone")
        self.assertEqual(sum(self.security(2)["failed"].values()), 0)
        os.remove(os.path.join(self.folder("one"), "new"))
        self.lab.control(1, "reload")
        send(b"old key again")
        wait_for(lambda: self.failed("failed", 2) >= 1)  # the sender tries again
        self.assertEqual(self.lab.control(2, "counters")["agent"]["delivered"], 4)
        self.assertEqual([k["state"] for k in self.lab.control(2, "security")["keys"]], ["valid"])
        self.assertEqual(self.lab.control(1, "links")["links"][0]["sent"], 4)  # the fifth is not acknowledged
        self.assertEqual(self.lab.control(1, "status")["bundles"], 1)

    def replace_key(self, new):
        """In the order of docs/security.md, with a reload for each step: yields after each, with the number of the step."""
        self.key("two", file="new", secret=new, **{"from": "2026-01-01T00:00:00Z"})
        self.assertEqual(self.lab.control(2, "reload")["refused"], [])
        yield 1
        self.key("one", file="new", secret=new, **{"from": "2026-01-01T00:00:00Z"})
        self.assertEqual(self.lab.control(1, "reload")["refused"], [])
        yield 2
        signed = self.security(1)["sourced"]
        wait_for(lambda: self.security(2)["accepted"] > signed + 2)  # in order, and two from outside: those with the old key have arrived
        for n, folder in ((2, "two"), (1, "one")):
            os.remove(os.path.join(self.folder(folder), "old"))
            self.assertEqual(self.lab.control(n, "reload")["refused"], [])
        yield 3

    def test_rotation_in_a_transfer(self):
        """A key is replaced while bundles are sent as fast as the nodes take them: each is delivered once, and an outsider's bundle with the
        old key, which was good before, is refused."""
        old = self.key("one", file="old")
        self.key("two", file="old", secret=old)
        port = self.lab.udp_ports(1)[0]
        outside, self.at = self.udp_link(9)
        for n, place, more, role in ((2, "local", [outside], "acceptor"), (1, "remote", [], "source")):
            link = {"name": f"to-{3 - n}", "adapter": "tcpcl", "tls": "off", "peer": f"ipn:{3 - n}.0", place: f"127.0.0.1:{port}", "reconnect": "50ms"}
            way = {"source": "to", "acceptor": "from"}[role]
            extra = rules(rule(role, **{way: f"ipn:{3 - n}.*"}), folder=self.folder("one" if n == 1 else "two"))
            self.lab.start_node(n, self.lab.write_node(n, [link, *more], log=False, extra=extra, store="{durability: none}"))
        transfer = Transfer(self.client(1, "ipn:1.5"), self.client(2, "ipn:2.7", subscribe=True), "ipn:2.7")
        self.addCleanup(transfer.stop)
        for step in self.replace_key(secrets.token_hex(32)):
            arrived = len(transfer.got)
            self.give(self.bundle(f"outside {step}", step, old, destination="ipn:2.7", source="ipn:1.9"))
            if step < 3:
                wait_for(lambda text=f"outside {step}".encode(): text in transfer.got)
            else:
                wait_for(lambda: self.failed("failed", 2) == 1)
            wait_for(lambda mark=arrived + 100: len(transfer.got) > mark)
        transfer.stop()
        wait_for(lambda: len(transfer.got) >= transfer.sent + 2)
        self.assertEqual(sorted(transfer.got), sorted([transfer.text(i) for i in range(transfer.sent)] + [b"outside 1", b"outside 2"]))
        one, two = self.security(1), self.security(2)
        self.assertEqual((one["sourced"], two["accepted"], one["not_sent"]), (transfer.sent, transfer.sent + 2, 0))
        self.assertEqual((sum(one["failed"].values()), sum(two["failed"].values()), two["bundles_dropped"]), (0, 1, 1))
        for n in (1, 2):
            self.assertEqual(len(self.lab.control(n, "security")["keys"]), 1)

    def test_signed_and_encrypted_in_fragments(self):
        """Protected before it is cut, verified and decrypted when it is whole."""
        mac, aes = self.key("one", "mac"), self.key("one", "aes", algorithm="aes-256-gcm")
        self.key("two", "mac", mac)
        self.key("two", "aes", aes, algorithm="aes-256-gcm")
        ports = self.lab.udp_ports(2)
        for n, role, folder in ((1, "source", "one"), (2, "acceptor", "two")):
            link = {"name": f"to-{3 - n}", "adapter": "udp", "peer": f"ipn:{3 - n}.0", "local": f"\"127.0.0.1:{ports[n - 1]}\"",
                    "remote": f"\"127.0.0.1:{ports[2 - n]}\"", "rate": "100Mbit/s"}
            both = rules(rule(role, "mac"), rule(role, "aes", "bcb-aes-gcm"), folder=self.folder(folder))
            store = f"{{path: {self.lab.path(f'store{n}')}, durability: async}}"
            self.lab.start_node(n, self.lab.write_node(n, [link], log=False, extra=both, store=store))
        sender, app = self.client(1, "ipn:1.5"), self.client(2, "ipn:2.7", subscribe=True)
        for size in (0, 1, 1000, 5000, 100000):
            payload = secrets.token_bytes(size)
            self.assertEqual(sender.request("ipn:2.7", payload)[0], aap2.SUCCESS)
            self.assertEqual(app.delivery()[1], payload)
        self.assertEqual(sum(self.security(2)["failed"].values()), 0)
        self.assertGreaterEqual(self.lab.control(2, "counters")["agent"]["fragments_in"], 50)

    def test_wrong_reload_changes_nothing(self):
        good = self.key("one")
        self.node_with(rules(rule("acceptor"), folder=self.folder("one")))
        app = self.client(1, "ipn:1.7", subscribe=True)
        self.key("one", name="other", mode=0o644)
        p = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "reload"], capture_output=True, text=True,
                           timeout=300, check=False)
        self.assertEqual(p.returncode, 1, p.stdout)
        self.assertIn("one/other: other users may read or write it; chmod go= it; rules and keys are as before", p.stdout)
        self.give(self.bundle("still", 1, good))
        self.assertEqual(app.delivery()[1], b"still")

    def test_wrong_folders(self):
        """The start fails, and names the file and what would be right."""
        self.key("good")
        self.key("open", mode=0o644)
        os.symlink(os.path.join(self.folder("good"), "link"), os.path.join(self.folder("symlink"), "link"))
        os.mkfifo(os.path.join(self.folder("pipe"), "link"), 0o600)
        self.key("short", secret="00112233")
        self.key("wide")
        os.chmod(self.folder("wide"), 0o750)
        self.key("aes", algorithm="aes-256-gcm")
        rows = {"open": "chmod go= it", "symlink": "it is a link", "pipe": "it is no regular file", "short": "write at least 32 hexadecimal",
                "wide": "chmod go= it", "none": "mkdir -m 0700", "aes": 'node1.yaml:7: security.key: the folder'}
        for name, text in rows.items():
            config = self.lab.write_node(1, [], log=False, extra=rules(rule("acceptor"), folder=os.path.join(self.keys, name)))
            p = self.heliod(config)
            self.assertEqual(p.returncode, 2 if name in ("wide", "none") else 1, (name, p.stderr))  # 2: the key of the configuration is to blame
            self.assertIn(text, p.stderr, name)
            self.assertNotIn("00112233", p.stderr)
            p = self.heliod("--check", config)
            self.assertEqual(p.returncode, 2, (name, p.stderr))
            self.assertIn(text, p.stderr, name)
            self.assertNotIn("00112233", p.stderr)

    def test_keys_that_end(self):
        """Warned of before they end, in the log once, by helioctl, /metrics' count and --check; not of a key that is replaced in time."""
        def at(days):
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + days * 86400 + 600))
        self.key("one", until=at(13))
        self.key("one", "soon", until=at(0.5))
        self.key("one", "over", **{"from": at(-9), "until": at(-3)})
        self.key("one", "late", until=at(15))
        self.key("one", "old", until=at(1))
        self.key("one", "old", file="new", **{"from": at(0.9), "until": at(400)})
        want = {"link": "it ends in 13 days", "soon": "it ends in 12 hours", "over": "it ended 2 days ago"}
        config, _ = self.node_with(rules(rule("acceptor"), folder=self.folder("one")))
        keys = {(k["id"], k["warning"]) for k in self.lab.control(1, "security")["keys"] if "warning" in k}
        self.assertEqual(keys, set(want.items()))
        for name, text in want.items():
            wait_for(lambda line=f'security: key "{name}": {text}': line in self.log())
        self.lab.control(1, "reload")
        self.key("one", "more", until=at(2))
        self.lab.control(1, "reload")
        wait_for(lambda: 'key "more": it ends in 2 days' in self.log())
        self.assertEqual(self.log().count("install another one"), 4)
        p = self.heliod("--check", config)
        self.assertEqual(p.returncode, 0, p.stderr)
        for name, text in want.items():
            self.assertIn(f'{self.folder("one")}: warning: key "{name}": {text}', p.stderr)
        self.assertNotIn('key "old"', p.stderr)

    # ---- initialization vectors ----

    def encrypted(self):
        """(IV, bundle) of the next one that node 1 sends."""
        bundle = self.peer.recv(65536)
        got = blocks(bundle)
        self.assertNotEqual(got[1], b"secret")
        targets, context, flags, _, parameters, _ = sequence(got[BCB])
        self.assertEqual((targets, context, flags), ([1], 2, 1))
        iv = dict(parameters)[1]
        self.assertEqual(len(iv), 12)
        return iv, bundle

    def collect(self, count, seen, again=0):
        """The IVs of so many new bundles, each of them new. `again`: so many bundles at most that a killed node had sent, but still has in
        its store, may come first; they are sent as they were encrypted, octet for octet."""
        sender = self.client(1, "ipn:1.5")
        for _ in range(count):
            self.assertEqual(sender.request("ipn:2.7", b"secret")[0], aap2.SUCCESS)
            iv, bundle = self.encrypted()
            while again > 0 and seen.get(iv) == bundle:
                again -= 1
                iv, bundle = self.encrypted()
            self.assertNotIn(iv, seen)
            seen[iv] = bundle
            again = 0
        sender.close()

    def test_no_iv_twice(self):
        """Stops, kills, a clock of the note alone, reloads with other keys: all IVs differ."""
        self.key("one", algorithm="aes-256-gcm")
        store = f"{{path: {self.lab.path('store')}, durability: async}}"
        config, node = self.node_with(rules(rule("source", context="bcb-aes-gcm"), folder=self.folder("one")), store=store)
        seen = {}
        self.collect(1000, seen)
        note = pathlib.Path(self.lab.path("store"), "security.ivs")
        first = int(note.read_text(encoding="ascii").split()[1])
        self.lab.stop("node1", node)
        node = self.lab.start_node(1, config)
        self.collect(1000, seen)
        node.send_signal(signal.SIGKILL)
        node.wait()
        ahead = first + (1 << 50)  # the clock was ahead by twelve days when this was noted
        note.write_text(note.read_text(encoding="ascii").replace(note.read_text(encoding="ascii").split()[1], str(ahead), 1), encoding="ascii")
        node = self.lab.start_node(1, config)
        self.collect(500, seen, again=1)
        self.assertEqual(int.from_bytes(max(seen)[4:], "big"), ahead + 499)
        self.key("one", name="other", algorithm="aes-128-gcm", secret=secrets.token_hex(16))
        self.lab.control(1, "reload")
        self.collect(500, seen)
        self.assertEqual(len(seen), 3000)
        uses = {k["id"]: k["uses"] for k in self.lab.control(1, "security")["keys"]}
        self.assertGreaterEqual(uses["link"], 3000)
        self.assertEqual(uses["other"], 0)
        self.lab.stop("node1", node)
        note.write_text("next 12x\n", encoding="ascii")
        p = self.heliod(config)
        self.assertEqual(p.returncode, 1)
        self.assertIn("security.ivs is damaged", p.stderr)

    def test_uses_of_a_key(self):
        """A key that was used as often as its file says encrypts no more, and the bundle does not leave in clear."""
        self.key("one", algorithm="aes-256-gcm", uses=3)
        store = f"{{path: {self.lab.path('store')}, durability: async}}"
        self.node_with(rules(rule("source", context="bcb-aes-gcm"), folder=self.folder("one")), store=store)
        seen = {}
        self.collect(2, seen)
        self.assertNotIn("warning", self.lab.control(1, "security")["keys"][0])
        self.collect(1, seen)
        self.assertEqual(self.lab.control(1, "security")["keys"][0]["warning"], "it is used up")
        wait_for(lambda: 'key "link": it is used up' in self.log())
        sender = self.client(1, "ipn:1.5")
        self.assertNotEqual(sender.request("ipn:2.7", b"secret")[0], aap2.SUCCESS)
        self.assertEqual((self.failed("exhausted"), self.security()["not_sent"]), (1, 1))


if __name__ == "__main__":
    node_case.main("SecurityTest")
