# SPDX-License-Identifier: Apache-2.0
"""TCPCLv4 messages from RFC 9174 alone, for attackers."""
import select
import socket
import struct
import time

from attack import drain

SEGMENT, ACK, REFUSE, KEEPALIVE, TERM, REJECT, INIT = 1, 2, 3, 4, 5, 6, 7
END, START = 1, 2
TRANSFER_LENGTH = 1
CONTACT = b"dtn!\x04\x00"


def init(name, keepalive=60, mru=1 << 30):
    """SESS_INIT (§4.6)."""
    name = name.encode()
    return struct.pack(">BHQQH", INIT, keepalive, mru, mru, len(name)) + name + bytes(4)


def segment(number, data=b"", flags=START | END, announced=None, length=None):
    """XFER_SEGMENT (§5.2.2); announced: its Transfer Length item; length: what it says of its data, if not the truth."""
    head = struct.pack(">BBQ", SEGMENT, flags, number)
    if flags & START:
        items = b"" if announced is None else struct.pack(">BHHQ", 0, TRANSFER_LENGTH, 8, announced)
        head += struct.pack(">I", len(items)) + items
    return head + struct.pack(">Q", len(data) if length is None else length) + data


def keepalive():
    return bytes([KEEPALIVE])


def reject(reason=3, kind=ACK):
    return bytes([REJECT, reason, kind])


def connect(port, source="127.0.0.9", name="ipn:99.0", to="127.0.0.1"):
    """A session with the node at this port, in the name of a peer. OSError when it is not let in."""
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.bind((source, 0))
    s.settimeout(5)
    s.connect((to, port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.sendall(CONTACT + init(name))
    seen = b""
    while len(seen) < 6 + 21:
        piece = s.recv(4096)
        if not piece:
            raise ConnectionError("ended before SESS_INIT")
        seen += piece
    if seen[6] != INIT:
        raise ConnectionError("refused")
    s.setblocking(False)
    return s


def push(s, data, until):
    """Writes the data and reads away what comes back. False: the node ended the connection, or time is over."""
    view = memoryview(data)
    while view:
        if time.monotonic() >= until or not drain(s):
            return False
        try:
            view = view[s.send(view):]
        except BlockingIOError:
            select.select([s], [s], [], 0.1)
        except OSError:
            return False
    return True


def flood(port, until, data, **who):
    """Messages by one session after the other, the same again and again, or what data() gives next. Returns how many sessions it took."""
    sessions = 0
    while time.monotonic() < until:
        try:
            s = connect(port, **who)
        except OSError:
            time.sleep(0.01)
            continue
        sessions += 1
        while push(s, data() if callable(data) else data, until):
            pass
        s.close()
    return sessions
