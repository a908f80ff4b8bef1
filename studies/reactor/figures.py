"""The figures, by the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from timeplane.studies.figures import (
    BLACK,
    BLUE,
    COLORS,
    GREEN,
    LINES,
    MARKERS,
    ORANGE,
    PINK,
    RED,
    SKY,
    WIDE,
    Drawing,
    Figures,
    legend,
    letter,
    panels,
)

from . import claims, measures
from .arithmetic import TABLE1, payload_share
from .experiments import ENDLESS, FIG8_AT, HOSTS, NEVER6, PERIOD
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
    """Points of the paper are black: 100 %, and 30 % less in slow start at 3 ms."""
    figure, axes = panels(3)
    kinds = (("data", "data paused"), ("acknowledgements", "ACKs paused"), ("both", "data and ACKs paused"))
    slow, after = outcomes["fig6_slow_start"], outcomes["fig6_steady"]
    size = int(max(slow.experiment.flows))
    for a, o, of in ((axes[0], slow, size), (axes[1], after, ENDLESS)):
        x = claims.lengths(o.experiment)
        for i, (kind, label) in enumerate(kinds):
            y = [100 * claims.paused(o, kind, p, of).mean for p in x]
            a.plot([p / 1000 for p in x], y, color=(BLUE, RED, GREEN)[i], linestyle=LINES[i], marker=MARKERS[i], label=label)
        a.axhline(100, color=BLACK, linewidth=0.6, linestyle=":", label="paper, other than ACKs at 3 ms in slow start")
        a.set_xlabel("Pause (ms)")
        a.set_ylim(0, 110)
    axes[0].plot([3], [70], color=BLACK, marker="x", linestyle="none", label="paper, ACKs at 3 ms in slow start")
    turns = outcomes["fig6_large"]
    for i, (kind, label) in enumerate((("data", "circuits in turn, data"), ("both", "circuits in turn, data and ACKs"))):
        y = [100 * claims.tcp_share(turns, kind, p, True).mean for p in claims.pauses(turns.experiment)]
        x = [p / 1000 for p in claims.pauses(turns.experiment)]
        axes[1].plot(x, y, color=(SKY, PINK)[i], linestyle=LINES[i], linewidth=0.8, label=label)
    axes[0].set_ylabel("Paused over never (%)")
    loss = outcomes["fig6_loss"]
    for closed, color, line, marker, label in (
        (1000, ORANGE, LINES[2], MARKERS[2], "data and ACKs paused for 1 ms"),
        (NEVER6, BLACK, LINES[3], MARKERS[3], "never paused"),
    ):
        points = claims.loss_shares(loss, closed)
        losses = [100 * x for x, _ in points]
        of = [share.times(100) for _, share in points]
        axes[2].plot(losses, [r.mean for r in of], color=color, linestyle=line, marker=marker, label=label)
        if all(r.known for r in of):
            axes[2].fill_between(losses, [r.low for r in of], [r.high for r in of], color=color, alpha=0.2, linewidth=0)
    axes[2].set_xscale("symlog", linthresh=min(x for x in losses if x > 0))
    axes[2].set_xlabel("Frames lost (%)")
    axes[2].set_ylabel("TCP over ideal (%)")
    axes[2].set_ylim(0, 110)
    letter(axes, [f"slow start, {size / 1e6:g} MB", "after slow start", "random loss"])
    legend(figure, axes, 3)
    return figure


def fig7(outcomes: Outcomes) -> Figure:
    figure, (axes,) = panels(1, 3.33)
    x = np.arange(HOSTS - 1)
    shown = (("fig7", "reordered", "another order each period"), ("fig7_others", "limits", "1 Gb/s kept for packets"), ("fig7_others", "by_backlog", "schedules by backlog"))
    for i, (name, scheme, label) in enumerate(shown):
        y = [claims.steady(outcomes[name], scheme, f"received_{h}_by_7") * 8 / 1e9 for h in x]
        axes.bar(x + 0.27 * (i - 1), y, 0.25, color=(BLUE, SKY, ORANGE)[i], label=f"{label}: {sum(y):.2f} Gb/s")
    axes.axhline(8.1 / 7, color=BLACK, linestyle=":", label="paper: 8.1 Gb/s in seven shares")
    axes.set_xlabel("From host")
    axes.set_ylabel("Goodput at host 7 (Gb/s)")
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
    # The paper's configurations: thirds of a period, then quarters.
    for edge in (-1000, -500, 500, 1000, 1875, 2250, 2625):
        axes.axvline(edge, color=BLACK, linestyle=":", linewidth=0.4, alpha=0.6)
    axes.set_ylim(-0.6, 6.8)
    axes.set_yticks(range(7))
    axes.set_xlabel("Time from the start of a period (µs)")
    axes.set_ylabel("Packets at host 7\nfrom host")
    axes.grid(axis="x", visible=False)
    return figure


def fig9(outcomes: Outcomes) -> Figure:
    """All periods, with the paper's equal shares of what circuits carry."""
    o = outcomes["fig9"]
    figure = Figure(figsize=(WIDE, 3.4))
    both = figure.subplots(2, 1, sharex=True)
    for axes, (scheme, title) in zip(both, (("reactor", "as planned by cover_all"), ("hysteresis", "with hysteresis")), strict=True):
        edges, rates = measures.growth(o.traces[scheme], o.experiment.window)
        time, each = edges / 1e9, (len(edges) - 1) // measures.STEPS
        for i, rate in enumerate(rates):
            axes.stairs(rate, time, color=COLORS[i % len(COLORS)], linestyle=LINES[i % len(LINES)], label=f"from host {6 - i}", linewidth=0.9)
        lit = [1.0 if k == 1 else 1 - k * 30 / PERIOD for k in range(1, measures.STEPS + 1)]
        shares = [9 * share * payload_share(1500) / k for k, share in enumerate(lit, 1)]
        axes.stairs(shares, time[::each], color=BLACK, linestyle=":", linewidth=1.0, label="paper: equal shares, and 96 Mb/s", zorder=5)
        axes.axhline(0.096 * payload_share(1500), color=BLACK, linestyle=":", linewidth=1.0)
        axes.set_yscale("symlog", linthresh=0.1, linscale=0.3)
        axes.set_yticks([0, 0.1, 1, 10], ["0", "0.1", "1", "10"])
        axes.set_title(title, fontsize=8)
    both[1].set_xlabel("Time (ms)")
    figure.supylabel("Goodput at host 7 (Gb/s)", fontsize=8)
    legend(figure, both, 4)
    return figure


