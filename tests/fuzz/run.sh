#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target from its corpus, as many at once as there are cores. usage: run.sh BUILD SECONDS-EACH [TARGET...]
set -euo pipefail
build=$(realpath "$1")
seconds=$2
shift 2
cd "$(dirname "$0")"
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(cd "$build/bin" && ls -d fuzz_*)
[ ${#targets[@]} -gt 0 ] || { echo "there are no targets in $build/bin; build them first" >&2; exit 1; }

one() { # TARGET
    local target=$1 seeds=$PWD/corpus/${1#fuzz_} work=$build/corpus/$1 limits=()
    [ -d "$seeds" ] || { echo "$target: no corpus in tests/fuzz/corpus/${target#fuzz_}"; return 1; }
    mkdir -p "$work"
    # matio asks for what the file says before it knows better; the target lets it fail
    [ "$target" != fuzz_emu_mat ] || limits=(-malloc_limit_mb=1000000)
    # to weigh its many features takes longer than to run its inputs
    [ "$target" != fuzz_bp_agent ] || limits=(-entropic=0)
    (cd "$work" && "$build/bin/$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 "${limits[@]}" -max_len=4096 -seed=1 \
        -print_final_stats=1 "$work" "$seeds") >"$work.log" 2>&1 || {
        tail -60 "$work.log"
        echo "$target FAILED; the input is in $work"
        return 1
    }
    awk -v t="$target" '/stat::number_of_executed_units/ {printf "%s: %d inputs, no finding\n", t, $2}' "$work.log"
}
export -f one
export build seconds
# an exit code of 255 makes xargs begin no further one
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -euo pipefail -c 'one {} || exit 255'
