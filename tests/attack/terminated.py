# SPDX-License-Identifier: Apache-2.0
"""SIGTERM for a node with a durable store that LTP, TCPCL and applications flood: it ends soon, and what it accepted is there after a restart."""
import signal
import subprocess
import time

from attack import main
from aap2 import SUCCESS, Client
from app_wire import flooder, small_bundles
from bundle_wire import Sender, bundle

SETTLE = 10.0   # seconds of the flood before the signal
ENDS = 5.0      # seconds from the signal to the end
ACCEPTED = 300  # bundles that the node answered with SUCCESS amid the flood
LIFETIME_MS = 3600000
TCPCL = {"adapter": "tcpcl", "tls": "off"}


def run(scene):
    """Two TCPCL neighbours, an LTP neighbour and twelve connections of applications flood node 2, whose store is synchronous. It gets SIGTERM, and starts again."""
    r1, r2, *entries = scene.ports(4)
    fast = {"rate": "400Mbit/s", "sessions": 64, "rto": "200ms"}
    scene.node(1, [scene.link(2, r1, r2, **fast)], store="{durability: none, limit: 400MiB}", extra="routes:\n  - {to: '*', via: to-2}\n")
    links = [scene.link(1, r2, r1, **fast)] + [
        {**TCPCL, "name": f"from-{4 + i}", "peer": f"ipn:{4 + i}.0", "local": f"127.0.0.1:{port}"} for i, port in enumerate(entries)]
    keys = {"store": f"{{path: {scene.lab.path('store')}, durability: sync}}"}
    node = scene.node(2, links, **keys)

    def until_it_ends(flood):
        def run_flood(until):
            try:
                flood(until)
            except (EOFError, OSError):  # the node has ended
                pass
        return run_flood

    def by_tcpcl(port, peer):
        def flood(until):
            s = Sender(port, peer)
            while time.monotonic() < until:
                s.send(bundle((peer, 66), (2, 70 + peer), s.transfers, payload=bytes(1000), lifetime_ms=LIFETIME_MS))
        return flood

    def by_ltp(until):
        subprocess.run([scene.lab.program("helio-perf"), "client", "--socket", scene.lab.socket(1), "-d", "ipn:2.90", "-T", str(until - time.monotonic()),
                        "-i", "0", "-W", "4096", "-P", "10kB"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    floods = [by_tcpcl(port, 4 + i) for i, port in enumerate(entries)] + [
        by_ltp, flooder(scene.lab.socket(2), small_bundles("ipn:2.99", 2000, LIFETIME_MS), connections=8),
        flooder(scene.lab.socket(2), small_bundles("ipn:2.91", 20000, LIFETIME_MS), connections=4, service=7000)]
    with scene.attack(*map(until_it_ends, floods), settle=SETTLE, least={"sent": 1000000}), Client(scene.lab.socket(2)) as c:
        c.configure("ipn:2.55")
        accepted = []
        for i in range(ACCEPTED):
            if c.request("ipn:2.56", b"%d" % i, lifetime_ms=LIFETIME_MS)[0] == SUCCESS:
                accepted.append(b"%d" % i)
        agent = scene.control(2, "counters")["agent"]
        began = time.monotonic()
        node.send_signal(signal.SIGTERM)
        status = node.wait(120)
        took = time.monotonic() - began
    scene.nodes.pop(2)
    scene.figure("at the signal", {"held": agent["held"], "not stored yet": agent["storing"], "refused": agent["refused"]})
    scene.bound("status of the node that ended", status, "==", 0)
    scene.bound("seconds from SIGTERM to the end", round(took, 2), "<=", ENDS)
    scene.node(2, links, **keys)
    with Client(scene.lab.socket(2)) as c:
        c.configure("ipn:2.56", subscribe=True)
        c.s.settimeout(20)
        there = []
        try:
            while len(there) < len(accepted):
                there.append(c.delivery()[1])
        except OSError:
            pass
    scene.bound("bundles that were accepted amid the flood", len(accepted), ">=", 1)
    scene.bound("of these, lost", len(set(accepted) - set(there)), "==", 0)


if __name__ == "__main__":
    main(run)
