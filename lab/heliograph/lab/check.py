# SPDX-License-Identifier: Apache-2.0
"""Is a lab right, as the mode has it that it would run in? Nothing is started."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from typing import TYPE_CHECKING, Any

from . import derive as lab_derive, live, objections, sim

if TYPE_CHECKING:
    from .file import Lab


OUT = "OUT"  # in what is shown: the folder of the run


def derive(lab: Lab, mode: str, folder: str) -> tuple[Any, ...]:
    """As that mode has it, with any ports; what is derived, and what its events are checked by."""
    if mode == "sim":
        return sim.derive(lab, folder, folder), None, None
    addresses: Any = lab_derive.SpaceAddresses(lab) if mode == "netns" else lab_derive.Addresses(lab, 20000)
    begin = live.utc(int(time.time()) + 60)
    return lab_derive.derive(lab, folder, folder, addresses, begin), addresses, begin


def check(lab: Lab, mode: str) -> list[Any]:
    """Lets each program read what it would get; PlacesError. What is not installed, as (whose place it has, text)."""
    with tempfile.TemporaryDirectory(prefix="helio-lab-") as folder:
        derived, addresses, begin = derive(lab, mode, folder)
        lab_derive.write(derived)
        lab_derive.check(derived)
        objections.check(derived)
        if mode == "sim":
            sim.command_line(lab, derived)
        else:
            lab_derive.check_events(lab, addresses, begin)
        return list(objections.missing(derived))


def shown(lab: Lab, mode: str, name: str) -> Any:
    """The text of the derived files, each under its name; of one node with its command, or (name None) all."""
    with tempfile.TemporaryDirectory(prefix="helio-lab-") as folder:
        derived, _, _ = derive(lab, mode, folder)
        lab_derive.write(derived)
        stack = derived.stacks.get(name)
        if stack is not None:
            paths, command = in_folder(stack), stack.plan.command
        elif name is not None:
            paths, command = [derived.nodes[name]], ("heliod", derived.nodes[name])
        else:
            paths, command = [*derived.configs, *(path for one in derived.stacks.values() for path in in_folder(one))], ()
        out = []
        for path in paths:
            with open(path, encoding="utf-8") as f:
                out.append(f"==> {path} <==\n{f.read().rstrip()}\n")
        if command:
            out.append(f"==> command of {name} <==\n{shlex.join(command)}\n")
        return "\n".join(out).replace(folder, OUT)


def in_folder(stack: Any) -> Any:
    return [os.path.join(stack.node.folder, name) for name in sorted(os.listdir(stack.node.folder))]
