#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/troubleshooting.md: its commands show what it says, and its mend is one.

usage: troubleshooting_test.py BIN SOURCE
"""
import re
import sys
import tempfile
from pathlib import Path

from page import Page

page = Page(sys.argv[1], Path(sys.argv[2]) / "docs/troubleshooting.md", 2)
with tempfile.TemporaryDirectory(prefix="helio-trouble-") as name:
    (checked, _), (out, _) = page.play_all(name)
    assert checked.count(": good\n") == 2, checked
    assert "3 sent, 0 received, 100 % loss" in out, out
    sender, peer = re.findall(r"^to-(?:two|one) +ltp-udp +ipn:\d\.0 .*$", out, flags=re.M)
    assert sum(int(n) for n in sender.split()[4].split("/")) == 3, sender  # WAITING
    assert re.search(r" 100\.0 ms +- +- ", sender), sender  # RTO, TRIP, HEARD
    assert peer.split()[7] == "0", peer  # RECEIVED
    assert re.search(r"ipn:2\b.* 3 ", out), out
    assert "3 sent, 3 received, 0 % loss" in out, out
print("2 blocks of commands")
