#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/planning.md: the fewest parallel sessions that reach 98 % of capacity, and their memory,
found with helio-sim by doubling and bisection to 4 %.

usage: planning_table.py HELIO_SIM [sessions|plain|proof]   (to standard output; all three: some 20 minutes of a core)
"""
import concurrent.futures
import json
import math
import os
import subprocess
import sys

TARGET = 0.98
PRECISION = 1.04
MOST = 65536
TRACES = "none", "A", "F", "H"
# name, one-way delay, duration and warm-up of a run, in seconds
PATHS = (("LEO", 0.005, 40, 2), ("GEO", 0.125, 50, 10), ("Moon", 1.28, 100, 40))
# Gbit/s and the segment that goes with it: 17 microseconds on the air or less
RATES = ((0.5, 1024), (1, 2048), (2, 4096), (10, 8192))
BLOCKS = 500_000, 10_000_000
PROCESSING_MS = 4


def simulate(program, path, trace, rate, block, sessions, recovery, times=None):
    _, delay, duration, warmup = path
    duration, warmup = times or (duration, warmup)
    segment = dict(RATES)[rate]
    args = ["--json", "--trace", trace, "--delay", f"{delay * 1000:g}ms", "--rto", f"{2000 * delay + 20:g}ms",
            "--processing", f"{PROCESSING_MS}ms", "--rate", f"{rate * 1000:g}Mbit/s", "--bundle", f"{block}B",
            "--segment", f"{segment}B", "--sessions", str(sessions), "--duration", f"{duration}s",
            "--warmup", f"{warmup}s", "--recovery", recovery]
    done = subprocess.run(["nice", program, *args], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def fewest(program, path, trace, rate, block, recovery):
    """(sessions, result of the run with them), or None where no number reaches the target."""
    in_flight = (2 * path[1] + PROCESSING_MS / 1000) * rate * 1e9
    n = first = max(1, math.ceil(in_flight / (8 * block)))
    low = n // 2
    r = simulate(program, path, trace, rate, block, n, recovery)
    while r["efficiency"] < TARGET:
        if n >= min(MOST, 32 * first):
            return None
        low, n = n, min(2 * n, MOST)
        r = simulate(program, path, trace, rate, block, n, recovery)
    found = n, r
    while found[0] > low + 1 and found[0] > low * PRECISION:
        n = (low + found[0]) // 2
        r = simulate(program, path, trace, rate, block, n, recovery)
        if r["efficiency"] >= TARGET:
            found = n, r
        else:
            low = n
    return found


def size(value):
    if value >= 1e9:
        return f"{value / 1e9:.1f} GB"
    return f"{value / 1e6:.0f} MB" if value >= 10e6 else f"{value / 1e6:.1f} MB"


def same_air_time(rate, block):
    """Of the combinations with this block's air time the cheapest to run."""
    return min((r, b) for r, _ in RATES for b in BLOCKS if math.isclose(b / r, block / rate))


def cell(found, block, simulated):
    if found is None:
        return "–"
    n, r = found
    held = r["receiver_held_max_bytes"] * block / simulated
    return f"{n}: {size(n * block)} / {size(min(held, n * block))}"


def formula(found):
    """Mean session time x rate / block: the number of sessions that the mean alone would ask for."""
    _, r = found
    p = r["parameters"]
    return r["session_ms"]["mean"] / 1000 * p["rate_bps"] / (8 * p["bundle_bytes"])


def search(program, jobs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(jobs, pool.map(lambda j: fewest(program, *j), jobs)))


def sessions(program):
    wanted = [(path, rate, block) for block in BLOCKS for path in PATHS for rate, _ in RATES]
    jobs = {(path, trace, *same_air_time(rate, block), "default") for path, rate, block in wanted for trace in TRACES}
    found = search(program, sorted(jobs, reverse=True))
    for block in BLOCKS:
        print(f"### Blocks of {size(block)}\n")
        print("| path | rate (Gbit/s) | " + " | ".join(TRACES) + " |\n|---|---|" + "---|" * len(TRACES))
        for path, rate, _ in (w for w in wanted if w[2] == block):
            like = same_air_time(rate, block)
            cells = (cell(found[path, trace, *like, "default"], block, like[1]) for trace in TRACES)
            print(f"| {path[0]} | {rate} | " + " | ".join(cells) + " |")
        print()
    print("| sessions / what the mean asks for | " + " | ".join(TRACES) + " |\n|---|" + "---|" * len(TRACES))
    for path in PATHS:
        row = []
        for trace in TRACES:
            ratios = [f[0] / formula(f) for j, f in found.items() if f and j[:2] == (path, trace)]
            row.append(f"{min(ratios):.1f} … {max(ratios):.1f}" if ratios else "–")
        print(f"| {path[0]} | " + " | ".join(row) + " |")
    print()


def plain(program):
    jobs = [(path, trace, 0.5, BLOCKS[0], recovery) for path in PATHS for trace in TRACES
            for recovery in ("plain", "default")]
    found = search(program, jobs)
    print("| path | recovery | " + " | ".join(TRACES) + " |\n|---|---|" + "---|" * len(TRACES))
    for path in PATHS:
        for recovery in "plain", "default":
            cells = (cell(found[path, trace, 0.5, BLOCKS[0], recovery], BLOCKS[0], BLOCKS[0]) for trace in TRACES)
            print(f"| {path[0]} | {recovery} | " + " | ".join(cells) + " |")
    print()


def proof(program):
    """Longer runs, and a direct one at 10 Gbit/s, with the numbers found."""
    print("| path, trace | rate, block | sessions | run | efficiency (%) |\n|---|---|---|---|---|")
    for path, trace, rate, block, times, direct in (
            (PATHS[0], "H", 0.5, BLOCKS[0], (100, 2), None),
            (PATHS[1], "H", 0.5, BLOCKS[0], (400, 10), None),
            (PATHS[2], "H", 0.5, BLOCKS[0], (800, 40), None),
            (PATHS[1], "H", 0.5, BLOCKS[0], (20, 5), (10, BLOCKS[1]))):
        n, r = fewest(program, path, trace, rate, block, "default")
        checks = [((path[2], path[3]), rate, block, r)]
        rate, block = direct or (rate, block)
        checks.append((times, rate, block, simulate(program, path, trace, rate, block, n, "default", times)))
        for (duration, warmup), rate, block, r in checks:
            print(f"| {path[0]}, {trace} | {rate} Gbit/s, {size(block)} | {n} | {duration} s, of these {warmup} s "
                  f"warm-up | {100 * r['efficiency']:.2f} |")
    print()


PARTS = {"sessions": sessions, "plain": plain, "proof": proof}


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[-1] not in PARTS and len(sys.argv) == 3:
        sys.exit(__doc__)
    for name, part in PARTS.items():
        if sys.argv[-1] in (name, sys.argv[1]):
            part(sys.argv[1])


if __name__ == "__main__":
    main()
