#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Three network namespaces, source - emu - destination, with helio-emu bridge in the middle; docs/testbed.md.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: tools/testbed.sh up [OPTION...] [NAME] [-- BRIDGE-OPTION...]
       tools/testbed.sh exec NAME source|destination|emu COMMAND...
       tools/testbed.sh status [NAME]
       tools/testbed.sh down [NAME]
Joins three network namespaces, source - emu - destination, with an emulated link (root only).
NAME is `lab` if not given; several testbeds may stand side by side.

  --bin DIR   where helio-emu is (default: build/release/bin or build/debug/bin, else the PATH)
  --mtu N     MTU of the interfaces (default 1500)
  --no-bridge the link is not started
What follows -- goes to helio-emu bridge, such as its scenario or its options.

Examples:
  tools/testbed.sh up lab -- --delay 5ms --rate 500Mbit/s --trace A
  tools/testbed.sh exec lab source ping -c 3 10.77.0.2
  tools/testbed.sh down lab
Exit codes: 0 done, 1 failed, 2 usage.
EOF
}

fail() {
    echo "testbed: $1" >&2
    exit "${2:-1}"
}
wrong() { fail "$1; tools/testbed.sh --help says what is right" 2; }

root=$(cd "$(dirname "$0")/.." && pwd)
state=/run/helio-testbed
name=lab bin='' mtu=1500 bridge=1 options=()

[ $# -gt 0 ] || { usage >&2; exit 2; }
command=$1
shift
case $command in
-h | --help) usage; exit 0 ;;
up)
    given=0
    while [ $# -gt 0 ]; do
        case $1 in
        --bin | --mtu)
            [ $# -gt 1 ] || wrong "$1 needs a value"
            if [ "$1" = --bin ]; then bin=$2; else mtu=$2; fi
            shift ;;
        --no-bridge) bridge=0 ;;
        --) shift; options=("$@"); break ;;
        -*) wrong "'$1' is not an option" ;;
        *)  [ $given = 0 ] || wrong "'$1' is one name too many"
            name=$1 given=1 ;;
        esac
        shift
    done
    [[ $mtu =~ ^[0-9]+$ ]] && [ "$mtu" -ge 1280 ] && [ "$mtu" -le 65535 ] || wrong "--mtu $mtu: right is 1280 to 65535" ;;
