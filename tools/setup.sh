#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the build and the tests need and is not here yet (Debian 12 package names).
# usage: tools/setup.sh build|lab|test|peers|sle   (lab: also what the campaign runner and plots need; peers: what nodes of
# other implementations are built with; sle: what peers for Space Link Extension run with)
set -euo pipefail
usage="usage: tools/setup.sh [build|lab|test|peers|sle]"
case ${1:-build} in
build | lab | test | peers | sle) ;;
-h | --help)
    echo "$usage"
    echo "Installs what is missing: for the build (default), the laboratory, the tests, nodes of other implementations, peers for Space Link Extension."
    exit 0
    ;;
*)
    echo "setup: '$1' is unknown; $usage" >&2
    exit 2
    ;;
esac

build=(gcc libc6-dev cmake ninja-build check python3 pkg-config libuv1-dev libcbor-dev liblmdb-dev libyaml-dev libjansson-dev
    libprotobuf-c-dev protobuf-c-compiler protobuf-compiler zlib1g-dev libmatio-dev libhdf5-dev libssl-dev libp11-kit-dev libpcap-dev libmicrohttpd-dev libisal-dev
    iproute2 ethtool procps lowdown python3-yaml)
lab=(python3-venv python3-matplotlib python3-jinja2 python3-sgp4)
test=(chromium mkdocs mypy python3-typeshed nftables groff-base parallel g++ clang clang-tidy clang-format libclang-rt-14-dev llvm tshark binutils
    libudt-dev libsrt-openssl-dev libfec-dev mmdebstrap systemd-container gnupg python3-setuptools python3-wheel python3-pytest softhsm2 opensc dnsmasq-base)

want=("${build[@]}")
[ "${1:-build}" != build ] && want+=("${lab[@]}")
[[ ${1:-build} =~ ^(test|peers|sle)$ ]] && want+=("${test[@]}")

# Peers of the interoperation tests are built with cargo 1.85 or later; Debian's own cargo is older, cargo-web is not.
cargo=$(PATH=$PATH:$HOME/.cargo/bin cargo --version 2>/dev/null | cut -d' ' -f2 || true)
if [[ ${1:-build} =~ ^(test|peers)$ ]] && [ "$(printf '%s\n' 1.85 "${cargo:-0}" | sort -V | head -1)" != 1.85 ]; then
    want+=(cargo-web)
fi
# dtn7-go is built with go 1.19 or later, which is Debian's.
if [ "${1:-build}" = peers ] && ! PATH=$PATH:/usr/local/go/bin go version >/dev/null 2>&1; then
    want+=(golang-go)
fi
# dariolucia's SLE library wants Java 17 or later.
if [[ ${1:-build} =~ ^(peers|sle)$ ]]; then
    command -v mvn >/dev/null || want+=(maven)
    command -v javac >/dev/null || want+=(default-jdk-headless)
fi

missing=()
for package in "${want[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "setup: these packages are missing: ${missing[*]}" >&2
        echo "setup: run this as root, or install sudo, or: apt-get install ${missing[*]}" >&2
        exit 1
    }
    as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=5 -o DPkg::Lock::Timeout=600 "$@" >/dev/null; }
# an index that was not reached shows only when a package of it is wanted
for pause in 5 20 60; do
    apt update && apt install -y --no-install-recommends "${missing[@]}" && exit 0
    echo "setup: that failed; once more in $pause s" >&2
    sleep "$pause"
done
apt update
apt install -y --no-install-recommends "${missing[@]}"
