#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Why a few realisations of trace F have a slow hundredth of bundles: their matrices, counted in the trace and compared with a run.

In each realisation helio-sim transmits bundles with rs at 0.765 over 10,450 segments. The trace alone says how many packets of each of its
matrices are lost: back to back from the first segment's time in the log. A matrix needs a request when more are lost than it has repair
segments. The same is counted for an ideal code at every start within the window, also over 11,450 segments.
usage: erasure_fates.py BIN_DIR [--check PAGE]

--check     the rows of the table must be in the page as they are

Exit codes: 0 done, 1 a matrix behaved otherwise or a row differs from the page, 2 usage.
"""
import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile

import erasure_bound as bound
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import erasure_fades as fades

SEEDS = 3003, 3010, 3015
RATE, SPAN, LONGER = 0.765, 10450, 11450
FROM, UNTIL, SECONDS = 9, 41, 45    # s: matrices that bundles of the measured table can be in; traffic
NEAR = 0.02                         # a matrix with so nearly as many losses as repair segments may be either way


def losses(step, bad, begin, count):
    """Of packets back to back from `begin`, s: whether each meets a bad step."""
    each = bound.air_time(bound.HEAD + bound.SEGMENT)
    starts = begin + np.arange(count) * each
    bads = np.concatenate(([0], np.cumsum(np.tile(bad, 2))))
    return bads[np.ceil((starts + each) / step - 1e-6).astype(int)] > bads[np.floor(starts / step + 1e-6).astype(int)]


def ideal_starts(step, bad, span):
    """Per cent of the starts in the window at which a matrix loses more packets than it has repair segments, and the most that one loses."""
    rows = round(span / RATE - span)
    lost = np.concatenate(([0], np.cumsum(losses(step, bad, FROM, int((UNTIL - FROM) / bound.air_time(bound.HEAD + bound.SEGMENT))))))
    counts = lost[span + rows:] - lost[:-span - rows]
    return 100 * float(np.mean(counts > rows)), int(counts.max())


def simulate(binaries, seed, folder):
    """(time of its first segment, segments, repair segments, answered requests) of each matrix of the run."""
    channel, trace, log = (folder / name for name in ("channel.yaml", "f.htr", "log"))
    subprocess.run([f"{binaries}/helio-trace", "gen", "--preset", "F", "--seed", str(seed), "-o", trace], check=True, stdout=subprocess.DEVNULL)
    channel.write_text(f"forward: {{rate: 100Mbit/s, delay: 1.28s, erasures: {{trace: {trace}}}}}\nreturn: {{delay: 1.28s}}\n", encoding="utf-8")
    nodes = [word for n in (1, 2) for word in ("--node", fades.write_node(folder, n, (RATE, SPAN, ["requests"])))]
    subprocess.run([f"{binaries}/helio-sim", *nodes, "--channel", channel, "--client", f"-d ipn:2.2000 -T {SECONDS} -W 500 -P {fades.SIZE}",
                    "--log-dir", log, "--duration", f"{SECONDS + 1}s", "--json"], check=True, stdout=subprocess.DEVNULL)
    sent, matrices, answers = [], [], {}
    with open(log / "node1.segments.csv", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            if row["dir"] == "tx":
                sent.append(int(row["t_ns"]) / 1e9)
            elif row["dir"] == "matrix" and row["cause"] == "sent":
                matrices.append((row["matrix"], int(row["segments"]), int(row["repairs"])))
            elif row["dir"] == "matrix" and row["cause"] == "answered":
                answers[row["matrix"]] = answers.get(row["matrix"], 0) + 1
    found, at = [], 0
    for number, segments, repairs in matrices:
        found.append((sent[at], segments, repairs, answers.get(number, 0)))
        at += segments
    return found


def row_of(binaries, seed):
    step, bad = bound.trace(binaries, "gen", "--preset", "F", "--seed", str(seed), "-o", "-")
    with tempfile.TemporaryDirectory() as folder:
        matrices = [m for m in simulate(binaries, seed, pathlib.Path(folder)) if FROM <= m[0] < UNTIL]
    worst, asked = (0, 1), 0
    for begin, segments, repairs, answers in matrices:
        lost = int(losses(step, bad, begin, segments + repairs).sum())
        asked += answers > 0
        worst = max(worst, (lost, repairs))
        if abs(lost - repairs) > NEAR * repairs and (lost > repairs) != (answers > 0):
            sys.exit(f"seed {seed}: the matrix at {begin:.3f} s lost {lost} packets of {segments} + {repairs}, and had {answers} answers")
    shares = [ideal_starts(step, bad, span) for span in (SPAN, LONGER)]
    return (f"| {seed} | {len(matrices)} | {asked} | {worst[0]:,} of {worst[1]:,} | "
            + " | ".join(f"{share:.2f} %, {most:,}" for share, most in shares) + " |")


def main():
    parser = argparse.ArgumentParser(description="matrices that fail in trace F")
    parser.add_argument("binaries")
    parser.add_argument("--check")
    args = parser.parse_args()
    lines = [row_of(args.binaries, seed) for seed in SEEDS]
    print("\n".join(lines))
    if args.check:
        with open(args.check, encoding="utf-8") as f:
            page = f.read().splitlines()
        missing = [line for line in lines if line not in page]
        if missing:
            sys.exit(f"{args.check} has other rows than\n" + "\n".join(missing))


if __name__ == "__main__":
    main()
