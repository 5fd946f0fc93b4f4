# SPDX-License-Identifier: Apache-2.0
"""Claims about the process: files, sockets, roles, secrets, HTTP, the start, the tables of the pages; for security_claims.py."""
import contextlib
import glob
import json
import os
import pathlib
import re
import socket
import stat
import subprocess
import time

from security import nodes
from security.claim import TOP, Claim, check
from security.nodes import Hosts, Node, grouped, http, until
from security.tcpcl import make_certificate

PAGE = "docs/heliod.md"
NOBODY = 65534
READER, ADMIN = 64001, 64002  # groups without a name


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def program(name, *words, **more):
    return subprocess.run([os.path.join(nodes.bin_dir, name), *words], capture_output=True, text=True, timeout=30, check=False, **more)


@check
def permissions():
    for umask in (0, 0o077):
        hosts = Hosts()
        logs = {"segments": hosts.path("segments.csv"), "bundles": hosts.path("bundles.csv")}
        with Node(hosts, {"log": logs}, umask=umask, wait=False) as node:
            wider = set()
            paths = [node.socket, node.socket + ".ctl"]
            until(lambda: [wider.add(mode_of(p) & ~0o660) for p in paths if os.path.exists(p)] and node.answers(), 10)
            sockets, files = [f"{mode_of(p):04o}" for p in paths], [f"{mode_of(p):04o}" for p in logs.values()]
        yield Claim(f"sockets of a node with umask {umask:03o}", PAGE, "(0660), whatever the umask. They never have wider permissions, not even while the node makes them",
                    " ".join(sockets) + ("" if wider <= {0} else f", wider: {wider}"), sockets == ["0660"] * 2 and wider <= {0})
        yield Claim(f"logs of a node with umask {umask:03o}", PAGE, "Logs that the node makes have mode 0640", " ".join(files), files == ["0640"] * 2)
    hosts = Hosts()
    with Node(hosts, {"socket_mode": "0600", "control_mode": "0666", "socket_group": str(READER), "control_group": str(ADMIN)}) as node:
        have = [(f"{mode_of(p):04o}", os.stat(p).st_gid) for p in (node.socket, node.socket + ".ctl")]
    yield Claim("socket_mode, socket_group, control_mode, control_group", PAGE, "group of socket, by name or number", str(have),
                have == [("0600", READER), ("0666", ADMIN)])


CHANGES = [["link", "to-2", "down"], ["link", "set", "to-2", "retries=7"], ["link", "add", "x", "adapter=udp", "peer=ipn:9.0", "local=127.0.0.1:4999", "remote=127.0.0.1:4998"],
           ["link", "remove", "to-2"], ["route", "add", "ipn:7.*", "to-2"], ["delete", "destination=ipn:2.*"], ["cancel", "to-2", "1"],
           ["contact", "add", "from=1", "to=2", "start=10s", "end=70s", "rate=1Mbit/s"], ["plan", "reload"], ["reload"]]
QUESTIONS = [["status"], ["links"], ["sessions"], ["routes"], ["backlog"], ["bundles"], ["counters"]]


@check
def roles():
    hosts = Hosts()
    udp = {"name": "to-2", "adapter": "ltp-udp", "peer": "ipn:2.0", "local": f"{hosts.node()}:1113", "remote": f"{hosts.other(0)}:1113", "rto": "1s"}
    with Node(hosts, {"control_mode": "0666", "control_admin_group": str(ADMIN), "links": [udp]}) as node:
        def as_user(words, groups):
            return program("helioctl", "--socket", node.socket + ".ctl", *words, user=NOBODY, group=NOBODY, extra_groups=groups)
        answers = [as_user(words, []) for words in QUESTIONS]
        refused = [as_user(words, []) for words in CHANGES]
        log = node.log().decode()
        logged = log.count("control:")
        counted = node.ask("counters")
        wrong = [" ".join(w) for w, r in zip(CHANGES, refused) if r.returncode != 1]
        yield Claim("a reader asks", PAGE, "others who may open control only read", f"{sum(r.returncode == 0 for r in answers)} of {len(QUESTIONS)} answered",
                    all(r.returncode == 0 for r in answers))
        yield Claim("a reader asks for a change", PAGE, "All other users who may open the socket are readers; such a request of a reader ends with an error",
                    f"{len(CHANGES) - len(wrong)} of {len(CHANGES)} refused, {logged} in the log", not wrong and logged >= len(CHANGES) and "control_refused" in json.dumps(counted))
        done = as_user(CHANGES[0], [ADMIN])
        who = re.search(r"info: control: (\S+) \(uid 65534\), pid (\d+) changed: link \{\"name\": \"to-2\", \"state\": \"down\"\}", node.log().decode())
        yield Claim("a member of control_admin_group", PAGE, "Each change is in the operator's log with the user and the process", who.group(0) if who else done.stderr.strip(),
                    done.returncode == 0 and bool(who))
    hosts = Hosts()
    with Node(hosts, {}) as node:
        r = program("helioctl", "--socket", node.socket + ".ctl", "status", user=NOBODY, group=NOBODY, extra_groups=[])
        yield Claim("another user without the group", PAGE, "Both sockets are for the node's user and group", r.stderr.strip()[-60:], r.returncode == 1 and "owner and the members of its group" in r.stderr)


