# SPDX-License-Identifier: Apache-2.0
"""Starts of the bridge that fail, as startup_test.py has those of other programs, between interfaces of a network namespace of its own.
Needs root. usage: startup_bridge_test.py BIN OUT SHIM"""

import ctypes
import subprocess
import sys
import unittest

import startup_test

CLONE_NEWNET = 0x40000000


class StartupBridgeTest(startup_test.StartupCase):
    @classmethod
    def setUpClass(cls):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "network namespaces need root")
        for command in ("link set dev lo up", "link add name a type veth peer name a-end", "link add name b type veth peer name b-end",
                        *(f"link set dev {name} up" for name in ("a", "a-end", "b", "b-end"))):
            subprocess.run(["ip", *command.split()], check=True)

    def bridge(self, io):
        return self.program("helio-emu", "bridge", "--a", "a", "--b", "b", "--io", io, "--delay", "5ms", "--control", f"{self.out}/emu.sock",
                            "--drop-log", f"{self.out}/drops.csv", "--pcap-before", f"{self.out}/emu.pcap", "--json", f"{self.out}/emu.json")

    def test_ring(self):
        for what in ("calls", "memory"):
            self.check(what, ", ready", self.bridge("ring"), "helio-emu", 15)

    def test_pcap(self):
        for what in ("calls", "memory"):
            self.check(what, ", ready", self.bridge("pcap"), "helio-emu", 15)


if __name__ == "__main__":
    startup_test.PROGRAMS, startup_test.OUT, startup_test.SHIM = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *("StartupBridgeTest.test_" + t for t in sys.argv[4:])], verbosity=2)
