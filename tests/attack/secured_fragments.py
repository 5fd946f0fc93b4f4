# SPDX-License-Identifier: Apache-2.0
"""Bundles in two fragments whose security blocks take long to look at: they are verified when both fragments are here."""
import contextlib
import itertools
import os
import secrets
import select
import socket
import time

from attack import drain, main
from bpsec_wire import MAC, bcb, bib
from bundle_wire import EPOCH, bundle
from tcpcl_wire import connect, push, segment

POLICY = "security_keys: {folder}\nsecurity:\n  - {{role: acceptor, from: 'ipn:[9-10].*', context: bib-hmac-sha2, key: link}}\n"
BLOCKS, TARGETS = 31, 16  # of each kind; of each block, which is as many as a node reads
BATCH = 16    # bundles
COUNT = 150   # echo requests of one measurement
RUNS = 3      # of these the one with the least delay counts: what else this machine does is no affair of the node's
PROMISED = 3  # times as long as beside the same flood at another node, as in tcpcl_fairness
KINDS = {  # peers, of which the last one completes the bundles; do they leave after each batch?
    "one peer": ([9], False),
    "two peers": ([9, 10], False),
    "an unconfigured peer that leaves": ([10], True),
}


def security_blocks():
    """Operations on blocks that are not here (RFC 9172 §3.6): nobody needs a key to make them."""
    for i in range(BLOCKS):
        targets = range(1000 + i * TARGETS, 1000 + (i + 1) * TARGETS)
        yield bib(100 + 2 * i, targets, (9, 0), [bytes(MAC)] * TARGETS) + bcb(101 + 2 * i, targets, (9, 0), [bytes(16)] * TARGETS)


SECURITY = b"".join(security_blocks())


def halves(peer, node):
    """Each bundle's two fragments, for the echo endpoint of a node: its honest users wait behind them."""
    created = int((time.time() - EPOCH) * 1000)
    for k in itertools.count():
        yield [bundle((peer, 66), (node, 128), k, payload=b"xx", blocks=blocks, fragment=(offset, 4), created=created)
               for offset, blocks in ((0, SECURITY), (2, b""))]


def leave(s):
    """Ends a session after the node has read everything."""
    with contextlib.suppress(OSError):
        s.shutdown(socket.SHUT_WR)
    until = time.monotonic() + 1
    while time.monotonic() < until and drain(s):
        select.select([s], [], [], 0.1)
    s.close()


def attacker(peers, leaves, node, port):
    def go(until):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # attackers have machines of their own
        os.setpriority(os.PRIO_PROCESS, 0, 10)
        bundles, numbers, sessions = halves(peers[0], node), itertools.count(), []
        while time.monotonic() < until:
            try:
                sessions = sessions or [connect(port, source=f"127.0.0.{peer}", name=f"ipn:{peer}.0") for peer in peers]
            except OSError:
                time.sleep(0.01)
                continue
            parts = zip(*itertools.islice(bundles, BATCH))
            ways = zip((sessions[0], sessions[-1]), parts)
            goes_on = all(push(s, b"".join(segment(next(numbers), part) for part in all_of), until) for s, all_of in ways)
            if leaves or not goes_on:
                for s in sessions:
                    leave(s)
                sessions = []
    return go


def run(scene):
    """Configured and unconfigured peers flood node 2 with them; node 1's echo and its goodput, also beside the same flood at node 3."""
    honest, port, beside = scene.ports(3)
    folder = scene.lab.path("keys")
    os.mkdir(folder, 0o700)
    with open(os.path.join(folder, "link"), "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as f:
        f.write(f"id: link\nalgorithm: hmac-sha-384\nkey: {secrets.token_hex(48)}\n")
    tcpcl, policy = {"adapter": "tcpcl", "tls": "off"}, POLICY.format(folder=folder)
    incoming = {**tcpcl, "name": "in", "peer": "ipn:9.0", "peers": 8}
    scene.node(1, [{**tcpcl, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{honest}"}])
    victim = scene.node(2, [{**tcpcl, "name": "from-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{honest}"},
                            {**incoming, "local": f"127.0.0.1:{port}"}], extra=policy)
    scene.node(3, [{**incoming, "local": f"127.0.0.1:{beside}"}], extra=policy)
    scene.receiver(2)

    def measure():
        results = [scene.echo(1, 2, count=COUNT, interval="5ms") for _ in range(RUNS)]
        delays = [r["rtt_ms"] or {} for r in results]
        return {"p50": min(d.get("p50", 1e9) for d in delays), "p99": min(d.get("p99", 1e9) for d in delays),
                "lost": sum(r["sent"] - r["received"] for r in results), "goodput": scene.goodput(1, 2)}

    def verified():
        return scene.control(2, "security")["security"]["bundles_dropped"]

    measure()  # the link is up, memory is there
    for name, (peers, leaves) in KINDS.items():
        result = {"alone": measure()}
        already = verified()
        for whose, node, to in (("beside", 3, beside), ("at it", 2, port)):
            with scene.attack(attacker(peers, leaves, node, to)):
                result[whose] = measure()
        result["verified"] = verified() - already
        scene.figure(name, result)
        scene.bound(f"p99 ms, {name}", result["at it"]["p99"], "<=", PROMISED * max(result["beside"]["p99"], result["alone"]["p99"]))
        scene.bound(f"echoes lost, {name}", result["at it"]["lost"], "==", 0)
        scene.bound(f"goodput kept, {name}", round(result["at it"]["goodput"] / min(result["beside"]["goodput"], result["alone"]["goodput"]), 4), ">=", 0.4)
        scene.bound(f"bundles of the flood, {name}", result["verified"], ">=", 100)
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
