#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of docs/planning.md: the fewest parallel sessions that reach 98 % of capacity, and their memory, found
with helio-sim by doubling and bisection to 4 %. All is simulated at 500 Mbit/s: blocks of the same air time in as many
segments behave the same at any rate, which the last table shows. Which share of the capacity can be reached at all is
in a table of its own: at low rates the goal is above it.

usage: planning_table.py HELIO_SIM --write SOURCE   search, docs/figures/planning.json and the page: a quarter of an hour of a core
       planning_table.py --page SOURCE              the page from planning.json, without a simulation
       planning_table.py --check SOURCE             is the page what planning.json makes of it?
       planning_table.py HELIO_SIM --again SOURCE   and do the LEO numbers reach the goal, and the next smaller ones tried not?
                                                    Are the shares that can be reached as they are?

Exit codes: 0 done, 1 something differs, 2 usage.
"""
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

TARGET = 0.98
PRECISION = 1.04
MOST = 65536
TRACES = "none", "A", "F", "H"
# name, one-way delay, duration and warm-up of a run, in seconds
PATHS = (("LEO", 0.005, 40, 2), ("GEO", 0.125, 50, 10), ("Moon", 1.28, 100, 40))
RATES = 0.5, 1, 2, 10  # Gbit/s
AIR_MS = 8, 2
SETS = ("plain", 8), ("default", 8), ("default", 2)
PROCESSING_MS = 4
LEO = PATHS[0]
LONGER = 200, 2  # duration and warm-up of the runs that check the LEO numbers
FADES = TRACES[1:]
SLOW = 2, 10, 20, 50, 100, 500  # Mbit/s, of the table of what can be reached
# path, Gbit/s, duration and warm-up: as in the search, longer, at a higher rate
PROOF = ((LEO, 0.5, None), (LEO, 0.5, LONGER), (LEO, 10, (20, 2)),
         (PATHS[1], 0.5, None), (PATHS[1], 0.5, (200, 10)), (PATHS[1], 10, (50, 10)),
         (PATHS[2], 0.5, None), (PATHS[2], 0.5, (400, 40)), (PATHS[2], 2, (100, 40)))


def block_of(rate, air_ms):
    return round(rate * 1e9 * air_ms / 8000)


def simulate(program, path, trace, rate, air_ms, sessions, recovery, times=None):
    _, delay, duration, warmup = path
    duration, warmup = times or (duration, warmup)
    segment = round(1024 * rate / 0.5)
    args = ["--json", "--trace", trace, "--delay", f"{delay * 1000:g}ms", "--rto", f"{2000 * delay + 20:g}ms",
            "--processing", f"{PROCESSING_MS}ms", "--rate", f"{rate * 1000:g}Mbit/s", "--bundle", f"{block_of(rate, air_ms)}B", "--overhead", f"{round(42 * rate / 0.5)}B",
            "--segment", f"{segment}B", "--sessions", str(sessions), "--duration", f"{duration}s",
            "--warmup", f"{warmup}s", "--recovery", recovery]
    done = subprocess.run([program, *args], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def fewest(program, path, trace, recovery, air_ms):
    """The cell of the fewest sessions that reach the target."""
    tried = {}

    def reaches(n):
        tried[n] = simulate(program, path, trace, 0.5, air_ms, n, recovery)
        return tried[n]["efficiency"] >= TARGET

    n = first = max(1, math.ceil((2000 * path[1] + PROCESSING_MS) / air_ms))
    low = n // 2
    while not reaches(n):
        assert n < min(MOST, 32 * first), (path, trace, recovery, air_ms, "no number of sessions reaches the target")
        low, n = n, min(2 * n, MOST)
    high = n
    while high > low + 1 and high > low * PRECISION:
        n = (low + high) // 2
        if reaches(n):
            high = n
        else:
            low = n
    r = tried[high]
    p = r["parameters"]
    mean = r["session_ms"]["mean"] / 1000 * p["rate_bps"] / (8 * p["bundle_bytes"])  # so many the mean alone would ask for
    cell = {"sessions": high, "too_few": low if low in tried else None, "over_mean": round(high / mean, 3), "efficiency": round(r["efficiency"], 5),
            "held_bytes": r["receiver_held_max_bytes"]}
    if path == LEO:
        longer = {n: simulate(program, path, trace, 0.5, air_ms, n, recovery, LONGER)["efficiency"] for n in (high, high + 1)}
        cell["longer"] = {str(n): round(e, 5) for n, e in longer.items()}
    return cell


def name_of(path, recovery, air_ms, trace):
    return f"{path[0]}, {recovery}, {air_ms} ms, {trace}"


def reachable(program, trace, rate):
    """Of a whole trace, with segments of 1024 bytes: a session alone is enough to ask for it."""
    args = ["--json", "--trace", trace, "--rate", f"{rate}Mbit/s", "--delay", "5ms", "--bundle", "100kB", "--segment", "1024B", "--overhead", "42", "--sessions", "1", "--rto", "100ms",
            "--duration", "100s"]
    return round(json.loads(subprocess.run([program, *args], capture_output=True, text=True, check=True).stdout)["reachable_share"], 5)


def all_reachable(program):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return {str(rate): dict(zip(FADES, pool.map(lambda t, rate=rate: reachable(program, t, rate), FADES))) for rate in SLOW}


def search(program):
    jobs = [(path, trace, *s) for path in PATHS for trace in TRACES for s in SETS]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        cells = dict(zip([name_of(path, recovery, air, trace) for path, trace, recovery, air in jobs],
                         pool.map(lambda j: fewest(program, *j), jobs)))
        proof = list(pool.map(lambda j: prove(program, cells, *j), PROOF))
    return {"cells": cells, "proof": proof, "reachable": all_reachable(program)}


def prove(program, cells, path, rate, times):
    n = cells[name_of(path, "default", 8, "H")]["sessions"]
    duration, warmup = times or path[2:]
    r = simulate(program, path, "H", rate, AIR_MS[0], n, "default", (duration, warmup))
    return {"path": path[0], "rate": rate, "sessions": n, "seconds": duration, "warmup": warmup, "efficiency": round(r["efficiency"], 5)}


def size(value):
    if value >= 1e9:
        return f"{value / 1e9:.1f} GB"
    return f"{value / 1e6:.0f} MB" if value >= 10e6 else f"{value / 1e6:.1f} MB"


def head(*names):
    return ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]


def misses(cell):
    """The goal, in a longer run."""
    return "longer" in cell and cell["longer"][str(cell["sessions"])] < TARGET


def sessions(found):
    lines = head("path", "recovery, air time of a block", *TRACES)
    for path in PATHS:
        for recovery, air_ms in SETS:
            cells = [found["cells"][name_of(path, recovery, air_ms, t)] for t in TRACES]
            lines.append(f"| {path[0]} | `{recovery}`, {air_ms} ms | " +
                         " | ".join(f"{c['sessions']} ({c['over_mean']:.1f} ×){'*' if misses(c) else ''}" for c in cells) + " |")
    return lines


def memory(found):
    lines = head("path", "rate (Gbit/s)", "block", *TRACES)
    for path in PATHS:
        for rate in RATES:
            block = block_of(rate, AIR_MS[0])
            cells = []
            for t in TRACES:
                c = found["cells"][name_of(path, "default", AIR_MS[0], t)]
                held = min(c["held_bytes"] * rate / 0.5, c["sessions"] * block)
                cells.append(f"{size(c['sessions'] * block)} / {size(held)}")
            lines.append(f"| {path[0]} | {rate} | {size(block)} | " + " | ".join(cells) + " |")
    return lines


def proof(found):
    lines = head("path, trace", "rate", "block", "sessions", "run, warm-up (s)", "efficiency (%)")
    for p in found["proof"]:
        lines.append(f"| {p['path']}, H | {p['rate']} Gbit/s | {size(block_of(p['rate'], AIR_MS[0]))} | {p['sessions']} | {p['seconds']}, {p['warmup']} | "
                     f"{100 * p['efficiency']:.2f} |")
    return lines


def edges(found):
    """Which share of the capacity can be reached."""
    return [*head("rate (Mbit/s)", *(f"{t} (%)" for t in FADES)),
            *(f"| {rate} | " + " | ".join(f"{100 * share:.2f}" for share in shares.values()) + " |" for rate, shares in found["reachable"].items())]


def below(found):
    """Where the goal cannot be met, in words."""
    met = next(rate for rate, shares in found["reachable"].items() if min(shares.values()) >= TARGET)
    slow = [rate for rate in found["reachable"] if int(rate) < int(met)]
    assert all(max(found["reachable"][rate].values()) < TARGET for rate in slow) and int(met) <= 500, found["reachable"]
    last = found["reachable"][slow[-1]]
    return [f"So from {met} Mbit/s on the goal of {100 * TARGET:g} % of the capacity can be met on these traces. At {slow[-1]} Mbit/s and below no number of sessions meets it: "
            f"take {100 * TARGET:g} % of the reachable capacity instead,",
            f"which at {slow[-1]} Mbit/s is " + ", ".join(f"{100 * TARGET * last[t]:.1f} % ({t})" for t in FADES) + " of the capacity. `--floor` of [helio-tune](helio-tune.md) is such a share, and "
            "`reachable_share` of [helio-sim](helio-sim.md) has the bound of any link."]


def stars(found):
    """What a longer run says of the numbers that miss the goal there."""
    said = []
    for name, c in found["cells"].items():
        if misses(c):
            n = c["sessions"]
            short, one, more = (f"{100 * e:.2f} %" for e in (c["efficiency"], c["longer"][str(n)], c["longer"][str(n + 1)]))
            said.append(f"- {name}: {n} sessions have {short} in {LEO[2]} s, but {one} in {LONGER[0]} s; {n + 1} have {more}.")
    return ["\\* These miss the goal in a longer run:", "", *said] if said else []


def spread(values):
    """"1.4 to 1.7", or one of them where both are the same."""
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low} to {high}"


def rules(found):
    """What follows from the table of sessions, in words."""
    def over(path, recovery, trace):
        return number(path, recovery, 8, trace) / number(path, "default", 8, "none")

    def number(*which):
        return found["cells"][name_of(*which)]["sessions"]

    far = PATHS[1:]
    quarter = [number(path, "default", 2, t) / number(path, "default", 8, t) for path in PATHS for t in TRACES]
    means = {near: [c["over_mean"] for name, c in found["cells"].items() if name.startswith("LEO") == near] for near in (True, False)}
    return [
        f"- With `default` recovery, fades need {spread([over(LEO, 'default', t) for t in FADES])} times the number without losses on LEO paths, and "
        f"{spread([over(path, 'default', t) for path in far for t in FADES])} times on long ones (blocks of 8 ms).",
        f"- With `plain`, trace H needs {over(LEO, 'plain', 'H'):.1f} times that number on LEO paths, and {spread([over(path, 'plain', 'H') for path in far])} times on long ones.",
        f"- Blocks of a quarter of the air time need {spread(quarter)} times the sessions, which is {25 * min(quarter):.0f} to {25 * max(quarter):.0f} % of the memory.",
        "",
        f"The mean session time does not give the number. On LEO paths the number is {spread(means[True])} times mean session time × rate / block, because the slowest sessions",
        f"decide. On long paths it is {spread(means[False])} times, because a fading line does not reach its nominal rate.",
    ]


def example(found):
    none, fading = (found["cells"][name_of(PATHS[1], "default", 8, t)]["sessions"] for t in ("none", "H"))
    return f"a GEO link at 500 Mbit/s with 500 kB blocks needs {none} sessions without losses, and {fading} on trace H."


def check_limits(found):
    """The sentences below the table of memory name limits, which these figures must keep."""
    def most(path, rate):
        cells = [found["cells"][name_of(path, "default", 8, t)] for t in TRACES]
        return max(c["sessions"] for c in cells) * block_of(rate, 8), max(c["held_bytes"] for c in cells) * rate / 0.5

    sender, receiver = most(PATHS[2], 10)
    assert 4e9 < sender <= 5e9 and 2 << 30 < receiver <= 4 << 30, (sender, receiver)
    others = [most(path, rate)[1] for path in PATHS for rate in RATES if (path, rate) != (PATHS[2], 10)]
    assert max(others) <= 1 << 30, others


def replace_table(lines, table):
    """The table with the same first line."""
    first = lines.index(table[0])
    last = next((i for i in range(first, len(lines)) if not lines[i].startswith("|")), len(lines))
    return [*lines[:first], *table, *lines[last:]]


def replace_between(lines, before, after, new):
    first = next(i for i, line in enumerate(lines) if line.startswith(before)) + 1
    last = next(i for i in range(first, len(lines)) if lines[i].startswith(after))
    return [*lines[:first], "", *new, "", *lines[last:]]


def page_of(text, found):
    check_limits(found)
    lines = text.splitlines()
    for table in (sessions, memory, proof, edges):
        lines = replace_table(lines, table(found))
    last = sessions(found)[-1]
    lines = replace_between(lines, edges(found)[-1], "Shorter segments", below(found))
    lines = replace_between(lines, last, "**Rule of thumb.**", stars(found) or [])
    lines = replace_between(lines, "**Rule of thumb.**", "`sessions: auto`", rules(found))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines) + "\n")
    return re.sub(r"a GEO link at 500 Mbit/s with 500 kB blocks needs .*", lambda _: example(found), text)


def again(program, found):
    """Are the numbers of the LEO paths still the fewest?"""
    jobs = [(recovery, air, t, found["cells"][name_of(LEO, recovery, air, t)]) for recovery, air in SETS for t in TRACES]

    def wrong(job):
        recovery, air, t, cell = job
        many = simulate(program, LEO, t, 0.5, air, cell["sessions"], recovery)
        few = cell["too_few"] and simulate(program, LEO, t, 0.5, air, cell["too_few"], recovery)["efficiency"]
        new = round(many["efficiency"], 5), many["receiver_held_max_bytes"]
        if new != (cell["efficiency"], cell["held_bytes"]) or few and few >= TARGET:
            return f"{name_of(LEO, recovery, air, t)}: {new}, with {cell['too_few']} sessions {few}, and not {cell}"
        return None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [text for text in pool.map(wrong, jobs) if text]
    now = all_reachable(program)
    return said + ([] if now == found["reachable"] else [f"what can be reached: {now}, and not {found['reachable']}"])


def main():
    words = sys.argv[1:]
    mode = next((w for w in ("--write", "--page", "--check", "--again") if w in words), None)
    if mode is None or len(words) != (3 if mode in ("--write", "--again") else 2) or words[-2] != mode:
        print(__doc__, file=sys.stderr)
        return 2
    source = Path(words[-1])
    page, kept = source / "docs/planning.md", source / "docs/figures/planning.json"
    if mode == "--write":
        kept.write_text(json.dumps(search(words[0]), indent=1) + "\n", encoding="utf-8")
    found = json.loads(kept.read_text(encoding="utf-8"))
    text = page.read_text(encoding="utf-8")
    wanted = page_of(text, found)
    if mode in ("--write", "--page"):
        page.write_text(wanted, encoding="utf-8")
        return 0
    wrong = [] if text == wanted else [f"{page}: differs from what docs/figures/planning.json makes of it; tests/bench/planning_table.py --page {source}"]
    wrong += again(words[0], found) if mode == "--again" else []
    print("\n".join(wrong) or "docs/planning.md has the figures of today's programs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
