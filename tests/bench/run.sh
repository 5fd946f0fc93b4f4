#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The speed of LTP alone and of the full stack against a raw blast in the same run; JSON on standard output.
# usage: tests/bench/run.sh [--seconds S] [--rounds N] [--json FILE]
set -euo pipefail
words=("$@")
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) echo "usage: tests/bench/run.sh [--seconds S] [--rounds N] [--json FILE]"; exit 0 ;;
    --seconds | --rounds | --sessions | --json) shift ;;
    --seconds=* | --rounds=* | --sessions=* | --json=* | --log | --log-cost | segments | bundles | --small-bundles | --full-only) ;;
    *) echo "bench: '$1' is unknown (see --help)" >&2; exit 2 ;;
    esac
    shift || { echo "bench: a value is missing (see --help)" >&2; exit 2; }
done
cd "$(dirname "$0")/../.."
tools/setup.sh build
mkdir -p build
{ cmake --preset release && cmake --build --preset release; } >build/release.log 2>&1 ||
    { tail -30 build/release.log; exit 1; }
exec python3 tests/bench/full.py build/release/bin out/bench "${words[@]}"
