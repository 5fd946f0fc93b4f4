# SPDX-License-Identifier: Apache-2.0
"""Hostile nodes in the list of the page /network: slow, endless, huge and malformed answers, redirects, markup in names, another node's id. Needs Chromium."""
import itertools
import json
import os
import random
import socket
import threading
import time

import _paths  # noqa: F401
import browser
from attack import main

LONGEST = 8e6     # octets of an answer that the page takes
ANSWERS = 40      # long ones that it may begin to read meanwhile
HEAP = 400        # MiB of the page
WATCHED = 30      # seconds
READERS, ADDRESSES, RATE = 40, 10, "40Mbit/s"
MARKUP = "<img src=x onerror=\"window.taken=1\"><script>window.taken=1</script>\"><svg onload=window.taken=1>\u202e"
PATHS = ("api/top", "api/backlog", "api/plan", "api/events", "api/network")


def good(name, links=1, **more):
    """api/top of a node with such a name, whose links have it, too."""
    columns = ["name", "peer", "state", "tx_bps", "rx_bps", "rate_bps", "bundles"]
    return {"ok": True, "node": {"node": name, "bundles": 1, "uptime_s": 5, **more}, "all": {"links": {"all": 1, "up": 1}}, "columns": columns,
            "rows": [[f"{name}{i}", name, "up", 1, 2, 3, 4] for i in range(links)], "why": [name] * links}


def markup(path, number):
    if path == "api/top":
        return json.dumps(good(f"{number % 3}{MARKUP}", node_name=MARKUP))
    if path == "api/events":
        return json.dumps({"ok": True, "last": number, "events": [{"t_ns": time.time_ns(), "event": MARKUP, "source": MARKUP, "destination": MARKUP, "reason": MARKUP, "link": MARKUP}] * 100})
    return json.dumps({"ok": True, "changes": True, "backlog": [{"destination": MARKUP, "bundles": 1}], "error": MARKUP, "why": MARKUP, "where": MARKUP,
                       "contacts_here": [{"from": MARKUP, "to": "javascript:1", "start": "+1s", "end": MARKUP, "rate_bps": 1}]})


