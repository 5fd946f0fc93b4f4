# SPDX-License-Identifier: Apache-2.0
"""Campaign files: YAML read with the place of every key, checked, and expanded to runs."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import yaml

from .. import advice, ltp_options, places, units
from ..lab import file as lab_file
from . import sim, sle, systems as campaign_systems, words

MODES = ("sim", "relay", "bridge")
REPETITIONS = {"sim": 5}  # by default, as many as an interval needs; one in the modes whose runs last as long as they say
LOGS = ("none", "tables", "all")
PRESETS = ("A", "F", "H", "leo-low", "leo-high", "jpl-47km")
FORMAT = 5  # part of each run's key: results of another meaning are not taken for these
LAB_FORMAT = 9  # the same over a lab file
TOLD_MAX = 20    # mistakes of one file


class CampaignError(Exception):
    """What is wrong in the file, each on a line with its place."""


class Mistake(Exception):
    """One of them."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line, self.text = line, text


# What a run may set: how it is read, and the default. The names are those of helio-sim's options, but for stack.
FIXED = {
    "trace": (words.text, "A"), "loss": (sle.PARAMETERS["loss"][0], None), "trace-offset": (words.time, "0"), "sessions": (words.sessions, 7), "rto": (words.rto, "30ms"),
    "rate": (words.rate, "500Mbit/s"), "delay": (words.time, "5ms"), "processing": (words.time, "4ms"),
    "overhead": (words.count(0, 65535), 42), "bundle": (words.size, "500kB"), "segment": (words.size, "1024B"),
    "recovery": (words.recovery, "plain"),
    "duration": (words.time, "100s"), "warmup": (words.warmup, "auto"), "stack": (units.word_of("yes", "no"), None),
    "return-trace": (words.text, None), "return-offset": (words.time, None),
    "return-rate": (words.open_rate, None), "drop": (words.rules, None), "drop-return": (words.rules, None), "contacts": (words.contacts, None),
    "colour": (units.word_of("red", "green", "orange"), None), "resend": (words.count(0, 1000000), None),
    "jitter": (words.time, None), "system": (words.text, None),
}


def parameters(kind: Any = "ltp") -> dict[str, Any]:
    if kind == "sle":
        return sle.PARAMETERS
    return {**FIXED, **{name: (ltp_options.reader(name), None)
                        for name in ("claims", "orange-wait", "orange-answer", *ltp_options.switches())}}


KINDS = ("ltp", "sle")
TOP = ("title", "kind", "lab", "mode", "repetitions", "logs", "report", "labels", "systems", "set", "experiments")
EXPERIMENT = ("name", "title", "set", "sweep")


@dataclasses.dataclass(frozen=True)
class Run:
    """One run: everything that its result depends on."""
    experiment: str
    mode: str
    repetition: int
    parameters: tuple[Any, ...]  # sorted (name, value)
    logs: str          # what is kept: none, tables, all
    folder_base: str   # relative trace files are relative to the campaign file
    digest: str        # of the trace file's content (of the lab's with `lab`); None without a file
    lab: str | None = None  # path of a lab file, whose keys the parameters are
    system: campaign_systems.System | None = None  # another stack; None: ours
    kind: str = "ltp"  # of KINDS
    drawn: bool = False  # one of several repetitions: repetition 1 of a preset's trace is a draw like the others
    constant: bool = False  # nothing in it is random: all repetitions are one run

    @property
    def values(self) -> dict[str, Any]:
        return dict(self.parameters)

    @property
    def draw(self) -> int:
        """The number of the repetition whose result this one has."""
        return 1 if self.constant else self.repetition

    @property
    def key(self) -> str:
        """Runs of the same key have the same result, whatever experiment they serve."""
        text = json.dumps([LAB_FORMAT if self.lab else FORMAT, self.mode, self.draw, self.parameters, self.logs, *([self.digest] if self.digest else []),
                           *([self.system.described()] if self.system else []), *(["drawn"] if self.drawn and self.draw == 1 else [])])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def folder(self) -> str:
        v: Any = self.values
        if self.lab or self.kind != "ltp":
            name = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(str(value) for value in v.values()))[:80]
            return f"{self.mode}-{name}-r{self.repetition}-{self.key}"
        who: Any = f"{self.system.name}-" if self.system else ""
        name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{who}{os.path.basename(v['trace'])}-{v['sessions']}s-rto{v['rto']}-r{self.draw}")
        return f"{self.mode}-{name}-{self.key}"


