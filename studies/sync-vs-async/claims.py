"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from timeplane.studies import Claims, Found, scale
from timeplane.studies.scale import Range

from .arithmetic import MTU, crossing, wire
from .experiments import CABLE, SERVERS
from .measures import picoseconds

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


def _by_metric(outcome: Outcome, quantities: Mapping[str, str], order: Sequence[str], at: float = 0.8) -> Found:
    """Whether SYN's metrics are in this order, from the highest value to the lowest. The first
    quantity is judged; the others are shown.
    """
    load, parts = _near(outcome, at), []
    for quantity, name in quantities.items():
        parts.append(f"{name} " + ", ".join(f"{m.upper()} {outcome.mean(load, f'syn_{m}', quantity):.3g}" for m in ("ocf", "mmf", "srjf")))
        within = outcome.mean(load, "syn_srjf_flows", quantity)
        parts[-1] += f" (also within a pair {within:.3g})"
    judged = next(iter(quantities))
    pairs = itertools.pairwise(f"syn_{m}" for m in order)
    return f"load {load:g}: " + "; ".join(parts), scale.ordered(outcome.ratio(load, a, judged, b) for a, b in pairs)


#: Quantities that the fairness index may be about, by experiment: the paper does not say.
FAIRNESS: Sequence[tuple[str, str, str]] = (
    ("fixed", "jain_flows", "flows"),
    ("fixed", "jain_servers", "servers"),
    ("fairness_slot", "jain_window", "throughput in a timeslot"),
    ("fairness_slot", "jain_window_busy", "that of servers in use"),
    ("fairness_1ms", "jain_window", "throughput in 1 ms"),
    ("fairness_1ms", "jain_window_busy", "that of servers in use"),
    ("fairness_1ms", "jain_times", "slowdowns"),
)


def fairness(outcomes: Outcomes, low: float, high: float, below: bool) -> Found:
    """Judged by all quantities."""
    parts, agrees = [], []
    for experiment, quantity, what in FAIRNESS:
        o = outcomes[experiment]
        loads = _loads(o, low, high)
        if not loads:
            return "no load of this range", "not tried"
        syn, asy = ([o.range(x, c, quantity) for x in loads] for c in ("syn", "asy"))
        shown = [f"{min(r.mean for r in of):.2f} to {max(r.mean for r in of):.2f}" for of in (syn, asy)]
        parts.append(f"{what}: SYN {shown[0]}, ASY {shown[1]}")
        ratios = [o.ratio(x, "asy", quantity) for x in loads]
        if below:
            # Significantly, and by more than counts as equal: a figure would not show less.
            agrees.append(scale.everywhere(["no" if scale.same(r, scale.EXACT) == "yes" else scale.lower(r) for r in ratios]))
        else:
            agrees.append(scale.together(scale.everywhere([scale.same(r) for r in ratios]), scale.everywhere([scale.same(r) for r in syn + asy])))
    return "; ".join(parts), scale.readings(*agrees)


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


def throughput(outcomes: Outcomes) -> Found:
    """Over the range of figure 5."""
    o = outcomes["fixed"]
    ratios = {x: o.ratio(x, "asy", "carried_load") for x in o.experiment.loads}
    last = o.experiment.loads[-1]
    text = "; ".join(f"{x:g}: {percent(r)}" for x, r in ratios.items() if x >= last - 0.2)
    lower = min(ratios, key=lambda x: ratios[x].mean)
    return f"ASY against SYN: {text}; at other loads from {percent(ratios[lower])}", scale.everywhere([scale.same(r) for r in ratios.values()])


def full(outcomes: Outcomes) -> Found:
    """Bytes that arrive over those of the timeslots that are granted for them. Only the last packet
    of a flow is not full.
    """
    o = outcomes["fixed"]
    load = _near(o, 0.5)
    granted = o.range(load, "syn", "grants_per_s").times(8 * wire(MTU))
    used = Range.point(100 * load * SERVERS * 1e9).over(granted)
    return f"timeslots that are granted at load {load:g} are {used.shown('.1f', ' %')} full", scale.matches(used, "100 %")


def control(outcomes: Outcomes, low: float, high: float, judge: Callable[[Range], str]) -> Found:
    """Bits of reports and of what the controller sends."""
    o = outcomes["fixed"]
    ratios = {x: o.ratio(x, "asy", "control_Mbps") for x in _loads(o, low, high)}
    text = "; ".join(f"{x:g}: SYN {o.mean(x, 'syn', 'control_Mbps'):.0f} Mb/s, ASY {r.mean:.2f} of it" for x, r in ratios.items())
    return text, scale.everywhere([judge(r) for r in ratios.values()])


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


