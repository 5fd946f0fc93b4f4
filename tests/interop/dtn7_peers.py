# SPDX-License-Identifier: Apache-2.0
"""Daemons of other implementations that speak TCPCLv4, as processes of a lab, with their applications' interfaces over HTTP."""
import base64
import json
import os
import subprocess
import time
import urllib.error
import urllib.request

from heliograph.processes import die_with_parent


def wait_for(what, seconds, message):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = what()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(message)


class Peer:
    name = ""
    endpoint = ""  # of its application

    def __init__(self, lab, programs, web):
        self.lab = lab
        self.programs = programs
        self.web = web
        self.process = None

    def spawn(self, program, *arguments):
        with open(self.lab.path(program + ".log"), "a") as log:
            self.process = subprocess.Popen([os.path.join(self.programs, program), *arguments], stdout=log,
                                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=self.lab.out,
                                            start_new_session=True, preexec_fn=die_with_parent())
        self.lab.processes.append((program, self.process))

    def kill(self):
        """Daemons of others need not end as ours do."""
        self.process.kill()
        self.process.wait()

    def http(self, path, data=None):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.web}{path}", data, timeout=300) as answer:
            return answer.read()

    def answers(self, path, data=None):
        try:
            return self.http(path, data)
        except (OSError, urllib.error.URLError):
            return None

    def send(self, destination, payload):
        raise NotImplementedError

    def receive(self):
        """The next payload, or None; with the bundle's source."""
        raise NotImplementedError

    def delivery(self, seconds=300):
        return wait_for(self.receive, seconds, f"{self.name} delivered nothing")


class Dtn7Rs(Peer):
    """dtn7-rs 0.21.0 (Rust)."""

    name = "dtn7-rs"
    tcpcl = "tcp"
    complaints = {"XFER_ACK does not have flags matching XFER_SEGMENT"}  # of tshark about it
    node = "dtn://rs/"
    endpoint = "dtn://rs/in"

    def start(self, cla, port, peer=None):
        """Listens with this convergence layer; peer: (port, node name) to send to."""
        self.spawn("dtnd-rs", "-n", "rs", "-W", self.lab.out, "-w", str(self.web), "-C", f"{cla}:port={port}:bind=127.0.0.1",
                   "--disable_nd", "-i", "0", "-r", "epidemic", "-e", "in", "-d",
                   *(["-s", f"{cla}://127.0.0.1:{peer[0]}/{peer[1]}"] if peer else []))
        wait_for(lambda: self.answers("/status/nodeid"), 20, "dtn7-rs did not start")

    def send(self, destination, payload):
        self.http(f"/send?dst={destination}", payload)

    def receive(self):
        from pyd3tn.bundle7 import Bundle
        got = self.http("/endpoint?in")
        if got == b"Nothing to receive":
            return None
        bundle = Bundle.parse(got)
        return str(bundle.primary_block.source), bundle.payload_block.data


class Dtn7Go(Peer):
    """dtn7-go 0.9.1 (Go). Payloads that its applications send over this interface are text."""

    name = "dtn7-go"
    tcpcl = "tcpclv4"
    complaints = set()
    node = "dtn://go/"
    endpoint = "dtn://go/in"

    def start(self, cla, port, peer=None):
        text = (f'[core]\nstore = "{self.lab.path("go-store")}"\nnode-id = "{self.node}"\n[logging]\nlevel = "debug"\n'
                f'[discovery]\nipv4 = false\nipv6 = false\n[agents.webserver]\naddress = "127.0.0.1:{self.web}"\nrest = true\n'
                f'[[listen]]\nprotocol = "{cla}"\nendpoint = "127.0.0.1:{port}"\n[routing]\nalgorithm = "epidemic"\n')
        if peer:
            text += f'[[peer]]\nprotocol = "{cla}"\nendpoint = "127.0.0.1:{peer[0]}"\n'
        with open(self.lab.path("go.toml"), "w") as f:
            f.write(text)
        self.spawn("dtnd-go", self.lab.path("go.toml"))
        register = json.dumps({"endpoint_id": self.endpoint}).encode()
        answer = wait_for(lambda: self.answers("/rest/register", register), 20, "dtn7-go did not start")
        self.uuid = json.loads(answer)["uuid"]
        self.inbox = []

    def send(self, destination, payload):
        arguments = {"destination": destination, "source": self.endpoint, "creation_timestamp_now": 1, "lifetime": "1h",
                     "payload_block": payload.decode("ascii")}
        answer = json.loads(self.http("/rest/build", json.dumps({"uuid": self.uuid, "arguments": arguments}).encode()))
        assert answer["error"] == "", answer

    def receive(self):
        if not self.inbox:
            self.inbox = json.loads(self.http("/rest/fetch", json.dumps({"uuid": self.uuid}).encode()))["bundles"]
        if not self.inbox:
            return None
        bundle = self.inbox.pop(0)
        payload = next(b["data"] for b in bundle["canonicalBlocks"] if b["blockTypeCode"] == 1)
        return bundle["primaryBlock"]["source"], base64.b64decode(payload)
