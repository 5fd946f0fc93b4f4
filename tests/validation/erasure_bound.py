#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What no erasure code of its rate and span can repair in trace F, and what the codewords of rs8 cannot, by counting.

A second table has the delivery of bundles with an ideal code: what any code of its rate and span takes at 1.28 s.

Packets are sent back to back at 100 Mbit/s. A packet is lost if any part of its time on the air meets a bad step (the channel's default).
An ideal code fails on a matrix that loses more packets than the matrix has repair segments; rs8 fails if a codeword does. A matrix begins
at each tenth of its time: in the trace of the program itself, and in realisations of the same law, whose spread gives the interval.
usage: erasure_bound.py BIN_DIR [--check PAGE]

--check     the rows of the tables must be in the page as they are

Exit codes: 0 done, 1 a row differs from the page, 2 usage.
"""
import argparse
import math
import statistics
import subprocess
import sys

import numpy as np

RATE = 100e6
SEGMENT, OUTSIDE = 1024, 42             # octets: the longest segment; of UDP, IP and Ethernet
HEAD, REPAIR_HEAD, SYMBOL_HEAD = 10, 14, 6 # octets: erasure/erasure.h
WORD = 255                              # symbols of a codeword over GF(2^8)
STARTS = 10                             # of matrices, in the time of one
SPAN = 10000
RATES = 0.76, 0.78
SEEDS = range(1001, 1021)
T95_19 = 2.09                           # two-sided, 19 degrees of freedom
BLOCK = 496                             # segments of a bundle of 500 kB
LIGHT, REQUEST_PAUSE = 1.28, 0.05       # s: light time; a request and its answer beside the round trip
DELIVERIES = (0.76, 8192), (0.765, 10450), (0.77, 11550), (0.84, 16000)
FRESH = range(3001, 3021)               # those of the measured table


def air_time(octets):
    return 8 * (octets + OUTSIDE) / RATE


def bad_steps(runs):
    """The step in seconds, and whether each is bad, of a trace in runs (docs/helio-trace.md)."""
    lines = runs.splitlines()
    step = next(int(line.split()[2]) for line in lines if line.startswith("# step_ns")) / 1e9
    pairs = [line.split() for line in lines if not line.startswith("#")]
    return step, np.repeat([state == "1" for state, _ in pairs], [int(count) for _, count in pairs])


def ends_of(span, rows):
    """When each packet of a matrix has left, from its begin, and how long each takes."""
    times = np.full(span + rows, air_time(HEAD + SEGMENT))
    times[span:] = air_time(REPAIR_HEAD + SYMBOL_HEAD + SEGMENT)
    return np.cumsum(times), times


def matrices_of(step, bad, rows, span=SPAN):
    """For one matrix after another, whether each of its packets is lost: any step from the packet's first to its last is bad."""
    ends, times = ends_of(span, rows)
    bads = np.concatenate(([0], np.cumsum(np.tile(bad, 2))))  # the trace loops
    for begin in np.arange(0, len(bad) * step, ends[-1] / STARTS):
        first = np.floor((begin + ends - times) / step + 1e-6).astype(int)
        last = np.ceil((begin + ends) / step - 1e-6).astype(int)
        yield bads[last] > bads[first]


def ideal_failures(step, bad, rate):
    """Per cent of the matrices."""
    rows = round(SPAN / rate - SPAN)
    return 100 * float(np.mean([lost.sum() > rows for lost in matrices_of(step, bad, rows)]))


def deliveries(step, bad, rate, span):
    """Of whole bundles in a matrix, from the first segment to the last one that is there: at once without loss, else when as many packets have
    arrived as the matrix has segments, else a round trip after its end."""
    rows, found, failed = round(span / rate - span), [], []
    ends, times = ends_of(span, rows)
    for lost in matrices_of(step, bad, rows, span):
        arrived = np.cumsum(~lost)
        failed.append(arrived[-1] < span)
        repaired = ends[-1] + 2 * LIGHT + REQUEST_PAUSE if failed[-1] else ends[np.searchsorted(arrived, span)]
        for first in range(0, span - BLOCK + 1, BLOCK):
            end = repaired if lost[first:first + BLOCK].any() else ends[first + BLOCK - 1]
            found.append(end - ends[first] + times[first] + LIGHT)
    return found, 100 * float(np.mean(failed))


def delivery_row(traces, rate, span):
    parts = [deliveries(*t, rate, span) for t in traces]
    p50, p90, p99 = np.percentile(np.concatenate([found for found, _ in parts]), [50, 90, 99])
    return f"| {rate} | {span:,} | {spread_of([failed for _, failed in parts])} | {p50:.2f} | {p90:.2f} | {p99:.2f} |"


def words_of(rate):
    """As few codewords as the code allows, and the repair segments of each."""
    for depth in range(1, SPAN):
        positions = math.ceil(SPAN / depth)
        rows = math.floor(positions / rate - positions + 0.5)
        if positions + rows <= WORD:
            return depth, rows
    raise ValueError(rate)


def word_failures(step, bad, rate):
    """Per cent of the matrices with a codeword that fails, the mean of what a codeword loses, and its mean deviation within a matrix."""
    depth, rows = words_of(rate)
    word = np.concatenate((np.arange(SPAN), np.arange(depth * rows))) % depth
    each = np.stack([np.bincount(word[lost], minlength=depth) for lost in matrices_of(step, bad, depth * rows)])
    return 100 * float(np.mean(each.max(axis=1) > rows)), float(each.mean()), float(each.std(axis=1).mean())


def trace(binary, *words):
    return bad_steps(subprocess.run([f"{binary}/helio-trace", *words], check=True, capture_output=True, text=True).stdout)


def spread_of(values):
    return f"{statistics.fmean(values):.2f} ± {T95_19 * statistics.stdev(values) / math.sqrt(len(values)):.2f} %"


def main():
    parser = argparse.ArgumentParser(description="what erasure codes cannot repair in trace F")
    parser.add_argument("binaries")
    parser.add_argument("--check")
    args = parser.parse_args()
    own = trace(args.binaries, "convert", "F", "-", "--format", "runs")
    fresh = [trace(args.binaries, "gen", "--preset", "F", "--seed", str(seed), "-o", "-") for seed in SEEDS]
    lines = []
    for rate in RATES:
        words, lost, deviation = word_failures(*own, rate)
        others = spread_of([ideal_failures(*t, rate) for t in fresh]), spread_of([word_failures(*t, rate)[0] for t in fresh])
        lines.append(f"| {rate} | {ideal_failures(*own, rate):.2f} % | {others[0]} | {words:.2f} % | {others[1]} | {lost:.1f} | {deviation:.1f} |")
    unseen = [trace(args.binaries, "gen", "--preset", "F", "--seed", str(seed), "-o", "-") for seed in FRESH]
    lines += [delivery_row(unseen, rate, span) for rate, span in DELIVERIES]
    print("\n".join(lines))
    if args.check:
        with open(args.check, encoding="utf-8") as f:
            page = f.read().splitlines()
        missing = [line for line in lines if line not in page]
        if missing:
            sys.exit(f"{args.check} has other rows than\n" + "\n".join(missing))


if __name__ == "__main__":
    main()
