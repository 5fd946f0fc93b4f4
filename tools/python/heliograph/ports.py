# SPDX-License-Identifier: Apache-2.0
"""Ports of 127.0.0.1 for programs that are about to start.

A port that the kernel gave for "any", and that was let go again, may be given to somebody else before the program has it. So these
are below the kernel's range, and each block of them is the process's that holds the block's name, an abstract UNIX socket, until
it ends. A process is given a port twice only when it has had all of them that others left: a campaign of hundreds of labs.
"""
import collections
import contextlib
import os
import random
import socket
import threading

FIRST, BLOCK = 26112, 32  # the files of the tutorials have ports of their own below
LEAST = 64                # blocks that must be there; else those of the kernel's range are taken, too
RANGE = "/proc/sys/net/ipv4/ip_local_port_range"


class Held:
    """What this process holds: its blocks, and of the latest one the ports that were not given away. The sockets with the
    names of the blocks stay open."""

    def __init__(self):
        self.process, self.blocks, self.ports = os.getpid(), collections.deque(), []


held = Held()
lock = threading.Lock()  # the runs of a campaign are threads


def blocks():
    """The first ports of all blocks, in any order."""
    end = 0
    with contextlib.suppress(OSError, ValueError), open(RANGE, encoding="ascii") as f:
        end = int(f.read().split()[0])
    found = list(range(FIRST, end - BLOCK + 1, BLOCK))
    if len(found) < LEAST:
        found = list(range(FIRST, 65536 - BLOCK + 1, BLOCK))
    return random.SystemRandom().sample(found, len(found))


def take_block():
    for first in blocks():
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
        raise OSError("all ports are in use")
    held.blocks.rotate(-1)  # again the one of which the last use is longest ago
    first = held.blocks[-1]
    return list(range(first, first + BLOCK))


def is_free(port):
    """For datagrams and for streams."""
    try:
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            with socket.socket(socket.AF_INET, kind) as s:
                s.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def free_ports(count):
    """Ports that nobody uses now, neither for datagrams nor for streams."""
    global held
    with lock:
        if held.process != os.getpid():  # a fork's: what the blocks have is its parent's
            held = Held()
        found = []
        for _ in range(65536):
            if len(found) == count:
                return found
            if not held.ports:
                held.ports = take_block()
            port = held.ports.pop()
            if port not in found and is_free(port):
                found.append(port)
    raise OSError("all ports are in use")
