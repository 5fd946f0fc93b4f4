#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends a text to an endpoint, or prints what comes for one: hello.py SOCKET send EID TEXT | hello.py SOCKET receive AGENT

In the tree: PYTHONPATH=lab python3 examples/python/hello.py …; without it after pip install ./lab"""

import asyncio
import sys

from heliograph.client import Client, NodeError


async def main() -> int:
    if len(sys.argv) < 4 or sys.argv[2] not in ("send", "receive"):
        print(__doc__, file=sys.stderr)
        return 2
    socket, what, eid = sys.argv[1:4]
    try:
        if what == "send":
            async with Client(socket, "4711") as me:
                print(await me.send(eid, " ".join(sys.argv[4:]).encode()))
            return 0
        async with Client(socket, eid, subscribe=True) as me:
            async for adu in me:
                print(f"{adu.source}: {adu.payload.decode(errors='replace')}", flush=True)
    except NodeError as e:
        print(f"hello.py: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
