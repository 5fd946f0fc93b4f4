# SPDX-License-Identifier: Apache-2.0
"""Mode sim: the same configurations, channels and traffic in virtual time, by helio-sim --node."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from typing import Any

from .. import places, programs, units
from ..places import Items, Map, put
from ..processes import Failed
from . import derive as lab_derive, file, handover, objections, result, routes, shared as lab_shared, stacks

FIRST_PORT = 10000  # these are never opened
CHANGES = ("rate", "delay", "iid", "duplicate", "corrupt", "bit_errors")  # of a channel, in mid-run


class Addresses(lab_derive.Addresses):
    """Streams need no relay here: the simulator takes them over the channel between two nodes."""
    wan_relay = frames_by_tcp = named_streams = False

    def ends(self, link: file.Link) -> tuple[tuple[tuple[str, str], tuple[str, str]], str | None]:
        if link.adapter in lab_derive.STREAMS:
            a, b, _ = self.of[link.name]
            return ((a, b), (b, a)), None
        return super().ends(link)


def client_words(command: lab_derive.Command) -> str:
    """The words of helio-perf's client or server as helio-sim has them: it writes no files of them."""
    words = list(command.words[2:])
    at = words.index("--json")
    del words[at:at + 2]
    return " ".join(map(shlex.quote, words))


def ping_words(lab: file.Lab, command: lab_derive.Command) -> str:
    flow: Any = command.flow
    keys = {key: flow.keys.get(key, default) for key, default in (("count", "5"), ("interval", "1s"), ("lifetime", "1min"))}
    index = list(lab.nodes).index(flow.source) + 1
    return f"{index}={lab.nodes[flow.target].endpoint(lab_derive.ECHO)},{keys['count']},{keys['interval']},{keys['lifetime']}"


def starting(command: lab_derive.Command) -> str:
    return f"@{units.duration_text(command.start)} " if command.start else ""


def event_words(lab: file.Lab, event: file.Event) -> Iterator[str]:
    if event.whom in lab.channels:
        return  # the values for the ends are in pace_words
    link = lab.links[event.whom]
    for i, (end, other) in enumerate((link.ends, link.ends[::-1])):
        begin = f"{units.duration_text(event.at) if event.at else '0s'} {lab.nodes[end].endpoint('0')} {routes.link_name(lab, link, other)}"
        if event.do != "set":
            yield f"{begin} {event.do}"
        elif event.ends[i]:
            yield f"{begin} set {json.dumps(places.plain(event.ends[i]))}"


def pace_words(lab: file.Lab) -> Iterator[Any]:
    """A hand-over to a channel of another rate or overhead, or an event that changes the one that is passed."""
    versions = [(0.0, lab), *((event.at, event.then) for event in lab.events if event.then is not None)]
    for step in handover.steps(versions, lab_shared.pace):
        link = lab.links[step.link]
        end, other = link.ends[step.end], link.ends[1 - step.end]
        yield f"{units.duration_text(step.at)} {lab.nodes[end].endpoint('0')} {routes.link_name(lab, link, other)} set {json.dumps(step.keys)}"


# ---- what changes in mid-run ----


def flat_way(way: Map) -> dict[str, places.Word | dict[str, Any]]:
    """A direction's keys as `changes` of a scenario names them; what it does not know stays as it is."""
    out = {key: value for key, value in way.items() if key not in ("erasures", "changes")}
    erasures = dict(way.get("erasures", {}))
    if "iid" in erasures:
        out["iid"] = erasures.pop("iid")
    if erasures:
        out["erasures"] = erasures
    return out


def refuse(event: file.Event, text: str, key: str = "") -> None:
    raise places.PlacesError(f"{event.where(key)}: events set: {text}; take --mode local")


