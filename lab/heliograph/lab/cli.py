# SPDX-License-Identifier: Apache-2.0
"""helio-lab: from one file a testbed of processes, of network namespaces, or in virtual time."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from .. import VERSION, advice, places, programs, units
from ..arguments import Parser
from ..processes import Failed, Mistaken
from . import (
    check as lab_check,
    derive,
    file as lab_file,
    graph as lab_graph,
    hints,
    live,
    objections,
    page as lab_page,
    prompt as lab_prompt,
    result as lab_result,
    sim,
    stack_run,
    state as lab_state,
    station as lab_station,
)

EPILOG = """commands:
  up [--mode local|netns|sim]   start the lab; Ctrl-C ends it. Without --mode: local
  up --background               return when it is up; `down` ends it
  check                         is the file right? Nothing is started
  files [NODE]                  the files that are derived, of one node or of all. Nothing is started
  graph [--svg]                 the network as a picture: DOT (of Graphviz), or SVG. Nothing is started
  status [--watch]              nodes, links and traffic of the running lab
  page [--listen [ADDR:]PORT]   the running lab in a browser: its map with rates, fades and losses
                                of this second. Or a finished one: page --out DIR
  exec NODE COMMAND...          a command at a node; helio programs find its socket by themselves,
                                {socket}, {control} and {node} stand for the node's, and a node's
                                name for its endpoint: exec NODE helio-ping OTHER
  logs [NAME]                   what the programs said; without NAME: which there are
  link A-B down|up              take a link down or up at both ends
  link A-B set KEY=VALUE...     change keys of the adapter, or of the channel
  link NAME set KEY=VALUE...    of a channel that links are handed over to
  prompt                        commands for the running lab, one a line, with completion
  down                          end the running lab

  helio-lab passes ...          contacts from orbits; helio-lab passes --help

examples:
  helio-lab examples/lab-line.yaml up --mode sim
  helio-lab examples/lab-line.yaml up --background
  helio-lab examples/lab-line.yaml exec 1 helioctl links
  helio-lab examples/lab-line.yaml link 2-3 set rate=1Mbit/s
  helio-lab examples/lab-line.yaml up --mode sim --set links.3-4.trace=H
  helio-lab examples/lab-line.yaml up --dry-run --out lab

