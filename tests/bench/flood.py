# SPDX-License-Identifier: Apache-2.0
"""What a flood of segments from engines that nobody knows costs a transfer at 500 Mbit/s.

usage: flood.py BIN [--rounds N] [--seconds S] [--flood SEGMENTS-PER-SECOND]

Rounds without the flood and with it take turns: the unknown senders are refused; 64 of 50,000 are accepted and fill the set;
there are 64 and all of them are accepted. Prints JSON: the medians and their ratios. Exit code 1 when less than 95 % of
the goodput is left, 2 when the flood itself could not be sent.
"""
import argparse
import json
import statistics
import subprocess
import sys

args = argparse.ArgumentParser()
args.add_argument("bin")
args.add_argument("--rounds", type=int, default=3)
args.add_argument("--seconds", type=float, default=4)
args.add_argument("--flood", type=float, default=100000)
args = args.parse_args()


def run(*more):
    command = [f"{args.bin}/bench_ltp", "--seconds", str(args.seconds), "--rate", "500Mbit/s", "--segment", "1024", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


MODES = {
    "refused": ("--flood", str(args.flood)),
    "set_full": ("--flood", str(args.flood), "--accept-unknown", "64"),
    "all_accepted": ("--flood", str(args.flood), "--accept-unknown", "64", "--flood-engines", "64"),
}
quiet, flooded = [], {mode: [] for mode in MODES}
for _ in range(args.rounds):
    quiet.append(run())
    for mode, options in MODES.items():
        flooded[mode].append(run(*options))


def median(runs, key):
    return statistics.median(r[key] for r in runs)


result = {"gbps": round(median(quiet, "gbps"), 4), "cpu_s_per_gbit_receiver": median(quiet, "cpu_s_per_gbit_receiver")}
for mode, runs in flooded.items():
    result[mode] = {
        "gbps": round(median(runs, "gbps"), 4),
        "ratio": round(median(runs, "gbps") / median(quiet, "gbps"), 4),
        "unknown_per_s": round(median(runs, "unknown_per_s")),
        "cpu_s_per_gbit_receiver": median(runs, "cpu_s_per_gbit_receiver"),
        "socket_drops": median(runs, "socket_drops"),
    }
print(json.dumps(result, indent=2))
if any(result[mode]["unknown_per_s"] < 0.9 * args.flood for mode in MODES):
    sys.exit(2)
sys.exit(0 if all(result[mode]["ratio"] >= 0.95 for mode in MODES) else 1)
