# SPDX-License-Identifier: Apache-2.0
"""Lab files: nodes, the links between them with their channels, traffic and what happens when, read from YAML or made
by a program, and checked. docs/helio-lab.md says what each key means.

What is a key of heliod, of a link's adapter or of a channel is checked by the program that reads it (derive.py).
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from .. import advice, places, units
from ..places import Items, Map, Word, merge, put, where
from . import handover as lab_handover, sense, shared as lab_shared, stacks, station as lab_station

SHAPES = ("line", "star", "ring", "diamond")
TOP = ("title", *SHAPES, "nodes", "node", "links", "link", "traffic", "events", "duration", "seed", "capture", "plan", "ports", "emulator", "shared", "channels")
WAY = ("rate", "queue", "codel", "mark", "delay", "jitter", "reorder", "start", "contacts", "outages", "off_contact", "erasures", "duplicate",
       "corrupt", "bit_errors", "rules", "trace")  # of a channel's direction
CHANNEL = ("seed", "exempt", "tolerance")        # of a channel as a whole
BOTH = ("overhead",)                             # of the channel and of the adapter
LINK = ("adapter", "forward", "return", "ends", "scenario", "channel", "station", "handover")
CAPTURE = ("segments", "bundles", "drops", "pcap")
PERF = {"duration": "-T", "data": "-D", "window": "-W", "rate": "-R", "payload": "-P", "lifetime": "-l", "priority": "-p",
        "crc": "--crc", "warmup": "--warmup", "ack-timeout": "--ack-timeout", "linger": "--linger"}
TRAFFIC = {"perf": ("start", "service", *PERF), "file": ("start", "service", "path", *PERF),
           "ping": ("start", "count", "interval", "lifetime", "size"), "run": ("start", "command")}
EVENT = ("at", "link", "channel", "do", "set")
FIXED = {"handover": "which channels a link passes cannot change while it runs; set keys of the channels",
         "scenario": "a file cannot be read anew while the lab runs; set the keys that are to change, such as delay",
         "channel": "a link that runs keeps its channel, or has none; do: down takes the link down",
         "station": "a ground station cannot change while the lab runs; rate and delay of its network can: station.wan.delay",
         "adapter": "the adapter of a link cannot change while it runs"}  # by `set`
NESTED = {"forward": (2, "forward.rate"), "return": (2, "return.rate"), "ends": (3, "ends.NODE.sessions")}  # words of such a key, an example
NODES_MAX = 250


@dataclasses.dataclass
class Node:
    name: str
    number: int
    keys: Map       # of heliod
    place: tuple[Any, ...] | None
    address: str    # of its machine, for a dry run
    stack: stacks.Stack | None = None  # None: heliod; then `keys` has only its name

    def endpoint(self, service: str) -> str:
        own = self.keys.get("node", f"ipn:{self.number}.0")
        if own.startswith("dtn:"):
            return f"{own.rstrip('/')}/{service}"
        return f"{own.rsplit('.', 1)[0]}.{service}"

    @property
    def pattern(self) -> str:
        return self.endpoint("*")


@dataclasses.dataclass
class Link:
    name: str
    ends: tuple[Any, ...]     # the names of two nodes
    keys: Map       # of the adapter at both ends
    at: Any        # name of a node -> keys of its end alone
    channel: Map    # the scenario: forward, return and the rest; None: the ends talk to each other directly
    place: tuple[Any, ...]
    station: lab_station.Station | None = None  # a ground station between the two
    lines: Any = dataclasses.field(default_factory=dict)  # direction -> keys of the transmitter that it shares
    handover: Items | None = None  # as it is written
    overs: list[Any] = dataclasses.field(default_factory=list)  # of handover.Over

    @property
    def what(self) -> str:
        return f"links.{self.name}"

    @property
    def adapter(self) -> Items | Word:
        result: Items | Word = self.keys["adapter"]
        return result

    @property
    def passes(self) -> list[Link]:
        """What has the keys of its channel: itself, or those that it is handed over to, from the first one on."""
        return [over.channel for over in self.overs if over.channel] or [self]

    def other(self, node: str) -> str:
        """The name of the node at the far end."""
        result: str = self.ends[1 - self.ends.index(node)]
        return result


@dataclasses.dataclass
class Flow:
    kind: str
    source: str
    target: str     # None: run
    keys: Map
    place: tuple[Any, ...] | None
    name: str       # of its log and result
    what: str       # in the lab file: traffic.0

    @property
    def start(self) -> float:
        return units.duration(self.keys.get("start", "0"))


@dataclasses.dataclass
class Event:
    at: float
    whom: str       # a link, or a channel of a hand-over
    do: str         # up, down or set
    set: Any        # a map
    place: tuple[Any, ...] | None
    ends: Sequence[Any] = ()  # mode sim: the keys of `set` for each end of the link
    then: object = None  # mode sim: the lab from then on

    def where(self, key: str = "") -> str:
        """Where `set` has this key of a channel: of one direction, of both, or within a map; else where `set` is."""
        named = {key, "trace"} if key == "erasures" else {key}
        found = [one for one in self.set if named & set(one.split("."))]
        return where((found or [self.set])[0])


@dataclasses.dataclass
class Lab:
    path: str
    base: str       # relative paths count from here
    tree: Map
    title: str
    nodes: dict[str, Any]
    links: dict[str, Any]
    traffic: list[Any]
    events: list[Any]
    duration: float  # None: until the traffic has ended
    seed: int
    capture: list[Any]
    plan: str        # yes, no or a file
    ports: int       # None: free ones
    shared: dict[str, Any]     # name -> Transmitter
    one_emulator: bool
    channels: dict[str, Any]   # name -> handover.Channel
    redraw: Any = None  # called with each lab that an event makes of this one, to give it other traces than those in the file

    def holder(self, name: str) -> Link:
        """The link or the channel of that name."""
        result: Link = self.channels.get(name) or self.links[name]
        return result


OPTIONS = ("mode", "out")  # of the command line, written into the file by mistake
EXAMPLES = {"nodes": "{1: {}, 2: {}}", "node": "{store: {durability: none}}", "links": "{1-2: {rate: 1Mbit/s}}", "link": "{rate: 1Mbit/s}",
            "traffic": "[{ping: 1-2}]", "events": "[{at: 5s, link: 1-2, do: down}]", "capture": "[segments, bundles]", "handover": "[{at: 0, channel: NAME}]",
            "forward": "{delay: 5ms}", "return": "{delay: 5ms}"}


def such_as(key: str) -> str:
    """The end of a message about a key of the file."""
    last = key.rsplit(".", 1)[-1]
    return f", such as {last}: {EXAMPLES[last]}" if last in EXAMPLES else ""


class Reader:
    def __init__(self, tree: Map, base: str) -> None:
        self.errors: list[Any] = []
        self.tree, self.base = tree, base
        self.shared = lab_shared.members(tree)

    def wrong(self, value: Any, text: str) -> None:
        self.errors.append(f"{where(value)}: {text}")

    def map(self, value: Map, what: str, allowed: Any = None) -> Any:
        """A map, of allowed keys. what: "" is the file."""
        if isinstance(value, Word) and value == "":
            return put({}, value.place)
        if not isinstance(value, Map):
            self.wrong(value, f"{what}: a map of keys and values is wanted{such_as(what)}")
            return put({}, getattr(value, "place", None))
        for key in list(value) if allowed else ():
            if key not in allowed:
                said = f"it is an option: helio-lab FILE up --{key} {value[key]}" if not what and key in OPTIONS else advice.meant(key, allowed)
                self.wrong(key, f"{f'{what}.' if what else ''}{key}: unknown key; {said}")
        return value

    def items(self, value: Items, what: str) -> Items:
        if isinstance(value, Word) and value == "":
            return Items()
        if not isinstance(value, Items):
            self.wrong(value, f"{what}: a list is wanted{such_as(what)}")
            return Items()
        return value

    def word(self, tree: Map, key: str, what: str, default: Any = None) -> str | None:
        value = tree.get(key, default)
        if value is not None and not isinstance(value, str):
            self.wrong(tree.key(key), f"{what}{key}: one value is wanted")
            result: str | None = default
            return result
        return value

    def parsed(self, tree: Map, key: str, what: str, parse: Callable[..., Any], default: Any = None) -> float | str | None:
        value = self.word(tree, key, what)
        if value is None:
            found: float | str | None = default
            return found
        try:
            result: float | str | None = parse(value)
            return result
        except ValueError as e:
            self.wrong(value, f"{what}{key}: {e}")
            found = default
            return found

    # ---- nodes ----

    def shape(self) -> tuple[list[Word], list[tuple[str, str]]]:
        """The names of the nodes, and the pairs that have links."""
        given = [name for name in SHAPES if name in self.tree]
        if not given:
            return [], []
        if len(given) > 1:
            self.wrong(self.tree.key(given[1]), f"{given[1]}: there is {given[0]} already; one shape is possible, and more links below links:")
        kind, value = given[0], self.tree[given[0]]
        names = self.names(kind, value)
        pairs = {"line": list(zip(names, names[1:])), "ring": list(zip(names, names[1:] + names[:1])),
                 "star": [(names[0], name) for name in names[1:]] if names else [],
                 "diamond": [(names[i], names[j]) for i, j in ((0, 1), (0, 2), (1, 3), (2, 3))] if len(names) == 4 else []}[kind]
        return names, [(str(one), str(other)) for one, other in pairs]

    def names(self, kind: str, value: Any) -> list[Word]:
        least = {"line": 2, "star": 2, "ring": 3, "diamond": 4}[kind]
        most = 4 if kind == "diamond" else NODES_MAX
        right = "4 nodes or their names" if kind == "diamond" else f"{least} to {most} nodes, or a list of their names"
        if kind == "diamond" and value == "":
            value = put("4", value.place)
        if isinstance(value, Items) and all(isinstance(name, Word) for name in value):
            names = list(value)
        elif isinstance(value, Word) and value.isdigit() and int(value) <= most:
            names = [put(str(i + 1), value.place) for i in range(int(value))]
        else:
            names = []
        if not least <= len(names) <= most:
            self.wrong(value, f"{kind}: \"{value if isinstance(value, str) else len(value)}\" is not understood; right are {right}")
            return []
        return names

    def nodes(self, names: list[Word]) -> dict[str, Node]:
        told = len(self.errors)
        given = self.map(self.tree.get("nodes", Map()), "nodes")
        common = self.map(self.tree.get("node", Map()), "node")
        known = {name: name for name in names}
        known.update({name: name for name in given if name not in known})
        out: dict[str, Any] = {}
        used: set[Any] = set()
        for name in known.values():
            if not re.fullmatch(r"[A-Za-z0-9_.]{1,40}", name):
                self.wrong(name, f"nodes.{name}: a name has letters, digits, _ and . (at most 40)")
                continue
            keys, stack = stacks.read(self, name, common, self.map(given[name], f"nodes.{name}") if name in given else Map())
            number = self.number(name, keys, used)
            used.add(number)
            address = keys.pop("address", None)
            out[str(name)] = Node(str(name), number, keys, name.place, address, stack)
        if not out and told == len(self.errors) and not any(name in self.tree for name in SHAPES):
            self.wrong(self.tree, "there are no nodes; write such as line: 2, or name them below nodes:")
        return out

    def number(self, name: Word, keys: Map, used: set[int]) -> Any:
        match = re.fullmatch(r"ipn:(\d+)\.0", keys.get("node", "")) if isinstance(keys.get("node", ""), str) else None
        if "number" in keys:
            number = self.parsed(keys, "number", f"nodes.{name}.", count(1, 2**32 - 1), 1)
            keys.pop("number")
        elif match:
            number = int(match[1])
        elif name.isdigit():
            number = int(name)
        else:
            number = next(n for n in range(1, NODES_MAX + 2) if n not in used)
        if number in used:
            self.wrong(name, f"nodes.{name}: another node has the number {number} already; give it one with number:")
        return number

    # ---- links ----

    def pair(self, word: Any, nodes: dict[str, Node], what: str) -> Any:
        """A-B as two names of nodes; None, and said, when it is none."""
        ends = tuple(str(word).split("-"))
        if len(ends) == 2 and (close := tuple(end.strip() for end in ends)) != ends and all(end in nodes for end in close):
            self.wrong(word, f"{what}: \"{word}\" has spaces; write {'-'.join(close)}")
            return None
        if len(ends) != 2:
            self.wrong(word, f"{what}: \"{word}\" is not understood; write two nodes, such as {'-'.join(list(nodes)[:2])}")
            return None
        for end in ends:
            if not nodes:
                return None  # that was reported
            if end not in nodes:
                self.wrong(word, f"{what}: there is no node \"{end}\"; {advice.meant(end, nodes)}")
                return None
        if ends[0] == ends[1]:
            self.wrong(word, f"{what}: \"{word}\" are not two nodes; write another one than {ends[0]}: {', '.join(name for name in nodes if name != ends[0])}")
            return None
        return ends

    def links(self, pairs: list[tuple[str, str]], nodes: dict[str, Node]) -> dict[str, Link]:
        given = self.map(self.tree.get("links", Map()), "links")
        common = self.map(self.tree.get("link", Map()), "link")
        ends, keys = {"-".join(pair): pair for pair in pairs}, {}
        places_ = {name: self.tree.key(next(s for s in SHAPES if s in self.tree)) for name in ends}
        for name, value in given.items():
            pair = self.pair(name, nodes, f"links.{name}")
            other = "-".join(pair[::-1]) if pair else None
            if other in ends:
                self.wrong(name, f"links.{name}: this link is called {other}, and forward is that way")
            elif pair:
                ends[str(name)], places_[str(name)] = pair, name
                keys[str(name)] = self.map(value, f"links.{name}")
        return {name: self.link(name, pair, lab_handover.link_keys(self, name, common, keys.get(name), WAY, CHANNEL), places_[name], nodes)
                for name, pair in ends.items()}

    def link(self, name: str, ends: tuple[str, str], keys: Map, place: Any, nodes: dict[str, Node]) -> Link:
        what = f"links.{name}"
        channel_wanted = keys.pop("channel", "yes")
        handover = keys.pop("handover", None)
        channel: Any = self.channel_of(keys, what, place.place)
        ways = {way: channel[way] for way in ("forward", "return")}
        for key in (*ways, "scenario"):
            keys.pop(key, None)
        station = lab_station.read(self, keys.pop("station", None), keys, ends, f"{what}.station", WAY)
        at = {str(end): self.map(value, f"{what}.ends.{end}")
              for end, value in self.map(keys.pop("ends", Map()), f"{what}.ends", ends).items()}
        own = Map((key, value) for key, value in keys.items() if key not in WAY + CHANNEL)
        own.place = place.place
        own.setdefault(put("adapter", place.place), put("ltp-udp", place.place))
        if channel_wanted not in ("yes", "no"):
            self.wrong(channel_wanted, f"{what}.channel: \"{channel_wanted}\" is not understood; right are yes and no")
        shares = any(f"{name}.{way}" in self.shared for way in ways)
        if channel_wanted == "no" or not (ways["forward"] or ways["return"] or shares or handover is not None):
            own = merge(pick(ways["forward"], ("rate",)), own)
            channel = None
        return Link(name, ends, own, at, channel, place.place, station, handover=handover)

    def channel_of(self, keys: Map, what: str, place: Any) -> Map:
        """The scenario that these keys make."""
        base = self.scenario(keys.get("scenario"))
        channel = merge(pick(base, CHANNEL + BOTH), pick(keys, CHANNEL + BOTH))
        channel.setdefault(put("seed", place), put(str(seed_of(self.seed(), what)), place))
        for way in ("forward", "return"):
            channel[way] = merge(base.get("both"), base.get(way), pick(keys, WAY), self.map(keys.get(way, Map()), f"{what}.{way}", WAY))
            self.normal_way(channel[way])
        return channel

    def seed(self) -> Any:
        return self.parsed(self.tree, "seed", "", count(0, 2**31 - 1), 1)

    def scenario(self, path: Items | None) -> Map:
        if path is None:
            return Map()
        if not isinstance(path, Word):
            self.wrong(path, "scenario: the path of one file is wanted")
            return Map()
        try:
            full = places.beside(self.base, path)
            tree = places.read(full)
            for way in ("both", "forward", "return"):
                self.normal_way(tree.get(way, Map()), os.path.dirname(full))
            return tree
        except places.PlacesError as e:
            self.wrong(path, f"scenario: {e}")
            return Map()

    def normal_way(self, way: Map, base: str | None = None) -> None:
        """Short forms as the emulator's scenario has them; paths of traces that hold everywhere."""
        if "trace" in way:
            trace = way.pop("trace")
            erasures = way.get("erasures", put({}, trace.place))
            if isinstance(trace, Word) and trace.startswith("iid:"):
                way["erasures"] = merge(erasures, put({"iid": put(trace[4:], trace.place)}, trace.place))
            else:
                way["erasures"] = merge(erasures, put({"trace": trace}, trace.place))
        erasures = way.get("erasures")
        trace = erasures.get("trace") if isinstance(erasures, Map) else None
        if isinstance(trace, Map) and isinstance(trace.get("file"), Word):
            trace["file"] = self.trace_file(trace["file"], base or self.base)
        elif isinstance(trace, Word):
            erasures["trace"] = self.trace_file(trace, base or self.base)
        power = erasures.get("power") if isinstance(erasures, Map) else None
        if isinstance(power, Map) and isinstance(power.get("file"), Word):
            power["file"] = put(os.path.abspath(places.beside(base or self.base, power["file"])), power["file"].place)

    @staticmethod
    def trace_file(trace: Word, base: str) -> Any:
        path = places.beside(base, trace)
        named = os.path.isfile(path) or "/" in trace or not trace.startswith("iid:") and os.path.splitext(trace)[1] != ""  # others are names, such as A
        return put(os.path.abspath(path), trace.place) if named else trace

    # ---- traffic and events ----

    def traffic(self, nodes: dict[str, Node]) -> list[Flow]:
        return [flow for i, value in enumerate(self.items(self.tree.get("traffic", Items()), "traffic"))
                if (flow := self.flow(value, i, nodes))]

    def flow(self, value: Map, index: int, nodes: dict[str, Node]) -> Flow | None:
        what = f"traffic.{index}"  # as --set calls it
        kind: Any = next((kind for kind in TRAFFIC if kind in value), None) if isinstance(value, Map) else None
        if kind is None:
            self.wrong(value, f"{what}: which traffic? right are perf: A-B, file: A-B, ping: A-B and run: NODE")
            return None
        self.map(value, what, (kind, *TRAFFIC[kind]))
        lists = [key for key, word in value.items() if not isinstance(word, Word)]
        for key in lists:
            self.wrong(key, f"{what}.{key}: one value is wanted")
        if lists:
            return None
        where_to = value[kind]
        if kind == "run":
            ends: Any = (str(where_to), None) if where_to in nodes else self.pair(put(f"{where_to}-", where_to.place), nodes, f"{what}.run")
        else:
            ends = self.pair(where_to, nodes, f"{what}.{kind}")
        self.parsed(value, "start", f"{what}.", units.duration)
        for needed, of in (("command", "run"), ("path", "file")):
            if kind == of and needed not in value:
                self.wrong(value[kind], f"{what}.{needed}: is missing; write {of}: {value[kind]}, {needed}: {needed.upper()}")
        if kind == "file" and "path" in value and not os.path.isfile(places.beside(self.base, value["path"])):
            self.wrong(value["path"], f"{what}.path: there is no file {places.beside(self.base, value['path'])}; a path counts from the folder of the lab's file")
        keys: Any = Map((key, word) for key, word in value.items() if key != kind)
        return Flow(kind, ends[0], ends[1], keys, value.place, f"{kind}-{index + 1}", what) if ends else None

    def events(self, links: dict[str, Link], channels: dict[str, Any]) -> list[Event]:
        out = []
        for i, value in enumerate(self.items(self.tree.get("events", Items()), "events")):
            what = f"events.{i}"
            value = self.map(value, what, EVENT)
            at: Any = self.parsed(value, "at", f"{what}.", units.duration)
            whom = value.get("channel", value.get("link"))
            if at is None:
                if "at" not in value:
                    self.wrong(value, f"{what}: at: is missing, such as at: 10s")
            elif "channel" in value and "link" in value:
                self.wrong(value.key("channel"), f"{what}: one of link: and channel: is wanted")
            elif "channel" in value and (not isinstance(whom, Word) or whom not in channels):
                there = f"there are {', '.join(channels)}" if channels else "there are none; write link: and its name"
                self.wrong(value.key("channel"), f"{what}.channel: \"{whom}\" is no channel; {there}")
            elif "channel" not in value and (not isinstance(whom, Word) or whom not in links):
                known = isinstance(whom, Word) and whom in channels
                self.wrong(whom or value, f"{what}.link: " + (f"\"{whom}\" is a channel; write channel: {whom}" if known else self.no_link(whom, links)))
            elif "channel" in value and "set" not in value:
                self.wrong(value, f"{what}: of a channel set: {{KEY: VALUE}} is wanted; what takes it down are outages: of the channel")
            elif ("do" in value) == ("set" in value):
                self.wrong(value, f"{what}: one of do: up, do: down and set: {{KEY: VALUE}} is wanted")
            elif value.get("do", "up") not in ("up", "down"):
                self.wrong(value["do"], f"{what}.do: \"{value['do']}\" is not understood; right are up and down")
            elif not (keys := self.map(value.get("set", Map()), f"{what}.set")) and value.get("set") in ("", {}):
                self.wrong(value.key("set"), f"{what}.set: is empty; write {{KEY: VALUE}}")
            else:
                out.append(Event(at, str(whom), str(value.get("do", "set")), self.flat(keys), value.place))
        return sorted(out, key=lambda event: event.at)

    def flat(self, keys: Map) -> Map:
        try:
            return flattened(keys)
        except places.PlacesError as e:
            self.errors.append(str(e))
            return keys

    @staticmethod
    def no_link(link: Any, links: dict[str, Link]) -> str:
        if not isinstance(link, Word) or not link:
            return f"is missing; there are {', '.join(links)}" if not link else "the name of one link is wanted, such as 1-2"
        turned = "-".join(link.split("-")[::-1])
        return f"\"{link}\" is no link; {advice.meant(turned if turned in links else link, links)}"

    def captures(self) -> list[str]:
        value = self.tree.get("capture")
        if value is None:
            return ["segments", "bundles", "drops"]
        value = self.items(value, "capture")
        for word in value:
            if word not in CAPTURE:
                self.wrong(word, f"capture: \"{word}\" is not known; there are {', '.join(CAPTURE)}")
        return [str(word) for word in value]


