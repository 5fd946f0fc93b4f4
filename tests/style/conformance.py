# SPDX-License-Identifier: Apache-2.0
"""Each row of docs/conformance*.md names code and a test that exist. Prints what does not; exit code 1 then."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
FOLDERS = {"conformance.md": "ltp", "conformance-bp.md": "bp", "conformance-tcpcl.md": "cla/tcpcl", "conformance-sle.md": "sle",
           "conformance-frames.md": "frames", "conformance-cfdp.md": "cfdp"}  # of code that is named without one
wrong = []
rows = 0


def has_function(path, name):
    return path.is_file() and re.search(rf"^[a-z].*\b{name}\(", path.read_text(), re.MULTILINE)


def has_test(name):
    if ":" not in name:
        return (root / f"tests/sim/scenarios/{name}.txt").is_file()
    program, test = name.split(":")
    path = root / "tests" / (f"e2e/{program}" if program.endswith(".py") else f"unit/{program}.c")
    if program.startswith("e2e_"):  # over real sockets
        path = root / "tests/e2e" / f"uv_{program}.c"
    if not path.is_file():
        return False
    text = path.read_text()
    if program.endswith(".py"):
        return f"    def {test}(self" in text
    return f"START_TEST({test})" in text and re.search(rf"tcase_add\w*_test\(\w+, {test}\b", text)


def check_row(where, line, folder):
    cells = [c.strip() for c in line.strip("|").split("|")]
    if len(cells) != 4:
        wrong.append(f"{where}: four columns expected, not {len(cells)}")
        return
    code, tests = (re.findall(r"`([^`]+)`", c) for c in cells[2:])
    if not cells[0] or not code or not tests:
        wrong.append(f"{where}: a row needs a section, code and a test")
    for name in code:
        file, _, function = name.partition(":")
        path = root / file if "/" in file else next((root / folder).rglob(file), root / folder / file)
        if not has_function(path, function):
            wrong.append(f"{where}: no function {function} in {path.relative_to(root)}")
    wrong.extend(f"{where}: no test {t}" for t in tests if not has_test(t))


for page in sorted(root.glob("docs/conformance*.md")):
    before = rows
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("|") or line.startswith("| §") or line.startswith("|---"):
            continue
        rows += 1
        check_row(f"docs/{page.name}:{number}", line, FOLDERS.get(page.name, ""))
    if rows - before < 50:
        wrong.append(f"docs/{page.name}: only {rows - before} rows were found")
for line in wrong:
    print(line)
print(f"conformance: {rows} rows")
sys.exit(1 if wrong else 0)
