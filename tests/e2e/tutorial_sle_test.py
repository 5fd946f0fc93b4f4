#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial-sle.md: its commands run as they stand there, in order, and what it says of their results is so.

usage: tutorial_sle_test.py BIN SOURCE
"""
import json
import re
import sys
import tempfile
from pathlib import Path

from page import Page

page = Page(sys.argv[1], Path(sys.argv[2]) / "docs/tutorial-sle.md", 7)
with tempfile.TemporaryDirectory(prefix="helio-sle-") as name:
    shown = [out for out, _ in page.play_all(name)]
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
    print(f"{len(page.blocks)} blocks of commands")
