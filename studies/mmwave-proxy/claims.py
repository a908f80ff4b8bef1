"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from timeplane.studies import Claims, Found, yes_or_no

from . import beams
from .experiments import GRID, NAMES, ROOMS_SHOWN
from .measures import NOTHING
from .settings import EXTENDED, FULL, HALF, HIGH, LOW, MASSIVE, NEAR, PARTS, RTTS, all_settings, describe, figures_of

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
    """The number of settings in which a part holds, as text."""
    held = [setting.holds()[part] for setting in all_settings(outcomes)]
    return f"in {sum(held)} of {len(held)} settings"


def _graded(outcomes: Outcomes, part: str, here: bool) -> str:
    """``yes`` if the part holds in B as modeled, at the default levels and queues; ``in part``
    if it holds in another setting; otherwise ``no``.
    """
    return "yes" if here else "in part" if any(s.holds()[part] for s in all_settings(outcomes)) else "no"


def beam_switches() -> Found:
    a, b = beams.switches("a"), beams.switches("b")
    return f"{b} in B, where no way round is as good; {a} in A", yes_or_no(b > 1)


def overflow(outcomes: Outcomes) -> Found:
    o = outcomes["main_b"]
    over, lost = (_each(outcomes, "cubic", name, "") for name in ("window_over", "lost_queue"))
    here = o.mean(0, "cubic", "window_over") > 1 and o.mean(0, "cubic", "lost_queue") >= MASSIVE
    text = f"window over what path and queue hold, at most: {over}; packets lost by the full queue: {lost}; {in_settings(outcomes, 'overflow')}"
    return text, _graded(outcomes, "overflow", here)


def timeout(outcomes: Outcomes) -> Found:
    o = outcomes["main_b"]
    text = f"timeouts: {_each(outcomes, 'cubic', 'timeouts', '')}; while the link carried: {_each(outcomes, 'cubic', 'rtos_up', '')}; "
    text += f"the first at {_each(outcomes, 'cubic', 'rto_s', ' s')}; {in_settings(outcomes, 'timeout')}"
    every = all_settings(outcomes)
    without = sum(s.value(s.cubic, "rtos_up") >= 1 for s in every)
    text += f", in {without} of them one that no outage is the cause of"
    # The paper's timeout follows an overflow; a timeout after an outage is a different one.
    return text, "yes" if o.mean(0, "cubic", "rtos_up") >= 1 else "in part" if o.mean(0, "cubic", "timeouts") >= 1 else "no"


def starved(outcomes: Outcomes) -> Found:
    o = outcomes["main_b"]
    text = f"below {NOTHING:g} Mb/s while the link carries, of 10 s: {_each(outcomes, 'cubic', 'starved_s', ' s')}"
    text += f" (reactive {_each(outcomes, 'reactive', 'starved_s', ' s')}); {in_settings(outcomes, 'starved')}"
    return text, _graded(outcomes, "starved", o.mean(0, "cubic", "starved_s") >= EXTENDED)


def follows(outcomes: Outcomes) -> Found:
    o = outcomes["main_b"]
    text = f"within 10 % of the bandwidth-delay product reported: {_each(outcomes, 'reactive', 'follows', ' %', 100)} of the time"
    text += f" (not held over losses: {_each(outcomes, 'reactive_free', 'follows', ' %', 100)}); {in_settings(outcomes, 'follows')}"
    return text, _graded(outcomes, "follows", o.mean(0, "reactive", "follows") >= NEAR)


def reaches(outcomes: Outcomes) -> Found:
    o = outcomes["main_b"]
    text = f"of what the link carries: {_each(outcomes, 'reactive', 'use', ' %', 100)} (CUBIC {_each(outcomes, 'cubic', 'use', ' %', 100)})"
    return f"{text}; {in_settings(outcomes, 'reaches')}", _graded(outcomes, "reaches", o.mean(0, "reactive", "use") >= FULL)


def _peak(outcomes: Outcomes, scheme: str, part: str, low: float, high: float) -> Found:
    o = outcomes["main_b"]
    text = f"{_each(outcomes, scheme, 'peak_ms', ' ms')}; without what an outage caught: {_each(outcomes, scheme, 'peak_clear_ms', ' ms')}"
    here = low <= o.mean(0, scheme, "peak_ms") <= high
    return f"{text}; {in_settings(outcomes, part)}", _graded(outcomes, part, here)


def _of(outcomes: Outcomes, scheme: str, room: str, quantity: str) -> Outcome:
    """The experiments with enough packets of a scheme: the last percentile needs ten million."""
    return outcomes[f"{'tail' if scheme == 'cubic' and quantity in (RTTS[-1], 'packets') else 'long'}_{room}"]


def _percentile(outcomes: Outcomes, scheme: str, room: str, quantity: str) -> float:
    return _of(outcomes, scheme, room, quantity).mean(0, scheme, f"all_{quantity}")


def _percentiles(outcomes: Outcomes, scheme: str, room: str) -> str:
    return ", ".join(_number(_percentile(outcomes, scheme, room, q)) for q in RTTS)


def _reduction(outcomes: Outcomes, scheme: str, to: str, room: str) -> list[float]:
    return [1 - _percentile(outcomes, scheme, room, q) / _percentile(outcomes, to, room, q) for q in RTTS]


