# SPDX-License-Identifier: Apache-2.0
"""One page of several nodes (http: {network: …}): pages of other origins, changes of links by their token, the page in a browser.
usage: network_page_test.py BIN OUT [TEST...]"""

import http.client
import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
import node_case  # noqa: E402
import picture  # noqa: E402
from browser import PHONE, SCREEN, Browser  # noqa: E402
from node_case import NodeCase, wait_for  # noqa: E402

TOKEN, CHANGE = "0123456789abcdef-read", "0123456789abcdef-change"


MARKUP = "<img src=x onerror=window.taken=1>"


class Hostile(http.server.BaseHTTPRequestHandler):
    """A node that answers as its server's `kind` says; what it was asked for is kept."""

    protocol_version = "HTTP/1.0"

    def log_message(self, *_):
        pass

    def begin(self, status=200):
        self.send_response(status)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "authorization")
        self.end_headers()

    def do_OPTIONS(self):
        self.begin(204)

    def do_POST(self):
        self.server.seen.append((self.path, self.headers["Authorization"]))
        self.begin()
        self.wfile.write(b'{"ok": true}')

    def do_GET(self):
        self.server.seen.append((self.path, self.headers["Authorization"]))
        self.begin()
        try:
            self.server.kind(self)
        except OSError:
            pass

    def endless(self):
        while True:
            self.wfile.write(b'["xxxxxxxxxxxxxx"],' * 10000)
            self.server.sent += 190000

    def late(self):
        time.sleep(7)
        self.wfile.write(b"{}")

    def markup(self):
        name = f"{MARKUP}{len(self.server.seen) % 2}"
        top = {"node": {"node": name, "node_name": name, "bundles": {"x": 1}}, "all": {"links": {"up": MARKUP}}, "columns": ["name", "peer", "state", "tx_bps", "bundles"],
               "rows": [[MARKUP, name, "up", "x", []], [None] * 5, 7], "why": MARKUP}
        events = [{"t_ns": t, "event": MARKUP, "source": MARKUP, "reason": name} for t in (1e30, -1, "x", time.time_ns())]
        self.wfile.write(json.dumps(top if "top" in self.path else {"backlog": 3, "contacts_here": [None, {"start": 1}], "changes": True, "last": len(self.server.seen), "events": events}).encode())


