"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from timeplane.studies import Claims, Found, jain, scale
from timeplane.studies.scale import EXACT, Range

from .arithmetic import TABLE1, circuit_goodput, duty, payload_share
from .experiments import (
    FRAME6,
    HOPS6,
    HOSTS,
    LATE54,
    LINE,
    MTU54,
    PERIOD,
    PERIOD54,
    SMALL,
    SMALL_RATE,
    Experiment,
)
from .measures import STEPS
from .workloads import large_and_small, sizes

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

DARK54 = 20
#: Gb/s: half of what a circuit carries.
MUCH_LOWER = 5.0
#: Share of the whole fall from which a step of a curve is a discontinuity.
JUMP = 0.25
#: Accepted ratio of goodput to demand where all of it is served: the first period costs up to 1 %.
ALL = 1 / 0.99


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def share(outcome: Outcome, x: float, scheme: str) -> Range:
    """Received bytes as a share of the offered bytes."""
    return outcome.range(x, scheme, "goodput").over(outcome.range(x, scheme, "offered"))


def served(outcome: Outcome, x: float, scheme: str) -> float:
    """The mean of :func:`share`."""
    return share(outcome, x, scheme).mean


def _from_to(values: list[Range]) -> str:
    return f"{_percent(min(v.mean for v in values))} to {_percent(max(v.mean for v in values))}"


def pure_formula(experiment: str, x: float) -> float:
    """Goodput of the circuit switch of figure 10 or 11 by the closed formula, as a share of what
    whole frames offer.
    """
    large, count = (x, SMALL) if experiment == "fig10" else (90.0, round(x))
    first, *rest = sizes(large_and_small(large, count), PERIOD54, LINE, MTU54)
    share = [size * 8 / payload_share(MTU54) / (LINE * PERIOD54 * 1e-6) for size in (first, rest[0])]
    carried = circuit_goodput(share[0], share[1], count if share[1] else 0, PERIOD54, DARK54, DARK54)
    return carried / (share[0] + count * share[1])


def pure_limit(experiment: str, x: float) -> float:
    """Like :func:`pure_formula`, without rounding to whole frames."""
    large, count = (x / 100, SMALL) if experiment == "fig10" else (0.9, round(x))
    return circuit_goodput(large, (1 - large) / count, count, PERIOD54, DARK54, DARK54)


# Table 1.


def table1(rate: str, levels: str) -> Found:
    parts = []
    for n in TABLE1:
        if n.rate == rate and (levels in n.name or (levels == "3 levels" and "REACToR" in n.name)):
            count = f"{n.least}-{n.most}" if n.least != n.most else f"{n.most}"
            parts.append(f"{n.name.split(',')[0].removesuffix(' beside a 10 Gb/s network')} {count}")
    text = "; ".join(parts)
    expected = {
        ("10 Gb/s", "3 levels"): "fat tree 2-4; Helios-like 1-3",
        ("100 Gb/s", "3 levels"): "fat tree 4; Helios-like 3; REACToR 1",
        ("100 Gb/s", "5 levels"): "fat tree 8",
    }
    return text, scale.arithmetic(text == expected[rate, levels])


# Figure 6.


def pauses(experiment: Experiment) -> list[int]:
    """Pauses of an experiment's schemes, us."""
    return [int(name.removeprefix("both_")) for name in experiment.schemes if name.startswith("both_")]


def tcp_share(outcome: Outcome, kind: str, pause: int, large: bool) -> Range:
    """TCP relative to raw frames under the same schedule: by bytes if flows never end, otherwise
    by times.
    """
    ideal = f"raw_{pause}" if kind == "both" else f"raw_data_{pause}"
    quantity = "received_bytes" if large else "fct_mean_ps"
    own, other = (outcome.range(0.0, c, quantity) for c in (f"{kind}_{pause}", ideal))
    return own.over(other) if large else other.over(own)


def tcp(outcomes: Outcomes, name: str) -> Found:
    """Close to ideal at every pause, with data paused and with both."""
    o = outcomes[name]
    parts, agrees = [], []
    for kind, words in (("data", "data"), ("both", "data and ACKs")):
        shares = {p: tcp_share(o, kind, p, name == "fig6_large") for p in pauses(o.experiment)}
        parts.append(f"{words}: " + ", ".join(f"{p / 1000:g} ms {_percent(s.mean)}" for p, s in shares.items()))
        agrees += [scale.same(s) for s in shares.values()]
    return "; ".join(parts), scale.everywhere(agrees)


