#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/first-hour.md: its commands run as they stand there, on three machines that are network namespaces: a station with a firewall, a
router with NAT, a laboratory behind it.

usage: first_hour_test.py BIN SOURCE      as root
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tasks"))
from machines import NETWORK  # noqa: E402

BIN, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
TEXT = (SOURCE / "docs/first-hour.md").read_text(encoding="utf-8")
PLACES = {"# at the station": "station", "# in the laboratory": "lab", "# on the router": "router"}
COPIED = {"station.pem": "lab", "lab.pem": "station", "link.key": "lab"}  # what the page asks to copy, and where to
NAMES = {place: f"helio-{place}-{os.getpid()}" for place in PLACES.values()}


def shell(script):
    subprocess.run(["bash", "-euo", "pipefail", "-c", script], check=True, timeout=60)


def play(place, block, folder):
    """One block of the page at its place. What it leaves running stays, with its output in log files."""
    with tempfile.TemporaryFile("w+") as out:
        p = subprocess.Popen(["ip", "netns", "exec", NAMES[place], "bash", "-euo", "pipefail", "-c", "umask 022\n" + block], cwd=folder, stdout=out,
                             stderr=subprocess.STDOUT, env={**os.environ, "PATH": f"{BIN}:/usr/bin:/bin:/usr/sbin:/sbin"})
        code = p.wait(120)
        out.seek(0)
        text = out.read()
    logs = {log.name: log.read_text() for log in folder.glob("*.log")}
    assert code == 0, f"{place}: this ended with code {code}:\n{block}\n{text}\n{logs}"
    return text


def running():
    """Processes at the three places."""
    listed = [subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True) for name in NAMES.values()]
    return [int(pid) for one in listed for pid in one.stdout.split()]


def end_programs():
    """Until they have ended, their sockets are in use."""
    for number, seconds in ((signal.SIGTERM, 60), (signal.SIGKILL, 60)):
        for pid in running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        until = time.monotonic() + seconds
        while running() and time.monotonic() < until:
            time.sleep(0.05)


def link_state(text):
    """The line of `helioctl links` for the link to the station."""
    rows = [line for line in text.splitlines() if re.match(r"station +(tcpcl|ltp-udp) ", line)]
    assert len(rows) == 1, text
    return rows[0]


def main():
    blocks = [(PLACES.get(block.splitlines()[0]), block) for block in re.findall(r"^```sh\n(.*?)^```$", TEXT, flags=re.S | re.M)]
    assert len(blocks) == 14 and all(place for place, _ in blocks), [block.splitlines()[0] for _, block in blocks]
    with tempfile.TemporaryDirectory(prefix="helio-first-hour-") as name:
        folders = {place: Path(name) / place for place in NAMES}
        for folder in folders.values():
            folder.mkdir()
        for netns in NAMES.values():
            shell(f"ip netns add {netns}")
        shell(NETWORK.format(**NAMES))
        shown = []
        for place, block in blocks:
            if "ltp.yaml" in block and place == "station" or place == "router":
                end_programs()
            shown.append(play(place, block, folders[place]))
            for file, other in COPIED.items():
                if (folders[place] / file).exists() and place != other:
                    shutil.copy2(folders[place] / file, folders[other] / file)
        judge(shown, folders)


def judge(shown, folders):
    tcp, measured, ltp = shown[4], shown[9], shown[12]
    for text in (tcp, shown[5], ltp, shown[13]):  # from both ends
        assert "5 sent, 5 received, 0 % loss" in text, text
    for text in (tcp, ltp):
        assert " up " in link_state(text), text
    assert "10 sent, 10 received, 0 % loss" in measured, measured
    assert len(re.findall(r"goodput", measured)) >= 1, measured
    assert re.search(r"goodput", ltp), ltp
    for sender, receiver, text in (("lab", "station", shown[6]), ("station", "lab", shown[7])):
        assert re.search(rf"{sender}\.txt .*confirmed", text), text
        assert (folders[receiver] / "received" / f"{sender}.txt").read_text() == (folders[sender] / f"{sender}.txt").read_text()
    # in both directions through NAT with authentication: nothing was refused
    for place in ("station", "lab"):
        log = (folders[place] / "ltp.log").read_text()
        assert "refused" not in log, log


try:
    main()
finally:
    end_programs()
    for netns in NAMES.values():
        subprocess.run(["ip", "netns", "del", netns], stderr=subprocess.DEVNULL)
print("first hour: 14 blocks of commands on three machines")
