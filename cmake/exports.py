#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An installed library as one object that exports the names of its public headers, and no others. Its private functions
cannot clash with those of the program that links it. What it uses of another library is either public there, and stays
undefined here, or private there: then the object that defines it is taken along, and its names are local, too.

usage: exports.py --ld LD --nm NM --objcopy OBJCOPY --out OBJECT --prefix WORD... --headers FILE... --objects OBJECT...
                  [--other-headers FILE...] [--other-objects OBJECT...]"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
NAME = re.compile(r"\b([a-z]\w*)\s*\(|^extern [^(){};]*?\b(\w+)(?:\[[^\]]*\])*;", re.MULTILINE)  # a function, a constant
LTO = ["-R", ".gnu.lto_*", "-R", ".gnu.debuglto_*", "-N", "__gnu_lto_slim", "-N", "__gnu_lto_v1"]  # of one compiler only


def public(headers):
    """Names that the headers may declare."""
    texts = [COMMENT.sub(" ", Path(header).read_text("utf-8")) for header in headers]
    return {function or constant for text in texts for function, constant in NAME.findall(text)}


def symbols(nm, objects):
    """{object: (names that it defines for others, names that it needs)}"""
    found = {path: (set(), set()) for path in objects}
    if objects:
        shown = subprocess.run([nm, "-g", "-A", *objects], capture_output=True, text=True, check=True).stdout
        for line in shown.splitlines():
            path, row = line.split(".o:", 1)
            *_, kind, name = row.split()
            found[path + ".o"][kind in "Uw"].add(name)
    return found


def take_along(own, others, public_names):
    """The objects of other libraries that define what is private there and needed here, in the order that they are given in: two builds are equal."""
    owner = {name: path for path, (defined, _) in others.items() for name in defined - public_names}
    taken, needed = set(), {name for _, names in own.values() for name in names}
    while needed:
        path = owner.get(needed.pop())
        if path is not None and path not in taken:
            taken.add(path)
            needed |= others[path][1]
    return [path for path in others if path in taken]


def main():
    parser = argparse.ArgumentParser()
    for option in "ld", "nm", "objcopy", "out":
        parser.add_argument("--" + option, required=True)
    for option in "prefix", "headers", "objects", "other-headers", "other-objects":
        parser.add_argument("--" + option, nargs="*", default=[])
    args = parser.parse_args()
    own = symbols(args.nm, args.objects)
    exported = sorted({name for defined, _ in own.values() for name in defined} & public(args.headers))
    wrong = [name for name in exported if not (name + "_").startswith(tuple(prefix + "_" for prefix in args.prefix))]
    if wrong:
        return f"{Path(args.out).stem}: {', '.join(wrong)}: a public name begins with a prefix of its library: {', '.join(args.prefix)}"
    along = take_along(own, symbols(args.nm, args.other_objects), public(args.other_headers))
    names = Path(args.out).with_suffix(".names")
    names.parent.mkdir(exist_ok=True)
    names.write_text("".join(name + "\n" for name in exported), "utf-8")
    subprocess.run([args.ld, "-r", "-o", args.out, *args.objects, *along], check=True)
    subprocess.run([args.objcopy, f"--keep-global-symbols={names}", *LTO, args.out], check=True)
    return 0


sys.exit(main())
