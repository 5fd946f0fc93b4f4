# SPDX-License-Identifier: Apache-2.0
"""kill -9 of either node, ten times each during a transfer with durability sync: every bundle whose acceptance was
confirmed reaches the application, once. usage: kill_test.py BIN OUT [SEED]"""

import random
import shutil
import signal
import sys
import time

import _paths  # noqa: F401
from heliograph.processes import Failed, Lab  # noqa: E402

KILLS = 20  # ten of each node, in turn
BUNDLES = 1500
PAYLOAD = 100_000


def transfer(lab, rng):
    port1, port2 = lab.udp_ports(2)
    keys = {"rate": "100Mbit/s", "sessions": 16, "rto": "50ms", "segment": "1024B"}
    configs, nodes = {}, {}
    for number, peer, local, remote in ((1, 2, port1, port2), (2, 1, port2, port1)):
        store = f"{{path: {lab.path(f'store{number}')}, durability: sync, limit: 1GiB}}"
        configs[number] = lab.write_node(number, [lab.link(peer, local, remote, **keys)], store)
        nodes[number] = lab.start_node(number, configs[number])
    server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2), "--reconnect",
                       "--json", lab.path("server.json"))
    client = lab.start("client", "helio-perf", "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", "--reconnect",
                       "-D", str(BUNDLES * PAYLOAD), "-P", str(PAYLOAD), "-W", "32", "--json", lab.path("client.json"))
    kills = 0
    for i in range(KILLS):
        time.sleep(rng.uniform(0.2, 0.7))
        if client.poll() is not None:
            break
        number = 1 + i % 2
        nodes[number].send_signal(signal.SIGKILL)
        nodes[number].wait()
        time.sleep(rng.uniform(0, 0.1))
        nodes[number] = lab.start_node(number, configs[number])
        kills += 1
    if client.wait(1200) != 0:
        raise Failed(f"the client failed; see {lab.path('client.log')}")
    lab.stop("server", server, signal.SIGINT)
    for number, p in nodes.items():
        lab.stop(f"node{number}", p)
    return kills


def main():
    programs, out = sys.argv[1:3]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    shutil.rmtree(out, ignore_errors=True)
    with Lab(programs, out) as lab:
        kills = transfer(lab, random.Random(seed))
        client, server = lab.load("client.json"), lab.load("server.json")
    print(f"{kills} kills, {client['bundles_confirmed']} bundles confirmed, {server['bundles']} delivered once, "
          f"{server['duplicates']} repeats that the application dropped, {server['wrong_crc']} damaged")
    assert kills == KILLS, "the transfer ended before all kills: lengthen it"
    assert client["bundles_confirmed"] == BUNDLES, client
    assert server["bundles"] == BUNDLES, server
    assert server["wrong_crc"] == 0 and server["lost"] == 0, server
    assert client["bundles_acked"] == BUNDLES, client


main()