def malformed(path, number):
    """JSON of other shapes: each thing that the page reads has another type, one after the other, or there are far too many."""
    odd = (None, [], {}, "x", -1, 1e308, True, [[]], {"length": 1e9}, [None] * 2000)[number % 10]
    if path == "api/top":
        told = good("ipn:66.0")
        part = list(told)[number // 10 % len(told)]
        told[part] = odd
        if number % 4 == 0:
            told = good("ipn:66.0") | {"rows": [[odd] * 7] * 3 + [odd] * 3}
        if number % 4 == 1:
            told = good("ipn:66.0", links=5000) | {"columns": [str(k) for k in range(5000)]}
        return json.dumps(odd if number % 7 == 0 else told)
    many = [{"from": 1, "to": 2, "start": f"+{n * 5}s", "end": "+9h", "rate_bps": odd} for n in range(20000)]
    events = [{"t_ns": (1e30, -1e30, odd, time.time_ns())[n % 4], "event": odd if n % 2 else "x", "source": odd} for n in range(2000)]
    return json.dumps(odd if number % 5 == 0 else {"ok": odd, "backlog": odd if number % 2 else [odd] * 1000, "contacts_here": many if number % 2 else odd, "last": number, "events": events if number % 3 else odd})


class Server:
    """A hostile node's HTTP server. kind: a function of connection, path and number of the request, which answers it."""

    def __init__(self, kind, origin):
        self.kind, self.origin, self.numbers = kind, origin, itertools.count()

    def head(self, status=200, length=None, **more):
        lines = [f"HTTP/1.1 {status} x", "Content-Type: application/json", f"Access-Control-Allow-Origin: {self.origin}", "Access-Control-Allow-Headers: authorization", "Connection: close"]
        lines += [f"Content-Length: {length}"] if length is not None else []
        return ("\r\n".join(lines + [f"{k}: {v}" for k, v in more.items()]) + "\r\n\r\n").encode()

    def serve(self, s, until):
        with s:
            try:
                s.settimeout(5)
                asked = b""
                while b"\r\n\r\n" not in asked:
                    asked += s.recv(1 << 14) or b"\r\n\r\n"
                if asked.startswith(b"OPTIONS"):
                    s.sendall(self.head(204))
                elif b" /" in asked:
                    self.kind(self, s, asked.split()[1].decode()[1:], next(self.numbers), until)
            except OSError:
                pass

    def attack(self, port):
        def run(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)
            with socket.socket() as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(("127.0.0.1", port))
                listener.listen(64)
                listener.settimeout(1)
                while time.monotonic() < until:
                    try:
                        s = listener.accept()[0]
                    except TimeoutError:
                        continue
                    threading.Thread(target=self.serve, args=(s, until), daemon=True).start()
        return run


def slow(server, s, path, number, until):
    s.sendall(server.head() + b'{"columns": [')
    while time.monotonic() < until:
        s.sendall(b" ")
        time.sleep(0.5)


def late(server, s, path, number, until):
    """Each answer after 7 s, before the page's patience ends."""
    time.sleep(7)
    s.sendall(server.head() + json.dumps(good("ipn:65.0")).encode())


def endless(server, s, path, number, until):
    s.sendall(server.head() + b'{"columns": [')
    while time.monotonic() < until:
        s.sendall(b'"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",' * 1000)


def huge(server, s, path, number, until):
    """1 GB in one text, as the answer or as the reason of a refusal."""
    s.sendall(server.head(200 if number % 2 else 500, length=1 << 30) + b'{"node": "')
    while True:
        s.sendall(b"x" * (1 << 20))


def garbage(server, s, path, number, until):
    octets = random.Random(number).randbytes(1000)
    s.sendall((octets, server.head() + octets, server.head() + b"\xff\xfe{}", server.head(length=10) + b"{", server.head(), b"HTTP/1.1 200\r\n\r\n")[number % 6])


def answering(make):
    def answer(server, s, path, number, until):
        s.sendall(server.head() + make(path.partition("?")[0], number).encode())
    answer.__name__ = make.__name__
    return answer


def redirects(own, other):
    def redirect(server, s, path, number, until):
        to = (f"{own}/api/change", f"{other}/{path}", f"/{path}x", "javascript:window.taken=1", "file:///etc/passwd", f"{own}/{path}")[number % 6]
        s.sendall(server.head((302, 307, 308)[number % 3], Location=to))
    return redirect


def impostor(server, s, path, number, until):
    """Says that it is node 2, with a link of its own."""
    s.sendall(server.head() + json.dumps(good("ipn:2.0") if path == "api/top" else {"ok": True, "changes": True}).encode())


def pages(port):
    """Many browsers at once, each of which asks as the page does."""
    def attack(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)
        for number in itertools.count():
            if time.monotonic() >= until:
                return
            try:
                with socket.socket() as s:
                    s.bind((f"127.0.3.{1 + number % ADDRESSES}", 0))
                    s.settimeout(2)
                    s.connect(("127.0.0.1", port))
                    s.sendall(f"GET /{('network', *PATHS)[number % 6]} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                    while s.recv(1 << 16):
                        pass
            except OSError:
                time.sleep(0.002)
    return attack


def run(scene):
    """Node 1's page shows node 2 and nine hostile nodes. Node 2 is drawn anew all the while, no markup of theirs is executed, nothing is changed, and
    of a long answer little is read. Then forty browsers ask node 1, which has a flow to node 2."""
    ports, servers, (p1, p2) = scene.ports(2), scene.ports(9), scene.ports(2)
    own, other = (f"http://127.0.0.1:{port}" for port in ports)
    keys = {"rate": RATE, "rto": "100ms"}
    kinds = (impostor, slow, late, endless, huge, garbage, answering(markup), answering(malformed), redirects(own, other))
    addresses = ", ".join(f'"http://127.0.0.1:{port}"' for port in (servers[1], servers[3], ports[1], *servers))  # some before node 2, some twice
    scene.node(1, [scene.link(2, p1, p2, **keys)], extra=f"http: {{listen: '0.0.0.0:{ports[0]}', change_token: 0123456789abcdef-change, network: [{addresses}]}}\n")
    scene.node(2, [scene.link(1, p2, p1, **keys)], extra=f"http: {{listen: {ports[1]}, origins: [\"{own}\"]}}\n")
    scene.receiver(2)
    if browser.find() is None:
        raise RuntimeError("chromium is not here")
    with browser.Browser() as b, scene.attack(*[Server(kind, own).attack(port) for kind, port in zip(kinds, servers)], least={"sent": 1000000}, name="hostile nodes"):
        page = b.open(own + "/network")

        def wait(what, seconds=60):
            end = time.monotonic() + seconds
            while not page.evaluate(what) and time.monotonic() < end:
                time.sleep(0.2)
            return bool(page.evaluate(what))

        def row():
            return page.evaluate(f"document.querySelector('#nodes tr[data-url=\"{other}\"]').innerText")

        scene.bound("node 2 is shown", wait(f"/\\sup\\s/.test(document.querySelector('#nodes tr[data-url=\"{other}\"]')?.innerText)"), "==", True)
        page.evaluate("$('bundle').value = 'ipn:2.1,1,1'; follow()")
        times, latest, heap, began = [], None, 0, time.monotonic()
        changed = began
        while time.monotonic() - began < WATCHED:
            now = row()
            if now != latest:  # its time since the start counts up
                times.append(time.monotonic() - changed)
                latest, changed = now, time.monotonic()
            heap = max(heap, page.evaluate("performance.memory.usedJSHeapSize") / 2 ** 20)
            time.sleep(0.2)
        times.append(time.monotonic() - changed)
        scene.figure("times that node 2 was drawn anew", len(times))
        scene.bound("longest time without, s", round(max(times), 1), "<=", 10)
        scene.bound("heap of the page, MiB", round(heap), "<=", HEAP)
        scene.bound("script that ran", page.evaluate("typeof window.taken"), "==", "undefined")
        scene.bound("elements of theirs", page.evaluate("document.querySelectorAll('img, iframe, object, embed, a[href^=javascript], body script ~ script, svg script').length"), "==", 0)
        scene.bound("the impostor is named", page.evaluate("document.querySelector('#trouble').textContent"), "==",
                    f"{other} and http://127.0.0.1:{servers[0]} both say that they are ipn:2.0; only the first one is shown.")
        scene.took_place("shown names with markup", page.evaluate("document.querySelector('#nodes').innerText.includes('<img src=x')"), True)
        foreign = [r for r in page.requests if not r.startswith(("http://127.0.0.1:", "devtools:"))]
        scene.bound("requests to others", foreign, "==", [])
    scene.bound("octets that they sent, MB", round(scene.attacked["sent"] / 1e6), "<=", ANSWERS * 2 * (LONGEST + 8e6) / 1e6)
    with open(scene.lab.path("node1.log"), encoding="utf-8") as f:
        scene.bound("changes", f.read().count("changed:"), "==", 0)
    phases = scene.phases(lambda: scene.goodput(1, 2), *[pages(ports[0])] * 4, name="browsers", least={"received": 1000000, "connections": 500})
    scene.bound("goodput kept, browsers", phases["during_ratio"], ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(scene.nodes[1]), "<=", 256)


if __name__ == "__main__":
    main(run)
