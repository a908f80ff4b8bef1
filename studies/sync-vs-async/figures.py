"""The figures: those of the paper by number, others by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

import timeplane as tp
from timeplane.studies.figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, WIDE, Drawing, Figures, legend, letter, panels

from . import measures
from .arithmetic import ALTERNATING, BIMODAL, WEB, fill
from .claims import FAIRNESS, SLOTS
from .experiments import IMPERFECTIONS, imperfect_name

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

#: Color, line, marker and name of each scheme, the same in all figures.
LOOKS: Mapping[str, tuple[str, Any, str, str]] = {
    "syn": (BLUE, "-", "o", "SYN"),
    "asy": (RED, "--", "s", "ASY"),
    "ecmp": (BLACK, ":", "x", "no scheme"),
    "syn_packet": (SKY, "-.", "^", "SYN, one packet a slot"),
    "syn_phase": (SKY, "-.", "^", "SYN, a phase for each server"),
    "asy_max_min": (ORANGE, (0, (1, 1.2)), "D", "ASY, max-min"),
    "syn_ocf": (SKY, "-.", "^", "SYN, OCF"),
    "syn_mmf": (BLUE, "-", "o", "SYN, MMF"),
    "syn_srjf": (GREEN, (0, (1, 1.2)), "D", "SYN, SRJF"),
    "syn_srjf_flows": (PINK, (0, (1, 1.2)), "v", "SYN, SRJF also within a pair"),
    "syn_packets": (SKY, "-.", "^", "SYN, several packets a slot"),
    "syn_fragments": (GREEN, (0, (1, 1.2)), "D", "SYN, and fragments"),
}


def looks(scheme: str, label: str | None = None) -> dict[str, Any]:
    """Keyword arguments for ``plot``."""
    color, line, marker, name = LOOKS[scheme]
    return {"color": color, "linestyle": line, "marker": marker, "label": name if label is None else label}


def curve(axes: Axes, outcome: Outcome, scheme: str, quantity: str, factor: float = 1.0, **look: Any) -> None:
    """Draws means over load with their intervals."""
    points = [(x, outcome.estimate(x, scheme, quantity)) for x in outcome.experiment.loads]
    points = [(x, e) for x, e in points if e.n]
    if not points:
        return
    x = np.array([p[0] for p in points])
    mean, half = (np.array([getattr(p[1], a) for p in points]) * factor for a in ("mean", "half"))
    style = looks(scheme) | look
    axes.plot(x, mean, **style)
    # An interval of two seeds would be wider than the figure.
    if min(e.n for _, e in points) > 2:
        axes.fill_between(x, mean - half, mean + half, color=style["color"], alpha=0.2, linewidth=0)


def plain_log(axes: Axes) -> None:
    """Sets a logarithmic axis with plain numbers; below two decades also with 2 and 5."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 100 else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def against_load(
    outcome: Outcome, schemes: Sequence[str], quantities: Sequence[tuple[str, str, str]], height: float = 2.15
) -> Figure:
    """Draws a panel per quantity (name, label of the axis, title): means over load."""
    figure, axes = panels(len(quantities), height=height)
    for a, (quantity, label, _) in zip(axes, quantities, strict=True):
        for scheme in schemes:
            if scheme in outcome.experiment.schemes:
                curve(a, outcome, scheme, quantity)
        a.set_xlabel("Load")
        a.set_ylabel(label)
    letter(axes, [title for _, _, title in quantities])
    legend(figure, axes)
    return figure


def fig3(outcomes: Outcomes) -> Figure:
    """Jain's index by all that it may be about. Above a load of 0.2 the paper's are the same and
    close to 1.
    """
    titles = ("of flows' rates", "of servers' goodput", "timeslots, all servers", "timeslots, in use", "1 ms, all servers", "1 ms, in use", "of slowdowns")
    figure = Figure(figsize=(WIDE, 3.8))
    *axes, unused = figure.subplots(2, 4, sharey=True).flat
    unused.set_visible(False)
    for a, (experiment, quantity, _) in zip(axes, FAIRNESS, strict=True):
        for scheme in ("syn", "asy"):
            curve(a, outcomes[experiment], scheme, quantity)
        a.plot([0.2, 1], [1, 1], color=BLACK, linewidth=0.9, linestyle=":", label="published, both schemes")
        a.set_xlim(0, 1)
        a.set_xlabel("Load")
        a.set_ylim(0, 1.04)
    for a in axes[::4]:
        a.set_ylabel("Jain's index")
    letter(axes, titles)
    legend(figure, axes)
    return figure


def fig4(outcomes: Outcomes) -> Figure:
    return metrics(outcomes["incast"])


