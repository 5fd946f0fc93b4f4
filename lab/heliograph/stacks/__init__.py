# SPDX-License-Identifier: Apache-2.0
"""Nodes of other stacks: the files and commands that each of them is run with."""
