# SPDX-License-Identifier: Apache-2.0
"""The keys of a link in their groups, as heliod describes them: copies=3 stands in the map recovery: {copies: 3}."""
import functools
import json
import subprocess
from collections.abc import Mapping

from . import programs

MODE = "mode"  # what a plain value of a group means: recovery: own is recovery: {mode: own}


@functools.cache
def words(heliod: str) -> dict[str, dict[str, str]]:
    """Adapter -> what may be written for a key -> the whole key. A word is the key (recovery.copies, rate), its name (copies) where no
    other key has it, or both joined (recovery_copies)."""
    done = subprocess.run([heliod, "--keys", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise programs.ProgramError(f"heliod --keys ended with code {done.returncode}")
    found: dict[str, list[str]] = {}
    try:
        listed = json.loads(done.stdout)
    except ValueError as e:
        raise programs.ProgramError(f"{heliod} is from before link keys had groups: heliod --keys --json prints no JSON") from e
    for line in listed:
        found.setdefault(line["section"], []).append(line["key"])
    out: dict[str, dict[str, str]] = {}
    for adapter, keys in found.items():
        names = [key.rpartition(".")[2] for key in keys]
        out[adapter] = {**{name: key for name, key in zip(names, keys) if names.count(name) == 1},
                        **{key.replace(".", "_"): key for key in keys}, **{key: key for key in keys}}
    return out


def grouped(link: Mapping[str, object], heliod: str) -> dict[str, object]:
    """The keys of a link, each with its full name, as the configuration has them: those of a group in one map."""
    known, common = words(heliod).get(str(link.get("adapter")), {}), words(heliod)["links"]
    out: dict[str, object] = {}
    groups: dict[str, dict[str, object]] = {}
    for word, value in link.items():
        group, _, name = (word if word in common else known.get(word, word)).partition(".")
        if name:
            groups.setdefault(group, {})[name] = value
        else:
            out[group] = value
    for group, inner in groups.items():
        out[group] = {**({MODE: out[group]} if group in out else {}), **inner}
    return out


def lines(link: Mapping[str, object], heliod: str) -> list[str]:
    """Lines of YAML for them."""
    def text(value: object) -> object:
        if not isinstance(value, dict):
            return value
        return "{" + ", ".join(f"{name}: {inner}" for name, inner in value.items()) + "}"

    return [f"{key}: {text(value)}" for key, value in grouped(link, heliod).items()]
