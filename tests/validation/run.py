#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the channel model and the simulator claim against theory, or against a second implementation in Python, and writes the
page docs/validation.md.

usage: run.py BIN_DIR [--fast] [--write PAGE [--keep-tuner] | --check PAGE] [NAME…]

BIN_DIR     the folder of the programs (helio-trace, helio-sim, helio-analyze, air_values, scppm, chan_play)
--fast      leave out the checks that take minutes
--write     write the page, and the tuner's tables (tune_regret.py, a quarter of an hour of two cores); with --fast too, the other rows would be missing, so that is refused
--keep-tuner  leave the tuner's tables as they are
--check     each row that was computed must be in the page as it is
NAME        only these checks (the function's name)

Exit codes: 0 all hold, 1 one does not, or differs from the page, 2 usage.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import _paths

try:
    import air
    import fades
    import frames
    import hpe
    import link
    import models
    import receiver
    import sim
    import tune_regret
except ModuleNotFoundError as e:
    sys.exit(f"run.py: Python's {e.name} is missing: use /usr/bin/python3, and tools/setup.sh test")

MODULES = (air, fades, hpe, receiver, link, sim, frames, models)
HEAD = ["claim", "checked against", "should be", "is", "error", "standard error", "bound"]
INTRO = """# Validation

Each row is a claim of the [channel model](channel.md), of [helio-trace](helio-trace.md) or of [helio-sim](helio-sim.md). For example, the aperture averaging of a telescope is compared with a double integral.
A row compares the value by theory, or by a second implementation in Python, with the programs' value. In a build of the source, one command writes this page:

    tests/validation/run.py BIN_DIR --write docs/validation.md        or: cmake --build build/release --target validation

The scripts are in `tests/validation`. The expected figure of a row comes from its own arithmetic there. Rows that use something of the programs they check:

- *With the program's …* in the second column names a figure of the program that is part of the expectation, as the residual phase variance in the fibre coupling, or the session without losses.
- Rows that name the *segment log* take it as it is: which segments were sent, when, and with which fields. Lengths, times, shares and percentiles are computed again from these. Other rows check the engine behind the log against theory.
- The last HPE rows of [Receiver](#receiver) ("loss at … dB") repeat the simulation of the curves, with another seed.
- The rows of helio-emu's captures compare two inputs of helio-analyze. [With real processes](helio-analyze.md#captures) both differ by the time between a node and its socket. There the rows of the logs get the captures' times first, so that only other differences count.

Seeds are fixed, so the figures are the same on every machine. *Error* is the difference of the two figures, in per cent of the expected value or in the figure's own unit. If an interval is expected, it is the distance from it.
*Standard error* is how far the figure can be from its true mean by chance alone: "none" is a figure without draws, a dash is not known. It is computed from 40 to 100 blocks of the sample (for a ratio by leaving out one block at a time), or from the law of
independent draws. An error within two standard errors is no evidence of a fault.

*Bound* limits the error. "4 s.e." are four standard errors. "Fixed" is any other limit: of figures without draws, of the retransmission cycles, of the models of the figure, and of figures beside an approximation or a published table (fibre coupling,
HPE above capacity, the traces A, F and H). For HPE the capacity is a sum without draws, and the level for a loss of 10⁻³ has the error of some four lost codewords of 4000.
The command also compares the counted tables of [erasure.md](erasure.md#measured) (`erasure_bound.py`). Other scripts of the folder check [SECURITY.md](../SECURITY.md) (`security_claims.py`) and the keys in the manual (`key_names.py`).

If the theory itself is an approximation, [channel.md](channel.md#errors-of-the-formulas) has its accuracy.

The cycles of `plain` have a true excess of 0.4 % at losses of 0.3: after four tries without an answer [a checkpoint is shortened](recovery.md#the-length-of-a-checkpoint).

The test `validation` computes the rows without an asterisk again, and compares them with this page.
"""
TUNER = """
## Erasure code

The tables of [erasure](erasure.md#measured) for ideal codes, and for the matrices of three realisations, are counted in the trace alone by `tests/validation/erasure_bound.py` and `tests/validation/erasure_fates.py`.
The second compares each matrix of a run of helio-sim with the packets that the trace takes from it. The tests `validation_erasure_bound` and `validation_erasure_fates` compare the tables with that page.

## The tuner

These tables compare the choice of [helio-tune](helio-tune.md) with a grid of recovery settings and numbers of sessions. The settings are plain recovery with timers of 1.15, 2 and 5 round trips, and `default`.
Each has 1 to 8 times the blocks in transit in a round trip, and 0.8 and 0.9 times the chosen number. All run on five realisations of the fading that the search did not use. The links have 20 Mbit/s and 100 kB blocks.
[No number of sessions reaches the whole capacity](planning.md#reachable-capacity): segments of 1472 bytes can reach 95.9 % of it on F, 96.7 % on A and 95.6 % on H; those of 1024 bytes 97.0, 97.7 and 96.9 %.

*Regret* is the additional share of the capacity of the grid's best number with the same recovery, with its 95 % interval (paired: all meet the same fades). *Least* is the smallest number within the noise of the best:
0.05 points, or the 95 % interval of the difference. *Size* is the chosen number over the least. *Holds* counts the realisations of the five in which the choice transmits as much as the largest number of the grid with the same timer, less
0.1 points. `take` of helio-tune is the row *taken*. The test `validation_tune_regret` does the same for one channel of few segments.

    cmake --build build/release --target tune_regret        or: tests/validation/tune_regret.py BIN_DIR --write docs/figures/tune-regret.json

"""


def checks(modules):
    return [f for m in modules for f in vars(m).values() if hasattr(f, "part") and f.__module__ == m.__name__]


def line_of(row, fast):
    cells = row.cells()
    return "| " + " | ".join([cells[0] + ("" if fast else " *"), *cells[1:]]) + " |"


def compute(chosen, bin_dir):
    """The lines of each part, the rows that do not hold, and the errors over their standard errors."""
    parts, wrong, sizes = {}, [], []
    for f in chosen:
        begin = time.monotonic()
        for row in f(bin_dir):
            parts.setdefault(f.part, []).append(line_of(row, f.fast))
            if row.times:
                sizes.append(row.error / row.deviation)
            if not row.holds:
                wrong.append(parts[f.part][-1])
        print(f"{f.__name__}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
    return parts, wrong, sizes


def counted(sizes):
    """How many errors are greater than chance has them, in words."""
    beyond = {times: sum(size > times for size in sizes) for times in (1, 2, 3)}
    return (f"{len(sizes)} rows have a bound of four standard errors. In {beyond[1]} the error is above one of these, in {beyond[2]} above two, in {beyond[3]} above three. "
            f"Independent normal errors would have {0.3173 * len(sizes):.0f}, {0.0455 * len(sizes):.0f} and {0.0027 * len(sizes):.0f}. But rows beside each other share their draws.\n")


TUNED = os.path.join(_paths.TOP, "docs", "figures", "tune-regret.json")


def tuner():
    """The table that tune_regret.py made last."""
    with open(TUNED, encoding="utf-8") as f:
        return tune_regret.table(json.load(f))


def other(o):
    """What has a script of its own: those of them that fail."""
    scripts = [("erasure_bound.py", "--check", os.path.join(_paths.TOP, "docs", "erasure.md"))]
    if o.write and not o.keep_tuner:
        scripts.append(("tune_regret.py", "--write", TUNED))
    for name, *words in scripts:
        begin = time.monotonic()
        if subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), name), o.bin_dir, *words], stdout=subprocess.DEVNULL, check=False).returncode != 0:
            yield name
        print(f"{name}: {time.monotonic() - begin:.1f} s", file=sys.stderr)


