# SPDX-License-Identifier: Apache-2.0
"""Valid settings of a lab file without effect: traffic that cannot send or cannot reach its destination, and actions that would begin after the end of the lab."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from .. import units

if TYPE_CHECKING:
    from .file import Flow, Lab, Link, Node, Reader

COUNTS = ("window", "count")  # whole numbers
LEAST = {"payload": (1, "a bundle has at least one byte, such as 50kB"), "window": (1, "at least one bundle is on its way, such as 20"),
         "count": (1, "at least one, such as 5"), "data": (1, "at least one byte, such as 10MB"), "duration": (1, "a time above 0, such as 10s"),
         "rate": (1, "bundles or bits a second above 0, such as 1Mbit/s or 20b"), "interval": (1, "a time above 0, such as 1s")}


def number(key: str, text: Any) -> float | None:
    """The value, as far as it has to be known here; None: the program that reads it says what is wrong."""
    try:
        if key in ("payload", "data"):
            return units.amount(text)
        if key in ("duration", "interval"):
            return units.seconds(text) * 1e9
        if key == "rate":
            return float(text[:-1]) if text.endswith("b") else units.rate(text)
        return int(text)
    except ValueError:
        return None


def check_values(reader: Reader, flow: Flow) -> None:
    for key, (least, right) in LEAST.items():
        word = flow.keys.get(key)
        if not isinstance(word, str):
            continue
        value = number(key, word)
        if value is not None and value < least:
            reader.wrong(word, f"{flow.what}.{key}: \"{word}\" is too little: {right}")
        elif value is None and key in COUNTS:
            reader.wrong(word, f"{flow.what}.{key}: \"{word}\" is no whole number: {right}")


def check_pairs(reader: Reader, flow: Flow) -> None:
    """Keys of which the other one would do nothing."""
    for one, other in (("duration", "data"), ("window", "rate")):
        if one in flow.keys and other in flow.keys:
            reader.wrong(flow.keys.key(other), f"{flow.what}.{other}: there is {one} already; write one of both")


def check_command(reader: Reader, text: Any, what: str) -> None:
    """Is the value of the key `what` the words of a command?"""
    try:
        if not shlex.split(text):
            reader.wrong(text, f"{what}: is empty; write a program and its words")
    except ValueError as e:
        reader.wrong(text, f"{what}: \"{text}\": {str(e).lower()}; quotes have two ends")


def parts(nodes: dict[str, Node], links: dict[str, Link]) -> dict[str, str]:
    """Each node's name with that of one node of those that it is connected with."""
    of = {name: name for name in nodes}

    def root(name: str) -> str:
        while of[name] != name:
            name = of[name]
        return name

    for link in links.values():
        of[root(link.ends[0])] = root(link.ends[1])
    return {name: root(name) for name in nodes}


def check_course(reader: Reader, flow: Flow, nodes: dict[str, Node], part: dict[str, str]) -> None:
    """Nodes with additional links, in heliod's own words, may reach others by routes that are not known here."""
    if flow.target is None or part[flow.source] == part[flow.target]:
        return
    if any("links" in node.keys for name, node in nodes.items() if part[name] in (part[flow.source], part[flow.target])):
        return
    reader.wrong(flow.keys.key(flow.kind) if flow.kind in flow.keys else flow,
                 f"{flow.what}.{flow.kind}: no links lead from {flow.source} to {flow.target}; add one below links:, such as {flow.source}-{flow.target}: {{}}")


def check(reader: Reader, lab: Lab) -> None:
    part = parts(lab.nodes, lab.links)
    if lab.duration is not None and lab.duration <= 0:
        reader.wrong(lab.tree["duration"], f"duration: \"{lab.tree['duration']}\" is too little: a time above 0, such as 10s")
        return
    for flow in lab.traffic:
        check_values(reader, flow)
        check_pairs(reader, flow)
        if flow.kind == "run" and "command" in flow.keys:
            check_command(reader, flow.keys["command"], f"{flow.what}.command")
        check_course(reader, flow, lab.nodes, part)
        try:
            late = lab.duration is not None and flow.start >= lab.duration
        except ValueError:
            continue  # that has been reported
        if late:
            reader.wrong(flow.keys["start"] if "start" in flow.keys else flow,
                         f"{flow.what}.start: the lab is over after {units.duration_text(lab.duration)} (duration:), and this traffic starts then: write an earlier start:, or a longer duration:")
    for event in lab.events:
        if lab.duration is not None and event.at >= lab.duration:
            reader.wrong(event, f"{event.whom}: the lab is over after {units.duration_text(lab.duration)} (duration:), and this event is at "
                                f"{units.duration_text(event.at)}: write an earlier at:, or a longer duration:")
