#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A Python environment with the independent peers and DuckDB, at fixed versions. Does nothing when it is there already;
# several callers may come at once. usage: venv.sh DIR
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: venv.sh DIR" >&2; exit 2; }
dir=$1
pins="ud3tn-utils==0.15.2 pyD3TN==0.15.2 scapy==2.8.0 duckdb-cli==1.5.6 cryptography==48.0.0 ccsds-cop==0.1.2 reedsolo==1.7.0 numpy==2.4.6 asn1tools==0.169.0 cfdp-py==0.7.0 cfdp==0.2.0 fastcrc==0.3.6"
# asks for Python 3.12; what the tests use of it runs with 3.11, too
newer="pycadu==0.1.4"
mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
flock 9
[ "$(cat "$dir/pins" 2>/dev/null)" = "$pins $newer" ] && exit 0
rm -rf "$dir"
python3 -m venv "$dir" 9>&-
# shellcheck disable=SC2086
"$(dirname "$0")/again.sh" "$dir/bin/pip" install --quiet --disable-pip-version-check $pins 9>&-
# shellcheck disable=SC2086
"$(dirname "$0")/again.sh" "$dir/bin/pip" install --quiet --disable-pip-version-check --no-deps --ignore-requires-python $newer 9>&-
echo "$pins $newer" >"$dir/pins"
