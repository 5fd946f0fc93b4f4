# SPDX-License-Identifier: Apache-2.0
"""Is an erasure code worth its repair segments? The trade of delivery against goodput, for spans of several lengths, by counting on the trace.

Packets follow each other at the link's rate. A matrix is repaired when as many of its packets have arrived as it has segments: that is what `erasure: {mode: rs}` of heliod
does (docs/erasure.md). For each span the highest rate is sought at which at most one matrix in a hundred fails, and of those that fail the bundles take a round trip more.
"""

from __future__ import annotations

import bisect
import itertools
import math
import subprocess
from typing import Any

from .. import programs

HEAD = 10 + 14 + 6                      # octets of the code beside a segment, those of repair segments
UNITS_MAX = 400000                      # of the trace: of one packet each, or of several at high rates
TIMES = 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2  # s: of the segments of a matrix
RATES = [percent / 100 for percent in range(97, 39, -1)]
FAILED = 0.01                           # of the matrices
LEAST_SHARE = 0.85                      # of the goodput without code, for the choice
GAIN = 0.5                              # the choice: its 99th percentile is at most this part of that without code
SYMBOLS = 65536                         # of GF(2^16)
MATRICES = 20                           # fewer say nothing of failures


def fits(span: int, rate: float) -> bool:
    """A codeword of rs has segments and, with requests, twice its repair segments, rounded up to a power of two."""
    rows = max(1, round(span / rate - span))
    return span + (1 << (2 * rows - 1).bit_length()) <= SYMBOLS


class Channel:
    """Which of the packets of a trace arrive, as sums from its begin."""

    def __init__(self, step: float, runs: list[tuple[bool, int]], air: float) -> None:
        ends = list(itertools.accumulate(length for _, length in runs))
        total = ends[-1] * step
        self.packets = max(1, math.ceil(total / air / UNITS_MAX))  # of a unit
        self.air, self.unit = air, air * self.packets
        self.arrived = [0]
        at = 0
        for i in range(int(total / self.unit)):
            first, last = int(i * self.unit / step + 1e-6), math.ceil((i + 1) * self.unit / step - 1e-6)
            while ends[at] <= first:
                at += 1
            bad, run = runs[at][0], at
            while not bad and ends[run] < last:
                run += 1
                bad = runs[run][0]
            self.arrived.append(self.arrived[-1] + (not bad))

    def share(self) -> float:
        return self.arrived[-1] / (len(self.arrived) - 1)

    def deliveries(self, span: int, rate: float, block: int, wait: float) -> tuple[list[float], float] | None:
        """Of blocks of so many segments, without the light time, and the share of matrices that fail; None: too few matrices."""
        segments, size = max(1, span // self.packets), max(2, math.ceil(span / rate / self.packets))
        length = max(1, min(segments, block // self.packets))
        found, failed, starts = [], 0, range(0, len(self.arrived) - size, max(1, size // 2))
        if len(starts) < MATRICES:
            return None
        for start in starts:
            before = self.arrived[start]
            repaired = bisect.bisect_left(self.arrived, before + segments, start, start + size + 1)
            fails = repaired > start + size
            failed += fails
            end = (start + size) * self.unit + wait if fails else repaired * self.unit
            for first in range(start, start + segments - length + 1, length):
                lost = self.arrived[first + length] - self.arrived[first] < length
                found.append((end if lost else (first + length) * self.unit) - first * self.unit)
        return sorted(found), failed / len(starts)


def read(trace: str) -> tuple[float, list[tuple[bool, int]]] | None:
    """Step and runs of a trace; None for those without runs: none, iid:P."""
    if trace == "none" or trace.startswith("iid:"):
        return None
    done = subprocess.run([programs.find("helio-trace"), "convert", trace, "-", "--format", "runs"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise programs.ProgramError(done.stderr.strip())
    lines = done.stdout.splitlines()
    step = next(int(line.split()[2]) for line in lines if line.startswith("# step_ns")) / 1e9
    pairs = [line.split() for line in lines if line and not line.startswith("#")]
    return step, [(state == "1", int(count)) for state, count in pairs]


def point(channel: Channel, a: Any, segment: int, time: float) -> dict[str, float] | None:
    """The highest rate for a span of this time."""
    span, block = round(time / channel.air), math.ceil(a.block / segment)
    if not 64 <= span < SYMBOLS:
        return None
    for rate in RATES:
        if rate < 0.8 * channel.share() * LEAST_SHARE:
            break
        found = channel.deliveries(span, rate, block, 2 * a.delay + a.processing) if fits(span, rate) else None
        if found and found[1] <= FAILED:
            delays, failed = found
            return {"rate": rate, "span": span, "failed_share": failed, "goodput_share": min(1.0, rate / channel.share()),
                    **{f"p{q}_ms": 1e3 * (a.delay + delays[min(len(delays) - 1, len(delays) * q // 100)]) for q in (50, 99)}}
    return None


def trade(a: Any, trace: str, recovery: dict[str, Any]) -> dict[str, Any]:
    """`curve`: a point for each span that helps; `taken`: one of them, or None; `without`: what the search found without a code."""
    best: Any = min(recovery.values(), key=lambda r: float(r["predicted"]["delivery_ms"]["p99"]))
    without = best["predicted"]["delivery_ms"]["p99"]
    known = read(trace)
    curve = []
    if known:
        channel = Channel(*known, 8 * (best["segment_bytes"] + a.overhead + HEAD) / a.rate)
        curve = [p for time in TIMES if (p := point(channel, a, best["segment_bytes"], time))] if channel.share() > 0 else []
    good: Any = [p for p in curve if p["goodput_share"] >= LEAST_SHARE and p["p99_ms"] <= GAIN * without]
    return {"without_p99_ms": without, "curve": curve, "taken": min(good, key=lambda p: float(p["p99_ms"])) if good else None}


def keys(p: dict[str, Any]) -> str:
    return f"{{mode: rs, rate: {p['rate']:g}, span: {p['span']}, requests: yes}}"


def words(found: dict[str, Any]) -> list[str]:
    """The curve and the choice, in lines."""
    lines = [f"  rate {p['rate']:.2f}, span {p['span']:>5}: p50 {p['p50_ms']:.0f}, p99 {p['p99_ms']:.0f} ms, goodput {100 * p['goodput_share']:.0f} % of that without code"
             for p in found["curve"]]
    if found["taken"]:
        lines.append(f"  taken               erasure: {keys(found['taken'])}; p99 without code {found['without_p99_ms']:.0f} ms")
    else:
        lines.append(f"  taken               none: no code of {100 * LEAST_SHARE:g} % of the goodput halves the 99th percentile of {found['without_p99_ms']:.0f} ms")
    return lines
