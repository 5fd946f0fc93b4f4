# SPDX-License-Identifier: Apache-2.0
"""What a result was measured with: the machine and the versions of the programs."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from typing import Any

from . import programs


def _field(path: str, name: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.startswith(name):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return None


def cpu_seconds(process: int) -> float | None:
    """Of a process that runs, of user and system; None when it does not."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_seconds_of_ended(process: int) -> float | None:
    """The same of a child that has ended and was not waited for yet; None when it still runs."""
    ended = os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return None if ended is None else cpu_seconds(process)


def commit() -> str | None:
    """Of the tree that these programs are from, "-dirty" when it was changed since; None outside of one."""
    here = os.path.dirname(os.path.realpath(__file__))
    try:
        done = subprocess.run(["git", "-C", here, "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True,
                              check=False)
    except OSError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def describe() -> dict[str, Any]:
    return {"system": platform.system(), "kernel": platform.release(), "architecture": platform.machine(),
            "processor": _field("/proc/cpuinfo", "model name"), "cores": os.cpu_count(),
            "memory": _field("/proc/meminfo", "MemTotal"), "python": platform.python_version()}


def versions(names: Iterable[str]) -> dict[str, str]:
    return {name: programs.version(programs.find(name)) for name in names}
