# SPDX-License-Identifier: Apache-2.0
"""A run of a campaign with real processes: two nodes, a traffic generator and the channel emulator, as a relay on the
loopback interface or as a bridge between network namespaces.

What the machine could not do in time makes the run unfaithful: the result says so, and why.
"""
import csv
import gzip
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from . import campaign_sim, programs, units
from .lab import Failed, Lab

LATE, LATE_MS = 1.05, 0.5  # what a session without losses may take beyond virtual time
UNUSED = 0.01  # of the rate, for want of a processor
SLACK = "200us"  # more lateness than that is not made good: it would stand in the queue of the line ever after
PRIORITY = "priority: realtime\n" if os.geteuid() == 0 else ""  # the nodes', where it is permitted
GREEN_SESSIONS = 64  # acknowledgements return over an ideal channel


def link_keys(v):
    """The keys of a link of heliod (docs/ltp-udp.md) for a run's parameters."""
    keys = {"segment": v["segment"], "overhead": v["overhead"]}
    switches = {"closing": "closing", "copies": "copies", "report-copies": "report_copies", "copy-spacing": "copy_spacing",
                "checkpoint-every": "checkpoint_segments", "checkpoint-time": "checkpoint_time",
                "resend-wait": "resend_wait", "merge-claims": "merge_claims", "oldest-first": "oldest_first"}
    own = {key: v[name] for name, key in switches.items() if name in v}
    if own and v["recovery"] == "default":
        raise Failed("single switches beside recovery: default exist in mode sim only; set recovery: plain and every switch")
    keys["recovery"] = "own" if own else v["recovery"]
    keys["peer_profile"] = "heliograph"  # as in virtual time: nothing to find out
    if v["rto"] == "auto":
        if v["recovery"] == "plain":
            keys.update(recovery="own", rto_auto="yes")
        path = 2 * units.duration(v["delay"]) + units.duration(v.get("processing", "0"))
        keys["rto"] = units.duration_text(max(0.03, 2 * path))  # as helio-sim begins
    else:
        keys["rto"] = v["rto"]
    if "claims" in v:
        keys["claims"] = v["claims"]
    return {**keys, **own}


def relay_options(v, seed, trace, offset):
    options = ["--delay", v["delay"], "--rate", v["rate"], "--overhead", str(v["overhead"]), "--trace", trace,
               "--seed", str(seed)]
    return options + (["--trace-start", units.duration_text(offset)] if offset else [])


def emulator_options(v, seed, trace, offset, folder):
    return [*relay_options(v, seed, trace, offset), "--json", os.path.join(folder, "emulator.json")]


