# SPDX-License-Identifier: Apache-2.0
"""heliograph.lab for scripts that have this folder in their path: the demo and the tests."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "python"))

from heliograph.lab import *  # noqa: E402,F401,F403
