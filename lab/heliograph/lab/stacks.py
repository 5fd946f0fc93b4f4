# SPDX-License-Identifier: Apache-2.0
"""Nodes of a lab that are of other stacks: their keys in the lab file, and what such nodes cannot do. Their files are in stack_files.py."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import advice, places, units
from ..places import Items, Map, Word, merge
from ..stacks import kinds as stacks
from ..stacks.node import Neighbour, Node
from .sense import check_command

if TYPE_CHECKING:
    from .file import Event, Flow, Lab, Link, Reader

KEYS = ("kind", "node", "number", "address", "command", "ready", "ready_within", "stop", "stop_within", "stop_command", "enter", "files", "bin", "services", "ping")
OF_BOTH = ("node", "number", "address")  # also of heliod
SIGNALS = ("INT", "TERM", "QUIT", "KILL")
PORTS = 4          # of its own, {port_1} …
MTU = "65535B"     # of UDP to dtn7-rs, which joins no fragments


@dataclasses.dataclass
class Stack:
    """As the lab file has it."""
    kind: str
    keys: Map
    place: tuple[Any, ...]
    files: dict[str, Any]      # name in the node's folder -> path of the template
    services: list[Any]


# ---- the lab file ----


def kind_of(keys: Any) -> Any:
    return keys.get("kind", stacks.OWN)


def read(reader: Reader, name: Any, common: Map, own: Map) -> Any:
    """The node's keys and its stack; None: it is one of heliod. Keys for all nodes that are not of its kind are for the others."""
    keys = merge(common, own)
    kind = keys.get("kind")
    if kind is None or kind == stacks.OWN:
        keys = merge(of_kind(common, lambda key: key not in KEYS or key in OF_BOTH), own)
        keys.pop("kind", None)
        return keys, None
    what = f"nodes.{name}"
    if not isinstance(kind, Word) or kind not in stacks.KINDS:
        reader.wrong(keys.key("kind"), f"{what}.kind: \"{kind}\" is no kind of node; {advice.meant(kind, stacks.KINDS)}")
        return Map(), None
    if "kind" in own:
        keys = merge(of_kind(common, lambda key: key in KEYS), own)
    for key in keys:
        if key not in KEYS:
            reader.wrong(key, f"{what}.{key}: a node of kind {kind} has no such key, which is of heliod; there are {', '.join(KEYS)}")
    stack = Stack(str(kind), keys, name.place, read_files(reader, keys, what), read_services(reader, keys, what))
    for key, parse in (("ready_within", units.duration), ("stop_within", units.duration), ("stop", units.word_of(*SIGNALS)), ("ping", units.word_of("yes", "no"))):
        reader.parsed(keys, key, f"{what}.", parse)
    for key in ("command", "stop_command", "enter", "ready", "bin"):
        reader.word(keys, key, f"{what}.")
    if kind == "command" and "command" not in keys:
        reader.wrong(keys.key("kind"), f"{what}: command: is missing: what runs the node")
    return Map((key, value) for key, value in keys.items() if key in ("node", "number", "address")), stack


def of_kind(common: Map, wanted: Callable[..., Any]) -> Map:
    out = Map((key, value) for key, value in common.items() if wanted(key))
    out.place = common.place
    return out


def read_files(reader: Reader, keys: Any, what: str) -> Any:
    out = {}
    for name, path in reader.map(keys.get("files", Map()), f"{what}.files").items():
        full = places.beside(reader.base, path) if isinstance(path, Word) else ""
        if not os.path.isfile(full):
            reader.wrong(path, f"{what}.files.{name}: there is no file {full}")
        elif "/" in name:
            reader.wrong(name, f"{what}.files.{name}: the name of a file in the node's folder is wanted")
        else:
            out[str(name)] = full
    return out


def read_services(reader: Reader, keys: Any, what: str) -> Any:
    out = reader.items(keys.get("services", Items()), f"{what}.services")
    for service in out:
        if not isinstance(service, Word) or not service:
            reader.wrong(service, f"{what}.services: a list of services is wanted, such as [1, 7]")
    return [str(service) for service in out]


def others(lab: Lab) -> dict[str, Any]:
    return {name: node for name, node in lab.nodes.items() if node.stack is not None}


def stack_of(lab: Lab, name: Any) -> Any:
    node = lab.nodes.get(name)
    return node.stack if node is not None else None


# ---- what such nodes cannot do ----


def check(reader: Reader, lab: Lab) -> None:
    """What is wrong in the file, whatever the mode."""
    for link in lab.links.values():
        for end in link.ends:
            if stack_of(lab, end) is not None:
                check_link(reader, lab, link, end)
    for flow in lab.traffic:
        check_flow(reader, lab, flow)
    for event in lab.events:
        if event.whom in lab.links:
            check_event(reader, lab, event, lab.links[event.whom])
    for node in others(lab).values():
        check_node(reader, lab, node)


