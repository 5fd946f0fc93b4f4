# SPDX-License-Identifier: Apache-2.0
"""Applications send messages that cost little to send and are answered at once: KEEPALIVE, wrong requests, cancellations of nothing."""
from attack import main
from app_wire import flooder, keepalives, unknown_cancels, wrong_requests

KEYS = {"rate": "40Mbit/s", "sessions": 20, "rto": "100ms"}
LEAST = {"sent": 1000000, "received": 100000}  # octets of messages, and of their answers, of some octets each
FLOODS = {
    "KEEPALIVE, one connection": (keepalives(), 1),
    "KEEPALIVE, four connections": (keepalives(), 4),
    "KEEPALIVE, sixteen connections": (keepalives(), 16),
    "wrong requests, four connections": (wrong_requests(), 4),
    "cancellations of nothing, four connections": (unknown_cancels(), 4),
}


def run(scene):
    """One application's connections flood the node with such messages; another application's goodput is measured."""
    p1, p2 = scene.ports(2)
    node = scene.node(1, [scene.link(2, p1, p2, **KEYS)])
    scene.node(2, [scene.link(1, p2, p1, **KEYS)])
    scene.receiver(2)

    def goodput():
        return scene.goodput(1, 2, payload="20kB", window=16)

    for name, (data, connections) in FLOODS.items():
        before = goodput()
        with scene.attack(flooder(scene.lab.socket(1), data, connections), least={**LEAST, "connections": connections}, name=name):
            during = goodput()
        after = scene.recovery(goodput, before, name)
        scene.figure(name, {"before": before, "during": during, "after": after})
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
