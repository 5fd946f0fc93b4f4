# SPDX-License-Identifier: Apache-2.0
"""sessions: auto of a link reaches, without a configured number, the goodput of one that was chosen well; and a number
that is too small does not. Real nodes and relay, trace H. usage: sessions_test.py BIN OUT"""

import json
import os
import shutil
import subprocess
import sys

programs, out = sys.argv[1:3]
shutil.rmtree(out, ignore_errors=True)
os.makedirs(out)
demo = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lab", "demo.py")


def run(sessions):
    result = os.path.join(out, f"{sessions}.json")
    command = [sys.executable, demo, "--bin", programs, "--duration", "6s", "--trace", "H", "--rate", "200Mbit/s",
               "--sessions", sessions, "--rto", "60ms", "--delay", "10ms", "--durability", "none",
               "--out", os.path.join(out, sessions), "--json", result]
    subprocess.run(command, check=True, timeout=1000, stdout=subprocess.DEVNULL)
    with open(result) as f:
        r = json.load(f)
    assert r["bundles_delivered"] == r["bundles_sent"] == r["bundles_acked"], r
    with open(os.path.join(out, sessions, "node1.links.json")) as f:
        r["window"] = json.load(f)["links"][0]["window"]
    print(f"sessions {sessions}: efficiency {r['efficiency']:.3f}, window {r['window']}", flush=True)
    return r


few, chosen, auto = run("2"), run("16"), run("auto")
assert few["window"] == 2 and chosen["window"] == 16, "a number is a number"
assert 4 <= auto["window"] <= 64, auto["window"]
assert auto["efficiency"] > 0.9 * chosen["efficiency"], (auto["efficiency"], chosen["efficiency"])
assert few["efficiency"] < 0.8 * auto["efficiency"], (few["efficiency"], auto["efficiency"])
