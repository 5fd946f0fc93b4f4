#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial-lab.md: its file and its commands, as they stand there. usage: lab_tutorial_test.py BIN SOURCE"""
import csv
import filecmp
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BIN, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
text = (SOURCE / "docs/tutorial-lab.md").read_text(encoding="utf-8")
file, = re.findall(r"^```yaml\n(.*?)^```$", text, flags=re.S | re.M)
blocks = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.S | re.M)
installing, = re.findall(r"(?:^    .*\n)+", text, flags=re.M)
assert len(installing.splitlines()) + len(blocks[0].splitlines()) == 4, "four commands"

with tempfile.TemporaryDirectory(prefix="helio-tutorial-") as name:
    folder = Path(name)
    (folder / "build/release").mkdir(parents=True)
    (folder / "build/release/bin").mkdir()
    content = (BIN / "heliod").read_bytes()  # of any build, as long as takes 16 s and more: a slow machine looks twice meanwhile
    (folder / "build/release/bin/heliod").write_bytes((content * 10)[:8_000_000])
    (folder / "five.yaml").write_text(file, encoding="utf-8")
    shown = []
    for block in blocks:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, text=True, capture_output=True, check=False,
                              env={**os.environ, "PATH": f"{BIN}:/usr/bin:/bin"}, timeout=1400)
        if done.returncode != 0:
            sys.exit(f"this ended with code {done.returncode}:\n{block}\n{done.stdout}\n{done.stderr}")
        shown.append(done.stdout)
    states = shown[0].split("A file over a fading hop: up for")
    assert len(states) >= 3 and "the lab has ended" in states[-1], shown[0][-500:]
    sent = [int(m[1]) for m in re.finditer(r"^1 +to-2 +up .* (\d+) +\d+ +\d+$", shown[0], flags=re.M)]
    assert sent == sorted(sent) and (sent[-1] > sent[0] or sent[0] >= 160), sent  # 160: all have left before the first look
    assert filecmp.cmp(folder / "build/release/bin/heliod", folder / "five/received/5/heliod", shallow=False)
    result = json.loads((folder / "five/result.json").read_text())
    drops = {name: way["forward"]["dropped"]["trace"] for name, way in result["channels"].items()}
    assert drops["3-4"] > 0 and sum(drops.values()) == drops["3-4"], drops
    assert "bundles at ipn:3.0" in shown[1]
    with open(folder / "ways.csv", newline="", encoding="utf-8") as f:
        rows = [row for row in csv.DictReader(f) if row["destination"] == "ipn:5.2001"]
    assert {row["hop"] for row in rows} == set("12345"), [row for row in rows if row["hop"] not in set("12345")][:5]
    assert "1 to 5" in shown[2]
    print(f"watched {len(states) - 1} times")
