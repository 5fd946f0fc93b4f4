#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds bundle_peers/, which has the BPv7 libraries bp7 and hardy-bpv7 at fixed versions, or hardy_node/, a node of hardy-bpa, into
# DIR/bin. Does nothing when it is there already. Needs cargo 1.95 or later. usage: bundle_peers.sh DIR [hardy_node]
set -euo pipefail
[ $# -eq 1 ] || [ "$#$2" = 2hardy_node ] || { echo "usage: bundle_peers.sh DIR [hardy_node]" >&2; exit 2; }
dir=$1
own=$(cd "$(dirname "$0")" && pwd)/${2:-bundle_peers}
stamp=$(cat "$own/Cargo.toml" "$own/Cargo.lock" "$own"/src/*.rs | cksum)
low=$(($(nice) <= 0 ? 10 : 0)) # who was given less than the normal priority gives nothing away
PATH=$PATH:$HOME/.cargo/bin
mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
flock 9
[ "$(cat "$dir/pins" 2>/dev/null)" = "$stamp" ] && exit 0
version=$(cargo --version 2>/dev/null | cut -d' ' -f2 || true)
if [ "$(printf '%s\n' 1.95 "${version:-0}" | sort -V | head -1)" != 1.95 ]; then
    echo "bundle_peers: cargo 1.95 or later is needed (hardy-bpv7), here is ${version:-none}" >&2
    exit 1
fi
CARGO_TARGET_DIR=$dir/target nice -n "$low" cargo install --quiet --locked --force --root "$dir" --path "$own" 9>&-
rm -rf "$dir/target"
echo "$stamp" >"$dir/pins"
