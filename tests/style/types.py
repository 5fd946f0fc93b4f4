#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The types of the laboratory's Python: mypy --strict over the whole package (lab/pyproject.toml).

usage: types.py SOURCE CACHE"""
import subprocess
import sys
from pathlib import Path

source, cache = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
try:
    done = subprocess.run(["mypy", "--cache-dir", str(cache)], cwd=source / "lab", timeout=900, check=False)
except FileNotFoundError:
    sys.exit("types: mypy is missing: tools/setup.sh test")
sys.exit(done.returncode)
