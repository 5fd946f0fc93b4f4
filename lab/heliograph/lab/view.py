# SPDX-License-Identifier: Apache-2.0
"""The data of a live page about a lab, besides its nodes' and emulators' own figures: the map, the events, and where to ask.

The map has the places of `helio-lab FILE graph`. Its text is from the lab file; the page escapes it.
"""

from __future__ import annotations

import collections
import time
from typing import TYPE_CHECKING, Any

from .. import places
from . import graph, handover, routes, shared

if TYPE_CHECKING:
    from .file import Lab, Link
    from .live import Session

WAYS = ("forward", "return")
EVENTS_MAX = 1000  # the latest
SHOWN = ("rate", "delay", "trace", "iid", "duplicate", "corrupt", "bit_errors", "jitter", "queue", "sessions")  # keys whose values an event shows
TOTALS = ("delivered", "forwarded", "expired")


class Events:
    """What happened in a lab, the latest EVENTS_MAX; `at` counts from its beginning."""

    def __init__(self) -> None:
        self._items: Any = collections.deque(maxlen=EVENTS_MAX)

    def add(self, seconds: float, text: str) -> None:
        self._items.append({"at": round(seconds, 3), "text": text})

    def change(self, seconds: float, what: str, do: str, keys: places.Map, by_hand: bool = False) -> None:
        """A change of `what`: a link or a channel, with its name. A value may be a secret: those of SHOWN are none."""
        if do == "set":
            do = "set " + ", ".join(f"{key}={places.plain(keys[key])}" if key.split(".")[-1] in SHOWN else key for key in keys)
        self.add(seconds, f"{what} {do}" + (" (by hand)" if by_hand else ""))

    def hand_over(self, lab: Lab, at: Any) -> None:
        for link in lab.links.values():
            for stay in handover.stays(link) if link.overs else ():
                if stay.begin == at:
                    self.add(at, f"link {link.name} passes channel {stay.over.name}")

    @property
    def list(self) -> list[dict[str, float | str]]:
        return list(self._items)


def called(lab: Lab, whom: str) -> str:
    """A link or a channel, for an event."""
    return f"{'channel' if whom in lab.channels else 'link'} {whom}"


def totals(node: Any) -> dict[str, int]:
    """Of the figures of `top`, those that `status` has not."""
    return {key: node[key] for key in TOTALS if key in node}


# ---- the map ----


def way_words(link: Link, way: str) -> str:
    """What the lab file says of a direction's channel."""
    if link.overs:
        return "handed over"
    if link.channel is None:
        return "no channel"
    return graph.way_text({**{key: value for key, value in (("rate", shared.rate(link, way)),) if value}, **link.channel.get(way, {})})


def network_words(link: Link) -> Any:
    """The network of its station in the lab file, in each direction; None: it has none."""
    if link.station is None or link.station.wan is None:
        return None
    return {way: graph.way_text(link.station.wan[way]) or "no limits" for way in WAYS}


def drawn_link(lab: Lab, link: Link, bend: float) -> dict[str, Any]:
    ways = [{"way": way, "from": a, "to": b, "words": way_words(link, way)} for way, (a, b) in zip(WAYS, (link.ends, link.ends[::-1]))]
    return {"name": link.name, "ends": list(link.ends), "adapter": link.adapter, "bend": round(bend, 1) + 0.0, "station": link.station.down if link.station is not None else None,
            "network": network_words(link),
            "at": {end: routes.link_name(lab, link, link.other(end)) for end in link.ends}, "ways": ways}


def drawn(lab: Lab) -> dict[str, Any]:
    """Nodes with their places, links with their names at both ends."""
    at, bent = graph.layout(lab), graph.bends(lab)
    nodes = [{"name": name, "number": node.number, "node": graph.node_lines(node)[1], "kind": node.stack.kind if node.stack is not None else "heliod",
              "x": round(at[name][0], 1), "y": round(at[name][1], 1)} for name, node in lab.nodes.items()]
    return {"title": lab.title, "width": max([x for x, _ in at.values()] or [0]) + graph.STEP / 2,
            "height": max([y for _, y in at.values()] or [0]) + graph.STEP / 2, "nodes": nodes,
            "links": [drawn_link(lab, link, bent[link.name]) for link in lab.links.values()], "notes": graph.notes(lab)}


# ---- a running lab ----


def emulators(session: Any) -> Any:
    """Of each channel: its link, the directions that are its forward and return, the socket and the name that its emulator has for it."""
    derived, out = session.derived, {}
    names, own = shared.names(derived.channels), set(derived.alone)
    for link in session.lab.links.values():
        for name, ways, _ in session.addresses.pieces(link) if link.channel is not None or link.overs else ():
            if name not in derived.channels:
                continue
            alone = name in own
            out[name] = {"link": link.name, "ways": list(ways), "socket": session.channel_socket(name) if alone else session.emulator_socket(),
                         "called": None if alone else names[name]}
    for name in session.lab.channels:
        out[name] = {"link": None, "ways": list(WAYS), "socket": session.emulator_socket(), "called": names[name]}
    return out


def passed(session: Session) -> Any:
    """The channel that each link with hand-over passes now; None: it is in a gap."""
    now, out = session.now(), {}
    for link in (link for link in session.lab.links.values() if link.overs):
        out[link.name] = next((stay.over.name for stay in handover.stays(link) if stay.begin <= now and (stay.end is None or now < stay.end)), None)
    return out


def overview(session: Any) -> Any:
    """The answer of a running lab: everything except figures that nodes and emulators report themselves."""
    return {"mode": session.mode, "seconds": session.now(), "unix_s": time.time(), "begin": session.begin, "out": session.out, "map": drawn(session.lab),
            "controls": {name: session.control_socket(name) for name in session.derived.nodes},
            "others": {name: one.status() for name, one in session.others.items()},
            "emulators": emulators(session), "networks": {link: session.network_socket(link) for link in session.derived.wans}, "passed": passed(session), "traffic": session.traffic_states(), "events": session.happened.list}
