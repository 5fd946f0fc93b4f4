# SPDX-License-Identifier: Apache-2.0
"""Links that are handed over from channel to channel, as from one ground station to the next.

    channels: {station-a: {delay: 8ms, rate: 20Mbit/s}, station-b: {delay: 30ms, rate: 40Mbit/s}}
    links: {sat-centre: {handover: [{at: 0, channel: station-a}, {at: 60s, channel: station-b, gap: 500ms}]}}

The emulator of all links hands over (docs/helio-emu-links.md); here is what nodes must know of it: rates and overheads, when they
change: when they are handed over, and when an event changes a channel.
Order of times and what can be lost is checked by helio-emu, which reads the file that is made of this.
"""

from __future__ import annotations

import bisect
import dataclasses
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import advice, units
from ..places import Items, Map, Word, merge, put
from . import station as lab_station

if TYPE_CHECKING:
    from .file import Lab, Link, Reader

KEYS = ("at", "channel", "gap", "in_flight")
WAYS = ("forward", "return")
STREAMS = ("tcpcl",)
UNTOLD = {"rate": "unlimited", "overhead": "42B"}  # of an adapter, and of a channel


@dataclasses.dataclass
class Channel:
    """Has the keys of a link's channel, but transmits nothing unless a link is handed over to it."""
    name: str
    channel: Map    # the scenario
    place: tuple[Any, ...]
    lines: dict[str, Any] = dataclasses.field(default_factory=dict)
    station = None
    overs = ()

    @property
    def what(self) -> Any:
        return f"channels.{self.name}"

    @property
    def passes(self) -> Any:
        return [self]


@dataclasses.dataclass
class Over:
    at: float
    gap: float
    channel: Channel  # None: nothing passes
    keys: Map


@dataclasses.dataclass
class Stay:
    """From begin to end (None: for ever) a link passes this channel; `over` is the link itself when it has its own."""
    over: Any
    begin: float
    end: float | None


@dataclasses.dataclass
class Step:
    """The pacing that an end of a link gets for the channel that it uses from then on: its rate, its overhead, or both."""
    at: float
    link: str
    end: int
    keys: Any


# ---- of the lab file ----


def channel_keys(way: tuple[str, ...], whole: tuple[str, str, str]) -> tuple[str, ...]:
    return (*way, *whole, "overhead", "forward", "return", "scenario")


def read_channels(reader: Reader, way: tuple[str, ...], whole: tuple[str, str, str]) -> dict[str, Any]:
    """By name."""
    common, out = reader.map(reader.tree.get("link", Map()), "link"), {}
    allowed = channel_keys(way, whole)
    for name, value in reader.map(reader.tree.get("channels", Map()), "channels").items():
        what = f"channels.{name}"
        keys = merge(Map((key, inner) for key, inner in common.items() if key in allowed), reader.map(value, what, allowed))
        keys.place = name.place
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name) or name == "none":
            reader.wrong(name, f"{what}: a name has 1 to 32 letters, digits, - and _, and is not none")
        else:
            out[str(name)] = Channel(str(name), reader.channel_of(keys, what, name.place), name.place)
    return out


def link_keys(reader: Reader, name: str, common: Map, own: Any, way: tuple[str, ...], whole: tuple[str, str, str]) -> Map:
    """The keys of a link. A link that is handed over has no keys of a channel, even if all links have them, except an overhead of its own."""
    keys = merge(common, own)
    if "handover" not in keys:
        return keys
    if "overhead" not in (own or ()):
        keys.pop("overhead", None)
    if "station" in keys:
        reader.wrong(keys.key("station"), f"links.{name}.station: a link over a ground station is not handed over; leave station or handover away")
    refused = (*(key for key in channel_keys(way, whole) if key != "overhead"), "channel", "station")
    for key in own or ():
        if key in refused and key != "station":
            reader.wrong(own.key(key), f"links.{name}.{key}: what is handed over has no channel of its own; write it at the channels that it passes")
    out = Map((key, value) for key, value in keys.items() if key not in refused)
    out.place = keys.place
    return out


def read(reader: Reader, links: dict[str, Link], channels: dict[str, Any]) -> None:
    """The lists of all links, which name channels."""
    for link in links.values():
        if link.handover is None:
            continue
        what = f"links.{link.name}.handover"
        if link.adapter in STREAMS:
            reader.wrong(link.handover, f"{what}: {link.adapter} is a stream, which is not handed over; take an adapter of datagrams, such as ltp-udp")
        items = reader.items(link.handover, what)
        if not items and link.handover in ("", []):
            reader.wrong(link.handover, f"{what}: is empty; write a list such as [{{at: 0, channel: {next(iter(channels), 'NAME')}}}]")
        link.overs = [one for i, item in enumerate(items) if (one := read_over(reader, item, f"{what}.{i}", channels))]
        if items and not any(over.channel for over in link.overs) and not reader.errors:
            reader.wrong(link.handover, f"{what}: it passes no channel; write at least one")
    passed = {over.channel.name for link in links.values() for over in link.overs if over.channel}
    for name, one in channels.items():
        if name in links:
            reader.wrong(put(name, one.place), f"channels.{name}: a link has this name; write another one")
        elif name not in passed and not reader.errors:
            reader.wrong(put(name, one.place), f"channels.{name}: no link is handed over to it; write a handover, or leave it away")


