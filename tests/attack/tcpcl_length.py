# SPDX-License-Identifier: Apache-2.0
"""Transfers, segments and lists of items whose lengths are not true, at every boundary."""
import select
import struct

from attack import main
from tcpcl_wire import REFUSE, START, connect, segment

NOT_ACCEPTABLE, EXTENSION_FAILURE = 4, 5
TERM, RESOURCE_EXHAUSTION = 5, 5
EDGES = [0, 1, 3, 4095, 4096, 1 << 30, (1 << 30) + 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 4096,
         (1 << 64) - 2, (1 << 64) - 1]


def answer(s, seconds=5):
    """The kind and reason or flags of the next message; None: nothing, or the end."""
    if not select.select([s], [], [], seconds)[0]:
        return None
    try:
        data = s.recv(4096)
    except OSError:
        return None
    return (data[0], data[1]) if len(data) >= 2 else None


def run(scene):
    """A peer announces lengths that are not those of its transfers, up to 2^64-1, and segments of such lengths."""
    (port,) = scene.ports(1)
    scene.node(1, [{"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "remote": f"127.0.0.1:{port}"}])
    victim = scene.node(2, [{"name": "to-1", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{port}", "peers": 8}])
    scene.receiver(2)
    before = scene.goodput(1, 2)
    wrong = []
    for length in EDGES:
        s = connect(port)
        s.sendall(segment(0, b"ab", announced=length))  # whole in one segment, which is the truth
        got = answer(s)
        if got is None or got[0] != REFUSE or got[1] != NOT_ACCEPTABLE:
            wrong.append(f"announced {length}: {got}")
        s.sendall(struct.pack(">BBQI", 1, START, 1, 0) + struct.pack(">Q", length) + b"ab")
        if length > 1 << 30:
            got = answer(s)
            if got != (REFUSE, NOT_ACCEPTABLE):
                wrong.append(f"segment of {length}: {got}")
        s.close()
    for length in ((1 << 20) + 1, (1 << 32) - 1):  # of a list of extension items: refused, and SESS_TERM behind it
        s = connect(port)
        s.sendall(struct.pack(">BBQI", 1, START, 0, length))
        data = b""
        while len(data) < 13 and select.select([s], [], [], 5)[0] and (part := s.recv(4096)):
            data += part
        if data != struct.pack(">BBQBBB", REFUSE, EXTENSION_FAILURE, 0, TERM, 0, RESOURCE_EXHAUSTION):
            wrong.append(f"a list of {length}: {data.hex()}")
        s.close()
    scene.figure("lengths", len(EDGES))
    scene.figure("wrong", wrong)
    scene.bound("lengths with another answer than a refusal", len(wrong), "==", 0)
    after = scene.goodput(1, 2)
    scene.figure("phases", {"before": before, "after": after})
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
