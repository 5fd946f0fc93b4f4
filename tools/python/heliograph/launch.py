# SPDX-License-Identifier: Apache-2.0
"""Starts the laboratory's programs: from bin/ (tools/python/launcher.py), and as pip installs them."""
from __future__ import annotations

import importlib

from . import advice


def run(name: str, module: str) -> int | str | None:
    """Runs main() of the module, and returns the exit code. Some modules are imported when they are needed."""
    try:
        code: int | str | None = importlib.import_module(f"heliograph.{module}").main()
        return code
    except ModuleNotFoundError as e:
        return f"{name}: {advice.missing_module(e)}"
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
