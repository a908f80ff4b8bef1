"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from timeplane.studies import Claims, Found, yes_or_no

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]


def percent(mean: float, half: float) -> str:
    """A relative difference with its interval."""
    interval = "" if math.isnan(half) else f" ± {100 * half:.1f}"
    return f"{100 * mean:+.1f}{interval} %"


def _versus(outcome: Outcome, quantity: str, load: float, scheme: str = "asy", to: str = "syn") -> str:
    d = outcome.difference(load, scheme, quantity, to)
    marks = {"differs": "differs", "same": "same within 10 %", "both": "differs, by less than 10 %", "unknown": "not decided"}
    return f"{percent(d.mean, d.half)} ({marks[d.verdict]})"


def _mean(outcome: Outcome, quantity: str, load: float, scheme: str) -> float:
    return outcome.estimate(load, scheme, quantity).mean


def _by_metric(outcome: Outcome, quantities: Mapping[str, str], order: Sequence[str]) -> Found:
    """The verdict for several quantities that a statement may mean: whether the schemes are in
    this order, from the highest value to the lowest, for all, some or none of them.
    """
    load = _near(outcome, 0.8)
    parts, ordered = [], []
    for quantity, name in quantities.items():
        values = {m: _mean(outcome, quantity, load, f"syn_{m}") for m in ("ocf", "mmf", "srjf")}
        parts.append(f"{name} " + ", ".join(f"{m.upper()} {v:.3g}" for m, v in values.items()))
        ordered.append(values[order[0]] > values[order[1]] > values[order[2]])
    return f"load {load:g}: " + "; ".join(parts), "yes" if all(ordered) else "in part" if any(ordered) else "no"


def _near(outcome: Outcome, load: float) -> float:
    """The load nearest to a value."""
    return min(outcome.experiment.loads, key=lambda x: abs(x - load))


def _loads(outcome: Outcome, low: float, high: float) -> list[float]:
    return [x for x in outcome.experiment.loads if low <= x <= high]


def fairness(outcomes: Outcomes, low: float, high: float, below: bool) -> Found:
    o = outcomes["fixed"]
    loads = _loads(o, low, high)
    if not loads:
        return "", "not run"
    parts, ok = [], []
    for quantity, what in (("jain_flows", "flows"), ("jain_servers", "servers")):
        syn, asy = ([_mean(o, quantity, x, c) for x in loads] for c in ("syn", "asy"))
        parts.append(f"{what}: SYN {min(syn):.2f} to {max(syn):.2f}, ASY {min(asy):.2f} to {max(asy):.2f}")
        if below:
            ok.append(all(a < s for a, s in zip(asy, syn, strict=True)))
        else:
            ok.append(all(o.difference(x, "asy", quantity).verdict in ("same", "both") for x in loads) and min(syn + asy) > 0.9)
    return f"load {loads[0]:g} to {loads[-1]:g}: " + "; ".join(parts), yes_or_no(ok[0]) if ok[0] == ok[1] else "in part"


def incast_throughput(outcomes: Outcomes) -> Found:
    o = outcomes["incast"]
    load = o.experiment.loads[-1]
    values = {c: _mean(o, "carried_load", load, c) for c in o.experiment.schemes}
    return f"load {load:g}: " + ", ".join(f"{c} {v:.3f}" for c, v in values.items()), yes_or_no(
        all(abs(v / load - 1) < 0.02 for v in values.values())
    )


def incast_fairness(outcomes: Outcomes) -> Found:
    o = outcomes["incast"]
    load = _near(o, 0.8)
    senders = {c: _mean(o, "jain_senders", load, c) for c in o.experiment.schemes}
    flows = {c: _mean(o, "jain_flows", load, c) for c in o.experiment.schemes}
    parts = [" ".join((name, *(f"{c} {v:.2f}" for c, v in of.items()))) for name, of in (("senders", senders), ("flows", flows))]
    same = [max(of.values()) / min(of.values()) < 1.1 for of in (senders, flows)]
    return f"load {load:g}: " + "; ".join(parts), "yes" if all(same) else "in part" if any(same) else "no"


