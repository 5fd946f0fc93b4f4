# SPDX-License-Identifier: Apache-2.0
"""Nodes of other stacks in a lab: what each of them reads and how it is run, derived from the lab's nodes and links.

All kinds are a command with files beside it. `command` has them from the lab file; the others have them from here (ION and HDTN: files of
their own). Texts have {names} in place of values; {remote:mars} is of the link to mars, {remote} of the only link.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Callable, Iterator

from .. import units
from . import hdtn, ion
from .node import Node, Plan

OWN = "heliod"
PLACE = re.compile(r"(?<!\$)\{([a-z][a-z0-9_]*(?::[A-Za-z0-9_.]+)?)\}")
ADAPTERS = {"ion": ion.ADAPTERS, "hdtn": hdtn.ADAPTERS, "dtn7-rs": ("udp", "tcpcl", "mtcp"), "ud3tn": ("mtcp",)}
KINDS = (OWN, "command", *ADAPTERS)
ODD_PORTS = ("ion", "hdtn", "dtn7-rs")  # send datagrams from a port that they do not receive at
IPN_ONLY = ("ion", "hdtn")
ECHOES = ("ion", "hdtn")                # answer helio-ping
GROUPS = ("frames", "cadu", "sle", "erasure")  # of ltp-udp, which no other stack knows
DAY = 86400


def values(node: Node) -> dict[str, str]:
    """The values of {names}."""
    out = {"name": node.name, "number": str(node.number), "node": node.eid, "folder": node.folder, "socket": node.socket}
    out.update({f"port_{i}": str(port) for i, port in enumerate(node.ports, 1)})
    for one in node.neighbours:
        host, _, port = one.local.rpartition(":")
        there, _, to = one.remote.rpartition(":")
        link = {"local": one.local, "local_host": host, "local_port": port, "remote": one.remote, "remote_host": there, "remote_port": to,
                "peer": one.eid, "peer_number": str(one.number), "adapter": one.adapter, "rate_bps": str(one.rate or 0),
                "delay_ms": f"{1e3 * one.delay:.9g}", "segment_bytes": str(one.segment)}
        out.update({f"{key}:{one.name}": value for key, value in link.items()})
        if len(node.neighbours) == 1:
            out.update(link)
    return out


def fill(text: str, known: dict[str, str]) -> str:
    """Unknown names stay: a file may have braces of its own."""
    return PLACE.sub(lambda found: known.get(found[1], found[0]), text)


def unknown(text: str, known: dict[str, str]) -> str | None:
    """The first unknown name."""
    return next((name for name in PLACE.findall(text) if name not in known), None)


# ---- dtn7-rs ----


def dtn7_peers(node: Node) -> Iterator[str]:
    for one in node.neighbours:
        if one.connects or one.adapter != "tcpcl":
            name = str(one.number) if one.eid.startswith("ipn:") else one.eid.removeprefix("dtn://").rstrip("/")
            yield f"{DTN7_LAYERS[one.adapter]}://{one.remote}/{name}"


DTN7_LAYERS = {"udp": "udp", "tcpcl": "tcp", "mtcp": "mtcp"}


def dtn7_rs(node: Node) -> Plan:
    """One file of settings; static routes in another one. It listens at each link's own address."""
    lines = [f'nodeid = "{node.number if node.eid.startswith("ipn:") else node.eid}"', f"workdir = {toml(node.folder)}", f"webport = {node.ports[0]}", 'db = "mem"', "",
             "[routing]", 'strategy = "static"', "[routing.settings.static]", f"routes = {toml(node.folder + '/routes')}", "",
             "[core]", 'janitor = "1s"', "[discovery]", 'interval = "0"', "",
             "[statics]", f"peers = [{', '.join(map(toml, dtn7_peers(node)))}]", "",
             "[endpoints]", *(f"local.{i} = {toml(service)}" for i, service in enumerate(node.services))]
    for i, one in enumerate(node.neighbours):
        host, _, port = one.local.rpartition(":")
        lines += ["", f"[convergencylayers.cla.{i}]", f'id = "{DTN7_LAYERS[one.adapter]}"', f'port = "{port}"', f'bind = "{host}"']
    routes = [f"{i} ** {pattern_of(route.eid)} {route.via}" for i, route in enumerate(node.routes, 1)]
    return Plan({"dtnd.toml": "\n".join(lines) + "\n", "routes": "\n".join(routes) + "\n"}, ("dtnd", "-c", f"{node.folder}/dtnd.toml", "--disable_nd"),
                ready=DTN7_READY, programs=("dtnd",), env={"DTN_WEB_PORT": str(node.ports[0])})


DTN7_READY = "Starting convergency layers|starting dtnd"


def pattern_of(eid: str) -> str:
    """All endpoints of a node, as dtn7-rs matches them."""
    return f"{eid.rpartition('.')[0]}.*" if eid.startswith("ipn:") else f"{eid.rstrip('/')}/**"


def toml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# ---- uD3TN ----


def ud3tn(node: Node) -> Plan:
    """The daemon, and a contact for each neighbour, with the nodes behind it."""
    listens = node.neighbours[0].local if node.neighbours else "127.0.0.1:4224"
    host, _, port = listens.rpartition(":")
    eid = node.eid if node.eid.startswith("ipn:") else node.eid.rstrip("/") + "/"
    lines = [f"# uD3TN, node {node.name}", "set -eu", f"cd {shlex.quote(node.folder)}",
             shlex.join(["ud3tn", "-e", eid, "-c", f"mtcp:{host},{port}", "-s", "aap.socket", "-S", node.socket]) + " &", "daemon=$!",
             "trap 'kill $daemon' TERM INT",
             f"until [ -S {shlex.quote(node.socket)} ]; do kill -0 $daemon; sleep 0.1; done"]
    for one in node.neighbours:
        reaches = [word for route in node.routes if route.via_name == one.name and route.eid != one.eid for word in ("--reaches", route.eid)]
        lines.append(shlex.join(["aap2-config", "--socket", node.socket, "--schedule", "0", str(1000 * DAY), str(one.rate or 10**9), *reaches, one.eid, f"mtcp:{one.remote}"]))
    lines += [f"echo node {node.name} runs", "wait $daemon"]
    return Plan({"node.sh": "\n".join(lines) + "\n"}, ("sh", f"{node.folder}/node.sh"), ready=f"node {re.escape(node.name)} runs", programs=("ud3tn", "aap2-config"), serves=True)


# ---- all of them ----


def command(node: Node) -> Plan:
    del node
    return Plan({}, ())


DERIVED: dict[str, Callable[[Node], Plan]] = {"command": command, "ion": ion.plan, "hdtn": hdtn.plan, "dtn7-rs": dtn7_rs, "ud3tn": ud3tn}


def plan_of(node: Node) -> Plan:
    return DERIVED[node.kind](node)


def own_command(plan: Plan, text: str, known: dict[str, str]) -> Plan:
    """With a command of the lab file in place of the derived one."""
    words = tuple(fill(word, known) for word in shlex.split(text))
    return dataclasses.replace(plan, command=words, programs=words[:1])


def seconds_of(text: str) -> float:
    return units.duration(text)
