# SPDX-License-Identifier: Apache-2.0
"""Where the scripts of this folder import from: the package heliograph, and helpers of tests/e2e."""
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / folder) for folder in ("lab", "tests/e2e",)]
