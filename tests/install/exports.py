#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the installed libraries export: the functions and constants that their public headers declare, no others, and no name
of another library; each alone links with those that it requires. The declarations are those that the compiler finds.
usage: exports.py PREFIX OUT [CC]"""
import os
import re
import subprocess
import sys
from pathlib import Path

PREFIX, OUT, CC = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3] if len(sys.argv) > 3 else "gcc"
DECLARED = re.compile(r"^/\* (\S+):\d+:N[CF] \*/ extern .*?\b(\w+) \(", re.MULTILINE)
CONSTANT = re.compile(r"^extern [^(){};\"]*\b(\w+)(?:\[[^\]]*\])*;", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **more).stdout


def declared(folder):
    """What the headers of the folder declare for the linker."""
    names, listing = set(), OUT / "declared.txt"
    for header in sorted(folder.rglob("*.h")):
        run(CC, "-x", "c", "-std=c11", f"-I{PREFIX}/include", "-fsyntax-only", "-aux-info", listing, header)
        names |= {name for path, name in DECLARED.findall(listing.read_text("utf-8")) if Path(path).resolve().is_relative_to(folder)}
        names |= set(CONSTANT.findall(COMMENT.sub(" ", header.read_text("utf-8"))))
    return names


def exported(archive):
    rows = [line.split() for line in run("nm", "-g", "--defined-only", archive).splitlines()]
    return {row[-1] for row in rows if len(row) == 3}


def links_whole(name, config):
    """All of the library and of those that it requires in one program, whose own names are those of private functions."""
    program = OUT / f"whole_{name}"
    flags = run("pkg-config", "--cflags", "--libs", f"helio-{name}", env=config).split()
    source = "int hash_init(void); int hash_init(void) { return 0; } int main(void) { return hash_init(); }"
    run(CC, "-x", "c", "-", "-o", program, "-Wl,--whole-archive", *flags[:1], *[f for f in flags[1:] if "helio" in f],
        "-Wl,--no-whole-archive", *[f for f in flags[1:] if "helio" not in f], input=source)
    run(program)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    archives = sorted(PREFIX.glob("lib*/**/libhelio-*.a"))
    owner, wrong = {}, []
    config = dict(os.environ, PKG_CONFIG_PATH=str(next(PREFIX.glob("lib*/**/helio-ltp.pc")).parent))
    for archive in archives:
        name = archive.stem.removeprefix("libhelio-")
        folder = (PREFIX / "include/heliograph" / name.replace("bp-", "bp/")).resolve()
        promised, there = declared(folder), exported(archive)
        wrong += [f"{name}: {symbol} is exported, and no public header declares it" for symbol in sorted(there - promised)]
        wrong += [f"{name}: {symbol} is declared, and not exported" for symbol in sorted(promised - there)]
        wrong += [f"{name}: {symbol} is one of {owner[symbol]}, too" for symbol in sorted(there & owner.keys())]
        owner.update((symbol, name) for symbol in there)
        assert len(there) > 20, f"{name}: {len(there)} names: is that a library?"
        links_whole(name, config)
    print("\n".join(wrong) or f"exports: {len(owner)} names of {len(archives)} libraries, all of public headers")
    return 1 if wrong or len(archives) < 8 else 0


sys.exit(main())
