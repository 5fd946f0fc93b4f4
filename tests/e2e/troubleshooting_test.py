#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/troubleshooting.md: its commands show what it says, and its mend is one. Each command in its text runs, too, and its counters exist.

usage: troubleshooting_test.py BIN SOURCE
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from page import Page

NODE = """node: ipn:{number}.0
socket: {folder}/{number}.sock
store: {{path: {folder}/store{number}, durability: sync, limit: 64MiB}}
plan: {folder}/plan.yaml
links:
  - {{name: to-peer, adapter: ltp-udp, peer: ipn:{other}.0, local: 127.0.0.{number}:1113, remote: 127.0.0.{other}:1113, rto: 100ms}}
"""
PLAN = "contacts:\n  - {from: 1, to: 2, start: \"2020-01-01T00:00:00Z\", end: \"2099-01-01T00:00:00Z\", rate: 10Mbit/s, owlt: 1ms, both: yes}\n"
OURS = r"`((?:helioctl CONFIG|heliod --check CONFIG|helio-plan|helio-store check) [^`]+|date -u|ss -[a-z]+|ip addr|sysctl net[^`]*|openssl [^`]+|grep -nP [^`]+|chmod [^`]+)`"
KEYS = """
set -e
heliod 1.yaml 2> 1.log & heliod 2.yaml 2> 2.log &
until [ -S 1.sock.ctl ] && [ -S 2.sock.ctl ]; do sleep 0.1; done
helio-ping --socket 1.sock -c 2 -i 100ms ipn:2.128
helio-send --socket 1.sock --no-wait ipn:2.99 plan.yaml
helio-send --socket 1.sock --no-wait ipn:1.99 plan.yaml
until helioctl 1.yaml --json bundles > bundles.json && grep -q '"key"' bundles.json; do sleep 0.1; done
cp -r store2 store-copy
"""


def check_example(page, folder):
    (checked, _), (out, _) = page.play_all(folder)
    assert checked.count(": good\n") == 2, checked
    assert "3 sent, 0 received, 100 % loss" in out, out
    sender, peer = re.findall(r"^to-(?:two|one) +ltp-udp +ipn:\d\.0 .*$", out, flags=re.M)
    assert sum(int(n) for n in sender.split()[4].split("/")) == 3, sender  # WAITING
    assert re.search(r" 100\.0 ms +- +- ", sender), sender  # RTO, TRIP, HEARD
    assert peer.split()[7] == "0", peer  # RECEIVED
    assert re.search(r"ipn:2\b.* 3 ", out), out
    assert "3 sent, 3 received, 0 % loss" in out, out


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=x", "-addext",
                    "subjectAltName=DNS:x"], cwd=folder, check=True, capture_output=True)


def check_commands(page, folder):
    """In one shell with two nodes: of the page's words in capitals each has a value."""
    for number, other in ((1, 2), (2, 1)):
        (folder / f"{number}.yaml").write_text(NODE.format(number=number, other=other, folder=folder), encoding="ascii")
    (folder / "plan.yaml").write_text(PLAN, encoding="ascii")
    certificate(folder)
    words = {"CONFIG": "1.yaml", "LINK": "to-peer", "PLAN": "plan.yaml", "FILE": "cert.pem", "DIR": "store-copy",
             "KEY": "$(grep -o '\"key\": [0-9]*' bundles.json | head -1 | cut -d' ' -f2)", "ID": "1"}
    found = list(dict.fromkeys(re.findall(OURS, page.text)))
    assert len(found) >= 20, found
    script = KEYS
    for command in found:
        line = re.sub(r"\b(" + "|".join(words) + r")\b", lambda m: words[m[1]], command.replace(r"\|", "|"))
        line += " -n 1" if line.endswith(" top") else ""
        line = f"timeout 1 {line} || [ $? = 124 ]" if line.endswith(" watch bundles") else line  # it has no end
        script += f"echo {'=' * 8} ; ( {line} ) > said 2>&1 || {{ code=$?; case {line.split()[0]} in grep | ss | ip) ;; *) echo \"FAILED $code: \"; cat said; esac; }}\n"
    script += "helioctl 1.yaml --json counters > counters.json\nhelioctl 1.yaml --json links > links.json\nkill %1 %2; wait || true\n"
    done = page.play(script, folder, 300)
    assert done.returncode == 0 and done.stdout.count("=" * 8) == len(found) and "FAILED" not in done.stdout, (script, done.stdout, done.stderr)
    return found


def check_counters(page, folder):
    """The counters that the tree names exist."""
    text = (folder / "counters.json").read_text(encoding="utf-8") + (folder / "links.json").read_text(encoding="utf-8")
    named = {part for name in re.findall(r"`(?:links\.LINK|agent)\.([a-z_.]+)", page.text) for part in name.strip(".").split(".") if part}
    assert {"refused", "ended", "failed_because", "datagrams_rx", "verdicts", "sessions_cancelled_local"} <= named, named
    missing = [name for name in named if f'"{name}"' not in text]
    assert not missing, missing
    columns = {"SENT", "WAITING", "STATE", "RECEIVED", "OUT", "RATE", "RESENT", "SESSIONS", "LATE", "FAILED", "HEARD"}
    title = subprocess.run([page.bin / "helioctl", "--help"], capture_output=True, text=True, check=True, env=os.environ).stdout
    assert "links" in title and all(re.search(rf"\b{column}\b", page.text) for column in columns)


def check_links(page):
    """Each place that the tree sends people to is on the page."""
    heads = {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^## (.*)$", page.text, flags=re.M)}
    wrong = [one for one in re.findall(r"\]\(#([^)]+)\)", page.text) if one not in heads]
    assert not wrong, wrong


def main():
    page = Page(sys.argv[1], Path(sys.argv[2]) / "docs/troubleshooting.md", 2)
    check_links(page)
    with tempfile.TemporaryDirectory(prefix="helio-trouble-") as name:
        check_example(page, name)
    with tempfile.TemporaryDirectory(prefix="helio-trouble-") as name:
        begun = time.monotonic()
        found = check_commands(page, Path(name))
        check_counters(page, Path(name))
        print(f"2 blocks of commands, and {len(found)} commands of the text in {time.monotonic() - begun:.0f} s")


main()