exit codes: 0 done, 1 failed or bundles are missing, 2 wrong usage or lab file"""
COMMANDS = ("up", "check", "files", "graph", "status", "page", "exec", "logs", "link", "prompt", "down")


def arguments() -> Parser:
    p = Parser(prog="helio-lab", epilog=EPILOG, usage="helio-lab FILE COMMAND [OPTION...]", description="A network of nodes from one file.")
    p.add_argument("file", metavar="FILE", help="the lab file")
    p.add_argument("command", metavar="COMMAND", choices=COMMANDS)
    p.add_argument("words", nargs=argparse.REMAINDER, metavar="…")
    return p


def options(command: Any, words: list[str]) -> argparse.Namespace:
    p = Parser(prog=f"helio-lab FILE {command}")
    if command in ("up", "check", "files", "graph"):
        p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="another value for a key of the file, such as link.rate=1Mbit/s")
    if command == "graph":
        p.add_argument("--svg", action="store_true", help="as SVG; without it as DOT")
    if command in ("up", "check", "files"):
        p.add_argument("--mode", choices=("local", "netns", "sim"), default="local", help="processes on the loopback interface, in network "
                                                                                         "namespaces (as root), or in virtual time")
    if command == "up":
        p.add_argument("--out", metavar="DIR", help="folder of the run (default out/FILE-MODE-DATE)")
        p.add_argument("--dry-run", action="store_true", help="write the configurations and print the commands, for several machines, too")
        p.add_argument("--background", action="store_true", help="return when the lab is up")
        p.add_argument("--json", action="store_true", help="print the result as JSON")
        p.add_argument("--ready", type=int, help=argparse.SUPPRESS)
    if command == "status":
        p.add_argument("--watch", action="store_true", help="again each second, until Ctrl-C")
        p.add_argument("--json", action="store_true", help="print it as JSON")
    if command == "page":
        p.add_argument("--listen", metavar="[ADDR:]PORT", help="where the page is served: a port of 127.0.0.1, or an address with a port (default: the first free port from "
                                                               f"{lab_page.FIRST_PORT} on)")
        p.add_argument("--host", action="append", default=[], metavar="NAME", help="a further name of this server that requests may have, such as a proxy's")
        p.add_argument("--out", metavar="DIR", help="folder of a finished run: show its last state, in place of the running lab")
        token = p.add_mutually_exclusive_group()
        token.add_argument("--token-file", metavar="FILE", help="file with the page's access token, 16 to 256 characters (default: a new one at an address that other machines reach)")
        token.add_argument("--no-token", action="store_true", help="no access token: all who reach the page can read it")
        p.add_argument("--change", nargs="?", const="", metavar="FILE", help="links can be changed on the page by those who have the change token: that in FILE, or a new one, which is printed")
    if command in ("logs", "files"):
        p.add_argument("name", nargs="?", metavar="NAME")
    if command == "link":
        p.add_argument("link", metavar="A-B", help="a link; for set also a channel that links are handed over to")
        p.add_argument("do", choices=("down", "up", "set"))
        p.add_argument("keys", nargs="*", metavar="KEY=VALUE")
    return p.parse_args(words)


def changes(words: list[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise places.PlacesError(f"--set {word}: KEY=VALUE is wanted, such as --set link.rate=1Mbit/s")
        yield key, value


def out_folder(file: str, mode: str) -> Any:
    stem = os.path.splitext(os.path.basename(file))[0]
    return os.path.abspath(os.path.join("out", f"{stem}-{mode}-{datetime.datetime.now():%Y%m%d-%H%M%S}"))


# ---- up ----


def session_of(mode: str, lab: lab_file.Lab, out: str, state: lab_state.State) -> live.Session:
    if mode == "netns":
        from .netns import Session
        return Session(lab, out, state)
    return live.Session(lab, out, state)


def dry_run(lab: lab_file.Lab, out: str, mode: str) -> int:
    """Configurations, and a line for each program, headed by the machine that it is for."""
    os.makedirs(out, exist_ok=True)
    if mode == "sim":
        derived = sim.derive(lab, out)
        derive.write(derived)
        print(shlex.join(sim.command_line(lab, derived)))
        return 0
    if mode == "netns":
        from .netns import print_plan
        result: int = print_plan(lab, out)
        return result
    derived = derive.derive(lab, out, out, derive.Addresses(lab, 20000), live.utc(int(time.time()) + 60))
    derive.write(derived)
    derive.check(derived)
    objections.check(derived)
    for machine, words in commands(lab, derived):
        print(f"{machine}: {shlex.join(words)}")
    return 0


def commands(lab: lab_file.Lab, derived: derive.Derived) -> Iterator[tuple[places.Word, list[str]]]:
    def machine(node: str) -> Any:
        return lab.nodes[node].address or "127.0.0.1"

    if derived.emulator:
        yield machine(next(iter(lab.links.values())).ends[0]), ["helio-emu", "links", derived.emulator]
    for link, at in derived.relays.items() if not derived.emulator else ():
        yield machine(lab.links[derived.owners[link]].ends[0]), ["helio-emu", "relay", "--listen", at["listen"], "--to", at["to"], "--return-to", at["back"],
                                                 "--scenario", derived.channels[link]]
    for link, path in derived.stations.items():
        station: Any = lab.links[link].station.address or "127.0.0.1"
        if link in derived.wans:
            yield station, lab_station.relay_command(derived.wans[link])
        yield station, ["helio-sle", "provider", path]
    for name, path in derived.nodes.items():
        yield machine(name), ["heliod", path]
    for name, one in derived.stacks.items():
        yield machine(name), list(one.plan.command)
    for command in (*derived.servers, *derived.clients):
        yield machine(command.node), command.words


def start_background(argv: list[str]) -> Any:
    """Runs the same command in a separate process, until it reports that it is up, or why not."""
    reading, writing = os.pipe()
    words = [word for word in argv if word != "--background"]
    with tempfile.TemporaryFile() as said:
        p = subprocess.Popen([sys.executable, *([sys.argv[0]] if sys.argv[0] else []), *words, "--ready", str(writing)], pass_fds=(writing,),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True)
        os.close(writing)
        with os.fdopen(reading) as f:
            text = f.read()
        if text:
            print(text, end="")
            return 0
        code = p.wait()
        said.seek(0)
        sys.stderr.write(said.read().decode(errors="replace"))
        return code or 1


def say_up(a: argparse.Namespace, session: live.Session) -> None:
    nodes, links = units.counted(session.lab.nodes, "node"), units.counted(session.lab.links, "link")
    text = f"helio-lab: {session.lab.title}: {nodes} and {links} are up; "
    if a.ready is not None:
        text += f"helio-lab {shlex.quote(a.file)} down ends them; logs are in {session.out}\n"
        os.write(a.ready, text.encode())
        os.close(a.ready)
        log = os.open(os.path.join(session.out, "lab.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
    else:
        print(text + "Ctrl-C ends them", file=sys.stderr, flush=True)


def up(a: argparse.Namespace, argv: list[str]) -> int:
    lab = lab_file.load(a.file, list(changes(a.set)), "--set ")
    out = os.path.abspath(a.out) if a.out else out_folder(a.file, a.mode)
    if a.dry_run:
        return dry_run(lab, out, a.mode)
    if a.background:
        if a.mode == "sim":
            raise places.PlacesError("--background: a lab in virtual time ends by itself")
        found: int = start_background([*argv, "--out", out])
        return found
    if a.mode == "sim":
        result = sim.run(lab, out)
    else:
        session = session_of(a.mode, lab, out, lab_state.State(a.file))
        result = live.run(session, lambda: say_up(a, session))
        lab = session.lab
    if a.json:
        print(json.dumps({key: value for key, value in result.items() if key != "analysis"}, indent=2))
    else:
        lab_result.tell(lab, out, result)
    return 1 if result["failed"] else 0


def check(a: argparse.Namespace) -> int:
    lab = lab_file.load(a.file, list(changes(a.set)), "--set ")
    gone = lab_check.check(lab, a.mode)
    print(f"{a.file}: {units.counted(lab.nodes, 'node')}, {units.counted(lab.links, 'link')}, {units.counted(lab.traffic, 'kind')} of traffic")
    for hint in hints.hints(lab):
        print(f"helio-lab: {places.where(hint.value)}: WARNING: {hint.key}: {hint.text}", file=sys.stderr)
    for value, text in gone:
        print(f"helio-lab: {places.where(value)}: WARNING: {text}", file=sys.stderr)
    return 0


def files(a: argparse.Namespace) -> Any:
    lab = lab_file.load(a.file, list(changes(a.set)), "--set ")
    if a.name is not None and a.name not in lab.nodes:
        raise Mistaken(f"files: there is no node \"{a.name}\"; {advice.meant(a.name, lab.nodes)}")
    sys.stdout.write(lab_check.shown(lab, a.mode, a.name))
    return 0


def graph(a: argparse.Namespace) -> Any:
    lab = lab_file.load(a.file, list(changes(a.set)), "--set ")
    sys.stdout.write(lab_graph.svg(lab) if a.svg else lab_graph.dot(lab))
    return 0


# ---- while it is up ----


def need_file(a: argparse.Namespace) -> None:
    """A lab that is not up may have been called by a wrong name."""
    if not os.path.exists(a.file):
        raise places.PlacesError(f"{a.file}: there is no such file")


def running(a: argparse.Namespace) -> Any:
    state = lab_state.State(a.file)
    known = state.load()
    if known is None:
        need_file(a)
        left = lab_state.left(state)
        if left:
            raise Failed("\n".join([f"{a.file} is not up: what ran it was killed (process {left['pid']}). It left:", *(f"  {line}" for line in left["lines"]),
                                    f"helio-lab {shlex.quote(a.file)} down removes it"]))
        raise Failed(f"{a.file} is not up; helio-lab {a.file} up starts it")
    return state, known


def show_status(shown: Any) -> None:
    since = f"up for {shown['seconds']:.0f} s" if shown["seconds"] >= 0 else f"begins in {-shown['seconds']:.0f} s"
    print(f"{shown['title']}: {since}, mode {shown['mode']}, logs in {shown['out']}")
    print(f"{'NODE':<10} {'LINK':<12} {'STATE':<6} {'HELD':>6} {'WAITING':>12} {'SENT':>8} {'RECEIVED':>9} {'FAILED':>7}")
    for name, node in shown["nodes"].items():
        if "error" in node:
            print(f"{name:<10} {node['error']}")
            continue
        if "kind" in node:
            ended = f" with code {node['code']}" if node["code"] is not None else ""
            print(f"{name:<10} {node['kind']}: {node['state']}{ended}" + (f"; {node['last']}" if node["last"] else ""))
            continue
        for link in node["links"]:
            waiting = "/".join(str(queue["bundles"]) for queue in link["queues"].values()) if isinstance(link.get("queues"), dict) else \
                str(link.get("waiting", ""))
            print(f"{name:<10} {link['name']:<12} {'up' if link.get('up') else 'down':<6} {node.get('bundles', 0):>6} {waiting:>12} "
                  f"{link.get('sent', 0):>8} {link.get('received', 0):>9} {link.get('failed', 0):>7}")
    for name, what in shown["traffic"].items():
        print(f"{name}: {what}")


def status(a: argparse.Namespace) -> Any:
    state, known = running(a)
    while True:
        if state.load() is None:
            lab_state.await_end(known)
            print("the lab has ended")
            return 0
        try:
            shown = state.ask({"cmd": "status"})
        except Failed:
            if a.watch and lab_state.is_ending(state, known):
                continue
            raise
        if a.json:
            print(json.dumps(shown, indent=2))
        else:
            if a.watch and sys.stdout.isatty():
                print("\033[H\033[J", end="")
            show_status(shown)
        if not a.watch:
            return 0
        sys.stdout.flush()
        time.sleep(1)


def page(a: argparse.Namespace) -> Any:
    if a.out is None:
        running(a)
    return lab_page.show(a.file, a.out, a.listen, a.host, a.token_file, a.no_token, a.change)


SERVICES = {"helio-ping": "echo", "aap2-ping": "echo", "helio-perf": "perf", "helio-send": "file"}  # the meaning of a node's name


def at_names(known: Any, words: list[str]) -> Any:
    """A node's name in place of an endpoint: a word by itself, or what follows -d."""
    found = known.get("endpoints", {}).get(SERVICES.get(os.path.basename(words[0])), {})
    program, out, named = os.path.basename(words[0]), [words[0]], False
    for before, word in zip(words, words[1:]):
        wanted = before in ("-d", "--destination") or program != "helio-perf" and not before.startswith("-")
        out.append(found[word] if word in found and wanted and not named else word)
        named = named or out[-1] != word
    return out


