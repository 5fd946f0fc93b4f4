# SPDX-License-Identifier: Apache-2.0
"""Other stacks in a campaign's file: what commands run them, checked, with the place of every key.

A system is a list of processes that are started one after another, each when the one before is ready, and the traffic, which
begins last. Words and files have the run's settings in place of {names}.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import units
from . import sim

if TYPE_CHECKING:
    from .file import Reader

OWN = "heliograph"
FORMAT = 2         # of the values that they get
PLACE = re.compile(r"(?<!\$)\{([a-z][a-z0-9_]*)\}")
PORTS = 8          # further ones, {port_1} …
READY = "20s"      # that a process may take
END = "10s"        # to end when it is asked to
WITHIN = "60s"     # that the traffic may take beyond the duration
SIGNALS = ("INT", "TERM", "QUIT", "KILL")
TIMES = ("delay", "rto", "processing", "duration")
SIZES = ("bundle", "segment")
NAMES = frozenset([*(f"{t}{end}" for t in (*TIMES, "rtt") for end in ("", "_s", "_ms", "_us")), *(f"{s}{end}" for s in SIZES for end in ("", "_bytes")),
                   "rate", "rate_bps", "sessions", "seed", "folder", "sender_port", "receiver_port", "relay_port", "return_port",
                   "rate_bytes", "payload_rate_bps", "data_bytes", "pipeline_bytes", "bundles", "light_ms", "margin_ms", "light_s",
                   *(f"port_{i}" for i in range(1, PORTS + 1))])


@dataclasses.dataclass(frozen=True)
class Process:
    """A command of a system."""
    key: str           # its place in the file, for messages
    name: str
    command: str
    ready: str | None = None  # a regular expression on its output; None: as soon as it runs
    ready_within: str = READY
    stop: str = "INT"
    stop_command: str | None = None
    stop_within: str = END
    cpu: str = "yes"   # whether its processor time is the stack's


@dataclasses.dataclass(frozen=True)
class System:
    """Another stack, as the campaign's file has it."""
    name: str
    title: str
    processes: tuple[Any, ...]
    traffic: Process
    traffic_within: str  # beyond the duration; None: it is stopped then
    files: tuple[Any, ...]         # (name in the run's folder, path of the template)
    engines: tuple[Any, ...]       # LTP engine numbers of sender and receiver
    own_return: bool     # the return direction has a relay of its own
    path: str            # of the campaign's file

    def described(self) -> Any:
        """All that a result depends on."""
        texts = []
        for _, path in self.files:
            with open(path, encoding="utf-8") as f:
                texts.append(f.read())
        return repr((FORMAT, dataclasses.replace(self, path="", title=""), texts))

    def names(self) -> Any:
        """That its commands and files have in braces."""
        found = set(PLACE.findall(" ".join(f"{p.command} {p.stop_command or ''}" for p in (*self.processes, self.traffic))))
        for _, path in self.files:
            with open(path, encoding="utf-8") as f:
                found.update(PLACE.findall(f.read()))
        return found


# ---- times, as others want them ----


def seconds_of(v: Any) -> Any:
    """The times of a run. There is no `auto` for others: they get the timer that ours begins with."""
    seconds = {name: units.duration(v[name]) for name in TIMES if v[name] != "auto"}
    seconds["rtt"] = 2 * seconds["delay"] + seconds["processing"]
    seconds.setdefault("rto", sim.auto_timer(seconds["rtt"]))
    return seconds


def whole_times(seconds: Any) -> Any:
    """In whole numbers, rounded up: HDTN has milliseconds of light time and margin, its timer is twice their sum; ION seconds of light time."""
    light = max(1, math.ceil(1e3 * seconds["delay"] - 1e-9))
    return {"light_ms": light, "margin_ms": max(1, math.ceil(500 * seconds["rto"] - 1e-9) - light), "light_s": max(1, math.ceil(seconds["delay"] - 1e-9))}


def roundings(system: Any, v: Any) -> Iterator[Any]:
    """Values of the used names that differ from the real ones, as text."""
    seconds, used = seconds_of(v), system.names()
    whole = whole_times(seconds)
    timer = 2 * (whole["light_ms"] + whole["margin_ms"])
    for name, told, meant in (("light_ms", whole["light_ms"] / 1e3, "delay"), ("margin_ms", timer / 1e3, "rto"), ("light_s", whole["light_s"], "delay")):
        if name in used and abs(told - seconds[meant]) > 1e-9:
            yield f"system {system.name}: {{{name}}} is whole: {meant} is {units.duration_text(told)} there, not {units.duration_text(seconds[meant])}"


