# SPDX-License-Identifier: Apache-2.0
"""ION 4.1 as a node of a lab: the files of its admin programs, and a script that runs it.

ION has fixed keys for its shared memory and semaphores in /dev/shm. So each node has IPC and mount namespaces and a /dev/shm of its own, which
commands at the node enter; killm is not needed. Without root they are in a user namespace.
"""

from __future__ import annotations

import shlex

from .node import Neighbour, Node, Plan

ADAPTERS = ("ltp-udp", "udp", "stcp")
LAYERS = {"ltp-udp": "ltp", "udp": "udp", "stcp": "stcp"}
SESSIONS = 100          # of ltpadmin: more than all spans have
ECHO = "128"
RATE_MAX = 4294967295   # bytes a second, as a contact has them
CONTACTS = "contacts.ionrc"
MEMORY = "wmSize 50000000\nsdrName ion\nconfigFlags 1\nheapWords 20000000\n"  # 160 MB of bundles, in memory

SCRIPT = """\
# ION node {number}: node.sh start | run COMMAND... | stop
cd {folder} || exit 1
user=
[ "$(id -u)" = 0 ] || user=--user
enter() {{ # in the namespaces of the node that runs
    exec nsenter --target "$(cat node.pid)" $user ${{user:+--preserve-credentials}} --ipc --mount --wd={folder} "$@"
}}
case $1 in
start)
    [ -n "${{ION_APART:-}}" ] || ION_APART=yes exec unshare $user ${{user:+--map-root-user}} --ipc --mount sh {folder}/node.sh start
    echo $$ > node.pid
    trap 'exit 0' TERM INT
    mount -t tmpfs none /dev/shm && {admin} || exit 1
{echo}    echo "node {number} runs"
    while :; do sleep 3600 & wait $!; done
    ;;
run) shift; enter "$@" ;;
stop) enter sh -c '{stop}' ;;
esac
"""


def ionrc(node: Node) -> str:
    """The contacts are in a file of their own, which helio-plan writes; the node's own one is here."""
    rate = max([RATE_MAX // 8 if one.rate is None else max(1, one.rate // 8) for one in node.neighbours], default=1)
    return (f"# ionadmin, node {node.name}\n1 {node.number} node.ionconfig\ns\n"
            f"m production {min(rate, RATE_MAX)}\nm consumption {min(rate, RATE_MAX)}\n")


def ltprc(node: Node) -> str:
    lines = [f"# ltpadmin, node {node.name}", f"1 {max(SESSIONS, sum(one.sessions for one in of(node, 'ltp-udp')))}"]
    for one in of(node, "ltp-udp"):  # a block has one bundle
        lines.append(f"a span {one.number} {one.sessions} {one.sessions} {one.segment} 1 1 'udplso {one.remote}'")
    spans = of(node, "ltp-udp")
    lines += [f"a seat 'udplsi {one.local}'" for one in spans[1:]]
    return "\n".join([*lines, f"s 'udplsi {spans[0].local}'"]) + "\n"


def of(node: Node, adapter: str) -> list[Neighbour]:
    return [one for one in node.neighbours if one.adapter == adapter]


def duct(one: Neighbour) -> str:
    """The name of the outduct to a neighbour."""
    return str(one.number) if one.adapter == "ltp-udp" else one.remote


def bprc(node: Node) -> str:
    lines = [f"# bpadmin, node {node.name}", "1", "a scheme ipn 'ipnfw' 'ipnadminep'"]
    lines += [f"a endpoint ipn:{node.number}.{service} q" for service in dict.fromkeys(["0", *node.services, ECHO])]
    used = dict.fromkeys(one.adapter for one in node.neighbours)
    lines += [f"a protocol {LAYERS[adapter]} 1400 100" for adapter in used]
    if "ltp-udp" in used:
        lines.append(f"a induct ltp {node.number} ltpcli")
    lines += [f"a induct {one.adapter} {one.local} {one.adapter}cli" for one in node.neighbours if one.adapter != "ltp-udp"]
    lines += [f"a outduct {LAYERS[one.adapter]} {duct(one)} {LAYERS[one.adapter]}clo" for one in node.neighbours]
    return "\n".join([*lines, "r 'ipnadmin node.ipnrc'", "s"]) + "\n"


def ipnrc(node: Node) -> str:
    """Plans of neighbours; behind the contact graph, gateways to the other nodes."""
    lines = [f"# ipnadmin, node {node.name}"]
    lines += [f"a plan {one.number} {LAYERS[one.adapter]}/{duct(one)}" for one in node.neighbours]
    lines += [f"a exit {route.number} {route.number} ipn:{route.via_number}.0" for route in node.routes if route.number != route.via_number]
    return "\n".join(lines) + "\n"


def plan(node: Node) -> Plan:
    ltp = bool(of(node, "ltp-udp"))
    admin = ["ionadmin node.ionrc", f"ionadmin {CONTACTS}", *(["ltpadmin node.ltprc"] if ltp else []), "bpadmin node.bprc"]
    stop = ["bpadmin .", *(["ltpadmin ."] if ltp else []), "ionadmin ."]
    script = SCRIPT.format(number=node.number, folder=shlex.quote(node.folder), admin=" && ".join(admin), stop="; ".join(stop), echo=f"    bpecho ipn:{node.number}.{ECHO} &\n" if node.echo else "")
    files = {"node.ionconfig": MEMORY, "node.ionrc": ionrc(node), **({"node.ltprc": ltprc(node)} if ltp else {}), "node.bprc": bprc(node),
             "node.ipnrc": ipnrc(node), "node.sh": script}
    run = ("sh", f"{node.folder}/node.sh")
    return Plan(files, (*run, "start"), ready=f"node {node.number} runs", ready_within="2min", stop_within="30s", stop_command=(*run, "stop"), enter=(*run, "run"),
                programs=("ionadmin", *(["ltpadmin"] if ltp else []), "bpadmin", "ipnadmin", *(["bpecho"] if node.echo else []), "unshare", "nsenter"), contacts=(CONTACTS, "ion"))
