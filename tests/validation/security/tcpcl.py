# SPDX-License-Identifier: Apache-2.0
"""Claims about TCPCL and about what a bundle may ask of a node, for security_claims.py."""
import contextlib
import json
import re
import select
import socket
import ssl
import subprocess
import time

from security import wire
from security.claim import Claim, check
from security.nodes import Hosts, Most, Node, Peer, until

PAGE = "docs/tcpcl.md"
CODES = "answers a refused bundle with XFER_REFUSE. The reason is *no resources* if there is no room for it and it cannot wait (below). " \
        "It is *not acceptable* if the bundle is malformed, damaged or too long, and *unknown* for other reasons, such as a missing route"
MIB = 1 << 20


def link(hosts, **keys):
    return {"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "local": f"{hosts.node()}:4556", **keys}


def down(peer="ipn:3.0", **keys):
    """A link to nobody: what goes there stays."""
    return {"name": "away", "adapter": "tcpcl", "peer": peer, "remote": "127.0.0.99:9", "state": "down", **keys}


def outcome(hosts, octets, **more):
    with Peer(hosts.node()) as peer:
        peer.send(wire.xfer(1, octets, **more))
        return peer.outcome(1)


def here(**more):
    return wire.bundle((1, 9), **more)


@check
def refusals():
    """One transfer for each reason; each session goes on with a good one."""
    long = here(payload=bytes(30000))
    malformed = here()[:-9] + b"\x00" * 9
    cases = [("no route", [wire.bundle((77, 1))], {}, "unknown"),
             ("malformed", [malformed], {}, "not acceptable"),
             ("no bundle at all", [b"hello"], {}, "not acceptable"),
             ("wrong CRC-16 of the primary block", [here(wrong_crc=True)], {}, "not acceptable"),
             ("wrong CRC-32C of the primary block", [here(wrong_crc=True, crc_kind=2)], {}, "not acceptable"),
             ("too long (bundles.max)", [long], {}, "not acceptable"),
             ("a link's own limit (queue_bundles: 2)", [wire.bundle((3, 1)) for _ in range(3)], {}, "no resources"),
             ("an unknown critical transfer item", [here()], {"items": wire.item(0x7ff0, b"x", 1)}, "extension failure")]
    hosts = Hosts()
    with Node(hosts, {"bundles": {"max": "20kB"}, "links": [link(hosts), down(queue_bundles=2)]}) as node:
        for name, bundles, more, want in cases:
            with Peer(hosts.node()) as peer:
                for n, octets in enumerate(bundles):
                    peer.send(wire.xfer(n, octets, **more))
                was = peer.outcome(len(bundles) - 1)
                peer.send(wire.xfer(100, here()))
                goes_on = peer.outcome(100)
            yield Claim(f"XFER_REFUSE: {name}", PAGE, CODES, f"{was}; the next one {goes_on}", was == want and goes_on == "acknowledged")
        yield Claim("the node after all refusals", "SECURITY.md", "the node keeps running", "answers" if node.answers() else "does not answer", node.answers())


@check
def full_node():
    hosts = Hosts()
    with Node(hosts, {"bundles": {"count": 100}, "links": [link(hosts), down()]}) as node, Peer(hosts.node()) as peer:
        for n in range(200):
            peer.send(wire.xfer(n, wire.bundle((3, 1))))
        peer.wait(lambda m: m[0] == wire.XFER_REFUSE, 1)
        acks, refused = ({m[2] for m in peer.got if m[0] == kind} for kind in (wire.XFER_ACK, wire.XFER_REFUSE))
        held = node.ask("status")["bundles"]

        def all_there():
            node.ask("delete", destination="ipn:3.*")
            peer.wait(lambda m: False, 0.1)
            return len({m[2] for m in peer.got if m[0] == wire.XFER_ACK}) == 200
        later = until(all_there, 20)
    yield Claim("a full node (count: 100) stops reading and refuses nothing", PAGE, "A full node stops reading, and TCP's flow control stops the peer",
                f"{len(acks)} of 200 taken, {len(refused)} refused, {held} held", 0 < len(acks) <= 100 and not refused and held <= 100)
    yield Claim("and takes the rest when there is room", PAGE, "tried again until there is room", "200 of 200" if later else "not all", bool(later))


@check
def untrue_lengths():
    most = (1 << 64) - 1
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts)]}) as node:
        was = outcome(hosts, here(), flags=wire.START, items=wire.length_item(most))
        yield Claim("a transfer of 2^64-1 octets", "SECURITY.md", "transfers, segments and lists of extension items with untrue lengths, up to 2^64-1", was, was == "not acceptable")
        was = outcome(hosts, b"x" * 100, says=most)
        yield Claim("a segment of 2^64-1 octets", "SECURITY.md", "each is refused", was, was in ("not acceptable", "session ended: resource exhaustion"))
        was = outcome(hosts, here(), flags=wire.START, items=wire.length_item(10))
        yield Claim("data longer than their Transfer Length", PAGE, "a transfer that is longer than announced, or than this side accepts", was, was == "not acceptable")
        with Peer(hosts.node()) as peer:
            peer.send(wire.xfer(1, here(), items=b"".join(wire.item(0x7ff0, bytes(60000)) for _ in range(17))))
            was = peer.outcome(1)
        yield Claim("a list of extension items of 0.97 MiB", PAGE, "A list of extension items above 1 MiB ends the session", was, was == "acknowledged")
        with Peer(hosts.node()) as peer:
            peer.send(wire.xfer(1, here(), items=b"".join(wire.item(0x7ff0, bytes(60000)) for _ in range(18))))
            was, why = peer.outcome(1), peer.end_reason()
        yield Claim("a list of extension items of 1.03 MiB", PAGE, "ends the session with *resource exhaustion*; its transfer is refused first", f"{was}, then {why}",
                    was == "extension failure" and why == "resource exhaustion")
        yield Claim("the node after that", "SECURITY.md", "the node keeps running", str(outcome(hosts, here())), node.answers())


