"""The figures, by the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from timeplane.studies.figures import BLACK, BLUE, COLORS, GREEN, LINES, MARKERS, RED, SKY, WIDE, Drawing, Figures, legend, letter, panels

from . import claims, measures
from .arithmetic import TABLE1
from .experiments import FIG8_AT, HOSTS, PERIOD
from .workloads import US

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]


def _served(outcome: Outcome, scheme: str) -> tuple[np.ndarray, np.ndarray]:
    x, _ = outcome.curve(scheme, "goodput")
    return x, np.array([100 * claims.served(outcome, v, scheme) for v in x])


def table1(_: Outcomes) -> Figure:
    """Bars from the smallest to the largest number of transceivers."""
    figure, (axes,) = panels(1, 4.2, 1.9)
    names = [f"{n.name}, {n.rate}" for n in TABLE1]
    axes.barh(names, [n.most for n in TABLE1], color=SKY, label="at most: all wires optical")
    axes.barh(names, [n.least for n in TABLE1], color=BLUE, label="at least")
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("Transceivers per upward port of a rack")
    legend(figure, [axes], 2)
    return figure


def fig6(outcomes: Outcomes) -> Figure:
    figure, axes = panels(3)
    for a, name in zip(axes, ("fig6_small", "fig6_large"), strict=False):
        o = outcomes[name]
        pauses = claims.pauses(o.experiment)
        for i, (kind, label) in enumerate((("data", "data paused"), ("both", "data and ACKs paused"))):
            y = [100 * claims.tcp_share(o, kind, p, name == "fig6_large").mean for p in pauses]
            a.plot([p / 1000 for p in pauses], y, color=(BLUE, RED)[i], linestyle=LINES[i], marker=MARKERS[i], label=label)
        a.set_xlabel("Pause (ms)")
        a.set_ylim(0, 105)
    axes[0].set_ylabel("TCP over raw frames (%)")
    for name, color, line, marker, label in (
        ("fig6_loss", GREEN, LINES[2], MARKERS[2], "paused for 1 ms"),
        ("fig6_unpaused", BLACK, LINES[3], MARKERS[3], "never paused"),
    ):
        points = claims.loss_shares(outcomes[name])
        losses = [100 * x for x, _ in points]
        of = [share.times(100) for _, share in points]
        axes[2].plot(losses, [r.mean for r in of], color=color, linestyle=line, marker=marker, label=label)
        if all(r.known for r in of):
            axes[2].fill_between(losses, [r.low for r in of], [r.high for r in of], color=color, alpha=0.2, linewidth=0)
    axes[2].set_xscale("symlog", linthresh=min(x for x in losses if x > 0))
    axes[2].set_xlabel("Frames lost (%)")
    axes[2].set_ylim(0, 105)
    letter(axes, ["flows of 1 MB", "flows without an end", "random loss"])
    legend(figure, axes)
    return figure


def fig7(outcomes: Outcomes) -> Figure:
    o = outcomes["fig7"]
    figure, (axes,) = panels(1, 3.33)
    x = np.arange(HOSTS - 1)
    for i, (scheme, label) in enumerate((("no_limits", "no limits"), ("limits", "1 Gb/s kept for packets"))):
        y = [claims.steady(o, scheme, f"received_{h}_by_7") * 8 / 1e9 for h in x]
        axes.bar(x + 0.4 * (i - 0.5), y, 0.38, color=(SKY, BLUE)[i], label=f"{label}: {sum(y):.2f} Gb/s")
    axes.axhline(8.1 / 7, color=BLACK, linestyle=":", label="8.1 Gb/s in seven shares")
    axes.set_xlabel("From host")
    axes.set_ylabel("TCP goodput at host 7 (Gb/s)")
    axes.grid(axis="x", visible=False)
    legend(figure, [axes], 1)
    return figure


def fig8(outcomes: Outcomes) -> Figure:
    trace = outcomes["fig8"].traces["reactor"]
    begin = FIG8_AT - 750 * US
    figure, (axes,) = panels(1, WIDE, 2.0)
    for source in range(HOSTS - 1):
        at = (trace["time"][trace["source"] == source] - begin) / US
        at = at[(at > -PERIOD) & (at < 2 * PERIOD)]
        axes.plot(at, np.full(len(at), source), "|", color=BLUE if source < 4 else RED, markersize=7, markeredgewidth=0.4)
    axes.axvline(750, color=BLACK, linestyle="--", linewidth=0.8)
    axes.annotate("workload changes", (750, 7), ha="center", fontsize=7, annotation_clip=False)
    for edge in (-PERIOD, 0, PERIOD, 2 * PERIOD):
        axes.axvline(edge, color=BLACK, linestyle=":", linewidth=0.8)
    axes.set_ylim(-0.6, 6.8)
    axes.set_yticks(range(7))
    axes.set_xlabel("Time from the begin of a period (us)")
    axes.set_ylabel("Packets at host 7\nfrom host")
    axes.grid(axis="x", visible=False)
    return figure


def fig9(outcomes: Outcomes) -> Figure:
    o = outcomes["fig9"]
    edges, rates = measures.growth(o.traces["reactor"], o.experiment.window)
    figure, (axes,) = panels(1, WIDE, 2.0)
    time = edges / 1e9
    for i, rate in enumerate(rates):
        axes.stairs(rate, time, color=COLORS[i % len(COLORS)], linestyle=LINES[i % len(LINES)], label=f"from host {6 - i}", linewidth=1.0)
    axes.set_yscale("symlog", linthresh=0.1, linscale=0.3)
    axes.set_yticks([0, 0.1, 1, 10], ["0", "0.1", "1", "10"])
    axes.set_xlabel("Time (ms)")
    axes.set_ylabel("Goodput at host 7 (Gb/s)")
    legend(figure, [axes], 7)
    return figure


def fig10(outcomes: Outcomes) -> Figure:
    figure, (axes,) = panels(1, 3.33, 2.6)
    for name, scheme, color, line, marker, label in (
        ("fig10_20", "reactor", GREEN, LINES[2], MARKERS[2], "REACToR 100:20"),
        ("fig10", "reactor", BLUE, LINES[0], MARKERS[0], "REACToR 100:10"),
        ("fig10", "circuits", RED, LINES[1], MARKERS[1], "circuits only"),
    ):
        x, y = _served(outcomes[name], scheme)
        axes.plot(x, y, color=color, linestyle=line, marker=marker, label=label)
    low = min(outcomes["fig10"].places)
    x = np.concatenate([np.linspace(low, 99.999, 400)])
    axes.plot(x, [100 * claims.pure_limit("fig10", v) for v in x], color=BLACK, linestyle=":", linewidth=0.8, label="formula")
    axes.set_ylim(65, 101.5)
    axes.set_xlabel("Large flow (% of the link)")
    axes.set_ylabel("Goodput (% of demand)")
    legend(figure, [axes], 2)
    return figure


def fig11(outcomes: Outcomes) -> Figure:
    figure, (axes,) = panels(1, 3.33, 2.6)
    o = outcomes["fig11"]
    for scheme, color, line, marker, label in (
        ("reactor", BLUE, LINES[0], MARKERS[0], "REACToR 100:10"),
        ("circuits", RED, LINES[1], MARKERS[1], "circuits only"),
    ):
        x, y = _served(o, scheme)
        axes.plot(x, y, color=color, linestyle=line, marker=marker, label=label)
    x = np.arange(1, max(o.places) + 1)
    axes.plot(x, [100 * claims.pure_limit("fig11", v) for v in x], color=BLACK, linestyle=":", linewidth=0.8, label="formula")
    axes.set_ylim(0, 104)
    axes.set_xlabel("Small flows")
    axes.set_ylabel("Goodput (% of demand)")
    legend(figure, [axes], 3)
    return figure


FIGURES: Figures = {
    "table1": Drawing(table1, []),
    "fig6": Drawing(fig6, ["fig6_small", "fig6_large", "fig6_loss", "fig6_unpaused"]),
    "fig7": Drawing(fig7, ["fig7"]),
    "fig8": Drawing(fig8, ["fig8"]),
    "fig9": Drawing(fig9, ["fig9"]),
    # Runs without limits have no figure; the comparison has a row with their losses.
    "fig10": Drawing(fig10, ["fig10", "fig10_20", "limits", "limits95"]),
    "fig11": Drawing(fig11, ["fig11"]),
}
