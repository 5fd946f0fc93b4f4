# SPDX-License-Identifier: Apache-2.0
"""A lab with real processes: nodes, emulators and traffic, until the traffic or the time ends, or a user ends it.

One process runs the lab and answers requests of other processes (status, link, down) on a socket. Its children end with it in any case.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import math
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import machine, places, programs
from ..client import NodeError
from ..control import Control
from ..processes import Failed, Lab as Processes, Mistaken, die_with_parent
from . import account, derive, file, handover, objections, result, routes, shared, sim, stack_run, station, view

if TYPE_CHECKING:
    from .made import Private
    from .state import State

READY = 120.0      # seconds that a node or an emulator may take to begin
END = 120.0        # seconds that a client has for its result
ANSWER = 60.0      # seconds that a node has to say how it is
EMULATOR = (*file.WAY, *file.CHANNEL, "forward", "return")  # keys of `set` that are of the channel


def utc(seconds: Any) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


async def ask_node(name: str, path: str) -> Any:
    """What `status` and `links` say, or {"error": text}."""
    try:
        async with Control(path, timeout=ANSWER) as node:
            return {**await node.status(), "links": await node.links()}
    except (NodeError, OSError, ValueError, asyncio.TimeoutError) as e:
        return {"error": f"node {name}: {str(e) or 'no answer'}"}


async def ask_all(controls: Any) -> Any:
    return dict(zip(controls, await asyncio.gather(*(ask_node(name, path) for name, path in controls.items()))))


class Session(Processes):
    """Mode local; netns puts its programs into namespaces."""
    mode = "local"
    records = True  # the folder is the lab's own: it says what was run
    loud = ()       # programs that say what they have to say here
    limit = None    # seconds after which it is enough, whatever the file says
    others: dict[str, Any] = {}  # name of a node of another stack -> stack_run.Runner; of each lab its own

    def __init__(self, lab: file.Lab, out: str, state: Private | State) -> None:
        super().__init__(os.path.dirname(programs.find("heliod")), out)
        self.lab, self.state = lab, state
        os.rmdir(self.sockets)
        self.sockets = state.folder
        self.running: dict[str, Any] = {}     # name -> Popen
        self.ended: dict[str, Any] = {}       # name -> exit code
        self.asked: bool = False
        self.stopped: bool = False
        self.renewed: dict[str, Any] = {}     # link -> number of restarts of its emulator
        self.paced: dict[tuple[str, int], Any] = {}       # (link that is handed over, end) -> the rate and overhead that it got
        self.begin = 0.0      # the lab's time zero
        self.happened = view.Events()
        self.addresses: Any = None
        self.derived: Any = None
        self.listener: Any = None

    # ---- beginning ----

    def make_addresses(self) -> derive.Addresses:
        return derive.Addresses(self.lab)

    def prepare(self) -> None:
        """Everything is checked before anything is started."""
        self.state.take()
        if self.records:
            result.begin(self.lab, self.out, self.mode)
        self.begin = math.ceil(time.time() + 0.5 + 0.15 * (len(self.lab.nodes) + len(self.lab.links)))
        self.paced = {(link.name, i): handover.paced(link, i, link.passes[0], shared.pace) for link in self.lab.links.values() if link.overs
                      for i in range(2)}
        self.addresses = self.make_addresses()
        self.derived = derive.derive(self.lab, self.out, self.state.folder, self.addresses, utc(self.begin))
        derive.write(self.derived)
        derive.check(self.derived)
        objections.check(self.derived)
        derive.check_events(self.lab, self.addresses, utc(self.begin))
        objections.need_programs(self.derived)
        self.others = {name: stack_run.Runner(self, one) for name, one in self.derived.stacks.items()}

    def emulator(self, link: Any) -> list[str]:
        at = self.derived.relays[link]
        return ["helio-emu", "relay", "--listen", at["listen"], "--to", at["to"], "--return-to", at["back"]]

    def channel_socket(self, name: str) -> str:
        """The counters of a channel that has its own emulator."""
        return os.path.join(self.state.folder, f"emulator{list(self.derived.channels).index(name) + 1}.ctl")

    def start_channel(self, link: Any) -> None:
        times = self.renewed.get(link, 0)
        name = f"link-{link}" + (f".{times}" if times else "")
        self.begin_program(name, None, [*self.emulator(link), "--scenario", self.derived.channels[link], "--json", self.path(f"{name}.json"),
                                        "--control", self.channel_socket(link)])
        self.await_words(name, ", ready", f"the emulator of link {link}")

    def start_channels(self) -> None:
        if self.derived.emulator:
            self.begin_program("emulator", None, ["helio-emu", "links", self.derived.emulator, "--json", self.path("emulator.json"),
                                                  "--control", self.emulator_socket()])
            self.await_words("emulator", ", ready", "the emulator")
        for link in self.derived.alone:
            self.start_channel(link)

    def emulator_socket(self) -> Any:
        return os.path.join(self.state.folder, "emulator.ctl")

    def await_words(self, name: str, words: str, what: str) -> None:
        give_up = time.monotonic() + READY
        while time.monotonic() < give_up and self.running[name].poll() is None:
            with open(self.path(name + ".log"), encoding="utf-8") as f:
                if words in f.read():
                    return
            time.sleep(0.01)
        raise Failed(f"{what} did not start:{self.why(name)}")

    def begin_program(self, name: str, node: str | None, words: list[str], **how: Any) -> subprocess.Popen[Any]:
        self.note(name, node, words)
        p = self.start(name, words[0], *words[1:], place=node, **how)
        self.running[name] = p
        return p

    def start(self, name: str, program: str, *arguments: str, place: str | None = None, cwd: Any = None, env: Any = None) -> subprocess.Popen[Any]:
        with open(self.path(name + ".log"), "a", encoding="utf-8") as log:
            out, err = (None, None) if name in self.loud else (log, subprocess.STDOUT)
            p = subprocess.Popen(self.inside(place, [self.find(program), *arguments]), stdout=out, stderr=err,
                                 stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent(), cwd=cwd or self.cwd(), env=env)
        self.processes.append((name, p))
        return p

    def cwd(self) -> str:
        return os.path.abspath(self.lab.base)

    def find(self, program: str) -> str:
        path = self.program(program)
        return path if "/" not in program and os.access(path, os.X_OK) else program

    def inside(self, place: str | None, words: list[str]) -> list[str]:
        """The command as it is run at a node (None: between them)."""
        del place
        return words

    def note(self, name: str, node: str | None, words: list[str]) -> None:
        with open(self.path("commands.txt"), "a", encoding="utf-8") as f:
            f.write(f"{name}: {shlex.join(self.inside(node, words))}\n")

    def network_socket(self, link: Any) -> Any:
        """Of the relay of streams that is the wide area network of a station."""
        return os.path.join(self.state.folder, f"wan{list(self.derived.wans).index(link) + 1}.ctl")

    def start_stations(self) -> None:
        for link, words in self.derived.wans.items():
            self.begin_program(f"link-{link}.wan", None, station.relay_command([*words, "--json", self.path(f"link-{link}.wan.json"),
                                                                                    "--control", self.network_socket(link)]))
            self.await_words(f"link-{link}.wan", ", ready", f"the wide area network of link {link}")
        for link, path in self.derived.stations.items():
            self.begin_program(f"station-{link}", None, ["helio-sle", "provider", path])
            self.await_words(f"station-{link}", "listens at", f"the station of link {link}")

    def start_nodes(self) -> None:
        for name, path in self.derived.nodes.items():
            self.begin_program(self.node_log(name), name, ["heliod", path])
        for name in self.derived.nodes:
            self.await_socket(name)
        for one in self.others.values():
            one.begin()

    def node_log(self, name: str) -> str:
        return f"node{self.lab.nodes[name].number}"

    def await_socket(self, name: Any) -> None:
        log = self.node_log(name)
        give_up = time.monotonic() + READY
        while time.monotonic() < give_up:
            if self.running[log].poll() is not None:
                break
            try:
                with socket.socket(socket.AF_UNIX) as s:
                    s.connect(self.derived.sockets[name])
                return
            except OSError:
                time.sleep(0.02)
        raise Failed(f"node {name} did not start:{self.why(log)}")

    def up(self) -> None:
        self.start_channels()
        self.start_stations()
        self.start_nodes()
        for command in self.derived.servers:
            self.begin_program(command.name, command.node, command.words)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.state.socket)
        self.listener.listen(8)
        self.state.save(mode=self.mode, out=self.out, file=os.path.abspath(self.lab.path), sockets=self.derived.sockets,
                        stacks={name: one.described() for name, one in self.others.items()},
                        programs=self.programs, endpoints=derive.endpoints(self.lab), **self.more_state())
        self.happened.add(self.now(), "all nodes run")

    def more_state(self) -> dict[str, Any]:
        return {}

    # ---- while it runs ----

    def now(self) -> float:
        return time.time() - self.begin

    def loop(self) -> bool | None:
        """Until the end; True: without a request."""
        waiting = sorted(self.derived.clients, key=lambda command: float(command.start))
        events = list(self.lab.events)
        turns = handover.turns(self.lab)
        while not (self.stopped or self.over(waiting, events)):
            while waiting and waiting[0].start <= self.now():
                command: Any = waiting.pop(0)
                self.begin_client(command)
            while events and events[0].at <= self.now():
                self.happen(events.pop(0))
            self.keep_pace(turns)
            self.watch()
            self.serve()
        self.keep_pace(turns)  # those of a time in which this process had no processor
        return not self.stopped

    def begin_client(self, command: derive.Command) -> None:
        self.happened.add(self.now(), f"{command.name} begins")
        other = self.others.get(command.node)
        if other is None:
            self.begin_program(command.name, command.node, self.exec_words(command.node, command.words))
        else:
            other.begin_command(command)

    def keep_pace(self, turns: list[Any]) -> None:
        while turns and turns[0] <= self.now():
            self.happened.hand_over(self.lab, turns.pop(0))
            self.pace_ends()

    def over(self, waiting: list[derive.Command], events: list[file.Event]) -> bool:
        if any(end is not None and self.now() >= end for end in (self.lab.duration, self.limit)):
            return True
        clients = [command.name for command in self.derived.clients]
        return bool(clients) and not waiting and not events and all(name in self.ended for name in clients)

    def watch(self) -> None:
        for name, p in list(self.running.items()):
            if p.poll() is None:
                continue
            self.ended[name] = p.returncode
            del self.running[name]
            self.happened.add(self.now(), f"{name} ended with code {p.returncode}")
            if not any(name == command.name for command in self.derived.clients) and not any(name == one.log for one in self.others.values()):
                raise Failed(f"{name} ended with code {p.returncode}:{self.why(name)}")

    def happen(self, event: file.Event) -> None:
        try:
            if event.do == "set":
                self.set_link(event.whom, {key: event.set[key] for key in event.set})
            else:
                self.switch_link(event.whom, event.do)
            self.happened.change(self.now(), view.called(self.lab, event.whom), event.do, event.set)
        except Failed as e:
            raise Failed(f"{places.where(event)}: {e}") from None

    def pace_ends(self) -> None:
        """Links may have been handed over to channels of another rate or overhead, or the one that they pass may have changed."""
        for link in (link for link in self.lab.links.values() if link.overs):
            over = handover.pacing(handover.stays(link), self.now())
            for i, (node, name) in enumerate(self.ends(link.name)):
                if node in self.others:
                    continue
                then = handover.paced(link, i, over, shared.pace)
                before = self.paced[link.name, i]
                keys = {key: value for key, value in then.items() if value != before[key]}
                if keys:
                    self.ctl(node, "link", "set", name, *(f"{key}={value}" for key, value in keys.items()))
                    before.update(keys)

    def ends(self, name: str) -> list[tuple[str, str]]:
        """(node, what the link is called there) of both ends."""
        link = self.lab.links[name]
        return [(end, routes.link_name(self.lab, link, other)) for end, other in (link.ends, link.ends[::-1])]

    def ctl(self, node: str, *words: Any) -> dict[str, Any]:
        done = subprocess.run([self.program("helioctl"), "--socket", self.control_socket(node), "--timeout", "60s", "--json", *words], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
        if done.returncode != 0:
            raise (Mistaken if done.returncode == 2 else Failed)(f"node {node}: {done.stderr.strip() or done.stdout.strip()}")
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def control_socket(self, node: Any) -> str:
        return str(self.lab.nodes[node].keys.get("control") or self.derived.sockets[node] + ".ctl")

    def switch_link(self, name: str, state: Any) -> None:
        ours = [end for end in self.ends(name) if end[0] not in self.others]
        if not ours:
            raise Mistaken(f"link {name}: both ends are of other stacks")
        for node, link in ours:
            self.ctl(node, "link", link, state)

    def set_link(self, name: Any, keys: dict[places.Word, places.Word]) -> None:
        """Changes keys of the adapter at its ends, or keys of the channel, whose emulator is restarted: frames in it are lost."""
        if self.derived.emulator and name not in self.derived.alone:
            self.change_link(name, keys)
            return
        then, has_channel = self.lab_with(name, keys), self.lab.links[name].channel is not None
        if any(key.startswith("station.") for key in keys):
            self.change_network(name, then)
        if any(key.split(".")[0] in (*EMULATOR, *file.BOTH) for key in keys) and has_channel:
            self.renew_channel(name, then)
        self.tell_ends(name, keys, then)
        if has_channel == (then.links[name].channel is not None):
            self.lab = then

    def change_network(self, name: str, then: Any) -> None:
        """Nothing is lost: octets in transit keep their times."""
        self.ask_emulator(self.network_socket(name), json.dumps(station.relay_change(then.links[name])), f"link {name} set")

    def tell_ends(self, name: str, keys: Any, then: file.Lab) -> None:
        """What was set of the adapter of each end, and what follows of the channel's rate."""
        event = file.Event(0.0, name, "set", places.put(keys, None), None)
        for (node, link), own in zip(self.ends(name), sim.end_changes(self.lab, self.lab.links[name], then, event, self.addresses)):
            if own and node not in self.others:
                self.ctl(node, "link", "set", link, *(f"{key}={value if isinstance(value, str) else json.dumps(places.plain(value))}" for key, value in own.items()))

    def change_link(self, name: str, keys: Any) -> None:
        """The same with the one emulator of all links, which continues: nothing is lost. Also for a channel that links are handed over to."""
        said = f"link {name} set"
        then = self.lab_with(name, keys)
        before, after = self.lab.holder(name), then.holder(name)
        if (before.channel is None) != (after.channel is None):
            raise Mistaken(f"{said}: it has no channel")
        try:
            told = shared.changes(before, after, derive.pieces(before, self.addresses), lambda key: said) if before.channel is not None else {}
        except places.PlacesError as e:
            raise Mistaken(str(e)) from None
        self.change_emulator(told, said)
        if name in self.lab.links:
            self.tell_ends(name, keys, then)
        self.lab = then
        self.pace_ends()

    def change_emulator(self, told: Any, said: Any) -> None:
        """`told`: piece -> way -> keys."""
        called = shared.names(self.derived.channels)
        if told:
            self.ask_emulator(self.emulator_socket(), json.dumps({called[piece]: ways for piece, ways in told.items()}), said)

    def ask_emulator(self, place: Any, words: Any, said: Any) -> None:
        done = subprocess.run([self.program("helio-emu"), "change", place, words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                              check=False)
        if done.returncode != 0:
            raise (Mistaken if done.returncode == 2 else Failed)(f"{said}: {done.stderr.strip()}")

    def lab_with(self, name: str, keys: dict[places.Word, places.Word]) -> file.Lab:
        try:
            return file.changed(self.lab, name, keys)
        except places.PlacesError as e:
            raise Mistaken(str(e)) from None

    def renew_channel(self, name: Any, lab: Any) -> None:
        deriver = derive.Deriver(lab, self.out, self.state.folder, self.addresses, utc(self.begin))
        paths = {}
        for piece, ways, _ in self.addresses.pieces(lab.links[name]):
            times = self.renewed.get(piece, 0) + 1
            scenario = deriver.scenario(lab.links[name], piece, ways)
            for key in ("drop_log", "pcap_before", "pcap_after"):
                if key in scenario:
                    scenario[key] = places.put(scenario[key].replace(f"link-{piece}.", f"link-{piece}.{times}."), None)
            paths[piece] = deriver.add_config(f"link-{piece}.{times}.yaml", f"the channel {piece} from now on", scenario, ("helio-emu", "check"))
        try:
            deriver.tell()
            derive.write(deriver.out)
            derive.check(deriver.out)
        except places.PlacesError as e:
            raise Mistaken(str(e)) from None
        for piece, path in paths.items():
            times = self.renewed.get(piece, 0)
            self.derived.channels[piece], self.renewed[piece] = path, times + 1
            self.end_channel(piece, times)
            self.start_channel(piece)

    def end_channel(self, link: str, times: int) -> None:
        name = f"link-{link}" + (f".{times}" if times else "")
        p = self.running.pop(name)
        self.stop(name, p, signal.SIGINT)

    # ---- questions ----

    def serve(self, seconds: float = 0.05) -> None:
        readable, _, _ = select.select([self.listener], [], [], seconds)
        if not readable:
            return
        s, _ = self.listener.accept()
        with s:
            s.settimeout(60)  # the asking program may wait for a processor
            try:
                line = s.makefile("rb").readline(65536)
                s.sendall(json.dumps(self.answer(json.loads(line))).encode())
            except (OSError, ValueError):
                pass  # the asking program is gone, or asked nothing

    def answer(self, question: Any) -> Any:
        try:
            if question["cmd"] == "status":
                return self.status()
            if question["cmd"] == "overview":
                return view.overview(self)
            if question["cmd"] == "down":
                self.stopped = self.asked = True
                return {}
            is_channel = question.get("link") in self.lab.channels
            if question.get("link") not in self.lab.links and not is_channel:
                raise Mistaken(f"there is no link \"{question.get('link')}\"; there are {', '.join((*self.lab.links, *self.lab.channels))}")
            if is_channel and question["do"] != "set":
                raise Mistaken(f"{question['link']} is a channel, of which keys can be set; down and up are of links")
            if question["do"] == "set":
                self.set_link(question["link"], file.flattened(question["keys"], f"link {question['link']} set "))
            else:
                self.switch_link(question["link"], question["do"])
            self.happened.change(self.now(), view.called(self.lab, question["link"]), question["do"], question.get("keys"), by_hand=True)
            return {}
        except (Failed, subprocess.TimeoutExpired, places.PlacesError) as e:
            return {"error": str(e), "usage": isinstance(e, (Mistaken, places.PlacesError))}

    def status(self) -> Any:
        nodes = asyncio.run(ask_all({name: self.control_socket(name) for name in self.derived.nodes}))
        nodes.update({name: one.status() for name, one in self.others.items()})
        return {"title": self.lab.title, "mode": self.mode, "seconds": self.now(), "out": self.out, "nodes": nodes, "traffic": self.traffic_states()}

    def traffic_states(self) -> Any:
        return {command.name: "running" if command.name in self.running else
                f"ended ({self.ended[command.name]})" if command.name in self.ended else "waits" for command in self.derived.clients}

    def exec_words(self, node: str, words: list[str]) -> list[str]:
        del node
        return words

    # ---- the end ----

    def end(self) -> dict[str, Any]:
        """Clients report their results, then nodes and emulators end; returns the report of the run."""
        seconds = self.now()
        for command in self.derived.clients:
            self.end_client(command)
        nodes = {name: self.last_words(name) for name in self.derived.nodes}
        for command in self.derived.servers:
            self.end_quietly(command.name, signal.SIGINT)
        nodes.update({name: one.account() for name, one in self.others.items()})
        for one in self.others.values():
            one.end()
        for name in self.derived.nodes:
            self.end_quietly(self.node_log(name), signal.SIGTERM)
        stations = {link: self.station_status(link) for link in self.derived.stations}
        for link in self.derived.stations:
            self.end_quietly(f"station-{link}", signal.SIGTERM)
        for link in self.derived.wans:
            self.end_quietly(f"link-{link}.wan", signal.SIGINT)
        if self.derived.emulator:
            self.end_quietly("emulator", signal.SIGINT)
        for link in self.derived.alone:
            times = self.renewed.get(link, 0)
            self.end_quietly(f"link-{link}" + (f".{times}" if times else ""), signal.SIGINT)
        return {"seconds": seconds, "interrupted": self.stopped, "events": self.happened.list, "traffic": self.traffic_results(),
                "servers": [shown for command in self.derived.servers if (shown := result.load_json(self.path(f"{command.name}.json")))],
                "channels": self.channel_results(), "nodes": nodes, "stations": stations, **({"shared": self.emulated()[1]} if self.lab.shared else {})}

    def station_status(self, link: file.Link) -> Any:
        path = derive.Deriver.station_socket(self.lab, link, self.state.folder)
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(10)
                s.connect(path)
                return json.load(s.makefile())
        except (OSError, ValueError) as e:
            return {"error": str(e)}

    def last_words(self, name: str) -> dict[str, Any]:
        try:
            self.ctl(name, "flush")
        except (Failed, subprocess.TimeoutExpired):
            pass  # the result says that one has no logs; the figures of its links are reported all the same
        try:
            p = self.running.get(self.node_log(name))
            totals = view.totals(self.ctl(name, "top")["node"])
            return {"cpu_s": machine.cpu_seconds(p.pid) if p else None, **self.ctl(name, "status"), **totals, "links": self.ctl(name, "links")["links"]}
        except (Failed, subprocess.TimeoutExpired) as e:
            return {"error": str(e)}

    def end_client(self, command: derive.Command) -> None:
        p = self.running.pop(command.name, None)
        if p is None:
            return
        if p.poll() is None:
            p.send_signal(signal.SIGINT)
        try:
            self.ended[command.name] = p.wait(END)
        except subprocess.TimeoutExpired:
            p.kill()
            self.ended[command.name] = p.wait()

    def end_quietly(self, name: str, number: Any) -> None:
        p = self.running.pop(name, None)
        if p is None:
            return
        try:
            self.stop(name, p, number)
        except Failed as e:
            print(f"helio-lab: {e}", file=sys.stderr)

    def traffic_results(self) -> Any:
        out = {}
        for command in self.derived.clients:
            code = self.ended.get(command.name)
            out[command.name] = {**(result.load_json(self.path(f"{command.name}.json")) or {}), "code": code}
        return out

    def channel_results(self) -> dict[str, dict[str, Any]]:
        wans = {f"{link}.wan": station.relay_account(result.load_json(self.path(f"link-{link}.wan.json"))) or {} for link in self.derived.wans}
        out = self.emulated()[0] if self.derived.emulator else {}
        for link in self.derived.alone:
            names = [f"link-{link}" + (f".{times}" if times else "") + ".json" for times in range(self.renewed.get(link, 0) + 1)]
            out[link] = account.joined([result.load_json(self.path(name)) for name in names])
        return {**out, **wans}

    def emulated(self) -> Any:
        return shared.results(result.load_json(self.path("emulator.json")), self.derived.channels)

    def __exit__(self, *what: Any) -> None:
        if self.listener is not None:
            self.listener.close()
        for one in self.others.values():
            one.kill()
        super().__exit__(*what)
        self.state.drop()


def play(session: Session, tell: Callable[..., Any] = lambda: None) -> dict[str, Any]:
    """Starts, runs and ends it; returns its result. tell: called when the lab is up."""
    def on_signal(*_: object) -> None:
        session.stopped = True

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        session.prepare()
        with session:
            session.up()
            tell()
            session.loop()
            return session.end()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(session: Session, tell: Callable[..., Any]) -> dict[str, Any]:
    """From nothing to the result."""
    return result.finish(session.lab, session.out, session.mode, play(session, tell))
