# SPDX-License-Identifier: Apache-2.0
"""Command lines, as the C programs take them: a mistake is one line, and where the help is a second one."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    def __init__(self, **more: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **more)

    def error(self, message: str) -> NoReturn:
        message = re.sub(r"^argument (?=\S)", "", message)
        self.exit(2, f"{self.prog}: {message}\nTry `{self.prog} --help' for more information.\n")
