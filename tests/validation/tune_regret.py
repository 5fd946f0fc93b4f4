#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How good are the numbers of sessions that helio-tune finds? Against all numbers of a grid, on realisations that it has not seen.

usage: tune_regret.py BIN_DIR [--recovery NAME] [--jobs N] [--json FILE] [NAME…]

Of each of nine channels helio-tune's number of sessions and numbers from half to four times as many are simulated on five other
realisations of the fading, with the same segment size and timer. Regret: what the best number of the grid carries more, in points of the
capacity, the mean of the differences on each realisation, with its 95 % interval. Least: the fewest sessions of the grid that carry as
much as the best one but for 0.05 points. --json keeps the figures after each channel; what is in the file is not done again.

Exit codes: 0 all regrets are at most 0.1 points or not to be told from that, and no number is more than 1.3 times the least; 1 not so; 2 usage.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

from rows import TOP, run

sys.path.insert(0, os.path.join(TOP, "tools", "python"))
from heliograph import statistics, units  # noqa: E402

CHANNELS = {f"{trace} {delay}": {"trace": trace, "delay": delay, "rate": "20Mbit/s", "block": "100kB"} for delay in ("1280ms", "125ms", "5ms") for trace in "FHA"}
RUNS, SEED = 5, 7000
FACTORS = (0.5, 0.7, 0.8, 0.9, 1, 1.4, 4)
TOLERANCE, REGRET_MAX, SIZE_MAX = 0.0005, 0.001, 1.3  # the grid's steps are 1.11 to 1.25 below what was found


def tune(bin_dir, channel, recovery, jobs):
    words = [word for key, value in channel.items() for word in (f"--{key}", value)]
    result = json.loads(run(bin_dir, "helio-tune", *words, "--recovery", recovery, "--unseen", "0", "--jobs", str(jobs), "--json"))
    return result["recovery"][recovery], result["duration_s"], result["simulations"]


def simulate(bin_dir, channel, recovery, found, seconds, sessions, trace, seed):
    """The share that is carried."""
    warmup = max(found["warmup_s"], 0.05 * seconds)
    timer = "auto" if found["rto_auto"] else units.duration_text(found["rto_s"])
    words = {**channel, "trace": trace, "bundle": channel["block"], "recovery": recovery, "rto": timer, "sessions": sessions, "segment": f"{found['segment_bytes']}B",
             "duration": units.duration_text(seconds), "warmup": units.duration_text(warmup), "seed": seed}
    del words["block"]
    order = sorted(words, key=lambda key: key != "recovery")  # the timer changes that set
    return json.loads(run(bin_dir, "helio-sim", *(str(x) for key in order for x in (f"--{key}", words[key])), "--json"))["carried_share"]


def shares_of(pool, bin_dir, channel, recovery, found, seconds, folder):
    """{number of sessions: the share of each realisation}"""
    traces = []
    for seed in range(SEED + 1, SEED + RUNS + 1):
        traces.append((os.path.join(folder, f"{channel['trace']}-{seed}.txt.gz"), seed))
        if not os.path.exists(traces[-1][0]):
            run(bin_dir, "helio-trace", "gen", "--preset", channel["trace"], "--seed", str(seed), "-o", traces[-1][0])
    numbers = sorted({max(1, round(found["sessions"] * f)) for f in FACTORS})
    waiting = {n: [pool.submit(simulate, bin_dir, channel, recovery, found, seconds, n, *trace) for trace in traces] for n in numbers}
    return {n: [one.result() for one in each] for n, each in waiting.items()}


def judge(found, shares):
    """Regret and size against the grid."""
    mean = {n: sum(each) / len(each) for n, each in shares.items()}
    best = max(mean, key=mean.get)
    regret, half = statistics.interval([x - y for x, y in zip(shares[best], shares[found["sessions"]])])
    least = min(n for n in mean if mean[best] - mean[n] <= TOLERANCE)
    return {"sessions": found["sessions"], "memory_bytes": found["memory_bytes"], "share": mean[found["sessions"]], "best": best, "best_share": mean[best],
            "regret": regret, "regret_ci95": half, "least": least, "size": found["sessions"] / least, "grid": mean}


def holds(row):
    return row["regret"] - row["regret_ci95"] <= REGRET_MAX and row["size"] <= SIZE_MAX


def line(name, row):
    return (f"| {' | '.join(name.split())} | {row['sessions']} | {row['memory_bytes'] / 1e6:.0f} MB | {100 * row['share']:.2f} | {100 * row['best_share']:.2f} | "
            f"{100 * row['regret']:.2f} ± {100 * row['regret_ci95']:.2f} | {row['least']} | {row['size']:.2f} |")


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin_dir", metavar="BIN_DIR")
    p.add_argument("names", metavar="NAME", nargs="*", help="only these channels, as in 'F 1280ms'")
    p.add_argument("--recovery", choices=("plain", "default"), default="default")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("--json", metavar="FILE")
    o = p.parse_args()
    unknown = [name for name in o.names if name not in CHANNELS]
    if unknown:
        p.error(f"{', '.join(unknown)}: no such channel; right are {', '.join(CHANNELS)}")
    return o


def main():
    o = options()
    rows = {}
    if o.json and os.path.exists(o.json):
        with open(o.json, encoding="utf-8") as f:
            rows = json.load(f)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for name in o.names or CHANNELS:
            if name in rows:
                continue
            found, seconds, simulations = tune(o.bin_dir, CHANNELS[name], o.recovery, o.jobs)
            rows[name] = {**judge(found, shares_of(pool, o.bin_dir, CHANNELS[name], o.recovery, found, seconds, folder)), "simulations": simulations}
            print(line(name, rows[name]), file=sys.stderr, flush=True)
            if o.json:
                with open(o.json, "w", encoding="utf-8") as f:
                    json.dump(rows, f, indent=1)
    print("| trace | one way | sessions | memory | share carried (%) | best of the grid (%) | regret (points) | least | size |\n" + "|---" * 9 + "|")
    for name, row in rows.items():
        print(line(name, row))
    return 0 if all(holds(row) for row in rows.values()) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, subprocess.TimeoutExpired) as e:
        sys.exit(f"tune_regret.py: {e}")
