# SPDX-License-Identifier: Apache-2.0
"""Mode sim: the same configurations, channels and traffic in virtual time, by helio-sim --node."""
import json
import os
import shlex
import subprocess

from . import lab_derive, lab_result, places, programs, units
from .lab import Failed

FIRST_PORT = 10000  # nobody opens these


def client_words(command):
    """The words of helio-perf's client or server as helio-sim has them: it writes no files of them."""
    words = list(command.words[2:])
    at = words.index("--json")
    del words[at:at + 2]
    return " ".join(map(shlex.quote, words))


def ping_words(lab, command):
    flow = command.flow
    keys = {key: flow.keys.get(key, default) for key, default in (("count", "5"), ("interval", "1s"), ("lifetime", "1min"))}
    index = list(lab.nodes).index(flow.source) + 1
    return f"{index}={lab.nodes[flow.target].endpoint(lab_derive.ECHO)},{keys['count']},{keys['interval']},{keys['lifetime']}"


def starting(command):
    return f"@{units.duration_text(command.start)} " if command.start else ""


def event_words(lab, event):
    link = lab.links[event.link]
    for end, other in (link.ends, link.ends[::-1]):
        name = lab_derive.link_name(lab, link, other)
        if event.do == "set":
            raise places.PlacesError(f"{places.where(event.set)}: set: mode sim knows do: up and do: down; take --mode local")
        yield f"{units.duration_text(event.at) if event.at else '0s'} {lab.nodes[end].endpoint('0')} {name} {event.do}"


def command_line(lab, derived):
    words = [programs.find("helio-sim")]
    for path in derived.nodes.values():
        words += ["--node", path]
    for link, at in derived.relays.items():
        words += ["--relay", f"--listen {at['listen']} --to {at['to']} --return-to {at['back']} --scenario {shlex.quote(derived.channels[link])}"]
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
    for event in lab.events:
        for text in event_words(lab, event):
            words += ["--link", text]
    if lab.duration is None and not derived.clients:
        raise places.PlacesError(f"{lab.path}: in virtual time nothing would come to an end; write traffic: or duration:")
    if lab.duration is not None:
        words += ["--duration", units.duration_text(lab.duration)]
    return [*words, "--seed", str(lab.seed), "--log-dir", derived.folder, "--json"]


def derive(lab, out):
    addresses = lab_derive.Addresses(lab, FIRST_PORT)
    return lab_derive.derive(lab, out, "/nowhere", addresses, lab_derive.SIM_START, capture_files=False)


def rename_logs(lab, derived):
    """As the modes that have relays call them; what is not wanted goes."""
    for i, link in enumerate(derived.relays, 1):
        path = os.path.join(derived.folder, f"channel{i}.drops.csv")
        if "drops" in lab.capture:
            os.rename(path, os.path.join(derived.folder, f"link-{link}.drops.csv"))
        else:
            os.unlink(path)
    for what in ("segments", "bundles"):
        for name in lab.nodes:
            if what not in lab.capture and os.path.exists(derived.log(name, what)):
                os.unlink(derived.log(name, what))


def by_flow(derived, shown):
    """helio-sim tells of clients and pings in the order of its options."""
    clients, pings = iter(shown["clients"]), iter(shown["pings"])
    traffic = {command.name: dict(next(pings if command.flow.kind == "ping" else clients)) for command in derived.clients}
    for one in traffic.values():
        missing = one["lost"] if "lost" in one else 0
        one["code"] = 1 if missing and not shown["interrupted"] else 0
    return traffic


def results(lab, derived, shown):
    """What helio-sim tells, as the other modes tell it."""
    names = list(lab.nodes)
    return {"seconds": shown["virtual_s"], "interrupted": shown["interrupted"], "traffic": by_flow(derived, shown),
            "servers": shown["servers"], "channels": dict(zip(derived.relays, shown["channels"])),
            "nodes": {names[i]: one for i, one in enumerate(shown["nodes"])}}


def translate(derived, message):
    for path, (writer, _) in derived.configs.items():
        message = writer.translate(message, path)
    return "\n".join(line.removeprefix("helio-sim: ").removeprefix("helio-emu: ") for line in message.splitlines())


def run(lab, out, quiet=True):
    """Runs it; the result of lab_result.finish."""
    lab_result.begin(lab, out, "sim")
    derived = derive(lab, out)
    lab_derive.write(derived)
    command = command_line(lab, derived)
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
    return lab_result.finish(lab, out, "sim", results(lab, derived, json.loads(done.stdout)))
