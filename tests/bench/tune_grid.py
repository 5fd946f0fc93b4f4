#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-tune over a grid of links: no traceback, what it predicts is what unseen fading does, a floor is kept or said to be missed.

usage: tune_grid.py BIN OUT [--cells N] [--jobs N] [--point SHARE] [--short] [--table]

The cells come in such an order that few of them have every pair of values together; --cells N does the first N. Each cell's
result is kept in OUT: what is done is not done again. --short has runs of 40 round trips, 4 s at least, instead of 12,000 blocks: a
harder test of the predictions. --table only prints what is there. `cmake --build BUILD --target
tune_grid` does all of them, for hours.
exit codes: 0 all that was done holds, 1 some does not, 2 usage
"""
import argparse
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path

LEVELS = {
    "trace": ("none", "A", "F", "H", "leo-low"),
    "delay": ("5ms", "125ms", "1280ms"),
    "rate": ("0.1Gbit/s", "0.5Gbit/s", "2Gbit/s"),
    "recovery": ("plain", "default"),
    "goal": ("goodput", "delay"),
}


def pairs(cell):
    return set(itertools.combinations(cell.items(), 2))


def ordered():
    """All cells; each next one has the most pairs of values that none before it has."""
    left = [dict(zip(LEVELS, values)) for values in itertools.product(*LEVELS.values())]
    seen, out = set(), []
    while left:
        best = max(left, key=lambda cell: len(pairs(cell) - seen))
        left.remove(best)
        seen |= pairs(best)
        if not set().union(*(pairs(cell) for cell in left), set()) - seen:
            seen = set()  # all pairs are there: once more from the beginning
        out.append(best)
    return out


def path_of(out, cell):
    return out / ("-".join(cell.values()).replace("/", "") + ".json")


def run_cell(program, cell, jobs, short, path):
    began = time.monotonic()
    options = [word for name, value in cell.items() for word in (f"--{name}", value)]
    if short:
        options += ["--duration", f"{max(4000, 80 * int(cell['delay'].removesuffix('ms')))}ms"]
    done = subprocess.run([program, *options, "--jobs", str(jobs), "--json"], capture_output=True, text=True, check=False)
    kept = {"cell": cell, "code": done.returncode, "error": done.stderr, "seconds": time.monotonic() - began,
            "result": json.loads(done.stdout) if done.returncode == 0 else None}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(kept))
    part.rename(path)


def expected_of(found):
    """The efficiency that is promised of any realisation; where nothing is drawn, of the one there is."""
    return (found.get("expected") or found["predicted"])["efficiency"]


def wrong(kept, point):
    """What does not hold, in words."""
    if kept["code"] != 0 or "Traceback" in kept["error"]:
        return ["fails: " + kept["error"].strip().splitlines()[-1]]
    found = kept["result"]["recovery"][kept["cell"]["recovery"]]
    unseen, why = found["unseen"], []
    predicted = expected_of(found)
    if predicted is None or not predicted > 0:
        return ["nothing arrives"]
    if kept["cell"]["trace"] != "none" and (unseen is None or unseen["runs"] < 5):
        why.append("less than five unseen realisations")
    elif unseen and abs(predicted - unseen["efficiency"]) > point:
        why.append(f"{100 * (predicted - unseen['efficiency']):+.2f} points off")
    if kept["cell"]["goal"] == "delay" and found["floor_kept"] != (found["predicted"]["efficiency"] >= found["floor"]):
        why.append("says the wrong thing of its floor")
    return why


def print_table(out, point):
    print("| trace | delay | rate | recovery | goal | sessions | predicted | five unseen | floor | time | |\n|---|---|---|---|---|---|---|---|---|---|---|")
    bad = done = 0
    for cell in ordered():
        path = path_of(out, cell)
        if not path.exists():
            continue
        kept = json.loads(path.read_text())
        why = wrong(kept, point)
        done, bad = done + 1, bad + bool(why)
        found = kept["result"]["recovery"][cell["recovery"]] if kept["result"] else None
        cells = ["–"] * 4
        if found:
            unseen, floor = found["unseen"], {None: "", True: "kept", False: "missed, said"}[found["floor_kept"]]
            cells = [str(found["sessions"]), f"{100 * (expected_of(found) or 0):.2f} %",
                     f"{100 * unseen['efficiency']:.2f} ± {100 * unseen['ci95']:.2f} %" if unseen else "(nothing is drawn)", floor]
        print(f"| {' | '.join(cell.values())} | {' | '.join(cells)} | {kept['seconds']:.0f} s | {'; '.join(why) or 'holds'} |")
    print(f"\n{done} of {len(ordered())} cells, {bad} do not hold")
    return bad == 0


def main():
    p = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0], description=__doc__.splitlines()[0])
    p.add_argument("bin", type=Path)
    p.add_argument("out", type=Path)
    p.add_argument("--cells", type=int, default=10**6)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--point", type=float, default=0.01)
    p.add_argument("--short", action="store_true")
    p.add_argument("--table", action="store_true")
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    for number, cell in enumerate(ordered()[:a.cells], 1):
        path = path_of(a.out, cell)
        if a.table or path.exists():
            continue
        print(f"{number}: {' '.join(cell.values())}", file=sys.stderr, flush=True)
        run_cell(a.bin / "helio-tune", cell, a.jobs, a.short, path)
    return 0 if print_table(a.out, a.point) else 1


if __name__ == "__main__":
    sys.exit(main())
