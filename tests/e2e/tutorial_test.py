#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.md: its commands run as they stand there, in order, and what it says of their results is so.

usage: tutorial_test.py BIN SOURCE
"""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BIN, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
text = (SOURCE / "docs/tutorial.md").read_text()
blocks = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.S | re.M)
assert len(blocks) >= 6, "the tutorial has lost its commands"

with tempfile.TemporaryDirectory(prefix="helio-tutorial-") as name:
    folder = Path(name)
    shown = []
    for block in blocks:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, text=True, capture_output=True, check=False,
                              env={**os.environ, "PATH": f"{BIN}:/usr/bin:/bin"}, timeout=1400)
        if done.returncode != 0:
            sys.exit(f"this ended with code {done.returncode}:\n{block}\n{done.stdout}\n{done.stderr}")
        shown.append(done.stdout)
    assert (folder / "my.png").read_bytes()[:4] == b"\x89PNG"
    fired = re.search(r"timers fired +(\d+)", shown[1]).group(1)
    assert f"the timer fired {fired} times" in text, fired
    efficiency = float(re.search(r"\((\d+\.\d+) %\)", shown[1]).group(1))
    assert f"It is {efficiency:.0f} % here" in text, efficiency
    with open(folder / "sessions.csv", newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    assert rows and all(r["cp_lost_basis"] == "drop_log" for r in rows if r["outcome"] == "done"), rows[0]
    assert "<canvas" in (folder / "page.html").read_text(encoding="utf-8")
    found = json.loads((folder / "tuned/result.json").read_text())["recovery"]
    assert f"needs {found['plain']['sessions']} sessions and a timer of {1e3 * found['plain']['rto_s']:g} ms" in text, found["plain"]
    assert f"switches, {found['default']['sessions']} sessions bring" in text, found["default"]
    assert found["default"]["predicted"]["delivery_ms"]["p99"] < 0.82 * found["plain"]["predicted"]["delivery_ms"]["p99"]
    assert (folder / "tuned/heliod.yaml").exists()
    result, = (json.loads(p.read_text()) for p in (folder / "live/runs").glob("*/result.json"))
    assert result["sessions"] > 0 and result["goodput_bps"] > 0
    assert len(list((folder / "my/runs").iterdir())) == 100
    print(f"{len(blocks)} blocks of commands")
