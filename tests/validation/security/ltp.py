# SPDX-License-Identifier: Apache-2.0
"""Claims about LTP over UDP, for security_claims.py."""
import itertools
import os
import random
import re
import time

from security import wire
from security.claim import Claim, check
from security.nodes import Hosts, Most, Node, drain, udp, until

PAGE = "docs/ltp-udp.md"
MIB = 1 << 20
HEADERS = 28  # UDP and IPv4
PORT = 1113


def link(hosts, **keys):
    return {"name": "to-2", "adapter": "ltp-udp", "peer": "ipn:2.0", "local": f"{hosts.node()}:{PORT}", "remote": f"{hosts.other(0)}:{PORT}", "rto": "1s", **keys}


def send(s, hosts, octets):
    s.sendto(octets, (hosts.node(), PORT))


def received(node):
    return node.link("to-2")["bundles_received"]


def verdicts(node):
    return node.link("to-2")["verdicts"]


@check
def amplification():
    """Six openings that cost the sender little, each in the name of an address of its own."""
    end = wire.data(77, 1, 1000000, b"x", checkpoint=5)
    cases = {"one octet": [wire.whole(70, 1, b"x")],
             "one octet of a block that goes on": [wire.data(71, 1, 0, b"x", checkpoint=5, end=False)],
             "50 sessions of one octet": [wire.whole(72, n, b"x") for n in range(50)],
             "the end of a long block": [end],
             "a checkpoint ten times": [wire.whole(74, 1, b"x")] * 10,
             "a cancel": [wire.segment(12, 75, 1, b"\x00")],
             "a report of nothing": [wire.segment(8, 76, 1, b"\x01\x00\x01\x00\x01\x00\x01")]}
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts, unknown_accept=64, rto="20ms")]}) as node:
        sockets = [udp(hosts.other(10 + k)) for k in range(len(cases))]
        for s, datagrams in zip(sockets, cases.values()):
            for datagram in datagrams:
                send(s, hosts, datagram)
        time.sleep(2)  # 20 retries of 20 ms
        worst, what = 0, ""
        for s, (name, datagrams) in zip(sockets, cases.items()):
            ratio = sum(len(d) + HEADERS for d in drain(s, 0.05)) / sum(len(d) + HEADERS for d in datagrams)
            if ratio >= worst:
                worst, what = ratio, name
            s.close()
        unsent = node.link("to-2")["unknown_unsent"]
    yield Claim("octets sent to an unknown sender's address, for each of its own", PAGE, "the node sends at most 3 times the bytes received from its address",
                f"at most {worst:.2f} ({what}); unsent {unsent}", 0 < worst <= 3 and unsent > 0)


@check
def unknown_sender():
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts)]}) as node, udp(hosts.other(1)) as s:
        for n in range(20):
            send(s, hosts, wire.whole(70, n, wire.bundle((1, 9))))
        until(lambda: verdicts(node).get("unknown_peer") == 20, 5)
        answers, counted = len(drain(s, 0.3)), verdicts(node).get("unknown_peer")
    yield Claim("an engine that no link names: counted and dropped", PAGE, "a segment of an unconfigured LTP engine is counted (`unknown_peer`) and dropped",
                f"{counted} of 20 counted, {answers} answers", counted == 20 and answers == 0)


