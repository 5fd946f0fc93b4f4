# SPDX-License-Identifier: Apache-2.0
"""Settings of a lab that cannot use its link: LTP's sessions, or a perf's window, that permit less than rate × round trip in transit.

Only certain findings are reported. Traffic is considered if it has only one route through the network, whose links have one constant rate and one
constant delay in each direction, and if it lasts for several round trips.
"""

from __future__ import annotations

import dataclasses
import math
import os
import shlex
from typing import TYPE_CHECKING, Any

from .. import places, units
from ..places import Map, merge
from . import derive, routes, shared

if TYPE_CHECKING:
    from .file import Flow, Lab, Link

SESSIONS, SEGMENT, OVERHEAD = 16, 1024, 42         # of an LTP link, by default
WINDOW, PAYLOAD, SECONDS = 20, 50000, 10.0         # of traffic, as derive and helio-perf have them
HEADS = 64       # of a segment, at most; a bundle's are as long
SURE = 0.95      # of what would be needed: other heads and roundings are no matter
ROUNDS = 4       # that the traffic lasts at least
UNSTEADY = ("contacts", "outages", "changes")  # keys of a channel's direction


@dataclasses.dataclass
class Hint:
    value: object  # whose place it is
    key: str       # as --set has it
    text: str


@dataclasses.dataclass
class Way:
    """One direction of a link."""
    link: Any
    way: str
    rate: float     # bit/s; inf: unlimited
    trip: float     # there and back, seconds
    keys: Map       # of the adapter at the sending end

    @property
    def name(self) -> str:
        return f"links.{self.link.name}"

    @property
    def on_air(self) -> float:
        """Bits on the air for a byte of a bundle, at most."""
        segment, overhead = size(self.keys.get("segment"), SEGMENT), size((self.link.channel or {}).get("overhead"), OVERHEAD)
        return 8 * (segment + overhead) / max(1, segment - HEADS)

    def needs(self, rate: float, block: float) -> float:
        """Bytes in transit at this rate: a block is finished when its last byte was acknowledged."""
        return rate * self.trip / 8 + block


@dataclasses.dataclass
class Course:
    """Traffic with its route through the network."""
    flow: Any
    ways: list[Any]
    window: int | None  # None: it sends at a rate
    payload: int
    total: float    # bytes
    seconds: float

    @property
    def rate(self) -> float:
        """The most that the links let through, bit/s."""
        result: float = min(way.rate for way in self.ways)
        return result

    @property
    def trip(self) -> float:
        """Until a bundle is acknowledged, at least: each node waits for the whole of it."""
        result: float = sum(way.trip + 8 * self.payload / way.rate for way in self.ways)
        return result


# ---- what the file says, as numbers ----


def size(text: places.Word | None, default: int | str | None) -> int:
    """UnitError, which is a ValueError."""
    return units.amount(text or default)


def delay_of(channel: Map, way: str) -> float:
    delay = channel[way].get("delay", "0")
    if not isinstance(delay, str):
        raise ValueError("a table")
    return units.duration(delay)


def rate_of(text: places.Items | places.Word | None) -> float:
    return math.inf if text in (None, "unlimited") else max(1.0, units.rate(text))


def steady(lab: Lab, link: Link) -> bool:
    """Is it the same all the time, and its own?"""
    if link.station is not None or link.overs or link.lines or "frames" in link.keys or any(event.whom == link.name for event in lab.events):
        return False
    return link.channel is None or not any(key in link.channel[way] for way in shared.WAYS for key in UNSTEADY)


def way_of(lab: Lab, link: Link, source: str) -> Way:
    """The link from this end on; ValueError when it is not the same all the time."""
    if not steady(lab, link):
        raise ValueError("not steady")
    way = shared.WAYS[link.ends.index(source)]
    keys = merge(link.keys, link.at.get(source))
    trip = sum(delay_of(link.channel, one) for one in shared.WAYS) if link.channel is not None else 0.0
    return Way(link, way, min(rate_of(shared.rate(link, way)), rate_of(keys.get("rate"))), trip, keys)


