# SPDX-License-Identifier: Apache-2.0
"""From a lab file to the input of its programs: addresses, sockets, routes, contact plan, configurations, command lines. Values in the file replace
derived values.

Each line of a configuration knows the line of the lab file that it was made from, so that a program's message is shown for that line.
"""

from __future__ import annotations

import dataclasses
import datetime
import difflib
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

from .. import advice, places, ports, programs, units
from ..places import Map, merge, put
from . import file, frames, plan as lab_plan, shared, stack_files, stacks as lab_stacks, station as lab_station, wireshark
from .objections import without_consequences
from .routes import routes_of

HEADERS = 42           # UDP, IPv4, Ethernet: what a bridge's frames have themselves
DATAGRAMS = ("ltp-udp", "udp")
STREAMS = ("tcpcl", "stcp", "mtcp")
TWO_WAY = ("stcp", "mtcp")  # a connection for each direction
RELAY = 254            # the emulator in a link's network of mode netns
PERF_SERVICE, FILE_SERVICE, ECHO = "2000", "2001", "128"
MARGIN = 0.02          # seconds, of a link's timer by default
SIM_START = "2026-01-01T00:00:00Z"  # time zero of helio-sim


@dataclasses.dataclass
class Command:
    """A program of the lab: what its log is called, where it runs, its words; when, counted from the lab's beginning."""
    name: str
    node: str        # None: the channel between nodes
    words: list[Any]
    start: float = 0.0
    flow: file.Flow | None = None


@dataclasses.dataclass
class Derived:
    lab: file.Lab
    folder: str
    configs: dict[str, Any]    # path -> (Writer, the program's words that check it)
    nodes: dict[str, Any]      # name -> path of the configuration
    sockets: dict[str, Any]    # name -> path
    channels: dict[str, Any]   # link, or the piece of one with a station -> path of the scenario
    relays: dict[str, Any]     # link -> its addresses: listen, to, back
    servers: list[Any]    # of Command
    clients: list[Any]
    stations: dict[str, Any] = dataclasses.field(default_factory=dict)  # link -> path of the provider's configuration
    wans: dict[str, Any] = dataclasses.field(default_factory=dict)      # link -> options of the relay of streams, or the scenario's path
    owners: dict[str, Any] = dataclasses.field(default_factory=dict)    # channel -> link
    plan: str | None = None
    gaps: dict[str, Any] = dataclasses.field(default_factory=dict)      # link that is handed over -> the key of its own drop log
    emulator: str | None = None  # path of the file of the one for all channels; None: each has its own
    received: list[Any] = dataclasses.field(default_factory=list)  # folders for files
    decode_as: list[Any] = dataclasses.field(default_factory=list)  # lines for Wireshark, where there are captures
    stacks: dict[str, Any] = dataclasses.field(default_factory=dict)     # name of a node of another stack -> stack_files.Derived
    contacts: str | None = None  # path of the contact plan that is written for them

    @property
    def alone(self) -> list[str]:
        """The channels that have an emulator of their own."""
        return [name for name in self.channels if not self.emulator or name not in self.relays and name not in self.lab.channels]

    def log(self, node: str, what: str) -> str:
        return os.path.join(self.folder, f"node{self.lab.nodes[node].number}.{what}.csv")


@dataclasses.dataclass
class StationAddresses:
    modem: str   # where frames arrive
    listen: str  # of the provider
    uplink: str  # where CLTUs go
    wan: str     # of the relay that is the wide area network


