# SPDX-License-Identifier: Apache-2.0
"""Each row of docs/conformance.md names code and a test that exist. Prints what does not; exit code 1 then."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
page = (root / "docs/conformance.md").read_text()
wrong = []
rows = 0


def has_function(path, name):
    return path.is_file() and re.search(rf"^[a-z].*\b{name}\(", path.read_text(), re.MULTILINE)


def has_test(name):
    if ":" not in name:
        return (root / f"tests/sim/scenarios/{name}.txt").is_file()
    program, test = name.split(":")
    path = root / f"tests/unit/{program}.c"
    if not path.is_file():
        return False
    text = path.read_text()
    return f"START_TEST({test})" in text and re.search(rf"tcase_add\w*_test\(\w+, {test}\b", text)


for number, line in enumerate(page.splitlines(), 1):
    if not line.startswith("|") or line.startswith("| §") or line.startswith("|---"):
        continue
    rows += 1
    cells = [c.strip() for c in line.strip("|").split("|")]
    if len(cells) != 4:
        wrong.append(f"{number}: four columns expected, not {len(cells)}")
        continue
    code, tests = (re.findall(r"`([^`]+)`", c) for c in cells[2:])
    if not cells[0] or not code or not tests:
        wrong.append(f"{number}: a row needs a section, code and a test")
    for name in code:
        file, _, function = name.partition(":")
        path = root / file if "/" in file else root / "ltp" / file
        if not has_function(path, function):
            wrong.append(f"{number}: no function {function} in {path.relative_to(root)}")
    wrong += [f"{number}: no test {t}" for t in tests if not has_test(t)]
if rows < 50:
    wrong.append(f"only {rows} rows were found")
for line in wrong:
    print(f"docs/conformance.md:{line}")
print(f"conformance: {rows} rows")
sys.exit(1 if wrong else 0)
