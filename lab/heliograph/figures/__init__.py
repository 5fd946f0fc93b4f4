# SPDX-License-Identifier: Apache-2.0
"""Figures and pages of what the programs in C measured."""