class Addresses:
    """Of mode local: an address of the loopback interface for each end of a link, and for its relay."""
    wan_relay = True  # streams pass one, too
    frames_by_tcp = True  # where there is no relay
    named_streams = True  # an accepted connection has the peer's address

    def __init__(self, lab: file.Lab, fixed: int | None = None) -> None:
        self.lab = lab
        first = lab.ports or fixed
        if first:
            self.free = iter(range(first, 65536))
        else:
            self.free = iter(ports.free_ports(3 * len(lab.links) + 4 * sum(link.station is not None for link in lab.links.values()) +
                                              lab_stacks.PORTS * len(lab_stacks.others(lab)) + 1))
        self.of = {name: tuple(f"{self.host(end)}:{next(self.free)}" for end in (*link.ends, self.relay_node(link)))
                   for name, link in lab.links.items()}
        self.stations = {name: StationAddresses(*(f"{link.station.address or '127.0.0.1'}:{next(self.free)}" for _ in range(4)))
                         for name, link in lab.links.items() if link.station is not None}
        self.own = {name: tuple(next(self.free) for _ in range(lab_stacks.PORTS)) for name in lab_stacks.others(lab)}
        for at in self.stations.values() if lab.one_emulator else ():
            at.uplink = f"{self.host(self.relay_node(None))}:{at.uplink.rpartition(':')[2]}"

    def own_ports(self, node: Any) -> Any:
        """Of a node of another stack, beside those of its links."""
        return self.own[node]

    def relay_node(self, link: Any) -> str:
        """At whose machine the relay is: the emulator of all links is at one."""
        result: str = (next(iter(self.lab.links.values())) if self.lab.one_emulator else link).ends[0]
        return result

    def host(self, node: str) -> str:
        return self.lab.nodes[node].address or "127.0.0.1"

    def ends(self, link: file.Link) -> tuple[tuple[tuple[str, str], tuple[str, str]], str | None]:
        """The (local, remote) of both ends; the relay's address, if there is one."""
        a, b, relay = self.of[link.name]
        if link.station is not None:
            at, craft = self.station(link), link.station.craft
            of_craft = (a, b)[craft], (at.modem if link.channel is None else relay)
            of_centre = (b, a)[craft], (at.listen if link.station.wan is None or not self.wan_relay else at.wan)
            return ((of_craft, of_centre), (of_centre, of_craft))[craft], relay if link.channel is not None else None
        if link.channel is None:
            return ((a, b), (b, a)), None
        return ((a, relay), (b, relay)), relay

    @staticmethod
    def bridged(_: file.Link) -> bool:
        """Is there a bridge in the middle, which sees whole frames?"""
        return False

    def station(self, link: Any) -> Any:
        """The settings of the station's provider: its port, its modem's, and the target of CLTUs."""
        at, craft = self.stations[link.name], self.of[link.name][link.station.craft]
        return dataclasses.replace(at, uplink=at.uplink if link.channel is not None else craft)

    def pieces(self, link: Any) -> list[tuple[str, Any, Any]]:
        """The relays of the link's channel: name, the channel's directions that are its forward and return, its addresses."""
        (a, b), relay = self.ends(link)
        if link.station is None:
            return [(link.name, ("forward", "return"), {"listen": relay, "to": b[0], "back": a[0]} if relay else None)]
        at, craft = self.station(link), (a, b)[link.station.craft][0]
        return [(f"{link.name}.down", (link.station.down, None), {"listen": relay, "to": at.modem, "back": craft}),
                (f"{link.name}.up", (link.station.up, None), {"listen": at.uplink, "to": craft, "back": at.modem})]


class SpaceAddresses:
    """For mode netns: each link is a network of its own, with a bridge in the middle; or with the one emulator of all links, which both ends reach at one address."""
    frames_by_tcp = named_streams = True

    def __init__(self, lab: file.Lab) -> None:
        self.one_emulator = lab.one_emulator
        for link in lab.links.values():
            if link.station is not None:
                raise places.PlacesError(f"{places.where(link.station)}: links.{link.name}.station: stations are in the modes local and sim")
        self.index = {name: i for i, name in enumerate(lab.links)}

    @staticmethod
    def own_ports(_: Any) -> Any:
        return tuple(range(5001, 5001 + lab_stacks.PORTS))

    def bridged(self, holder: Any) -> Any:
        """The one emulator relays datagrams; streams keep their bridge."""
        return isinstance(holder, file.Link) and holder.channel is not None and (not self.one_emulator or holder.adapter in STREAMS)

    def pieces(self, link: file.Link) -> Any:
        (a, b), relay = self.ends(link)
        return [(link.name, ("forward", "return"), {"listen": relay, "to": b[0], "back": a[0]} if relay else None)]

    def network(self, link: file.Link) -> Any:
        i = self.index[link.name]
        return f"10.{80 + i // 250}.{i % 250}"

    def ends(self, link: file.Link) -> Any:
        a, b, relay = (f"{self.network(link)}.{i}:1113" for i in (1, 2, RELAY))
        if link.channel is None or self.bridged(link):
            return ((a, b), (b, a)), None
        return ((a, relay), (b, relay)), relay


