# SPDX-License-Identifier: Apache-2.0
"""Campaigns: many runs that one file describes, and their report."""
