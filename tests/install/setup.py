#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fetches packages tries again when that fails, and in the end says that it did: tools/setup.sh with an apt-get that is
played, tests/interop/again.sh with a command. usage: setup.py"""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
# notes its words; the first $FAILS calls that would fetch something fail
FETCH = """#!/bin/sh
echo "$@" >>"$TOLD/calls"
case "$*" in *install*) echo >>"$TOLD/tries"; [ $(wc -l <"$TOLD/tries") -gt "$FAILS" ];; esac
"""
PLAYED = {"apt-get": FETCH, "pip": FETCH, "sleep": '#!/bin/sh\necho "$1" >>"$TOLD/slept"\n', "dpkg-query": "#!/bin/sh\nexit 1\n",
          "id": "#!/bin/sh\necho 0\n"}


class Setup(unittest.TestCase):
    def call(self, fails, *words):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in PLAYED.items():
                Path(folder, name).write_text(text)
                os.chmod(Path(folder, name), 0o755)
            done = subprocess.run(["bash", *words], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PATH": f"{folder}:/usr/bin:/bin", "TOLD": folder, "FAILS": str(fails)})
            read = {path.name: path.read_text().split("\n")[:-1] for path in Path(folder).iterdir() if path.name in ("calls", "tries", "slept")}
        return done, read

    def test_packages(self):
        for fails in (0, 1, 3, 4):
            done, read = self.call(fails, SOURCE / "tools/setup.sh", "build")
            self.assertEqual(done.returncode == 0, fails < 4, done.stderr)
            self.assertEqual((len(read["tries"]), read.get("slept", [])), (min(fails + 1, 4), ["5", "20", "60"][:fails]))
            self.assertEqual(["update" in call.split() for call in read["calls"]], [True, False] * len(read["tries"]))
            self.assertIn("libuv1-dev", read["calls"][-1].split())

    def test_words(self):
        for script in ("tools/setup.sh", "tests/bench/run.sh"):
            for word, code in (("--help", 0), ("-h", 0), ("lba", 2), ("--hlep", 2)):
                done, read = self.call(0, SOURCE / script, word)
                self.assertEqual((done.returncode, read), (code, {}), (script, word, done.stderr))
                self.assertIn("usage: " + script if code == 0 else f"'{word}' is unknown", done.stdout + done.stderr)

    def test_another_registry(self):
        for fails in (0, 2, 4):
            done, read = self.call(fails, SOURCE / "tests/interop/again.sh", "pip", "install", "--quiet", "x y")
            self.assertEqual((done.returncode == 0, len(read["tries"])), (fails < 4, min(fails + 1, 4)))
            self.assertEqual(set(read["calls"]), {"install --quiet x y"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
