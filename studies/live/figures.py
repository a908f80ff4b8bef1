"""The figures: live over simulated."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from timeplane.studies import Outcome
from timeplane.studies.figures import BLACK, BLUE, GREEN, RED, Drawing, Figures, legend, letter, panels
from timeplane.studies.scale import STATED, Range

from .claims import ratio
from .experiments import Experiment

Outcomes = Mapping[str, Outcome[Experiment]]

#: Rows of the second figure: experiment, place, scheme, quantity and label.
ROWS = (
    ("rates", 4, "rates", "completion_ms", "rates, 4 hosts: completion"),
    ("rates", 8, "rates", "completion_ms", "rates, 8 hosts: completion"),
    ("circuits", 6, "circuits", "completion_ms", "circuits: completion"),
    ("circuits", 6, "circuits", "circuit_share", "circuits: share of bytes"),
    *(
        ("proxy", 5, scheme, quantity, f"{scheme}: {name}")
        for scheme in ("cubic", "reactive", "proactive", "predicted")
        for quantity, name in (("goodput_Mbps", "goodput"), ("rtt_p50_ms", "RTT p50"), ("rtt_p99_ms", "RTT p99"))
    ),
)


def _errors(of: list[Range]) -> np.ndarray:
    return np.array([[max(r.mean - r.low, 0), max(r.high - r.mean, 0)] if r.known else [0, 0] for r in of]).T


def slots(outcomes: Outcomes) -> Figure:
    """Completion and use of slots by their length."""
    o = outcomes["slots"]
    figure, axes = panels(2, height=2.3)
    for a, quantity in zip(axes, ("completion_ms", "filled"), strict=True):
        of = [ratio(o, x, "slots", quantity) for x in o.places]
        a.axhspan(1 / STATED, STATED, color="0.9", linewidth=0, label="the same")
        a.axhline(1, color=BLACK, linewidth=0.8)
        a.errorbar(o.places, [r.mean for r in of], _errors(of), color=BLUE, marker="o", capsize=2, label="live over simulated")
        a.set_xlabel("Slot (ms)")
        a.set_ylabel("Live over simulated")
        a.set_xlim(0, max(o.places) * 1.05)
    letter(axes, ["completion", "use of slots"])
    legend(figure, axes)
    return figure


def worlds(outcomes: Outcomes) -> Figure:
    """Everything else."""
    figure, axes = panels(1, height=3.6)
    (a,) = axes
    rows = [row for row in ROWS if row[0] in outcomes]
    of = [ratio(outcomes[e], x, scheme, quantity) for e, x, scheme, quantity, _ in rows]
    colors = {"rates": BLUE, "circuits": RED, "proxy": GREEN}
    y = np.arange(len(rows))
    a.axvspan(1 / STATED, STATED, color="0.9", linewidth=0, label="the same")
    a.axvline(1, color=BLACK, linewidth=0.8)
    for name, color in colors.items():
        use = [i for i, row in enumerate(rows) if row[0] == name]
        a.errorbar([of[i].mean for i in use], y[use], xerr=_errors([of[i] for i in use]), color=color, marker="o", linestyle="none", capsize=2, label=name)
    a.set_yticks(y, [row[-1] for row in rows])
    a.invert_yaxis()
    a.set_xscale("log")
    ticks = [0.5, 0.7, 0.9, 1, 1.1, 1.4, 2]
    a.set_xticks(ticks, [f"{t:g}" for t in ticks])
    a.set_xticks([], minor=True)
    a.set_xlabel("Live over simulated")
    legend(figure, axes)
    return figure


FIGURES: Figures = {
    "slots": Drawing(slots, ["slots"]),
    "worlds": Drawing(worlds, ["rates", "circuits", "proxy"]),
}
