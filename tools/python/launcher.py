#!@HELIO_PYTHON@
# SPDX-License-Identifier: Apache-2.0
"""Starts @MODULE@ of the package beside the program: ../lib/heliograph."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib" / "heliograph"))
sys.dont_write_bytecode = True

try:
    from heliograph.@MODULE@ import main
except ModuleNotFoundError as e:
    sys.exit(f"@NAME@: Python's module {e.name} is missing; tools/setup.sh installs what Heliograph needs")

try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit(130)
except BrokenPipeError:
    sys.exit(1)
