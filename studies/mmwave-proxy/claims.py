"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from timeplane.studies import Claims, Found, Summary, scale
from timeplane.studies.scale import Range

from . import beams
from .experiments import GRID, KINDS, NAMES, NO_SACK_GRID, ROOMS_SHOWN, kind_of
from .measures import NOTHING, PEAKS, READINGS, quantity
from .settings import BY_READING, CRITERIA, PARTS, SHOWN, Numbers, all_settings, describe, figures_of

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

#: The room B that is judged: diffraction at the body's edges only. The paper's longest round trips
#: exclude outages of seconds, which the body as modeled causes.
B = "b_0"
#: Rooms B in the order in which they are shown.
B_KINDS = (B, "b")


def _number(value: float, digits: int = 3) -> str:
    return "none" if math.isnan(value) else f"{value:.{digits}g}" if value < 1000 else f"{value:.0f}"


def _each(outcomes: Outcomes, scheme: str, name: str, unit: str, factor: float = 1.0) -> str:
    """A number with SACK and without, in both rooms B."""
    values = [[_number(factor * outcomes[f"main_{room}"].mean(0, scheme + kind, name)) for kind in KINDS] for room in B_KINDS]
    of, outage = (f"{with_}{unit} with SACK, {without}{unit} without" for with_, without in values)
    return f"{of} (with an outage {outage})"


def in_settings(outcomes: Outcomes, part: str) -> str:
    """The number of settings of the sweeps in which a part holds, as text. It is no verdict: the
    paper's setting was not chosen among hundreds.
    """
    every = all_settings(outcomes)
    with_sack = [of["segment"][part] for setting, of in every if not setting.kind]
    without = [of for setting, of in every if setting.kind]
    if part not in BY_READING:
        found = f"{sum(of['segment'][part] for of in without)}"
    else:
        found = ", ".join(f"{sum(of[reading][part] for of in without)} by {reading}" for reading in READINGS)
    return f"in {sum(with_sack)} of {len(with_sack)} settings with SACK, and of {len(without)} without in {found}"


def _numbers(outcomes: Outcomes, scheme: str, name: str, room: str) -> Range:
    """A number of the default setting. Percentiles are those of all packets of all walks."""
    if any(name == quantity(p, reading) for reading in READINGS for p in SHOWN):
        return _of(outcomes, scheme, room, name).range(0, scheme, f"all_{name}")
    return outcomes[f"main_{room}"].range(0, scheme, name)


def both_rooms(outcomes: Outcomes, room: str, runs: str) -> Outcome:
    """Goodput as the mean of A and this B, seed by seed if the values by seed are known."""
    pair = [outcomes[f"{runs}_{of}"] for of in ("a", room)]
    both = type(pair[0])(pair[0].experiment)
    for scheme in pair[0].experiment.schemes:
        key = (0.0, scheme, "goodput_mbps")
        a, b = (o.values.get(key, {}) for o in pair)
        if seeds := a.keys() & b.keys():
            both.values[key] = {seed: (a[seed] + b[seed]) / 2 for seed in seeds}
        elif all(key in o.summaries for o in pair):
            mean = Range.average([o.range(*key) for o in pair])
            both.summaries[key] = Summary(mean.mean, mean.low, mean.high, min(o.summaries[key].n for o in pair))
        for o in pair:
            # What is asked of the mean is asked of both.
            o.mean(*key)
    return both


def _default(outcomes: Outcomes, kind: str, reading: str = "segment", runs: str = "long") -> Numbers:
    """The default setting with this kind of TCP, and goodput from these runs."""
    return Numbers(
        lambda scheme, name, place: _numbers(outcomes, scheme, name, place),
        lambda scheme, to: both_rooms(outcomes, B, runs).ratio(0, scheme, "goodput_mbps", to),
        ("a", B),
        "cubic" + kind,
        reading,
    )


def _judged(outcomes: Outcomes, part: str) -> str:
    """The verdict of a part in the default setting. Its readings are both kinds of TCP, what round
    trips are measured on, and the length of figure 10's runs, because the paper says none of these.
    """
    of = READINGS if part in (*BY_READING, "outperform") else ("segment",)
    cases = [(kind, reading, runs) for kind in KINDS for reading in of for runs in LENGTHS[kind].get(part, ("main",))]
    judge = _outperform if part == "outperform" else CRITERIA[part]
    return scale.readings(*(judge(_default(outcomes, *case)) for case in cases))


