# SPDX-License-Identifier: Apache-2.0
"""Claims about what a bundle, or many of them, may ask of a node, for security_claims.py."""
import re
import time

from security import wire
from security.claim import Claim, check
from security.nodes import Hosts, Node, Peer, until
from security.tcpcl import down, here, link, outcome

MIB = 1 << 20


@check
def ended_ids():
    """8 MiB of bundles.total: an eighth is 20,164 ids of 52 octets."""
    eighth = MIB
    hosts = Hosts()
    with Node(hosts, {"bundles": {"total": "8MiB"}, "store": {"path": hosts.path("store"), "durability": "async"}, "links": [link(hosts)]}) as node, Peer(hosts.node()) as peer:
        made = [wire.bundle((1, 128), (2, 0), b"", crc_kind=1) for _ in range(30000)]

        def sent(number, octets):
            peer.send(wire.xfer(number, octets))
            peer.wait(lambda m: m[0] in (wire.XFER_ACK, wire.XFER_REFUSE) and m[2] == number, 60)
        for begin in range(0, len(made), 200):
            for n in range(begin, begin + 199):
                peer.send(wire.xfer(n, made[n]))
            sent(begin + 199, made[begin + 199])
        seen, counters = node.ask("status")["seen_bytes"], node.ask("counters")
        displaced = counters["agent"]["displaced"]
        delivered = counters["agent"]["delivered"]
        sent(30001, made[-1])
        same = node.ask("counters")["agent"]["delivered"]
        sent(30002, made[0])
        again = node.ask("counters")["agent"]["delivered"]
        line = until(lambda: re.search(rb"ids of ended bundles.*their limit", node.log()), 15)
    yield Claim("ids of 30,000 ended bundles, bundles.total 8 MiB", "SECURITY.md", "take at most an eighth of it", f"{seen:,} octets, displaced {displaced:,}",
                0 < seen <= eighth and displaced > 0)
    yield Claim("a duplicate of the latest; of the oldest, forgotten", "SECURITY.md", "a duplicate of such a bundle is delivered again",
                f"{same - delivered}; {again - same}; log {'yes' if line else 'no'}", same == delivered and again == same + 1 and bool(line))


@check
def route_back():
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts)], "routes": [{"to": "ipn:5.*", "via": "to-2"}]}) as node:
        was = outcome(hosts, wire.bundle((5, 1)))
        held = node.ask("status")["bundles"]
    yield Claim("a bundle whose only route leads back to its sender", "SECURITY.md", "they are refused at once, and take no room", f"{was}, {held} held", was == "unknown" and held == 0)


@check
def report_rate():
    hosts = Hosts()
    with Node(hosts, {"bundles": {"status_reports": "yes", "report_rate": 10}, "links": [link(hosts)]}) as node, Peer(hosts.node()) as peer:
        begin = time.monotonic()
        for n in range(300):
            peer.send(wire.xfer(n, here(flags=0x4000, report_to=(2, 9))))
        peer.wait(lambda m: False, 2)
        took = time.monotonic() - begin
        reports = sum(m[0] == wire.XFER_SEGMENT for m in peer.got)
        counters = node.ask("counters")
    limited = next(n for key, n in counters["agent"].items() if "report" in key and "limit" in key)
    yield Claim("status reports for 300 bundles (report_rate: 10)", "docs/heliod.md", "status reports a second, and as many at once; more are counted and not sent",
                f"{reports} in {took:.1f} s, {limited} counted", 10 <= reports <= 10 + 10 * took + 1 and reports + limited == 300)


@check
def shares():
    """Two neighbours fill the node, one after the other: of count: 1000 ten per cent are for the ways, of the rest 25 per cent for each party."""
    hosts = Hosts()
    links = [link(hosts), dict(link(hosts), name="to-3", peer="ipn:3.0")]
    taken = []
    with Node(hosts, {"bundles": {"count": 1000, "endpoint": 100}, "links": links}) as node:
        for k, name in enumerate(("ipn:2.0", "ipn:3.0")):
            with Peer(hosts.node(), hosts.other(k), name) as peer:
                for n in range(1000):  # from several sources: one has 95 per cent of the part
                    peer.send(wire.xfer(n, wire.bundle((1, 9), (2 + k, 7 + n % 10))))
                peer.wait(lambda m: False, 1.5)
                taken.append(len({m[2] for m in peer.got if m[0] == wire.XFER_ACK}))
        held = node.ask("status")["bundles"]
    yield Claim("the first neighbour's flood (count: 1000)", "docs/heliod.md", "each of these three parties always finds 75,000 places. None gets more than 750,000 plus the parts of the queues",
                f"{taken[0]} taken", 675 < taken[0] <= 775)
    yield Claim("the second neighbour after that", "docs/heliod.md", "each of these three parties always finds 75,000 places. None gets more than 750,000 plus the parts of the queues",
                f"{taken[1]} taken, {held} held", 75 <= taken[1] <= 125 and held <= 1000)