def only_way(lab: Lab, source: str, target: str | None) -> list[tuple[Link, str]] | None:
    """The links from node to node, when no others lead there, as (link, the node it is left from); None."""
    out, node, distance = [], source, routes.distances(lab, target)
    while node != target:
        nearer = [link for link in lab.links.values() if node in link.ends and distance.get(link.other(node), math.inf) < distance.get(node, 0)]
        if len(nearer) != 1 or joined(lab, nearer[0], source, target):
            return None
        out.append((nearer[0], node))
        node = nearer[0].other(node)
    return out


def joined(lab: Lab, without: Link, source: str, target: Any) -> bool:
    rest = dataclasses.replace(lab, links={name: link for name, link in lab.links.items() if link is not without})
    return source in routes.distances(rest, target)


def course(lab: Lab, flow: Flow) -> Course:
    """ValueError when something of it is not known."""
    links = only_way(lab, flow.source, flow.target)
    if links is None:
        raise ValueError("several ways")
    keys: Any = flow.keys
    payload = size(keys.get("payload"), PAYLOAD)
    total, lasts = math.inf, math.inf
    if flow.kind == "file":
        total = os.path.getsize(places.beside(lab.base, keys["path"]))
    elif "data" in keys:
        total = size(keys["data"], None)
    else:
        lasts = units.seconds(keys.get("duration", str(SECONDS)))
    if lab.duration is not None:
        lasts = min(lasts, lab.duration - flow.start)
    return Course(flow, [way_of(lab, *one) for one in links], None if "rate" in keys else int(keys.get("window", WINDOW)), payload, total, lasts)


def courses(lab: Lab) -> tuple[list[Course], bool]:
    """(traffic with known values only, is that all traffic with bundles of its own?)"""
    out, whole = [], True
    for flow in lab.traffic:
        if flow.kind == "ping":
            continue
        try:
            out.append(course(lab, flow))
        except (ValueError, KeyError, TypeError, OSError, AttributeError):
            whole = False  # errors are reported elsewhere
    return out, whole


# ---- what does not fit ----


def hints(lab: Lab) -> list[Hint]:
    if any("links" in node.keys for node in lab.nodes.values()):
        return []  # further routes that are not known here
    found, whole = courses(lab)
    if any(flow.kind == "run" for flow in lab.traffic):
        return []  # what it sends is not known
    used: Any = {}
    for one in found:
        for way in one.ways:
            used.setdefault((way.link.name, way.way), (way, []))[1].append(one)
    out: list[Any] = []
    for way, over in used.values():
        out += filter(None, [of_sessions(lab, way, over)])
    for one in found if whole else ():
        out += filter(None, [of_window(one, used)])
    return out


def of_sessions(lab: Lab, way: Way, over: list[Course]) -> Hint | None:
    """One block each: fewer than the traffic over the link needs."""
    keys, windowed = way.keys, [one for one in over if one.window is not None]
    if way.link.adapter != "ltp-udp" or not windowed or not str(keys.get("sessions", SESSIONS)).isdigit() or \
            keys.get("colour", "red") != "red" or "colours" in keys or math.isinf(way.rate):
        return None
    try:
        block = max(size(keys.get("aggregate"), "0"), *(size(flow.keys.get("payload"), PAYLOAD) + HEADS for flow in lab.traffic if flow.kind in ("perf", "file")), 0)
        on_air = way.on_air
    except ValueError:
        return None
    sessions = int(keys.get("sessions", SESSIONS))
    rate = min(way.rate, max(one.rate for one in windowed))
    needed = way.needs(rate, block * on_air / 8)
    under_way = sessions * block * on_air / 8
    # long enough: whichever of them lasts longest
    lasting = [one for one in windowed if one.total >= 2 * sessions * block and one.seconds >= ROUNDS * (way.trip + 8 * block / rate)]
    if under_way >= SURE * needed or not lasting:
        return None
    wanted = math.ceil((needed + rate * derive.MARGIN / 8) / block)
    text = (f"{way.way}, {units.counted(sessions, 'session')} of {shown(block)} {'has' if sessions == 1 else 'have'} {shown(sessions * block)} under way at most, "
            f"and the link holds {shown(needed)} ({units.rate_text(rate)}, round trip {units.duration_text(way.trip)}, a block): {share(under_way, needed)}; "
            f"write sessions: {wanted} (more where it fades) or sessions: auto, or let helio-tune find them: {tune(way, block)}")
    return Hint(keys.key("sessions") or way.link, f"{way.name}.sessions", text)


