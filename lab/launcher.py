#!@HELIO_PYTHON@
# SPDX-License-Identifier: Apache-2.0
"""Starts @MODULE@ of the package beside the program: ../lib/heliograph/heliograph."""
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

sys.dont_write_bytecode = True
FOLDER = Path(__file__).resolve().parent.parent / "lib" / "heliograph" / "heliograph"

try:
    spec = spec_from_file_location("heliograph", FOLDER / "__init__.py")  # this folder alone, whatever else is in the path
    sys.modules["heliograph"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["heliograph"])
    from heliograph.launch import run
except (FileNotFoundError, ModuleNotFoundError):
    sys.exit("@NAME@: ../lib/heliograph beside this program is missing; in Debian the package heliograph-lab has it (from source: pip install './lab[lab]' in a virtual environment; in a build folder whose checkout was moved: run cmake again)")
except KeyboardInterrupt:
    sys.exit(130)
sys.exit(run("@NAME@", "@MODULE@"))
