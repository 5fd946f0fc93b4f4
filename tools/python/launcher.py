#!@HELIO_PYTHON@
# SPDX-License-Identifier: Apache-2.0
"""Starts @MODULE@ of the package beside the program: ../lib/heliograph."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib" / "heliograph"))
sys.dont_write_bytecode = True

try:
    from heliograph.@MODULE@ import main
    sys.exit(main())
except ModuleNotFoundError as e:  # some are imported when they are needed
    sys.exit(f"@NAME@: Python's module {e.name} is missing; tools/setup.sh installs what Heliograph needs")
except KeyboardInterrupt:
    sys.exit(130)
except BrokenPipeError:
    sys.exit(1)
