# SPDX-License-Identifier: Apache-2.0
"""A node whose durable store is full is killed and started again amid a flood: nothing that it accepted is lost, and the store does not grow."""
import itertools
import os
import struct
import time

from attack import main
import aap2  # noqa: E402  (attack knows where it is)
from bundle_wire import EPOCH, bundle
from kill_scene import KILLS, PEERS, KillScene
from tcpcl_wire import ACK, END, KEEPALIVE, REFUSE, REJECT, TERM, connect, segment

LIMIT = 48  # MiB of bundles
FILE = 1.25  # of the limit: the file (docs/store.md has 1.16 to 1.18, and pages of both sides of a kill)
SIZE, AHEAD = 20000, 8  # bytes of a bundle; transfers without an answer
KEPT = 25  # bundles of the honest neighbour that nobody fetches, before each kill
HEADS = {ACK: 18, REFUSE: 10, KEEPALIVE: 1, TERM: 3, REJECT: 3}  # octets of messages (RFC 9174)


class Session:
    """One TCPCL session that notes which of its transfers were acknowledged as a whole."""

    def __init__(self, port, peer):
        self.s = connect(port, source=f"127.0.0.{peer}", name=f"ipn:{peer}.0")
        self.s.settimeout(2)
        self.open, self.data = {}, b""

    def send(self, number, data):
        self.s.sendall(segment(number, data))
        self.open[number] = len(data)

    def answers(self):
        """Numbers of transfers that are accepted now; OSError when the session ends."""
        piece = self.s.recv(65536)
        if not piece:
            raise ConnectionError
        self.data += piece
        taken = []
        while self.data and len(self.data) >= (size := HEADS[self.data[0]]):
            message, self.data = self.data[:size], self.data[size:]
            if message[0] == TERM:
                raise ConnectionError
            if message[0] == ACK and message[1] & END:
                taken.append(struct.unpack(">Q", message[2:10])[0])
            if message[0] in (ACK, REFUSE):
                self.open.pop(struct.unpack(">Q", message[2:10])[0], None)
        return taken


def attacker(port, peer, path, created):
    """Bundles for an endpoint that nobody has; the numbers of those that were accepted are written to a file."""
    def go(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
        number = itertools.count()
        with open(path, "w", encoding="ascii") as out:
            while time.monotonic() < until:
                try:
                    session = Session(port, peer)
                    while time.monotonic() < until:
                        while len(session.open) < AHEAD:
                            k = next(number)
                            session.send(k, bundle((peer, 66), (2, 77), k, payload=struct.pack(">QQ", peer, k) + bytes(SIZE), created=created))
                        out.writelines(f"{k}\n" for k in session.answers())
                        out.flush()
                except OSError:
                    time.sleep(0.02)
    return go


def read(path):
    with open(path, encoding="ascii") as f:
        return {int(line) for line in f if line.endswith("\n")}


def fetch(scene, endpoint, idle=3):
    """Payloads that wait at an endpoint of node 2."""
    found = []
    with aap2.Client(scene.lab.socket(2), timeout=idle) as rx:
        if rx.configure(endpoint, subscribe=True) != aap2.SUCCESS:
            raise RuntimeError(endpoint)
        try:
            while True:
                found.append(rx.delivery()[1][:16])
        except (OSError, EOFError):
            return found


def run(scene):
    """Two neighbours fill node 2's store over TCPCL and go on, while it is killed four times; node 3's goodput to it is measured after each start."""
    k = KillScene(scene, f", limit: {LIMIT}MiB", "bundles: {total: 128MiB}\n", payload="20kB")
    created, honest = int((time.time() - EPOCH) * 1000), itertools.count()

    def used():
        return scene.control(2, "status")["store"]["bytes"] / 2**20

    def keep_some():
        """Node 3 sends bundles that nobody fetches, and has their acceptance."""
        with aap2.Client(scene.lab.socket(3)) as tx:
            tx.configure("ipn:3.5")
            return [n for n in itertools.islice(honest, KEPT)
                    if tx.request("ipn:2.88", struct.pack(">QQ", 3, n) + bytes(1000), lifetime_ms=3600000)[0] == aap2.SUCCESS]

    peers = range(9, 9 + PEERS)
    held, files, mine = [], [], []

    def keep_and_measure():
        mine.extend(keep_some())
        time.sleep(1)
        held.append(round(used(), 1))

    k.kill([attacker(k.port, peer, scene.lab.path(f"accepted{peer}"), created) for peer in peers], 6.0, keep_and_measure,
           lambda: files.append(round(k.store_mib(), 1)))
    scene.figure("MiB in the store when it was killed", held)
    scene.figure("MiB of its file", files)
    scene.bound("MiB in the store, least", min(held), ">=", 0.5 * LIMIT)
    scene.bound("MiB in the store, most", max(held), "<=", LIMIT)
    scene.bound("MiB of its file, most", max(files), "<=", FILE * LIMIT)
    scene.bound("anonymous memory, MiB", max(k.memory), "<=", 128 + 64)
    scene.bound("RSS, MiB", scene.rss_peak(k.node), "<=", round(128 + 64 + max(files) + 16, 1))  # pages of the mapped store, and of the program
    accepted = {struct.pack(">QQ", peer, n) for peer in peers for n in read(scene.lab.path(f"accepted{peer}"))}
    there = fetch(scene, "ipn:2.77")
    scene.figure("bundles of the flood", {"accepted": len(accepted), "there": len(there)})
    scene.bound("bundles of the flood that were accepted", len(accepted), ">=", 1000)
    scene.bound("of them lost", len(accepted - set(there)), "==", 0)
    scene.bound("of them twice there", len(there) - len(set(there)), "==", 0)
    wanted, got = {struct.pack(">QQ", 3, n) for n in mine}, fetch(scene, "ipn:2.88")
    scene.bound("bundles of node 3 that were accepted", len(wanted), "==", KILLS * KEPT)
    scene.bound("of them lost, or twice there", len(wanted ^ set(got)) + len(got) - len(set(got)), "==", 0)


if __name__ == "__main__":
    main(run)
