# SPDX-License-Identifier: Apache-2.0
"""docs/yamcs.md: its commands run as they stand there, in order, and what it says of their results is so.

usage: yamcs_page_test.py BIN SOURCE DIR        DIR: what yamcs.sh made"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

source = Path(sys.argv[2])
import _paths  # noqa: F401
from page import Page  # noqa: E402

page = Page(sys.argv[1], source / "docs/yamcs.md", 2)
with tempfile.TemporaryDirectory(prefix="helio-yamcs-") as name:
    shutil.copytree(source / "examples/yamcs", name, dirs_exist_ok=True)
    os.symlink(Path(sys.argv[3]).resolve() / "lib", Path(name) / "lib")
    told = [out for out, _ in page.play_all(name)][1]
    assert re.findall(r"^set_heater (\d+) OK$", told, re.M) == ["21", "22", "23"], told
    whole = "Acknowledge_Queued OK, Acknowledge_Released OK, Acknowledge_Sent OK, Verifier_Complete OK, CommandComplete OK"
    assert re.findall(rf"^/HELIO/set_heater (\d+) {whole}$", told, re.M) == ["21", "22", "23"], told
    assert re.search(r"^commands 3 of .*\nsetpoint 23 of", told, re.M), told
    packets = int(re.search(r"^tm\.vc0: OK, in (\d+),", told, re.M)[1])
    frames = int(re.search(r"^tm: OK, in (\d+),.*invalid frames 0$", told, re.M)[1])
    assert frames - 2 <= packets <= frames and packets > 10, told
    assert "3 datagrams: 3 accepted, 0 refused, 3 radiated" in told, told
    assert told.count("CLTU of 34 octets: executed") == 3, told
    print(f"{len(page.blocks)} blocks of commands; {packets} packets, 3 commands")