def web_throughput(outcomes: Outcomes) -> Found:
    """Of the offered load, at the highest."""
    o = outcomes["web"]
    load = o.experiment.loads[-1]
    carried = {c: o.range(load, c, "carried_load").times(100 / load) for c in ("syn", "syn_packet", "asy")}
    text = f"SYN carries {carried['syn'].shown('.1f', ' %')} of load {load:g}, {carried['syn_packet'].mean:.1f} % with one packet in a slot; ASY {carried['asy'].mean:.1f} %"
    return text, scale.lower(carried["syn"].times(0.01))


#: Lengths of timeslots in full packets.
SLOTS = (1, 2, 4)


def slot_length(outcomes: Outcomes) -> Found:
    """Longer timeslots are filled less, and need less control traffic. Judged with one packet in a
    timeslot and with as many as fit. Below a full packet there are no timeslots here.
    """
    o = outcomes["slot_length"]
    low, high = o.experiment.loads[0], o.experiment.loads[-1]
    text, agrees = [], []
    for fill, words in (("packet", "one packet in a slot"), ("packets", "as many as fit")):
        names = [f"syn_{fill}_{n}" for n in SLOTS]
        carried, control = ([o.mean(x, name, q) for name in names] for x, q in ((high, "carried_load"), (low, "control_Mbps")))
        text.append(
            f"{words}: slots of {', '.join(map(str, SLOTS))} full packets carry {', '.join(f'{c:.2f}' for c in carried)} at load {high:g}, "
            f"with {', '.join(f'{c:.0f}' for c in control)} Mb/s of control at {low:g}"
        )
        less = [scale.higher(o.ratio(high, a, "carried_load", b)) for a, b in itertools.pairwise(names)]
        cheaper = [scale.higher(o.ratio(low, a, "control_Mbps", b)) for a, b in itertools.pairwise(names)]
        agrees.append(scale.together(*less, *cheaper))
    return "; ".join(text), scale.readings(*agrees)


def alternating(outcomes: Outcomes) -> Found:
    o = outcomes["alternating"]
    load = o.experiment.loads[-1]
    carried = o.range(load, "syn", "carried_load").times(100)
    return f"carries {carried.shown('.1f', ' %')} of the link in wire bytes at load {load:g}", scale.matches(carried, "about 50 %")


def buffers(outcomes: Outcomes, tier: str, of: str, phrase: str | None) -> Found:
    """Compared with the paper's change, or the same if it has none. The paper's simulator counts
    queues without the frame that is being sent, and SYN's servers start timeslots together: that is
    judged, and the other combinations are shown.
    """
    o = outcomes["trace"]
    ratio = o.ratio(0.8, "asy", f"{tier}_{of}_kB")
    parts = []
    for suffix, name in (("", "waiting"), ("_all", "with the frame being sent")):
        syn, phase, asy = (o.mean(0.8, c, f"{tier}_{of}{suffix}_kB") for c in ("syn", "syn_phase", "asy"))
        parts.append(f"{name}: SYN {syn:.3g} kB, with phases {phase:.3g} kB, ASY {asy:.3g} kB, {100 * (asy / syn - 1):+.0f} and {100 * (asy / phase - 1):+.0f} %")
    return f"{percent(ratio)}; " + "; ".join(parts), scale.compares(ratio, phrase) if phrase else scale.same(ratio)


def balanced(outcomes: Outcomes) -> Found:
    """The mean backlog of a server over that of a switch's port is lower under ASY."""
    o = outcomes["trace"]
    text, agrees = [], []
    for tier in ("leaves", "spines"):
        syn, asy = (o.mean(0.8, c, "servers_mean_kB") / o.mean(0.8, c, f"{tier}_mean_kB") for c in ("syn", "asy"))
        text.append(f"a server's backlog is {syn:.0f} times that of a port of the {tier} under SYN, and {asy:.0f} times under ASY")
        agrees.append(scale.lower(o.ratio(0.8, "asy", "servers_mean_kB").over(o.ratio(0.8, "asy", f"{tier}_mean_kB"))))
    return "; ".join(text), scale.together(*agrees)


def server_delay(outcomes: Outcomes) -> Found:
    """By Little's law the mean time at a server is its backlog over its throughput."""
    o = outcomes["trace"]
    backlog, fct, network = (Range.point(1).over(o.ratio(0.8, "asy", q)) for q in ("servers_mean_kB", "fct_mean_ms", "latency_mean_us"))
    times = {c: o.mean(0.8, c, "servers_mean_kB") * 8e3 / (o.mean(0.8, c, "carried_load") * 1e9) * 1e3 for c in ("syn", "asy")}
    text = f"time at a server by Little's law: SYN {times['syn']:.2f} ms, ASY {times['asy']:.2f} ms; SYN's mean FCT is {fct.shown('.2f')} times ASY's"
    return f"{text}, its time in the network {network.shown('.2f')} times", scale.together(scale.higher(backlog), scale.higher(fct), scale.lower(network))