def loss_of(name: str, bit_error: float) -> float:
    """Share of full frames that are lost."""
    return 1 - (1 - bit_error) ** (HOPS6[name] * FRAME6 * 8)


def loss_shares(outcome: Outcome) -> list[tuple[float, Range]]:
    """TCP relative to raw frames without loss under the same schedule, by the loss rate."""
    ideal = outcome.range(min(outcome.places), "raw", "received_bytes")
    name = outcome.experiment.name
    return [(loss_of(name, x), outcome.range(x, "tcp", "received_bytes").over(ideal)) for x in outcome.places]


def tcp_loss(outcomes: Outcomes) -> Found:
    """The two networks have no random draw in common, so their seeds are not paired."""
    parts, agrees = [], []
    for (loss, paused), (_, never) in zip(loss_shares(outcomes["fig6_loss"]), loss_shares(outcomes["fig6_unpaused"]), strict=True):
        agrees.append(scale.same(paused.over(never)))
        own, other = (of.times(100).shown(".1f") for of in (paused, never))
        parts.append(f"loss {100 * loss:.2g} %: {own} % of its ideal against {other} %")
    return "; ".join(parts), scale.everywhere(agrees)


# Figures 7 to 9.


def steady(outcome: Outcome, scheme: str, quantity: str) -> float:
    """Bytes per second between the ends of the windows."""
    first, last = outcome.places[0], outcome.places[-1]
    return (outcome.mean(last, scheme, quantity) - outcome.mean(first, scheme, quantity)) / ((last - first) * 1e-3)


def all_to_all(outcomes: Outcomes) -> Found:
    """Without limits: the paper's limits follow the packets' demand, here acknowledgments."""
    o = outcomes["fig7"]
    rate = {c: steady(o, c, "received_bytes") * 8 / HOSTS / 1e9 for c in o.experiment.schemes}
    lit = duty(PERIOD / 7, 30)
    text = f"{rate['no_limits']:.2f} Gb/s; {rate['limits']:.2f} Gb/s with limits, which keep 1 Gb/s for the packet switch (lit {_percent(lit)} of the time)"
    return text, scale.matches(Range.point(rate["no_limits"]), "8.1 Gb/s")


def even_split(outcomes: Outcomes) -> Found:
    o = outcomes["fig7"]
    rates = np.array([steady(o, "no_limits", f"received_{i}_by_7") * 8 / 1e9 for i in range(HOSTS - 1)])
    text = f"{rates.min():.3f} to {rates.max():.3f} Gb/s, Jain's index {jain(rates):.4f}"
    return text, scale.same(Range.point(rates.min() / rates.max()))


def _fig8(outcomes: Outcomes, quantity: str) -> float:
    return outcomes["fig8"].mean(0, "reactor", quantity)


