#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial-sle.md: its commands run as they stand there, in order, and what it says of their results is so.

usage: tutorial_sle_test.py BIN SOURCE
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

BIN, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
text = (SOURCE / "docs/tutorial-sle.md").read_text(encoding="utf-8")
blocks = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.S | re.M)
assert len(blocks) >= 7, "the tutorial has lost its commands"

# Its ports are those of the page. Where that is permitted they are of a network of its own, which nobody else's programs are in.
ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0:
    ALONE = []


def play(block, folder):
    """One block of commands to its end. What a failure leaves running in the background ends with it, and does not keep the ports."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        p = subprocess.Popen([*ALONE, "bash", "-euo", "pipefail", "-c", block], cwd=folder, stdout=out, stderr=err, start_new_session=True,
                             env={**os.environ, "PATH": f"{BIN}:/usr/bin:/bin:/usr/sbin:/sbin"})
        try:
            code = p.wait(600)
        except subprocess.TimeoutExpired:
            code = "of none in 600 s"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(block, code, out.read(), err.read())


with tempfile.TemporaryDirectory(prefix="helio-sle-") as name:
    shown = []
    for block in blocks:
        done = play(block, name)
        if done.returncode != 0:
            logs = "".join(f"{p.name}: {p.read_text()}\n" for p in Path(name).glob("*.log"))
            sys.exit(f"this ended with code {done.returncode}:\n{block}\n{done.stdout}\n{done.stderr}\n{logs}")
        shown.append(done.stdout)
    virtual = json.loads((Path(name) / "virtual.json").read_text())
    server = virtual["servers"][0]
    assert (server["bundles"], server["duplicates"], server["wrong_crc"]) == (100, 0, 0), server
    numbers = [int(n) for n in re.findall(r"(\d+) (?:lost|frames received)", shown[2])]
    assert numbers[0] > 8000 and 100 < numbers[1] <= numbers[2] <= numbers[1] + 50, shown[2]
    real = shown[3]
    sent, confirmed, acknowledged = (int(n) for n in re.search(r"(\d+) sent, (\d+) confirmed.*?(\d+) acknowledged", real).groups())
    assert sent == confirmed == acknowledged >= 20, real  # the window; a slow machine takes no more
    row = re.search(r"FRAMES OF.*\n *up +datagrams +(\d+) +(\d+) +(\d+) +(\d+)", real)
    assert all(int(n) > 0 for n in row.groups()), real
    assert re.search(r"ok +\d{2,}|\d{2,} +ok", shown[4]), shown[4]
    whole = shown[6]  # with the station, in virtual time
    assert "100 acknowledged, 0 missing" in whole and re.search(r"station 1 .*raf=onlc1: active, \d{4,} frames delivered", whole), whole
    far = shown[7]  # by Space Link Extension
    sent, confirmed, acknowledged = (int(n) for n in re.search(r"(\d+) sent, (\d+) confirmed.*?(\d+) acknowledged", far).groups())
    assert sent == confirmed == acknowledged >= 20, far
    assert all(int(n) > 0 for n in re.search(r"FRAMES OF.*\n *space +sle +(\d+) +(\d+) +(\d+) +(\d+)", far).groups()), far
    for service in ("rsl-fg=1.raf=onlc1", "fsl-fg=1.cltu=cltu1"):
        told = re.findall(rf"{re.escape(service)}: ([a-z]+)", far)  # a number: frames that a busy machine was too slow for
        assert told == ["bound", "started", "stopped", "unbound"], far
    print(f"{len(blocks)} blocks of commands")
