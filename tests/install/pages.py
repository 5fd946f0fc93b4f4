#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installed pages without the source: a page that names its files says that they are there, and a command that needs a checkout is under words that say so.

usage: pages.py PREFIX"""
import gzip
import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "cmake"))
import source_note  # noqa: E402

COMMAND = re.compile(r"(?:sudo |python3 |\. |cd |bash )*(?:\.\./)*((?:tools|tests|build)/[\w./-]+)")
WORDS = re.compile(r"\b(source|checkout|clone|demo has built)\b")


def commands(text):
    """(a command's path, the text of its section before it), of code blocks."""
    section, fenced = "", False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            for part in re.split(r"&&|;", line):
                found = COMMAND.match(part.strip())
                if found:
                    yield found[1], section
        else:
            section = line if line.startswith("#") else section + "\n" + line


prefix = Path(sys.argv[1])
pages = prefix / "share/doc/heliograph"
faults, seen, noted = [], 0, 0
for page in sorted(pages.rglob("*.md")):
    text = page.read_text(encoding="utf-8")
    seen += 1
    folders = source_note.named(text, SOURCE, pages)
    noted += bool(folders)
    if bool(folders) != (source_note.BEGINS in text):
        faults.append(f"{page.relative_to(pages)} names files below {folders}: the note of cmake/source_note.py is {'missing' if folders else 'there'}")
    for path, section in commands(text):
        if not (pages / path).exists() and not WORDS.search(section):
            faults.append(f"{page.relative_to(pages)}: {path} is a command of the source; the text before it does not say so")
for page in sorted(prefix.glob("share/man/man*/*")):
    text = (gzip.decompress(page.read_bytes()) if page.suffix == ".gz" else page.read_bytes()).decode()
    plain = re.sub(r"\\f.|\\&", "", text).replace("\\-", "-")
    if source_note.named(plain, SOURCE, pages) and source_note.BEGINS not in " ".join(plain.split()):
        faults.append(f"{page.name}: names files of the source without a note")
assert seen > 60 and noted > 20, (seen, noted)
print("\n".join(faults) or f"{seen} pages, of which {noted} name files of the source and say so")
sys.exit(1 if faults else 0)
