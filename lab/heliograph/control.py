# SPDX-License-Identifier: Apache-2.0
"""An operator of a node, with asyncio: what helioctl does, over the same socket (docs/helioctl.md).

    async with Control("/run/node.sock.ctl") as node:
        print(await node.links())
        await node.ask("link-set", name="to-2", keys="rate: 1Mbit/s")
"""

from __future__ import annotations

import asyncio
import json
from types import TracebackType
from typing import Any

from .client import MAGIC, NodeError, unreachable


class Control:
    def __init__(self, socket: str, *, timeout: float = 3) -> None:
        self.socket, self.timeout = socket, timeout
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Control:
        try:
            self._streams = await asyncio.wait_for(asyncio.open_unix_connection(self.socket, limit=1 << 28), self.timeout)
        except OSError as e:
            raise unreachable(self.socket, e) from None
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()

    async def ask(self, command: str, **words: Any) -> dict[str, Any]:
        """The node's answer; NodeError with its text when it refuses, or does not answer in time."""
        if self._streams is None:
            raise NodeError("not connected")
        reader, writer = self._streams
        async with self._lock:
            writer.write(json.dumps({"cmd": command, **words}).encode() + b"\n")
            await writer.drain()
            try:
                line = await asyncio.wait_for(self._line(reader), self.timeout)
            except (asyncio.TimeoutError, TimeoutError):
                raise NodeError(f"the node does not answer within {self.timeout} s") from None
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            raise NodeError(f"what answers at {self.socket} is no control socket") from None
        if not answer.pop("ok", False):
            raise NodeError(answer.get("error", "the node refused"))
        return answer

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        first = await reader.read(1)
        if first == bytes([MAGIC]):
            raise NodeError(f"{self.socket} is the application socket; the control socket is {self.socket}.ctl (or what control: says in "
                            "the node's configuration)")
        line = first + await reader.readline()
        if not line.endswith(b"\n"):
            raise NodeError("the node ended the connection")
        return line

    async def status(self) -> dict[str, Any]:
        return await self.ask("status")

    async def links(self) -> list[dict[str, Any]]:
        links: list[dict[str, Any]] = (await self.ask("links"))["links"]
        return links

    async def bundles(self, **words: Any) -> list[dict[str, Any]]:
        """Words as of helioctl: destination, source, link, state, priority, sort, limit."""
        bundles: list[dict[str, Any]] = (await self.ask("bundles", **words))["bundles"]
        return bundles

    async def counters(self) -> dict[str, Any]:
        return await self.ask("counters")

    async def watch(self) -> dict[str, Any]:
        """Node and links as top shows them, the links as objects."""
        answer = await self.ask("top")
        return {"node": answer["node"], "links": [dict(zip(answer["columns"], row)) for row in answer["rows"]]}
