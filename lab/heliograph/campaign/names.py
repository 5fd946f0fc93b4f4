# SPDX-License-Identifier: Apache-2.0
"""What a campaign's figures call parameters, values and results: default names, and the campaign's `labels`.

Also which swept values are numbers, and in which unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import advice, ltp_options, units
from . import data, systems

if TYPE_CHECKING:
    from .file import Campaign, Experiment, Reader

# By the last word of a name: link.erasures.iid is an `iid`.
NAMES = {
    "loss": "erasure rate", "iid": "erasure rate", "rate": "rate", "line": "rate of the line", "source": "rate of the source", "delay": "one-way delay",
    "processing": "processing time", "rtt": "round trip", "rto": "retransmission timer", "rto-min": "least retransmission timer",
    "rto-max": "greatest retransmission timer", "sessions": "parallel sessions", "bundle": "bundle size", "segment": "segment size", "payload": "payload of a bundle",
    "window": "window", "duration": "duration", "jitter": "jitter", "drop": "drop rules", "drop-return": "drop rules of the return direction", "recovery": "recovery", "trace": "trace", "return-trace": "trace of the return direction",
    "return-rate": "rate of the return direction", "tcp-buffer": "TCP's buffers", "buffer": "frames of a transfer buffer", "frame": "octets of a frame",
    "instances": "service instances", "transport": "transport", "system": "stack", "colour": "service class", "copies": "copies of a checkpoint",
}
RATES = {"trace": "erasure rate", "return-trace": "erasure rate of the return direction"}  # where all values are iid:P or none
TIMES = ("delay", "processing", "duration", "trace-offset", "rtt")
BARE = ("trace", "transport")  # these values need no name before them


def last(name: Any) -> str:
    result: str = name.rsplit(".", 1)[-1]
    return result


def erasure_rate(value: Any) -> float | None:
    """P of iid:P, 0 of none; None of every other trace."""
    text = str(value)
    if text == "none":
        return 0.0
    try:
        return float(text[4:]) if text.startswith("iid:") else None
    except ValueError:
        return None  # iid:A


def number(name: str, value: float | str) -> tuple[float | None, str]:
    """(a swept value on an axis, its unit); the value is None if it is no number."""
    name = last(name)
    if name in RATES:
        return erasure_rate(value), ""
    if name in TIMES or ltp_options.is_time(name):
        return None if value == "auto" else units.duration(value) * 1e3, "ms"
    if name in ("rate", "line", "source"):
        try:
            return units.rate(value) / 1e6 if value != "unlimited" else None, "Mbit/s"
        except units.UnitError:
            return float(value), ""  # link.erasure.rate is a share
    if name in ("bundle", "segment", "tcp-buffer"):
        return units.size(value) if value != "auto" else None, "bytes"
    try:
        return float(value), ""
    except (TypeError, ValueError):
        return None, ""


def is_rate(experiment: Experiment, name: str) -> bool:
    """Does a swept trace have nothing but rates of independent erasures?"""
    return last(name) in RATES and all(erasure_rate(v) is not None for v in experiment.sweep.get(name, [None]))


def of_parameter(campaign: Campaign, experiment: Experiment, name: str) -> str:
    """The campaign's label, or a default one, or the name itself; names that share a last word stay whole."""
    if name in campaign.labels:
        result: str = campaign.labels[name]
        return result
    if sum(last(n) == last(name) for n in experiment.sweep) > 1:
        return name
    if is_rate(experiment, name):
        return RATES[last(name)]
    return NAMES.get(last(name), last(name).replace("_", " "))


def of_axis(campaign: Campaign, experiment: Experiment, name: str) -> str:
    text, unit = of_parameter(campaign, experiment, name), number(name, experiment.sweep[name][0])[1]
    return f"{text} ({unit})" if unit and name not in campaign.labels else text


def of_value(campaign: Campaign, experiment: Experiment, name: str, value: str) -> str:
    """The name of one line, or of the bars with one colour."""
    own = campaign.labels.get(f"{name} {value}")
    if own is not None:
        result: str = own
        return result
    return str(value) if last(name) in BARE else f"{of_parameter(campaign, experiment, name)} {value}"


def of_metric(campaign: Campaign, metric: str) -> str:
    title, unit, _ = data.ALL[metric]
    return campaign.labels.get(metric, f"{title} ({unit})" if unit else title)


def of_figure(campaign: Campaign, experiment: Experiment) -> str:
    """The campaign's title, and that of the experiment if it has one of its own."""
    own = experiment.title if experiment.title != experiment.name or len(campaign.experiments) > 1 else ""
    if not campaign.titled:
        return own or campaign.title
    return f"{campaign.title}: {own}" if own and own != campaign.title else campaign.title


def read_labels(reader: Reader, node: Any, campaign: Any) -> Any:
    """The `labels` of a campaign whose experiments are known; each names something that the figures show."""
    swept: Any = [name for e in campaign.experiments for name in e.sweep]
    values: Any = [f"{name} {value}" for e in campaign.experiments for name, all_values in e.sweep.items() for value in all_values]
    known = list(dict.fromkeys([*swept, *data.KINDS[campaign.kind], *values]))
    found: dict[str, Any] = {}
    for key, value in reader.mapping(node, systems.AnyName(), "labels").items():
        with reader.kept():
            if key not in known:
                reader.fail(value, f"labels: the figures show no \"{key}\"; {advice.meant(key, known)}")
            found[key] = reader.scalar(value, f"labels.{key}", str)
    return found
