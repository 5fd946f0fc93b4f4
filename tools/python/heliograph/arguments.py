# SPDX-License-Identifier: Apache-2.0
"""Command lines, as the C programs take them: a mistake is one line, and where the help is a second one."""
import argparse
import re


class Parser(argparse.ArgumentParser):
    def __init__(self, **more):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **more)

    def error(self, message):
        message = re.sub(r"^argument (?=\S)", "", message)
        self.exit(2, f"{self.prog}: {message}\nTry `{self.prog} --help' for more information.\n")
