# SPDX-License-Identifier: Apache-2.0
"""How fast helio-analyze reads a segment log, and in how much memory.

usage: analyze_bench.py BIN [--duration TIME] [--rounds N] [--keep FILE]

The log is that of helio-sim at 500 Mbit/s through trace A, 7 sessions, both nodes in one file (100 s: 11.6 million rows); then the
sender's alone. Prints JSON: rows a second of processor time and of wall clock (median and best of the rounds), peak
memory. Exit code 1 below 2 million rows a second of processor time, above 5 s for the sender's log, or above 64 MiB.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

args = argparse.ArgumentParser()
args.add_argument("bin")
args.add_argument("--duration", default="100s")
args.add_argument("--rounds", type=int, default=3)
args.add_argument("--keep", help="where to leave the log; read again when it is there")
args = args.parse_args()


def simulate(path, node):
    if os.path.exists(path):
        return
    subprocess.run([f"{args.bin}/helio-sim", "--trace", "A", "--sessions", "7", "--rto", "30ms", "--processing", "4ms",
                    "--duration", args.duration, "--log", path, "--log-node", node], check=True,
                   stdout=subprocess.DEVNULL)


def once(path, *options):
    """Seconds of wall clock and of processor, rows, KiB at most."""
    start = time.monotonic()
    p = subprocess.Popen([f"{args.bin}/helio-analyze", "--json", *options, path], stdout=subprocess.PIPE)
    text = p.stdout.read()
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    assert p.returncode == 0
    return wall, used.ru_utime + used.ru_stime, json.loads(text)["rows"], used.ru_maxrss


def measure(path, *options):
    once(path, *options)  # the file is in the page cache from here on
    runs = [once(path, *options) for _ in range(args.rounds)]
    rows = runs[0][2]
    wall, cpu = ([r[i] for r in runs] for i in (0, 1))
    return {"rows": rows, "seconds": round(statistics.median(wall), 3), "seconds_best": round(min(wall), 3),
            "cpu_seconds": round(statistics.median(cpu), 3),
            "rows_per_cpu_second": round(rows / statistics.median(cpu)), "peak_kib": max(r[3] for r in runs)}


with tempfile.TemporaryDirectory() as folder:
    both, one = args.keep or os.path.join(folder, "both.csv"), os.path.join(folder, "one.csv")
    simulate(both, "both")
    simulate(one, "1")
    result = {"both_ends": measure(both), "both_ends_tables": measure(both, "--tables", os.path.join(folder, "t")),
              "sender": measure(one)}
print(json.dumps(result, indent=2))
slow = min(r["rows_per_cpu_second"] for r in result.values()) < 2e6 or result["sender"]["seconds_best"] > 5
sys.exit(1 if slow or max(r["peak_kib"] for r in result.values()) > 64 << 10 else 0)
