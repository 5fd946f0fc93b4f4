#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pages about links name a key of a group as a reader can paste it: `limits.held_bytes`, not `held_bytes`. heliod knows the keys and their groups.

usage: key_names.py BIN_DIR SOURCE

BIN_DIR     the folder of the programs (heliod)
SOURCE      the checkout, with its pages

Only words in backticks are looked at that are no key without a group of the page's adapters. A table's first column is left out, since it
has the fields of a result, too; and so are the words that OTHERS has.
Exit codes: 0 all are right, 1 one is not, 2 usage.
"""
import json
import os
import re
import subprocess
import sys

PAGES = {  # page -> the adapters that it is about
    "docs/ltp-udp.md": ("ltp-udp",), "docs/recovery.md": ("ltp-udp",), "docs/erasure.md": ("ltp-udp",), "docs/planning.md": ("ltp-udp",), "docs/cadu.md": ("ltp-udp",),
    "docs/tcpcl.md": ("tcpcl",), "docs/tcpcl-tls.md": ("tcpcl",), "docs/udp.md": ("udp",), "docs/stcp.md": ("stcp", "mtcp"),
    "docs/troubleshooting.md": ("ltp-udp", "tcpcl"), "docs/guarantees.md": ("ltp-udp", "tcpcl"), "docs/first-hour.md": ("ltp-udp", "tcpcl")}
OTHERS = {  # page -> words that mean something else there
    "docs/ltp-udp.md": {"span", "clcw", "segments", "in"}, "docs/recovery.md": {"merge_claims", "oldest_first", "rto_auto"}, "docs/tcpcl-tls.md": {"ca", "host", "peer"},
    "docs/tcpcl.md": {"connections", "unidentified"}, "docs/stcp.md": {"connections"}, "docs/cadu.md": {"in"}}


def grouped(bin_dir):
    """Adapter -> name of a key -> the whole key, of those that are in a group and no key without one."""
    done = subprocess.run([os.path.join(bin_dir, "heliod"), "--keys", "--json"], capture_output=True, text=True, check=True, timeout=60)
    out, alone = {}, {}
    for key in json.loads(done.stdout):
        group, _, name = key["key"].rpartition(".")
        if group:
            out.setdefault(key["section"], {})[name] = key["key"]
        else:
            alone.setdefault(key["section"], set()).add(name)
    of_all = alone.get("links", set())
    return {section: {name: key for name, key in keys.items() if name not in alone.get(section, set()) | of_all} for section, keys in out.items()}


def bare(text, keys):
    """(line number, word, whole key) of each word in backticks that lacks its group."""
    for number, line in enumerate(text.splitlines(), 1):
        looked = line.split(" | ", 1)[-1] if line.startswith("| ") else line
        for word in re.findall(r"(?<!`)`([a-z_]+)`", looked):
            if word in keys:
                yield number, word, keys[word]


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    known, wrong = grouped(sys.argv[1]), []
    sample = "Set `held_bytes`, or `limits.held_bytes` and `rate`.\n| `retries` | of `retries` |\n"
    if [word for _, word, _ in bare(sample, known["ltp-udp"])] != ["held_bytes", "retries"]:
        wrong.append("the check itself does not find what it should in its own sample")
    for page, adapters in PAGES.items():
        keys = {name: key for adapter in adapters for name, key in known.get(adapter, {}).items() if name not in OTHERS.get(page, ())}
        with open(os.path.join(sys.argv[2], page), encoding="utf-8") as f:
            wrong += [f"{page}:{number}: `{word}`: write `{key}`" for number, word, key in bare(f.read(), keys)]
    print("\n".join(wrong) or f"{len(PAGES)} pages: each key of a group has its group")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
