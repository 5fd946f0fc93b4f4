# SPDX-License-Identifier: Apache-2.0
"""Queue, line, delay and losses of the channel, frame by frame in virtual time; and LTP over it in helio-sim."""
import collections
import csv
import fractions
import json
import math
import os
import random
import tempfile

import numpy as np
from rows import Row, blocks_error, check, drawn, play, proportion, run

S = 10**9


@check("Queue and line")
def codel(bin_dir):
    """The model of tests/e2e/queue_test.py follows the pseudo-code of RFC 8289, section 5."""
    import queue_test
    counts, wrong, frames_in_all = collections.Counter(), 0, 0
    for seed in range(40):
        draw = random.Random(1000 + seed)
        rate, interval = draw.choice((1_000_000, 10_000_000, 100_000_000)), draw.choice((20, 100)) * 10**6
        frames = queue_test.draw_frames(draw, rate)
        model = queue_test.Model(rate, 0, 0, (interval // 20, interval, False), 0)
        for i, (t, length, ecn) in enumerate(frames, 1):
            model.input(i, t, length, ecn)
        model.run(1 << 62)
        got = play(bin_dir, f"overhead: 0B\nforward:\n  rate: {rate}bit/s\n  queue: none\n  codel: {{target: {interval // 20}ns, interval: {interval}ns}}\n", frames)
        wrong += sum(a != b for a, b in zip(sorted(model.told), got)) + abs(len(got) - len(model.told))
        frames_in_all += len(frames)
        counts.update(what for _, what, _, _ in got)
    yield Row(f"CoDel, {frames_in_all} frames of 40 random loads ({counts['codel']} dropped): fates and times that differ", "pseudo-code of RFC 8289 §5 in Python",
              0, wrong, 0, relative=False)


@check("Queue and line")
def limits(bin_dir):
    """The same model with tail drop, CoDel that marks, and marks by a threshold."""
    import queue_test
    counts, wrong, frames_in_all = collections.Counter(), 0, 0
    for seed in range(40):
        draw = random.Random(2000 + seed)
        rate, limit, mark = draw.choice((1_000_000, 9_999_991, 100_000_000)), draw.choice((20_000, 200_000)), draw.choice((0, 2_000_000))
        codel = draw.choice((None, (5_000_000, 100_000_000, True)))
        text = f"  codel: {{target: {codel[0]}ns, interval: {codel[1]}ns, ecn: yes}}\n" if codel else "  changes: [{at: 366d, iid: 0}]\n"  # counted byte by byte with both
        frames = queue_test.draw_frames(draw, rate)
        model = queue_test.Model(rate, 42, limit, codel, mark)
        for i, (t, length, ecn) in enumerate(frames, 1):
            model.input(i, t, length, ecn)
        model.run(1 << 62)
        got = play(bin_dir, f"overhead: 42B\nforward:\n  rate: {rate}bit/s\n  queue: {limit}B\n  mark: {mark}ns\n{text}", frames)
        wrong += sum(a != b for a, b in zip(sorted(model.told), got)) + abs(len(got) - len(model.told))
        frames_in_all += len(frames)
        counts.update(what for _, what, _, _ in got)
    yield Row(f"Limits and marks, {frames_in_all} frames of 40 random queues ({counts['queue']} dropped at a full queue, {counts['mark']} marked): fates and times that differ",
              "tail drop, RFC 8289 §5 and RFC 8257 in Python", 0, wrong, 0, relative=False)


@check("Queue and line")
def waiting(bin_dir):
    """M/D/1: the mean wait of Poisson arrivals is load × service / 2 (1 − load) (Pollaczek and Khinchine)."""
    draw = random.Random(8)
    service, n = 100_000, 200_000  # 1000 bytes at 80 Mbit/s
    for load in (0.5, 0.8):
        now, frames = 0.0, []
        for _ in range(n):
            now += draw.expovariate(load / service)
            frames.append((int(now), 1000, 0))
        got = play(bin_dir, "overhead: 0B\nforward: {rate: 80Mbit/s, queue: none}\n", frames)
        waits = np.array([t - frames[number - 1][0] - service for number, _, t, _ in got], dtype=float)
        yield drawn(f"Line, Poisson arrivals at load {load}: mean wait", "Pollaczek and Khinchine (M/D/1)", load * service / 2 / (1 - load) / 1000,
                    float(waits.mean()) / 1000, blocks_error(waits, 40) / 1000, unit="µs")


@check("Queue and line")
def delay(bin_dir):
    """Without losses: each frame leaves when its predecessors and itself are radiated, and arrives a delay later."""
    draw = random.Random(5)
    worst, sooner = 0, 0
    for rate, propagation, overhead in ((9_999_991, 5_000_000, 42), (500_000_000, 1_282_000_000, 0), (1_000_000, 0, 18)):
        now, free, frames, want = 0, fractions.Fraction(0), [], []
        for _ in range(5000):
            length = draw.randrange(1, 1501)
            now += int(draw.expovariate(0.9 / (750 * 8 * S / rate)))
            frames.append((now, length, 0))
            free = max(free, now) + fractions.Fraction((length + overhead) * 8 * S, rate)
            want.append(math.floor(free) + propagation)
        got = play(bin_dir, f"overhead: {overhead}B\nforward: {{rate: {rate}bit/s, delay: {propagation}ns, queue: none}}\n", frames)
        worst = max(worst, *(abs(t - want[number - 1]) for number, _, t, _ in got))
        sooner += len(frames) - len(got)
    yield Row("Rate and delay, 15000 frames at three rates: greatest difference of an arrival", "sum of exact fractions", 0, worst, 1, relative=False, unit="ns")
    yield Row("… frames missing", "no losses", 0, sooner, 0, relative=False)


@check("Queue and line")
def independent(bin_dir):
    p, n = 0.1, 200_000
    frames = [(i * 1000, 100, 0) for i in range(n)]
    got = play(bin_dir, "seed: 3\noverhead: 0B\nforward: {erasures: {iid: 0.1}}\n", frames)
    lost = np.zeros(n)
    for number, what, _, _ in got:
        lost[number - 1] = what != "out"
    yield proportion("Independent losses of 0.1: share lost", "as asked for", p, float(lost.mean()), n)
    pairs = lost[1:] * lost[:-1]
    yield drawn("… two in a row", "0.01", p * p, float(pairs.mean()), p * math.sqrt((1 + 2 * p - 3 * p * p) / n))


def simulate(bin_dir, *arguments):
    return json.loads(run(bin_dir, "helio-sim", "--json", *arguments))


def chain(n, p):
    """Mean and variance of the cycles of n segments of which Bin(n − 1, p) are lost and sent again: the last is the checkpoint, which its timer repeats."""
    mean, square = [0.0, 0.0], [0.0, 0.0]
    for m in range(2, n + 1):
        chances = [(k, math.comb(m - 1, k) * p**k * (1 - p) ** (m - 1 - k)) for k in range(1, m)]
        mean.append(sum(chance * (1 + mean[k]) for k, chance in chances))
        square.append(sum(chance * (1 + 2 * mean[k] + square[k]) for k, chance in chances))
    return mean[n], square[n] - mean[n] ** 2


def cycles(bin_dir, bundle, n, duration):
    for p in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3):
        r = simulate(bin_dir, "--recovery", "plain", "--rto", "30ms", "--bundle", bundle, "--follow", "yes", "--trace", f"iid:{p}", "--sessions", "20",
                     "--duration", duration)
        mean, variance = chain(n, p)
        yield Row(f"`plain`, {n} segments, losses of {p}: retransmission cycles", "chain n → Bin(n − 1, p)", mean, r["retx_cycles_mean"], 0.01,
                  deviation=math.sqrt(variance / r["sessions_timed"]) / mean)


@check("LTP in helio-sim")
def cycles_of_short_blocks(bin_dir):
    yield from cycles(bin_dir, "20kB", 20, "60s")


@check("LTP in helio-sim", fast=False)
def cycles_of_blocks(bin_dir):
    yield from cycles(bin_dir, "500kB", 496, "300s")


def sdnv_bytes(n):
    return max(1, -(-n.bit_length() // 7))


def segment_bytes(row):
    """Of a data segment: RFC 5326, sections 3.1 and 3.2.1."""
    n = {key: int(row[key]) if row[key] else 0 for key in ("type", "originator", "session", "client_service", "offset", "length", "cp_serial", "rpt_serial")}
    names = ("originator", "session", "client_service", "offset", "length") + (("cp_serial", "rpt_serial") if n["type"] in (1, 2, 3) else ())
    return 2 + sum(sdnv_bytes(n[name]) for name in names) + n["length"]


@check("LTP in helio-sim")
def without_losses(bin_dir):
    """One session at a time: its segments are radiated one after another, the report comes a round trip and the processing later."""
    for rate, one_way in ((500e6, 5.0), (20e6, 120.0)):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log.csv")
            r = simulate(bin_dir, "--recovery", "plain", "--rto", "3s", "--trace", "none", "--sessions", "1", "--bundle", "500kB", "--segment", "1024B",
                         "--overhead", "42", "--processing", "4ms", "--rate", f"{rate / 1e6:g}Mbit/s", "--delay", f"{one_way}ms", "--duration", "20s",
                         "--log", log, "--log-node", "1")
            with open(log, newline="", encoding="ascii") as f:
                rows = list(csv.DictReader(f))
        closed = {row["session"] for row in rows if row["dir"] == "close"}
        sent = [segment_bytes(row) + 42 for row in rows if row["dir"] == "tx" and row["type"] in ("0", "1", "2", "3") and row["session"] in closed]
        radiated = 1e3 * 8 * sum(sent) / rate / len(closed)
        yield Row(f"{rate / 1e6:g} Mbit/s, {one_way:g} ms, no losses: session", "radiation (lengths by RFC 5326 of the segments in the segment log) + round trip + processing",
                  radiated + 2 * one_way + 4, r["session_ms"]["mean"], 1e-4, unit="ms")
        yield Row("… delivery", "radiation (the same) + one way", radiated + one_way, r["delivery_ms"]["mean"], 1e-4, unit="ms")


def session_rows(lab, name, files):
    """Of each session that was completed: its row of helio-analyze's table of sessions."""
    lab.run("helio-analyze", "-s", lab.path(name), *files)
    with open(lab.path(name), newline="", encoding="ascii") as f:
        return {row["session"]: row for row in csv.DictReader(f) if row["outcome"] == "done"}


def apart(log, seen, key):
    return max(abs(float(row[key]) - float(seen[session][key])) if session in seen else math.inf for session, row in log.items())


@check("LTP in helio-sim")
def captures(bin_dir):
    """The emulator's two captures of whole nodes with losses both ways, by its writer in virtual time (tests/e2e/analyze_emulator_test.py): between two nodes, of a relay, of
    a link that is handed over."""
    import analyze_emulator_test as emulator
    from heliograph.processes import Lab
    names = {"between": "two nodes", "relay": "a relay (IPv6, compressed)", "links": "a link that is handed over"}
    for kind, words in names.items():
        with tempfile.TemporaryDirectory() as folder, Lab(bin_dir, os.path.join(folder, "lab")) as lab:
            logs, files = emulator.play_virtual(lab, kind)
            true, found = emulator.analyse(lab, *logs), emulator.analyse(lab, *files)
            log, seen = session_rows(lab, "log.csv", logs), session_rows(lab, "seen.csv", files)
        yield Row(f"A pair of helio-emu's captures of {words}, losses both ways, read back: sessions completed", "segment log", len(log), len(seen), 0, relative=False)
        for what, key in (("duration", "duration_ms"), ("delivery", "delivery_ms")):
            yield Row(f"… greatest difference of a session's {what}", "segment log", 0, apart(log, seen, key), 0.01, relative=False, unit="ms")
        yield Row("… ideal session", "segment log", true["decomposition"]["ideal_ms"], found["decomposition"]["ideal_ms"], 0.01, relative=False, unit="ms")


@check("LTP in helio-sim", fast=False)
def captures_of_processes(bin_dir):
    """helio-emu and two nodes in real time: the logs get the captures' times, segment by segment, so that the time between a node and its socket does not count."""
    import analyze_emulator_test as emulator
    from heliograph.processes import Lab
    with tempfile.TemporaryDirectory() as folder, Lab(bin_dir, os.path.join(folder, "lab")) as lab:
        logs, files = emulator.play_real(lab)
        moved, _ = emulator.by_captures(lab, logs, files)
        true, found = emulator.analyse(lab, *moved), emulator.analyse(lab, *files)
        log, seen = session_rows(lab, "log.csv", moved), session_rows(lab, "seen.csv", files)
    far = [session for session in log if any(apart({session: log[session]}, seen, key) > 0.01 for key in ("duration_ms", "delivery_ms") if log[session][key])]
    yield Row("A pair of captures of `helio-emu relay` between two heliod, as processes: sessions that differ by more than 10 µs in duration or delivery",
              "segment logs, with the captures' times", 0, len(far) + abs(len(log) - len(seen)), 0, relative=False)
    yield Row("… ideal sessions that do", "segment logs, with the captures' times", 0,
              abs(true["decomposition"]["ideal_ms"] - found["decomposition"]["ideal_ms"]) > 0.01, 0, relative=False)