def incast_asy(outcomes: Outcomes) -> Found:
    o = outcomes["incast"]
    load = _near(o, 0.8)
    d = o.difference(load, "asy", "fct_mean_ms", "syn_mmf")
    return f"load {load:g}: {_versus(o, 'fct_mean_ms', load, 'asy', 'syn_mmf')} against MMF", yes_or_no(-0.1 < d.mean < 0)


def fixed(outcomes: Outcomes, quantity: str, low: float, high: float, smaller: bool) -> Found:
    o = outcomes["fixed"]
    loads = _loads(o, low, high)
    text = "; ".join(f"{x:g}: {percent((d := o.difference(x, 'asy', quantity)).mean, d.half)}" for x in loads)
    differences = [o.difference(x, "asy", quantity) for x in loads]
    if smaller:
        return text, yes_or_no(all(d.mean < 0 and d.verdict in ("differs", "both") for d in differences))
    same = [d.verdict in ("same", "both") for d in differences]
    return text, "yes" if all(same) else "in part" if any(same) else "no"


def ratio(outcomes: Outcomes, name: str, low: float, high: float) -> list[tuple[float, float, float]]:
    """For each load, SYN's mean slowdown relative to ASY's, and the share of SYN's flows that
    did not finish.
    """
    o = outcomes[name]
    rows = []
    for load in _loads(o, low, high):
        syn, asy = (_mean(o, "slowdown_mean", load, scheme) for scheme in ("syn", "asy"))
        rows.append((load, syn / asy, _mean(o, "unfinished", load, "syn")))
    return rows


def _ratios(rows: Sequence[tuple[float, float, float]]) -> str:
    return "; ".join(f"{x:g}: {r:.1f}" + (f" (at least; {100 * u:.0f} % not done)" if u > 0.005 else "") for x, r, u in rows)


def bimodal(outcomes: Outcomes) -> Found:
    rows = ratio(outcomes, "bimodal", 0.5, 1.0)
    long = outcomes["bimodal_long"]
    length = long.experiment.window[1]
    syn, asy = (_mean(long, "slowdown_late", 0.8, c) for c in ("syn", "asy"))
    text = f"{_ratios(rows)}; it grows with time: flows of the last quarter of {length} from an empty network, load 0.8: {syn / asy:.1f}"
    return text, yes_or_no(max(syn / asy, *(r for _, r, _ in rows)) > 10)


def web_low(outcomes: Outcomes) -> Found:
    rows = ratio(outcomes, "web", 0.0, 0.3)
    return _ratios(rows), yes_or_no(all(0.9 < r < 1.1 for _, r, _ in rows))


def web_high(outcomes: Outcomes) -> Found:
    rows = ratio(outcomes, "web", 0.6, 1.0)
    return _ratios(rows), yes_or_no(all(5 < r < 20 for _, r, _ in rows))


def web_bimodal(outcomes: Outcomes) -> Found:
    web, bimodal_ = outcomes["web"], outcomes["bimodal"]
    loads = [x for x in _loads(web, 0.6, 1.0) if x in bimodal_.experiment.loads]
    pairs = [(x, _mean(web, "slowdown_mean", x, "syn"), _mean(bimodal_, "slowdown_mean", x, "syn")) for x in loads]
    text = "; ".join(f"{x:g}: web {w:.0f}, bimodal {b:.0f}" for x, w, b in pairs)
    return f"mean slowdown of SYN at {text}", yes_or_no(all(w < b for _, w, b in pairs))


def alternating(outcomes: Outcomes) -> Found:
    o = outcomes["alternating"]
    load = o.experiment.loads[-1]
    carried = _mean(o, "carried_load", load, "syn")
    return f"carries {100 * carried:.1f} % of the link in wire bytes at load {load:g}", yes_or_no(abs(carried - 0.5) < 0.05)


