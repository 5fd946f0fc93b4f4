#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-lab page: what it shows is what nodes and emulators say, who may ask, and a page that needs nothing from elsewhere.

usage: lab_page_test.py BIN SOURCE live|netns
"""
import base64
import contextlib
import hashlib
import html.parser
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import time
import unittest
import urllib.parse
from pathlib import Path

import browser
import lab_test
import picture
from lab_test import BIN, KIND, Folder, lab

from heliograph.lab import page as lab_page, state as lab_state, view as lab_view, watch as lab_watch  # noqa: E402

MODE = "netns" if KIND == "netns" else "local"
LAB = """title: "Fades & <b>contacts</b>"
line: [leo, gs, mcc]
link: {rate: 10Mbit/s, delay: 5ms}
links:
  leo-gs: {forward: {trace: H}, contacts: [{from: 0s, to: 1h}, {from: 2h, to: 3h}]}
traffic: [{run: gs, command: sleep 3600}]
duration: 1h
"""


class Page:
    """helio-lab page in the background."""

    def __init__(self, *words):
        self.p = subprocess.Popen([BIN / "helio-lab", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.p.stdout.readline()
        assert "the page is http://" in line, (line, self.p.stderr.read())
        self.url = re.search(r"http://\S+", line)[0]
        self.change_token = urllib.parse.urlsplit(re.search(r"http://\S+", self.p.stdout.readline())[0]).fragment if words[-1] == "--change" else None
        self.port = urllib.parse.urlsplit(self.url).port

    def end(self):
        self.p.terminate()
        self.p.communicate(timeout=300)

    def ask(self, path, method="GET", token=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        with contextlib.closing(c):
            c.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
            answer = c.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def change(self, token=None, **what):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        with contextlib.closing(c):
            c.request("POST", "/change", json.dumps(what), headers={"Authorization": f"Bearer {token}"} if token else {})
            answer = c.getresponse()
            return answer.status, answer.read().decode()

    def state(self):
        status, headers, text = self.ask("/state.json")
        assert (status, headers["Content-Type"]) == (200, "application/json; charset=utf-8")
        return json.loads(text)

    def until(self, wanted, what, seconds=300):
        give_up = time.monotonic() + seconds
        while True:
            state = self.state()
            if wanted(state):
                return state
            assert time.monotonic() < give_up, (what, state)
            time.sleep(0.3)

    def raw(self, request):
        with socket.create_connection(("127.0.0.1", self.port), timeout=300) as s:
            s.sendall(request)
            return s.makefile("rb").readline()


class Marks(html.parser.HTMLParser):
    """Each element that is opened is closed; where the page leads."""
    EMPTY = ("meta", "link", "input")

    def __init__(self, text):
        super().__init__()
        self.open, self.leads, self.ids = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag not in self.EMPTY:
            self.open.append(tag)
        self.leads += [value for key, value in attrs if key in ("src", "href")]
        self.ids += [value for key, value in attrs if key == "id"]

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()


class Live(Folder):
    def start(self, text, *words):
        self.lab = self.file(text)
        lab(self.lab, "up", "--mode", MODE, "--out", self.folder / "out", "--background", *words)
        self.addCleanup(lambda: subprocess.run([BIN / "helio-lab", self.lab, "down"], capture_output=True, check=False))

    def page(self, *words):
        page = Page(self.lab, "page", *(() if "--listen" in words else ("--listen", "0")), *words)
        self.addCleanup(page.end)
        return page

    def traffic(self):
        """A client that has begun, of 2 MB from leo to mcc."""
        server = subprocess.Popen([BIN / "helio-lab", self.lab, "exec", "mcc", "helio-perf", "server"], stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        return subprocess.Popen([BIN / "helio-lab", self.lab, "exec", "leo", "helio-perf", "client", "-d", "mcc", "-D", "2MB", "-P", "20kB", "-W", "20", "--linger", "5min"],
                                stdout=subprocess.DEVNULL)

    def helioctl(self, node, what):
        return json.loads(lab(self.lab, "exec", node, "helioctl", "--json", what).stdout)

    def emulator(self, name):
        at = lab_state.State(str(self.lab)).ask({"cmd": "overview"})["emulators"][name]
        words = [at["socket"], *([at["called"]] if at["called"] else [])]
        return json.loads(subprocess.run([BIN / "helio-emu", "status", "--now", *words], capture_output=True, check=True).stdout)

    def assert_as_told(self, state):
        """Nodes and links as helioctl has them, channels as their emulators."""
        for node in state["nodes"]:
            top = self.helioctl(node["name"], "top")
            self.assertEqual({key: node[key] for key in lab_watch.TOTALS if key != "uptime_s"}, {key: top["node"][key] for key in lab_watch.TOTALS if key != "uptime_s"})
            self.assertEqual((node["node"], node["state"]), (top["node"]["node"], "up"))
            rows = {row["name"]: row for row in (dict(zip(top["columns"], values)) for values in top["rows"])}
            ways = [way for link in state["links"] for way in link["ways"] if way["from"] == node["name"]]
            self.assertEqual({f"to-{way['to']}" for way in ways}, set(rows))
            for way in ways:
                row = rows[f"to-{way['to']}"]
                for key in ("state", "rate_bps", "sent", "failed", "received", "bundles", "bytes", "sessions"):
                    self.assertEqual(way["sender"][key], row[key], (way["from"], way["to"], key))
        for link in state["links"]:
            told = self.emulator(link["name"])
            for way in link["ways"]:
                for key in ("in", "out", "queued", "lost"):
                    self.assertEqual(way["channel"][key], told[way["way"]][key], (link["name"], way["way"], key))
                self.assertEqual(way["channel"]["in"], way["channel"]["out"] + way["channel"]["queued"] + way["channel"]["lost_all"])

    def test_what_is_shown_is_what_is_told(self):
        self.start(LAB)
        page = self.page()
        traffic = self.traffic()
        busy = page.until(lambda s: (s["links"][0]["ways"][0]["goodput_bps"] or 0) > 1e5, "traffic")
        self.assertEqual((busy["phase"], busy["mode"], busy["title"]), ("running", MODE, "Fades & <b>contacts</b>"))
        faded = page.until(lambda s: s["links"][0]["ways"][0]["channel"]["bad_share"] > 0, "a fade")
        self.assertLessEqual(faded["links"][0]["ways"][0]["channel"]["bad_share"], 1)
        self.assertEqual(faded["links"][0]["ways"][1]["channel"]["bad_share"], 0, "the way back has no trace")
        self.assertEqual(faded["links"][0]["ways"][0]["channel"]["rate_bps"], 10000000)
        self.assertEqual(traffic.wait(300), 0)
        page.until(lambda s: not any(way["sender"]["sessions"] or way["channel"]["queued"] for link in s["links"] for way in link["ways"]), "all is quiet")
        time.sleep(2.5)  # what is shown is of a time at which nothing moved
        state = page.state()
        self.assert_as_told(state)
        self.assertGreater(state["links"][0]["ways"][0]["channel"]["lost"]["trace"], 0)
        self.assertEqual([(node["name"], node["number"]) for node in state["nodes"]], [("leo", 1), ("gs", 2), ("mcc", 3)])
        coming = [(c["from"], c["to"], c["now"], round((c["end_ms"] - c["start_ms"]) / 3.6e6)) for c in state["contacts"]]
        self.assertEqual(sorted(coming), [("gs", "leo", False, 1), ("gs", "leo", True, 1), ("leo", "gs", False, 1), ("leo", "gs", True, 1)])
        begin = state["unix_ms"] - 1000 * state["seconds"]
        self.assertLess(abs(max(c["start_ms"] for c in state["contacts"]) - begin - 7.2e6), 1100, "two hours after the lab's beginning")
        self.assertEqual(state["traffic"], {"run-1": "running"})
        self.assertEqual([event["text"] for event in state["events"] if not event.get("seen")], ["all nodes run", "run-1 begins"])
        self.check_changes(page)
        self.check_end(page)

    def check_changes(self, page):
        """By hand: a rate, a link down; and sessions of a link."""
        lab(self.lab, "link", "gs-mcc", "set", "rate=3Mbit/s")
        lab(self.lab, "link", "gs-mcc", "down")
        state = page.until(lambda s: s["links"][1]["ways"][0]["sender"]["state"] == "down", "the link is down")
        self.assertEqual([way["sender"]["rate_bps"] for way in state["links"][1]["ways"]], [3000000] * 2)
        self.assertIn("3Mbit/s", state["links"][1]["ways"][0]["words"])
        said = [event["text"] for event in state["events"]]
        self.assertIn("link gs-mcc set rate=3Mbit/s (by hand)", said)
        self.assertIn("link gs-mcc down (by hand)", said)
        self.assertTrue([event for event in state["events"] if event.get("seen") and event["text"] == "link gs-mcc, gs to mcc: up, now down"], said)
        self.assertEqual(page.ask("/sessions.json?link=nowhere")[0], 404)
        sessions = json.loads(page.ask("/sessions.json?link=leo-gs")[2])
        self.assertEqual({end: told["sessions"] for end, told in sessions.items()}, {end: self.helioctl(end, "sessions")["sessions"] for end in ("leo", "gs")})

    def check_end(self, page):
        """Its last state stays, and can be shown from the folder."""
        lab(self.lab, "down")
        ended = page.until(lambda s: s["phase"] == "ended" and not s["message"], "the end, with its result")  # before that the state seen last
        result = self.result(self.folder / "out")
        for node in ended["nodes"]:
            self.assertEqual((node["bundles"], node["delivered"], node["state"]), (result["nodes"][node["name"]]["bundles"], result["nodes"][node["name"]]["delivered"], "ended"))
        self.assertGreater(ended["nodes"][2]["delivered"], 99)
        for link in ended["links"]:
            for way in link["ways"]:
                channel = result["channels"][link["name"]][way["way"]]
                self.assertEqual((way["channel"]["in"], way["channel"]["lost_all"]), (channel["in"], sum(channel["dropped"].values())))
        self.assertIn("link gs-mcc down (by hand)", [event["text"] for event in ended["events"]])
        again = Page(self.lab, "page", "--listen", "0", "--out", self.folder / "out")
        self.addCleanup(again.end)
        self.assertEqual({**again.state(), "unix_ms": 0}, {**ended, "unix_ms": 0})
        self.assertIn("is not up", lab(self.lab, "page", code=1).stderr)
        self.assertIn("no folder of a finished run", lab(self.lab, "page", "--out", self.folder, code=1).stderr)

    def test_who_may_ask(self):
        self.start("line: 2\nlink: {rate: 1Mbit/s}\nduration: 1h\n")
        page = self.page("--host", "lab.example")
        ok, wrong, bad = b" 200 ", b" 421 ", b" 400 "
        for hosts, answer in ((b"Host: localhost", ok), (b"Host: 127.0.0.1:%d" % page.port, ok), (b"host:LAB.example:80", ok), (b"Host: localhost.", ok),
                              (b"Host: attacker.example", wrong), (b"Host: 192.0.2.1", wrong), (b"Host: 127.0.0.1.attacker.example", wrong), (b"Host: ", wrong),
                              (b"A: b", bad), (b"Host: localhost\r\nHost: attacker.example", bad), (b"Host: localhost\r\nhost: localhost", bad)):
            for path in (b"/state.json", b"/", b"/sessions.json?link=1-2"):
                self.assertIn(answer, page.raw(b"GET " + path + b" HTTP/1.1\r\n" + hosts + b"\r\n\r\n"), (hosts, path))
        self.assertIn(ok, page.raw(b"GET / HTTP/1.0\r\n\r\n"))
        for method in ("POST", "PUT", "DELETE"):
            self.assertGreaterEqual(page.ask("/state.json", method)[0], 400)
        self.assertEqual(page.ask("/../../etc/passwd")[0], 404)
        self.assertEqual(page.ask("/", "HEAD")[2], "")
        with contextlib.ExitStack() as stack:  # more silent connections than are served do not end it
            for _ in range(lab_page.CONNECTIONS_MAX + 5):
                stack.enter_context(socket.create_connection(("127.0.0.1", page.port), timeout=300))
        give_up = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.assertEqual(page.ask("/")[0], 200)
                break
            self.assertLess(time.monotonic(), give_up)
        self.assertIn("--listen " + str(page.port), lab(self.lab, "page", "--listen", page.port, code=1).stderr)
        for address in ("nowhere", "70000", "localhost:80", "1.2.3.4"):
            self.assertIn("is not understood; write a port", lab(self.lab, "page", "--listen", address, code=2).stderr)

    def test_access_token(self):
        """Beyond this machine figures are for those who have the token, which the printed address has; a given one is in a file of its own."""
        self.start("line: 2\nlink: {rate: 1Mbit/s}\nduration: 1h\n")
        page = self.page("--listen", "0.0.0.0:0")
        token = urllib.parse.unquote(urllib.parse.urlsplit(page.url).fragment)
        self.assertGreaterEqual(len(token), 32)
        self.assert_guarded(page, token)
        if browser.find():
            self.check_token_in_browser(page)
        own = self.folder / "token"
        own.write_text("0123456789abcdef\n", encoding="ascii")
        own.chmod(0o644)
        self.assertIn("all users may read or write it; write: chmod o= ", lab(self.lab, "page", "--token-file", own, code=2).stderr)
        own.chmod(0o640)
        given = self.page("--token-file", own)
        self.assertNotIn("#", given.url, "who gave it knows it")
        self.assert_guarded(given, "0123456789abcdef")
        for wrong in ("short", "with blanks in its text"):
            own.write_text(wrong, encoding="ascii")
            self.assertIn("write 16 to 256 characters without blanks", lab(self.lab, "page", "--token-file", own, code=2).stderr)
        self.assertEqual(self.page("--listen", "0.0.0.0:0", "--no-token").ask("/state.json")[0], 200)
        self.assertIn("No such file", lab(self.lab, "page", "--token-file", self.folder / "nowhere", code=2).stderr)

    def assert_guarded(self, page, token):
        for path in ("/state.json", "/sessions.json?link=1-2"):
            for given in (None, "wrong", token[:-1], token + "x"):
                status, headers, text = page.ask(path, token=given)
                self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"))
                self.assertNotIn("nodes", text)
            self.assertEqual(page.ask(path, token=token)[0], 200)
        self.assertEqual(page.ask("/")[0], 200, "which has no figures")

    def check_token_in_browser(self, page):
        """Taken from the address, which does not show it any more; without it the page asks for it."""
        address, token = page.url.replace("0.0.0.0", "127.0.0.1").split("#")
        with browser.Browser() as b:
            shown, give_up = b.open(address), time.monotonic() + 300
            while shown.evaluate("document.querySelector('#ask').hidden"):
                self.assertLess(time.monotonic(), give_up)
                time.sleep(0.2)
            self.assertIn("access token", shown.evaluate("document.querySelector('#trouble').textContent"))
            self.assertEqual(shown.evaluate("document.querySelectorAll('#map g').length"), 0)
            for do in (f"document.querySelector('#token').value = '{token}'; document.querySelector('#ask button').click()",
                       f"document.querySelector('#map').replaceChildren(); sessionStorage.clear(); location.hash = '{token}'; location.reload()"):
                shown.evaluate(do)
                while shown.evaluate("document.querySelectorAll('#map g[data-node]').length") != 2:
                    self.assertLess(time.monotonic(), give_up, shown.evaluate("document.body.innerText"))
                    time.sleep(0.2)
                self.assertNotIn(token, shown.evaluate("location.href"))
                self.assertTrue(shown.evaluate("document.querySelector('#ask').hidden"))

    def test_bundles_and_changes(self):
        """Where bundles wait and why, the route of one as it happens, and links that are changed by those who may."""
        self.start("line: [leo, gs, mcc]\nlink: {rate: 10Mbit/s, delay: 5ms}\nduration: 1h\n")
        self.assertEqual(self.page().change("0123456789abcdef", link="gs-mcc", do="down")[0], 403, "it was not started with --change")
        page = self.page("--change")
        page.until(lambda s: s["phase"] == "running", "the lab")
        for token in (None, "wrong", page.change_token + "x"):
            self.assertEqual(page.change(token, link="gs-mcc", do="down")[0], 401)
            self.assertEqual(json.loads(page.ask("/role.json", token=token)[2]), {"change": False})
        self.assertEqual(json.loads(page.ask("/role.json", token=page.change_token)[2]), {"change": True})
        for wrong, words in (({"link": "nowhere", "do": "down"}, "there is no link"), ({"link": "gs-mcc", "do": "set", "keys": ["rate=fast"]}, "rate"),
                             ({"link": "gs-mcc", "do": "set", "keys": ["rate"]}, "KEY=VALUE"), ({"link": "gs-mcc", "do": "burn"}, "no change"), ({"do": "up"}, "no change")):
            status, text = page.change(page.change_token, **wrong)
            self.assertEqual((status, words in text), (400, True), text)
        self.assertEqual(page.change(page.change_token, link="gs-mcc", do="down")[0], 200)
        pings = subprocess.Popen([BIN / "helio-lab", self.lab, "exec", "leo", "helio-ping", "-c", "3", "-i", "0.1", "mcc"], stdout=subprocess.DEVNULL)
        self.addCleanup(pings.wait)
        self.addCleanup(pings.terminate)
        state = page.until(lambda s: any(w["bundles"] == 3 for w in s["waits"]), "bundles that wait")
        waits = [w for w in state["waits"] if w["bundles"] == 3]
        self.assertEqual([(w["node"], w["destination"]) for w in waits], [("gs", "ipn:3.0")])
        self.assertIn("in the queue of link to-mcc", waits[0]["where"])
        self.assertIn("it is set to down", waits[0]["why"])
        self.assertIn("link gs-mcc down (by hand)", [event["text"] for event in state["events"]])
        told = self.way(page, waits[0]["id"])
        self.assertIn("this node forwarded it", told["leo"]["why"])
        self.assertEqual((told["gs"]["where"], told["mcc"]["known"]), (waits[0]["where"], False))
        self.assertIn("SOURCE,CREATED,SEQUENCE", self.way(page, "nothing")["gs"]["why"])
        if browser.find():
            self.check_change_in_browser(page, waits[0]["id"])
        else:
            self.assertEqual(page.change(page.change_token, link="gs-mcc", do="up")[0], 200)
        page.until(lambda s: not s["waits"], "nothing waits")
        self.assertTrue(self.way(page, waits[0]["id"])["mcc"]["known"])
        self.assertEqual(page.change(page.change_token, link="leo-gs", do="set", keys=["rate=2Mbit/s", "queues=strict"])[0], 200)
        page.until(lambda s: s["links"][0]["ways"][0]["sender"]["rate_bps"] == 2000000, "the new rate")

    def way(self, page, bundle):
        return {one["node"]: one for one in json.loads(page.ask("/way.json?bundle=" + urllib.parse.quote(bundle))[2])}

    def check_change_in_browser(self, page, bundle):
        """At two widths all can be read. A click on a queued bundle shows its route, which goes on when the link is up again."""
        with browser.Browser() as b:
            shown, give_up = b.open(page.url), time.monotonic() + 300
            shown.evaluate(f"location.hash = '{page.change_token}'; location.reload()")

            def wait(what):
                while not shown.evaluate(what):
                    self.assertLess(time.monotonic(), give_up, (what, shown.evaluate("document.body.innerText")))
                    time.sleep(0.2)

            wait("document.querySelectorAll('#waits tr[data-node=gs]').length == 1")
            self.assertTrue(shown.evaluate("document.querySelector('#change').hidden"))
            shown.evaluate("document.querySelector('#waits tr[data-node=gs]').click(); document.querySelector('#links tr[data-link=gs-mcc]').click()")
            wait("document.querySelector('#way tr[data-node=gs]')?.innerText.includes('in the queue of link to-mcc')")
            self.assertEqual(shown.evaluate("document.querySelector('#bundle').value"), bundle)
            self.assertFalse(shown.evaluate("document.querySelector('#change').hidden"))
            for dark in (False, True):
                shown.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
                for name, size in (("phone", browser.PHONE), ("screen", browser.SCREEN)):
                    shown.resize(size)
                    time.sleep(1.5)  # it is drawn anew each second
                    self.assertEqual(shown.unreadable(), [], (name, dark))
                    shown.screenshot(self.folder / f"page-{name}{'-dark' if dark else ''}.png", whole=True)
            shown.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
            picture.of_page(shown, "page-lab.png")
            shown.evaluate("document.querySelector('#change').elements.rate.value = 'fast'; document.querySelector('#change').requestSubmit()")
            wait("document.querySelector('#change_said.bad')?.textContent.includes('rate')")
            shown.evaluate("document.querySelector('#change').elements.up.click()")
            wait("document.querySelector('#change_said').textContent.includes('done')")
            wait("document.querySelector('#events').textContent.includes('link gs-mcc up (by hand)')")
            wait("!document.querySelector('#way tr[data-node=mcc]').innerText.includes('never here')")
            wait("document.querySelector('#waits').innerText.includes('nothing waits')")
            self.assertEqual([text for text in shown.complaints if "400" not in text], [])

    def test_goodput_of_other_adapters(self):
        """Bytes of bundles that arrive, of each adapter that counts no segments."""
        for adapter in ("{adapter: tcpcl, tls: off}", "{adapter: udp, rate: 20Mbit/s}", "{adapter: stcp}"):
            if MODE == "netns" and "tcpcl" not in adapter:
                continue
            self.start(f"line: [leo, mcc]\nlink: {adapter}\nduration: 1h\n")
            page = self.page()
            traffic = self.traffic()
            state = page.until(lambda s: (s["links"][0]["ways"][0]["goodput_bps"] or 0) > 1e4, f"goodput of {adapter}")
            self.assertEqual(traffic.wait(300), 0)
            way = page.until(lambda s: s["links"][0]["ways"][0]["goodput_bps"] == 0, "no more")["links"][0]["ways"]
            self.assertEqual((way[0]["receiver"]["received"], state["links"][0]["network"]), (way[0]["sender"]["sent"], None))
            top = self.helioctl("mcc", "top")
            row, = (dict(zip(top["columns"], values)) for values in top["rows"])
            self.assertGreater(row["received_bytes"], 2e6)
            page.end()
            lab(self.lab, "down")
            shutil.rmtree(self.folder / "out")

    @unittest.skipIf(MODE == "netns", "its network is a bridge there")
    def test_network_of_a_station(self):
        """Rate and delay in effect, and what it carries; also after a change."""
        self.start("line: [leo, mcc]\nlinks:\n  leo-mcc:\n    delay: 5ms\n    forward: {rate: 5Mbit/s}\n    return: {rate: 1Mbit/s}\n    frames: {scid: 171}\n"
                   "    station:\n      wan: {delay: 20ms, rate: 100Mbit/s}\nduration: 1h\n")
        page = self.page()
        page.until(lambda s: s["links"][0]["network"]["connections"] == 2, "both services are bound")
        traffic = self.traffic()
        state = page.until(lambda s: (s["links"][0]["network"]["forward"]["bps"] or 0) > 1e5, "telemetry")
        for way in ("forward", "return"):
            network = state["links"][0]["network"][way]
            self.assertEqual((network["rate_bps"], network["delay_us"], network["stalled"]), (1e8, 2e4, False))
            self.assertIn("100Mbit/s", network["words"])
        if browser.find():
            with browser.Browser() as b:
                shown, give_up = b.open(page.url), time.monotonic() + 300
                while "100.0 Mbit/s" not in shown.evaluate("document.querySelector('#networks').textContent"):
                    self.assertLess(time.monotonic(), give_up)
                    time.sleep(0.2)
                text = shown.evaluate("document.querySelector('#networks').textContent")
                self.assertIn("station → mcc", text)
                self.assertIn("20.0 ms", text)
        self.assertEqual(traffic.wait(300), 0)
        lab(self.lab, "link", "leo-mcc", "set", "station.wan.delay=30ms")
        page.until(lambda s: s["links"][0]["network"]["return"]["delay_us"] == 3e4, "another delay")

    def test_the_page(self):
        """Well-formed, of one piece; in a browser, where there is one, it asks nobody else and complains of nothing."""
        self.start(LAB)
        page = self.page()
        status, headers, text = page.ask("/")
        marks = Marks(text)
        self.assertEqual((status, marks.open, marks.leads), (200, [], ["data:,"]))
        self.assertEqual(len(set(marks.ids)), len(marks.ids))
        self.assertEqual(set(re.findall(r"https?://[^\"' ]+", text)), {"http://www.w3.org/2000/svg"}, "the name of SVG, which nobody asks for")
        for markup in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            self.assertNotIn(markup, text)
        self.assertEqual(set(re.findall(r'\$\("(\w+)"\)', text)) - set(marks.ids), set(), "the script finds what it writes to")
        policy = headers["Content-Security-Policy"]
        for name in ("style", "script"):
            inside, = re.findall(rf"<{name}>(.*?)</{name}>", text, re.S)
            digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
            self.assertIn(f"{name}-src 'sha256-{digest}'", policy)
        self.assertIn("default-src 'none'", policy)
        if browser.find():
            self.check_browser(page)

    def check_browser(self, page):
        with browser.Browser() as b:
            shown = b.open(page.url)
            give_up = time.monotonic() + 300
            while not shown.evaluate("document.querySelectorAll('#map g[data-node]').length == 3 && document.querySelectorAll('#links tbody tr[data-link]').length == 4"):
                self.assertLess(time.monotonic(), give_up, shown.evaluate("document.body.innerText"))
                time.sleep(0.2)
            self.assertGreaterEqual(shown.evaluate("document.querySelectorAll('#timeline rect.contact').length"), 2)
            for size in (browser.PHONE, browser.SCREEN):
                shown.resize(size)
                time.sleep(1.5)
                self.assertEqual(shown.unreadable(), [], size)
                shown.screenshot(self.folder / f"page-{size[0]}.png", whole=True)
            self.assertEqual(shown.evaluate("document.querySelector('#title').textContent"), "Fades & <b>contacts</b>")
            self.assertEqual(shown.evaluate("document.querySelectorAll('#title *').length"), 0)
            shown.evaluate("document.querySelector('#links tr[data-link=leo-gs]').click()")
            while "Open sessions of leo-gs" not in shown.evaluate("document.querySelector('#sessions').textContent"):
                self.assertLess(time.monotonic(), give_up)
                time.sleep(0.2)
            self.assertEqual(shown.complaints, [])
            self.assertEqual({urllib.parse.urlsplit(url).netloc for url in shown.requests}, {f"127.0.0.1:{page.port}"})


class Parts(Folder):
    def test_values_of_keys_may_be_secrets(self):
        events = lab_view.Events()
        events.change(1.0, "link 1-2", "set", {"auth.key": "00ff", "forward.rate": "1Mbit/s", "ends.1.sessions": "3"}, by_hand=True)
        events.change(2.0, "channel a", "down", None)
        self.assertEqual([event["text"] for event in events.list], ["link 1-2 set auth.key, forward.rate=1Mbit/s, ends.1.sessions=3 (by hand)", "channel a down"])
        for i in range(lab_view.EVENTS_MAX + 5):
            events.add(i, "x")
        self.assertEqual(len(events.list), lab_view.EVENTS_MAX)

    def test_contacts(self):
        one = {"from": 1, "to": 2, "state": "later", "start": "2026-01-01T00:01:00Z", "end": "2026-01-01T00:02:00.500Z", "rate_bps": 5}
        forever = {**one, "state": "now", "end": "2126-01-01T00:00:00Z"}
        never = {**one, "start": "2026-01-01T00:03:00Z", "end": "never"}
        over = {**one, "state": "now", "end": "2025-12-31T00:00:00Z"}
        now = 1767225600.0  # 2026-01-01T00:00:00Z
        got = lab_watch.contacts_of([[never, one, forever, over], [one], None], {"1": "a", "2": "b"}, now)
        self.assertEqual([(c["from"], c["to"], c["start_ms"], c["end_ms"]) for c in got],
                         [("a", "b", 1767225660000, 1767225720500), ("a", "b", 1767225780000, None)])

    def test_hosts(self):
        for host, local, wanted in (("localhost", "127.0.0.1", True), ("127.0.0.1", "127.0.0.1", True), ("127.0.0.2", "127.0.0.1", False), ("::1", "::1", True), ("0:0::1", "::1", True),
                                    ("127.0.0.1", "::ffff:127.0.0.1", True), ("a.example", "127.0.0.1", True), ("b.example", "127.0.0.1", False), ("", "127.0.0.1", False)):
            self.assertEqual(lab_page.is_own(host, local, {"a.example"}), wanted, (host, local))
        self.assertEqual([lab_page.host_of(text) for text in ("a:1", "[::1]:80", "[::1]", "A.", "::1", "", "[localhost].a", "[::1")],
                         ["a", "::1", "::1", "a", "::1", "", "", ""])

    def test_a_second_of_a_channel(self):
        answer = {"in": 110, "out": 70, "queued": 10, "lost": {"trace": 30}, "now": {"state": "bad", "bad_share": 0.5}}
        then = {"forward": {**answer, "in": 10, "lost": {"trace": 5}}}
        got = lab_watch.channel_of("a-b", "forward", {"forward": answer}, then, 2.0)
        self.assertEqual((got["second"], got["lost_all"], got["state"]), ({"in": 50.0, "lost": 12.5}, 30, "bad"))
        for before, elapsed in ((None, 0.0), ({"forward": {**answer, "in": 500}}, 1.0)):  # an emulator that began anew counts from 0
            self.assertIsNone(lab_watch.channel_of("a-b", "forward", {"forward": answer}, before, elapsed)["second"])
        self.assertEqual(lab_watch.channel_of("a-b", "forward", None, then, 2.0), {"name": "a-b", "error": "no answer"})

    def test_a_run_in_virtual_time(self):
        file = self.file(LAB.replace("{run: gs, command: sleep 3600}", "{perf: leo-mcc, data: 1MB, window: 20}"))
        result = self.up(file)
        page = Page(file, "page", "--listen", "0", "--out", self.folder / "out")
        self.addCleanup(page.end)
        state = page.state()
        self.assertEqual((state["phase"], state["mode"]), ("ended", "sim"))
        channel = result["channels"]["leo-gs"]["forward"]
        self.assertEqual(state["links"][0]["ways"][0]["channel"]["lost"], {reason: count for reason, count in channel["dropped"].items() if count})
        self.assertEqual(state["links"][0]["ways"][0]["sender"]["sent"], result["nodes"]["leo"]["links"][0]["bundles_sent"])
        self.assertEqual(state["nodes"][0]["bundles"], result["nodes"]["leo"]["bundles"]["held"])


if __name__ == "__main__":
    cases = (Live,) if KIND == "netns" else (Live, Parts)
    suite = unittest.TestSuite(test for case in cases for test in unittest.defaultTestLoader.loadTestsFromTestCase(case)
                               if not lab_test.sys.argv[4:] or test.id().rsplit(".", 1)[-1] in lab_test.sys.argv[4:])
    lab_test.sys.exit(0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1)
