# SPDX-License-Identifier: Apache-2.0
"""Starts the laboratory's programs: from bin/ (lab/launcher.py), and as pip installs them."""
from __future__ import annotations

import importlib
import os
import sys

from . import advice, programs


def run(name: str, module: str) -> int | str | None:
    """Runs main() of the module, and returns the exit code. Some modules are imported when they are needed."""
    try:
        code: int | str | None = importlib.import_module(f"heliograph.{module}").main()
        sys.stdout.flush()
        return code
    except ModuleNotFoundError as e:
        return f"{name}: {advice.missing_module(e)}"
    except programs.ProgramError as e:
        return f"{name}: {e}"
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not written at the end
        return 1


def campaign() -> int | str | None:
    return run("helio-campaign", "campaign.cli")


def lab() -> int | str | None:
    return run("helio-lab", "lab.cli")


def tune() -> int | str | None:
    return run("helio-tune", "tune.cli")
