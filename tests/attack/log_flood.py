# SPDX-License-Identifier: Apache-2.0
"""Unconfigured peers that connect and leave as fast as they can, under one name and under ever new ones: lines of the operator's log."""
import os
import re
import time

from attack import main
from tcpcl_wire import connect

THEIRS = re.compile(r"link in/ipn:\d")
AT_ONCE, A_SECOND = 100, 2  # lines about their links
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}


def run(scene):
    """Two addresses make TCPCL sessions with node 2 and end them at once; node 3's goodput and the size of node 2's log are measured."""
    p3, p2, tcp = scene.ports(3)
    scene.node(3, [scene.link(2, p3, p2, **KEYS)])
    open_to_all = {"name": "in", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{tcp}", "tls": "off", "peers": 8}
    node = scene.node(2, [scene.link(3, p2, p3, **KEYS), open_to_all])
    scene.receiver(2)

    def visits(host, name):
        def go(until):
            k = 0
            while time.monotonic() < until:
                try:
                    connect(tcp, source=f"127.0.0.{host}", name=name(k)).close()
                except OSError:
                    time.sleep(0.001)
                k += 1
        return go

    def log_bytes():
        return os.path.getsize(scene.lab.path("node2.log"))

    began, size = time.monotonic(), log_bytes()
    phases = scene.phases(lambda: scene.goodput(3, 2), visits(8, lambda k: "ipn:99.0"), visits(9, lambda k: f"ipn:{1000 + k}.0"), settle=3,
                          least={"connections": 1000})
    took = time.monotonic() - began
    rate = (log_bytes() - size) / took
    with open(scene.lab.path("node2.log"), encoding="utf-8") as f:
        lines = f.readlines()
    told = sum("lines about their links were left out" in line for line in lines)
    scene.bound("lines of the log about links of unconfigured peers", sum(bool(THEIRS.search(line)) for line in lines), "<=", AT_ONCE + round(A_SECOND * took) + 1)
    scene.bound("bytes of the log each second", round(rate), "<=", 4000)
    scene.bound("lines of the log that sum up the others", told, ">=", 1)
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
