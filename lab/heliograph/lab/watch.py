# SPDX-License-Identifier: Apache-2.0
"""A running lab each second, for its live page: the lab's process is asked for the map and the events, each node and each emulator for its
own figures. Nothing is shown that none of them said; what does not answer is null.

    Watch(state.State("lab.yaml")).start()

Rates are those of the nodes' last second, or differences of counters between two looks, divided by the time between them.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import datetime
import json
import os
import shutil
import socket
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

from ..client import NodeError
from ..control import Control
from ..processes import Failed
from . import result as lab_result, station, waiting
from .view import WAYS

if TYPE_CHECKING:
    from .file import Link
    from .state import State

EVERY = 1.0         # seconds between two looks
IDLE = 30.0         # after so long without a viewer it stops
PATIENCE = 3.0      # seconds that a node, or an emulator, has to answer
PLAN_EVERY = 5      # looks between two at the contact plans
CONTACTS_MAX, SEEN_MAX = 60, 200
LONG = 366 * 86400  # seconds: a contact that ends later is no future contact
FRESH = ("input_seg_recv_red_bytes", "input_seg_recv_green_bytes")  # LTP data that arrived for the first time
ROW = ("state", "tx_bps", "rx_bps", "rate_bps", "rto_ns", "rtt_ns", "heard_ns", "resent_bps", "sessions", "bundles", "bytes", "oldest_ms", "sent", "failed", "received")
TOTALS = ("bundles", "bytes", "delivered", "forwarded", "expired", "applications", "uptime_s")
NETWORK = ("rate_bps", "delay_us", "stalled", "out_bytes", "queued_bytes", "lost_bytes")  # of a relay's report, in each direction
FAILURES = (NodeError, OSError, ValueError, asyncio.TimeoutError)


# ---- questions ----


async def ask_node(path: str, with_plan: Any) -> Any:
    """Its rows of `top` by link, totals, data that arrived for the first time, contacts; or {"error": text}. Where segments are not counted, these
    data are the bytes of bundles that arrived."""
    try:
        async with Control(path, timeout=PATIENCE) as node:
            top, counters = await node.ask("top"), await node.ask("counters")
            plan = await plan_of(node) if with_plan else None
            waits = await waiting.waits_at(node) if with_plan else None
    except FAILURES as e:
        return {"error": str(e) or "no answer"}
    rows = {row["name"]: row for row in (dict(zip(top["columns"], values)) for values in top["rows"])}
    fresh = {name: row.get("received_bytes") for name, row in rows.items()}
    fresh.update({one["name"]: sum(one["span"].get(key, 0) for key in FRESH) for one in counters["links"] if "span" in one})
    return {"totals": top["node"], "links": rows, "fresh": fresh, "plan": plan, "waits": waits}


async def plan_of(node: Any) -> Any:
    try:
        return (await node.ask("plan"))["contacts_here"]
    except NodeError:
        return []  # it follows none


async def ask_sessions(path: str, link: Link) -> Any:
    try:
        async with Control(path, timeout=PATIENCE) as node:
            return {"sessions": (await node.ask("sessions", link=link))["sessions"][:200]}
    except FAILURES as e:
        return {"error": str(e) or "no answer"}


def ask_networks(own: Any, networks: Any) -> Any:
    """The account of each relay of streams that is the network of a station: link -> account, or None."""
    return {link: ask_emulator(own, path, {link: None}, "status")[link] for link, path in networks.items()}


def ask_emulator(own: Any, path: str, names: Any, word: str = "now") -> Any:
    """What one emulator says of its channels: name -> answer, or None. names: what it calls them (None: it has one). own: a path for the answers;
    the kernel's own free names are of one network namespace, and an emulator may be in another one."""
    found = dict.fromkeys(names)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s, contextlib.suppress(OSError, ValueError):
        s.settimeout(PATIENCE)
        s.bind(own)
        s.connect(path)
        for name, called in names.items():  # after one without an answer a late one could be taken for the next
            s.send((word if called is None else f"{word} {called}").encode())
            found[name] = json.loads(s.recv(1 << 17))
    with contextlib.suppress(OSError):
        os.unlink(own)
    return found