def way_change(event: file.Event, what: str, before: Map, after: Map) -> Any:
    """What of a direction's channel is another one from the event on, as an item of `changes`; None: nothing."""
    old, new = flat_way(before), flat_way(after)
    changed = [key for key in {**old, **new} if places.plain(old.get(key)) != places.plain(new.get(key))]
    for key in changed:
        if key not in CHANGES:
            refuse(event, f"{key} of a channel cannot change in virtual time (what can: {', '.join(CHANGES)})", key)
        if isinstance(old.get(key), list) or isinstance(new.get(key), list):
            refuse(event, f"{key} of {what} is a table", key)
        if key in ("rate", "delay") and key not in old:
            refuse(event, f"{what} has no {key} to change from", key)
    if changed and "start" in before:
        refuse(event, f"{what} has a start of its own, and events count from the lab's beginning", changed[0])
    at = {"at": units.duration_text(event.at) if event.at else "0s"}
    return put({**at, **{key: new.get(key, "0") for key in changed}}, event.set.place) if changed else None


def end_changes(lab: file.Lab, link: file.Link, then: file.Lab, event: file.Event, addresses: Any) -> list[Map]:
    """The keys of the adapter for each end, as in the other modes: the settings, and values that follow from its rate. For a link that is handed over,
    the hand-over sets how its ends are paced, because it knows the link's path.
    """
    derivers = [lab_derive.Deriver(one, "", "/nowhere", addresses, lab_derive.SIM_START) for one in (lab, then)]
    out, pacing = [], ("rate", "pacing.overhead", *(("owlt",) if any(key.startswith("station.") for key in event.set) else ()))
    for i in range(2):
        old, new = (lab_derive.leaves(deriver.link_end(one.links[link.name], i)) for deriver, one in zip(derivers, (lab, then)))
        mine = {key.removeprefix(f"ends.{link.ends[i]}.") for key in event.set}
        mine |= {key.split(".")[0] for key in mine if key not in new} | ({"pacing.overhead"} if "overhead" in mine else set())
        changed = {key for key in pacing if places.plain(old.get(key)) != places.plain(new.get(key))}
        keys = [key for key in new if {key, key.split(".")[0]} & mine or key in changed]
        keys = [key for key in keys if not (key in pacing and link.overs)]
        out.append(Map((key, new[key]) for key in keys))
    return out


def network(holder: file.Link) -> Any:
    """The wide area network of a link with a station; None: it has none."""
    station = getattr(holder, "station", None)
    return None if station is None else station.wan


def add_change(event: file.Event, way: Map, change: Map) -> None:
    if change:
        way["changes"] = put(Items([*way.get("changes", ()), change]), event.place)


def change_by_events(lab: file.Lab, addresses: Addresses) -> None:
    """Values that events set become `changes` of the channels, and words for the ends of the links."""
    if any(event.then is not None for event in lab.events):
        return  # this lab was here before
    lab_derive.check_events(lab, addresses, lab_derive.SIM_START)
    now = lab
    for event in lab.events:
        if event.do != "set":
            continue
        event.then = file.changed(now, event.whom, event.set)
        before, after = now.holder(event.whom), event.then.holder(event.whom)
        if event.whom in now.links:
            event.ends = end_changes(now, before, event.then, event, addresses)
        of_channel = {key.split(".")[0] for key in event.set} & {*file.WAY, *file.CHANNEL, "forward", "return"}
        if before.channel is None and of_channel - {"rate"} or (before.channel is None) != (after.channel is None):
            refuse(event, f"{before.what} has no channel", next(iter(sorted(of_channel - {"rate"})), ""))
        for key in lab_shared.whole_changed(before, after) if before.channel is not None and not before.overs else ():
            refuse(event, f"{key} of a channel cannot change in virtual time (what can: {', '.join(CHANGES)})", key)
        for way in ("forward", "return") if before.channel is not None else ():
            add_change(event, lab.holder(event.whom).channel[way], way_change(event, before.what, before.channel[way], after.channel[way]))
        for way in ("forward", "return") if network(before) else ():
            add_change(event, lab.links[event.whom].station.wan[way], way_change(event, f"the network of {before.what}", network(before)[way], network(after)[way]))
        now = event.then
    for one in (*lab.links.values(), *lab.channels.values()):
        for channel in (one.channel, network(one)):
            for way in ("forward", "return") if channel else ():
                channel[way].get("changes", []).sort(key=lambda change: units.duration(change["at"]))


