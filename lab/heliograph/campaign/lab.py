# SPDX-License-Identifier: Apache-2.0
"""A campaign over a lab file (`lab: FILE`): any of its keys is set and swept, the repetition is its seed."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .. import places, programs
from ..lab import (
    check as lab_check,
    derive as lab_derive,
    file as lab_file,
    hints as lab_hints,
    live as lab_live,
    made as lab_made,
    result as lab_result,
    sim as lab_sim,
)
from ..processes import Failed
from . import steady
from .file import PRESETS

if TYPE_CHECKING:
    from .file import Run
    from .traces import Traces

DRAWN = ("jitter", "duplicate", "corrupt", "bit_errors")  # of a direction,
DRAWN_ERASURES = ("iid", "gilbert_elliott", "power")      # and of its erasures


def lab_of(run: Any) -> lab_file.Lab:
    """The lab of a run; PlacesError."""
    values = {"seed": str(run.repetition), **run.values}
    return lab_file.load(run.lab, list(values.items()))


def without_effect(labs: list[lab_file.Lab], sweep: dict[str, list[str]]) -> Iterator[str]:
    """Swept keys all of whose values give the same lab. labs: one for each combination, the last key's values first."""
    texts = [repr(dataclasses.replace(lab, tree=None)) for lab in labs]
    stride = len(texts)
    for key, values in sweep.items():
        stride //= len(values)
        if len(values) > 1 and all(texts[i] == texts[i - stride] for i in range(len(texts)) if i // stride % len(values)):
            yield key


def doubts(labs: Any, sweep: dict[str, list[str]]) -> Iterator[str]:
    """What the settings of these labs rule out, each key once, but not what is swept to see just that; and what is swept in vain."""
    found: dict[str, Any] = {}
    swept = {key.rsplit(".", 1)[-1] for key in sweep}
    for lab in labs:
        for hint in lab_hints.hints(lab):
            if hint.key.rsplit(".", 1)[-1] not in swept:
                found.setdefault(hint.key, []).append(hint.text)
    for key, texts in found.items():
        share = f" (in {len(texts)} of {len(labs)} settings; the first of them)" if len(texts) < len(labs) else ""
        yield f"{key}{share}: {texts[0]}"
    for key in without_effect(labs, sweep):
        first, _, rest = key.partition(".")
        own = f"each {first} has a key of its own for it; sweep that, such as {first}s.NAME.{rest}" if first in ("link", "node") else "nothing of the lab uses it"
        yield f"{key}: all swept values give the same lab: {own}"


def channels(lab: lab_file.Lab) -> list[places.Map]:
    """Everything that may lose: links, the channels that they are handed over to, stations' networks."""
    of_stations = (link.station.wan for link in lab.links.values() if link.station is not None)
    found = (*(one.channel for one in (*lab.links.values(), *lab.channels.values())), *of_stations)
    return [channel for channel in found if channel is not None]


def directions(lab: lab_file.Lab) -> list[places.Map]:
    """The keys of both directions of each channel."""
    return [channel[way] for channel in channels(lab) for way in ("forward", "return")]


def has_chances(channel: places.Map) -> bool:
    ways = channel["forward"], channel["return"]
    values = [*(keys.get(key) for keys in ways for key in DRAWN), *(keys.get("erasures", {}).get(key) for keys in ways for key in DRAWN_ERASURES)]
    return any(value not in (None, "0", "none") for value in values)


def drawn_anew(run: Run, lab: lab_file.Lab) -> list[bool]:
    """Of each channel with chances: are they others in the next repetition? Those of a seed that is given are not."""
    tree = places.copy(lab.tree)
    if "seed" not in run.values:
        places.assign(tree, "seed", str(lab.seed ^ 1))
    other = lab_file.interpret(tree, lab.path, lab.base)
    return [here.get("seed", str(lab.seed)) != there.get("seed", str(other.seed)) for here, there in zip(channels(lab), channels(other)) if has_chances(here)]


def another(traces: Traces, name: str, number: int, drawn: bool = False) -> str | None:
    """Realisation `number` of a trace by its name or path. The first one is the trace itself, except for a preset's that is `drawn`. None if it is
    unknown how the trace was made, or if it cannot be read, which the emulator reports with its place.
    """
    mark = ""
    try:
        if name not in PRESETS:
            traces.info(name)
            with open(name, "rb") as f:
                mark = "-" + hashlib.file_digest(f, "sha256").hexdigest()[:8]
    except (OSError, programs.ProgramError):
        return None
    if number == 1 and not (drawn and name in PRESETS):
        return name if traces.known_how(name) else None
    path = traces.again(name, 1000 + number, mark)
    return None if path is None else os.path.abspath(path)


class Fades:
    """Other realisations of a lab's traces, of each by its name: where the first repetition has the same fades in two places, or at two times, so
    have the others."""

    def __init__(self, traces: Traces, number: int, drawn: bool = False) -> None:
        self.found: list[Any] = []
        self.traces, self.number, self.drawn = traces, number, drawn
        self.seeds: dict[str, Any] = {}  # of each trace, by the name that the file has

    def draw(self, lab: lab_file.Lab) -> None:
        own = [keys for keys in directions(lab) if "erasures" in keys]
        for keys in own:
            keys["erasures"] = places.copy(keys["erasures"])  # the file, which events change, keeps what it says
        ways = [keys["erasures"] for keys in own]
        self.found += [None for e in ways if e.get("power", "none") != "none"]  # there are no other realisations of these
        holders = [(e["trace"], "file") if isinstance(e.get("trace"), dict) else (e, "trace") for e in ways]
        for holder, key in holders:
            name = holder.get(key, "none")
            if name == "none":
                continue
            other = another(self.traces, str(name), self.number, self.drawn)
            self.found.append(other)
            if other is not None:
                self.seeds[str(name)] = self.traces.seed_of(other)
            if other is not None and other != str(name):
                holder[key] = places.put(other, name.place)


def draw_fades(run: Run, lab: lab_file.Lab, traces: Traces) -> tuple[str, dict[str, int]]:
    """(what distinguishes this repetition from the first, the seeds of its traces by their names). Repetitions after the first have other realisations
    of their traces, and of those that events set.
    """
    fades, labs = Fades(traces, run.repetition, run.drawn), [lab]
    fades.draw(lab)
    lab.redraw = fades.draw
    for event in lab.events:
        if event.do == "set":
            labs.append(lab_file.changed(labs[-1], event.whom, event.set))
    anew, found = [is_new for one in labs for is_new in drawn_anew(run, one)], fades.found
    some = "some" if any(anew) or any(found) else "none"
    if found:
        return "realisation" if None not in found else some, fades.seeds
    return "seed" if anew and all(anew) else some, fades.seeds


def simulate(lab: lab_file.Lab, folder: str, track: Callable[..., Any]) -> tuple[list[str], dict[str, Any]]:
    """The lab in mode sim; track runs a program to its end. Bundles that are missing are a result, too."""
    derived = lab_sim.derive(lab, folder)
    lab_derive.write(derived)
    command = lab_sim.command_line(lab, derived)
    try:
        said = track(["sh", "-c", '"$@" || [ $? = 1 ]', "sh", *command])
    except programs.ProgramError as e:
        raise Failed(lab_sim.translate(derived, str(e))) from None
    if not said.startswith("{"):
        raise Failed("helio-sim gave no result")
    lab_sim.rename_logs(lab, derived)
    return command, lab_sim.results(lab, derived, json.loads(said))


def play(run: Run, lab: lab_file.Lab, folder: str) -> dict[str, Any]:
    Session: type[lab_live.Session] = lab_live.Session
    if run.mode == "bridge":
        from ..lab import netns
        Session = netns.Session
    session = Session(lab, folder, lab_made.Private())
    session.records = False
    shown = lab_live.play(session)
    if session.stopped:
        raise KeyboardInterrupt
    return shown


def delivery(folder: str) -> dict[str, float] | None:
    """From source to application, of the bundles between two endpoints that had most bytes: acknowledgements say nothing of these."""
    found: Any = {}
    path = os.path.join(folder, "bundles.csv")
    if os.path.exists(path):
        with open(path, newline="", encoding="utf-8") as f:
            for row in csv.DictReader(f):
                if row["total_ms"]:
                    found.setdefault((row["source"], row["destination"]), []).append((int(row["payload"] or 0), float(row["total_ms"])))
    most: Any = max(found.values(), key=lambda bundles: int(sum(size for size, _ in bundles)), default=[])
    return steady.spread([total for _, total in most])


def measured(shown: dict[str, Any], analysis: Any, delivery_ms: Any) -> dict[str, Any]:
    """The figures that a report has, of all traffic together and of the flow with most bytes."""
    clients = [one for one in shown["traffic"].values() if "goodput_bps" in one]
    flow = (analysis or {}).get("flows", [{}])
    flow = flow[0] if flow else {}
    bundles = (analysis or {}).get("bundles") or {}
    return {"goodput_bps": sum(one["goodput_bps"] for one in clients), "capacity_bps": None, "efficiency": None, "good_share": None,
            "seconds": shown["seconds"], "bundles_lost": sum(one.get("lost", 0) for one in clients),
            "delivery_ms": delivery_ms, "delays": bundles.get("delays"),
            **{key: flow.get(key) for key in ("sessions", "session_ms", "retx_cycles_mean", "checkpoints_lost_mean", "lossy_share", "cancelled",
                                              "rto_firings")}}


def check(run: Any) -> None:
    """Lets each program read what it would get, without starting any; PlacesError."""
    lab_check.check(lab_of(run), {"relay": "local", "bridge": "netns"}.get(run.mode, run.mode))


def run_lab(run: Run, folder: str, traces: Traces, track: Callable[..., Any]) -> dict[str, Any]:
    final = os.path.join(os.path.dirname(folder), run.folder)  # where the files are when all is done
    folder, command = os.path.abspath(folder), None  # one of the files of a lab names the others
    try:
        lab = lab_of(run)
        kind, seeds = draw_fades(run, lab, traces)
        if run.mode == "sim":
            command, shown = simulate(lab, folder, track)
            reasons = []
        else:
            shown = play(run, lab, folder)
            reasons = lab_result.doubts(lab, shown["channels"], shown["nodes"], shown["seconds"])
    except places.PlacesError as e:
        raise Failed(str(e)) from None
    analysis = lab_result.analyse(folder)
    delivery_ms = delivery(folder)
    if run.logs != "all":
        for path in lab_result.log_files(folder):
            os.unlink(path)
    lab_result.write_json(os.path.join(folder, "lab.json"), shown)
    return {"faithful": not reasons, "reasons": reasons, "realisation": {"kind": kind}, "trace_seeds": seeds,
            **({"command": [word.replace(folder, final) for word in command]} if command else {}), **measured(shown, analysis, delivery_ms)}
