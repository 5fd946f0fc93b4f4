# SPDX-License-Identifier: Apache-2.0
"""TLS below the transport mapping of Space Link Extension: who is served, who is not, and what both operators hear.

usage: sle_tls_test.py BIN"""

import os
import socket
import ssl
import subprocess
import sys
import unittest

import sle_case
from certificates import Authority
from sle_case import RAF

CLTU1 = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"


class TlsTest(sle_case.SleCase):
    def setUp(self):
        super().setUp()
        self.ca = Authority(self.path("ca"))
        self.station_files = self.ca.issue("station", "DNS:station.example,IP:127.0.0.1", None)
        self.centre_files = self.ca.issue("centre", "DNS:centre.example,IP:127.0.0.1", None)

    def start(self, peer="ca", more="", **levels):
        self.provider(f"""tls: required
tls_certificate: {self.station_files[0]}
tls_key: {self.station_files[1]}
tls_ca: {self.ca.file}
tls_peer: {peer}
{more}sources:
  - {{name: fast, count: 20000}}
instances:
  - {{id: {RAF}, users: CENTRE, source: fast}}
  - {{id: {CLTU1}, users: CENTRE, events: [{{id: 1}}]}}
""", **levels)

    def options(self, ca=None, files=None, peer="ca", host=None):
        own = files if files is not None else self.centre_files
        return ["--tls", "--tls-ca", (ca or self.ca).file, "--tls-peer", peer,
                *(["--tls-certificate", own[0], "--tls-key", own[1]] if own else []), *(["--tls-host", host] if host else [])]

    def test_frames_and_commands(self):
        """Both services, with authentication of all PDUs inside; nothing of a PDU is on the wire."""
        self.start(level="all", hash="sha256")
        r = self.user(RAF, "--numbered", "--until-end", *self.options(peer="host", host="station.example"), level="all", hash="sha256")
        self.assertEqual((r["frames"], r["missing"], r["wrong"], r["in_order"]), (20000, 0, 0, True), r)
        r = self.user(CLTU1, "--event", "1", *self.options(peer="address"), level="all", hash="sha256")
        self.assertEqual(r["events"][0]["answer"], "accepted", r)
        self.stop()

    def test_version(self):
        self.start()
        context = ssl.create_default_context(cafile=self.ca.file)
        context.load_cert_chain(*self.centre_files)
        with socket.create_connection(("127.0.0.1", self.port)) as s, context.wrap_socket(s, server_hostname="station.example") as t:
            self.assertEqual(t.version(), "TLSv1.3")
        self.stop()

    def refused(self, *options, code=1):
        return self.user(RAF, "--until-end", *options, code=code)["end"]

    def test_who_is_refused(self):
        self.start()
        other = Authority(self.path("other"))
        self.assertIn("the connection has ended", self.refused())  # without TLS
        self.until(lambda: "TLS: " in self.said(), self.said())
        self.assertNotIn("the connection has ended", self.said())  # one line, with the cause
        self.assertRegex(self.refused(*self.options(files=())), "TLS|the connection has ended")  # without a certificate
        self.assertRegex(self.refused(*self.options(files=other.issue("centre", "DNS:centre.example", None))), "TLS|the connection has ended")
        self.assertIn("TLS: ", self.refused(*self.options(ca=other)))  # we do not trust it
        self.assertIn("certificate does not name its host", self.refused(*self.options(peer="host", host="other.example")))
        self.until(lambda: self.said().count("TLS: ") >= 3, self.said())
        self.assertEqual(self.status()["counts"]["binds"], 0)
        r = self.user(RAF, "--numbered", "--until-end", *self.options())  # and then one who is served
        self.assertEqual((r["frames"], r["missing"]), (20000, 0), r)
        self.stop()

    def test_urgent_octets(self):
        """TLS has none: one that comes all the same, in any state, ends nobody's program."""
        self.start()
        context = ssl.create_default_context(cafile=self.ca.file)
        context.load_cert_chain(*self.centre_files)
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.send(b"x", socket.MSG_OOB)
            self.until(lambda: self.status()["counts"]["links"] > 0, "nobody is let in")
            with context.wrap_socket(s, server_hostname="station.example") as t:
                socket.socket.send(t, b"x", socket.MSG_OOB)
                self.user(RAF, "--numbered", "--until-end", *self.options())
        self.assertEqual(self.status()["counts"]["aborts_received"], 0)
        self.stop()

    def test_names_of_users(self):
        self.start(peer="host", more="tls_host: centre.example\n")
        wrong = self.ca.issue("wrong", "DNS:other.example", None)
        self.assertIn("the connection has ended", self.refused(*self.options(files=wrong)))
        self.until(lambda: "certificate does not name its host" in self.said(), self.said())
        self.user(RAF, "--numbered", "--until-end", *self.options())
        self.stop()

    def test_a_provider_without_it(self):
        self.provider(f"sources:\n  - {{name: fast, count: 10}}\ninstances:\n  - {{id: {RAF}, users: CENTRE, source: fast}}\n")
        self.assertRegex(self.refused(*self.options()), "TLS|the connection has ended")
        self.stop()

    def test_keys(self):
        path = self.path("bad.yaml")
        with open(path, "w") as f:
            f.write(f"id: STATION\ntls: required\nusers: [{{id: CENTRE}}]\nsources: [{{name: s}}]\ninstances: [{{id: {RAF}, users: CENTRE, source: s}}]\n")
        r = subprocess.run([os.path.join(self.BIN, "helio-sle"), "provider", path, "--check"], capture_output=True, text=True, timeout=300)
        self.assertEqual(r.returncode, 2)
        for key in ("tls_certificate", "tls_key", "tls_ca"):
            self.assertIn(f"{key}: '': expected", r.stderr)


if __name__ == "__main__":
    sle_case.SleCase.BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