SOCKETED = ("helio-perf", "helio-ping", "helio-send", "helio-recv", "aap2-send", "aap2-receive", "aap2-ping", "aap2-config")


def at_node(known: Any, node: Any, words: list[str]) -> Any:
    """The command with the paths of the node's sockets, and with the option that helio programs need."""
    place, stack = known["sockets"][node], known.get("stacks", {}).get(node)
    for mark, text in (("{socket}", place), ("{control}", place + ".ctl"), ("{node}", node), *([("{folder}", stack["folder"])] if stack else [])):
        words = [word.replace(mark, text) for word in words]
    if stack and not stack["serves"]:
        return [*stack["enter"], *words]
    program, words = os.path.basename(words[0]), at_names(known, words)
    if not any(word == "--socket" or word.startswith("--socket=") for word in words):
        if program == "helioctl":
            words[1:1] = ["--socket", place + ".ctl"]
        elif program == "helio-perf" and len(words) > 1:
            words[2:2] = ["--socket", place]
        elif program in SOCKETED:
            words[1:1] = ["--socket", place]
    own = os.path.join(known["programs"], words[0])
    return [own if "/" not in words[0] and os.access(own, os.X_OK) else words[0], *words[1:]]


def command_at(known: Any, words: list[str]) -> Any:
    words = words[1:] if words[:1] == ["--"] else words
    if words and words[0] not in known["sockets"]:
        raise Mistaken(f"exec: there is no node \"{words[0]}\"; {advice.meant(words[0], known['sockets'])}")
    if len(words) < 2:
        raise Mistaken(f"exec: a node ({', '.join(known['sockets'])}) and a command are wanted")
    command = at_node(known, words[0], words[1:])
    space = known.get("spaces", {}).get(words[0])
    if space:
        command = ["ip", "netns", "exec", space, *command]
    return command