def ask_emulators(folder: str, emulators: Any, networks: Any) -> Any:
    """Of channels, and of networks of stations."""
    by_socket: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for name, one in emulators.items():
        by_socket.setdefault(one["socket"], {})[name] = one["called"]
    for path, names in by_socket.items():
        found.update(ask_emulator(os.path.join(folder, "s"), path, names))
    return found, ask_networks(os.path.join(folder, "s"), networks)


# ---- what is shown ----


def milliseconds(text: Any, now: Any) -> Any:
    """A time of a plan's answer, since 1970; None: never."""
    if text == "never":
        return None
    return int(1000 * datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()) if "T" in text else int(1000 * (now + float(text.rstrip("s"))))


def contacts_of(plans: Any, names: Any, now: Any) -> Any:
    """Present and future contacts of all nodes, each once; names: of nodes by their number. One without an end is not waited for."""
    found = {}
    for one in (one for plan in plans for one in plan or ()):
        start, end = milliseconds(one["start"], now), milliseconds(one["end"], now)
        a, b = (names.get(str(one[key]), str(one[key])) for key in ("from", "to"))
        if end is not None and end <= 1000 * now or one["state"] == "now" and (end is None or end > 1000 * (now + LONG)):
            continue
        found[a, b, start, end] = {"from": a, "to": b, "start_ms": start, "end_ms": end, "rate_bps": one["rate_bps"], "owlt_ns": one.get("owlt_ns"), "now": one["state"] == "now"}
    return sorted(found.values(), key=lambda one: float(one["start_ms"]))


def row_of(row: Any) -> Any:
    return {key: row.get(key) for key in ROW}


def channel_of(name: str, way: Any, answer: Any, before: Any, elapsed: Any) -> Any:
    """A direction's channel: the emulator's counters, and their change since the last query. way: the emulator's name of it."""
    if not answer:
        return {"name": name, "error": "no answer"}
    one = answer[way]
    lost = sum(one["lost"].values())
    out = {"name": name, **(one["now"] or {"state": None}), **{key: one[key] for key in ("in", "out", "queued", "lost")}, "lost_all": lost, "second": None}
    then = (before or {}).get(way)
    if then and elapsed > 0 and one["in"] >= then["in"]:
        out["second"] = {"in": round((one["in"] - then["in"]) / elapsed, 1), "lost": max(0, round((lost - sum(then["lost"].values())) / elapsed, 1))}
    return out


def network_of(words: Any, told: Any, before: Any, elapsed: Any) -> Any:
    """Both directions of a station's network: the lab file's values, its relay's report, and the rate since the last query. None: it has none."""
    if words is None:
        return None
    told, then = station.relay_account(told) or {}, station.relay_account(before) or {}
    out = {way: {"words": words[way], **{key: told.get(way, {}).get(key) for key in NETWORK}, "bps": None} for way in WAYS}
    for way in WAYS if told and then and elapsed > 0 else ():
        moved = told[way]["out_bytes"] - then[way]["out_bytes"]
        out[way]["bps"] = round(8 * moved / elapsed) if moved >= 0 else None
    return {**out, "connections": told.get("open")}


