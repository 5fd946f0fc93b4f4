# SPDX-License-Identifier: Apache-2.0
"""Starts that fail. Each thing that a program acquires until it is ready (each system call, each allocation) fails in turn,
as fail_shim.c counts them: what a program acquires one day is in it by itself. usage: startup_test.py BIN OUT SHIM [TEST...]"""

import os
import re
import shutil
import subprocess
import sys
import unittest

import _paths  # noqa: F401
from certificates import Authority  # noqa: E402
from heliograph.processes import Lab  # noqa: E402

PROGRAMS = OUT = SHIM = ""
NODE = """node: ipn:1.0
socket: {out}/node.sock
control: {out}/control.sock
store: {{path: {out}/store, durability: sync}}
http: {{listen: "{tcp[0]}"}}
log: {{segments: {out}/segments.csv, bundles: {out}/bundles.csv}}
echo: 2047
plan: {out}/plan.txt
endpoints:
  - {{at: "ipn:1.9", registrations: pass}}
links:
{links}
routes:
  - {{to: "ipn:9.*", via: ltp}}
"""
LINKS = (
    "{{name: ltp, adapter: ltp-udp, peer: ipn:2.0, local: '127.0.0.1:{udp[0]}', remote: '127.0.0.1:{udp[1]}', rto: 30ms, auth: {{mode: require, key_file: {out}/auth.key}}}}",
    "{{name: frames, adapter: ltp-udp, peer: ipn:3.0, local: '127.0.0.1:{udp[2]}', remote: '127.0.0.1:{udp[3]}', rto: 30ms, frames: aos}}",
    "{{name: tls, adapter: tcpcl, peer: ipn:4.0, local: '127.0.0.1:{tcp[1]}', tls: {{mode: required, certificate: {out}/ca/one.pem,"
    " key: {out}/ca/one.key, ca: {out}/ca/ca.pem}}}}",
    "{{name: tcp, adapter: tcpcl, peer: ipn:5.0, local: '127.0.0.1:{tcp[2]}', remote: '127.0.0.1:{tcp[3]}', peers: 2}}",
    "{{name: udp, adapter: udp, peer: ipn:6.0, local: '127.0.0.1:{udp[4]}', remote: '127.0.0.1:{udp[5]}'}}",
    "{{name: bibe, adapter: bibe, peer: ipn:7.0, local: ipn:1.12, remote: ipn:7.12}}",
    "{{name: stcp, adapter: stcp, peer: ipn:8.0, local: '127.0.0.1:{tcp[4]}', remote: '127.0.0.1:{tcp[5]}'}}",
    "{{name: mtcp, adapter: mtcp, peer: ipn:10.0, local: '127.0.0.1:{tcp[6]}', source: any}}",
    "{{name: path, adapter: tcpcl, peer: ipn:11.0, local_path: {out}/link.sock}}",
    "{{name: stream, adapter: ltp-udp, peer: ipn:12.0, local: '127.0.0.1:{tcp[7]}', remote: '127.0.0.1:{tcp[8]}', rto: 30ms, frames: {{mode: aos, port: listen}}}}",
    "{{name: file, adapter: ltp-udp, peer: ipn:13.0, local: '127.0.0.1:{udp[6]}', remote: '127.0.0.1:{udp[7]}', rto: 30ms, frames: {{mode: aos, port: file, record: {out}/record}}}}",
)


CRASHES = "Assertion|Sanitizer"
LIBRARY = "CRYPTO_THREAD_run_once"  # OpenSSL 3.0 itself crashes where its first initialisation has no memory

LEAKS = "CRYPTO_|OPENSSL_|EVP_|yaml_parser_"  # and leaks, as libyaml does, what it has of a thing whose next part has none
LOOP = "call 233 "  # libuv ends the process where epoll_ctl has no memory while the loop runs, as it does before such a program is ready