def environment(known: Any, words: list[str]) -> Any:
    """What programs of the node's stack find in it."""
    words = words[1:] if words[:1] == ["--"] else words
    return known.get("stacks", {}).get(words[0], {}).get("env", {})


def execute(a: argparse.Namespace) -> NoReturn:
    _, known = running(a)
    command = command_at(known, a.words)
    os.environ.update(environment(known, a.words))
    try:
        os.execvp(command[0], command)
    except OSError as e:
        raise Failed(f"{command[0]}: {e.strerror}") from None


def number_of(path: str) -> Any:
    """Of the node whose socket that is."""
    return os.path.splitext(os.path.basename(path))[0]


def logs(a: argparse.Namespace) -> Any:
    _, known = running(a)
    if a.name is None:
        said = {number_of(path): f" ({name})" for name, path in known["sockets"].items() if name != number_of(path)}
        names = sorted(name[:-4] for name in os.listdir(known["out"]) if name.endswith(".log"))
        print("\n".join(name + (said.get(name.removeprefix("node"), "") if name.startswith("node") else "") for name in names))
        return 0
    own = known["sockets"].get(a.name)
    for name in (*([f"node{number_of(own)}"] if own else []), a.name, f"node{a.name}", f"link-{a.name}", f"station-{a.name}"):
        path = os.path.join(known["out"], name + ".log")
        if os.path.isfile(path):
            for one in (path, *stack_run.logs_in(path.removesuffix(".log"))):  # and what a node of another stack writes itself
                with open(one, encoding="utf-8", errors="replace") as f:
                    sys.stdout.write(f.read())
            return 0
    raise Mistaken(f"there is no log of {a.name}; helio-lab {a.file} logs lists them")


