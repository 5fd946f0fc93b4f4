# SPDX-License-Identifier: Apache-2.0
"""Keys of bundle security in PKCS #11 tokens (SoftHSM): used, missing, pulled out and back.

usage: token_test.py BIN OUT SHIM [TEST...]
"""
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
import time

import aap2
import node_case
from node_case import NodeCase, wait_for

SHIM = sys.argv.pop(3)
MODULE = "/usr/lib/softhsm/libsofthsm2.so"
PIN = "83561947"


def rules(folder, role, context):
    return f"security_keys: {folder}\nsecurity:\n  - {{role: {role}, context: {context}, key: link}}\n"


class TokenTest(NodeCase):
    def setUp(self):
        super().setUp()
        self.top = tempfile.mkdtemp(prefix="helio-token-")
        self.addCleanup(shutil.rmtree, self.top)
        self.tokens = os.path.join(self.top, "softhsm", "tokens")
        os.makedirs(self.tokens, mode=0o700)
        conf, self.state = os.path.join(self.top, "softhsm.conf"), pathlib.Path(self.top, "state")
        pathlib.Path(conf).write_text(f"directories.tokendir = {self.tokens}\nlog.level = ERROR\n", encoding="ascii")
        for name, value in (("SOFTHSM2_CONF", conf), ("TOKEN_SHIM", str(self.state))):
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)
        self.run_tool("softhsm2-util", "--init-token", "--free", "--label", "ops", "--pin", PIN, "--so-pin", "12345678")
        self.secret = secrets.token_bytes(32)
        self.add("link", self.secret)

    @staticmethod
    def run_tool(*arguments):
        p = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
        assert p.returncode == 0, (arguments, p.stdout, p.stderr)

    def add(self, name, secret):
        """An AES key in the token."""
        path = pathlib.Path(self.top, "secret")
        path.write_bytes(secret)
        self.run_tool("pkcs11-tool", "--module", MODULE, "--token-label", "ops", "--login", "--pin", PIN, "--write-object", str(path),
                      "--type", "secrkey", "--key-type", f"AES:{len(secret)}", "--label", name)
        path.unlink()

    def keys(self, name, *files, pin=PIN):
        """A folder of key files: (algorithm, value) or (algorithm, value, more)."""
        folder = pathlib.Path(self.top, name)
        folder.mkdir(mode=0o700, exist_ok=True)
        files = {**{f"key{i}": f"id: link\nalgorithm: {a}\nkey: {value}\n" for i, (a, value) in enumerate(files)}, ".pin": f"{pin}\n"}
        for file, text in files.items():
            path = folder / file
            path.write_text(text, encoding="ascii")
            path.chmod(0o600)
        return str(folder)

    @staticmethod
    def uri(name="link", module=None, pin=".pin"):
        return f"pkcs11:token=ops;object={name}?module-path={module or SHIM}&pin-source={pin}"

    def set_state(self, word):
        self.state.write_text(word + "\n", encoding="ascii")

    def security(self, number):
        return self.lab.control(number, "security")["security"]

    def log(self, number):
        return pathlib.Path(self.lab.path(f"node{number}.log")).read_text(encoding="utf-8")

    def pair_of(self, extras):
        """Nodes 1 and 2 over TCPCL; node 2 listens."""
        port = self.lab.udp_ports(1)[0]
        for n, place in ((2, "local"), (1, "remote")):
            link = {"name": f"to-{3 - n}", "adapter": "tcpcl", "tls": "off", "peer": f"ipn:{3 - n}.0", place: f"127.0.0.1:{port}",
                    "reconnect": "50ms"}
            store = f"{{path: {self.lab.path(f'store{n}')}, durability: async}}"
            self.lab.start_node(n, self.lab.write_node(n, [link], log=False, extra=extras[n], store=store))
        return self.client(1, "ipn:1.5"), self.client(2, "ipn:2.7", subscribe=True)

    def exchange(self, sender, app, sizes=(0, 1, 1000, 100000)):
        for size in sizes:
            payload = secrets.token_bytes(size)
            self.assertEqual(sender.request("ipn:2.7", payload)[0], aap2.SUCCESS)
            self.assertEqual(app.delivery()[1], payload)

    def check_clean(self):
        """Neither the PIN nor the key is in a log, an answer or an argument."""
        args = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, timeout=60, check=True).stdout
        for n in (1, 2):
            text = self.log(n) + str(self.lab.control(n, "security")) + str(self.lab.control(n, "status")) + args
            self.assertNotIn(PIN, text)
            self.assertNotIn(self.secret.hex(), text)

    # ---- used ----

    def test_token_and_file(self):
        """The source has the key in a token, the acceptor in a file; in a sandbox, which permits the token's folder."""
        before = os.environ.get("ASAN_OPTIONS", "")
        self.addCleanup(os.environ.__setitem__, "ASAN_OPTIONS", before)
        os.environ["ASAN_OPTIONS"] = before + ":detect_leaks=0"  # it stops the process in a way that a sandbox does not permit
        for context, algorithm in (("bib-hmac-sha2", "aes-256-kw"), ("bcb-aes-gcm", "aes-256-kw"), ("bcb-aes-gcm", "aes-256-gcm")):
            one = self.keys(f"one {algorithm}", (algorithm, self.uri(module=MODULE)))
            two = self.keys(f"two {algorithm}", (algorithm, self.secret.hex()))
            sender, app = self.pair_of({1: f"sandbox: on\ntoken_files: {self.tokens}\n" + rules(one, "source", context),
                                        2: rules(two, "acceptor", context)})
            self.exchange(sender, app)
            self.assertEqual((self.security(1)["sourced"], self.security(2)["accepted"]), (4, 4))
            self.assertEqual([k["state"] for k in self.lab.control(1, "security")["keys"]], ["valid"])
            self.check_clean()
            sender.close()
            app.close()
            self.stop_all()
            for n in (1, 2):
                shutil.rmtree(self.lab.path(f"store{n}"))

    def test_uses_are_remembered(self):
        """Encryptions with a token's key count over a restart, which names it anew."""
        one = self.keys("one", ("aes-256-gcm", self.uri()))
        two = self.keys("two", ("aes-256-gcm", self.secret.hex()))
        sender, app = self.pair_of({1: rules(one, "source", "bcb-aes-gcm"), 2: rules(two, "acceptor", "bcb-aes-gcm")})
        self.exchange(sender, app)
        self.assertEqual(self.lab.control(1, "security")["keys"][0]["uses"], 4)
        self.lab.control(1, "reload")
        self.assertEqual(self.lab.control(1, "security")["keys"][0]["uses"], 4)
        name, process = self.lab.processes[-1]
        self.lab.stop(name, process)
        self.lab.start_node(1, self.lab.path("node1.yaml"))
        self.assertGreaterEqual(self.lab.control(1, "security")["keys"][0]["uses"], 4)

    # ---- pulled out ----

    def test_token_pulled_out(self):
        """Of the acceptor: bundles wait at their sender, nothing passes unverified; with the token they arrive."""
        one = self.keys("one", ("aes-256-kw", self.secret.hex()))
        two = self.keys("two", ("aes-256-kw", self.uri()))
        sender, app = self.pair_of({1: rules(one, "source", "bib-hmac-sha2"), 2: rules(two, "acceptor", "bib-hmac-sha2")})
        self.exchange(sender, app)
        self.set_state("removed")
        self.assertEqual(sender.request("ipn:2.7", b"waits")[0], aap2.SUCCESS)
        wait_for(lambda: self.security(2)["failed"]["token"] >= 1)
        wait_for(lambda: "1 keys cannot be used" in self.log(2))
        self.assertEqual([k["state"] for k in self.lab.control(2, "security")["keys"]], ["no token"])
        time.sleep(1)
        self.assertEqual(self.lab.control(2, "counters")["agent"]["delivered"], 4)
        self.assertEqual(self.lab.control(1, "status")["bundles"], 1)
        self.assertEqual(self.security(2)["failed"]["failed"], 0)
        self.set_state("")
        wait_for(lambda: "all tokens answer again" in self.log(2))
        self.assertEqual(app.delivery()[1], b"waits")
        self.assertEqual([k["state"] for k in self.lab.control(2, "security")["keys"]], ["valid"])
        self.assertEqual(self.log(2).count("cannot be used"), 1)
        self.exchange(sender, app)
        self.check_clean()

    def test_source_without_its_token(self):
        """A bundle that cannot be protected is refused to its application; a reload in that time changes nothing."""
        for context, algorithm in (("bib-hmac-sha2", "aes-256-kw"), ("bcb-aes-gcm", "aes-256-gcm")):
            self.set_state("")
            one = self.keys("one", (algorithm, self.uri()))
            two = self.keys("two", (algorithm, self.secret.hex()))
            sender, app = self.pair_of({1: rules(one, "source", context), 2: rules(two, "acceptor", context)})
            self.exchange(sender, app)
            self.set_state("removed")
            for _ in range(3):
                self.assertNotEqual(sender.request("ipn:2.7", b"refused")[0], aap2.SUCCESS)
            self.assertEqual((self.security(1)["failed"]["token"], self.security(1)["not_sent"]), (3, 3))
            wait_for(lambda: "keys cannot be used" in self.log(1))
            p = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "reload"], capture_output=True, text=True,
                               timeout=300, check=False)
            self.assertEqual(p.returncode, 1, p.stdout)
            self.assertIn('/one/key0:3: key: the token "ops" is not there', p.stdout)
            self.assertIn("rules and keys are as before", p.stdout)
            self.set_state("")
            wait_for(lambda: [k["state"] for k in self.lab.control(1, "security")["keys"]] == ["valid"])
            self.exchange(sender, app)
            self.assertEqual(self.lab.control(2, "counters")["agent"]["delivered"], 8)
            sender.close()
            app.close()
            self.stop_all()
            for n in (1, 2):
                shutil.rmtree(self.lab.path(f"store{n}"))

    # ---- wrong ----

    def test_wrong_entries(self):
        """The start and --check name file, line and key, and what would be right; nothing of the PIN."""
        rows = {
            "token": ("aes-256-kw", self.uri().replace("=ops", "=uplink"), "", 'the token "uplink" is not there; these are: "ops"'),
            "away": ("aes-256-kw", self.uri(), "removed", 'the token "ops" is not there'),
            "pin": ("aes-256-kw", self.uri(pin=".wrong"), "", 'the token "ops" does not accept the PIN in'),
            "nopin": ("aes-256-kw", self.uri(pin="/none/pin"), "", "/none/pin: "),
            "object": ("aes-256-kw", self.uri("other"), "", 'the token "ops" has no secret key of this object name'),
            "mechanism": ("aes-256-gcm", self.uri(), "mechanism", "no mechanism CKM_AES_GCM; an aes-256-kw key"),
            "module": ("aes-256-kw", self.uri(module="/none.so"), "", "the module /none.so cannot be used"),
            "value": ("aes-256-kw", f"pkcs11:token=ops;object=link?pin-value={PIN}", "", "write pin-source=FILE instead"),
            "length": ("aes-128-kw", self.uri(), "", "has not 16 bytes"),
        }
        for name, (algorithm, uri, state, text) in rows.items():
            folder = self.keys(name, (algorithm, uri))
            wrong = pathlib.Path(folder, ".wrong")
            wrong.write_text("11112222\n", encoding="ascii")
            wrong.chmod(0o600)
            self.set_state(state)
            context = "bcb-aes-gcm" if "gcm" in algorithm else "bib-hmac-sha2"
            config = self.lab.write_node(1, [], log=False, extra=rules(folder, "acceptor", context))
            for code, arguments in ((1, [config]), (2, ["--check", config])):
                p = self.heliod(*arguments)
                self.assertEqual(p.returncode, code, (name, p.stderr))
                self.assertIn(f"{folder}/key0:3: key: ", p.stderr, name)
                self.assertIn(text, p.stderr, name)
                for secret in (PIN, "11112222", self.secret.hex()):
                    self.assertNotIn(secret, p.stdout + p.stderr)
        self.set_state("")
        config = self.lab.write_node(1, [], log=False, extra=rules(self.keys("good", ("aes-256-kw", self.uri())), "acceptor", "bib-hmac-sha2"))
        self.assertEqual(self.heliod("--check", config).returncode, 0)


if __name__ == "__main__":
    node_case.main("TokenTest")
