#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prepares and judges the tasks of README.md. The programs are in PATH.

usage: tasks.py nat FOLDER [--done]          as root
       tasks.py fault N FOLDER [--done]
       tasks.py campaign FOLDER --done
       tasks.py end FOLDER
"""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from machines import NETWORK

FILES = 5
NODE = """node: ipn:{number}.0
socket: {folder}/node{number}.sock
store: {{durability: none}}
log: {{segments: {folder}/node{number}.segments.csv, bundles: {folder}/node{number}.bundles.csv}}
{more}links:
{links}"""
LINK = "  - {{name: to-{peer}, adapter: ltp-udp, peer: ipn:{peer}.0, local: 127.0.0.1:{local}, remote: 127.0.0.1:{remote}, rate: 10Mbit/s, rto: 200ms{more}}}\n"
MACHINES = ("station", "router", "lab")


def start(folder, name, *words):
    """In the background, until `tasks.py end`."""
    with open(folder / f"{name}.log", "a", encoding="utf-8") as log:
        p = subprocess.Popen(list(map(str, words)), cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    with open(folder / ".started", "a", encoding="ascii") as f:
        f.write(f"{p.pid}\n")


def until(done, what, seconds=60):
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            sys.exit(f"tasks: {what}")
        time.sleep(0.1)


def free_ports(count):
    taken = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


# ---- task 2 ----

def plant(number, folder):
    """The configurations of three nodes in a line with fault NUMBER, and the service at which files are received."""
    a, b, c, d, nobody = free_ports(5)
    more = {1: "routes: [{to: \"ipn:3.*\", via: to-2}]\n", 2: "", 3: "routes: [{to: \"ipn:1.*\", via: to-2}]\n"}
    links = {1: [(2, a, b, "")], 2: [(1, b, a, ""), (3, c, d, "")], 3: [(2, d, c, "")]}
    service = 2001
    if number == 1:
        links[2][1] = (3, c, nobody, "")  # nobody listens there
    elif number == 2:
        for node, digits in ((2, "5a"), (3, "a5")):
            key = folder / f"link{node}.key"
            key.write_text(digits * 20 + "\n", encoding="ascii")
            key.chmod(0o600)
            links[node] = [(peer, local, remote, f", auth: {{mode: require, key_file: {key}}}" if {node, peer} == {2, 3} else keys) for peer, local, remote, keys in links[node]]
    elif number == 3:
        (folder / "plan.yaml").write_text("contacts:\n  - {from: 1, to: 2, start: 0s, end: 12h, rate: 10Mbit/s, owlt: 1ms, both: yes}\n"
                                          "  - {from: 3, to: 2, start: 0s, end: 12h, rate: 10Mbit/s, owlt: 1ms}\n  - {from: 2, to: 3, start: 10h, end: 12h, rate: 10Mbit/s, owlt: 1ms}\n", encoding="ascii")
        more = {node: f"plan: {folder}/plan.yaml\n" for node in more}
    elif number == 4:
        service = 2010
    else:
        more[2] = "rules:\n  - {peer: ipn:1.0, way: in, from: \"ipn:1.*\", to: \"ipn:2.*\"}\n"
    for node, own in links.items():
        text = "".join(LINK.format(peer=peer, local=local, remote=remote, more=keys) for peer, local, remote, keys in own)
        (folder / f"node{node}.yaml").write_text(NODE.format(number=node, folder=folder, more=more[node], links=text), encoding="ascii")
    return service


def begin_fault(number, folder):
    service = plant(number, folder)
    for node in (1, 2, 3):
        start(folder, f"node{node}", "heliod", f"node{node}.yaml")
    for node in (1, 2, 3):
        until(lambda: (folder / f"node{node}.sock").exists(), f"node {node} does not start: {folder}/node{node}.log")
    (folder / "received").mkdir()
    (folder / "sent").mkdir()
    for i in range(FILES):
        (folder / f"sent/{i}").write_bytes(os.urandom(20_000))
    start(folder, "recv", "helio-recv", "--socket", "node3.sock", "--service", service, "--reconnect=3600", "-o", "received")
    start(folder, "send", "helio-send", "--socket", "node1.sock", "--ask", "2", "--reconnect=3600", "ipn:3.2001", *(f"sent/{i}" for i in range(FILES)))
    print(f"{FILES} files are sent from ipn:1 to ipn:3.2001; helio-send's output is {folder}/send.log, helio-recv's {folder}/recv.log")


def end_fault(folder):
    there = [(folder / f"received/{i}").exists() and (folder / f"received/{i}").read_bytes() == (folder / f"sent/{i}").read_bytes() for i in range(FILES)]
    return sum(there) == FILES, f"{sum(there)} of {FILES} files arrived"


# ---- task 1 ----

def names_of(folder):
    return {machine: f"helio-task-{machine}-{folder.stat().st_ino % 100000}" for machine in MACHINES}


def begin_nat(folder):
    names = names_of(folder)
    for name in names.values():
        subprocess.run(["ip", "netns", "add", name], check=True)
    subprocess.run(["bash", "-euo", "pipefail", "-c", NETWORK.format(**names)], check=True)
    (folder / "files").mkdir()
    for machine, name in names.items():
        (folder / machine).write_text(f'#!/bin/sh\n# A shell, or a command, on this machine.\ncd "{folder}/files" || exit 1\n[ $# -gt 0 ] || set -- bash\nexec ip netns exec {name} "$@"\n', encoding="ascii")
        (folder / machine).chmod(0o755)
    print(f"three machines: {', '.join(str(folder / machine) for machine in MACHINES)}")


def answered(folder, machine, other):
    done = subprocess.run([folder / machine, "helio-ping", "--socket", f"{machine}.sock", "-c", "3", f"ipn:{other}.128"], capture_output=True, text=True, timeout=120, check=False)
    return re.search(r"\b3 received", done.stdout) is not None


def is_protected(folder):
    """Its links have TLS, or LTP authentication."""
    for name in ("station", "lab"):
        done = subprocess.run(["helioctl", "--socket", str(folder / f"files/{name}.sock.ctl"), "--json", "links"], capture_output=True, text=True, timeout=60, check=False)
        links = json.loads(done.stdout)["links"] if done.returncode == 0 else []
        used = [one for one in links if one["state"] == "up"]
        if not used or any(one["adapter"] == "tcpcl" and not one.get("tls") for one in used):
            return False
    configs = "".join(path.read_text(encoding="utf-8") for path in (folder / "files").glob("*.yaml"))
    return "require" in configs


def end_nat(folder):
    if not answered(folder, "station", 2) or not answered(folder, "lab", 1):
        return False, "a ping has no answer"
    return is_protected(folder), "pings are answered in both directions" + ("" if is_protected(folder) else ", but the link is not protected")


# ---- task 3 ----

RUNS = 4 * (3 + 1)


def end_campaign(folder):
    figures = [path for path in (folder / "out").rglob("*") if path.suffix in (".png", ".svg", ".pdf")]
    results = list((folder / "out").rglob("run.json"))
    if len(results) != RUNS:
        return False, f"{len(results)} runs, not {RUNS} (4 numbers of sessions; 3 repetitions of trace A, and one without losses, where all are equal)"
    return bool(figures), f"{RUNS} runs, {len(figures)} figures"


def end(folder):
    with contextlib.suppress(FileNotFoundError):
        for pid in (folder / ".started").read_text(encoding="ascii").split():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(pid), signal.SIGTERM)
    for name in names_of(folder).values() if os.getuid() == 0 else ():
        pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout.split()
        for pid in map(int, pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)


def main():
    words = [word for word in sys.argv[1:] if word != "--done"]
    done = "--done" in sys.argv
    if not words or words[0] not in ("nat", "fault", "campaign", "end") or len(words) != (3 if words[0] == "fault" else 2) or (words[0] == "fault" and words[1] not in "12345"):
        sys.exit(__doc__)
    folder = Path(words[-1]).resolve()
    if done:
        good, said = {"nat": end_nat, "fault": end_fault, "campaign": end_campaign}[words[0]](folder)
        print(("done: " if good else "not yet: ") + said)
        sys.exit(0 if good else 1)
    if words[0] == "end":
        end(folder)
        return
    if not shutil.which("heliod"):
        sys.exit("tasks: heliod is not in PATH")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        sys.exit(f"tasks: {folder} is not empty")
    if words[0] == "nat":
        begin_nat(folder)
    elif words[0] == "fault":
        begin_fault(int(words[1]), folder)
    else:
        print(f"write {folder}/campaign.yaml")


if __name__ == "__main__":
    main()
