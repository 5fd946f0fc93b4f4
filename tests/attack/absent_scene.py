# SPDX-License-Identifier: Apache-2.0
"""Nodes for attacks with bundles for absent neighbours of node 2: node 1 sends to node 3 through node 2, and node 4 sends the bundles."""


def begin(scene, numbers, extra=""):
    """numbers: the absent ones, each with a link of its own; extra: of node 2's configuration. Returns node 2 and the port for nodes 4 and these."""
    first, entry, port, back = scene.ports(4)
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    keys = {"rate": "100Mbit/s", "sessions": 100, "rto": "500ms"}
    scene.node(1, [{**tcpcl, "name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{first}"}], extra="routes:\n  - {to: 'ipn:3.*', via: to-2}\n")
    victim = scene.node(2, [{**tcpcl, "name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{first}"},
                            {**tcpcl, "name": "from-4", "peer": "ipn:4.0", "local": f"127.0.0.1:{entry}"}, scene.link(3, port, back, **keys)] +
                        [{**tcpcl, "name": f"to-{n}", "peer": f"ipn:{n}.0", "local": f"127.0.0.1:{entry}"} for n in numbers],
                        store=f"{{path: {scene.lab.path('store2')}, durability: async}}", extra=extra)
    scene.node(3, [scene.link(2, back, port, **keys)], extra="routes:\n  - {to: 'ipn:1.*', via: to-2}\n")
    scene.receiver(3)
    return victim, entry
