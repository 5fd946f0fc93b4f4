# SPDX-License-Identifier: Apache-2.0
"""A run of a campaign with whole nodes in virtual time: configurations, relay and generator are those of mode relay."""
import json
import os

from . import programs, units
from .campaign_live import Live, relay_options

RELAY, NODE1, NODE2 = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"  # nobody opens these


class Stack(Live):
    def socket(self, number):
        return f"node{number}.sock"

    def start_node(self, number, config):
        return config

    def simulate(self, track):
        files = self.nodes(NODE1, RELAY, NODE2, RELAY)
        seconds = units.duration(self.v["duration"])
        command = [programs.find("helio-sim"), *(word for n in (1, 2) for word in ("--node", files[n])),
                   "--relay", " ".join(["--listen", RELAY, "--to", NODE2, *relay_options(self.v, self.run_.repetition, self.trace, self.offset)]),
                   "--client", f"-d ipn:2.2000 -T {seconds:g} -W {self.window} -P {units.size(self.v['bundle'])}",
                   "--seed", str(self.run_.repetition), "--json"]
        return command, json.loads(track([*command, "--log-dir", self.out]))


def run_stack(run, folder, traces, track):
    final = os.path.join(os.path.dirname(folder), run.folder)  # where the files are when all is done
    with Stack(run, folder, traces) as stack:
        command, shown = stack.simulate(track)
        measured = stack.measured(shown["clients"][0], shown["channels"][0]["forward"])
        stack.keep_logs(run.logs)
        os.unlink(stack.path("channel1.drops.csv"))
    return {"faithful": True, "reasons": [], "command": [word.replace(folder, final) for word in command], **measured}
