#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links between the pages of this repository, or of a folder with installed pages: the file is there, and the heading behind its '#'. Addresses on the network are not asked.

usage: links.py [FOLDER]     exit code 0, or 1 and a line for each dead link"""
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
LINK = re.compile(r"\]\(([^()\s]+)\)")


def prose(path):
    """The page's lines outside of code blocks."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


@cache
def anchors(path):
    """The names that GitHub gives to a page's headings."""
    found = {}
    names = set()
    for _, line in prose(path):
        title = re.match(r"#{1,6} +(.*?) *#*$", line)
        if not title:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title[1])
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        names.add(f"{name}-{count}" if count else name)
    return names


def fault(page, target):
    """What is wrong with this link of the page; None: nothing."""
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    path = (page.parent / name) if name else page
    if not path.exists():
        return "there is no such file"
    if anchor and path.suffix == ".md" and anchor not in anchors(path.resolve()):
        return "the page has no such heading"
    return None


def main():
    if (ROOT / ".git").exists():
        files = subprocess.run(["git", "-C", str(ROOT), "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout.split()
    else:
        files = sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md"))
    dead = [f"links: {name}:{number}: {target}: {why}" for name in files for number, line in prose(ROOT / name)
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)) if (why := fault(ROOT / name, target))]
    print("\n".join(dead) or f"links: {len(files)} pages", file=sys.stderr if dead else sys.stdout)
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
