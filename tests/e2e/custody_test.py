# SPDX-License-Identifier: Apache-2.0
"""A tunnel with custody between two nodes over UDPCL, with a relay that loses a tenth of all datagrams in each direction, and
kill -9 of either node during the transfer: every bundle whose acceptance was confirmed reaches the application, once.
usage: custody_test.py BIN OUT [SEED]"""

import random
import shutil
import signal
import sys
import time

import _paths  # noqa: F401
from heliograph.processes import Failed, Lab  # noqa: E402

KILLS = 6  # three of each node, in turn
BUNDLES = 1500
PAYLOAD = 1000


def write_nodes(lab, ports, relays):
    configs = {}
    for number, peer in ((1, 2), (2, 1)):
        links = [{"name": "raw", "adapter": "udp", "peer": f"ipn:{peer}.0", "local": f"127.0.0.1:{ports[number]}",
                  "remote": f"127.0.0.1:{relays[number]}", "rate": "2Mbit/s"},
                 {"name": "tunnel", "adapter": "bibe", "peer": f"ipn:{peer}.0", "local": f"ipn:{number}.12", "remote": f"ipn:{peer}.12",
                  "custody": "{mode: on, timer: 500ms, signal_after: 50ms, window: 64}"}]
        routes = f"routes:\n  - {{to: ipn:{peer}.12, via: raw}}\n  - {{to: 'ipn:{peer}.*', via: tunnel}}\n"
        store = f"{{path: {lab.path(f'store{number}')}, durability: sync}}"
        configs[number] = lab.write_node(number, links, store, log=False, extra=routes)
    return configs


def start_relays(lab, ports, relays):
    """Each node sends to a relay whose datagrams come from where the other node expects its peer."""
    lab.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{relays[1]}", "--to", f"127.0.0.1:{ports[2]}",
              "--delay", "10ms", "--trace", "iid:0.1", "--seed", "3", "--json", lab.path("relay1.json"))
    lab.start("relay-back", "helio-emu", "relay", "--listen", f"127.0.0.1:{relays[2]}", "--to", f"127.0.0.1:{ports[1]}",
              "--delay", "10ms", "--trace", "iid:0.1", "--seed", "4", "--json", lab.path("relay2.json"))


def tunnel(lab, number):
    return next(link for link in lab.control(number, "links")["links"] if link["name"] == "tunnel")


def transfer(lab, rng):
    one, two, relay1, relay2 = lab.udp_ports(4)
    ports, relays = {1: one, 2: two}, {1: relay1, 2: relay2}
    configs = write_nodes(lab, ports, relays)
    start_relays(lab, ports, relays)
    nodes = {number: lab.start_node(number, configs[number]) for number in (1, 2)}
    server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2), "--reconnect", "--json", lab.path("server.json"))
    client = lab.start("client", "helio-perf", "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", "--reconnect",
                       "-D", str(BUNDLES * PAYLOAD), "-P", str(PAYLOAD), "-W", "64", "--json", lab.path("client.json"))
    kills, lost = 0, 0
    for i in range(KILLS):
        time.sleep(rng.uniform(0.5, 1.0))
        if client.poll() is not None:
            break
        number = 1 + i % 2
        lost += tunnel(lab, number)["custody"]["lost"]
        nodes[number].send_signal(signal.SIGKILL)
        nodes[number].wait()
        time.sleep(rng.uniform(0, 0.1))
        nodes[number] = lab.start_node(number, configs[number])
        kills += 1
    if client.wait(600) != 0:
        raise Failed(f"the client failed; see {lab.path('client.log')}")
    links = {number: tunnel(lab, number) for number in (1, 2)}
    lost += links[1]["custody"]["lost"]
    lab.stop("server", server, signal.SIGINT)
    for number, p in nodes.items():
        lab.stop(f"node{number}", p)
    return kills, lost, links


def main():
    programs, out = sys.argv[1:3]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    shutil.rmtree(out, ignore_errors=True)
    with Lab(programs, out) as lab:
        kills, lost, links = transfer(lab, random.Random(seed))
        client, server = lab.load("client.json"), lab.load("server.json")
    print(f"{kills} kills, {lost} timers without a signal, {client['bundles_confirmed']} bundles confirmed, {server['bundles']} "
          f"delivered once, {server['duplicates']} repeats that the application dropped, {server['wrong_crc']} damaged")
    assert kills == KILLS, "the transfer ended before all kills: lengthen it"
    assert lost > 0, "nothing was lost"
    assert client["bundles_confirmed"] == BUNDLES and client["bundles_acked"] == BUNDLES, client
    assert server["bundles"] == BUNDLES and server["wrong_crc"] == 0 and server["lost"] == 0, server
    for number, link in links.items():
        assert link["thrown_away"]["forged"] == 0 and link["custody"]["signals_sent"] > 0, (number, link)
        assert link["custody"]["signals_sent"] < link["custody"]["confirmed"], (number, link)  # they are collected


main()
