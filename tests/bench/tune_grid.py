#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-tune over a grid of links: no traceback, what it predicts is what unseen fading does, a floor is kept or said to be missed.

usage: tune_grid.py BIN OUT [--cells N] [--jobs N] [--point SHARE] [--fastest] [--again] [--short] [--table] [--json FILE]

The cells come in such an order that few of them have every pair of values together, or with --fastest the fastest first;
--cells N does the first N. Each cell's result is kept in OUT: what is done is not done again, but with --again what does not
hold. The programs are copied to OUT/bin at the start, so that a build or a change meanwhile changes nothing, and a simulation
that two cells have in common (both goals begin with the same) is done once. --short has runs of 40 round trips, 4 s at least, instead of
12,000 blocks: a harder test of the predictions. --json FILE has each cell's figures after each cell; what is in it
already is not done again, so that the grid goes on on another machine. --table only prints what is there. `cmake --build BUILD --target tune_grid` does all of them, for hours.
exit codes: 0 all that was done holds, 1 some does not, 2 usage
"""
import argparse
import itertools
import json
import os
import shutil
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


# In place of helio-sim: what the same words gave before. Realisations have their preset and seed as a name in any folder.
KEEPER = """#!/usr/bin/python3 -SE
import hashlib, os, subprocess, sys
here = os.path.dirname(os.path.abspath(sys.argv[0]))
words = [os.path.basename(w) if "helio-tune-" in w else w for w in sys.argv[1:]]
kept = os.path.join(here, "..", "runs", hashlib.sha256("\\0".join(words).encode()).hexdigest()[:32])
try:
    sys.stdout.write(open(kept).read())
    sys.exit(0)
except FileNotFoundError:
    pass
done = subprocess.run([os.path.join(here, "helio-sim.real"), *sys.argv[1:]], stdout=subprocess.PIPE, text=True)
if done.returncode == 0:
    open(f"{kept}.{os.getpid()}", "w").write(done.stdout)
    os.rename(f"{kept}.{os.getpid()}", kept)
sys.stdout.write(done.stdout)
sys.exit(done.returncode)
"""


def prepare(bin_, out):
    """The programs in OUT/bin, and helio-sim behind what keeps its results."""
    shutil.rmtree(out / "bin", ignore_errors=True)
    shutil.rmtree(out / "lib", ignore_errors=True)
    (out / "bin").mkdir()
    (out / "runs").mkdir(exist_ok=True)
    shutil.copytree(bin_.parent / "lib" / "heliograph" / "heliograph", out / "lib" / "heliograph" / "heliograph")
    for name, to in (("helio-tune", "helio-tune"), ("helio-trace", "helio-trace"), ("helio-sim", "helio-sim.real")):
        shutil.copy(bin_ / name, out / "bin" / to)
    (out / "bin" / "helio-sim").write_text(KEEPER)
    os.chmod(out / "bin" / "helio-sim", 0o755)


def cost(cell):
    """What is simulated: long paths want long runs, and more of them where fades are deep or slow."""
    return (float(cell["rate"].removesuffix("Gbit/s")) * (4 if cell["delay"] == "1280ms" else 1) * (1 if cell["recovery"] == "default" else 2)
            * {"none": 0.5, "H": 1.5, "leo-low": 1.5}.get(cell["trace"], 1))


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
    """The share carried that is promised of any realisation; where nothing is drawn, of the one there is."""
    return (found.get("expected") or found["predicted"])["carried_share"]


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
    elif unseen and abs(predicted - unseen["carried_share"]) > point:
        why.append(f"{100 * (predicted - unseen['carried_share']):+.2f} points off")
    if kept["cell"]["goal"] == "delay" and found["floor_kept"] != (found["predicted"]["carried_share"] >= found["floor"] * found["predicted"].get("reachable_share", 1)):
        why.append("says the wrong thing of its floor")
    return why


def rows_of(file):
    """The rows of a file of --json, by their cells' values."""
    return {tuple(row["cell"].values()): row for row in json.loads(file.read_text())} if file and file.exists() else {}


def row_of(out, point, cell, rows):
    """Of a cell that is done: whether it holds, and the figures that say so; None: it is not done."""
    if not path_of(out, cell).exists():
        return rows.get(tuple(cell.values()))
    kept = json.loads(path_of(out, cell).read_text())
    found = kept["result"]["recovery"][cell["recovery"]] if kept["result"] else {}
    figures = {k: found.get(k) for k in ("sessions", "predicted", "expected", "unseen", "floor", "floor_kept")}
    return {"cell": cell, "holds": not wrong(kept, point), "why": wrong(kept, point), "seconds": round(kept["seconds"], 1), **figures}


def write_json(out, point, file):
    before = rows_of(file)
    rows = [row for row in (row_of(out, point, cell, before) for cell in ordered()) if row]
    part = file.with_suffix(".part")
    part.write_text(json.dumps(rows, indent=1))
    part.rename(file)


def print_table(out, point, rows):
    print("| trace | delay | rate | recovery | goal | sessions | predicted | five unseen | floor | time | |\n|---|---|---|---|---|---|---|---|---|---|---|")
    bad = done = 0
    for cell in ordered():
        found = row_of(out, point, cell, rows)
        if found is None:
            continue
        done, bad = done + 1, bad + (not found["holds"])
        cells = ["–"] * 4
        if found["predicted"]:
            unseen, floor = found["unseen"], {None: "", True: "kept", False: "missed, said"}[found["floor_kept"]]
            cells = [str(found["sessions"]), f"{100 * (expected_of(found) or 0):.2f} %",
                     f"{100 * unseen['carried_share']:.2f} ± {100 * unseen['carried_ci95']:.2f} %" if unseen else "(nothing is drawn)", floor]
        print(f"| {' | '.join(cell.values())} | {' | '.join(cells)} | {found['seconds']:.0f} s | {'; '.join(found['why']) or 'holds'} |")
    print(f"\n{done} of {len(ordered())} cells, {bad} do not hold")
    return bad == 0


def main():
    p = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0], description=__doc__.splitlines()[0])
    p.add_argument("bin", type=Path)
    p.add_argument("out", type=Path)
    p.add_argument("--cells", type=int, default=10**6)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--point", type=float, default=0.01)
    for name in ("--fastest", "--again", "--short", "--table"):
        p.add_argument(name, action="store_true")
    p.add_argument("--json", type=Path)
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    cells = sorted(ordered(), key=cost) if a.fastest else ordered()
    if not a.table:
        prepare(a.bin, a.out)
    for number, cell in enumerate(cells[:a.cells], 1):
        path, row = path_of(a.out, cell), row_of(a.out, a.point, cell, rows_of(a.json))
        if a.table or row and (row["holds"] or not a.again):
            continue
        print(f"{number}: {' '.join(cell.values())}", file=sys.stderr, flush=True)
        run_cell(a.out / "bin" / "helio-tune", cell, a.jobs, a.short, path)
        if a.json:
            write_json(a.out, a.point, a.json)
    return 0 if print_table(a.out, a.point, rows_of(a.json)) else 1


if __name__ == "__main__":
    sys.exit(main())
