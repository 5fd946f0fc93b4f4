# SPDX-License-Identifier: Apache-2.0
"""Mode netns: a network namespace for each node, and one in the middle with helio-emu bridge on each link.

    node A ── linkK ═══ aK ─ emu ─ bK ═══ linkK ── node B        10.80.K.1, 10.80.K.2

With one emulator for all links (shared transmitters, hand-over) it is helio-emu links, which both nodes reach as 10.80.K.254; streams
keep their bridge. A link without a channel joins its nodes directly. Needs root, iproute2 and ethtool.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from typing import TYPE_CHECKING, Any

from .. import advice
from ..processes import Failed
from . import derive, live, objections

if TYPE_CHECKING:
    from .file import Lab, Link
    from .made import Private
    from .state import State

MTU = 1500
BUFFER = 33554432


def space_name(lab: Any, node: Any) -> Any:
    return f"{lab}-{node}"


def ip(*words: Any, check: bool = True) -> Any:
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except FileNotFoundError:
        raise Failed(advice.missing_program("ip")) from None
    if check and done.returncode != 0:
        raise Failed(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def sweep(name: str) -> None:
    """Removes the namespaces of the lab, also what a killed one left."""
    if os.geteuid() != 0 or not os.path.isdir("/run/netns"):
        return
    for space in os.listdir("/run/netns"):
        if space.startswith(f"{name}-"):
            ip("netns", "delete", space, check=False)


class Session(live.Session):
    mode = "netns"

    def __init__(self, lab: Lab, out: str, state: Private | State) -> None:
        if os.geteuid() != 0:
            raise Failed("mode netns makes network namespaces: run it as root, or take --mode local")
        super().__init__(lab, out, state)
        self.index = {name: i for i, name in enumerate(lab.links)}
        self.limits: dict[str, Any] = {}

    def make_addresses(self) -> Any:
        return derive.SpaceAddresses(self.lab)

    def space(self, node: Any) -> Any:
        return space_name(self.state.name, f"n{self.lab.nodes[node].number}" if node is not None else "emu")

    def inside(self, place: Any, words: list[str]) -> Any:
        return ["ip", "netns", "exec", self.space(place), *words]

    def emulator(self, link: Any) -> Any:
        i = self.index[link]
        return ["helio-emu", "bridge", "--a", f"a{i}", "--b", f"b{i}"]

    def more_state(self) -> Any:
        return {"spaces": {name: self.space(name) for name in self.lab.nodes}, "limits": {path: (before, BUFFER) for path, before in self.limits.items()}}

    def up(self) -> None:
        sweep(self.state.name)
        self.raise_limits()
        for node in (None, *self.lab.nodes):
            ip("netns", "add", self.space(node))
            self.command_in(node, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
            ip("-n", self.space(node), "link", "set", "lo", "up")
        for link in self.lab.links.values():
            self.join(link)
        for link in self.lab.links.values():
            self.introduce(link)
        super().up()

    def command_in(self, node: Any, *words: Any) -> Any:
        done = subprocess.run(self.inside(node, list(words)), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            raise Failed(f"{shlex.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def join(self, link: Any) -> None:
        i, network = self.index[link.name], self.addresses.network(link)
        a, b = map(self.space, link.ends)
        if link.channel is None:
            ip("-n", a, "link", "add", f"link{i}", "type", "veth", "peer", "name", f"link{i}", "netns", b)
        for at, (node, space) in enumerate(zip(link.ends, (a, b))):
            if link.channel is not None:
                inner = self.inner(link, at)
                ip("-n", space, "link", "add", f"link{i}", "type", "veth", "peer", "name", inner, "netns", self.space(None))
                ip("-n", self.space(None), "link", "set", "dev", inner, "mtu", str(MTU), "up")
                if self.relayed(link):
                    self.join_relay(link, at)
            ip("-n", space, "address", "add", f"{network}.{at + 1}/24", "dev", f"link{i}")
            ip("-n", space, "link", "set", "dev", f"link{i}", "mtu", str(MTU), "up")
            if self.relayed(link):
                continue  # whose sockets see each datagram
            # No super-packets: they would be one frame to the emulator.
            self.command_in(node, "ethtool", "-K", f"link{i}", "tso", "off", "gso", "off", "gro", "off", "tx", "off",
                            "tx-udp-segmentation", "off")

    def inner(self, link: Link, at: Any) -> Any:
        """The emulator's interface towards an end."""
        return f"{'ab'[at]}{self.index[link.name]}"

    def relayed(self, link: Any) -> Any:
        return link.channel is not None and not self.addresses.bridged(link)

    def join_relay(self, link: Any, at: Any) -> None:
        """The emulator has one address for both ends, each behind an interface of its own; there is no other route between them."""
        network = self.addresses.network(link)
        if at == 0:
            ip("-n", self.space(None), "address", "add", f"{network}.{derive.RELAY}/32", "dev", self.inner(link, at))
        ip("-n", self.space(None), "route", "add", f"{network}.{at + 1}/32", "dev", self.inner(link, at), "src", f"{network}.{derive.RELAY}")

    def introduce(self, link: Any) -> None:
        """Without a search for the neighbour, for a round trip of which the first data would wait."""
        i, network = self.index[link.name], self.addresses.network(link)
        for at, (here, there) in enumerate((link.ends, link.ends[::-1])):
            if self.relayed(link):
                self.know(here, f"{network}.{derive.RELAY}", f"link{i}", None, self.inner(link, at))
                self.know(None, f"{network}.{at + 1}", self.inner(link, at), here, f"link{i}")
            else:
                self.know(here, f"{network}.{2 - at}", f"link{i}", there, f"link{i}")

    def know(self, here: Any, address: Any, device: Any, there: Any, other: Any) -> None:
        """Of two places that are joined, the one knows the other's address."""
        shown, = json.loads(ip("-n", self.space(there), "-j", "link", "show", "dev", other))
        ip("-n", self.space(here), "neigh", "replace", address, "lladdr", shown["address"], "dev", device, "nud", "permanent")

    def raise_limits(self) -> None:
        """Socket buffers so large that a burst waits and is not lost; put back at the end."""
        for key in ("net.core.rmem_max", "net.core.wmem_max"):
            path = "/proc/sys/" + key.replace(".", "/")
            with open(path, encoding="ascii") as f:
                before = int(f.read())
            if before < BUFFER:
                self.limits[path] = before
                with open(path, "w", encoding="ascii") as f:
                    f.write(str(BUFFER))

    def __exit__(self, *what: Any) -> None:
        try:
            super().__exit__(*what)
        finally:
            sweep(self.state.name)
            for path, before in self.limits.items():
                with open(path, "w", encoding="ascii") as f:
                    f.write(str(before))


