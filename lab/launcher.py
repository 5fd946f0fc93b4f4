#!@HELIO_PYTHON@
# SPDX-License-Identifier: Apache-2.0
"""Starts @MODULE@ of the package beside the program: ../lib/heliograph."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib" / "heliograph"))
sys.dont_write_bytecode = True

try:
    from heliograph.launch import run
except ModuleNotFoundError:
    sys.exit("@NAME@: ../lib/heliograph beside this program is missing; in Debian the package heliograph-lab has it (from source: pip install './lab[lab]' in a virtual environment)")
except KeyboardInterrupt:
    sys.exit(130)
sys.exit(run("@NAME@", "@MODULE@"))
