# SPDX-License-Identifier: Apache-2.0
"""helio-sle provider over HTTP: metrics for Prometheus, and the status page.

usage: sle_http_test.py BIN"""

import json
import os
import re
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

import sle_case
from sle_case import RAF

CLTU = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
TOKEN = "a-token-of-a-test-1234"


class HttpTest(sle_case.SleCase):
    def start(self, more=""):
        self.http = sle_case.free_port()
        self.provider(f"""http:
  listen: {self.http}
{more}sources:
  - {{name: 'a "b"', rate: 2Mbit/s}}
instances:
  - {{id: {RAF}, users: CENTRE, source: 'a "b"', latency: 100ms}}
  - {{id: {CLTU}, users: CENTRE}}
""")

    def get(self, path, token=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}{path}", headers={"Authorization": "Bearer " + token} if token else {})
        with urllib.request.urlopen(request, timeout=60) as r:
            return r.headers["Content-Type"], r.read().decode()

    def metrics(self):
        kind, text = self.get("/metrics")
        self.assertIn("text/plain; version=0.0.4", kind)
        samples = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                self.assertNotIn(name, samples)
                samples[name] = float(value)
        return text, samples

    def metric_of(self, name, labels):
        return self.metrics()[1][f"heliograph_sle_{name}{{{labels}}}"]

    def test_metrics(self):
        """The same figures as those of the status, in families that Prometheus reads."""
        self.start()
        got = self.user(RAF, "-n", "40", "--numbered")["frames"]
        with open(self.path("script"), "w") as f:
            f.write("bind\nstart\ntransfer eb9000000000000000000000\nexpect radiated\ntransfer eb9000000000000000000000 latest now-2s refused 5\nstop\nunbind\n")
        self.user(CLTU, "--script", self.path("script"))
        self.until(lambda: self.metric_of("instance_bound", f'service_instance="{CLTU}"') == 0, "it stays bound")
        text, samples = self.metrics()
        families = re.findall(r"^# TYPE (\S+) (counter|gauge)$", text, re.M)
        self.assertEqual(len(families), len(set(families)))
        names = {name for name, _ in families}
        self.assertEqual({re.sub(r"\{.*", "", s) for s in samples} - names, set())
        self.assertTrue(all(kind == "gauge" or name.endswith("_total") for name, kind in families))
        raf, cltu = f'service_instance="{RAF}"', f'service_instance="{CLTU}"'
        self.assertGreaterEqual(samples[f"heliograph_sle_frames_total{{{raf}}}"], got)
        self.assertEqual(samples[f"heliograph_sle_binds_total{{{raf}}}"], 1)
        outcomes = {o: samples[f'heliograph_sle_cltu_outcomes_total{{{cltu},outcome="{o}"}}'] for o in ("radiated", "expired", "interrupted", "discarded", "refused")}
        self.assertEqual(outcomes, {"radiated": 1, "expired": 0, "interrupted": 0, "discarded": 0, "refused": 1})
        self.assertGreater(samples['heliograph_sle_source_frames_total{source="a \\"b\\""}'], 0)
        status = json.loads(self.get("/api/status")[1])
        self.assertEqual(status["instances"][0]["counts"]["binds"], 1)
        self.assertEqual(status["sources"][0]["lock"], "yes")
        self.stop()

    def test_a_user_is_shown(self):
        self.start()
        user = subprocess.Popen(self.user_command(RAF), stdout=subprocess.DEVNULL)
        self.running.append(user)
        self.until(lambda: self.metric_of("instance_active", f'service_instance="{RAF}"') == 1, "it is not shown")
        self.assertEqual(self.metric_of("instance_user", f'service_instance="{RAF}",user="CENTRE",version="5"'), 1)
        self.stop()

    def test_page_and_who_may_ask(self):
        self.start(f"  token: {TOKEN}\n")
        kind, page = self.get("/")
        self.assertIn("text/html", kind)
        self.assertIn("api/status", page)
        for path in ("/metrics", "/api/status"):
            with self.assertRaises(urllib.error.HTTPError) as e:
                self.get(path)
            self.assertEqual(e.exception.code, 401)
            self.assertIn("heliograph" if path == "/metrics" else "instances", self.get(path, TOKEN)[1])
        with self.assertRaises(urllib.error.HTTPError) as e:
            self.get("/api/top", TOKEN)  # a node's
        self.assertEqual(e.exception.code, 404)
        self.stop()

    def test_what_is_refused(self):
        for http, what in (("{listen: '1.2.3'}", "http.listen"), ("{listen: 80, token: short}", "http.token"), ("{port: 80}", "port")):
            with open(self.path("wrong.yaml"), "w") as f:
                f.write(f"id: STATION\nhttp: {http}\n")
            r = subprocess.run([os.path.join(self.BIN, "helio-sle"), "provider", "--check", self.path("wrong.yaml")], capture_output=True, text=True)
            self.assertEqual(r.returncode, 2)
            self.assertIn(what, r.stderr)
            self.assertNotIn("short", r.stderr)

    def test_every_metric_is_explained(self):
        self.start()
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "helio-sle.md")) as f:
            page = f.read()
        counters = {f"sle_{name}_total" for name in json.loads(self.get("/api/status")[1])["counts"]}
        named = set(re.findall(r"^# TYPE heliograph_(sle_\w*) ", self.metrics()[0], re.M)) - counters
        self.assertEqual({name for name in named if f"`{name}`" not in page}, set())
        self.assertEqual({name for name in re.findall(r"`(sle_[a-z_]+)`", page) if name not in named | counters}, set())
        self.stop()


if __name__ == "__main__":
    sle_case.SleCase.BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
