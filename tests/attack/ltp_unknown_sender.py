# SPDX-License-Identifier: Apache-2.0
"""Datagrams for a configured peer's engine number, from an address that is not the peer's."""
import socket
import time

from attack import main
from ltp_wire import red_data

OPENINGS = 1100     # more than the peer's import sessions
BYTES_A_SECOND = 220


def run(scene):
    """A sender at another address opens 1,100 sessions in the name of node 1, then goes on with 220 B/s."""
    p1, p2 = scene.ports(2)
    scene.node(1, [scene.link(2, p1, p2, rate="200Mbit/s", sessions=20, rto="100ms")])
    scene.node(2, [scene.link(1, p2, p1, rate="200Mbit/s", sessions=20, rto="100ms")])
    scene.receiver(2)

    def flood(until):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.9", 0))
            for number in range(OPENINGS):
                s.sendto(red_data(1, 1 << 30 | number, b"x"), ("127.0.0.1", p2))
                if number % 50 == 0:
                    time.sleep(0.001)  # none is lost in the socket
            while time.monotonic() < until:
                number += 1
                data = red_data(1, 1 << 30 | number, b"x")
                s.sendto(data, ("127.0.0.1", p2))
                time.sleep(len(data) / BYTES_A_SECOND)

    phases = scene.phases(lambda: scene.goodput(1, 2), flood)
    scene.took_place("datagrams refused", scene.control(2, "links")["links"][0]["source_refused"], OPENINGS)
    scene.bound("goodput kept during the attack", phases["during_ratio"], ">=", 0.95)
    scene.bound("goodput kept after it", phases["after_ratio"], ">=", 0.95)


if __name__ == "__main__":
    main(run)
