#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans that helio-plan writes for ION, loaded by ION's ionadmin and listed back: each contact and each light time is compared with
the plan as it was before, rounded as docs/contact-plans.md says. Plans: files and folders named, and drawn ones (--random)."""
import collections
import datetime
import os
import re
import shutil
import subprocess
import sys

import plans
from plans import SECOND, up

START = datetime.datetime(2027, 1, 1, tzinfo=datetime.timezone.utc)  # what +SECONDS count from
RATE_MAX = 2**32 - 256
LOAD = """
mount -t tmpfs none /dev/shm
ionadmin first.rc > first.txt && ionadmin plan.rc > plan.txt && ionadmin list.rc > list.txt
"""
DATE = r"(\d+/\d+/\d+-\d+:\d+:\d+)"
CONTACT = re.compile(rf"From +{DATE} to +{DATE} the xmit rate from node (\d+) to node (\d+) is +(\d+) bytes/sec, confidence ([\d.]+)\.")
RANGE = re.compile(rf"From +{DATE} to +{DATE} the OWLT from node (\d+) to node (\d+) is +(\d+) seconds")


def seconds(text):
    date = datetime.datetime.strptime(text, "%Y/%m/%d-%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
    return int(date.timestamp())


def bytes_a_second(bps):
    return RATE_MAX if bps == 0 else min(max(bps // 8, 1), RATE_MAX)


def contacts_expected(plan, offset):
    """As the page says of `--to ion`: within their times in whole seconds, and apart from the next one."""
    begins = {(c["from"], c["to"], up(c["start_ns"])) for c in plan["contacts"] if up(c["start_ns"]) < c["end_ns"] // SECOND}
    out = collections.Counter()
    for c in plan["contacts"]:
        start, end = up(c["start_ns"]), c["end_ns"] // SECOND
        end -= (c["from"], c["to"], end) in begins
        if start < end:
            out[c["from"], c["to"], start + offset, end + offset, bytes_a_second(c["rate_bps"]), round(c["confidence"], 6)] += 1
    return out


def lights_differ(plan, listed, offset):
    """Times at which ION's light time is not the plan's, in the middle of each stretch between two edges."""
    wrong = []
    by_pair = collections.defaultdict(list)
    for r in plan["ranges"]:
        by_pair[min(r["from"], r["to"]), max(r["from"], r["to"])].append(r)
    theirs = collections.defaultdict(list)
    for start, end, one, other, owlt in listed:
        theirs[one, other].append((start - offset, end - offset, owlt))
    for pair in set(by_pair) | {(min(p), max(p)) for p in theirs}:
        low, high = pair
        edges = {e // SECOND for r in by_pair[pair] for e in (r["start_ns"], r["end_ns"])}
        edges |= {e for way in (pair, (high, low)) for r in theirs[way] for e in r[:2]}
        for at in sorted(edges):
            for one, other in (pair, (high, low)):
                wanted = plans.light(by_pair[pair], one, other, at * SECOND + SECOND // 2)
                found = [o for s, e, o in theirs[one, other] if s <= at < e]
                only_up = one > other and wanted is None and plans.light(by_pair[pair], other, one, at * SECOND + SECOND // 2) is not None
                if (found or [None]) != [wanted] and not only_up:  # ION has no range from lower to higher alone
                    wrong.append((one, other, at, wanted, found))
    return wrong


def load(args, text, folder):
    """What ION lists of these lines, and what its log notes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    local = args.peer / "usr/local"
    (folder / "node.ionconfig").write_text("wmSize 100000000\nsdrName ion\nconfigFlags 1\nheapWords 20000000\n")
    (folder / "first.rc").write_text("1 999999 node.ionconfig\n")
    (folder / "plan.rc").write_text(f"@ {START:%Y/%m/%d-%H:%M:%S}\n{text}")
    (folder / "list.rc").write_text("l contact\nl range\n")
    (folder / "run.sh").write_text(LOAD)
    env = dict(os.environ, PATH=f"{local}/bin:{os.environ['PATH']}", LD_LIBRARY_PATH=str(local / "lib"))
    subprocess.run(["unshare", "-i", "-n", "-m", "-p", "--fork", "--kill-child", "--mount-proc", "bash", "run.sh"], cwd=folder, env=env,
                   check=True, timeout=120)
    listed = (folder / "list.txt").read_text()
    log = folder / "ion.log"
    notes = [line for line in (log.read_text(errors="replace") if log.exists() else "").splitlines()
             if "[?]" in line or "error" in line.lower()]
    contacts = [(int(f), int(t), seconds(a), seconds(b), int(r), round(float(c), 6)) for a, b, f, t, r, c in CONTACT.findall(listed)
                if f != t]  # ION's own registration
    ranges = [(seconds(a), seconds(b), int(f), int(t), int(o)) for a, b, f, t, o in RANGE.findall(listed)]
    return contacts, ranges, notes


def compare(args, plan, text, folder):
    offset = 0 if re.search(r"^a \w+ \d+/", text, re.MULTILINE) else int(START.timestamp())
    contacts, ranges, notes = load(args, text, folder)
    wanted, found = contacts_expected(plan, offset), collections.Counter(contacts)
    return wanted, found, {"ranges": len(ranges), "light": lights_differ(plan, ranges, offset), "notes": notes}


if __name__ == "__main__":
    sys.exit(plans.main(__doc__, "ion", "folder of ION's installation", compare))
