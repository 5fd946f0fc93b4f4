# SPDX-License-Identifier: Apache-2.0
"""Ports of 127.0.0.1 for programs that are about to start.

The kernel may give a port that was bound as "any" and closed to another program before ours binds it. So these ports are below the kernel's range.
Each block of them belongs to the process that holds the block's name, an abstract UNIX socket, until that process ends. A process that has used all
ports of some blocks starts again with its first unused ones. Otherwise a campaign of hundreds of labs would take the ports that all other labs need.
"""

from __future__ import annotations

import collections
import contextlib
import errno
import os
import random
import socket
import threading

FIRST, BLOCK = 26112, 32  # the files of the tutorials have ports of their own below
LEAST = 64                # blocks that must be there; else those of the kernel's range are taken, too
OWN = 8                   # blocks of a process before it begins again; four times what a request needs if that is more
RANGE = "/proc/sys/net/ipv4/ip_local_port_range"


class Held:
    """What this process holds: its blocks, and of the latest one the ports that were not given away. The sockets with the
    names of the blocks stay open."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.blocks: collections.deque[int] = collections.deque()
        self.ports: list[int] = []


held = Held()
lock = threading.Lock()  # the runs of a campaign are threads


def blocks() -> list[int]:
    """The first ports of all blocks, in any order."""
    end = 0
    with contextlib.suppress(OSError, ValueError), open(RANGE, encoding="ascii") as f:
        end = int(f.read().split()[0])
    found = list(range(FIRST, end - BLOCK + 1, BLOCK))
    if len(found) < LEAST:
        found = list(range(FIRST, 65536 - BLOCK + 1, BLOCK))
    return random.SystemRandom().sample(found, len(found))


def take_block(new: bool = True) -> list[int]:
    """A new one; if there is none, or none is wanted, the least recently used one of this process."""
    for first in blocks() if new else ():
        name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            name.bind(f"\0helio-ports-{first}")
        except OSError:
            name.close()
            continue
        name.detach()
        held.blocks.append(first)
        return list(range(first, first + BLOCK))
    if not held.blocks:
        raise OSError(errno.EADDRINUSE, "all blocks of ports are held by other labs")
    held.blocks.rotate(-1)
    first = held.blocks[-1]
    return list(range(first, first + BLOCK))


def is_free(port: int) -> bool:
    """For datagrams and for streams."""
    try:
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            with socket.socket(socket.AF_INET, kind) as s:
                s.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def free_ports(count: int) -> list[int]:
    """Ports that are unused now, both for datagrams and for streams."""
    global held
    with lock:
        if held.process != os.getpid():  # a fork's: what the blocks have is its parent's
            held = Held()
        found: list[int] = []
        own = len(held.blocks)
        again = own if own >= max(OWN, 4 * -(-count // BLOCK)) else 0  # each of its own once, then new ones
        for _ in range(65536):
            if len(found) == count:
                return found
            if not held.ports:
                held.ports = take_block(again == 0)
                again -= again > 0
            port = held.ports.pop()
            if port not in found and is_free(port):
                found.append(port)
    raise OSError(errno.EADDRINUSE, "all ports are in use")