def fig4_mixed(outcomes: Outcomes) -> Figure:
    """Figure 4 with packets of two sizes, which the paper leaves out as very similar."""
    return metrics(outcomes["incast_bimodal"])


def metrics(outcome: Outcome) -> Figure:
    """SYN's metrics and ASY under incast."""
    figure = against_load(
        outcome,
        ("syn_ocf", "syn_mmf", "syn_srjf", "syn_srjf_flows", "asy"),
        [
            ("slowdown_mean", "Mean slowdown", "mean slowdown"),
            ("fct_variation", "Coefficient of variation", "variation of FCT"),
            ("carried_load", "Carried load", "throughput"),
            ("jain_flows", "Jain's index", "fairness of flows"),
        ],
    )
    plain_log(figure.axes[0])
    figure.axes[1].set_ylim(bottom=0)
    figure.axes[2].set_ylim(0, 1)
    figure.axes[3].set_ylim(0, 1.02)
    return figure


def fig5(outcomes: Outcomes) -> Figure:
    figure = against_load(
        outcomes["fixed"],
        ("syn", "asy"),
        [
            ("slowdown_mean", "Mean slowdown", "mean"),
            ("slowdown_variation", "Coefficient of variation", "variation of slowdown"),
            ("fct_variation", "Coefficient of variation", "variation of FCT"),
        ],
    )
    plain_log(figure.axes[0])
    for a in figure.axes[1:]:
        a.set_ylim(bottom=0)
    return figure


def fig6(outcomes: Outcomes) -> Figure:
    figure, axes = panels(3, height=2.3)
    for a, name, mix in zip(axes, ("bimodal", "web"), (BIMODAL, WEB), strict=False):
        outcome = outcomes[name]
        for scheme in ("syn", "syn_packet", "asy"):
            curve(a, outcome, scheme, "slowdown_mean")
        a.axvline(fill(mix).wire, color=SKY, linewidth=0.8, linestyle=(0, (4, 2)), label="one packet a slot: full (wire bytes)")
        a.axvline(fill(mix).ip, color=SKY, linewidth=0.8, linestyle=":", label="one packet a slot: full (IP bytes)")
        a.set_xlabel("Load")
        a.set_ylabel("Mean slowdown")
        a.set_xlim(0, 1)
    _over_time(axes[2], outcomes["bimodal_long"])
    top = max(a.get_ylim()[1] for a in axes)
    for a in axes:
        a.set_yscale("log")
        a.set_ylim(1, top)
        plain_log(a)
    letter(axes, ["bimodal packets", "web server packets", "bimodal, load 0.8, over time"])
    legend(figure, axes)
    return figure


def _over_time(axes: Axes, outcome: Outcome) -> None:
    assert outcome.results is not None
    summary = outcome.results.summary
    simulated = dict(zip(summary["run"], summary["simulated_ps"].astype(float), strict=True))
    begin, length, _ = map(measures.picoseconds, outcome.experiment.window)
    for scheme in ("syn", "asy"):
        runs = [r for r in outcome.results.runs if r.scheme_name == scheme]
        lines = [measures.slowdown_over_time(r, simulated[r.key], begin, length, 20) for r in runs]
        axes.plot(lines[0][0], np.mean([y for _, y in lines], axis=0), **looks(scheme) | {"marker": None})
    axes.set_xlabel("Arrival (ms)")
    axes.set_xlim(begin / measures.MS, (begin + length) / measures.MS)


def slots(outcomes: Outcomes) -> Figure:
    """SYN's goodput with packets that do not fill its slots, one packet in each."""
    figure, axes = panels(1, width=3.6, height=2.6)
    a = axes[0]
    a.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
    mixes = (
        ("fixed", "1500 B", BLUE, "o", None),
        ("bimodal", "bimodal", RED, "s", BIMODAL),
        ("alternating", "alternating", GREEN, "^", ALTERNATING),
        ("web", "web server", PINK, "D", WEB),
    )
    for name, label, color, marker, mix in mixes:
        if name not in outcomes:
            continue
        scheme = "syn_packet" if mix else "syn"
        curve(a, outcomes[name], scheme, "carried_load", color=color, marker=marker, label=label, linestyle="-")
        if mix:
            a.axhline(fill(mix).wire, color=color, linewidth=0.8, linestyle=":")
    a.set_xlabel("Load")
    a.set_ylabel("Carried under SYN")
    a.set_xlim(0, 1)
    a.set_ylim(0, 1)
    legend(figure, axes)
    return figure


