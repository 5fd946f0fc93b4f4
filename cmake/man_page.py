#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a manual page of a reference page in docs/.

usage: man_page.py PAGE.md NAME SECTION VERSION OUT DOCS

The indented lines at the beginning become SYNOPSIS, the rest keeps its sections. Links to other reference pages
become their names with section. Tables that are too wide for a terminal become lists of terms. lowdown turns that
into roff.
"""
import re
import subprocess
import sys
from pathlib import Path

import source_note

WIDTH = 76


def pages(docs):
    """File name in docs/ -> (name, section, what it is) of those that become manual pages."""
    found = {}
    for line in (Path(docs) / "man-pages.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            file, name, section, what = line.split(maxsplit=3)
            found[file] = (name, section, what)
    return found


def links(text, known):
    def replace(match):
        label, target = match.group(1), match.group(2).split("#")[0].split("/")[-1]
        if target not in known:
            return label
        page = "**{}**({})".format(*known[target][:2])
        return page if label.strip("`") in (known[target][0], target[:-3]) else f"{label} ({page})"

    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", replace, text)


def cells(line):
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def terms(lines):
    """A table as a list: the first column are terms, the longest one describes them, the others are named."""
    names, rows = cells(lines[0]), [cells(line) for line in lines[2:]]
    if max(sum(len(c) + 3 for c in row) for row in [names, *rows]) <= WIDTH or len(names) > 5:
        return lines
    columns = range(1, len(names))
    main = max(columns, key=lambda i: sum(len(row[i]) for row in rows if i < len(row)))
    out = []
    for row in rows:
        body = [row[main]] if main < len(row) and row[main] else []
        body += [f"({names[i] + ': ' if names[i] else ''}{row[i]})" for i in columns
                 if i != main and i < len(row) and row[i] not in ("", "–")]
        out += [row[0], ": " + (" ".join(body) or "–"), ""]
    return out


def tables(text):
    out, table = [], []
    for line in [*text.split("\n"), ""]:
        if line.startswith("|"):
            table.append(line)
            continue
        out += terms(table) if len(table) > 2 else table
        table = []
        out.append(line)
    return "\n".join(out)


def split(path):
    """Title, the blocks before the first section, and the rest."""
    text = re.sub(r"<!--.*?-->\s*", "", Path(path).read_text(), flags=re.S)
    match = re.match(r"# (.+)\n", text)
    if not match:
        sys.exit(f"{path}: the page does not begin with a title")
    body = text[match.end():]
    at = re.search(r"^## ", body, flags=re.M)
    head, rest = (body[:at.start()], body[at.start():]) if at else (body, "")
    return match.group(1), [b for b in re.split(r"\n\s*\n", head.strip("\n")) if b.strip()], rest


def page(path, name, known):
    _, blocks, rest = split(path)
    code = [b for b in blocks if b.startswith("    ")]
    out = ["# NAME", f"{name} - {known[Path(path).name][2]}"]
    if code:
        out += ["# SYNOPSIS", code[0]]
        blocks.remove(code[0])
    out += ["# DESCRIPTION", *blocks]
    text = tables(links("\n\n".join(out) + "\n\n" + rest, known))
    # One level up: sections of the page are sections of the manual page.
    return re.sub(r"^#(#+) (.+)$", lambda m: f"{m.group(1)} " + (
        m.group(2).upper() if m.group(1) == "#" else m.group(2)), text, flags=re.M)


def main():
    path, name, section, version, out, docs = sys.argv[1:]
    markdown = page(path, name, pages(docs))
    folders = source_note.named(markdown, Path(docs).parent, Path(docs))
    if folders:
        markdown = f"{markdown.rstrip()}\n\n# SOURCE\n\n{source_note.note(folders)}\n"
    done = subprocess.run(
        ["lowdown", "-s", "-tman", "-m", f"title={name}", "-m", f"section={section}", "-m", f"source=Heliograph {version}",
         "-m", "volume=Heliograph"],
        input=markdown.encode(), stdout=subprocess.PIPE, check=True)
    # groff knows the constant-width font only in its printed forms; bold is what terminals show.
    roff = done.stdout.decode().replace(r"\fC", r"\fB")
    Path(out).write_text("'\\\" t\n" + roff)


if __name__ == "__main__":
    main()
