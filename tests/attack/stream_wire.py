# SPDX-License-Identifier: Apache-2.0
"""STCP and MTCP frames and connections, for attackers."""
import os
import socket
import struct
import time

from bundle_wire import head
from tcpcl_wire import push


def frame(adapter, data, length=None):
    """A bundle behind its head; length: what the head says, if not the truth (STCP: modulo 2^32)."""
    length = len(data) if length is None else length
    return (struct.pack(">I", length & 0xFFFFFFFF) if adapter == "stcp" else head(length, 2)) + data


def connect(port, source="127.0.0.9"):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.bind((source, 0))
    s.settimeout(5)
    s.connect(("127.0.0.1", port))
    s.setblocking(False)
    return s


def flood(port, until, data, source="127.0.0.9"):
    """The same octets again and again, or what data() gives next, by one connection after the other, as fast as the node reads."""
    os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
    while time.monotonic() < until:
        try:
            s = connect(port, source)
        except OSError:
            time.sleep(0.01)
            continue
        while push(s, data() if callable(data) else data, until):
            pass
        s.close()


def many_connections(ports, addresses, rate, octets=b""):
    """Connects to one port after the other from one address after the other, writes these octets, and keeps the connection."""
    def go(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)
        held, count, began = [], 0, time.monotonic()
        while (now := time.monotonic()) < until:
            while count < (now - began) * rate:
                s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                s.setblocking(False)
                try:
                    s.bind((addresses[count % len(addresses)], 0))
                    s.connect(("127.0.0.1", ports[count // len(addresses) % len(ports)]))
                except BlockingIOError:
                    pass
                except OSError:  # no port is free just now
                    s.close()
                    break
                count += 1
                held.append(s)
                if octets and len(held) > 1:
                    say(held[-2], octets)
            for old in held[:-600]:  # the node has ended these long ago
                old.close()
            del held[:-600]
            time.sleep(0.002)
    return go


def say(s, octets):
    try:
        s.send(octets)
    except OSError:  # it is not connected, or not any more
        pass
