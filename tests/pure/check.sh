#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The pure archives may refer to nothing outside themselves but the symbols of allowed.txt, and may define
# no writable data. usage: check.sh allowed.txt ARCHIVE...
set -euo pipefail
allowed=$1
shift
status=0
defined=$(nm --defined-only --no-sort "$@" 2>/dev/null | awk 'NF == 3 {print $3}' | sort -u)
for archive in "$@"; do
    undefined=$(nm --undefined-only --no-sort "$archive" 2>/dev/null | awk '$1 == "U" || $1 == "w" {print $2}' | sort -u)
    [ -n "$(nm "$archive" 2>/dev/null)" ] || { echo "$archive: no symbols; not an archive of objects?"; status=1; }
    foreign=$(comm -23 <(echo "$undefined") <(echo "$defined") | grep -vxFf <(grep -v '^#' "$allowed") || true)
    if [ -n "$foreign" ]; then
        echo "$(basename "$archive") refers to what a pure library must not:"
        printf '    %s\n' $foreign
        status=1
    fi
    # .data.rel.ro holds constants with addresses: written by the loader only
    writable=$(objdump -t "$archive" 2>/dev/null | awk '/ O +(\.t?data|\.t?bss|\*COM\*)/ && !/ \.data\.rel\.ro/ &&
        $NF !~ /^\.L|^__afl|^__asan|^__sancov/ {print $NF}')
    if [ -n "$writable" ]; then
        echo "$(basename "$archive") has writable data (a mutable static?):"
        printf '    %s\n' $writable
        status=1
    fi
done
[ $status -eq 0 ] && echo "pure: $# archives refer to nothing but $(grep -vc '^#' "$allowed") allowed symbols"
exit $status