@check
def extension_blocks():
    def with_blocks(count, size=0):
        return here(extra=[(200, 2 + n, bytes(size)) for n in range(count)])
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts)]}):
        was = [outcome(hosts, with_blocks(count)) for count in (33, 1000, 20000)]
        yield Claim("33, 1,000 and 20,000 extension blocks", "docs/heliod.md", "bytes of the extension blocks of a neighbour's bundle, however many they are", ", ".join(was),
                    was == ["acknowledged"] * 3)
        was = outcome(hosts, with_blocks(5, 60000))
        yield Claim("300 kB of extension blocks (extensions: 256KiB)", "docs/heliod.md", "a bundle with more is refused", was, was == "not acceptable")
        was = outcome(hosts, with_blocks(4, 60000))
        yield Claim("240 kB of extension blocks", "docs/heliod.md", "bytes of the extension blocks of a neighbour's bundle, however many they are", was, was == "acknowledged")


def still_open(sockets):
    """Those that the node has not closed."""
    count = 0
    for s in sockets:
        readable = select.select([s], [], [], 0)[0]
        try:
            count += not readable or bool(s.recv(100, socket.MSG_DONTWAIT))
        except BlockingIOError:
            count += 1
        except OSError:
            pass
    return count


@check
def unidentified():
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts, timeout="8s")]}) as node:
        sockets = []

        def silent(address, count):
            for _ in range(count):
                s = socket.socket()
                s.bind((address, 0))
                s.connect((hosts.node(), 4556))
                sockets.append(s)
        silent(hosts.other(1), 200)
        until(lambda: still_open(sockets) <= 64, 3)
        time.sleep(0.1)
        one, shown = still_open(sockets), node.link("to-2")["unidentified"]
        yield Claim("connections of one address without a SESS_INIT", PAGE, "`limits.unidentified_address` | count | 64", f"{one} of 200 ({shown} shown)", one == shown == 64)
        for k in range(2, 8):
            silent(hosts.other(k), 70)
        until(lambda: still_open(sockets) <= 256, 5)
        time.sleep(0.1)
        every, shown = still_open(sockets), node.link("to-2")["unidentified"]
        yield Claim("connections of seven addresses without a SESS_INIT", PAGE, "`limits.unidentified` | count | 256", f"{every} of {len(sockets)} ({shown} shown)", every == shown == 256)
        begin = time.monotonic()
        was = outcome(hosts, here())
        took = time.monotonic() - begin
        yield Claim("a peer with an address of its own meanwhile", PAGE, "a peer with another address is not kept out", f"{was}, {took * 1000:.0f} ms",
                    was == "acknowledged" and took < 2)
        until(lambda: node.link("to-2")["unidentified"] == 0, 12)
        left = node.link("to-2")["unidentified"]
        yield Claim("all of them after `timeout`", PAGE, "from the beginning of a connection to an established session", f"{left} left", left == 0)
        for s in sockets:
            s.close()


