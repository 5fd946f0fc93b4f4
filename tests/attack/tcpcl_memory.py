# SPDX-License-Identifier: Apache-2.0
"""Transfers that are never finished, by peers that nobody has authenticated."""
import select
import struct
import threading
import time

from attack import drain, main
from tcpcl_wire import END, START, connect, push, segment

TOTAL_MIB = 96
PEERS, SESSIONS = 3, 4
CHUNK = 1 << 20
GREEDY, STILL = 24, 20  # MiB of a transfer of one session: of all more than the node has; of one that stops growing
IDLE_S = 3


def begin(number, announced):
    """A START segment that announces more than it brings."""
    return segment(number, bytes(CHUNK), START, announced=announced)


def greedy(port, k):
    """Each session sends transfers of 24 MiB, as fast as they are taken, one after the other. A session that the node ends is made anew."""
    def go(until):
        piece, number, sessions = segment(0, bytes(CHUNK), 0), 0, []
        while time.monotonic() < until:
            sessions += [connect(port, source=f"127.0.0.{30 + k}", name=f"ipn:{90 + k}.0") for _ in range(SESSIONS - len(sessions))]
            for s in list(sessions):
                if not push(s, begin(number, GREEDY << 20), until):
                    sessions.remove(s)
            for _ in range(GREEDY - 2):
                for s in list(sessions):
                    head = bytearray(piece)
                    struct.pack_into(">Q", head, 2, number)
                    if not push(s, head, until):
                        sessions.remove(s)
            for s in sessions:
                push(s, segment(number, bytes(CHUNK), END), until)
            number += 1
    return go


def still(port, k):
    """Each session sends 20 MiB of a transfer and no more, but goes on with keepalives."""
    def go(until):
        sessions = [connect(port, source=f"127.0.0.{30 + k}", name=f"ipn:{90 + k}.0") for _ in range(SESSIONS)]
        for s in sessions:
            push(s, begin(0, 1 << 29) + segment(0, bytes(CHUNK), 0) * (STILL - 1), until)
        while time.monotonic() < until:
            select.select([], [], [], 1)
            for s in sessions:
                drain(s)
                push(s, b"\x04", until)
    return go


def run(scene):
    """Twelve connections in the names of three peers hold unfinished transfers: growing without end, then standing still."""
    (port,) = scene.ports(1)
    store = scene.lab.path("store")
    scene.node(1, [{"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "remote": f"127.0.0.1:{port}"}])
    victim = scene.node(2, [{"name": "to-1", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{port}", "peers": 8,
                             "transfer_idle": f"{IDLE_S}s"}],
                        store=f"{{path: {store}, durability: async}}", extra=f"bundles: {{total: {TOTAL_MIB}MiB}}\n")
    scene.receiver(2)
    seen, over = [], threading.Event()

    def look():
        while not over.wait(0.1):
            links = scene.control(2, "links")["links"]
            seen.append((scene.control(2, "status")["arriving_bytes"], sum(link.get("transfers_shed", 0) for link in links), len(links)))

    looker = threading.Thread(target=look)
    looker.start()
    phases = scene.phases(lambda: scene.goodput(1, 2), *[greedy(port, k) for k in range(PEERS)])
    over.set()
    looker.join()
    most = max(arriving for arriving, *_ in seen) / 2**20
    scene.figure("arriving_mib", round(most, 1))
    # The attack itself: each attacker is a link of its own, and the node was looked at while they sent.
    scene.bound("looks at the node while all attackers had sessions", sum(links == 1 + PEERS for *_, links in seen), ">=", 10)
    scene.bound("MiB of unfinished transfers that status shows", most, ">=", TOTAL_MIB / 4)
    scene.bound("… and at most", most, "<=", TOTAL_MIB)
    scene.bound("transfers refused for lack of memory", max(shed for _, shed, _ in seen), ">", 0)
    scene.bound("goodput kept, growing transfers", phases["during_ratio"], ">=", 0.4)
    with scene.attack(*[still(port, k) for k in range(PEERS)], settle=1.0):
        held = scene.control(2, "status")["arriving_bytes"]
        scene.figure("still_mib", round(held / 2**20, 1))
        scene.bound("MiB that stand still", held, ">", 0)
        time.sleep(2 * IDLE_S)
        scene.bound("of them after the time they may", scene.control(2, "status")["arriving_bytes"], "==", 0)
        scene.figure("goodput_with_idle_sessions", scene.goodput(1, 2))
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", TOTAL_MIB + 64)


if __name__ == "__main__":
    main(run)