class StartupCase(unittest.TestCase):
    def setUp(self):
        self.out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(self.out, ignore_errors=True)
        os.makedirs(self.out)
        self.lab = Lab(PROGRAMS, self.out)
        self.addCleanup(self.lab.__exit__)

    def fail_each(self, what, ready, command):
        """[(number, what failed, ready?, how it ended, standard error)]; the first is that of a run in which nothing fails."""
        report = os.path.join(self.out, what)
        environment = dict(os.environ, LD_PRELOAD=SHIM, HELIO_FAIL=what, HELIO_FAIL_READY=ready, HELIO_FAIL_REPORT=report)
        environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=900)
        self.assertEqual(done.returncode, 0)
        with open(report, errors="replace") as f:
            return [line.rstrip("\n").split("\t") for line in f]

    def check(self, what, ready, command, message, least, spared=None):
        runs = self.fail_each(what, ready, command)
        self.assertEqual(runs[0][2:4], ["ready", "0"], runs[0])
        self.assertGreater(len(runs), least)
        bad = []
        for number, place, reached, end, text in runs:
            # never 2: nothing is wrong with the arguments and files
            good = end == "0" if reached == "ready" else end == "1" and re.search(message, text) and not re.search(CRASHES, text)
            crash = (end.startswith("signal") and text == "") or "SEGV" in text
            library = (crash and re.search(spared or LIBRARY, place)) or ("LeakSanitizer" in text and re.search(LEAKS, place))
            if not good and not library:
                bad.append(f"{number}: {place}: {reached} {end}: {text[:300]}")
        failed = sum(r[2] != "ready" for r in runs)
        print(f"{what}: {len(runs)} runs, {failed} starts failed", file=sys.stderr)
        self.assertGreater(failed, least / 4)
        self.assertFalse(bad, "\n".join([f"{len(bad)} bad ends", *bad[:20]]))

    def program(self, name, *arguments):
        return [os.path.join(PROGRAMS, name), *arguments]


