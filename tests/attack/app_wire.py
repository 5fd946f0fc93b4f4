# SPDX-License-Identifier: Apache-2.0
"""Connections of applications (AAP 2.0) that send the same messages without end, and read what answers they get away."""
import os
import select
import time

from attack import drain
from aap2 import ADU, KEEPALIVE, Client, cancel, framed

PIECE = 1 << 16  # bytes of messages that are sent again and again
OTHER_USER = 65534


def many(message):
    """As many of this message as fit in PIECE bytes."""
    return message * max(1, PIECE // len(message))


def small_bundles(destination, octets, lifetime_ms):
    return many(framed([(ADU, [(2, destination), (5, octets), (100, lifetime_ms)])]) + bytes(octets))


def keepalives():
    return many(framed([(KEEPALIVE, [])]))


def unknown_cancels():
    return many(cancel({3: 1, 4: 1}))


def wrong_requests():
    return many(framed([(ADU, [(2, "no endpoint"), (5, 1)])]) + b"x")


def flooder(path, data, connections=1, service=6000, user=None):
    """An attack of Scene.phases: so many connections of one process. user: of the process; None: as the node."""
    def flood(until):
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        os.nice(10)  # its own work is no affair of the node's
        views = {}
        for k in range(connections):
            c = Client(path)
            c.configure(f"ipn:{c.node.split(':')[1].split('.')[0]}.{service + k}")
            c.s.setblocking(False)
            views[c.s] = memoryview(data)
        while time.monotonic() < until and views:
            for s in select.select(views, views, [], 0.1)[1]:
                try:
                    views[s] = views[s][s.send(views[s]):] or memoryview(data)
                except BlockingIOError:
                    pass
            for s in list(views):
                if not drain(s):
                    del views[s]
    return flood
