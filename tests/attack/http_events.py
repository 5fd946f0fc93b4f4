# SPDX-License-Identifier: Apache-2.0
"""Browsers that watch the events of bundles all the time, some of which read no answer, while small bundles arrive as fast as the node takes them."""
import os
import socket
import time

from attack import main

READERS, SILENT, ADDRESSES = 8, 40, 10
PAUSE = 0.02  # of a reader between its requests
KEPT = 0.4
WATCH, FIGURES = "/api/events", "/metrics"


def ask(port, path, silent):
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()

    def go(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)
        count = 0
        while time.monotonic() < until:
            held = []
            for _ in range(SILENT if silent else READERS):
                s = socket.socket()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                s.bind((f"127.0.3.{1 + count % ADDRESSES}", 0))
                s.settimeout(2)
                count += 1
                held.append(s)
                try:
                    s.connect(("127.0.0.1", port))
                    s.sendall(request)
                    while not silent and s.recv(1 << 16):
                        pass
                except OSError:
                    pass
                time.sleep(PAUSE)
            for s in held:
                s.close()
    return go


def run(scene):
    """Node 1 sends bundles of 100 octets to an application of node 2 over TCPCL. The same clients that ask for other figures are the comparison."""
    tcp, port = scene.ports(2)
    link = {"adapter": "tcpcl", "tls": "off"}
    scene.node(1, [{**link, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{tcp}"}])
    node = scene.node(2, [{**link, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}"}], extra=f"http: {{listen: '0.0.0.0:{port}'}}\n")
    scene.receiver(2)

    def goodput():
        return max(scene.goodput(1, 2, payload="100", window=256) for _ in range(2))

    result = {"before": goodput()}
    for path in (FIGURES, WATCH):
        with scene.attack(ask(port, path, False), ask(port, path, True), least={"received": 100000, "connections": 100}, name=path):
            result[path] = goodput()
    scene.figure("Mbit/s", result)
    scene.bound("goodput kept", round(result[WATCH] / result[FIGURES], 3), ">=", KEPT)
    scene.bound("anonymous memory, MiB", scene.anonymous_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
