#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the independent peers for Space Link Extension, at fixed versions, into DIR: lib/*.jar and classes/ (users and
# providers over dariolucia's library, by sle/Peer.java; PDUs of ROCF, by sle/Oracle.java) and venv/ (LibreCube's Python user). Does nothing when they are
# there already; several callers may come at once. Needs mvn, and javac 17 or later (tools/setup.sh sle).
# usage: sle.sh DIR
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: sle.sh DIR" >&2; exit 2; }
dir=$1
own=$(cd "$(dirname "$0")" && pwd)/sle
pins="sle==0.3.0"
stamp="$pins $(cat "$own/pom.xml" "$own"/*.java | cksum)"
mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
flock 9
[ "$(cat "$dir/pins" 2>/dev/null)" = "$stamp" ] && exit 0
for program in mvn javac; do
    command -v $program >/dev/null || { echo "sle: $program is needed: tools/setup.sh sle installs it" >&2; exit 1; }
done
rm -rf "$dir"
mkdir -p "$dir/classes"
cp "$own/pom.xml" "$dir/"
(cd "$dir" && mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib) 9>&-
javac -cp "$dir/lib/*" -d "$dir/classes" "$own"/*.java
python3 -m venv "$dir/venv" 9>&-
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check "$pins" 9>&-
echo "$stamp" >"$dir/pins"
