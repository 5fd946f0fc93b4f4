#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packages for Debian from a build whose programs are made, and what must be in each. By hand: packages.sh BUILD OUT
set -euo pipefail
build=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2"
out=$(realpath "$2")
source=$(cd "$(dirname "$0")/../.." && pwd)
fail() { echo "packages: $*"; exit 1; }
(cd "$out" && cpack -G DEB --config "$build/CPackConfig.cmake" >"$out/cpack.log" 2>&1) || { tail -20 "$out/cpack.log"; fail "cpack"; }
has() { # PACKAGE PATH...
    local list path
    list=$(dpkg-deb -c "$out/$1"_*.deb)
    for path in "${@:2}"; do
        grep -q " \./usr/$path$" <<<"$list" || fail "$1 has no /usr/$path"
    done
}
has_not() { # PACKAGE PATTERN...
    local pattern
    for pattern in "${@:2}"; do
        ! dpkg-deb -c "$out/$1"_*.deb | grep -E " \./$pattern" || fail "$1 has what is another one's"
    done
}
field() { dpkg-deb -f "$out/$1"_*.deb "$2"; }
needs() { # PACKAGE FIELD PACKAGE...
    local package
    for package in "${@:3}"; do
        field "$1" "$2" | tr , '\n' | grep -qE "^ *$package( |$)" || fail "$1 does not have $package in $2: $(field "$1" "$2")"
    done
}
has heliograph bin/heliod bin/helioctl bin/helio-sim lib/systemd/system/heliod@.service lib/sysusers.d/heliograph.conf share/bash-completion/completions/helioctl \
    share/zsh/site-functions/_helioctl share/man/man1/heliod.1 share/doc/heliograph/examples/one.yaml
has libheliograph-dev include/heliograph/ltp/ltp.h
has heliograph-lab bin/helio-tune bin/helio-trace lib/heliograph/heliograph/client.py lib/heliograph/__main__.py share/man/man1/helio-tune.1 \
    share/bash-completion/completions/helio-trace
has heliograph-sle bin/helio-sle bin/helio-csts bin/helio-frames share/man/man1/helio-sle.1
has_not heliograph 'usr/include/' 'usr/.*(helio-(tune|trace|lab|campaign|sle|csts|frames)(\.1)?)$' usr/etc/
has_not heliograph-sle usr/lib/heliograph usr/bin/helio-t
[ "$(dpkg-deb -I "$out"/heliograph_*.deb conffiles)" = /etc/heliograph/sample.yaml ] || fail "the sample is no configuration file"
for package in heliograph heliograph-lab heliograph-sle libheliograph-dev; do
    has "$package" "share/doc/$package/copyright"
done

# No path is in two packages, and none is outside of /usr but the sample.
for package in "$out"/*.deb; do dpkg-deb -c "$package" | awk '{print $6}' | grep -v '/$'; done | sort >"$out/paths.txt"
[ -z "$(uniq -d "$out/paths.txt")" ] || fail "in two packages: $(uniq -d "$out/paths.txt")"
[ "$(grep -v '^\./usr/' "$out/paths.txt")" = ./etc/heliograph/sample.yaml ] || fail "outside of /usr: $(grep -v '^\./usr/' "$out/paths.txt")"
[ "$(find "$build/bin" -name 'helio*' -type f -printf '%f\n' | sort)" = "$(sed -n 's|^\./usr/bin/||p' "$out/paths.txt" | sort)" ] ||
    fail "the packages do not have exactly the programs of the build"

# HDF5 and matio are needed by the laboratory alone.
needs heliograph-lab Depends libmatio11 libhdf5-103-1 heliograph python3 python3-matplotlib python3-jinja2 python3-yaml python3-sgp4 iproute2
for package in heliograph heliograph-sle; do
    ! field "$package" Depends | grep -E 'hdf5|matio|python' || fail "$package needs what only the laboratory does"
done
needs heliograph-sle Depends libc6 libjansson4
needs libheliograph-dev Depends libcbor-dev

# What the Python programs say of packages is so.
for package in heliograph heliograph-lab heliograph-sle; do
    for program in $(dpkg-deb -c "$out/$package"_*.deb | sed -n 's|.* \./usr/bin/||p'); do
        said=$(PYTHONPATH=$source/lab python3 -c 'import sys; from heliograph.programs import PACKAGES as p; print(p.get(sys.argv[1]) or "heliograph")' "$program")
        case $program in helio-tune | helio-lab | helio-campaign) said=heliograph-lab ;; esac
        [ "$said" = "$package" ] || fail "programs.py says that $program is in $said; it is in $package"
    done
done

# The sample is a configuration, and no page has a dead link.
dpkg-deb -x "$out"/heliograph_*.deb "$out/root"
mkdir "$out/run"
sed "s|/run/heliograph|$out/run|; s|/var/lib/heliograph|$out/run|g" "$out/root/etc/heliograph/sample.yaml" >"$out/sample.yaml"
"$build/bin/heliod" --check "$out/sample.yaml" || fail "heliod refuses the sample"
python3 "$source/tests/style/links.py" "$out/root/usr/share/doc/heliograph" || fail "the pages have dead links"
for script in postinst prerm postrm; do
    dpkg-deb -I "$out"/heliograph_*.deb "$script" | sh -n || fail "$script is no script"
done
dpkg-deb -I "$out"/heliograph_*.deb postinst | grep -q systemd-sysusers || fail "heliograph does not make its user"
needs heliograph Depends libuv1 passwd
for package in "$out"/*.deb; do
    echo "$(basename "$package") $(stat -c %s "$package") bytes"
done
