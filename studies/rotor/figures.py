"""The figures: those of Opera by number, others by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from timeplane.studies.figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, Drawing, Figures, legend, letter, panels

from .arithmetic import shale_slices, shale_throughput, vlb_permutation
from .claims import numbers
from .experiments import CLASSES, DIMENSIONS, EVEN_DARK, EVEN_SLICE, GRID_RACKS, PRICES, VLB_RACKS, WEB_LOADS, side

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]
#: Color, line, marker and name of a scheme.
Look = tuple[str, Any, str, str]

CELLS: Mapping[str, Look] = {
    "opera": (BLUE, "-", "o", "Opera"),
    "clos": (RED, "-", "s", "3:1 Clos"),
    "expander": (ORANGE, "--", "^", "expander, u = 7"),
    "rotor_lb": (GREEN, "-.", "D", "RotorLB alone"),
}
THEORY: Mapping[str, Look] = {
    "vlb": (RED, "-", "s", "VLB"),
    "direct": (ORANGE, "--", "^", "direct"),
    "rotor_lb": (GREEN, "-.", "D", "RotorLB"),
}
SHALE: Mapping[int, Look] = {1: (BLUE, "-", "o", "h = 1"), 2: (SKY, "--", "P", "h = 2"), 3: (PINK, ":", "v", "h = 3")}
DEMAND: Mapping[str, Look] = {
    "full": (BLACK, "-", "x", "Clos 1:1"),
    "clos": (RED, "-", "s", "Clos 3:2"),
    "expander": (ORANGE, "--", "^", "expander"),
    "opera": (BLUE, "-", "o", "Opera"),
    "rotornet": (GREEN, "-.", "D", "RotorNet"),
    "vlb": (SKY, ":", "P", "VLB"),
    "reactor": (PINK, "-", "v", "REACToR"),
}
TUNING: Mapping[str, Look] = {
    "full": (BLACK, "-", "x", "NDP, window 20"),
    "window_30": (BLUE, "--", "o", "NDP, window 30, queue 45"),
    "window_10": (SKY, ":", "P", "NDP, window 10"),
    "dctcp": (RED, "-.", "s", "DCTCP"),
}


def looks(of: Look) -> dict[str, Any]:
    """Keyword arguments for ``plot``."""
    color, line, marker, name = of
    return {"color": color, "linestyle": line, "marker": marker, "label": name}


def curve(axes: Axes, outcome: Outcome, scheme: str, quantity: str, look: Look, factor: float = 1.0) -> None:
    """Draws means over the axis."""
    x, y = outcome.curve(scheme, quantity)
    if len(x):
        axes.plot(x, y * factor, **looks(look))


def plain(axes: Axes, which: str = "y") -> None:
    """A logarithmic axis with plain numbers."""
    for name in which:
        getattr(axes, f"set_{name}scale")("log")
        axis = getattr(axes, f"{name}axis")
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        axis.set_minor_formatter(NullFormatter())


def fig7(outcomes: Outcomes) -> Figure:
    """Median and 99th percentile by size: ours, and the published ones of Opera."""
    figure, axes = panels(4, height=2.8, sharey=True)
    at = np.arange(len(CLASSES))
    for a, (load, share) in zip(axes, [(1, 50), (1, 99), (10, 50), (10, 99)], strict=True):
        names = ["cells_1", "cells_lb"] if load == 1 else ["cells_10", "cells_10_clos", "cells_10_expander"]
        schemes = [(outcomes[name], scheme) for name in names for scheme in outcomes[name].experiment.schemes]
        for i, (outcome, scheme) in enumerate(schemes):
            times = [outcome.mean(0, scheme, f"p{share} {name}") for name in CLASSES]
            # Markers of two schemes do not hide each other.
            a.plot(at + 0.12 * (i - 1), times, **looks(CELLS[scheme]) | {"linestyle": "none", "markersize": 4})
        said = [numbers(f"cell_{load}_{i}_p{share}")[0] for i in range(len(CLASSES))]
        a.plot(at - 0.12, said, color=BLACK, marker="_", markersize=9, linestyle="none", label="Opera, published")
        if (load, share) == (1, 50):
            a.plot([0.0], numbers("rotor_lb"), color=BLACK, marker="|", markersize=9, linestyle="none", label="RotorLB, published")
        a.set_xticks(at, ["<10 kB", "<100 kB", "<1 MB", "<15 MB"], fontsize=5.5)
        plain(a)
    axes[0].set_ylabel("Completion time (ms)")
    letter(axes, [f"{load} %, {'median' if share == 50 else '99th percentile'}" for load, share in [(1, 50), (1, 99), (10, 50), (10, 99)]])
    legend(figure, axes, 3)
    return figure


def over_time(outcome: Outcome, scheme: str) -> tuple[np.ndarray, np.ndarray]:
    """Throughput by time (ms)."""
    of = {
        float(q.removeprefix("throughput_")): outcome.peek(x, c, q).mean
        for x, c, q in outcome.keys
        if c == scheme and q.startswith("throughput_")
    }
    return np.array(sorted(of)), np.array([of[t] for t in sorted(of)])


def fig8(outcomes: Outcomes) -> Figure:
    """The shuffle over time, and beside web search by its load (figure 10)."""
    figure, axes = panels(2, height=2.4)
    axes[0].plot(*over_time(outcomes["shuffle"], "opera"), **looks(CELLS["opera"]) | {"marker": None})
    for scheme in ("clos", "expander"):
        axes[0].plot(*over_time(outcomes["shuffle_static"], scheme), **looks(CELLS[scheme]) | {"marker": None})
    for scheme, name in (("opera", "shuffle_peak"), ("clos", "shuffle_clos"), ("expander", "shuffle_expander")):
        axes[0].axhline(numbers(name)[0], color=CELLS[scheme][0], linewidth=0.8, linestyle=":", label=f"{CELLS[scheme][3]}, published")
    axes[0].set_xlabel("Time (ms)")
    axes[0].set_ylabel("Throughput (share of the links)")
    curve(axes[1], outcomes["mixed"], "opera", "peak", CELLS["opera"])
    said = [numbers(f"mixed_{load:g}")[0] for load in WEB_LOADS]
    axes[1].plot(WEB_LOADS, said, color=BLACK, marker="_", markersize=9, linestyle="none", label="Opera, published, by load")
    axes[1].set_xlabel("Load of web search")
    for a in axes:
        a.set_ylim(0, 1.02)
        a.set_xlim(left=0)
    letter(axes, ["100 kB between all hosts", "beside web search"])
    legend(figure, axes)
    return figure


def theory(outcomes: Outcomes) -> Figure:
    """What oblivious routings carry, and how long Shale takes."""
    figure, axes = panels(4, height=2.4)
    limits = [("permutation", vlb_permutation(VLB_RACKS)), ("all_to_all", 1 - EVEN_DARK / EVEN_SLICE)]
    for a, (name, limit) in zip(axes, limits, strict=False):
        for scheme in outcomes[name].experiment.schemes:
            curve(a, outcomes[name], scheme, "carried", THEORY[scheme])
        a.axhline(limit, color="0.5", linewidth=0.8)
    for h in DIMENSIONS:
        curve(axes[2], outcomes[f"shale_{h}"], "shale", "carried", SHALE[h])
        axes[2].axhline(shale_throughput(side(h), h), color=SHALE[h][0], linewidth=0.6, alpha=0.5)
    for a in axes[:3]:
        a.set_xlabel("Offered load")
        a.set_xlim(left=0)
        a.set_ylim(bottom=0)
    axes[0].set_ylabel("Carried (share of the links)")
    at = np.array(DIMENSIONS)
    lowest = {h: min(outcomes[f"shale_{h}"].places) for h in DIMENSIONS}
    of = lambda q: [outcomes[f"shale_{h}"].mean(lowest[h], "shale", f"slices_{q}") for h in DIMENSIONS]
    axes[3].plot(at, of("max"), color=BLUE, marker="s", linestyle="none", label="longest")
    axes[3].plot(at, of("mean"), color=BLUE, marker="o", linestyle="none", label="mean")
    bounds = [shale_slices(side(h), h) for h in DIMENSIONS]
    for i in (0, 1):
        axes[3].plot(at, [b[i] for b in bounds], color="0.5", linewidth=0.8, label="of all cases" if i else None)
    axes[3].plot(at, [h * GRID_RACKS ** (1 / h) for h in DIMENSIONS], color=BLACK, marker="_", linestyle=":", label="h N^(1/h)")
    axes[3].set_xticks(at)
    axes[3].set_xlabel("Dimensions h")
    axes[3].set_ylabel("Slices")
    axes[3].set_ylim(bottom=0)
    letter(axes, ["a permutation", "all to all", "Shale, 64 racks", "empty network"])
    legend(figure, axes, 5)
    return figure


DEMANDS: Sequence[tuple[str, str, str]] = [
    ("demand_fb2010", "coflow_mean_ms", "FB2010, mean of coflows"),
    ("demand_projector", "short_p99_ms", "ProjecToR, short, 99th pct."),
    ("demand_projector", "large_p50_ms", "ProjecToR, large, median"),
]


def demand(outcomes: Outcomes) -> Figure:
    """One demand for all networks; names have the prices."""
    figure, axes = panels(3, height=2.7)
    for a, (name, quantity, _) in zip(axes, DEMANDS, strict=True):
        for scheme in outcomes[name].experiment.schemes:
            color, line, marker, label = DEMAND[scheme]
            curve(a, outcomes[name], scheme, quantity, (color, line, marker, f"{label} ({PRICES[scheme]:.2f})"))
        plain(a)
        a.set_xlabel("Load of the busiest rack")
        a.set_xlim(0.15, 0.85)
    axes[0].set_ylabel("Completion time (ms)")
    letter(axes, [title for _, _, title in DEMANDS])
    legend(figure, axes)
    return figure


def tuning(outcomes: Outcomes) -> Figure:
    """The plain network with other transports."""
    figure, axes = panels(2, height=2.3)
    for a, quantity in zip(axes, ("short_p99_ms", "large_p50_ms"), strict=True):
        for scheme, look in TUNING.items():
            curve(a, outcomes["tuning"], scheme, quantity, look)
        a.set_ylim(bottom=0)
        a.set_xticks(outcomes["tuning"].places)
        a.set_xlabel("Load of the busiest rack")
    axes[0].set_ylabel("Completion time (ms)")
    letter(axes, ["up to 100 kB, 99th percentile", "from 1 MB, median"])
    legend(figure, axes)
    return figure


FIGURES: Figures = {
    "fig7": Drawing(fig7, ["cells_1", "cells_lb", "cells_10", "cells_10_clos", "cells_10_expander"]),
    "fig8": Drawing(fig8, ["shuffle", "shuffle_static", "mixed"]),
    "theory": Drawing(theory, ["permutation", "all_to_all", *(f"shale_{h}" for h in DIMENSIONS)]),
    "demand": Drawing(demand, ["demand_fb2010", "demand_projector"]),
    "tuning": Drawing(tuning, ["tuning"]),
}
