# SPDX-License-Identifier: Apache-2.0
"""What the channel does with single frames: losses in bursts, by a trace and off contact, delays over time, jitter by a law, duplicates, errors."""
import bisect
import fractions
import math
import random

import numpy as np
from receiver import frames_at
from rows import Row, check, moment, play, proportion, run

PART = "Frames"
MANY = 200_000


def lost_of(got, n):
    """1 for each frame that did not arrive."""
    lost = np.ones(n)
    for number, what, _, _ in got:
        if what == "out":
            lost[number - 1] = 0
    return lost


@check(PART)
def bursts(bin_dir):
    """A frame without length each 0.1 ms, over a process of two states in continuous time."""
    good, bad, least, most, gap = 2.0, 0.5, 0.01, 0.6, 0.1  # ms
    got = play(bin_dir, "seed: 4\noverhead: 0B\nforward: {erasures: {gilbert_elliott: {good: 2ms, bad: 500us, loss_good: 0.01, loss_bad: 0.6}}}\n",
               [(i * 100_000, 0, 0) for i in range(MANY)])
    lost, share = lost_of(got, MANY), bad / (good + bad)
    mean = share * most + (1 - share) * least
    yield moment("Gilbert–Elliott in time, 2 ms and 0.5 ms, losses of 0.01 and 0.6: share lost", "b (0.6) + g (0.01) over g + b", mean, lost)
    for lag in (1, 5):
        want = share * (1 - share) * (most - least) ** 2 * math.exp(-lag * gap * (1 / good + 1 / bad))
        yield moment(f"… covariance of losses {lag * gap:g} ms apart", "share (1 − share) 0.59² e^(−t/g − t/b)", want, (lost[:-lag] - mean) * (lost[lag:] - mean))


