"""The figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from timeplane.studies.figures import BLACK, COLOURS, LINES, MARKERS, Drawing, Figures, legend, letter, panels

from .completion import values
from .phases import LENGTHS, POINTING
from .radio import ANTENNAS
from .traces import TITLES, TRACES

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]
POLICIES = {"greedy": "greedy", "transit": "straggler with transit", "greedy_direct": "greedy, no transit", "straggler": "straggler, no transit"}
TREES = {"uplinks": "uplinks 1:2", "both": "uplinks and core 1:2"}


def _cdf(axes: Axes, numbers: np.ndarray, **style: Any) -> None:
    """Shares of cases at most so slow."""
    ordered = np.sort(numbers)
    axes.step(np.concatenate(([ordered[0]], ordered)), np.linspace(0, 100, len(ordered) + 1), where="post", **style)


def _axes(axes: list[Axes], most: float) -> None:
    for a in axes:
        a.set_xlim(0.97, most)
        a.set_ylim(0, 102)
        a.set_xlabel("Time over non-oversubscribed")
    axes[0].set_ylabel("Cases (%)")


def ctd(outcomes: Outcomes) -> Figure:
    """By radios, narrow beam."""
    figure, axes = panels(3)
    for a, trace in zip(axes, TRACES, strict=True):
        o = outcomes[trace]
        for i, x in enumerate(o.places):
            _cdf(a, values(o, x, "narrow_beam", "relative"), color=COLOURS[i], linestyle=LINES[i], label=f"{x:g} radio{'s' if x > 1 else ''} a rack")
            _cdf(a, values(o, x, "narrow_beam", "bound"), color=COLOURS[i], linewidth=0.6, alpha=0.7, label="what rates allow" if i == 0 else None)
        _cdf(a, values(o, 1, "narrow_beam", "wired"), color=BLACK, linestyle=":", label="wires alone")
    _axes(list(axes), 2.05)
    letter(axes, list(TITLES.values()))
    legend(figure, axes, columns=5)
    return figure


def beams(outcomes: Outcomes) -> Figure:
    """By antenna, one radio."""
    figure, axes = panels(3)
    for a, trace in zip(axes, TRACES, strict=True):
        for i, (name, title) in enumerate(ANTENNAS.items()):
            _cdf(a, values(outcomes[trace], 1, name, "relative"), color=COLOURS[i], linestyle=LINES[i], label=title)
    _axes(list(axes), 2.05)
    letter(axes, list(TITLES.values()))
    legend(figure, axes)
    return figure


def policies(outcomes: Outcomes) -> Figure:
    """By policy, one radio."""
    figure, axes = panels(3)
    for a, trace in zip(axes, TRACES, strict=True):
        for i, (name, title) in enumerate(POLICIES.items()):
            _cdf(a, values(outcomes[f"{trace}_policies"], 1, name, "relative"), color=COLOURS[i], linestyle=LINES[i], label=title)
    _axes(list(axes), 2.05)
    letter(axes, list(TITLES.values()))
    legend(figure, axes)
    return figure


def tree(outcomes: Outcomes) -> Figure:
    """With an oversubscribed core and without, one radio and by wire alone."""
    names = [trace for trace in TRACES if f"{trace}_tree" in outcomes]
    figure, axes = panels(len(names))
    for a, trace in zip(axes, names, strict=True):
        for i, (name, title) in enumerate(TREES.items()):
            o = outcomes[f"{trace}_tree"]
            _cdf(a, values(o, 1, name, "relative"), color=COLOURS[i], linestyle="-", label=f"{title}, one radio")
            _cdf(a, values(o, 1, name, "wired"), color=COLOURS[i], linestyle=":", label=f"{title}, wires alone")
    _axes(list(axes), 3.1)
    letter(axes, [TITLES[name] for name in names])
    legend(figure, axes, columns=2)
    return figure


def antennas(outcomes: Outcomes) -> Figure:
    """Gain over angle, rate over distance."""
    figure, axes = panels(2)
    for i, (name, title) in enumerate(ANTENNAS.items()):
        axes[0].plot(*outcomes["antennas"].curve(name, "gain_dbi"), color=COLOURS[i], linestyle=LINES[i], label=title)
        axes[1].plot(*outcomes["links"].curve(name, "gbps"), color=COLOURS[i], linestyle=LINES[i], label=title)
    axes[0].set_xlabel("Angle off the axis (degrees)")
    axes[0].set_ylabel("Gain (dBi)")
    axes[0].set_xlim(-180, 180)
    axes[0].set_xticks(range(-180, 181, 90))
    axes[1].set_xlabel("Distance (m)")
    axes[1].set_ylabel("Rate (Gb/s)")
    axes[1].set_xscale("log")
    ticks = (1, 3, 10, 30, 100, 300)
    axes[1].set_xticks(ticks, [str(t) for t in ticks])
    axes[1].set_xlim(0.5, 500)
    axes[1].set_ylim(0, 7.2)
    letter(axes, ["antennas", "links, nobody else sending"])
    legend(figure, axes)
    return figure


def phases(outcomes: Outcomes) -> Figure:
    """By length of a phase: completion, and links."""
    figure, axes = panels(2)
    o = outcomes["phases"]
    for i, name in enumerate(POINTING):
        style = {"color": COLOURS[i], "linestyle": LINES[i], "marker": MARKERS[i], "label": name}
        axes[0].plot(*o.curve(name, "relative"), **style)
        axes[1].plot(*o.curve(name, "begun"), **style)
    axes[0].plot(*o.curve(next(iter(POINTING)), "wired"), color=BLACK, linestyle=":", label="wires alone")
    for a in axes:
        a.set_xscale("log")
        a.set_xticks(LENGTHS, [f"{x:g}" for x in LENGTHS])
        a.set_xticks([], minor=True)
        a.set_xlabel("Length of a phase (ms)")
    axes[0].set_ylabel("Time over non-oversubscribed")
    axes[0].set_ylim(1, 2.05)
    axes[1].set_ylabel("Links begun in a phase")
    axes[1].set_ylim(bottom=0)
    letter(axes, ["completion", "links that are pointed anew"])
    legend(figure, axes)
    return figure


FIGURES: Figures = {
    "antennas": Drawing(antennas, ["antennas", "links"]),
    "ctd": Drawing(ctd, list(TRACES)),
    "beams": Drawing(beams, list(TRACES)),
    "policies": Drawing(policies, [f"{trace}_policies" for trace in TRACES]),
    "tree": Drawing(tree, [f"{trace}_tree" for trace in TRACES if trace != "pods"]),
    "phases": Drawing(phases, ["phases"]),
}