def check_streams(lab: file.Lab) -> None:
    """The channel of a stream transmits all traffic between its nodes."""
    for link in lab.links.values():
        if link.adapter not in lab_derive.STREAMS or link.channel is None:
            continue
        for other in lab.links.values():
            datagrams_by_relay = other.adapter not in lab_derive.STREAMS and other.channel is not None
            if other is not link and set(other.ends) == set(link.ends) and not datagrams_by_relay:
                raise places.PlacesError(f"{places.where(link.keys['adapter'])}: links.{link.name}: in virtual time a stream's channel has "
                                         f"all that goes between its nodes, and links.{other.name} joins the same ones; take --mode netns")


def streams(lab: file.Lab, derived: lab_derive.Derived) -> dict[str, Any]:
    """Channels that lie between two nodes, or a station and a node, instead of at a relay's address: name -> both, by their numbers."""
    numbers: Any = {name: i for i, name in enumerate(lab.nodes, 1)}
    out: Any = {}
    for name in derived.channels:
        if name in derived.relays or name in lab.channels:
            continue
        link: Any = lab.links[derived.owners[name]]
        if link.station is not None:
            centre = link.ends[1 - link.station.craft]
            out[name] = (len(numbers) + 1 + list(derived.stations).index(link.name), numbers[centre])
        elif link.adapter in lab_derive.STREAMS:
            out[name] = tuple(numbers[end] for end in link.ends)
    result: dict[str, Any] = out
    return result


def command_line(lab: file.Lab, derived: lab_derive.Derived) -> list[str]:
    words = [programs.find("helio-sim")]
    for path in derived.nodes.values():
        words += ["--node", path]
    for path in derived.stations.values():
        words += ["--station", path]
    for link, at in derived.relays.items() if not derived.emulator else ():
        words += ["--relay", f"--listen {at['listen']} --to {at['to']} --return-to {at['back']} --scenario {shlex.quote(derived.channels[link])}"]
    for name, (a, b) in streams(lab, derived).items():
        words += ["--channel", f"{a}-{b}={derived.channels[name]}"]
    if derived.emulator:
        words += ["--links", derived.emulator]
    for command in derived.servers:
        if command.flow.kind == "perf":
            continue  # the simulator has one for each client
        words += ["--server", client_words(command)]
    for command in derived.clients:
        if command.flow.kind == "run":
            raise places.PlacesError(f"{places.where(command.flow.keys['command'])}: traffic.run: commands of others do not run in "
                                     "virtual time; take --mode local")
        if command.flow.kind == "ping":
            words += ["--ping", starting(command) + ping_words(lab, command)]
        else:
            words += ["--client", starting(command) + client_words(command)]
    for text in (*(text for event in lab.events for text in event_words(lab, event)), *pace_words(lab)):
        words += ["--link", text]
    if lab.duration is None and not derived.clients:
        raise places.PlacesError(f"{lab.path}: in virtual time nothing would come to an end; write traffic: or duration:")
    if lab.duration is None and lab.events:  # as in the other modes
        words += ["--at-least", units.duration_text(lab.events[-1].at)]
    if lab.duration is not None:
        words += ["--duration", units.duration_text(lab.duration)]
    return [*words, "--seed", str(lab.seed), "--log-dir", derived.folder, "--json"]


def derive(lab: file.Lab, out: str, sockets: str = "/nowhere") -> lab_derive.Derived:
    """sockets: their folder, which must exist for programs that read a node's file."""
    stacks.refuse(lab, "sim")
    addresses = Addresses(lab, FIRST_PORT)
    check_streams(lab)
    change_by_events(lab, addresses)
    return lab_derive.derive(lab, out, sockets, addresses, lab_derive.SIM_START, capture_files=False)


