# SPDX-License-Identifier: Apache-2.0
"""Claims that an outside referee measured and that hold: unfinished lists, names of files, endpoint ids, orders at the control socket, refused transfers, ways back, threads; for security_claims.py."""
import contextlib
import csv
import hashlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import time

from security import nodes, wire
from security.claim import Claim, check
from security.nodes import Hosts, Node, Peer, until
from security.tcpcl import make_certificate

HIDDEN = {*map(chr, [*range(10), *range(11, 32), *range(0x7f, 0xa0), 0x202e, 0x2028, 0x2066])}


def tcpcl(hosts, **keys):
    return {"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "local": f"{hosts.node()}:4556", **keys}


@check
def unfinished_lists():
    """256 connections, each with a list of 1 MiB of extension items in SESS_INIT that is never finished."""
    hosts, held = Hosts(), []
    some = b"".join(b"\0" + struct.pack(">HH", 0x8001, 65535) + bytes(65535) for _ in range(15))
    with Node(hosts, {"links": [tcpcl(hosts)]}) as node:
        before = node.anonymous_kib()
        for k in range(256):
            s = socket.create_connection((hosts.node(), 4556), 5, (hosts.other(k % 8), 0))
            s.sendall(wire.contact() + b"\x07" + struct.pack(">HQQH", 0, 1 << 30, 1 << 30, 7) + b"ipn:9.0" + struct.pack(">I", 1 << 20) + some)
            held.append(s)
        until(lambda: node.link("to-2")["unidentified"] == 256, 5)
        each = (node.anonymous_kib() - before) / 256
        for s in held:
            s.close()
    yield Claim("memory of a connection with an unfinished list", "docs/limits.md", "memory of one; accepted in one turn", f"{each:.1f} KiB each", each <= 40)


@check
def odd_endpoints():
    """Endpoint ids with what terminals and tables obey: the log as JSON, the bundle log, helioctl's table."""
    hosts = Hosts()
    log = hosts.path("b.csv")
    ids = ["//x\x1b[31m/\n<3>y", "//a,b\"c/;=1+1", "//e\nvil/x", "//o\0k/x", "//\u202egnp/x", "//=cmd()/x", "//é/x"]
    with Node(hosts, {"log": {"bundles": log, "format": "json"}, "links": [tcpcl(hosts)]}) as node, Peer(hosts.node(), hosts.other(0)) as peer:
        for k, name in enumerate(ids):
            stamp = [time.time_ns() // 1000000 - wire.DTN_EPOCH_MS, k]
            primary = wire.block([7, 0, 1, wire.eid(1, 9), [1, name], [1, 0], stamp, 60000], 1)
            peer.send(wire.xfer(k + 1, b"\x9f" + primary + wire.cbor([1, 1, 0, 0, b"x"]) + b"\xff"))
            peer.outcome(k + 1, 5)
        node.ask("flush")
        table = subprocess.run([os.path.join(nodes.bin_dir, "helioctl"), "--socket", node.socket + ".ctl", "bundles"], capture_output=True, text=True, check=False).stdout
        lines = node.log().decode().splitlines()
        rows = pathlib.Path(log).read_bytes().decode()
    hidden = {hex(ord(c)) for c in HIDDEN & set(table + rows + "".join(lines))}
    objects = all(json.loads(line) for line in lines)
    columns = {len(row) for row in csv.reader(rows.split("\n")) if row}
    yield Claim("endpoint ids in logs and tables", "SECURITY.md", "shown escaped in the operator's log, text and JSON; it makes no line, priority or command",
                f"hidden characters {sorted(hidden)}, columns of a row {columns}", not hidden and objects and len(columns) == 1 and rows.count("\n") >= 3)


@check
def names_of_files():
    """helio-recv: names that leave the folder, or that a terminal obeys."""
    hosts = Hosts()
    folder = hosts.path("files")
    os.mkdir(folder)
    os.symlink(hosts.folder, os.path.join(folder, "link"))
    wrong = ["../up", "/abs", "a/../../x", "a//b", "", ".", "a/.", ".hidden", "x" * 256, "nl\nname", "del\x7f", "nul\0x", "esc\x1b[31m", ".helio-recv/x", "link/evil"]
    with Node(hosts, {"links": [tcpcl(hosts)]}) as node:
        with open(hosts.path("out"), "wb") as out, subprocess.Popen([os.path.join(nodes.bin_dir, "helio-recv"), "--socket", node.socket, "-o", folder], stdout=out, stderr=out) as recv:
            until(lambda: os.path.exists(os.path.join(folder, ".helio-recv")), 5)
            with Peer(hosts.node(), hosts.other(0)) as peer:
                for k, name in enumerate([*wrong, "rtl\u202egnp.exe"]):
                    octets, text = name.encode(), b"content"
                    sha = hashlib.sha256(text).digest()
                    number = hashlib.sha256(sha + struct.pack(">Q", len(text)) + octets).digest()[:16]
                    piece = b"HFIL\x01\x01\0\x01" + number + struct.pack(">QQ", len(text), 0) + sha + struct.pack(">IHHI", 0, len(octets), 0, 0) + octets + text
                    piece = piece[:80] + wire.crc(2, piece) + piece[84:]
                    peer.send(wire.xfer(k + 1, wire.bundle((1, 2001), payload=piece)))
                    peer.outcome(k + 1, 5)
            until(lambda: os.path.exists(os.path.join(folder, "rtl\u202egnp.exe")), 5)
            time.sleep(0.3)
            recv.terminate()
    made = sorted(os.path.relpath(os.path.join(place, f), hosts.folder) for place, _, files in os.walk(folder) for f in files if "/.helio-recv" not in place)
    said = pathlib.Path(hosts.path("out")).read_text(encoding="utf-8")
    yield Claim("names of files for helio-recv", "SECURITY.md", "names are escaped", ascii(made) + (", raw" if "\u202e" in said else ", escaped"),
                made == ["files/rtl\u202egnp.exe"] and "\u202e" not in said and not os.path.exists(hosts.path("evil")))


@check
def limit_of_file_sizes():
    """RLIMIT_FSIZE stops the store's first pages."""
    hosts = Hosts()
    node = Node(hosts, {"store": {"path": hosts.path("store")}, "links": [tcpcl(hosts)]}, wait=False, prefix=["prlimit", "--fsize=4096"])
    until(lambda: node.process.poll() is not None, 5)
    code, text = node.process.poll(), node.log().decode()
    node.stop()
    yield Claim("a start at a limit of file sizes", "SECURITY.md", "exit 1 with a message; no socket is left behind", f"ends with {code}: {text[:80]!r}", code == 1 and bool(text))


@check
def uplink_that_nobody_reads():
    """A pipe as the uplink of helio-sle, without a reader."""
    hosts = Hosts()
    os.mkfifo(hosts.path("up"))
    with open(hosts.path("station.yaml"), "w", encoding="ascii") as f:
        f.write(f"id: STATION\nlisten: {hosts.node()}:5100\nusers: [{{id: CENTRE}}]\n"
                f"instances: [{{id: sagr=1.spack=1.fsl-fg=1.cltu=cltu1, users: CENTRE, uplink: {hosts.path('up')}}}]\n")
    with subprocess.Popen([os.path.join(nodes.bin_dir, "helio-sle"), "provider", hosts.path("station.yaml")], stderr=subprocess.PIPE) as p:
        try:
            p.wait(3)
            code = p.returncode
        except subprocess.TimeoutExpired:
            p.terminate()
            code = f"none in 3 s, then {p.wait()}"
        text = p.stderr.read().decode()
    yield Claim("an uplink that is a pipe without a reader", "SECURITY.md", "exit 1 with a message; no socket is left behind", f"exit code {code}: {text[-80:]!r}", code == 1)


def unfinished_hello(size):
    """A ClientHello of some `size` octets, in records, without its last ten."""
    suites = size // 2 // 2 * 2
    extensions = b"\0\x2b\0\x03\x02\x03\x04\0\x0d\0\x04\0\x02\x04\x03\0\x0a\0\x04\0\x02\0\x1d\xaa\xaa" + struct.pack(">H", size // 2) + bytes(size // 2)
    hello = b"\x03\x03" + bytes(32) + b"\0" + struct.pack(">H", suites) + b"\x13\x01" * (suites // 2) + b"\x01\0" + struct.pack(">H", len(extensions)) + extensions
    hello = b"\x01" + len(hello).to_bytes(3, "big") + hello
    return b"".join(b"\x16\x03\x01" + struct.pack(">H", len(hello[k:k + 16384])) + hello[k:k + 16384] for k in range(0, len(hello), 16384))[:-10]


@check
def memory_of_unfinished_handshakes():
    """256 connections to each of four local addresses, from 64 addresses, each with a ClientHello that is never finished: a long one, and the longest that is accepted."""
    hosts, held = Hosts(), []
    key, certificate = make_certificate(hosts, "one", "ipn:1.0")
    tls = {"tls": "required", "tls_certificate": certificate, "tls_key": key, "tls_ca": certificate}
    more = [{"name": f"to-{n}", "adapter": "tcpcl", "peer": f"ipn:{n}.0", "local": f"{hosts.node()}:{4554 + n}", **tls} for n in (3, 4, 5)]
    with Node(hosts, {"store": {"durability": "none", "limit": "16MiB"}, "links": [tcpcl(hosts, **tls), *more]}) as node:
        for size in (130000, 16200):
            hello, peak = unfinished_hello(size), 0
            for k in range(1024):
                s = socket.create_connection((hosts.node(), 4556 + k // 256), 5, (hosts.other(k % 64), 0))
                with contextlib.suppress(ConnectionError):
                    s.sendall(wire.contact(1))
                    s.recv(6, socket.MSG_WAITALL)
                    s.sendall(hello)
                held.append(s)
                peak = max(peak, node.anonymous_kib() / 1024)
            until(lambda: node.anonymous_kib() > 80 << 10, 2)
            peak = max(peak, node.anonymous_kib() / 1024)
            waiting = sum(node.link(f"to-{n}")["unidentified"] for n in (2, 3, 4, 5))
            yield Claim(f"memory beside unfinished handshakes of {size} octets", "ARCHITECTURE.md", "stays below `bundles.total` (with `durability: none`: `store.limit`) and 64 MiB",
                        f"{peak:.0f} MiB, promised 16 + 64; {waiting} wait at four addresses", peak <= 16 + 64 and waiting <= 256 + 4)  # one more for each address
        for s in held:
            s.close()


@check
def secrets_of_added_links():
    """An administrator adds links with secrets, in order and not."""
    hosts = Hosts()
    ltp = f'{{adapter: ltp-udp, peer: "ipn:%d.0", local: "{hosts.node()}:%d", remote: "{hosts.other(0)}:1113", rto: 1s, '
    with Node(hosts, {"links": [tcpcl(hosts)]}) as node:
        node.ask("link-add", name="a", keys=ltp % (5, 1115) + 'auth: {cookie: "5ec2e70a"}}')
        node.ask("link-add", name="b", keys=ltp % (6, 1116) + 'cookie: "5ec2e70b", nonsense: 1}')
        node.ask("link-add", name="d", cookie="5ec2e70e")
        node.ask("link-set", name="to-2", keys={"cookie": "5ec2e70f"})
        node.ask("link-add", name="c", keys=ltp % (7, 1117) + 'frames: {mode: tm, port: sle}, sle: {raf: "sagr=1.spack=1.rsl-fg=1.raf=onlt1", '
                 'user: CENTRE, provider: STATION, auth: all, password: "5ec2e70c", provider_password: "5ec2e70d"}}')
        shown = [s for s in (f"5ec2e70{c}" for c in "abcdef") if s.encode() in node.log()]
    yield Claim("secrets of links that are added", "SECURITY.md", "keys, tokens and cookies are in no log, message, answer or argument", f"in the log: {shown}", not shown)


@check
def wrong_words_of_a_deletion():
    """A deletion with words of a wrong type, or that the node does not know, must delete nothing."""
    hosts, wrong = Hosts(), []
    with Node(hosts, {"links": [tcpcl(hosts)]}) as node, Peer(hosts.node(), hosts.other(0)) as peer:
        for k, words in enumerate(({"source": 7}, {"sorce": "ipn:2.7"}, {"source": None}, {"priority": 2}, {"state": False}, {"link": 5}, {"limit": 1}, {"key": "1"}, {"key": 1})):
            peer.send(wire.xfer(k + 1, wire.bundle((1, 9))))
            peer.outcome(k + 1, 5)
            answer = node.ask("delete", destination="*", **words)
            if answer["ok"]:
                wrong.append(f"{words}: {answer['deleted']} deleted")
    yield Claim("words of a deletion that are wrong", "docs/helioctl.md", "a wrong request (a word, a key, a pattern, a name that the node does not know)", "; ".join(wrong), not wrong)


def transfers_to(peer, answer, seconds):
    """When each transfer arrived that the peer was given, and answered by answer(number), within that time."""
    times, end = [], time.monotonic() + seconds
    while message := peer.wait(lambda m: m[0] == wire.XFER_SEGMENT and m[1] & wire.END, max(end - time.monotonic(), 0.01)):
        times.append(time.monotonic())
        peer.send(answer(message[2], len(message[3])))
    return times


@check
def transfers_that_the_peer_refuses():
    """A bundle for a peer that refuses each transfer of it, with each reason of RFC 9174."""
    tries = {}
    for reason, word in wire.REFUSE.items():
        hosts = Hosts()
        links = [tcpcl(hosts), {"name": "to-3", "adapter": "tcpcl", "peer": "ipn:3.0", "local": f"{hosts.node()}:4556"}]
        with Node(hosts, {"links": links}) as node, Peer(hosts.node(), hosts.other(0), "ipn:3.0") as peer, Peer(hosts.node(), hosts.other(1)) as source:
            source.send(wire.xfer(0, wire.bundle((3, 1), payload=b"text")))
            times = transfers_to(peer, lambda number, _, r=reason: struct.pack(">BBQ", wire.XFER_REFUSE, r, number), 2.5)
            gaps = [b - a for a, b in zip(times, times[1:])]
            tries[word] = (len(times), round(min(gaps, default=0), 2), node.ask("status")["bundles"])
    final = {"not acceptable", "extension failure"}
    good = all(count == 1 and held == 0 for word, (count, _, held) in tries.items() if word in final | {"completed"}) and all(
        2 <= count <= 6 and gap >= 0.2 and held == 1 for word, (count, gap, held) in tries.items() if word not in final | {"completed"})
    yield Claim("transfers that the peer refuses: how often, least pause, held", "docs/tcpcl.md", "the bundle does not use this link again", str(tries), good)


@check
def ways_back():
    """Bundles whose only route leads to the neighbour that brought them, by other adapters than TCPCL, and by a contact plan."""
    held = {}
    bundle = wire.bundle((9, 1))

    def play(name, link, give, **keys):
        hosts = Hosts()
        own = {"name": "to-2", "peer": "ipn:2.0", "local": f"{hosts.node()}:1113", "remote": f"{hosts.other(0)}:1113", **link}
        routes = {} if keys else {"routes": [{"to": "ipn:9.*", "via": "to-2"}]}
        if keys:
            pathlib.Path(hosts.path("plan.yaml")).write_text(PLAN, encoding="ascii")
            keys = {"plan": hosts.path("plan.yaml")}
        with Node(hosts, {"links": [own], **routes, **keys}) as node:
            give(hosts)
            refused = until(lambda: sum(node.ask("counters")["agent"]["refused"].values()), 5)
            held[name] = (refused, node.ask("status")["bundles"])

    def datagram(octets):
        def give(hosts):
            with nodes.udp(hosts.other(0)) as s:
                s.sendto(octets, (hosts.node(), 1113))
        return give

    def stream(hosts):
        with socket.create_connection((hosts.node(), 1113), 5, (hosts.other(0), 0)) as s:
            s.sendall(wire.head(2, len(bundle)) + bundle)
            time.sleep(0.3)

    play("ltp-udp", {"adapter": "ltp-udp", "rto": "200ms"}, datagram(wire.whole(2, 1, bundle)))
    play("udp", {"adapter": "udp"}, datagram(bundle))
    play("mtcp", {"adapter": "mtcp"}, stream)
    play("ltp-udp, a plan", {"adapter": "ltp-udp", "rto": "200ms"}, datagram(wire.whole(2, 1, bundle)), plan=True)
    yield Claim("bundles whose only route leads back, by adapter: refused, held", "SECURITY.md", "they are refused at once, and take no room", str(held),
                all(refused and kept == 0 for refused, kept in held.values()))


PLAN = """contacts:
  - {from: 1, to: 2, start: 0s, end: 1d, rate: 1Gbit/s, both: yes, owlt: 0s}
  - {from: 2, to: 9, start: 0s, end: 1d, rate: 1Gbit/s, owlt: 0s}
"""
USER = 54399  # nobody else's: the limit counts all processes of a user


@check
def starts_without_threads():
    """As a user that may have few processes (RLIMIT_NPROC): the threads of the store, the log and the HTTP server fail, each in turn."""
    ends = {}
    for limit in range(12):
        hosts = Hosts()
        os.chown(hosts.folder, USER, USER)
        keys = {"store": {"path": hosts.path("store")}, "http": {"listen": f"{hosts.node()}:9464"}, "log": {"bundles": hosts.path("bundles.csv")}}
        node = Node(hosts, keys, wait=False, prefix=["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "prlimit", f"--nproc={limit}"])
        os.chown(node.file, USER, USER)
        until(lambda n=node: n.process.poll() is not None or n.answers(), 20)
        code, text = node.process.poll(), node.log()
        node.stop()
        ends[limit] = "starts" if code is None else code if text.strip() else f"{code}, silent"
    yield Claim("starts of a user with at most 0 to 11 processes", "SECURITY.md", "exit 1 with a message; no socket is left behind", str(ends),
                set(ends.values()) == {1, "starts"})