class StartupTest(StartupCase):
    def node(self, links):
        out = self.out
        a = Authority(os.path.join(out, "ca"))
        a.issue("one", "otherName:1.3.6.1.5.5.7.8.11;IA5:ipn:1.0")
        with open(os.path.join(out, "auth.key"), "w") as f:
            f.write("00112233445566778899aabbccddeeff\n")
        os.chmod(os.path.join(out, "auth.key"), 0o600)
        with open(os.path.join(out, "plan.txt"), "w") as f:
            f.write("a contact +0 +100000 1 2 1000000\na range +0 +100000 1 2 1\n")
        places = {"out": out, "udp": self.lab.udp_ports(8), "tcp": self.lab.udp_ports(9)}
        path = os.path.join(out, "node.yaml")
        with open(path, "w") as f:
            f.write(NODE.format(links="\n".join("  - " + text.format(**places) for text in links), **places))
        return [os.path.join(PROGRAMS, "heliod"), path]

    def test_node_calls(self):
        self.check("calls", "is ready", self.node(LINKS), r"heliod: |error: |node.yaml", 100)

    def test_node_memory(self):
        self.check("memory", "is ready", self.node(LINKS[::-1]), r"heliod: |error: |node.yaml", 100)

    def test_first_link_of_stream(self):
        """A port that closes in several steps, of an endpoint that gets no link."""
        self.check("memory", "is ready", self.node([LINKS[9], LINKS[0]]), r"heliod: |error: |node.yaml", 100)

    def test_check_without_memory(self):
        """The configuration may be right: this is a failure (1), and no mistake in it (2)."""
        command = self.node(LINKS[3:4])
        with open(command[1], "r+", encoding="utf-8") as f:
            text = f.read().replace(f"plan: {self.out}/plan.txt\n", "").replace("via: ltp", "via: tcp")
            f.seek(0)
            f.write(text)
            f.truncate()
        runs = self.fail_each("memory", ": good", [command[0], "--check", command[1]])
        self.assertEqual(runs[0][2], "ready", runs[0])
        failed = [r for r in runs if r[2] != "ready" and not re.search("_IO_file_doallocate|_IO_printf|__printf_chk", r[1])]  # no buffer: "good" is written in pieces
        self.assertGreater(len(failed), 30)
        self.assertEqual([r for r in failed if r[3] != "1"], [])

    # ---- other programs ----

    def relay(self):
        ports = self.lab.udp_ports(2)
        return self.program("helio-emu", "relay", "--listen", f"127.0.0.1:{ports[0]}", "--to", f"127.0.0.1:{ports[1]}", "--delay", "5ms",
                            "--control", f"{self.out}/emu.sock", "--drop-log", f"{self.out}/drops.csv", "--pcap-before", f"{self.out}/emu.pcap",
                            "--pcap-after", f"{self.out}/after.pcap")

    def test_relay(self):
        for what in ("calls", "memory"):
            self.check(what, ", ready", self.relay(), "helio-emu", 15)

    def test_links(self):
        """Several links in one process, with all that they may open."""
        ports = self.lab.udp_ports(4)
        path = f"{self.out}/links.yaml"
        with open(path, "w") as f:
            f.write(f"""link:
  both: {{delay: 5ms}}
links:
  one: {{listen: "127.0.0.1:{ports[0]}", to: "127.0.0.1:{ports[1]}", forward: {{erasures: {{iid: 0.01}}}}}}
  two:
    listen: "127.0.0.1:{ports[2]}"
    to: "127.0.0.1:{ports[3]}"
    handover: [{{at: 0, link: a}}, {{at: 2s, link: b, gap: 500ms, in_flight: lost}}]
  a: {{forward: {{rate: 100Mbit/s}}}}
  b: {{forward: {{rate: 200Mbit/s}}}}
""")
        command = self.program("helio-emu", "links", path, "--control", f"{self.out}/links.sock", "--json", f"{self.out}/links.json")
        for what in ("calls", "memory"):
            self.check(what, ", ready", command, "helio-emu|links.yaml", 15)

    def test_provider(self):
        tcp = self.lab.udp_ports(2)
        path = f"{self.out}/provider.yaml"
        with open(path, "w") as f:
            f.write(f"""id: PROVIDER
listen: 127.0.0.1:{tcp[0]}
status: {self.out}/status.sock
users:
  - {{id: USER}}
sources:
  - {{name: one, kind: tcp, address: "127.0.0.1:{tcp[1]}", record: {self.out}/recording}}
instances:
  - {{id: "sagr=1.spack=1.rsl-fg=1.raf=onlt1", users: USER, source: one}}
""")
        for what in ("calls", "memory"):
            self.check(what, "listens at", self.program("helio-sle", "provider", path), "helio-sle|error: |provider.yaml", 20)

    def test_cfdp(self):
        os.makedirs(f"{self.out}/root")
        ports = self.lab.udp_ports(2)
        path = f"{self.out}/cfdp.yaml"
        with open(path, "w") as f:
            f.write(f"""entity: 1
root: {self.out}/root
control: {self.out}/cfdp.sock
listen: 127.0.0.1:{ports[0]}
remotes:
  - {{entity: 2, address: "127.0.0.1:{ports[1]}"}}
""")
        for what in ("calls", "memory"):
            self.check(what, "transactions continue", self.program("helio-cfdp", "daemon", path), "helio-cfdp|error: |cfdp.yaml", 15)

    def test_applications(self):
        """Of those that a node serves."""
        self.lab.start_node(1, self.lab.write_node(1, [], log=False))
        os.makedirs(f"{self.out}/files")
        socket = ["--socket", self.lab.socket(1)]
        for what in ("calls", "memory"):
            self.check(what, "takes files to", self.program("helio-recv", *socket, "-o", f"{self.out}/files"), "helio-recv: |error: ", 15, LOOP)
        self.check("calls", "p99 ms", self.program("helio-perf", "server", *socket), "helio-perf|error: ", 15, LOOP)


if __name__ == "__main__":
    PROGRAMS, OUT, SHIM = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *("StartupTest.test_" + t for t in sys.argv[4:])], verbosity=2)
