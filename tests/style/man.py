#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every program has a manual page, and every page is one that man(1) shows: names, sections, tables, references.

usage: man.py ROOT MAN-FOLDER PROGRAM...
"""
import re
import subprocess
import sys
from pathlib import Path

root, folder, programs = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
failures = []
listed = [line.split(maxsplit=3) for line in (root / "docs/man-pages.txt").read_text().splitlines()
          if line and not line.startswith("#")]
names = {f"{name}({section})" for _, name, section, _ in listed}
for program in programs:
    if f"{program}(1)" not in names:
        failures.append(f"{program} has no manual page in docs/man-pages.txt")
for file, name, section, what in listed:
    path = folder / f"man{section}" / f"{name}.{section}"
    shown = subprocess.run(["groff", "-t", "-man", "-Kutf8", "-Tutf8", "-P-c", "-P-b", "-P-u", path],
                           capture_output=True, text=True, check=True)
    for line in shown.stderr.splitlines():
        if re.search(r"error|macro.*not defined|unbalanced|missing", line):
            failures.append(f"{path.name}: {line}")
    text = shown.stdout
    if f"NAME\n       {name} - " not in text:
        failures.append(f"{path.name}: no NAME with the page's name")
    for reference in re.findall(r"\b(helio[a-z-]*\(\d\))", text.split("\n", 1)[1]):
        if reference not in names:
            failures.append(f"{path.name}: refers to {reference}, which does not exist")
    # Nothing of a section may be lost on the way.
    for title in re.findall(r"^## (.+)$", (root / "docs" / file).read_text(), flags=re.M):
        if re.sub(r"[`*]", "", title).upper() not in text:
            failures.append(f"{path.name}: the section \"{title}\" is missing")
print("\n".join(failures) or f"{len(listed)} manual pages, {len(programs)} programs")
sys.exit(1 if failures else 0)
