"""The figures, by the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from timeplane.studies.figures import BLACK, BLUE, COLORS, GREEN, LINES, MARKERS, ORANGE, RED, Drawing, Figures, legend, letter, panels

from . import claims
from .arithmetic import REACTIONS
from .experiments import BEFORE, DATA, FAST, FIG10_GUARDS, GUARDS, LOADS, MOMENTS, PACKETS, SHOWN, SLOT, SLOW, SPAN, fig10_names, least
from .measures import SHARES

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]


def _ends(axes: Axes, outcome: Outcome, scheme: str, quantity: str, **style: Any) -> None:
    times = [claims.ratio(outcome, scheme, quantity=f"{quantity}_{share}").mean for share in SHARES]
    axes.plot(times, SHARES, **style)


def _log(axes: Axes, ticks: Sequence[float]) -> None:
    """Sets a logarithmic axis from the first tick to the last, with only these ticks."""
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(ticks[0], ticks[-1])


def _ideal(axes: Axes) -> None:
    axes.axvline(1, color=BLACK, linestyle=":", linewidth=0.8, label="ideal")
    axes.set_xlabel("Time over the ideal")
    axes.set_ylim(0, 102)


def progress(outcomes: Outcomes) -> Figure:
    """TCP's flows over time, and when the paper's TCP had finished."""
    figure, axes = panels(2)
    for a, name, paper in zip(axes, ("fig7_tcp", "fig8_tcp"), (1.22, 1.20), strict=True):
        o = outcomes[name]
        times = sorted({float(q.split("_at_")[1]) for _, _, q in o.values if "_at_" in q})
        over = [t / claims.ideal(o) for t in times]
        for i, (low, high) in enumerate(((0, 100), (5, 95))):
            band = [[100 * o.mean(0, "tcp", f"done_{q}_at_{t:g}") for t in times] for q in (low, high)]
            a.fill_between(over, *band, color=RED, alpha=(0.2, 0.3)[i], linewidth=0, label=("all flows", "90 % of the flows")[i])
        a.plot(over, [100 * o.mean(0, "tcp", f"done_50_at_{t:g}") for t in times], color=RED, label="half of the flows")
        a.axvline(1, color=BLACK, linestyle=":", linewidth=0.8, label="ideal")
        a.axvline(paper, color=BLACK, linestyle="--", linewidth=0.8, label="paper's TCP is done")
        a.set_xlabel("Time over the ideal")
        a.set_xlim(left=0)
        a.set_ylim(0, 102)
    axes[0].set_ylabel("Acknowledged (%)")
    letter(axes, [f"one switch, {claims.size_of(outcomes['fig7_tcp'])}", f"tree, {claims.size_of(outcomes['fig8_tcp'])}"])
    legend(figure, axes)
    return figure


def control(outcomes: Outcomes) -> Figure:
    figure, axes = panels(3)
    o = outcomes["fig2"]
    delay, deviation = ([o.mean(x, "free", f"pause_{q}us") for x in PACKETS] for q in ("", "deviation_"))
    axes[0].errorbar([x / 1000 for x in PACKETS], delay, deviation, color=BLUE, marker=MARKERS[0])
    axes[0].set_xlabel("Payload of data (kB)")
    axes[0].set_ylabel("After the pause (µs)")
    axes[0].set_ylim(bottom=0)
    for a, name, unit, shown in ((axes[1], "fig3", "load {:g}", LOADS), (axes[2], "fig4", "{:g} B", DATA)):
        o = outcomes[name]
        a.axvspan(10, 15, color=BLACK, alpha=0.1, linewidth=0, label="paper: most below")
        for i, x in enumerate(shown):
            of = [o.mean(x, "free", f"skew_us_{q}") for q in SHARES]
            a.plot(of, SHARES, color=COLORS[i % len(COLORS)], linestyle=LINES[i % len(LINES)], label=unit.format(x))
        a.set_xlabel("Difference of the times (µs)")
        a.set_ylabel("Pairs (%)")
        a.set_xlim(left=0)
        a.legend(loc="lower right", fontsize=5.5, frameon=False)
    letter(axes, ["figure 2: mean, deviation", "figure 3: 1472 B", "figure 4: load 0.5"])
    return figure


def fig7(outcomes: Outcomes) -> Figure:
    figure, axes = panels(2)
    for a, near, far, small in zip(axes, ("fig7", "fig8"), ("fig7_tcp", "fig8_tcp"), ("fig7_1500", "fig8_1500"), strict=True):
        slots, tcp = outcomes[near], outcomes[far]
        _ends(a, slots, "tdma", "end", color=BLUE, linestyle=LINES[0], label=f"TDMA, {claims.size_of(slots)}")
        _ends(a, tcp, "tcp", "end", color=RED, linestyle=LINES[1], label=f"TCP, {claims.size_of(tcp)}")
        of = outcomes[small]
        _ends(a, of, "tcp", "end", color=ORANGE, linestyle=LINES[2], label=f"TCP, {claims.size_of(of)}, 1500 B")
        _ideal(a)
        _log(a, (0.03, 0.1, 0.3, 1, 3))
    axes[0].set_ylabel("Flows that are done (%)")
    letter(axes, ["one switch", "tree"])
    legend(figure, axes)
    return figure


def fig8(outcomes: Outcomes) -> Figure:
    figure, axes = panels(2)
    for a, name, scheme in ((axes[0], "fig8", "tdma"), (axes[1], "fig8_tcp", "tcp")):
        _ends(a, outcomes[name], scheme, "inside", color=GREEN, linestyle=LINES[0], label="pairs under one switch")
        _ends(a, outcomes[name], scheme, "across", color=BLUE, linestyle=LINES[1], label="pairs across the root")
        _ideal(a)
        _log(a, (0.03, 0.1, 0.3, 1, 3))
    axes[0].set_ylabel("Flows that are done (%)")
    letter(axes, [f"TDMA, {claims.size_of(outcomes['fig8'])}", f"TCP, {claims.size_of(outcomes['fig8_tcp'])}"])
    legend(figure, axes)
    return figure


def buffers(outcomes: Outcomes) -> Figure:
    figure, axes = panels(2)
    lines = [
        (f"buffers{at}", scheme, f"{label}, {where}")
        for scheme, label in (("tdma", "TDMA"), ("tcp", "TCP"))
        for at, where in (("", "memory of an input"), ("_port", "memory of an output"))
    ]
    for i, (name, scheme, label) in enumerate(lines):
        o = outcomes[name]
        style = {"color": (BLUE, GREEN, RED, ORANGE)[i], "linestyle": LINES[i % len(LINES)], "marker": MARKERS[i], "label": label}
        axes[0].plot(o.places, [claims.ratio(o, scheme, x).mean for x in o.places], **style)
        axes[1].plot(o.places, [o.mean(x, scheme, "dropped_packets") for x in o.places], **style)
    axes[0].axhline(1.22, color=BLACK, linestyle="--", linewidth=0.8, label="paper's TCP")
    axes[0].set_yscale("log", base=2)
    axes[0].yaxis.set_major_formatter("{x:g}")
    axes[1].set_yscale("symlog", linthresh=100)
    axes[0].set_ylabel("Time over the ideal")
    axes[1].set_ylabel("Frames lost")
    for a in axes:
        a.set_xscale("log")
        a.set_xlabel("Memory (kB)")
    legend(figure, axes)
    return figure


def guard(outcomes: Outcomes) -> Figure:
    figure, axes = panels(len(GUARDS))
    for a, reaction in zip(axes, GUARDS, strict=True):
        o = outcomes[f"guard_{reaction}"]
        a.plot(o.places, [o.mean(x, "tdma", "collisions") for x in o.places], color=BLUE, marker=MARKERS[0], label="collisions")
        lost = [o.mean(x, "tdma", "dropped_packets") for x in o.places]
        a.plot(o.places, lost, color=RED, linestyle=LINES[1], marker=MARKERS[1], label="frames lost")
        a.axvline(least(reaction), color=BLACK, linestyle=":", linewidth=0.8, label="least guard by the formula")
        a.set_yscale("symlog", linthresh=1)
        a.set_ylim(bottom=-0.2)
        a.set_xlabel("Guard (µs)")
    times = ["{:g} to {:g} µs".format(*REACTIONS[r]) if REACTIONS[r][1] else "at once" for r in GUARDS]
    letter(axes, [f"hosts react {'in ' if 'to' in t else ''}{t}" for t in times])
    legend(figure, axes)
    return figure


def fig9(outcomes: Outcomes) -> Figure:
    o, baseline = outcomes["fig9"], outcomes["fig9_baseline"]
    figure, (axes,) = panels(1, 4.2)
    lines = [
        (o, "tdma", "TDMA, in its slot, kernel bypass"),
        (o, "outside", "TDMA, outside the slots, kernel bypass"),
        (baseline, "tcp", "baseline: through the kernel, empty network"),
        (o, "tcp", "through the kernel, beside TCP"),
    ]
    for i, (of, scheme, label) in enumerate(lines):
        times = [of.mean(0, scheme, f"rtt_us_{share}") for share in SHARES]
        axes.plot(times, SHARES, color=(BLUE, GREEN, ORANGE, RED)[i], linestyle=LINES[i % len(LINES)], label=label)
    axes.plot([26], [50], color=BLACK, linestyle="", marker="x", label="paper: TDMA's mean; baseline's 95 %")
    axes.plot([170], [95], color=BLACK, linestyle="", marker="x")
    _log(axes, (10, 30, 100, 300, 1000, 2000))
    axes.set_xlabel("RTT of a ping (µs)")
    axes.set_ylabel("Pings (%)")
    axes.set_ylim(0, 102)
    legend(figure, [axes], 2)
    return figure


def fig10(outcomes: Outcomes) -> Figure:
    figure, axes = panels(len(FIG10_GUARDS))
    for a, guard in zip(axes, FIG10_GUARDS, strict=True):
        o = outcomes[fig10_names(guard)[1]]
        for i, (name, label) in enumerate((("mean", "mean"), ("most", "longest"))):
            of = [o.mean(0, "tdma", f"rtt_{name}_{m}") for m in MOMENTS]
            # Shifted by 1, so that 0 fits on a logarithmic axis.
            a.plot([m + 1 for m in MOMENTS], of, color=(BLUE, RED)[i], linestyle=LINES[i], label=label)
        a.axhline(o.mean(0, "tdma", "rtt_alone"), color=BLACK, linestyle=":", linewidth=0.8, label="empty network")
        a.set_xscale("log")
        ticks = (0, 2, 5, 10, 20, 50, 100, 300)
        a.set_xticks([t + 1 for t in ticks], [f"{t:g}" for t in ticks])
        a.set_xticks([], minor=True)
        a.set_ylim(bottom=0)
        a.set_xlabel("Time from the slot's start to the ping (µs)")
    axes[0].set_ylabel("RTT of a ping (µs)")
    letter(axes, [f"a guard of {g:g} µs" if g else "no guard" for g in FIG10_GUARDS])
    legend(figure, axes)
    return figure


def fig11(outcomes: Outcomes) -> Figure:
    figure, (axes,) = panels(1, 4.2)
    lines = [
        ("fig11_ahead", "tdma", "TDMA, all blocks handed over"),
        ("fig11", "tdma", "TDMA, one block at a time"),
        ("fig11", "tcp", "TCP, one block at a time"),
    ]
    for i, (name, scheme, label) in enumerate(lines):
        o = outcomes[name]
        rates = [o.mean(x, scheme, "gbps") for x in o.places]
        axes.plot(o.places, rates, color=(BLUE, GREEN, RED)[i], linestyle=LINES[i], marker=MARKERS[i], label=label)
    axes.axvline(SLOT * 1.25, color=BLACK, linestyle=":", linewidth=0.8, label="what a slot carries")
    axes.set_xscale("log")
    axes.set_xlabel("Block (kB)")
    axes.set_ylim(0, 10.2)
    axes.set_ylabel("Throughput of a host (Gb/s)")
    legend(figure, [axes], 2)
    return figure


def fig12(outcomes: Outcomes) -> Figure:
    o = outcomes["fig12"]
    figure, axes = panels(2, sharey=True)
    quantities = {q for _, _, q in o.values if q.startswith("gbps_")}
    times = sorted(float(q.removeprefix("gbps_")) for q in quantities)
    edges = list(range(BEFORE, BEFORE + SHOWN + 1, SPAN))
    for i, (a, scheme) in enumerate(zip(axes, ("tcp", "tdma"), strict=True)):
        a.step(edges, [FAST if (e // SPAN) % 2 == 0 else SLOW for e in edges], where="post", color=BLACK, linewidth=0.6, label="capacity")
        of = [o.mean(0, scheme, f"gbps_{t:g}") for t in times]
        a.plot(times, of, color=(RED, BLUE)[i], label=("TCP", "TCP in slots")[i])
        a.set_xlim(BEFORE, BEFORE + SHOWN)
        a.set_ylim(0, 10.5)
        a.set_xlabel("Time (ms)")
    axes[0].set_ylabel("Received in 2.5 ms (Gb/s)")
    letter(axes, ["TCP", "TCP in slots"])
    legend(figure, axes)
    return figure


FIGURES: Figures = {
    "fig7": Drawing(fig7, ["fig7", "fig8", "fig7_tcp", "fig8_tcp", "fig7_1500", "fig8_1500"]),
    "fig8": Drawing(fig8, ["fig8", "fig8_tcp"]),
    "progress": Drawing(progress, ["fig7_tcp", "fig8_tcp", "fig7_tcp_seeds", "fig8_tcp_seeds"]),
    "buffers": Drawing(buffers, ["buffers", "buffers_port"]),
    "guard": Drawing(guard, [*(f"guard_{reaction}" for reaction in GUARDS), "guard_tree", "guard_cut_through", "guard_tree_cut_through"]),
    "control": Drawing(control, ["fig2", "fig3", "fig3_tree", "fig4"]),
    "fig9": Drawing(fig9, ["fig9", "fig9_alone", "fig9_baseline"]),
    "fig10": Drawing(fig10, [name for guard in FIG10_GUARDS for name in fig10_names(guard)]),
    "fig11": Drawing(fig11, ["fig11", "fig11_ahead"]),
    "fig12": Drawing(fig12, ["fig12"]),
}
