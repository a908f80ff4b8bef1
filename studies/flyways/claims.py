"""Compares the paper's statements with results for other demands: the paper's are not public."""

from __future__ import annotations

import math
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


def _cases(trace: str, outcome: Outcome) -> str:
    """The cases that were asked of a trace, in words. Places of one matrix count as one case."""
    (count,) = outcome.asked
    if trace not in ONE_MATRIX:
        return f"{count} cases"
    outcome.asked = {1}
    return f"{count} places of one matrix (n = 1)"


#: Readings of "sped up by 45 %": the literal one, and the one of those who take it for a reduction.
READINGS = {"shorter_31": "1/1.45 of the time, 31 % shorter", "shorter_45": "read as 45 % shorter"}


def shorter(outcomes: Outcomes) -> Found:
    """Both readings of "sped up by 45 %" are shown with their verdicts; the literal one counts."""
    texts, verdicts = [], []
    for quantity, words in READINGS.items():
        text, agrees = [], []
        for trace in TRACES:
            o = outcomes[trace]
            o.asked.clear()
            of = o.estimate(1, ANTENNA, quantity)
            gained, wired, least = (o.mean(1, ANTENNA, q) for q in ("shorter_mean", "wired", "bound"))
            agrees.append(scale.matches(Range.point(100 * of.mean), "95 % of cases"))
            found = f"{TITLES[trace]}: in {100 * of.mean:.0f} % of {_cases(trace, o)}"
            if quantity == "shorter_31":
                found += f", {100 * gained:.0f} % shorter on average, where the rates allow {100 * (1 - least / wired):.0f} %"
            text.append(found)
        verdicts.append(scale.everywhere(agrees))
        texts.append(f"{words}: {verdicts[-1]} ({'; '.join(text)})")
    return "; ".join(texts), verdicts[0]


def equal(outcomes: Outcomes) -> Found:
    text, agrees = [], []
    for trace in TRACES:
        of = outcomes[trace].estimate(2, ANTENNA, "same")
        mean = outcomes[trace].mean(2, ANTENNA, "relative_mean")
        agrees.append(scale.matches(Range.point(100 * of.mean), "40 % of cases"))
        text.append(f"{TITLES[trace]}: in {100 * of.mean:.0f} % of {_cases(trace, outcomes[trace])}, {mean:.2f} of its time on average")
    return "; ".join(text), scale.everywhere(agrees)


def transit(outcomes: Outcomes) -> Found:
    """Mean gains with one radio: needed where it gains more than a tenth."""
    text, agrees = [], []
    for trace in TRACES:
        o = outcomes[f"{trace}_policies"]
        with_, without = (o.range(1, policy, "shorter_mean") for policy in ("greedy", "greedy_direct"))
        agrees.append(scale.above(with_.over(without), scale.STATED))
        shown = f"{100 * with_.mean:.0f} % shorter with transit, {100 * without.mean:.0f} % without"
        text.append(f"{TITLES[trace]}, {_cases(trace, o)}: {shown}")
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


#: The fast rate's place among ``RATES``.
FAST = len(RATES) - 1


def gain(outcomes: Outcomes, column: str, phrase: str) -> Found:
    """Goodput over that with acknowledgements over the air, at the fast rate. A medium without
    collisions is one reading, and one with them the other.
    """
    ratios = {words: _goodput(outcomes, column)[FAST].over(_goodput(outcomes, of)[FAST]) for words, of in
              (("without collisions", "air_calm"), ("with them", "air"))}  # fmt: skip
    published = (COLUMNS[name].published or (math.nan, math.nan) for name in (column, "air_calm"))
    own, base = (of[FAST] for of in published)
    text = "; ".join(f"{words} {ratio.minus(1).times(100).shown('.1f', ' %')} more" for words, ratio in ratios.items())
    verdict = scale.readings(*(scale.compares(ratio, phrase) for ratio in ratios.values()))
    return f"{text}; by the paper's own table 2 {100 * (own / base - 1):.1f} %", verdict


def gain_no_dcf(outcomes: Outcomes) -> Found:
    """Both columns have data in one direction only, so nothing collides."""
    ratio = _goodput(outcomes, "no_dcf")[FAST].over(_goodput(outcomes, "wire")[FAST])
    own, base = ((COLUMNS[name].published or (math.nan, math.nan))[FAST] for name in ("no_dcf", "wire"))
    text = f"{ratio.minus(1).times(100).shown('.2f', ' %')} more; by the paper's own table 2 {100 * (own / base - 1):.1f} %"
    return text, scale.compares(ratio, "5 % more")


def ack_traffic(outcomes: Outcomes) -> Found:
    """Trivial: at most a tenth of the increase."""
    o = outcomes["table2_draft"]
    text, agrees = [], []
    for i, x in enumerate(RATES):
        wire = _goodput(outcomes, "wire")[i]
        more = wire.minus(_goodput(outcomes, "air_calm")[i].mean)
        share = o.range(x, "wire", "ack_mbps").over(more)
        text.append(f"{o.mean(x, 'wire', 'ack_mbps'):.1f} Mb/s for {more.mean:.0f} Mb/s more goodput")
        agrees.append(scale.below(share, 0.1))
    return "; ".join(text), scale.together(*agrees)