@dataclasses.dataclass
class Experiment:
    name: str
    title: str
    sweep: dict[str, Any]  # name -> values, in the order of the file
    runs: list[Any]


RANGES = ("sessions", "overhead", "claims", "copies")  # swept as 1-8, too


@dataclasses.dataclass
class Campaign:
    path: str
    title: str
    mode: str
    repetitions: int
    logs: str
    report: str
    experiments: list[Any]
    lab: str | None = None
    systems: dict[str, Any] = dataclasses.field(default_factory=dict)  # name -> other stacks
    kind: str = "ltp"
    titled: bool = False  # the file has a title
    labels: dict[str, Any] = dataclasses.field(default_factory=dict)  # name of a parameter, a value or a result -> what figures call it
    doubts: dict[str, Any] = dataclasses.field(default_factory=dict)  # what is right, and hardly meant -> the line that says it

    def runs(self) -> list[Run]:
        """Each run once, in the order of the file."""
        found: dict[str, Run] = {}
        for run in (run for e in self.experiments for run in e.runs):
            found.setdefault(run.key, run)
        return list(found.values())


def trace_file(trace: Any, base: str) -> str | None:
    """The path of a trace's file; None when there is none: a name that the programs know, or a mistake."""
    if trace in (*PRESETS, "none") or trace.startswith("iid:"):
        return None
    path = trace if os.path.exists(trace) or os.path.isabs(trace) else os.path.join(base, trace)
    return path if os.path.isfile(path) else None


def shortened(lines: list[str], place: str) -> list[str]:
    """No more of what is wrong than a person reads."""
    return lines[:TOLD_MAX] + [f"{place}and {len(lines) - TOLD_MAX} more"] if len(lines) > TOLD_MAX else lines


class _Loader(yaml.SafeLoader):
    """Keeps numbers with units and words as they are written; booleans stay booleans."""


