# SPDX-License-Identifier: Apache-2.0
"""Slow clients of the node's HTTP server: connections that say nothing, heads that never end, answers that nobody reads."""
import http.client
import socket
import time

from attack import drain, main

ADDRESSES = 10
HELD = 100  # connections of each attacker at once
NEW = 5  # of them in a twentieth of a second
SCRAPES = 20


def run(scene):
    """Ten addresses, the honest client's among them, hold every connection that they get, by three means; it scrapes all the while."""
    port, = scene.ports(1)
    scene.node(1, [], extra=f"http: {{listen: {port}}}\n")

    def scrape():
        """The slowest scrape, s; 1000 for one that fails."""
        slowest = 0.0
        for _ in range(SCRAPES):
            begin = time.monotonic()
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            try:
                c.request("GET", "/metrics")
                answer = c.getresponse()
                whole = answer.status == 200 and answer.read().endswith(b"\n")
            except OSError:
                whole = False
            c.close()
            if not whole:
                return 1000
            slowest = max(slowest, time.monotonic() - begin)
            time.sleep(0.1)
        return round(slowest, 3)

    def hold(first, drip):
        def attack(until):
            held = []
            while time.monotonic() < until:
                for i in range(min(NEW, HELD - len(held))):
                    s = socket.socket()
                    s.bind((f"127.0.0.{1 + (len(held) + i) % ADDRESSES}", 0))
                    s.settimeout(5)
                    try:
                        s.connect(("127.0.0.1", port))
                        s.sendall(first)
                    except OSError:
                        s.close()
                        break
                    s.setblocking(False)
                    held.append(s)
                for s in held[:]:
                    try:
                        if drip:
                            s.send(drip)
                            there = drain(s)
                        else:  # nothing is read: only the end of the connection is looked for
                            there = not first or s.send(b"") == 0
                    except OSError:
                        there = False
                    if not there:
                        s.close()
                        held.remove(s)
                time.sleep(0.05)
        return attack

    head = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
    phases = {"before": scrape()}
    with scene.attack(hold(b"", b"G"), hold(head, b"X: y\r\n"), hold((head + b"\r\n") * 50, b""), settle=3, least={"connections": HELD}):
        phases["during"] = scrape()
    phases["after"] = scrape()
    scene.figure("slowest of 20 scrapes, s", phases)
    for phase, slowest in phases.items():
        scene.bound(f"slowest scrape {phase}, s", slowest, "<=", 1.0)
    scene.bound("RSS, MiB", scene.rss_peak(scene.nodes[1]), "<=", 256)


if __name__ == "__main__":
    main(run)
