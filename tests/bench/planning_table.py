#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/planning.md: the fewest parallel sessions that reach 98 % of capacity, and their memory,
found with helio-sim by doubling and bisection to 4 %. All is simulated at 500 Mbit/s: blocks of the same air time in as
many segments behave the same at any rate, which `proof` shows.

usage: planning_table.py HELIO_SIM [sessions|memory|proof]   (to standard output; all three: some 6 minutes of a core)
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
RATES = 0.5, 1, 2, 10  # Gbit/s
AIR_MS = 8, 2
SETS = ("plain", 8), ("default", 8), ("default", 2)
PROCESSING_MS = 4


def block_of(rate, air_ms):
    return round(rate * 1e9 * air_ms / 8000)


def simulate(program, path, trace, rate, air_ms, sessions, recovery, times=None):
    _, delay, duration, warmup = path
    duration, warmup = times or (duration, warmup)
    segment = round(1024 * rate / 0.5)
    args = ["--json", "--trace", trace, "--delay", f"{delay * 1000:g}ms", "--rto", f"{2000 * delay + 20:g}ms",
            "--processing", f"{PROCESSING_MS}ms", "--rate", f"{rate * 1000:g}Mbit/s", "--bundle", f"{block_of(rate, air_ms)}B", "--overhead", f"{round(42 * rate / 0.5)}B",
            "--segment", f"{segment}B", "--sessions", str(sessions), "--duration", f"{duration}s",
            "--warmup", f"{warmup}s", "--recovery", recovery]
    done = subprocess.run(["nice", program, *args], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def fewest(program, path, trace, recovery, air_ms):
    """(sessions, result of the run with them), or None where no number reaches the target."""
    n = first = max(1, math.ceil((2000 * path[1] + PROCESSING_MS) / air_ms))
    low = n // 2
    r = simulate(program, path, trace, 0.5, air_ms, n, recovery)
    while r["efficiency"] < TARGET:
        if n >= min(MOST, 32 * first):
            return None
        low, n = n, min(2 * n, MOST)
        r = simulate(program, path, trace, 0.5, air_ms, n, recovery)
    found = n, r
    while found[0] > low + 1 and found[0] > low * PRECISION:
        n = (low + found[0]) // 2
        r = simulate(program, path, trace, 0.5, air_ms, n, recovery)
        if r["efficiency"] >= TARGET:
            found = n, r
        else:
            low = n
    return found


def size(value):
    if value >= 1e9:
        return f"{value / 1e9:.1f} GB"
    return f"{value / 1e6:.0f} MB" if value >= 10e6 else f"{value / 1e6:.1f} MB"


def by_mean(found):
    """Mean session time x rate / block: the number of sessions that the mean alone would ask for."""
    _, r = found
    p = r["parameters"]
    return r["session_ms"]["mean"] / 1000 * p["rate_bps"] / (8 * p["bundle_bytes"])


def search(program, jobs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(jobs, pool.map(lambda j: fewest(program, *j), jobs)))


def head(*names):
    print("| " + " | ".join([*names, *TRACES]) + " |\n|" + "---|" * (len(names) + len(TRACES)))


def sessions(program, found):
    head("path", "recovery, air time of a block")
    for path in PATHS:
        for recovery, air_ms in SETS:
            cells = (found[path, t, recovery, air_ms] for t in TRACES)
            print(f"| {path[0]} | `{recovery}`, {air_ms} ms | " +
                  " | ".join(f"{c[0]} ({c[0] / by_mean(c):.1f} ×)" if c else "–" for c in cells) + " |")
    print()


def memory(program, found):
    head("path", "rate (Gbit/s)", "block")
    for path in PATHS:
        for rate in RATES:
            block = block_of(rate, AIR_MS[0])
            cells = []
            for t in TRACES:
                n, r = found[path, t, "default", AIR_MS[0]]
                held = min(r["receiver_held_max_bytes"] * rate / 0.5, n * block)
                cells.append(f"{size(n * block)} / {size(held)}")
            print(f"| {path[0]} | {rate} | {size(block)} | " + " | ".join(cells) + " |")
    print()


def proof(program, found):
    print("| path, trace | rate | block | sessions | run, warm-up (s) | efficiency (%) |\n|---|---|---|---|---|---|")
    for path, rate, times in ((PATHS[0], 0.5, None), (PATHS[0], 0.5, (200, 2)), (PATHS[0], 10, (20, 2)),
                              (PATHS[1], 0.5, None), (PATHS[1], 0.5, (200, 10)), (PATHS[1], 10, (50, 10)),
                              (PATHS[2], 0.5, None), (PATHS[2], 0.5, (400, 40)), (PATHS[2], 2, (100, 40))):
        n, _ = found[path, "H", "default", AIR_MS[0]]
        r = simulate(program, path, "H", rate, AIR_MS[0], n, "default", times)
        duration, warmup = times or path[2:]
        print(f"| {path[0]}, H | {rate} Gbit/s | {size(block_of(rate, AIR_MS[0]))} | {n} | {duration}, {warmup} | "
              f"{100 * r['efficiency']:.2f} |")
    print()


PARTS = {"sessions": sessions, "memory": memory, "proof": proof}


def main():
    wanted = sys.argv[2:] or list(PARTS)
    if len(sys.argv) < 2 or not set(wanted) <= set(PARTS):
        sys.exit(__doc__)
    jobs = [(path, trace, *s) for path in PATHS for trace in TRACES for s in SETS]
    found = search(sys.argv[1], jobs)
    for name in wanted:
        PARTS[name](sys.argv[1], found)


if __name__ == "__main__":
    main()
