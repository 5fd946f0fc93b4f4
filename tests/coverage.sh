#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Line and branch coverage of ltp/ by its unit tests, the scenarios and 500 seeds of the soak.
#
#   tests/coverage.sh [MIN]    prints the figures per file; fails below MIN % of branches in all (90)
#
# Assertions are compiled out, since their other branch is never to be taken; ltp/check.c is nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
min=${1:-90}
build=$PWD/build/coverage
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS="--coverage -DNDEBUG -Wno-error -Wno-unused" >/dev/null
units=(unit_ltp unit_ltp_memory unit_ltp_huge_memory unit_ltp_hostile_memory)
cmake --build "$build" --target sim_scenarios sim_soak "${units[@]}" >"$build/build.log" 2>&1 || {
    tail -30 "$build/build.log"
    exit 1
}
find "$build" -name '*.gcda' -delete
for unit in "${units[@]}"; do
    "$build/bin/$unit" >/dev/null
done
"$build/bin/sim_scenarios" tests/sim/scenarios/*.txt >/dev/null
"$build/bin/sim_soak" --seeds 1..500 >/dev/null
mkdir -p "$build/gcov"
cd "$build/gcov"
find "$build/ltp" -name '*.gcda' -print0 | xargs -0 gcov --json-format --branch-probabilities >/dev/null
python3 - "$min" <<'PY'
import glob, gzip, json, os, sys

total = [0, 0, 0, 0]
files = {}
for path in glob.glob("*.gcov.json.gz"):
    for f in json.load(gzip.open(path))["files"]:
        folder = os.path.dirname(f["file"]).split("/")
        if "ltp" not in folder[-2:] or "tests" in folder or f["file"].endswith("check.c"):
            continue
        c = files.setdefault(os.path.basename(f["file"]), {})
        for line in f["lines"]:
            old = c.setdefault((line["line_number"], line.get("function_name")), [0, []])
            old[0] = max(old[0], line["count"])
            taken = [b["count"] for b in line["branches"]]
            old[1] = [max(a, b) for a, b in zip(old[1], taken)] if old[1] else taken
print(f"{'file':16} {'lines':>12} {'branches':>14}")
for name, lines in sorted(files.items()):
    row = [sum(1 for n, _ in lines.values() if n), len(lines),
           sum(1 for _, b in lines.values() for t in b if t), sum(len(b) for _, b in lines.values())]
    total = [a + b for a, b in zip(total, row)]
    print(f"{name:16} {row[0]:5}/{row[1]:<5} {100 * row[2] / max(row[3], 1):6.1f} % {row[2]}/{row[3]}")
share = 100 * total[2] / total[3]
print(f"{'ltp':16} {total[0]:5}/{total[1]:<5} {share:6.1f} % {total[2]}/{total[3]}")
sys.exit(0 if share >= float(sys.argv[1]) else 1)
PY