def _outperform(n: Numbers) -> str:
    """Both policies have lower round trips than CUBIC at each percentile in each room, and more
    goodput. The sweeps do not judge it, as its parts are those of figures 9 and 10.
    """
    parts = []
    for policy in (n.reactive, n.proactive):
        parts += [scale.lower(ratio) for room in n.ratios(policy, n.cubic) for ratio in room]
        parts.append(scale.higher(n.goodput(policy, n.cubic)))
    return scale.together(*parts)


#: The lengths of runs by which statements about goodput are judged, by kind of TCP. Those without
#: SACK have one.
LENGTHS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "": {"double": ("long", "main"), "highest": ("long",), "cost": ("long",), "outperform": ("long", "main")},
    "_no_sack": {},
}


def beam_switches() -> Found:
    a, b = beams.switches("a"), beams.switches("b")
    return f"{b} in B, where no way round is as good; {a} in A", scale.holds(b > 1)


#: Change of the best pair's power between two matrices that counts, dB, and the range over the walk
#: that is more than a body's edge takes.
CHANGE, RANGE = 0.1, 3.0


def varies() -> Found:
    """In most steps of the walk, and by more than 3 dB in all."""
    _, _, power = beams.matrices("b")
    best = power.reshape(len(power), -1).max(axis=1)
    moved = int((abs(np.diff(best)) > CHANGE).sum())
    text = f"the best pair's power changes in {moved} of {len(best) - 1} steps of the walk, by {best.max() - best.min():.0f} dB in all"
    return text, scale.holds(2 * moved > len(best) - 1 and best.max() - best.min() > RANGE)


#: Share of a walk without any rate up to which an alternative is easily there.
RARELY = 0.01


def alternative(outcomes: Outcomes) -> Found:
    """The access point takes other beams, and hardly ever has no rate."""
    o = outcomes["main_a"]
    lost = o.range(0, "cubic", "outage_s").times(1 / o.experiment.seconds)
    switches = beams.switches("a")
    text = f"{switches} changes of beams; without a rate for {100 * lost.mean:.2f} % of the time ({100 * outcomes['main_b'].mean(0, 'cubic', 'outage_s') / o.experiment.seconds:.0f} % in B)"
    return text, scale.together(scale.holds(switches > 0), scale.below(lost, RARELY))


def outperform(outcomes: Outcomes) -> Found:
    """Shows how many of the policies' percentiles are surely lower than CUBIC's."""
    text = []
    for kind, word in KINDS.items():
        for reading in READINGS:
            n = _default(outcomes, kind, reading)
            verdicts = [scale.lower(r) for policy in (n.reactive, n.proactive) for room in n.ratios(policy, n.cubic) for r in room]
            text.append(f"{word}, by {reading}: {verdicts.count('yes')} of {len(verdicts)} percentiles are lower, {verdicts.count('no')} are not")
        for policy in ("reactive", "proactive"):
            ratio = both_rooms(outcomes, B, LENGTHS[kind].get("outperform", ("main",))[0]).ratio(0, policy + kind, "goodput_mbps", f"cubic{kind}")
            text.append(f"{word}: {policy} has {ratio.shown('.2f')} times CUBIC's goodput")
    return "; ".join(text), _judged(outcomes, "outperform")


def overflow(outcomes: Outcomes) -> Found:
    over, lost = (_each(outcomes, "cubic", name, "") for name in ("window_over", "lost_queue"))
    text = f"window over what path and queue hold, at most: {over}; packets lost by the full queue: {lost}; {in_settings(outcomes, 'overflow')}"
    return text, _judged(outcomes, "overflow")


def timeout(outcomes: Outcomes) -> Found:
    text = f"timeouts: {_each(outcomes, 'cubic', 'timeouts', '')}; without an outage before: {_each(outcomes, 'cubic', 'rtos_up', '')}; "
    text += f"the first at {_each(outcomes, 'cubic', 'rto_s', ' s')}; without an outage {in_settings(outcomes, 'timeout')}"
    return text, _judged(outcomes, "timeout")


def starved(outcomes: Outcomes) -> Found:
    text = f"below {NOTHING:g} Mb/s while the link carries, of 10 s: {_each(outcomes, 'cubic', 'starved_s', ' s')}; "
    text += f"reactive {_each(outcomes, 'reactive', 'starved_s', ' s')}; {in_settings(outcomes, 'starved')}"
    return text, _judged(outcomes, "starved")