def fig7_9(outcomes: Outcomes) -> Figure:
    outcome = outcomes["trace"]
    begin, length, _ = map(measures.picoseconds, outcome.experiment.window)
    every = measures.picoseconds(outcome.experiment.queues_every or "")
    figure, axes = panels(3)
    assert outcome.results is not None
    first = min(r.seed for r in outcome.results.runs)
    for scheme in ("syn", "syn_phase", "asy"):
        run = next(r for r in outcome.results.runs if r.scheme_name == scheme and r.seed == first)
        lines = measures.trace(run, begin, begin + length, every)
        for a, tier in zip(axes, ("servers", "leaves", "spines"), strict=True):
            x, y = lines[tier]
            color, line, _, name = LOOKS[scheme]
            # A switch's queue changes within microseconds; means over a millisecond are readable.
            group = max(1, len(x) // 100)
            keep = len(x) // group * group
            smooth = y[:keep].reshape(-1, group).mean(axis=1)
            a.plot(x[:keep:group], smooth, color=color, linestyle=line, label=name, linewidth=0.9)
    for a, tier in zip(axes, ("servers", "leaves", "spines"), strict=True):
        a.set_xlabel("Time (ms)")
        a.set_ylabel("Buffer (kB)" if tier == "servers" else "Buffer of a port (kB)")
        a.set_ylim(bottom=0)
    letter(axes, ["servers", "leaves", "spines"])
    legend(figure, axes)
    return figure


def fig10(outcomes: Outcomes) -> Figure:
    outcome = outcomes["trace"]
    assert outcome.results is not None
    figure, axes = panels(2)
    for scheme in ("syn", "syn_phase", "asy", "asy_max_min"):
        runs = [r for r in outcome.results.runs if r.scheme_name == scheme]
        color, line, _, name = LOOKS[scheme]
        count: dict[int, int] = {}
        for run in runs:
            latency = run.table("latency")
            for value, packets in zip(latency["latency_ps"].tolist(), latency["packets"].tolist(), strict=True):
                count[value] = count.get(value, 0) + packets
        values = np.array(sorted(count))
        share = np.cumsum([count[v] for v in values]) / sum(count.values())
        axes[0].step(values / measures.US, share, where="post", color=color, linestyle=line, label=name)
        if scheme == "syn":
            twice = 2 * values[np.searchsorted(share, 0.5)] / measures.US
            axes[0].plot([twice], [0.5], color=BLACK, linestyle="", marker="x", label="paper's ASY: twice SYN's median")
        took = np.concatenate([np.where(np.isnan(f), np.inf, f) for f in map(_measured_fct, runs)])
        grid = np.geomspace(2e7, 1e11, 300)
        axes[1].plot(grid / measures.MS, np.searchsorted(np.sort(took), grid) / len(took), color=color, linestyle=line, label=name)
    axes[0].set_xlabel("Time from the first switch on (µs)")
    axes[0].set_xlim(0, 100)
    axes[1].set_xlabel("Flow completion time (ms)")
    axes[1].set_xscale("log")
    axes[1].xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    for a in axes:
        a.set_ylabel("CDF")
        a.set_ylim(0, 1.02)
    letter(axes, ["packets in the network", "flows"])
    legend(figure, axes)
    return figure


def _measured_fct(run: tp.Run) -> np.ndarray:
    flows = run.flows
    return flows["fct_ps"].astype(float)[flows["measured"].astype(bool)]


#: The paper's change from SYN to ASY in percent, by quantity, with a title.
PUBLISHED = {
    "servers_mean{}_kB": (-40, "servers"),
    "leaves_mean{}_kB": (45, "leaves"),
    "spines_mean{}_kB": (100, "spines"),
    "latency_p50_us": (100, "median latency"),
}


def buffers(outcomes: Outcomes) -> Figure:
    """ASY's mean buffers and median latency against SYN's in all combinations: by what a queue
    counts, by when hosts start their timeslots, and by the length of a link.
    """
    figure, axes = panels(len(PUBLISHED), height=2.5)
    every = [(e, syn, suffix) for e in ("trace", "trace_1us") if e in outcomes for syn in ("syn", "syn_phase") for suffix in ("", "_all")]
    names = {"trace": "10 m", "trace_1us": "200 m", "": "waiting", "_all": "all", "syn": "together", "syn_phase": "phases"}
    y = np.arange(len(every))
    for a, (quantity, (published, _)) in zip(axes, PUBLISHED.items(), strict=True):
        # The time in the network is the same whatever queues count: one bar for both rows.
        once = "{}" not in quantity
        cells, at = (every[::2], y[::2] + 0.5) if once else (every, y)
        changes = [outcomes[e].ratio(0.8, "asy", quantity.format(suffix), syn).minus(1).times(100) for e, syn, suffix in cells]
        errors = np.array([[c.mean - c.low, c.high - c.mean] for c in changes]).T
        a.barh(at, [c.mean for c in changes], xerr=errors, color=RED, height=1.65 if once else 0.65, error_kw={"linewidth": 0.8})
        a.axvline(published, color=BLACK, linewidth=0.9, linestyle=":", label="published")
        a.set_xlabel("Change (%)")
        a.set_ylim(len(every) - 0.5, -0.5)
        a.grid(axis="y", visible=False)
        a.set_yticks(y, [", ".join(names[part] for part in cell) if a is axes[0] else "" for cell in every])
    letter(axes, [title for _, title in PUBLISHED.values()])
    legend(figure, axes)
    return figure


def estimators(outcomes: Outcomes) -> Figure:
    """Backlog at the servers for each way to compute ASY's rates."""
    outcome = outcomes["estimators"]
    load = outcome.experiment.loads[0]
    schemes = list(outcome.experiment.schemes)
    names = {
        "syn": "SYN, MMF",
        "asy": "backlogged, scaled both ways",
        "asy_scale_down": "backlogged, scaled down",
        "asy_max_min": "backlogged, max-min",
        "asy_proportional": "backlogged, proportional",
        "asy_depth_1": "backlogged, scaled both ways, buckets of one packet",
        "asy_horizon_1ms": "horizon 1 ms, scaled both ways",
        "asy_arrivals_1ms": "arrivals 1 ms, scaled both ways",
        "asy_horizon_1ms_down": "horizon 1 ms, scaled down",
    }
    figure, axes = panels(2, height=2.3)
    y = np.arange(len(schemes))
    for a, (quantity, label) in zip(
        axes, (("servers_mean_kB", "Mean buffer of a server (kB)"), ("slowdown_mean", "Mean slowdown")), strict=True
    ):
        of = [outcome.estimate(load, c, quantity) for c in schemes]
        colors = [BLUE if c == "syn" else RED if c == "asy" else ORANGE for c in schemes]
        a.barh(y, [e.mean for e in of], xerr=[e.half if e.n > 2 else 0.0 for e in of], color=colors, height=0.65, error_kw={"linewidth": 0.8})
        a.axvline(of[0].mean, color=BLUE, linewidth=0.8, linestyle=":")
        a.set_xlabel(label)
        a.invert_yaxis()
        a.grid(axis="y", visible=False)
    axes[0].set_yticks(y, [names[c] for c in schemes])
    axes[1].set_yticks(y, [""] * len(y))
    return figure


def slot_lengths(outcomes: Outcomes) -> Figure:
    """What SYN carries, and its control traffic, by the length of a timeslot."""
    figure, axes = panels(2)
    outcome = outcomes["slot_length"]
    low, high = outcome.experiment.loads[0], outcome.experiment.loads[-1]
    for fill_, look in (("packet", looks("syn_packet")), ("packets", looks("syn", "SYN, several packets a slot"))):
        for a, (quantity, load, factor) in zip(axes, (("carried_load", high, 1.0), ("control_Mbps", low, 1e-3)), strict=True):
            of = [outcome.estimate(load, f"syn_{fill_}_{n}", quantity) for n in SLOTS]
            a.errorbar(SLOTS, [factor * e.mean for e in of], [factor * e.half for e in of], capsize=1.5, **look)
    for a, label in zip(axes, (f"Carried of load {high:g}", f"Control at load {low:g} (Gb/s)"), strict=True):
        a.set_xticks(SLOTS)
        a.set_xlabel("Timeslot (full packets)")
        a.set_ylabel(label)
        a.set_ylim(bottom=0)
    letter(axes, ["throughput, bimodal packets", "control traffic"])
    legend(figure, axes)
    return figure


def fill_options(outcomes: Outcomes) -> Figure:
    """SYN's ways to fill a slot, with bimodal packets."""
    figure = against_load(
        outcomes["fill"],
        ("syn", "syn_packets", "syn_fragments", "asy"),
        [("slowdown_mean", "Mean slowdown", "mean slowdown"), ("carried_load", "Carried load", "throughput")],
    )
    plain_log(figure.axes[0])
    return figure


def imperfections(outcomes: Outcomes) -> Figure:
    """Effect of imperfections on each scheme at two network sizes: on flows, and on packets in
    the network.
    """
    figure = Figure(figsize=(WIDE, 3.5))
    rows = figure.subplots(2, len(IMPERFECTIONS), sharey="row", sharex="col")
    titles = {"latency": "controller's latency", "loss": "lost messages", "clock": "clock error", "compute": "compute time"}
    for column, (kind, (_, values, who)) in enumerate(IMPERFECTIONS.items()):
        for axes, quantity in zip(rows[:, column], ("slowdown_mean", "latency_p99_us"), strict=True):
            for scheme in who:
                for name, servers, filled in (("imperfect", "120", True), ("imperfect_1024", "1,024", False)):
                    if name in outcomes:
                        _imperfect_curve(axes, outcomes[name], scheme, kind, values, quantity, servers, filled)
            plain_log(axes)
        rows[1, column].set_xticks(range(len(values)), [_short(v) for v in values])
        rows[1, column].set_xlabel({"loss": "Share (%)"}.get(kind, "Time (µs)"))
    rows[0, 0].set_ylabel("Mean slowdown")
    rows[1, 0].set_ylabel("p99 in the network (µs)")
    letter(rows[0], [titles[k] for k in IMPERFECTIONS])
    legend(figure, rows.flat)
    return figure


def _imperfect_curve(
    axes: Axes, outcome: Outcome, scheme: str, kind: str, values: Sequence[Any], quantity: str, servers: str, filled: bool
) -> None:
    load = outcome.experiment.loads[0]
    names = [scheme, *(imperfect_name(scheme, kind, v) for v in values[1:])]
    known = [(i, outcome.estimate(load, n, quantity)) for i, n in enumerate(names) if n in outcome.experiment.schemes]
    look = looks(scheme, f"{LOOKS[scheme][3]}, {servers} servers")
    look |= {} if filled else {"markerfacecolor": "white", "linewidth": 0.8}
    half = [e.half if e.n > 2 else 0.0 for _, e in known]
    axes.errorbar([i for i, _ in known], [e.mean for _, e in known], half, capsize=1.5, **look)


def _short(value: Any) -> str:
    return f"{100 * value:g}" if isinstance(value, float) else f"{measures.picoseconds(value) / measures.US:g}"


def topologies(outcomes: Outcomes) -> Figure:
    """Leaves with half the uplinks, and three tiers."""
    figure, axes = panels(2)
    for a, name in zip(axes, ("oversubscribed", "fat_tree"), strict=True):
        for scheme in ("syn", "asy", "ecmp"):
            curve(a, outcomes[name], scheme, "slowdown_mean")
        a.set_xlabel("Load")
        a.set_ylabel("Mean slowdown")
        plain_log(a)
    letter(axes, ["two to one oversubscribed", "three layers (fat tree, k = 8)"])
    legend(figure, axes)
    return figure


def messages(outcomes: Outcomes) -> Figure:
    """Control messages per second, and their rate in bit/s."""
    figure, axes = panels(2)
    outcome = outcomes["fixed"]
    for scheme in ("syn", "asy"):
        for quantity, fill_, label in (("reports", "full", "reports"), ("grants", "none", "what the controller sends")):
            look = {"fillstyle": fill_, "label": f"{LOOKS[scheme][3]}, {label}"}
            curve(axes[0], outcome, scheme, f"{quantity}_per_s", 1e-6, **look)
            curve(axes[1], outcome, scheme, f"{quantity}_Mbps", 1e-3, **look)
    axes[0].set_ylabel("Messages (million a second)")
    axes[1].set_ylabel("On the wire (Gb/s)")
    for a in axes:
        a.set_xlabel("Load")
        plain_log(a)
    letter(axes, ["messages", "bits"])
    legend(figure, axes)
    return figure


FIGURES: Figures = {
    "fig3": Drawing(fig3, ["fixed", "fairness_slot", "fairness_1ms"]),
    "fig4": Drawing(fig4, ["incast"]),
    "fig4-mixed": Drawing(fig4_mixed, ["incast_bimodal"]),
    "fig5": Drawing(fig5, ["fixed"]),
    "fig6": Drawing(fig6, ["bimodal", "web", "bimodal_long"]),
    "slots": Drawing(slots, ["bimodal", "web", "fixed"], ["alternating"]),
    "fig7-9": Drawing(fig7_9, ["trace"]),
    "buffers": Drawing(buffers, ["trace"], ["trace_1us"]),
    "fig10": Drawing(fig10, ["trace"]),
    "estimators": Drawing(estimators, ["estimators"]),
    "slot-length": Drawing(slot_lengths, ["slot_length"]),
    "fill": Drawing(fill_options, ["fill"]),
    "imperfections": Drawing(imperfections, ["imperfect"], ["imperfect_1024"]),
    "topologies": Drawing(topologies, ["oversubscribed", "fat_tree"]),
    "messages": Drawing(messages, ["fixed"]),
}
