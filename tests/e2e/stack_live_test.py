# SPDX-License-Identifier: Apache-2.0
"""The demo's experiment, and the same in virtual time from the very files that its nodes had: goodput and sessions agree.
usage: stack_live_test.py BIN OUT"""

import csv
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

programs, out = sys.argv[1:3]
shutil.rmtree(out, ignore_errors=True)
os.makedirs(out)
demo = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lab", "demo.py")
LINK = {"--rate": "100Mbit/s", "--delay": "10ms", "--trace": "A"}


def path(*names):
    return os.path.join(out, *names)


def run(name, *words):
    done = subprocess.run([os.path.join(programs, name), *words], check=True, capture_output=True, text=True, timeout=1000)
    return done.stdout


def live():
    shutil.rmtree(path("live"), ignore_errors=True)
    link = [word for pair in LINK.items() for word in pair]
    subprocess.run([sys.executable, demo, "--bin", programs, "--duration", "8s", *link, "--sessions", "6", "--rto", "60ms",
                    "--durability", "none", "--out", path("live"), "--json", path("live.json")], check=True, timeout=1000, stdout=subprocess.DEVNULL)
    with open(path("live.json")) as demo_result, open(path("live", "perf-1.json")) as client:
        result = json.load(demo_result)  # its reasons: of the relay, and of nodes that had no processor
        unsent = result["lateness"]["node1"]["credit_lost"] * 8 / (100e6 * 8)  # of what the rate allows in 8 s
        return result["not_faithful"], json.load(client), unsent


def virtual(client):
    files = [path("live", f"node{n}.yaml") for n in (1, 2)]
    with open(files[0]) as one, open(files[1]) as two:
        listen = re.search("remote: (.*)", one.read())[1]
        to = re.search("local: (.*)", two.read())[1]
    os.makedirs(path("virtual"))
    relay = " ".join(f"{key} {value}" for key, value in {"--listen": listen, "--to": to, **LINK}.items())
    result = json.loads(run("helio-sim", "--node", files[0], "--node", files[1], "--relay", relay, "--client",
                            f"-d ipn:2.2000 -T 8 -W {client['window']} -P {client['payload_bytes']}", "--log-dir", path("virtual"),
                            "--json"))
    return result["clients"][0]


def sessions(folder):
    """Durations of the red ones that lost nothing, and of all."""
    run("helio-analyze", *(path(folder, f"node{n}.segments.csv") for n in (1, 2)), "--sessions", path(folder, "s.csv"))
    with open(path(folder, "s.csv"), newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["colour"] == "red" and r["outcome"] == "done"]
    return [statistics.median(float(r["duration_ms"]) for r in rows if r["lossy"] == "0"),
            statistics.mean(float(r["duration_ms"]) for r in rows)]


for _ in range(3):
    why, real, unsent = live()
    if not why:
        break
    print("the machine was too busy:", *why, sep="\n    ")
there = virtual(real)
a, b = sessions("live"), sessions("virtual")
print(f"goodput {real['goodput_bps'] / 1e6:.2f}, in virtual time {there['goodput_bps'] / 1e6:.2f} Mbit/s; "
      f"sessions without losses {a[0]:.2f}, {b[0]:.2f} ms; all {a[1]:.2f}, {b[1]:.2f} ms")
assert there["bundles_acked"] == there["bundles_sent"] > 100
# in virtual time a node always has its processor: what this one could not send for want of it is its machine's
print(f"{100 * unsent:.1f} % of the rate were not sent for want of a processor")
assert abs(real["goodput_bps"] / (there["goodput_bps"] * (1 - unsent)) - 1) < 0.05
assert -0.01 < a[0] / b[0] - 1 < 0.1, "a real session takes as long as one in virtual time, and what the machine adds"
assert abs(a[1] / b[1] - 1) < 0.15
