# SPDX-License-Identifier: Apache-2.0
"""What the programs of a lab's traffic say about the words that they would get, before anything is started.

helio-perf and helio-ping check all of their options and only then look for their node. No node is at the socket yet, so a program that
gets that far has no objection.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import places, programs
from ..processes import Failed
from . import file, stack_files

if TYPE_CHECKING:
    from .derive import Derived

NO_NODE = "no node answers"
USAGE = 2
# The keys of an option, the first that a flow has; programs name an option by its long name, or by its short one.
KEYS: dict[str, tuple[str, ...]] = {
    **{option: (key,) for key, option in file.PERF.items()}, "-d": ("service",), "-F": ("path",), "-c": ("count",), "-i": ("interval",), "-s": ("size",),
    "--destination": ("service",), "--file": ("path",), "--count": ("count",), "--interval": ("interval",), "--size": ("size",), "--time": ("duration",),
    "--data": ("data",), "--window": ("window",), "--rate": ("rate",), "--payload": ("payload", "size"), "--lifetime": ("lifetime",), "--priority": ("priority",)}


def objection(words: list[str]) -> str | None:
    """Its first line, without the program's name. The folder of its --json is made later, with the lab."""
    command = [programs.find(words[0]), *(os.devnull if before == "--json" else word for before, word in zip(words, words[1:]))]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace") as p:
        assert p.stderr is not None
        line = p.stderr.readline()
        if NO_NODE in line:
            p.kill()
            return None
        p.stderr.read()
    return re.sub(rf"^{words[0]}( client| server)?: ", "", line.strip()) if p.returncode == USAGE else None


def named(flow: file.Flow, text: str) -> str:
    """An objection, of the lab file: with the place and the key instead of the option."""
    match = re.match(r"(-\w|--[\w-]+): (.*)", text)
    key = next((key for key in KEYS.get(match[1], ()) if key in flow.keys), None) if match else None
    if match and key:
        word = flow.keys[key]
        said = re.sub(r'^"[^"]*"', lambda _: f'"{word}"', match[2])  # the lab's word, of which a program gets another form
        return f"{places.where(word)}: {flow.what}.{key}: {said}"
    for option, names in KEYS.items():
        text = re.sub(rf"(?<![\w-]){re.escape(option)}(?![\w-])", names[0], text)
    return f"{places.where(flow)}: {flow.what}: {text}"


def check(derived: Derived) -> None:
    """PlacesError with all objections."""
    said = [named(command.flow, text) for command in derived.clients if command.flow.kind != "run" and (text := objection(command.words))]
    if said:
        raise places.PlacesError("\n".join(said))


def missing(derived: Derived) -> Iterator[tuple[Any, str]]:
    """(place, text) of each program that is not installed: of nodes, and of traffic's `run`."""
    yield from stack_files.missing(derived)
    base = os.path.abspath(derived.lab.base)
    for command in derived.clients:
        if command.flow.kind != "run" or "{" in command.words[0]:
            continue
        program, stack = command.words[0], derived.stacks.get(command.node)
        path = stack_files.path_of(stack) if stack else os.pathsep.join((os.path.dirname(programs.find("heliod")), os.environ.get("PATH", os.defpath)))
        if not shutil.which(os.path.join(stack.node.folder if stack else base, program) if "/" in program else program, path=path):
            yield command.flow.keys["command"], f"{command.flow.what}.command: there is no program {program}"


def need_programs(derived: Derived) -> None:
    said = [f"{places.where(places.put('', one.place))}: {text}" for one, text in missing(derived)]
    if said:
        raise Failed("\n".join(said))


def without_consequences(said: list[str]) -> list[str]:
    """Without what only follows from a mistake in a channel: its delay gives the timer, its contacts the plan."""
    if any(re.search(r"\.delay\b", line) for line in said):
        said = [line for line in said if ".rto: neither rto nor owlt is given" not in line]
    if any(re.search(r": (both|forward|return)\.contacts\b", line) for line in said):
        said = [line for line in said if not re.search(r": contacts\[", line)]
    return said
