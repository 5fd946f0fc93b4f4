#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs everything labelled realtime N times, beside so many processes that only compute, and counts what failed. No second tries.
#
#   tests/realtime_again.sh N [COMPETITORS [PRESET [more arguments for ctest]]]     default: 0 competitors, preset release
#
# What holds on two cores: tests/realtime_again.sh 10 && tests/realtime_again.sh 10 1
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
'' | *[!0-9]*)
    sed -n '3,7s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
times=$1 competitors=${2:-0} preset=${3:-release}
shift $(($# < 3 ? $# : 3))
competing=()
end() {
    [ ${#competing[@]} -eq 0 ] || kill "${competing[@]}" 2>/dev/null || true
}
trap end EXIT
for ((i = 0; i < competitors; i++)); do
    setsid sh -c 'while :; do :; done' & # a session of its own, as in another terminal
    competing+=($!)
done
log=build/realtime_again.log failed=0
: >"$log"
for ((i = 1; i <= times; i++)); do
    begun=$(date +%s)
    if ctest --test-dir "build/$preset" -L realtime -j2 --no-tests=error --output-on-failure "$@" >>"$log" 2>&1; then
        result=passed
    else
        result=FAILED
        failed=$((failed + 1))
    fi
    echo "run $i of $times, $competitors competitors: $result ($(($(date +%s) - begun)) s)"
done
grep -hE '\*\*\*(Failed|Timeout|Exception)' "$log" | sed -E 's/^.*: (\S+) \.*/\1 /' | sort | uniq -c || true
echo "$((times - failed)) of $times runs passed; $log"
[ "$failed" -eq 0 ]