class NetworkPageTest(NodeCase):
    def hostile(self, kind):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
        server.daemon_threads, server.kind, server.seen, server.sent = True, kind, [], 0
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def node(self, number, port, links, **http_keys):
        words = "".join(f", {key}: {value}" for key, value in http_keys.items())
        extra = f"http: {{listen: {port}{words}}}\n" + (f"plan: {self.plan}\n" if getattr(self, "plan", None) else "")
        return self.lab.start_node(number, self.lab.write_node(number, links, log=False, extra=extra))

    def line(self, **more):
        """1 - 2 - 3, and node 3 has a neighbour that nobody asks. Node 1 names the others; node 2 wants a token; of node 3 links can be changed."""
        self.ports = self.lab.udp_ports(3)
        self.origins = [f"http://127.0.0.1:{port}" for port in self.ports]
        a, b, c, d, e, f = self.lab.udp_ports(6)
        link = self.lab.link
        self.node(1, self.ports[0], [dict(link(2, a, b, rto="100ms"), rate="5Mbit/s")], network=f"[{', '.join(self.origins)}]")
        self.node(2, self.ports[1], [dict(link(1, b, a, rto="100ms"), rate="5Mbit/s"), dict(link(3, c, d, rto="100ms"), rate="5Mbit/s")], token=TOKEN, origins=f"[\"{self.origins[0]}\"]")
        return self.node(3, self.ports[2], [dict(link(2, d, c, rto="100ms"), rate="5Mbit/s"), dict(link(4, e, f, rto="100s"), rate="1Mbit/s")], change_token=CHANGE,
                         origins=f"[\"http://elsewhere.example\", \"{self.origins[0]}\"]", **more)

    def ask(self, port, path, method="GET", token=None, origin=None, body=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if origin:
            headers["Origin"] = origin
        c.request(method, path, body, headers=headers)
        answer = c.getresponse()
        text = answer.read().decode()
        c.close()
        return answer.status, answer.headers, text

    def change(self, body, token=CHANGE, node=3, **more):
        status, _, text = self.ask(self.ports[node - 1], "/api/change", "POST", token=token, body=body if isinstance(body, str) else json.dumps(body), **more)
        return status, text

    def link(self, node, name):
        return next(one for one in self.lab.control(node, "links")["links"] if one["name"] == name)

    def log(self, number):
        return pathlib.Path(self.lab.path(f"node{number}.log")).read_text(encoding="utf-8")

    def test_origins(self):
        """A page of another origin reads figures only if the configuration has that origin; a browser asks before."""
        self.line()
        own, other = self.origins[0], "http://attacker.example"
        for path in ("/api/top", "/api/backlog", "/metrics", "/api/nothing"):
            for _ in range(2):  # the kept text, too
                for origin, given in ((own, own), (other, None), (None, None), ("null", None), (own + ".attacker.example", None), (own[:-1], None), ("", None)):
                    headers = self.ask(self.ports[2], path, origin=origin)[1]
                    self.assertEqual((headers["Access-Control-Allow-Origin"], headers["Vary"]), (given, "Origin"), (path, origin))
        self.assertIsNone(self.ask(self.ports[0], "/api/top", origin=own)[1]["Access-Control-Allow-Origin"])  # has no `origins`
        wanted = {"Access_Control_Request_Method": "GET", "Access_Control_Request_Headers": "authorization"}
        status, headers, _ = self.ask(self.ports[1], "/api/top", "OPTIONS", origin=own, **wanted)
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (204, own))
        self.assertIn("Authorization", headers["Access-Control-Allow-Headers"])
        for origin in (other, None):
            status, headers, _ = self.ask(self.ports[1], "/api/top", "OPTIONS", origin=origin, **wanted)
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (405, None))
        self.assertEqual(self.ask(self.ports[1], "/api/top", origin=own)[0], 401)
        self.assertEqual(self.ask(self.ports[1], "/api/top", "OPTIONS", origin=own, Host="attacker.example")[0], 421)
        # whom the pages may ask
        self.assertIn(f"connect-src 'self' {' '.join(self.origins)}", self.ask(self.ports[0], "/network")[1]["Content-Security-Policy"])
        self.assertRegex(self.ask(self.ports[1], "/")[1]["Content-Security-Policy"], "connect-src 'self' ?$")
        self.assertEqual(json.loads(self.ask(self.ports[0], "/api/network")[2]), {"network": self.origins, "changes": False})
        self.assertEqual(json.loads(self.ask(self.ports[2], "/api/network")[2]), {"network": [], "changes": True})

    def test_why(self):
        """What a node says of a bundle, as helioctl why."""
        self.line()
        with aap2.Client(self.lab.socket(3)) as tx:
            self.assertEqual(tx.configure("ipn:3.5"), aap2.SUCCESS)
            self.assertEqual(tx.request("ipn:4.7", b"x")[0], aap2.SUCCESS)
        wait_for(lambda: self.lab.control(3, "bundles")["bundles"])
        b, = self.lab.control(3, "bundles")["bundles"]
        told = json.loads(self.ask(self.ports[2], f"/api/why?bundle={b['source']},{b['created_ms']},{b['sequence']}")[2])
        self.assertEqual((told["ok"], told["bundle"]["key"]), (True, b["key"]))
        self.assertIn("link to-4", told["where"])
        self.assertEqual(json.loads(self.ask(self.ports[0], f"/api/why?bundle={b['source']},{b['created_ms']},{b['sequence']}")[2])["known"], False)
        for wrong in ("", "?bundle=", "?bundle=x", "?bundle=" + "9" * 300, "?bundle=ipn:1.5,1"):
            status, _, text = self.ask(self.ports[1], "/api/why" + wrong, token=TOKEN)
            if status != 503:  # asked too soon after the last one
                self.assertEqual(json.loads(text)["ok"], False, wrong)
        self.assertEqual(self.ask(self.ports[1], "/api/why")[0], 401)

    def test_changes(self):
        """By who has the token for them, logged with the address; the rest is refused."""
        self.line()
        down = {"cmd": "link", "name": "to-4", "state": "down"}
        self.assertEqual(self.change(down, node=1)[0], 403)
        self.assertEqual([self.change(down, token=t)[0] for t in (None, TOKEN, CHANGE[:-1], CHANGE + "x")], [401] * 4)
        self.assertEqual(self.ask(self.ports[2], "/api/change", token=CHANGE)[0], 405)
        self.assertEqual(self.ask(self.ports[2], "/metrics", "POST", token=CHANGE, body="{}")[0], 405)
        self.assertEqual(self.change(down, Host="attacker.example")[0], 421)
        self.assertEqual(self.change(" " * 4097)[0], 413)
        self.assertEqual(self.change(" " * 200_000)[0], 413)
        for wrong in ("", "{", "[]", "{}", {"cmd": "reload"}, {"cmd": "delete", "destination": "*"}, {"cmd": "link-remove", "name": "to-4"}, {"cmd": "status"},
                      '{"cmd": "link", "cmd": "reload"}'):
            status, text = self.change(wrong)
            self.assertEqual(status, 400, wrong)
            self.assertIn("this is no change of a link", text)
        for wrong, said in (({**down, "name": "to-9"}, "to-9"), ({"cmd": "link-set", "name": "to-4", "keys": "{rat: 1Mbit/s}"}, "did you mean rate"),
                            ({"cmd": "link-set", "name": "to-4", "keys": "{rate: fast}"}, "rate")):
            status, text = self.change(wrong)
            self.assertEqual((status, json.loads(text)["ok"]), (400, False), text)
            self.assertIn(said, json.loads(text)["error"])
        self.assertEqual(self.link(3, "to-4")["state"], "unheard")
        self.assertEqual(self.change(down)[0], 200)
        self.assertEqual(self.link(3, "to-4")["state"], "down")
        self.assertEqual(self.change({**down, "state": "up"})[0], 200)
        self.assertNotEqual(self.link(3, "to-4")["state"], "down")
        for i in range(20):  # each is answered when it is made
            self.assertEqual(self.change({"cmd": "link-set", "name": "to-4", "keys": f"{{rate: {i + 2}Mbit/s, queues: strict}}"}), (200, '{"ok":true}'), i)
            self.assertEqual(self.link(3, "to-4")["rate_bps"], (i + 2) * 1_000_000)
        self.assertEqual(self.link(3, "to-4")["state"], "unheard")
        self.assertEqual(len(re.findall(r"control: HTTP, 127\.0\.0\.1:[0-9]+ changed: link \{", self.log(3))), 2)
        self.assertEqual(len(re.findall(r"control: HTTP, 127\.0\.0\.1:[0-9]+ changed: link-set \{", self.log(3))), 20)
        self.assertNotIn("HTTP", self.log(1))
        self.assertEqual(self.ask(self.ports[2], "/api/top", token=CHANGE)[0], 200)

    def test_long_bodies(self):
        """A body beyond 1 MiB ends its connection, of any method; up to that the request is answered."""
        self.line()
        for method, path, octets, answer in (("POST", "/api/change", 1 << 20, b" 413 "), ("GET", "/api/top", 1 << 20, b" 200 "), ("POST", "/api/change", 64 << 20, b""), ("GET", "/api/top", 64 << 20, b"")):
            with socket.create_connection(("127.0.0.1", self.ports[2])) as s:
                s.settimeout(300)
                s.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {CHANGE}\r\nContent-Length: {octets}\r\n\r\n".encode())
                try:
                    for _ in range(octets >> 16):
                        s.sendall(bytes(1 << 16))
                    got = s.recv(1 << 16)
                except (BrokenPipeError, ConnectionResetError):
                    got = b""
            self.assertEqual(got[8:13] if got else got, answer, (method, octets))

    def test_reader_and_changer(self):
        """Who may change may read; who may read may not change."""
        self.line(token=TOKEN)
        self.assertEqual([self.ask(self.ports[2], "/api/top", token=t)[0] for t in (None, TOKEN, CHANGE)], [401, 200, 200])
        self.assertEqual([self.change({"cmd": "link", "name": "to-4", "state": "down"}, token=t)[0] for t in (TOKEN, CHANGE)], [401, 200])

    def test_ends_while_it_changes(self):
        """A node that stops while changes are asked for ends well."""
        process = self.line()
        flood = subprocess.Popen([sys.executable, "-c", f"""
import http.client
try:
    for i in range(100000):
        c = http.client.HTTPConnection("127.0.0.1", {self.ports[2]}, timeout=60)
        c.request("POST", "/api/change", '{{"cmd": "link-set", "name": "to-4", "keys": "{{rate: %dMbit/s}}"}}' % (i % 50 + 1), headers={{"Authorization": "Bearer {CHANGE}"}})
        c.getresponse().read()
except (OSError, http.client.HTTPException):
    pass"""])
        wait_for(lambda: self.log(3).count("changed: link-set") > 5)
        self.lab.stop("node3", process)
        self.assertEqual(flood.wait(timeout=300), 0)

    def test_wrong_words(self):
        words = (("network: nowhere", 'http.network: "nowhere" is not understood; write how a page\'s address begins'),
                 ("network: [\"http://a:1\", \"http://b:1/page\"]", 'http.network: "http://b:1/page"'), ("network: [{a: 1}]", "http.network: a map is not expected here; write a list of values"),
                 ("origins: [\"*\"]", 'http.origins: "*" is not understood'), ("origins: [\"null\"]", 'http.origins: "null"'), ("origins: [\"http://a;b\"]", "http.origins"),
                 ("network: [" + ", ".join(f'"http://a:{i + 1}"' for i in range(65)) + "]", "65 addresses; at most 64"),
                 ("change_token: short", "http.change_token: write 16 to 256 characters"), (f"token: {TOKEN}, change_token: {TOKEN}", "http.change_token: it is http.token"),
                 ("netwrok: [\"http://a\"]", "http.netwrok: unknown key; did you mean network?"))
        for keys, text in words:
            path = self.lab.write_node(7, [], log=False, extra=f"http: {{{keys}}}\n")
            done = subprocess.run([self.lab.program("heliod"), "--check", path], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 2, (keys, done.stderr))
            self.assertIn(text, done.stderr)
        path = self.lab.write_node(7, [], log=False, extra=f"http: {{change_token: {CHANGE}}}\n")
        os.chmod(path, 0o644)
        done = subprocess.run([self.lab.program("heliod"), "--check", path], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertIn("http.change_token: it is secret", done.stderr)
        for keys in ("network: http://a:1", "network: []", "network: [\"https://[::1]:9464\", \"http://node.example\"]"):
            path = self.lab.write_node(7, [], log=False, extra=f"http: {{{keys}}}\n")
            done = subprocess.run([self.lab.program("heliod"), "--check", path], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, (keys, done.stderr))

    def test_hostile_nodes(self):
        """Nodes of the list that answer without end, late, or with markup and wrong types: the others are shown, and get no other node's token."""
        servers = [self.hostile(kind) for kind in (Hostile.endless, Hostile.late, Hostile.markup)]
        addresses = [f"http://127.0.0.1:{server.server_port}" for server in servers]
        ports, (a, b) = self.lab.udp_ports(2), self.lab.udp_ports(2)
        own, other = (f"http://127.0.0.1:{port}" for port in ports)
        named = ", ".join(f'"{address}"' for address in (*addresses, other))
        self.node(1, ports[0], [self.lab.link(2, a, b, rto="100ms")], network=f"[{named}]")
        self.node(2, ports[1], [self.lab.link(1, b, a, rto="100ms")], change_token=CHANGE, origins=f"[\"{own}\"]")
        with Browser() as browser:
            page = browser.open(own + "/network")

            def wait(what, seconds=120):
                end = time.monotonic() + seconds
                while not page.evaluate(what) and time.monotonic() < end:
                    time.sleep(0.1)
                self.assertTrue(page.evaluate(what), page.evaluate("document.body.innerText"))

            state = f"document.querySelector('#nodes tr[data-url=\"{other}\"]').innerText"
            wait(f"document.querySelector('#nodes tr[data-url=\"{other}\"]') && /\\sup\\s/.test({state})")
            wait(f"document.querySelector('#nodes tr[data-url=\"{addresses[0]}\"]').innerText.includes('its answer is too long')")
            for _ in range(3):  # it is asked again and again, whatever the others do
                before, began = page.evaluate(state), time.monotonic()
                wait(f"{state} != {json.dumps(before)}")
                self.assertLess(time.monotonic() - began, 30)
            wait("document.querySelector('#links').innerText.includes('<img src=x') && document.querySelector('#happened').innerText.includes('<img src=x')")
            # a token that was written for one node stays there
            choose = "document.querySelector('#links tr[data-node=\"{}\"]').click()"
            page.evaluate(choose.format("ipn:2.0"))
            wait("!document.querySelector('#change').hidden")
            self.assertIn(other, page.evaluate("document.querySelector('#changed_link').textContent"))
            page.evaluate(f"document.querySelector('#change').elements.token.value = '{CHANGE}'")
            page.evaluate("[...document.querySelectorAll('#links tbody tr')].find((e) => e.dataset.node.includes('<img')).click()")
            wait(f"document.querySelector('#changed_link').textContent.includes('{addresses[2]}')")
            page.evaluate("document.querySelector('#change').elements.down.click()")
            wait("document.querySelector('#change_said').textContent.startsWith('done')")
            self.assertIn("/api/change", [path for path, _ in servers[2].seen])
            self.assertEqual({token for server in servers for _, token in server.seen}, {None})
            self.assertEqual(page.evaluate("typeof window.taken + document.querySelectorAll('img').length"), "undefined0")
            asked = len(servers[0].seen)
        self.assertLess(servers[0].sent, asked * 30_000_000)

    def test_page(self):
        """In a browser: the whole network, tokens, where bundles wait and why, one bundle's way, a change; readable at two widths."""
        self.plan = self.lab.path("plan.yaml")
        pathlib.Path(self.plan).write_text("contacts:\n  - {from: 1, to: 2, start: 0s, end: 2h, rate: 5Mbit/s, owlt: 1ms, both: yes}\n  - {from: 2, to: 3, start: 0s, end: 1h, rate: 5Mbit/s, owlt: 1ms, both: yes}\n"
                                           "  - {from: 3, to: 4, start: 30min, end: 1h, rate: 1Mbit/s, owlt: 1ms}\n", encoding="ascii")
        process = self.line()
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            for _ in range(7):
                self.assertEqual(tx.request("ipn:4.7", b"x" * 1000)[0], aap2.SUCCESS)
        wait_for(lambda: len(self.lab.control(3, "bundles")["bundles"]) == 7)
        b = self.lab.control(3, "bundles")["bundles"][0]
        url = self.origins[0] + "/network"
        with Browser() as browser:
            page = browser.open(url)

            def wait(what, seconds=300):
                end = time.monotonic() + seconds
                while not page.evaluate(what) and time.monotonic() < end:
                    time.sleep(0.1)
                self.assertTrue(page.evaluate(what), page.evaluate("document.body.innerText"))

            def text(what):
                return page.evaluate(f"document.querySelector('{what}').innerText")

            # node 1 named itself, too: it is there once
            wait("document.querySelectorAll('#nodes tbody tr').length == 3 && document.querySelector('#tiles').innerText.includes('2 of 3 answer')")
            wait("!document.querySelector('#ask').hidden && document.querySelector('#wanted').textContent.includes('" + self.origins[1] + "')")
            self.assertIn("wants its token", text("#nodes"))
            page.evaluate(f"document.querySelector('#token').value = '{TOKEN}'; document.querySelector('#ask button').click()")
            wait("document.querySelector('#tiles').innerText.includes('3 of 3 answer') && document.querySelector('#ask').hidden")
            wait("document.querySelectorAll('#links tbody tr').length == 5")
            self.assertEqual(sorted(page.evaluate("[...document.querySelectorAll('#map [data-node]')].map((e) => e.dataset.node)")), ["ipn:1.0", "ipn:2.0", "ipn:3.0", "ipn:4.0"])
            self.assertEqual(page.evaluate("document.querySelectorAll('#map g[data-from]').length"), 5)
            self.assertIn("not asked", page.evaluate("document.querySelector('#map [data-node=\"ipn:4.0\"]').textContent"))
            wait("document.querySelector('#map g[data-from=\"ipn:1.0\"] path').getAttribute('class') == 'arc good'")
            # where bundles wait, and why
            wait("[...document.querySelectorAll('#waits tr[data-node=\"ipn:3.0\"]')].some((e) => /no link's queue\\s+7\\s.*a contact to come/s.test(e.innerText))")
            wait("[...document.querySelectorAll('#backlog tr[data-node=\"ipn:3.0\"]')].some((e) => /ipn:4.0\\s+7\\s/.test(e.innerText))")
            wait("/3 → 4\\s+in 2[0-9] min/.test(document.querySelector('#contacts').innerText)")
            self.assertEqual(len(re.findall(r"1 → 2", text("#contacts"))), 1)  # of three plans
            page.evaluate(f"document.querySelector('#bundle').value = '{b['source']},{b['created_ms']},{b['sequence']}'; document.querySelector('#find button').click()")
            wait("/ipn:1.0\\s+not at this node\\s+this node forwarded it/.test(document.querySelector('#way').innerText) && /ipn:3.0\\s+.*contact/.test(document.querySelector('#way').innerText)")
            # events: of the chosen bundle alone; without one of all, and a click chooses one
            wait("document.querySelector('#happened').innerText.includes('none of this bundle while a page was open')")
            page.evaluate("document.querySelector('#bundle').value = ''; document.querySelector('#find button').click()")
            with aap2.Client(self.lab.socket(1)) as tx:
                self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
                self.assertEqual(tx.request("ipn:3.9", b"x" * 200)[0], aap2.SUCCESS)
            seen = "[...document.querySelectorAll('#happened tbody tr')].filter((e) => e.innerText.includes('ipn:3.9'))"
            for node, event in ((1, "ended"), (2, "accepted"), (3, "queued")):
                wait(f"{seen}.some((e) => e.dataset.node == 'ipn:{node}.0' && e.innerText.includes('{event}'))")
            page.evaluate(f"{seen}.find((e) => e.dataset.node == 'ipn:3.0').click()")
            wait("/ipn:3.0\\s+.*no application/s.test(document.querySelector('#way').innerText) && /^ipn:1.5,/.test(document.querySelector('#bundle').value)")
            self.assertEqual(page.evaluate("[...new Set([...document.querySelectorAll('#happened tbody tr')].map((e) => e.cells[4].innerText))]"), ["ipn:3.9"])
            # a change
            page.evaluate("document.querySelector('#links tr[data-node=\"ipn:1.0\"]').click()")
            self.assertTrue(page.evaluate("document.querySelector('#change').hidden"))  # nothing can be changed there
            page.evaluate("document.querySelector('#links tr[data-node=\"ipn:3.0\"][data-link=to-4]').click()")
            wait("!document.querySelector('#change').hidden")
            page.evaluate("document.querySelector('#change').elements.rate.value = '3Mbit/s'; document.querySelector('#change button:not([name])').click()")
            wait("document.querySelector('#change_said').textContent.includes('token for changes is missing')")
            page.evaluate(f"document.querySelector('#change').elements.token.value = '{CHANGE}'; document.querySelector('#change button:not([name])').click()")
            wait("document.querySelector('#change_said').textContent == 'done; the log of ipn:3.0 has it'")
            page.evaluate("document.querySelector('#change').elements.rate.value = ''; document.querySelector('#change').elements.keys.value = 'segmnt: 900'; document.querySelector('#change button:not([name])').click()")
            wait("document.querySelector('#change_said').textContent.includes('did you mean')")
            page.evaluate("document.querySelector('#change').elements.down.click()")
            wait("document.querySelector('#links tr[data-node=\"ipn:3.0\"][data-link=to-4]').innerText.includes('down')")
            self.assertEqual(self.link(3, "to-4")["state"], "down")
            wait("document.querySelector('#events').innerText.includes('link to-4: waiting → down')")
            page.evaluate("document.querySelector('#change').elements.up.click()")
            wait("document.querySelector('#events').innerText.includes('link to-4: down → waiting')")
            self.assertIn("changed: link-set", self.log(3))
            page.evaluate("document.querySelector('#change').elements.token.value = ''; document.querySelector('#change').elements.keys.value = ''")

            alone = browser.open(self.origins[0] + "/")
            end = time.monotonic() + 300
            while alone.evaluate("document.querySelector('#network').hidden") and time.monotonic() < end:
                time.sleep(0.1)
            self.assertEqual(alone.evaluate("document.querySelector('#network').href"), url)
            self.assertFalse(alone.evaluate("document.querySelector('#network').hidden"))
            alone.close()
            dark = browser.open(url, dark=True)
            dark.evaluate(f"sessionStorage.setItem('token {self.origins[1]}/', '{TOKEN}'); location.reload()")
            for name, shown in (("light", page), ("dark", dark)):
                for width, size in (("phone", PHONE), ("screen", SCREEN)):
                    shown.resize(size)
                    end = time.monotonic() + 300
                    while not shown.evaluate("document.querySelectorAll('#links tbody tr').length == 5 && document.querySelector('#timeline svg') !== null && "
                                             "document.querySelector('#timeline svg').getAttribute('width') <= innerWidth && document.querySelector('#timeline svg').getAttribute('width') >= innerWidth - 60"):
                        self.assertLess(time.monotonic(), end, "the timeline does not have the page's width")
                        time.sleep(0.1)
                    self.assertEqual(shown.unreadable(), [], (name, width))
                    shown.screenshot(pathlib.Path(self.lab.path(f"network-{name}-{width}.png")), whole=True)
                    if (name, width) == ("light", "screen"):
                        picture.of_page(shown, "page-network.png")
            self.assertEqual({r for r in page.requests if not r.startswith(tuple(self.origins))}, set())
            self.assertEqual([c for c in page.complaints if "401" not in c and "400" not in c], [])
            process.kill()
            process.wait()
            wait("document.querySelector('#tiles').innerText.includes('2 of 3 answer') && document.querySelector('#nodes').innerText.includes('no answer')")
            wait("document.querySelector('#events').innerText.includes('ipn:3.0: no answer')")


if __name__ == "__main__":
    node_case.PROGRAMS, node_case.OUT = sys.argv[1:3]
    os.makedirs(sys.argv[2], exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("NetworkPageTest.test_" + t for t in sys.argv[3:])], verbosity=2)
