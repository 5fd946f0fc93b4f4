# SPDX-License-Identifier: Apache-2.0
"""What a flood of segments from engines that nobody knows costs a transfer at 500 Mbit/s.

usage: flood.py BIN [--rounds N] [--seconds S] [--flood SEGMENTS-PER-SECOND]

Rounds with and without the flood take turns. Prints JSON: the medians and their ratio. Exit code 1 when less than 95 %
of the goodput is left, 2 when the flood itself could not be sent.
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


quiet, flooded = [], []
for _ in range(args.rounds):
    quiet.append(run())
    flooded.append(run("--flood", str(args.flood)))


def median(runs, key):
    return statistics.median(r[key] for r in runs)


ratio = median(flooded, "gbps") / median(quiet, "gbps")
strangers = median(flooded, "strangers_per_s")
print(json.dumps({
    "gbps": round(median(quiet, "gbps"), 4),
    "gbps_flooded": round(median(flooded, "gbps"), 4),
    "ratio": round(ratio, 4),
    "strangers_per_s": round(strangers),
    "cpu_s_per_gbit_receiver": median(quiet, "cpu_s_per_gbit_receiver"),
    "cpu_s_per_gbit_receiver_flooded": median(flooded, "cpu_s_per_gbit_receiver"),
    "socket_drops_flooded": median(flooded, "socket_drops"),
}, indent=2))
if strangers < 0.9 * args.flood:
    sys.exit(2)
sys.exit(0 if ratio >= 0.95 else 1)
