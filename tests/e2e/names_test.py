# SPDX-License-Identifier: Apache-2.0
"""Host names as `remote` of links: nodes with a file of hosts of their own, or a DNS server, in which names come, move and go.
Most of a test's time is waiting: for a resolver without a server, or for the look-up each 60 s. So without TEST each runs in a process of its own,
several at once.
usage: names_test.py BIN OUT [TEST...]"""

import concurrent.futures
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

import node_case
from node_case import NodeCase, wait_for

NAME = "gs1.example.net"
OWN = ["unshare", "--mount", "--propagation", "private"]
USERS = ["--map-root-user"]  # without the permission: a user namespace, where the system has them


def may_mount(words):
    return subprocess.run([*words, "mount", "--bind", "/etc/hosts", "/etc/hosts"], capture_output=True).returncode == 0


class NamesTest(NodeCase):
    def setUp(self):
        super().setUp()
        self.space = next((words for words in (OWN, OWN + USERS) if may_mount(words)), None)
        if self.space is None:
            self.skipTest("a mount namespace is needed for a private /etc/hosts")
        self.file = self.lab.path("hosts")
        self.hosts()
        self.lab.command = self.command
        self.extra = self.resolver = ""

    def sandboxed(self):
        """The resolver works there, too. A sanitizer's own end of a process looks at it as a debugger does."""
        before = os.environ.get("ASAN_OPTIONS", "")
        self.addCleanup(os.environ.__setitem__, "ASAN_OPTIONS", before)
        os.environ["ASAN_OPTIONS"] = before + ":detect_leaks=0"
        self.extra = "sandbox: on\n"

    def command(self, name, program, *arguments):
        """Each node sees our file as /etc/hosts."""
        del name
        script = 'mount --bind "$0" /etc/hosts && { [ -z "$1" ] || mount --bind "$1" /etc/resolv.conf; } && shift && exec "$@"'
        return [*self.space, "sh", "-c", script, self.file, self.resolver, self.lab.program(program), *arguments]

    def hosts(self, *lines):
        """In place: the nodes have this file, whatever its name is later."""
        with open(self.file, "a+", encoding="utf-8") as f:
            f.truncate(0)
            f.write("".join(line + "\n" for line in ("127.0.0.1 localhost", *lines)))

    def log(self, number):
        with open(self.lab.path(f"node{number}.log"), encoding="utf-8") as f:
            return f.read()

    def up(self, number):
        wait_for(lambda: self.link(number)["up"], 60)

    def one_bundle(self, source, destination, text=b"by name"):
        receiver = self.client(destination, f"ipn:{destination}.7", subscribe=True)
        sender = self.client(source, f"ipn:{source}.5")
        sender.request(f"ipn:{destination}.7", text)
        self.assertEqual(receiver.delivery()[1], text)
        for client in (receiver, sender):
            client.close()

    def stream_pair(self, adapter, **keys):
        """Node 1 has node 2's name; both are found under one port at two addresses."""
        self.port = self.lab.udp_ports(1)[0]
        quick = {"adapter": adapter, "reconnect": "100ms", "reconnect_max": "500ms", **keys}
        links = {1: {"name": "to-2", "peer": "ipn:2.0", "remote": f"{NAME}:{self.port}", **quick},
                 2: {"name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{self.port}", **quick}}
        if adapter == "stcp":
            links[2]["source"] = "any"
        self.configs = {n: self.lab.write_node(n, [links[n]], log=False, extra=self.extra) for n in links}
        self.running = {n: self.lab.start_node(n, self.configs[n]) for n in (2, 1)}

    def later(self, adapter):
        """The name is not known at the start, which is a warning; then it is."""
        self.stream_pair(adapter)
        wait_for(lambda: "the name cannot be resolved" in self.log(1), 60)
        self.assertIn(f"cannot connect to {NAME}:{self.port}: the name cannot be resolved", self.log(1))
        wait_for(lambda: self.link(1)["lookups_failed"] >= 2, 60)
        self.assertFalse(self.link(1)["up"])
        self.assertEqual(self.link(1)["connects"], 0)
        self.hosts(f"127.0.0.1 {NAME}")
        self.up(1)
        self.assertEqual(self.link(1)["remote_address"], f"127.0.0.1:{self.port}")
        self.one_bundle(1, 2)

    def test_tcpcl_later(self):
        self.sandboxed()
        self.later("tcpcl")
        self.one_bundle(2, 1)

    def test_stcp_later(self):
        self.later("stcp")

    def datagram_pair(self, adapter, **keys):
        """Node 1 has node 2's name; a datagram comes from the address of the other's `local`."""
        self.ports = self.lab.udp_ports(2)
        common = {"adapter": adapter, **({"rto": "200ms"} if adapter == "ltp-udp" else {}), **keys}
        links = {1: {"name": "to-2", "peer": "ipn:2.0", "local": f"127.0.0.1:{self.ports[0]}", "remote": f"{NAME}:{self.ports[1]}", **common},
                 2: {"name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.2:{self.ports[1]}", "remote": f"127.0.0.1:{self.ports[0]}", **common}}
        self.configs = {n: self.lab.write_node(n, [links[n]], log=False, extra=self.extra) for n in links}
        self.running = {n: self.lab.start_node(n, self.configs[n]) for n in (2, 1)}

    def datagrams_later(self, adapter):
        """Down until the name is known, with one line of the log; then bundles go in both directions."""
        self.datagram_pair(adapter)
        wait_for(lambda: self.link(1)["lookups_failed"] >= 2, 60)
        self.assertFalse(self.link(1)["up"])
        self.assertEqual(self.log(1).count("the name cannot be resolved"), 1)
        self.assertEqual(self.heliod("--check", self.configs[1]).returncode, 0)
        self.hosts(f"127.0.0.2 {NAME}")
        self.up(1)
        self.assertIn(f"remote {NAME}:{self.ports[1]} is 127.0.0.2:{self.ports[1]} now", self.log(1))
        self.assertEqual(self.link(1)["remote_address"], f"127.0.0.2:{self.ports[1]}")
        self.one_bundle(1, 2)
        self.one_bundle(2, 1)

    def test_ltp_later(self):
        self.sandboxed()
        self.datagrams_later("ltp-udp")

    def test_udp_later(self):
        self.datagrams_later("udp")

    def test_ltp_source(self):
        """The name is another host's: what node 2 sends is refused, as with a numeric remote."""
        self.hosts(f"127.0.0.9 {NAME}")
        self.datagram_pair("ltp-udp")
        self.up(1)
        self.client(2, "ipn:2.5").request("ipn:1.7", b"not from there")
        wait_for(lambda: self.link(1)["source_refused"] > 0, 60)
        self.assertRegex(self.log(1), rf"the latest from 127\.0\.0\.2:\d+, remote is {NAME}:\d+ \(127\.0\.0\.9:\d+\)")

    def test_tcpcl_moves(self):
        """The peer's new address has the name: the next attempt finds it, without a word to node 1."""
        self.hosts(f"127.0.0.1 {NAME}")
        self.stream_pair("tcpcl")
        self.up(1)
        self.lab.stop("node2", self.running[2])
        wait_for(lambda: not self.link(1)["up"], 60)
        with open(self.configs[2], encoding="utf-8") as f:
            moved = f.read().replace("127.0.0.1:", "127.0.0.9:")
        with open(self.configs[2], "w", encoding="utf-8") as f:
            f.write(moved)
        self.hosts(f"127.0.0.9 {NAME}")
        self.lab.start_node(2, self.configs[2])
        self.up(1)
        self.assertEqual(self.link(1)["remote_address"], f"127.0.0.9:{self.port}")
        self.one_bundle(1, 2)

    def dns(self):
        """The nodes ask a DNS server of this test alone, by UDP and TCP."""
        if not shutil.which("dnsmasq") or os.getuid() != 0:
            self.skipTest("dnsmasq and root are needed for a DNS server at port 53")
        self.server_address = f"127.{random.randrange(64, 128)}.{random.randrange(256)}.{random.randrange(1, 255)}"
        self.resolver, self.zone, self.server = self.lab.path("resolv.conf"), self.lab.path("zone"), None
        with open(self.resolver, "w", encoding="ascii") as f:
            f.write(f"nameserver {self.server_address}\noptions timeout:1 attempts:2\n")
        self.records()

    def records(self, *addresses):
        """What the server answers for the name, from now on."""
        with open(self.zone, "w", encoding="ascii") as f:
            f.write("".join(f"{address} {NAME}\n" for address in addresses))
        if self.server is not None:
            self.server.send_signal(signal.SIGHUP)

    def serve(self):
        log = self.lab.path("dns.log")
        self.server = subprocess.Popen(["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", f"--addn-hosts={self.zone}",
                                        f"--local=/{NAME.split('.', 1)[1]}/", "--local-ttl=0", "--bind-interfaces", f"--listen-address={self.server_address}",
                                        "--except-interface=none", "--user=root", "--pid-file=", "--log-queries", f"--log-facility={log}"])
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)

    def asked(self):
        with open(self.lab.path("dns.log"), encoding="utf-8") as f:
            return f.read().count("query[")

    def test_ltp_dns(self):
        """No server; then one without the name; then the name, at one address after the other."""
        self.sandboxed()
        self.dns()
        self.datagram_pair("ltp-udp")
        wait_for(lambda: self.link(1)["lookups_failed"] >= 1, 120)
        self.serve()
        wait_for(lambda: os.path.exists(self.lab.path("dns.log")) and self.asked() > 0, 120)
        self.assertFalse(self.link(1)["up"])
        self.records("127.0.0.2")
        self.up(1)
        self.one_bundle(1, 2)
        self.one_bundle(2, 1)
        self.lab.stop("node2", self.running[2])
        with open(self.configs[2], encoding="utf-8") as f:
            moved = f.read().replace("127.0.0.2:", "127.0.0.9:")
        with open(self.configs[2], "w", encoding="utf-8") as f:
            f.write(moved)
        self.lab.start_node(2, self.configs[2])
        self.records("127.0.0.9")
        wait_for(lambda: self.link(1)["remote_address"] == f"127.0.0.9:{self.ports[1]}", 240)  # each 60 s
        self.up(1)
        self.one_bundle(1, 2)

    def test_ltp_dns_ends(self):
        """The server is no more: without answers the address stays."""
        self.sandboxed()
        self.dns()
        self.records("127.0.0.2")
        self.serve()
        self.datagram_pair("ltp-udp")
        self.up(1)
        self.one_bundle(1, 2)
        self.server.kill()
        self.server.wait()
        failed = self.link(1)["lookups_failed"]
        wait_for(lambda: self.link(1)["lookups_failed"] > failed, 240)  # each 60 s
        self.assertEqual(self.link(1)["remote_address"], f"127.0.0.2:{self.ports[1]}")
        self.one_bundle(1, 2)
        self.one_bundle(2, 1)

    def test_tcpcl_dns(self):
        """Each attempt asks; of two addresses the second one answers."""
        self.dns()
        self.serve()
        self.stream_pair("tcpcl")
        wait_for(lambda: self.link(1)["lookups_failed"] >= 2, 60)
        self.records("127.0.0.8", "127.0.0.1")
        self.up(1)
        self.one_bundle(1, 2)

    def test_tcpcl_next_address(self):
        """Nobody listens at the first address of the name."""
        self.hosts(f"127.0.0.8 {NAME}", f"127.0.0.1 {NAME}")
        self.stream_pair("tcpcl")
        self.up(1)
        self.one_bundle(1, 2)

    def test_the_end_does_not_wait(self):
        """A node whose name is not known stops as fast as any other."""
        self.stream_pair("tcpcl")
        wait_for(lambda: self.link(1)["lookups_failed"] >= 1, 60)
        began = time.monotonic()
        self.lab.stop("node1", self.running[1])
        self.assertLess(time.monotonic() - began, 10)

    def test_checked_without_a_lookup(self):
        """--check looks at the form alone: a name that nobody knows is right, a wrong one has its line."""
        link = {"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0"}
        for remote, right in ((f"{NAME}:4556", True), ("no-such-host.invalid:4556", True), (NAME, True), ("a_b:1", True),
                              ("gs 1:4556", False), ("-gs1:4556", False), ("10.0.0.256:4556", False), ("gs1:65536", False), ("gs1:0", False)):
            config = self.lab.write_node(9, [{**link, "remote": f'"{remote}"'}], log=False)
            began = time.monotonic()
            p = self.heliod("--check", config)
            self.assertLess(time.monotonic() - began, 4)
            self.assertEqual(p.returncode, 0 if right else 2, f"{remote}: {p.stdout}{p.stderr}")
            if not right:
                self.assertRegex(p.stderr, r"node9\.yaml:\d+: .*remote")


def run_one(name):
    """(its exit code, what it printed)"""
    done = subprocess.run([sys.executable, __file__, sys.argv[1], os.path.join(sys.argv[2], name), name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.returncode, done.stdout


def run_all():
    names = [name.removeprefix("test_") for name in unittest.TestLoader().getTestCaseNames(NamesTest)]
    names.sort(key=lambda name: not name.startswith("ltp_dns"))  # these take longest
    os.makedirs(sys.argv[2], exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = list(pool.map(run_one, names))
    print("".join(text for _, text in done))
    wrong = [name for name, (code, _) in zip(names, done) if code != 0]
    sys.exit(f"failed: {', '.join(wrong)}" if wrong else 0)


if __name__ == "__main__":
    node_case.main("NamesTest") if sys.argv[3:] else run_all()
