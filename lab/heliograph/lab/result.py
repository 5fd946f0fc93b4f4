# SPDX-License-Identifier: Apache-2.0
"""What a lab leaves behind: the folder with configurations, versions, machine, messages, logs, tables and result.json."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from .. import machine, places, programs, units
from ..processes import Failed
from . import handover, hints, shared, view

if TYPE_CHECKING:
    from .file import Flow, Lab, Link

UNUSED = 0.01  # of a link's rate, for want of a processor
USED = {"sim": ["helio-sim"], "local": ["heliod", "helio-emu"], "netns": ["heliod", "helio-emu"]}


def write_json(path: str, value: dict[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=2)
        f.write("\n")


def load_json(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as f:
            result: dict[str, Any] = json.load(f)
            return result
    except (OSError, ValueError):
        return None


def begin(lab: Lab, out: str, mode: str) -> None:
    """The folder, with what the run will be made of. It must be empty: logs are appended to."""
    if os.path.isdir(out) and os.listdir(out):
        raise places.PlacesError(f"{out} is not empty; give each run a folder of its own with --out")
    os.makedirs(out, exist_ok=True)
    if os.path.isfile(lab.path):
        shutil.copy(lab.path, os.path.join(out, "lab.yaml"))
    write_json(os.path.join(out, "run.json"), {
        "title": lab.title, "file": lab.path, "mode": mode, "lab": places.plain(lab.tree), "map": view.drawn(lab),
        "versions": machine.versions([*USED[mode], "helio-perf", "helio-analyze"]), "machine": machine.describe()})


def log_files(out: str) -> list[str]:
    return sorted(os.path.join(out, name) for name in os.listdir(out)
                  if name.endswith((".segments.csv", ".bundles.csv", ".drops.csv")))


def analyse(out: str) -> dict[str, Any] | None:
    """Tables, and the summary as text and JSON, of all logs of the folder; the latter. None without logs."""
    logs = log_files(out)
    if not logs:
        return None
    command: list[str] = [programs.find("helio-analyze"), *logs]
    table = ["--bundles", os.path.join(out, "bundles.csv")] if any(".bundles." in log for log in logs) else []
    table += ["--sessions", os.path.join(out, "sessions.csv")] if any(".segments." in log for log in logs) else []
    outputs: list[tuple[list[str], str]] = [(["--json", *table], "analysis.json"), ([], "summary.txt")]
    for more, name in outputs:
        done = subprocess.run([*command, *more], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            raise Failed(f"helio-analyze: {done.stderr.strip()}")
        with open(os.path.join(out, name), "w", encoding="utf-8") as f:
            f.write(done.stdout)
    return load_json(os.path.join(out, "analysis.json"))


def rate_of(link: Link) -> int:
    rates = [rate for one in link.passes for way in shared.WAYS if (rate := shared.rate(one, way) or "unlimited") != "unlimited"]
    try:
        return max(map(units.rate, rates), default=0)
    except units.UnitError:
        return 0


def doubts(lab: Lab, channels: dict[str, dict[str, Any]], nodes: dict[str, Any], seconds: Any) -> list[str]:
    """What the machine did not do in time, or lost: then the figures are its, too."""
    reasons = [f"link {name}: {reason}" for name, shown in channels.items() for reason in shown.get("not_faithful", [])]
    for name, shown in nodes.items():
        for link in shown.get("links", []):
            if link.get("socket_drops"):
                reasons.append(f"node {name}: {link['socket_drops']} datagrams dropped at its socket")
            mine = next((one for one in lab.links.values() if name in one.ends and f"to-{one.other(name)}" == link["name"]), None)
            rate: Any = rate_of(mine) if mine else 0
            if rate and seconds and link.get("credit_lost", 0) * 8 / (rate * seconds) > UNUSED:
                share = link["credit_lost"] * 8 / (rate * seconds)
                reasons.append(f"node {name}: {100 * share:.1f} % of the rate of {link['name']} not sent, since it had no processor")
    return reasons


def never_ran(one: dict[str, Any]) -> bool:
    """The lab ended before this traffic began."""
    return one.get("code") is None


def finish(lab: Lab, out: str, mode: str, shown: dict[str, Any]) -> dict[str, Any]:
    """shown: traffic, servers, channels, nodes, seconds. Writes result.json and the tables; the result."""
    reasons = [] if mode == "sim" else doubts(lab, shown["channels"], shown["nodes"], shown["seconds"])
    failed = [name for name, one in shown["traffic"].items() if one.get("code") or (never_ran(one) and not shown["interrupted"])]
    failed += [name for name, one in shown["nodes"].items() if one.get("kind") and one.get("code")]  # of another stack, ended before the lab
    result = {"mode": mode, "faithful": not reasons, "reasons": reasons, "failed": failed,
              "hints": [{"key": hint.key, "text": hint.text} for hint in hints.hints(lab)], **shown}
    write_json(os.path.join(out, "result.json"), result)
    result["analysis"] = analyse(out)
    return result


# ---- for people ----


def ms(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f} ms" if value < 10000 else f"{value / 1000:.1f} s"


def flow_line(flow: Flow, one: dict[str, Any]) -> str:
    where = f"{flow.source} to {flow.target}" if flow.target else f"at {flow.source}"
    head = f"{flow.name:<10} {where:<16} "
    if never_ran(one):
        return head + "did not run: the lab was over before it began"
    if flow.kind == "run":
        return head + f"ended with code {one.get('code')}"
    if "rtt_ms" in one:
        mean = one["rtt_ms"]["mean"] if one["rtt_ms"] else None
        return head + f"{one['received']} of {one['sent']} answered, mean {ms(mean)}"
    if "bundles_sent" not in one:
        return head + "no result; see its log"
    line = f"{one['bundles_acked']} of {units.counted(one['bundles_sent'], 'bundle')} acknowledged" if one.get("goodput_basis") == "acknowledgements" \
        else f"{units.counted(one['bundles_sent'], 'bundle')}, {one['lost']} lost"
    mean = one["delay_ms"]["mean"] if one.get("delay_ms") else None
    goodput = f"{one['goodput_bps'] / 1e6:.3f}" if one["goodput_bps"] is not None else "-"  # one bundle has no rate
    return head + f"{line}, {goodput} Mbit/s, mean delay {ms(mean)}"


def way_text(way: Any) -> str:
    """A relay of streams sees octets, others see frames."""
    return f"{way['in']} in, {sum(way['dropped'].values())}" if "in" in way else f"{way['in_bytes']} bytes in, {way['lost_bytes']}"


def channel_line(name: str, shown: dict[str, dict[str, dict[str, int] | float]]) -> str:
    ways = [f"{way} {way_text(shown[way])} lost" for way in ("forward", "return") if way in shown]
    return f"{'link ' + name:<16} " + "; ".join(ways)


def tell_hops(bundles: dict[str, Any], names: dict[str, str]) -> None:
    """The delays of bundles from node to node, and their sums. names: of nodes by their endpoint."""
    for hop in bundles["hops"]:
        print(f"{'hop ' + names.get(hop['from'], hop['from']) + ' to ' + names.get(hop['to'], hop['to']):<27} {hop['bundles']:>6} {'bundle,' if hop['bundles'] == 1 else 'bundles,'} mean {ms(hop['time_ms']['mean'])}, p99 {ms(hop['time_ms']['p99'])}")
    if bundles["source_to_application_ms"]:
        whole = bundles["source_to_application_ms"]
        print(f"{'source to application':<27} {bundles['source_to_application']:>6} {'bundle,' if bundles['source_to_application'] == 1 else 'bundles,'} mean {ms(whole['mean'])}, p99 {ms(whole['p99'])}")


def tell(lab: Lab, out: str, result: dict[str, Any]) -> None:
    if (result["analysis"] or {}).get("bundles"):
        tell_hops(result["analysis"]["bundles"], {node.endpoint("0"): name for name, node in lab.nodes.items()})
    for flow in lab.traffic:
        print(flow_line(flow, result["traffic"].get(flow.name, {})))
    for name, node in result["nodes"].items():
        if node.get("kind") and node["state"] == "ended":
            print(f"{'node ' + name:<16} {node['kind']}: ended with code {node['code']}" + (f"; {node['last']}" if node["last"] else ""))
    for name, shown in result["channels"].items():
        print(channel_line(name, shown))
        if "handover" in shown:
            print(handover.line(name, shown["handover"]))
    for name, shown in result.get("shared", {}).items():
        print(shared.line(name, shown))
    for hint in result["hints"]:
        print(f"WARNING: {hint['key']}: {hint['text']}")
    if not result["faithful"]:
        print("NOT FAITHFUL: this machine was too busy: the figures show the machine, not the links")
        for reason in result["reasons"]:
            print(f"  {reason}")
    received = os.path.join(out, "received")
    if os.path.isdir(received):
        print(f"files that arrived are in {received}")
    print(f"logs, tables and configurations are in {out}")
