# SPDX-License-Identifier: Apache-2.0
"""Floods of requests at the node's HTTP server: pipelined ones, and one a connection."""
import http.client
import os
import socket
import time

from attack import main

CONNECTIONS, ADDRESSES, PIPELINED = 300, 50, 50
REQUEST = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
RATE = "40Mbit/s"  # what a busy machine has to spare is not the bound


def run(scene):
    """300 connections from 50 addresses ask for metrics without end, 50 requests at once, then one a time. Beside that an LTP transfer goes on, and
    somebody scrapes. What the flood costs the machine itself is seen at a node beside: the same flood against its server."""
    port, beside, p1, p2 = scene.ports(4)
    keys = {"rate": RATE, "rto": "100ms"}
    scene.node(1, [scene.link(2, p1, p2, **keys)], extra=f"http: {{listen: '0.0.0.0:{port}'}}\n")
    scene.node(2, [scene.link(1, p2, p1, **keys)])
    scene.node(3, [], extra=f"http: {{listen: '0.0.0.0:{beside}'}}\n")
    scene.receiver(2)

    def scrape():
        """Seconds; 1000 for one that fails."""
        begin = time.monotonic()
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            c.request("GET", "/metrics")
            answer = c.getresponse()
            whole = answer.status == 200 and answer.read().endswith(b"\n")
        except (OSError, http.client.HTTPException):
            whole = False
        c.close()
        return time.monotonic() - begin if whole else 1000

    def measure():
        slowest = max(scrape() for _ in range(10))
        return scene.goodput(1, 2), round(slowest, 3)

    def flood(to, requests):
        def attack(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)
            held, count = [], 0
            while time.monotonic() < until:
                while len(held) < CONNECTIONS:
                    s = socket.socket()
                    s.bind((f"127.0.3.{1 + count % ADDRESSES}", 0))
                    s.settimeout(1)
                    count += 1
                    try:
                        s.connect(("127.0.0.1", to))
                    except OSError:
                        s.close()
                        break
                    s.setblocking(False)
                    held.append(s)
                for s in held[:]:
                    try:
                        s.send(REQUEST * requests)
                        if not s.recv(1 << 16):
                            raise ConnectionError
                    except BlockingIOError:
                        pass
                    except OSError:
                        s.close()
                        held.remove(s)
        return attack

    result = {"before": measure()}
    for name, requests in (("pipelined", PIPELINED), ("single", 1)):
        for whose, to in (("beside", beside), ("at it", port)):
            with scene.attack(flood(to, requests), least={"received": 100000}, name=f"{name} {whose}"):
                result[f"{name} {whose}"] = measure()
        kept = result[f"{name} at it"][0] / max(result[f"{name} beside"][0], 0.001)
        scene.bound(f"goodput kept, {name}", round(kept, 3), ">=", 0.9)
        scene.bound(f"slowest scrape, {name}, s", result[f"{name} at it"][1], "<=", 1.0)
    result["after"] = measure()
    scene.figure("Mbit/s, slowest scrape in s", result)
    scene.bound("goodput after", round(result["after"][0] / max(result["before"][0], 0.001), 3), ">=", 0.8)
    scene.bound("RSS, MiB", scene.rss_peak(scene.nodes[1]), "<=", 256)


if __name__ == "__main__":
    main(run)
