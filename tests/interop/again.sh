#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A command that fetches something: up to four times, since a registry may be out of reach for a moment. usage: again.sh COMMAND...
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: again.sh COMMAND..." >&2; exit 2; }
for pause in 5 20 60; do
    "$@" && exit 0
    echo "$1 failed; once more in $pause s" >&2
    sleep "$pause"
done
exec "$@"
