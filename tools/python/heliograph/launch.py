# SPDX-License-Identifier: Apache-2.0
"""Starts the laboratory's programs: from bin/ (tools/python/launcher.py), and as pip installs them."""
from __future__ import annotations

import importlib


def missing(module: str | None) -> str:
    """The module's Debian package."""
    name = (module or "").split(".", maxsplit=1)[0].lower()
    return "heliograph-lab" if name == "heliograph" else f"python3-{name}"


def run(name: str, module: str) -> int | str | None:
    """Runs main() of the module, and returns the exit code. Some modules are imported when they are needed."""
    try:
        code: int | str | None = importlib.import_module(f"heliograph.{module}").main()
        return code
    except ModuleNotFoundError as e:
        return f"{name}: Python's module {e.name} is missing; in Debian the package {missing(e.name)} has it (from source: tools/setup.sh lab)"
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 1


def campaign() -> int | str | None:
    return run("helio-campaign", "campaign")


def lab() -> int | str | None:
    return run("helio-lab", "lab_cli")


def tune() -> int | str | None:
    return run("helio-tune", "tune")