def endpoints(lab: file.Lab) -> dict[str, dict[str, str]]:
    """The endpoint that a node's name stands for."""
    return {what: {name: node.endpoint(service) for name, node in lab.nodes.items()}
            for what, service in (("echo", ECHO), ("perf", PERF_SERVICE), ("file", FILE_SERVICE))}


# ---- configurations ----


def leaves(tree: Map) -> Map:
    """The keys of a link with their whole names: recovery: {copies: 3} is recovery.copies: 3."""
    out = Map()
    for key, value in tree.items():
        if isinstance(value, Map):
            for name, inner in value.items():
                out[key if name == "mode" else put(f"{key}.{name}", name.place)] = inner
        else:
            out[key] = value
    return out


def in_group(tree: Map, group: str, key: Any, value: Any) -> None:
    """Gives a key of an adapter's group its value (docs/ltp-udp.md), unless it has one; `recovery: own` is {mode: own}."""
    given = tree.get(group, Map())
    inner = given if isinstance(given, Map) else Map([(put("mode", given.place), given)])
    made = Map([(key, value)])
    made.place = value.place
    tree[put(group, value.place)] = merge(made, inner)


class Deriver:
    def __init__(self, lab: file.Lab, folder: str, sockets: str, addresses: Any, begin: str, capture_files: bool = True) -> None:
        self.lab, self.folder, self.addresses, self.begin = lab, folder, addresses, begin
        self.sockets = sockets
        self.capture_files = capture_files  # False: the simulator writes the logs by itself
        self.errors: list[Any] = []
        self.out = Derived(lab, folder, {}, {}, {name: os.path.join(sockets, f"{node.number}.sock")
                                                 for name, node in lab.nodes.items()}, {}, {}, [], [])

    def add_config(self, name: str, title: str, tree: Map, check: tuple[str, ...]) -> str:
        writer = places.Writer(f"{title}, derived from {self.lab.path}", self.lab.path)
        writer.add(tree)
        path = os.path.join(self.folder, name)
        self.out.configs[path] = (writer, check)
        return path

    def wrong(self, value: Any, text: str) -> None:
        self.errors.append(f"{places.where(value)}: {text}")

    def tell(self) -> None:
        if self.errors:
            raise places.PlacesError("\n".join(dict.fromkeys(self.errors)))

    def link_end(self, link: file.Link, i: int) -> Map:
        """The link as its end number i has it in the node's file."""
        node, other = link.ends[i], self.lab.nodes[link.ends[1 - i]]
        pairs, relay = self.addresses.ends(link)
        local, remote = pairs[i]
        mistake = frames.mistake(link, self.addresses.frames_by_tcp and not relay)
        if mistake is not None:
            self.wrong(*mistake)
        derived = {"name": f"to-{other.name}", "adapter": link.adapter, "peer": other.endpoint("0") if not
                   other.keys.get("node", "").startswith("dtn:") else other.keys["node"]}
        if link.adapter in DATAGRAMS:
            derived.update(local=local, remote=remote)
        elif link.adapter in STREAMS:
            opens = lab_stacks.connects(self.lab, link, i)
            derived.update({"local": local, "remote": remote} if link.adapter in TWO_WAY else {"remote": remote} if opens else {"local": local})
            if link.adapter in TWO_WAY and not self.addresses.named_streams:
                derived["source"] = "any"
            if link.adapter == "tcpcl" and not opens and not local.startswith(("127.", "[::1]")):
                derived["tls"] = "off"  # a network that is the lab's alone
            if relay:
                self.wrong(link.keys["adapter"], f"links.{link.name}: {link.adapter} does not pass a relay, which carries datagrams; "
                           "write channel: no, or take --mode netns")
        derived.update(lab_stacks.own_end(self.lab, link, i))
        if link.channel is not None and link.adapter in DATAGRAMS:
            derived.update({key: value for key, value in shared.pace(link, ("forward", "return")[i]).items() if value is not None})
        owlt, margin = lab_plan.longest_delay(link), None
        if link.adapter == "ltp-udp" and owlt and "rto" not in merge(link.keys, link.at.get(node)):
            derived["owlt"] = owlt
            wait = shared.wait(self.lab, link)
            if wait > 0:
                margin = units.duration_text(MARGIN + wait)
        if link.station is not None:
            derived.update(lab_station.end_keys(link, i, self.addresses.station(link)))
        tree = merge(put(derived, link.place), lab_station.own_keys(link, i), link.at.get(node))
        if "overhead" in tree and link.adapter in DATAGRAMS:
            key = tree.key("overhead")
            in_group(tree, "pacing", key, tree.pop(key))
        if margin is not None:
            in_group(tree, "recovery", put("margin", link.place), put(margin, link.place))
        return tree

    def plan_file(self) -> str | None:
        plan = self.lab.plan
        if plan == "no" or (plan == "" and not lab_plan.has_contacts(self.lab)):
            return None
        return os.path.join(self.folder, "plan.yaml") if plan in ("", "yes") else places.beside(self.lab.base, plan)

    def node_config(self, node: file.Node) -> Map:
        derived = {"node": f"ipn:{node.number}.0", "socket": self.out.sockets[node.name], "store": {"durability": "none"}}
        plan = self.plan_file()
        if plan:
            derived["plan"] = plan
        if self.capture_files:
            logs = {what: self.out.log(node.name, what) for what in ("segments", "bundles") if what in self.lab.capture}
            if logs:
                derived["log"] = logs
        store = node.keys.get("store", {})
        if isinstance(store, dict) and store.get("durability", "none") != "none" and "path" not in store:
            derived["store"]["path"] = os.path.join(self.folder, f"node{node.number}.store")
        tree = merge(put(derived, node.place), node.keys)
        links = [self.link_end(link, link.ends.index(node.name)) for link in self.lab.links.values() if node.name in link.ends]
        tree["links"] = put(links + list(node.keys.get("links", [])), node.place)
        if "routes" not in node.keys and not plan:
            routes = routes_of(self.lab, node.name)
            if routes:
                tree["routes"] = put(routes, node.place)
        return tree

    def scenario(self, link: file.Link, name: str, ways: tuple[str, str], channel: Any = None) -> Map:
        """For a relay or a bridge: the link's channel directions that are its own forward and return (None: no impairment)."""
        whole = link.channel if channel is None else channel
        tree = merge(whole)
        if link.station is not None:
            self.set_seed(tree, link, name)
        for way, of in zip(("forward", "return"), ways):
            tree[way] = whole[of] if of else put({}, link.place)
            timed = any(key in tree[way] for key in ("contacts", "outages", "changes")) or isinstance(tree[way].get("delay"), list)
            tree[way] = merge(tree[way])
            start = self.start_of(tree[way].get("start", "0" if timed else None))
            if start is not None:
                tree[way]["start"] = put(start, link.place)
        if self.addresses.bridged(link):
            tree["overhead"] = put(f"{self.overhead_beyond(tree, link)}B", link.place)
        files = [("drops", "drop_log", "drops.csv")] if self.capture_files else []
        files += [("pcap", "pcap_before", "before.pcap"), ("pcap", "pcap_after", "after.pcap")]
        tree.update({key: put(os.path.join(self.folder, f"link-{name}.{end}"), link.place) for what, key, end in files if what in self.lab.capture})
        return tree

    def overhead_beyond(self, tree: Map, link: file.Link) -> Any:
        """Bytes that the frames of mode netns do not have themselves."""
        given = tree.get("overhead", f"{HEADERS}B")
        try:
            overhead = units.size(given)
        except units.UnitError as e:
            self.wrong(given, f"links.{link.name}.overhead: {e}")
            return 0
        if overhead < HEADERS:
            self.wrong(given, f"links.{link.name}.overhead: {given} is less than the {HEADERS} bytes of UDP, IPv4 and Ethernet that frames of "
                       "mode netns have")
        return max(0, overhead - HEADERS)

    def set_seed(self, tree: Map, link: file.Link, name: str) -> None:
        """A channel draws by its seed and its direction's name: the pieces of a link would lose alike."""
        if name == f"{link.name}.down" or (name.endswith(".wan") and "seed" in tree):
            return
        given = tree.get("seed", str(self.lab.seed))
        if given.isdigit():  # else the piece down reports it
            tree[put("seed", link.place)] = put(str(file.seed_of(given, name)), link.place)

    def start_of(self, start: str | None) -> str | None:
        """Times of a channel count from the lab's beginning, not from its emulator's."""
        try:
            after = units.duration(start)
        except (units.UnitError, TypeError):
            return start  # first, a date, none, or an error that the emulator reports
        begin = datetime.datetime.fromisoformat(self.begin.replace("Z", "+00:00")) + datetime.timedelta(seconds=after)
        return begin.strftime("%Y-%m-%dT%H:%M:%S.%f").rstrip("0").rstrip(".") + "Z"

    def all(self) -> Derived:
        plan = self.plan_file()
        self.stacks()
        for name, node in self.lab.nodes.items():
            if node.stack is not None:
                continue
            path = self.add_config(f"node{node.number}.yaml", f"node {name}", self.node_config(node), ("heliod", "--check"))
            self.out.nodes[name] = path
        for link in self.lab.links.values():
            for name, ways, relay in self.addresses.pieces(link) if link.channel is not None else ():
                self.out.channels[name] = self.gap_log(link) if link.overs else self.add_config(f"link-{name}.yaml", self.title(link, name), self.scenario(link, name, ways),
                                                          ("helio-emu", "check"))
                self.own(name, link)
                if relay:
                    self.out.relays[name] = relay
            if link.station is not None:
                self.station(link)
        for name, one in self.lab.channels.items():
            self.out.channels[name] = self.add_config(f"link-{name}.yaml", f"the channel {name}", self.scenario(one, name, ("forward", "return")),
                                                      ("helio-emu", "check"))
            self.own(name, one)
        if self.lab.one_emulator and (self.out.relays or self.lab.shared):
            self.out.emulator = self.add_config("emulator.yaml", "the emulator of all links", shared.config(self.lab, self.out, self.addresses, self.begin),
                                                ("helio-emu", "links", "--check"))
        if plan and self.lab.plan in ("", "yes"):
            self.out.plan = self.add_config("plan.yaml", "the contact plan", lab_plan.contact_plan(self.lab, self.begin), ("helio-plan", "check"))
        self.traffic()
        if "pcap" in self.lab.capture:
            self.out.decode_as = wireshark.entries(self.lab, self.addresses)
        return self.out

    def stacks(self) -> None:
        """Nodes of other stacks."""
        found = lab_stacks.others(self.lab)
        for link in self.lab.links.values() if found else ():
            wrong = lab_stacks.wrong_port(self.lab, link, self.addresses.ends(link)[1])
            if wrong:
                self.wrong(*wrong)
        self.out.stacks = {name: stack_files.derive_node(self, node) for name, node in found.items()}
        if any(one.plan.contacts for one in self.out.stacks.values()):
            self.out.contacts = self.add_config("contacts.yaml", "contacts for other stacks", stack_files.plan_of(self), ("helio-plan", "check"))

    def gap_log(self, link: file.Link) -> Any:
        """What is handed over has no scenario: None."""
        if self.capture_files and "drops" in self.lab.capture:
            self.out.gaps[link.name] = {"drop_log": os.path.join(self.folder, f"link-{link.name}.drops.csv")}
        if "pcap" in self.lab.capture:
            self.out.gaps.setdefault(link.name, {}).update({f"pcap_{side}": os.path.join(self.folder, f"link-{link.name}.{side}.pcap") for side in ("before", "after")})

    def own(self, name: str, link: file.Link) -> None:
        other = self.out.owners.setdefault(name, link.name)
        if other != link.name:
            self.wrong(link, f"links.{link.name}: its channel {name} has the same name as one of links.{other}; give a node another name")

    @staticmethod
    def title(link: file.Link, name: str) -> str:
        if link.station is None:
            return f"the link {name}, forward is from {link.ends[0]} to {link.ends[1]}"
        return f"the channel {name}, forward is {'to' if name.endswith('.down') else 'from'} the ground station"

    @staticmethod
    def station_socket(lab: file.Lab, link: Any, sockets: str) -> Any:
        return os.path.join(sockets, f"station-{list(lab.links).index(link) + 1}.sock")

    def status_path(self, link: file.Link) -> Any:
        """The simulator reports without a request."""
        return self.station_socket(self.lab, link.name, self.sockets) if self.addresses.wan_relay else None

    def station(self, link: Any) -> None:
        tree = lab_station.provider(link, self.addresses.station(link), self.status_path(link))
        self.out.stations[link.name] = self.add_config(f"station-{link.name}.yaml", f"the ground station of the link {link.name}", tree,
                                                       ("helio-sle", "provider", "--check"))
        if link.station.wan is None:
            return
        name = f"{link.name}.wan"
        scenario = self.scenario(link, name, ("forward", "return"), link.station.wan)
        path = self.add_config(f"link-{name}.yaml", f"the wide area network of the link {link.name}, forward is to the mission centre", scenario,
                               ("helio-emu", "check"))
        if not self.addresses.wan_relay:
            self.out.channels[name] = path
            self.own(name, link)
            return
        refused = lab_station.refuse_wan(link)
        for value, text in [refused] if refused else lab_station.check_units(link):
            self.wrong(value, text)
        if not refused and not self.errors:
            self.out.wans[link.name] = lab_station.relay_words(link, self.addresses.station(link))

    # ---- traffic ----

    def traffic(self) -> None:
        served: set[Any] = set()
        for flow in self.lab.traffic:
            if flow.kind in ("perf", "file"):
                self.serve(flow, served)
            self.out.clients.append(Command(flow.name, flow.source, self.client(flow), flow.start, flow))

    def service(self, flow: file.Flow) -> str:
        return flow.keys.get("service", PERF_SERVICE if flow.kind == "perf" else FILE_SERVICE)

    def serve(self, flow: file.Flow, served: set[tuple[str, str]]) -> None:
        place = (flow.target, self.service(flow))
        if place in served:
            return
        served.add(place)
        name = f"server-{'-'.join(place)}"
        words = ["helio-perf", "server", "--socket", self.out.sockets[flow.target], "--service", place[1],
                 "--json", os.path.join(self.folder, f"{name}.json")]
        if "lifetime" in flow.keys:
            words += ["-l", flow.keys["lifetime"]]
        if flow.kind == "file":
            self.out.received.append(os.path.join(self.folder, "received", flow.target))
            words += ["--output", self.out.received[-1]]
        self.out.servers.append(Command(name, flow.target, words, 0.0, flow))

    def client(self, flow: file.Flow) -> list[str]:
        own = ["--socket", self.out.sockets[flow.source]]
        if flow.kind == "run":
            return shlex.split(flow.keys["command"])
        if flow.kind == "ping":
            return ["helio-ping", *own, self.lab.nodes[flow.target].endpoint(ECHO), "-c", flow.keys.get("count", "5"),
                    "-i", flow.keys.get("interval", "1s"), "-l", flow.keys.get("lifetime", "1min"),
                    *(["-s", flow.keys["size"]] if "size" in flow.keys else []),
                    "--json", os.path.join(self.folder, f"{flow.name}.json")]
        words = ["helio-perf", "client", *own, "-d", self.lab.nodes[flow.target].endpoint(self.service(flow))]
        keys = dict(flow.keys)
        if flow.kind == "file":
            words += ["-F", places.beside(os.path.abspath(self.lab.base), keys["path"])]
        elif "data" not in keys:
            keys.setdefault("duration", "10s")
        if "rate" not in keys:
            keys.setdefault("window", "20")
        for key, option in file.PERF.items():
            if key in keys:
                value = self.perf_value(flow, key, keys[key])
                words += [f"{option}={value}"] if option.startswith("--") else [option, value]
        return [*words, "--json", os.path.join(self.folder, f"{flow.name}.json")]

    def perf_value(self, flow: file.Flow, key: str, value: str) -> str:
        """helio-perf's own units are those of DTNperf."""
        if key != "rate" or value.endswith("b"):
            return str(value)
        try:
            return str(units.rate(value))
        except units.UnitError as e:
            self.wrong(value, f"{flow.what}.rate: {e}; or bundles a second, like 20b")
            return "1"


