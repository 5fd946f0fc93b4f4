#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The builds of peers run at a low priority, but not at one that is lower yet when they were begun so: a build below others that are below
the normal one gets no processor at all. With programs in the place of cargo and go that tell how they were called.

usage: priority_test.py
"""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
CARGO = """#!/bin/sh
case $1 in --version) echo "cargo 1.99.0"; exit;; esac
nice >>"$TOLD"
while [ $# -gt 1 ]; do [ "$1" = --root ] && mkdir -p "$2/bin" && : >"$2/bin/dtnd"; shift; done
"""
GO = """#!/bin/sh
case $1 in version) echo "go version go1.22.1 linux/amd64"; exit;; esac
nice >>"$TOLD"
"""


class PriorityTest(unittest.TestCase):
    def told(self, script, lower):
        """The priorities at which the script's builds ran."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("cargo", CARGO), ("go", GO)):
                Path(folder, name).write_text(text)
                os.chmod(Path(folder, name), 0o755)
            env = {**os.environ, "PATH": f"{folder}:/usr/bin:/bin", "HOME": folder, "TOLD": f"{folder}/told"}
            done = subprocess.run(["nice", "-n", str(lower), "bash", HERE / script, f"{folder}/out"], env=env, capture_output=True, text=True,
                                  timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return {int(line) for line in Path(folder, "told").read_text().split()}

    def test_a_low_priority_stays_as_it_is(self):
        ours = os.nice(0)
        for script in ("peers.sh", "bundle_peers.sh", "dtn7.sh"):
            for lower in (0, 3):
                begun = min(ours + lower, 19)
                self.assertEqual(self.told(script, lower), {begun + 10 if begun <= 0 else begun}, script)


if __name__ == "__main__":
    unittest.main()