def count(low: int, high: int) -> Callable[..., Any]:
    def parse(text: Word) -> int:
        if not re.fullmatch(r"\d+", text) or not low <= int(text) <= high:
            raise ValueError(f"\"{text}\" is no whole number from {low} to {high}")
        return int(text)

    return parse


def seed_of(seed: int, name: str) -> int:
    """Of what is random by that name, below 2**56: labs with seeds beside each other share none."""
    return int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:7], "big")


def pick(tree: Map, names: tuple[str, ...]) -> Map:
    out = Map((key, value) for key, value in tree.items() if key in names)
    out.place = tree.place
    return out


def interpret(tree: Any, path: str, base: str) -> Lab:
    reader: Any = Reader(tree, base)
    reader.map(tree, "", TOP)
    names, pairs = reader.shape()
    nodes = reader.nodes(names)
    links = reader.links(pairs, nodes)
    channels = lab_handover.read_channels(reader, WAY, CHANNEL)
    lab_handover.read(reader, links, channels)
    lab = Lab(path, base, tree, reader.word(tree, "title", "", os.path.basename(path)), nodes, links, reader.traffic(nodes),
              reader.events(links, channels), reader.parsed(tree, "duration", "", units.duration), reader.seed(), reader.captures(),
              reader.word(tree, "plan", "", put("", None)), reader.parsed(tree, "ports", "", count(1024, 60000)),
              *lab_shared.read(reader, links, channels), channels)
    sense.check(reader, lab)
    stacks.check(reader, lab)
    if reader.errors:
        raise places.PlacesError("\n".join(dict.fromkeys(reader.errors)))
    return lab


