#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each function of an installed header has a comment of its own, directly before it or in its last line. Each struct and
enumeration has one, or comments within it.

usage: public_names.py [HEADER...]     without one: all that CMake installs; exit code 0, or 1 and a line for each name"""
import re
import subprocess
import sys
from pathlib import Path

INSTALL = re.compile(r"helio_install_library\((\w+)\s+([^)]*)\)", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
FUNCTION = re.compile(r"^(?!typedef|static_assert|_Static_assert|return\b)(?:static inline )?[a-z][\w ]*[ *](\w+)\((?!\*)[^;{]*[;{]", re.DOTALL)
TYPE = re.compile(r"^(struct|enum|union) (\w+) \{")
IGNORED = re.compile(r"^(#|extern \"C\" \{|\}$)")


def installed():
    """The headers that the libraries install, from the lists in CMake's files."""
    listed = subprocess.run(["git", "ls-files", "*CMakeLists.txt"], capture_output=True, text=True, check=True)
    for cmake in map(Path, listed.stdout.split()):
        for match in INSTALL.finditer(cmake.read_text(encoding="utf-8")):
            words = match[2].split()
            folder = words[words.index("FOLDER") + 1] if "FOLDER" in words else ""
            yield from (cmake.parent / folder / word for word in words if word.endswith(".h"))


def declarations(text):
    """(line, text, has it a comment before it, behind it, anywhere within) of each declaration at the outermost level."""
    lines = COMMENT.sub(lambda m: "\1" + "\n\1" * m[0].count("\n"), text).split("\n")
    commented = False
    depth, first, body = 0, 0, []
    for number, line in enumerate(lines, 1):
        code = line.replace("\1", "").rstrip()
        if not body and IGNORED.match(code):
            commented = False
        elif not body and not code:
            commented = "\1" in line  # an empty line separates
        else:
            if not body:
                first = number
            body.append(line)
            depth += code.count("{") - code.count("}")
            if depth == 0 and code.endswith((";", "}")):
                whole = "\n".join(body)
                yield first, whole.replace("\1", ""), commented, "\1" in body[-1], "\1" in whole
                body, commented = [], False


def nameless(path):
    """The names of a header without a comment."""
    for line, code, before, behind, within in declarations(path.read_text(encoding="utf-8")):
        function, kind = FUNCTION.match(code), TYPE.match(code)
        if function and not (before or behind):
            yield line, function[1]
        elif kind and not (before or within):
            yield line, f"{kind[1]} {kind[2]}"


def main():
    headers = [Path(name) for name in sys.argv[1:]] or sorted(installed())
    wrong = [f"{path}:{line}: {name} has no comment" for path in headers for line, name in nameless(path)]
    print("\n".join(wrong) or f"public names: {len(headers)} headers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
