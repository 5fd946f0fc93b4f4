#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/cadu.md: its commands run as they stand there, in order, and what it says of their results is so.

usage: cadu_page_test.py BIN SOURCE
"""
import re
import sys
import tempfile
from pathlib import Path

from page import Page

page = Page(sys.argv[1], Path(sys.argv[2]) / "docs/cadu.md", 3)
with tempfile.TemporaryDirectory(prefix="helio-cadu-") as name:
    shown, logs = [], []
    for out, log in page.play_all(name):
        shown.append(out)
        logs.append(log)
    size = (Path(name) / "downlink.cadu").stat().st_size
    assert size % 1279 == 0 and size > 1_000_000, size
    assert Path(name, "received.cadu").stat().st_size == size
    count = size // 1279
    for out in shown[:2]:
        assert re.search(rf"^  ok +{count}$", out, flags=re.M), out
    assert "corrected" not in shown[0], shown[0]
    told = dict(re.findall(r'"(cadu_\w+)": (\d+)', shown[2]))
    symbols = int(told["cadu_corrected"])
    assert 10 * count < symbols < 30 * count, told  # 1275 octets of which one in 63 has a wrong bit
    assert (told["cadu_erred"], told["cadu_sync_losses"]) == ("0", "0"), told
    print(f"{len(page.blocks)} blocks of commands")
