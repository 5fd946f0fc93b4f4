# SPDX-License-Identifier: Apache-2.0
"""Openings of sessions from a configured peer's own address: forged, or by a broken peer."""
import socket
import time

from attack import main
from ltp_wire import green_block, red_checkpoint, red_data

A_SECOND = 1000
KINDS = {
    "one byte": lambda number: red_data(1, number, b"x"),
    "full segments": lambda number: red_data(1, number, bytes(900)),
    "long segments": None,  # --opening
    "green": lambda number: green_block(1, number, b"x", offset=5000),
    "checkpoints": lambda number: red_checkpoint(1, number, b"x"),
}


def run(scene, opening):
    """A sender at the peer's address, another port, opens 1,000 sessions a second in its name and continues none."""
    kinds = KINDS | {"long segments": lambda number: red_data(1, number, bytes(opening))}
    p1, p2 = scene.ports(2)
    scene.node(1, [scene.link(2, p1, p2, rate="200Mbit/s", sessions=20, rto="100ms")])
    scene.node(2, [scene.link(1, p2, p1, rate="200Mbit/s", sessions=20, rto="100ms")])
    scene.receiver(2)

    def flood_of(segment):
        def flood(until):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.bind(("127.0.0.1", 0))
                number, began = 1 << 40, time.monotonic()
                while time.monotonic() < until:
                    due = int((time.monotonic() - began) * A_SECOND)
                    for _ in range(due - (number - (1 << 40))):
                        s.sendto(segment(number), ("127.0.0.1", p2))
                        number += 1
                    time.sleep(0.002)

        return flood

    def discarded():
        return scene.control(2, "links")["links"][0]["sessions_discarded"]

    figures = {}
    for name, segment in kinds.items():
        already = discarded()
        figures[name] = scene.phases(lambda: scene.goodput(1, 2), flood_of(segment), settle=1.5, name=name)  # the places are full by then
        scene.figure(f"sessions discarded, {name}", discarded() - already)
        scene.took_place(f"octets of segments, {name}", scene.attacked["sent"], A_SECOND * len(segment(1)))
        scene.bound(f"goodput kept, {name}", figures[name]["during_ratio"], ">=", 0.8)
    scene.figure("by_kind", figures)
    link = scene.control(2, "links")["links"][0]
    scene.figure("sessions_discarded", link["sessions_discarded"])
    scene.bound("sessions discarded", link["sessions_discarded"], ">=", A_SECOND)


if __name__ == "__main__":
    main(run, opening=4200)  # bytes of a long opening segment: more than ltp/receiver/discard.c calls little
