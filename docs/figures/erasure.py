#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figure of docs/erasure.md: goodput and 99th percentile of delivery of campaigns/erasure.yaml, with the physical bounds.

No code and no repetition passes more segments than the channel does. The first bound is the goodput of all packets that no fade touches, in the
same realisations. Delivery needs the light time and the radiation of a bundle, and two light times more with a repetition.

usage: erasure.py BIN_DIR RUNS numbers   prints the numbers as JSON (docs/figures/erasure.json); RUNS: folder of the campaign's runs
       erasure.py draw JSON PICTURE      draws them (docs/figures/erasure.png)
"""
import csv
import glob
import json
import math
import os
import statistics
import subprocess
import sys

import numpy as np

RATE, SEGMENT, OUTSIDE, SIZE = 20e6, 1024, 42, 100000
AIR = 8 * (SEGMENT + OUTSIDE) / RATE
RADIATION = 8 * SIZE / RATE
DELAYS = {"GEO, 125 ms": "125ms", "Moon, 1.28 s": "1.28s"}
LIGHT = {"125ms": 0.125, "1.28s": 1.28}
TRACES = "A", "F", "H"
KINDS = {"plain": {"link.recovery": "plain"}, "default": {"link.recovery": "default"},
         "code, rate 0.765": {"link.erasure.rate": "0.765"}, "code, rate 0.6": {"link.erasure.rate": "0.6"},
         "adaptive, from 0.6": {"link.erasure.adaptive": "yes"}}
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78}


def good_share(bin_dir, trace, seed):
    """Of packets that are sent back to back: no step from a packet's first to its last is bad."""
    text = subprocess.run([f"{bin_dir}/helio-trace", "gen", "--preset", trace, "--seed", str(seed), "-o", "-"], check=True, capture_output=True, text=True).stdout
    lines = text.splitlines()
    step = next(int(line.split()[2]) for line in lines if line.startswith("# step_ns")) / 1e9
    runs = [line.split() for line in lines if not line.startswith("#")]
    bads = np.concatenate(([0], np.cumsum(np.repeat([state == "1" for state, _ in runs], [int(count) for _, count in runs]))))
    begins = np.arange(0, (len(bads) - 1) * step - 2 * AIR, AIR)
    first, last = np.floor(begins / step + 1e-6).astype(int), np.ceil((begins + AIR) / step - 1e-6).astype(int)
    return float(np.mean(bads[last] == bads[first]))


def of_run(folder):
    """Goodput (Mbit/s) and the 99th percentile of delivery (s) of the bundles that start in the middle of the traffic."""
    with open(os.path.join(folder, "sessions.csv"), encoding="utf-8") as f:
        rows = [(float(r["t_first_tx_ns"]) / 1e9, float(r["delivery_ms"] or "inf") / 1e3) for r in csv.DictReader(f)
                if r["originator"] == "1" and r["t_first_tx_ns"] and int(r["block_bytes"] or 0) >= SIZE]
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
        run = json.load(f)
    light = LIGHT[run["parameters"].get("link.delay", "1.28s")]
    seconds = 60 if light > 1 else 15
    low, high = seconds * 0.3, seconds * 0.75
    delays = sorted(d for start, d in rows if low <= start < high)
    whole = sum(d < math.inf for d in delays)
    return run, whole * SIZE * 8 / (high - low) / 1e6, delays[len(delays) * 99 // 100], delays[len(delays) // 2]


def spread(values):
    return {"mean": statistics.fmean(values), "ci95": T95[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None}


def numbers(bin_dir, folder):
    runs = [of_run(os.path.dirname(path)) for path in sorted(glob.glob(os.path.join(folder, "*", "sessions.csv")))]
    out = {}
    for name, delay in DELAYS.items():
        mine = [r for r in runs if r[0]["parameters"].get("link.delay", "1.28s") == delay]
        seeds = {t: sorted({r[0]["trace_seeds"][t] for r in mine if r[0]["parameters"]["link.trace"] == t}) for t in TRACES}
        share = {t: statistics.fmean(good_share(bin_dir, t, seed) for seed in seeds[t]) for t in TRACES}
        part = out[name] = {"bounds": {"goodput_mbit_s": {t: share[t] * RATE * SEGMENT / (SEGMENT + OUTSIDE) / 1e6 for t in TRACES},
                                       "delivery_s": [LIGHT[delay] + RADIATION, 3 * LIGHT[delay] + RADIATION]}, "kinds": {}}
        for kind, wanted in KINDS.items():
            part["kinds"][kind] = {}
            for t in TRACES:
                found = [r for r in mine if r[0]["parameters"]["link.trace"] == t and (kind.startswith("adaptive") or "link.erasure.adaptive" not in r[0]["parameters"])
                         and all(r[0]["parameters"].get(k) == v for k, v in wanted.items())]
                part["kinds"][kind][t] = {"repetitions": len(found), "goodput_mbit_s": spread([r[1] for r in found]), "p99_s": spread([r[2] for r in found]),
                                          "p50_s": spread([r[3] for r in found])}
    return out


def draw(data, picture):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, all_axes = plt.subplots(len(data), 2, figsize=(11, 7.6), layout="constrained")
    colours = "#999999", "#0072b2", "#e69f00", "#d55e00", "#009e73"
    for row, (name, part) in enumerate(data.items()):
        for column, (metric, title) in enumerate((("goodput_mbit_s", "goodput, Mbit/s"), ("p99_s", "99th percentile of delivery, s"))):
            axes = all_axes[row][column]
            width = 0.8 / len(part["kinds"])
            for i, (kind, values) in enumerate(part["kinds"].items()):
                x = [g + (i - (len(part["kinds"]) - 1) / 2) * width for g in range(len(TRACES))]
                axes.bar(x, [values[t][metric]["mean"] for t in TRACES], width * 0.92, yerr=[values[t][metric]["ci95"] or 0 for t in TRACES],
                         capsize=2, color=colours[i], label=kind)
            for g, t in enumerate(TRACES):
                marks = [part["bounds"]["goodput_mbit_s"][t]] if column == 0 else part["bounds"]["delivery_s"]
                for j, (y, dash) in enumerate(zip(marks, ("-", ":"))):
                    words = "bound: no packet that a fade touches" if column == 0 else ("bound: light time and radiation", "bound with one repetition")[j]
                    axes.plot([g - 0.45, g + 0.45], [y, y], color="black", linestyle=dash, linewidth=1.4, label=words if g == 0 else None)
            axes.set_xticks(range(len(TRACES)), [f"trace {t}" for t in TRACES])
            axes.set_title(f"{name}: {title}", fontsize=10)
            axes.set_ylim(bottom=0)
    known = {label: handle for axes in all_axes[0] for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.get_layout_engine().set(rect=(0, 0.07, 1, 0.93))
    figure.legend(known.values(), known.keys(), loc="lower center", ncol=4, fontsize=9)
    figure.savefig(picture, dpi=110)


def main():
    if len(sys.argv) == 4 and sys.argv[3] == "numbers":
        json.dump(numbers(sys.argv[1], sys.argv[2]), sys.stdout, indent=1)
        print()
    elif len(sys.argv) == 4 and sys.argv[1] == "draw":
        with open(sys.argv[2], encoding="utf-8") as f:
            draw(json.load(f), sys.argv[3])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
