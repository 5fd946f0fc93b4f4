# SPDX-License-Identifier: Apache-2.0
"""Which word was meant, and which package has what is missing: for messages to people."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

# base/words.c has the same rules for the programs in C.
UNITS = ("_ns", "_us", "_ms", "_s", "_sec", "_seconds", "_bps", "_bytes", "_mbps", "_kb", "_mb")
SYNONYMS: dict[str, tuple[str, ...]] = {
    "speed": ("rate",), "bandwidth": ("rate",), "bitrate": ("rate",), "throughput": ("rate",), "latency": ("delay", "owlt"),
    "rtt": ("delay", "owlt"), "timeout": ("rto",), "mtu": ("segment",), "loss": ("losses", "erasures"), "key": ("key_file",), "secret": ("key_file",), "tcp": ("tcpcl",),
    "start": ("up",), "stop": ("down",), "length": ("duration",), "time": ("duration",), "size": ("payload",), "hosts": ("nodes",), "host": ("node",)}
PACKAGES: dict[str, tuple[str, str]] = {
    "yaml": ("python3-yaml", "PyYAML"), "jinja2": ("python3-jinja2", "Jinja2"), "matplotlib": ("python3-matplotlib", "matplotlib"),
    "numpy": ("python3-numpy", "numpy"), "distributed": ("python3-distributed", "distributed"), "pyarrow": ("", "pyarrow"), "sgp4": ("python3-sgp4", "sgp4"), "heliograph": ("heliograph-lab", "heliograph")}
PROGRAMS = {"ip": "iproute2", "openssl": "openssl"}


def closest(word: object, words: Iterable[object]) -> str | None:
    """The one of the words that was meant, or None."""
    plain = {str(w).lower().replace("-", "_"): str(w) for w in words}
    typed = str(word).lower().replace("-", "_")
    stems = [typed] + [typed[: -len(unit)] for unit in UNITS if typed.endswith(unit)]
    for one in (*stems, *SYNONYMS.get(typed, ())):
        if one in plain:
            return plain[one]
    near = difflib.get_close_matches(typed, plain, 1, 0.7) or [
        p for p in plain if len(p) == len(typed) > 2 and sum(a != b for a, b in zip(p, typed)) == 1]  # names such as 1-2 are short
    whole = sorted((p for p in plain if p.startswith(typed + "_")), key=len)
    if whole and near and near[0][0] != typed[0]:  # dtn7 is dtn7-rs, and not hdtn
        near = whole
    parts = sorted((p for p in plain if len(typed) > 2 and (p.startswith(typed) or p.endswith("_" + typed))), key=len)
    found = near or parts
    return plain[found[0]] if found else None


def meant(word: object, words: Any) -> str:
    """"did you mean x?", or all of them; word None or empty: none was written."""
    near = closest(word, words) if word else None
    if near in ("delay", "owlt") and str(word).lower() == "rtt":
        return f"did you mean {near}? It is the time of one way, half the round trip"
    return f"did you mean {near}?" if near else f"there are {', '.join(map(str, words))}"


def yaml_problem(error: Any) -> tuple[int | None, str]:
    """The line of a yaml.MarkedYAMLError, and what is wrong with it in words for a person who looks at it. conf/conf_tree.c says the same."""
    problem, context, begin = str(error.problem or error.context), str(error.context), error.context_mark
    mark = error.problem_mark or begin
    line = mark.line + 1 if mark else None
    if "\\t" in problem or "tab" in problem.split():
        return line, "a tab: YAML indents by spaces; use spaces"
    if problem.startswith("mapping values are not allowed") and mark.buffer is not None:  # the line before continues
        before = re.fullmatch(r"\s*(?:- )?(\w+):(\S+)\s*", (mark.buffer.splitlines()[:mark.line] or [""])[-1])
        if before:
            return mark.line, f"write a space after the colon: {before[1]}: {before[2]}"
        begun = mark.buffer[mark.pointer - mark.column:].splitlines()[0]
        key, colon, value = begun.lstrip(" -").partition(": ")
        if colon and begun.index(": ") < mark.column:
            return line, f"write the value in quotes: {key}: \"{value}\""
        return line, "the line above has a value already, so this key cannot be below it; keys of one map begin in one column"
    if begin is None or begin.buffer is None:
        return line, problem
    word = re.split(r"[\s,\]}\0]", begin.buffer[begin.pointer:begin.pointer + 80])[0]
    key, colon, value = word.partition(":")
    if context == "while scanning an alias" and word.startswith("*"):
        return begin.line + 1, f"write {word} in quotes: \"{word}\""
    if context == "while scanning a simple key" and colon and value:
        return begin.line + 1, f"write a space after the colon: {key}: {value}"
    if context in ("while parsing a flow mapping", "while parsing a flow sequence") and line and line > begin.line + 1:
        pair = "{}" if context.endswith("mapping") else "[]"
        return begin.line + 1, f"this line has a {pair[0]} without its {pair[1]} (line {line} goes on)"
    if context == "while scanning a quoted scalar":
        return begin.line + 1, f"this text begins with {word[0]} and has no {word[0]} at its end"
    if context.startswith("while parsing a block ") and line and line > begin.line + 1 and mark.column != begin.column:
        return line, "no line above has this indent; keys of one map begin in one column"
    return line, problem


def yaml_place(error: Any) -> str:
    """What follows the path in a message."""
    line, said = yaml_problem(error)
    return f"{f':{line}' if line else ''}: {said}"


def keys_of(node: Any) -> dict[str, bool]:
    """For `foreign`, of a node that YAML has read."""
    return {str(key.value): value.id == "scalar" for key, value in node.value} if node.id == "mapping" else {}


def foreign(keys: dict[str, bool], program: str) -> str | None:
    """Are these the keys of a file of another program? keys: has it one value (True), or is it a map or list?"""
    found = ("helio-campaign" if "experiments" in keys else
             "helio-lab" if any(key in keys for key in ("line", "ring", "star", "diamond", "nodes", "traffic")) else
             "heliod" if "socket" in keys or "store" in keys or keys.get("node") else
             "helio-emu" if any(key in keys for key in ("forward", "return", "both")) else program)
    return f"this looks like a file of {found}, not of {program}; run {found} with it" if found != program else None


def missing_module(error: ModuleNotFoundError) -> str:
    """What is missing, and which package has it."""
    module = (error.name or "?").split(".")[0]
    package, pip = PACKAGES.get(module, (f"python3-{module.lower()}", module))
    if not package:
        return f"Python's module {module} is missing; install it with pip: {pip}"
    return f"Python's module {module} is missing; in Debian the package {package} has it (pip: {pip}; from source: tools/setup.sh lab)"


def missing_program(name: str) -> str:
    """The same of a program."""
    return f"the program {name} is missing; " + (f"in Debian the package {PROGRAMS[name]} has it" if name in PROGRAMS else "install it")
