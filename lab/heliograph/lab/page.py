# SPDX-License-Identifier: Apache-2.0
"""helio-lab FILE page: the whole lab in a browser, with its map, renewed each second.

    /             the page, with all that it needs
    /state.json   what it shows (watch)
    /sessions.json?link=A-B   open sessions at both ends
    /way.json?bundle=ID       what each node says of one bundle
    /role.json    may this browser change links?
    /change       (POST) {"link": "A-B", "do": "down", "up" or "set", "keys": ["rate=1Mbit/s"]}

A request is answered under the conditions of the nodes' own page (docs/metrics.md): its Host header is localhost, the connection's local address, or
one of the names given. Otherwise a page of another site, whose name leads to this machine, could read all figures. With an access token (always,
unless it listens to this machine alone or an option says otherwise) figures are for those who send it: Authorization: Bearer TOKEN. The page itself has
no figures. Links can be changed by those who send the change token, if the page was started with one; it is wanted on this machine, too, so that no
page of another site can do it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.server
import ipaddress
import json
import os
import secrets
import socket
import stat
import sys
import threading
import urllib.parse
from pathlib import Path
from typing import Any

from .. import places
from ..processes import Failed, Mistaken
from . import state, watch

FIRST_PORT, PORTS = 9480, 20  # the first free one of them, unless one is given
CONNECTIONS_MAX = 64          # at a time
SILENCE = 30                  # seconds
TOKEN_LEAST, TOKEN_MOST = 16, 256
CHANGE_MAX = 4096             # bytes of a request
FIGURES = ("/state.json", "/sessions.json", "/way.json", "/role.json")
HERE = Path(__file__).resolve().parent
PAGE = """<!DOCTYPE html>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>helio-lab</title>
<link rel="icon" href="data:,">
<style>{style}</style></head><body>
<header><h1 id="title">helio-lab</h1><span id="about" class="dim"></span></header>
<form id="ask" hidden><label>access token <input id="token" type="password" autocomplete="off" size="30"></label> <button>use</button></form>
<div id="trouble" role="alert"></div>
<div id="tiles"></div>
<div id="map"></div>
<p id="legend" class="dim"></p>
<h2>Links</h2>
<div class="scroll"><table id="links"><thead></thead><tbody></tbody></table></div>
<form id="change" hidden><b id="changed_link"></b> <button name="down" type="button">down</button> <button name="up" type="button">up</button>
<label>rate <input name="rate" size="10" placeholder="5Mbit/s"></label> <label>queues <select name="queues"><option></option><option>weighted</option><option>strict</option></select></label>
<label>other keys <input name="keys" size="24" placeholder="KEY=VALUE"></label> <button>set</button> <span id="change_said" role="status"></span></form>
<div id="sessions"></div>
<section id="networks_of" hidden><h2>Networks of ground stations</h2>
<div class="scroll"><table id="networks"><thead></thead><tbody></tbody></table></div></section>
<h2>Nodes</h2>
<div class="scroll"><table id="nodes"><thead></thead><tbody></tbody></table></div>
<h2>Waiting bundles, by place</h2>
<div class="scroll"><table id="waits"><thead></thead><tbody></tbody></table></div>
<form id="find"><label>the path of bundle <input id="bundle" size="34" placeholder="SOURCE,CREATED,SEQUENCE" autocomplete="off"></label> <button>show</button></form>
<div class="scroll"><table id="way" hidden><thead></thead><tbody></tbody></table></div>
<div class="columns">
<section><h2>Contacts to come <span id="contacts_total" class="dim"></span></h2><div id="timeline"></div><div class="scroll"><table id="contacts"><thead></thead><tbody></tbody></table></div></section>
<section><h2>Traffic</h2><div class="scroll"><table id="traffic"><tbody></tbody></table></div>
<h2>Events</h2><div class="scroll" id="past"><table id="events"><tbody></tbody></table></div></section>
</div>
<script>{script}</script></body></html>
"""


def made_page() -> Any:
    """The page, and the policy that lets a browser run its own script and style and no others."""
    style, parts, script = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page_parts.js", "page.js"))
    script = script.replace('"use strict";\n', '"use strict";\n' + parts, 1)
    style_hash, script_hash = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    policy = (f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; connect-src 'self'; img-src data:; "
              "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    return PAGE.replace("{style}", style).replace("{script}", script).encode(), policy


def asked_change(told: Any) -> dict[str, Any]:
    """The question for the lab's process."""
    from .cli import changes
    question = {"link": str(told["link"]), "do": str(told["do"])}
    if question["do"] not in ("down", "up", "set"):
        raise ValueError
    return {**question, "keys": dict(changes([str(one) for one in told["keys"]]))} if question["do"] == "set" else question


