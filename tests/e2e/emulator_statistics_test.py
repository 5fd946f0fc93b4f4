#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The erasures that traffic meets in helio-emu relay have the statistics of what was configured, within the error of sampling
(chi-square and Kolmogorov-Smirnov tests at 0.001, fixed seeds): independent, Gilbert-Elliott, traces A, F and H. Each
test of a hypothesis must also refuse a wrong one, so that agreement means something.

usage: emulator_statistics_test.py BIN_DIR [unittest arguments]
"""
import bisect
import collections
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import relay_test
from emulator_test import HEADERS, S, Sink, blast, payload, read_pcap
from relay_test import OPEN, Relay, udp

SIZE = 58
RATE = 80e6
AIR_NS = int((SIZE + HEADERS) * 8 * S / RATE)  # a frame: 10 us
HOLD_NS = S  # before the line begins
TRIES = 5
# Bad share, mean and standard deviation of bad and of good time in ms: Caini et al., IEEE TAES 59(6), 2023.
PUBLISHED = {"A": (0.0498, (0.95, 0.66), (18.17, 17.37)), "F": (0.137, (2.14, 3.15), (13.46, 18.19)),
             "H": (0.288, (5.46, 5.02), (13.48, 12.84))}

Seen = collections.namedtuple("Seen", "fates bad good")  # lost or not, frame by frame; frames of each whole run


def ks_two(a, b):
    """Distance of two samples, and the one that is exceeded in one of 1000 cases (less, when values repeat)."""
    a, b = sorted(a), sorted(b)
    distance = max(abs(bisect.bisect_right(a, x) / len(a) - bisect.bisect_right(b, x) / len(b)) for x in {*a, *b})
    return distance, 1.949 * math.sqrt((len(a) + len(b)) / len(a) / len(b))


def ks_law(sample, cdf, width):
    """The same for a law, of values that were rounded up to within `width`."""
    sample = sorted(sample)
    n = len(sample)
    distance = max(max((i + 1) / n - cdf(x + width), cdf(x - width) - i / n) for i, x in enumerate(sample))
    return distance, 1.949 / math.sqrt(n)


def chi_square(observed, expected):
    """The statistic over cells of at least five expected, and its 0.999 quantile (Wilson and Hilferty)."""
    cells = [(o, e) for o, e in zip(observed, expected) if e >= 5]
    rest = (sum(observed) - sum(o for o, _ in cells), sum(expected) - sum(e for _, e in cells))
    cells += [rest] if rest[1] >= 5 else []
    degrees = len(cells) - 1
    z = 2 / 9 / degrees
    return sum((o - e) ** 2 / e for o, e in cells), degrees * (1 - z + 3.09 * math.sqrt(z)) ** 3


class StatisticsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def tearDown(self):
        while OPEN:
            OPEN.pop()()

    def agrees(self, test, right):
        value, limit = test
        (self.assertLess if right else self.assertGreater)(value, limit)

    def once(self, count, options):
        far, near = udp(), udp()
        relay = Relay(far, "--rate", f"{RATE / 1e6:g}Mbit/s", "--queue", "none", "--pcap-before", self.path("before.pcap"),
                      "--set", f"forward.contacts=[{{from: {HOLD_NS}ns, to: 1h}}]", "--set", "forward.off_contact=hold", "--seed", "7", *options)
        sink = Sink(far, SIZE, relay.p)
        over = time.monotonic() + (HOLD_NS + count * AIR_NS) / S
        blast(near, relay.address, count, SIZE, 3 * RATE)
        time.sleep(max(0, over - time.monotonic()))
        arrived = sink.done()
        self.assertEqual(relay.stop(signal.SIGINT), 0, relay.said)
        why = self.missed(relay, sink, count, arrived)
        return set(arrived), why

    def missed(self, relay, sink, count, arrived):
        """What the machine lost before, within and behind the relay: then what is missing was not erased. Empty: nothing."""
        forward, capture = relay.counters["forward"], relay.counters["pcap_before"]
        self.assertEqual(forward["in"] + forward["duplicated"], forward["out"] + sum(forward["dropped"].values()) + forward["queued"])
        of = {"never reached the relay": count - forward["in"], "dropped at its socket": forward["dropped"]["socket"],
              "not sent by it": forward["dropped"]["send"], "still inside": forward["queued"],
              "missing in its capture": capture["lost"] + forward["in"] - capture["records"],
              "lost on the way to the receiver": forward["out"] - len(arrived), "dropped there": sink.dropped,
              "damaged": sink.wrong}
        return ", ".join(f"{n} {what}" for what, n in of.items() if n)

    def see(self, count, *options):
        """Frames radiated one after another without a break: they wait for the contact, so that the sender may stall. What the machine lost, and breaks where it stalled, are reported, and the
        traffic is sent again; the relay's own account has to be right each time."""
        for attempt in range(TRIES):
            arrived, why = self.once(count, options)
            records, breaks, fates = read_pcap(self.path("before.pcap")), 0, []
            free = records[0][0] + HOLD_NS if records else 0
            for at, frame in records:
                breaks += at > free
                free = max(at, free) + AIR_NS
                fates.append(int.from_bytes(payload(frame)[:4], "big") not in arrived)
            if not why and breaks == 0:
                break
            why = why or f"{breaks} breaks"
            print(f"attempt {attempt + 1}: not used, by the machine: {why}", file=sys.stderr)
        else:
            self.fail(f"this machine never carried {count} frames in time; at last: {why}")
        self.assertEqual(len(fates), count)
        ends = [i for i in range(1, len(fates)) if fates[i] != fates[i - 1]]
        runs = ([], [])
        for begin, end in zip(ends, ends[1:]):  # the first begins with the traffic
            runs[fates[begin]].append(end - begin)
        return Seen(fates, runs[True], runs[False])

    def test_independent(self):
        p, count = 0.1, 100_000
        seen = self.see(count, "--trace", f"iid:{p}")
        for guess, right in ((p, True), (1.05 * p, False)):
            self.agrees(chi_square([sum(seen.fates), count - sum(seen.fates)], [count * guess, count * (1 - guess)]), right)
        runs = collections.Counter(seen.bad)
        for guess, right in ((p, True), (1.2 * p, False)):
            self.agrees(chi_square([runs[k] for k in range(1, 12)],
                                   [len(seen.bad) * (1 - guess) * guess ** (k - 1) for k in range(1, 12)]), right)
        pairs = collections.Counter(zip(seen.fates, seen.fates[1:]))
        of = [sum(n for (a, _), n in pairs.items() if a == s) for s in (False, True)]
        share = sum(n for (_, b), n in pairs.items() if b) / count
        self.agrees(chi_square([pairs[False, True], pairs[False, False], pairs[True, True], pairs[True, False]],
                               [of[0] * share, of[0] * (1 - share), of[1] * share, of[1] * (1 - share)]), True)

    def test_gilbert_elliott(self):
        good, bad = 2_000_000, 1_000_000
        seen = self.see(300_000, "--set", f"forward.erasures.gilbert_elliott={{good: {good}ns, bad: {bad}ns}}")
        for runs, mean in ((seen.bad, bad), (seen.good, good)):
            self.assertGreater(len(runs), 300)
            for factor, right in ((1, True), (1.4, False)):
                self.agrees(ks_law([n * AIR_NS for n in runs], lambda x: 1 - math.exp(-max(x, 0) / mean / factor), AIR_NS), right)
        share, cycles = bad / (good + bad), len(seen.bad)
        deviation = math.sqrt(2 / cycles) * share * (1 - share)  # of the share of an alternating process
        self.assertAlmostEqual(sum(seen.fates) / len(seen.fates), share, delta=4 * deviation)

    def trace(self, name, step_ns):
        """The preset with another step, in a file; the lengths of its bad and of its good runs in steps."""
        subprocess.run([os.path.join(relay_test.BIN, "helio-trace"), "convert", name, self.path(name), "--step",
                        f"{step_ns}ns"], check=True)
        runs = ([], [])
        with open(self.path(name)) as f:
            for line in f:
                if not line.startswith("#"):
                    state, steps = map(int, line.split())
                    runs[state].append(steps)
        return runs[1], runs[0]

    def check_trace(self, name, other):
        step, count = 4 * AIR_NS, 300_000
        bad, good = self.trace(name, step)
        wrong_bad, wrong_good = self.trace(other, step)
        seen = self.see(count, "--trace", self.path(name))
        # A run of n steps meets 4 n frames, or one more at its edges if it is bad, one less if it is good.
        seen_bad, seen_good = [n // 4 for n in seen.bad], [(n + 3) // 4 for n in seen.good]
        self.agrees(ks_two(seen_bad, bad), True)
        self.agrees(ks_two(seen_good, good), True)
        self.assertTrue(any(d > limit for d, limit in (ks_two(seen_bad, wrong_bad), ks_two(seen_good, wrong_good))))
        edges = [sorted(bad)[len(bad) * i // 8] for i in range(1, 8)]  # cells of about the same number
        cells = [collections.Counter(bisect.bisect_left(edges, n) for n in runs) for runs in (seen_bad, bad)]
        self.agrees(chi_square([cells[0][i] for i in range(8)], [cells[1][i] * len(seen_bad) / len(bad) for i in range(8)]), True)
        share, *published = PUBLISHED[name]
        for runs, (mean, deviation) in zip((seen_bad, seen_good), published):
            self.assertAlmostEqual(sum(runs) / len(runs) / 10, mean, delta=4 * deviation / math.sqrt(len(runs)) + 0.02)
        (b, sb), (g, sg) = published
        spread = share * (1 - share) * math.sqrt(((sb / b) ** 2 + (sg / g) ** 2) / len(seen_bad))
        lost = sum(seen_bad) / (sum(seen_bad) + sum(seen_good))
        self.assertAlmostEqual(lost, share, delta=4 * spread)
        print(f"{name}: {len(seen_bad)} bad runs, bad share {lost:.4f} (published {share}), K-S bad "
              "%.3f of %.3f, good %.3f of %.3f" % (*ks_two(seen_bad, bad), *ks_two(seen_good, good)), file=sys.stderr)

    def test_trace_a(self):
        self.check_trace("A", "F")

    def test_trace_f(self):
        self.check_trace("F", "H")

    def test_trace_h(self):
        self.check_trace("H", "A")


if __name__ == "__main__":
    relay_test.BIN = sys.argv.pop(1)
    unittest.main()
