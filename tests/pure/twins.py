#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No function is there twice, so that none is chosen by the order of linking: no two objects of libraries define the same
symbol, and no program or test defines one that a library has. What is outermost is reached by a table (os/world.h), and a
test that plays a refusal of the system wraps the call by its linker's word. usage: twins.py NINJA BUILD-FOLDER"""
import re
import subprocess
import sys
from pathlib import Path

NINJA, BUILD = sys.argv[1], Path(sys.argv[2]).resolve()
RULE = re.compile(r"^(\S+\.(?:o|a)): C_(COMPILER|STATIC_LIBRARY_LINKER)__(\w[\w.+-]*?)_(?:unscanned_)?[A-Za-z]*$")


def targets():
    """(object, its target) for all that the build makes now, and the targets that are libraries."""
    listed = subprocess.run([NINJA, "-C", BUILD, "-t", "targets", "all"], capture_output=True, text=True, check=True)
    rows = [m.groups() for m in map(RULE.match, listed.stdout.splitlines()) if m]
    libraries = {target for _, rule, target in rows if rule != "COMPILER"}
    objects = [(path, target) for path, rule, target in rows if rule == "COMPILER" and (BUILD / path).exists()]
    return objects, libraries


def symbols(paths):
    """{object: those that other objects see}; weak ones are the compiler's."""
    seen = {path: set() for path in paths}
    shown = subprocess.run(["nm", "-g", "-A", "--defined-only", *paths], cwd=BUILD, capture_output=True, text=True, check=True)
    for line in shown.stdout.splitlines():
        path, row = line.split(":", 1)
        if row.split()[-2] in "TDBRC":
            seen[path].add(row.split()[-1])
    return seen


def main():
    objects, libraries = targets()
    seen = symbols([path for path, _ in objects])
    owner, twins = {}, []
    for path, target in objects:
        for name in seen[path] if target in libraries else ():
            if name in owner:
                twins.append((name, owner[name], path))
            owner[name] = path
    others = [path for path, target in objects if target not in libraries]
    for path in others:
        twins += [(name, owner[name], path) for name in seen[path] if name in owner and name != "main"]
    for name, *paths in sorted(twins):
        print(f"{name} is defined twice: {' and '.join(paths)}")
    assert len(owner) > 500 and len(others) > 50, f"{len(owner)} symbols, {len(others)} objects: is it built?"
    if not twins:
        print(f"twins: {len(owner)} symbols of {len(libraries)} libraries, and none again in {len(others)} objects")
    return 1 if twins else 0


sys.exit(main())
