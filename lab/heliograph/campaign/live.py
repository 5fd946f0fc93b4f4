# SPDX-License-Identifier: Apache-2.0
"""A run of a campaign with real processes: a lab of two nodes and a traffic generator, with the channel emulator as a relay on the loopback interface or
as a bridge between network namespaces. If the machine is too slow for the run, the result says that it is unfaithful, and why.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

from .. import ltp_options, programs, units
from ..figures import segments as analysis_segments
from ..lab import live as lab_live, made as lab_made
from ..processes import Failed
from . import sim, steady as campaign_steady

if TYPE_CHECKING:
    from ..lab.file import Lab
    from .file import Run
    from .traces import Traces

LATE, LATE_MS = 1.05, 0.5  # what a session without losses may take beyond virtual time
UNUSED = 0.01  # of the rate, for want of a processor
SLACK = "200us"  # a longer delay of the process is not compensated: the excess would stay in the queue of the line


def link_keys(v: Any) -> dict[str, Any]:
    """The keys of a link of heliod (docs/ltp-udp.md) for a run's parameters."""
    keys, recovery = {"segment": v["segment"]}, {"peer_profile": "heliograph"}  # as in virtual time: nothing to find out
    given = {name: ltp_options.key_of(name) for name in ltp_options.switches() if name in v}
    limits = {key: v[name] for name, key in given.items() if name in ("rto-min", "rto-max")}
    own: Any = {key: v[name] for name, key in given.items() if key not in limits}
    if own and v["recovery"] == "default":
        raise Failed("single switches beside recovery: default exist in mode sim only; set recovery: plain and every switch")
    recovery["mode"] = "own" if own else v["recovery"]
    if v["rto"] == "auto":
        if v["recovery"] == "plain":
            recovery.update(mode="own", rto_auto="yes")
        path = 2 * units.duration(v["delay"]) + units.duration(v.get("processing", "0"))
        keys["rto"] = units.duration_text(sim.auto_timer(path))
    else:
        keys["rto"] = v["rto"]
    if "claims" in v:
        recovery["claims"] = v["claims"]
    return {**keys, "recovery": {**recovery, **own, **limits}}


def extras(v: Any, rules: str) -> dict[str, list[str]]:
    return {"rules": v[rules].split()} if rules in v else {}


def contacts_of(v: Any) -> dict[str, list[dict[str, str]]]:
    ranges = [item.split("-") for item in v.get("contacts", "").split()]
    return {"contacts": [{"from": begin, "to": end} for begin, end in ranges]} if ranges else {}


def way_back(run: Run, traces: Traces) -> dict[str, dict[str, Any]]:
    v: Any = run.values
    back, begin = traces.back(run)
    keys = {**lab_made.erasures(back, units.duration_text(begin) if begin else None), **extras(v, "drop-return")}
    if v.get("return-rate", "unlimited") != "unlimited":
        keys["rate"] = v["return-rate"]
    return {"return": keys} if keys else {}


def lab_of(run: Run, traces: Traces, **more: Any) -> Lab:
    """The run as a lab (docs/helio-lab.md); more of its keys."""
    v, (trace, offset, _) = run.values, traces.of(run)
    window = 2 * (256 if v["sessions"] == "auto" else v["sessions"]) + 10
    tree = lab_made.one_link(
        {"delay": v["delay"], "overhead": f"{v['overhead']}B", **contacts_of(v), **way_back(run, traces)},
        {"rate": v["rate"], **lab_made.erasures(trace, units.duration_text(offset) if offset else None), **extras(v, "drop"),
         **({"jitter": v["jitter"]} if "jitter" in v else {})}, link_keys(v),
        {"sessions": v["sessions"], "pacing": {"slack": SLACK}}, {"recovery": {"report_delay": v["processing"]}},
        {"duration": f"{units.duration(v['duration']):g}", "window": window, "payload": units.size(v["bundle"])},
        seed=run.repetition, title=run.folder, **lab_made.URGENT, **more)
    return lab_made.lab_of(tree, "the campaign")


