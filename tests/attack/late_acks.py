# SPDX-License-Identifier: Apache-2.0
"""Many neighbours acknowledge each long bundle after 12 s: their links have all of the room for bundles in transmission. Long bundles of another flow keep their goodput."""
import selectors
import struct
import time

from absent_scene import begin
from attack import main
from bundle_wire import Sender, bundle
from tcpcl_wire import ACK, END, SEGMENT, START, connect, keepalive

TOTAL = 256  # MiB: bundles.total
LINKS, EACH, SIZE = 30, 3, 8000000
DELAY = 12  # seconds
KEPT = 0.4


class LatePeer:
    """One session: reads transfers, and acknowledges each as a whole, DELAY seconds after its end."""

    def __init__(self, port, number):
        self.s = connect(port, name=f"ipn:{number}.0", source=f"127.0.0.{30 + number % 8}")
        self.head, self.skip, self.length, self.end, self.due = b"", 0, 0, None, []

    def take(self, data):
        """Octets of the stream: heads of messages are parsed, the data of segments is skipped."""
        while data:
            if self.skip > 0:
                part = min(self.skip, len(data))
                self.skip -= part
                data = data[part:]
                if self.skip == 0 and self.end is not None:
                    self.due.append((time.monotonic() + DELAY, self.end, self.length))
                    self.end = None
                continue
            self.head += data[:64]
            data = data[64:]
            used = self.message()
            if used:
                data = self.head[used:] + data
                self.head = b""

    def message(self):
        """Octets of the message head in self.head; 0: it is not complete."""
        h = self.head
        if h[0] != SEGMENT:
            return {ACK: 18, 3: 10, 5: 3, 6: 3}.get(h[0], 1)
        if len(h) < 18 or (h[1] & START and len(h) < 14 + struct.unpack(">I", h[10:14])[0] + 8):
            return 0
        at = 14 + struct.unpack(">I", h[10:14])[0] if h[1] & START else 10
        self.skip, = struct.unpack(">Q", h[at:at + 8])
        self.length = self.skip + (0 if h[1] & START else self.length)
        self.end = struct.unpack(">Q", h[2:10])[0] if h[1] & END else None
        return at + 8

    def answer(self):
        while self.due and self.due[0][0] <= time.monotonic():
            _, number, length = self.due.pop(0)
            self.s.send(struct.pack(">BBQQ", ACK, END, number, length))


def late(port, numbers):
    def go(until):
        peers, wait = [LatePeer(port, n) for n in numbers], selectors.DefaultSelector()
        for p in peers:
            wait.register(p.s, selectors.EVENT_READ, p)
        alive = time.monotonic()
        while time.monotonic() < until:
            for key, _ in wait.select(0.1):
                try:
                    key.data.take(key.data.s.recv(1 << 18))
                except BlockingIOError:
                    pass
            if time.monotonic() > alive + 10:
                alive = time.monotonic()
                for p in peers:
                    p.s.send(keepalive())
            for p in peers:
                p.answer()
    return go


def run(scene):
    """Node 4 sends bundles of 8 MB for 30 neighbours of node 2. Node 1 sends bundles of 1 MB to node 3 through node 2."""
    scene.seconds = max(scene.seconds, 16)  # longer than the delay
    numbers = range(101, 101 + LINKS)
    victim, entry = begin(scene, numbers, extra=f"bundles: {{total: {TOTAL}MiB}}\n")

    def goodput():
        return scene.goodput(1, 3, payload="1MB", window=20)

    before = goodput()
    sender = Sender(entry, 4)
    for i in range(LINKS * EACH):
        sender.send(bundle((4, 66), (numbers[i % LINKS], 77), i, payload=bytes(SIZE), lifetime_ms=600000))
    until = time.monotonic() + 60
    while scene.control(2, "status")["bundles"] < LINKS * EACH and time.monotonic() < until:
        time.sleep(0.2)
    sender.s.close()
    held = scene.control(2, "status")["bytes"]
    with scene.attack(late(entry, numbers), settle=4):
        sending = scene.control(2, "status")["sending_bytes"] / 2**20
        during = goodput()
        status = scene.control(2, "status")
    scene.figure("node 2", {"before": before, "during": during, "forwarded, MB": round((held - status["bytes"]) / 1e6), **status})
    scene.took_place("MB of bundles", round(held / 1e6), LINKS * EACH * SIZE // 10**6)
    scene.took_place("MiB in transmission", round(sending), TOTAL // 4)
    scene.took_place("bundles acknowledged late", (held - status["bytes"]) // SIZE, 10)
    scene.bound("MiB in transmission", round(sending, 1), "<=", TOTAL / 2)
    scene.bound("anonymous memory, MiB", scene.anonymous_peak(victim), "<=", TOTAL + 64)
    scene.bound("goodput kept", round(during / before, 4), ">=", KEPT)


if __name__ == "__main__":
    main(run)
