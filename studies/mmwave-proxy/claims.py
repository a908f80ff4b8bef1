"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from timeplane.studies import Claims, Found, Summary, scale
from timeplane.studies.scale import Range

from . import beams
from .experiments import GRID, NAMES, ROOMS_SHOWN
from .measures import NOTHING
from .settings import CRITERIA, PARTS, RTTS, Numbers, all_settings, describe, figures_of

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

#: Room B as modeled, and with diffraction at the body's edges only.
B_KINDS = ("b", "b_0")


def _number(value: float, digits: int = 3) -> str:
    return "none" if math.isnan(value) else f"{value:.{digits}g}" if value < 1000 else f"{value:.0f}"


def _each(outcomes: Outcomes, scheme: str, name: str, unit: str, factor: float = 1.0) -> str:
    return "; ".join(f"{NAMES[room]}: {_number(factor * outcomes[f'main_{room}'].mean(0, scheme, name))}{unit}" for room in B_KINDS)


def in_settings(outcomes: Outcomes, part: str) -> str:
    """The number of settings of the sweep in which a part holds, as text. It is no verdict: the
    paper's setting was not chosen among hundreds.
    """
    held = [setting.holds()[part] for setting in all_settings(outcomes)]
    return f"in {sum(held)} of {len(held)} settings"


def _numbers(outcomes: Outcomes, scheme: str, name: str, room: str) -> Range:
    """A number of the default setting. Percentiles are those of all packets of all walks."""
    if name in RTTS:
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


def _default(outcomes: Outcomes, room: str, runs: str = "long") -> Numbers:
    """The default setting with this kind of B, and goodput from these runs."""
    return Numbers(
        lambda scheme, name, place: _numbers(outcomes, scheme, name, place),
        lambda scheme, to: both_rooms(outcomes, room, runs).ratio(0, scheme, "goodput_mbps", to),
        ("a", room),
    )


def _judged(outcomes: Outcomes, part: str, runs: Sequence[str] = ("long",)) -> str:
    """The verdict of a part in the default setting. The body of room B can be read in two ways, and
    figure 10 does not say how long its runs are.
    """
    return scale.readings(*(CRITERIA[part](_default(outcomes, room, length)) for room in B_KINDS for length in runs))


def beam_switches() -> Found:
    a, b = beams.switches("a"), beams.switches("b")
    return f"{b} in B, where no way round is as good; {a} in A", scale.holds(b > 1)


def overflow(outcomes: Outcomes) -> Found:
    over, lost = (_each(outcomes, "cubic", name, "") for name in ("window_over", "lost_queue"))
    text = f"window over what path and queue hold, at most: {over}; packets lost by the full queue: {lost}; {in_settings(outcomes, 'overflow')}"
    return text, _judged(outcomes, "overflow")


def timeout(outcomes: Outcomes) -> Found:
    text = f"timeouts: {_each(outcomes, 'cubic', 'timeouts', '')}; without an outage before: {_each(outcomes, 'cubic', 'rtos_up', '')}; "
    text += f"the first at {_each(outcomes, 'cubic', 'rto_s', ' s')}; without an outage {in_settings(outcomes, 'timeout')}"
    return text, _judged(outcomes, "timeout")


def starved(outcomes: Outcomes) -> Found:
    text = f"below {NOTHING:g} Mb/s while the link carries, of 10 s: {_each(outcomes, 'cubic', 'starved_s', ' s')}"
    text += f" (reactive {_each(outcomes, 'reactive', 'starved_s', ' s')}); {in_settings(outcomes, 'starved')}"
    return text, _judged(outcomes, "starved")


def follows(outcomes: Outcomes) -> Found:
    text = f"within 10 % of the bandwidth-delay product reported: {_each(outcomes, 'reactive', 'follows', ' %', 100)} of the time"
    text += f" (not held over losses: {_each(outcomes, 'reactive_free', 'follows', ' %', 100)}); {in_settings(outcomes, 'follows')}"
    return text, _judged(outcomes, "follows")


def reaches(outcomes: Outcomes) -> Found:
    text = f"of what the link carries: {_each(outcomes, 'reactive', 'use', ' %', 100)} (CUBIC {_each(outcomes, 'cubic', 'use', ' %', 100)})"
    return f"{text}; {in_settings(outcomes, 'reaches')}", _judged(outcomes, "reaches")


def _peak(outcomes: Outcomes, scheme: str, part: str) -> Found:
    text = f"{_each(outcomes, scheme, 'peak_ms', ' ms')}; without what an outage caught: {_each(outcomes, scheme, 'peak_clear_ms', ' ms')}"
    return f"{text}; {in_settings(outcomes, part)}", _judged(outcomes, part)


def _of(outcomes: Outcomes, scheme: str, room: str, quantity: str) -> Outcome:
    """The experiments with enough packets of a scheme: the last percentile needs ten million."""
    return outcomes[f"{'tail' if scheme == 'cubic' and quantity in (RTTS[-1], 'packets') else 'long'}_{room}"]