def follows(outcomes: Outcomes) -> Found:
    free = "; ".join(f"{_number(100 * outcomes[f'main_{room}'].mean(0, 'reactive_free', 'follows'))} %" for room in B_KINDS)
    text = f"within 10 % of the bandwidth-delay product reported: {_each(outcomes, 'reactive', 'follows', ' %', 100)} of the time"
    text += f"; not held over losses {free}; {in_settings(outcomes, 'follows')}"
    return text, _judged(outcomes, "follows")


def reaches(outcomes: Outcomes) -> Found:
    text = f"of what the link carries: {_each(outcomes, 'reactive', 'use', ' %', 100)}; CUBIC {_each(outcomes, 'cubic', 'use', ' %', 100)}"
    return f"{text}; {in_settings(outcomes, 'reaches')}", _judged(outcomes, "reaches")


def _peak(outcomes: Outcomes, scheme: str, part: str) -> Found:
    text = "; ".join(f"by {reading} {_each(outcomes, scheme, peak, ' ms')}" for reading, peak in PEAKS.items())
    return f"{text}; {in_settings(outcomes, part)}", _judged(outcomes, part)


def _of(outcomes: Outcomes, scheme: str, room: str, name: str) -> Outcome:
    """The experiments with the most packets of a scheme: the last percentile by segments, with
    SACK, has ten million. Others have more than the paper's million, in runs of 10 s.
    """
    if kind_of(scheme) or not name.startswith(("packets", READINGS["segment"])):
        return outcomes[f"main_{room}"]
    return outcomes[f"{'tail' if scheme == 'cubic' and name in (quantity(SHOWN[-1]), 'packets') else 'long'}_{room}"]


def _percentiles(outcomes: Outcomes, scheme: str, reading: str, room: str) -> str:
    return ", ".join(_number(_numbers(outcomes, scheme, quantity(p, reading), room).mean) for p in SHOWN)


def half(outcomes: Outcomes) -> Found:
    text = []
    for kind, word in KINDS.items():
        cubic, reactive = f"cubic{kind}", f"reactive{kind}"
        for room in ("a", B):
            parts = []
            for reading in READINGS:
                ratios = [
                    _numbers(outcomes, reactive, q, room).over(_numbers(outcomes, cubic, q, room)) for q in (quantity(p, reading) for p in SHOWN)
                ]
                less = ", ".join(f"{100 * (1 - r.mean):.0f} %" for r in ratios)
                both = (_percentiles(outcomes, c, reading, room) for c in (cubic, reactive))
                parts.append(f"by {reading} {less} less ({' ms to '.join(both)} ms)")
            million = (_of(outcomes, c, room, "packets").mean(0, c, "packets") / 1e6 for c in (cubic, reactive))
            text.append(f"{NAMES[room]}, {word}: {', '.join(parts)}; {' and '.join(f'{m:.1f}' for m in million)} million packets")
    return f"{'; '.join(text)}; {in_settings(outcomes, 'half')}", _judged(outcomes, "half")


def worst(outcomes: Outcomes) -> Found:
    text = []
    for kind, word in KINDS.items():
        for room in ("a", B):
            last = [quantity(SHOWN[-1], reading) for reading in READINGS]
            pairs = [(_numbers(outcomes, f"proactive{kind}", q, room), _numbers(outcomes, f"reactive{kind}", q, room)) for q in last]
            parts = [f"by {reading} {100 * (1 - own.over(to).mean):.0f} %" for reading, (own, to) in zip(READINGS, pairs, strict=True)]
            text.append(f"{NAMES[room]}, {word}: {', '.join(parts)} less at p99.999")
    return f"{'; '.join(text)}; {in_settings(outcomes, 'worst')}", _judged(outcomes, "worst")


def _seconds(outcomes: Outcomes, runs: str) -> str:
    return f"{outcomes[f'{runs}_{B}'].experiment.seconds:g} s"


def double(outcomes: Outcomes) -> Found:
    text = []
    for kind, word in KINDS.items():
        pair = f"reactive{kind}", "goodput_mbps", f"cubic{kind}"
        for runs in LENGTHS[kind].get("double", ("main",)):
            rooms = [f"{NAMES[r]} {outcomes[f'{runs}_{r}'].ratio(0, *pair).mean:.2f}" for r in ROOMS_SHOWN]
            text.append(f"over {_seconds(outcomes, runs)}, {word} {both_rooms(outcomes, B, runs).ratio(0, *pair).shown('.2f')} ({'; '.join(rooms)})")
    return f"{', '.join(text)}; {in_settings(outcomes, 'double')}, over 10 s", _judged(outcomes, "double")