def flattened(keys: Map, said: str = "") -> Map:
    """The settings, each key of one direction or one end with its whole name: forward: {rate: 1Mbit/s} is forward.rate: 1Mbit/s. said: how a user began
    to write it, instead of a file. PlacesError.
    """
    out = Map()
    out.place = getattr(keys, "place", None)

    def add(key: Any, value: Word) -> None:
        words, _ = NESTED.get(key.split(".")[0], (1, None))
        missing = len(key.split(".")) < words
        inner: Any = None
        if missing:
            inner = places.yaml_value(value, (where(value) if getattr(value, "place", None) else f"{said}{key}={value}", 0))
        if not inner or not isinstance(inner, Map):
            out[key] = value  # `changed` reports a missing one
        for name, one in inner.items() if isinstance(inner, Map) else ():
            add(put(f"{key}.{name}", name.place), one)

    for key, value in keys.items():
        add(key, value)
    return out


def is_of_network(link: Link, words: list[str]) -> Any:
    """Is it a key of the wide area network that the link's station has? words: of the key, behind `station`."""
    return (link.station is not None and link.station.wan is not None and words[:1] == ["wan"] and words[1:-1] in ([], ["forward"], ["return"])
            and words[-1] in ("rate", "delay"))


def refuse_key(lab: Lab, whom: str, key: Any, said: str) -> None:
    """What is no key of a running link or channel, whatever its value; else there would be keys that are set without any effect."""
    head, *more = key.split(".")
    what, passed = f"{said}: {lab.holder(whom).what}.{key}", lab.holder(whom)
    words, example = NESTED.get(head, (1, None))
    if whom in lab.channels:
        fixed = "scenario" if head == "scenario" else None  # others are unknown to channels
    elif head == "station" and is_of_network(lab.links[whom], more):
        fixed = None
    else:
        fixed = head if head in FIXED else "adapter" if head == "ends" and more[-1:] == ["adapter"] else None
    if fixed:
        raise places.PlacesError(f"{what}: {FIXED[fixed]}")
    if 1 + len(more) < words:
        raise places.PlacesError(f"{what}: keys and values are wanted, such as {example}")
    if passed.channel is None and key != "rate" and head in (*WAY, *CHANNEL, "forward", "return"):
        raise places.PlacesError(f"{what}: {passed.what} has no channel, which cannot come while it runs")


