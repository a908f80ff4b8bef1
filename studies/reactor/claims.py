"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from timeplane.studies import Claims, Found, difference, jain, yes_or_no

from . import measures
from .arithmetic import TABLE1, circuit_goodput, duty, payload_share
from .experiments import (
    FIG8_AT,
    FRAME6,
    HOPS6,
    HOSTS,
    LATE54,
    LINE,
    MTU54,
    PERIOD,
    PERIOD54,
    SMALL,
    Experiment,
)
from .workloads import US, large_and_small, sizes

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

DARK54 = 20


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def served(outcome: Outcome, x: float, scheme: str) -> float:
    """Received bytes as a share of the offered bytes."""
    return outcome.mean(x, scheme, "goodput") / outcome.mean(x, scheme, "offered")


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
    return text, yes_or_no(text == expected[rate, levels])


# Figure 6.


def pauses(experiment: Experiment) -> list[int]:
    """Pauses of an experiment's schemes, us."""
    return [int(name.removeprefix("both_")) for name in experiment.schemes if name.startswith("both_")]


def tcp_share(outcome: Outcome, kind: str, pause: int, large: bool) -> float:
    """TCP relative to raw frames under the same schedule: by bytes if flows never end, otherwise
    by times.
    """
    ideal = f"raw_{pause}" if kind == "both" else f"raw_data_{pause}"
    quantity = "received_bytes" if large else "fct_mean_ps"
    own, other = (outcome.mean(0.0, c, quantity) for c in (f"{kind}_{pause}", ideal))
    return own / other if large else other / own


def tcp(outcomes: Outcomes, name: str) -> Found:
    o = outcomes[name]
    parts, values = [], []
    for kind, words in (("data", "data"), ("both", "data and ACKs")):
        shares = {p: tcp_share(o, kind, p, name == "fig6_large") for p in pauses(o.experiment)}
        parts.append(f"{words}: " + ", ".join(f"{p / 1000:g} ms {_percent(s)}" for p, s in shares.items()))
        values += shares.values()
    return "; ".join(parts), "yes" if min(values) > 0.95 else "in part" if max(values) > 0.95 else "no"


def loss_of(name: str, bit_error: float) -> float:
    """Share of full frames that are lost."""
    return 1 - (1 - bit_error) ** (HOPS6[name] * FRAME6 * 8)


def loss_shares(outcome: Outcome) -> list[tuple[float, list[float]]]:
    """Loss rates; by seed, TCP relative to raw frames without loss under the same schedule."""
    ideal = outcome.mean(min(outcome.places), "raw", "received_bytes")
    name = outcome.experiment.name
    return [
        (loss_of(name, x), [v / ideal for v in outcome.values[x, "tcp", "received_bytes"].values()]) for x in outcome.places
    ]


def tcp_loss(outcomes: Outcomes) -> Found:
    parts, same = [], []
    for (loss, paused), (_, never) in zip(loss_shares(outcomes["fig6_loss"]), loss_shares(outcomes["fig6_unpaused"]), strict=True):
        d = difference(paused, never)
        same.append(d.verdict in ("same", "both"))
        parts.append(f"loss {100 * loss:.2g} %: {_percent(float(np.mean(paused)))} of its ideal against {_percent(float(np.mean(never)))}")
    return "; ".join(parts), "yes" if all(same) else "in part" if any(same) else "no"


# Figures 7 to 9.


def steady(outcome: Outcome, scheme: str, quantity: str) -> float:
    """Bytes per second between the ends of the windows."""
    first, last = outcome.places[0], outcome.places[-1]
    return (outcome.mean(last, scheme, quantity) - outcome.mean(first, scheme, quantity)) / ((last - first) * 1e-3)


def all_to_all(outcomes: Outcomes) -> Found:
    o = outcomes["fig7"]
    rate = {c: steady(o, c, "received_bytes") * 8 / HOSTS / 1e9 for c in o.experiment.schemes}
    lit = duty(PERIOD / 7, 30)
    text = f"{rate['no_limits']:.2f} Gb/s; {rate['limits']:.2f} Gb/s with limits, which keep 1 Gb/s for the packet switch (lit {_percent(lit)} of the time)"
    return text, yes_or_no(abs(rate["no_limits"] / 8.1 - 1) < 0.03)


def even_split(outcomes: Outcomes) -> Found:
    o = outcomes["fig7"]
    rates = np.array([steady(o, "no_limits", f"received_{i}_by_7") * 8 / 1e9 for i in range(HOSTS - 1)])
    return f"{rates.min():.3f} to {rates.max():.3f} Gb/s, Jain's index {jain(rates):.4f}", yes_or_no(rates.min() / rates.max() > 0.95)