@check
def idle_transfer():
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts, transfer_idle="1s")]}) as node, Peer(hosts.node()) as peer:
        peer.send(wire.xfer(1, b"\x9f" + bytes(99999), flags=wire.START, items=wire.length_item(100 * MIB)))
        peer.send(wire.xfer(1, bytes(50000), flags=0, says=90 * MIB))
        begin = time.monotonic()
        until(lambda: node.ask("status")["arriving_bytes"] >= 150000, 0.5)
        arriving = node.ask("status")["arriving_bytes"]
        yield Claim("150,000 octets of a transfer that says 100 MiB: arriving_bytes", PAGE, "octet by octet from the first one. Announced data does not", f"{arriving:,}",
                    150000 <= arriving < 300000)
        was = peer.outcome(1, 10)
        took = time.monotonic() - begin
        until(lambda: not node.ask("status")["arriving_bytes"], 2)
        now, left = node.link("to-2"), node.ask("status")["arriving_bytes"]
    yield Claim("a transfer that stands still (transfer_idle: 1s)", PAGE, "So is one that has not grown for `timers.transfer_idle`",
                f"{was} after {took:.1f} s; transfers_idle {now['transfers_idle']}, arriving_bytes {left}", was == "no resources" and 0.9 < took < 4 and now["transfers_idle"] == 1 and not left)


@check
def memory():
    limit = 64
    hosts = Hosts()
    with Node(hosts, {"store": {"durability": "none", "limit": f"{limit}MiB"}, "links": [link(hosts, peers=16)]}) as node, contextlib.ExitStack() as stack:
        peers = [stack.enter_context(Peer(hosts.node(), hosts.other(n), f"ipn:{20 + n}.0")) for n in range(12)]
        octets = b"\x9f" + bytes(MIB - 1)
        with Most(node.anonymous_kib) as most, Most(lambda: node.ask("status")["arriving_bytes"]) as arriving:
            for n in range(24):
                for peer in peers:
                    peer.send(wire.xfer(1, octets, flags=0 if n else wire.START))
                    peer.take(0.001)
        status = node.ask("status")
    yield Claim(f"288 MiB of transfers without end from twelve peers, store.limit {limit} MiB: RssAnon", "ARCHITECTURE.md",
                "stays below `bundles.total` (with `durability: none`: `store.limit`) and 64 MiB",
                f"{most.most / 1024:.0f} MiB; arriving_bytes {arriving.most / MIB:.1f} MiB", status["ok"] and most.most / 1024 < limit + 64 and MIB < arriving.most <= limit * MIB)


@check
def floods():
    cases = [("200 KEEPALIVE at once", b"\x04" * 200, PAGE, "more than two per second and 64 beyond that", "resource exhaustion"),
             ("60 KEEPALIVE at once", b"\x04" * 60, PAGE, "more than two per second and 64 beyond that", "goes on"),
             ("100 MSG_REJECT", b"\x06\x01\x07" * 100, PAGE, "more MSG_REJECT than this node sent messages (its contact header is one) and 16 beyond that", "resource exhaustion"),
             ("16 MSG_REJECT", b"\x06\x01\x07" * 16, PAGE, "more MSG_REJECT than this node sent messages (its contact header is one) and 16 beyond that", "goes on")]
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts)]}):
        for name, octets, page, words, want in cases:
            with Peer(hosts.node(), keepalive=30) as peer:
                peer.send(octets)
                was = peer.end_reason(1)
            yield Claim(name, page, words, was, was == want)
        with Peer(hosts.node()) as peer:
            peer.send(b"\x55")
            reject = peer.wait(lambda m: m[0] == wire.MSG_REJECT, 5)
            end = peer.end_reason(5)
        yield Claim("a message of unknown type", PAGE, "| a message of unknown type | MSG_REJECT, then the connection ends |",
                    f"{wire.REJECT.get(reject[1]) if reject else 'no reject'}, {end}", bool(reject) and reject[1:] == (1, 0x55) and end != "goes on")
        with Peer(hosts.node()) as peer:
            peer.send(wire.xfer(1, b"\x9f", flags=wire.START) + wire.xfer(2, here()))
            reject = peer.wait(lambda m: m[0] == wire.MSG_REJECT, 5)
            end = peer.end_reason(5)
        yield Claim("a START within a transfer", PAGE, "| a START within a transfer | MSG_REJECT and SESS_TERM |", f"{wire.REJECT.get(reject[1]) if reject else 'no reject'}, {end}",
                    bool(reject) and end not in ("goes on", "ended"))
        with Peer(hosts.node(), node="ipn:9.0") as peer:
            was = peer.end_reason(5)
        yield Claim("a peer that no link names, without `peers`", PAGE, "Otherwise it is refused (*contact failure*, `unknown_refused`)", was, was == "contact failure")


