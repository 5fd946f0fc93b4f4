# SPDX-License-Identifier: Apache-2.0
"""A peer whose Segment MRU is one octet, and for which bundles wait: each of their octets is a segment."""
import select
import socket
import struct
import time

from attack import main
from aap2 import Client
from tcpcl_wire import CONTACT, INIT

BUNDLES, OCTETS = 20, 1000000
SEGMENTS = 100000  # that the peer gets, at least; each has a head of 18 octets
SEGMENT_OCTETS = 19
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}


def run(scene):
    """The peer reads as fast as it can what node 2 has for it; node 3's goodput to node 2 is measured."""
    p3, p2, tcp = scene.ports(3)
    scene.node(3, [scene.link(2, p3, p2, **KEYS)])
    node = scene.node(2, [scene.link(3, p2, p3, **KEYS),
                          {"name": "in", "adapter": "tcpcl", "peer": "ipn:99.0", "local": f"127.0.0.1:{tcp}", "tls": "off"}])
    scene.receiver(2)
    with Client(scene.lab.socket(2)) as c:
        c.configure("ipn:2.55")
        for _ in range(BUNDLES):
            c.request("ipn:99.7", bytes(OCTETS))

    def swallow(until):
        name, room, octets = b"ipn:99.0", memoryview(bytearray(1 << 20)), 0
        with socket.create_connection(("127.0.0.1", tcp)) as s:
            s.sendall(CONTACT + struct.pack(">BHQQH", INIT, 60, 1, 1 << 30, len(name)) + name + bytes(4))
            while time.monotonic() < until:
                if select.select([s], [], [], 0.1)[0]:
                    got = s.recv_into(room)
                    if got == 0:
                        break
                    octets += got

    phases = scene.phases(lambda: scene.goodput(3, 2), swallow, least={"received": SEGMENTS * SEGMENT_OCTETS})
    messages = next(link for link in scene.control(2, "links")["links"] if link["name"] == "in")["messages_tx"]
    scene.figure("messages of node 2", messages)
    scene.took_place("segments of one octet", messages["segment"], SEGMENTS)
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