class Look:
    """What all have answered at one moment."""

    def __init__(self, overview: Any, nodes: dict[str, Any], channels: Any, networks: Any, at: Any) -> None:
        self.overview, self.nodes, self.channels, self.networks, self.at = overview, nodes, channels, networks, at

    def row(self, node: Any, link: Any) -> Any:
        return self.nodes.get(node, {}).get("links", {}).get(link)

    def node(self, drawn: Any) -> Any:
        name, other = drawn["name"], self.overview["others"].get(drawn["name"])
        if other is not None:
            return {**drawn, "state": "up" if other["state"] == "running" else other["state"], "code": other["code"], "said": other["last"]}
        told: Any = self.nodes.get(name, {"error": "no answer"})
        if "error" in told:
            return {**drawn, "state": "no answer", "error": told["error"]}
        return {**drawn, "state": "up", **{key: told["totals"].get(key) for key in TOTALS}}

    def channel(self, link: Any, way: Any, before: Any) -> Any:
        """Of this direction; None: it has none, or passes none now."""
        name, passed = link["name"], self.overview["passed"]
        if name in passed:
            if passed[name] is None:
                return {"name": None, "state": "off"}
            return self.piece(passed[name], WAYS.index(way), before)
        for piece, one in self.overview["emulators"].items():
            if one["link"] == name and way in one["ways"]:
                return self.piece(piece, one["ways"].index(way), before)
        return None

    def piece(self, name: str, index: Any, before: Any) -> Any:
        then = before.channels.get(name) if before else None
        return channel_of(name, WAYS[index], self.channels.get(name), then, self.at - before.at if before else 0.0)

    def goodput(self, node: Any, link: Link, before: Any) -> Any:
        """bit/s of data that arrived for the first time; None: there is nothing to compare with."""
        now, then = (look.nodes.get(node, {}).get("fresh", {}).get(link) if look else None for look in (self, before))
        if now is None or then is None or now < then or self.at <= before.at:
            return None
        return round(8 * (now - then) / (self.at - before.at))

    def way(self, link: Any, way: Any, before: Any) -> Any:
        here, there = (self.row(node, link["at"][node]) for node in (way["from"], way["to"]))
        return {**way, "sender": row_of(here) if here else None, "receiver": row_of(there) if there else None,
                "goodput_bps": self.goodput(way["to"], link["at"][way["to"]], before), "channel": self.channel(link, way["way"], before)}

    def network(self, link: Any, before: Any) -> Any:
        then = before.networks.get(link["name"]) if before else None
        return network_of(link["network"], self.networks.get(link["name"]), then, self.at - before.at if before else 0.0)

    def state(self, before: Any) -> Any:
        """The whole picture."""
        overview, drawn = self.overview, self.overview["map"]
        seconds = overview["seconds"]
        return {"phase": "begins" if seconds < 0 else "running", "message": "", "mode": overview["mode"], "seconds": round(seconds, 3), "out": overview["out"],
                "unix_ms": int(1000 * overview["unix_s"]), **{key: drawn[key] for key in ("title", "width", "height", "notes")},
                "nodes": [self.node(node) for node in drawn["nodes"]],
                "links": [{**link, "ways": [self.way(link, way, before) for way in link["ways"]], "network": self.network(link, before)} for link in drawn["links"]],
                "traffic": overview["traffic"], "events": overview["events"]}

    def states_of_links(self) -> Any:
        """(link, direction) -> the sender's word for it."""
        return {(link["name"], way["from"], way["to"]): row["state"] for link in self.overview["map"]["links"] for way in link["ways"]
                if (row := self.row(way["from"], link["at"][way["from"]]))}


# ---- a lab that has ended ----


def finished(out: str) -> Any:
    """The last state, from the folder of a run: run.json and result.json."""
    run, result = (lab_result.load_json(os.path.join(out, name)) for name in ("run.json", "result.json"))
    if not run or "map" not in run or not result:
        raise Failed(f"{out}: is no folder of a finished run (run.json with its map, and result.json)")
    drawn, nodes = run["map"], result["nodes"]
    rows = {(name, link["name"]): last_row(link) for name, node in nodes.items() for link in node.get("links", [])}
    links = [{**link, "ways": [last_way(link, way, rows, result["channels"]) for way in link["ways"]], "network": network_of(link.get("network"), None, None, 0.0)}
             for link in drawn["links"]]
    return {"phase": "ended", "message": "", "mode": result["mode"], "seconds": round(result["seconds"], 3), "out": out, "unix_ms": int(1000 * time.time()),
            **{key: drawn[key] for key in ("title", "width", "height", "notes")},
            "nodes": [{**node, "state": "ended", **last_totals(nodes.get(node["name"], {}))} for node in drawn["nodes"]], "links": links,
            "traffic": {name: f"ended ({one['code']})" if one.get("code") is not None else "did not run" for name, one in result["traffic"].items()},
            "events": result.get("events", []), "contacts": [], "contacts_total": 0, "waits": [], "faithful": result["faithful"], "reasons": result["reasons"]}


