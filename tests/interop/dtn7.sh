#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds dtn7-rs (dtnd-rs) and dtn7-go (dtnd-go), other implementations of BPv7 and TCPCLv4, at fixed versions into DIR/bin. Does
# nothing when they are there already; several callers may come at once. Needs cargo 1.85 or later and go 1.19 or later
# (tools/setup.sh peers). usage: dtn7.sh DIR
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: dtn7.sh DIR" >&2; exit 2; }
dir=$(mkdir -p "$1" && cd "$1" && pwd)
own=$(cd "$(dirname "$0")" && pwd)/dtn7_go
rust="dtn7 0.21.0"
stamp="$rust $(cat "$own"/go.* | cksum)"
low=$(($(nice) <= 0 ? 10 : 0)) # who was given less than the normal priority gives nothing away
PATH=$PATH:$HOME/.cargo/bin:/usr/local/go/bin
exec 9>"$dir.lock"
flock 9
[ "$(cat "$dir/pins" 2>/dev/null)" = "$stamp" ] && exit 0
need() { # PROGRAM LEAST FOUND PACKAGE
    [ "$(printf '%s\n' "$2" "${3:-0}" | sort -V | head -1)" = "$2" ] && return
    echo "dtn7: $1 $2 or later is needed, here is ${3:-none}: tools/setup.sh peers installs Debian's $4" >&2
    exit 1
}
need cargo 1.85 "$(cargo --version 2>/dev/null | cut -d' ' -f2 || true)" cargo-web
go=$(go version 2>/dev/null | sed 's/.*go\([0-9.]*\) .*/\1/' || true)
need go 1.19 "$go" golang-go

nice -n "$low" cargo install --quiet --locked --root "$dir/cargo" --version "${rust#* }" "${rust% *}" 9>&-
mkdir -p "$dir/bin"
cp "$dir/cargo/bin/dtnd" "$dir/bin/dtnd-rs"
# One of its libraries asks the linker for what go 1.23 and later keep to themselves.
flags=()
[ "$(printf '%s\n' 1.23 "$go" | sort -V | head -1)" = 1.23 ] && flags=(-ldflags=-checklinkname=0)
(cd "$own" && nice -n "$low" go build -mod=readonly "${flags[@]}" -o "$dir/bin/dtnd-go" github.com/dtn7/dtn7-go/cmd/dtnd) 9>&-
echo "$stamp" >"$dir/pins"
