# SPDX-License-Identifier: Apache-2.0
"""The folder of a running lab: its sockets, and the process that runs it. It is named after the lab file.

The path is short, because a UNIX socket's path is limited to 107 bytes, and the folder belongs to the user.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from ..processes import Failed, Mistaken


def root() -> str:
    path = os.path.join(tempfile.gettempdir(), f"helio-lab-{os.getuid()}")
    os.makedirs(path, mode=0o700, exist_ok=True)
    known = os.lstat(path)
    if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.getuid():
        raise Failed(f"{path} is not a folder of yours; remove it")
    return path


def name_of(file: str) -> str:
    """Of a lab: its file's name and a sign of its place."""
    full = os.path.realpath(file)
    stem = "".join(c for c in os.path.splitext(os.path.basename(full))[0] if c.isalnum() or c in "-_")[:20]
    return f"{stem}-{hashlib.sha256(full.encode()).hexdigest()[:6]}"


def started_at(process: int) -> str | None:
    """When a process began, in the kernel's count; None: there is none."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def runs(known: Any) -> Any:
    return started_at(known["pid"]) == known["started"]


def await_end(known: Any, seconds: int = 120) -> None:
    """Until the process that ran the lab has written its result and is gone."""
    give_up = time.monotonic() + seconds
    while runs(known):
        if time.monotonic() > give_up:
            raise Failed(f"the lab does not end (process {known['pid']})")
        time.sleep(0.05)


def is_ending(state: State, known: Any, seconds: int = 60) -> Any:
    """No answer: has the lab ended? It has this long to end."""
    give_up = time.monotonic() + seconds
    while state.load() is not None and runs(known):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.05)
    return True


def spaces_left(name: str) -> Iterator[Any]:
    """Network namespaces of the lab, with the number of processes in each."""
    found = []
    with contextlib.suppress(OSError):
        found = sorted(space for space in os.listdir("/run/netns") if space.startswith(f"{name}-"))
    for space in found:
        done = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        yield space, len(done.stdout.split())


def of_killed(state: State) -> Any:
    """The state of a lab whose process has disappeared without an ordered end; None: there is no such lab."""
    try:
        with open(state.file, encoding="utf-8") as f:
            known = json.load(f)
    except (OSError, ValueError):
        return None
    return None if runs(known) else known


def left(state: State) -> Any:
    """What a killed lab left behind, in lines."""
    known, spaces = of_killed(state), list(spaces_left(state.name))
    if known is None and not spaces:
        return None
    lines = [f"network namespace {space}" + (f" (processes: {processes})" if processes else "") for space, processes in spaces]
    lines += [f"{path} at {now}, which was {before}" for path, before, now in limits_left(known or {})]
    if os.path.isdir(state.folder):
        lines.append(f"{state.folder} (its sockets)")
    if known:
        lines.append(f"{known['out']} (its logs; they stay)")
    return {"pid": known["pid"] if known else "unknown", "lines": lines}


def limits_left(known: dict[str, Any]) -> Iterator[Any]:
    """Limits of the kernel that mode netns had raised: those that are still as it made them."""
    for path, (before, raised) in known.get("limits", {}).items():
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as f:
            now = int(f.read())
            if now == raised:
                yield path, before, now


def restore_limits(state: State) -> None:
    for path, before, _ in limits_left(of_killed(state) or {}):
        with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as f:
            f.write(str(before))


class State:
    def __init__(self, file: str) -> None:
        self.name = name_of(file)
        self.folder = os.path.join(root(), self.name)
        self.file = os.path.join(self.folder, "state.json")
        self.socket = os.path.join(self.folder, "lab.sock")

    def load(self) -> Any:
        """What runs; None: nothing does."""
        try:
            with open(self.file, encoding="utf-8") as f:
                known = json.load(f)
        except (OSError, ValueError):
            return None
        return known if runs(known) else None

    def take(self) -> None:
        """The folder is this process's from now on."""
        running = self.load()
        if running:
            raise Failed(f"this lab is up already (process {running['pid']}, {running['out']}); helio-lab FILE down ends it")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder, mode=0o700)

    def save(self, **known: Any) -> None:
        part = self.file + ".part"
        with open(part, "w", encoding="utf-8") as f:
            json.dump({"pid": os.getpid(), "started": started_at(os.getpid()), **known}, f, indent=2)
        os.replace(part, self.file)

    def drop(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, question: Any, timeout: Any = 60) -> Any:
        """A request to the process that runs the lab, and its answer."""
        if self.load() is None:
            raise Failed("this lab is not up; helio-lab FILE up starts it")
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(timeout)
            try:
                s.connect(self.socket)
                s.sendall(json.dumps(question).encode() + b"\n")
                answer: Any = b"".join(iter(lambda: s.recv(65536), b""))
            except OSError as e:
                raise Failed(f"the lab does not answer: {e}") from None
        try:
            answer = json.loads(answer)
        except ValueError:
            raise Failed("the lab ended") from None
        if "error" in answer:
            raise (Mistaken if answer.get("usage") else Failed)(answer["error"])
        return answer
