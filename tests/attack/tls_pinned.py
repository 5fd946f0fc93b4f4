# SPDX-License-Identifier: Apache-2.0
"""A peer whose own certificate is trusted issues one for another node."""
import os
import subprocess
import time

from attack import main
from certificates import BUNDLES, NODE, Authority


def run(scene):
    """Node 1 trusts node 2's own certificate, which says that it is a CA's; with one that it issued, a peer claims to be node 3."""
    two = Authority(scene.lab.path("two"))
    two.file, key_two = two.make("ca", ["-addext", "keyUsage=digitalSignature,keyCertSign", "-addext", f"extendedKeyUsage={BUNDLES}",
                                        "-addext", f"subjectAltName={NODE}ipn:2.0"])  # CA:TRUE, as openssl has it by default
    said = subprocess.run(["openssl", "x509", "-in", two.file, "-noout", "-text"], capture_output=True, text=True, check=True).stdout
    scene.bound("the certificate says that it is a CA's", "CA:TRUE" in said, "==", True)
    forged, forged_key = two.issue("three", f"{NODE}ipn:3.0")
    own = Authority(scene.lab.path("own"))
    mine, my_key = own.issue("one", f"{NODE}ipn:1.0")
    trusted = scene.lab.path("trusted.pem")
    with open(trusted, "w", encoding="ascii") as f:
        f.write(open(two.file, encoding="ascii").read())
    p2, p3 = scene.ports(2)
    tls = {"adapter": "tcpcl", "tls": "required", "reconnect": "100ms"}
    scene.node(1, [{"name": f"to-{n}", "peer": f"ipn:{n}.0", "local": f"127.0.0.1:{port}", "tls.certificate": mine, "tls.key": my_key,
                    "tls.ca": trusted, **tls} for n, port in ((2, p2), (3, p3))])
    scene.node(2, [{"name": "to-1", "peer": "ipn:1.0", "remote": f"127.0.0.1:{p2}", "tls.certificate": two.file, "tls.key": key_two,
                    "tls.ca": own.file, **tls}])
    scene.node(3, [{"name": "to-1", "peer": "ipn:1.0", "remote": f"127.0.0.1:{p3}", "tls.certificate": forged, "tls.key": forged_key,
                    "tls.ca": own.file, **tls}])
    scene.receiver(1)
    goodput = scene.goodput(2, 1)
    time.sleep(1)
    links = {row["name"]: row for row in scene.control(1, "links")["links"]}
    scene.figure("goodput of the pinned node, Mbit/s", goodput)
    scene.bound("goodput of the pinned node, Mbit/s", goodput, ">", 0)
    scene.bound("sessions of the pinned node", links["to-2"]["established"], ">=", 1)
    scene.bound("sessions of the forged node", links["to-3"]["established"], "==", 0)
    scene.bound("handshakes refused", links["to-3"]["tls_failed"], ">=", 1)
    scene.bound("the log names the reason", "issued by a node's certificate" in open(os.path.join(scene.lab.path("node1.log")), encoding="utf-8").read(), "==", True)


if __name__ == "__main__":
    main(run)
