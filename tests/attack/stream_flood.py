# SPDX-License-Identifier: Apache-2.0
"""STCP and MTCP, which say nothing of who connects: connections by the thousand, and frames of untrue lengths."""
import select
import time

from attack import main
from bundle_wire import bundle
from stream_wire import connect, frame, many_connections

OPEN = 4  # local addresses of MTCP where anybody may connect
LIMIT = 256  # limits.connections; all local addresses together have one more each
NAMED = 1  # the honest peer's own, from the host of a link's `remote`: such are counted apart (limits.connections_address)
ADDRESSES = [f"127.0.0.{20 + k}" for k in range(10)]
EDGES = [1 << 30, (1 << 30) + 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 2, (1 << 64) - 1]
BUNDLE_MAX = 1 << 20


def entry(peer, adapter, local, **keys):
    return {"name": f"to-{peer}", "adapter": adapter, "peer": f"ipn:{peer}.0", "local": f"127.0.0.1:{local}", **keys}


def wrong_lengths(ports):
    """What was not ended at once although its length is above the limit."""
    wrong = []
    for adapter, port in ports.items():
        for length in [n for n in EDGES if adapter == "mtcp" or n < 1 << 32]:
            s = connect(port)
            s.send(frame(adapter, b"ab", length))
            if not select.select([s], [], [], 5)[0]:
                wrong.append(f"{adapter}, {length}")
            s.close()
    return wrong


def unfilled(ports, source):
    """Connections that announce the longest bundle and bring two octets, as many as the node takes."""
    def go(until):
        held = []
        while time.monotonic() < until:
            for adapter, port in ports.items():
                try:
                    held.append(connect(port, source))
                    held[-1].send(frame(adapter, b"ab", BUNDLE_MAX))
                except OSError:
                    pass
            for old in held[:-600]:
                old.close()
            del held[:-600]
            time.sleep(0.001)
    return go


def run(scene):
    """Attackers at ten addresses, and at the honest peer's own, against a node with STCP and MTCP links; the goodput of its STCP peer is measured."""
    at1, at2, *opened = scene.ports(2 + OPEN)
    scene.node(1, [entry(2, "stcp", at1, remote=f"127.0.0.1:{at2}")])
    links = [entry(1, "stcp", at2, remote=f"127.0.0.1:{at1}"), entry(9, "stcp", at2, remote="127.0.0.9:4556", connect="no")]
    links += [entry(10 + k, "mtcp", port, source="any") for k, port in enumerate(opened)]
    victim = scene.node(2, links, extra=f"bundles: {{max: {BUNDLE_MAX}}}\n")
    scene.receiver(2)
    ports = {"stcp": at2, "mtcp": opened[0]}

    def shown():
        return {link["name"]: link for link in scene.control(2, "links")["links"]}

    def goodput():
        return scene.goodput(1, 2)

    def kept(name, *attackers):
        phases = scene.phases(goodput, *attackers, name=name)
        scene.bound(f"goodput kept, {name}", round(phases["during"] / max(min(phases["before"], phases["after"]), 0.001), 4), ">=", 0.4)

    goodput()  # the link is up, memory is there
    for name, octets in (("silent", b""), ("one octet", b"\x00")):
        kept(f"connections, {name}", many_connections(opened, ADDRESSES, 2000, octets), many_connections([at2], ["127.0.0.1"], 500, octets))
    with scene.attack(many_connections(opened, ADDRESSES, 2000)):
        alone = [connect(port, "127.0.0.99") for port in opened]
        time.sleep(2)
        rows = shown()
        there = sum(rows[f"to-{10 + k}"]["connections"] for k in range(OPEN)) + rows["to-1"]["connections"]
        before = sum(rows[f"to-{10 + k}"]["bundles_received"] for k in range(OPEN))
        for k, s in enumerate(alone):
            s.send(frame("mtcp", bundle((99, 1), (2, 7), k, lifetime_ms=1000)))
        time.sleep(1)
        came = sum(shown()[f"to-{10 + k}"]["bundles_received"] for k in range(OPEN)) - before
    scene.bound("connections to all local addresses", there, "<=", LIMIT + OPEN + 1 + NAMED)
    scene.bound("connections to all local addresses, too few for an attack", there, ">=", LIMIT - 64)
    scene.bound("bundles of those who connect from another address meanwhile", came, "==", OPEN)
    displaced = sum(row["connections_displaced"] for row in shown().values())
    scene.bound("connections that were displaced", displaced, ">=", 5000)

    wrong = wrong_lengths(ports)
    scene.figure("wrong", wrong)
    scene.bound("lengths above the limit that did not end the connection", len(wrong), "==", 0)
    kept("untrue lengths", unfilled(ports, "127.0.0.9"), lambda until: [wrong_lengths(ports) for _ in iter(lambda: time.monotonic() < until, False)])
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", 256)


if __name__ == "__main__":
    main(run)
