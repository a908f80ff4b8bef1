"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from timeplane.studies import Claims, Found, jain, scale
from timeplane.studies.scale import EXACT, Range

from . import measures
from .arithmetic import FRAMING, TABLE1, Hybrid, break_even, circuit_goodput, control_bound, duty, hybrid_goodput, payload_share
from .experiments import (
    ENDLESS,
    FOLDER,
    FRAME6,
    HOPS6,
    HOSTS,
    LATE54,
    LINE,
    MTU,
    MTU54,
    NEVER6,
    OPEN6,
    PERIOD,
    PERIOD54,
    RATE,
    SIZES6,
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
    count = count if share[1] else 0
    carried = circuit_goodput(*share, count, PERIOD54, DARK54, DARK54)
    # Demand arrives before its period, while the last circuit of the period before is up. A small
    # flow that is shorter needs no circuit of its own, except in the first of three periods.
    if count and share[1] * PERIOD54 <= LATE54 + (MTU54 + FRAMING) * 8 / LINE * 1e6:
        early = circuit_goodput(*share, count - 1, PERIOD54, DARK54, DARK54) + share[1]
        carried = (carried + 2 * early) / 3
    return carried / (share[0] + count * share[1])


def pure_limit(experiment: str, x: float) -> float:
    """Like :func:`pure_formula`, without rounding to whole frames."""
    large, count = (x / 100, SMALL) if experiment == "fig10" else (0.9, round(x))
    return circuit_goodput(large, (1 - large) / count, count, PERIOD54, DARK54, DARK54)


def best(x: float, packet: float) -> Hybrid:
    """The most that a period of figure 10 can carry of the demand that it brings, with a packet
    switch of this share of the line rate, by :func:`hybrid_goodput`.
    """
    return hybrid_goodput(x / 100, (100 - x) / 100 / SMALL, SMALL, packet, PERIOD54, DARK54, DARK54)


# Table 1, and sections 2 to 4.


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


def port_price() -> Found:
    limit = break_even(1.0)
    return f"{limit:g} transceivers", scale.arithmetic(limit == 3)


def bound() -> Found:
    """The interface's off time differs by 1.3 us at most, as the paper has it."""
    us = 1e6 * control_bound(RATE, MTU, 1.3e-6)
    text = f"{us:.2f} us: a frame of {MTU} B takes {us - 1.3:.2f} us, the slowest interface 1.3 us more than the fastest one"
    return text, scale.arithmetic(scale.matches(Range.point(us), "about 2.5 us") == "yes")


def lit(outcomes: Outcomes) -> Found:
    """Raw frames of hosts that always have some."""
    o = outcomes["duty"]
    seconds = float(o.experiment.window.split()[0]) * 1e-3
    capacity = HOSTS * RATE / 8 * seconds * payload_share(MTU)
    value = o.range(0.0, "raw", "received_bytes").times(1 / capacity)
    return f"{_percent(value.mean)}, of {_percent(duty(160, 30))} by arithmetic", scale.matches(value.times(100), "81 %")


def burst(outcomes: Outcomes, scheme: str, phrase: str) -> Found:
    o = outcomes["limits"]
    value = share(o, max(o.places), scheme)
    return _percent(value.mean), scale.matches(value.times(100), phrase)


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


def lengths(experiment: Experiment) -> list[float]:
    """Lengths of an experiment's pauses, us."""
    assert experiment.pauses
    return [of for of in experiment.pauses[1] if of > NEVER6]


def over_datagrams(outcome: Outcome, kind: str, closed: float, size: int) -> Range:
    """TCP relative to datagrams under the same pauses: by times, or by bytes between the ends of
    the windows if flows never end.
    """
    if size != ENDLESS:
        tail = f"_{kind}_{size:g}" if len(outcome.experiment.flows) > 1 else f"_{kind}"
        own, other = (outcome.range(closed, c + tail, "fct_mean_ps") for c in ("tcp", "datagrams"))
        return other.over(own)
    assert outcome.experiment.sweep
    ends = [f"{float(w.split()[0]):g}" for w in outcome.experiment.sweep[1]]
    first, last = ([outcome.mean(closed, f"{c}_{kind}_{end}", "received_bytes") for c in ("tcp", "datagrams")] for end in ends)
    return Range.point((last[0] - first[0]) / (last[1] - first[1]))


def paused(outcome: Outcome, kind: str, closed: float, size: int) -> Range:
    """Throughput relative to that without pauses, both as shares of datagrams'."""
    return over_datagrams(outcome, kind, closed, size).over(over_datagrams(outcome, kind, NEVER6, size))


def _each(shares: Mapping[float, Range]) -> str:
    return ", ".join(f"{p / 1000:g} ms {_percent(s.mean)}" for p, s in shares.items())


def tcp_acks(outcomes: Outcomes) -> Found:
    """The paper gives no size of flows; the one of 40 ms is judged."""
    o = outcomes["fig6_slow_start"]
    longest = max(lengths(o.experiment))
    of = {size: paused(o, "acknowledgements", longest, int(size)) for size in o.experiment.flows}
    text = ", ".join(f"{size / 1e6:g} MB: {100 * (1 - r.mean):.1f} % lower" for size, r in of.items())
    return text, scale.compares(of[max(of)], "up to 30 % lower")


def tcp_acks_short(outcomes: Outcomes) -> Found:
    """Judged by the larger flows, as above."""
    o = outcomes["fig6_slow_start"]
    of = {s: {p: paused(o, "acknowledgements", p, int(s)) for p in lengths(o.experiment) if p <= 1000} for s in o.experiment.flows}
    text = "; ".join(f"{size / 1e6:g} MB: {_each(shares)}" for size, shares in of.items())
    return text, scale.everywhere([scale.same(r) for r in of[max(of)].values()])


def tcp_acks_steady(outcomes: Outcomes) -> Found:
    o = outcomes["fig6_steady"]
    of = {p: paused(o, "acknowledgements", p, ENDLESS) for p in lengths(o.experiment)}
    return _each(of), scale.everywhere([scale.same(r) for r in of.values()])


def tcp_standing(outcomes: Outcomes) -> Found:
    """Relative to datagrams, which carry 0.8 % more in a frame."""
    text, agrees = [], []
    for name, size in (("fig6_slow_start", max(SIZES6)), ("fig6_steady", ENDLESS)):
        o = outcomes[name]
        size = min(size, int(max(o.experiment.flows)))
        for kind in ("data", "both"):
            of = {p: over_datagrams(o, kind, p, size) for p in lengths(o.experiment)}
            text.append(f"{'slow start' if name == 'fig6_slow_start' else 'after it'}, {kind}: {_each(of)}")
            agrees += [scale.same(r) for r in of.values()]
    return "; ".join(text), scale.everywhere(agrees)


def loss_of(bit_error: float) -> float:
    """Share of full frames that are lost."""
    return 1 - (1 - bit_error) ** (HOPS6 * FRAME6 * 8)


def loss_shares(outcome: Outcome, closed: float) -> list[tuple[float, Range]]:
    """TCP relative to what the time between pauses carries, by the loss rate."""
    e = outcome.experiment
    assert e.sweep
    seconds = measures.microseconds(e.window) * 1e-6 * (OPEN6 / (OPEN6 + closed) if closed > NEVER6 else 1)
    ideal = HOSTS * RATE / 8 * seconds * (MTU - 40) / FRAME6
    return [(loss_of(x), outcome.range(closed, f"tcp_both_{x:g}", "received_bytes").times(1 / ideal)) for x in e.sweep[1]]


def tcp_loss(outcomes: Outcomes) -> Found:
    o = outcomes["fig6_loss"]
    parts, agrees = [], []
    for (loss, own), (_, never) in zip(loss_shares(o, 1000), loss_shares(o, NEVER6), strict=True):
        agrees.append(scale.same(own.over(never)))
        shown = [of.times(100).shown(".1f") for of in (own, never)]
        parts.append(f"loss {100 * loss:.2g} %: {shown[0]} % of its ideal against {shown[1]} %")
    return "; ".join(parts), scale.everywhere(agrees)


# Figures 7 to 9.


def steady(outcome: Outcome, scheme: str, quantity: str) -> float:
    """Bytes per second between the ends of the windows."""
    first, last = outcome.places[0], outcome.places[-1]
    return (outcome.mean(last, scheme, quantity) - outcome.mean(first, scheme, quantity)) / ((last - first) * 1e-3)


def received(outcome: Outcome, scheme: str) -> float:
    """Goodput (Gb/s) that a host receives."""
    return steady(outcome, scheme, "received_bytes") * 8 / HOSTS / 1e9


def all_to_all(outcomes: Outcomes) -> Found:
    """Without limits: the paper's limits follow the packets' demand, here acknowledgments."""
    rate = received(outcomes["fig7"], "reordered")
    others = {c: received(outcomes["fig7_others"], c) for c in ("limits", "by_backlog")}
    text = f"{rate:.2f} Gb/s; {others['limits']:.2f} Gb/s with limits, which keep 1 Gb/s for the packet switch; "
    text += f"{others['by_backlog']:.2f} Gb/s with schedules by backlog (lit {_percent(duty(PERIOD / 7, 30))} of the time)"
    return text, scale.matches(Range.point(rate), "8.1 Gb/s")


def even_split(outcomes: Outcomes) -> Found:
    rates = np.array([steady(outcomes["fig7"], "reordered", f"received_{i}_by_7") * 8 / 1e9 for i in range(HOSTS - 1)])
    text = f"{rates.min():.3f} to {rates.max():.3f} Gb/s, Jain's index {jain(rates):.4f}"
    return text, scale.same(Range.point(rates.min() / rates.max()))


def reordered(outcomes: Outcomes) -> Found:
    rates = [received(outcomes["fig7_others"], c) for c in ("reordered", "one_order")]
    return f"{rates[0]:.2f} Gb/s against {rates[1]:.2f} Gb/s", scale.same(Range.point(rates[0] / rates[1]))


def _fig8(outcomes: Outcomes, quantity: str) -> float:
    return outcomes["fig8"].mean(0, "reactor", quantity)


def change(outcomes: Outcomes, which: str, apart: str, group: int) -> Found:
    """The configurations of a period: number, distance and group of the sources."""
    count = int(_fig8(outcomes, f"{which}_trains"))
    hosts = [int(_fig8(outcomes, f"{which}_host_{i}")) for i in range(count)]
    least, mean, most = (_fig8(outcomes, f"{which}_apart_{name}_us") for name in ("least", "mean", "most"))
    text = f"{count} from hosts {', '.join(map(str, hosts))}, {mean:.0f} us apart"
    right = count == (4 if which == "after" else 3) and all(host // 4 == group for host in hosts)
    return text, scale.together(scale.holds(right), scale.matches(Range(mean, least, most), apart))


def change_between(outcomes: Outcomes) -> Found:
    rate, hosts, lit = (_fig8(outcomes, f"between_{name}") for name in ("gbps", "hosts", "circuits"))
    text = f"{rate:.2f} Gb/s in all from {hosts:.0f} hosts, {lit:.0f} of them by circuits"
    return text, scale.together(scale.holds(lit == 0 and hosts == 4), scale.below(Range.point(rate), MUCH_LOWER))


def reaction(outcomes: Outcomes) -> Found:
    time = _fig8(outcomes, "reaction_us")
    return f"{time:.0f} us", scale.holds(100 <= time < 1000)


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
    halved = [", ".join(f"{outcomes['fig9'].mean(0, c, f'step_{k}_halved'):.0f}" for k in range(1, STEPS + 1)) for c in ("reactor", "hysteresis")]
    text = f"{'; '.join(parts)}; Jain's index {min(even):.3f} or more; times that a large flow has less than half of it in a period, by step: {halved[0]} (with hysteresis {halved[1]})"
    return text, scale.everywhere(agrees)


def growing_small(outcomes: Outcomes) -> Found:
    """The paper's rate is one on the wire."""
    rates = [of.times(1e3 / payload_share(1500)) for large in range(1, STEPS + 1) for of in _step(outcomes, large)[large:]]
    text = f"{min(r.mean for r in rates):.1f} to {max(r.mean for r in rates):.1f} Mb/s on the wire"
    return text, scale.everywhere([scale.matches(of, f"{SMALL_RATE / 1e6:.0f} Mb/s") for of in rates])


def growing_first(outcomes: Outcomes) -> Found:
    """Periods of a step relative to its second half; the first one may have any rate."""
    of = {name: [outcomes["fig9"].mean(0, "reactor", f"{name}_{k}") for k in range(2, STEPS + 1)] for name in ("first", "second", "third")}
    text = ", ".join(f"{name} {_percent(min(v))} to {_percent(max(v))}" for name, v in of.items())
    return f"periods of a step relative to its second half: {text}", scale.everywhere([scale.same(Range.point(v)) for v in of["second"]])


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


def pure_rise(outcomes: Outcomes) -> Found:
    o = outcomes["fig10"]
    values = {x: share(o, x, "circuits") for x in o.places if 86.5 < x < 100}
    text = ", ".join(f"{x:g}: {_percent(v.mean)}" for x, v in values.items())
    return text, scale.ordered(a.over(b) for a, b in itertools.pairwise(values.values()))


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
    text = ", ".join(f"{x:g}: {_percent(y)} (arithmetic {_percent(best(x, 0.1).goodput)})" for x, y in points)
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
    below = [f"{x:g}: {_percent(served(o, x, 'reactor'))} (arithmetic {_percent(best(x, 0.2).goodput)})" for x in o.places if x < full]
    return f"99 % or more from {full:g} % on; {', '.join(below)}", scale.holds(full < full_from(outcomes["fig10"]))


def many_pure(outcomes: Outcomes) -> Found:
    o = outcomes["fig11"]
    values = [share(o, x, "circuits") for x in o.places]
    text = ", ".join(f"n = {x:g}: {_percent(y.mean)}" for x, y in zip(o.places, values, strict=True))
    return text, scale.ordered(a.over(b) for a, b in itertools.pairwise(values))


def many_one(outcomes: Outcomes) -> Found:
    o = outcomes["fig11"]
    own, other = (share(o, 1.0, scheme) for scheme in ("reactor", "circuits"))
    return f"{_percent(own.mean)} against {_percent(other.mean)}", scale.same(own.over(other))


def many_reactor(outcomes: Outcomes) -> Found:
    o = outcomes["fig11"]
    values = [share(o, x, "reactor") for x in o.places]
    return f"{_from_to(values)}, n = {o.places[0]:g} to {o.places[-1]:g}", scale.everywhere([scale.same(v, EXACT) for v in values])


def formula(outcomes: Outcomes) -> Found:
    errors: dict[str, float] = {}
    for name in ("fig10", "fig11"):
        o = outcomes[name]
        errors |= {f"{name} at {x:g}": served(o, x, "circuits") / pure_formula(name, x) - 1 for x in o.places}
    where, worst = max(errors.items(), key=lambda e: abs(e[1]))
    return f"{100 * abs(worst):.2f} % at most at {len(errors)} points (worst: {where})", scale.below(Range.point(abs(worst)), 0.01)


def prototype() -> Found:
    """The row of the study that runs circuits on Linux hosts."""
    with (FOLDER.parent / "live" / "tables" / "compared.csv").open(newline="", encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["id"] == "simulator")
    return f"{row['ours']} (`studies/live`)", row["agrees"]


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
    "break_even": ([], lambda o: port_price()),
    "burst": (["limits"], lambda o: burst(o, "unlimited", "91 %")),
    "burst_limits": (["limits"], lambda o: burst(o, "ninety", "100 %")),
    "control_bound": ([], lambda o: bound()),
    "duty": (["duty"], lit),
    "tcp_large": (["fig6_large"], lambda o: tcp(o, "fig6_large")),
    "tcp_small": (["fig6_small"], lambda o: tcp(o, "fig6_small")),
    "tcp_acks": (["fig6_slow_start"], tcp_acks),
    "tcp_acks_short": (["fig6_slow_start"], tcp_acks_short),
    "tcp_acks_steady": (["fig6_steady"], tcp_acks_steady),
    "tcp_standing": (["fig6_slow_start", "fig6_steady"], tcp_standing),
    "tcp_loss": (["fig6_loss"], tcp_loss),
    "all_to_all": (["fig7", "fig7_others"], all_to_all),
    "even_split": (["fig7"], even_split),
    "reordered": (["fig7_others"], reordered),
    "packet_trace": ([], lambda o: ("no table has packets of a TCP run", "not tried")),
    "change_before": (["fig8"], lambda o: change(o, "before", "500 us", 1)),
    "change_committed": (["fig8"], lambda o: change(o, "committed", "500 us", 1)),
    "change_between": (["fig8"], change_between),
    "change_after": (["fig8"], lambda o: change(o, "after", "375 us", 0)),
    "reaction": (["fig8"], reaction),
    "growing_share": (["fig9"], growing_share),
    "growing_small": (["fig9"], growing_small),
    "growing_first": (["fig9"], growing_first),
    "pure_ideal": (["fig10"], pure_ideal),
    "pure_cliff": (["fig10"], pure_cliff),
    "pure_rise": (["fig10"], pure_rise),
    "pure_level": (["fig10"], pure_level),
    "ten": (["fig10"], ten),
    "ten_below": (["fig10"], ten_below),
    "twenty": (["fig10", "fig10_20"], twenty),
    "many_pure": (["fig11"], many_pure),
    "many_one": (["fig11"], many_one),
    "many_reactor": (["fig11"], many_reactor),
    "formula": (["fig10", "fig11"], formula),
    "prototype": ([], lambda o: prototype()),
    "multiplexer": (["limits"], multiplexer),
    "multiplexer95": (["limits95"], multiplexer95),
}
