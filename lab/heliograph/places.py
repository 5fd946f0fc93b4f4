# SPDX-License-Identifier: Apache-2.0
"""YAML in which every key and value knows its file and line, and the way back to text.

Scalars stay as they were written ("30ms", "yes", "1.0"): the reader of the text that is made of them decides what they mean. An error in such text
names the original file and line.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import yaml

from . import advice
from .processes import private

PLAIN = re.compile(r"[A-Za-z0-9_./+-][A-Za-z0-9_./+:*@%=-]*")


class PlacesError(Exception):
    """Everything that is wrong with a file, a line each, with its place."""


class Word(str):
    """A scalar."""
    place = None  # (file, line)


class Map(dict[Any, Any]):
    """Its keys are words."""
    place = None

    def key(self, name: str) -> Word | None:
        """The key as it was written, with its place."""
        return next((key for key in self if key == name), None)


class Items(list[Any]):
    place = None


def put(value: Any, place: Any) -> Items | Map | Word:
    """Plain Python values as if they had been written at this place; what has one keeps it."""
    if getattr(value, "place", None) is not None:
        result: Items | Map | Word = value
        return result
    if isinstance(value, dict):
        out: Any = Map((put(key, place), put(inner, place)) for key, inner in value.items())
    elif isinstance(value, (list, tuple)):
        out = Items(put(inner, place) for inner in value)
    else:
        out = Word({True: "yes", False: "no", None: ""}.get(value, value) if isinstance(value, (bool, type(None))) else value)
    out.place = place
    found: Items | Map | Word = out
    return found


def where(value: Any) -> str:
    place = getattr(value, "place", None)
    result: str = f"{place[0]}:{place[1]}" if place and place[1] else place[0] if place else "?"
    return result


def _read(node: Any, path: Any, errors: list[Any]) -> Items | Map | Word:
    place: Any = (path, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        out: Any = Word(node.value)
    elif isinstance(node, yaml.SequenceNode):
        out = Items(_read(item, path, errors) for item in node.value)
    else:
        out = Map()
        for key, value in node.value:
            word = _read(key, path, errors)
            if not isinstance(word, Word):
                errors.append(f"{where(word)}: a key is one word")
            elif word in out:
                errors.append(f"{where(word)}: \"{word}\" is given twice")
            else:
                out[word] = _read(value, path, errors)
    out.place = place
    result: Items | Map | Word = out
    return result


def parse(text: Any, path: str) -> Any:
    """The tree of a YAML text; PlacesError."""
    errors: list[Any] = []
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)  # type: ignore[no-untyped-call]
    except yaml.MarkedYAMLError as e:
        raise PlacesError(f"{path}{advice.yaml_place(e)}") from None
    except yaml.reader.ReaderError as e:
        line = text[:e.position].count("\n") + 1 if isinstance(text, str) else 1
        what = f"character U+{e.character:04X}" if isinstance(e.character, int) else "text"
        raise PlacesError(f"{path}:{line}: this {what} cannot be in YAML") from None
    except yaml.YAMLError as e:
        raise PlacesError(f"{path}: {e}") from None
    out = _read(node, path, errors) if node is not None else put({}, (path, 1))
    if errors:
        raise PlacesError("\n".join(errors))
    return out


FILE_MAX = 1 << 20  # as of the programs' own files of settings


def text_of(path: Path | str) -> str:
    """A file of settings; UnicodeDecodeError, OSError, PlacesError when it has no end in sight."""
    with open(path, "rb") as f:
        raw = f.read(FILE_MAX + 1)
    if len(raw) > FILE_MAX:
        raise PlacesError(f"{path}: longer than 1 MiB: this is no file of settings")
    return raw.decode("utf-8")


def read(path: str) -> Any:
    try:
        text = text_of(path)
    except UnicodeDecodeError as e:
        line = e.object[:e.start].count(b"\n") + 1
        raise PlacesError(f"{path}:{line}: this is not UTF-8 text") from None
    except OSError as e:
        raise PlacesError(f"{path}: {e.strerror}") from None
    return parse(text, path)


def quote(text: str) -> str:
    """One scalar as YAML."""
    return text if PLAIN.fullmatch(text) and not text.endswith(":") else json.dumps(text, ensure_ascii=False)


class Writer:
    """YAML text in block form that remembers the origin of each of its lines."""

    def __init__(self, title: str, source: str | None = None) -> None:
        """source: the file that is blamed for a line without a place."""
        self.source = source
        self.lines, self.origins = [f"# {line}" for line in title.splitlines()], []
        self.origins = [None] * len(self.lines)

    def _line(self, text: str, origin: Any) -> None:
        self.lines.append(text)
        self.origins.append(origin)

    def add(self, value: Any, indent: int = 0, first: str | None = None) -> None:
        """first: the beginning of the first line, as long as the indent."""
        pad = " " * indent
        pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        for key, inner in pairs:
            head = (first or pad) + ("- " if key is None else f"{quote(key)}:")
            first = None
            origin = getattr(inner, "place", None) or getattr(key, "place", None)
            if isinstance(inner, (dict, list)) and inner:
                if key is None and isinstance(inner, dict):
                    self.add(inner, indent + 2, head)
                else:
                    self._line(head.rstrip(), getattr(key, "place", None) or origin)
                    self.add(inner, indent + 2)
            else:
                text = "{}" if isinstance(inner, dict) else "[]" if isinstance(inner, list) else quote(str(inner))
                self._line(head + ("" if head.endswith(" ") else " ") + text, origin)

    def write(self, path: str) -> None:
        with open(path, "w", encoding="utf-8", opener=private) as f:
            f.write("\n".join(self.lines) + "\n")

    def translate(self, message: str, path: str) -> str:
        """A program's message about the written file, at the lines that it was made from."""
        def place(match: re.Match[str]) -> str:
            line = int(match[1]) - 1
            origin = self.origins[line] if line < len(self.origins) else None
            if origin:
                return f"{origin[0]}:{origin[1]}:" if origin[1] else f"{origin[0]}:"
            return f"{self.source}:" if self.source else match[0]

        return re.sub(re.escape(path) + r":(\d+):", place, message)