exec)
    [ $# -ge 3 ] || wrong "exec needs a name, a place and a command"
    name=$1 place=$2
    shift 2
    [[ $place =~ ^(source|destination|emu)$ ]] || wrong "'$place' is no place; right is source, destination or emu" ;;
down | status)
    [ $# -le 1 ] || wrong "'$2' is one name too many"
    [ $# -eq 0 ] || name=$1 ;;
*) wrong "'$command' is unknown" ;;
esac
[[ $name =~ ^[a-z0-9][a-z0-9-]{0,19}$ ]] || wrong "the name '$name' is wrong: small letters, digits and -, 20 at most"
[ "$(id -u)" = 0 ] || fail "needs root: sudo tools/testbed.sh $command $name"

here=$state/$name
space() { echo "helio-$name-$1"; }
inside() { ip netns exec "$(space "$1")" "${@:2}"; }
exists() { [ -e "/run/netns/$(space "$1")" ]; }

find_emu() {
    local where
    for where in ${bin:+"$bin"} "$root/build/release/bin" "$root/build/debug/bin"; do
        [ ! -x "$where/helio-emu" ] || { echo "$where/helio-emu"; return; }
        [ -z "$bin" ] || break
    done
    [ -z "$bin" ] && command -v helio-emu ||
        fail "helio-emu is not in ${bin:-build/release/bin, build/debug/bin or the PATH}; build it, or say --bin DIR"
}

# The process of the file, if it is still the one that we started.
bridge_pid() {
    local pid started now
    read -r pid started 2>/dev/null <"$here/bridge.pid" || return 1
    now=$(cut -d' ' -f3,22 "/proc/$pid/stat" 2>/dev/null) || return 1
    [[ $now != Z* && ${now#* } = "$started" ]] && echo "$pid"
}

stop_bridge() {
    local pid i
    pid=$(bridge_pid) || return 0
    kill -TERM "$pid" 2>/dev/null || return 0
    for i in $(seq 60); do
        bridge_pid >/dev/null || return 0
        sleep 0.05
    done
    kill -KILL "$pid" 2>/dev/null || true
}

down() {
    local place
    stop_bridge
    for place in source emu destination; do
        ! exists $place || ip netns delete "$(space $place)"
    done
    rm -rf "$here"
    alone tidy
}

# One testbed at a time does what concerns them all. (The lock is on a folder that is always there.)
alone() { (flock 9 && "$@") 9</run; }

tidy() {
    [ -d "$state" ] && [ -z "$(ls "$state")" ] || return 0
    [ ! -e "$state/.limits" ] || sysctl -qp "$state/.limits"
    rm -f "$state/.limits"
    rmdir "$state"
}

# An end of the link: INTERFACE PLACE NUMBER. No super-packets: they would be one frame to the emulator.
end() {
    inside "$2" ip link set lo up
    inside "$2" ip address add "10.77.0.$3/24" dev "$1"
    inside "$2" ip -6 address add "fd77::$3/64" dev "$1" nodad
    inside "$2" ip link set dev "$1" mtu "$mtu" up
    inside "$2" ethtool -K "$1" tso off gso off gro off tx off tx-udp-segmentation off >/dev/null
}

start_bridge() {
    local emu pid i
    emu=$(find_emu)
    : >"$here/bridge.log" # there before it is looked into; the process below opens it in its own time
    ip netns exec "$(space emu)" "$emu" bridge --a emu-a --b emu-b --json "$here/bridge.json" "${options[@]}" \
        </dev/null >>"$here/bridge.log" 2>&1 &
    pid=$!
    disown
    echo "$pid $(cut -d' ' -f22 "/proc/$pid/stat")" >"$here/bridge.pid"
    for i in $(seq 200); do
        ! grep -q ', ready' "$here/bridge.log" || return 0
        bridge_pid >/dev/null || break
        sleep 0.025
    done
    sed 's/^/testbed: /' "$here/bridge.log" >&2
    return 1
}

# Socket buffers so large that a burst waits and is not lost. The limits are the whole machine's: the first testbed
# raises them, and the last one puts them back.
limits() {
    local key
    [ ! -e "$state/.limits" ] || return 0
    sysctl net.core.rmem_max net.core.wmem_max >"$state/.limits"
    for key in net.core.rmem_max net.core.wmem_max; do
        [ "$(sysctl -n $key)" -ge 33554432 ] || sysctl -qw $key=33554432
    done
}

up() {
    local place
    command -v ip >/dev/null || fail "ip is missing: apt-get install iproute2"
    command -v ethtool >/dev/null || fail "ethtool is missing: apt-get install ethtool"
    [ "$bridge" = 0 ] || find_emu >/dev/null
    down
    trap 'down' EXIT
    alone mkdir -p "$here"
    for place in source emu destination; do
        ip netns add "$(space $place)" || fail "network namespaces are not permitted here"
        inside $place sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.all.accept_dad=0
    done
    inside emu sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1
    ip -n "$(space source)" link add link0 type veth peer name emu-a netns "$(space emu)"
    ip -n "$(space destination)" link add link0 type veth peer name emu-b netns "$(space emu)"
    for place in emu-a emu-b; do
        inside emu ip link set dev $place mtu "$mtu" up
    done
    end link0 source 1
    end link0 destination 2
    alone limits
    [ "$bridge" = 0 ] || start_bridge
    trap - EXIT
}

case $command in
up) up ;;
down) down ;;
exec)
    exists "$place" || fail "there is no testbed '$name'; tools/testbed.sh up $name makes it"
    exec ip netns exec "$(space "$place")" "$@" ;;
status)
    exists emu || { echo "$name: down"; exit 1; }
    if pid=$(bridge_pid); then
        echo "$name: up, bridge running (process $pid, $here/bridge.log)"
    else
        echo "$name: up, no bridge"
    fi
    for place in source destination; do
        echo "  $place: $(inside $place ip -br address show link0 | tr -s ' ')"
    done ;;
esac