class Reader:
    def __init__(self, path: Path | str) -> None:
        self.digests: dict[str, Any] = {}
        self.path, self.parameters = path, parameters()
        self.given: dict[str, Any] = {}  # parameter -> its value where it was written last
        self.wrong: list[Any] = []  # (line, text) of errors that are reported with all others
        try:
            text: Any = places.text_of(path)
            self.root = yaml.compose(text, Loader=_Loader)  # type: ignore[no-untyped-call]
        except UnicodeDecodeError:
            raise CampaignError(f"{path}: not a text file; a campaign is wanted (YAML, UTF-8)") from None
        except places.PlacesError as e:
            raise CampaignError(str(e)) from None
        except yaml.MarkedYAMLError as e:
            raise CampaignError(f"{path}{advice.yaml_place(e)}") from None
        except yaml.YAMLError as e:
            raise CampaignError(f"{path}: {e}") from None
        if self.root is None:
            raise CampaignError(f"{path}: the file is empty; it needs `experiments:`")

    def digest(self, path: Any) -> str | None:
        """Of a file's content; each file is read once. None without a path."""
        if path is not None and path not in self.digests:
            with open(path, "rb") as f:
                self.digests[path] = hashlib.file_digest(f, "sha256").hexdigest()
        return self.digests.get(path)

    def fail(self, node: Any, text: str) -> NoReturn:
        raise Mistake(node.start_mark.line + 1, text)

    def fail_value(self, node: Any, name: str, value: Any, text: str) -> NoReturn:
        """Of a parameter that `set` or `sweep` gives: at its place; else at the node."""
        at = self.given.get(name, node)
        items = at.value if isinstance(at, yaml.SequenceNode) else []
        self.fail(next((item for item in items if isinstance(item, yaml.ScalarNode) and item.value == str(value)), at), text)

    @contextlib.contextmanager
    def kept(self, once: bool = False) -> Iterator[None]:
        """An error within these limits, which is reported later; with `once` only if the file has no other error of the same kind."""
        try:
            yield
        except Mistake as e:
            if not once or all(e.text != text for _, text in self.wrong):
                self.wrong.append((e.line, e.text))

    def tell(self) -> None:
        if self.wrong:
            lines = [f"{self.path}:{line}: {text}" for line, text in sorted(self.wrong, key=lambda one: (one[0],))]
            raise CampaignError("\n".join(shortened(lines, f"{self.path}: ")))

    def check_key(self, key: Any) -> None:
        if not isinstance(key, yaml.ScalarNode):
            self.fail(key, "a key is one word")

    def mapping(self, node: Any, allowed: campaign_systems.AnyName | dict[str, Any] | tuple[str, ...], what: str) -> dict[str, Any]:
        if not isinstance(node, yaml.MappingNode):
            self.fail(node, f"{what} must be a mapping of keys and values" + (", such as sweep: {sessions: [1, 2, 4]}" if what.endswith("sweep") else ", such as set: {rate: 100Mbit/s}" if what.endswith("set") else ""))
        found = {}
        for key, value in node.value:
            with self.kept():
                self.check_key(key)
                if key.value not in allowed:
                    name = key.value.rpartition(".")[2].replace("_", "-")  # of recovery.report_copies
                    self.fail(key, f"{what} has no key \"{key.value}\"; " + ("it stands under an experiment: experiments: [{name: NAME, sweep: {…}}]" if key.value == "sweep" and what == "a campaign" else advice.meant(name if name in allowed else key.value, allowed)))
                if key.value in found:
                    self.fail(key, f"\"{key.value}\" is given twice")
                found[key.value] = value
        return found

    def plain(self, node: Any) -> float | str:
        loader: Any = _Loader("")
        try:
            result: float | str = loader.construct_object(node, deep=True)
            return result
        finally:
            loader.dispose()

    def scalar(self, node: Any, name: Any, parse: Any) -> float | str:
        if not isinstance(node, yaml.ScalarNode):
            self.fail(node, f"{name}: one value is wanted here{self.by_themselves(node, name)}" + ("; several values are swept: sweep: {" + name + ": […]}" if isinstance(node, yaml.SequenceNode) else ""))
        value = self.plain(node)
        try:
            result: float | str = parse(value)
            return result
        except (ValueError, TypeError) as e:
            self.fail(node, f"{name}: {e}")

    def by_themselves(self, node: Any, name: str) -> str:
        """Of a map as a node's file has it: its keys are the campaign's own."""
        pairs = [(key.value, value.value) for key, value in node.value if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode)] \
            if isinstance(node, yaml.MappingNode) else []
        known = {"mode": name, **{key.replace("-", "_"): key for key in self.parameters}}
        own = [f"{known[key]}: {'plain' if (key, value) == ('mode', 'own') else value}" for key, value in pairs if key in known]
        return f", and the keys of this map stand by themselves: write {', '.join(own)}" if own else ""

    def values(self, node: Any, name: str) -> list[float | str]:
        """A list of values, each once, or one; numbers may be ranges like 1-8."""
        parse = self.parameters[name][0]
        if not isinstance(node, yaml.SequenceNode):
            span = re.fullmatch(r"(\d+)(?:-|\.\.|:)(\d+)", node.value) if name in RANGES and isinstance(node, yaml.ScalarNode) else None
            if span:
                self.fail(node, f"{name}: a range stands in a list: [{span[1]}-{span[2]}]")
            return [self.scalar(node, name, parse)]
        out = []
        for item in node.value:
            span = re.fullmatch(r"(\d+)-(\d+)", item.value) if isinstance(item, yaml.ScalarNode) else None
            if span and name in RANGES:
                first, last = int(span[1]), int(span[2])
                if first > last:
                    self.fail(item, f"{name}: the range {item.value} is empty; write {last}-{first}")
                out += [parse(n) for n in range(first, last + 1)]
            else:
                out.append(self.scalar(item, name, parse))
        if not out:
            self.fail(node, f"{name}: the list is empty; write at least one value")
        return list(dict.fromkeys(out))

    def texts(self, node: Any, name: str) -> list[str]:
        """A list of values as they are written, each once, or one."""
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for item in items:
            if not isinstance(item, yaml.ScalarNode):
                inner = [key.value for key, _ in item.value if isinstance(key, yaml.ScalarNode)] if isinstance(item, yaml.MappingNode) else []
                self.fail(item, f"{name}: one value is wanted here" + (f"; write each key with its whole name, such as {name}.{inner[0]}" if inner else ""))
        if not items:
            self.fail(node, f"{name}: the list is empty; write at least one value")
        return list(dict.fromkeys(item.value for item in items))

    def keys_of_lab(self, node: Any, what: str) -> dict[str, list[str]]:
        """Key of a lab file -> its values; the lab checks the keys."""
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.fail(node, f"{what} must be a mapping of keys and values" + (", such as sweep: {sessions: [1, 2, 4]}" if what.endswith("sweep") else ", such as set: {rate: 100Mbit/s}" if what.endswith("set") else ""))
        for i, (key, value) in enumerate(node.value):
            self.check_key(key)
            if any(key.value == before.value for before, _ in node.value[:i]):
                self.fail(key, f"\"{key.value}\" is given twice")
            if what == "set" and isinstance(value, yaml.SequenceNode):
                self.fail(value, f"{key.value}: one value is wanted here; several are swept, and a list that is a value is a text, such as \"[a, b]\"")
        return {key.value: self.texts(value, key.value) for key, value in node.value}

    def settings(self, node: Any) -> dict[str, Any]:
        found = {}
        for name, value in self.mapping(node, self.parameters, "set").items() if node else ():
            with self.kept():
                self.given[name] = value
                found[name] = self.scalar(value, name, self.parameters[name][0])
        return found


