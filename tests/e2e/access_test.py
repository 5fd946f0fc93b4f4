# SPDX-License-Identifier: Apache-2.0
"""Who may use a node: permissions of its sockets, logs and keys; readers and administrators of the control socket, as other users
(so as root). usage: access_test.py BIN OUT [TEST...]"""

import json
import os
import socket
import stat
import struct
import subprocess

import aap2
import node_case
from node_case import NodeCase

OWNERS, READERS, ADMINS, NOBODY = 54301, 54302, 54303, 65534  # numbers that no account has


def run_as(user, group, groups, function):
    """What function() returns, in a process of that user; an object of JSON."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setgid(group)
            os.setuid(user)
            result = function()
        except OSError as e:
            result = {"errno": e.errno}
        os.write(write, json.dumps(result).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    os.waitpid(child, 0)
    return json.loads(text)


def access_list(user, may):
    """An access control list as the kernel has it: the owner and this user."""
    entries = (1, may, 0xffffffff), (2, may, user), (4, 0, 0xffffffff), (16, may, 0xffffffff), (32, 0, 0xffffffff)
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


class AccessTest(NodeCase):
    def mode(self, path):
        st = os.stat(path)
        return stat.S_IMODE(st.st_mode), st.st_gid

    def start(self, extra="", umask=0o022, **keys):
        before = os.umask(umask)
        try:
            process = self.single(extra=extra, **keys)[1]
        finally:
            os.umask(before)
        os.chmod(os.path.dirname(self.lab.socket(1)), 0o755)
        return process

    def ask(self, request, path=None):
        path = path or self.lab.socket(1) + ".ctl"

        def visit():
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(60)
                s.connect(path)
                s.sendall(json.dumps(request).encode() + b"\n")
                return json.loads(s.makefile().readline())
        return visit

    def log(self):
        with open(self.lab.path("node1.log")) as f:
            return f.read()

    def test_sockets(self):
        """The same whatever the umask."""
        for umask in (0, 0o027, 0o177):
            process = self.start(umask=umask)
            for path in (self.lab.socket(1), self.lab.socket(1) + ".ctl"):
                self.assertEqual(self.mode(path), (0o660, os.getegid()))
            self.lab.stop("node1", process)

    def test_sockets_as_configured(self):
        self.start(f"socket_mode: 0600\nsocket_group: {OWNERS}\ncontrol_mode: 666\ncontrol_group: {READERS}\n", umask=0o077)
        self.assertEqual(self.mode(self.lab.socket(1)), (0o600, OWNERS))
        self.assertEqual(self.mode(self.lab.socket(1) + ".ctl"), (0o666, READERS))

    def test_wrong_keys(self):
        for key, text in (("socket_mode: 0060", "socket_mode: \"0060\" is not understood"), ("control_mode: rw", "control_mode: \"rw\""),
                          ("control_mode: 01777", "control_mode:"), ("socket_group: no-such-group", "there is no group no-such-group"),
                          ("control_admin_group: no-such-group", "there is no group no-such-group")):
            done = self.heliod("--check", self.lab.write_node(1, [], extra=key + "\n"))
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)
            self.assertIn("node1.yaml:6", done.stderr)

    def test_logs(self):
        for umask in (0, 0o077):
            config = self.lab.write_node(1, [], log=("segments", "bundles"))
            before = os.umask(umask)
            process = self.lab.start_node(1, config)
            os.umask(before)
            for what in ("segments", "bundles"):
                path = self.lab.path(f"node1.{what}.csv")
                self.assertEqual(self.mode(path)[0], 0o640)
                os.chmod(path, 0o644)  # a log that is shared stays so
            self.lab.stop("node1", process)
            process = self.lab.start_node(1, config)
            for what in ("segments", "bundles"):
                self.assertEqual(self.mode(self.lab.path(f"node1.{what}.csv"))[0], 0o644)
                os.unlink(self.lab.path(f"node1.{what}.csv"))
            self.lab.stop("node1", process)

    def test_keys_of_others(self):
        """A private key that all users may read is none."""
        key = self.lab.path("auth.key")
        with open(key, "w") as f:
            f.write("00112233445566778899aabbccddeeff\n")
        link = self.lab.link(2, *self.lab.udp_ports(2), rto="100ms", auth="require", auth_key_file=key)
        config = self.lab.write_node(1, [link], log=False)
        for mode, good in ((0o644, False), (0o642, False), (0o660, True), (0o600, True)):
            os.chmod(key, mode)
            done = self.heliod("--check", config)
            self.assertEqual(done.returncode, 0 if good else 2, done.stderr)
            if not good:
                self.assertIn(f"{key}: all users may read or write it (mode {mode:03o}), and it is secret; chmod o= it", done.stderr)

    def test_endpoints_of_links(self):
        """A tunnel's own endpoint is no application's: it could send bundles within bundles in the name of any node."""
        def tunnel(number):
            return {"name": f"tun{number}", "adapter": "bibe", "peer": f"ipn:{number}.0", "local": f"ipn:1.{number}", "remote": f"ipn:{number}.12"}

        self.lab.start_node(1, self.lab.write_node(1, [tunnel(12)], log=False))
        for keys in ({}, {"subscribe": True}, {"secret": "x"}):
            c = self.client(1)
            c.send(aap2.config("ipn:1.12", **keys))
            status, text = c.answer()[:2]
            self.assertEqual(status, aap2.INVALID_REQUEST)
            self.assertIn("a link of the node has this endpoint", text)
        sends = self.client(1, "ipn:1.13")
        takes = self.client(1, "ipn:1.14", subscribe=True)
        self.assertEqual(sends.request("ipn:1.14", b"x")[0], aap2.SUCCESS)
        self.assertEqual(takes.delivery()[1], b"x")
        for number, code in ((13, 0), (14, 1)):  # a link that comes later takes it from one that sends, not from one that receives
            keys = [f"{key}={value}" for key, value in tunnel(number).items() if key != "name"]
            done = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "link", "add", f"tun{number}", *keys],
                                  capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        status, text = sends.request("ipn:1.14", b"y")[:2]
        self.assertEqual(status, aap2.INVALID_REQUEST)
        self.assertIn("a link of the node has this endpoint", text)

    def test_key_without_auth(self):
        """A key that would not be used is a mistake, not a link without authentication."""
        key = self.lab.path("auth.key")
        with open(key, "w") as f:
            f.write("00112233445566778899aabbccddeeff\n")
        os.chmod(key, 0o600)
        for keys, named in (({"auth.key_file": key}, "auth.key_file"), ({"auth": "off", "auth.key_file": key}, "auth.key_file"),
                            ({"auth.key_id": "one"}, "auth.key_id"), ({"auth.peer_key_file": key}, "auth.peer_key_file")):
            link = self.lab.link(2, *self.lab.udp_ports(2), rto="100ms", **keys)
            done = self.heliod("--check", self.lab.write_node(1, [link], log=False))
            self.assertEqual(done.returncode, 2, keys)
            self.assertIn(f"links[to-2].{named}: is given, and auth is off", done.stderr)

    def test_all_addresses_without_auth(self):
        """A warning at the start, once."""
        key = self.lab.path("auth.key")
        with open(key, "w") as f:
            f.write("00112233445566778899aabbccddeeff\n")
        os.chmod(key, 0o600)
        said = "listens at {}, at all addresses of this machine, without auth: "
        for local, keys, count, who in (("0.0.0.0", {}, 1, "anyone who can forge the address of remote can send"),
                                        ("0.0.0.0", {"source": "any"}, 1, "anyone who reaches it can send"),
                                        ("0.0.0.0", {"auth": "require", "auth.key_file": key}, 0, ""), ("127.0.0.1", {}, 0, "")):
            ports = self.lab.udp_ports(2)
            link = self.lab.link(2, *ports, rto="100ms", **keys)
            config = self.lab.write_node(1, [{**link, "local": f"{local}:{ports[0]}"}], log=False)
            process = self.lab.start_node(1, config)
            self.lab.stop("node1", process)
            self.assertEqual(self.log().count(said.format(f"{local}:{ports[0]}")), count, self.log())
            self.assertIn(who, self.log())
            os.unlink(self.lab.path("node1.log"))

    def test_files_in_the_place(self):
        """A file that is no socket where one is to be: a mistake of the configuration (2), by --check as well; one that is served by
        another program: a start that fails (1)."""
        for key, path in (("socket", self.lab.socket(1)), ("control", self.lab.socket(1) + ".ctl")):
            config = self.lab.write_node(1, [], log=False)
            for make in (lambda: open(path, "w").close(), lambda: os.mkdir(path)):
                make()
                for words in (("--check", config), (config,)):
                    done = self.heliod(*words)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(f"{key}: {path} is there and is no socket; write another path", done.stderr)
                os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
            with socket.socket(socket.AF_UNIX) as s:
                s.bind(path)
                s.listen()
                self.assertEqual(self.heliod("--check", config).returncode, 0)
                done = self.heliod(config)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"{path} is served by another program", done.stderr)
            os.unlink(path)

    def test_file_of_a_killed_program(self):
        """The file of a link's UNIX socket is there: the start fails (1). The message names the command that shows UNIX sockets."""
        path = self.lab.path("link.sock")
        config = self.lab.write_node(1, [{"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "local_path": path}], log=False)
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
        done = self.heliod(config)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"cannot listen at {path}", done.stderr)
        self.assertIn("the file is there. If ss -lxp shows no program at it, remove it", done.stderr)
        self.assertNotIn("another program uses it", done.stderr)

    def test_secrets_in_configurations(self):
        """A token or a password in a file that all users may read, or write: refused, with what would be right."""
        node = self.lab.write_node(5, [], log=False, extra="http: {listen: 1, token: 0123456789abcdef}\n")
        cookie = self.lab.write_node(6, [self.lab.link(2, 1, 2, rto="1s", cookie="5f0ac7")], log=False)
        frames = self.lab.path("frames.yaml")
        station = self.lab.path("secret-station.yaml")
        link = "adapter: ltp-udp, peer: ipn:2.0, local: 127.0.0.1:1, remote: 127.0.0.1:2, rto: 1s, frames: {mode: cltu, scid: 5, port: sle}"
        sle = "cltu: sagr=1.spack=1.fsl-fg=1.cltu=cltu1, user: USER, provider: STATION, auth: all"
        texts = {frames: f"node: ipn:1.0\nsocket: {self.lab.path('s')}\nstore: {{durability: none}}\nlinks:\n  - {{name: a, {link}, sle: {{{sle}, password: 'aa', provider_password: 'bb'}}}}\n",
                 station: "id: STATION\npassword: 'aa'\nusers: [{id: USER, password: 'bb'}]\nsources: [{name: a}]\n"
                          "instances: [{id: sagr=1.spack=1.rsl-fg=1.raf=onlt1, users: USER, source: a}]\n"}
        for path, text in texts.items():
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
        cases = ((["heliod", "--check", node], ["http.token"]), (["heliod", "--check", cookie], ["auth.cookie"]), (["heliod", "--check", frames], ["sle.password", "sle.provider_password"]),
                 (["helio-sle", "provider", "--check", station], ["password", "users.password"]))
        for command, keys in cases:
            for mode in (0o644, 0o604, 0o602, 0o640, 0o600):
                os.chmod(command[-1], mode)
                done = subprocess.run([self.lab.program(command[0]), *command[1:]], capture_output=True, text=True, timeout=300)
                refused = mode & 0o007 != 0
                self.assertEqual(done.returncode != 0, refused, (command, oct(mode), done.stderr))
                for key in keys:
                    self.assertEqual(f"{key}: it is secret, and all users may read or write this file (mode {mode:03o}); chmod o= it" in done.stderr,
                                     refused, (key, done.stderr))

    def test_secrets_of_links(self):
        """helioctl takes them from a file that not all users may read, not from its command line."""
        self.lab.start_node(1, self.lab.write_node(1, [], log=False))
        ports = self.lab.udp_ports(2)
        keys = {"adapter": "ltp-udp", "peer": "ipn:3.0", "local": f"127.0.0.1:{ports[0]}", "remote": f"127.0.0.1:{ports[1]}", "rto": "1s"}
        words = [self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", "link", "add", "to-3"]

        def add(*more):
            done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=300)
            return done.returncode, done.stderr
        for secret, key in (("auth.cookie=5ec2e70a", "auth.cookie"), ("cookie=5ec2e70a", "auth.cookie"), ("auth={mode: off, cookie: 5ec2e70a}", "auth.cookie"),
                            ("sle.password=5ec2e70a", "sle.password")):
            code, text = add(*(f"{k}={v}" for k, v in keys.items()), secret)
            self.assertEqual(code, 2, secret)
            self.assertIn(f"helioctl: {key} is secret, and all users can see a command line; write the keys in a file: link add to-3 FILE", text)
        path = self.lab.path("link.yaml")
        with open(path, "w", encoding="ascii") as f:
            f.write("".join(f"{k}: {v}\n" for k, v in keys.items()) + "auth: {cookie: 5ec2e70a}\n")
        os.chmod(path, 0o644)
        code, text = add(path)
        self.assertEqual(code, 2)
        self.assertIn("auth.cookie: it is secret, and all users may read or write this file (mode 644); chmod o= it", text)
        os.chmod(path, 0o640)
        self.assertEqual(add(path), (0, ""))
        self.assertNotIn("5ec2e70a", self.log())

    def test_passwords(self):
        """Not on a command line; in a file, which not all users may read, or in the environment."""
        path = self.lab.path("password")
        with open(path, "w") as f:
            f.write("aabb\n")
        words = [self.lab.program("helio-sle"), "user", "127.0.0.1:1", "--id", "USER", "--responder", "STATION",
                 "--instance", "sagr=1.spack=1.rsl-fg=1.raf=onlt1", "--authentication", "all", "--wait", "1s"]

        def said(*more, **variables):
            done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=300, env={**os.environ, **variables})
            return done.returncode, done.stderr
        for option in ("--password", "--responder-password"):
            self.assertEqual(said(option, "aabb")[0], 2)
        self.assertIn("needs --password-file", said()[1])
        os.chmod(path, 0o644)
        code, text = said("--password-file", path)
        self.assertEqual(code, 2)
        self.assertIn("it is secret; chmod o= it", text)
        os.chmod(path, 0o600)
        for run in (said("--password-file", path, "--responder-password-file", path),
                    said(HELIO_SLE_PASSWORD="aabb", HELIO_SLE_PEER_PASSWORD="aabb")):
            self.assertEqual(run[0], 1, run[1])  # nobody listens there
        self.assertIn("the variable HELIO_SLE_PASSWORD: ", said(HELIO_SLE_PASSWORD="xx")[1])

    # As other users

    def test_group(self):
        """Members of the group may, others not."""
        self.start(f"socket_group: {OWNERS}\ncontrol_group: {OWNERS}\n")
        status = self.ask({"cmd": "status"})
        self.assertEqual(run_as(NOBODY, NOBODY, [], status), {"errno": 13})
        self.assertTrue(run_as(NOBODY, OWNERS, [], status)["ok"])
        self.assertTrue(run_as(NOBODY, NOBODY, [1, OWNERS], status)["ok"])
        words = [self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "status"]
        done = run_as(NOBODY, NOBODY, [], lambda: subprocess.run(words, capture_output=True, text=True).stderr)
        self.assertIn("not permitted: it is for its owner and the members of its group", done)
        words = [self.lab.program("helio-ping"), "--socket", self.lab.socket(1), "-c", "1", "ipn:1.128"]
        done = run_as(NOBODY, NOBODY, [], lambda: list(map(str, (lambda p: (p.returncode, p.stderr))(subprocess.run(words, capture_output=True, text=True)))))
        self.assertEqual(done, ["1", f"helio-ping: {self.lab.socket(1)}: not permitted: it is for its owner and the members of its group, who need "
                                     "permission for its folder, too (ls -ld shows both)\n"])

    def test_group_of_others(self):
        """A socket is given to a group of its owner's; what the start could not do, --check reports."""
        config = self.lab.write_node(1, [], log=False, extra=f"socket_group: {OWNERS}\ncontrol_group: {READERS}\n")
        os.chmod(config, 0o644)
        words = [self.lab.program("heliod"), "--check", config]
        run = lambda: list(map(str, (lambda p: (p.returncode, p.stderr))(subprocess.run(words, capture_output=True, text=True))))
        self.assertEqual(run_as(0, 0, [], run)[0], "0")
        folder = os.path.dirname(self.lab.socket(1))
        os.chmod(folder, 0o755)
        code, text = run_as(NOBODY, READERS, [OWNERS], run)
        self.assertEqual(code, "2")
        self.assertRegex(text, rf"node1.yaml:\d+: socket: {folder} cannot be written: Permission denied")
        os.chown(folder, NOBODY, READERS)
        self.assertEqual(run_as(NOBODY, READERS, [OWNERS], run)[0], "0")
        code, text = run_as(NOBODY, NOBODY, [READERS], run)
        self.assertEqual(code, "2")
        self.assertRegex(text, rf"node1.yaml:\d+: socket_group: .*uid 65534.* is not a member of the group {OWNERS}")
        self.assertNotIn("control_group", text)

    def test_reader_with_the_configuration(self):
        """helioctl CONFIG needs no file but that: a user who may not read the node's key can ask the node."""
        key = self.lab.path("link.key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
            f.write("0f" * 20)
        link = dict(self.lab.link(2, *self.lab.udp_ports(2), rto="100ms"), **{"auth.mode": "require", "auth.key_file": key})
        config = self.lab.write_node(1, [link], log=False, extra=f"control_group: {READERS}\n")
        os.chmod(config, 0o644)
        self.lab.start_node(1, config)
        for folder in {os.path.dirname(self.lab.socket(1)), os.path.dirname(config)}:
            os.chmod(folder, 0o755)
        words = [self.lab.program("helioctl"), config, "--timeout", "60s"]
        ask = lambda *more: lambda: list(map(str, (lambda p: (p.returncode, p.stdout, p.stderr))(subprocess.run([*words, *more], capture_output=True, text=True))))
        code, out, err = run_as(NOBODY, READERS, [READERS], ask("links"))
        self.assertEqual((code, err), ("0", ""))
        self.assertIn("to-2", out)
        code, out, err = run_as(NOBODY, NOBODY, [], ask("links"))
        self.assertEqual(code, "1")
        self.assertTrue(err.startswith(f"helioctl: {self.lab.socket(1)}.ctl: not permitted: it is for its owner"), err)
        with open(config, "a", encoding="ascii") as f:
            f.write("no_such_key: 5\n")  # heliod refuses it; for helioctl it does not matter
        self.assertEqual(run_as(NOBODY, READERS, [READERS], ask("status"))[0], "0")

    def test_keys_of_another_user(self):
        """The folder security_keys: as install.md makes it, and as it must not be, with file, line and key."""
        folder = self.lab.path("keys")
        os.mkdir(folder, 0o700)
        with open(os.open(os.path.join(folder, "a"), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
            f.write("id: link\nalgorithm: hmac-sha-384\nkey: " + "0f" * 48 + "\n")
        config = self.lab.write_node(1, [], log=False, extra=f"security_keys: {folder}\nsecurity:\n  - {{role: source, context: bib-hmac-sha2, key: link}}\n")
        os.chmod(config, 0o644)
        base = os.path.dirname(config)
        os.chmod(base, 0o777)  # nosec: the check also looks whether the socket's folder can be written
        os.chmod(os.path.dirname(self.lab.socket(1)), 0o777)
        words = [self.lab.program("heliod"), "--check", config]
        run = lambda: list(map(str, (lambda p: (p.returncode, p.stderr))(subprocess.run(words, capture_output=True, text=True))))
        code, text = run_as(NOBODY, NOBODY, [], run)
        self.assertEqual(code, "2")
        self.assertRegex(text, rf"node1.yaml:\d+: security_keys: {folder}: .*uid {NOBODY}.* cannot read it: Permission denied; the folder and its files must be the node's user's")
        self.assertNotIn("make the folder", text)
        os.chown(folder, NOBODY, NOBODY)
        code, text = run_as(NOBODY, NOBODY, [], run)
        self.assertEqual(code, "2")
        self.assertIn(f"{folder}/a: Permission denied; chown it to the node's user", text)
        os.chown(os.path.join(folder, "a"), NOBODY, NOBODY)
        self.assertEqual(run_as(NOBODY, NOBODY, [], run)[0], "0")
        os.chmod(folder, 0o750)
        self.assertIn("other users may read or write it; chmod go= it", run_as(NOBODY, NOBODY, [], run)[1])
        for path, mode, may in ((os.path.join(folder, "a"), 0o400, 4), (folder, 0o500, 5)):  # as systemd gives a credential to a user
            os.chown(path, 0, 0)
            os.chmod(path, mode)
            os.setxattr(path, "system.posix_acl_access", access_list(NOBODY, may))
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), mode | may << 3)  # the list's mask
        self.assertEqual(run_as(NOBODY, NOBODY, [], run), ["0", ""])
        os.setxattr(os.path.join(folder, "a"), "system.posix_acl_access", access_list(READERS, 4))
        code, text = run_as(READERS, READERS, [], run)  # the folder is NOBODY's
        self.assertEqual((code, "other users may read or write it" in text), ("2", True), text)

    def test_roles(self):
        """Each change is an administrator's, and in the log with the administrator's name."""
        link = self.lab.link(2, *self.lab.udp_ports(2), rto="100ms")
        self.lab.start_node(1, self.lab.write_node(1, [link], log=False, extra=f"control_mode: 0666\ncontrol_admin_group: {ADMINS}\n"))
        os.chmod(os.path.dirname(self.lab.socket(1)), 0o755)
        changes = [{"cmd": "link", "name": "to-2", "state": "down"}, {"cmd": "delete", "key": 1}, {"cmd": "reload"},
                   {"cmd": "link-set", "name": "to-2", "keys": "{rto: 1s}"}, {"cmd": "link-remove", "name": "to-2"},
                   {"cmd": "route", "do": "add", "to": "ipn:9.*", "via": "to-2"}, {"cmd": "cancel", "link": "to-2", "session": "1"},
                   {"cmd": "link-add", "name": "x", "keys": "{}"}, {"cmd": "plan-reload"}, {"cmd": "contact", "do": "add", "keys": "{}"},
                   {"cmd": "range", "do": "add", "keys": "{}"}]
        for request in changes:
            answer = run_as(NOBODY, READERS, [READERS], self.ask(request))
            self.assertFalse(answer["ok"])
            self.assertIn(f"may ask this node, but not change it ({request['cmd']})", answer["error"])
            self.assertIn(f"members of the group {ADMINS} (control_admin_group)", answer["error"])
        self.assertEqual(self.log().count("was refused: "), len(changes))
        for request in ("status", "links", "sessions", "bundles", "backlog", "routes", "top", "counters"):
            self.assertTrue(run_as(NOBODY, READERS, [READERS], self.ask({"cmd": request}))["ok"])
        words = [self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "link", "to-2", "down"]
        done = run_as(NOBODY, READERS, [], lambda: list(map(str, (subprocess.run(words, capture_output=True, text=True).returncode,))))
        self.assertEqual(done, ["1"])
        self.assertNotIn("changed: ", self.log())
        users = ((0, 0, [], "root (uid 0)"), (NOBODY, ADMINS, [], "(uid 65534)"), (NOBODY, NOBODY, [1, 2, ADMINS], "(uid 65534)"))
        for n, (user, group, groups, name) in enumerate(users):
            state = ("down", "up")[n % 2]
            self.assertTrue(run_as(user, group, groups, self.ask({"cmd": "link", "name": "to-2", "state": state}))["ok"])
            line = [text for text in self.log().splitlines() if " changed: " in text][n]
            self.assertRegex(line, r"info: control: .*" + name.replace("(", r"\(").replace(")", r"\)") + r", pid \d+ changed: link ")
            self.assertIn(f'"state": "{state}"', line)
        self.assertTrue(run_as(0, 0, [], self.ask({"cmd": "link-set", "name": "to-2", "keys": "{rto: 200ms}"}))["ok"])
        self.assertFalse(run_as(0, 0, [], self.ask({"cmd": "link-set", "name": "to-2", "keys": "{cookie: 5ec2e7}"}))["ok"])
        self.assertFalse(run_as(0, 0, [], self.ask({"cmd": "link-set", "name": "to-2", "cookie": "5ec2e7"}))["ok"])
        self.assertIn(' changed: link-set {"name": "to-2", "keys": "rto: 200ms"}', self.log())
        self.assertIn(' failed: link-set {"name": "to-2", "keys": "cookie: ***"}', self.log())
        self.assertIn(' failed: link-set {"name": "to-2", "cookie": "***"}', self.log())
        self.assertNotIn("5ec2e7", self.log())

    def test_all_are_administrators(self):
        """Without the key: all who may open the socket."""
        link = self.lab.link(2, *self.lab.udp_ports(2), rto="100ms")
        self.lab.start_node(1, self.lab.write_node(1, [link], log=False, extra=f"control_group: {OWNERS}\n"))
        os.chmod(os.path.dirname(self.lab.socket(1)), 0o755)
        self.assertTrue(run_as(NOBODY, OWNERS, [], self.ask({"cmd": "link", "name": "to-2", "state": "down"}))["ok"])
        self.assertIn("(uid 65534), pid ", self.log())


if __name__ == "__main__":
    node_case.main("AccessTest")
