# SPDX-License-Identifier: Apache-2.0
"""The programs of Debian's package prometheus, for tests that ask for them."""
import pathlib
import shutil
import subprocess
import sys
import tempfile


def find(name, cache):
    """The path of prometheus or promtool: the machine's, or one in the folder cache, fetched there if need be. None: there is none, and none to fetch."""
    if found := shutil.which(name):
        return found
    cached = cache / name
    if not cached.exists():
        with tempfile.TemporaryDirectory() as folder:
            for words in (["apt-get", "download", "prometheus"], ["sh", "-c", "dpkg -x prometheus_*.deb x"]):
                try:
                    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
                except (OSError, subprocess.TimeoutExpired):
                    return None
                if done.returncode != 0:
                    print(done.stderr, file=sys.stderr)
                    return None
            cache.mkdir(parents=True, exist_ok=True)
            shutil.copy(pathlib.Path(folder, "x/usr/bin", name), cached)
    return str(cached)
