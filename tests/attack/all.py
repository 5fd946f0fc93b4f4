# SPDX-License-Identifier: Apache-2.0
"""Runs the attacks of this folder one after the other and prints a table: honest goodput or delay before, during and after, memory, bounds.

usage: all.py BIN [--seconds S] [--json FILE] [NAME...]     without names: all of them
Exit code 0: all bounds hold; 1: one does not; 2: wrong usage."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HELPERS = {"_paths", "attack", "all", "kill_scene", "memory_scene", "new_peers", "absent_scene"}
LIMIT = 900  # seconds for one attack

attacks = sorted(f[:-3] for f in os.listdir(HERE) if f.endswith(".py") and f[:-3] not in HELPERS and not f.endswith("_wire.py"))
args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
args.add_argument("bin")
args.add_argument("names", nargs="*", metavar="NAME", help=", ".join(attacks))
args.add_argument("--seconds", type=float, default=4)
args.add_argument("--json")
args = args.parse_intermixed_args()
unknown = sorted(set(args.names) - set(attacks))
if unknown:
    print(f"all.py: no attack is called {', '.join(unknown)}; there are: {', '.join(attacks)}", file=sys.stderr)
    raise SystemExit(2)


def play(name):
    with tempfile.NamedTemporaryFile("r", suffix=".json") as f:
        command = [sys.executable, os.path.join(HERE, name + ".py"), args.bin, "--seconds", str(args.seconds), "--json", f.name]
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return {"attack": name, "holds": False, "failure": f"it took more than {LIMIT} s"}
        text = f.read()
    if not text:
        return {"attack": name, "holds": False, "failure": done.stderr.strip()[-500:]}
    return json.loads(text)


def number(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


results = []
for name in args.names or attacks:
    result = play(name)
    results.append(result)
    phases = result.get("phases", {})
    shown = "  ".join(f"{phase} {number(phases[phase])}" for phase in ("before", "during", "after") if phase in phases)
    memory = max((v for k, v in result.items() if k.endswith("_rss_peak_mib")), default=0)
    print(f"{name:26} {'holds' if result['holds'] else 'FAILS':5}  {shown}  RSS {memory:.0f} MiB", flush=True)
    for b in result.get("bounds", []):
        if "attackers" not in b["name"] and "runs" not in b["name"] or not b["holds"]:
            print(f"    {'ok  ' if b['holds'] else 'FAIL'} {b['name']}: {number(b['value'])} {b['relation']} {number(b['limit'])}")
    if "failure" in result:
        print(f"    {result['failure']}")
held = sum(r["holds"] for r in results)
print(f"{held} passed, {len(results) - held} failed")
if args.json:
    with open(args.json, "w", encoding="utf-8") as f:
        json.dump(results, f, indent=2)
raise SystemExit(0 if held == len(results) else 1)