def of_emulator(lab: file.Lab, derived: lab_derive.Derived) -> tuple[str, ...]:
    return (*derived.relays, *lab.channels)


def numbered(lab: file.Lab, derived: lab_derive.Derived) -> tuple[str, ...]:
    """The channels that helio-sim has in the order of its options, not by their names."""
    return (*(derived.relays if not derived.emulator else ()), *streams(lab, derived))


def rename_logs(lab: file.Lab, derived: lab_derive.Derived) -> None:
    """The names that modes with relays use; unwanted entries are removed."""
    paths = {link: f"channel{i}.drops.csv" for i, link in enumerate(numbered(lab, derived), 1)}
    if derived.emulator:
        paths.update((name, f"link-{called}.drops.csv") for name, called in lab_shared.names(derived.channels).items() if name in of_emulator(lab, derived))
    for link, name in paths.items():
        path = os.path.join(derived.folder, name)
        if "drops" in lab.capture:
            os.rename(path, os.path.join(derived.folder, f"link-{link}.drops.csv"))
        else:
            os.unlink(path)
    for what in ("segments", "bundles"):
        for name in lab.nodes:
            if what not in lab.capture and os.path.exists(derived.log(name, what)):
                os.unlink(derived.log(name, what))


def by_flow(derived: lab_derive.Derived, shown: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """helio-sim reports clients and pings in the order of its options."""
    clients, pings = iter(shown["clients"]), iter(shown["pings"])
    traffic = {command.name: dict(next(pings if command.flow.kind == "ping" else clients)) for command in derived.clients}
    for one in traffic.values():
        missing = one["lost"] if "lost" in one else 0
        one["code"] = 1 if missing and not shown["interrupted"] else 0
    return traffic


def results(lab: Any, derived: lab_derive.Derived, shown: dict[str, Any]) -> dict[str, Any]:
    """The report of helio-sim in the form of the other modes."""
    names = list(lab.nodes)
    channels = dict(zip(numbered(lab, derived), shown["channels"]))
    of_links, shared = lab_shared.results(shown, derived.channels)
    channels.update((name, of_links[name]) for name in of_emulator(lab, derived) if derived.emulator)
    return {"seconds": shown["virtual_s"], "interrupted": shown["interrupted"], "traffic": by_flow(derived, shown),
            "servers": shown["servers"], "channels": channels,
            "nodes": {names[i]: one for i, one in enumerate(shown["nodes"])}, "stations": dict(zip(derived.stations, shown["stations"])),
            **({"shared": shared} if lab.shared else {})}


def translate(derived: lab_derive.Derived, message: str) -> str:
    for path, (writer, _) in derived.configs.items():
        message = writer.translate(message, path)
    return "\n".join(line.removeprefix("helio-sim: ").removeprefix("helio-emu: ") for line in message.splitlines())


def run(lab: file.Lab, out: str, quiet: bool = True) -> dict[str, Any]:
    """Runs it; the result of result.finish."""
    derived = derive(lab, out)
    command = command_line(lab, derived)  # impossible settings are reported before there is a folder
    objections.check(derived)
    result.begin(lab, out, "sim")
    lab_derive.write(derived)
    with open(os.path.join(out, "commands.txt"), "w", encoding="utf-8") as f:
        f.write(shlex.join(command) + "\n")
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if not done.stdout.startswith("{"):
        message = translate(derived, done.stderr.strip())
        raise places.PlacesError(message) if done.returncode == 2 else Failed(message)
    if done.stderr:
        with open(os.path.join(out, "sim.log"), "w", encoding="utf-8") as f:
            f.write(done.stderr)
    rename_logs(lab, derived)
    return result.finish(lab, out, "sim", results(lab, derived, json.loads(done.stdout)))
