# SPDX-License-Identifier: Apache-2.0
"""Whether a program has done what there was for it: who waits until nothing comes any more must not take a machine that
stalls for the end."""
import contextlib
import os
import signal
import threading
import time

STEP = 0.05  # s between two looks


def rests(pid):
    """It sleeps, or is no more: it is not stopped, and waits for no processor."""
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii", errors="replace") as f:
                if f.read().rpartition(")")[2].split()[0] not in "SIZX":
                    return False
    except (FileNotFoundError, ProcessLookupError):
        pass
    return True


def settle(pid, seconds=0.3):
    """Waits until it has rested at each look for so long: looks are counted, for who looks may stall as well."""
    looks, until = 0, time.monotonic() + 300
    while looks < seconds / STEP and time.monotonic() < until:
        time.sleep(STEP)
        looks = looks + 1 if rests(pid) else 0


def stop(process):
    """SIGSTOP, and it has stopped or ended."""
    process.send_signal(signal.SIGSTOP)
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def received(sock, pid, quiet=0.3):
    """What comes to a socket until that program has rested for so long and nothing came."""
    looks, timeout = 0, sock.gettimeout()
    sock.settimeout(STEP)
    while looks < quiet / STEP:
        try:
            data = sock.recv(65536)
        except TimeoutError:
            looks = looks + 1 if rests(pid) else 0
            continue
        looks = 0
        yield data
    sock.settimeout(timeout)


class Stalls(threading.Thread):
    """How long this machine did not run a thread that wanted to, at most, in ns."""

    def __enter__(self):
        self.longest_ns, self.over = 0, threading.Event()
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

    def run(self):
        before, over = time.monotonic_ns(), False
        while not over:  # also the time since the last look
            over = self.over.wait(0.005)
            now = time.monotonic_ns()
            self.longest_ns, before = max(self.longest_ns, now - before - 5_000_000), now


def tries(count=5, stall_ns=5_000_000):
    """Numbers of tries: a second one, and so on, only if the machine stalled in the one before."""
    for i in range(count):
        with Stalls() as stalls:
            yield i
        if stalls.longest_ns < stall_ns:
            return
