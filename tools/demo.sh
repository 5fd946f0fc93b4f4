#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
    cat <<'EOF'
usage: tools/demo.sh [options]

Two nodes exchange 500 kB bundles over LTP across an emulated optical link; a relay erases what the
trace says. Installs what is missing (apt), builds (some 3 minutes on two idle cores), runs,
prints goodput, efficiency, a verdict and where to look next.

  --duration S      seconds of traffic (default 20)
  --trace T         A, F, H, leo-low, leo-high, jpl-47km, a trace file, iid:P or none (default A)
  --rate R          nominal rate on the air, with its unit (default 500Mbit/s)
  --sessions N      parallel LTP sessions, or auto (default 10)
  --rto T           retransmission timer (default 30ms)
  --delay T         one-way delay (default 5ms)
  --durability D    none, async or sync: how the nodes store bundles (default none)
  --details         print the per-session summary, drops and lateness, too
  --json FILE       write the result as JSON
  --out DIR         folder for logs and tables (default out/demo-DATE-TIME)
  --no-build        use the programs in build/release as they are

examples:
  tools/demo.sh --trace H --sessions 15 --duration 30
  tools/demo.sh --delay 130ms --rto 300ms --sessions 80
Ctrl-C stops everything and prints the result so far.

exit codes: 0 there is a result, whatever its verdict (--json has it for programs), 1 failed, 2 usage,
130 Ctrl-C
EOF
}
duration=20 trace=A rate=500Mbit/s sessions=10 rto=30ms delay=5ms durability=none json= out= make=yes details=
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage; exit 0 ;;
    --no-build) make=no; shift; continue ;;
    --details) details=yes; shift; continue ;;
    --duration | --trace | --rate | --sessions | --rto | --delay | --durability | --json | --out)
        [ $# -ge 2 ] || { echo "demo: $1 needs a value" >&2; exit 2; }
        printf -v "${1#--}" %s "$2"
        shift 2
        ;;
    *) echo "demo: unknown option $1 (see --help)" >&2; exit 2 ;;
    esac
done
here=$(cd "$(dirname "$0")/.." && pwd)
[ -f "$trace" ] && trace=$(realpath "$trace")
[ -n "$json" ] && json=$(realpath -m "$json")
[ -n "$out" ] && out=$(realpath -m "$out")
cd "$here"
[ -n "$out" ] || out=$here/out/demo-$(date +%Y%m%d-%H%M%S)

if [ $make = yes ]; then
    tools/setup.sh build
    mkdir -p build
    echo "demo: building: about 3 minutes on two idle cores the first time, seconds afterwards (progress: tail -f build/release.log)"
    began=$SECONDS
    { cmake --preset release && cmake --build --preset release --target programs; } >build/release.log 2>&1 ||
        { tail -30 build/release.log; exit 1; }
    echo "demo: built in $((SECONDS - began)) s"
fi
[ -x build/release/bin/heliod ] || { echo "demo: $here/build/release/bin has no programs; without --no-build they are built" >&2; exit 1; }
exec /usr/bin/python3 lab/demo.py --bin build/release/bin --duration "$duration" --trace "$trace" --rate "$rate" \
    --sessions "$sessions" --rto "$rto" --delay "$delay" --durability "$durability" --out "$out" ${json:+--json "$json"} ${details:+--details}
