"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from timeplane.studies import Claims, Found, scale
from timeplane.studies.scale import Range

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]


def percent(ratio: Range) -> str:
    """A ratio as a relative difference with its interval."""
    change = ratio.minus(1)
    interval = "" if change.low == change.high or not change.known else f" ± {50 * (change.high - change.low):.1f}"
    return f"{100 * change.mean:+.1f}{interval} %"


def _near(outcome: Outcome, load: float) -> float:
    """The load nearest to a value."""
    return min(outcome.experiment.loads, key=lambda x: abs(x - load))


def _loads(outcome: Outcome, low: float, high: float) -> list[float]:
    return [x for x in outcome.experiment.loads if low <= x <= high]


def _by_metric(outcome: Outcome, quantities: Mapping[str, str], order: Sequence[str]) -> Found:
    """Whether SYN's metrics are in this order, from the highest value to the lowest. The first
    quantity is judged; the others are shown.
    """
    load, parts = _near(outcome, 0.8), []
    for quantity, name in quantities.items():
        parts.append(f"{name} " + ", ".join(f"{m.upper()} {outcome.mean(load, f'syn_{m}', quantity):.3g}" for m in ("ocf", "mmf", "srjf")))
    judged = next(iter(quantities))
    pairs = itertools.pairwise(f"syn_{m}" for m in order)
    return f"load {load:g}: " + "; ".join(parts), scale.ordered(outcome.ratio(load, a, judged, b) for a, b in pairs)


def fairness(outcomes: Outcomes, low: float, high: float, below: bool) -> Found:
    """The paper does not say whose shares its index is about."""
    o = outcomes["fixed"]
    loads = _loads(o, low, high)
    if not loads:
        return "no load of this range", "not tried"
    parts, agrees = [], []
    for quantity, what in (("jain_flows", "flows"), ("jain_servers", "servers")):
        syn, asy = ([o.range(x, c, quantity) for x in loads] for c in ("syn", "asy"))
        shown = [f"{min(r.mean for r in of):.2f} to {max(r.mean for r in of):.2f}" for of in (syn, asy)]
        parts.append(f"{what}: SYN {shown[0]}, ASY {shown[1]}")
        ratios = [o.ratio(x, "asy", quantity) for x in loads]
        if below:
            agrees.append(scale.everywhere([scale.lower(r) for r in ratios]))
        else:
            agrees.append(scale.together(scale.everywhere([scale.same(r) for r in ratios]), scale.everywhere([scale.same(r) for r in syn + asy])))
    return f"load {loads[0]:g} to {loads[-1]:g}: " + "; ".join(parts), scale.readings(*agrees)


def incast_throughput(outcomes: Outcomes) -> Found:
    o = outcomes["incast"]
    load = o.experiment.loads[-1]
    values = {c: o.range(load, c, "carried_load") for c in o.experiment.schemes}
    text = f"load {load:g}: " + ", ".join(f"{c} {v.mean:.3f}" for c, v in values.items())
    return text, scale.together(*(scale.same(v.times(1 / load), scale.EXACT) for v in values.values()))


def incast_fairness(outcomes: Outcomes) -> Found:
    """The same under all schemes, and close to 1, for one of two quantities or both."""
    o = outcomes["incast"]
    load = _near(o, 0.8)
    parts, agrees = [], []
    for quantity, name in (("jain_senders", "senders"), ("jain_flows", "flows")):
        values = {c: o.range(load, c, quantity) for c in o.experiment.schemes}
        parts.append(" ".join((name, *(f"{c} {v.mean:.2f}" for c, v in values.items()))))
        agrees.append(scale.together(*(scale.same(v) for v in values.values())))
    return f"load {load:g}: " + "; ".join(parts), scale.readings(*agrees)


def incast_asy(outcomes: Outcomes) -> Found:
    """Slightly lower: by up to a tenth."""
    o = outcomes["incast"]
    load = _near(o, 0.8)
    ratio = o.ratio(load, "asy", "slowdown_mean", "syn_mmf")
    raw = o.ratio(load, "asy", "fct_mean_ms", "syn_mmf")
    text = f"load {load:g}: {percent(ratio)} against MMF (not normalized {percent(raw)})"
    return text, scale.together(scale.lower(ratio), scale.same(ratio))


