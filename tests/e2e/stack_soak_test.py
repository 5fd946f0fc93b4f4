# SPDX-License-Identifier: Apache-2.0
"""Chains of whole nodes in virtual time, drawn from seeds: delays to 20 minutes in each direction, losses to 20 %, duplicates, jitter,
links that go down and up, all kinds of settings. Every bundle is delivered exactly once; in every fourth run the nodes
assert their invariants at each step; every fifth is repeated and gives the same bytes. A failure prints its seed and the command.
usage: stack_soak_test.py BIN [FIRST..LAST]"""

import concurrent.futures
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile

SIM = os.path.abspath(os.path.join(sys.argv[1], "helio-sim"))
FIRST, LAST = map(int, sys.argv[2].split("..")) if len(sys.argv) > 2 else (1, 600)
FOLDER = tempfile.mkdtemp(prefix="helio-soak-")  # stays when a run is wrong
os.chdir(FOLDER)


def settings(r, delay):
    """Keys of all links, and the rate of the channels."""
    rate = r.choice(("unlimited", "10Mbit/s", "100Mbit/s", "1Gbit/s"))
    rto = 2 * delay + r.choice((0.02, 0.1, 1))
    keys = {"rate": rate, "segment": r.choice(("256B", "1024B", "1400B")), "mode": r.choice(("plain", "default")),
            "sessions": r.choice((1, 4, 64) if rate == "unlimited" else (1, 4, 64, "auto")), "claims": r.choice((1, 5, 256)),
            "retries": 1000}
    if r.random() < 0.3:
        keys["aggregate"] = r.choice(("20kB", "200kB"))
        keys["aggregate_time"] = r.choice(("0", "10ms"))
    if r.random() < 0.2:
        keys["report_delay"], rto = "4ms", rto + 0.01
    keys["recovery"] = "{" + ", ".join(f"{key}: {keys.pop(key)}" for key in ("mode", "claims", "retries", "report_delay") if key in keys) + "}"
    return {**keys, "rto": f"{rto * 1e6:.0f}us"}, rate


def write_node(folder, number, nodes, keys):
    text = f"node: ipn:{number}.0\nsocket: {number}.sock\nstore: {{durability: none}}\nlinks:\n"
    shown = ", ".join(f"{key}: {value}" for key, value in keys.items())
    for other in (number - 1, number + 1):
        if 1 <= other <= nodes:
            text += (f"  - {{name: to-{other}, adapter: ltp-udp, peer: ipn:{other}.0, local: 10.0.{number}.{other}:1, "
                     f"remote: 10.0.{other}.{number}:1, {shown}}}\n")
    far = [other for other in range(1, nodes + 1) if abs(other - number) > 1]
    text += "routes:\n" if far else ""
    for other in far:
        text += f'  - {{to: "ipn:{other}.*", via: to-{number + 1 if other > number else number - 1}}}\n'
    with open(f"{folder}/{number}.yaml", "w") as f:
        f.write(text)


def outages(r, delay):
    """Three times the first hop is away, longer than its round trip."""
    if r.random() > 0.3:
        return []
    period = int(4 * delay) + 1
    return [f"--link={(2 * k + up) * period}s ipn:{a}.0 to-{b} {'up' if up else 'down'}"
            for k in (1, 2, 3) for up in (0, 1) for a, b in ((1, 2), (2, 1))]


def draw(seed):
    """The command, and how many bundles it sends."""
    r = random.Random(seed)
    folder = str(seed)
    os.makedirs(folder)
    nodes, delay = r.choice((2, 2, 3, 4)), r.choice((0, 0.001, 0.01, 0.5, 1.3, 60, 1200))
    keys, rate = settings(r, delay)
    for number in range(1, nodes + 1):
        write_node(folder, number, nodes, keys)
    with open(f"{folder}/link.yaml", "w") as f:
        f.write(f"seed: {seed}\nboth: {{delay: {delay * 1e6:.0f}us, rate: {rate}, jitter: {r.choice(('0us', '500us'))}, "
                f"duplicate: {r.choice((0, 0.01))}, erasures: {{iid: {r.choice((0, 0.001, 0.02, 0.2))}}}}}\n")
    size, count = r.choice((100, 3000, 50000)), r.choice((5, 40))
    amount = r.choice((f"-W {r.choice((1, 10, 100))} --ack-timeout 30d", f"-R {r.choice(('1M', '20M'))}"))
    return [SIM, "--json", *(["--check"] if seed % 4 == 0 else []), "--seed", str(seed),
            *(f"--node={folder}/{number}.yaml" for number in range(1, nodes + 1)),
            *(f"--channel={number}-{number + 1}={folder}/link.yaml" for number in range(1, nodes)),
            f"--client=-d ipn:{nodes}.2000 -D {size * count} -P {size}B -l 30d --linger 20d {amount}",
            *outages(r, delay)], count


def call(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=1000, check=True).stdout


def run(seed):
    command, count = draw(seed)
    try:
        shown = call(command)
        result = json.loads(shown)
        client, server = result["clients"][0], result["servers"][0]
        assert client["bundles_sent"] == server["bundles"] == count, (client, server)
        assert server["duplicates"] == server["wrong_crc"] == client["lost"] == 0, (client, server)
        assert seed % 5 != 0 or call(command) == shown, "it gave something else when it was repeated"
    except (AssertionError, subprocess.SubprocessError) as e:
        print(f"seed {seed}, in {FOLDER}: {shlex.join(command)}\n{getattr(e, 'stderr', '') or e}", flush=True)
        return None
    return sum(way["dropped"]["random"] for channel in result["channels"] for way in channel.values())


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    lost = list(pool.map(run, range(FIRST, LAST + 1)))
bad = lost.count(None)
assert bad == 0, f"{bad} of {len(lost)} runs are wrong"
print(f"{len(lost)} runs, {sum(lost)} frames lost, every bundle delivered once")
assert sum(lost) > 1000
shutil.rmtree(FOLDER)
