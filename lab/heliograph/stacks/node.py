# SPDX-License-Identifier: Apache-2.0
"""A node of another stack, as the lab has it, and what is derived for it: files and commands."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Neighbour:
    """The other end of one of its links."""
    name: str
    eid: str
    number: int
    adapter: str
    local: str          # HOST:PORT where it receives
    remote: str         # HOST:PORT where it sends to: the neighbour, or the emulator between
    connects: bool      # tcpcl: it opens the connection
    rate: int | None    # bit/s of what it sends; None: unlimited
    delay: float        # longest, of one direction, seconds
    segment: int        # LTP: bytes
    sessions: int       # LTP: at a time


@dataclasses.dataclass(frozen=True)
class Route:
    eid: str            # of the node that it leads to
    number: int
    via: str            # EID of the neighbour
    via_name: str
    via_number: int


@dataclasses.dataclass(frozen=True)
class Node:
    kind: str
    name: str
    number: int
    eid: str
    folder: str
    socket: str         # where applications would find it
    neighbours: tuple[Neighbour, ...]
    routes: tuple[Route, ...]    # one to each other node
    services: tuple[str, ...]    # that it registers at its start
    ports: tuple[int, ...]       # of its own
    echo: bool = True            # does it answer pings, where the stack can?


@dataclasses.dataclass(frozen=True)
class Plan:
    """What it is run with. Commands are words; relative names are in the node's folder."""
    files: dict[str, str]
    command: tuple[str, ...]
    ready: str | None = None           # a regular expression on its messages; None: as soon as it runs
    ready_within: str = "60s"
    stop: str = "TERM"
    stop_within: str = "10s"
    stop_command: tuple[str, ...] = ()
    enter: tuple[str, ...] = ()        # in front of commands at the node
    programs: tuple[str, ...] = ()     # that have to be installed
    env: dict[str, str] = dataclasses.field(default_factory=dict)
    contacts: tuple[str, str] | None = None  # (name, form) of its contact plan, which helio-plan writes
    serves: bool = False               # AAP 2.0 at the node's socket