# ---- the file ----


def unknown_names(text: Any) -> Any:
    return [name for name in PLACE.findall(text) if name not in NAMES]


def command_of(reader: Reader, node: Any, key: Any) -> Any:
    text: Any = reader.scalar(node, key, str)
    wrong = unknown_names(text)
    if wrong:
        reader.fail(node, f"{key}: there is no {{{wrong[0]}}}; there are {', '.join(sorted(NAMES))}")
    try:
        if not shlex.split(text):
            reader.fail(node, f"{key}: a command is wanted")
    except ValueError as e:
        reader.fail(node, f"{key}: {e}")
    return text


def pattern_of(value: Any) -> Any:
    try:
        re.compile(str(value))
    except re.error as e:
        raise ValueError(f"\"{value}\" is no regular expression: {e}") from None
    return str(value)


def time_of(value: Any) -> Any:
    units.duration(value)
    return str(value)


PROCESS = {"name": str, "ready": pattern_of, "ready_within": time_of, "stop": units.word_of(*SIGNALS), "stop_within": time_of, "cpu": units.word_of("yes", "no")}


def process_of(reader: Reader, node: Any, key: Any, more: Any = ()) -> Any:
    keys = reader.mapping(node, (*PROCESS, "command", "stop_command", *more), key)
    if "command" not in keys:
        reader.fail(node, f"{key}: a command is missing")
    found: Any = {name: reader.scalar(keys[name], f"{key}.{name}", parse) for name, parse in PROCESS.items() if name in keys}
    for name in ("command", "stop_command"):
        if name in keys:
            found[name] = command_of(reader, keys[name], f"{key}.{name}")
    name = found.pop("name", key.rsplit(".", 1)[-1])
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        reader.fail(node, f"{key}.name: \"{name}\" may have letters, digits, - and _ only")
    return keys, Process(f"{reader.path}:{node.start_mark.line + 1}: {key}", name, **found)


def files_of(reader: Any, node: Any, key: Any, base: Any) -> Any:
    found = []
    for name, value in reader.mapping(node, AnyName(), key).items():
        path = os.path.join(base, reader.scalar(value, f"{key}.{name}", str))
        if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*", name) or not os.path.isfile(path):
            reader.fail(value, f"{key}.{name}: there is no file {path}, or the name is not one")
        found.append((name, path))
    return tuple(found)


class AnyName:
    """Keys that are the user's own."""

    def __contains__(self, _: str) -> bool:
        return True


def engine_of(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**64:
        raise ValueError(f"\"{value}\" is no engine number")
    return value


def system_of(reader: Any, name: str, node: Any, base: Any) -> Any:
    key = f"systems.{name}"
    if name == OWN or not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        reader.fail(node, f"{key}: \"{name}\" is not to be had as a name")
    keys = reader.mapping(node, ("title", "processes", "traffic", "files", "engines", "return"), key)
    if "traffic" not in keys:
        reader.fail(node, f"{key}: traffic is missing: the command that sends")
    lists = {what: getattr(keys.get(what), "value", []) for what in ("processes", "engines")}
    processes = tuple(process_of(reader, one, f"{key}.processes.{i}")[1] for i, one in enumerate(lists["processes"]))
    more, traffic = process_of(reader, keys["traffic"], f"{key}.traffic", ("within", "ends"))
    names = [p.name for p in (*processes, traffic)]
    if len(set(names)) < len(names):
        reader.fail(node, f"{key}: two processes have one name")
    ends = reader.scalar(more["ends"], f"{key}.traffic.ends", units.word_of("itself", "stopped")) if "ends" in more else "itself"
    within: Any = reader.scalar(more["within"], f"{key}.traffic.within", time_of) if "within" in more else WITHIN
    engines = tuple(reader.scalar(one, f"{key}.engines", engine_of) for one in lists["engines"]) or (1, 2)
    if len(engines) != 2 or engines[0] == engines[1]:
        reader.fail(keys["engines"], f"{key}.engines: two numbers are wanted, the sender's and the receiver's")
    own = "return" in keys and reader.scalar(keys["return"], f"{key}.return", units.word_of("same", "own")) == "own"
    files = files_of(reader, keys["files"], f"{key}.files", base) if "files" in keys else ()
    title: Any = reader.scalar(keys["title"], f"{key}.title", str) if "title" in keys else name
    return System(name, title, processes, traffic, within if ends == "itself" else None, files, engines, own, reader.path)


def systems_of(reader: Reader, node: Any, base: Any) -> Any:
    return {name: system_of(reader, name, one, base) for name, one in reader.mapping(node, AnyName(), "systems").items()}
