"""The figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from timeplane.studies.figures import BLACK, COLORS, LINES, MARKERS, WIDE, Drawing, Figures, legend, letter, panels

from .completion import values
from .phases import LENGTHS, POINTING
from .radio import ANTENNAS
from .table2 import COLUMNS, MACS, PHY, RATES
from .traces import TITLES, TRACES

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]
POLICIES = {"greedy": "greedy", "transit": "straggler with transit", "greedy_direct": "greedy, no transit", "straggler": "straggler, no transit"}
PACKETS = {
    "flyways": "packets",
    "often": "plans ten times as often",
    "impatient": "so often, timeouts from 10 ms",
    "trained": "beams trained over the air",
    "standard": "802.11ad-2012",
}
TREES = {"uplinks": "uplinks 1:2", "both": "uplinks and core 1:2"}


def _cdf(axes: Axes, numbers: np.ndarray, **style: Any) -> None:
    """Draws the distribution of relative completion times."""
    ordered = np.sort(numbers)
    axes.step(np.concatenate(([ordered[0]], ordered)), np.linspace(0, 100, len(ordered) + 1), where="post", **style)


def _axes(axes: list[Axes], most: float) -> None:
    for a in axes:
        a.set_xlim(0.97, most)
        a.set_ylim(0, 102)
        a.set_xlabel("Time over non-oversubscribed")
    axes[0].set_ylabel("Cases (%)")


def ctd(outcomes: Outcomes) -> Figure:
    """Completion times by number of radios, with the narrow beam."""
    figure, axes = panels(3)
    for a, trace in zip(axes, TRACES, strict=True):
        o = outcomes[trace]
        for i, x in enumerate(o.places):
            _cdf(a, values(o, x, "narrow_beam", "relative"), color=COLORS[i], linestyle=LINES[i], label=f"{x:g} radio{'s' if x > 1 else ''} a rack")
            _cdf(a, values(o, x, "narrow_beam", "bound"), color=COLORS[i], linewidth=0.6, alpha=0.7, label="what rates allow" if i == 0 else None)
        _cdf(a, values(o, 1, "narrow_beam", "wired"), color=BLACK, linestyle=":", label="wires alone")
    _axes(list(axes), 2.05)
    letter(axes, list(TITLES.values()))
    legend(figure, axes, columns=5)
    return figure


def beams(outcomes: Outcomes) -> Figure:
    """Completion times by antenna, with one radio."""
    figure, axes = panels(3)
    for a, trace in zip(axes, TRACES, strict=True):
        for i, (name, title) in enumerate(ANTENNAS.items()):
            _cdf(a, values(outcomes[trace], 1, name, "relative"), color=COLORS[i], linestyle=LINES[i], label=title)
    _axes(list(axes), 2.05)
    letter(axes, list(TITLES.values()))
    legend(figure, axes)
    return figure


def policies(outcomes: Outcomes) -> Figure:
    """Completion times by policy, with one radio."""
    figure, axes = panels(3)
    for a, trace in zip(axes, TRACES, strict=True):
        for i, (name, title) in enumerate(POLICIES.items()):
            _cdf(a, values(outcomes[f"{trace}_policies"], 1, name, "relative"), color=COLORS[i], linestyle=LINES[i], label=title)
    _axes(list(axes), 2.05)
    letter(axes, list(TITLES.values()))
    legend(figure, axes)
    return figure


def tree(outcomes: Outcomes) -> Figure:
    """Completion times with and without an oversubscribed core, with one radio and by wire only."""
    names = [trace for trace in TRACES if f"{trace}_tree" in outcomes]
    figure, axes = panels(len(names))
    for a, trace in zip(axes, names, strict=True):
        for i, (name, title) in enumerate(TREES.items()):
            o = outcomes[f"{trace}_tree"]
            _cdf(a, values(o, 1, name, "relative"), color=COLORS[i], linestyle="-", label=f"{title}, one radio")
            _cdf(a, values(o, 1, name, "wired"), color=COLORS[i], linestyle=":", label=f"{title}, wires alone")
    _axes(list(axes), 3.1)
    letter(axes, [TITLES[name] for name in names])
    legend(figure, axes, columns=2)
    return figure


def antennas(outcomes: Outcomes) -> Figure:
    """Gain by angle and rate by distance of each antenna."""
    figure, axes = panels(2)
    for i, (name, title) in enumerate(ANTENNAS.items()):
        axes[0].plot(*outcomes["antennas"].curve(name, "gain_dbi"), color=COLORS[i], linestyle=LINES[i], label=title)
        axes[1].plot(*outcomes["links"].curve(name, "gbps"), color=COLORS[i], linestyle=LINES[i], label=title)
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
    """Completion times and links, by length of a phase."""
    figure, axes = panels(2)
    o = outcomes["phases"]
    for i, name in enumerate(POINTING):
        style = {"color": COLORS[i], "linestyle": LINES[i], "marker": MARKERS[i], "label": name}
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


def table2(outcomes: Outcomes) -> Figure:
    """Goodput by MAC and rate, as bars: published, by simulated frames, by formula."""
    figure = Figure(figsize=(WIDE, 4.6))
    axes = list(figure.subplots(2, 2).flat)
    titles = []
    for a, (mac, x) in zip(axes, ((mac, x) for mac in MACS for x in RATES), strict=True):
        o, at = outcomes[f"table2_{mac}"], np.arange(len(COLUMNS))
        published = [c.published[RATES.index(x)] / 1000 if c.published and mac == "draft" else np.nan for c in COLUMNS.values()]
        frames = [o.estimate(x, name, "mbps") for name in COLUMNS]
        formula = [o.mean(x, name, "arithmetic_mbps") / 1000 for name in COLUMNS]
        a.bar(at - 0.27, published, 0.25, color=BLACK, label="published")
        errors = [0 if np.isnan(e.half) else e.half / 1000 for e in frames]
        a.bar(at, [e.mean / 1000 for e in frames], 0.25, yerr=errors, color=COLORS[0], label="frames and TCP", error_kw={"linewidth": 0.8})
        a.bar(at + 0.27, formula, 0.25, color=COLORS[5], label="arithmetic")
        a.axhline(PHY[x] / 1000, color=BLACK, linestyle=":", linewidth=0.8, label="the PHY's rate")
        a.set_xticks(at, [c.title for c in COLUMNS.values()], fontsize=6)
        a.set_xlabel("Acknowledgements by")
        a.grid(visible=False, axis="x")
        a.set_axisbelow(True)
        a.set_ylim(0, PHY[x] / 900)
        a.set_ylabel("Goodput (Gb/s)")
        titles.append(f"{MACS[mac].name}, MCS {x}")
    letter(axes, titles)
    legend(figure, axes)
    return figure


def packets(outcomes: Outcomes) -> Figure:
    """Reduction of completion times compared with wires, by length of the demand."""
    names = {"projector": "ProjecToR", "fb2010": "FB2010"}
    figure, axes = panels(len(names), height=2.9, sharey=True)
    for a, trace in zip(axes, names, strict=True):
        o = outcomes[f"packets_{trace}"]
        percent = lambda curve: (curve[0], 100 * curve[1])
        a.plot(*percent(o.curve("flyways", "fluid_shorter")), color=BLACK, linestyle=":", label="fluids")
        a.plot(*percent(o.curve("flyways", "medium_shorter")), color=BLACK, linewidth=0.6, label="what rates and medium access allow one plan")
        for i, (scheme, title) in enumerate(PACKETS.items()):
            of = [o.estimate(x, scheme, "shorter") for x in o.places]
            errors = [0 if np.isnan(e.half) else 100 * e.half for e in of]
            # Side by side, so that intervals do not overlap.
            at = np.array(o.places) * 1.04 ** (i - 2)
            style = {"color": COLORS[i], "linestyle": LINES[i], "marker": MARKERS[i], "markersize": 3.5, "linewidth": 0.9, "elinewidth": 0.7}
            a.errorbar(at, [100 * e.mean for e in of], yerr=errors, label=title, **style)
        a.set_xscale("log")
        a.set_xticks(o.places, [f"{x:g}" for x in o.places])
        a.set_xticks([], minor=True)
        a.set_xlabel("Demand takes the wires (ms)")
        # If a last flow waits for its timeout, intervals are wider than the axis.
        a.set_ylim(-5, 45)
    axes[0].set_ylabel("Shorter than by wire (%)")
    letter(axes, [f"{title}, 16 racks" for title in names.values()])
    legend(figure, axes, columns=3)
    return figure


def measured(outcomes: Outcomes) -> Figure:
    """What is left of the gain if racks have to measure their patterns first, and what a token
    leaves of a link with data in both directions.
    """
    figure, axes = panels(2)
    o = outcomes["measured"]
    for i, (scheme, title) in enumerate({"flyways": "all patterns known", "measured": "measured by racks without links"}.items()):
        of = [o.estimate(x, scheme, "shorter") for x in o.places]
        style = {"color": COLORS[i], "linestyle": LINES[i], "marker": MARKERS[i], "markersize": 3.5, "linewidth": 0.9, "elinewidth": 0.7}
        axes[0].errorbar(np.array(o.places) * 1.04 ** (i - 0.5), [100 * e.mean for e in of], yerr=[100 * e.half for e in of], label=title, **style)
    axes[0].set_xscale("log")
    axes[0].set_xticks(o.places, [f"{x:g}" for x in o.places])
    axes[0].set_xticks([], minor=True)
    axes[0].set_xlabel("Demand takes the wires (ms)")
    axes[0].set_ylabel("Shorter than by wire (%)")
    axes[0].set_ylim(0, 45)
    one, both = outcomes["table2_draft"], outcomes["two_way"]
    columns = [(one, "wire", "DCF"), (one, "no_dcf", "no DCF"), (both, "dcf", "both ways,\nDCF"), (both, "token", "both ways,\ntoken")]
    at = np.arange(len(columns))
    for k, x in enumerate(RATES):
        of = [outcome.estimate(x, column, "mbps") for outcome, column, _ in columns]
        errors = [0 if np.isnan(e.half) else 100 * e.half / PHY[x] for e in of]
        axes[1].bar(at + 0.4 * (k - 0.5), [100 * e.mean / PHY[x] for e in of], 0.38, yerr=errors, color=COLORS[2 * k], label=f"{PHY[x]:.0f} Mb/s", error_kw={"linewidth": 0.8})
    axes[1].set_xticks(at, [title for _, _, title in columns], fontsize=6)
    axes[1].set_ylabel("Of the PHY's rate (%)")
    axes[1].set_ylim(0, 100)
    letter(axes, ["FB2010, 16 racks", "one link, acknowledgements by wire"])
    legend(figure, axes, columns=3)
    return figure


FIGURES: Figures = {
    "antennas": Drawing(antennas, ["antennas", "links"]),
    "ctd": Drawing(ctd, list(TRACES)),
    "beams": Drawing(beams, list(TRACES)),
    "policies": Drawing(policies, [f"{trace}_policies" for trace in TRACES]),
    "tree": Drawing(tree, [f"{trace}_tree" for trace in TRACES if trace != "pods"]),
    "phases": Drawing(phases, ["phases"]),
    "table2": Drawing(table2, [f"table2_{mac}" for mac in MACS]),
    "measured": Drawing(measured, ["measured", "table2_draft", "two_way"]),
    "packets": Drawing(packets, ["packets_projector", "packets_fb2010"]),
}
