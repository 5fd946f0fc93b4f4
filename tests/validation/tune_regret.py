#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How good is what helio-tune chooses? Against a grid of recovery settings and numbers of sessions, on realisations that it has not seen.

usage: tune_regret.py BIN_DIR [--jobs N] [--json FILE] [--write FILE] [--small | NAME…]

At each of nine channels the grid has plain recovery with timers of 1.15, 2 and 5 round trips (and 2 ms for the nodes), and the default recovery;
each with numbers of sessions from 1 to 8 times the blocks that are under way in a round trip. helio-tune's choices of both recoveries, with
0.8 and 0.9 times as many sessions, too, and all of the grid are simulated on five realisations of the fading that the search did not use. All meet the same fades, so that differences are
taken in pairs. Regret: what the best of the grid carries more than the choice, in points of the capacity. Least: the fewest sessions of
the grid and the choices that are within the noise of the best of the same recovery: 0.05 points, or the difference's own 95 % interval.
Size: the choice's number over the least. Holds: in how many of the five realisations the choice carries as much as the largest number of the
grid with the same timer, but for 0.1 points. --small: one channel of few segments, for the tests. --json keeps all shares after each channel; what is in the file is not done again. --write makes
docs/figures/tune-regret.json, from which run.py has its table.

Exit codes: 0 the regret against the same recovery is at most 0.1 points, or not to be told from that, no number is more than 1.3 times the
least, or one more, and the choices hold in 95 % of all their realisations, or so that 95 % is within what can be told; 1 not so; 2 usage.
"""
import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile

from rows import run

import _paths  # noqa: F401
from heliograph import statistics, units  # noqa: E402

CHANNELS = {f"{trace} {delay}": {"trace": trace, "delay": delay, "rate": "20Mbit/s", "block": "100kB"} for delay in ("1280ms", "125ms", "5ms") for trace in "FHA"}
SMALL = {"F 1280ms": {"trace": "F", "delay": "1280ms", "rate": "4Mbit/s", "block": "100kB"}}
RUNS, SEED = 5, 7000
FACTORS = (1, 1.5, 2, 2.4, 2.8, 4, 8)  # of the blocks that are under way in a round trip
FEWER = (0.8, 0.9, 1)  # of the choice
TIMERS = (1.15, 2, 5)
RECOVERIES = ("plain", "default")
TOLERANCE, REGRET_MAX, SIZE_MAX = 0.0005, 0.001, 1.3  # the steps below the choice are up to 1.25
HOLDS = 0.95  # of the realisations: what helio-tune claims
WAYS = {"1280ms": "1.28 s", "125ms": "125 ms", "5ms": "5 ms"}


def tune(bin_dir, channel, jobs):
    words = [word for key, value in channel.items() for word in (f"--{key}", value)]
    return json.loads(run(bin_dir, "helio-tune", *words, "--unseen", "0", "--jobs", str(jobs), "--json"))


def settings_of(channel, result):
    """{(recovery, timer, sessions): options of helio-sim} of the grid and of the choices, and {recovery: key of its choice}"""
    trip = 2 * units.duration(channel["delay"])
    flying = trip * units.rate(channel["rate"]) / 8 / units.size(channel["block"]) + 1
    numbers = {round(flying * factor) for factor in FACTORS}
    found, chosen = {}, {}
    for name in RECOVERIES:
        one = result["recovery"][name]
        own = "auto" if one["rto_auto"] else units.duration_text(one["rto_s"])
        chosen[name] = (name, own, one["sessions"])
        timers = ["auto"] if name == "default" else [units.duration_text(round(trip * factor + 2e-3, 6)) for factor in TIMERS]
        near = [(own, max(1, round(one["sessions"] * factor))) for factor in FEWER] + [(own, max(numbers))]
        for timer, sessions in [(timer, n) for timer in timers for n in sorted(numbers)] + near:
            found[name, timer, sessions] = {"recovery": name, "rto": timer, "sessions": sessions, "segment": f"{one['segment_bytes']}B"}
    return found, chosen


def simulate(bin_dir, channel, setting, times, trace, seed):
    """The share that is carried. The recovery goes first: it sets the timer, too."""
    words = {**setting, "trace": trace, "rate": channel["rate"], "delay": channel["delay"], "bundle": channel["block"], **times, "seed": seed}
    return json.loads(run(bin_dir, "helio-sim", *(str(x) for key, value in words.items() for x in (f"--{key}", value)), "--json"))["carried_share"]


def traces_of(bin_dir, name, folder):
    for seed in range(SEED + 1, SEED + RUNS + 1):
        path = os.path.join(folder, f"{name}-{seed}.txt.gz")
        if not os.path.exists(path):
            run(bin_dir, "helio-trace", "gen", "--preset", name, "--seed", str(seed), "-o", path)
        yield path, seed


def shares_of(pool, bin_dir, channel, result, found, folder):
    """{setting: the share of each realisation}"""
    seconds = result["duration_s"]
    warmup = max(0.05 * seconds, *(one["warmup_s"] for one in result["recovery"].values()))
    times = {"duration": units.duration_text(seconds), "warmup": units.duration_text(warmup)}
    traces = list(traces_of(bin_dir, channel["trace"], folder))
    waiting = {key: [pool.submit(simulate, bin_dir, channel, setting, times, *trace) for trace in traces] for key, setting in found.items()}
    return {key: [one.result() for one in each] for key, each in waiting.items()}


def mean(values):
    return sum(values) / len(values)


def difference(shares, one, other):
    return statistics.interval([x - y for x, y in zip(shares[one], shares[other])])


def judge(shares, choice):
    """Regret and size of a choice against the given part of the grid."""
    best = max(shares, key=lambda key: mean(shares[key]))
    regret, half = difference(shares, best, choice)
    least = min(key[2] for key in shares if difference(shares, best, key)[0] <= max(TOLERANCE, difference(shares, best, key)[1]))
    most = shares[max((key for key in shares if key[1] == choice[1]), key=lambda key: key[2])]
    holds = sum(there - here <= 2 * TOLERANCE for here, there in zip(shares[choice], most))
    return {"sessions": choice[2], "holds": holds, "timer": choice[1], "share": mean(shares[choice]), "best": list(best), "best_share": mean(shares[best]),
            "regret": regret, "regret_ci95": half, "least": least, "size": choice[2] / least}


def row_of(pool, o, channel, folder):
    result = tune(o.bin_dir, channel, o.jobs)
    found, chosen = settings_of(channel, result)
    shares = shares_of(pool, o.bin_dir, channel, result, found, folder)
    own = {name: judge({key: each for key, each in shares.items() if key[0] == name}, chosen[name]) for name in RECOVERIES}
    taken = result["take"]["recovery"]
    regret, half = difference(shares, max(shares, key=lambda key: mean(shares[key])), chosen[taken])
    return {"recovery": own, "taken": taken, "regret": regret, "regret_ci95": half, "simulations": result["simulations"],
            "grid": [[*key, each] for key, each in shares.items()]}


def right(one):
    return one["regret"] - one["regret_ci95"] <= REGRET_MAX and (one["size"] <= SIZE_MAX or one["sessions"] <= one["least"] + 1)


def held(rows):
    """(in so many realisations of all the choices hold, of so many)"""
    choices = [one for row in rows.values() for one in row["recovery"].values()]
    return sum(one["holds"] for one in choices), RUNS * len(choices)


def surely_less(kept, runs):
    """Would so few hold in less than one of 20 repetitions if each held with the chance that is claimed?"""
    return sum(math.comb(runs, k) * HOLDS**k * (1 - HOLDS)**(runs - k) for k in range(kept + 1)) < 0.05


def holds(rows):
    return all(right(one) for row in rows.values() for one in row["recovery"].values()) and not surely_less(*held(rows))


def lines(name, row):
    trace, delay = name.split()
    for recovery, one in row["recovery"].items():
        yield (f"| `{trace}` | {WAYS[delay]} | `{recovery}`{', taken' if recovery == row['taken'] else ''} | {one['sessions']} | {100 * one['share']:.2f} | "
               f"{100 * one['best_share']:.2f} | {100 * one['regret']:.2f} ± {100 * one['regret_ci95']:.2f} | {one['least']} | {one['size']:.2f} | {one['holds']} of {RUNS} |")


def table(rows):
    head = "| trace | one way | recovery | sessions | share carried (%) | best of the grid (%) | regret (points) | least | size | holds |"
    return "\n".join([head, "|---" * 10 + "|", *(line for name, row in rows.items() for line in lines(name, row))])


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin_dir", metavar="BIN_DIR")
    p.add_argument("names", metavar="NAME", nargs="*", help="only these channels, as in 'F 1280ms'")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("--json", metavar="FILE")
    p.add_argument("--write", metavar="FILE")
    p.add_argument("--small", action="store_true")
    o = p.parse_intermixed_args()
    if o.write and (o.names or o.small):
        p.error("--write needs all channels: no NAME, no --small")
    if o.small and o.names:
        p.error("--small has its own channel: no NAME")
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
        channels = SMALL if o.small else CHANNELS
        for name in o.names or channels:
            if name in rows:
                continue
            rows[name] = row_of(pool, o, channels[name], folder)
            print("\n".join(lines(name, rows[name])), file=sys.stderr, flush=True)
            if o.json:
                with open(o.json, "w", encoding="utf-8") as f:
                    json.dump(rows, f, separators=(",", ":"))
    if o.write:
        with open(o.write, "w", encoding="utf-8") as f:
            json.dump({name: {key: value for key, value in row.items() if key != "grid"} for name, row in rows.items()}, f, indent=1)
            f.write("\n")
    print(table(rows))
    print("holds in {} of {}".format(*held(rows)), file=sys.stderr)
    return 0 if holds(rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, subprocess.TimeoutExpired) as e:
        sys.exit(f"tune_regret.py: {e}")
