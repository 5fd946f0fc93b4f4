#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the independent peers that come as source, at fixed versions, into DIR/bin. Does nothing when they are there
# already; several callers may come at once. Needs cargo 1.85 or later (tools/setup.sh test). usage: peers.sh DIR
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: peers.sh DIR" >&2; exit 2; }
dir=$1
here=$(cd "$(dirname "$0")" && pwd)
own=$here/licklider_peer
pins="licklider-cli 0.1.1"
stamp="$pins $(cat "$own/Cargo.toml" "$own/Cargo.lock" "$own/src/main.rs" | cksum)"
low=$(($(nice) <= 0 ? 10 : 0)) # who was given less than the normal priority gives nothing away
PATH=$PATH:$HOME/.cargo/bin
mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
flock 9
[ "$(cat "$dir/pins" 2>/dev/null)" = "$stamp" ] && exit 0
version=$(cargo --version 2>/dev/null | cut -d' ' -f2 || true)
if [ "$(printf '%s\n' 1.85 "${version:-0}" | sort -V | head -1)" != 1.85 ]; then
    echo "peers: cargo 1.85 or later is needed, here is ${version:-none}: tools/setup.sh test installs Debian's cargo-web" >&2
    exit 1
fi
while read -r crate number; do
    "$here/again.sh" nice -n "$low" cargo install --quiet --locked --root "$dir" --version "$number" "$crate" 9>&-
done <<<"$pins"
CARGO_TARGET_DIR=$dir/target "$here/again.sh" nice -n "$low" cargo install --quiet --locked --force --root "$dir" --path "$own" 9>&-
rm -rf "$dir/target"
echo "$stamp" >"$dir/pins"
