# SPDX-License-Identifier: Apache-2.0
"""Processes of an experiment on the loopback interface: nodes, relay, generators. Used by the demo and by the tests.

    with Lab("build/release/bin", "out/x") as lab:
        p1, p2 = lab.udp_ports(2)
        node1 = lab.node(1, links=[lab.link(2, p1, p2)])
        ...
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

from . import link_keys, ports


class Failed(Exception):
    """Something that the user should read, without a traceback."""


class Missing(Failed):
    """What this machine would need for it is not there."""


class Mistaken(Failed):
    """A wrong argument of its call: exit code 2."""


PR_SET_PDEATHSIG = 1
START, STOP = 120.0, 120.0  # seconds that a node may take: a slow machine is not a failure
LIBC = ctypes.CDLL(None)


def die_with_parent() -> Callable[..., Any]:
    """For a child to begin with: whatever becomes of us, it does not stay behind."""
    parent = os.getpid()

    def begin() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it has ended before
            os._exit(1)

    return begin


def private(path: str, flags: int) -> int:
    """An opener for files with passwords or tokens, which our programs refuse when all users may read them."""
    fd = os.open(path, flags, 0o640)
    os.fchmod(fd, 0o640)  # it may have been there
    return fd


class Lab:
    def __init__(self, programs: str, out: str) -> None:
        self.programs = os.path.abspath(programs)
        self.out = os.path.abspath(out)
        self.processes: list[Any] = []  # (name, Popen)
        os.makedirs(self.out, exist_ok=True)
        # a UNIX socket's path is limited to 107 bytes, the output folder's is not
        self.sockets = tempfile.mkdtemp(prefix="helio-")

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        for _, p in reversed(self.processes):
            if p.poll() is None:
                with contextlib.suppress(OSError):  # another user's may not be ended
                    p.terminate()
        for _, p in self.processes:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                    p.kill()
                    p.wait(5)
        shutil.rmtree(self.sockets, ignore_errors=True)

    def path(self, name: str) -> str:
        return os.path.join(self.out, name)

    def socket(self, number: Any) -> Any:
        return f"{self.sockets}/node{number}.sock"

    def program(self, name: str) -> str:
        return os.path.join(self.programs, name)

    @staticmethod
    def udp_ports(count: Any) -> Any:
        """Ports of 127.0.0.1 that neither a program nor another lab uses now."""
        return ports.free_ports(count)

    def command(self, name: str, program: Any, *arguments: Any) -> Any:
        """How the process called NAME is started; other labs put it elsewhere."""
        del name
        return [self.program(program), *arguments]

    def start(self, name: str, program: Any, *arguments: Any) -> Any:
        """A program whose output is written to NAME.log."""
        with open(self.path(name + ".log"), "a") as log:
            p = subprocess.Popen(self.command(name, program, *arguments), stdout=log, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent())
        self.processes.append((name, p))
        return p

    def why(self, name: str) -> Any:
        """The last lines of a program's log, for a message."""
        with open(self.path(name + ".log")) as f:
            lines = f.read().strip().splitlines()[-4:]
        return "".join(f"\n    {line}" for line in lines) + f"\n    ({self.path(name + '.log')})"

    def run(self, program: Any, *arguments: Any, timeout: int = 120) -> Any:
        """A program to its end; its standard output. Its messages go to ours."""
        done = subprocess.run([self.program(program), *arguments], stdout=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout)
        if done.returncode != 0:
            raise Failed(f"{program} {' '.join(arguments)}: exit code {done.returncode}")
        return done.stdout

    def stop(self, name: str, p: subprocess.Popen[Any], sig: Any = signal.SIGTERM) -> None:
        if p.poll() is None:
            p.send_signal(sig)
        try:
            code = p.wait(STOP)
        except subprocess.TimeoutExpired:
            p.kill()
            raise Failed(f"{name} did not stop:{self.why(name)}") from None
        if code != 0:
            raise Failed(f"{name} ended with exit code {code}:{self.why(name)}")

    @staticmethod
    def link(peer: Any, local: Any, remote: Any, **keys: Any) -> Any:
        """A link of a node's configuration; keys as in docs/ltp-udp.md."""
        link = {"name": f"to-{peer}", "adapter": "ltp-udp", "peer": f"ipn:{peer}.0",
                "local": f"127.0.0.1:{local}", "remote": f"127.0.0.1:{remote}"}
        link.update(keys)
        return link

    def write_node(self, number: Any, links: Any, store: str = "{durability: none}", log: bool = True, extra: str = "") -> Any:
        text = f"# node {number}; docs/heliod.md explains every key\nnode: ipn:{number}.0\n"
        text += f"socket: {self.socket(number)}\nstore: {store}\n"
        logs: Any = {True: ("segments",), False: ()}.get(log, log)  # or their names
        if logs:
            files = ", ".join(f"{what}: {self.path(f'node{number}.{what}.csv')}" for what in logs)
            text += f"log: {{{files}}}\n"
        text += extra
        text += "links:\n"
        for link in links:
            lines = link_keys.lines(link, self.program("heliod"))
            text += "  - " + "\n    ".join(lines) + "\n"
        path = self.path(f"node{number}.yaml")
        secret = "token:" in text or "password:" in text or "cookie:" in text
        with open(path, "w", opener=private if secret else None) as f:
            f.write(text)
        return path

    def start_node(self, number: Any, config: Any) -> Any:
        """Starts a node and waits until it serves applications and links."""
        name = f"node{number}"
        p = self.start(name, "heliod", config)
        give_up = time.monotonic() + START
        while time.monotonic() < give_up:
            if p.poll() is not None:
                break
            try:
                with socket.socket(socket.AF_UNIX) as s:
                    s.settimeout(START)
                    s.connect(self.socket(number))
                    if s.recv(1):  # it greets: its links are there, too
                        return p
            except OSError:
                time.sleep(0.02)
        raise Failed(f"{name} did not start:{self.why(name)}")

    def control(self, number: Any, *words: Any) -> Any:
        """What helioctl says about a node, as an object."""
        return json.loads(self.run("helioctl", "--socket", self.socket(number) + ".ctl", "--timeout", "60s", "--json", *words))

    def load(self, name: str) -> Any:
        with open(self.path(name)) as f:
            return json.load(f)
