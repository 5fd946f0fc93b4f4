#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does an adaptive erasure code need another span on another channel? An ideal code over traces A, F and H at 100 Mbit/s, counted in fresh
realisations: matrices back to back, as many repair segments as the rule of erasure/needs.c takes, answers to requests after a round trip.
Whole bundles of 496 segments. usage: erasure_spans.py BIN_DIR [--light 1.28] [--rate 0.6] [--margin 3.5] [--seeds 4001-4008]"""

import argparse
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "validation"))
import erasure_bound as bound  # noqa: E402
import erasure_fades as fades  # noqa: E402

SPANS = tuple(blocks * bound.BLOCK + 34 for blocks in (42, 21, 10, 5, 2))
WARM, SECONDS = 25, 100


class Needs:
    """erasure/needs.c"""

    def __init__(self, span, full, margin):
        self.known, self.mean, self.variance, self.margin = 0, 0.0, 0.0, margin
        self.span, self.full, self.rows = span, full, full

    def add(self, needed):
        self.known = min(self.known + 1, 32)
        weight, far = 1 / self.known, needed / self.span - self.mean
        self.mean += weight * far
        self.variance = (1 - weight) * (self.variance + weight * far * far)
        if self.known < 8:
            return
        wanted = (self.mean + self.margin * math.sqrt(self.variance)) * self.span + 1
        wanted = self.full if wanted >= self.full else max(int(wanted), -(-self.full // 8))
        if wanted > self.rows or wanted + self.rows // 16 < self.rows:
            self.rows = wanted


def matrix(bads, step, begin, span, rows, round_trip):
    """Whether each segment is lost, when all are there, rows that it needed, and rows of the answer."""
    each = bound.air_time(bound.HEAD + bound.SEGMENT)
    ends = begin + np.arange(1, span + rows + 1) * each
    lost = bads[np.ceil(ends / step - 1e-6).astype(int)] > bads[np.floor((ends - each) / step + 1e-6).astype(int)]
    arrived = np.cumsum(~lost)
    missing = span - int(arrived[-1])
    if missing > 0:
        answer = missing + missing // 2 + rows // 8 + 1
        return lost[:span], ends, ends[-1] + round_trip + answer * each, rows + missing, answer
    at = int(np.searchsorted(arrived, span))
    return lost[:span], ends, ends[at], at + 1 - span if lost[:span].any() else 0, 0


def run(trace, span, args):
    """Share of segments among all packets, delivery of the bundles, share of the matrices that asked."""
    step, bad = trace
    bads, each = np.concatenate(([0], np.cumsum(np.tile(bad, 3)))), bound.air_time(bound.HEAD + bound.SEGMENT)
    needs = Needs(span, round(span / args.rate - span), args.margin)
    now, reports, delays, packets, asked, count = 0.0, [], [], 0, 0, 0
    while now < SECONDS:
        while reports and reports[0][0] <= now:
            needs.add(reports.pop(0)[1])
        lost, ends, whole, needed, answer = matrix(bads, step, now, span, needs.rows, 2 * args.light + bound.REQUEST_PAUSE)
        if now > WARM:
            count, asked, packets = count + 1, asked + (answer > 0), packets + len(ends) + answer
            for first in range(0, span - bound.BLOCK + 1, bound.BLOCK):
                end = whole if lost[first:first + bound.BLOCK].any() else ends[first + bound.BLOCK - 1]
                delays.append(end - ends[first] + each + args.light)
        reports.append((ends[-1] + 2 * args.light + bound.REQUEST_PAUSE, needed))
        now = ends[-1] + answer * each
    return [count * span / packets, *np.percentile(delays, [50, 99]), 100 * asked / count]


def main():
    parser = argparse.ArgumentParser(description="spans of an adaptive erasure code")
    parser.add_argument("binaries")
    parser.add_argument("--light", type=float, default=1.28)
    parser.add_argument("--rate", type=float, default=0.6)
    parser.add_argument("--margin", type=float, default=3.5)
    parser.add_argument("--seeds", default="4001-4008")
    args = parser.parse_args()
    first, last = (int(word) for word in args.seeds.split("-"))
    for name in "AFH":
        traces = [bound.trace(args.binaries, "gen", "--preset", name, "--seed", str(seed), "-o", "-") for seed in range(first, last + 1)]
        for span in SPANS:
            columns = [fades.interval(list(values)) for values in zip(*(run(trace, span, args) for trace in traces))]
            print(f"| {name} | {span:,} | " + " | ".join(f"{c['mean']:.{digits}f} ± {c['ci95']:.{digits}f}" for c, digits in zip(columns, (3, 2, 2, 1))) + " |",
                  flush=True)


if __name__ == "__main__":
    main()
