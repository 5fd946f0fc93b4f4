#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches Yamcs at the version of examples/yamcs/pom.xml into DIR/lib. Does nothing when it is there already; several callers
# may come at once. Needs mvn, and java 17 or later (tools/setup.sh sle).
# usage: yamcs.sh DIR
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: yamcs.sh DIR" >&2; exit 2; }
dir=$1
here=$(cd "$(dirname "$0")" && pwd)
pom=$here/../../examples/yamcs/pom.xml
stamp=$(cksum <"$pom")
mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
flock 9
[ "$(cat "$dir/pins" 2>/dev/null)" = "$stamp" ] && exit 0
for program in mvn java; do
    command -v $program >/dev/null || { echo "yamcs: $program is needed: tools/setup.sh sle installs it" >&2; exit 1; }
done
rm -rf "$dir"
mkdir -p "$dir"
cp "$pom" "$dir/"
(cd "$dir" && "$here/again.sh" mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib) 9>&-
echo "$stamp" >"$dir/pins"
