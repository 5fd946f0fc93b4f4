#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/recovery.md from runs of helio-sim.

usage: recovery_table.py HELIO_SIM [DURATION [recovery|orange]]   (to standard output; both by default)
"""
import concurrent.futures
import json
import os
import subprocess
import sys

TRACES = "A", "F", "H"
SESSIONS = "1", "2", "3", "5", "7", "10", "15", "20"
COMMON = ["--json", "--processing", "4ms"]
DEFAULT = ["--recovery", "default", "--peer-profile", "auto"]  # as a link has it
SWITCHES = (
    ("`plain`", []),
    ("`--rto auto`", ["--rto", "auto"]),
    ("`--closing 1`", ["--closing", "1"]),
    ("`--closing 1 --copies 24 --copy-spacing 2ms`",
     ["--closing", "1", "--copies", "24", "--copy-spacing", "2ms"]),
    ("`--report-copies 4 --copy-spacing 2ms`", ["--report-copies", "4", "--copy-spacing", "2ms"]),
    ("`--checkpoint-segments 192`", ["--checkpoint-segments", "192"]),
    ("`--checkpoint-time 2ms`", ["--checkpoint-time", "2ms"]),
    ("`--resend-wait 2ms`", ["--resend-wait", "2ms"]),
    ("`--merge-claims yes`", ["--merge-claims", "yes"]),
    ("`--oldest-first yes`", ["--oldest-first", "yes"]),
    ("`--sessions auto`", ["--sessions", "auto"]),
    ("`default`", DEFAULT),
    ("`default`, `--sessions auto`", [*DEFAULT, "--sessions", "auto"]),
)


COLOURS = (
    ("red, `plain`", []),
    ("red, `default`", DEFAULT),
    ("green", ["--colour", "green"]),
    ("orange, `--resend 0`", ["--colour", "orange", "--resend", "0"]),
    ("orange", ["--colour", "orange"]),
    ("orange, `--resend 20`", ["--colour", "orange", "--resend", "20"]),
    ("orange, `--orange-wait 2ms`", ["--colour", "orange", "--orange-wait", "2ms"]),
    ("orange, `--orange-wait 2ms`, 50 kB blocks, 70 sessions",
     ["--colour", "orange", "--orange-wait", "2ms", "--bundle", "50kB", "--sessions", "70"]),
)


def run(program, args):
    done = subprocess.run([program, *args], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def cells(r):
    s, d = r["session_ms"], r["delivery_ms"]
    air = r["air_bytes"]
    extra = 100 * (air - r["repeat_bytes"]) / air - 100 * useful(r) / air
    return (f"{r['goodput_bps'] / 1e6:.1f} | {100 * r['efficiency']:.2f} | {s['mean']:.1f} / "
            f"{s['p99']:.0f} | {d['mean']:.1f} / {d['p99']:.0f} | "
            f"{100 * r['copy_bytes'] / air:.3f} | {extra:.2f} | {r['sessions_max']}")


def useful(r):
    """Bytes on the air that blocks need once, in full segments."""
    sent = r["first_data_bytes"]
    return sent / r["payload_share"]


HEAD = ("goodput (Mbit/s) | efficiency (%) | session mean / p99 (ms) | delivery mean / p99 (ms) | "
        "copies (% of the air) | copies, acknowledgements and short segments (%) | at once |")


def recovery(program, duration):
    jobs = [(t, name, [*COMMON, "--trace", t, "--sessions", s, *args, "--duration", duration])
            for t in TRACES for s in SESSIONS
            for name, args in ((f"`plain`, {s}", []), (f"`default`, {s}", SWITCHES[-2][1]))]
    single = [(t, name, [*COMMON, "--trace", t, "--sessions", "7", *args, "--duration", duration])
              for t in TRACES for name, args in SWITCHES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda j: run(program, j[2]), jobs + single))
    for title, part, found in (("switches, sessions", jobs, results[:len(jobs)]),
                               ("switches, 7 sessions", single, results[len(jobs):])):
        print(f"| trace | {title} | {HEAD}")
        print("|---|---|" + "---|" * 7)
        for (trace, name, _), r in zip(part, found):
            print(f"| {trace} | {name} | {cells(r)} |")
        print()


def orange(program, duration):
    jobs = [(t, name, [*COMMON, "--trace", t, "--sessions", "7", "--duration", duration, *args])
            for t in TRACES for name, args in COLOURS]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda j: run(program, j[2]), jobs))
    print("| trace | blocks, 7 sessions | goodput (Mbit/s) | efficiency (%) | blocks delivered (%) | "
          "sent again, a block | delivery mean / p99 (ms) |")
    print("|---|---|" + "---|" * 5)
    for (trace, name, _), r in zip(jobs, results):
        d = r["delivery_ms"]
        print(f"| {trace} | {name} | {r['goodput_bps'] / 1e6:.1f} | {100 * r['efficiency']:.2f} | "
              f"{100 * r['delivered_share']:.2f} | {r['resent'] / r['delivered']:.3f} | "
              f"{d['mean']:.1f} / {d['p99']:.0f} |")
    print()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    duration = sys.argv[2] if len(sys.argv) > 2 else "100s"
    part = sys.argv[3] if len(sys.argv) > 3 else "both"
    if part != "orange":
        recovery(sys.argv[1], duration)
    if part != "recovery":
        orange(sys.argv[1], duration)


if __name__ == "__main__":
    main()
