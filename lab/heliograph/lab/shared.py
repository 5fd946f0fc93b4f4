# SPDX-License-Identifier: Apache-2.0
"""A lab with one emulator: all its relays are links of one process (helio-emu links; in virtual time helio-sim --links), with
one clock and one account, and directions of links may share a transmitter.

    emulator: one
    shared: {uplink: {of: [gs-leo1.forward, gs-leo2.forward], rate: 20Mbit/s, queue: 200ms}}

What a transmitter's keys may be is checked by helio-emu, which reads the file that is made of this.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import places, units
from ..places import Items, Map, Word, put
from . import handover, station

if TYPE_CHECKING:
    from .derive import Derived
    from .file import Lab, Link, Reader
    from .sim import Addresses

KEYS = ("of", "rate", "queue", "codel", "mark", "changes")  # of a transmitter
LINE = ("rate", "queue", "codel", "mark")                   # that its directions have none of
CHANGES = ("rate", "delay", "iid", "duplicate", "corrupt", "bit_errors")  # of a direction, while the emulator runs
WHOLE = ("overhead", "seed", "exempt", "tolerance")  # of a channel
WAYS = ("forward", "return")
QUEUE = "64MB"   # of a line, by default
WAIT_MAX = 1.0  # of a queue, for the timers


@dataclasses.dataclass
class Transmitter:
    of: list[Any]        # of (link, direction)
    keys: Map       # all but `of`
    place: Word     # its name


# ---- of the lab file ----


def members(tree: Map) -> set[str]:
    """The words of all lists `of`, before anything of them is checked: such links have a channel."""
    shared = tree.get("shared")
    lists = [one.get("of") for one in shared.values() if isinstance(one, Map)] if isinstance(shared, Map) else []
    return {str(word) for items in lists if isinstance(items, Items) for word in items if isinstance(word, Word)}


def read(reader: Reader, links: dict[str, Link], channels: Any) -> tuple[dict[str, Transmitter], bool]:
    """(transmitters by name, is there one emulator); each link gets its own."""
    tree, out = reader.tree, {}
    wanted = reader.parsed(tree, "emulator", "", station.one_of("one", "each"))
    for name, value in reader.map(tree.get("shared", Map()), "shared").items():
        what = f"shared.{name}"
        value = reader.map(value, what, KEYS)
        if not value.get("of"):
            reader.wrong(name, f"{what}.of: is missing; write which directions share it, such as of: [{next(iter(links), 'A-B')}.forward]")
            continue
        if value.get("rate") != "unlimited":  # the emulator rejects it; else the senders would report it
            reader.parsed(value, "rate", f"{what}.", units.rate)
        of = [one for word in reader.items(value["of"], f"{what}.of") if (one := direction(reader, word, links, channels, f"{what}.of"))]
        out[str(name)] = Transmitter(of, Map((key, word) for key, word in value.items() if key != "of"), name)
        out[str(name)].keys.place = value.place
        for link, way in of:
            holder: Any = channels.get(link) or links[link]
            holder.lines[way] = out[str(name)].keys
            for key in LINE:
                if key in holder.channel[way]:
                    kind = "channels" if link in channels else "links"
                    reader.wrong(holder.channel[way].key(key), f"{kind}.{link}.{way}.{key}: this direction has the line of {what}; leave {key} away, or write it there")
    handed = any(link.overs for link in links.values())
    if out and wanted == "each":
        reader.wrong(tree["emulator"], "emulator: links share a transmitter in one emulator only; write one, or leave it away")
    elif handed and wanted == "each":
        reader.wrong(tree["emulator"], "emulator: links are handed over in one emulator only; write one, or leave it away")
    return out, bool(out) or handed or wanted == "one"


def direction(reader: Reader, word: Word, links: dict[str, Link], channels: dict[str, Any], what: str) -> tuple[str, str] | None:
    """LINK.WAY as two; None, and said, when it is none that can be shared."""
    link, dot, way = str(word).rpartition(".")
    if not isinstance(word, Word) or not dot or way not in WAYS:
        reader.wrong(word, f"{what}: \"{word}\" is not understood; write a link and one way of it, such as {next(iter(links), 'A-B')}.forward")
    elif link in channels:
        return link, way
    elif link in links and links[link].handover is not None:
        reader.wrong(word, f"{what}: links.{link} is handed over, so its channels can share a transmitter; write such as {next(iter(channels), 'NAME')}.{way}")
    elif link not in links:
        reader.wrong(word, f"{what}: {reader.no_link(put(link, word.place), links)}")
    elif links[link].channel is None:
        reader.wrong(word, f"{what}: links.{link} has no channel; leave its channel: no away")
    else:
        return link, way
    return None


def rate(link: Link, way: str) -> Any:
    """The line of one direction, its own or a shared one (if it is handed over: of its first channel); None: there is none."""
    link = link.passes[0]
    line: Any = link.lines.get(way) or (link.channel[way] if link.channel is not None else {})
    return line.get("rate")


def pace(passed: Link, way: str) -> dict[str, Word | None]:
    """The pacing of senders in this direction of a link or a channel; None: the adapter's default."""
    return {"rate": rate(passed, way), "overhead": passed.passes[0].channel.get("overhead")}


