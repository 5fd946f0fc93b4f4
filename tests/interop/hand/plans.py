# SPDX-License-Identifier: Apache-2.0
"""Plans for runs in which a peer loads what helio-plan writes: those named, in folders too, and drawn ones; the comparison's loop."""
import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import tempfile

SECOND = 1_000_000_000


def up(ns):
    return -(-ns // SECOND)


def light(ranges, one, other, t):
    """The light time in force in the plan at t (ns), in seconds; None: none."""
    back = None
    for r in ranges:
        if not r["start_ns"] // SECOND * SECOND <= t < r["end_ns"] // SECOND * SECOND:
            continue
        if (r["from"], r["to"]) == (one, other):
            return (r["owlt_ns"] + SECOND // 2) // SECOND
        if (r["from"], r["to"]) == (other, one) and not r["one_way"]:
            back = (r["owlt_ns"] + SECOND // 2) // SECOND
    return back


def draw(rng):
    """A plan in YAML with what ION's lines cannot say: parts of seconds, no rate, light times one way, contacts that touch."""
    nodes, lines, light = range(1, rng.randint(3, 9)), ["contacts:"], ["ranges:"]
    for one in nodes:
        for other in nodes:
            if one == other or rng.random() < 0.4:
                continue
            t = rng.randint(0, 20_000)
            for _ in range(rng.randint(1, 4)):
                length = rng.choice((rng.randint(1, 2_500), 1000 * rng.randint(1, 600)))
                rate = rng.choice(("unlimited", f"{rng.randint(1, 9)}bit/s", f"{rng.randint(1, 10**9)}bit/s", "40Gbit/s"))
                sure = rng.choice(("", f", confidence: {rng.randint(1, 99) / 100}"))
                lines.append(f"  - {{from: {one}, to: {other}, start: {t}ms, end: {t + length}ms, rate: {rate}{sure}}}")
                t += length + rng.choice((0, 0, 400, 1000, rng.randint(1, 90_000)))
            t = rng.randint(0, 9_000)
            for _ in range(rng.randint(0, 3)):
                length = rng.randint(800, 900_000)
                way = ", one_way: yes" if one > other or rng.random() < 0.2 else ""
                light.append(f"  - {{from: {one}, to: {other}, start: {t}ms, end: {t + length}ms, owlt: {rng.randint(0, 9_000)}ms{way}}}")
                t += length + rng.choice((0, 1_000, rng.randint(1, 50_000)))
    return "\n".join(lines + (light if len(light) > 1 else [])) + "\n"


def files(paths):
    for path in map(pathlib.Path, paths):
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            text = file.read_bytes()[:1_000_000]
            if not path.is_dir() or file.suffix.endswith("rc") and re.search(rb"^a contact ", text, re.MULTILINE) or file.suffix == ".yaml" and re.search(rb"^contacts:", text, re.MULTILINE):
                yield file


def read(tool, path):
    """The plan as helio-plan reads it, numbers as such; None and why: it does not."""
    shown = subprocess.run([tool, "show", "--json", str(path)], capture_output=True, text=True)
    if shown.returncode != 0:
        return None, shown.stderr.strip().splitlines()[:1]
    plan = json.loads(shown.stdout)
    for entry in plan["contacts"] + plan["ranges"]:
        entry.update({k: int(v) for k, v in entry.items() if k.endswith(("_ns", "_bps")) or k in ("from", "to")})
    return plan, None


def main(description, form, peer, compare):
    """Runs all. compare(args, plan, text, folder) returns contacts wanted, contacts found, and a table of faults and numbers."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("helio", type=pathlib.Path, help="folder of helio-plan")
    parser.add_argument("peer", type=pathlib.Path, help=peer)
    parser.add_argument("plans", nargs="*", help="files, or folders with such")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="drawn plans")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.helio, args.peer = args.helio.resolve(), args.peer.resolve()
    tool, sums = str(args.helio / "helio-plan"), collections.Counter()
    with tempfile.TemporaryDirectory(prefix="hand-") as temporary:
        folder = pathlib.Path(temporary)
        all_files = list(files(args.plans))
        for i in range(args.random):
            all_files.append(folder / f"drawn{args.seed + i}.yaml")
            all_files[-1].write_text(draw(random.Random(args.seed + i)))
        for file in all_files:
            plan, why = read(tool, file)
            if plan is None:
                sums["not read"] += 1
                print(json.dumps({"plan": str(file), "not read": why}), flush=True)
                continue
            text = subprocess.run([tool, "convert", str(file), "--to", form], capture_output=True, text=True, check=True).stdout
            wanted, found, more = compare(args, plan, text, folder / form)
            faults = {"missing": list((wanted - found).elements()), "other": list((found - wanted).elements()),
                      **{k: v for k, v in more.items() if isinstance(v, list)}}
            same = not any(faults.values())
            sums.update({k: v for k, v in more.items() if isinstance(v, int)}, contacts=sum(found.values()))
            sums["same" if same else "different"] += 1
            if not same:
                print(json.dumps({"plan": str(file), **{k: v[:3] for k, v in faults.items() if v}}), flush=True)
    print(json.dumps({"peer": form, "plans": len(all_files), **sums}))
    return 1 if sums["different"] or not sums["same"] else 0
