"""Compares the paper's statements with results for other demands: the paper's are not public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from timeplane.studies import Claims, Found, scale
from timeplane.studies.scale import Range

from .phases import LENGTHS, POINTING
from .table2 import COLUMNS, RATES
from .traces import TITLES, TRACES

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]
ANTENNA = "narrow_beam"
#: Cases that differ: ProjecToR's are one matrix with its racks at other places.
ONE_MATRIX = ("projector",)


def _cases(trace: str, count: int) -> str:
    return f"{count} cases, one matrix" if trace in ONE_MATRIX else f"{count} cases"


def shorter(outcomes: Outcomes) -> Found:
    """Both readings of "sped up by 45 %" are shown; the literal one is judged."""
    text, agrees = [], []
    for trace in TRACES:
        o = outcomes[trace]
        of = o.estimate(1, ANTENNA, "shorter_31")
        other, gained, wired, least = (o.mean(1, ANTENNA, q) for q in ("shorter_45", "shorter_mean", "wired", "bound"))
        agrees.append(scale.matches(Range.point(100 * of.mean), "95 % of cases"))
        text.append(
            f"{TITLES[trace]}: in {100 * of.mean:.0f} % of {_cases(trace, of.n)}, {100 * gained:.0f} % shorter on average, "
            f"where the rates allow {100 * (1 - least / wired):.0f} %; 45 % shorter in {100 * other:.0f} %"
        )
    return "; ".join(text), scale.everywhere(agrees)


def equal(outcomes: Outcomes) -> Found:
    text, agrees = [], []
    for trace in TRACES:
        of = outcomes[trace].estimate(2, ANTENNA, "same")
        mean = outcomes[trace].mean(2, ANTENNA, "relative_mean")
        agrees.append(scale.matches(Range.point(100 * of.mean), "40 % of cases"))
        text.append(f"{TITLES[trace]}: in {100 * of.mean:.0f} % of {_cases(trace, of.n)}, {mean:.2f} of its time on average")
    return "; ".join(text), scale.everywhere(agrees)


def transit(outcomes: Outcomes) -> Found:
    """Mean gains with one radio: needed where it gains more than a tenth."""
    text, agrees = [], []
    for trace in TRACES:
        o = outcomes[f"{trace}_policies"]
        with_, without = (o.range(1, policy, "shorter_mean") for policy in ("greedy", "greedy_direct"))
        agrees.append(scale.above(with_.over(without), scale.STATED))
        text.append(f"{TITLES[trace]}: {100 * with_.mean:.0f} % shorter with transit, {100 * without.mean:.0f} % without")
    return "; ".join(text), scale.everywhere(agrees)


def steering(outcomes: Outcomes) -> Found:
    """Cost of beam training in short and long phases: without a visible cost by wire, and less than
    over the air.
    """
    o, text = outcomes["phases"], []
    none, told, trained = POINTING
    for length in (LENGTHS[0], LENGTHS[-1]):
        of = {name: o.range(length, name, "relative") for name in (none, told, trained)}
        shown = [f"{of[name].mean:.3f}" for name in (none, told, trained)]
        text.append(f"phases of {length:g} ms: {shown[0]} without delay, {shown[1]} told by wire, {shown[2]} trained over the air")
    kept, begun = (o.mean(LENGTHS[-1], told, q) for q in ("kept", "begun"))
    text.append(f"{kept:.1f} links are kept and {begun:.1f} begun in a phase")
    first = {name: o.range(LENGTHS[0], name, "relative") for name in (none, told, trained)}
    helps, free = scale.higher(first[trained].over(first[told])), scale.same(first[told].over(first[none]), scale.EXACT)
    return "; ".join(text), scale.together(helps, free)


def _goodput(outcomes: Outcomes, column: str) -> list[Range]:
    """Goodput in Mb/s at both rates, by simulated frames."""
    o = outcomes["table2_draft"]
    return [o.range(x, column, "mbps") if COLUMNS[column].chance else Range.point(o.mean(x, column, "mbps")) for x in RATES]


def table2(outcomes: Outcomes, column: str) -> Found:
    """Goodput in Mb/s at both rates: by simulated frames, and by the formula. With acknowledgements
    over the air, a medium without collisions is one reading, and one with them the other.
    """
    o, published = outcomes["table2_draft"], COLUMNS[column].published or ()

    def judged(column: str) -> str:
        phrases = [f"{p:.0f}" for p in published]
        return scale.together(*(scale.matches(of, phrase) for of, phrase in zip(_goodput(outcomes, column), phrases, strict=True)))

    frames, formula = ([o.peek(x, column, q).mean for x in RATES] for q in ("mbps", "arithmetic_mbps"))
    both = lambda of: "; ".join(f"{v:.0f}" for v in of)
    off = [f / p - 1 for f, p in zip(frames, published, strict=True)]
    text = f"{both(frames)} by frames ({'; '.join(f'{100 * d:+.1f} %' for d in off)}), {both(formula)} by arithmetic"
    if column != "air_calm":
        return text, judged(column)
    with_ = [o.peek(x, "air", "mbps").mean for x in RATES]
    lower = "; ".join(f"{100 * (w / p - 1):+.0f} %" for w, p in zip(with_, published, strict=True))
    return f"without collisions {text}; with them {both(with_)} ({lower})", scale.readings(judged(column), judged("air"))


CLAIMS: Claims = {
    "shorter": (list(TRACES), shorter),
    "equal": (list(TRACES), equal),
    "transit": ([f"{trace}_policies" for trace in TRACES], transit),
    "traffic_steering": (["phases"], steering),
    "table2_air": (["table2_draft"], lambda o: table2(o, "air_calm")),
    "table2_wire": (["table2_draft"], lambda o: table2(o, "wire")),
    "table2_no_dcf": (["table2_draft"], lambda o: table2(o, "no_dcf")),
}
