# SPDX-License-Identifier: Apache-2.0
"""A session with another node's name, while that node has one."""
import socket
import struct
import time

from attack import main

SEGMENT, ACK, INIT, START, END = 1, 2, 7, 2, 1
THIEF = "127.0.0.9"


def receive(s, size):
    data = b""
    while len(data) < size:
        part = s.recv(size - len(data))
        if not part:
            raise ConnectionError("it was closed")
        data += part
    return data


def segment(s, head):
    """The rest of an XFER_SEGMENT: flags, transfer, length of its data."""
    flags, number = head[1], struct.unpack(">Q", receive(s, 8))[0]
    if flags & START:
        receive(s, struct.unpack(">I", receive(s, 4))[0])
    length = struct.unpack(">Q", receive(s, 8))[0]
    receive(s, length)
    return flags, number, length


def steal(port, name, until, taken):
    """In session as `name`: acknowledges every bundle that comes, and forgets it."""
    with socket.create_connection(("127.0.0.1", port), timeout=5, source_address=(THIEF, 0)) as s:
        s.sendall(b"dtn!\x04\0")
        receive(s, 6)
        s.sendall(struct.pack(">BHQQH", INIT, 30, 1 << 30, 1 << 30, len(name)) + name + bytes(4))
        have = 0
        while time.monotonic() < until:
            s.settimeout(max(0.1, until - time.monotonic()))
            head = receive(s, 1)
            if head[0] == SEGMENT:
                flags, number, length = segment(s, head + receive(s, 1))
                have = length if flags & START else have + length
                s.sendall(struct.pack(">BBQQ", ACK, flags, number, have))
                taken.value += bool(flags & END)
            elif head[0] == INIT:
                receive(s, 18)
                receive(s, struct.unpack(">H", receive(s, 2))[0])
                receive(s, struct.unpack(">I", receive(s, 4))[0])
            else:
                receive(s, {4: 0, 5: 2, 3: 9, 6: 2}.get(head[0], 0))


def run(scene):
    """Somebody at another address claims to be node 1, again and again, and acknowledges what comes for it."""
    import multiprocessing
    port = scene.ports(1)[0]
    at = f"127.0.0.1:{port}"
    base = {"adapter": "tcpcl", "keepalive": "5s"}
    victim = scene.node(2, [{"name": "to-1", "peer": "ipn:1.0", "local": at, **base}])
    scene.node(1, [{"name": "to-2", "peer": "ipn:2.0", "remote": at, **base}])
    scene.receiver(1)
    taken = multiprocessing.Value("Q", 0)

    def thief(until):
        while time.monotonic() < until:
            try:
                steal(port, b"ipn:1.0", until, taken)
            except OSError:
                time.sleep(0.05)

    phases = scene.phases(lambda: scene.goodput(2, 1), thief)
    link = next(row for row in scene.control(2, "links")["links"] if row["name"] == "to-1")
    scene.figure("bundles forwarded to the impostor", taken.value)
    scene.bound("bundles forwarded to the impostor", taken.value, "==", 0)
    scene.bound("sessions with a name in use, counted", link["contested"], ">=", 1)
    scene.bound("goodput kept during the attack", phases["during_ratio"], ">=", 0.8)
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