def wait(lab: Lab, link: Link) -> float:
    """The longest time in seconds that a datagram of the link, or its answer, may be in queues that others fill as well: in each direction that of the longest of its channels."""
    return sum(max(line_wait(lab, passed, way) for passed in link.passes) for way in WAYS)


def line_wait(lab: Lab, passed: Link, way: str) -> float:
    """A second at most: with a deeper queue that would be too long for a segment that was lost."""
    of = next((one.of for one in lab.shared.values() if (passed.name, way) in one.of), [(passed.name, way)])
    keys = passed.lines.get(way) or (passed.channel[way] if passed.channel is not None else {})
    if len(of) == 1 and not handover.meet(lab, passed.name) or keys.get("rate", "unlimited") == "unlimited":
        return 0.0
    result: float = min(queue_time(keys), WAIT_MAX)
    return result


def queue_time(keys: Any) -> Any:
    queue = str(keys.get("queue", QUEUE))
    try:
        return units.duration(queue)
    except units.UnitError:
        pass
    try:
        return 8 * units.size(queue) / units.rate(keys["rate"])
    except (units.UnitError, KeyError, ZeroDivisionError):
        return WAIT_MAX  # none, or reported elsewhere


# ---- what is derived ----


def names(channels: dict[str, str]) -> dict[str, str]:
    """What the emulator calls them: it takes 32 letters, digits, - and _. None is called as another one."""
    out = {}
    for i, name in enumerate(channels, 1):
        out[name] = name if re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name) else f"channel_{i}"
        while out[name] != name and out[name] in channels:
            out[name] += "_"
    return out


def config(lab: Lab, derived: Derived, addresses: Addresses, start: str) -> Map:
    """The emulator's file: the links' scenarios and addresses, the transmitters."""
    called, of = names(derived.channels), {}
    tree = Map({put("start", None): put(start, None), put("links", None): Map()})
    for link in lab.links.values():
        for name, ways, at in addresses.pieces(link) if link.channel is not None else ():
            if at is None:
                continue  # streams, whose channels are beside it
            one: Any = {"scenario": derived.channels[name], "listen": at["listen"], "to": at["to"], "return_to": at["back"]}
            if link.overs:
                one = {**(derived.gaps.get(name, {})), **one, "handover": handover.config(link, called)}
                del one["scenario"]
            tree["links"][put(called[name], link.place)] = put(one, link.place)
            of.update({(link.name, way): f"{called[name]}.{WAYS[i]}" for i, way in enumerate(ways) if way})
    for name, one in lab.channels.items():
        tree["links"][put(called[name], one.place)] = put({"scenario": derived.channels[name]}, one.place)
        of.update({(name, way): f"{called[name]}.{way}" for way in WAYS})
    if lab.shared:
        tree[put("shared", None)] = Map()
    for name, one in lab.shared.items():
        for link, way in one.of:
            if (link, way) not in of:
                raise places.PlacesError(f"{places.where(one.place)}: shared.{name}.of: {link}.{way} has streams, whose channel is "
                                         "beside those of datagrams and shares no transmitter; leave it away")
        keys = Map({put("of", one.place.place): put([of[direction_] for direction_ in one.of], one.place.place), **one.keys})
        keys.place = one.keys.place
        tree["shared"][put(name, one.place.place)] = keys
    return tree


