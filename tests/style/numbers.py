#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes of the C sources, tests not counted: lines of functions and files, assertions for 1000 lines. Nothing fails.

usage: numbers.py"""
import re
import subprocess
from pathlib import Path

FUNCTION_LONG, FILE_LONG = 70, 600  # above these a person should look
FUNCTION = re.compile(r"^(?!struct \w+ \{|enum |union |typedef |#)[a-z][^;=]*?\b(\w+)\([^;]*?\)\n\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)


def share(values, part):
    """The quantile of sorted values."""
    return values[min(len(values) - 1, int(part * len(values)))]


def line_of(what, values, limit):
    values.sort()
    longest = max(values)
    above = [name for size, name in values if size > limit]
    text = f"numbers: {len(values)} {what}; lines: median {share(values, 0.5)[0]}, 90th percentile {share(values, 0.9)[0]}, longest {longest[0]} ({longest[1]})"
    return text + f"; above {limit}: {len(above)}" + (f" ({', '.join(above)})" if 0 < len(above) <= 5 else "")


def main():
    listed = subprocess.run(["git", "ls-files", "*.c", "*.h", ":!tests"], capture_output=True, text=True, check=True).stdout.split()
    texts = {name: Path(name).read_text(encoding="utf-8") for name in listed}
    print(line_of("functions", [(match[2].count("\n") + 2, match[1]) for text in texts.values() for match in FUNCTION.finditer(text)],
                  FUNCTION_LONG))
    print(line_of("files", [(text.count("\n"), name) for name, text in texts.items()], FILE_LONG))
    folders = {}
    for name, text in texts.items():
        lines, asserts = folders.get(name.split("/")[0], (0, 0))
        folders[name.split("/")[0]] = (lines + text.count("\n"), asserts + len(re.findall(r"\b(?:static_)?assert\(", text)))
    print(f"numbers: {sum(lines for lines, _ in folders.values())} lines; assertions for 1000 lines: " +
          ", ".join(f"{name} {1000 * asserts / lines:.0f}" for name, (lines, asserts) in sorted(folders.items())))


if __name__ == "__main__":
    main()
