# SPDX-License-Identifier: Apache-2.0
"""A page of docs/ whose commands (```sh blocks) are run as they stand there, in order."""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# A page has fixed ports. Where that is permitted they are in a network namespace of its own, away from everybody else's programs.
ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


class Page:
    def __init__(self, bin_folder, path, least_blocks):
        self.bin = Path(bin_folder).resolve()
        self.text = Path(path).read_text(encoding="utf-8")
        self.blocks = re.findall(r"^```sh\n(.*?)^```$", self.text, flags=re.S | re.M)
        assert len(self.blocks) >= least_blocks, f"{path} has lost its commands"
        can_be_alone = subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0
        self.prefix = ALONE if can_be_alone else []

    def play(self, block, folder, timeout):
        """One block to its end. Background programs that it leaves running are ended."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            p = subprocess.Popen([*self.prefix, "bash", "-euo", "pipefail", "-c", "umask 022\n" + block], cwd=folder, stdout=out, stderr=err,
                                 start_new_session=True, env={**os.environ, "PATH": f"{self.bin}:/usr/bin:/bin:/usr/sbin:/sbin"})
            try:
                code = p.wait(timeout)
            except subprocess.TimeoutExpired:
                code = f"of none in {timeout} s"
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGKILL)
            p.wait()
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(block, code, out.read(), err.read())

    def play_all(self, folder, timeout=600):
        """Yields standard output and all *.log files after each block, {name: text}. A block that fails ends the test."""
        for block in self.blocks:
            done = self.play(block, folder, timeout)
            logs = {p.name: p.read_text() for p in Path(folder).glob("*.log")}
            if done.returncode != 0:
                sys.exit(f"this ended with code {done.returncode}:\n{block}\n{done.stdout}\n{done.stderr}\n{logs}")
            yield done.stdout, logs
