#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds as packagers make them: without our presets, without a warning, and the unit tests pass.
#
#   tests/builds.sh             each of gcc and clang with each build type and with -DNDEBUG
#   tests/builds.sh CC-TYPE...  these: gcc or clang with Release, RelWithDebInfo, MinSizeRel, ndebug (no build type
#                               but -DNDEBUG) or hardened (no build type but a distribution's flags)
#
# Each build's folder is removed when it has passed (KEEP=1 keeps it).
set -euo pipefail
cd "$(dirname "$0")/.."
types=(Release RelWithDebInfo MinSizeRel ndebug hardened)

flags() { # TYPE
    case $1 in
    Release | RelWithDebInfo | MinSizeRel) echo "-DCMAKE_BUILD_TYPE=$1" ;;
    ndebug) echo "-DCMAKE_BUILD_TYPE= -DCMAKE_C_FLAGS=-DNDEBUG" ;;
    hardened)
        local all='-g;-O2;-fstack-protector-strong;-Wformat;-Werror=format-security;-D_FORTIFY_SOURCE=2'
        echo "-DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=${all//;/ }"
        ;;
    *) return 1 ;;
    esac
}

one() { # CC-TYPE
    local cc=${1%%-*} type=${1#*-} dir=build/builds/$1 options=()
    [[ $cc =~ ^(gcc|clang)$ ]] && flags "$type" >/dev/null || { sed -n '3,9s/^# \{0,1\}//p' "$0"; exit 2; }
    # one option a line, for a flag may hold spaces
    mapfile -t options < <(flags "$type" | sed 's/ -DCMAKE_C_FLAGS/\n-DCMAKE_C_FLAGS/')
    mkdir -p build/builds
    cmake -G Ninja -S . -B "$dir" -DCMAKE_C_COMPILER="$cc" "${options[@]}" >"$dir".log 2>&1 || { cat "$dir".log; exit 1; }
    cmake --build "$dir" --target programs unit_tests >>"$dir".log 2>&1 || { tail -50 "$dir".log; exit 1; }
    ! grep -n 'warning:' "$dir".log || exit 1
    ctest --test-dir "$dir" -R '^unit' -j"$(nproc)" --output-on-failure --no-tests=error >"$dir".tests.log 2>&1 || {
        tail -60 "$dir".tests.log
        exit 1
    }
    echo "$1: no warning; $(sed -n 's/^100% tests passed, 0 tests failed out of //p' "$dir".tests.log) unit tests passed"
    [ -n "${KEEP:-}" ] || rm -rf "$dir"
}

[ $# -gt 0 ] || set -- $(for cc in gcc clang; do printf "$cc-%s " "${types[@]}"; done)
for build in "$@"; do one "$build"; done
