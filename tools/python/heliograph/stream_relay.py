#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A wide area network for TCP on one machine: what comes in goes on after a delay, at a rate at most.

usage: stream_relay.py --listen ADDR:PORT --to ADDR:PORT [--delay S] [--rate BIT/S] [--return-delay S] [--return-rate BIT/S] [--json FILE]

Each connection has one of its own to the other side, which is made when it has come. Octets keep their order, none is lost: who sends
faster than the rate waits, as behind a long line; so does who has WAY octets under way, as in virtual time (helio-sim). TCP itself
ends here at both sides, so its window does not see the delay. The end of a stream is delayed as well; a broken one is broken, and
what was under way is lost. FILE has the account at the end: `forward` is from who calls.
"""
import argparse
import asyncio
import collections
import contextlib
import dataclasses
import json
import signal
import socket
import sys
import time

WAY = 4 << 20    # octets of one direction that are under way
PIECE = 64 << 10


@dataclasses.dataclass
class Account:
    """Of one way, all connections together. What came in has gone out, was lost when its connection broke, or is under way."""
    in_bytes: int = 0
    out_bytes: int = 0
    lost_bytes: int = 0
    queued_bytes: int = 0


class Direction:
    """From one side to the other. What was read waits until its time has come."""

    def __init__(self, reader, writer, delay, rate, account):
        self.reader, self.writer, self.delay, self.rate, self.account = reader, writer, delay, rate, account
        self.line_free = 0.0  # when the last octet has left for the line
        self.waiting = collections.deque()  # (when, octets); b"" is the end
        self.held = 0
        self.changed = asyncio.Event()

    async def read(self):
        while True:
            while self.held >= WAY:
                self.changed.clear()
                await self.changed.wait()
            octets = await self.reader.read(PIECE)
            now = time.monotonic()
            self.line_free = max(now, self.line_free) + (len(octets) * 8 / self.rate if self.rate else 0.0)
            self.waiting.append((self.line_free + self.delay, octets))
            self.held += len(octets)
            self.account.in_bytes += len(octets)
            self.account.queued_bytes += len(octets)
            self.changed.set()
            if not octets:
                return

    async def write(self):
        while True:
            while not self.waiting:
                self.changed.clear()
                await self.changed.wait()
            due, octets = self.waiting[0]
            wait = due - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            self.waiting.popleft()
            if not octets:
                self.writer.write_eof()
                return
            self.writer.write(octets)
            await self.writer.drain()
            self.held -= len(octets)
            self.account.out_bytes += len(octets)
            self.account.queued_bytes -= len(octets)
            self.changed.set()

    async def run(self):
        await asyncio.gather(self.read(), self.write())

    def lose(self):
        """What is under way goes nowhere; nothing more of it counts."""
        self.account.lost_bytes += self.held
        self.account.queued_bytes -= self.held
        self.account = Account()


def break_off(writer):
    """As the other side did: with a reset."""
    with contextlib.suppress(OSError):  # it may be closed already
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    writer.transport.abort()


class Relay:
    def __init__(self, options):
        self.options = options
        self.connections = set()
        self.accepted = 0
        self.accounts = {"forward": Account(), "return": Account()}
        self.over = False

    async def take(self, reader, writer):
        self.connections.add(asyncio.current_task())
        o, others, ways = self.options, None, ()
        self.accepted += 1
        try:
            others = await asyncio.open_connection(*o.to)
            for one in (writer, others[1]):
                one.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ways = (Direction(reader, others[1], o.delay, o.rate, self.accounts["forward"]),
                    Direction(others[0], writer, o.return_delay, o.return_rate, self.accounts["return"]))
            await asyncio.gather(*(way.run() for way in ways))
            writer.close()
            others[1].close()
        except (OSError, asyncio.CancelledError):
            for one in (writer, others[1] if others else None):
                if one is not None:
                    break_off(one)
            for way in ways if not self.over else ():
                way.lose()
        finally:
            self.connections.discard(asyncio.current_task())

    async def run(self):
        over = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, over.set)
        server = await asyncio.start_server(self.take, *self.options.listen, limit=PIECE)
        print(f"stream relay {':'.join(map(str, self.options.listen))} to {':'.join(map(str, self.options.to))}, ready", flush=True)
        await over.wait()
        self.over = True
        server.close()
        for task in list(self.connections):
            task.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)
        if self.options.json:
            with open(self.options.json, "w", encoding="utf-8") as f:
                json.dump({"connections": self.accepted, **{way: dataclasses.asdict(one) for way, one in self.accounts.items()}}, f)


def address(text):
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--listen", type=address, required=True)
    p.add_argument("--to", type=address, required=True)
    for name in ("--delay", "--rate", "--return-delay", "--return-rate"):
        p.add_argument(name, type=float, default=0.0)
    p.add_argument("--json")
    try:
        asyncio.run(Relay(p.parse_args()).run())
    except OSError as e:
        print(f"stream relay: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
