# SPDX-License-Identifier: Apache-2.0
"""helio-lab FILE prompt: commands for a running lab, one a line. On a terminal with completion and a history; else each line of the standard
input is a command."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import places
from ..processes import Failed
from . import file as lab_file, state as lab_state

if TYPE_CHECKING:
    pass

HELP = """exec NODE COMMAND...        a command at a node: exec 1 helioctl links
NODE COMMAND...             the same, where no command has the node's name
status [--watch] [--json]   nodes, links and traffic
logs [NAME]                 what the programs said; without NAME: which there are
link A-B down|up            take a link down or up
set A-B KEY=VALUE...        change keys of the adapter, or of the channel
down                        end the lab
help, quit                  Ctrl-D is quit, Ctrl-C ends a command"""
COMMANDS = ("exec", "status", "logs", "link", "set", "down", "help", "quit")
HISTORY_MAX = 1000


def history_file() -> Any:
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "heliograph", "lab-history")


def programs_of(known: Any) -> Any:
    with contextlib.suppress(OSError):
        return sorted(name for name in os.listdir(known["programs"]) if name.startswith(("helio", "aap2")) and os.access(os.path.join(known["programs"], name), os.X_OK))
    return []


def logs_of(known: Any) -> Any:
    with contextlib.suppress(OSError):
        return sorted(name[:-4] for name in os.listdir(known["out"]) if name.endswith(".log"))
    return []


class Words:
    """The possible words at a place of a line."""
    def __init__(self, known: Any) -> None:
        self.known, self.nodes = known, list(known["sockets"])
        self.links, self.channels = [], []
        with contextlib.suppress(places.PlacesError, Failed, OSError):
            lab = lab_file.load(known["file"])
            self.links, self.channels = list(lab.links), list(lab.channels)

    def at(self, before: Any) -> Any:
        """Candidates after the words before."""
        if not before:
            return [*COMMANDS, *self.nodes]
        command, place = before[0], len(before)
        if command not in COMMANDS:
            before, command, place = ["exec", *before], "exec", place + 1
        if command == "exec":
            return self.nodes if place == 1 else programs_of(self.known) if place == 2 else self.nodes
        if command == "link":
            return self.links if place == 1 else ["down", "up", "set"] if place == 2 else self.keys() if before[2] == "set" else []
        if command == "set":
            return [*self.links, *self.channels] if place == 1 else self.keys()
        first = {"logs": [*logs_of(self.known), *self.nodes, *self.links], "status": ["--watch", "--json"]}
        return first.get(command, []) if place == 1 else []

    @staticmethod
    def keys() -> Any:
        return [f"{key}=" for key in lab_file.WAY]


def complete(words: Any, line: Any, begin: Any, text: Any) -> Any:
    """What the text at that place of the line can become, with a space behind what is whole."""
    found = [word for word in dict.fromkeys(words.at(line[:begin].split())) if word.startswith(text)]
    return [word if word.endswith("=") else word + " " for word in found]


@contextlib.contextmanager
def editing(words: Any) -> Iterator[Any]:
    """Completion and history of the terminal's line, where Python has them."""
    try:
        import readline
    except ImportError:
        yield
        return
    path = history_file()

    def at(text: Any, number: Any) -> Any:
        found = complete(words, readline.get_line_buffer(), readline.get_begidx(), text)
        return found[number] if number < len(found) else None
    readline.set_completer_delims(" \t")
    readline.set_completer(at)
    readline.parse_and_bind("tab: complete")
    readline.set_history_length(HISTORY_MAX)
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            readline.write_history_file(path)
            os.chmod(path, 0o600)


def run_command(command: Any) -> Any:
    """A program in the foreground: Ctrl-C is for it alone."""
    sys.stdout.flush()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.run(command, check=False, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)).returncode
    except OSError as e:
        raise Failed(f"{command[0]}: {e.strerror}") from None
    finally:
        signal.signal(signal.SIGINT, before)


class Prompt:
    """`do(command, words)` does what `helio-lab FILE COMMAND …` does and returns its exit code; `command_at(words)` is the command line of exec."""
    def __init__(self, file: str, known: Any, do: Any, command_at: Any) -> None:
        self.state, self.do, self.command_at = lab_state.State(file), do, command_at
        self.words = Words(known)

    def line(self, text: Any) -> Any:
        """Does a line; its exit code. EOFError: the last one."""
        words = shlex.split(text, comments=True)
        if not words:
            return 0
        if words[0] in ("quit", "exit"):
            raise EOFError
        if words[0] == "help":
            print(HELP)
            return 0
        if words[0] in self.words.nodes and words[0] not in COMMANDS:
            words.insert(0, "exec")
        if words[0] == "exec":
            return run_command(self.command_at(words[1:]))
        if words[0] == "set":
            words = ["link", *words[1:2], "set", *words[2:]]
        if words[0] not in COMMANDS:
            raise places.PlacesError(f"{words[0]}: no command and no node; help lists the commands, nodes are {', '.join(self.words.nodes)}")
        return self.do(words[0], words[1:])

    def tried(self, text: Any, guard: Any) -> Any:
        """A line whose end by Ctrl-C, or by a wrong word, is not that of the prompt."""
        try:
            return guard(lambda: self.line(text))
        except KeyboardInterrupt:
            print()
            return 130
        except SystemExit as e:  # a wrong option was reported
            return e.code if isinstance(e.code, int) else 2
        except ValueError as e:
            print(f"helio-lab: {e}", file=sys.stderr)
            return 2

    def over(self) -> Any:
        return self.state.load() is None

    def run(self, guard: Any) -> Any:
        """Until Ctrl-D, `quit` or the lab's end. The exit code: of a terminal 0, else the first one that is not 0."""
        terminal, code = sys.stdin.isatty(), 0
        with editing(self.words) if terminal else contextlib.nullcontext():
            while not self.over():
                try:
                    text = input(f"{self.state.name.rsplit('-', 1)[0]}> ") if terminal else input()
                    done = self.tried(text, guard)
                    code = code or done
                except KeyboardInterrupt:
                    print("^C")
                except EOFError:
                    if terminal:
                        print()
                    return 0 if terminal else code
        print("the lab has ended")
        return 0 if terminal else code