@check
def identity():
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts, peers=4)]}) as node:
        with Peer(hosts.node(), hosts.other(1)) as honest, Peer(hosts.node(), hosts.other(2)) as impostor, Peer(hosts.node(), hosts.other(3), "ipn:3.0") as sender:
            for n in range(50):
                sender.send(wire.xfer(n, wire.bundle((2, 9), (3, 7))))
            for peer in (honest, impostor):
                peer.wait(lambda m: False, 1)
            got = [sum(m[0] == wire.XFER_SEGMENT for m in peer.got) for peer in (honest, impostor)]
            contested, line = node.link("to-2")["contested"], b"to-2" in b"".join(x for x in node.log().splitlines() if hosts.other(2).encode() in x)
    yield Claim("a second host that says a peer's name", "SECURITY.md", "no bundle is sent over it, unless it comes from the link's `remote` or from the host that had the name",
                f"of 50 bundles {got[0]} to the first host, {got[1]} to the second; contested {contested}, log {'yes' if line else 'no'}",
                got[0] > 0 and got[1] == 0 and contested >= 1 and line)


FOREIGN = [b"ipn:9.0\n<3>2026-01-01 error: all is lost", b"dtn://a\x1b[31mred\x1b[0m/", "dtn://x\u202etxt.exe/".encode(), b"dtn://\xff\xfe/", b"dtn://\r\x07\x08\x7f\xc2\x9b/",
           "dtn://\u2066z\u2028\u200f/".encode()]
# controls, and what turns or breaks the line of a terminal (Unicode: Bidi_Control, Zl, Zp)
WRONG = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]")


@check
def foreign_text():
    for form in ("text", "json"):
        log = ""
        for name in FOREIGN:  # of several the log tells one
            hosts = Hosts()
            with Node(hosts, {"log": {"format": form}, "links": [link(hosts)]}) as node:
                with Peer(hosts.node(), node=name) as peer:
                    peer.end_reason(2)
                until(lambda n=node: n.log().count(b"\n") > 1, 2)
            log += node.log().decode("utf-8", "replace")
        lines = log.splitlines() if form == "json" else log.split("\n")[:-1]
        shown = sum("dtn:" in line or "ipn:9" in line for line in lines)
        bad = [line for line in lines if WRONG.search(line)]
        if form == "json":
            bad += [line for line in lines if WRONG.search(json.loads(line)["text"]) or set(json.loads(line)) != {"time", "level", "node", "text"}]
        else:
            bad += [line for line in lines if not re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S* (info|warning|error): ", line)]
        yield Claim(f"node ids with line ends, terminal sequences, overrides ({form})", "SECURITY.md", "it makes no line, priority or command",
                    f"{len(lines)} lines, {shown} with such names, {len(bad)} bad", not bad and shown == len(FOREIGN))


def make_certificate(hosts, name, node, issuer=None):
    """A certificate that names a node (RFC 9174 4.4.2), by itself or by another's key: the files of key and certificate."""
    key, cert = hosts.path(name + ".key"), hosts.path(name + ".pem")
    by = ["-CA", issuer[1], "-CAkey", issuer[0]] if issuer else []
    subprocess.run(["openssl", "req", "-x509", *by, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=" + name, "-addext",
                    f"subjectAltName=otherName:1.3.6.1.5.5.7.8.11;IA5:{node}", "-keyout", key, "-out", cert], check=True, capture_output=True)
    return key, cert


@check
def tls():
    hosts = Hosts()
    one, two, impostor = (make_certificate(hosts, name, node) for name, node in (("one", "ipn:1.0"), ("two", "ipn:2.0"), ("impostor", "ipn:2.0")))
    issued = make_certificate(hosts, "issued", "ipn:3.0", two)
    keys = {"tls": "required", "tls.key": one[0], "tls.certificate": one[1], "tls.ca": two[1], "peers": 4}

    def context(files):
        c = ssl.create_default_context(cafile=one[1])
        c.check_hostname = False
        if files:
            c.load_cert_chain(files[1], files[0])
        return c
    with Node(hosts, {"links": [link(hosts, **keys)]}) as node:
        for name, page, words, tls_context, says, want in (
                ("the pinned certificate", "docs/tcpcl.md", "file of the trusted CAs, or of peers' own certificates", context(two), "ipn:2.0", True), ("no TLS", "docs/tcpcl.md", "or else there is no session", None, "ipn:2.0", False),
                ("no certificate", "docs/tcpcl.md", "or else there is no session", context(None), "ipn:2.0", False),
                ("another certificate that names the peer", "SECURITY.md", "its peer is the one that the certificate names", context(impostor), "ipn:2.0", False),
                ("the pinned one, and another name", "SECURITY.md", "its peer is the one that the certificate names", context(two), "ipn:3.0", False),
                ("one that the pinned one issued for another node", "docs/tcpcl.md", "and none that it issued is accepted", context(issued), "ipn:3.0", False)):
            with Peer(hosts.node(), node=says, tls=tls_context) as peer:
                was = peer.established
            yield Claim(f"tls: required, {name}", page, words, "session" if was else "no session", was == want and node.answers())
