# SPDX-License-Identifier: Apache-2.0
"""Nodes of other implementations: from the lab to the files in their folders and the commands that run them.

The files of each kind are in stacks.py. The contact plan of ION and HDTN is the lab's, written by helio-plan. What can go wrong: one of their
programs is not installed, which is reported before anything starts.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import places, programs, units
from ..places import merge
from ..processes import private
from ..stacks import kinds as stacks
from ..stacks.node import Neighbour, Node, Plan, Route
from . import plan as lab_plan, routes as lab_routes, shared, stacks as lab_stacks

if TYPE_CHECKING:
    from .derive import Derived as LabDeriveDerived
    from .file import Lab

SEGMENT, SESSIONS = 1024, 100
HORIZON = "1000d"      # end of contacts that do not end: HDTN and ION count no further than 2038
UNLIMITED = "1Gbit/s"  # of a contact without a rate: ION paces itself by it, and knows no other


@dataclasses.dataclass
class Derived:
    """A node's files and how it is run."""
    node: Node
    plan: Plan
    bin: str | None
    files: dict[str, Any]      # path -> text
    place: tuple[Any, ...]


def folder_of(folder: str, node: Any) -> Any:
    return os.path.join(folder, f"node{node.number}")


def rate_of(text: Any) -> Any:
    try:
        return None if text in (None, "unlimited") else int(units.rate(text))
    except units.UnitError:
        return None  # reported elsewhere


def number_of(text: Any, default: Any) -> Any:
    return int(text) if isinstance(text, str) and text.isdigit() else default


def neighbour(deriver: Any, link: Any, i: int) -> Any:
    """What the link's end number i has to know."""
    lab, other = deriver.lab, deriver.lab.nodes[link.ends[1 - i]]
    (local, remote), keys = deriver.addresses.ends(link)[0][i], merge(link.keys, link.at.get(link.ends[i]))
    way = shared.WAYS[i]
    rates = [rate for rate in (rate_of(keys.get("rate")), *(rate_of(shared.rate(one, way)) for one in link.passes if one.channel is not None)) if rate is not None]
    delay = lab_plan.longest_delay(link)
    try:
        segment = int(units.size(keys.get("segment", f"{SEGMENT}B")))
    except units.UnitError:
        segment = SEGMENT
    eid = other.keys.get("node", f"ipn:{other.number}.0")
    return Neighbour(other.name, eid, other.number, link.adapter, local, remote, lab_stacks.connects(lab, link, i), max(rates, default=None),
                     units.duration(delay) if delay else 0.0, segment, number_of(keys.get("sessions"), SESSIONS))


def routes(lab: Lab, name: str, neighbours: Any) -> Any:
    """One to each other node, over a neighbour that is nearest to it."""
    out = []
    for target in lab.nodes.values():
        away = lab_routes.distances(lab, target.name)
        by = sorted((away[one.name], i, one) for i, one in enumerate(neighbours) if one.name in away)
        if target.name != name and by:
            out.append(Route(target.keys.get("node", f"ipn:{target.number}.0"), target.number, by[0][2].eid, by[0][2].name, by[0][2].number))
    return tuple(out)


def derive_node(deriver: Any, node: Any) -> Any:
    lab, stack = deriver.lab, node.stack
    links = [link for link in lab.links.values() if node.name in link.ends]
    near = tuple(neighbour(deriver, link, link.ends.index(node.name)) for link in links)
    eid = node.keys.get("node", f"ipn:{node.number}.0")
    services = tuple(stack.services) or (("1", "7") if eid.startswith("ipn:") else ("in",))
    made = Node(stack.kind, node.name, node.number, eid, folder_of(deriver.folder, node), deriver.out.sockets[node.name], near, routes(lab, node.name, near), services,
                deriver.addresses.own_ports(node.name), lab_stacks.echoes(stack))
    known = stacks.values(made)
    plan = changed(stacks.plan_of(made), stack, known)
    files = {os.path.join(made.folder, name): text for name, text in plan.files.items()}
    for name, path in stack.files.items():
        with open(path, encoding="utf-8") as f:
            files[os.path.join(made.folder, name)] = stacks.fill(f.read(), known)
    bin_ = stack.keys.get("bin")
    return Derived(made, plan, os.path.abspath(places.beside(lab.base, bin_)) if bin_ else None, files, node.place)


def changed(plan: Any, stack: Any, known: Any) -> Any:
    """With what the lab file says in place of what is derived."""
    keys = stack.keys
    if "command" in keys:
        plan = stacks.own_command(plan, keys["command"], known)
    words = {key: tuple(stacks.fill(word, known) for word in shlex.split(keys[key])) for key in ("stop_command", "enter") if key in keys}
    return dataclasses.replace(plan, **words, **{key: str(keys[key]) for key in ("ready", "ready_within", "stop", "stop_within") if key in keys})


def plan_of(deriver: Any) -> Any:
    """The contact plan for stacks that cannot do without one, when the lab has none: contacts that do not end."""
    out = lab_plan.contact_plan(deriver.lab, deriver.begin, HORIZON)
    for contact in out["contacts"]:
        if contact["rate"] == "unlimited":
            contact["rate"] = places.put(UNLIMITED, contact.place)
    return out


def write(derived: LabDeriveDerived) -> None:
    """The nodes' folders. ProgramError if helio-plan cannot write the contacts."""
    for one in derived.stacks.values():
        os.makedirs(one.node.folder, exist_ok=True)
        for path, text in one.files.items():
            with open(path, "w", encoding="utf-8", opener=private) as f:
                f.write(text)
        if one.plan.contacts and os.path.join(one.node.folder, one.plan.contacts[0]) not in one.files:
            write_contacts(derived.contacts, one)


def write_contacts(plan: Any, one: Any) -> None:
    name, form = one.plan.contacts
    path = os.path.join(one.node.folder, name)
    done = subprocess.run([programs.find("helio-plan"), "convert", plan, "--to", form, "-o", path], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise programs.ProgramError(done.stderr.strip())
    if form == "ion":  # it delivers bundles of its own applications over a contact with itself
        number, rate = one.node.number, 100_000_000
        with open(path, "a", encoding="utf-8") as f:
            f.write(f"a contact +0 +{units.duration(HORIZON):.0f} {number} {number} {rate}\n")


# ---- programs ----


def path_of(one: Any) -> Any:
    """Where the node's programs are looked for; ours are behind all others."""
    return os.pathsep.join(filter(None, [one.bin, os.environ.get("PATH", os.defpath), os.path.dirname(programs.find("heliod"))]))


def environment(one: Any) -> Any:
    out = {**os.environ, "PATH": path_of(one), **one.plan.env}
    library = os.path.join(os.path.dirname(one.bin), "lib") if one.bin else ""
    if os.path.isdir(library):
        out["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [library, os.environ.get("LD_LIBRARY_PATH")]))
    return out


def missing(derived: LabDeriveDerived) -> Iterator[Any]:
    """(place, text) of each node whose programs are not all installed."""
    for name, one in derived.stacks.items():
        gone = [program for program in one.plan.programs if not shutil.which(os.path.join(one.node.folder, program) if program.startswith("./") else program, path=path_of(one))]
        if gone:
            where = f"neither in {one.bin} nor in PATH" if one.bin else "not in PATH; bin: names its folder"
            yield one, f"nodes.{name}: kind {one.node.kind} needs {', '.join(gone)}: {where}"