def check_trace(reader: Reader, node: Any, trace: Any, base: str, name: str = "trace") -> None:
    """There is such a trace, or the file says one that nothing knows."""
    if trace in (*PRESETS, "none") or trace_file(trace, base) is not None:
        return
    if trace.startswith("iid:"):
        try:
            if trace[4:] in PRESETS or 0 <= float(trace[4:]) <= 1:
                return
        except ValueError:
            pass
        reader.fail_value(node, name, trace, f"{name}: \"{trace}\": iid: takes a probability or one of {', '.join(PRESETS)}")
    reader.fail_value(node, name, trace, f"{name}: there is no file \"{trace}\" beside the campaign, and no trace of that name; there are "
                      f"{', '.join((*PRESETS, 'none'))} and iid:P")


ENGINES_ONLY = ("colour", "resend", "orange-wait", "orange-answer")  # the others' figures are of red sessions


def check_together(reader: Reader, node: Any, values: dict[str, int | str], mode: str) -> None:
    """Keys that only some modes know."""
    if (wrong := sim.mistake(values)) is not None:
        name = wrong.split(":")[0]
        reader.fail_value(node, name, values.get(name), wrong)
    nodes = mode != "sim" or values.get("stack") == "yes"
    if "contacts" in values and not nodes:
        reader.fail(node, "contacts: a pair of engines has none; add stack: yes, or take mode relay or bridge")
    known = [name for name in ENGINES_ONLY if name in values and (name != "colour" or values[name] != "red")]
    if known and nodes:
        reader.fail(node, f"{known[0]}: only in mode sim without stack: yes, whose figures are of all colours")


OURS_ONLY = ("recovery", "claims", "colour", "stack")  # and the recovery switches


def other_system(reader: Reader, node: Any, values: dict[str, int | str], campaign: Campaign, swept: dict[str, list[float | str]]) -> Any:
    """The system of a run that is not ours; None."""
    name: Any = values.get("system")
    if name in (None, campaign_systems.OWN):
        return None
    if name not in campaign.systems:
        reader.fail(node, f"system: there is no \"{name}\"; there are {', '.join((campaign_systems.OWN, *campaign.systems))}")
    if campaign.mode != "relay":
        reader.fail(node, f"system: {name} is run by its own commands, in mode relay only")
    own = [key for key in (*OURS_ONLY, *ltp_options.switches()) if key in swept]
    if own:
        reader.fail(node, f"{own[0]}: swept beside other systems, which do not know it; set it, or make an experiment of its own")
    for text in campaign_systems.roundings(campaign.systems[name], values):
        campaign.doubts.setdefault(text, node.start_mark.line + 1)
    return campaign.systems[name]


def digest_of(reader: Reader, values: dict[str, int | str], base: str) -> str | None:
    """Values from the trace files, of both directions; None without any."""
    there, back = (reader.digest(trace_file(values.get(name, "none"), base)) for name in ("trace", "return-trace"))
    return there if back is None else hashlib.sha256(f"{there} {back}".encode()).hexdigest()


def round_trip(values: dict[str, int | str]) -> float:
    """Seconds between a checkpoint and its report on an empty line."""
    return 2 * units.duration(values["delay"]) + units.duration(values["processing"])


def settle_timer(node: Any, values: dict[str, int | str], given: set[str], campaign: Campaign) -> None:
    """A timer that is not set is the paper's, or on a longer path twice the round trip. One that expires before a report can arrive is reported."""
    path = round_trip(values)
    if "rto" not in given:
        values["rto"] = units.duration_text(max(units.duration(values["rto"]), 2 * path))
    elif values["rto"] != "auto" and units.duration(values["rto"]) <= path:
        campaign.doubts.setdefault(f"rto: {values['rto']} is no longer than the round trip of {units.duration_text(path)} (twice the delay, and processing): the timer "
                                   f"runs out in every session; leave rto out, or write more, or auto", node.start_mark.line + 1)