def fixed(outcomes: Outcomes, quantity: str, low: float, high: float, judge: Callable[[Range], str]) -> Found:
    o = outcomes["fixed"]
    loads = _loads(o, low, high)
    ratios = [o.ratio(x, "asy", quantity) for x in loads]
    text = "; ".join(f"{x:g}: {percent(r)}" for x, r in zip(loads, ratios, strict=True))
    return text, scale.everywhere([judge(r) for r in ratios])


#: Share of flows from which on unfinished ones make a mean a lower bound.
CENSORED = 0.005


def syn_over_asy(outcome: Outcome, load: float) -> tuple[Range, float]:
    """SYN's mean slowdown relative to ASY's, and the share of SYN's flows that did not finish. With
    such flows the ratio is a lower bound.
    """
    ratio = Range.point(1).over(outcome.ratio(load, "asy", "slowdown_mean"))
    unfinished = outcome.mean(load, "syn", "unfinished")
    return (Range.at_least(ratio) if unfinished > CENSORED else ratio), unfinished


def _ratios(of: Mapping[float, tuple[Range, float]]) -> str:
    return "; ".join(f"{x:g}: {r.mean:.1f}" + (f" (at least; {100 * u:.0f} % not done)" if u > CENSORED else "") for x, (r, u) in of.items())


def bimodal(outcomes: Outcomes) -> Found:
    """Judged in the runs of the figure. In a longer run the ratio grows without a limit, because
    SYN is saturated.
    """
    o, long = outcomes["bimodal"], outcomes["bimodal_long"]
    of = {x: syn_over_asy(o, x) for x in _loads(o, 0.5, 1.0)}
    syn, asy = (long.mean(0.8, c, "slowdown_late") for c in ("syn", "asy"))
    text = f"{_ratios(of)}; it grows with time: flows of the last quarter of {long.experiment.window[1]} from an empty network, load 0.8: {syn / asy:.1f}"
    return text, scale.everywhere([scale.compares(r, "above 10") for r, _ in of.values()])


def web_low(outcomes: Outcomes) -> Found:
    """The text compares the two distributions of packet sizes under SYN."""
    web, bimodal_ = outcomes["web"], outcomes["bimodal"]
    loads = [x for x in _loads(web, 0.0, 0.3) if x in bimodal_.experiment.loads]
    if not loads:
        return "no load of this range", "not tried"
    pairs = {x: (web.range(x, "syn", "slowdown_mean"), bimodal_.range(x, "syn", "slowdown_mean")) for x in loads}
    text = "; ".join(f"{x:g}: web {w.shown('.2f')}, bimodal {b.shown('.2f')}" for x, (w, b) in pairs.items())
    text += f"; against ASY: {_ratios({x: syn_over_asy(web, x) for x in loads})}"
    return f"mean slowdown of SYN at {text}", scale.everywhere([scale.same(w.over(b), scale.ABOUT) for w, b in pairs.values()])


def web_high(outcomes: Outcomes) -> Found:
    o = outcomes["web"]
    of = {x: syn_over_asy(o, x) for x in _loads(o, 0.6, 1.0)}
    return _ratios(of), scale.everywhere([scale.compares(r, "about 10") for r, _ in of.values()])


def web_bimodal(outcomes: Outcomes) -> Found:
    """In runs of the same length. More of the web servers' flows do not finish, which understates
    their mean more.
    """
    web, bimodal_ = outcomes["web"], outcomes["bimodal"]
    loads = [x for x in _loads(web, 0.6, 1.0) if x in bimodal_.experiment.loads]
    pairs = {x: (web.range(x, "syn", "slowdown_mean"), bimodal_.range(x, "syn", "slowdown_mean")) for x in loads}
    text = "; ".join(f"{x:g}: web {w.mean:.0f}, bimodal {b.mean:.0f}" for x, (w, b) in pairs.items())
    return f"mean slowdown of SYN at {text}", scale.everywhere([scale.higher(b.over(w)) for w, b in pairs.values()])


def alternating(outcomes: Outcomes) -> Found:
    o = outcomes["alternating"]
    load = o.experiment.loads[-1]
    carried = o.range(load, "syn", "carried_load").times(100)
    return f"carries {carried.shown('.1f', ' %')} of the link in wire bytes at load {load:g}", scale.matches(carried, "about 50 %")


