# SPDX-License-Identifier: Apache-2.0
"""Programs that other people wrote, as process groups: they start processes of their own, which end with them.

Not daemons that have made a session of their own (setsid): these need a command that stops them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time

FORCED = 5.0  # seconds until what was killed is gone


def has_members(p: subprocess.Popen[bytes]) -> bool:
    """Is a process of this group still running? A leader that we have waited for has ended; its number is reused only after all processes of the group
    have ended: then another process may have it.
    """
    if p.poll() is not None and os.path.exists(f"/proc/{p.pid}"):
        return False
    for number in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as f:
            state, _, group = f.read().rpartition(")")[2].split()[:3]
            if int(group) == p.pid and state not in "ZX":
                return True
    p.poll()  # it may have ended since
    return False


def end_group(p: subprocess.Popen[bytes], number: int, within: float) -> bool:
    """Ends the process and its children; kills those that have not ended in time. False: a process is left that we may not kill."""
    for with_, seconds in ((number, within), (signal.SIGKILL, FORCED)):
        until = time.monotonic() + seconds
        if has_members(p):
            with contextlib.suppress(OSError):
                os.killpg(p.pid, with_)
        while has_members(p):
            if time.monotonic() > until:
                break
            time.sleep(0.02)
        else:
            return True
    return False