@check
def http_answers():
    token = "referee-token-0123456789"
    hosts = Hosts()
    here = hosts.node()
    with Node(hosts, {"http": {"listen": f"{here}:9464", "token": token}}) as node:
        def get(path="/metrics", host=here, extra=f"Authorization: Bearer {token}\r\n", method="GET"):
            return http(here, 9464, f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{extra}Connection: close\r\n\r\n".encode())
        for name, page, words, want, answers in (
                ("/metrics with the token", "docs/metrics.md", "must send `Authorization: Bearer TEXT`", 200, [get()]),
                ("/metrics, /api/links without, or with half of it", "docs/metrics.md", "must send `Authorization: Bearer TEXT`", 401,
                 [get(extra=""), get("/api/links", extra=""), get(extra=f"Authorization: Bearer {token[:-1]}\r\n"), get(extra=f"Authorization: Bearer {token}x\r\n")]),
                ("another Host", "docs/metrics.md", "Other names get 421", 421, [get(host="evil.example"), get("/api/links", host="evil.example"), get(host=here + ".evil.example")]),
                ("two Hosts, one behind a NUL, one on the next line", "SECURITY.md", "| 400 |", 400,
                 [get(host=f"{here}\r\nHost: evil.example"), get(host=f"{here}\x00evil.example"), get(host=f"{here}\r\n evil.example")]),
                ("Host: localhost", "docs/metrics.md", "if its Host header is `localhost`", 200, [get(host="localhost"), get(host="localhost:9464")]),
                ("POST, PUT, DELETE", "docs/metrics.md", "all methods but GET and HEAD are refused", 405, [get(method=m) for m in ("POST", "PUT", "DELETE")])):
            figures = any(b"heliograph_uptime" in body or b"to-2" in body for _, body in answers) and want != 200
            yield Claim(f"HTTP: {name}", page, words, " ".join(str(code) for code, _ in answers), all(code == want for code, _ in answers) and not figures)
        slow = [socket.create_connection((here, 9464), 5, (hosts.other(k % 10), 0)) for k in range(200)]
        for s in slow:
            with contextlib.suppress(OSError):
                s.sendall(b"GET /metrics HTTP/1.1\r\nHos")
        begin = time.monotonic()
        code = get()[0]
        took = time.monotonic() - begin
        yield Claim("a scrape beside 200 clients that say half a head", "SECURITY.md", "a scrape takes less than 1 s", f"{code} after {took * 1000:.0f} ms", code == 200 and took < 1)
        one = socket.create_connection((here, 9464), 5, (hosts.other(50), 0))
        one.settimeout(10)
        one.sendall(b"GET /metrics HTTP/1.1\r\nHos")
        begin = time.monotonic()
        with contextlib.suppress(OSError):
            while one.recv(1000):
                pass
        took = time.monotonic() - begin
        yield Claim("a head that never ends", "docs/metrics.md", "| its whole request has not arrived | 5 s |", f"ended after {took:.1f} s", 4 < took < 8 and node.answers())
        for s in (*slow, one):
            s.close()


@check
def keys_and_secrets():
    hosts = Hosts()
    key, cert = make_certificate(hosts, "one", "ipn:1.0")
    auth = hosts.path("auth.key")
    secret = os.urandom(20).hex()
    pathlib.Path(auth).write_text(secret + "\n", encoding="ascii")
    token, password = "secret-token-" + os.urandom(8).hex(), os.urandom(8).hex()
    tls = {"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "local": f"{hosts.node()}:4556", "tls": "required", "tls.certificate": cert, "tls.key": key, "tls.ca": cert}
    ltp = {"name": "to-3", "adapter": "ltp-udp", "peer": "ipn:3.0", "local": f"{hosts.node()}:1113", "remote": f"{hosts.other(0)}:1113", "rto": "1s", "auth": "require", "auth.key_file": auth,
           "cookie": password}
    config = {"node": "ipn:1.0", "socket": hosts.path("s"), "store": {"durability": "none"}, "http": {"listen": f"{hosts.node()}:9464", "token": token}, "links": [tls, ltp]}
    file = hosts.path("c.yaml")
    pathlib.Path(file).write_text(json.dumps(grouped(config), indent=1), encoding="ascii")
    said = ""
    for what, path, words in (("tls.key", key, "A private key (`tls.key`, `auth.key_file`) that all users may read or write is refused"),
                              ("auth.key_file", auth, "A private key (`tls.key`, `auth.key_file`) that all users may read or write is refused"),
                              ("a configuration with a token", file, None)):
        codes = {}
        for mode in (0o644, 0o602, 0o640):
            for p in (key, auth, file):
                os.chmod(p, mode if p == path else 0o600)
            r = program("heliod", "--check", file)
            said += r.stdout + r.stderr
            codes[mode] = r.returncode
            if mode == 0o644:
                started = program("heliod", file)
                said += started.stdout + started.stderr
        yield Claim(f"{what}: 0644, 0602, 0640; start with 0644", "docs/metrics.md" if words is None else PAGE, words or "A configuration with a token that all users may read is refused",
                    f"exit codes {codes[0o644]}, {codes[0o602]}, {codes[0o640]}; {started.returncode}", codes[0o644] == 2 and codes[0o640] == 0 and started.returncode == 2
                    and (words is None or codes[0o602] == 2))
    for p in (key, auth, file):
        os.chmod(p, 0o600)
    wrong = dict(config, http={"listen": f"{hosts.node()}:9464", "token": token, "nonsense": 1}, links=[tls, dict(ltp, cookie=password + "zz")])
    pathlib.Path(hosts.path("w.yaml")).write_text(json.dumps(grouped(wrong), indent=1), encoding="ascii")
    os.chmod(hosts.path("w.yaml"), 0o600)
    said += "".join(getattr(program("heliod", "--check", hosts.path("w.yaml")), stream) for stream in ("stdout", "stderr"))
    with Node(hosts, {k: v for k, v in config.items() if k != "socket"}, name="n") as node:
        for command in ("links", "status", "counters", "routes"):
            said += json.dumps(node.ask(command))
        said += pathlib.Path(f"/proc/{node.process.pid}/cmdline").read_text(encoding="ascii")
        said += http(hosts.node(), 9464, f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n".encode())[1].decode()
        said += http(hosts.node(), 9464, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong-token-0123456\r\nConnection: close\r\n\r\n")[1].decode()
        said += node.log().decode()
    private = "".join(pathlib.Path(key).read_text(encoding="ascii").splitlines()[1:-1])[:40]
    shown = [name for name, text in (("token", token), ("auth key", secret), ("cookie", password), ("private key", private)) if text in said]
    yield Claim("secrets in --check, mistakes, logs, arguments, control answers, metrics", "SECURITY.md", "keys, tokens and cookies are in no log, message, answer or argument",
                f"shown: {', '.join(shown) or 'none'} of 4", not shown)


@check
def unsafe_settings():
    hosts = Hosts()
    key, cert = make_certificate(hosts, "one", "ipn:1.0")
    base = {"node": "ipn:1.0", "socket": hosts.path("s"), "store": {"durability": "none"}}
    tcp = {"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0"}
    ltp = {"name": "to-2", "adapter": "ltp-udp", "peer": "ipn:2.0", "local": f"{hosts.node()}:1113", "remote": f"{hosts.other(0)}:1113", "rto": "1s"}
    for name, link, page, words, want in (
            ("TCPCL at 192.0.2.1 without tls", dict(tcp, local="192.0.2.1:4556"), "SECURITY.md", "a `local` address that other machines reach is an error without `tls: off` or certificates", 2),
            ("TCPCL at 0.0.0.0 without tls", dict(tcp, local="0.0.0.0:4556"), "SECURITY.md", "a `local` address that other machines reach is an error without `tls: off` or certificates", 2),
            ("TCPCL at 192.0.2.1, tls: off", dict(tcp, local="192.0.2.1:4556", tls="off"), "docs/tcpcl.md", "or `off`, which the node warns of when it starts", 0),
            ("certificates without tls", dict(tcp, local=f"{hosts.node()}:4556", tls_certificate=cert, tls_key=key, tls_ca=cert), "SECURITY.md", "certificates without `tls`", 2),
            ("auth.key_file without auth", dict(ltp, auth_key_file=key), "SECURITY.md", "and keys without `auth`, are errors", 2)):
        file = hosts.path("c.yaml")
        pathlib.Path(file).write_text(json.dumps(grouped(dict(base, links=[link]))), encoding="ascii")
        r = program("heliod", "--check", file)
        yield Claim(f"{name}: --check", page, words, f"exit code {r.returncode}", r.returncode == want)
    for name, link, words in (("TCPCL at 192.0.2.1, tls: off", dict(tcp, local="192.0.2.1:4556", tls="off"), "or `off`, which the node warns of when it starts"),
                              ("LTP at 0.0.0.0 without auth", dict(ltp, local="0.0.0.0:1999"), "a link at all addresses without `auth` is logged")):
        hosts = Hosts()
        with Node(hosts, {"links": [link]}) as node:
            lines = [line for line in node.log().decode().splitlines() if "warning" in line and ("tls" in line or "auth" in line)]
        yield Claim(f"{name}: the log", "docs/tcpcl.md" if "TCPCL" in name else "SECURITY.md", words, lines[0][25:100] if lines else "no warning", len(lines) == 1)


def left_behind(hosts):
    return [f for f in glob.glob(hosts.path("*")) if f.endswith((".sock", ".ctl"))]


@check
def failed_starts():
    """Each acquisition of the start, in the hands of another user."""
    rows = []

    def fails(name, hosts, keys, limit=None, may_start=False, kept=()):
        node = Node(hosts, keys, name="late", wait=False, prefix=["prlimit", limit] if limit else [])
        if not until(lambda: node.process.poll() is not None or (may_start and node.answers()), 20) or node.process.poll() is None:
            node.stop()
            if not may_start:
                rows.append((name, None, ""))
            return False
        text = node.log().decode("utf-8", "replace").strip()
        left = [f for f in left_behind(hosts) if f not in kept]
        rows.append((name, node.process.returncode, (text.splitlines() or [""])[-1] if not left else "left: " + " ".join(left)))
        return True

    ltp = lambda h, k: {"name": f"to-{k}", "adapter": "ltp-udp", "peer": f"ipn:{k}.0", "local": f"{h.node()}:{1110 + k}", "remote": f"{h.other(0)}:1113", "rto": "1s"}  # noqa: E731
    tcp = lambda h, k: {"name": f"to-{k}", "adapter": "tcpcl", "peer": f"ipn:{k}.0", "local": f"{h.node()}:{4550 + k}"}  # noqa: E731
    for name, kind, port, links in (("second link's UDP port", socket.SOCK_DGRAM, 1113, (ltp, 2, ltp, 3)), ("first link's UDP port", socket.SOCK_DGRAM, 1112, (ltp, 2, ltp, 3)),
                                    ("TCPCL's port behind a UDP link", socket.SOCK_STREAM, 4553, (ltp, 2, tcp, 3)),
                                    ("UDP port behind a TCPCL link", socket.SOCK_DGRAM, 1113, (tcp, 2, ltp, 3)), ("HTTP's port", socket.SOCK_STREAM, 9464, (tcp, 2, ltp, 3))):
        hosts = Hosts()
        with socket.socket(socket.AF_INET, kind) as s:
            s.bind((hosts.node(), port))
            if kind == socket.SOCK_STREAM:
                s.listen()
            fails(name, hosts, {"http": {"listen": f"{hosts.node()}:9464"}, "links": [links[0](hosts, links[1]), links[2](hosts, links[3])]})
    hosts = Hosts()
    first = {"store": {"path": hosts.path("store"), "durability": "async"}, "log": {"segments": hosts.path("seg.csv"), "bundles": hosts.path("b.csv")}, "links": [ltp(hosts, 2)]}
    with Node(hosts, first) as node:
        kept = (node.socket, node.socket + ".ctl")
        fails("another node's store", hosts, {"store": first["store"]}, kept=kept)
        fails("another node's segment log", hosts, {"log": {"segments": first["log"]["segments"]}}, kept=kept)
        fails("another node's bundle log", hosts, {"log": {"bundles": first["log"]["bundles"]}}, kept=kept)
        fails("another node's socket", hosts, {"socket": node.socket}, kept=kept)
        fails("another node's control socket", hosts, {"control": node.socket + ".ctl"}, kept=kept)
        alive = node.answers()
    hosts = Hosts()
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(hosts.path("unix"))
        s.listen()
        fails("local_path of TCPCL in use", hosts, {"links": [{"name": "u", "adapter": "tcpcl", "peer": "ipn:2.0", "local_path": hosts.path("unix")}]})
    fails("an address of another machine", Hosts(), {"links": [dict(ltp(Hosts(), 2), local="198.51.100.1:1113")]})
    for number in range(3, 80):  # files: one more with each step, until the node starts
        hosts = Hosts()
        keys = {"store": {"path": hosts.path("store"), "durability": "async"}, "log": {"segments": hosts.path("seg.csv"), "bundles": hosts.path("b.csv")},
                "http": {"listen": f"{hosts.node()}:9464"}, "links": [ltp(hosts, 2), tcp(hosts, 3)]}
        if not fails(f"file {number}", hosts, keys, f"--nofile={number}", True):
            break
    for number in range(8, 200, 6):  # MiB of address space
        hosts = Hosts()
        if not fails(f"{number} MiB of memory", hosts, {"http": {"listen": f"{hosts.node()}:9464"}, "links": [ltp(hosts, 2), tcp(hosts, 3)]},
                     f"--as={number << 20}", True):
            break
    # before main the C library itself ends the program, with 127 and a message of its own
    wrong = [f"{name}: {code} {text}"[:160] for name, code, text in rows if not (text and not text.startswith("left:") and (code == 1 or code == 127 and "error while loading" in text))]
    ours = sum(code == 1 for _, code, _ in rows)
    yield Claim("starts that fail: ports, sockets, store, logs, files, memory", "SECURITY.md", "exit 1 with a message; no socket is left behind",
                f"{ours} of {len(rows)} end with 1 and a message, {len(rows) - ours - len(wrong)} in the loader" + "".join("; " + w for w in wrong[:5]), not wrong and ours > 20)
    yield Claim("the node that had them", PAGE, "refuses to start and names the reason", "answers" if alive else "does not answer", alive)
    hosts = Hosts()
    pathlib.Path(hosts.path("file")).write_text("", encoding="ascii")
    codes = []
    for keys in ({"socket": hosts.path("no/such/s")}, {"socket": hosts.path("file")}, {"log": {"segments": hosts.path("no/such/log")}}, {"nonsense": 1}, {"socket_group": "no-such-group"}):
        with Node(hosts, keys, name="late", wait=False) as node:
            until(lambda n=node: n.process.poll() is not None, 10)
            codes.append(node.process.poll())
    yield Claim("missing folders, a file in the way, unknown keys and groups", PAGE, "is an error of the configuration (exit code 2)", f"exit codes {codes}", codes == [2] * 5)


@check
def applications():
    hosts = Hosts()
    with Node(hosts, {}) as node:
        control = []
        for _ in range(100):
            s = socket.socket(socket.AF_UNIX)
            s.connect(node.socket + ".ctl")
            control.append(s)
        time.sleep(0.2)
        alive = 0
        for s in control:
            s.setblocking(False)
            try:
                alive += bool(s.recv(1))
            except BlockingIOError:
                alive += 1
            except OSError:
                pass
        yield Claim("connections of the control socket", "docs/helioctl.md", "The node serves 32 connections at the same time", f"{alive} of 100; the next one {node.answers()}", alive == 32 and node.answers())
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            s.connect(node.socket + ".ctl")
            with contextlib.suppress(OSError):
                s.sendall(b'{"cmd": "' + b"x" * 40000 + b'"}\n')
            answer = b""
            with contextlib.suppress(OSError):
                answer = s.recv(1000)
        yield Claim("a request of 40,000 octets", "docs/helioctl.md", "A request has at most 32,768 bytes", answer.decode()[:80] or "ended", b'"ok": true' not in answer and node.answers())
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(40)
            s.connect(node.socket)
            begin = time.monotonic()
            with contextlib.suppress(OSError):
                while s.recv(1000):
                    pass
            took = time.monotonic() - begin
        yield Claim("an application that is not configured", PAGE, "A connection without a configuration after 30 s is ended", f"ended after {took:.1f} s", 29 < took < 35)


@check
def connections_of_a_user():
    """Of 512 one user may have three for each that is free: 384."""
    hosts = Hosts()
    with Node(hosts, {"socket_mode": "0666"}) as node, contextlib.ExitStack() as stack:
        mine = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(600)]
        for s in mine:
            s.connect(node.socket)
        time.sleep(0.5)
        open_now = 0
        for s in mine:
            s.setblocking(False)
            with contextlib.suppress(OSError):
                while s.recv(1000):
                    pass
                continue
            try:
                s.recv(1)
            except BlockingIOError:
                open_now += 1
            except OSError:
                pass
        other = subprocess.run(["python3", "-c", "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sys.argv[1]); print(b'ipn:1.0' in s.recv(100))", node.socket],
                               user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True, check=False, timeout=20).stdout.strip()
    yield Claim("connections of one user, of 600; another user's", "docs/limits.md", "connections (of one user: three for each free one; the last 64 for users with fewer than 8)", f"{open_now}; welcomed: {other}",
                open_now == 384 and other == "True")


@check
def confined():
    hosts, other = Hosts(), Hosts()
    plan = other.path("plan.yaml")
    pathlib.Path(plan).write_text("contacts: [{from: 1, to: verysecretword, start: 0s}]\n", encoding="ascii")
    with Node(hosts, {"sandbox": "off"}) as node:
        answer = node.ask("plan-reload", file=plan)
    yield Claim("plan-reload of a file that is no plan", "SECURITY.md", "errors name its lines, and quote nothing of it", answer.get("error", "")[-80:], not answer["ok"] and "verysecret" not in json.dumps(answer))
    with Node(hosts, {"sandbox": "on"}, name="confined") as node:
        status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{node.process.pid}/status").read_text(encoding="ascii").splitlines() if ":\t" in line)
        answer, log = node.ask("plan-reload", file=plan), node.log().decode()
    yield Claim("sandbox: on, system calls", PAGE, "Calls that are not in the list fail with EPERM", f"Seccomp {status['Seccomp']}, NoNewPrivs {status['NoNewPrivs']}", status["Seccomp"] == "2")
    if "Landlock" in log and "warning" in log:
        yield Claim("sandbox: on, without Landlock", PAGE, "or warns of what the kernel lacks", "the log warns", True)
    else:
        yield Claim("sandbox: on, a file elsewhere", PAGE, 'fails with "Permission denied" until the node is restarted', answer.get("error", "")[-60:], "ermission denied" in answer.get("error", ""))


# sections of heliod --keys, and the pages of their tables
PAGES = {"": PAGE, "store": PAGE, "bundles": PAGE, "routing": PAGE, "log": PAGE, "http": PAGE, "links": PAGE, "priorities": PAGE, "routes": PAGE, "endpoints": PAGE, "names": PAGE, "security": PAGE, "rules": PAGE, "applications": PAGE, "discovery": PAGE,
         "ltp-udp": "docs/ltp-udp.md", "tcpcl": "docs/tcpcl.md", "udp": "docs/udp.md", "stcp": "docs/stcp.md", "mtcp": "docs/stcp.md", "bibe": "docs/bibe.md"}
# rows of docs/limits.md, and the keys whose defaults stand in them, in their order
LIMITS = [("| parallel export sessions of a link |", ["ltp-udp.sessions"]), ("| import sessions: of one peer, of all |", ["ltp-udp.limits.import_sessions", "ltp-udp.limits.import_sessions_all"]),
          ("| bytes held by import sessions", ["ltp-udp.limits.held_bytes"]), ("| block length, gaps per session", ["bundles.max", "ltp-udp.limits.ranges", "ltp-udp.recovery.claims"]),
          ("| retransmissions of a checkpoint", ["ltp-udp.recovery.retries"]), ("| closed sessions remembered |", ["ltp-udp.limits.closed_sessions", "ltp-udp.limits.closed_time"]),
          ("| bundles, their bytes, those kept in memory", ["bundles.count", "store.limit", "bundles.memory", "bundles.total"]),
          ("| payloads that applications are sending", ["bundles.memory"]),
          ("| bundles in fragments at their destination", ["bundles.reassemblies", "bundles.fragments", "bundles.fragments_all"]),
          ("| reserved of these for each neighbour", ["bundles.reserve", "bundles.source", "bundles.endpoint", "bundles.lifetime_max"]), ("| reserved for each link", ["bundles.reserve_queues"]),
          ("| extension blocks of a bundle", ["bundles.extensions"]), ("| bytes on the medium", ["store.limit"]), ("| status reports a second", ["bundles.report_rate"]),
          ("| bundles that are arriving by links", ["bundles.total", "tcpcl.timers.transfer_idle"]),
          ("| TCPCL: connections whose peer", ["tcpcl.limits.unidentified", "tcpcl.limits.unidentified_address", "tcpcl.timers.timeout"]),
          ("| TCPCL: sessions of a link", ["tcpcl.sessions", "tcpcl.limits.held_bytes"]), ("| burst of a paced link", ["ltp-udp.pacing.burst"])]


def plain(cell):
    cell = re.sub(r"(?<=\d),(?=\d{3})", "", cell.strip("` ")).replace("\\|", "|").replace("µ", "u")
    return re.sub(r"(\d) ?(days|d)\b", r"\1d", re.sub(r"(\d) (?=[KMGT]?i?B\b|(?:ns|us|ms|s|min|h)\b)", r"\1", cell))


@check
def tables():
    defaults = {}
    for line in program("heliod", "--keys").stdout.splitlines():
        section, key, _, default, _ = line.split("\t")
        defaults[section, key] = default
    wrong, rows = [], 0
    for (section, key), default in defaults.items():
        text = pathlib.Path(TOP, PAGES[section]).read_text(encoding="utf-8")
        found = [[plain(c) for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.splitlines() if line.startswith(f"| `{key}` |")]
        shown = [cells[2] for cells in found if len(cells) > 3]
        rows += len(found)
        same = {"(required)": ("(required)", "required"), "(empty)": ("(empty)", "")}.get(default, (default,))
        if not set(shown) & {*same, *([""] if PAGES[section] == "docs/ltp-udp.md" and default == "(required)" else [])}:
            wrong.append(f"{section}.{key}: {default}, the page has {shown}")
    yield Claim(f"{len(defaults)} keys: defaults of heliod --keys and of the pages' tables", PAGE, "| key | type | default | meaning |", f"{len(wrong)} differ" + "".join("; " + w for w in wrong[:8]),
                not wrong and len(defaults) > 200)
    lines = pathlib.Path(TOP, "docs/limits.md").read_text(encoding="utf-8").splitlines()
    wrong, looked = [], 0
    for begin, keys in LIMITS:
        cells = [line.rstrip("| ").rpartition(" | ")[2] for line in lines if line.startswith(begin)]
        at, cell = 0, plain(cells[0]) if cells else ""
        for key in keys:
            looked += 1
            place = re.compile(rf"(?<![\w.]){re.escape(plain(defaults[tuple(key.split('.', 1))]))}(?!\w)").search(cell, at)
            if not place:
                wrong.append(f"{key}: {defaults[tuple(key.split('.', 1))]}, the row has {cell!r}")
                break
            at = place.end()
    yield Claim(f"{looked} defaults in docs/limits.md", "docs/limits.md", "can make grow has a limit", f"{len(wrong)} differ" + "".join("; " + w for w in wrong[:8]),
                not wrong)
