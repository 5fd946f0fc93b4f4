# SPDX-License-Identifier: Apache-2.0
"""Labs that a program generates: those of the demo and of campaigns. One link, and traffic over it."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from .. import places
from ..processes import Failed
from . import file, live

GREEN_SESSIONS = 64  # acknowledgements return over an ideal channel
URGENT = {"node": {"priority": "realtime"}} if os.geteuid() == 0 else {}  # nodes in real time; where it is permitted


class Private:
    """The state of a lab that no other process asks for."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="helio-")
        self.name = os.path.basename(self.folder)
        self.socket = os.path.join(self.folder, "lab.sock")

    def take(self) -> None:
        pass

    def save(self, **_: object) -> None:
        pass

    def drop(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def erasures(trace: str, offset: Any = None) -> dict[str, Any]:
    if trace.startswith("iid:"):
        return {"erasures": {"iid": trace[4:]}}
    if trace == "none":
        return {}
    return {"erasures": {"trace": {"file": os.path.abspath(trace) if os.path.isfile(trace) else trace, **({"offset": offset} if offset else {})}}}


def one_link(channel: dict[str, Any], forward: dict[str, Any], keys: dict[str, Any], out: Any, back: dict[str, dict[str, str]],
             traffic: Any, **more: dict[str, str] | int | str) -> dict[str, Any]:
    """Nodes 1 and 2. Data goes red through the channel; the generator's acknowledgements return as green sessions. channel, forward: keys of both
    directions, of the forward direction; keys: of both adapters; out, back: of one.
    """
    ends = {"1": {"colour": "red", **out}, "2": {"rate": "unlimited", "sessions": GREEN_SESSIONS, "colour": "green", **back}}
    return {"line": 2, "links": {"1-2": {**channel, "forward": forward, **keys, "ends": ends}},
            "traffic": [{"perf": "1-2", **traffic}], "capture": ["segments"], **more}


def lab_of(tree: dict[str, Any], name: str) -> file.Lab:
    try:
        return file.of(tree, name)
    except places.PlacesError as e:
        raise Failed(str(e)) from None


def play(session: live.Session, tell: Any = lambda: None) -> Any:
    """Runs it and returns its result (live.play). Failed if its traffic failed."""
    session.records = False
    try:
        shown = live.play(session, tell)
    except places.PlacesError as e:
        raise Failed(str(e)) from None
    if not session.stopped and any(one["code"] for one in shown["traffic"].values()):
        name = next(name for name, one in shown["traffic"].items() if one["code"])
        raise Failed(f"the traffic generator failed:{session.why(name)}")
    return shown
