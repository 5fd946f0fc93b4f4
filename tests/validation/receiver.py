# SPDX-License-Identifier: Apache-2.0
"""Receivers with a threshold: block interleaver, re-acquisition, adaptive coding; against closed forms, and step by step against a model in Python."""
import csv
import math
import os
import random
import re
import tempfile

import numpy as np
from rows import Row, check, moment, play, proportion, run

STEPS = 1_000_000
GOOD, BAD = 50.0, 5.0  # mean runs of powers, steps


def two_levels(seed, good=GOOD, bad=BAD, n=STEPS):
    """Powers of 1 and 0.1 in geometric runs."""
    rng = np.random.default_rng(seed)
    pairs = int(n / (good + bad) * 1.2)
    runs = np.column_stack([rng.geometric(1 / good, pairs), rng.geometric(1 / bad, pairs)]).ravel()
    return np.repeat(np.tile([1.0, 0.1], pairs), runs)[:n]


def from_power(bin_dir, power, *options):
    """The state of each step: 1 is bad."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.csv")
        np.savetxt(path, power, fmt="%.10g")
        lines = run(bin_dir, "helio-trace", "from-power", path, "--sensitivity", "0.5", *options, "-o", "-").splitlines()
    runs = [line.split() for line in lines if line and line[0] in "01"]
    return np.repeat([float(state) for state, _ in runs], [int(n) for _, n in runs])


@check("Receiver")
def reacquire(bin_dir):
    """A step is received if it and the H before it have power enough: each good step follows a good one with 1 − 1/g."""
    state = from_power(bin_dir, two_levels(1), "--reacquire", "2ms")
    received = GOOD / (GOOD + BAD) * (1 - 1 / GOOD) ** 20
    yield moment("Re-acquisition of 20 steps, fades of 5 steps each 55: share lost", "1 − (1 − 1/g)^H g / (g + b)", 1 - received, state)
    yield moment("… losses that begin, per step", "(1 − 1/g)^H / (g + b)", received / GOOD, np.diff(state) > 0)


def more_than(limit, n, good, bad):
    """The chance that more than so many of n steps are bad: a sum over both states of the chain, step by step."""
    share = bad / (good + bad)
    chance = np.zeros((2, n + 1))
    chance[0, 0], chance[1, 1] = 1 - share, share
    for _ in range(n - 1):
        to_good = chance[0] * (1 - 1 / good) + chance[1] / bad
        to_bad = np.roll(chance[0] / good + chance[1] * (1 - 1 / bad), 1)
        chance = np.array([to_good, to_bad])
    return float(chance[:, limit + 1:].sum())


@check("Receiver")
def block(bin_dir):
    """A code that corrects an eighth of 100 steps corrects 12."""
    lost = np.random.default_rng(2).random(STEPS) < 0.1
    state = from_power(bin_dir, np.where(lost, 0.1, 1.0), "--block", "10ms,0.125")
    tail = 1 - sum(math.comb(100, k) * 0.1**k * 0.9 ** (100 - k) for k in range(13))
    yield proportion("Block interleaver of 100 steps, corrects 12, independent erasures of 0.1: share lost", "binomial", tail, float(state.mean()), STEPS / 100)
    state = from_power(bin_dir, two_levels(3), "--block", "10ms,0.125")
    yield moment("… fades of 5 steps each 55", "chain of two states, 100 steps", more_than(12, 100, GOOD, BAD), state)


@check("Receiver")
def block_and_hold(bin_dir):
    """Both at once over powers that are correlated, a length that is no multiple of the block: step by step. The last block ends with the first steps of the loop."""
    rng, n, size, most, hold = np.random.default_rng(3), 200_003, 60, 12, 15
    power = np.exp(0.5 * np.convolve(rng.standard_normal(n), np.ones(20) / 20**0.5, "same"))
    power = np.array([float(f"{p:.10g}") for p in power])
    bad = power < 0.5
    wrong, lost = 0, 0
    for blocks, held in ((True, False), (False, True), (True, True)):
        want = bad.copy()
        for i in range(0, n, size) if blocks else ():
            want[i:i + size] = bad[np.arange(i, i + size) % n].sum() > most
        late = want.copy()
        for i in np.flatnonzero(want) if held else ():
            late[i:i + hold + 1] = True
        options = (("--block", "6ms,0.2") if blocks else ()) + (("--reacquire", "1.5ms") if held else ())
        wrong += int((from_power(bin_dir, power, *options) != late).sum())
        lost += int(late.sum())
    yield Row(f"Block interleaver, re-acquisition and both, {3 * n} steps of correlated powers ({lost} lost): steps that differ", "list of lost steps in Python", 0, wrong, 0,
              relative=False)


@check("Receiver")
def resampled(bin_dir):
    """A wave in the powers keeps its mean, and an amplitude a times the filter's: it is below a level for arccos((1 − level) / a) / π of the time."""
    step, wave, amplitude, n = 1e-3, 1000 * (math.sqrt(5) - 1) / 9, 0.9, 100_000  # no multiple of a step
    power = 1 + amplitude * np.cos(2 * np.pi * wave * step * np.arange(n))
    for to in (0.1, 0.7, 2.3):
        left = amplitude * np.sinc(wave * step) ** 2 * np.sinc(wave * to * 1e-3)
        state = from_power(bin_dir, power, "--step", "1ms", "--resample", f"{to}ms")
        yield Row(f"Resampled from 1 to {to} ms, a wave of {wave:.4g} Hz: share of the time below half the mean", "arccos(0.5 / a) / π, a by sinc²(f · step) · sinc(f · resample)",
                  math.acos(min(1, 0.5 / left)) / math.pi, float(state.mean()), 0.003, relative=False)