def read_over(reader: Reader, item: Any, what: str, channels: Any) -> Any:
    if not isinstance(item, Map):
        reader.wrong(item, f"{what}: write a map such as {{at: 60s, channel: {next(iter(channels), 'NAME')}}}")
        return None
    keys = reader.map(item, what, KEYS)
    at: Any = reader.parsed(keys, "at", f"{what}.", units.duration)
    gap: Any = reader.parsed(keys, "gap", f"{what}.", units.duration, 0.0)
    reader.parsed(keys, "in_flight", f"{what}.", lab_station.one_of("arrives", "lost"))
    name = keys.get("channel")
    if at is None and "at" not in keys:
        reader.wrong(item, f"{what}.at: is missing, such as at: 60s")
    if not isinstance(name, Word) or name != "none" and name not in channels:
        right = advice.meant(name, (*channels, "none"))
        reader.wrong(name if isinstance(name, Word) else item, f"{what}.channel: " + (f"there is no channel \"{name}\"; {right}" if name else f"is missing; {right}"))
        return None
    return None if at is None else Over(at, gap or 0.0, channels.get(str(name)), keys)


# ---- what is derived ----


def stays(link: Link) -> list[Stay]:
    """What a link passes, one after the other; of one that is not handed over itself, for ever."""
    if not link.overs:
        return [Stay(link, 0.0, None)]
    ends = [over.at for over in link.overs[1:]] + [None]
    return [Stay(over.channel, over.at + over.gap, end) for over, end in zip(link.overs, ends) if over.channel]


def meet(lab: Lab, name: str) -> bool:
    """Do two links pass the channel at the same time?"""
    found = sorted((stay.begin, math.inf if stay.end is None else stay.end) for link in lab.links.values() for stay in stays(link) if stay.over.name == name)
    return any(then[0] < before[1] for before, then in zip(found, found[1:]))


def paced(link: Link, end: Any, over: Any, pace: Any) -> Any:
    """The keys of an end when this channel paces it; pace: values of the channel and its direction. Values of the link or its end in the file do not change."""
    own = {**link.keys, **link.at.get(link.ends[end], {})}
    return {key: str(own.get(key) or value or UNTOLD[key]) for key, value in pace(over, WAYS[end]).items()}


def pacing(found: Any, at: Any) -> Any:
    """Of a link's stays, which channel paces its ends at that time: the one that it passes, or passed last; before the first one, the first."""
    return found[max(bisect.bisect_right([stay.begin for stay in found], at) - 1, 0)].over


def turns(lab: Lab) -> list[Any]:
    """When links begin to pass a channel, in order of time."""
    return sorted({stay.begin for link in lab.links.values() if link.overs for stay in stays(link)})


def steps(versions: list[tuple[float, Lab]], pace: Callable[..., Any]) -> list[Any]:
    """The changes of the pacing of a link's end, in order of time. versions: (from when on, the lab as events have changed it)."""
    out, since = [], [at for at, _ in versions]
    for name, link in versions[0][1].links.items():
        told = [paced(link, i, link.passes[0], pace) for i in range(2)] if link.overs else []
        known = [(lab.links[name], stays(lab.links[name])) for _, lab in versions]
        for at in sorted({*since, *(stay.begin for stay in stays(link))}) if told else ():
            then, found = known[bisect.bisect_right(since, at) - 1]
            for i, before in enumerate(told):
                told[i] = paced(then, i, pacing(found, at), pace)
                keys = {key: value for key, value in told[i].items() if value != before[key]}
                if keys:
                    out.append(Step(at, name, i, keys))
    return sorted(out, key=lambda step: float(step.at))


def config(link: Any, called: Any) -> Any:
    """The list as the emulator has it."""
    out = Items()
    for over in link.overs:
        keys = Map((put("link", key.place) if key == "channel" else key, put(called[value], value.place) if key == "channel" and value != "none" else value)
                   for key, value in over.keys.items())
        keys.place = over.keys.place
        out.append(keys)
    out.place = link.handover.place
    return out


def line(name: str, shown: Any) -> Any:
    """The account, for people."""
    via: dict[str, Any] = {}
    for way in WAYS:
        for channel, one in shown[way]["via"].items():
            via[channel] = via.get(channel, 0) + one["in"]
    parts = ", ".join(f"{channel} {frames}" for channel, frames in via.items())
    return f"{'handed over ' + name:<16} {shown['done']} of {shown['planned']} times; frames by {parts or 'none'}; in gaps {sum(shown[way]['gap'] for way in WAYS)}"
