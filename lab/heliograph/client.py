# SPDX-License-Identifier: Apache-2.0
"""Applications of a node, with asyncio, over AAP 2.0 (docs/python.md):

    async with Client("/run/node.sock", "ipn:1.7") as me:
        await me.send("ipn:2.7", b"hello")

    async with Client("/run/node.sock", "ipn:2.7", subscribe=True) as me:
        async for adu in me:              # answered when the loop comes back for the next one
            print(adu.source, adu.payload)
"""

from __future__ import annotations

import asyncio
import enum
import os
import secrets
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import TracebackType

MAGIC = 0x2F
MESSAGE_MAX = 65536
_WELCOME, _CONFIG, _ADU, _KEEPALIVE, _CANCEL = 1, 2, 3, 6, 100
_SUCCESS, _ACK, _ERROR = 1, 2, 8


class Flag(enum.IntFlag):
    """Of a bundle (RFC 9171 §4.2.3)."""
    NO_FRAGMENT = 0x04
    REPORT_TIME = 0x40
    REPORT_RECEPTION = 0x4000
    REPORT_FORWARDING = 0x10000
    REPORT_DELIVERY = 0x20000
    REPORT_DELETION = 0x40000


class Priority(enum.IntEnum):
    BULK = 1
    NORMAL = 2
    EXPEDITED = 3


class NodeError(Exception):
    """The node refused, or ended the connection; the text says why."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Sent:
    """What names a bundle that the node has taken."""
    source: str
    destination: str
    created_ms: int
    sequence: int


@dataclass(frozen=True)
class Adu:
    """A received bundle."""
    source: str
    destination: str
    payload: bytes
    created_ms: int = 0
    sequence: int = 0
    is_report: bool = False
    priority: Priority = Priority.NORMAL
    flags: Flag = field(default=Flag(0))


def unreachable(socket: str, error: OSError) -> NodeError:
    """Nobody listens at the path of a socket."""
    what = "no such socket; start heliod, or write the path of its configuration" if isinstance(error, FileNotFoundError) else error.strerror
    return NodeError(f"no node answers at {socket}: {what}")


def _check(name: str, value: object, kinds: type | tuple[type, ...], right: str) -> None:
    """TypeError with the name of an argument, and what it has to be."""
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r:.80} ({type(value).__name__}); write {right}")


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _pack(fields: list[tuple[int, int | str | bytes]]) -> bytes:
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            if value:
                out += _varint(number << 3) + _varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += _varint(number << 3 | 2) + _varint(len(data)) + data
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    n = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise NodeError("the node sent what is no message")
        n |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return n, at


def _unpack(data: bytes) -> dict[int, int | bytes]:
    """{number: last value}; packed lists are bytes."""
    fields: dict[int, int | bytes] = {}
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        if tag & 7 == 0:
            fields[tag >> 3], at = _read_varint(data, at)
        elif tag & 7 == 2:
            n, at = _read_varint(data, at)
            if at + n > len(data):
                raise NodeError("the node sent what is no message")
            fields[tag >> 3] = data[at:at + n]
            at += n
        else:
            raise NodeError("the node sent what is no message")
    return fields


def _text(fields: dict[int, int | bytes], number: int) -> str:
    v = fields.get(number, b"")
    return v.decode() if isinstance(v, bytes) else ""


def _number(fields: dict[int, int | bytes], number: int) -> int:
    v = fields.get(number, 0)
    return v if isinstance(v, int) else 0


def _bytes(fields: dict[int, int | bytes], number: int) -> bytes:
    v = fields.get(number, b"")
    return v if isinstance(v, bytes) else b""


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def message(self) -> dict[int, int | bytes]:
        try:
            size = shift = 0
            while True:
                byte = (await self.reader.readexactly(1))[0]
                size |= (byte & 0x7F) << shift
                shift += 7
                if not byte & 0x80:
                    break
                if shift > 28:
                    raise NodeError("the node sent what is no message")
            if size > MESSAGE_MAX:
                raise NodeError("the node sent a message that is too long")
            return _unpack(await self.reader.readexactly(size))
        except asyncio.IncompleteReadError:
            raise NodeError("the node ended the connection") from None

    def write(self, fields: list[tuple[int, int | str | bytes]], payload: bytes = b"") -> None:
        data = _pack(fields)
        self.writer.write(_varint(len(data)) + data + payload)

    async def answer(self) -> dict[int, int | bytes]:
        """The node's answer, when it is a good one."""
        f = await self.message()
        if _number(f, 1) not in (_SUCCESS, _ACK):
            raise NodeError(_text(f, 100) or "the node refused", _number(f, 1))
        return f


