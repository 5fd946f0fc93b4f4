#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages name files of the source: tests that prove a claim, scripts, the file of a constant. Packages have no source, so
each installed page that names such files ends with a note. Nothing else is changed.

usage: source_note.py SOURCE PAGES     PAGES: the folder of the installed pages
"""
import re
import sys
from pathlib import Path

MADE = ("build", "out")  # what a build makes is no file of the source
PATH = re.compile(r"(?<![\w./-])([a-z][\w-]*/[\w./-]*\w)")
MOST = 4  # folders in a note
BEGINS = "Not in the packages:"


def named(text, source, here):
    """The top folders of the source's files that a text names and the folder `here` does not have."""
    found = {path for path in PATH.findall(text) if (source / path).exists() and not (here / path).exists()}
    return sorted({path.split("/")[0] for path in found} - set(MADE))


def note(folders):
    quoted = [f"`{folder}/`" for folder in folders]
    if len(quoted) > MOST:
        quoted[MOST - 1:] = ["other folders"]
    listed = ", ".join(quoted[:-1]) + (" and " if quoted[:-1] else "") + quoted[-1]
    return f"{BEGINS} files below {listed} that this page names. They are in the source of Heliograph."


def main():
    source, pages = map(Path, sys.argv[1:])
    for page in sorted(pages.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        folders = named(text, source, pages)
        if folders and BEGINS not in text:
            page.write_text(f"{text.rstrip()}\n\n---\n\n{note(folders)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
