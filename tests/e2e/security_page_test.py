#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/security.md: its commands run as they stand there, in order, and what it says of their results is so.

usage: security_page_test.py BIN SOURCE
"""
import re
import sys
import tempfile
from pathlib import Path

from page import Page

page = Page(sys.argv[1], Path(sys.argv[2]) / "docs/security.md", 6)
with tempfile.TemporaryDirectory(prefix="helio-bpsec-") as name:
    folder, shown, logs = Path(name), [], []
    for out, log in page.play_all(folder):
        shown.append(out)
        logs.append(log)
    secret = re.search(r"^key: ([0-9a-f]{96})$", (folder / "a/first").read_text(), flags=re.M).group(1)
    honest, forged = shown[1], shown[2]
    assert "3 sent, 3 received, 0 % loss" in honest, honest
    assert re.search(r"^sourced +3$", honest, flags=re.M) and re.search(r"^accepted +3$", honest, flags=re.M), honest
    assert re.search(r"^ *\d+ +acceptor +ipn:1\.\* +\* +payload +bib-hmac-sha2 +a-b +3 +0$", honest, flags=re.M), honest
    assert re.search(r"^a-b +hmac-sha-384 +valid ", honest, flags=re.M), honest
    assert "warning" not in logs[1]["a.log"] + logs[1]["b.log"], logs[1]
    assert "1 sent, 0 received, 100 % loss" in forged, forged
    assert re.search(r"^failed\.missing +1$", forged, flags=re.M) and re.search(r"^bundles_dropped +1$", forged, flags=re.M), forged
    token, pin = shown[3], (folder / "a-token/.pin").read_text().strip()
    assert "3 sent, 3 received, 0 % loss" in token, token
    assert re.search(r"^sourced +3$", token, flags=re.M) and re.search(r"^a-b +aes-256-kw +valid ", token, flags=re.M), token
    wrap = re.search(r"^key: ([0-9a-f]{64})$", (folder / "b-wrap/first").read_text(), flags=re.M).group(1)
    public = shown[4]
    assert "3 sent, 3 received, 0 % loss" in public, public
    assert re.search(r"^ *\d+ +acceptor +ipn:1\.\* +\* +payload +bib-cose +authority-a +3 +0$", public, flags=re.M), public
    assert re.search(r"^authority-a +x509 +valid ", public, flags=re.M), public
    agreed = shown[5]
    assert "3 sent, 3 received, 0 % loss" in agreed, agreed
    for context, key in (("bcb-cose", "to-b"), ("bib-cose", "authority-a")):
        assert re.search(rf"^ *\d+ +acceptor +ipn:1\.\* +\* +payload +{context} +{key} +3 +0$", agreed, flags=re.M), agreed
    private = (folder / "a-cose/sign").read_text().split("PRIVATE KEY-----")[1].splitlines()[1]
    assert len(private) == 64 and private not in str(shown) + str(logs)
    for hidden in (secret, wrap, pin):
        assert hidden not in str(shown) + str(logs)
    print(f"{len(page.blocks)} blocks of commands")
