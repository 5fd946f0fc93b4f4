#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What waits for a line: tail drop, CoDel and marks of congestion, frame by frame against a model of its own, which follows the
pseudo-code of RFC 8289 section 5 with a queue and a loop, and plain fractions for the line.

usage: queue_test.py BIN_DIR [unittest arguments]
"""
import collections
import fractions
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

BIN = ""
MS = 10**6


class Model:
    def __init__(self, rate, overhead, limit, codel, mark):
        self.rate, self.overhead, self.limit, self.codel, self.mark = rate, overhead, limit, codel, mark
        self.queue, self.bytes, self.longest = collections.deque(), 0, 0
        self.free, self.told = fractions.Fraction(0), []
        self.dropping, self.count, self.last_count, self.next, self.first_above = False, 0, 0, 0, None

    def law(self, t, count):
        return t + int(self.codel[1] / math.sqrt(count))

    def dodequeue(self, now):
        if not self.queue:
            self.first_above = None
            return None, False
        frame = self.queue.popleft()
        self.bytes -= frame[2] + self.overhead
        if now - frame[1] < self.codel[0] or self.bytes <= self.longest:
            self.first_above = None
        elif self.first_above is None:
            self.first_above = now + self.codel[1]
        elif now >= self.first_above:
            return frame, True
        return frame, False

    def drop_or_mark(self, frame, now):
        """True: it is marked and goes on."""
        if self.codel[2] and frame[3]:
            frame[4] = True
            return True
        self.told.append((frame[0], "codel", now, 0))
        return False

    def dequeue(self, now):
        if self.codel is None:
            frame = self.queue.popleft()
            self.bytes -= frame[2] + self.overhead
            return frame
        frame, drop = self.dodequeue(now)
        if self.dropping:
            self.dropping = drop
            while self.dropping and now >= self.next:
                self.count += 1
                if self.drop_or_mark(frame, now):
                    self.next = self.law(self.next, self.count)
                    break
                frame, drop = self.dodequeue(now)
                self.dropping = drop
                if drop:
                    self.next = self.law(self.next, self.count)
        elif drop:
            if not self.drop_or_mark(frame, now):
                frame, _ = self.dodequeue(now)
            self.dropping, delta = True, self.count - self.last_count
            self.count = delta if delta > 1 and now - self.next < 16 * self.codel[1] else 1
            self.next = self.law(now, self.count)
            self.last_count = self.count
        return frame

    def run(self, until):
        while self.queue:
            start = max(self.free, self.queue[0][1])
            now = math.floor(start)
            if now > until:
                return
            frame = self.dequeue(now)
            if frame is None:
                return
            number, entered, length, ecn, marked = frame
            marked = marked or bool(self.mark and ecn and now - entered > self.mark)
            self.free = start + fractions.Fraction((length + self.overhead) * 8 * 10**9, self.rate)
            if marked:
                self.told.append((number, "mark", now, 0))
            self.told.append((number, "out", math.floor(self.free), 3 if marked else ecn))

    def input(self, number, now, length, ecn):
        self.run(now)
        bits = max(fractions.Fraction(0), (math.floor(self.free) - now)) * self.rate + self.bytes * 8 * 10**9
        more = length + self.overhead
        if bits > 0 and self.limit and bits + more * 8 * 10**9 > self.limit * 8 * 10**9:
            self.told.append((number, "queue", now, 0))
            return
        self.queue.append([number, now, length, ecn, False])
        self.bytes += more
        self.longest = max(self.longest, more)
        self.run(now)


def draw_frames(draw, rate, n=600):
    """Loads that come and go, so that the queue stands and empties; some instants bring several."""
    frames, now, load = [], 0, 1.0
    for i in range(n):
        if i % 50 == 0:
            load = draw.choice((0.3, 0.9, 1.2, 2.0, 4.0))
        length = draw.choice((60, 500, 1000, 1500))
        if draw.random() < 0.8:
            now += int(draw.expovariate(1) * length * 8e9 / rate / load)
        frames.append((now, length, draw.choice((0, 1, 2, 3)) if draw.random() < 0.7 else 0))
    return frames


class QueueTest(unittest.TestCase):
    def play(self, scenario, frames):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(scenario)
            f.flush()
            done = subprocess.run([os.path.join(BIN, "chan_play"), f.name], capture_output=True, text=True, timeout=300, check=False,
                                  input="".join(f"{t} {n} {e}\n" for t, n, e in frames))
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted((int(a), b, int(c), int(d)) for a, b, c, d in (line.split() for line in done.stdout.splitlines()))

    def test_every_frame_as_the_model_says(self):
        seen = collections.Counter()
        for seed in range(120):
            draw = random.Random(seed)
            rate = draw.choice((1_000_000, 9_999_991, 100_000_000))
            codel = draw.choice((None, (5 * MS, 100 * MS, False), (5 * MS, 100 * MS, True), (MS, 20 * MS, draw.random() < 0.5)))
            limit, mark = draw.choice((0, 20000, 200000)), draw.choice((0, 2 * MS))
            overhead = draw.choice((0, 42))
            frames = draw_frames(draw, rate)
            scenario = f"overhead: {overhead}B\nforward:\n  rate: {rate}bit/s\n  queue: {f'{limit}B' if limit else 'none'}\n"
            if codel:
                scenario += (f"  codel: {{target: {codel[0]}ns, interval: {codel[1]}ns, ecn: {'yes' if codel[2] else 'no'}}}\n")
            if mark:
                scenario += f"  mark: {mark}ns\n"
            if not codel and not mark:
                scenario += "  changes: [{at: 366d, iid: 0}]\n"  # so that the queue is counted byte by byte here, too
            model = Model(rate, overhead, limit, codel, mark)
            for i, (t, length, ecn) in enumerate(frames, 1):
                model.input(i, t, length, ecn)
            model.run(1 << 62)
            got = self.play(scenario, frames)
            for want, have in zip(sorted(model.told), got):
                self.assertEqual(want, have, f"seed {seed}\n{scenario}")
            self.assertEqual(len(got), len(model.told), f"seed {seed}")
            seen.update(what for _, what, _, _ in got)
        for what in ("out", "codel", "mark", "queue"):
            self.assertGreater(seen[what], 300, seen)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
