#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What open pages of a network (/network) cost a node that forwards many small bundles: its processor time for each bundle with no page,
and with 1, 5 and 20 of them, in turns. By hand: tests/bench/network_page.py [BIN [SECONDS [ROUNDS]]]"""

import http.client
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402
from watch import cpu_of  # noqa: E402

PAGES, RATE, PAYLOAD, EVERY = (0, 1, 5, 20), "20000b", "100B", 2.0


def open_page(port, over, number):
    """What network_page.html asks for, as often as it does; the pages were opened one after the other."""
    rounds, connection = 0, http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    over.wait(EVERY * number / max(PAGES))
    while not over.is_set():
        begun = time.monotonic()
        for path, every in (("/api/top", 1), ("/api/backlog", 3), ("/api/plan", 5), ("/api/events", 1)):
            if rounds % every == 0:
                try:
                    connection.request("GET", path)
                    connection.getresponse().read()
                except (http.client.HTTPException, OSError):
                    connection.close()  # more connections than one address may have: the next question makes another
        rounds += 1
        over.wait(max(0.0, EVERY - (time.monotonic() - begun)))


def received(lab):
    return lab.control(2, "counters")["agent"]["received"]


def measure(lab, port, pages, node, seconds):
    """Processor time of node 1 in µs for each bundle that node 2 received, and bundles a second."""
    over = threading.Event()
    threads = [threading.Thread(target=open_page, args=(port, over, i)) for i in range(pages)]
    for thread in threads:
        thread.start()
    time.sleep(EVERY)
    used, bundles, begun = cpu_of(node.pid), received(lab), time.monotonic()
    time.sleep(seconds)
    used, bundles, took = cpu_of(node.pid) - used, received(lab) - bundles, time.monotonic() - begun
    over.set()
    for thread in threads:
        thread.join()
    time.sleep(0.1)
    return 1e6 * used / bundles, bundles / took, used / took


def main():
    programs = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 8
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    found = {pages: [] for pages in PAGES}
    with tempfile.TemporaryDirectory() as out, Lab(programs, out) as lab:
        a, b = lab.udp_ports(2)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        more = {"rto": "1s", "sessions": 200, "aggregate": "64kB", "aggregate_time": "5ms"}
        node = lab.start_node(1, lab.write_node(1, [lab.link(2, a, b, **more)], log=False, extra=f"http: {{listen: {port}}}\n"))
        lab.start_node(2, lab.write_node(2, [lab.link(1, b, a, **more)], log=False))
        while not all(os.path.exists(lab.socket(n) + ".ctl") for n in (1, 2)):
            time.sleep(0.1)
        server = subprocess.Popen([lab.program("helio-perf"), "server", "--socket", lab.socket(2)], stdout=subprocess.DEVNULL)
        client = subprocess.Popen([lab.program("helio-perf"), "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", "-T", "3600", "-R", RATE, "-P", PAYLOAD], stdout=subprocess.DEVNULL)
        time.sleep(3)
        for turn in range(rounds):
            for pages in PAGES:
                found[pages].append(measure(lab, port, pages, node, seconds))
                time.sleep(31 if pages == PAGES[-1] and turn + 1 < rounds else 0)  # events are kept for 30 s after the last question
        client.terminate()
        server.terminate()
    base = statistics.median(one[0] for one in found[0])
    for pages, rows in found.items():
        each, rate, share = (statistics.median(column) for column in zip(*rows))
        print(f"{pages:2d} pages: {each:6.2f} µs a bundle ({100 * (each / base - 1):+.1f} %), {rate:7.0f} bundles a second, {100 * share:5.1f} % of a core")


if __name__ == "__main__":
    main()