def of_window(one: Course, used: Any) -> Hint | None:
    """Bundles without an acknowledgement: fewer than the slowest link of the route could transmit, with all other traffic on it."""
    if one.window is None or math.isinf(one.rate):
        return None
    way = next(way for way in one.ways if way.rate == one.rate)
    others = used[way.link.name, way.way][1]
    try:
        most = sum(other.window * (other.payload + HEADS) * way.on_air / other.trip if other.window is not None else math.inf for other in others)
    except ValueError:
        return None
    if way.link.adapter != "ltp-udp" or most >= SURE * way.rate or one.total < 2 * one.window * one.payload or one.seconds < ROUNDS * one.trip:
        return None
    needed = way.rate * one.trip / 8
    text = (f"{units.counted(one.window, 'bundle')} of {shown(one.payload)} {'is' if one.window == 1 else 'are'} {shown(one.window * one.payload)} under way at most, "
            f"and {way.name} ({way.way}) at {units.rate_text(way.rate)} wants {shown(needed)} (an acknowledgement takes {units.duration_text(round(one.trip, 4))}): "
            f"{share(most, way.rate)}; write window: {math.ceil((needed + way.rate * derive.MARGIN / 8) / one.payload)}")
    return Hint(one.flow.keys.key("window") or one.flow, f"{one.flow.what}.window", text)


def shown(count: float) -> str:
    """Three digits."""
    scale = 10 ** max(0, int(math.log10(max(1, count))) - 2)
    return units.size_text(round(count / scale) * scale)


def share(part: float, whole: float) -> str:
    return f"at most {100 * part / whole:.0f} % of the rate"


def tune(way: Any, block: int) -> str:
    """The command line for this link, as far as it has words for it."""
    back: Any = shared.WAYS[1 - shared.WAYS.index(way.way)]
    words = ["helio-tune", "--rate", units.rate_text(way.rate), "--delay", units.duration_text(way.trip / 2), "--block", shown(block)]
    for option, one in (("--trace", way.way), ("--return-trace", back)):
        trace = trace_of(way.link.channel[one].get("erasures", {}))
        words += [option, trace] if option == "--trace" or trace != "none" else []
    if not math.isinf(rate_of(shared.rate(way.link, back))):
        words += ["--return-rate", shared.rate(way.link, back)]
    recovery = way.keys.get("recovery", "default")
    recovery = recovery.get("mode", "default") if isinstance(recovery, dict) else recovery
    words += ["--recovery", "default" if recovery == "own" else recovery]
    words += ["--segment", way.keys["segment"]] if "segment" in way.keys else []
    words += ["--overhead", f"{size(way.link.channel['overhead'], OVERHEAD):.0f}"] if "overhead" in way.link.channel else []
    return shlex.join(map(str, words))


def trace_of(erasures: dict[str, Any]) -> str:
    """As helio-tune takes it; TRACE where there is more to it."""
    trace = erasures.get("trace", f"iid:{erasures['iid']}" if "iid" in erasures else "none")
    trace = trace.get("file", "TRACE") if isinstance(trace, Map) and len(trace) == 1 else trace
    return trace if isinstance(trace, str) and len(erasures) < 2 and not {*erasures} - {"trace", "iid"} else "TRACE"
