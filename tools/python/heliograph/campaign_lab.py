# SPDX-License-Identifier: Apache-2.0
"""A campaign over a lab file (`lab: FILE`): any of its keys is set and swept, the repetition is its seed."""
import json
import os

from . import lab_derive, lab_file, lab_made, lab_result, lab_sim, places
from .lab import Failed

DRAWN = ("jitter", "duplicate", "corrupt", "bit_errors")  # of a channel, beside some of its erasures


def lab_of(run):
    """The lab of a run; PlacesError."""
    values = {"seed": str(run.repetition), **run.values}
    return lab_file.load(run.lab, list(values.items()))


def is_drawn(lab):
    """Does the seed change what the channels do?"""
    for link in lab.links.values():
        for way in ("forward", "return") if link.channel is not None else ():
            keys = link.channel[way]
            if any(key in keys for key in DRAWN) or any(key in keys.get("erasures", {}) for key in ("iid", "gilbert_elliott")):
                return True
    return False


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
    from .lab_live import Session
    if run.mode == "bridge":
        from .lab_netns import Session
    session = Session(lab, folder, lab_made.Private())
    session.records = False
    from . import lab_live
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


def run_lab(run, folder, track):
    final = os.path.join(os.path.dirname(folder), run.folder)  # where the files are when all is done
    command = None
    try:
        lab = lab_of(run)
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
    return {"faithful": not reasons, "reasons": reasons, "realisation": {"kind": "seed" if is_drawn(lab) else "none"},
            **({"command": [word.replace(folder, final) for word in command]} if command else {}), **measured(shown, analysis)}
