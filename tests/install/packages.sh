#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packages for Debian from a build whose programs are made, and what must be in each. By hand: packages.sh BUILD OUT
set -euo pipefail
build=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2"
out=$(realpath "$2")
fail() { echo "packages: $*"; exit 1; }
(cd "$out" && cpack -G DEB --config "$build/CPackConfig.cmake" >"$out/cpack.log" 2>&1) || { tail -20 "$out/cpack.log"; fail "cpack"; }
has() { # PACKAGE PATH...
    local list path
    list=$(dpkg-deb -c "$out/$1"_*.deb)
    for path in "${@:2}"; do
        grep -q " \./usr/$path$" <<<"$list" || fail "$1 has no /usr/$path"
    done
}
has heliograph bin/heliod bin/helioctl bin/helio-sim lib/systemd/system/heliod@.service lib/sysusers.d/heliograph.conf share/bash-completion/completions/helioctl \
    share/zsh/site-functions/_helioctl share/man/man1/heliod.1 share/doc/heliograph/examples/one.yaml
has libheliograph-dev include/heliograph/ltp/ltp.h
has heliograph-lab bin/helio-tune lib/heliograph/heliograph/client.py
dpkg-deb -c "$out"/heliograph_*.deb | grep -qE 'include/|bin/helio-tune' && fail "heliograph has what is another one's"
dpkg-deb -I "$out"/heliograph_*.deb postinst | grep -q systemd-sysusers || fail "heliograph does not make its user"
dpkg-deb -f "$out"/heliograph_*.deb Depends | grep -q libuv1 || fail "heliograph does not depend on libuv1"
for package in "$out"/*.deb; do
    echo "$(basename "$package") $(stat -c %s "$package") bytes"
done