def _fig8(outcomes: Outcomes) -> tuple[dict[str, np.ndarray], float]:
    trace = outcomes["fig8"].traces["reactor"]
    return trace, FIG8_AT - 750 * US


def configurations(trace: dict[str, np.ndarray], begin: float) -> list[tuple[int, float, int]]:
    """Packet trains of one source in the period from ``begin`` on: source, first arrival in us,
    number of packets.
    """
    found = []
    for source in np.unique(trace["source"]):
        times = trace["time"][(trace["source"] == source) & (trace["time"] >= begin) & (trace["time"] < begin + PERIOD * US)]
        # Packets from the packet switch are more than 12 us apart, those from a circuit less than 2
        # us.
        found += [(int(source), (a - begin) / US, n) for a, _, n in measures.trains(times, 3 * US) if n > 100]
    return sorted(found, key=lambda f: f[1])


def change(outcomes: Outcomes, which: str) -> Found:
    trace, begin = _fig8(outcomes)
    if which == "between":
        low, high = begin + 750 * US, begin + PERIOD * US
        new = (trace["source"] < 4) & (trace["time"] >= low) & (trace["time"] < high)
        rate = trace["bytes"][new].sum() * 8 / ((high - low) * 1e-12) / 1e9
        lit = [c for c in configurations(trace, begin) if c[0] < 4]
        text = f"{rate:.2f} Gb/s in all from {len(np.unique(trace['source'][new]))} hosts, {len(lit)} of them by circuits"
        return text, yes_or_no(not lit and 0.5 < rate < 1.05)
    found = configurations(trace, begin - PERIOD * US if which == "before" else begin + PERIOD * US)
    distances = np.diff([at for _, at, _ in found])
    text = f"{len(found)} from hosts {', '.join(str(s) for s, _, _ in found)}, {distances.mean():.0f} us apart"
    count, apart = (3, 500) if which == "before" else (4, 375)
    group = 1 if which == "before" else 0
    right = len(found) == count and all(s // 4 == group for s, _, _ in found) and bool(np.all(np.abs(distances - apart) < 15))
    return text, yes_or_no(right)


def growth(outcomes: Outcomes) -> tuple[np.ndarray, np.ndarray]:
    """Edges of periods (ps), and rates of the seven flows to host 7 in the order in which they
    become large.
    """
    o = outcomes["fig9"]
    end = measures.number(o.experiment.window) * US
    edges = np.arange(0, end + 1, PERIOD * US)
    return edges, measures.rates(o.traces["reactor"], [(7 - x) % HOSTS for x in range(1, 8)], edges)


def _by_step(outcomes: Outcomes) -> list[tuple[int, np.ndarray]]:
    """For each step, its number of large flows and the mean rates in its second half."""
    edges, rates = growth(outcomes)
    each = (len(edges) - 1) // 7
    return [(k + 1, rates[:, k * each + each // 2 : (k + 1) * each].mean(axis=1)) for k in range(7)]


def growing_share(outcomes: Outcomes) -> Found:
    parts, even = [], []
    for large, rates in _by_step(outcomes):
        own = rates[:large]
        parts.append(f"{large}: {own.min():.2f} to {own.max():.2f} Gb/s")
        even.append(jain(own))
    return f"{'; '.join(parts)}; Jain's index {min(even):.3f} or more", yes_or_no(min(even) > 0.99)


def growing_small(outcomes: Outcomes) -> Found:
    rates = np.concatenate([rates[large:] for large, rates in _by_step(outcomes)]) * 1e3
    payload = 96 * 1484 / 1538
    text = f"{rates.min():.1f} to {rates.max():.1f} Mb/s of flows' bytes; 96 Mb/s on the wire are {payload:.1f}"
    return text, yes_or_no(abs(rates.min() / payload - 1) < 0.1 and abs(rates.max() / payload - 1) < 0.1)


def growing_first(outcomes: Outcomes) -> Found:
    _, rates = growth(outcomes)
    each = rates.shape[1] // 7
    first = [rates[k, k * each] / rates[k, (k + 1) * each - 1] for k in range(1, 7)]
    later = [rates[k, k * each + 2] / rates[k, (k + 1) * each - 1] for k in range(1, 7)]
    text = f"first period {_percent(min(first))} to {_percent(max(first))} of the last one of its step, third {_percent(min(later))} to {_percent(max(later))}"
    return text, yes_or_no(max(first) < 1 and min(later) > 0.9)


# Figures 10 and 11.


def pure_ideal(outcomes: Outcomes) -> Found:
    value = served(outcomes["fig10"], 100.0, "circuits")
    return _percent(value), yes_or_no(value > 0.99)


def pure_cliff(outcomes: Outcomes) -> Found:
    o = outcomes["fig10"]
    below = max(x for x in o.places if x < 100)
    value = served(o, below, "circuits")
    return f"{_percent(value)} at {below:g} %; the limit is {_percent(pure_limit('fig10', 100 - 1e-9))}", yes_or_no(value < 0.8)


def pure_level(outcomes: Outcomes) -> Found:
    o = outcomes["fig10"]
    level = [served(o, x, "circuits") for x in o.places if x < 87]
    return f"{_percent(min(level))} to {_percent(max(level))}; (3000 - 21 x 20) / 3000 is 86.0 %", yes_or_no(0.85 < min(level) and max(level) < 0.87)


def ten(outcomes: Outcomes) -> Found:
    o = outcomes["fig10"]
    values = [served(o, x, "reactor") for x in o.places if x >= 90]
    return f"{_percent(min(values))} to {_percent(max(values))}", yes_or_no(min(values) > 0.99)


def ten_below(outcomes: Outcomes) -> Found:
    o = outcomes["fig10"]
    points = [(x, served(o, x, "reactor")) for x in o.places if x <= 90]
    steps = [abs(b - a) for (_, a), (_, b) in itertools.pairwise(points)]
    text = ", ".join(f"{x:g}: {_percent(y)}" for x, y in points)
    return f"{text}; the largest step is {100 * max(steps):.1f} points", "yes" if max(steps) < 0.02 else "in part" if max(steps) < 0.05 else "no"


def twenty(outcomes: Outcomes) -> Found:
    o = outcomes["fig10_20"]
    full = [x for x in o.places if served(o, x, "reactor") > 0.99] or [float("inf")]
    below = [f"{x:g}: {_percent(served(o, x, 'reactor'))}" for x in o.places if x < min(full)]
    return f"99 % or more from {min(full):g} % on; {', '.join(below)}", yes_or_no(min(full) <= 80)


def many_pure(outcomes: Outcomes) -> Found:
    o = outcomes["fig11"]
    values = [served(o, x, "circuits") for x in o.places]
    text = ", ".join(f"n = {x:g}: {_percent(y)}" for x, y in zip(o.places, values, strict=True))
    return text, yes_or_no(all(a > b for a, b in itertools.pairwise(values)))


def many_reactor(outcomes: Outcomes) -> Found:
    o = outcomes["fig11"]
    values = [served(o, x, "reactor") for x in o.places]
    return f"{_percent(min(values))} to {_percent(max(values))}, n = {o.places[0]:g} to {o.places[-1]:g}", yes_or_no(min(values) > 0.99)


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
    worst = max(abs(e) for of in errors.values() for e in of.values())
    others = max(abs(e) for e in errors[False].values())
    return "; ".join(reversed(text)), "yes" if worst < 0.01 else "in part" if others < 0.01 else "no"


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
    return text, "yes" if ninety[first] == 0 < without[first] else "in part" if 20 * ninety[first] < without[first] else "no"


def multiplexer95(outcomes: Outcomes) -> Found:
    of = lost(outcomes["limits95"], "reactor")
    return f"at 95 %, circuits paced to 95 %: {_lost(of)}", yes_or_no(of[min(of)] == 0)


CLAIMS: Claims = {
    "table1_10": ([], lambda o: table1("10 Gb/s", "3 levels")),
    "table1_100": ([], lambda o: table1("100 Gb/s", "3 levels")),
    "table1_five": ([], lambda o: table1("100 Gb/s", "5 levels")),
    "tcp_large": (["fig6_large"], lambda o: tcp(o, "fig6_large")),
    "tcp_small": (["fig6_small"], lambda o: tcp(o, "fig6_small")),
    "tcp_acks": ([], lambda o: ("not run: no scenario pauses ACKs alone", "not run")),
    "tcp_loss": (["fig6_loss", "fig6_unpaused"], tcp_loss),
    "all_to_all": (["fig7"], all_to_all),
    "even_split": (["fig7"], even_split),
    "change_before": (["fig8"], lambda o: change(o, "before")),
    "change_between": (["fig8"], lambda o: change(o, "between")),
    "change_after": (["fig8"], lambda o: change(o, "after")),
    "growing_share": (["fig9"], growing_share),
    "growing_small": (["fig9"], growing_small),
    "growing_first": (["fig9"], growing_first),
    "pure_ideal": (["fig10"], pure_ideal),
    "pure_cliff": (["fig10"], pure_cliff),
    "pure_level": (["fig10"], pure_level),
    "ten": (["fig10"], ten),
    "ten_below": (["fig10"], ten_below),
    "twenty": (["fig10_20"], twenty),
    "many_pure": (["fig11"], many_pure),
    "many_reactor": (["fig11"], many_reactor),
    "formula": (["fig10", "fig11"], formula),
    "multiplexer": (["limits"], multiplexer),
    "multiplexer95": (["limits95"], multiplexer95),
}