def change(outcomes: Outcomes, which: str, apart: str, group: int) -> Found:
    """The configurations of a period: number, distance and group of the sources."""
    count = int(_fig8(outcomes, f"{which}_trains"))
    hosts = [int(_fig8(outcomes, f"{which}_host_{i}")) for i in range(count)]
    least, mean, most = (_fig8(outcomes, f"{which}_apart_{name}_us") for name in ("least", "mean", "most"))
    text = f"{count} from hosts {', '.join(map(str, hosts))}, {mean:.0f} us apart"
    right = count == (3 if which == "before" else 4) and all(host // 4 == group for host in hosts)
    return text, scale.together(scale.holds(right), scale.matches(Range(mean, least, most), apart))


def change_between(outcomes: Outcomes) -> Found:
    rate, hosts, lit = (_fig8(outcomes, f"between_{name}") for name in ("gbps", "hosts", "circuits"))
    text = f"{rate:.2f} Gb/s in all from {hosts:.0f} hosts, {lit:.0f} of them by circuits"
    return text, scale.together(scale.holds(lit == 0 and hosts == 4), scale.below(Range.point(rate), MUCH_LOWER))


def _step(outcomes: Outcomes, large: int) -> list[Range]:
    """Mean rates (Gb/s) of all flows to the watched host in the second half of a step with
    ``large`` large flows, these first.
    """
    return [outcomes["fig9"].range(0, "reactor", f"step_{large}_flow_{i}_gbps") for i in range(STEPS)]


def growing_share(outcomes: Outcomes) -> Found:
    parts, agrees, even = [], [], []
    for large in range(1, STEPS + 1):
        own = np.array([of.mean for of in _step(outcomes, large)[:large]])
        parts.append(f"{large}: {own.min():.2f} to {own.max():.2f} Gb/s")
        agrees.append(scale.same(Range.point(own.min() / own.max())))
        even.append(jain(own))
    return f"{'; '.join(parts)}; Jain's index {min(even):.3f} or more", scale.everywhere(agrees)


def growing_small(outcomes: Outcomes) -> Found:
    """The paper's rate is one on the wire."""
    rates = [of.times(1e3 / payload_share(1500)) for large in range(1, STEPS + 1) for of in _step(outcomes, large)[large:]]
    text = f"{min(r.mean for r in rates):.1f} to {max(r.mean for r in rates):.1f} Mb/s on the wire"
    return text, scale.everywhere([scale.matches(of, f"{SMALL_RATE / 1e6:.0f} Mb/s") for of in rates])


def growing_first(outcomes: Outcomes) -> Found:
    """Periods of a step relative to its last one; the first one may have any rate."""
    of = {name: [outcomes["fig9"].mean(0, "reactor", f"{name}_{k}") for k in range(2, STEPS + 1)] for name in ("first", "second", "third")}
    text = ", ".join(f"{name} {_percent(min(v))} to {_percent(max(v))}" for name, v in of.items())
    return f"periods of a step relative to its last: {text}", scale.everywhere([scale.same(Range.point(v)) for v in of["second"]])


# Figures 10 and 11.


def pure_ideal(outcomes: Outcomes) -> Found:
    value = share(outcomes["fig10"], 100.0, "circuits")
    return _percent(value.mean), scale.same(value, EXACT)


def pure_cliff(outcomes: Outcomes) -> Found:
    o = outcomes["fig10"]
    below = max(x for x in o.places if x < 100)
    value, full = share(o, below, "circuits"), share(o, 100.0, "circuits")
    text = f"{_percent(value.mean)} at {below:g} %; the limit is {_percent(pure_limit('fig10', 100 - 1e-9))}"
    return text, scale.above(full.over(value), scale.STATED)


def pure_level(outcomes: Outcomes) -> Found:
    """Level, at the goodput that 21 dark times leave."""
    o = outcomes["fig10"]
    level = [share(o, x, "circuits") for x in o.places if x < 87]
    left = (PERIOD54 - (SMALL + 1) * DARK54) / PERIOD54
    text = f"{_from_to(level)}; (3000 - 21 x 20) / 3000 is {_percent(left)}"
    return text, scale.everywhere([scale.same(of.times(1 / left), EXACT) for of in level])


def ten(outcomes: Outcomes) -> Found:
    o = outcomes["fig10"]
    values = [share(o, x, "reactor") for x in o.places if x >= 90]
    return _from_to(values), scale.everywhere([scale.same(v, EXACT) for v in values])


def ten_below(outcomes: Outcomes) -> Found:
    """Lower at the left end; and no step between neighbors is a large part of the whole fall."""
    o = outcomes["fig10"]
    points = [(x, served(o, x, "reactor")) for x in o.places if x <= 90]
    steps = [b - a for (_, a), (_, b) in itertools.pairwise(points)]
    fall = points[-1][1] - points[0][1]
    text = ", ".join(f"{x:g}: {_percent(y)}" for x, y in points)
    text += f"; the largest step is {100 * max(steps):.1f} points of {100 * fall:.1f}"
    return text, scale.together(scale.holds(fall > 0), scale.below(Range.point(max(steps) / fall), JUMP))


def full_from(outcome: Outcome) -> float:
    """The smallest large flow from which on REACToR serves everything."""
    full = float("inf")
    for x in reversed(outcome.places):
        if scale.same(share(outcome, x, "reactor"), ALL) != "yes":
            break
        full = x
    return full


def twenty(outcomes: Outcomes) -> Found:
    o, full = outcomes["fig10_20"], full_from(outcomes["fig10_20"])
    below = [f"{x:g}: {_percent(served(o, x, 'reactor'))}" for x in o.places if x < full]
    return f"99 % or more from {full:g} % on; {', '.join(below)}", scale.holds(full < full_from(outcomes["fig10"]))


def many_pure(outcomes: Outcomes) -> Found:
    o = outcomes["fig11"]
    values = [share(o, x, "circuits") for x in o.places]
    text = ", ".join(f"n = {x:g}: {_percent(y.mean)}" for x, y in zip(o.places, values, strict=True))
    return text, scale.ordered(a.over(b) for a, b in itertools.pairwise(values))


def many_reactor(outcomes: Outcomes) -> Found:
    o = outcomes["fig11"]
    values = [share(o, x, "reactor") for x in o.places]
    return f"{_from_to(values)}, n = {o.places[0]:g} to {o.places[-1]:g}", scale.everywhere([scale.same(v, EXACT) for v in values])


def formula(outcomes: Outcomes) -> Found:
    errors: dict[bool, dict[str, float]] = {True: {}, False: {}}
    for name in ("fig10", "fig11"):
        o = outcomes[name]
        for x in o.places:
            small = (100 - x) / 100 / SMALL if name == "fig10" else 0.1 / x
            # Flows that are shorter than the delay of a period's start finish in the last circuit
            # of the previous period.
            early = 0 < small * PERIOD54 < LATE54
            errors[early][f"{name} at {x:g}"] = served(o, x, "circuits") / pure_formula(name, x) - 1
    text = []
    for early, of in errors.items():
        if of:
            where, worst = max(of.items(), key=lambda e: abs(e[1]))
            what = f"{len(of)} points with small flows that the last circuit before still carries" if early else f"{len(of)} points"
            text.append(f"{100 * abs(worst):.2f} % at most at {what} (worst: {where})")
    most = max(abs(e) for of in errors.values() for e in of.values())
    return "; ".join(reversed(text)), scale.below(Range.point(most), 0.01)


def lost(outcome: Outcome, scheme: str) -> dict[int, float]:
    """Packets lost in the racks' multiplexers, by the number of frames that an input holds."""
    return {int(x): outcome.mean(x, scheme, "dropped_multiplexer_full") for x in outcome.places}


def _lost(of: Mapping[int, float]) -> str:
    return ", ".join(f"{count:.0f} with {frames} frame{'s' if frames > 1 else ''}" for frames, count in of.items())


def multiplexer(outcomes: Outcomes) -> Found:
    o = outcomes["limits"]
    ninety, without = lost(o, "ninety"), lost(o, "unlimited")
    sent = {c: 100 * served(o, o.places[0], c) for c in ("ninety", "unlimited")}
    text = f"at 90 %, circuits paced to 90 %: {_lost(ninety)}; not paced: {_lost(without)} (goodput {sent['ninety']:.1f} % against {sent['unlimited']:.1f} %)"
    first = min(ninety)
    return text, scale.together(scale.holds(ninety[first] == 0), scale.holds(without[first] > 0))


def multiplexer95(outcomes: Outcomes) -> Found:
    of = lost(outcomes["limits95"], "reactor")
    return f"at 95 %, circuits paced to 95 %: {_lost(of)}", scale.holds(of[min(of)] == 0)


CLAIMS: Claims = {
    "table1_10": ([], lambda o: table1("10 Gb/s", "3 levels")),
    "table1_100": ([], lambda o: table1("100 Gb/s", "3 levels")),
    "table1_five": ([], lambda o: table1("100 Gb/s", "5 levels")),
    "tcp_large": (["fig6_large"], lambda o: tcp(o, "fig6_large")),
    "tcp_small": (["fig6_small"], lambda o: tcp(o, "fig6_small")),
    "tcp_acks": ([], lambda o: ("no scenario pauses ACKs alone", "not tried")),
    "tcp_loss": (["fig6_loss", "fig6_unpaused"], tcp_loss),
    "all_to_all": (["fig7"], all_to_all),
    "even_split": (["fig7"], even_split),
    "change_before": (["fig8"], lambda o: change(o, "before", "500 us", 1)),
    "change_between": (["fig8"], change_between),
    "change_after": (["fig8"], lambda o: change(o, "after", "375 us", 0)),
    "growing_share": (["fig9"], growing_share),
    "growing_small": (["fig9"], growing_small),
    "growing_first": (["fig9"], growing_first),
    "pure_ideal": (["fig10"], pure_ideal),
    "pure_cliff": (["fig10"], pure_cliff),
    "pure_level": (["fig10"], pure_level),
    "ten": (["fig10"], ten),
    "ten_below": (["fig10"], ten_below),
    "twenty": (["fig10", "fig10_20"], twenty),
    "many_pure": (["fig11"], many_pure),
    "many_reactor": (["fig11"], many_reactor),
    "formula": (["fig10", "fig11"], formula),
    "multiplexer": (["limits"], multiplexer),
    "multiplexer95": (["limits95"], multiplexer95),
}
