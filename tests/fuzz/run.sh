#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target from its corpus. usage: run.sh BUILD SECONDS-EACH [TARGET...]
set -euo pipefail
build=$(realpath "$1")
seconds=$2
shift 2
cd "$(dirname "$0")"
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(cd "$build/bin" && ls -d fuzz_*)
for target in "${targets[@]}"; do
    seeds=corpus/${target#fuzz_}
    [ -d "$seeds" ] || { echo "$target: no corpus in tests/fuzz/$seeds"; exit 1; }
    work=$build/corpus/$target
    mkdir -p "$work"
    limits=()
    # matio asks for what the file says before it knows better; the target lets it fail
    [ "$target" != fuzz_emu_mat ] || limits=(-malloc_limit_mb=1000000)
    (cd "$work" && "$build/bin/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 "${limits[@]}" -max_len=4096 -seed=1 \
        -print_final_stats=1 "$work" "$OLDPWD/$seeds") >"$work.log" 2>&1 || {
        tail -60 "$work.log"
        echo "$target FAILED; the input is in $work"
        exit 1
    }
    awk -v t="$target" '/stat::number_of_executed_units/ {printf "%s: %d inputs, no finding\n", t, $2}' "$work.log"
done
