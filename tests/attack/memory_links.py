# SPDX-License-Identifier: Apache-2.0
"""Links of many neighbours open at once, each with a long bundle that its neighbour reads and does not acknowledge: memory stays within bundles.total, and another link keeps its goodput."""
import select
import time

from attack import drain, main
from bundle_wire import Sender, bundle
from tcpcl_wire import connect, keepalive

TOTAL = 256  # MiB: bundles.total
LINKS, SIZE = 60, 14000000
DELAY = 250  # ms each way of the other link, so that it has much in transmission
KEPT = 0.4


def run(scene):
    """Node 4 sends a long bundle for each of 60 neighbours of node 2, which are away; then they connect. Node 1 sends to node 3 by node 2."""
    first, entry, port, back, relay = scene.ports(5)
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    keys = {"rate": "50Mbit/s", "sessions": 100, "rto": "1500ms"}
    names = [f"ipn:{100 + i}.0" for i in range(LINKS)]
    scene.node(1, [{**tcpcl, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{first}"}], extra="routes:\n  - {to: 'ipn:3.*', via: to-2}\n")
    victim = scene.node(2, [{**tcpcl, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{first}"},
                            {**tcpcl, "name": "from-4", "peer": "ipn:4.0", "local": f"127.0.0.1:{entry}"}, scene.link(3, port, relay, **keys)] +
                        [{**tcpcl, "name": f"to-{100 + i}", "peer": name, "local": f"127.0.0.1:{entry}"} for i, name in enumerate(names)],
                        store=f"{{path: {scene.lab.path('store2')}, durability: async}}", extra=f"bundles: {{total: {TOTAL}MiB}}\n")
    scene.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{relay}", "--to", f"127.0.0.1:{back}", "--delay", f"{DELAY}ms")
    scene.node(3, [scene.link(2, back, relay, **keys)], extra="routes:\n  - {to: 'ipn:1.*', via: to-2}\n")
    scene.receiver(3)

    def goodput():
        return max(scene.goodput(1, 3, payload="20kB", window=40) for _ in range(2))  # the machine's other work costs one of them

    def fill():
        sender = Sender(entry, 4)
        for i in range(LINKS):
            sender.send(bundle((4, 66), (100 + i, 77), i, payload=bytes(SIZE), lifetime_ms=600000))
        return sender

    def read(until):
        sessions = [connect(entry, name=name, source=f"127.0.0.{30 + i % 8}") for i, name in enumerate(names)]
        alive = time.monotonic()
        while time.monotonic() < until:
            select.select(sessions, [], [], 1)
            for s in sessions:
                drain(s)
            if time.monotonic() > alive + 10:
                alive = time.monotonic()
                for s in sessions:
                    try:
                        s.send(keepalive())
                    except OSError:
                        pass

    before, sender = goodput(), fill()
    until = time.monotonic() + 60
    while scene.control(2, "status")["bundles"] < LINKS and time.monotonic() < until:
        time.sleep(0.2)
    sender.s.close()
    with scene.attack(read, settle=5):
        during = goodput()
        status = scene.control(2, "status")
        sending = status["sending_bytes"] / 2**20
    scene.figure("node 2", {"before": before, "during": during, **status})
    scene.took_place("MB of bundles", round(status["bytes"] / 1e6), 2 * TOTAL)
    scene.took_place("MiB in transmission", round(sending), TOTAL // 8)
    scene.bound("MiB in transmission", round(sending, 1), "<=", TOTAL / 2)
    scene.bound("anonymous memory, MiB", scene.anonymous_peak(victim), "<=", TOTAL + 64)
    scene.bound("goodput kept", round(during / before, 4), ">=", KEPT)
    scene.recovery(goodput, before, "the links are closed, their bundles wait")


if __name__ == "__main__":
    main(run)