def highest(outcomes: Outcomes) -> Found:
    text = []
    for runs, names in (
        ("long", ("cubic", "reactive", "proactive", "predicted")),
        ("main", ("cubic_no_sack", "reactive_no_sack", "proactive_no_sack")),
    ):
        both = both_rooms(outcomes, B, runs)
        order = ", ".join(f"{c.removesuffix('_no_sack')} {both.range(0, c, 'goodput_mbps').shown('.0f')}" for c in names)
        text.append(f"over {_seconds(outcomes, runs)}, {KINDS[kind_of(names[0])]} {order} Mb/s")
    return f"{'; '.join(text)}; {in_settings(outcomes, 'highest')}", _judged(outcomes, "highest")


def cost(outcomes: Outcomes) -> Found:
    by_room = []
    for kind, word in KINDS.items():
        runs = LENGTHS[kind].get("cost", ("main",))[0]
        for room in ROOMS_SHOWN:
            change = outcomes[f"{runs}_{room}"].ratio(0, f"proactive{kind}", "goodput_mbps", f"reactive{kind}").minus(1).times(100)
            by_room.append(f"{NAMES[room]}, {word}: {change.shown('+.1f', ' %')}")
    return f"{'; '.join(by_room)}; {in_settings(outcomes, 'cost')}", _judged(outcomes, "cost")


def setup(outcomes: Outcomes) -> Found:
    """Judged by the default setting; the sweep shows the setting in which most figures hold."""
    text, here = [], []
    for kind, word in KINDS.items():
        defaults = {reading: _held(outcomes, kind, reading) for reading in READINGS}
        shown = ", ".join(
            f"by {reading} {sum(figures_of(of).values())} of 5 ({sum(of.values())} of {len(PARTS)} statements)" for reading, of in defaults.items()
        )
        found = [
            (sum(figures_of(of).values()), sum(of.values()), s, reading, of)
            for s, by in all_settings(outcomes)
            if s.kind == kind
            for reading, of in by.items()
        ]
        most, parts, best, reading, held = max(found, key=lambda f: f[:2])
        together = [name for name, holds in figures_of(held).items() if holds]
        missing = [part.replace("_", " ") for part, holds in held.items() if not holds]
        count = sum(f[0] == most for f in found)
        text.append(
            f"{word}: in the default setting {shown}; at most {most} in the sweep, in {count} of {len(found)} settings and readings, "
            f"such as {', '.join(together)} in {describe(best)} by {reading} ({parts} of {len(PARTS)}; missing {', '.join(missing) or 'nothing'})"
        )
        here += [all(of.values()) for of in defaults.values()]
    return "; ".join(text), scale.holds(any(here))


def _held(outcomes: Outcomes, kind: str, reading: str) -> dict[str, bool]:
    """Which parts hold in the default setting, with figure 10 over 10 s as in the sweep."""
    return {part: judge(_default(outcomes, kind, reading, "main")) == "yes" for part, judge in CRITERIA.items()}


MAIN = [f"main_{room}" for room in ROOMS_SHOWN]
LONG = [f"{runs}_{room}" for runs in ("long", "tail") for room in ROOMS_SHOWN] + MAIN
GRIDS = [*(f"grid_{room}" for room in GRID), *(f"grid_no_sack_{room}" for room in NO_SACK_GRID)]

CLAIMS: Claims = {
    "alternative": (["main_a", "main_b"], alternative),
    "varies": ([], lambda o: varies()),
    "beams": ([], lambda o: beam_switches()),
    "overflow": (MAIN + GRIDS, overflow),
    "timeout": (MAIN + GRIDS, timeout),
    "starved": (MAIN + GRIDS, starved),
    "follows": (MAIN + GRIDS, follows),
    "reaches": (MAIN + GRIDS, reaches),
    "peak_cubic": (MAIN + GRIDS, lambda o: _peak(o, "cubic", "peak_cubic")),
    "peak_reactive": (MAIN + GRIDS, lambda o: _peak(o, "reactive", "peak_reactive")),
    "half": (LONG + GRIDS, half),
    "worst": (LONG + GRIDS, worst),
    "double": (LONG + GRIDS, double),
    "highest": (LONG + GRIDS, highest),
    "cost": (LONG + GRIDS, cost),
    "outperform": (LONG, outperform),
    "setup": (LONG + GRIDS, setup),
}
