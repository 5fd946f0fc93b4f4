# SPDX-License-Identifier: Apache-2.0
"""Changes of links over HTTP: without the token, with guessed ones, from pages of other sites, with long and slow bodies, and contradictory ones."""
import http.client
import itertools
import json
import os
import random
import re
import socket
import time

from attack import drain, main

TOKEN, CHANGE = "0123456789abcdef-read", "0123456789abcdef-change"
ADDRESSES, SLOW, RATE = 10, 60, "40Mbit/s"
OWN, FOREIGN = "http://127.0.0.1:{port}", "http://attacker.example"
DOWN = json.dumps({"cmd": "link", "name": "spare", "state": "down"}).encode()
WORDS = {"Content-Type": "application/json"}
SIMPLE = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")  # what a page sends without asking before


def request(body, token=None, host="localhost", method="POST", path="/api/change", length=None, **headers):
    """One request as bytes; length: what it says of its body, if not the truth."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"Authorization: Bearer {token}"] if token is not None else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def connect(port, number):
    s = socket.socket()
    s.bind((f"127.0.3.{1 + number % ADDRESSES}", 0))
    s.settimeout(2)
    s.connect(("127.0.0.1", port))
    return s


def repeat(port, what):
    """Requests of what(), as fast as they are answered, over connections from ten addresses."""
    def attack(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)
        for number, data in enumerate(what()):
            if time.monotonic() >= until:
                return
            try:
                if number % 100 == 0:
                    s = connect(port, number // 100)
                s.sendall(data)
                s.recv(1 << 16)
            except OSError:
                time.sleep(0.002)
                try:
                    s = connect(port, number)
                except OSError:
                    pass
    return attack


def guesses():
    rng = random.Random(1)
    for number in itertools.count():
        guess = (CHANGE[:-1] + chr(33 + number % 60), CHANGE[:number % len(CHANGE)], CHANGE + "x", "", TOKEN, rng.randbytes(12).hex(), "x" * 2000)[number % 7]
        yield request(DOWN, guess if number % 8 else None)


def other_sites():
    for number in itertools.count():
        headers = {"Origin": (FOREIGN, "null", "http://localhost.attacker.example")[number % 3]}
        yield (request(DOWN, Content_Type=SIMPLE[number % 3], **headers), request(DOWN, CHANGE, host="attacker.example", **headers),
               request(b"", method="OPTIONS", Access_Control_Request_Method="POST", Access_Control_Request_Headers="authorization", **headers),
               request(b"", CHANGE, method="GET", path="/api/change?" + DOWN.decode().replace(" ", "%20").replace('"', "%22"), **headers))[number % 4]


def odd_changes():
    """With the token: what is no change of a link, and changes that end in an error."""
    bomb = "{a: &a [x,x,x,x,x,x,x,x], b: &b [*a,*a,*a,*a,*a,*a,*a,*a], c: &c [*b,*b,*b,*b,*b,*b,*b,*b], d: [*c,*c,*c,*c,*c,*c,*c,*c]}"
    bodies = [json.dumps(o).encode() for o in ({"cmd": "reload"}, {"cmd": "delete", "destination": "*"}, {"cmd": "link-remove", "name": "spare"}, {"cmd": "link-add", "link": "{}"},
              {"cmd": "route-add", "to": "*", "link": "spare"}, {"cmd": "status"}, {"cmd": ["link"]}, {"cmd": "link", "name": ["spare"], "state": "down"}, {"cmd": "link", "name": "spare"},
              {"cmd": "link", "name": "spare", "state": "sideways"}, {"cmd": "link-set", "name": "spare", "keys": bomb}, {"cmd": "link-set", "name": "spare", "keys": "{" * 2000},
              {"cmd": "link-set", "name": "spare", "keys": "{peer: ipn:9.0}"}, {"cmd": "link-set", "name": "spare", "keys": "{local: '0.0.0.0:1'}"},
              {"cmd": "link-set", "name": "spare", "keys": "{name: other}"}, {"cmd": "link-set", "name": "spare", "keys": "{auth: {keys: /etc/shadow}}"},
              {"cmd": "link-set", "name": "spare\n<3>", "keys": "{rate: 1Mbit/s}"})]
    bodies += [b'{"cmd": "link", "cmd": "reload"}', b'{"cmd": "link", "name": "spare", "state": "down"}\0{"cmd": "reload"}'[:49] + b"x", b"[" * 4000, b'{"a":' * 800, b"\xff" * 4096, b"x" * 4097, b""]
    for number in itertools.count():
        yield request(bodies[number % len(bodies)], CHANGE)


def contradictory(mbit):
    def changes():
        for number in itertools.count():
            yield request(json.dumps({"cmd": "link-set", "name": "busy", "keys": f"{{rate: {mbit}Mbit/s}}"}).encode(), CHANGE)
    return changes


def long_bodies(port):
    """Bodies that never end, by their length, by chunks, and with lengths that are none; with and without the token."""
    heads = (request(b"", CHANGE, length=1 << 62), request(b"", None, length=1 << 62), request(b"", CHANGE, length=1 << 64), request(b"", CHANGE, length=-1), request(b"", "no", length=1 << 40),
             request(b"", CHANGE).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))

    def attack(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)
        held = {}
        chunk, octets = b"10000\r\n" + bytes(1 << 16) + b"\r\n", bytes(1 << 16)
        for number in itertools.count():
            if time.monotonic() >= until:
                return
            while len(held) < 12:
                try:
                    s = connect(port, number + len(held))
                    s.sendall(heads[(number + len(held)) % len(heads)])
                except OSError:
                    break
                s.setblocking(False)
                held[s] = chunk if (number + len(held)) % len(heads) == 5 else octets
            for s, data in list(held.items()):
                try:
                    s.send(data)
                    there = drain(s)
                except BlockingIOError:
                    there = True
                except OSError:
                    there = False
                if not there:
                    s.close()
                    del held[s]
            time.sleep(0.001)
    return attack


def slow_bodies(port):
    """An octet of the body in each twentieth of a second, over as many connections as there are places."""
    def attack(until):
        held, number = [], 0
        while time.monotonic() < until:
            while len(held) < SLOW:
                number += 1
                try:
                    s = connect(port, number)
                    s.sendall(request(b"", CHANGE, length=4000))
                except OSError:
                    break
                s.setblocking(False)
                held.append(s)
            for s in held[:]:
                try:
                    s.send(b" ")
                    there = drain(s)
                except OSError:
                    there = False
                if not there:
                    s.close()
                    held.remove(s)
            time.sleep(0.05)
    return attack


def run(scene):
    """Node 1 permits changes with a token. Beside each attack an LTP transfer and a scraper go on. Nothing changes but what the two with the token say."""
    port, p1, p2, a, b, c, d = scene.ports(7)
    keys = {"rate": RATE, "rto": "100ms"}
    spare = [scene.link(peer, own, other, name=name, rto="100ms") for peer, own, other, name in ((8, a, b, "spare"), (9, c, d, "busy"))]
    node = scene.node(1, [scene.link(2, p1, p2, **keys), *spare],
                      extra=f"http: {{listen: '0.0.0.0:{port}', token: {TOKEN}, change_token: {CHANGE}, origins: [\"{OWN.format(port=port)}\"]}}\n")
    scene.node(2, [scene.link(1, p2, p1, **keys)])
    scene.receiver(2)
    slowest = 0.0

    def scrape():
        """Seconds; 1000 for one that fails."""
        begin, good = time.monotonic(), False
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            client.request("GET", "/metrics", headers={"Authorization": "Bearer " + TOKEN})
            answer = client.getresponse()
            good = answer.status == 200 and answer.read().endswith(b"\n")
        except (OSError, http.client.HTTPException):
            pass
        client.close()
        return time.monotonic() - begin if good else 1000

    def measure():
        nonlocal slowest
        slowest = max(slowest, *(scrape() for _ in range(10)))
        return scene.goodput(1, 2)

    def answer(data):
        """The status of one request."""
        with connect(port, 0) as s:
            s.sendall(data)
            return int(s.recv(1 << 16).split()[1])

    def states():
        return {one["name"]: one["state"] for one in scene.control(1, "links")["links"]}

    def log():
        with open(scene.lab.path("node1.log"), encoding="utf-8") as f:
            return f.read()

    def changed():
        return re.findall(r"HTTP, [0-9.:]+ changed: .*?rate: ([0-9]+)Mbit/s", log())

    first = states()
    for name, attackers, least in (("guessed tokens", [repeat(port, guesses)] * 3, {"received": 100000}), ("pages of other sites", [repeat(port, other_sites)] * 3, {"received": 100000}),
                                   ("what is no change", [repeat(port, odd_changes)] * 2, {"received": 50000}), ("long bodies", [long_bodies(port)], {"sent": 10000000}),
                                   ("slow bodies", [slow_bodies(port)] * 2, {"connections": SLOW})):
        slowest = 0.0
        phases = scene.phases(measure, *attackers, name=name, least=least)
        scene.bound(f"goodput kept, {name}", phases["during_ratio"], ">=", 0.4)
        scene.bound(f"slowest scrape, {name}, s", round(slowest, 3), "<=", 1.0)
        scene.bound(f"changes by {name}", len(re.findall("changed:", log())), "==", 0)
    scene.bound("states of links", {k: v for k, v in states().items() if k != "to-2"}, "==", {k: v for k, v in first.items() if k != "to-2"})
    name = "contradictory changes"
    phases = scene.phases(measure, repeat(port, contradictory(3)), repeat(port, contradictory(7)), name=name, least={"received": 10000})
    scene.bound(f"goodput kept, {name}", phases["during_ratio"], ">=", 0.4)
    made = changed()
    scene.took_place("changes of each", min(made.count("3"), made.count("7")), 20)
    rate = next(one for one in scene.control(1, "links")["links"] if one["name"] == "busy")["rate_bps"]
    scene.bound("the last change of the log holds", rate, "==", int(made[-1]) * 1000000)
    for what, data, status in (("no token", request(DOWN), 401), ("the token of readers", request(DOWN, TOKEN), 401), ("another Host", request(DOWN, CHANGE, host="attacker.example"), 421),
                               ("4,097 octets", request(b" " * 4097, CHANGE), 413), ("another command", request(b'{"cmd": "reload"}', CHANGE), 400),
                               ("a page's question before", request(b"", method="OPTIONS", Origin=FOREIGN), 405), ("the token", request(DOWN, CHANGE), 200)):
        scene.bound(f"status, {what}", answer(data), "==", status)
    scene.bound("the change is made", states()["spare"], "==", "down")
    scene.bound("tokens in the log", log().count(CHANGE) + log().count(TOKEN), "==", 0)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 256)


if __name__ == "__main__":
    main(run)
