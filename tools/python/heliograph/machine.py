# SPDX-License-Identifier: Apache-2.0
"""What a result was measured with: the machine and the versions of the programs."""
import os
import platform

from . import programs


def _field(path, name):
    try:
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.startswith(name):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return None


def describe():
    return {"system": platform.system(), "kernel": platform.release(), "architecture": platform.machine(),
            "processor": _field("/proc/cpuinfo", "model name"), "cores": os.cpu_count(),
            "memory": _field("/proc/meminfo", "MemTotal"), "python": platform.python_version()}


def versions(names):
    return {name: programs.version(programs.find(name)) for name in names}