def plain(value: Any) -> Any:
    """Without places, as json would have it."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return str(value)


def merge(*maps: Any) -> Map:
    """Later ones win; maps within maps are merged, too."""
    out = Map()
    for one in maps:
        if one is None:
            continue
        out.place = one.place or out.place
        for key, value in one.items():
            both = isinstance(value, dict) and isinstance(out.get(key), dict)
            value = merge(out[key], value) if both else value
            out.pop(key, None)  # the key's place is that of the value
            out[key] = value
    return out


def copy(value: Any) -> Items | Map | Word:
    """The tree once more, with its places."""
    if isinstance(value, dict):
        out: Any = Map((key, copy(inner)) for key, inner in value.items())
    elif isinstance(value, list):
        out = Items(copy(inner) for inner in value)
    else:
        result: Items | Map | Word = value
        return result
    out.place = value.place
    found: Items | Map | Word = out
    return found


def assign(tree: Any, path: str, value: str, origin: str | None = None) -> None:
    """One key of the tree, named as in links.1-2.rate or traffic.0.window; the value is YAML. origin: the place of an error in it (None: PATH=VALUE)."""
    origin = origin or f"{path}={value}"
    place = (origin, 0)
    new = put(yaml_value(value, place), place)
    at, words = tree, path.split(".")
    for i, word in enumerate(words):
        last = i == len(words) - 1
        if isinstance(at, list):
            if not word.isdigit() or int(word) >= len(at):
                raise PlacesError(f"{origin}: {'.'.join(words[:i])} has {len(at)} items, which count from 0: there is no {word}")
            if last:
                at[int(word)] = new
            at = at[int(word)]
        elif isinstance(at, dict):
            if last:
                at.pop(word, None)
                at[put(word, place)] = new
            elif at.get(word):
                pass
            else:
                at.pop(word, None)
                at[put(word, place)] = put({}, place)
            at = at[word]
        else:
            raise PlacesError(f"{origin}: {words[i - 1]} is one value, which has no keys")


def yaml_value(text: str, place: tuple[str, int]) -> Word:
    if not isinstance(text, str):
        return text
    tree = parse(text, place[0]) if text.strip() else put("", place)
    return _moved(tree, place)


def _moved(value: Any, place: Any) -> Word:
    value.place = place
    for inner in (list(value) + list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []):
        _moved(inner, place)
    result: Word = value
    return result


def beside(base: str, path: Any) -> str:
    """A path of a file is relative to that file's folder."""
    result: str = path if os.path.isabs(path) else os.path.join(base, path)
    return result