def settle_loss(reader: Reader, node: Any, values: dict[str, int | str], given: set[str]) -> None:
    """`loss` is another word for a trace of independent erasures."""
    if "loss" in values:
        if "trace" in given:
            reader.fail(node, f"loss: it is short for trace: iid:{values['loss']:.10g}, and trace is given, too; leave one of them out")
        values["trace"] = f"iid:{values['loss']:.10g}" if values["loss"] else "none"


def check_values(reader: Reader, node: Any, values: dict[str, int | str], campaign: Campaign, base: str) -> str | None:
    """They are right together; the digest of the files that they name."""
    if campaign.kind == "sle":
        wrong = sle.check(values, campaign.mode)
        if wrong:
            reader.fail(node, wrong)
        values.update(sle.settled(values))
        return None
    check_trace(reader, node, values["trace"], base)
    check_trace(reader, node, values.get("return-trace", "none"), base, "return-trace")
    check_together(reader, node, values, campaign.mode)
    return digest_of(reader, values, base)


def _lab(reader: Reader, node: Any, campaign: Any, values: dict[str, str]) -> lab_file.Lab | None:
    """The run of one combination; None if it is wrong, which is reported with the errors of the others, each once."""
    try:
        return lab_file.load(campaign.lab, list(values.items()))
    except places.PlacesError as e:
        for text in str(e).splitlines():
            with reader.kept(once=True):
                reader.fail(node, text)
    return None


def _lab_runs(reader: Any, node: Any, keys: dict[str, Any], shared: Any, campaign: Campaign, name: Any) -> tuple[dict[str, list[str]], list[Run]]:
    """The runs over a lab file; each combination must be a right one."""
    sweep = reader.keys_of_lab(keys.get("sweep"), "sweep")
    fixed = {**shared, **{key: values[0] for key, values in reader.keys_of_lab(keys.get("set"), "set").items()}}
    runs, labs = [], []
    for combination in itertools.product(*sweep.values()):
        values = {**fixed, **dict(zip(sweep, combination))}
        labs.append(_lab(reader, node, campaign, values))
        runs += [Run(name, campaign.mode, repetition, tuple(sorted(values.items())), campaign.logs, "", reader.digest(campaign.lab), campaign.lab, drawn=campaign.repetitions > 1)
                 for repetition in range(1, campaign.repetitions + 1)]
    if None not in labs:
        from . import lab as campaign_lab  # it reads this module
        for text in campaign_lab.doubts(labs, sweep):
            campaign.doubts.setdefault(text, node.start_mark.line + 1)
    return sweep, runs


def _runs(reader: Reader, node: Any, one: Experiment, fixed: dict[str, Any], campaign: Campaign, base: str) -> list[Run]:
    runs, combinations = [], []
    for combination in itertools.product(*one.sweep.values()):
        values = {k: default for k, (_, default) in reader.parameters.items() if default is not None}
        values.update(fixed)
        values.update(zip(one.sweep, combination))
        if campaign.kind == "ltp":
            settle_loss(reader, node, values, {*fixed, *one.sweep})
            settle_timer(node, values, {*fixed, *one.sweep}, campaign)
        digest: Any = check_values(reader, node, values, campaign, base)
        system = other_system(reader, node, values, campaign, one.sweep)
        constant = campaign.kind == "ltp" and campaign.mode == "sim" and not sim.random(values)
        combinations.append(values)
        for repetition in range(1, campaign.repetitions + 1):
            runs.append(Run(one.name, campaign.mode, repetition, tuple(sorted(values.items())), campaign.logs, base, digest, system=system, kind=campaign.kind,
                            drawn=campaign.repetitions > 1, constant=constant))
    if campaign.kind == "ltp":
        for text in sim.warmup_doubts(combinations, one.sweep):
            campaign.doubts.setdefault(text, node.start_mark.line + 1)
    return runs


