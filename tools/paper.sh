#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
    cat <<'EOF'
usage: tools/paper.sh [--full] [--mode sim|relay|bridge] [OPTION...]

Reruns the figures of "LTP Performance on Near-Earth Optical Links" (2023) and makes a report that lays them beside the
published numbers. Installs what is missing (apt), builds, runs campaigns/paper-quick.yaml: runs of 10 s, a few minutes in
virtual time on two cores.

  --full            campaigns/paper.yaml: runs of 100 s as in the paper
  --mode M          sim: virtual time (default); relay: real processes and sockets; bridge: network namespaces (root)
  --no-build        use the programs in build/release as they are
  other options     go to helio-campaign (--out DIR, --jobs N, --check …; see docs/helio-campaign.md)

Ctrl-C keeps the runs that are done; the same command goes on from there.
EOF
}
make=yes campaign=campaigns/paper-quick.yaml more=()
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage; exit 0 ;;
    --full) campaign=campaigns/paper.yaml ;;
    --no-build) make=no ;;
    --out) [ $# -ge 2 ] || { echo "paper: --out needs a folder" >&2; exit 2; }
        more+=(--out "$(realpath -m "$2")")
        shift ;;
    *) more+=("$1") ;;
    esac
    shift
done
cd "$(dirname "$0")/.."
if [ $make = yes ]; then
    tools/setup.sh lab
    mkdir -p build
    echo "paper: building (build/release.log)"
    { cmake --preset release && cmake --build --preset release --target programs; } >build/release.log 2>&1 ||
        { tail -30 build/release.log; exit 1; }
fi
exec build/release/bin/helio-campaign "$campaign" ${more[@]+"${more[@]}"}
