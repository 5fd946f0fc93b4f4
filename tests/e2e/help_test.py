#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of every --help, run as they are printed: each is a command that its program takes. What they name (nodes, files) is not
there, and what goes on is ended. And what a mistake is answered with. usage: help_test.py BIN SOURCE"""
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from page import ALONE

BIN, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
SUBCOMMANDS = {"helio-perf": ("server", "client", "monitor"), "helio-emu": ("relay", "bridge", "links", "stream", "change", "status", "metrics", "check"),
               "helio-trace": ("gen", "from-power", "convert", "info"), "helio-bundle": ("show", "make", "lint", "sign", "verify", "encrypt", "decrypt", "explain"),
               "helio-plan": ("check", "convert", "show", "route", "import", "serve", "follow", "publish", "rollback", "versions"), "helio-frames": ("gen", "info", "convert", "fop", "farm"),
               "helio-sle": ("provider", "import", "user", "bench", "bridge", "sim", "modem", "control"), "helio-csts": ("provider", "monitor", "forward", "data"), "helio-store": ("check", "list", "export", "repair"),
               "helio-cfdp": ("daemon", "put", "get", "ls", "suspend", "resume", "cancel", "link", "status"),
               "helio-ltp": ("send", "receive"), "helio-sync": ("send", "receive"), "helio-lab": ("passes",)}
# Examples have fixed ports: where that is permitted, each is in a network of its own.
PREFIX = ALONE if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0 else []
LEFT_OUT = ("helio-emu bridge --a", "--background")  # interfaces of this machine; what would go on
NOT_TAKEN = re.compile(r"Try [`']|unrecognized|invalid choice|command not found|are required|unexpected|what is this|syntax error|usage:|--help", re.I)


def printed(words):
    """The examples, a command each: lines that end in a backslash go on in the next one."""
    said = subprocess.run([BIN / words[0], *words[1:], "--help"], capture_output=True, text=True, check=True).stdout
    parts = re.split(r"(?im)^ *examples?\b.*:\n", said)
    lines = list(itertools.takewhile(lambda line: line.startswith(" "), [] if len(parts) < 2 else parts[1].splitlines()))
    joined = "\n".join(line.strip() for line in lines).replace("\\\n", " ")
    return joined.splitlines()


def wrapped(words):
    """Lines of examples that are too long, or that argp broke without a backslash: what had no room stands at the margin of the next one."""
    said = subprocess.run([BIN / words[0], *words[1:], "--help"], capture_output=True, text=True, check=True).stdout
    part = re.split(r"(?im)^ *examples?\b.*:\n", said)
    lines = [] if len(part) < 2 else part[1].split("\n\n")[0].splitlines()
    broken = [line for line, after in zip(lines, lines[1:]) if re.match(r"\S", after) and len(line) + 1 + len(after.split()[0]) >= 79]
    return [f"{' '.join(words)}: no line of a terminal, break it with a backslash: {line}" for line in broken + [x for x in lines if len(x) > 79]]


def run(line, folder):
    """What it says on its standard error within two seconds."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for name in ("examples", "campaigns", "traces"):
            os.symlink(SOURCE / name, os.path.join(place, name))
        os.mkdir(os.path.join(place, "received"))  # of --output, which must exist
        p = subprocess.Popen([*PREFIX, "bash", "-c", line], cwd=place, env={"PATH": f"{BIN}:/usr/bin:/bin", "HOME": place}, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            return p.communicate(timeout=2)[1]
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            return p.communicate()[1]
        finally:
            left_alone(place)


def left_alone(place):
    """Waits until nothing works in the folder: what was killed ends when it is next given a processor, and so does what goes with it."""
    deadline = time.monotonic() + 120
    while (there := [p for p in Path("/proc").glob("[0-9]*") if working_in(p, place)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not there, [(p / "cmdline").read_text() for p in there]


def working_in(process, place):
    try:
        return os.readlink(process / "cwd").startswith(place)
    except OSError:  # it has ended, or is not ours
        return False


MISTAKES = (("helio-tune", "--delay", "125"), ("helio-campaign",), ("helio-campaign", "x.yaml", "--jobs", "many"), ("helio-lab", "x.yaml", "upp"),
            ("helio-lab", "x.yaml", "up", "--moed"), ("helio-lab", "passes", "--station", "rome"), ("helio-sim", "--delay", "125"))


def mistaken(words):
    """What is wrong with the answer to a mistake: it is one line, and another one that names the help."""
    p = subprocess.run([BIN / words[0], *words[1:]], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    lines = p.stderr.splitlines()
    right = p.returncode == 2 and not p.stdout and len(lines) == 2 and lines[0].startswith(words[0]) and lines[1].startswith(f"Try `{words[0]}")
    return [] if right else [f"{' '.join(words)} ({p.returncode}):\n    {p.stderr.strip()}"]


def main():
    programs = sorted(p.name for p in BIN.iterdir() if p.name.startswith("helio"))
    commands = [[name, *more] for name in programs for more in ([], *([sub] for sub in SUBCOMMANDS.get(name, ())))]
    with ThreadPoolExecutor(4) as pool, tempfile.TemporaryDirectory(prefix="helio-help-") as folder:
        examples = list(pool.map(printed, commands))
        found = dict.fromkeys(line for lines in examples for line in lines)
        wrong = [f"no examples: {' '.join(words)}" for words, lines in zip(commands, examples) if not lines]
        wrong += [text for words in MISTAKES for text in mistaken(words)] + [text for texts in pool.map(wrapped, commands) for text in texts]
        for line in found:
            first = re.findall(r"\bhelio[a-z-]*", line)
            if not first or not set(first) & set(programs):
                wrong.append(f"no command: {line}")
        wanted = [line for line in found if not any(words in line for words in LEFT_OUT)]
        for line, said in zip(wanted, pool.map(lambda line: run(line, folder), wanted)):
            if NOT_TAKEN.search(said):
                wrong.append(f"{line}\n    {said.strip()}")
    assert not wrong, "\n".join(wrong)
    assert len(wanted) > 170, len(wanted)
    print(f"{len(wanted)} examples of {len(commands)} helps")


main()
