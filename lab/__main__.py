# SPDX-License-Identifier: Apache-2.0
"""python3 FOLDER MODULE ARGUMENT...: the parts of the C programs that are written in Python.

Exit codes: those of the module; 77 when Python lacks what it needs.
"""
import importlib
import sys

LACKS = 77

if __name__ == "__main__":
    sys.argv.pop(0)
    try:
        try:
            sys.exit(importlib.import_module("heliograph." + sys.argv[0]).main())
        except ModuleNotFoundError:
            sys.exit(LACKS)
    except KeyboardInterrupt:
        sys.exit(130)