def host_of(text: Any) -> Any:
    """The host of "HOST:PORT" or "[HOST]:PORT", without a dot at its end; "": there is none."""
    if text.startswith("["):
        host, end, rest = text[1:].partition("]")
        host = host if end and (not rest or rest.startswith(":")) else ""
    else:
        host = text.rpartition(":")[0] if text.count(":") == 1 else text
    return host.removesuffix(".").lower()


def is_own(host: Any, local: Any, names: Any) -> Any:
    """May a request with this host be answered at the local address of its connection?"""
    if host == "localhost" or host in names:
        return True
    try:
        given, own = ipaddress.ip_address(host), ipaddress.ip_address(local.partition("%")[0])
    except ValueError:
        return False
    return given in (own, getattr(own, "ipv4_mapped", None))


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "helio-lab", ""
    timeout = SILENCE

    def refused(self) -> Any:
        """(code, text), or None."""
        hosts: Any = self.headers.get_all("Host", [])
        if len(hosts) > 1 or not hosts and self.request_version != "HTTP/1.0":
            return 400, "one Host header is wanted\n"
        if hosts and not is_own(host_of(hosts[0].strip()), self.connection.getsockname()[0], self.server.names):
            return 421, "this is no name of this server; --host NAME adds one\n"
        return None

    def has(self, token: Any) -> bool:
        return token is not None and hmac.compare_digest(self.headers.get("Authorization", "").encode(), b"Bearer " + token.encode())

    def may_read(self) -> bool:
        return self.server.token is None or self.has(self.server.token) or self.has(self.server.change_token)

    def do_GET(self) -> None:
        path = urllib.parse.urlsplit(self.path)
        refused = self.refused()
        if refused:
            self.answer(refused[0], "text/plain", refused[1].encode())
        elif path.path == "/":
            self.answer(200, "text/html", self.server.page)
        elif path.path in FIGURES and not self.may_read():
            self.answer(401, "text/plain", b"the access token is wanted: Authorization: Bearer TOKEN\n")
        elif path.path == "/state.json":
            self.answer(200, "application/json", self.server.source.latest())
        elif path.path == "/sessions.json":
            link: Any = urllib.parse.parse_qs(path.query).get("link", [""])[0]
            told = self.server.source.sessions(link)
            self.answer(404 if told is None else 200, "application/json", json.dumps(told).encode())
        elif path.path == "/way.json":
            told = self.server.source.way(urllib.parse.parse_qs(path.query).get("bundle", [""])[0])
            self.answer(404 if told is None else 200, "application/json", json.dumps(told).encode())
        elif path.path == "/role.json":
            self.answer(200, "application/json", json.dumps({"change": self.has(self.server.change_token)}).encode())
        else:
            self.answer(404, "text/plain", b"there are /, /state.json, /sessions.json?link=A-B, /way.json?bundle=ID and /role.json\n")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        refused = self.refused()
        length = self.headers.get("Content-Length", "")
        if refused or not length.isdigit() or int(length) > CHANGE_MAX:
            code, text = refused or (413, f"a request has up to {CHANGE_MAX} bytes\n")
            self.close_connection = True
            self.answer(code, "text/plain", text.encode())
            return
        body = self.rfile.read(int(length))
        if self.path != "/change":
            self.answer(404, "text/plain", b"there is /change\n")
        elif self.server.change_token is None:
            self.answer(403, "text/plain", b"nothing can be changed on this page; helio-lab FILE page --change permits it\n")
        elif not self.has(self.server.change_token):
            self.answer(401, "text/plain", b"the change token is wanted: Authorization: Bearer TOKEN\n")
        else:
            self.change(body)

    def change(self, body: bytes) -> None:
        try:
            question = asked_change(json.loads(body))
            self.server.source.change(question)
        except (Failed, places.PlacesError, ValueError, KeyError, TypeError, AttributeError) as e:
            known = isinstance(e, (Failed, places.PlacesError))
            self.answer(400, "text/plain", f"{e if known else 'this is no change of a link'}\n".encode())
            return
        words = " ".join([question["link"], question["do"], *sorted(question.get("keys", ()))])
        print(f"helio-lab: changed from {self.client_address[0]}: link {words}", flush=True)
        self.answer(200, "application/json", b"{}")

    def answer(self, code: Any, kind: Any, body: Any) -> None:
        self.send_response(code)
        for name, value in (("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body))), ("Cache-Control", "no-store"),
                            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
                            ("Content-Security-Policy", self.server.policy)):
            self.send_header(name, value)
        if code == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if code in (400, 421):
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: the page asks each second."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: Any, source: Any, names: Any = (), token: Any = None) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.source, self.names, self.token = source, {name.lower() for name in names}, token
        self.change_token: str | None = None
        self.page, self.policy = made_page()
        self.places = threading.BoundedSemaphore(CONNECTIONS_MAX)
        super().__init__(address, Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that closes the connection is no error of ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> Any:
        host, port = str(self.server_address[0]), self.server_address[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


class Folder:
    """The last state of a finished run, in place of a Watch."""

    def __init__(self, out: str) -> None:
        self.text = json.dumps(watch.finished(out)).encode()

    def latest(self) -> Any:
        return self.text

    def sessions(self, _: Any) -> None:
        return None

    way = sessions

    def change(self, _: Any) -> None:
        raise Failed("the lab has ended")

    def close(self) -> None:
        pass


def address_of(text: Any) -> Any:
    """(host, port) of PORT or ADDRESS:PORT."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    try:
        ipaddress.ip_address(host)
        if not 0 <= int(port) < 65536:
            raise ValueError
    except ValueError:
        raise Mistaken(f"--listen {text}: is not understood; write a port, or ADDRESS:PORT, such as 127.0.0.1:{FIRST_PORT}") from None
    return host, int(port)


def opened(listen: Any, source: str, names: Any) -> Any:
    """The server; without an address at the first free port from FIRST_PORT on."""
    if listen:
        address = address_of(listen)
        try:
            return Server(address, source, names)
        except OSError as e:
            raise Failed(f"--listen {listen}: {e.strerror}") from None
    for port in range(FIRST_PORT, FIRST_PORT + PORTS):
        try:
            return Server(("127.0.0.1", port), source, names)
        except OSError:
            continue
    raise Failed(f"no port of 127.0.0.1 from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} is free; give one with --listen")


def token_in(path: str, option: str = "--token-file") -> Any:
    """The access token in a file that is not for all users."""
    try:
        with open(path, encoding="ascii") as f:
            if os.fstat(f.fileno()).st_mode & (stat.S_IROTH | stat.S_IWOTH):
                raise Mistaken(f"{option} {path}: all users may read or write it; write: chmod o= {path}")
            token = f.read(4096).strip()
    except (OSError, ValueError) as e:
        raise Mistaken(f"{option} {path}: {getattr(e, 'strerror', None) or 'is no text'}") from None
    if not TOKEN_LEAST <= len(token) <= TOKEN_MOST or not token.isprintable() or " " in token:
        raise Mistaken(f"{option} {path}: write {TOKEN_LEAST} to {TOKEN_MOST} characters without blanks into it")
    return token


def chosen_token(server: Any, token: Any, without: Any) -> Any:
    """Beyond this machine a page has one: the given one, or a new one, unless it is to have none."""
    if token is None and not without and not ipaddress.ip_address(server.server_address[0]).is_loopback:
        return secrets.token_urlsafe(24)
    return token


def serve(source: Any, listen: Any, names: Any, token: Any, without: Any, change: Any = None) -> Any:
    """Until Ctrl-C. token: a given one, or None; without: none at all. change: the change token; "": a new one; None: nothing can be changed."""
    server = opened(listen, source, names)
    server.token = chosen_token(server, token, without)
    if without and not ipaddress.ip_address(server.server_address[0]).is_loopback:
        print(f"helio-lab: WARNING: all who reach {server.url} can read the page; without --no-token they need its access token", file=sys.stderr)
    shown = f"#{urllib.parse.quote(server.token)}" if server.token is not None and token is None else ""
    print(f"helio-lab: the page is {server.url}{shown} (Ctrl-C ends it, not the lab)", flush=True)
    if change is not None:
        server.change_token = change or secrets.token_urlsafe(24)
        print("helio-lab: links can be changed with " + (f"{server.url}#{urllib.parse.quote(server.change_token)}" if not change else "the change token"), flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
        source.close()
    return 0


def show(file: str, out: Any, listen: Any, names: Any, token_file: Any = None, without: bool = False, change: Any = None) -> Any:
    """out: the folder of a finished run, in place of the running lab. change: a file with the change token; "": a new one."""
    token = token_in(token_file) if token_file else None
    change = token_in(change, "--change") if change else change
    return serve(Folder(out) if out else watch.Watch(state.State(file)).start(), listen, names, token, without, change)