def last_totals(node: Any) -> Any:
    """helio-sim has the agent's counters in their place."""
    told = node.get("bundles")
    agent = {**told, "bundles": told.get("held")} if isinstance(told, dict) else node
    return {key: agent.get(key) for key in TOTALS}


def last_row(link: Any) -> Any:
    """A row as `top` has it, from `links`; rates of a last second are past."""
    row = {**row_of(link), **{key: link.get(key, link.get(f"bundles_{key}")) for key in ("sent", "failed", "received")}, "sessions": link.get("sessions_open"), "rtt_ns": link.get("round_trip_smoothed_ns"),
           "state": link.get("state") or ("up" if link.get("up") else "down"), "bundles": link.get("backlog_bundles"), "bytes": link.get("backlog_bytes")}
    return {**row, "tx_bps": None, "rx_bps": None, "resent_bps": None, "heard_ns": None}


def last_counters(link: Any, way: Any, channels: Any) -> Any:
    """A direction's counters; None: it has no channel, or several one after the other."""
    name = link["name"]
    if link["station"]:
        return channels.get(f"{name}.{'down' if way == link['station'] else 'up'}", {}).get("forward")
    shown = channels.get(name, {})
    return None if "handover" in shown else shown.get(way)


def last_way(link: Any, way: Any, rows: Any, channels: Any) -> Any:
    here, there = (rows.get((node, link["at"][node])) for node in (way["from"], way["to"]))
    counters, channel = last_counters(link, way["way"], channels), None
    if counters and "dropped" in counters:
        lost = {reason: count for reason, count in counters["dropped"].items() if count}
        channel = {"name": link["name"], "state": None, **{key: counters[key] for key in ("in", "out", "queued")}, "lost": lost, "lost_all": sum(lost.values()), "second": None}
    return {**way, "sender": here, "receiver": there, "goodput_bps": None, "channel": channel}


# ---- each second ----


