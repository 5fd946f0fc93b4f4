#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to watch a node with 1,000 links and 10,000 open sessions with `helioctl top`, the status page, a scrape
of its metrics. By hand: tests/bench/watch.py [BIN [SECONDS]]; exits with 1 when a figure is above its bound."""

import os
import pty
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Lab  # noqa: E402

LINKS, SESSIONS = 1000, 10


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share(pids, seconds):
    """Of one core, that these processes take together."""
    before, begun = sum(map(cpu_of, pids)), time.monotonic()
    time.sleep(seconds)
    return (sum(map(cpu_of, pids)) - before) / (time.monotonic() - begun)


def open_sessions(lab):
    with aap2.Client(lab.socket(1)) as tx:
        assert tx.configure("ipn:1.5") == aap2.SUCCESS
        for _ in range(SESSIONS):
            for peer in range(2, LINKS + 2):
                assert tx.request(f"ipn:{peer}.7", b"x" * 100)[0] == aap2.SUCCESS
    while True:
        rows = lab.control(1, "top")
        at = rows["columns"].index("sessions")
        if sum(row[at] for row in rows["rows"]) == LINKS * SESSIONS:
            return
        time.sleep(0.5)


def watch_top(lab, seconds, node):
    master, slave = pty.openpty()
    p = subprocess.Popen([lab.program("helioctl"), "--socket", lab.socket(1) + ".ctl", "top"], stdin=slave, stdout=slave,
                         start_new_session=True)
    threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(master, 65536), b"")], daemon=True).start()
    time.sleep(2)
    used = share([node.pid, p.pid], seconds)
    p.terminate()
    p.wait()
    return used


def time_of(port, path):
    begun = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        answer.read()
    return time.monotonic() - begun


def watch_page(port, seconds, node):
    """What an open page asks for, as often as it does."""
    over = threading.Event()

    def look():
        rounds = 0
        while not over.is_set():
            for path, every in (("/api/top", 1), ("/api/backlog", 3), ("/api/plan", 5)):
                if rounds % every == 0:
                    time_of(port, path)
            rounds += 1
            over.wait(2)

    thread = threading.Thread(target=look)
    thread.start()
    used = share([node.pid], seconds)
    over.set()
    thread.join()
    return used


def main():
    programs = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20
    bad = False
    with tempfile.TemporaryDirectory() as out, Lab(programs, out) as lab:
        local, remote = lab.udp_ports(2)
        links = [lab.link(i + 2, local, remote, rto="1h", sessions=SESSIONS, rate="10Mbit/s") for i in range(LINKS)]
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        node = lab.start_node(1, lab.write_node(1, links, log=False, extra=f"http: {{listen: {port}}}\n"))
        while not os.path.exists(lab.socket(1) + ".ctl") or "is ready" not in open(lab.path("node1.log")).read():
            time.sleep(0.1)
        open_sessions(lab)
        idle = share([node.pid], seconds)
        print(f"node alone                 {100 * idle:6.2f} % of a core, {LINKS} links, {LINKS * SESSIONS} open sessions")
        top = watch_top(lab, seconds, node)
        print(f"node and helioctl top      {100 * top:6.2f} %, bound 2 % more")
        bad |= top - idle > 0.02
        page = watch_page(port, seconds, node)
        print(f"node with the page open    {100 * page:6.2f} %, bound 2 % more")
        bad |= page - idle > 0.02
        times = sorted(time_of(port, "/metrics") for _ in range(11))
        print(f"scrape                     {1e3 * times[5]:6.1f} ms (of 11: {1e3 * times[0]:.1f} … {1e3 * times[-1]:.1f}), bound 50 ms")
        bad |= times[5] > 0.05
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
