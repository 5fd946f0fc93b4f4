# SPDX-License-Identifier: Apache-2.0
"""Two sessions under one name with bundles for a slow receiver of a full node: their link stops and goes on again and again."""
import threading
import time

from attack import main, take_slowly
from aap2 import Client
from bundle_wire import bundle
from tcpcl_wire import connect, push, segment

PAUSE = 0.01  # seconds of the receiver, between two bundles
SESSIONS = 2


def run(scene):
    """Another neighbour's goodput, and the node still runs."""
    port, beside = scene.ports(2)
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    scene.node(1, [{**tcpcl, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{port}"}])
    node = scene.node(2, [{**tcpcl, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{port}"},
                          {**tcpcl, "name": "to-9", "peer": "ipn:9.0", "local": f"127.0.0.1:{beside}"}], extra="bundles: {count: 500}\n")
    scene.receiver(2)
    slow = Client(scene.lab.socket(2))
    slow.configure("ipn:2.80", subscribe=True)
    threading.Thread(target=take_slowly, args=(slow, PAUSE), daemon=True).start()

    def flood(session):
        def go(until):
            sequence = 0
            s = connect(beside, source="127.0.0.9", name="ipn:9.0")
            push(s, segment(0, bundle((9, 1), (2, 80), session * 10**9)), until)
            time.sleep(1)  # the receiver takes it, and counts as one that takes bundles
            while time.monotonic() < until:
                sequence += 100
                data = b"".join(segment(sequence + k, bundle((9, 1), (2, 80), session * 10**9 + sequence + k, payload=bytes(200))) for k in range(100))
                if not push(s, data, until):
                    break
        return go

    phases = scene.phases(lambda: scene.goodput(1, 2, payload="20kB", window=16), *[flood(k + 1) for k in range(SESSIONS)], settle=10.0)
    delivered = scene.control(2, "counters")["agent"]["ended"]["delivered"]
    scene.figure("bundles delivered", delivered)
    scene.took_place("bundles delivered", delivered, 200)
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)
    slow.close()


if __name__ == "__main__":
    main(run)
