# SPDX-License-Identifier: Apache-2.0
"""Waits until a program has its socket: what is sent before it has is lost."""
import time


def is_bound(port):
    for name in ("/proc/net/udp", "/proc/net/udp6"):
        try:
            with open(name, encoding="ascii") as f:
                if any(line.split()[1].endswith(f":{port:04X}") for line in list(f)[1:]):
                    return True
        except FileNotFoundError:  # no IPv6 here
            pass
    return False


def await_bound(port, process, seconds=300):
    end = time.monotonic() + seconds
    while not is_bound(port):
        assert process.poll() is None, f"a program ended with {process.poll()} before it had the port {port}"
        assert time.monotonic() < end, f"nobody has the port {port}"
        time.sleep(0.02)