@check
def endpoint():
    """One neighbour's bundles for an endpoint that nobody registered: three quarters of the 95 per cent of one source of the 750 that it finds."""
    hosts = Hosts()
    links = [link(hosts), dict(link(hosts), name="to-3", peer="ipn:3.0")]
    with Node(hosts, {"bundles": {"count": 1000}, "links": links}) as node, Peer(hosts.node(), hosts.other(0), "ipn:2.0") as peer:
        for n in range(1000):
            peer.send(wire.xfer(n, wire.bundle((1, 9), (2, 7 + n % 10))))
        peer.wait(lambda m: False, 1.5)
        held = node.ask("status")["bundles"]
    yield Claim("a flood for an endpoint that nobody takes (count: 1000)", "docs/heliod.md", "they get at most this part of the room that the source may have", f"{held} held", 515 < held <= 535)


@check
def fragments():
    hosts = Hosts()
    with Node(hosts, {"bundles": {"fragments": 8, "reassemblies": 4}, "links": [link(hosts)]}) as node, Peer(hosts.node()) as peer:
        for n in range(20):
            peer.send(wire.xfer(n, here(payload=b"xx", stamp=(1000, 1), piece=(4 * n, 1000), lifetime_ms=10**12)))
        last, held = peer.outcome(19, 5), node.link("to-2")["held_fragments"]
        yield Claim("fragments of one bundle (fragments: 8)", "docs/heliod.md", "fragments of one of them; more are refused", f"{held} of 20 held; the last {last}",
                    held == 8 and last == "no resources")
        for n in range(20, 30):
            peer.send(wire.xfer(n, here(payload=b"xx", piece=(0, 1000))))
        last, reassemblies = peer.outcome(29, 5), node.link("to-2")["held_reassemblies"]
        yield Claim("bundles of which only fragments came (reassemblies: 4)", "docs/heliod.md", "bundles for this node of which only fragments are here; more are refused",
                    f"{reassemblies} of 11 held; the last {last}", 2 <= reassemblies <= 4 and last == "no resources")
        peer.send(wire.xfer(30, here(source=(9, 9))))
        was = peer.outcome(30, 5)
        yield Claim("another source's bundle by the same session after that", "docs/tcpcl.md", "A fragment that finds no place among fragments is refused, too", was, was == "acknowledged")


@check
def echo():
    hosts = Hosts()
    with Node(hosts, {"links": [link(hosts)]}):
        for name, words, source, payload, bound, rate in (
                ("one payload 200 times", "It gets at most 32 answers with the same payload, and one more each minute", 7, lambda n: b"same", 32, 1 / 60),
                ("2,000 payloads", "A source gets at most 1,000 answers at once, and one more each 10 ms", 8, lambda n: b"%d" % n, 1000, 100)):
            with Peer(hosts.node()) as peer:
                begin = time.monotonic()
                for n in range(200 if bound == 32 else 2000):
                    peer.send(wire.xfer(n, wire.bundle((1, 128), (2, source), payload(n))))
                    if n % 100 == 0:
                        peer.take(0.001)
                peer.wait(lambda m: False, 1)
                took, answers = time.monotonic() - begin, sum(m[0] == wire.XFER_SEGMENT for m in peer.got)
            yield Claim(f"echoes of {name}", "docs/heliod.md", words, f"{answers} in {took:.1f} s", bound <= answers <= bound + rate * took + 1)


@check
def bundle_lengths():
    """bundles.max, by its octets: one below, one above."""
    hosts = Hosts()
    with Node(hosts, {"bundles": {"max": "5000B"}, "links": [link(hosts), down()]}):
        rest = len(here(payload=bytes(4000))) - 4000
        was = [outcome(hosts, here(payload=bytes(n))) for n in (4990 - rest, 5010 - rest)]
    yield Claim("bundles of 4,990 and 5,010 octets (bundles.max: 5000B)", "docs/heliod.md", "longest bundle that is accepted", ", ".join(was), was == ["acknowledged", "not acceptable"])
