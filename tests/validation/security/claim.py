# SPDX-License-Identifier: Apache-2.0
"""A claim of a page, and what was measured; the checks that give them."""
import dataclasses
import functools
import os
import re

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
CHECKS = []


@functools.cache
def text_of(page):
    with open(os.path.join(TOP, page), encoding="utf-8") as f:
        return re.sub(r"\s+", " ", f.read())


@dataclasses.dataclass
class Claim:
    """words: how the page says it; a page that does not say it any more makes the claim fail."""
    claim: str
    page: str
    words: str
    measured: str
    holds: bool

    def __post_init__(self):
        if re.sub(r"\s+", " ", self.words) not in text_of(self.page):
            self.measured += f"; {self.page} does not say: {self.words}"
            self.holds = False


def check(f):
    """Of a function that gives claims."""
    CHECKS.append(f)
    return f
