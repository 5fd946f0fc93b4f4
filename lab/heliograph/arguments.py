# SPDX-License-Identifier: Apache-2.0
"""Command lines, as the C programs take them: a mistake is one line, and where the help is a second one."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from . import advice


class Parser(argparse.ArgumentParser):
    def __init__(self, **more: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **more)

    def error(self, message: str) -> NoReturn:
        message = re.sub(r"^argument (?=\S)", "", message)
        choice = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
        near = advice.closest(choice[1], re.findall(r"[\w-]+", choice[2])) if choice else None
        message += f"; did you mean {near}?" if near else ""
        words = re.fullmatch(r"unrecognized arguments: ([^-].*)", message)
        if words and f"--{words[1].split()[0]}" in self._option_string_actions:
            message += f"; did you mean --{words[1]}?"
        elif words:
            message += "; it is one word too many" if len(words[1].split()) == 1 else "; there are too many words"
        self.exit(2, f"{self.prog}: {message}\nTry `{self.prog} --help' for more information.\n")
