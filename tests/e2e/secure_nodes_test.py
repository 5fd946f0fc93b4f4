#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/secure-nodes.md: its commands run as they stand there, in order, and what it says of their results is so.

usage: secure_nodes_test.py BIN SOURCE
"""
import contextlib
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

BIN, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
text = (SOURCE / "docs/secure-nodes.md").read_text(encoding="utf-8")
blocks = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.S | re.M)
assert len(blocks) == 7, "the page has lost its commands"

# Its ports are those of the page. Where that is permitted they are of a network of its own.
ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0:
    ALONE = []


def play(block, folder):
    """One block of commands to its end; what it leaves running ends with it."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        p = subprocess.Popen([*ALONE, "bash", "-euo", "pipefail", "-c", "umask 022\n" + block], cwd=folder, stdout=out, stderr=err, start_new_session=True,
                             env={**os.environ, "PATH": f"{BIN}:/usr/bin:/bin:/usr/sbin:/sbin"})
        try:
            code = p.wait(300)
        except subprocess.TimeoutExpired:
            code = "of none in 300 s"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(block, code, out.read(), err.read())


with tempfile.TemporaryDirectory(prefix="helio-secure-") as name:
    folder, shown, logs = Path(name), [], []
    for block in blocks:
        done = play(block, name)
        logs.append({p.name: p.read_text() for p in folder.glob("*.log")})
        if done.returncode != 0:
            sys.exit(f"this ended with code {done.returncode}:\n{block}\n{done.stdout}\n{done.stderr}\n{logs[-1]}")
        shown.append(done.stdout)
    for key in ("node1.key", "node2.key", "link.key", "other.key"):
        assert stat.S_IMODE((folder / key).stat().st_mode) == 0o600, key
    assert shown[1].count(": good\n") == 2, shown[1]
    links = shown[2]
    assert "3 sent, 3 received, 0 % loss" in links, links
    assert re.search(r"required +active +ipn:2.0 +TLSv1.3 +ipn:2.0 +node +/CN=node 2", links), links
    assert "a connecting peer at 127.0.0.1:" in logs[3]["two.log"] and "certificate" in logs[3]["two.log"], logs[3]
    assert "3 sent, 3 received, 0 % loss" in shown[4], shown[4]
    assert "refused" not in logs[4]["two-ltp.log"] and "warning" not in logs[4]["two-ltp.log"], logs[4]
    assert "1 sent, 0 received, 100 % loss" in shown[5], shown[5]
    assert "its key, key id or ciphersuite is another one" in logs[5]["two-ltp.log"], logs[5]
    assert re.fullmatch(r"(srw-rw---- \S+ \S+ two\.sock(\.ctl)?\n){2}", shown[6]), shown[6]
    print(f"{len(blocks)} blocks of commands")