def ideal_latency(outcomes: Outcomes) -> Found:
    """Close to the time of storing and forwarding and of propagation: for most packets on the way
    over a spine.
    """
    o = outcomes["trace"]
    least = crossing(picoseconds(CABLE)) / 1e6
    syn, phase = (o.range(0.8, c, "latency_p50_us").times(1 / least) for c in ("syn", "syn_phase"))
    text = f"median from the first switch on: {syn.times(least).shown('.1f', ' us')}, {syn.mean:.2f} times the {least:.1f} us of an empty network"
    return f"{text}; with a phase for each server {phase.mean:.2f} times", scale.same(syn, scale.ABOUT)


def spines_p99(outcomes: Outcomes) -> Found:
    o = outcomes["trace"]
    asy, syn = (o.range(0.8, c, "spines_p99_kB") for c in ("asy", "syn"))
    text = f"ASY {asy.shown('.1f', ' kB')}, SYN {syn.mean:.1f} kB; with the frame being sent ASY {o.mean(0.8, 'asy', 'spines_p99_all_kB'):.1f} kB"
    return text, scale.matches(asy, "about 7.5 kB")


def latency_median(outcomes: Outcomes) -> Found:
    o = outcomes["trace"]
    syn, asy = (o.mean(0.8, c, "latency_p50_us") for c in ("syn", "asy"))
    ratio = o.ratio(0.8, "asy", "latency_p50_us")
    text = f"from the first switch on, cables of 10 m: SYN {syn:.1f} us, ASY {asy:.1f} us: {ratio.shown('.2f')} times"
    others = {"max-min": o.mean(0.8, "asy_max_min", "latency_p50_us") / syn, "SYN with phases": asy / o.mean(0.8, "syn_phase", "latency_p50_us")}
    if far := outcomes.get("trace_1us"):
        others["1 us a link"] = far.mean(0.8, "asy", "latency_p50_us") / far.mean(0.8, "syn", "latency_p50_us")
    return f"{text}; " + ", ".join(f"{name} {value:.2f}" for name, value in others.items()), scale.compares(ratio, "twice")


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

FAIRNESS_RUNS = list(dict.fromkeys(experiment for experiment, _, _ in FAIRNESS))

CLAIMS: Claims = {
    "ideal_latency": (["trace"], ideal_latency),
    "slot_length": (["slot_length"], slot_length),
    "fairness_low": (FAIRNESS_RUNS, lambda o: fairness(o, 0, 0.19, True)),
    "fairness_high": (FAIRNESS_RUNS, lambda o: fairness(o, 0.2, 1, False)),
    "incast_mean": (["incast"], lambda o: _by_metric(o["incast"], MEANS, ("ocf", "mmf", "srjf"))),
    "incast_variance": (["incast"], lambda o: _by_metric(o["incast"], VARIATIONS, ("srjf", "mmf", "ocf"))),
    "incast_mixed": (["incast_bimodal"], lambda o: _by_metric(o["incast_bimodal"], MEANS, ("ocf", "mmf", "srjf"), 0.5)),
    "incast_throughput": (["incast"], incast_throughput),
    "incast_fairness": (["incast"], incast_fairness),
    "incast_asy": (["incast"], incast_asy),
    # "At higher loads the ASY system yields smaller FCT": the upper half.
    "fixed_mean": (["fixed"], lambda o: fixed(o, "slowdown_mean", 0, 0.49, scale.same)),
    "fixed_high": (["fixed"], lambda o: fixed(o, "slowdown_mean", 0.5, 1, scale.lower)),
    "fixed_variation": (["fixed"], lambda o: fixed(o, "slowdown_variation", 0, 1, comparable)),
    "fixed_full": (["fixed"], full),
    "throughput": (["fixed"], throughput),
    "control_low": (["fixed"], lambda o: control(o, 0, 0.25, scale.lower)),
    "control_worst": (["fixed"], lambda o: control(o, 0.7, 1, comparable)),
    "bimodal_fct": (["bimodal", "bimodal_long"], bimodal),
    "web_low": (["web", "bimodal"], web_low),
    "web_high": (["web"], web_high),
    "web_bimodal": (["web", "bimodal"], web_bimodal),
    "web_throughput": (["web"], web_throughput),
    "alternating": (["alternating"], alternating),
    "servers": (["trace"], lambda o: buffers(o, "servers", "mean", "40 % lower")),
    "leaves_mean": (["trace"], lambda o: buffers(o, "leaves", "mean", "45 % higher")),
    "leaves_p99": (["trace"], lambda o: buffers(o, "leaves", "p99", None)),
    "spines_mean": (["trace"], lambda o: buffers(o, "spines", "mean", "100 % higher")),
    "spines_p99": (["trace"], spines_p99),
    "latency_median": (["trace"], latency_median),
    "latency_share": (["trace"], latency_share),
    "balanced": (["trace"], balanced),
    "server_delay": (["trace"], server_delay),
    "scaling": ([], lambda o: ("no experiment: the paper has none, and does not say by what it scales", "not tried")),
}