def fig10(outcomes: Outcomes) -> Figure:
    figure, (axes,) = panels(1, 3.33, 2.6)
    for name, scheme, color, line, marker, label in (
        ("fig10_20", "reactor", GREEN, LINES[2], MARKERS[2], "REACToR 100:20"),
        ("fig10", "reactor", BLUE, LINES[0], MARKERS[0], "REACToR 100:10"),
        ("fig10", "covered", SKY, LINES[3], MARKERS[3], "100:10, no demand left out"),
        ("fig10", "circuits", RED, LINES[1], MARKERS[1], "circuits only"),
    ):
        x, y = _served(outcomes[name], scheme)
        axes.plot(x, y, color=color, linestyle=line, marker=marker, label=label)
    low = min(outcomes["fig10"].places)
    x = np.concatenate([np.linspace(low, 99.999, 400)])
    axes.plot(x, [100 * claims.pure_limit("fig10", v) for v in x], color=BLACK, linestyle=":", linewidth=0.8, label="arithmetic")
    for packet in (0.1, 0.2):
        axes.plot(x, [100 * claims.best(v, packet).goodput for v in x], color=BLACK, linestyle=":", linewidth=0.8)
        axes.axvline(100 * (1 - packet), color=BLACK, linewidth=0.5, alpha=0.5, label="paper: 100 % from here on")
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
    # Circuits of 160 us and flows of 1 MB under circuits in turn have rows in the comparison only.
    "fig6": Drawing(fig6, ["fig6_large", "fig6_small", "fig6_slow_start", "fig6_steady", "fig6_loss", "duty"]),
    "fig7": Drawing(fig7, ["fig7", "fig7_others"]),
    "fig8": Drawing(fig8, ["fig8"]),
    "fig9": Drawing(fig9, ["fig9"]),
    # Runs without limits have no figure; the comparison has a row with their losses.
    "fig10": Drawing(fig10, ["fig10", "fig10_20", "limits", "limits95"]),
    "fig11": Drawing(fig11, ["fig11"]),
}
