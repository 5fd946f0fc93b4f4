# SPDX-License-Identifier: Apache-2.0
"""Established peers send extension items, repeated SESS_INIT, refusals and ends that RFC 9174 hardly has, as fast as TCP takes them."""
import os
import struct

from attack import cpu_seconds, main
from tcpcl_wire import ACK, END, REFUSE, SEGMENT, START, TERM, flood, init, segment

CRITICAL = 1
LEAST = 1000000  # octets of one attack: connections that are refused send some 50 each
MOST = 2**64 - 1


def item(flags, kind, value=b""):
    return struct.pack(">BHH", flags, kind, len(value)) + value


def with_items(number, items, data=b"x", flags=START | END):
    return struct.pack(">BBQI", SEGMENT, flags, number, len(items)) + items + struct.pack(">Q", len(data)) + data


def long_init(items):
    return init("ipn:99.0")[:-4] + struct.pack(">I", len(items)) + items


MANY = item(0, 77) * 200000  # just below 1 MiB
FLOODS = {
    "200,000 items of a transfer": with_items(0, MANY) * 2,
    "critical items that nobody knows": b"".join(with_items(k, item(CRITICAL, 2 + k % 60000, b"v" * (k % 9))) for k in range(4096)),
    "two lengths of one transfer": b"".join(with_items(k, item(0, 1, struct.pack(">Q", 1)) + item(CRITICAL, 1, struct.pack(">Q", MOST))) for k in range(4096)),
    "lists that say another length": b"".join(struct.pack(">BBQI", SEGMENT, START | END, k, 9) + struct.pack(">BHH", 0, 5, 500) + b"vvvv" + struct.pack(">Q", 1) + b"x" for k in range(4096)),
    "SESS_INIT again, with 1 MiB of items": long_init(MANY) * 2,
    "SESS_INIT again and again": init("ipn:99.0") * 4096,
    "refusals of nothing": b"".join(struct.pack(">BBQ", REFUSE, k % 256, k % 3 * (MOST // 2)) for k in range(4096)),
    "acknowledgements without end": b"".join(struct.pack(">BBQQ", ACK, k % 4, k % 5, MOST - k) for k in range(4096)),
    "transfers one in another": b"".join(segment(k, b"x" * 50, START) for k in range(4096)),
    "transfers without their begin": b"".join(segment(MOST - k, b"x" * 50, END if k % 2 else 0) for k in range(4096)),
    "SESS_TERM and what follows it": struct.pack(">BBB", TERM, 0, 3) + segment(0, b"x" * 1000) * 1000,
    "SESS_TERM as a reply to none": struct.pack(">BBB", TERM, 1, 255) * 4096,
    "segments of 2^64-1 octets": b"".join(segment(k, b"x" * 1000, START | END, length=MOST) for k in range(64)),
}


def run(scene, only):
    """Three peers send such messages to node 2; the goodput of node 1, which has a session, too, is measured."""
    (port,) = scene.ports(1)
    scene.node(1, [{"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "remote": f"127.0.0.1:{port}"}])
    node = scene.node(2, [{"name": "to-1", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{port}", "peers": 8}])
    scene.receiver(2)
    scene.goodput(1, 2)
    for number, (name, data) in enumerate(FLOODS.items()):
        if only not in (-1, number):
            continue

        def attacker(k, data=data):
            def go(until):
                os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
                flood(port, until, data, source=f"127.0.0.{9 + k}", name=f"ipn:{99 + k}.0")
            return go

        before = scene.goodput(1, 2)
        used = cpu_seconds(node.pid)
        with scene.attack(*[attacker(k) for k in range(3)], least={"sent": LEAST}, name=name):
            during = scene.goodput(1, 2)
        after = scene.recovery(lambda: scene.goodput(1, 2), before, name)
        scene.figure(name, {"before": before, "during": during, "after": after, "processor time of node 2, s": round(cpu_seconds(node.pid) - used, 2)})
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run, only=-1)