class Client:
    """One connection as one endpoint: it sends, or with subscribe=True receives. What is not one number or path is typed
    as the node's own names: endpoint "ipn:1.7" or "dtn://name/demux"; an agent id alone ("7", "demux") is one of the node."""

    def __init__(self, socket: str, endpoint: str, *, subscribe: bool = False, secret: str | None = None, window: int = 1,
                 payload_max: int = 1 << 30, timeout: float = 10) -> None:
        """timeout: for each answer of the node until the connection is open, seconds."""
        _check("socket", socket, (str, os.PathLike), "the path of the node's socket as a str")
        _check("endpoint", endpoint, str, f'a str such as "{endpoint}" or "ipn:1.7"' if isinstance(endpoint, int) else 'a str such as "ipn:1.7"')
        socket = os.fspath(socket)
        self.socket, self.endpoint, self.subscribe = socket, endpoint, subscribe
        self.secret = secret if secret is not None else secrets.token_hex(16)
        self.window, self.payload_max, self.timeout = window, payload_max, timeout
        self.node = ""
        self._connection: _Connection | None = None
        self._lock = asyncio.Lock()
        self._unanswered: deque[None] = deque()

    async def __aenter__(self) -> Client:
        await self.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def open(self) -> None:
        try:
            c = _Connection(*await asyncio.open_unix_connection(self.socket))
        except OSError as e:
            raise unreachable(self.socket, e) from None
        self._connection, self.node = c, ""
        try:
            await asyncio.wait_for(self._greet(c), self.timeout)
        except (asyncio.TimeoutError, TimeoutError):
            await self.close()
            raise NodeError(self._silence() if not self.node else f"the node does not answer within {self.timeout} s") from None
        except BaseException:
            await self.close()
            raise

    def _silence(self) -> str:
        if self.socket.endswith(".ctl"):
            return (f"{self.socket} is the control socket; applications connect to {self.socket[:-4]} (socket: in the node's configuration), "
                    "operators with Control")
        return (f"{self.socket}: nobody greets within {self.timeout} s: the node hangs, or this is its control socket; applications connect to "
                "socket: of its configuration")

    async def _greet(self, c: _Connection) -> None:
        if await c.reader.read(1) != bytes([MAGIC]):
            raise NodeError(f"{self.socket} does not speak AAP 2.0 (the control socket does not)")
        self.node = _text(_unpack(_bytes(await c.message(), _WELCOME)), 1)
        if "://" not in self.endpoint and not self.endpoint.startswith(("ipn:", "imc:", "dtn:")):
            self.endpoint = self.node[:-1] + self.endpoint if self.node.startswith("ipn:") else self.node + self.endpoint
        c.write([(_CONFIG, _pack([(1, int(self.subscribe)), (3, self.secret), (4, self.endpoint), (100, self.window)]))])
        await c.answer()

    async def close(self) -> None:
        c, self._connection = self._connection, None
        if c is not None:
            c.writer.close()
            try:
                await c.writer.wait_closed()
            except OSError:
                pass

    def _open(self) -> _Connection:
        if self._connection is None:
            raise NodeError("not connected")
        return self._connection

    async def send(self, destination: str, payload: bytes, *, lifetime_s: float = 0, flags: Flag = Flag(0), report_to: str = "",
                   priority: Priority | None = None, ordinal: int = 0) -> Sent:
        """Returns when the node has taken it (stored it, when its store is durable)."""
        _check("destination", destination, str, 'an endpoint as a str, such as "ipn:2.7"')
        _check("payload", payload, (bytes, bytearray, memoryview), "bytes" + (": payload.encode()" if isinstance(payload, str) else ""))
        _check("lifetime_s", lifetime_s, (int, float), "seconds as a number, such as 3600")
        _check("report_to", report_to, str, 'an endpoint as a str, such as "ipn:1.8"')
        if not 0 <= lifetime_s < float("inf"):
            raise ValueError(f"lifetime_s is {lifetime_s}; write seconds from 0 on (0: the node's default)")
        payload = bytes(payload)
        c = self._open()
        head: list[tuple[int, int | str | bytes]] = [
            (2, destination), (5, len(payload)), (100, round(1000 * lifetime_s)), (101, int(flags)),
            (103, int(priority) if priority is not None else 0), (104, ordinal)]
        if report_to:
            head.append((7, report_to))
        async with self._lock:
            c.write([(_ADU, _pack(head))], payload)
            await c.writer.drain()
            try:
                b = _unpack(_bytes(await c.answer(), 3))
            except NodeError as e:  # the node says which field of the message is none
                for field, name, value in (("dst_eid", "destination", destination), ("report_to_eid", "report_to", report_to)):
                    if str(e).startswith(f"{field} is not an endpoint id"):
                        raise NodeError(f"{name} is \"{value}\", which is no endpoint id; write one such as ipn:2.7", e.status) from None
                raise
        return Sent(_text(b, 1) or self.endpoint, destination, _number(b, 3), _number(b, 4))

    async def cancel(self, bundle: Sent) -> bool:
        """Takes it back; False: it has left the node, or was never there."""
        c = self._open()
        async with self._lock:
            c.write([(_CANCEL, _pack([(1, bundle.created_ms), (2, bundle.sequence)]))])
            await c.writer.drain()
            try:
                await c.answer()
            except NodeError as e:
                if e.status != 11:
                    raise
                return False
        return True

    async def receive(self) -> Adu:
        """The next one; accept() or refuse() answers it."""
        c = self._open()
        while True:
            m = await c.message()
            if _ADU in m:
                break
            if _KEEPALIVE in m:
                c.write([(1, _ACK)])
                await c.writer.drain()
        head = _unpack(_bytes(m, _ADU))
        length = _number(head, 5)
        if length > self.payload_max:
            raise NodeError(f"a payload of {length} bytes is longer than payload_max")
        try:
            payload = await c.reader.readexactly(length)
        except asyncio.IncompleteReadError:
            raise NodeError("the node ended the connection") from None
        self._unanswered.append(None)
        report = head.get(6, 0)
        return Adu(_text(head, 1), _text(head, 2), payload, _number(head, 3), _number(head, 4),
                   report == 3 or report == b"\x03", Priority(_number(head, 103) or 2), Flag(_number(head, 101)))

    async def _answer(self, status: int) -> None:
        if not self._unanswered:
            raise NodeError("nothing waits for an answer")
        self._unanswered.popleft()
        c = self._open()
        c.write([(1, status)])
        await c.writer.drain()

    async def accept(self) -> None:
        """The oldest delivery is ours now: the node forgets it."""
        await self._answer(_SUCCESS)

    async def refuse(self) -> None:
        """The node keeps the oldest delivery for the next subscriber."""
        await self._answer(_ERROR)

    async def __aiter__(self) -> AsyncIterator[Adu]:
        while True:
            adu = await self.receive()
            yield adu
            await self.accept()
