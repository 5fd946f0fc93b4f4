# SPDX-License-Identifier: Apache-2.0
"""The laboratory's programs in Python: they run the C programs and arrange what those measured."""

VERSION = "0.1.0"  # as in pyproject.toml and CMakeLists.txt
