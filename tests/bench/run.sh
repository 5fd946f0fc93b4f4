#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The speed of LTP alone and of the full stack against a raw blast in the same run; JSON on standard output.
# usage: tests/bench/run.sh [--seconds S] [--rounds N] [--json FILE]
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/setup.sh build
mkdir -p build
{ cmake --preset release && cmake --build --preset release; } >build/release.log 2>&1 ||
    { tail -30 build/release.log; exit 1; }
exec python3 tests/bench/full.py build/release/bin out/bench "$@"
