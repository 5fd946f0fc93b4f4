# SPDX-License-Identifier: Apache-2.0
"""A node over HTTP: its metrics, its status page in a browser, who may ask. usage: http_test.py BIN OUT SOURCE [TEST...]"""

import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
import picture  # noqa: E402
from browser import PHONE, SCREEN, Browser  # noqa: E402
from heliograph.processes import Lab  # noqa: E402
from node_case import wait_for  # noqa: E402

PROGRAMS = OUT = SOURCE = ""
TOKEN = "0123456789abcdef-token"
SAMPLE = re.compile(r'^(heliograph_[a-z_]+)(\{([a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? ([0-9.e+-]+)$')


class HttpTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)
        self.port, = self.lab.udp_ports(1)

    def node(self, listen=None, token=None, links=2, extra="", rto="100ms", **keys):
        ports = self.lab.udp_ports(2 * links)
        made = [dict(self.lab.link(i + 2, ports[2 * i], ports[2 * i + 1], rto=rto), rate="1Mbit/s", **keys) for i in range(links)]
        http = f"http: {{listen: \"{listen or self.port}\"{', token: ' + token if token else ''}}}\n"
        return self.lab.start_node(1, self.lab.write_node(1, made, log=False, extra=http + extra))

    def ask(self, path, method="GET", token=None, scheme="Bearer"):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        c.request(method, path, headers={"Authorization": f"{scheme} {token}"} if token else {})
        answer = c.getresponse()
        text = answer.read().decode()
        c.close()
        return answer.status, answer.headers, text

    def send(self, to, count, size=1000):
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            for _ in range(count):
                self.assertEqual(tx.request(to, b"x" * size)[0], aap2.SUCCESS)

    def offer(self, to, count):
        """How many of them the node takes."""
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.6"), aap2.SUCCESS)
            return sum(tx.request(to, b"x")[0] == aap2.SUCCESS for _ in range(count))

    def metrics(self):
        status, headers, text = self.ask("/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        types, values = {}, {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                self.assertNotIn(name, types)  # a family is in one piece
                types[name] = kind
            elif not line.startswith("# HELP "):
                m = SAMPLE.match(line)
                self.assertTrue(m, line)
                self.assertEqual(list(types)[-1], m.group(1), line)
                self.assertEqual(types[m.group(1)] == "counter", m.group(1).endswith("_total"), line)
                self.assertNotIn(line.rpartition(" ")[0], values)
                values[line.rpartition(" ")[0]] = float(m.group(4))
        return values

    def test_metrics(self):
        self.node(rto="50s")  # nobody answers: the sessions are open for as long as it takes to look
        self.send("ipn:2.7", 3)
        wait_for(lambda: self.metrics().get('heliograph_link_unanswered_seconds{link="to-2",peer="ipn:2.0"}', 0) > 0.1)
        v = self.metrics()
        self.assertEqual(v["heliograph_bundles"], 3)
        self.assertEqual(v["heliograph_bundles_accepted_total"], 3)
        self.assertEqual(v['heliograph_link_waiting_bundles{link="to-2",peer="ipn:2.0"}'], 3)
        self.assertEqual(v['heliograph_link_waiting_bundles{link="to-3",peer="ipn:3.0"}'], 0)
        self.assertEqual(v['heliograph_link_rto_seconds{link="to-2",peer="ipn:2.0"}'], 50)
        self.assertEqual(v['heliograph_link_open{link="to-2",peer="ipn:2.0"}'], 1)
        self.assertEqual(v['heliograph_link_up{link="to-2",peer="ipn:2.0"}'], 0)  # the peer was never heard
        states = {s: v[f'heliograph_link_state{{link="to-2",peer="ipn:2.0",state="{s}"}}'] for s in ("up", "unheard", "silent", "waiting", "down", "refused")}
        self.assertEqual({s for s, there in states.items() if there}, {"unheard"})
        self.assertEqual(v['heliograph_link_sessions{link="to-2",peer="ipn:2.0"}'], 3)
        self.assertGreater(v['heliograph_link_unanswered_seconds{link="to-2",peer="ipn:2.0"}'], 0.1)
        self.assertGreater(v['heliograph_link_transmit_bytes_total{link="to-2",peer="ipn:2.0"}'], 3000)
        self.assertIn('heliograph_bundles_ended_total{reason="expired"}', v)
        status, counters = self.lab.control(1, "status"), self.lab.control(1, "counters")
        same = {"bundles": status["bundles"], "bundle_bytes": status["bytes"], "arriving_bytes": status["arriving_bytes"], "clock_steps_total": status["clock_steps"],
                "bundles_accepted_total": counters["agent"]["accepted_local"], "deliveries_total": counters["agent"]["delivered"],
                "application_requests_total": counters["applications"]["requests"], "bundle_bytes_configured": status["store"]["limit_bytes"],
                "bundle_bytes_limit": status["store"]["effective_limit_bytes"]}
        self.assertEqual({key: v[f"heliograph_{key}"] for key in same}, same)  # one table

    def security(self):
        """Keys of a link whose frames are secured, in both directions."""
        for name, note in (("out", "numbers"), ("in", "received")):
            for end, text in ((".key", os.urandom(16).hex()), (".note", "new\n"),
                              ("", f"{note}: {name}.{'note' if name == 'out' else 'received'}\nassociations:\n  - {{spi: 1, vcids: 0, service: authentication, "
                                   f"algorithm: aes-cmac, key_file: {name}.key}}\n")):
                with open(self.lab.path(name + end), "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
                    f.write(text)
        return {"frames.sdls": self.lab.path("out"), "frames.sdls_in": self.lab.path("in")}

    def test_every_metric_is_explained(self):
        """The reference, the dashboard and the rules name what there is."""
        self.node(links=1, erasure="rs", frames="aos", cadu="rs223", **self.security())
        there = {name.partition("{")[0] for name in self.metrics()} | {"heliograph_log_lines_lost_total", "heliograph_link_failures_total", "heliograph_link_tls_refused_total"}
        optional = {"heliograph_link_round_trip_seconds", "heliograph_link_heard_seconds", "heliograph_store_bytes", "heliograph_bundle_memory_bytes_limit", "heliograph_store_waiting",
                    "heliograph_store_failures_total", "heliograph_store_damaged", "heliograph_link_transmit_bits_per_second",
                    "heliograph_link_receive_bits_per_second", "heliograph_link_certificate_expiry_timestamp_seconds",
                    "heliograph_link_ca_expiry_timestamp_seconds"}
        optional |= {f"heliograph_link_custody_{what}" for what in ("bundles", "accepted_bundles_total", "refused_bundles_total", "timeouts_total",
                                                                    "confirmed_bundles_total", "forged_signals_total")}  # of a tunnel
        reference = set(re.findall(r"`(heliograph_[a-z_]+)`", pathlib.Path(SOURCE, "docs", "metrics.md").read_text()))
        optional |= {name for name in reference if name.startswith("heliograph_discovery_")}  # where it is on
        self.assertEqual(reference, there | optional)
        rows = re.findall(r"^\| `(heliograph_[a-z_]+)` \| (\w+) \| [^|]*\| (.*) \|$", pathlib.Path(SOURCE, "docs", "metrics.md").read_text(), re.M)
        page = {name: (kind, meaning) for name, kind, meaning in rows}
        text = self.ask("/metrics")[2]
        kinds, helps = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M)), dict(re.findall(r"^# HELP (\w+) (.*)$", text, re.M))
        self.assertEqual(set(page), reference)
        self.assertGreaterEqual(len(kinds), 40)
        self.assertEqual({name: page.get(name) for name in kinds}, {name: (kinds[name], helps[name]) for name in kinds})
        for name in ("grafana.json", "alerts.yaml"):
            text = pathlib.Path(SOURCE, "examples", "monitoring", name).read_text()
            used = {metric for metric in re.findall(r"heliograph_[a-z_]+", text) if not metric.startswith(("heliograph_sle_", "heliograph_emu_"))}
            self.assertGreater(len(used), 5)
            self.assertEqual(used - reference, set(), name)
        json.loads(pathlib.Path(SOURCE, "examples", "monitoring", "grafana.json").read_text())

    def test_who_may_ask(self):
        self.node(token=TOKEN)
        for path in ("/metrics", "/api/top", "/api/backlog", "/api/sessions", "/api/plan", "/api/why", "/api/events", "/api/network"):
            self.assertEqual(self.ask(path)[0], 401, path)
            self.assertEqual(self.ask(path, token=TOKEN[:-1])[0], 401)
            self.assertEqual(self.ask(path, token=TOKEN + "x")[0], 401)
            self.assertEqual([self.ask(path, token=TOKEN, scheme=s)[0] for s in ("bearer", "BEARER", "Basic", "Bearerx")], [200, 200, 401, 401])
            self.assertEqual(self.ask(path, token=TOKEN)[0], 200)
        self.assertEqual([self.ask(page)[0] for page in ("/", "/network")], [200, 200])
        self.assertEqual(self.ask("/api/change", "POST", token=TOKEN)[0], 403)
        self.assertEqual(self.ask("/nowhere", token=TOKEN)[0], 404)
        self.assertEqual(self.ask("/metrics", "POST", token=TOKEN)[0], 405)
        self.assertEqual(self.ask("/metrics", "DELETE", token=TOKEN)[0], 405)
        self.assertEqual(self.ask("/../../etc/passwd", token=TOKEN)[0], 404)

    def test_who_says_nothing_keeps_out_nobody_else(self):
        """More silent connections of one address than are served at once."""
        self.node()
        for _ in range(80):
            s = socket.create_connection(("127.0.0.1", self.port), timeout=300)
            self.addCleanup(s.close)
        for source in ("127.0.0.2", "127.0.0.1"):
            begin = time.monotonic()
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=25, source_address=(source, 0))
            c.request("GET", "/metrics")
            answer = c.getresponse()
            self.assertEqual(answer.status, 200)
            cut, = re.findall(r"(?m)^heliograph_http_connections_cut_off_total (\d+)$", answer.read().decode())
            self.assertGreaterEqual(int(cut), 80 - 16)
            c.close()
            self.assertLess(time.monotonic() - begin, 3)  # no place was waited for

    def test_host(self):
        """Who asks for another name gets no figures."""
        self.node(extra="", listen=f"127.0.0.1:{self.port}\", hosts: \"node.example")
        for host, status in (("127.0.0.1", 200), (f"localhost:{self.port}", 200), ("Node.Example", 200), ("attacker.example", 421),
                             ("192.0.2.1", 421), ("", 421), ("[127.0.0.1]", 200), (f"[127.0.0.1]:{self.port}", 200), ("[localhost].attacker.example", 421),
                             ("[127.0.0.1", 421), ("[127.0.0.1]x:1", 421)):
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
            c.putrequest("GET", "/metrics", skip_host=True)
            c.putheader("Host", host)
            c.endheaders()
            self.assertEqual(c.getresponse().status, status, host)
            c.close()
        for request, answer in ((b"GET /metrics HTTP/1.0\r\n\r\n", b" 200 OK"), (b"GET /metrics HTTP/1.1\r\n\r\n", b" 400 "),
                                *((b"GET /metrics HTTP/1.1\r\n" + hosts + b"\r\n\r\n" + more, b" 200 OK")
                                  for hosts in (b"Host: localhost", b"Host:localhost\r\nA: b", b"A:\r\nhost:  localhost") for more in (b"", b"GET /")),
                                (b"\r\n\r\nGET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b" 200 OK"),
                                *((b"GET /metrics HTTP/1.1\r\n" + hosts + b"\r\n\r\n", b" 400 ") for hosts in (
                                    b"Host: localhost\r\nHost: attacker.example", b"Host: attacker.example\r\nhOST: localhost",
                                    b"Host: localhost\r\nHost: localhost", b"Host: localhost\0.attacker.example", b"Host: localhost\0\0.attacker.example\r\nA: b",
                                    b"A: b\r\nHost: localhost\0\0\0\0\0.attacker.example",
                                    b"Host: localhost\r\nHost : attacker.example", b"Host: localhost\r\n .attacker.example"))):
            with socket.create_connection(("127.0.0.1", self.port), timeout=300) as s:
                s.sendall(request)
                self.assertIn(answer, s.makefile("rb").readline(), request)

    def test_off_and_wrong(self):
        """Nobody listens unless an address is given; what is wrong with it is said."""
        self.lab.start_node(1, self.lab.write_node(1, [], log=False))
        with self.assertRaises(OSError):
            self.ask("/metrics")
        for keys, text in (("listen: nowhere", "http.listen: \"nowhere\" is not understood; write a port"),
                           ("listen: 70000", "http.listen"), ("token: short", "http.token: write 16 to 256 characters"),
                           ("port: 5", "http.port: unknown key")):
            path = self.lab.write_node(3, [], log=False, extra=f"http: {{{keys}}}\n")
            done = subprocess.run([self.lab.program("heliod"), "--check", path], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            path = self.lab.write_node(3, [], log=False, extra=f"http: {{listen: {s.getsockname()[1]}}}\n")
            done = subprocess.run([self.lab.program("heliod"), path], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 1)
            self.assertIn("Address already in use", done.stderr)

    def test_refusals(self):
        """A full node shows on its page that it refuses, and how many for lack of room."""
        self.node(extra="bundles: {count: 8}\n", rto="200s")
        taken = self.offer("ipn:2.7", 20)
        self.assertLess(taken, 20)
        self.assertEqual(self.offer("ipn:4.7", 2), 0)  # no link goes there
        node = json.loads(self.ask("/api/top")[2])["node"]
        self.assertEqual([node[key] for key in ("refused", "refused_room", "refused_expired")], [20 - taken + 2, 20 - taken, 0])

    def test_page(self):
        """In a browser: what it shows, that it follows the node, asks nobody else, and says when the node is gone."""
        plan = self.lab.path("plan.yaml")
        with open(plan, "w", encoding="ascii") as f:
            f.write("contacts:\n  - {from: 1, to: 2, start: 0s, end: 600s, rate: 1Mbit/s, owlt: 10ms, both: yes}\n"
                    "  - {from: 1, to: 3, start: 300s, end: 360s, rate: 1Mbit/s, owlt: 10ms}\n")
        # nobody answers: with a timer of milliseconds the sessions would be cancelled before a slow browser looks
        process = self.node(extra=f"plan: {plan}\n", token=TOKEN, rto="200s")
        self.send("ipn:2.7", 5)
        url = f"http://127.0.0.1:{self.port}/"
        with Browser() as b:
            page = b.open(url)

            def wait(what, seconds=300):
                end = time.monotonic() + seconds
                while not page.evaluate(what) and time.monotonic() < end:
                    time.sleep(0.1)
                self.assertTrue(page.evaluate(what), page.evaluate("document.body.innerText"))

            wait("document.querySelector('#trouble').textContent.includes('token')")
            page.evaluate(f"document.querySelector('#token').value = '{TOKEN}'; document.querySelector('#ask button').click()")
            wait("document.querySelectorAll('#links tbody tr').length == 2")
            wait("document.querySelector('#trouble').textContent == ''")  # when the other tables have come, too
            self.assertEqual(page.evaluate("document.title"), "ipn:1.0")
            wait("document.querySelector('#links tr[data-link=to-2]').innerText.includes('200.0 s')")
            wait("document.querySelector('#backlog tbody').innerText.match(/ipn:2.0\\s+5\\s/) != null")
            self.assertRegex(page.evaluate("document.querySelector('#tiles').innerText"), r"0 of 2 up\s+1 unheard, 1 waiting, ")
            refused = "document.querySelector('#tiles .tile:last-child')"
            wait(refused + ".innerText.match(/Refused bundles\\s+0\\s+0 for lack of room, 0 arrived expired/) != null")
            self.assertEqual(self.offer("ipn:4.7", 3), 0)  # no link goes there
            wait(refused + ".innerText.match(/Refused bundles\\s+3\\s+0 for lack of room/) != null")
            self.assertEqual(page.evaluate(refused + ".querySelector('b').className"), "")
            self.assertIn("unheard", page.evaluate("document.querySelector('#links tr[data-link=to-2]').innerText"))
            wait("document.querySelectorAll('#plan rect').length >= 3")
            self.assertIn("node 3", page.evaluate("document.querySelector('#plan').textContent"))
            page.evaluate("document.querySelector('#links tr[data-link=to-2]').click()")
            wait("document.querySelector('#sessions').innerText.includes('Sessions of to-2 (5)')")
            self.assertEqual(page.evaluate("document.querySelectorAll('#sessions tbody tr').length"), 5)
            self.send("ipn:3.7", 4)
            wait("document.querySelector('#backlog tbody').innerText.match(/ipn:3.0\\s+4\\s/) != null")  # by itself
            wait("document.querySelector('#rates path.out').getAttribute('d').length > 10")
            page.evaluate("document.querySelector('#filter').value = 'to-3'; document.querySelector('#filter').dispatchEvent(new Event('input'))")
            wait("document.querySelectorAll('#links tbody tr').length == 1")
            dark = b.open(url, dark=True)
            dark.evaluate(f"sessionStorage.setItem('token', '{TOKEN}'); location.reload()")
            for name, shown in (("light", page), ("dark", dark)):
                for width, size in (("phone", PHONE), ("screen", SCREEN)):
                    shown.resize(size)
                    end = time.monotonic() + 300
                    while not shown.evaluate("document.querySelector('#plan svg') !== null && [...document.querySelectorAll('#rates svg, #plan svg')].every((e) => "
                                             "e.getAttribute('width') <= innerWidth && e.getAttribute('width') >= Math.min(1200, innerWidth) - 40)"):
                        self.assertLess(time.monotonic(), end, "the drawings do not have the page's width")
                        time.sleep(0.1)
                    self.assertEqual(shown.unreadable(), [], (name, width))
                    shown.screenshot(pathlib.Path(self.lab.path(f"page-{name}-{width}.png")), whole=True)
                    if (name, width) == ("dark", "phone"):  # where no filter is
                        picture.of_page(shown, "page-node.png")
            self.assertEqual(dark.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(18, 22, 29)")
            self.assertEqual({r for r in page.requests if not r.startswith(url)}, set())
            self.assertEqual([c for c in page.complaints if "401" not in c], [])
            process.kill()
            process.wait()
            wait("document.querySelector('#trouble').textContent.includes('does not answer')")


if __name__ == "__main__":
    PROGRAMS, OUT, SOURCE = sys.argv[1:4]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("HttpTest.test_" + t for t in sys.argv[4:])], verbosity=2)