def buffers(outcomes: Outcomes, quantity: str, expected: float | None) -> Found:
    o = outcomes["trace"]
    d = o.difference(0.8, "asy", quantity)
    syn, asy = (_mean(o, quantity, 0.8, c) for c in ("syn", "asy"))
    text = f"SYN {syn:.3g} kB, ASY {asy:.3g} kB: {_versus(o, quantity, 0.8)}"
    if expected is None:
        return text, yes_or_no(d.verdict in ("same", "both"))
    off = abs(d.mean - expected)
    same_sign = d.mean * expected > 0 and d.verdict in ("differs", "both")
    return text, "yes" if off < 0.1 else "in direction" if same_sign else "no"


def spines_p99(outcomes: Outcomes) -> Found:
    asy, syn = (_mean(outcomes["trace"], "spines_p99_kB", 0.8, c) for c in ("asy", "syn"))
    return f"ASY {asy:.1f} kB, SYN {syn:.1f} kB", yes_or_no(abs(asy - 7.5) < 1.5)


def latency_median(outcomes: Outcomes) -> Found:
    o = outcomes["trace"]
    syn, asy = (_mean(o, "latency_p50_us", 0.8, c) for c in ("syn", "asy"))
    return f"SYN {syn:.1f} us, ASY {asy:.1f} us: {asy / syn:.2f} times", yes_or_no(1.7 < asy / syn < 2.3)


def latency_share(outcomes: Outcomes) -> Found:
    o = outcomes["trace"]
    shares = {c: _mean(o, "latency_mean_us", 0.8, c) / 1e3 / _mean(o, "fct_mean_ms", 0.8, c) for c in ("syn", "asy")}
    return ", ".join(f"{c.upper()} {100 * s:.1f} % of the mean FCT" for c, s in shares.items()), yes_or_no(max(shares.values()) < 0.1)


MEANS = {"slowdown_mean": "mean slowdown", "fct_mean_ms": "mean FCT in ms"}
VARIATIONS = {"fct_variation": "variation of FCT", "slowdown_variation": "of slowdown"}

CLAIMS: Claims = {
    "fairness_low": (["fixed"], lambda o: fairness(o, 0, 0.19, True)),
    "fairness_high": (["fixed"], lambda o: fairness(o, 0.2, 1, False)),
    "incast_mean": (["incast"], lambda o: _by_metric(o["incast"], MEANS, ("ocf", "mmf", "srjf"))),
    "incast_variance": (["incast"], lambda o: _by_metric(o["incast"], VARIATIONS, ("srjf", "mmf", "ocf"))),
    "incast_throughput": (["incast"], incast_throughput),
    "incast_fairness": (["incast"], incast_fairness),
    "incast_asy": (["incast"], incast_asy),
    "fixed_mean": (["fixed"], lambda o: fixed(o, "slowdown_mean", 0, 0.79, False)),
    "fixed_high": (["fixed"], lambda o: fixed(o, "slowdown_mean", 0.8, 1, True)),
    "fixed_variation": (["fixed"], lambda o: fixed(o, "slowdown_variation", 0, 1, False)),
    "bimodal_fct": (["bimodal", "bimodal_long"], bimodal),
    "web_low": (["web"], web_low),
    "web_high": (["web"], web_high),
    "web_bimodal": (["web", "bimodal"], web_bimodal),
    "alternating": (["alternating"], alternating),
    "servers": (["trace"], lambda o: buffers(o, "servers_mean_kB", -0.4)),
    "leaves_mean": (["trace"], lambda o: buffers(o, "leaves_mean_kB", 0.45)),
    "leaves_p99": (["trace"], lambda o: buffers(o, "leaves_p99_kB", None)),
    "spines_mean": (["trace"], lambda o: buffers(o, "spines_mean_kB", 1.0)),
    "spines_p99": (["trace"], spines_p99),
    "latency_median": (["trace"], latency_median),
    "latency_share": (["trace"], latency_share),
}
