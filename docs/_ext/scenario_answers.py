"""What the gallery shows of each scenario: its picture, and a sentence that answers its question.

An answer is a function of the stored results. Its numbers come from them, and what its words claim
is held by `expect`, so that the build fails if results say something else. A scenario without a
line in `CARDS` has the default picture, and the best scheme as its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scenario_results import Value

_UNITS = {
    "ps": (("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12)),
    "bps": (("b/s", 1.0), ("kb/s", 1e3), ("Mb/s", 1e6), ("Gb/s", 1e9), ("Tb/s", 1e12)),
    "bytes": (("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)),
}
MS, MBPS = 1e9, 1e6


class AnswerError(ValueError):
    """An answer says what the stored results do not."""


def quantity(value: float, metric: str) -> str:
    """A value of a metric with three digits, in the unit that a person would choose."""
    units = _UNITS.get(metric.rpartition("_")[2], (("", 1.0),))
    unit, factor = max((u for u in units if u[1] <= max(abs(value), units[0][1])), key=lambda u: u[1])
    number = f"{value / factor:.3g}" if abs(value / factor) < 1000 else f"{value / factor:,.0f}"
    return f"{number} {unit}".strip()


def without_unit(metric: str) -> str:
    """The name of a metric as commands take it: `fct_mean` for `fct_mean_ps`."""
    name, _, unit = metric.rpartition("_")
    return name if unit in _UNITS else metric


class Told:
    """The stored results of a scenario."""

    def __init__(self, scenario: str, values: Sequence[Value]) -> None:
        self.scenario = scenario
        self.values = values
        self.schemes = list(dict.fromkeys(value.scheme for value in values))
        self.points = list(dict.fromkeys(value.point for value in values))
        self.metrics = list(dict.fromkeys(without_unit(value.metric) for value in values))

    def value(self, metric: str, scheme: str, at: str = "") -> Value:
        """A metric of a scheme; ``at`` is the value of the swept key."""
        found = [
            v for v in self.values
            if without_unit(v.metric) == metric and v.scheme == scheme and (not at or v.point.endswith(f"={at}"))
        ]
        if len(found) != 1:
            raise AnswerError(f"the results of scenarios/{self.scenario}.toml have {len(found)} values of `{metric}` of `{scheme}`: expected one")
        return found[0]

    def mean(self, metric: str, scheme: str, at: str = "") -> float:
        """The mean of a metric, in the unit of its column."""
        mean = self.value(metric, scheme, at).mean
        return float("nan") if mean is None else mean

    def text(self, metric: str, scheme: str, at: str = "") -> str:
        """The mean of a metric in words."""
        return quantity(self.mean(metric, scheme, at), self.value(metric, scheme, at).metric)

    def change(self, metric: str, scheme: str, than: str, at: str = "") -> float:
        """The relative difference in percent: that of the comparison, paired by seed, from the first scheme; else that of two means."""
        paired = self.value(metric, scheme, at).difference
        if than == self.schemes[0] and paired is not None:
            return 100 * paired
        return 100 * (self.mean(metric, scheme, at) / self.mean(metric, than, at) - 1)

    def over_bound(self, metric: str, scheme: str, at: str = "") -> float:
        """How far a mean is above what no scheme can beat, in percent."""
        bound = self.value(metric, scheme, at).bound
        if not bound:
            raise AnswerError(f"the results of scenarios/{self.scenario}.toml have no bound of `{metric}`")
        return 100 * (self.mean(metric, scheme, at) / bound - 1)

    def expect(self, holds: bool, claim: str) -> None:
        """Raise :class:`AnswerError` unless the claim holds."""
        if not holds:
            raise AnswerError(f"the results of scenarios/{self.scenario}.toml do not show that {claim}: change its answer in docs/_ext/scenario_answers.py")


@dataclass(frozen=True)
class Card:
    """What the gallery shows of a scenario."""

    #: Answers its question in one sentence.
    answer: Callable[[Told], str]
    #: Draws its picture with `timeplane.plot`, and returns the axes.
    draw: Callable[[Any], Any]
    #: Describes the picture, for readers who do not see it.
    about: str
    #: Metrics that are stored in addition to those of the comparison.
    metrics: Sequence[str] = ()


def best(told: Told) -> str:
    """The scheme with the best first metric, which the comparison shows first."""
    metric, least = told.metrics[0], not told.metrics[0].startswith("goodput")
    point = told.points[-1].rpartition("=")[2]
    order = sorted(told.schemes, key=lambda scheme: told.mean(metric, scheme, point), reverse=not least)
    first = f"`{order[0]}` has the {'least' if least else 'highest'} {metric.replace('_', ' ')}: {told.text(metric, order[0], point)}"
    return f"{first}, against {told.text(metric, order[1], point)} of `{order[1]}`." if order[1:] else f"{first}."


def plain(results: Any) -> Any:
    """Draw the first metric of the comparison: over the swept key, or a bar for each scheme."""
    import timeplane as tp

    metric = next(iter(results.comparison._core.labels()))
    return bars(metric)(results) if len(results.points) == 1 else tp.plot.metric_over_key(results, metric)


def bars(*metrics: str) -> Callable[[Any], Any]:
    """Draw a bar for each scheme, and a dotted line for what no scheme can beat; panels for several metrics."""

    def draw(results: Any) -> Any:
        from matplotlib import pyplot

        import timeplane as tp

        with tp.plot.style():
            every = pyplot.subplots(1, len(metrics), figsize=(3.33, 2.1), layout="constrained", squeeze=False)[1][0]
        for axes, metric in zip(every, metrics):
            tp.plot.metric_bars(results, metric, axes=axes)
            ((cell),) = list(results.compare(metrics=[metric]).to_dict()["lines"][0]["metrics"].values())
            if cell["bound"] and len(results.points) == 1:
                height = axes.patches[0].get_height() * cell["bound"] / cell["value"]["mean"]
                axes.axhline(height, color="black", linestyle=":", linewidth=0.8)
            if len(results.schemes) > 3 // len(metrics):
                axes.tick_params(axis="x", labelrotation=40)
                for label in axes.get_xticklabels():
                    label.set(ha="right", rotation_mode="anchor")
        return every[0]

    return draw


def plot(function: str, *arguments: str, **more: Any) -> Callable[[Any], Any]:
    """Draw with a function of `timeplane.plot`."""

    def draw(results: Any) -> Any:
        import timeplane as tp

        return getattr(tp.plot, function)(results, *arguments, **more)

    return draw


def allreduce(r: Told) -> str:
    formula = 71.68 * MS
    for scheme in ("packets", "circuits"):
        r.expect(formula <= r.mean("step_mean", scheme) <= 1.01 * formula, f"`{scheme}` is within 1 % of the formula")
    r.expect(r.change("step_mean", "slots", "packets") > 1, "slots take longer")
    return (
        f"The formula's 71.68 ms holds within 1 % over packets ({r.text('step_mean', 'packets')}) and circuits "
        f"({r.text('step_mean', 'circuits')}); slots take {r.change('step_mean', 'slots', 'packets'):.1f} % longer."
    )


def cells(r: Told) -> str:
    r.expect(abs(r.change("goodput", "forwarded", "lost")) < 1, "forwarding leaves the goodput as it is")
    r.expect(r.mean("dropped_packets", "forwarded") < r.mean("dropped_packets", "lost"), "forwarding saves packets")
    r.expect(r.change("goodput", "patient", "lost") < -5, "waiting costs goodput")
    return (
        f"Forwarding the old access point's queue cuts losses from {r.text('dropped_packets', 'lost')} to {r.text('dropped_packets', 'forwarded')} "
        f"packets; waiting long before a handover costs {-r.change('goodput', 'patient', 'lost'):.0f} % of the goodput."
    )


def factory(r: Told) -> str:
    proxies = ("reactive", "proactive", "predicted")
    gains = [r.change("goodput", scheme, "cubic") for scheme in proxies]
    r.expect(min(gains) > 20, "proxies raise the goodput")
    r.expect(abs(r.change("goodput", "bbr", "proactive")) < 5, "BBR does as well as a proxy")
    r.expect(all(r.mean("rtt_p99", scheme) < r.mean("rtt_p99", "bbr") for scheme in proxies), "proxies have shorter round trips than BBR")
    slowest = max(proxies, key=lambda scheme: r.mean("rtt_p99", scheme))
    return (
        f"With proxies the goodput is {min(gains):.0f} to {max(gains):.0f} % above CUBIC's {r.text('goodput', 'cubic')}, as with BBR, "
        f"and 99 % of round trips stay below {r.text('rtt_p99', slowest)}."
    )


def fb2010(r: Told) -> str:
    plans = ("slots_300us", "slots_100us", "timeslots", "rates", "circuits")
    sooner = [plan for plan in plans if r.change("cct_mean", plan, "dctcp") < 0 and "significant" in r.value("cct_mean", plan, "").verdict]
    r.expect(not sooner, "no plan completes coflows sooner than DCTCP")
    lost, left = (r.mean("cct_mean", scheme) - r.mean("cct_mean", "dctcp") for scheme in ("half", "half_flyways"))
    r.expect(0 < left < lost, "radios win something back")
    return (
        f"No plan completes coflows significantly sooner than DCTCP ({r.text('cct_mean', 'dctcp')} on average), and radios win back "
        f"{100 * (1 - left / lost):.0f} % of what uplinks of half the rate cost."
    )


def fb2010_large(r: Told) -> str:
    r.expect(abs(r.change("cct_mean", "dctcp", "cubic")) < 2, "DCTCP completes coflows as CUBIC does")
    r.expect(r.mean("dropped_packets", "slots_300us") == 0, "slots lose no packet")
    return (
        f"CUBIC and DCTCP complete coflows in {r.text('cct_mean', 'dctcp')} on average; slots lose no packet, and take "
        f"{r.change('cct_mean', 'slots_300us', 'cubic'):.0f} % longer."
    )


def shuffle(r: Told) -> str:
    r.expect("equivalent" in r.value("completion", "dctcp").verdict, "DCTCP finishes as slots do")
    r.expect(r.mean("dropped_packets", "slots") == 0, "slots lose no packet")
    r.expect(r.change("completion", "cubic", "slots") > 2, "CUBIC takes longer")
    certain = "" if "significant" in r.value("completion", "cubic").verdict else " (not significant)"
    return (
        f"Slots finish {r.over_bound('completion', 'slots'):.0f} % above the bound and lose no packet; DCTCP is as fast with "
        f"{r.text('dropped_packets', 'dctcp')} losses, and CUBIC takes {r.change('completion', 'cubic', 'slots'):.0f} % longer{certain}."
    )


def training_13b(r: Told) -> str:
    r.expect(0 < r.change("step_mean", "circuits", "packets") < r.change("step_mean", "solstice_refined", "packets"), "held circuits are the better ones")
    r.expect(r.change("step_mean", "slots", "packets") > 10, "slots take longer")
    return (
        f"A step takes {r.text('step_mean', 'packets')} over packets, {r.change('step_mean', 'circuits', 'packets'):.0f} % more over held circuits, "
        f"{r.change('step_mean', 'solstice_refined', 'packets'):.0f} % more under Solstice, and {r.change('step_mean', 'slots', 'packets'):.0f} % more "
        "in slots."
    )


def hybrid(r: Told) -> str:
    r.expect(abs(r.change("goodput", "solstice_refined", "packets_10g")) < 5, "circuits reach the goodput of 10 Gb/s of packets")
    r.expect(r.mean("fct_mean", "solstice_refined") > 2 * r.mean("fct_mean", "packets_10g"), "flows take longer over circuits")
    return (
        f"Circuits raise the goodput from {r.text('goodput', 'packets')} to {r.text('goodput', 'solstice_refined')}, as packets at 10 Gb/s do; "
        f"flows take {r.text('fct_mean', 'solstice_refined')} instead of {r.text('fct_mean', 'packets_10g')}."
    )


def lab(r: Told) -> str:
    r.expect(r.mean("completion", "rates") < r.mean("completion", "slots"), "rates finish first")
    return (
        f"Rates finish {r.over_bound('completion', 'rates'):.0f} % above the bound of the busiest link, "
        f"slots {r.over_bound('completion', 'slots'):.0f} %."
    )


def lab_circuits(r: Told) -> str:
    bound = r.value("completion", "circuits").bound or 0
    return f"Circuits finish in {r.text('completion', 'circuits')}, {r.over_bound('completion', 'circuits'):.0f} % above the bound of {quantity(bound, 'ps')}."


def load(r: Told) -> str:
    r.expect(abs(r.change("fct_mean", "dctcp", "cubic", "0.6")) < 5, "mean completion times are the same")
    r.expect("significant" in r.value("slowdown_mean", "dctcp", "0.6").verdict, "the slowdown under DCTCP differs")
    r.expect(abs(r.change("slowdown_mean", "dctcp_per_packet", "dctcp", "0.6")) < 5, "paths by packet change little")
    return (
        f"At load 0.6 DCTCP leaves the mean FCT within {abs(r.change('fct_mean', 'dctcp', 'cubic', '0.6')):.0f} % of CUBIC's, its mean slowdown is "
        f"{r.change('slowdown_mean', 'dctcp', 'cubic', '0.6'):.0f} % higher, and paths by packet change little."
    )


def proxy_live(r: Told) -> str:
    r.expect(abs(r.change("goodput", "reactive", "cubic")) < 5, "the goodput is the same")
    r.expect(r.mean("rtt_mean", "reactive") < r.mean("rtt_mean", "cubic") / 2, "round trips are shorter")
    return (
        f"A reactive proxy shortens the mean round trip from {r.text('rtt_mean', 'cubic')} to {r.text('rtt_mean', 'reactive')} "
        f"at the same goodput; a proactive one loses {-r.change('goodput', 'proactive', 'cubic'):.0f} % of it."
    )


def queue(r: Told) -> str:
    for load_, formula in (("0.5", 151), ("0.8", 301)):
        value = r.value("fct_mean", "datagrams", load_)
        r.expect(abs((value.mean or 0) - formula * 1e6) <= (value.half_width or 0), f"the interval at load {load_} holds the formula's {formula} us")
    return (
        f"The mean is {r.text('fct_mean', 'datagrams', '0.5')} at load 0.5 and {r.text('fct_mean', 'datagrams', '0.8')} at 0.8; "
        "both intervals hold the formula's value."
    )


def rotor_live(r: Told) -> str:
    r.expect(r.mean("fct_mean", "vlb") < min(r.mean("fct_mean", "direct"), r.mean("fct_mean", "hoho")), "load balancing is the fastest")
    return (
        f"With load balancing a flow takes {r.text('fct_mean', 'vlb')} on average, over direct circuits {r.text('fct_mean', 'direct')}, "
        f"and by the earliest arrival {r.text('fct_mean', 'hoho')}."
    )


_SLOTS = "Slots over time, a row per sender, each with the number of its receiver"

#: One line for each scenario whose answer or picture is not the default.
CARDS: dict[str, Card] = {
    "allreduce": Card(allreduce, bars("step_mean"), "Mean time of the all-reduce by scheme"),
    "cells": Card(cells, bars("goodput", "dropped_packets"), "Goodput and dropped packets by scheme"),
    "factory": Card(factory, bars("goodput", "rtt_p99"), "Goodput and 99th percentile of round trips by scheme", ["rtt_mean", "rtt_p99"]),
    "fb2010": Card(fb2010, bars("cct_mean"), "Mean completion time of coflows by scheme"),
    "fb2010-large": Card(fb2010_large, bars("cct_mean"), "Mean completion time of coflows by scheme"),
    "hybrid": Card(hybrid, plot("fct_cdf"), "Distribution of flow completion times by scheme"),
    "lab": Card(lab, plot("gantt", "slots", time=("0 ms", "25 ms")), _SLOTS),
    "lab_circuits": Card(lab_circuits, plot("demand_matrix"), "Bytes from each host to each other"),
    "load": Card(load, plot("metric_over_key", "slowdown_mean"), "Mean slowdown over load, a line per scheme"),
    "proxy_live": Card(proxy_live, bars("goodput", "rtt_mean"), "Goodput and mean round trip by scheme", ["rtt_mean"]),
    "queue": Card(queue, plot("metric_over_key", "fct_mean"), "Mean completion time over load"),
    "rotor_live": Card(rotor_live, plot("fct_cdf"), "Distribution of flow completion times by scheme"),
    "shuffle": Card(shuffle, plot("fct_cdf"), "Distribution of flow completion times by scheme"),
    "training_13b": Card(training_13b, bars("step_mean"), "Mean time of a training step by scheme"),
}


def card(name: str) -> Card:
    """The card of a scenario."""
    return CARDS.get(name) or Card(best, plain, "First metric of the comparison by scheme")
