# SPDX-License-Identifier: Apache-2.0
"""heliod --check and helio-sle provider --check: files that the configuration names. usage: check_test.py BIN OUT SHIM [TEST...]"""

import json
import os
import struct
import subprocess
import sys

import node_case
from certificates import NODE, Authority
from node_case import NodeCase

SHIM = ""
DAY = 86400 * 10**9


class CheckTest(NodeCase):
    def run_check(self, *command, ahead=None, **keys):
        """Exit code, standard error; `ahead`: of the wall clock, in ns."""
        environment = dict(os.environ)
        if ahead is not None:
            with open(self.lab.path("clock"), "wb") as f:
                f.write(struct.pack("=q", ahead))
            environment.update(LD_PRELOAD=SHIM, HELIO_TEST_CLOCK=self.lab.path("clock"))
            environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, **keys)
        self.assertEqual(done.returncode == 0, "good" in done.stdout, done)
        return done.returncode, done.stderr

    def check(self, path, **keys):
        return self.run_check(self.lab.program("heliod"), "--check", path, **keys)

    def fifo(self, name="pipe"):
        path = self.lab.path(name)
        if not os.path.exists(path):
            os.mkfifo(path)
        return path

    def keys(self):
        certificate, key = Authority(self.lab.path("ca")).issue("one", f"{NODE}ipn:1.0")
        return {"tls.certificate": certificate, "tls.key": key, "tls.ca": self.lab.path("ca/ca.pem")}

    def tls(self, **keys):
        link = {"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "remote": "127.0.0.1:1", "tls": "required", **keys}
        return self.lab.write_node(1, [link], log=False)

    def station(self, extra, of_source=""):
        path = self.lab.path("station.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("id: PROVIDER\nlisten: 127.0.0.1:5555\nusers: [{id: USER}]\n"
                    f"sources: [{{name: one, kind: tcp, address: \"127.0.0.1:1\"{of_source and ', ' + of_source}}}]\n"
                    "instances: [{id: \"sagr=1.spack=1.rsl-fg=1.raf=onlt1\", users: USER, source: one}]\n" + extra)
        return self.lab.program("helio-sle"), "provider", "--check", path

    def test_a_limit_that_does_not_count(self):
        """The check and the start report it; neither does where it counts."""
        for store, told in (("{durability: none}", True), (f"{{path: {self.lab.path('kept')}, durability: async}}", False)):
            path = self.lab.write_node(5, [], store=store, log=False, extra="bundles: {total: 64MiB}\n")
            code, text = self.check(path)
            self.assertEqual((code, "bundles.total: does nothing with durability: none" in text), (0, told), text)
            node = self.lab.start_node(5, path)
            self.lab.stop("node5", node)
            with open(self.lab.path("node5.log"), encoding="utf-8") as f:
                self.assertEqual("bundles.total does nothing with durability: none" in f.read().rsplit("is ready", 1)[0].rsplit("stopped", 1)[-1], told)

    def test_pipes_in_place_of_files(self):
        """Nobody writes to them: they are named at once, and nothing waits."""
        keys = self.keys()
        for key in keys:
            code, text = self.check(self.tls(**{**keys, key: self.fifo()}))
            self.assertEqual(code, 2)
            self.assertRegex(text, rf"node1.yaml:\d+: links\[to-2\].{key}: .*/pipe: a pipe, not a regular file")
        link = self.lab.link(2, 1111, 1112, rto="1s", auth="require", auth_key_file=self.fifo())
        code, text = self.check(self.lab.write_node(1, [link], log=False))
        self.assertEqual(code, 2)
        self.assertIn("auth.key_file: ", text)
        self.assertIn("/pipe: a pipe, not a regular file", text)
        code, text = self.check(self.fifo())
        self.assertEqual(code, 2)
        self.assertIn("/pipe: is a pipe, and nobody writes to it", text)
        code, text = self.run_check(*self.station("")[:3], self.fifo())
        self.assertEqual(code, 2)
        self.assertIn("/pipe: is a pipe, and nobody writes to it", text)
        tls = {**keys, "tls.certificate": self.fifo()}
        code, text = self.run_check(*self.station("tls: required\n" + "".join(f"{key.replace('.', '_')}: {tls[key]}\n" for key in tls)))
        self.assertEqual(code, 2)
        self.assertRegex(text, "tls_certificate: .*/pipe: a pipe, not a regular file")

    def test_places(self):
        """What the start would make: the directory is there, and nothing else has the name. Nothing is made."""
        with open(self.lab.path("file"), "w", encoding="utf-8"):
            pass
        os.mkdir(self.lab.path("folder"))
        tcp = {"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "tls": "off", "remote": "127.0.0.1:1"}
        ltp = {**self.lab.link(2, 1111, 1112, rto="1s"), "frames": "aos", "frames.port": "file", "rate": "1Mbit/s"}
        for link, key, says in ((tcp, "local_path", "is there and is no socket"), (ltp, "frames.record", "is a directory")):
            for name, why in (("none/x", f"the directory {self.lab.path('none')} does not exist"), ("file/x", f"{self.lab.path('file')} is not a directory"),
                              ("file" if key == "local_path" else "folder", says)):
                code, text = self.check(self.lab.write_node(1, [{**link, key: self.lab.path(name)}], log=False))
                self.assertEqual(code, 2, text)
                self.assertRegex(text, rf"node1.yaml:\d+: links\[to-2\].{key}: .*{why}")
            self.assertEqual(self.check(self.lab.write_node(1, [{**link, key: self.lab.path("new")}], log=False)), (0, ""))
        for key, name, why in (("record", "none/x", "does not exist"), ("record", "file", "is no directory"), ("status", "folder", "is no socket"),
                               ("control", "none/x", "does not exist"), ("record", "new", ""), ("record", "folder", "")):
            line = f"{key}: {self.lab.path(name)}"
            code, text = self.run_check(*(self.station(line + "\n") if key != "record" else self.station("", line)))
            self.assertEqual(code, 2 if why else 0, text)
            self.assertIn(why, text)
        self.assertEqual([name for name in ("new", "none") if os.path.exists(self.lab.path(name))], [])

    def test_configuration_from_a_pipe(self):
        """<(COMMAND) of a shell."""
        path = self.lab.write_node(1, [], log=False)
        code, text = self.run_check("bash", "-c", f"'{self.lab.program('heliod')}' --check <(sleep 0.3; cat '{path}')")
        self.assertEqual((code, text), (0, ""))

    def test_plan(self):
        plan = self.lab.path("plan.txt")
        path = self.lab.write_node(1, [], log=False, extra=f"plan: {plan}\n")
        code, text = self.check(path)
        self.assertEqual(code, 2)
        self.assertIn("plan.txt: cannot be read: No such file or directory", text)
        with open(plan, "w", encoding="utf-8") as f:
            f.write("a contact +0 soon 1 2 1000000\n")
        code, text = self.check(path)
        self.assertEqual(code, 2)
        self.assertIn("plan.txt:1: ", text)
        code, text = self.run_check(self.lab.program("heliod"), path)  # at a start, as with --check
        self.assertEqual(code, 2, text)
        self.assertIn("plan.txt:1: ", text)
        with open(plan, "w", encoding="utf-8") as f:
            f.write("a contact +0 +100000 1 2 1000000\na range +0 +100000 1 2 1\n")
        self.assertEqual(self.check(path), (0, ""))
        with open(plan, "w", encoding="utf-8") as f:  # one that has begun is not over
            f.write("a contact 2020/01/01-00:00:00 2090/01/01-00:00:00 1 2 1000000\na range 2020/01/01-00:00:00 2090/01/01-00:00:00 1 2 1\n")
        self.assertEqual(self.check(path), (0, ""))
        with open(plan, "w", encoding="utf-8") as f:
            f.write("a contact 2020/01/01-00:00:00 2020/01/02-00:00:00 1 2 1000000\na range 2020/01/01-00:00:00 2020/01/02-00:00:00 1 2 1\n")
        code, text = self.check(path)
        self.assertEqual(code, 0)
        self.assertRegex(text, r"^.*plan.txt: warning: plan: all contacts are in the past; its dates are UTC\n$")
        code, text = self.check(self.lab.write_node(1, [], log=False, extra=f"plan: {self.fifo()}\n"))
        self.assertEqual(code, 2)
        self.assertIn("/pipe: cannot be read: a pipe, not a regular file", text)

    def test_addresses_that_may_be_shared(self):
        """UDP and TCP have ports of their own, as have two addresses; links with frames have a virtual channel each."""
        ltp, udp = self.lab.link(2, 1111, 1112, rto="1s"), {"name": "u", "adapter": "udp", "peer": "ipn:3.0", "local": "127.0.0.1:0", "remote": "127.0.0.1:9"}
        tcp = {"name": "t", "adapter": "tcpcl", "peer": "ipn:4.0", "local": "127.0.0.1:1111"}
        framed = [{**self.lab.link(n, 1111, 1112, rto="1s"), "frames": "aos", "frames.vcid": n} for n in (2, 3)]
        for links in ((ltp, tcp, udp), (ltp, {**udp, "local": "127.0.0.2:1111"}, {**udp, "name": "v"}), framed, (ltp, {**tcp, "local": "0.0.0.0:1111", "tls": "off"}),
                      ({**framed[0], "frames.port": "connect"}, {**udp, "local": "127.0.0.1:1111"})):
            code, text = self.check(self.lab.write_node(1, list(links), log=False))
            self.assertEqual((code, [line for line in text.splitlines() if "warning: links[t].tls: listens at 0.0.0.0" not in line]), (0, []), links)

    def test_notes_of_right_files(self):
        """There are none."""
        folder = self.lab.path("keys")
        os.mkdir(folder, 0o700)
        with open(os.path.join(folder, "a"), "w", opener=lambda path, flags: os.open(path, flags, 0o600), encoding="ascii") as f:
            f.write("id: k\nalgorithm: hmac-sha-256\nkey: " + "0f" * 32 + "\n")
        rules = "".join(f"  - {{role: {role}, from: '{of}', context: bib-hmac-sha2, key: k}}\n"
                        for role, of in (("source", "ipn:1.*"), ("source", "*"), ("source", "ipn:[1-3].7"), ("source", "ipn:2.*|ipn:1.5"), ("source", "dtn:none"), ("verifier", "ipn:2.*")))
        limits = "rules: [{peer: 'ipn:2.0', way: in, rate: 5, burst: 9, data_rate: 1Mbit/s, data_burst: 2MB}]\napplications: [{user: any, rate: 5, burst: 9}]\n"
        text = f"security_keys: {folder}\nsecurity:\n{rules}{limits}"
        self.assertEqual(self.check(self.lab.write_node(1, [], log=False, extra=text)), (0, ""))

    def test_files_of_cose_keys(self):
        """A COSE_KeySet in the folder: its keys serve rules by their kid; an error names the file and the key."""
        folder = self.lab.path("cose")
        os.mkdir(folder, 0o700)
        sign = bytes.fromhex("a4010402446d616373" "0306" "205830") + bytes(range(48))
        seal = bytes.fromhex("a401040242ff01" "0303" "205820") + bytes(range(32))
        rules = "".join(f"  - {{role: source, context: {context}, key: {key}}}\n" for context, key in (("bib-cose", "macs"), ("bcb-cose", "ff01")))
        store = f"{{path: {self.lab.path('store')}, durability: async}}"
        path = self.lab.write_node(1, [], log=False, store=store, extra=f"security_keys: {folder}\nsecurity:\n{rules}")
        file = os.path.join(folder, "set.cbor")
        for keys, says in ((b"\x82" + sign + seal, None),
                           (b"\x82" + sign + seal.replace(b"\x03\x03", b"\x03\x18"), "it begins as CBOR, but is no COSE_Key"),
                           (b"\x82" + sign + seal.replace(b"\x03\x03", b"\x03\x16"), "key 2 (kid h'ff01'): alg (3) is not implemented: write one such as"),
                           (b"\x82" + sign + sign.replace(b"\x03\x06", b"\x03\x03"), "key 2 (kid \"macs\"): k (-1): write as many bytes"),
                           (sign, "no key \"ff01\" to encrypt by COSE")):
            with open(file, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
                f.write(keys)
            code, text = self.check(path)
            self.assertEqual(code == 0, says is None, text)
            self.assertIn(f"{file}: {says}" if says and "no key" not in says else says or "", text)

    def test_ranges_of_rates(self):
        """0 is refused: only the word means no limit, and the keys say so."""
        keys = json.loads(subprocess.run((self.lab.program("heliod"), "--keys", "--json"), capture_output=True, check=True, timeout=60).stdout)
        rates = {f"{k['section']}.{k['key']}": (k["least"], k["word"]) for k in keys if k["type"] == "rate"}
        self.assertIn("ltp-udp.frames.replay_rate", rates)
        self.assertEqual(set(rates.values()), {(1, "unlimited")}, rates)
        for value, says in (("0", "write a rate with its unit"), ("1bit/s", ""), ("unlimited", ""), ("1001Gbit/s", "write a value from 1bit/s to 1000Gbit/s, or unlimited")):
            code, text = self.check(self.lab.write_node(1, [self.lab.link(2, 1111, 1112, rto="1s", rate=value)], log=False))
            self.assertEqual(code, 2 if says else 0, text)
            self.assertIn(says, text)

    def test_tunnels(self):
        """A tunnel's own bundles need a route that is not the tunnel: where there is none, a warning says so."""
        tunnel = {"name": "tunnel", "adapter": "bibe", "peer": "ipn:3.0", "local": "ipn:1.12", "remote": "ipn:3.12"}
        two, three = (self.lab.link(n, 1111, 1112 + n, rto="1s") for n in (2, 3))
        warning = (r"node1.yaml:\d+: warning: links\[tunnel\].remote: no other link leads to ipn:3.12, so all bundles of this link wait; "
                   r"write a route: routes: \[{to: ipn:3.12, via: LINK}\]\n$")
        plan = self.lab.path("plan.txt")
        with open(plan, "w", encoding="utf-8") as f:
            f.write("a contact +0 +100000 1 2 1000000\na range +0 +100000 1 2 1\n")
        for links, extra, warned in (((two, tunnel), "", True), ((two, tunnel), "routes: [{to: ipn:3.12, via: to-2}]\n", False),
                                     ((two, tunnel), "routes: [{to: ipn:4.*, via: to-2}, {to: ipn:3.*, via: tunnel}]\n", True), ((two, tunnel), "routes: [{to: '*', via: to-2}]\n", False),
                                     ((tunnel, three), "", False), ((tunnel,), "", True), ((tunnel,), f"plan: {plan}\n", False)):
            code, text = self.check(self.lab.write_node(1, list(links), log=False, extra=extra))
            self.assertEqual(code, 0, text)
            (self.assertRegex if warned else self.assertNotRegex)(text, warning, (links, extra))

    def test_times_of_certificates(self):
        """It is valid for 30 days."""
        keys = self.keys()
        node = (self.lab.program("heliod"), "--check", self.tls(**keys))
        station = self.station("tls: required\n" + "".join(f"{key.replace('.', '_')}: {keys[key]}\n" for key in keys))
        date = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
        for command in (node, station):
            for days, says in ((1, None), (20, f"one.pem: the certificate ends at {date}; write a new one"),
                               (40, f"one.pem: the certificate ended at {date}, and peers refuse it; write a new one"),
                               (-2, f"one.pem: the certificate is not valid before {date}, and peers refuse it until then")):
                code, text = self.run_check(*command, ahead=days * DAY)
                self.assertEqual(code, 0, text)
                if says is None:
                    self.assertNotIn("warning", text)
                else:
                    self.assertRegex(text, r"warning: .*tls[._]certificate: .*" + says)


if __name__ == "__main__":
    SHIM = sys.argv.pop(3)
    node_case.main("CheckTest")
