# SPDX-License-Identifier: Apache-2.0
"""An application sends single tiny bundles, with pauses, over a TCPCL session with a long path: another one's goodput through it is measured."""
import time

from attack import main
from aap2 import Client

DELAY_MS = 150  # one way
KEPT = 0.4


def run(scene):
    """What the session may have under way is what its peer acknowledges in a round trip: tiny bundles must not make that look short."""
    scene.seconds = max(scene.seconds, 6)  # 20 round trips
    path, peer = scene.ports(2)
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    scene.node(1, [{**tcpcl, "name": "to-3", "peer": "ipn:3.0", "remote": f"127.0.0.2:{path}"}])
    scene.node(3, [{**tcpcl, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{peer}"}])
    scene.receiver(3)
    scene.start("path", "helio-emu", "stream", "--listen", f"127.0.0.2:{path}", "--to", f"127.0.0.1:{peer}", "--delay", f"{DELAY_MS}ms",
                "--rate", "400Mbit/s", "--rate-return", "400Mbit/s")
    time.sleep(3)

    def goodput():
        return scene.goodput(1, 3, payload="50kB", window=200)

    def pairs(until):
        """Two bundles of an octet, the second ever sooner after the first: an acknowledgement may be taken for the wrong one's."""
        gap = 0.9 * DELAY_MS / 1000
        with Client(scene.lab.socket(1)) as c:
            c.configure("ipn:1.55")
            while time.monotonic() < until:
                c.request("ipn:3.128", b"x", lifetime_ms=2000)
                time.sleep(gap)
                c.request("ipn:3.128", b"x", lifetime_ms=2000)
                time.sleep(2.2 * DELAY_MS / 1000 + 0.1)
                gap = max(0.003, gap / 3)

    before = max(goodput() for _ in range(3))
    with scene.attack(pairs, settle=5):
        during = max(goodput() for _ in range(2))
    scene.figure("goodput, Mbit/s", {"before": before, "during": during})
    scene.bound("goodput kept", round(during / before, 4) if before else 0.0, ">=", KEPT)
    scene.recovery(goodput, before)


if __name__ == "__main__":
    main(run)
