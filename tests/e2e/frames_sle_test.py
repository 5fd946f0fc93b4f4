# SPDX-License-Identifier: Apache-2.0
"""Frames of a node's links by Space Link Extension, with a real provider: what it refuses or breaks off is logged and counted while the
other links go on; a link that goes down says good-bye. usage: frames_sle_test.py BIN OUT [TEST...]"""

import contextlib
import re
import socket
import threading

import node_case
from node_case import NodeCase, wait_for

from heliograph.processes import private

RAF, CLTU = "sagr=1.spack=1.rsl-fg=1.raf=onlc{}", "sagr=1.spack=1.fsl-fg=1.cltu=cltu{}"
OURS, THEIRS = "00112233", "aabbccdd"
KEYS = {"rto": "1s", "frames": "cltu", "frames.in": "aos", "frames.scid": 171, "frames.port": "sle", "sle.user": "CENTRE", "sle.provider": "STATION",
        "sle.auth": "all", "sle.password": OURS, "sle.provider_password": THEIRS, "sle.reconnect": "200ms", "sle.reconnect_max": "400ms"}


class FramesSleTest(NodeCase):
    def station(self):
        """A provider with two of each service and a modem of its own that nobody sends to."""
        self.port, = self.lab.udp_ports(1)
        path = self.lab.path("station.yaml")
        with open(path, "w", encoding="utf-8", opener=private) as f:
            f.write(f"id: STATION\npassword: {THEIRS}\nlisten: 127.0.0.1:{self.port}\n"
                    f"users: [{{id: CENTRE, password: '{OURS}', authentication: all}}]\n"
                    f"sources: [{{name: modem, kind: udp, address: '127.0.0.1:{self.lab.udp_ports(1)[0]}'}}]\ninstances:\n")
            for n in (1, 2):
                f.write(f"  - {{id: {RAF.format(n)}, users: CENTRE, source: modem{', versions: 2' if n == 2 else ''}}}\n")
                f.write(f"  - {{id: {CLTU.format(n)}, users: CENTRE}}\n")
        self.lab.start("station", "helio-sle", "provider", path)
        wait_for(lambda: "listens at" in self.said("station"))

    def said(self, name):
        with open(self.lab.path(name + ".log"), encoding="utf-8") as f:
            return f.read()

    def link(self, number, port=None, **keys):
        return {**self.lab.link(number, self.lab.udp_ports(1)[0], port or self.port), "name": f"l{number}", **KEYS, **keys}

    def node(self, links):
        return self.lab.start_node(1, self.lab.write_node(1, links, log=False))

    def links(self):
        return {link["name"]: link for link in self.lab.control(1, "links")["links"]}

    def line(self, number):
        return self.links()[f"l{number}"]["frames"]["line"]

    def test_refusals(self):
        """Links with a wrong password of either side, an unknown instance and a wrong version beside a good one."""
        self.station()
        wrong = {3: {"sle.password": "ff", "sle.cltu": CLTU.format(2)}, 4: {"sle.provider_password": "ff", "sle.cltu": CLTU.format(2)},
                 5: {"sle.raf": RAF.format(9)}, 6: {"sle.raf": RAF.format(2)}, 7: {"sle.auth": "none", "sle.password": "''", "sle.provider_password": "''", "sle.cltu": CLTU.format(2)}}
        process = self.node([self.link(2, sle_raf=RAF.format(1), sle_cltu=CLTU.format(1))] + [self.link(n, **k) for n, k in wrong.items()])
        count = {3: "broken", 4: "credentials_wrong", 5: "binds_refused", 6: "binds_refused", 7: "broken"}
        wait_for(lambda: self.links()["l2"]["up"] and all(self.line(n)[key] >= 2 for n, key in count.items()))
        shown = self.links()
        self.assertEqual({n: shown[f"l{n}"]["up"] for n in range(2, 8)}, {2: True, 3: False, 4: False, 5: False, 6: False, 7: False})
        self.assertEqual([self.line(2)[key] for key in ("connects", "broken", "binds_refused", "peer_aborts", "credentials_wrong")], [2, 0, 0, 0, 0])
        said = self.said("node1")
        for number, text in ((3, "so ends what it takes for a wrong password"), (4, "credentials were wrong: sle.provider_password"),
                             (5, "no such service instance"), (6, "version not supported"), (7, "does it ask for authentication")):
            self.assertRegex(said, rf"link l{number}: .*{text}")
        self.assertNotRegex(said, "warning: link l2")
        self.lab.stop("node1", process)
        wait_for(lambda: all(f"{service}: unbound by CENTRE" in self.said("station") for service in (RAF.format(1), CLTU.format(1))))

    def test_down_and_up(self):
        """An operator's word, and a provider that comes late."""
        nobody, = self.lab.udp_ports(1)
        self.station()
        self.node([self.link(2, sle_raf=RAF.format(1), sle_cltu=CLTU.format(1)), self.link(3, nobody, sle_raf=RAF.format(1))])
        wait_for(lambda: self.links()["l2"]["up"] and self.line(3)["broken"] > 1)
        self.assertFalse(self.links()["l3"]["up"])
        self.lab.run("helioctl", "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", "link", "l2", "down")
        wait_for(lambda: self.said("station").count("unbound by CENTRE") == 2)
        self.assertFalse(self.links()["l2"]["up"] or self.line(2)["connected"])
        self.lab.run("helioctl", "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", "link", "l2", "up")
        wait_for(lambda: self.links()["l2"]["up"])
        self.assertEqual((self.line(2)["connects"], self.line(2)["broken"]), (4, 0))
        self.assertEqual(self.said("station").count(": stopped"), 2)

    def test_peer_abort(self):
        """PEER-ABORT is urgent data, with which the connection ends."""
        with socket.create_server(("127.0.0.1", 0)) as provider:
            def abort():
                peer, _ = provider.accept()
                peer.recv(4096)
                peer.send(b"\x02", socket.MSG_OOB)
                peer.shutdown(socket.SHUT_WR)
                with contextlib.suppress(OSError), peer:
                    while peer.recv(4096):
                        pass
            thread = threading.Thread(target=abort)
            thread.start()
            self.node([self.link(2, provider.getsockname()[1], sle_raf=RAF.format(1), sle_reconnect="1h", sle_reconnect_max="1h")])
            wait_for(lambda: self.line(2)["peer_aborts"] == 1)
            thread.join()
        self.assertRegex(self.said("node1"), "link l2: .*aborted by peer: operational requirement")

    def test_mistakes(self):
        self.port = 1
        for keys, key, text in (({"sle.raf": "raf=1"}, "sle.raf", "an instance of RAF"), ({"sle.raf": RAF.format(1), "sle.password": "0"}, "sle.password", "hexadecimal"),
                                ({"sle.raf": RAF.format(1), "sle.user": "X"}, "sle.user", "3 to 16 characters"),
                                ({"sle.raf": RAF.format(1), "sle.provider_password": "''"}, "sle.auth", "needs sle.password and sle.provider_password"),
                                ({"sle.raf": RAF.format(1), "frames.port": "datagrams"}, "sle.raf", "frames: {port: sle}")):
            config = self.lab.write_node(1, [self.link(2, **keys)], log=False)
            done = self.heliod("--check", config)
            self.assertEqual(done.returncode, 2, keys)
            self.assertRegex(done.stderr, rf"{re.escape(config)}:\d+: .*{key}: .*{text}")


if __name__ == "__main__":
    node_case.main("FramesSleTest")