class Watch:
    """The latest state as JSON text. A separate thread queries each second while there are viewers."""

    def __init__(self, state: State) -> None:
        self.lab = state
        self.folder = tempfile.mkdtemp(prefix="helio-page-")
        self.text, self.made = b"", 0.0
        self.fresh = threading.Condition()
        self.asked, self.wanted = time.monotonic(), threading.Event()
        self.over = threading.Event()
        self.before = self.out = None
        self.plans: dict[str, Any] = {}
        self.waits: dict[str, Any] = {}
        self.looks = 0
        self.words: dict[tuple[str, str], Any] = {}  # of links, as last reported
        self.seen: Any = collections.deque(maxlen=SEEN_MAX)
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Any:
        self.thread.start()
        return self

    def close(self) -> None:
        self.over.set()
        self.wanted.set()
        self.thread.join(2 * PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)

    def latest(self) -> Any:
        """JSON text, at most some seconds old."""
        with self.fresh:
            self.asked = time.monotonic()
            self.wanted.set()
            self.fresh.wait_for(lambda: time.monotonic() - self.made < 2 * EVERY, timeout=3 * PATIENCE)
            return self.text

    def sessions(self, link: Link) -> Any:
        """Open sessions at both ends; None: there is no such link, or the lab has ended."""
        look: Any = self.before
        found = next((one for one in look.overview["map"]["links"] if one["name"] == link), None) if look else None
        if found is None:
            return None
        paths = look.overview["controls"]
        return {end: asyncio.run(ask_sessions(paths[end], found["at"][end])) for end in found["ends"] if end in paths}

    def way(self, bundle: str) -> Any:
        """What each node says of a bundle; None: the lab has ended."""
        look: Any = self.before
        return asyncio.run(waiting.way_of(bundle, look.overview["controls"])) if look else None

    def change(self, question: dict[str, Any]) -> None:
        """Down, up or set of a link; Failed has what the lab's process says."""
        self.lab.ask({"cmd": "link", **question})

    def _run(self) -> None:
        while not self.over.is_set():
            begun = time.monotonic()
            if begun - self.asked > IDLE:
                self.wanted.clear()
                self.before = None  # too long ago for rates
                self.wanted.wait()
                continue
            try:
                state = self._look()
            except (KeyError, TypeError, ValueError, AttributeError) as e:  # an answer in another form than is known here
                state = self._without(f"an answer is not understood ({type(e).__name__}: {e})")
            self._publish(state)
            self.over.wait(max(0.05, EVERY - (time.monotonic() - begun)))

    def _publish(self, state: State) -> None:
        text = json.dumps(state, separators=(",", ":"), allow_nan=False).encode()
        with self.fresh:
            self.text, self.made = text, time.monotonic()
            self.fresh.notify_all()

    def _look(self) -> Any:
        try:
            overview = self.lab.ask({"cmd": "overview"}, timeout=PATIENCE)
        except Failed as e:
            return self._without(str(e))
        if self.before is not None and self.before.overview["begin"] != overview["begin"]:
            self._forget()  # another run of the file
        look = asyncio.run(self._ask_all(overview))
        state = look.state(self.before)
        self._note(look, overview["seconds"])
        state["events"] = sorted([*state["events"], *self.seen], key=lambda event: float(event["at"]))
        names = {str(node["number"]): node["name"] for node in overview["map"]["nodes"]}
        contacts = contacts_of(self.plans.values(), names, overview["unix_s"])
        state["contacts"], state["contacts_total"] = contacts[:CONTACTS_MAX], len(contacts)
        state["waits"] = [{"node": name, **one} for name, waits in self.waits.items() for one in waits]
        self.before, self.out = look, overview["out"]
        return state

    def _forget(self) -> None:
        self.before, self.words, self.plans, self.waits, self.looks = None, {}, {}, {}, 0
        self.seen.clear()

    async def _ask_all(self, overview: Any) -> Any:
        with_plan = self.looks % PLAN_EVERY == 0
        self.looks += 1
        emulators: Any = asyncio.get_running_loop().run_in_executor(None, ask_emulators, self.folder, overview["emulators"], overview["networks"])
        told = await asyncio.gather(*(ask_node(path, with_plan) for path in overview["controls"].values()))
        nodes: Any = dict(zip(overview["controls"], told))
        self.plans.update({name: one["plan"] for name, one in nodes.items() if one.get("plan") is not None})
        self.waits.update({name: one["waits"] for name, one in nodes.items() if one.get("waits") is not None})
        channels, networks = await emulators
        return Look(overview, nodes, channels, networks, time.monotonic())

    def _note(self, look: Any, seconds: float) -> None:
        """Changes of links' states since the look before."""
        for (link, here, there), word in look.states_of_links().items():
            if self.words.setdefault((link, here), word) != word:
                self.seen.append({"at": round(seconds, 3), "text": f"link {link}, {here} to {there}: {self.words[link, here]}, now {word}", "seen": True})
                self.words[link, here] = word

    def _without(self, why: Any) -> Any:
        """The lab does not answer: it has ended, or it is busy. The last known state stays."""
        over = self.lab.load() is None  # asked once: the lab may end meanwhile, and the next look has its last state
        if self.out is not None and over:
            try:
                return finished(self.out)
            except Failed as e:
                why = f"{e}; this is the last state that was seen"
        last = json.loads(self.text) if self.text else {}
        return {**last, "phase": "ended" if over else "no answer", "message": why}