@check(PART)
def by_a_trace(bin_dir):
    """A frame is lost if any part of its time on the air is in a bad step, or (`frame: start`) if its start is."""
    runs = [line.split() for line in run(bin_dir, "helio-trace", "convert", "H", "-", "-f", "runs").splitlines() if line and line[0] in "01"]
    ends = np.cumsum([int(n) for _, n in runs])
    bad = [state == "1" for state, _ in runs]
    step, n, wrong = 10**5, 20_000, 0
    for frame in ("any", "start"):
        frames, air = frames_at(random.Random(5), n, 100_000_000)
        got = play(bin_dir, f"overhead: 0B\nforward: {{rate: 100Mbit/s, queue: none, start: 0, erasures: {{trace: {{file: H}}, frame: {frame}}}}}\n", frames)
        lost = lost_of(got, n)
        for i, (begin, end) in enumerate(air):
            last = begin // step + 1 if frame == "start" else -(-end // step)
            steps = range(begin // step, last)
            wrong += any(bad[bisect.bisect_right(ends, k)] for k in steps) != lost[i]
    yield Row(f"Trace H, {2 * n} frames, `frame: any` and `start`: fates that differ", "list of bad steps in Python", 0, wrong, 0, relative=False)


@check(PART)
def off_contact(bin_dir):
    draw, n = random.Random(6), 20_000
    frames, air = frames_at(draw, n, 100_000_000)
    edges = sorted(draw.sample(range(0, air[-1][1], 1000), 200))
    windows = list(zip(edges[::2], edges[1::2]))
    text = ", ".join(f"{{from: {a}ns, to: {b}ns}}" for a, b in windows)
    got = play(bin_dir, f"overhead: 0B\nforward: {{rate: 100Mbit/s, queue: none, start: 0, contacts: [{text}]}}\n", frames)
    starts = [a for a, _ in windows]
    want = []
    for begin, end in air:
        at = bisect.bisect_right(starts, begin) - 1
        want.append(at < 0 or end > windows[at][1])
    wrong = int((lost_of(got, n) != np.array(want)).sum())
    yield Row(f"{len(windows)} contacts, {n} frames ({sum(want)} off contact): fates that differ", "windows in Python", 0, wrong, 0, relative=False)


@check(PART)
def held(bin_dir):
    """The line waits for the next contact (`off_contact: hold`); the frame that the end of a contact cuts is lost."""
    draw, n, rate = random.Random(8), 20_000, 100_000_000
    frames, air = frames_at(draw, n, rate)
    at, windows = 0, []
    while at < 2 * air[-1][1]:
        windows.append((at + draw.randrange(1_000_000, 20_000_000, 1000), 0))
        at = windows[-1][0] + draw.randrange(5_000_000, 60_000_000, 1000)
        windows[-1] = (windows[-1][0], at)
    text = ", ".join(f"{{from: {a}ns, to: {b}ns}}" for a, b in windows)
    got = play(bin_dir, f"overhead: 0B\nforward: {{rate: 100Mbit/s, queue: none, start: 0, off_contact: hold, contacts: [{text}]}}\n", frames)
    free, want = 0, []
    for number, (t, length, _) in enumerate(frames, 1):
        begin = max(free, t)
        start, end = next((a, b) for a, b in windows if b > begin)
        begin = max(begin, start)
        free = begin + length * 8 * 10**9 // rate
        want.append((number, "out" if free <= end else "outage", free if free <= end else begin))
    cut = sum(what == "outage" for _, what, _ in want)
    wrong = sum(a != b[:3] for a, b in zip(want, got)) + abs(len(want) - len(got))
    yield Row(f"Waiting for {len(windows)} contacts, {n} frames ({cut} cut): fates and times that differ", "line in Python", 0, wrong, 0, relative=False)


@check(PART)
def changed_rate(bin_dir):
    """A frame has the rate that is in force when its time on the air begins."""
    draw, n = random.Random(9), 20_000
    frames = [(0, draw.randrange(40, 1500), 0) for _ in range(n)]
    changes, at = [(0, 50_000_000)], 0
    for _ in range(200):
        at += draw.randrange(1_000_000, 30_000_000)
        changes.append((at, draw.randrange(10_000_000, 200_000_000)))
    text = ", ".join(f"{{at: {at}ns, rate: {rate}bit/s}}" for at, rate in changes[1:])
    got = play(bin_dir, f"overhead: 0B\nforward: {{rate: 50Mbit/s, queue: none, start: 0, changes: [{text}]}}\n", frames)
    times, free, worst = [at for at, _ in changes], fractions.Fraction(0), 0.0
    for (_, length, _), (_, _, due, _) in zip(frames, got):
        rate = changes[bisect.bisect_right(times, free) - 1][1]
        free += fractions.Fraction(length * 8 * 10**9, rate)
        worst = max(worst, abs(float(due - free)))
    yield Row(f"200 changes of the rate, {n} frames: greatest difference of an arrival", "exact fractions", 0, worst, 1, relative=False, unit="ns")


@check(PART)
def delays(bin_dir):
    """Delays over time of a pass: linear between points; no frame overtakes another."""
    draw, n, rate = random.Random(7), 20_000, 100_000_000
    frames, air = frames_at(draw, n, rate)
    points = [(at, draw.randrange(2_000_000, 12_000_000)) for at in sorted(draw.sample(range(0, air[-1][1], 1000), 20))]
    text = ", ".join(f"{{at: {at}ns, delay: {delay}ns}}" for at, delay in points)
    got = play(bin_dir, f"overhead: 0B\nforward: {{rate: 100Mbit/s, queue: none, start: 0, delay: [{text}]}}\n", frames)
    times, worst, last = [at for at, _ in points], 0.0, 0.0
    for (_, _, due, _), (_, end) in zip(got, air):
        i = bisect.bisect_right(times, end)
        if i in (0, len(points)):
            wait = fractions.Fraction(points[min(i, len(points) - 1)][1])
        else:
            (a, x), (b, y) = points[i - 1], points[i]
            wait = x + fractions.Fraction((y - x) * (end - a), b - a)
        last = max(last, end + wait)
        worst = max(worst, abs(float(due - last)))
    yield Row(f"Table of 20 delays, {n} frames: greatest difference of an arrival", "exact fractions, in order", 0, worst, 1, relative=False, unit="ns")


@check(PART)
def jitter(bin_dir):
    """Extra delays by a law, correlated by 0.8 from frame to frame through a Gaussian copula."""
    import jitter_test
    rho = 0.8
    square = math.log(1.25)
    forms = {
        "uniform, mean: 10ms, sd: 5ms": (10, 5, 6 / math.pi * math.asin(rho / 2), "(6/π) asin(ρ/2)"),
        "normal, mean: 20ms, sd: 3ms": (20, 3, rho, "ρ"),
        "lognormal, mean: 4ms, sd: 2ms": (4, 2, math.expm1(square * rho) / math.expm1(square), "(e^(σ²ρ) − 1) / (e^(σ²) − 1)"),
        "exponential, mean: 5ms, sd: 2ms": (5, 2, jitter_test.by_integral(lambda z: -math.log(jitter_test.NORMAL.cdf(-z)), rho), "double integral"),
    }
    for law, (mean, sd, correlation, form) in forms.items():
        got = play(bin_dir, f"seed: 2\noverhead: 0B\nforward: {{jitter: {{law: {law}, correlation: {rho}}}}}\n", [(i * 1000, 10, 0) for i in range(MANY)])
        x = np.array([due - (number - 1) * 1000 for number, _, due, _ in got]) / 1e6
        words = law.partition(",")[0]
        yield moment(f"Jitter, {words} law, mean {mean} ms, deviation {sd} ms: mean (ms)", "as asked for", mean, x)
        yield moment("… variance (ms²)", "as asked for", sd**2, (x - mean) ** 2)
        yield moment("… covariance of two in a row (ms²)", f"variance · {form}", sd**2 * correlation, (x[1:] - mean) * (x[:-1] - mean))


@check(PART)
def copies_and_errors(bin_dir):
    got = play(bin_dir, "seed: 3\noverhead: 0B\nforward: {duplicate: 0.05, corrupt: 0.02}\n", [(i * 1000, 100, 0) for i in range(MANY)])
    twice = len([1 for _, what, _, _ in got if what == "out"]) - MANY
    yield proportion("Duplicates of 0.05: share of frames that arrive twice", "as asked for", 0.05, twice / MANY, MANY)
    harmed = sum(what == "corrupt" for _, what, _, _ in got)
    yield proportion("Corruption of 0.02: share of arrivals with an error", "as asked for", 0.02, harmed / (MANY + twice), MANY + twice)
    got = play(bin_dir, "seed: 3\noverhead: 0B\nforward: {bit_errors: 1e-4}\n", [(i * 1000, 100, 0) for i in range(MANY)])
    harmed = sum(what == "corrupt" for _, what, _, _ in got)
    yield proportion("Bit errors of 10⁻⁴, 100 bytes: share of frames with an error", "1 − (1 − 10⁻⁴)⁸⁰⁰", 1 - (1 - 1e-4) ** 800, harmed / MANY, MANY)
