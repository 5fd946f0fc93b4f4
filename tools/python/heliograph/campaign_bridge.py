# SPDX-License-Identifier: Apache-2.0
"""Mode bridge of a campaign: the nodes in the namespaces of a testbed, helio-emu bridge between them. Needs root."""
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from .campaign_live import Live, emulator_options
from .lab import Failed

HEADERS = 42  # UDP, IPv4, Ethernet: in the frames that the bridge counts
PLACES = {"node1": "source", "client": "source", "node2": "destination", "server": "destination"}


def script():
    """tools/testbed.sh beside the package, in the source and where it is installed."""
    here = Path(__file__).resolve()
    for path in (here.parents[2] / "testbed.sh", here.parents[1] / "testbed.sh"):
        if path.exists():
            return str(path)
    raise Failed("testbed.sh is not beside Heliograph's Python package")


class Bridge(Live):
    def __init__(self, run, folder, traces):
        if self.overhead(run.values) < 0:
            raise Failed(f"overhead: {run.values['overhead']} is less than the {HEADERS} bytes of UDP, IPv4 and Ethernet that the "
                         "frames of a bridge have")
        super().__init__(run, folder, traces)
        self.bed = f"campaign-{os.getpid()}"

    @staticmethod
    def overhead(v):
        return v["overhead"] - HEADERS

    def testbed(self, *words):
        done = subprocess.run([script(), *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
        return done.stdout

    def command(self, name, program, *arguments):
        return [script(), "exec", self.bed, PLACES[name], self.program(program), *arguments]

    def up(self):
        options = emulator_options({**self.v, "overhead": self.overhead(self.v)}, self.run_.repetition, self.trace, self.offset, self.out)
        del options[options.index("--json"):options.index("--json") + 2]
        self.testbed("up", "--bin", self.programs, self.bed, "--", *options)
        self.introduce("source", "destination", "10.77.0.2")
        self.introduce("destination", "source", "10.77.0.1")

    def introduce(self, place, other, address):
        """Without a search for the neighbour, for a round trip of which the first data would wait and then stand in the line's queue."""
        link, = json.loads(self.testbed("exec", self.bed, other, "ip", "-j", "link", "show", "dev", "link0"))
        self.testbed("exec", self.bed, place, "ip", "neigh", "replace", address, "lladdr", link["address"], "dev", "link0",
                     "nud", "permanent")

    def end_bridge(self):
        """The counters of the bridge, which it writes when it ends."""
        state = f"/run/helio-testbed/{self.bed}"
        with open(f"{state}/bridge.pid", encoding="utf-8") as f:
            os.kill(int(f.read().split()[0]), signal.SIGINT)
        for _ in range(200):
            if os.path.exists(f"{state}/bridge.json") and os.path.getsize(f"{state}/bridge.json"):
                break
            time.sleep(0.05)
        time.sleep(0.1)
        shutil.copy(f"{state}/bridge.log", self.path("emulator.log"))
        shutil.copy(f"{state}/bridge.json", self.path("emulator.json"))

    def __exit__(self, *what):
        try:
            super().__exit__(*what)
        finally:
            subprocess.run([script(), "down", self.bed], capture_output=True, check=False)


def run_bridge(live):
    if os.geteuid() != 0:
        raise Failed("mode bridge makes network namespaces: run it as root, or take --mode relay")
    live.up()
    nodes = live.nodes("10.77.0.1:1113", "10.77.0.2:1113", "10.77.0.2:1113", "10.77.0.1:1113")
    server = live.traffic()
    drops = live.finish(server, nodes, None)
    live.end_bridge()
    return drops
