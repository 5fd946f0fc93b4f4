#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/secure-nodes.md: its commands run as they stand there, in order, and what it says of their results is so.

usage: secure_nodes_test.py BIN SOURCE
"""
import re
import stat
import sys
import tempfile
from pathlib import Path

from page import Page

page = Page(sys.argv[1], Path(sys.argv[2]) / "docs/secure-nodes.md", 7)
with tempfile.TemporaryDirectory(prefix="helio-secure-") as name:
    folder, shown, logs = Path(name), [], []
    for out, log in page.play_all(folder):
        shown.append(out)
        logs.append(log)
    for key in ("node1.key", "node2.key", "link.key", "other.key"):
        assert stat.S_IMODE((folder / key).stat().st_mode) == 0o600, key
    assert shown[1].count(": good\n") == 2, shown[1]
    links = shown[2]
    assert "3 sent, 3 received, 0 % loss" in links, links
    assert re.search(r"required +active +ipn:2.0 +TLSv1.3 +ipn:2.0 +node +/CN=node 2", links), links
    assert "a connecting peer at 127.0.0.1:" in logs[3]["two.log"] and "certificate" in logs[3]["two.log"], logs[3]
    assert "3 sent, 3 received, 0 % loss" in shown[4], shown[4]
    assert "refused" not in logs[4]["two-ltp.log"] and "warning" not in logs[4]["two-ltp.log"], logs[4]
    assert "1 sent, 0 received, 100 % loss" in shown[5], shown[5]
    assert "its key, key id or ciphersuite is another one" in logs[5]["two-ltp.log"], logs[5]
    assert re.fullmatch(r"(srw-rw---- \S+ \S+ two\.sock(\.ctl)?\n){2}", shown[6]), shown[6]
    print(f"{len(page.blocks)} blocks of commands")
