# SPDX-License-Identifier: Apache-2.0
"""Connections without a BIND to a provider of Monitored Data; an honest monitor far away binds all the same."""
import os
import socket
import subprocess
import threading
import time

from attack import main, paced
from certificates import Authority
from sle_crowd import relay

KEPT = 900                                         # connections of the attacker at a time
SESSIONS = 3
LINES = 150                                        # of the log, for each attack: a refusal a second and 20 at once, the monitor's own
HELLO = bytes.fromhex("16030100c8010000c4")        # the beginning of a ClientHello
KINDS = (("silent", False, 500, b""), ("junk", False, 300, b"\xff" * 64), ("ClientHello", True, 300, HELLO))  # name, TLS, connections a second


def flood_of(port, rate, octets):
    def flood(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
        held = []
        for _ in paced(until, rate):
            s = socket.socket()
            s.bind(("127.0.0.9", 0))
            s.settimeout(1)
            try:
                s.connect(("127.0.0.1", port))
                s.sendall(octets)
            except OSError:  # the provider has no room just now, or has closed it
                s.close()
                continue
            held.append(s)
            if len(held) > KEPT:
                held.pop(0).close()
    return flood


def run(scene):
    """One address opens 500 silent connections a second to helio-csts, or 300 with junk or half a ClientHello; a monitor at 300 ms of round-trip time asks."""
    path, ca = scene.lab.path, Authority(scene.lab.path("ca"))
    oid = "1.3.112.4.4.2.1.10000"
    with open(path("figures.csv"), "w", encoding="ascii") as f:
        f.write(f"resource,instance,parameter,type,value\n{oid},1,{oid}.1.1,integer,5\n")
    files = {name: ca.issue(name, "IP:127.0.0.1", None) for name in ("station", "centre")}

    def tls(on, name):
        return ("--tls", "--tls-ca", ca.file, "--tls-certificate", files[name][0], "--tls-key", files[name][1]) if on else ()

    for name, secure, rate, octets in KINDS:
        port = scene.ports(1)[0]
        log = "provider-" + name
        provider = scene.start(log, "helio-csts", "provider", path("figures.csv"), "--listen", f"127.0.0.1:{port}", *tls(secure, "station"))
        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=relay, args=(listener, port), daemon=True).start()

        def lines(log=log):
            with open(path(log + ".log"), encoding="utf-8") as f:
                return f.read().count("\n")

        until = time.monotonic() + 60
        while lines() == 0 and time.monotonic() < until:
            time.sleep(0.05)

        def sessions(secure=secure, listener=listener):
            """How many of the monitor's bring the values."""
            command = [scene.lab.program("helio-csts"), "monitor", f"127.0.0.1:{listener.getsockname()[1]}", "--get", *tls(secure, "centre")]
            return sum(subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 0 for _ in range(SESSIONS))

        before = sessions()
        with scene.attack(flood_of(port, rate, octets), settle=2, least={"connections": rate}, name=name):
            during = sessions()
        after = sessions()
        scene.figure(f"sessions, {name}", {"before": before, "during": during, "after": after})
        for phase, good in (("before", before), ("during the attack", during), ("after", after)):
            scene.bound(f"sessions {phase}, {name}", good, "==", SESSIONS)
        scene.bound(f"lines of the log, {name}", lines(), "<=", LINES)
        scene.bound(f"RSS, MiB, {name}", scene.rss_peak(provider), "<=", 96)
        scene.bound(f"the provider runs, {name}", provider.poll(), "==", None)


if __name__ == "__main__":
    main(run)