def derive(lab: file.Lab, folder: str, sockets: str, addresses: Addresses, begin: str, capture_files: bool = True) -> Derived:
    deriver = Deriver(lab, folder, sockets, addresses, begin, capture_files)
    out = deriver.all()
    deriver.tell()
    return out


def write(derived: Derived) -> None:
    for path, (writer, _) in derived.configs.items():
        writer.write(path)
    stack_files.write(derived)
    for folder in derived.received:
        os.makedirs(folder, exist_ok=True)
    if derived.decode_as:
        with open(os.path.join(derived.folder, wireshark.NAME), "w", encoding="ascii") as f:
            f.writelines([wireshark.HEAD, *derived.decode_as])


def check(derived: Derived) -> None:
    """Lets each program read its file; raises PlacesError with all errors, at the lines of the lab file."""
    said = []
    for path, (_, (program, *words)) in derived.configs.items():
        done = subprocess.run([programs.find(program), *words, path], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            for line in done.stderr.strip().splitlines() or [f"{path}: {program} ended with code {done.returncode}"]:
                said.append(suggest_channel(translate(derived, line.removeprefix(f"{program}: "))))
    if said:
        raise places.PlacesError("\n".join(each_once(without_consequences(said))))


def translate(derived: Derived, line: str) -> str:
    """A program may find a mistake in the file of another, which it reads: of the plan, say."""
    for path, (writer, _) in derived.configs.items():
        line = writer.translate(line, path)
    # a trace by a wrong name is looked for in the folder of the derived file
    return re.sub(rf"{re.escape(derived.folder)}/([^/:]+): cannot be opened", r"\1: cannot be opened", line)


def suggest_channel(line: str) -> str:
    """heliod knows the adapter's keys alone: a key of the channel may be nearer to what was written."""
    match: Any = re.search(r"links\[[^\]]*\]\.(\w+): unknown key; (?:did you mean (\w+)\?)?", line)
    if not match:
        return line

    def likeness(word: Any) -> Any:
        return difflib.SequenceMatcher(None, match[1], word).ratio()

    near = advice.closest(match[1], (*file.WAY, *file.CHANNEL, *file.BOTH, *file.LINK))
    if near and (match[2] is None or likeness(near) > likeness(match[2])):
        return f"{line[:match.start()]}{match[0].split(';')[0]}; did you mean {near}?"
    return line if match[2] else f"{line}; and of the channel: {', '.join(file.WAY)}"


def pieces(holder: Any, addresses: Any) -> Any:
    """Of a link's channel, or of one that is passed."""
    return addresses.pieces(holder) if isinstance(holder, file.Link) else [(holder.name, ("forward", "return"), None)]


def where_of(event: file.Event) -> Callable[[str], str]:
    """Where a user wrote a key of the event."""
    return lambda key: f"{event.where(key)}: events set"


def check_events(lab: file.Lab, addresses: Any, begin: str) -> None:
    """What events will set, before anything is started: of a channel, of the adapters at both ends."""
    for event in lab.events:
        if event.do != "set":
            continue
        with tempfile.TemporaryDirectory(prefix="helio-lab-") as folder:
            then = file.changed(lab, event.whom, event.set)
            derived = derive(then, folder, folder, addresses, begin)
            before = lab.holder(event.whom)
            if lab.one_emulator and before.channel is None and then.holder(event.whom).channel is not None:
                raise places.PlacesError(f"{event.where()}: events set: {before.what} has no channel, which cannot come while it runs")
            if lab.one_emulator and before.channel is not None and not addresses.bridged(before):
                shared.changes(before, then.holder(event.whom), pieces(before, addresses), where_of(event))
            ends = [derived.nodes[end] for end in then.links[event.whom].ends if end in derived.nodes] if event.whom in then.links else []
            wanted = (*ends, *(path for name, path in derived.channels.items() if derived.owners[name] == event.whom), derived.plan)
            derived.configs = {path: config for path, config in derived.configs.items() if path in wanted}
            derived.stacks = {}
            write(derived)
            check(derived)


def each_once(said: list[str]) -> Any:
    """An error that several programs report for the same place and key is one error."""
    found: Any = {}
    for line in said:
        place, _, text = line.partition(" ")
        what, colon, why = text.partition(": ")
        found.setdefault((place, what.rsplit(".", 1)[-1] + colon + why), line)
    return found.values()
