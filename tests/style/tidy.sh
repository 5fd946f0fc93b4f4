#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over every C file of a build folder's compile_commands.json.
# usage: tidy.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
git ls-files 'base/*.c' 'os/*.c' 'conf/*.c' 'ltp/*.c' 'bp/*.c' 'store/*.c' 'route/*.c' 'frames/*.c' 'sle/*.c' 'csts/*.c' 'cfdp/*.c' 'plans/*.c' 'discovery/*.c' 'erasure/*.c' 'cla/*.c' 'node/*.c' 'sim/*.c' 'tools/*.c' 'channel-emu/*.c' |
    xargs -P "$(nproc)" -n 4 clang-tidy -p "$build" --quiet 2>/dev/null
echo "tidy: clean"
