#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Erasure codes under LTP over the Moon's fades, in virtual time: bundles of 500 kB at 100 Mbit/s and 1.28 s light time, over fresh
realisations of trace F. One rule for coded and uncoded runs: the bundles that START in the window count, for goodput and delivery.
usage: erasure_fades.py BIN [--seeds 1001-1020] [--seconds 60] [--jobs 2] [--codes RATE/SPAN[/requests[/adaptive]],...] > result.json"""

import argparse
import concurrent.futures
import csv
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

SIZE, WARM, TAIL = 500000, 10, 20      # octets of a bundle; s at the beginning and the end that do not count
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 14: 2.14, 19: 2.09}  # two-sided, by degrees of freedom


def write_node(folder, number, code, **more):
    """The file of a node; `more` are keys of its link."""
    peer = 3 - number
    keys = {"name": "it", "adapter": "ltp-udp", "peer": f"ipn:{peer}.0", "local": f"10.0.0.{number}:1113", "remote": f"10.0.0.{peer}:1113",
            "rate": "100Mbit/s", "owlt": "1.28s", "rto": "2.6s", "sessions": 400, **more}
    if code:
        keys["erasure"] = f"{{mode: rs, rate: {code[0]}, span: {code[1]}{''.join(f', {word}: yes' for word in code[2])}}}"
    path = os.path.join(folder, f"node{number}.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"node: ipn:{number}.0\nsocket: {folder}/{number}.sock\nstore: {{durability: none}}\nlinks:\n  - "
                + "\n    ".join(f"{key}: {value}" for key, value in keys.items()) + "\n")
    return path


def run(binaries, seed, code, seconds):
    """Of one realisation: goodput and quantiles of delivery of the bundles that start in the window."""
    with tempfile.TemporaryDirectory() as folder:
        trace, log = os.path.join(folder, "f.htr"), os.path.join(folder, "log")
        subprocess.run([f"{binaries}/helio-trace", "gen", "--preset", "F", "--seed", str(seed), "-o", trace], check=True, stdout=subprocess.DEVNULL)
        channel = os.path.join(folder, "channel.yaml")
        with open(channel, "w", encoding="utf-8") as f:
            f.write(f"forward: {{rate: 100Mbit/s, delay: 1.28s, erasures: {{trace: {trace}}}}}\nreturn: {{delay: 1.28s}}\n")
        nodes = [word for n in (1, 2) for word in ("--node", write_node(folder, n, code))]
        subprocess.run([f"{binaries}/helio-sim", *nodes, "--channel", channel, "--client", f"-d ipn:2.2000 -T {seconds} -W 500 -P {SIZE}",
                        "--log-dir", log, "--duration", f"{seconds + 1}s", "--json"], check=True, stdout=subprocess.DEVNULL)
        table = os.path.join(folder, "sessions.csv")
        subprocess.run([f"{binaries}/helio-analyze", "-s", table, f"{log}/node1.segments.csv", f"{log}/node2.segments.csv"],
                       check=True, stdout=subprocess.DEVNULL)
        with open(table, encoding="utf-8") as f:
            rows = [(float(row["t_first_tx_ns"]) / 1e9, float(row["delivery_ms"] or "inf") / 1e3) for row in csv.DictReader(f)
                    if row["t_first_tx_ns"] and int(row["block_bytes"] or 0) >= SIZE]
    delays = sorted(delay for start, delay in rows if WARM <= start < seconds - TAIL)
    done = sum(delay < math.inf for delay in delays)
    return {"seed": seed, "bundles": len(delays), "undelivered": len(delays) - done,
            "delays": delays, "goodput_mbit_s": done * SIZE * 8 / (seconds - TAIL - WARM) / 1e6,
            **{f"p{q}_s": delays[min(len(delays) - 1, len(delays) * q // 100)] for q in (50, 90, 99)}}


def interval(values):
    """Mean and half of its 95 % interval."""
    if len(values) < 2:
        return {"mean": values[0], "ci95": None}
    factor = T95[max(n for n in T95 if n <= len(values) - 1)]
    return {"mean": statistics.fmean(values), "ci95": factor * statistics.stdev(values) / math.sqrt(len(values))}


def bootstrap(groups, q, times=1000):
    """The 95 % interval of a quantile of all delays together: realisations are drawn with repetition."""
    rng, found = random.Random(1), []
    for _ in range(times):
        drawn = sorted(delay for _ in groups for delay in rng.choice(groups))
        found.append(drawn[min(len(drawn) - 1, len(drawn) * q // 100)])
    found.sort()
    return [found[times * 25 // 1000], found[times * 975 // 1000 - 1]]


def main():
    parser = argparse.ArgumentParser(description="erasure codes over trace F")
    parser.add_argument("binaries")
    parser.add_argument("--seeds", default="1001-1020")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--codes", default="0.78/10000,0.84/45000")
    args = parser.parse_args()
    first, last = (int(word) for word in args.seeds.split("-"))
    codes = [None] + [(float(rate), int(span), more) for rate, span, *more in (word.split("/") for word in args.codes.split(","))]
    result = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for code in codes:
            runs = list(pool.map(lambda seed, code=code: run(args.binaries, seed, code, args.seconds), range(first, last + 1)))
            groups = [one.pop("delays") for one in runs]
            pooled = sorted(delay for group in groups for delay in group)
            plain = result[0]["runs"] if result else runs
            share = [100 * a["goodput_mbit_s"] / b["goodput_mbit_s"] for a, b in zip(runs, plain)]
            result.append({"rate": code and code[0], "span": code and code[1], "more": code and code[2], "runs": runs, "goodput_of_uncoded_percent": interval(share),
                           "pooled_s": {f"p{q}": pooled[len(pooled) * q // 100] for q in (50, 90, 99)}, "pooled_p99_ci95_s": bootstrap(groups, 99),
                           "bundles": len(pooled), "undelivered": sum(one["undelivered"] for one in runs),
                           **{key: interval([one[key] for one in runs]) for key in ("goodput_mbit_s", "p50_s", "p90_s", "p99_s")}})
            print({key: value for key, value in result[-1].items() if key != "runs"}, file=sys.stderr)
    json.dump(result, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