#: Meters between the middles of neighboring racks, and of a movement.
NEIGHBORS, MOVEMENT = 0.6096, 5e-3


def movement(outcomes: Outcomes) -> Found:
    """The published pattern at the angle by which a rack's neighbor moves, at both ends. It is a
    calculation with the pattern; reflections are not in it.
    """
    o = outcomes["antennas"]
    angle = math.degrees(math.atan2(MOVEMENT, NEIGHBORS))
    axis, aside = (o.mean(x, ANTENNA, "gain_dbi") for x in (0.0, 2.0))
    loss = 2 * (axis - aside) * angle / 2.0
    text = f"{1000 * MOVEMENT:g} mm at {NEIGHBORS:.1f} m, the distance of neighbors, take {loss:.1f} dB off the narrow beams of both ends"
    return text, scale.arithmetic(loss < 10 * math.log10(2))


def idle(outcomes: Outcomes) -> Found:
    """Many: more than half of the racks, with one radio each."""
    text, agrees = [], []
    for trace in TRACES:
        o = outcomes[trace]
        racks = int(TITLES[trace].split(", ")[1].split()[0])
        share = o.range(1, ANTENNA, "links").times(-2 / racks).minus(-1)
        agrees.append(scale.above(share, 0.5))
        text.append(f"{TITLES[trace]}: {100 * share.mean:.0f} % on average, {_cases(trace, o)}")
    return "; ".join(text), scale.everywhere(agrees)


def measuring(outcomes: Outcomes) -> Found:
    """What is left of the gain: as much as if all patterns were known, at all lengths."""
    o = outcomes["measured"]
    ratios = {x: o.ratio(x, "measured", "ms", "flyways") for x in o.places}
    gains = {x: [100 * o.mean(x, scheme, "shorter") for scheme in ("flyways", "measured")] for x in o.places}
    text = "; ".join(f"demand of {x:g} ms: {known:.0f} % shorter with all patterns known, {own:.0f} % with measured ones" for x, (known, own) in gains.items())
    return text, scale.everywhere([scale.same(ratio) for ratio in ratios.values()])


#: Share of 9000 B packets that a rate loses by itself, at the threshold of its sensitivity.
LOST = 1 - (1 - 3e-7) ** (8 * 9000)


def no_collisions(outcomes: Outcomes) -> Found:
    """Packets that are sent once over the air: no more are lost than a rate loses by itself."""
    o = outcomes["measured"]
    lost = {x: o.range(x, "once", "air_lost") for x in o.places}
    text = "; ".join(f"{100 * r.mean:.2g} %" for r in lost.values())
    lengths = ", ".join(f"{x:g}" for x in lost)
    return f"of the packets over the air, sent once, {text} are lost (demands of {lengths} ms)", scale.together(*(scale.below(r, LOST) for r in lost.values()))


def token(outcomes: Outcomes) -> Found:
    """Both directions together have at least what one direction has without DCF, and more than
    both with it.
    """
    o = outcomes["two_way"]
    text, agrees = [], []
    for i, x in enumerate(RATES):
        with_, dcf = (o.range(x, column, "mbps") for column in ("token", "dcf"))
        one = _goodput(outcomes, "no_dcf")[i]
        text.append(f"{with_.mean:.0f} Mb/s both ways with a token, {dcf.mean:.0f} with DCF; {one.mean:.0f} one way without DCF")
        agrees += [scale.higher(with_.over(dcf)), scale.above(with_, one.mean / scale.EXACT)]
    return "; ".join(text), scale.together(*agrees)


def bit_errors() -> Found:
    share = 100 * (1 - 3e-7) ** (8 * 4096)
    return f"{share:.2f} % of 4096 B packets at a bit error rate of 3e-7", scale.arithmetic(scale.above(Range.point(share), 99) == "yes")


CLAIMS: Claims = {
    "shorter": (list(TRACES), shorter),
    "equal": (list(TRACES), equal),
    "transit": ([f"{trace}_policies" for trace in TRACES], transit),
    "traffic_steering": (["phases"], steering),
    "movement": (["antennas"], movement),
    "idle": (list(TRACES), idle),
    "measuring": (["measured"], measuring),
    "devices": ([], lambda o: ("we have no devices to measure; Friis' law and constant signals are assumed", "not tried")),
    "bit_errors": ([], lambda o: bit_errors()),
    "table2_air": (["table2_draft"], lambda o: table2(o, "air_calm")),
    "table2_wire": (["table2_draft"], lambda o: table2(o, "wire")),
    "table2_no_dcf": (["table2_draft"], lambda o: table2(o, "no_dcf")),
    "gain_wire": (["table2_draft"], lambda o: gain(o, "wire", "17 % more")),
    "gain_no_dcf": (["table2_draft"], gain_no_dcf),
    "gain_both": (["table2_draft"], lambda o: gain(o, "no_dcf", "25 % more")),
    "ack_traffic": (["table2_draft"], ack_traffic),
    "no_collisions": (["measured"], no_collisions),
    "token": (["two_way", "table2_draft"], token),
}