def changed(lab: Lab, whom: str, keys: Any) -> Lab:
    """The lab with other keys (as `flattened` has them) of a link or a channel: of an event, or by `link LINK set`. PlacesError."""
    tree, kind = places.copy(lab.tree), "channels" if whom in lab.channels else "links"
    for key, value in keys.items():
        said = where(key) if getattr(key, "place", None) else f"link {whom} set {key}={value}"
        refuse_key(lab, whom, key, said)
        places.assign(tree, f"{kind}.{whom}.{key}", value, said)
    then = interpret(tree, lab.path, lab.base)
    if lab.redraw is not None:
        then.redraw = lab.redraw
        lab.redraw(then)
    return then


def load(path: str, changes: Sequence[tuple[str, str]] = (), option: str = "") -> Lab:
    """The lab of a file; changes: (key, value as YAML), as in ("links.1-2.rate", "1Mbit/s"), that a person wrote behind
    `option`. PlacesError."""
    tree = places.read(path)
    if not isinstance(tree, Map):
        raise places.PlacesError(f"{path}:1: a lab file is a map of keys and values, such as line: 2")
    if said := advice.foreign({str(key): isinstance(value, Word) for key, value in tree.items()}, "helio-lab"):
        raise places.PlacesError(f"{path}:1: {said}")
    for key, value in changes:
        places.assign(tree, key, value, f"{option}{key}={value}")
    return interpret(tree, path, os.path.dirname(os.path.abspath(path)))


def of(tree: dict[str, Any], name: str, base: str = ".") -> Lab:
    """A lab that a program has made up, from plain Python values."""
    return interpret(put(tree, (name, 0)), name, base)
