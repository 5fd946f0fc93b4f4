# SPDX-License-Identifier: Apache-2.0
"""What the tests of helio-campaign share: the program, and a folder for its files and results."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv[1]) / "helio-campaign"
SMALL = """title: A small one
repetitions: 2
set: {duration: 500ms}
experiments:
  - name: one
    sweep: {trace: [A, "iid:A"], sessions: [1-3]}
  - name: two
    set: {trace: A}
    sweep: {sessions: [3]}
"""


def campaign(*options, code=0, **more):
    done = subprocess.run([PROGRAM, *map(str, options)], capture_output=True, text=True, check=False, timeout=1400, **more)
    assert done.returncode == code, (options, done.returncode, done.stdout, done.stderr)
    return done


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out"

    def file(self, text, name="c.yaml"):
        """A campaign that does not give its repetitions has one here: five, the default, take five times as long."""
        path = self.folder / name
        path.write_text(text + ("repetitions: 1\n" if "experiments:" in text and "repetitions:" not in text else ""))
        return path

    def runs(self):
        return sorted(p for p in (self.out / "runs").iterdir() if not p.name.startswith("."))