def _percentiles(outcomes: Outcomes, scheme: str, room: str) -> str:
    return ", ".join(_number(_numbers(outcomes, scheme, q, room).mean) for q in RTTS)


def half(outcomes: Outcomes) -> Found:
    text = []
    for room in ROOMS_SHOWN:
        packets, fewer = (_of(outcomes, c, room, "packets").mean(0, c, "packets") for c in ("reactive", "cubic"))
        ratios = [_numbers(outcomes, "reactive", q, room).over(_numbers(outcomes, "cubic", q, room)) for q in RTTS]
        of = ", ".join(f"{100 * (1 - r.mean):.0f} %" for r in ratios)
        cubic, reactive = (_percentiles(outcomes, c, room) for c in ("cubic", "reactive"))
        text.append(f"{NAMES[room]}: {of} less (CUBIC {cubic} ms, reactive {reactive} ms; {packets / 1e6:.1f} and {fewer / 1e6:.1f} million packets)")
    return f"{'; '.join(text)}; {in_settings(outcomes, 'half')}", _judged(outcomes, "half")


def worst(outcomes: Outcomes) -> Found:
    text = []
    for room in ROOMS_SHOWN:
        below = _numbers(outcomes, "proactive", RTTS[-1], room).over(_numbers(outcomes, "reactive", RTTS[-1], room))
        text.append(f"{NAMES[room]}: proactive {_percentiles(outcomes, 'proactive', room)} ms, {100 * (1 - below.mean):.0f} % less at p99.999")
    return f"{'; '.join(text)}; {in_settings(outcomes, 'worst')}", _judged(outcomes, "worst")


def _seconds(outcomes: Outcomes, runs: str) -> str:
    return f"{outcomes[f'{runs}_b'].experiment.seconds:g} s"


def double(outcomes: Outcomes) -> Found:
    text = []
    for runs in ("long", "main"):
        ratio = both_rooms(outcomes, "b", runs).ratio(0, "reactive", "goodput_mbps", "cubic")
        rooms = [f"{NAMES[r]} {outcomes[f'{runs}_{r}'].ratio(0, 'reactive', 'goodput_mbps', 'cubic').mean:.2f}" for r in ROOMS_SHOWN]
        text.append(f"over {_seconds(outcomes, runs)} {ratio.shown('.2f')} ({'; '.join(rooms)})")
    return f"{', '.join(text)}; {in_settings(outcomes, 'double')} of 10 s", _judged(outcomes, "double", ("long", "main"))


def highest(outcomes: Outcomes) -> Found:
    both = both_rooms(outcomes, "b", "long")
    order = ", ".join(f"{c} {both.range(0, c, 'goodput_mbps').shown('.0f')}" for c in ("cubic", "reactive", "proactive", "predicted"))
    return f"over {_seconds(outcomes, 'long')} {order} Mb/s; {in_settings(outcomes, 'highest')}", _judged(outcomes, "highest")


def cost(outcomes: Outcomes) -> Found:
    by_room = []
    for room in ROOMS_SHOWN:
        change = outcomes[f"long_{room}"].ratio(0, "proactive", "goodput_mbps", "reactive").minus(1).times(100)
        by_room.append(f"{NAMES[room]}: {change.shown('+.1f', ' %')}")
    return f"{'; '.join(by_room)}; {in_settings(outcomes, 'cost')}", _judged(outcomes, "cost")


def setup(outcomes: Outcomes) -> Found:
    """Judged by the default setting; the sweep shows the setting in which most figures hold."""
    found = [(sum(figures_of(s.holds()).values()), sum(s.holds().values()), s) for s in all_settings(outcomes)]
    most, parts, best = max(found, key=lambda f: f[:2])
    together = [name for name, holds in figures_of(best.holds()).items() if holds]
    missing = [part.replace("_", " ") for part, holds in best.holds().items() if not holds]
    text = f"at most {most} of 5 figures together ({', '.join(together)}; {parts} of {len(PARTS)} statements) in {describe(best)}"
    here = [all(judge(_default(outcomes, room)) == "yes" for judge in CRITERIA.values()) for room in B_KINDS]
    return text + (f"; missing there: {', '.join(missing)}" if missing else ""), scale.holds(any(here))


MAIN = [f"main_{room}" for room in ROOMS_SHOWN]
LONG = [f"{runs}_{room}" for runs in ("long", "tail") for room in ROOMS_SHOWN]
GRIDS = [f"grid_{room}" for room in GRID]

CLAIMS: Claims = {
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
    "double": (LONG + MAIN + GRIDS, double),
    "highest": (LONG + GRIDS, highest),
    "cost": (LONG + GRIDS, cost),
    "setup": (LONG + MAIN + GRIDS, setup),
}