def print_plan(lab: Lab, out: str) -> Any:
    """A dry run: configurations, and the commands in their namespaces."""
    addresses: Any = derive.SpaceAddresses(lab)
    derived = derive.derive(lab, out, out, addresses, live.utc(int(time.time()) + 60))
    derive.write(derived)
    derive.check(derived)
    objections.check(derived)
    if derived.emulator:
        print(f"emu: helio-emu links {derived.emulator}")
    for i, link in enumerate(lab.links.values()):
        how = f"{link.ends[0]} link{i} {addresses.network(link)}.1 - {link.ends[1]} link{i} {addresses.network(link)}.2"
        if link.channel is not None and not addresses.bridged(link):
            print(f"# {how}, emu a{i} and b{i} {addresses.network(link)}.{derive.RELAY}")
        elif link.channel is not None:
            print(f"# {how}\nemu: helio-emu bridge --a a{i} --b b{i} --scenario {derived.channels[link.name]}")
        else:
            print(f"# {how}, joined directly")
    for name, path in derived.nodes.items():
        print(f"{name}: heliod {path}")
    for name, one in derived.stacks.items():
        print(f"{name}: {shlex.join(one.plan.command)}")
    for command in (*derived.servers, *derived.clients):
        print(f"{command.node}: {shlex.join(command.words)}")
    return 0