def link(a: argparse.Namespace) -> Any:
    state, _ = running(a)
    if (a.do == "set") != bool(a.keys):
        raise places.PlacesError("link: write A-B down, A-B up, or A-B set KEY=VALUE…")
    question = {"cmd": "link", "do": a.do, "link": a.link}
    if a.do == "set":
        question["keys"] = dict(changes(a.keys))
    state.ask(question)
    return 0


def down(a: argparse.Namespace) -> int:
    state = lab_state.State(a.file)
    if state.load() is None:
        if not os.path.exists(state.folder):
            need_file(a)
        lab_state.restore_limits(state)
        state.drop()
        from .netns import sweep
        sweep(state.name)
        print(f"helio-lab: {a.file} is not up", file=sys.stderr)
        return 0
    known = state.load()
    state.ask({"cmd": "down"})
    lab_state.await_end(known)
    return 0


def prompt(a: argparse.Namespace) -> Any:
    _, known = running(a)

    def do(command: Any, words: list[str]) -> Any:
        o = options(command, words)
        o.file = a.file
        return WHILE_UP[command](o)
    return lab_prompt.Prompt(a.file, known, do, lambda words: command_at(running(a)[1], words)).run(lambda work: guarded(a.file, work))


WHILE_UP = {"status": status, "logs": logs, "link": link, "down": down}


def work(a: Any, argv: Any) -> int:
    if a.command == "exec":
        execute(a)
    o = options(a.command, a.words)
    o.file = a.file
    if a.command == "up":
        return up(o, argv)
    result: int = {**WHILE_UP, "check": check, "files": files, "graph": graph, "page": page, "prompt": prompt}[a.command](o)
    return result


def guarded(file: str, work: Callable[..., Any]) -> int:
    """Its return value, or the exit code after its error was reported."""
    try:
        result: int = work()
        return result
    except places.PlacesError as e:
        print("\n".join(f"helio-lab: {line}" for line in str(e).splitlines()), file=sys.stderr)
        return 2
    except (Failed, programs.ProgramError) as e:
        print(f"helio-lab: {e}", file=sys.stderr)
        return 2 if isinstance(e, Mistaken) else 1
    except OSError as e:
        print(f"helio-lab: {e.filename or file}: {e.strerror}", file=sys.stderr)
        return 1


def file_first(argv: list[str]) -> str | None:
    """What was meant by COMMAND FILE; None: FILE is first. A lab file may have a command's name."""
    if not argv or argv[0] not in COMMANDS or argv[1:2] and argv[1] in COMMANDS or os.path.exists(argv[0]):
        return None
    file = next((word for word in argv[1:] if os.path.isfile(word) or word.endswith((".yaml", ".yml"))), None)
    rest = [word for word in argv[1:] if word != file] if file else []
    return f"FILE comes first: helio-lab {shlex.quote(file) if file else 'FILE'} {shlex.join([argv[0], *rest])}"


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["passes"]:
        from . import passes
        result: int = passes.main(argv[1:])
        return result
    if argv[:1] == ["--version"]:
        print(f"helio-lab {VERSION}")
        return 0
    if argv and argv[0].startswith("-") and argv[0] not in ("-h", "--help"):
        arguments().error(f"unrecognized arguments: {argv[0]}")  # before missing modules are reported
    if meant := file_first(argv):
        arguments().error(meant)
    a = arguments().parse_args(argv)
    return guarded(a.file, lambda: work(a, argv))
