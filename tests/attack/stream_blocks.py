# SPDX-License-Identifier: Apache-2.0
"""Bundles over STCP and MTCP as fast as the node takes them: tiny ones, and such of some thousand extension blocks."""
import itertools

from attack import main
from bundle_wire import block, bundle
from stream_wire import flood, frame

SHAPES = {"160 kB, 20,000 blocks": 20000, "7 kB, 1,000 blocks": 1000}
COUNT = 40  # bundles that an attacker sends again and again: a duplicate costs as much
PEERS = {"stcp": 9, "mtcp": 10}


def tiny(adapter):
    """The next 200 new ones, at each call."""
    numbers = itertools.count()
    return lambda: b"".join(frame(adapter, bundle((PEERS[adapter], 66), (2, 7), k, lifetime_ms=1000)) for k in itertools.islice(numbers, 200))


def blocks(adapter, count):
    rest = b"".join(block(20, count + 1 - i, b"") for i in range(count))
    return b"".join(frame(adapter, bundle((PEERS[adapter], 66), (2, 7), k, blocks=rest, lifetime_ms=1000)) for k in range(COUNT))


def run(scene):
    """Two neighbours, by STCP and by MTCP, send bundles that cost the node more than their bytes; the goodput of node 1, by STCP, is measured."""
    at1, at2, stcp, mtcp = scene.ports(4)
    ports = {"stcp": stcp, "mtcp": mtcp}
    scene.node(1, [{"name": "to-2", "adapter": "stcp", "peer": "ipn:2.0", "local": f"127.0.0.1:{at1}", "remote": f"127.0.0.1:{at2}"}])
    links = [{"name": "to-1", "adapter": "stcp", "peer": "ipn:1.0", "local": f"127.0.0.1:{at2}", "remote": f"127.0.0.1:{at1}"}]
    links += [{"name": a, "adapter": a, "peer": f"ipn:{PEERS[a]}.0", "local": f"127.0.0.1:{ports[a]}", "source": "any"} for a in ports]
    victim = scene.node(2, links)
    scene.receiver(2)

    def received():
        return sum(link["bundles_received"] for link in scene.control(2, "links")["links"] if link["name"] in ports)

    def kept(name, data):
        already = received()
        phases = scene.phases(lambda: scene.goodput(1, 2), *[lambda until, a=a: flood(ports[a], until, data[a]) for a in ports], name=name)
        scene.bound(f"bundles of the attackers, {name}", received() - already, ">=", 40)
        scene.bound(f"goodput kept, {name}", round(phases["during"] / max(min(phases["before"], phases["after"]), 0.001), 4), ">=", 0.4)

    scene.goodput(1, 2)  # the link is up, memory is there
    kept("tiny bundles", {a: tiny(a) for a in ports})
    for name, count in SHAPES.items():
        kept(name, {a: blocks(a, count) for a in ports})
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