@check
def source_address():
    hosts = Hosts()
    stranger, right, other_port = udp(hosts.other(1)), udp(hosts.other(0)), udp(hosts.other(0), 4000)
    with Node(hosts, {"links": [link(hosts)]}) as node:
        for n in range(500):
            send(stranger, hosts, wire.whole(2, n, wire.bundle((1, 9))))
        until(lambda: node.link("to-2")["source_refused"] == 500, 5)
        now = node.link("to-2")
        lines = re.findall(rb"link to-2: datagrams for peer ipn:2\.0 come from another address and are refused \(\d+ so far\): the latest from ([0-9.]+):1113, remote is "
                           rb"[0-9.]+:1113\. If the peer sends from there, write that as remote \(behind NAT: the address and port that are forwarded to it\), or source: any", node.log())
        yield Claim("datagrams in a peer's name from another address", PAGE, "So a link accepts only segments from the address of its `remote`",
                    f"{now['source_refused']} of 500 refused, {now['verdicts'].get('wrong_source')} wrong_source, {now['bundles_received']} bundles",
                    now["source_refused"] == 500 and now["verdicts"].get("wrong_source") == 500 and now["bundles_received"] == 0)
        yield Claim("their line of the log, with the address", PAGE, "shows the first one at once, then at most one line a minute",
                    f"{len(lines)} of 500", lines == [hosts.other(1).encode()])
        send(right, hosts, wire.whole(2, 1000, wire.bundle((1, 9))))
        send(other_port, hosts, wire.whole(2, 1001, wire.bundle((1, 9))))
        until(lambda: received(node) == 2, 5)
        yield Claim("source: address, any port", PAGE, "the address of `remote`, any port", f"{received(node)} of 2 bundles", received(node) == 2)
        node.ask("link-set", name="to-2", keys="source: exact")
        send(other_port, hosts, wire.whole(2, 1002, wire.bundle((1, 9))))
        time.sleep(0.3)
        refused = received(node)
        send(right, hosts, wire.whole(2, 1003, wire.bundle((1, 9))))
        until(lambda: received(node) == 3, 5)
        yield Claim("source: exact", PAGE, "the address and the port of `remote`", f"{refused - 2} from another port, {received(node) - refused} from the right one",
                    refused == 2 and received(node) == 3)
        node.ask("link-set", name="to-2", keys="source: any")
        send(stranger, hosts, wire.whole(2, 1004, wire.bundle((1, 9))))
        until(lambda: received(node) == 4, 5)
        yield Claim("source: any", PAGE, "every sender that knows the engine numbers can open sessions", f"{received(node) - 3} of 1 bundle", received(node) == 4)
    for s in (stranger, right, other_port):
        s.close()


@check
def counted_verdicts():
    """Random octets, changed segments, segments cut short: each has its verdict."""
    draw = random.Random(9174)
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts)]}) as node, udp(hosts.other(0)) as s:
        sent = 3000
        for n in range(sent):
            octets = bytearray(wire.whole(2, n, wire.bundle((1, 9))) if n % 3 else draw.randbytes(draw.randrange(1, 80)))
            if n % 3 == 1:
                octets[draw.randrange(12)] ^= 1 << draw.randrange(8)
            send(s, hosts, octets[:draw.randrange(1, len(octets) + 1)])
            if n % 50 == 0:
                time.sleep(0.002)
        until(lambda: node.link("to-2")["datagrams_rx"] == sent, 10)
        now = node.link("to-2")
        counted = sum(now["verdicts"].values())
        alive = node.answers()
    yield Claim("every datagram gets a verdict that is counted", "SECURITY.md", "Every datagram gets a verdict that is counted",
                f"{counted} verdicts, {sum(v > 0 for v in now['verdicts'].values())} kinds, of {now['datagrams_rx']} datagrams", alive and counted == now["datagrams_rx"] == sent)


@check
def import_sessions():
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts)]}) as node, udp(hosts.other(0)) as s:
        for n in range(3000):
            send(s, hosts, wire.data(2, n, 0, b"x"))
            if n % 50 == 0:
                time.sleep(0.001)
        until(lambda: node.link("to-2")["datagrams_rx"] == 3000, 10)
        time.sleep(0.02)
        now = node.link("to-2")
        begin = time.monotonic()
        send(s, hosts, wire.whole(2, 5000, wire.bundle((1, 9))))
        until(lambda: received(node) == 1, 5)
        took = time.monotonic() - begin
        there = received(node)
    open_now = now["span"]["current_import_sessions"]
    yield Claim("import sessions of one peer", PAGE, "A peer may have `limits.import_sessions` open, 1024 by default", f"{open_now} of 3000 openings", open_now == 1024)
    yield Claim("openings that never go on do not keep the peer out", PAGE, "it displaces one of the same peer's sessions", f"{there} of 1 bundle, after {took * 1000:.0f} ms",
                there == 1)


