#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans that helio-plan writes for HDTN, read by HDTN's own code (hdtn_plans.cpp, built beside its sources) and compared with the plan
as it was before, rounded as docs/contact-plans.md says. Plans: files and folders named, and drawn ones (--random)."""
import collections
import subprocess
import sys

import plans
from plans import SECOND, up

UNLIMITED = 1_000_000_000  # what HDTN's routes take for no limit


def first_light(plan, one, other, at):
    """In seconds: the light time at `at`, else that of the next range, else 0."""
    edges = [at] + sorted(r["start_ns"] // SECOND for r in plan["ranges"] if r["start_ns"] // SECOND > at)
    found = (plans.light(plan["ranges"], one, other, edge * SECOND) for edge in edges)
    return next((owlt for owlt in found if owlt is not None), 0)


def compare(args, plan, text, folder):
    folder.mkdir(exist_ok=True)
    (folder / "plan.json").write_text(text)
    run = subprocess.run([str(args.peer), str(folder / "plan.json")], capture_output=True, text=True, check=True)
    found = collections.Counter(tuple(map(int, line.split()))[1:] for line in run.stdout.splitlines())
    wanted = collections.Counter()
    for c in plan["contacts"]:
        start, end = up(c["start_ns"]), c["end_ns"] // SECOND
        if start < end:
            wanted[c["from"], c["to"], start, end, c["rate_bps"] or UNLIMITED, first_light(plan, c["from"], c["to"], start)] += 1
    if wanted and max(w[3] for w in wanted) > 2**31 - 1 or any(w[2] > 10**9 for w in wanted):  # dates: from the plan's start on
        shift = min(w[2] for w in wanted) - min(f[2] for f in found)
        wanted = collections.Counter({(w[0], w[1], w[2] - shift, w[3] - shift, *w[4:]): n for w, n in wanted.items()})
    return wanted, found, {}


if __name__ == "__main__":
    sys.exit(plans.main(__doc__, "hdtn", "the program that hdtn_plans.cpp makes", compare))
