# SPDX-License-Identifier: Apache-2.0
"""Unconfigured peers that claim the name of a configured neighbour, which another adapter reaches and which is silent."""
import multiprocessing
import threading
import time

from attack import main
from tcpcl_identity import steal
from tcpcl_wire import connect

PINGS = 200  # of them the first half while the neighbour is off


def run(scene):
    """Node 3 is off. Three impostors connect to node 2 by TCPCL as node 3, which node 2 reaches by LTP, as node 4, to which a route of its file leads, and as node 5, to which an operator adds one."""
    p1, p2, p23, p32, tcp = scene.ports(5)
    keys = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
    incoming = {"name": "in", "adapter": "tcpcl", "peer": "ipn:66.0", "local": f"127.0.0.1:{tcp}", "tls": "off", "peers": 8}
    to_2 = "routes:\n  - {to: 'ipn:*.*', via: to-2}\n"
    scene.node(1, [scene.link(2, p1, p2, **keys)], extra=to_2)
    scene.node(2, [scene.link(1, p2, p1, **keys), scene.link(3, p23, p32, **keys), incoming], extra="routes:\n  - {to: 'ipn:4.*', via: to-3}\n")
    scene.control(2, "route", "add", "ipn:5.*", "to-3")
    taken = multiprocessing.Value("Q", 0)

    def impostor(name):
        def claim(until):
            while time.monotonic() < until:
                try:
                    steal(tcp, name, until, taken)
                except OSError:
                    pass
                time.sleep(0.02)
        return claim

    pings = {}

    def ping():
        pings.update(scene.echo(1, 3, count=PINGS, interval="50ms", size=1000))

    def ping_routed():
        scene.echo(1, 5, count=PINGS // 2, interval="50ms", size=1000)

    with scene.attack(impostor(b"ipn:3.0"), impostor(b"ipn:4.0"), impostor(b"ipn:5.0")):
        pinging = threading.Thread(target=ping)
        pinging.start()
        routed = threading.Thread(target=ping_routed)
        time.sleep(1)
        routed.start()
        time.sleep(PINGS / 2 * 0.05 - 1)
        scene.node(3, [scene.link(2, p32, p23, **keys)], extra=to_2)
        pinging.join()
        routed.join()
        names = [link["name"] for link in scene.control(2, "links")["links"]]
    link = next(row for row in scene.control(2, "links")["links"] if row["name"] == "in")
    scene.figure("pings", pings)
    scene.figure("names refused", link.get("names_refused", 0))
    log = open(scene.lab.path("node2.log"), encoding="utf-8").read()
    scene.bound("bundles forwarded to the impostors", taken.value, "==", 0)
    scene.bound("links of the impostors", len(set(names) & {"in/ipn:3.0", "in/ipn:4.0", "in/ipn:5.0"}), "==", 0)
    scene.bound("pings answered, of those sent", pings["received"], "==", PINGS)
    scene.bound("claims that were refused, counted", link.get("names_refused", 0), ">=", 20)
    lines = log.count("and is refused")
    scene.bound("lines of the log about them", 1 <= lines <= 5, "==", True)
    scene.bound("the log says what would be right", "that link's remote" in log, "==", True)
    # the same names, where they are right: from the host of the link's remote, and one that is nobody else's
    for name, source in (("ipn:3.0", "127.0.0.1"), ("ipn:9.0", "127.0.0.9")):
        with connect(tcp, source=source, name=name):
            time.sleep(0.3)
            names = [row["name"] for row in scene.control(2, "links")["links"]]
            scene.bound(f"a link of {name} from {source}", f"in/{name}" in names, "==", True)


if __name__ == "__main__":
    main(run)
