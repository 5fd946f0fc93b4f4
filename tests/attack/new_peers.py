# SPDX-License-Identifier: Apache-2.0
"""Unconfigured peers that connect under always-new names and leave, with or without a bundle for node 67."""
import os
import time

from bundle_wire import bundle
from tcpcl_wire import connect, push, segment


def note(path):
    """One more: a byte, which the end of the attack cannot cut in two."""
    with open(path, "ab") as f:
        f.write(b".")


def attacker(port, number, path, *, per_second, bundles):
    def go(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
        names = 0
        while time.monotonic() < until:
            peer = 100000 + number * 10**7 + names
            data = bundle((peer, 1), (67, 1), 1)
            try:
                with connect(port, source=f"127.0.0.{number}", name=f"ipn:{peer}.0") as s:
                    if bundles:
                        push(s, segment(0, data, announced=len(data)), until)
                        push(s, segment(1, bytes(1500), flags=2, announced=3000), until)  # and breaks off in the next one
                names += 1
                note(path)
                time.sleep(1 / per_second)
            except OSError:
                time.sleep(0.005)
    return go
