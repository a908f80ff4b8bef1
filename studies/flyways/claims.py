"""Compares the paper's statements with results for other demands: the paper's are not public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from timeplane.studies import Claims, Found, yes_or_no

from .completion import SAME, SHORTER, values
from .phases import LENGTHS, POINTING
from .table2 import COLUMNS, RATES
from .traces import TITLES, TRACES

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]
ANTENNA = "narrow_beam"
#: Accepted relative deviation from the numbers of table 2.
TOLERANCE = 0.025


def verdict(found: list[float], wanted: float) -> str:
    """The verdict by how many values reach the target: all, some or none."""
    reached = [f >= wanted for f in found]
    return "yes" if all(reached) else "in part" if any(reached) else "no"


def shorter(outcomes: Outcomes) -> Found:
    text, found = [], []
    for trace in TRACES:
        of, wired, least = (values(outcomes[trace], 1, ANTENNA, q) for q in ("shorter", "wired", "bound"))
        most = 1 - least / wired
        found.append(float((of >= SHORTER).mean()))
        gained = f"{100 * of.mean():.0f} % shorter on average, where the rates allow {100 * most.mean():.0f} %"
        text.append(f"{TITLES[trace]}: in {100 * found[-1]:.0f} % of {len(of)} cases, {gained}")
    return "; ".join(text), verdict(found, 0.95)


def equal(outcomes: Outcomes) -> Found:
    text, found = [], []
    for trace in TRACES:
        of = values(outcomes[trace], 2, ANTENNA, "relative")
        found.append(float((of <= SAME).mean()))
        text.append(f"{TITLES[trace]}: in {100 * found[-1]:.0f} % of {len(of)} cases, {of.mean():.2f} of its time on average")
    return "; ".join(text), verdict(found, 0.4)


def transit(outcomes: Outcomes) -> Found:
    """Mean gains with one radio."""
    text, better = [], []
    for trace in TRACES:
        o = outcomes[f"{trace}_policies"]
        with_, without = (float(np.mean(values(o, 1, policy, "shorter"))) for policy in ("greedy", "greedy_direct"))
        better.append(with_ > 1.1 * without)
        text.append(f"{TITLES[trace]}: {100 * with_:.0f} % shorter with transit, {100 * without:.0f} % without")
    return "; ".join(text), "yes" if all(better) else "in part" if any(better) else "no"


def steering(outcomes: Outcomes) -> Found:
    """Cost of beam training in short and long phases."""
    o, text = outcomes["phases"], []
    none, told, trained = POINTING
    for length in (LENGTHS[0], LENGTHS[-1]):
        of = {name: o.mean(length, name, "relative") for name in (none, told, trained)}
        text.append(f"phases of {length:g} ms: {of[none]:.3f} without delay, {of[told]:.3f} told by wire, {of[trained]:.3f} trained over the air")
    kept, begun = (o.mean(LENGTHS[-1], told, q) for q in ("kept", "begun"))
    text.append(f"{kept:.1f} links are kept and {begun:.1f} begun in a phase")
    first = LENGTHS[0]
    helps = o.mean(first, told, "relative") < o.mean(first, trained, "relative")
    near = o.mean(first, told, "relative") < 1.01 * o.mean(first, none, "relative")
    return "; ".join(text), "yes" if helps and near else "in part" if helps else "no"


def table2(outcomes: Outcomes, column: str) -> Found:
    """Goodput in Mb/s at both rates: by simulated frames, and by the formula."""
    o, published = outcomes["table2_draft"], COLUMNS[column].published or ()
    frames, formula = ([o.mean(x, column, q) for x in RATES] for q in ("mbps", "arithmetic_mbps"))
    both = lambda of: "; ".join(f"{v:.0f}" for v in of)
    off = [f / p - 1 for f, p in zip(frames, published, strict=True)]
    text = f"{both(frames)} by frames ({'; '.join(f'{100 * d:+.1f} %' for d in off)}), {both(formula)} by arithmetic"
    if column == "air_calm":
        with_ = [o.mean(x, "air", "mbps") for x in RATES]
        lower = "; ".join(f"{100 * (w / p - 1):+.0f} %" for w, p in zip(with_, published, strict=True))
        text = f"without collisions {text}; with them {both(with_)} ({lower})"
    return text, yes_or_no(max(map(abs, off)) <= TOLERANCE)


CLAIMS: Claims = {
    "shorter": (list(TRACES), shorter),
    "equal": (list(TRACES), equal),
    "transit": ([f"{trace}_policies" for trace in TRACES], transit),
    "traffic_steering": (["phases"], steering),
    "table2_air": (["table2_draft"], lambda o: table2(o, "air_calm")),
    "table2_wire": (["table2_draft"], lambda o: table2(o, "wire")),
    "table2_no_dcf": (["table2_draft"], lambda o: table2(o, "no_dcf")),
}
