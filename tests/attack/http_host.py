# SPDX-License-Identifier: Apache-2.0
"""DNS rebinding: a page of another site, whose name leads to this machine, asks a node's HTTP server from the operator's browser."""
import http.client

from attack import main

PATHS = ("/metrics", "/api/top", "/api/backlog", "/api/plan", "/api/sessions", "/api/why", "/api/events", "/api/network", "/network", "/")
FOREIGN = ("attacker.example", "attacker.example:{port}", "localhost.attacker.example", "127.0.0.1.attacker.example", "127.0.0.2", "127.0.0.2:{port}",
           "192.0.2.1", "[::1]", "[::1", "", ":{port}", "attacker.example@127.0.0.1", "127.0.0.1@attacker.example", "node1.example.attacker.example",
           "[localhost].attacker.example", "[127.0.0.1]attacker.example", "0", "2130706433", "0x7f000001", "127.1", "a" * 300)
OWN = ("127.0.0.1", "127.0.0.1:{port}", "localhost", "LOCALHOST:{port}", "localhost.", "127.0.0.1:1", "node1.example", "Node2.Example:{port}",
       "[::ffff:127.0.0.1]:{port}")


def run(scene):
    """Requests with the Host header of other sites get no figures; those with the node's own are answered."""
    port, any_port = scene.ports(2)
    scene.node(1, [], extra=f"http: {{listen: {port}, hosts: \"node1.example, node2.example\"}}\n")
    scene.node(2, [], extra=f"http: {{listen: \"0.0.0.0:{any_port}\"}}\n")

    def ask(host, path, at=port, to="127.0.0.1"):
        c = http.client.HTTPConnection(to, at, timeout=20)
        c.putrequest("GET", path, skip_host=True)
        c.putheader("Host", host.format(port=at))
        c.endheaders()
        status = c.getresponse().status
        c.close()
        return status

    def others_than(status, hosts):
        return [(h, p, got) for h in hosts for p in PATHS if (got := ask(h, p)) != status]

    scene.bound("the Host of others, answered otherwise than with 421", others_than(421, FOREIGN), "==", [])
    scene.bound("refused with the node's own", [(h, p) for h in OWN for p in PATHS if ask(h, p) != 200], "==", [])
    scene.bound("all addresses: its own", ask("127.0.0.5", "/metrics", any_port, "127.0.0.5"), "==", 200)
    scene.bound("all addresses: another", ask("127.0.0.5", "/metrics", any_port, "127.0.0.1"), "==", 421)


if __name__ == "__main__":
    main(run)