def half(outcomes: Outcomes) -> Found:
    text = []
    for room in ROOMS_SHOWN:
        packets, fewer = (_of(outcomes, c, room, "packets").mean(0, c, "packets") for c in ("reactive", "cubic"))
        of = ", ".join(f"{100 * r:.0f} %" for r in _reduction(outcomes, "reactive", "cubic", room))
        cubic, reactive = (_percentiles(outcomes, c, room) for c in ("cubic", "reactive"))
        text.append(f"{NAMES[room]}: {of} less (CUBIC {cubic} ms, reactive {reactive} ms; {packets / 1e6:.1f} and {fewer / 1e6:.1f} million packets)")
    reductions = [r for room in ("a", "b") for r in _reduction(outcomes, "reactive", "cubic", room)]
    here = min(reductions) > -0.02 and HALF[0] <= max(reductions) <= HALF[1]
    return f"{'; '.join(text)}; {in_settings(outcomes, 'half')}", _graded(outcomes, "half", here)


def worst(outcomes: Outcomes) -> Found:
    text, found = [], []
    for room in ROOMS_SHOWN:
        below = _reduction(outcomes, "proactive", "reactive", room)
        found.append(min(below) > -0.02 and below[2] > 0.02)
        text.append(f"{NAMES[room]}: proactive {_percentiles(outcomes, 'proactive', room)} ms, {100 * below[2]:.0f} % less at p99.999")
    return f"{'; '.join(text)}; {in_settings(outcomes, 'worst')}", _graded(outcomes, "worst", all(found[:2]))


def goodput(outcomes: Outcomes, scheme: str, runs: str = "long", room: str = "b") -> float:
    """Mean goodput of A and B, Mb/s."""
    return sum(outcomes[f"{runs}_{of}"].mean(0, scheme, "goodput_mbps") for of in ("a", room)) / 2


def _seconds(outcomes: Outcomes, runs: str) -> str:
    return f"{outcomes[f'{runs}_b'].experiment.seconds:g} s"


def double(outcomes: Outcomes) -> Found:
    text = []
    for runs in ("long", "main"):
        ratio = goodput(outcomes, "reactive", runs) / goodput(outcomes, "cubic", runs)
        each = {r: outcomes[f"{runs}_{r}"] for r in ROOMS_SHOWN}
        rooms = [f"{NAMES[r]} {o.mean(0, 'reactive', 'goodput_mbps') / o.mean(0, 'cubic', 'goodput_mbps'):.2f}" for r, o in each.items()]
        text.append(f"over {_seconds(outcomes, runs)} {ratio:.2f} ({'; '.join(rooms)})")
    here = goodput(outcomes, "reactive") > 2 * goodput(outcomes, "cubic")
    return f"{', '.join(text)}; {in_settings(outcomes, 'double')} of 10 s", _graded(outcomes, "double", here)


def highest(outcomes: Outcomes) -> Found:
    schemes = ("cubic", "reactive", "proactive", "predicted")
    order = ", ".join(f"{c} {goodput(outcomes, c):.0f}" for c in schemes)
    best = max(goodput(outcomes, c) for c in schemes if c != "reactive")
    text = f"over {_seconds(outcomes, 'long')} {order} Mb/s; {in_settings(outcomes, 'highest')}"
    return text, _graded(outcomes, "highest", goodput(outcomes, "reactive") > best)


def cost(outcomes: Outcomes) -> Found:
    by_room = []
    for room in ROOMS_SHOWN:
        d = outcomes[f"long_{room}"].difference(0, "proactive", "goodput_mbps", "reactive")
        by_room.append(f"{NAMES[room]}: {100 * d.mean:+.1f}" + ("" if math.isnan(d.half) else f" ± {100 * d.half:.1f}") + " %")
    lower = goodput(outcomes, "proactive") < goodput(outcomes, "reactive")
    return f"{'; '.join(by_room)}; {in_settings(outcomes, 'cost')}", _graded(outcomes, "cost", lower)


def setup(outcomes: Outcomes) -> Found:
    """The settings in which the largest number of figures hold."""
    found = [(sum(figures_of(s.holds()).values()), sum(s.holds().values()), s) for s in all_settings(outcomes)]
    most, parts, best = max(found, key=lambda f: f[:2])
    together = [name for name, holds in figures_of(best.holds()).items() if holds]
    missing = [part.replace("_", " ") for part, holds in best.holds().items() if not holds]
    text = f"at most {most} of 5 figures together ({', '.join(together)}; {parts} of {len(PARTS)} statements) in {describe(best)}"
    return text + (f"; missing there: {', '.join(missing)}" if missing else ""), yes_or_no(most == 5)


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
    "peak_cubic": (MAIN + GRIDS, lambda o: _peak(o, "cubic", "peak_cubic", *HIGH)),
    "peak_reactive": (MAIN + GRIDS, lambda o: _peak(o, "reactive", "peak_reactive", 0, LOW)),
    "half": (LONG + GRIDS, half),
    "worst": (LONG + GRIDS, worst),
    "double": (LONG + MAIN + GRIDS, double),
    "highest": (LONG + GRIDS, highest),
    "cost": (LONG + GRIDS, cost),
    "setup": (GRIDS, setup),
}