def check_link(reader: Reader, lab: Lab, link: Link, end: Any) -> None:
    stack, other = lab.nodes[end].stack, lab.nodes[link.other(end)]
    said = f"{end} is of kind {stack.kind}"
    known = stacks.ADAPTERS.get(stack.kind)
    if known and link.adapter not in known:
        reader.wrong(link.keys.key("adapter") or link, f"{link.what}.adapter: {said}, which has no {link.adapter}; it has {', '.join(known)}")
    if link.station is not None:
        reader.wrong(link.station, f"{link.what}.station: {said}; a ground station is between two nodes of heliod")
    for keys in (link.keys, *link.at.values()) if stack.kind != "command" else ():
        for group in (group for group in stacks.GROUPS if group in keys and mode_of(keys[group]) != "off"):
            reader.wrong(keys.key(group), f"{link.what}.{group}: {said}, which has no {group}")
    for key in link.at.get(end, ()):
        if key not in ("segment", "sessions", "rate"):
            reader.wrong(key, f"{link.what}.ends.{end}.{key}: {said}; of its end segment, sessions and rate can be set")
    if stack.kind in stacks.IPN_ONLY and other.keys.get("node", "ipn:").startswith("dtn:"):
        reader.wrong(other.keys.key("node"), f"nodes.{other.name}.node: {said}, which knows ipn numbers only")


def mode_of(value: Any) -> Any:
    return value.get("mode", "off") if isinstance(value, Map) else value


def check_node(reader: Reader, lab: Lab, node: Any) -> None:
    links = [link for link in lab.links.values() if node.name in link.ends]
    if node.stack.kind in stacks.IPN_ONLY and node.keys.get("node", "ipn:").startswith("dtn:"):
        reader.wrong(node.keys.key("node"), f"nodes.{node.name}.node: kind {node.stack.kind} has ipn numbers only")
    if node.stack.kind == "ud3tn" and len(links) > 1:
        reader.wrong(node, f"nodes.{node.name}: kind ud3tn listens at one address, so it has one link here; there are {', '.join(link.name for link in links)}")
    for key in ("command", "stop_command", "enter"):
        text = node.stack.keys.get(key)
        if not isinstance(text, Word):
            continue
        check_command(reader, text, f"nodes.{node.name}.{key}")
        known = stacks.values(sketch(lab, node, links))
        wrong = stacks.unknown(text, known)
        if wrong:
            reader.wrong(text, f"nodes.{node.name}.{key}: there is no {{{wrong}}}; there are {', '.join(known)}")


def sketch(lab: Lab, node: Any, links: Any) -> Any:
    """With the names of all values, before there are addresses."""
    ends = [lab.nodes[link.other(node.name)] for link in links]
    return Node(node.stack.kind, node.name, node.number, node.endpoint("0"), "", "", tuple(Neighbour(end.name, "", 0, "", ":0", ":0", True, None, 0.0, 0, 0) for end in ends), (), (),
                (0,) * PORTS)


def check_flow(reader: Reader, lab: Lab, flow: Flow) -> None:
    source, target = stack_of(lab, flow.source), stack_of(lab, flow.target)
    if flow.kind == "run" or source is None and target is None:
        return
    end = flow.source if source is not None else flow.target
    said = f"{flow.what}.{flow.kind}: {end} is of kind {lab.nodes[end].stack.kind}"
    if flow.kind != "ping" or source is not None:
        program = "helio-ping" if flow.kind == "ping" else "helio-perf"
        reader.wrong(flow, f"{said}, and {program} runs at nodes of heliod; write run: {end} and a command of that stack")
    elif not echoes(target):
        reader.wrong(flow, f"{said}, which answers no ping; if it does, write ping: yes for it")


def echoes(stack: Any) -> Any:
    return stack.keys.get("ping", "yes" if stack.kind in stacks.ECHOES else "no") == "yes"


def check_event(reader: Reader, lab: Lab, event: Event, link: Link) -> None:
    foreign = [end for end in link.ends if stack_of(lab, end) is not None]
    if len(foreign) == 2 and event.do != "set":
        reader.wrong(event, f"events: {link.name}: do: {event.do} is of an end at heliod, and both are of other stacks; use outages of the channel")
    for key in event.set:
        if key.startswith(tuple(f"ends.{end}." for end in foreign)):
            reader.wrong(event.set.key(key), f"events set: {key}: a node of kind {lab.nodes[key.split('.')[1]].stack.kind} cannot be changed while it runs")


def refuse(lab: Lab, mode: str) -> None:
    """In virtual time there are only our own programs."""
    for node in others(lab).values():
        raise places.PlacesError(f"{places.where(node.stack.keys.key('kind') or node)}: nodes.{node.name}.kind: a node of kind {node.stack.kind} is a real process; mode {mode} has "
                                 "none; take --mode local or --mode netns")


def wrong_port(lab: Lab, link: Link, relay: Any) -> Any:
    """(value, text) of a link whose relay does not know its second node; None. A relay distinguishes directions by that node's address."""
    stack = stack_of(lab, link.ends[1])
    if not relay or stack is None or stack.kind not in stacks.ODD_PORTS:
        return None
    turned = "-".join(link.ends[::-1])
    help_ = "take --mode netns, or channel: no" if stack_of(lab, link.ends[0]) is not None else f"name the link {turned}, or take --mode netns"
    return link, (f"{link.what}: {link.ends[1]} is of kind {stack.kind}, which sends from another port than it receives at, and a relay knows the second node "
                  f"by its port; {help_}")


def connects(lab: Lab, link: Link, i: int) -> bool:
    """Does the link's end number i open the connection of tcpcl? A node of heliod listens for one of another stack."""
    first, second = (stack_of(lab, end) is not None for end in link.ends)
    return i == (1 if second and not first else 0)


def own_end(lab: Lab, link: Link, i: int) -> dict[str, Any]:
    """Keys that our end of a link to such a node gets."""
    stack = stack_of(lab, link.ends[1 - i])
    return {"mtu": MTU} if stack is not None and stack.kind == "dtn7-rs" and link.adapter == "udp" else {}