@check
def memory():
    limit = 32
    hosts = Hosts()
    store = {"durability": "none", "limit": f"{limit}MiB"}
    with Node(hosts, {"store": store, "links": [link(hosts)]}) as node, udp(hosts.other(0)) as s:
        octets = os.urandom(60000)
        with Most(node.anonymous_kib) as most, Most(lambda: node.ask("status")["arriving_bytes"]) as arriving:
            for session, offset in itertools.product(range(150), range(0, 16 * 60000, 60000)):
                send(s, hosts, wire.data(2, session, offset, octets))
                time.sleep(0.0002)
        tries = 0
        while not received(node) and tries < 10:  # an honest sender repeats its checkpoint
            send(s, hosts, wire.whole(2, 5000, wire.bundle((1, 9))))
            tries += 1
            until(lambda: received(node), 1)
        there = received(node)
    yield Claim(f"144 MB of LTP blocks without end, store.limit {limit} MiB: RssAnon", "ARCHITECTURE.md", "stays below `bundles.total` (with `durability: none`: `store.limit`) and 64 MiB",
                f"{most.most / 1024:.0f} MiB; arriving_bytes {arriving.most / MIB:.1f} MiB", most.most / 1024 < limit + 64 and MIB < arriving.most <= limit * MIB)
    yield Claim("an honest block of the same peer after that", "SECURITY.md", "the peer's honest blocks complete", f"{there} of 1, sent {tries} times", there == 1)


@check
def authentication():
    key, wrong = os.urandom(20), os.urandom(20)
    hosts = Hosts()
    with open(hosts.path("key"), "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as f:
        f.write(key.hex() + "\n")
    with Node(hosts, {"links": [link(hosts, auth="require", auth_key_file=hosts.path("key"))]}) as node, udp(hosts.other(0)) as s:
        def one(session, with_key):
            octets = wire.bundle((1, 9))
            content = b"\x01\x00" + wire.sdnv(len(octets)) + b"\x05\x00" + octets
            send(s, hosts, wire.authenticated(3, 2, session, content, with_key) if with_key else wire.segment(3, 2, session, content))
        one(1, None)
        one(2, wrong)
        until(lambda: sum(verdicts(node).values()) == 2, 5)
        kinds, before = verdicts(node), received(node)
        one(3, key)
        until(lambda: received(node) == 1, 5)
        line = b"it is not authenticated, and auth: require asks for that" in node.log()
        after = received(node)
    yield Claim("auth: require, HMAC-SHA1-80", PAGE, "is counted (`auth_bad`) and has no effect. With `require` the same holds for one without them (`auth_missing`)",
                f"missing {kinds.get('auth_missing')}, bad {kinds.get('auth_bad')}, bundles {before}; with the key {after}; log {'yes' if line else 'no'}",
                kinds.get("auth_missing") == kinds.get("auth_bad") == 1 and before == 0 and after == 1 and line)


@check
def cookies():
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts, cookie="00112233445566778899")]}) as node, udp(hosts.other(0)) as s:
        send(s, hosts, wire.whole(2, 1, wire.bundle((1, 9))))
        until(lambda: verdicts(node).get("bad_cookie"), 5)
        counted, there = verdicts(node).get("bad_cookie"), received(node)
        octets = wire.bundle((1, 9))
        content = b"\x01\x00" + wire.sdnv(len(octets)) + b"\x05\x00" + octets
        send(s, hosts, wire.segment(3, 2, 2, content, header=b"\x01\x0a" + bytes.fromhex("00112233445566778899"), header_count=1))
        until(lambda: received(node) == 1, 5)
        after = received(node)
    yield Claim("cookie", PAGE, "Segments without it are counted (`bad_cookie`) and have no effect", f"{counted} counted, {there} bundles; with it {after}",
                counted == 1 and there == 0 and after == 1)
