# SPDX-License-Identifier: Apache-2.0
"""A campaign over a lab file (`lab: FILE`): any of its keys is set and swept, the repetition is its seed."""
import hashlib
import json
import os

from . import lab_check, lab_derive, lab_file, lab_live, lab_made, lab_result, lab_sim, places
from .campaign_file import PRESETS
from .lab import Failed

DRAWN = ("jitter", "duplicate", "corrupt", "bit_errors")  # of a channel, beside some of its erasures


def lab_of(run):
    """The lab of a run; PlacesError."""
    values = {"seed": str(run.repetition), **run.values}
    return lab_file.load(run.lab, list(values.items()))


def directions(lab):
    """The keys of everything that may lose: of links, of the channels that they are handed over to, of stations' networks."""
    of_stations = (link.station.wan for link in lab.links.values() if link.station is not None)
    for channel in (*(one.channel for one in (*lab.links.values(), *lab.channels.values())), *of_stations):
        if channel is not None:
            yield from (channel["forward"], channel["return"])


def is_drawn(lab):
    """Does the seed change what the channels do?"""
    return any(key in keys for keys in directions(lab) for key in DRAWN) or \
        any(key in keys.get("erasures", {}) for keys in directions(lab) for key in ("iid", "gilbert_elliott"))


def another(traces, name, number):
    """Realisation `number` of a trace by its name or path; None when nobody knows how it was made."""
    if name in PRESETS:
        mark = ""
    else:
        with open(name, "rb") as f:
            mark = "-" + hashlib.file_digest(f, "sha256").hexdigest()[:8]
    path = traces.again(name, 1000 + number, mark)
    return None if path is None else os.path.abspath(path)


class Fades:
    """Other realisations of a lab's traces, of each by its name: where the first repetition has the same fades in two places, or at two times, so
    have the others."""

    def __init__(self, traces, number):
        self.traces, self.number, self.found = traces, number, []

    def draw(self, lab):
        ways = [keys.get("erasures", {}) for keys in directions(lab)]
        holders = [(e["trace"], "file") if isinstance(e.get("trace"), dict) else (e, "trace") for e in ways]
        for holder, key in {id(holder): (holder, key) for holder, key in holders}.values():  # directions may share what was written once
            name = holder.get(key, "none")
            if name == "none":
                continue
            other = another(self.traces, str(name), self.number)
            self.found.append(other)
            if other is not None and self.number > 1:
                holder[key] = places.put(other, name.place)


def draw_fades(run, lab, traces):
    """What makes this repetition another one than the first. One beyond it has other realisations of its traces, and of those that events
    set."""
    fades, labs = Fades(traces, run.repetition), [lab]
    fades.draw(lab)
    lab.redraw = fades.draw
    for event in lab.events:
        if event.do == "set":
            labs.append(lab_file.changed(labs[-1], event.link, event.set))
    drawn, found = any(map(is_drawn, labs)), fades.found
    if not found:
        return "seed" if drawn else "none"
    return "realisation" if None not in found else "some" if drawn or any(found) else "none"


def simulate(lab, folder, track):
    """The lab in mode sim; track runs a program to its end. Bundles that are missing are a result, too."""
    derived = lab_sim.derive(lab, folder)
    lab_derive.write(derived)
    command = lab_sim.command_line(lab, derived)
    said = track(["sh", "-c", '"$@" || [ $? = 1 ]', "sh", *command])
    if not said.startswith("{"):
        raise Failed("helio-sim gave no result")
    lab_sim.rename_logs(lab, derived)
    return command, lab_sim.results(lab, derived, json.loads(said))


def play(run, lab, folder):
    Session = lab_live.Session
    if run.mode == "bridge":
        from .lab_netns import Session
    session = Session(lab, folder, lab_made.Private())
    session.records = False
    shown = lab_live.play(session)
    if session.stopped:
        raise KeyboardInterrupt
    return shown


def measured(shown, analysis):
    """The figures that a report has, of all traffic together and of the flow with most bytes."""
    clients = [one for one in shown["traffic"].values() if "goodput_bps" in one]
    flow = (analysis or {}).get("flows", [{}])
    flow = flow[0] if flow else {}
    bundles = (analysis or {}).get("bundles") or {}
    return {"goodput_bps": sum(one["goodput_bps"] for one in clients), "capacity_bps": None, "efficiency": None, "good_share": None,
            "seconds": shown["seconds"], "bundles_lost": sum(one.get("lost", 0) for one in clients),
            "delivery_ms": bundles.get("source_to_application_ms"), "delays": bundles.get("delays"),
            **{key: flow.get(key) for key in ("sessions", "session_ms", "retx_cycles_mean", "checkpoints_lost_mean", "lossy_share", "cancelled",
                                              "rto_firings")}}


def check(run):
    """Lets each program read what it would get, without starting any; PlacesError."""
    lab_check.check(lab_of(run), {"relay": "local", "bridge": "netns"}.get(run.mode, run.mode))


def run_lab(run, folder, traces, track):
    final = os.path.join(os.path.dirname(folder), run.folder)  # where the files are when all is done
    command = None
    try:
        lab = lab_of(run)
        kind = draw_fades(run, lab, traces)
        if run.mode == "sim":
            command, shown = simulate(lab, folder, track)
            reasons = []
        else:
            shown = play(run, lab, folder)
            reasons = lab_result.doubts(lab, shown["channels"], shown["nodes"], shown["seconds"])
    except places.PlacesError as e:
        raise Failed(str(e)) from None
    analysis = lab_result.analyse(folder)
    if run.logs != "all":
        for path in lab_result.log_files(folder):
            os.unlink(path)
    lab_result.write_json(os.path.join(folder, "lab.json"), shown)
    return {"faithful": not reasons, "reasons": reasons, "realisation": {"kind": kind},
            **({"command": [word.replace(folder, final) for word in command]} if command else {}), **measured(shown, analysis)}