def undisturbed(table):
    """Median duration of the red sessions without losses, ms; None without any."""
    with open(table, encoding="utf-8", newline="") as f:
        took = sorted(float(row["duration_ms"]) for row in csv.DictReader(f)
                      if row["colour"] == "red" and row["lossy"] == "0" and row["duration_ms"] and row["outcome"] == "done")
    return took[len(took) // 2] if took else None


class Live(Lab):
    """Both modes; the bridge runs its programs inside the testbed's namespaces."""

    def __init__(self, run, folder, traces):
        super().__init__(os.path.dirname(programs.find("heliod")), folder)
        self.run_, self.v, self.traces = run, run.values, traces
        self.trace, self.offset, _ = traces.of(run)
        self.credit_lost = 0  # bytes of the rate that the nodes could not use, since they had no processor
        self.window = 2 * (256 if self.v["sessions"] == "auto" else self.v["sessions"]) + 10

    def nodes(self, local1, remote1, local2, remote2):
        common = link_keys(self.v)
        forward = self.link(2, 0, 0, rate=self.v["rate"], sessions=self.v["sessions"], colour="red", slack=SLACK, **common)
        back = self.link(1, 0, 0, rate="unlimited", sessions=GREEN_SESSIONS, colour="green", report_delay=self.v["processing"],
                         **common)
        forward.update(local=local1, remote=remote1)
        back.update(local=local2, remote=remote2)
        return {n: self.start_node(n, self.write_node(n, [link], extra=PRIORITY)) for n, link in ((1, forward), (2, back))}

    def traffic(self):
        server = self.start("server", "helio-perf", "server", "--socket", self.socket(2), "--json", self.path("server.json"))
        time.sleep(0.3)
        seconds = units.duration(self.v["duration"])
        client = self.start("client", "helio-perf", "client", "--socket", self.socket(1), "-d", "ipn:2.2000", "-T",
                            f"{seconds:g}", "-W", str(self.window), "-P", str(units.size(self.v["bundle"])), "--json",
                            self.path("client.json"))
        try:
            code = client.wait(seconds + 120)
        except subprocess.TimeoutExpired:
            raise Failed(f"the traffic did not end:{self.why('client')}") from None
        if code != 0:
            raise Failed(f"the traffic generator failed:{self.why('client')}")
        return server

    def finish(self, server, nodes, emulator):
        drops = 0
        for number in nodes:
            links = self.control(number, "links")["links"]
            drops += sum(link.get("socket_drops", 0) for link in links)
            self.credit_lost += sum(link.get("credit_lost", 0) for link in links)
        self.stop("server", server, signal.SIGINT)
        for number, p in nodes.items():
            self.stop(f"node{number}", p)
        if emulator is not None:
            self.stop("emulator", emulator, signal.SIGINT)
        return drops

    def analyse(self):
        logs = [self.path(f"node{n}.segments.csv") for n in (1, 2)]
        text = self.run("helio-analyze", *logs, "--json", "--sessions", self.path("sessions.csv"), timeout=600)
        with open(self.path("analysis.json"), "w", encoding="utf-8") as f:
            f.write(text)
        analysis = json.loads(text)
        return next(flow for flow in analysis["flows"] if flow["colour"] == "red")

    def payload_share(self):
        segment = units.size(self.v["segment"])
        with open(self.path("node1.segments.csv"), encoding="utf-8") as f:
            names = f.readline().strip().split(",")
            at = {name: i for i, name in enumerate(names)}
            for line in f:
                cells = line.rstrip("\n").split(",")
                if cells[at["dir"]] == "tx" and cells[at["udp_len"]] == str(segment):
                    return int(cells[at["length"]]) / (segment + self.v["overhead"])
        raise Failed("no full segment was sent")

    def slow_nodes(self):
        """What the losses did not touch takes as long as in virtual time, unless the nodes were late."""
        here = undisturbed(self.path("sessions.csv"))
        with tempfile.TemporaryDirectory(prefix="helio-campaign-") as folder:
            campaign_sim.with_table([programs.find("helio-sim"), *campaign_sim.options(self.run_, self.traces), "--json"], folder,
                                    campaign_sim.call)
            there = undisturbed(os.path.join(folder, "sessions.csv"))
        if here is not None and there is not None and here > LATE * there + LATE_MS:
            return f"sessions without losses took {here:.1f} ms, in virtual time {there:.1f}: the nodes were late"
        return None

    def measured(self, client, forward):
        """What the generator and the channel say, and the analyzer of the logs."""
        flow, share, good = self.analyse(), self.payload_share(), forward["good_share_active"]
        capacity = units.rate(self.v["rate"]) * share * good
        return {"goodput_bps": client["goodput_bps"], "capacity_bps": capacity,
                "efficiency": client["goodput_bps"] / capacity if capacity else None, "good_share": good,
                "payload_share": share, "rto_firings": flow["rto_firings"], **{k: flow[k] for k in (
                    "sessions", "session_ms", "delivery_ms", "retx_cycles_mean", "checkpoints_lost_mean", "lossy_share",
                    "cancelled")}}

    def result(self, socket_drops):
        client, emulator = self.load("client.json"), self.load("emulator.json")
        measured = self.measured(client, emulator["forward"])
        reasons = list(emulator["not_faithful"])
        if socket_drops:
            reasons.append(f"{socket_drops} datagrams were lost at the nodes' sockets")
        unused = self.credit_lost * 8 / (units.rate(self.v["rate"]) * units.duration(self.v["duration"]))
        if unused > UNUSED:
            reasons.append(f"{100 * unused:.1f} % of the rate were not sent for want of a processor")
        if client["goodput_bps"] == 0:
            reasons.append("nothing arrived")
        late = self.slow_nodes()
        reasons += [late] if late else []
        return {"faithful": not reasons, "reasons": reasons, "late_us": emulator["forward"]["late_us"], **measured}

    def keep_logs(self, keep):
        for name in ("node1.segments.csv", "node2.segments.csv", "sessions.csv"):
            path = self.path(name)
            if keep == "all" or keep == "tables" and name == "sessions.csv":
                with open(path, "rb") as plain, gzip.open(path + ".gz", "wb", 1) as packed:
                    shutil.copyfileobj(plain, packed)
            os.unlink(path)


def run_relay(live):
    port1, port2, port = live.udp_ports(3)
    emulator = live.start("emulator", "helio-emu", "relay", "--listen", f"127.0.0.1:{port}", "--to", f"127.0.0.1:{port2}",
                          *emulator_options(live.v, live.run_.repetition, live.trace, live.offset, live.out))
    nodes = live.nodes(f"127.0.0.1:{port1}", f"127.0.0.1:{port}", f"127.0.0.1:{port2}", f"127.0.0.1:{port}")
    if emulator.poll() is not None:
        raise Failed(f"the relay did not start:{live.why('emulator')}")
    server = live.traffic()
    return live.finish(server, nodes, emulator)


def run_live(run, folder, traces):
    if run.mode == "bridge":
        from .campaign_bridge import run_bridge as go, Bridge as kind
    else:
        go, kind = run_relay, Live
    with kind(run, folder, traces) as live:
        result = live.result(go(live))
        live.keep_logs(run.logs)
    return result