def buffers(outcomes: Outcomes, quantity: str, phrase: str | None) -> Found:
    """Compared with the paper's change, or the same if it has none."""
    o = outcomes["trace"]
    ratio = o.ratio(0.8, "asy", quantity)
    syn, asy = (o.mean(0.8, c, quantity) for c in ("syn", "asy"))
    text = f"SYN {syn:.3g} kB, ASY {asy:.3g} kB: {percent(ratio)}"
    return text, scale.compares(ratio, phrase) if phrase else scale.same(ratio)


def spines_p99(outcomes: Outcomes) -> Found:
    asy, syn = (outcomes["trace"].range(0.8, c, "spines_p99_kB") for c in ("asy", "syn"))
    return f"ASY {asy.shown('.1f', ' kB')}, SYN {syn.mean:.1f} kB", scale.matches(asy, "about 7.5 kB")


def latency_median(outcomes: Outcomes) -> Found:
    o = outcomes["trace"]
    syn, asy = (o.mean(0.8, c, "latency_p50_us") for c in ("syn", "asy"))
    ratio = o.ratio(0.8, "asy", "latency_p50_us")
    return f"SYN {syn:.1f} us, ASY {asy:.1f} us: {ratio.shown('.3f')} times", scale.compares(ratio, "twice")


def latency_share(outcomes: Outcomes) -> Found:
    """Negligible: at most a tenth."""
    o = outcomes["trace"]
    shares = {c: o.range(0.8, c, "latency_mean_us").over(o.range(0.8, c, "fct_mean_ms")).times(1e-3) for c in ("syn", "asy")}
    text = ", ".join(f"{c.upper()} {100 * s.mean:.1f} % of the mean FCT" for c, s in shares.items())
    return text, scale.together(*(scale.below(s, 0.1) for s in shares.values()))


def comparable(ratio: Range) -> str:
    """ASY and SYN are comparable."""
    return scale.same(ratio, scale.ABOUT)


#: The paper normalizes completion times (III-C), so slowdowns come first, and are judged.
MEANS = {"slowdown_mean": "mean slowdown", "fct_mean_ms": "mean FCT in ms"}
VARIATIONS = {"slowdown_variation": "variation of slowdown", "fct_variation": "of FCT"}

CLAIMS: Claims = {
    "fairness_low": (["fixed"], lambda o: fairness(o, 0, 0.19, True)),
    "fairness_high": (["fixed"], lambda o: fairness(o, 0.2, 1, False)),
    "incast_mean": (["incast"], lambda o: _by_metric(o["incast"], MEANS, ("ocf", "mmf", "srjf"))),
    "incast_variance": (["incast"], lambda o: _by_metric(o["incast"], VARIATIONS, ("srjf", "mmf", "ocf"))),
    "incast_throughput": (["incast"], incast_throughput),
    "incast_fairness": (["incast"], incast_fairness),
    "incast_asy": (["incast"], incast_asy),
    "fixed_mean": (["fixed"], lambda o: fixed(o, "slowdown_mean", 0, 0.79, scale.same)),
    "fixed_high": (["fixed"], lambda o: fixed(o, "slowdown_mean", 0.8, 1, scale.lower)),
    "fixed_variation": (["fixed"], lambda o: fixed(o, "slowdown_variation", 0, 1, comparable)),
    "bimodal_fct": (["bimodal", "bimodal_long"], bimodal),
    "web_low": (["web", "bimodal"], web_low),
    "web_high": (["web"], web_high),
    "web_bimodal": (["web", "bimodal"], web_bimodal),
    "alternating": (["alternating"], alternating),
    "servers": (["trace"], lambda o: buffers(o, "servers_mean_kB", "40 % lower")),
    "leaves_mean": (["trace"], lambda o: buffers(o, "leaves_mean_kB", "45 % higher")),
    "leaves_p99": (["trace"], lambda o: buffers(o, "leaves_p99_kB", None)),
    "spines_mean": (["trace"], lambda o: buffers(o, "spines_mean_kB", "100 % higher")),
    "spines_p99": (["trace"], spines_p99),
    "latency_median": (["trace"], latency_median),
    "latency_share": (["trace"], latency_share),
}
