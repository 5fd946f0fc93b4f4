#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/plan-service.md: its commands run as they stand there, in order, and what it says of their results is so.

usage: plan_service_page_test.py BIN SOURCE
"""
import re
import sys
import tempfile
from pathlib import Path

from page import Page

page = Page(sys.argv[1], Path(sys.argv[2]) / "docs/plan-service.md", 4)
with tempfile.TemporaryDirectory(prefix="helio-plans-") as name:
    shown, logs = zip(*page.play_all(Path(name)))
    run, forged = shown[2], shown[3]
    assert re.search(r"^version 1, \d+ bytes, takes effect at once$", run, flags=re.M), run
    assert re.search(r"^version 3, \d+ bytes, takes effect at once$", run, flags=re.M), run
    assert "20.0 Mbit/s" in run, run
    for number, state in ((1, "replaced"), (2, "replaced"), (3, "in force")):
        assert re.search(rf"^ +{number}  {state} ", run, flags=re.M), run
    accepted = int(re.search(r"^accepted +(\d+)$", run, flags=re.M)[1])
    assert accepted >= 3, run
    assert re.search(r"^failed\.missing +[1-9]\d*$", forged, flags=re.M), forged
    assert re.search(r"^ +3  in force ", forged, flags=re.M) and "follows version 3 of ipn:1.70" in forged, forged
    assert not re.search(r"^ +9 ", forged, flags=re.M), forged
    print(f"{len(page.blocks)} blocks of commands")
