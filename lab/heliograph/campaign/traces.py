# SPDX-License-Identifier: Apache-2.0
"""The trace of each repetition of a run: repetitions are worth their number only when their fades are others.

A preset's own trace (A, F, H) has the seed that meets the published statistics best, of 200. It is what one run alone gets; where there are
several repetitions, the first is a draw like the others: the best of 200 is no random one, and its place in a mean would make the
interval too small.

A preset, or a trace file that says how it was made, has further realisations of the same process. Of other files the
repetitions take parts, one after another; parts that overlap are not independent, and no interval is made of them.
"""

from __future__ import annotations

import itertools
import json
import os
import shlex
from typing import TYPE_CHECKING, Any

from .. import programs, units
from . import sim
from .file import PRESETS, trace_file

if TYPE_CHECKING:
    from .file import Run

BACK = 501000  # first seed of the return direction's realisations


class Traces:
    def __init__(self, out: str) -> None:
        self.folder = os.path.join(out, "traces")
        self.known: dict[str, Any] = {}
        self.sound: set[Any] = set()

    def info(self, name: str) -> dict[str, Any]:
        if name not in self.known:
            self.known[name] = json.loads(sim.call([programs.find("helio-trace"), "info", name, "--json"]))
        result: dict[str, Any] = self.known[name]
        return result

    def whole(self, path: str) -> bool:
        """Does the file exist, and can it be read to its end? A file that a crash has cut is made again."""
        if path not in self.sound and os.path.exists(path):
            try:
                self.info(path)
                self.sound.add(path)
            except programs.ProgramError:
                os.unlink(path)
        return path in self.sound

    def generate(self, name: str, options: list[str], seed: int) -> str:
        path = os.path.join(self.folder, f"{name}-{seed}.txt.gz")
        if not self.whole(path):
            os.makedirs(self.folder, exist_ok=True)
            part = f"{self.folder}/.{os.getpid()}-{os.urandom(4).hex()}.txt.gz"
            sim.call([programs.find("helio-trace"), "gen", *options, "--seed", str(seed), "-o", part])
            os.replace(part, path)
        return path

    def known_how(self, path: str) -> bool:
        """Is it a preset, or a file that says how it was made?"""
        return path in PRESETS or all(k in self.info(path) for k in ("generator", "parameters", "seed"))

    def again(self, path: Any, seed: int, mark: str = "", times: int = 1) -> str | None:
        """Another realisation of a preset, or of a file that says how it was made, so many times as long: its path; None when it does
        not say so."""
        if not self.known_how(path):
            return None
        if times > 1:
            mark += f"-x{times}"
        if path in PRESETS:
            steps = ["--steps", str(times * self.info(path)["steps"])] if times > 1 else []
            return self.generate(path + mark, ["--preset", path, *steps], seed)
        about = self.info(path)
        seed += 1000000 if about["seed"] == seed else 0
        options = [*shlex.split(about["parameters"]), "--steps", str(times * about["steps"]), "--step", f"{about['step_ns']}ns"]
        return self.generate(f"{os.path.basename(path).split('.')[0]}{mark}", options, seed)

    def back(self, run: Run) -> Any:
        """The same for the return direction: (the value of --return-trace, the offset). Its fades are independent, also if both directions have the same name."""
        v = run.values
        trace, offset = v.get("return-trace", "none"), units.duration(v.get("return-offset", "0"))
        if trace == "none":
            return trace, 0.0
        if trace.startswith("iid:"):
            return (f"iid:{self.info(trace[4:])['bad']['share']:.6f}" if trace[4:] in PRESETS else trace), 0.0
        path = trace if trace in PRESETS else trace_file(trace, run.folder_base)
        other = self.again(path, BACK + run.repetition, "" if trace in PRESETS else f"-back-{(run.digest or '')[:8]}")
        return (other, offset) if other is not None else (path, offset + (run.repetition - 1) * units.duration(v["duration"]))

    def realisation(self, run: Run) -> Any:
        """What distinguishes this repetition from the first; fades of the return direction alone suffice."""
        way, back = self.of(run)[2], run.values.get("return-trace", "none")
        if way["kind"] != "none" or back == "none":
            return {"kind": "seed"} if way["kind"] == "none" and run.mode == "sim" and "jitter" in run.values else way
        return {"kind": "seed" if back.startswith("iid:") else "realisation"}

    def seeds(self, run: Run) -> dict[str, int]:
        """What drew the fades of each direction: the seed of its trace, or of the run itself where losses are drawn one by one."""
        found = {}
        for key, name in (("trace", self.of(run)[0]), ("return-trace", self.back(run)[0])):
            seed = run.repetition if name.startswith("iid:") else self.seed_of(name)
            if seed is not None:
                found[key] = seed
        return found

    def seed_of(self, name: str) -> int | None:
        """Of a trace by name or path; None of one that does not say it."""
        return None if name == "none" else self.info(name).get("seed")

    def of(self, run: Run) -> Any:
        """(the value of --trace, its offset, what distinguishes this repetition from the first)."""
        v = run.values
        trace, offset, n = v["trace"], units.duration(v["trace-offset"]), run.repetition
        if trace in PRESETS:
            return trace if n == 1 and not run.drawn else self.again(trace, 1000 + n), offset, {"kind": "realisation"}
        if trace.startswith("iid:") and trace[4:] in PRESETS:
            return f"iid:{self.info(trace[4:])['bad']['share']:.6f}", 0.0, {"kind": "seed"}
        if trace.startswith("iid:"):
            return trace, 0.0, {"kind": "seed"}
        if trace == "none":
            return trace, 0.0, {"kind": "none"}
        path = trace_file(trace, run.folder_base)
        if path is None:
            return trace, offset, {"kind": "none"}
        mark = f"-{(run.digest or '')[:8]}"
        if self.known_how(path):
            return path if n == 1 else self.again(path, 1000 + n, mark), offset, {"kind": "realisation"}
        length, duration = self.info(path)["duration_s"], units.duration(v["duration"])
        begin = offset + (n - 1) * duration
        return path, begin, {"kind": "part", "begin_s": begin % length, "duration_s": duration, "length_s": length}


def apart(one: Any, other: dict[str, Any]) -> bool:
    """Do two parts of a trace that begins again at its end not overlap?"""
    length = one["length_s"]
    gap = abs(one["begin_s"] - other["begin_s"])
    result: bool = min(gap, length - gap) >= one["duration_s"] - 1e-9
    return result


def independent(results: list[dict[str, Any]], mode: str) -> tuple[bool, str]:
    """Whether the results are of independent repetitions, and how they differ, in words."""
    ways = [r.get("realisation", {"kind": "none"}) for r in results]
    kinds = {w["kind"] for w in ways}
    if kinds == {"realisation"}:
        return True, "realisations of the same process"
    if kinds == {"seed"}:
        return True, "losses drawn anew"
    if kinds == {"part"} and all(apart(a, b) for a, b in itertools.combinations(ways, 2)):
        return True, "parts of the trace, one after another"
    if kinds == {"part"}:
        return False, "parts of the trace that overlap: no interval"
    if kinds == {"some"}:
        return False, "some of its fades are the same in each repetition: no interval"
    if kinds == {"none"} and mode != "sim":
        return True, "the same link again: the interval is the machine's"
    return False, "the same in each repetition: no interval"
