#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything and runs every test.
#
#   tests/run.sh            the suite, some 45 minutes on two cores with its builds: style; the release build with its tests
#                           in real time and its long ones; all others under sanitizers
#   tests/run.sh full       also the build of packagers, all tests in the release build, those in real time under
#                           sanitizers, and each fuzz target for 3 s: some 80 minutes
#   tests/run.sh quick      the debug build with its unit, sim and style tests
#   tests/run.sh threads    storage, logs and links with ThreadSanitizer
#   tests/run.sh peers      the release build against nodes of other implementations (Rust, Go), which are built first, and
#                           with Java peers
#
# What all of these leave out: the long soaks (cmake --build build/release --target soak; so are forget, histories,
# losses, long_nodes, sle_complete_long and tune_all), longer fuzzing (tests/fuzz/run.sh build/fuzz SECONDS),
# all attacks (--target attacks), coverage (tests/coverage.sh), benchmarks (tests/bench/run.sh), every type of build
# (tests/builds.sh), the tests in real time many times and beside competitors (tests/realtime_again.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-all}
case $mode in
all | full | quick | threads | peers) ;;
*)
    sed -n '3,17s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
started=$(date +%s)
trap 'trap - INT TERM; kill 0' INT TERM
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

step() { printf '\n== %s (%d s)\n' "$1" $(($(date +%s) - started)); }

build() { # PRESET [TARGET]
    step "build: $1"
    cmake --preset "$1" >build/"$1".log 2>&1 || { cat build/"$1".log; exit 1; }
    cmake --build --preset "$1" --target "${2:-all}" >>build/"$1".log 2>&1 || { tail -50 build/"$1".log; exit 1; }
    ! grep -n 'warning:' build/"$1".log
}

check() { # PRESET, more arguments for ctest
    local preset=$1
    shift
    step "tests: $preset"
    ctest --test-dir build/"$preset" --output-on-failure --no-tests=error "$@" 2>&1 | tee -a build/"$preset".tests.log
}

tools/setup.sh test
[ "$mode" != peers ] || tools/setup.sh peers
mkdir -p build
rm -f build/*.tests.log
if [ "$mode" = threads ]; then
    step "threads: storage and logs with ThreadSanitizer"
    rm -f build/tsan-race.*
    build tsan threaded_tests
    TSAN_OPTIONS=log_path=$PWD/build/tsan-race check tsan -L threads
    if cat build/tsan-race.* 2>/dev/null; then exit 1; fi
    exit 0
fi
if [ "$mode" = peers ]; then
    build release
    check release -L peers
    exit 0
fi
step "style"
tests/style/check.sh
nodes='^(e2e|interop|install|attack)' # tests that start programs
if [ "$mode" = quick ]; then
    build debug
    check debug -LE 'slow|realtime|release|peers' -E "$nodes" -j2
    exit 0
fi
# It gives clang's own warnings as well, so all that it needs of a build is what is generated. It takes what others leave of
# the processors; they do not notice (SCHED_IDLE).
build clang helio_aap2_proto
step "clang-tidy: begins, behind all else"
chrt --idle 0 tests/style/tidy.sh build/clang >build/tidy.log 2>&1 &
tidy=$!
if [ "$mode" = full ]; then
    step "builds of packagers: without presets, with NDEBUG (tests/builds.sh: each type with each compiler)"
    tests/builds.sh gcc-Release
fi
# The build that is shipped, its assertions included, plays what measures or computes for long; all else runs under
# sanitizers, once. Neither needs the debug build.
# Tests that start programs and talk over sockets get a second try, as those in real time do: a stall of a shared machine
# does not come twice. Units, simulations and whatever else is exact do not. What a sanitizer said counts at once, and
# the end tells what needed the second try. They wait as much as they work: four at once.
again='--repeat until-pass:2'
build release
long='-L release'
[ "$mode" != full ] || long=
check release $long -LE 'realtime|peers' -E "$nodes" -j2
check release $long -LE 'realtime|peers' -R "$nodes" -j4 $again
# In real time, those that measure one at a time.
check release -L 'realtime' -LE peers -j2 $again
build asan
check asan -LE 'release|realtime|peers' -E "$nodes" -j2
check asan -LE 'release|realtime|peers' -R "$nodes" -j4 $again
[ "$mode" != full ] || check asan -L 'realtime' -LE 'release|peers' -j2 $again
if grep -nE 'ERROR: (Address|Leak)Sanitizer|runtime error:' build/asan.tests.log; then exit 1; fi
step "clang-tidy"
wait $tidy || { cat build/tidy.log; exit 1; }
tail -1 build/tidy.log
if [ "$mode" = full ]; then
    build fuzz
    step "fuzz: each target for 3 s from its corpus"
    tests/fuzz/run.sh build/fuzz 3
fi
step "all tests passed"
echo "the slowest (s):"
grep -hE '^ *[0-9]+/[0-9]+ Test' build/*.tests.log | awk '{print $(NF-1), $4}' | sort -rn | sed -n '1,10s/^/    /p'
grep -hE '\*\*\*(Failed|Timeout|Exception)' build/*.tests.log | sed 's/^/at the second try only: /' || true
