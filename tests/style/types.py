#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The types of the laboratory's Python, by mypy: no contradiction in the whole package; in the modules of STRICT each function has its types.

usage: types.py SOURCE CACHE"""
import subprocess
import sys
from pathlib import Path

STRICT = ["__init__", "advice", "arguments", "client", "control", "groups", "machine", "ports", "programs", "stacks/hdtn", "stacks/ion", "stacks/node", "stacks/kinds", "statistics", "units", "warmup"]

source, cache = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()


def mypy(*words):
    try:
        return subprocess.run(["mypy", "--ignore-missing-imports", "--cache-dir", str(cache), "--no-error-summary", *words, "heliograph"],
                              cwd=source / "lab", capture_output=True, text=True, timeout=900)
    except FileNotFoundError:
        sys.exit("types: mypy is missing: tools/setup.sh test")


loose = mypy()
strict = mypy("--strict")
assert loose.returncode in (0, 1) and strict.returncode in (0, 1), loose.stderr + strict.stderr
wrong = loose.stdout.splitlines()
wrong += [line for line in strict.stdout.splitlines() if line.partition(":")[0] in {f"heliograph/{name}.py" for name in STRICT}]
open_modules = {line.partition(":")[0] for line in strict.stdout.splitlines()} - {""}
print("\n".join(dict.fromkeys(wrong)) or f"types: {len(STRICT)} modules are typed throughout, {len(open_modules)} in part")
sys.exit(bool(wrong))
