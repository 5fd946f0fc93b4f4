#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A Python environment with the independent peers and DuckDB, or with what campaigns on clusters are tested with, at fixed
# versions. Does nothing when it is there already; several callers may come at once. usage: venv.sh DIR [cluster]
set -euo pipefail
[ $# -eq 1 ] || [ "${2:-}" = cluster ] || { echo "usage: venv.sh DIR [cluster]" >&2; exit 2; }
dir=$1
pins="ud3tn-utils==0.15.2 pyD3TN==0.15.2 scapy==2.8.0 duckdb-cli==1.5.6 cryptography==48.0.0 ccsds-cop==0.1.2 reedsolo==1.7.0 numpy==2.4.6 asn1tools==0.169.0 cfdp-py==0.7.0 cfdp==0.2.0 fastcrc==0.3.6"
# asks for Python 3.12; what the tests use of it runs with 3.11, too
newer="pycadu==0.1.4"
if [ "${2:-}" = cluster ]; then
    pins="dask==2026.8.0 distributed==2026.8.0 pyarrow==26.0.1 polars==2.1.0 duckdb-cli==1.5.6 moto[server]==5.2.5 PyYAML Jinja2 matplotlib"
    newer=
fi
mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
flock 9
[ "$(cat "$dir/pins" 2>/dev/null)" = "$pins $newer" ] && exit 0
rm -rf "$dir"
python3 -m venv "$dir" 9>&-
# shellcheck disable=SC2086
"$(dirname "$0")/again.sh" "$dir/bin/pip" install --quiet --disable-pip-version-check $pins 9>&-
# shellcheck disable=SC2086
[ -z "$newer" ] || "$(dirname "$0")/again.sh" "$dir/bin/pip" install --quiet --disable-pip-version-check --no-deps --ignore-requires-python $newer 9>&-
echo "$pins $newer" >"$dir/pins"
