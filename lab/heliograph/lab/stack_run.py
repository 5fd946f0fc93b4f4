# SPDX-License-Identifier: Apache-2.0
"""A node of another implementation while the lab runs: its process, its output, commands at it, and its end.

The normal case: it is started when all our nodes run, prints its `ready`, and gets its stop command and signal at the end. It may end by itself. Then
the lab continues and status shows the exit code; an exit code other than 0 is a failure of the lab.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from .. import units
from ..groups import end_group
from ..processes import Failed, die_with_parent
from ..stacks import kinds as stacks
from . import stack_files

if TYPE_CHECKING:
    from .derive import Command
    from .live import Session

LINE_MAX = 4096  # bytes at the end of a log, of which the last line is shown


def last_line(path: str) -> Any:
    try:
        with open(path, "rb") as f:
            f.seek(max(0, os.path.getsize(path) - LINE_MAX))
            lines = f.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def logs_in(folder: str) -> Any:
    """Files with messages that a stack writes itself, such as ion.log."""
    return sorted(os.path.join(folder, name) for name in (os.listdir(folder) if os.path.isdir(folder) else []) if name.endswith(".log"))


class Runner:
    def __init__(self, session: Session, derived: Any) -> None:
        self.session, self.node, self.plan = session, derived.node, derived.plan
        self.env, self.place = stack_files.environment(derived), derived.place
        self.log = f"node{self.node.number}"
        self.process: Any = None
        self.commands: list[Any] = []  # of `run` at this node
        self.over = False   # it has been ended by us

    @property
    def key(self) -> Any:
        """For messages."""
        return f"{self.place[0]}:{self.place[1]}: nodes.{self.node.name}" if self.place and self.place[1] else f"nodes.{self.node.name}"

    def described(self) -> Any:
        """What other processes need for commands at the node."""
        return {"folder": self.node.folder, "log": self.log, "enter": list(self.plan.enter), "serves": self.plan.serves, "kind": self.node.kind,
                "env": {name: value for name, value in self.env.items() if os.environ.get(name) != value}}

    # ---- beginning ----

    def begin(self) -> None:
        try:
            self.process = self.session.begin_program(self.log, self.node.name, self.plan.command, cwd=self.node.folder, env=self.env)
        except OSError as e:
            raise Failed(f"{self.key}: {self.plan.command[0]}: {e.strerror}") from None
        if self.plan.ready is not None:
            self.await_ready()

    def await_ready(self) -> None:
        end = time.monotonic() + units.duration(self.plan.ready_within)
        while True:
            with open(self.session.path(self.log + ".log"), encoding="utf-8", errors="replace") as f:
                if re.search(self.plan.ready, f.read()):
                    return
            if self.process.poll() is not None:
                raise Failed(f"{self.key}: ended with code {self.process.returncode} before it was ready:{self.session.why(self.log)}")
            if self.session.stopped:
                return
            if time.monotonic() > end:
                raise Failed(f"{self.key}: was not ready within {self.plan.ready_within}; `ready` is \"{self.plan.ready}\":{self.session.why(self.log)}")
            time.sleep(0.02)

    def begin_command(self, command: Command) -> None:
        known = stacks.values(self.node)
        p = self.session.begin_program(command.name, command.node, [*self.plan.enter, *(stacks.fill(word, known) for word in command.words)], env=self.env)
        self.commands.append(p)

    # ---- while it runs ----

    def code(self) -> Any:
        """None: it runs."""
        return self.process.poll() if self.process is not None else None

    def state(self) -> Any:
        code = self.code()
        return "waits" if self.process is None else "running" if code is None else "ended"

    def status(self) -> Any:
        paths = [self.session.path(self.log + ".log"), *logs_in(self.node.folder)]
        said = [(os.path.getmtime(path), line) for path in paths if os.path.exists(path) and (line := last_line(path))]
        return {"kind": self.node.kind, "state": self.state(), "code": self.code(), "pid": self.process.pid if self.process else None, "last": max(said)[1] if said else ""}

    def account(self) -> Any:
        """Its part of the result, before it is ended."""
        return {key: value for key, value in self.status().items() if key != "pid"}

    # ---- the end ----

    def end(self) -> None:
        self.session.running.pop(self.log, None)
        if self.process is None or self.over:
            return
        self.over = True
        if self.plan.stop_command and self.process.poll() is None:
            self.call_stop()
        if not end_group(self.process, getattr(signal, "SIG" + self.plan.stop), units.duration(self.plan.stop_within)):
            print(f"helio-lab: {self.key}: does not end; is it another user's?", file=sys.stderr)

    def call_stop(self) -> None:
        """A code that is not 0 is no failure: it may find nothing to stop."""
        words = self.session.inside(self.node.name, list(self.plan.stop_command))
        with open(self.session.path(self.log + ".log"), "a", encoding="utf-8") as log:
            try:
                p = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=self.node.folder, env=self.env, start_new_session=True,
                                     preexec_fn=die_with_parent())
            except OSError as e:
                print(f"helio-lab: {self.key}: stop_command: {words[0]}: {e.strerror}", file=sys.stderr)
                return
        try:
            p.wait(units.duration(self.plan.stop_within))
        except subprocess.TimeoutExpired:
            print(f"helio-lab: {self.key}: stop_command has not ended within {self.plan.stop_within}", file=sys.stderr)
        finally:
            end_group(p, signal.SIGKILL, 0.0)

    def kill(self) -> None:
        """When the lab ends otherwise: its group, and what was run at it."""
        for p in (*self.commands, *([self.process] if self.process is not None else [])):
            end_group(p, signal.SIGTERM, 2.0)