def frames_at(draw, n, rate, overhead=0):
    """(time, length, 0) of frames, and when each begins and ends on a line of that rate: whole bits, so that all is exact."""
    now, free, frames, air = 0, 0, [], []
    for _ in range(n):
        length = draw.randrange(40, 1500)
        now += int(draw.expovariate(1 / 2e5))
        frames.append((now, length, 0))
        begin = max(free, now)
        free = begin + (length + overhead) * 8 * 10**9 // rate
        air.append((begin, free))
    return frames, air


@check("Receiver")
def in_a_scenario(bin_dir):
    """Threshold, block and re-acquisition of a scenario: each frame's fate by a model that lists the lost steps."""
    draw, step, n = random.Random(4), 10**5, 4000
    wrong, lost_in_all, frames_in_all = 0, 0, 0
    for hold, size, correct in ((0, 0, 0), (15, 0, 0), (0, 20, 0.2), (15, 20, 0.2)):
        db, power = 0.0, []
        for _ in range(n):
            db = 0.95 * db + draw.gauss(0, 1)
            power.append(round(db, 6))
        lost = [p < -3 for p in power]
        if size:
            lost = [sum(lost[i - i % size: i - i % size + size]) > correct * size + 1e-9 for i in range(n)]
        held, until = [], 0
        for i, bad in enumerate(lost):
            until = i + hold + 1 if bad else until
            held.append(bad or i < until)
        frames, air = frames_at(draw, 1500, 100_000_000)
        frames = [frame for frame, (_, end) in zip(frames, air) if end < n * step]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.csv")
            np.savetxt(path, power, fmt="%.6f")
            keys = (f", reacquire: {hold * step}ns" if hold else "") + (f", block: {size * step}ns, correct: {correct}" if size else "")
            got = play(bin_dir, f"overhead: 0B\nforward: {{rate: 100Mbit/s, queue: none, start: 0, erasures: "
                                f"{{power: {{file: {path}, unit: dB, step: {step}ns, loop: no, threshold: -3dB{keys}}}}}}}\n", frames)
        want = [any(held[begin // step: -(-end // step)]) for begin, end in air[:len(frames)]]
        found = {number: what != "out" for number, what, _, _ in got}
        wrong += sum(found[i] != bad for i, bad in enumerate(want, 1))
        lost_in_all += sum(want)
        frames_in_all += len(want)
    yield Row(f"Scenario with a threshold, {frames_in_all} frames of four receivers ({lost_in_all} lost): fates that differ", "list of lost steps in Python", 0, wrong, 0,
              relative=False)


@check("Receiver")
def adaptive(bin_dir):
    """ModCods of DVB-S2 that follow the power: the model of tests/e2e/traces_acm_test.py, with thresholds and lengths of frames of the standard."""
    import traces_acm_test as acm
    wrong, n = 0, 5000
    for seed in range(8):
        draw = random.Random(100 + seed)
        db, power = 0.0, []
        for _ in range(n):
            db = 0.98 * db + draw.gauss(0, 1)
            power.append(10 ** (db / 10))
        delay, every, hold = draw.choice((0, 30)), draw.choice((1, 10)), draw.choice((0, 25))
        want = acm.model(power, 6, 1, 1, 0.5, delay, every, 2, hold)
        with tempfile.TemporaryDirectory() as folder:
            path, out = os.path.join(folder, "p.csv"), os.path.join(folder, "acm")
            with open(path, "w", newline="", encoding="ascii") as f:
                csv.writer(f).writerows([repr(p)] for p in power)
            run(bin_dir, "helio-trace", "acm", path, "--esn0", "6dB", "--symbols", "1000000", "--step", "1us", "--delay", f"{delay}us", "--every", f"{every}us",
                "--lock", "2dB", "--reacquire", f"{hold}us", "-o", out)
            lines = run(bin_dir, "helio-trace", "convert", out + ".htr", "-", "-f", "runs").splitlines()
            with open(out + ".yaml", encoding="utf-8") as f:
                text = f.read()
        lost = [line[0] == "1" for line in lines if line[0] in "01" for _ in range(int(line.split()[1]))]
        changes = {0: re.search(r"^  rate: \d+bit/s # (.+)$", text, re.M)[1]}
        changes.update((int(at) // 1000, name) for at, name in re.findall(r"at: (\d+)ns, rate: \d+bit/s\} # (.+)$", text, re.M))
        name = ""
        for i, (modcod, bad) in enumerate(want):
            name = changes.get(i, name)
            wrong += name != modcod or lost[i] != bad
    yield Row(f"`acm`, {8 * n} steps of 8 random runs: ModCods and fates that differ", "model in Python, of the standard's tables", 0, wrong, 0, relative=False)
