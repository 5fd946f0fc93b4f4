#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The laboratory's Python, by ruff (lab/pyproject.toml has its rules), at a fixed version from PyPI: Debian 12 has none.
# usage: ruff.sh DIR
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: ruff.sh DIR" >&2; exit 2; }
dir=$(realpath -m "$1") pin=ruff==0.17.6
here=$(cd "$(dirname "$0")/.." && pwd)
if [ "$(cat "$dir/pin" 2>/dev/null)" != "$pin" ]; then
    rm -rf "$dir"
    python3 -m venv "$dir"
    "$here/interop/again.sh" "$dir/bin/pip" install --quiet --disable-pip-version-check "$pin"
    echo "$pin" >"$dir/pin"
fi
cd "$here/../lab"
exec "$dir/bin/ruff" check --no-cache --output-format concise .
