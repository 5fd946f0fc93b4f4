# SPDX-License-Identifier: Apache-2.0
"""The demo's experiment, run by tools/demo.sh: two nodes, a relay that erases by a trace, and a traffic generator.

Everything is real: separate processes, UDP sockets, RFC 9171 bundles, RFC 5326 segments. All addresses are
on the loopback interface; all files are in one folder."""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time


class Failed(Exception):
    """Something that the user should read, without a traceback."""


def free_udp_ports(count):
    """Ports of 127.0.0.1 that nobody uses now."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


NODE = """\
# Node {number} of the demo. `heliod --check` validates it; docs/heliod.md explains every key.
node: ipn:{number}.0
socket: {sockets}/node{number}.sock
store: {store}
log: {{segments: {out}/node{number}.segments.csv, level: info}}
links:
  - name: to-{peer}
    adapter: ltp-udp
    peer: ipn:{peer}.0
    local: 127.0.0.1:{local}
    remote: 127.0.0.1:{remote}
    rate: {rate}
    overhead: 42
    segment: 1024B
    sessions: {sessions}
    rto: {rto}
    colour: {colour}
"""


class Demo:
    def __init__(self, options):
        self.o = options
        self.out = options.out
        self.processes = []
        os.makedirs(self.out, exist_ok=True)
        # a UNIX socket's path is limited to 107 bytes, the output folder's is not
        self.sockets = tempfile.mkdtemp(prefix="helio-demo-")

    def path(self, name):
        return os.path.join(self.out, name)

    def program(self, name):
        return os.path.join(self.o.bin, name)

    def start(self, name, *command):
        with open(self.path(name + ".log"), "w") as log:
            p = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self.processes.append((name, p))
        return p

    def stop(self, name, p, sig=signal.SIGTERM):
        if p.poll() is None:
            p.send_signal(sig)
        try:
            code = p.wait(20)
        except subprocess.TimeoutExpired:
            p.kill()
            raise Failed(f"{name} did not stop; see {self.path(name + '.log')}") from None
        if code != 0:
            raise Failed(f"{name} ended with exit code {code}; see {self.path(name + '.log')}")

    def wait_for_socket(self, path, name, process):
        for _ in range(500):
            if process.poll() is not None:
                break
            try:
                with socket.socket(socket.AF_UNIX) as s:
                    s.connect(path)
                return
            except OSError:
                time.sleep(0.02)
        raise Failed(f"{name} did not start; see {self.path(name + '.log')}")

    def write_node(self, number, peer, local, remote, rate, sessions, colour):
        store = "{durability: none}"
        if self.o.durability != "none":
            store = f"{{path: {self.path(f'store{number}')}, durability: {self.o.durability}, limit: 4GiB}}"
        path = self.path(f"node{number}.yaml")
        with open(path, "w") as f:
            f.write(NODE.format(number=number, peer=peer, local=local, remote=remote, rate=rate,
                                sessions=sessions, colour=colour, out=self.out, rto=self.o.rto,
                                sockets=self.sockets, store=store))
        return path

    def setup(self):
        o = self.o
        port1, port2, relay_in, relay_back = free_udp_ports(4)
        # Forward data crosses the relay's channel; the return direction is delayed but ideal, as in the paper.
        config1 = self.write_node(1, 2, port1, relay_in, o.rate, o.sessions, "red")
        config2 = self.write_node(2, 1, port2, relay_back, "unlimited", 64, "green")
        command = [self.program("helio-emu"), "relay", "--listen", f"127.0.0.1:{relay_in}",
                   "--to", f"127.0.0.1:{port2}", "--return-from", f"127.0.0.1:{relay_back}",
                   "--delay", o.delay, "--rate", o.rate, "--overhead", "42",
                   "--trace", o.trace, "--json", self.path("relay.json")]
        relay = self.start("relay", *command)
        nodes = {}
        for number, config in ((1, config1), (2, config2)):
            nodes[number] = self.start(f"node{number}", self.program("heliod"), config)
        for number, p in nodes.items():
            self.wait_for_socket(f"{self.sockets}/node{number}.sock", f"node{number}", p)
        if relay.poll() is not None:
            raise Failed(f"the relay did not start; see {self.path('relay.log')}")
        return relay, nodes

    def traffic(self):
        o = self.o
        server = self.start("perf-server", self.program("helio-perf"), "server",
                            "--socket", f"{self.sockets}/node2.sock", "--json", self.path("server.json"))
        time.sleep(0.3)
        client = [self.program("helio-perf"), "client", "--socket", f"{self.sockets}/node1.sock",
                  "-d", "ipn:2.2000", "-T", str(o.duration), "-W", str(2 * o.sessions + 10), "-P", "500kB",
                  "--json", self.path("client.json")]
        print(f"demo: sending 500 kB bundles for {o.duration} s …", flush=True)
        p = subprocess.Popen(client, start_new_session=True, stdout=subprocess.DEVNULL)
        self.processes.append(("perf-client", p))
        if p.wait(o.duration + 60) != 0:
            raise Failed("the traffic generator failed; see its message above")
        return server

    def run(self):
        relay, nodes = self.setup()
        server = self.traffic()
        self.counters()
        self.stop("perf-server", server)
        for number, p in nodes.items():
            self.stop(f"node{number}", p)
        self.stop("relay", relay)
        logs = [self.path("node1.segments.csv"), self.path("node2.segments.csv")]
        with open(self.path("sessions.txt"), "w") as f:
            subprocess.run([self.program("helio-analyze"), *logs, "--sessions", self.path("sessions.csv"),
                            "--node", "1"], stdout=f, check=True)
        return self.result()

    def counters(self):
        for number in (1, 2):
            with open(self.path(f"node{number}.counters.json"), "w") as f:
                subprocess.run([self.program("helioctl"), "--socket", f"{self.sockets}/node{number}.sock.ctl",
                                "--json", "counters"], stdout=f, check=True)

    def result(self):
        def load(name):
            with open(self.path(name)) as f:
                return json.load(f)

        client, server, relay = load("client.json"), load("server.json"), load("relay.json")
        return {"client": client, "server": server, "relay": relay}

    def close(self):
        for _, p in reversed(self.processes):
            if p.poll() is None:
                p.terminate()
        for _, p in self.processes:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()
        for name in os.listdir(self.sockets):
            os.unlink(os.path.join(self.sockets, name))
        os.rmdir(self.sockets)