def _experiment(reader: Reader, node: Any, shared: dict[str, Any], campaign: Campaign, base: str, sure: bool) -> Experiment:
    """Its runs are looked at only where each key is right by itself, those of all experiments (`sure`) among them."""
    before, common = len(reader.wrong), dict(reader.given)
    keys = reader.mapping(node, EXPERIMENT, "an experiment")
    if "name" not in keys:
        reader.fail(node, "an experiment needs a name: write name: and a word")
    name: Any = reader.scalar(keys["name"], "name", words.text)
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        reader.fail(keys["name"], f"name: \"{name}\" may have letters, digits, - and _ only")
    title: Any = reader.scalar(keys["title"], "title", words.text) if "title" in keys else name
    if campaign.lab:
        if not sure or len(reader.wrong) > before:
            return Experiment(name, title, {}, [])
        return Experiment(name, title, *_lab_runs(reader, node, keys, shared, campaign, name))
    sweep = {}
    if "sweep" in keys:
        for key, value in reader.mapping(keys["sweep"], reader.parameters, "sweep").items():
            with reader.kept():
                reader.given[key] = value
                sweep[key] = reader.values(value, key)
    fixed = {**shared, **reader.settings(keys.get("set"))}
    both = set(fixed) & set(sweep) - set(shared)
    if both:
        reader.fail(keys["sweep"], f"{', '.join(sorted(both))}: both set and swept; remove it from set:")
    one = Experiment(name, title, sweep, [])
    if sure and len(reader.wrong) == before:
        with reader.kept(once=True):
            one.runs = _runs(reader, node, one, fixed, campaign, base)
    reader.given = common
    return one


def _head(reader: Any, keys: dict[str, Any], path: Any, mode: Any) -> Campaign:
    """The campaign without its experiments."""
    def get(name: str, parse: Callable[..., Any], default: int | str) -> Any:
        found = default
        with reader.kept():
            found = reader.scalar(keys[name], name, parse) if name in keys else default
        return found

    kind: Any = reader.scalar(keys["kind"], "kind", units.word_of(*KINDS)) if "kind" in keys else "ltp"  # which keys there are hangs on it
    reader.parameters = parameters(kind)
    named: Any = get("mode", units.word_of(*MODES), "sim")
    return Campaign(path, get("title", words.text, os.path.basename(path)), mode or named, get("repetitions", words.count(1, 1000), REPETITIONS.get(mode or named, 1)),
                    get("logs", units.word_of(*LOGS), "tables"), get("report", units.word_of("general", "paper"), "general"), [], kind=kind, titled="title" in keys)


def _shared(reader: Reader, keys: dict[str, Any], campaign: Campaign, base: str) -> dict[str, Any]:
    """What is set for all experiments."""
    if "systems" in keys:
        with reader.kept():
            campaign.systems = campaign_systems.systems_of(reader, keys["systems"], base)
    if "lab" not in keys:
        return reader.settings(keys.get("set"))
    if campaign.kind != "ltp":
        reader.fail(keys["lab"], f"lab: not with kind: {campaign.kind}")
    campaign.lab = places.beside(base, reader.scalar(keys["lab"], "lab", words.text))
    if not os.path.isfile(campaign.lab):
        reader.fail(keys["lab"], f"lab: there is no file {campaign.lab}; write the path of a lab file, which counts from the campaign's folder")
    return {key: values[0] for key, values in reader.keys_of_lab(keys.get("set"), "set").items()}


def _read(reader: Reader, path: Path | str, mode: str | None) -> Campaign:
    if said := advice.foreign(advice.keys_of(reader.root), "helio-campaign"):
        reader.fail(reader.root, said)
    keys = reader.mapping(reader.root, TOP, "a campaign")
    campaign = _head(reader, keys, path, mode)
    base, shared = os.path.dirname(os.path.abspath(path)), {}
    with reader.kept():
        shared = _shared(reader, keys, campaign, base)
    if "experiments" not in keys or not isinstance(keys["experiments"], yaml.SequenceNode) or not keys["experiments"].value:
        reader.fail(keys.get("experiments", reader.root), "experiments: a list with at least one experiment is wanted; write \"- \" before the name of each")
    sure = not reader.wrong
    for node in keys["experiments"].value:
        with reader.kept():
            one = _experiment(reader, node, shared, campaign, base, sure)
            if any(one.name == e.name for e in campaign.experiments):
                reader.fail(node, f"there is already an experiment \"{one.name}\"")
            campaign.experiments.append(one)
    if "labels" in keys and not reader.wrong:
        from . import names  # it reads this module
        campaign.labels = names.read_labels(reader, keys["labels"], campaign)
    return campaign


def load(path: Any, mode: str | None = None) -> Campaign:
    """The campaign; CampaignError with file and line of all that is wrong with it."""
    reader = Reader(path)
    campaign = None
    with reader.kept():
        campaign = _read(reader, path, mode)
    reader.tell()
    return campaign
