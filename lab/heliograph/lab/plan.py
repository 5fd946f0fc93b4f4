# SPDX-License-Identifier: Apache-2.0
"""What nodes know of channels beforehand: the contact plan of a lab, and the light time for LTP's timer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import places, units
from ..places import Map, put
from . import handover, shared, station

if TYPE_CHECKING:
    from .file import Lab, Link

FOREVER = "36500d"     # of a contact that does not end
LOCAL = "10us"         # from process to process


def has_contacts(lab: Lab) -> bool:
    return any(one.channel[way].get("contacts") for one in (*lab.links.values(), *lab.channels.values()) if one.channel is not None
               for way in shared.WAYS)


def way_plan(lab: Lab, link: Link, way: str, ends: tuple[str, str], plan: Map, horizon: str) -> None:
    between = [str(lab.nodes[end].number) for end in ends]
    for stay in handover.stays(link):
        if stay.end is None or stay.begin < stay.end:  # else its gap is all of it
            stay_plan(link, stay, way, between, plan, horizon)


def stay_plan(link: Link, stay: handover.Stay, way: str, ends: list[str], plan: Map, horizon: str) -> None:
    """Of the time in which the link passes one channel: contacts with its rate, and the light time."""
    keys = stay.over.channel[way] if stay.over.channel is not None else Map()
    a, b = ends
    rate = shared.rate(stay.over, way) or link.keys.get("rate") or "unlimited"
    delay = keys.get("delay", "0")
    if link.station is not None:
        delay = longer(delay, station.added_delay(link.station, way))
    for begin, end, place in spans(keys.get("contacts"), stay, link.place, horizon):
        plan["contacts"].append(put({"from": a, "to": b, "start": begin, "end": end, "rate": rate}, place))
    span = {"from": a, "to": b, **({"start": text_of(stay.begin)} if stay.begin else {}), "end": horizon if stay.end is None else text_of(stay.end)}
    if isinstance(delay, str):
        plan["ranges"].append(put({**span, "owlt": delay}, link.place))
    else:
        table = [{"at": point.get("at", "0"), "owlt": point.get("delay", "0")} for point in delay if isinstance(point, dict)]
        if stay.begin or stay.end is not None:
            table = cut(table, stay)
            span.pop("start", None)  # a table starts with its first point
        plan["ranges"].append(put({**span, "table": table}, link.place))


def cut(table: Any, stay: Any) -> Any:
    """The part of a table over time that is valid during the stay, with points at its ends; errors are reported elsewhere."""
    try:
        points = [(units.duration(point["at"]), units.duration(point["owlt"])) for point in table]
    except (units.UnitError, TypeError):
        return table
    if not points:
        return table
    last = max(stay.begin, points[-1][0]) if stay.end is None else stay.end - 0.001  # a table ends before its range does
    inner = [point for point in points if stay.begin < point[0] < last]
    whole = [(stay.begin, value_at(points, stay.begin)), *inner, *([(last, value_at(points, last))] if last > stay.begin else [])]
    return [{"at": text_of(at), "owlt": units.duration_text(owlt)} for at, owlt in whole]


def value_at(points: Any, at: Any) -> Any:
    """Linear between two points, constant outside."""
    for (t0, d0), (t1, d1) in zip(points, points[1:]):
        if t0 <= at < t1:
            return d0 + (d1 - d0) * (at - t0) / (t1 - t0)
    return points[0][1] if at < points[0][0] else points[-1][1]


def text_of(seconds: float) -> str:
    return units.duration_text(seconds) if seconds else "0s"


def spans(contacts: places.Items | places.Word | None, stay: Any, place: Any,
          horizon: Any) -> Iterator[tuple[places.Word, places.Word, tuple[str, int]]]:
    """(start, end, place) of the contacts within the stay, as they are written where it does not cut them."""
    found: list[Any] = [span for span in contacts if isinstance(span, dict)] if isinstance(contacts, list) else []  # others are reported elsewhere
    for span in found or [put({"from": text_of(stay.begin), "to": horizon if stay.end is None else text_of(stay.end)}, place)]:
        begin, end = span.get("from", "0"), span.get("to", horizon)
        try:
            if units.duration(begin) < stay.begin:
                begin = text_of(stay.begin)
            if stay.end is not None and units.duration(end) > stay.end:
                end = text_of(stay.end)
            if units.duration(begin) >= units.duration(end) and (stay.begin or stay.end is not None):
                continue  # none of it is in that time
        except (units.UnitError, TypeError):
            pass  # which is reported elsewhere
        yield begin, end, span.place


def longer(delay: Any, more: Any) -> Any:
    """A delay, or a table of delays, plus so many seconds; errors are reported elsewhere."""
    try:
        if isinstance(delay, str):
            return put(units.duration_text(units.duration(delay) + more), delay.place if isinstance(delay, places.Word) else None)
        return put([{**point, "delay": units.duration_text(units.duration(point["delay"]) + more)} for point in delay], delay.place)
    except (ValueError, KeyError, TypeError):
        return delay


def contact_plan(lab: Lab, begin: str, horizon: str = FOREVER) -> Map:
    """horizon: the end of contacts that do not end."""
    plan = Map({"start": begin, "contacts": [], "ranges": []})
    for link in lab.links.values():
        way_plan(lab, link, "forward", link.ends, plan, horizon)
        way_plan(lab, link, "return", link.ends[::-1], plan, horizon)
    return plan


def longest_delay(link: Link) -> str | None:
    """One-way light time for LTP's timer; None if it is wrong (which is reported elsewhere)."""
    if link.channel is None and link.station is None:
        return LOCAL
    found = []
    for over in (stay.over for stay in handover.stays(link)):
        for way in shared.WAYS:
            delay = over.channel[way].get("delay", "0") if over.channel is not None else "0"
            more = station.added_delay(link.station, way) if link.station is not None else 0.0
            try:
                found += [more + units.duration(point["delay"] if isinstance(point, dict) else point)
                          for point in (delay if isinstance(delay, list) else [delay])]
            except (ValueError, KeyError, TypeError):
                return None
    return units.duration_text(max(found)) if found and max(found) > 0 else LOCAL
