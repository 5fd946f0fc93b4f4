# SPDX-License-Identifier: Apache-2.0
"""Finds and runs the C programs; many runs at once on all cores."""

from __future__ import annotations

import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    Future = concurrent.futures.Future[Any]


class ProgramError(RuntimeError):
    def __init__(self, text: str, code: int = 1) -> None:
        """code: the exit code that it is: 2 when the program found its words wrong."""
        super().__init__(text)
        self.code = 2 if code == 2 else 1


PLACE: str | None = None  # where the programs are, if not beside the script that runs
PACKAGES = {"helio-trace": "heliograph-lab", "helio-sle": "heliograph-sle", "helio-csts": "heliograph-sle", "helio-frames": "heliograph-sle"}  # in Debian; else heliograph


def find(name: str, beside: str | None = None) -> str:
    """The program next to the script that runs (or in PLACE), else the one in PATH."""
    here = Path(PLACE) if PLACE else Path(beside or sys.argv[0]).resolve().parent
    if os.access(here / name, os.X_OK):
        return str(here / name)
    found = shutil.which(name)
    if not found:
        raise ProgramError(f"{name} is neither in {here} nor in PATH: in Debian the package {PACKAGES.get(name, 'heliograph')} has it "
                           "(from source: cmake --build … --target programs); programs.PLACE is the folder to look in")
    return found


def version(path: str) -> str:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


class Progress:
    """What is being done and for how long: one line on a terminal, renewed each second; elsewhere a line each 10 s."""
    EVERY = 10.0

    def __init__(self, what: str, stream: TextIO = sys.stderr, every: float = EVERY) -> None:
        self.what, self.stream, self.on = what, stream, stream.isatty()
        self.text, self.begun, self.lock = "", time.monotonic(), threading.Lock()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._tick, args=(1.0 if self.on else every,), daemon=True)
        self.thread.start()

    def _tick(self, every: float) -> None:
        while not self.over.wait(every):
            with self.lock:
                self._write()

    def _write(self) -> None:
        line = f"{self.what}: {time.monotonic() - self.begun:.0f} s: {self.text or 'begins'}"
        self.stream.write(f"\r\033[K{line}" if self.on else line + "\n")
        self.stream.flush()

    def show(self, text: str) -> None:
        with self.lock:
            self.text = text
            if self.on and not self.over.is_set():
                self._write()

    def end(self) -> None:
        if self.over.is_set():
            return
        self.over.set()
        self.thread.join()
        if self.on:
            self.stream.write("\r\033[K")
            self.stream.flush()


class Simulator:
    """Runs helio-sim, each set of options once; `jobs` at a time."""

    def __init__(self, path: str | None = None, jobs: int | None = None, progress: Progress | None = None, expected: int = 0) -> None:
        """expected: about how many runs there will be, for the progress; 0: not known."""
        self.path = path or find("helio-sim")
        self.jobs = jobs or os.cpu_count() or 1
        self.known: dict[tuple[str, ...], Future] = {}
        self.lock, self.done = threading.Lock(), 0
        self.progress, self.expected = progress, expected
        self.pool = concurrent.futures.ThreadPoolExecutor(self.jobs)
        self._show()

    def _show(self) -> None:
        if self.progress:
            more = f", some {self.expected} in all" if self.done < self.expected else ""
            self.progress.show(f"{self.done} simulations done{more}")

    def _run(self, arguments: tuple[str, ...]) -> Any:
        done = subprocess.run([self.path, *arguments, "--json"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ProgramError(done.stderr.strip() or f"{self.path} ended with code {done.returncode}", done.returncode)
        with self.lock:
            self.done += 1
            self._show()
        return json.loads(done.stdout)

    def start(self, options: Mapping[str, Any]) -> Future:
        arguments = tuple(part for key, value in sorted(options.items()) for part in ("--" + key, str(value)))
        with self.lock:
            if arguments not in self.known:
                self.known[arguments] = self.pool.submit(self._run, arguments)
            return self.known[arguments]

    def run(self, options: Mapping[str, Any]) -> Any:
        return self.start(options).result()

    def run_all(self, many: Iterable[Mapping[str, Any]]) -> list[Any]:
        futures = [self.start(options) for options in many]
        return [future.result() for future in futures]

    def close(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)
