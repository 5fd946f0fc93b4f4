# SPDX-License-Identifier: Apache-2.0
"""Where bundles of a running lab wait, and why; and what each node says of one bundle. Nodes are asked as by `helioctl backlog`, `bundles` and `why`."""

from __future__ import annotations

import asyncio
from typing import Any

from ..client import NodeError
from ..control import Control

PATIENCE = 3.0        # seconds that a node has to answer
DESTINATIONS_MAX = 5  # of a node: those with most bytes
SAID = ("where", "why", "tried", "next", "known")
FAILURES = (NodeError, OSError, ValueError, asyncio.TimeoutError)


def id_of(bundle: Any) -> str:
    """As `helioctl why` takes it at each node."""
    return f"{bundle['source']},{bundle['created_ms']},{bundle['sequence']}"


async def waits_at(node: Any) -> Any:
    """Of each destination: how much waits, and what the node says of its oldest bundle."""
    found = []
    backlog = (await node.ask("backlog"))["backlog"]
    for row in sorted(backlog, key=lambda one: -int(one["bytes"]))[:DESTINATIONS_MAX]:
        one = {key: row[key] for key in ("destination", "bundles", "bytes", "oldest_ms")}
        name = row["destination"]  # of a node; "others" is none
        oldest = (await node.ask("bundles", destination=name.removesuffix(".0") + ".*", sort="age", limit=1))["bundles"] if name.startswith("ipn:") else []
        if oldest:
            one.update({"id": id_of(oldest[0]), **await said_of(node, str(oldest[0]["key"]))})
        found.append(one)
    return found


async def said_of(node: Any, bundle: str) -> Any:
    try:
        told = await node.ask("why", bundle=bundle)
    except NodeError as e:
        return {"where": None, "why": str(e)}  # it has left meanwhile, or is no bundle's id
    return {key: told.get(key) for key in SAID}


async def ask_one(path: str, bundle: str) -> Any:
    try:
        async with Control(path, timeout=PATIENCE) as node:
            return await said_of(node, bundle)
    except FAILURES as e:
        return {"where": None, "why": str(e) or "no answer"}


async def way_of(bundle: str, controls: Any) -> Any:
    """What each node says of a bundle: its way so far."""
    told = await asyncio.gather(*(ask_one(path, bundle) for path in controls.values()))
    return [{"node": name, **said} for name, said in zip(controls, told)]