# ---- what changes while it runs ----


def flat(way: Any) -> Any:
    out = {key: value for key, value in way.items() if key != "erasures"}
    erasures = dict(way.get("erasures", {}))
    if "iid" in erasures:
        out["iid"] = erasures.pop("iid")
    return {**out, "erasures": erasures}


def whole_changed(before: Link, after: Link) -> list[Any]:
    """Keys of the channel as a whole that are others."""
    return [key for key in WHOLE if places.plain(before.channel.get(key)) != places.plain(after.channel.get(key))]


def changes(before: Any, after: Any, pieces: Any, said: Callable[[str], str]) -> Any:
    """The commands for the running emulator of a link: piece -> direction -> keys; PlacesError if it cannot be changed so. said(key): where a user wrote it.
    Not for a link that is handed over: its channels have names of their own.
    """
    found: dict[str, Any] = {}
    if before.overs:
        return found
    for way in WAYS:
        old, new = flat(before.channel[way]), flat(after.channel[way])
        keys = [key for key in {**old, **new} if places.plain(old.get(key)) != places.plain(new.get(key))]
        for key in keys:
            if key not in CHANGES or isinstance(new.get(key), list):
                raise places.PlacesError(f"{said(key)}: with one emulator {key} of a channel cannot change while it runs (what can: {', '.join(CHANGES)})")
            if key == "rate" and old.get("rate", "unlimited") == "unlimited":
                raise places.PlacesError(f"{said(key)}: {before.what}.{way} has no rate to change from; write one")
            if key == "rate" and new.get(key, "unlimited") == "unlimited":
                raise places.PlacesError(f"{said(key)}: {before.what}.{way} has a rate, and stays with one: \"unlimited\" is none; write one that is high enough")
            if isinstance(old.get(key), list):
                raise places.PlacesError(f"{said(key)}: {key} of {before.what}.{way} is a table, which does not change while it runs")
        found[way] = {key: places.plain(new.get(key, "0")) for key in keys}
    for key in whole_changed(before, after):
        raise places.PlacesError(f"{said(key)}: with one emulator {key} of a channel cannot change while it runs")
    told = {name: {WAYS[i]: found[way] for i, way in enumerate(ways) if way and found[way]} for name, ways, _ in pieces}
    return {name: ways for name, ways in told.items() if ways}


# ---- results ----


def results(report: Any, channels: dict[str, str]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """(of each channel, of each transmitter) the emulator's report, by the lab's names."""
    report = report or {}
    back = {called: name for name, called in names(channels).items()}
    shared = report.get("shared") or {}
    for one in shared.values():
        for member in one.get("members", []):
            called, _, way = member["of"].rpartition(".")
            member["of"] = f"{back.get(called, called)}.{way}"
    links = report.get("links", {})
    for way in (one["handover"][way] for one in links.values() if "handover" in one for way in WAYS):
        way["via"] = {back.get(called, called): counts for called, counts in way["via"].items()}
    return {name: links.get(called, {}) for called, name in back.items()}, shared


def line(name: str, shown: Any) -> Any:
    parts = ", ".join(f"{member['of']} {100 * member['share']:.1f} %" for member in shown["members"])
    return f"{'shared ' + name:<16} {shown['bytes']} bytes on the air: {parts}"