def undisturbed(table: Any) -> Any:
    """Median duration of the red sessions without losses, ms; None without any."""
    with open(table, encoding="utf-8", newline="") as f:
        took = sorted(float(row["duration_ms"]) for row in csv.DictReader(f)
                      if row["colour"] == "red" and row["lossy"] == "0" and row["duration_ms"] and row["outcome"] == "done")
    return took[len(took) // 2] if took else None


class Results:
    """What is made of the logs in the run's folder."""

    def __init__(self, run: Run, folder: str, traces: Traces) -> None:
        self.run, self.v, self.folder, self.traces = run, run.values, folder, traces

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def analyse(self) -> dict[str, Any]:
        logs = [self.path(f"node{n}.segments.csv") for n in (1, 2)]
        done = subprocess.run([programs.find("helio-analyze"), *logs, "--json", "--sessions", self.path("sessions.csv")],
                              stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, timeout=600, check=False)
        if done.returncode != 0:
            raise Failed(f"helio-analyze ended with code {done.returncode}")
        with open(self.path("analysis.json"), "w", encoding="utf-8") as f:
            f.write(done.stdout)
        return next(flow for flow in json.loads(done.stdout)["flows"] if flow["colour"] == "red")

    def payload_share(self) -> float:
        segment: Any = units.size(self.v["segment"])
        for row in analysis_segments.read_rows(self.path("node1.segments.csv")):
            if row["dir"] == "tx" and row["udp_len"] == str(segment):
                result: float = int(row["length"]) / (segment + self.v["overhead"])
                return result
        raise Failed("no full segment was sent")

    def measured(self, client: dict[str, int], forward: Any) -> dict[str, Any]:
        """What the generator and the channel say, and the analyzer of the logs."""
        flow, share, good = self.analyse(), self.payload_share(), forward["good_share_active"]
        capacity = units.rate(self.v["rate"]) * share * good
        times = {k: flow[k] for k in ("session_ms", "delivery_ms", "retx_cycles_mean", "checkpoints_lost_mean", "lossy_share")}
        goodput, settled = self.steady(client)
        return {"goodput_bps": goodput, "client_goodput_bps": client["goodput_bps"], "capacity_bps": capacity, "efficiency": goodput / capacity if capacity else None,
                "good_share": good, "payload_share": share, "rto_firings": flow["rto_firings"], "sessions": flow["sessions"],
                "cancelled": flow["cancelled"], **times, **settled}

    def steady(self, client: Any) -> tuple[float, Any]:
        """Goodput and times without the start; those of the whole run when nothing is left out."""
        start, duration = sim.warmup_of(self.v), units.duration(self.v["duration"])
        found: Any = campaign_steady.steady(self.path("sessions.csv"), start, duration) if start > 0 else None
        if found is None:
            return client["goodput_bps"], {}
        blocks = 8 * found["delivered_bytes"] / (duration - start)
        payload = min(1.0, client["bytes_acked"] / found["bytes"])  # of a block: the rest is the bundle's heads
        return blocks * payload, {k: found[k] for k in (
            "session_ms", "delivery_ms", "retx_cycles_mean", "checkpoints_lost_mean", "lossy_share", "sessions_timed")} | {"warmup_s": start}

    def slow_nodes(self) -> Any:
        """What the losses did not touch takes as long as in virtual time, unless the nodes were late."""
        here = undisturbed(self.path("sessions.csv"))
        with tempfile.TemporaryDirectory(prefix="helio-campaign-") as folder:
            sim.with_table([programs.find("helio-sim"), *sim.options(self.run, self.traces), "--json"], folder,
                                    sim.call)
            there = undisturbed(os.path.join(folder, "sessions.csv"))
        if here is not None and there is not None and here > LATE * there + LATE_MS:
            return f"sessions without losses took {here:.1f} ms, in virtual time {there:.1f}: the nodes were late"
        return None

    def result(self, shown: Any) -> Any:
        client, emulator = shown["traffic"]["perf-1"], shown["channels"]["1-2"]
        links = [link for node in shown["nodes"].values() for link in node["links"]]
        measured = self.measured(client, emulator["forward"])
        reasons = list(emulator["not_faithful"])
        drops = sum(link.get("socket_drops", 0) for link in links)
        if drops:
            reasons.append(f"{drops} datagrams were lost at the nodes' sockets")
        lost = sum(link.get("credit_lost", 0) for link in links)  # bytes of the rate
        unused = lost * 8 / (units.rate(self.v["rate"]) * units.duration(self.v["duration"]))
        if unused > UNUSED:
            reasons.append(f"{100 * unused:.1f} % of the rate were not sent for want of a processor")
        if client["goodput_bps"] == 0:
            reasons.append("nothing arrived")
        late = self.slow_nodes()
        reasons += [late] if late else []
        return {"faithful": not reasons, "reasons": reasons, "late_us": emulator["forward"]["late_us"], **self.cost(shown, client), **measured}

    @staticmethod
    def cost(shown: dict[str, dict[str, dict[str, float]]], client: dict[str, int]) -> dict[str, float | None]:
        """Processor time of both nodes for each gigabit that arrived."""
        times: Any = [node.get("cpu_s") for node in shown["nodes"].values()]
        if None in times or not client["bytes_acked"]:
            return {"cpu_s_per_gigabit": None}
        return {"cpu_s_per_gigabit": sum(times) / (8 * client["bytes_acked"] / 1e9)}

    def keep_logs(self, keep: str) -> None:
        for name in ("node1.segments.csv", "node2.segments.csv", "sessions.csv"):
            path = self.path(name)
            if keep == "all" or keep == "tables" and name == "sessions.csv":
                with open(path, "rb") as plain, gzip.open(path + ".gz", "wb", 1) as packed:
                    shutil.copyfileobj(plain, packed)
            os.unlink(path)


def session_of(run: Run, folder: str, traces: Traces) -> Any:
    if run.mode != "bridge":
        return lab_live.Session(lab_of(run, traces), folder, lab_made.Private())
    if os.geteuid() != 0:
        raise Failed("mode bridge makes network namespaces: run it as root, or take --mode relay")
    from ..lab.netns import Session
    return Session(lab_of(run, traces), folder, lab_made.Private())


def run_live(run: Run, folder: str, traces: Traces) -> Any:
    session = session_of(run, folder, traces)
    session.limit = units.duration(run.values["duration"]) + 120
    shown = lab_made.play(session)
    if session.stopped:
        raise KeyboardInterrupt
    results = Results(run, folder, traces)
    result = results.result(shown)
    results.keep_logs(run.logs)
    return result
