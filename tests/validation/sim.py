# SPDX-License-Identifier: Apache-2.0
"""helio-sim's figures: computed again from its segment log, and single sessions against sums by hand."""
import collections
import csv
import json
import math
import os
import tempfile

import numpy as np
from link import chain, sdnv_bytes, segment_bytes
from rows import Row, check, drawn, proportion, run

PART = "LTP in helio-sim"
OPTIONS = ("--recovery", "plain", "--rto", "60ms", "--bundle", "20kB", "--segment", "1024B", "--overhead", "42", "--processing", "4ms", "--rate", "20Mbit/s",
           "--delay", "20ms")


def simulate(bin_dir, *more, log=True):
    """Its figures, those of helio-analyze, and the rows of the log of both nodes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log.csv")
        result = json.loads(run(bin_dir, "helio-sim", "--json", *OPTIONS, *more, *(("--log", path) if log else ())))
        if not log:
            return result
        analysed = json.loads(run(bin_dir, "helio-analyze", "--json", path))
        with open(path, newline="", encoding="ascii") as f:
            return result, analysed, list(csv.DictReader(f))


def nearest_rank(values, share):
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


class Blocks:
    """What a log says of each block: the union of the bytes that arrived, by the time at which they were sent."""

    def __init__(self, rows):
        self.first, self.ended, self.complete, self.carried = {}, {}, {}, []
        length, held, way = {}, collections.defaultdict(set), collections.defaultdict(list)
        for row in rows:
            t, name = int(row["t_ns"]), row["session"]
            data = row["type"] in ("0", "1", "2", "3")
            piece = (name, row["offset"], row["length"])
            if row["dir"] == "open" and row["node"] == "1":
                length[name] = int(row["length"])
            elif row["dir"] == "close" and row["node"] == "1":
                self.ended[name] = t
            elif row["dir"] == "tx" and data:
                self.first.setdefault(name, t)
                way[piece].append(t)
            elif row["dir"] == "rx" and row["node"] == "2" and data:
                sent = max(at for at in way[piece] if at < t - 20_000_000)
                new = set(range(int(row["offset"]), int(row["offset"]) + int(row["length"]))) - held[name]
                held[name] |= new
                self.carried.append((sent, len(new)))
                if new and len(held[name]) == length[name]:
                    self.complete[name] = t


@check(PART)
def again_from_the_log(bin_dir):
    """Times, percentiles and goodput of a run with losses."""
    duration, p = 10.0, 0.05
    result, analysed, rows = simulate(bin_dir, "--trace", f"iid:{p}", "--sessions", "12", "--duration", f"{duration:g}s")
    b = Blocks(rows)
    times = {"session_ms": [(end - b.first[name]) / 1e6 for name, end in b.ended.items()],
             "delivery_ms": [(end - b.first[name]) / 1e6 for name, end in b.complete.items()]}
    yield Row("Segment log of 10 s, losses of 0.05: sessions", "segment log, in Python", len(b.ended), result["sessions"], 0, relative=False)
    for key, values in times.items():
        want = {"mean": sum(values) / len(values), **{f"p{x}": nearest_rank(values, x / 100) for x in (50, 90, 99)}}
        for program, found in (("helio-sim", result), ("helio-analyze", analysed)):
            if program == "helio-analyze" and key == "delivery_ms":
                continue  # of completed sessions only
            name, worst = max(((name, abs(found[key][name] - value)) for name, value in want.items()), key=lambda pair: pair[1])
            yield Row(f"… mean and percentiles of {key} in {program}: greatest difference ({name})", "segment log, in Python, nearest rank", 0, worst, 1e-5, relative=False, unit="ms")
    yield Row("… goodput", "blocks complete in that time, by the segment log", len(b.complete) * 0.16 / duration, result["goodput_bps"] / 1e6, 1e-9, unit="Mbit/s")


@check(PART)
def carried_share(bin_dir):
    """Bytes by the time of sending, over what the line transmits between warm-up and end less the losses."""
    begin, end, p = 2, 10, 0.05
    result, _, rows = simulate(bin_dir, "--trace", f"iid:{p}", "--sessions", "12", "--duration", f"{end}s", "--warmup", f"{begin}s", "--follow", "yes")
    b = Blocks(rows)
    sent = sum(n for at, n in b.carried if begin * 10**9 <= at < end * 10**9)
    yield Row("Data that passed the channel, by the time of sending, losses of 0.05", "segment log, in Python", 8e-6 * sent / (end - begin), result["carried_bps"] / 1e6, 1e-9,
              unit="Mbit/s")
    full = [row for row in rows if row["dir"] == "tx" and row["type"] == "0" and row["cause"] == "first"]
    payload = sum(int(row["length"]) for row in full) / sum(segment_bytes(row) + 42 for row in full)
    yield Row("… as a share of the capacity", "rate · payload / bytes on the air · (1 − p), of the segment log", 8 * sent / (20e6 * payload * (1 - p) * (end - begin)), result["carried_share"],
              1e-4, relative=False)


@check(PART)
def lossy(bin_dir):
    p, n = 0.02, 20
    result = simulate(bin_dir, "--trace", f"iid:{p}", "--sessions", "12", "--duration", "100s", "--follow", "yes", log=False)
    yield proportion(f"Losses of {p}, 20 segments: share of sessions that lost data", "1 − (1 − p)²⁰", 1 - (1 - p) ** n, result["lossy_share"], result["sessions_timed"])
    mean, variance = chain(n, p)
    lost = p / (1 - p)  # of one checkpoint, in the mean; a geometric number
    yield drawn("… checkpoints lost per session", "p / (1 − p) of one checkpoint, and of one in each cycle of the chain", lost * (1 + mean), result["checkpoints_lost_mean"],
                math.sqrt(((1 + mean) * lost / (1 - p) + variance * lost**2) / result["sessions_timed"]))


@check(PART)
def checkpoints(bin_dir):
    """Of a chain with other numbers: each checkpoint is sent until it arrives."""
    p, n = 0.12, 32
    result = simulate(bin_dir, "--trace", f"iid:{p}", "--bundle", "37kB", "--segment", "1200B", "--rate", "100Mbit/s", "--delay", "7ms", "--rto", "45ms", "--sessions", "16",
                      "--duration", "20s", "--follow", "yes", log=False)
    mean, variance = chain(n, p)
    yield drawn(f"`plain`, {n} segments of 1200 bytes, losses of {p}: retransmission cycles", "chain n → Bin(n − 1, p)", mean, result["retx_cycles_mean"],
                math.sqrt(variance / result["sessions_timed"]))
    yield drawn("… checkpoints sent per session", "(1 + cycles of the chain) / (1 − p)", (1 + mean) / (1 - p), result["checkpoints_mean"],
                math.sqrt(((1 + mean) * p / (1 - p) ** 2 + variance / (1 - p) ** 2) / result["sessions_timed"]))


@check(PART)
def colours(bin_dir):
    """Blocks of 32 segments that nobody asks for again: whole with (1 − p)^n; orange ones have some tries."""
    p, n = 0.01, 32
    link = ("--trace", f"iid:{p}", "--bundle", "37kB", "--segment", "1200B", "--rate", "100Mbit/s", "--sessions", "8", "--duration", "6s")
    whole = (1 - p) ** n
    for colour, tries in (("green", 1), ("orange", 1), ("orange", 3)):
        result = simulate(bin_dir, *link, "--colour", colour, *(("--resend", str(tries - 1), "--processing", "0") if colour == "orange" else ()), log=False)
        want = 1 - (1 - whole) ** tries
        blocks = result["delivered"] / result["delivered_share"]
        yield proportion(f"{colour.capitalize()} blocks of {n} segments, losses of {p}, {'one try' if tries == 1 else f'{tries} tries'}: share delivered",
                         "1 − (1 − (1 − p)ⁿ)^tries", want, result["delivered_share"], blocks)


def reachable_of(bin_dir, trace, air, phases=20):
    """Frames of that time on the air one after another: the share without a bad step, over that of good steps; the mean over several beginnings."""
    runs = [line.split() for line in run(bin_dir, "helio-trace", "convert", trace, "-", "--format", "runs").splitlines() if line and line[0] in "01"]
    bad = np.repeat([state == "1" for state, _ in runs], [int(steps) for _, steps in runs])
    before = np.concatenate([[0], np.cumsum(bad)])
    begins = np.concatenate([np.arange((i + 0.5) / phases, (len(bad) - 1) / air - 1) * air for i in range(phases)])  # in steps
    free = before[np.ceil(begins + air).astype(int)] == before[np.floor(begins).astype(int)]
    return float(free.mean() / (1 - bad.mean()))


@check(PART)
def reachable(bin_dir):
    """What a trace lets through of its capacity, and that enough sessions carry it."""
    for trace in "FA":
        air = 8 * (1024 + 42) / 20e6 / 1e-4
        result = json.loads(run(bin_dir, "helio-sim", "--json", "--trace", trace, "--rate", "20Mbit/s", "--bundle", "100kB", "--segment", "1024B", "--delay", "5ms",
                                "--recovery", "plain", "--sessions", "24", "--duration", "100s", "--follow", "yes"))
        yield Row(f"Trace {trace}, 20 Mbit/s, segments of 1024 bytes: share of the capacity that can be reached", "frames one after another, counted on the trace",
                  reachable_of(bin_dir, trace, air), result["reachable_share"], 0.0003, relative=False)
        yield Row("… of this, used by 24 sessions of `plain`", "all but block ends and repetitions", 1, result["carried_share"] / result["reachable_share"], 0.003, relative=False)


@check(PART)
def one_loss(bin_dir):
    """A session alone that loses one segment: by hand."""
    alone = ("--trace", "none", "--sessions", "1", "--duration", "10s")
    ideal = simulate(bin_dir, *alone, log=False)["session_ms"]["mean"]
    result, _, _ = simulate(bin_dir, *alone, "--drop", "checkpoint:first=1,per=session")
    yield Row("The checkpoint is lost: session beyond that without losses", "the timer, RTO 60 ms; with the program's session without losses", 60, result["session_ms"]["mean"] - ideal, 1e-3, relative=False, unit="ms")
    result, _, rows = simulate(bin_dir, *alone, "--drop", "red:list=3,per=session")
    again = [segment_bytes(row) + 42 for row in rows if row["dir"] == "tx" and row["type"] in ("0", "1", "2", "3") and row["cause"] != "first"]
    acks = [2 + sum(sdnv_bytes(int(row[key])) for key in ("originator", "session", "rpt_serial")) + 42 for row in rows if row["dir"] == "tx" and row["type"] == "9"]
    want = 2 * 20 + 4 + 8e3 * (np.mean(again) + np.mean(acks)) / 20e6
    yield Row("A data segment is lost: session beyond that without losses", "round trip + processing + radiation of an acknowledgement and the repetition in the segment log; with the program's session without losses", want,
              result["session_ms"]["mean"] - ideal, 1e-3, relative=False, unit="ms")


@check(PART)
def few_sessions(bin_dir):
    """Too few sessions for the line: each begins when its predecessor ends (Little's law)."""
    duration, sessions = 60.0, 3
    result = simulate(bin_dir, "--trace", "none", "--sessions", str(sessions), "--duration", f"{duration:g}s", log=False)
    want = sessions * 0.16 / (result["session_ms"]["mean"] / 1e3)
    yield Row("Three sessions, no losses: goodput", "sessions · block / session time (Little), with the program's session time", want, result["goodput_bps"] / 1e6, 2 * sessions * 0.16 / duration,
              relative=False, unit="Mbit/s")


@check(PART)
def peers(bin_dir):
    """Two saturated peers, one of twice the weight, share a line."""
    result = simulate(bin_dir, "--trace", "none", "--peers", "2", "--peer", "2:weight=2", "--sessions", "12", "--duration", "20s", log=False)
    yield Row("Two peers of weights 1 and 2: the second's share of the line", "2/3", 2 / 3, result["peers"][1]["line_share"], 0.001, relative=False)


@check("Queue and line", fast=False)
def shared_line(bin_dir):
    """Windows of bundles that share a transmitter: each is in the queue, as long for all, or on the rest of its round trip; the sum of W / (q + T) is the rate."""
    windows, one_way, rate = (6, 12), (5, 55), 1e7
    lab = "star: [g, a, b]\nlink: {rto: 5s, return: {rate: 100Mbit/s}}\n" + f"links: {{g-a: {{delay: {one_way[0]}ms}}, g-b: {{delay: {one_way[1]}ms}}}}\n" \
          "shared: {up: {of: [g-a.forward, g-b.forward], rate: 10Mbit/s, queue: 5s}}\ntraffic:\n" \
          + "".join(f"  - {{perf: g-{name}, duration: 60s, window: {window}, payload: 20kB}}\n" for name, window in zip("ab", windows))
    with tempfile.TemporaryDirectory() as folder:
        file, out = os.path.join(folder, "lab.yaml"), os.path.join(folder, "out")
        with open(file, "w", encoding="ascii") as f:
            f.write(lab)
        run(bin_dir, "helio-lab", file, "up", "--mode", "sim", "--out", out)
        with open(os.path.join(out, "result.json"), encoding="utf-8") as f:
            line = json.load(f)["shared"]["up"]
    bundles = rate / 8 / (20_000 / (1024 - 20) * (1024 + 42))  # a second, nearly
    low, high = 0.0, sum(windows) / bundles
    for _ in range(60):
        q = (low + high) / 2
        low, high = (q, high) if sum(w / (q + 2 * d / 1e3) for w, d in zip(windows, one_way)) > bundles else (low, q)
    flow = windows[1] / (q + 2 * one_way[1] / 1e3) / bundles
    yield Row("Shared transmitter, windows of 6 and 12 bundles, 5 and 55 ms: share of the second flow", "W / (q + T), the queue q as long for both", flow,
              line["members"][1]["share"], 0.005, relative=False)
    yield Row("… Jain's index of both", "(Σx)² / (nΣx²) of those shares", 1 / (2 * (flow**2 + (1 - flow) ** 2)), line["fairness"], 0.005, relative=False)