def page(parts, sizes):
    text = INTRO + "\n" + counted(sizes)
    for part, lines in parts.items():
        text += f"\n## {part}\n\n| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|\n" + "".join(line + "\n" for line in lines)
    return text + TUNER + tuner() + "\n"


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin_dir", metavar="BIN_DIR")
    p.add_argument("names", metavar="NAME", nargs="*")
    p.add_argument("--fast", action="store_true")
    p.add_argument("--write", metavar="PAGE")
    p.add_argument("--keep-tuner", action="store_true")
    p.add_argument("--check", metavar="PAGE")
    o = p.parse_intermixed_args()
    known = {f.__name__ for f in checks(MODULES)}
    unknown = [name for name in o.names if name not in known]
    if unknown:
        p.error(f"{', '.join(unknown)}: no such check; right are {', '.join(sorted(known))}")
    if o.write and (o.fast or o.names):
        p.error("--write needs all checks: no --fast, no NAME")
    return o


def main():
    o = options()
    chosen = [f for f in checks(MODULES) if (f.fast or not o.fast) and (not o.names or f.__name__ in o.names)]
    parts, wrong, sizes = compute(chosen, o.bin_dir)
    wrong += [] if o.fast or o.names else other(o)
    if o.write:
        with open(o.write, "w", encoding="utf-8") as f:
            f.write(page(parts, sizes))
    elif not o.check:
        print(page(parts, sizes))
    stale = []
    if o.check:
        with open(o.check, encoding="utf-8") as f:
            there = set(f.read().splitlines())
        stale = [line for lines in [*parts.values(), tuner().splitlines()] for line in lines if line not in there]
    for line in wrong:
        print("does not hold:", line)
    for line in stale:
        print("not in the page:", line)
    return 1 if wrong or stale else 0


if __name__ == "__main__":
    sys.exit(main())
