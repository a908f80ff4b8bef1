"""The figures: those of the papers by number, others by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

import timeplane as tp
from timeplane.studies.figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, Drawing, Figures, legend, letter, panels

from . import measures
from .claims import PUBLISHED
from .experiments import THRESHOLDS

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]
#: Color, line, marker and name of a scheme.
Look = tuple[str, Any, str, str]
#: Ratio of the largest to the smallest number from which an axis is logarithmic.
SPREAD = 8

QUEUES: Mapping[str, Look] = {
    "tcp": (RED, "-", "s", "TCP of 2010"),
    "dctcp": (BLUE, "-", "o", "DCTCP, K = 20"),
    "dctcp_k5": (SKY, "-.", "^", "DCTCP, K = 5"),
    "tcp_today": (ORANGE, "--", "D", "CUBIC, hosts of today"),
    "dctcp_today": (GREEN, ":", "v", "DCTCP, hosts of today"),
    "tcp_open": (BLACK, "--", "x", "TCP, open window"),
    "dctcp_open": (PINK, "-.", "P", "DCTCP, open window"),
}
INCASTS: Mapping[str, Look] = {
    "tcp_300": (RED, "-", "s", "TCP, 300 ms"),
    "tcp_200": (PINK, "--", "D", "TCP, 200 ms"),
    "tcp_10": (ORANGE, "-", "^", "TCP, 10 ms"),
    "tcp_rack": (ORANGE, ":", "*", "TCP, 10 ms, RACK"),
    "dctcp_300": (SKY, "-", "v", "DCTCP, 300 ms"),
    "dctcp_10": (BLUE, "--", "o", "DCTCP, 10 ms"),
    "cubic_today": (BLACK, ":", "x", "CUBIC, hosts of today"),
    "dctcp_today": (GREEN, ":", "P", "DCTCP, hosts of today"),
}
SHARED: Mapping[str, Look] = {
    "tcp_open": (RED, "-", "s", "TCP, open window"),
    "tcp_10": (ORANGE, "--", "^", "TCP, new connections"),
    "dctcp_open": (SKY, "-", "v", "DCTCP, open window"),
    "dctcp_10": (BLUE, ":", "o", "DCTCP, new connections"),
}
PATHS: Mapping[str, Look] = {
    "ecmp": (RED, "-", "s", "ECMP"),
    "spraying": (BLUE, "-", "o", "spraying"),
    "ecmp_rfc": (ORANGE, ":", "D", "ECMP, three duplicates"),
    "spraying_rfc": (SKY, "-.", "^", "spraying, three duplicates"),
}
MARKS: Mapping[str, Look] = {
    "k20": (BLUE, "-", "o", "K = 20 kB"),
    "k40": (SKY, "--", "^", "K = 40 kB"),
    "k65": (GREEN, "-.", "D", "K = 65 kB"),
    "k150": (ORANGE, ":", "v", "K = 150 kB"),
    "handshake": (PINK, "--", "P", "K = 20 kB, handshake"),
    "fifo": (RED, "-", "s", "FIFO hosts, preset rfc, K = 40 kB"),
    "fifo_handshake": (BLACK, ":", "x", "the same, handshake"),
}


def looks(of: Look) -> dict[str, Any]:
    """Keyword arguments for ``plot``."""
    color, line, marker, name = of
    return {"color": color, "linestyle": line, "marker": marker, "label": name}


def curve(axes: Axes, outcome: Outcome, scheme: str, quantity: str, look: Look, factor: float = 1.0) -> None:
    """Draws means over the axis with their intervals."""
    points = [(x, outcome.estimate(x, scheme, quantity)) for x in outcome.places]
    points = [(x, e) for x, e in points if e.n]
    if not points:
        return
    x = np.array([p[0] for p in points])
    mean, half = (np.array([getattr(p[1], name) for p in points]) * factor for name in ("mean", "half"))
    axes.plot(x, mean, **looks(look))
    # An interval of two seeds would be wider than the figure.
    if min(e.n for _, e in points) > 2:
        axes.fill_between(x, mean - half, mean + half, color=look[0], alpha=0.2, linewidth=0)


def cdf(axes: Axes, values: np.ndarray, look: Look) -> None:
    """Draws the distribution of samples."""
    axes.step(np.sort(values), (1 + np.arange(len(values))) / len(values), where="post", **looks(look) | {"marker": None})
    axes.set_ylim(0, 1.02)
    axes.set_ylabel("CDF")


def samples(outcome: Outcome, scheme: str, x: float, of: Callable[[tp.Run], np.ndarray]) -> np.ndarray:
    """Samples of all seeds of a scheme at a place of the axis."""
    assert outcome.results is not None
    place = outcome.experiment.place
    runs = [r for r in outcome.results.runs if r.scheme_name == scheme and place(r.point, r.seed)[0] == x]
    return np.concatenate([of(run) for run in runs])


def size_axis(axes: Axes) -> None:
    """Sets a logarithmic axis with plain numbers, or a linear one where all are of one size."""
    if axes.dataLim.y1 < SPREAD * axes.dataLim.y0:
        axes.set_ylim(bottom=0)
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def fig13(outcomes: Outcomes) -> Figure:
    """Queues, and short transfers beside them (figure 21)."""
    figure, axes = panels(3)
    for a, x in zip(axes, (2, 20), strict=False):
        for scheme in outcomes["queue"].experiment.schemes:
            cdf(a, samples(outcomes["queue"], scheme, x, measures.port), QUEUES[scheme])
        a.set_xlabel("Queue (packets)")
        a.set_xlim(0, 500)
    for scheme in outcomes["short"].experiment.schemes:
        cdf(axes[2], samples(outcomes["short"], scheme, 2, measures.chunks), QUEUES[scheme])
    axes[2].set_xlabel("Completion time (ms)")
    axes[2].set_xlim(0, 35)
    letter(axes, ["2 flows", "20 flows", "20 kB beside 2 flows"])
    legend(figure, axes)
    return figure


def fig18(outcomes: Outcomes) -> Figure:
    """Incast with static buffers."""
    figure, axes = panels(3, height=2.5)
    for scheme, look in INCASTS.items():
        curve(axes[0], outcomes["incast"], scheme, "qct_mean_ms", look)
        curve(axes[1], outcomes["incast"], scheme, "with_timeout", look, 100)
    for scheme in outcomes["incast_100kB"].experiment.schemes:
        curve(axes[2], outcomes["incast_100kB"], scheme, "with_timeout", INCASTS[scheme], 100)
    incast_axes(axes, 1)
    letter(axes, ["100 packets of 1500 B", "100 packets of 1500 B", "100 kB"])
    legend(figure, axes)
    return figure


def fig19(outcomes: Outcomes) -> Figure:
    """Incast with a shared buffer."""
    figure, axes = panels(2, height=2.3)
    for scheme, look in SHARED.items():
        curve(axes[0], outcomes["incast_shared"], scheme, "qct_mean_ms", look)
        curve(axes[1], outcomes["incast_shared"], scheme, "with_timeout", look, 100)
    incast_axes(axes, 1)
    letter(axes, ["4 MB, shared", "4 MB, shared"])
    legend(figure, axes)
    return figure


def incast_axes(axes: Sequence[Axes], times: int) -> None:
    """Labels axes, the first ``times`` of completion times and the others of timeouts."""
    for a in axes[:times]:
        size_axis(a)
        a.set_ylabel("Mean time of a query (ms)")
    for a in axes[times:]:
        a.set_ylabel("With a timeout (%)")
        a.set_ylim(-3, 103)
    for a in axes:
        a.set_xlabel("Servers")
        a.set_xlim(0, 41)


def loads(outcome: Outcome, marks: Mapping[str, Look], quantities: Sequence[tuple[str, str, str]]) -> Figure:
    """Draws a panel per quantity (name, label of the axis, title) over load."""
    figure, axes = panels(len(quantities))
    for a, (quantity, label, _) in zip(axes, quantities, strict=True):
        for scheme, look in marks.items():
            if scheme in outcome.experiment.schemes:
                curve(a, outcome, scheme, quantity, look)
        if quantity == "short_mean":
            a.axhspan(*PUBLISHED, color="0.88", zorder=0, label="published")
        size_axis(a)
        a.set_xlabel("Load")
        a.set_ylabel(label)
    letter(axes, [title for _, _, title in quantities])
    legend(figure, axes)
    return figure


SLOWDOWNS = [
    ("short_mean", "Mean slowdown", "up to 100 kB"),
    ("short_p99", "99th percentile", "up to 100 kB"),
    ("long_mean", "Mean slowdown", "above 10 MB"),
]


def websearch(outcomes: Outcomes) -> Figure:
    """DCTCP on the network of pFabric."""
    return loads(outcomes["websearch"], PATHS, SLOWDOWNS)


def marking(outcomes: Outcomes) -> Figure:
    """Thresholds for marking, and hosts, on our own network."""
    return loads(outcomes["marking"], MARKS, SLOWDOWNS)


def thresholds(outcomes: Outcomes) -> Figure:
    """What a threshold costs short and long flows."""
    outcome = outcomes["marking"]
    figure, axes = panels(2)
    for a, quantity in zip(axes, ("short_mean", "long_mean"), strict=True):
        for x, color, line, marker in zip(outcome.places, (GREEN, BLUE, RED), ("-.", "--", "-"), ("^", "o", "s"), strict=False):
            of = [outcome.estimate(x, scheme, quantity) for scheme in THRESHOLDS]
            half = [e.half if e.n > 2 else 0.0 for e in of]
            a.errorbar(
                list(THRESHOLDS.values()), [e.mean for e in of], half, color=color, linestyle=line, marker=marker, capsize=2, label=f"load {x:g}"
            )
        a.set_ylim(bottom=0)
        a.set_xlabel("Threshold K (kB)")
        a.set_ylabel("Mean slowdown")
    letter(axes, ["up to 100 kB", "above 10 MB"])
    legend(figure, axes)
    return figure


def spraying(outcomes: Outcomes) -> Figure:
    """A permutation's flows by rank, without and with a failed link."""
    figure, axes = panels(2, height=2.3)
    for a, name in zip(axes, ("spraying", "spraying_failed"), strict=True):
        outcome = outcomes[name]
        x = outcome.places[0]
        assert outcome.results is not None
        summary = {str(key): float(t) for key, t in zip(outcome.results.summary["run"], outcome.results.summary["simulated_ps"], strict=True)}
        for scheme in outcome.experiment.schemes:
            shares = 100 * samples(outcome, scheme, x, lambda run, ends=summary: measures.goodputs(run, ends[run.key]))
            a.plot(np.arange(len(shares)) / len(shares) * 100, np.sort(shares), **looks(PATHS[scheme]) | {"marker": None})
        a.set_xlabel("Rank of the flow (%)")
        a.set_ylabel("Goodput (% of a full link)")
        a.set_xlim(0, 100)
        a.set_ylim(0, 102)
    letter(axes, ["all links", "a failed core link"])
    legend(figure, axes)
    return figure


FIGURES: Figures = {
    "fig13": Drawing(fig13, ["queue", "short"]),
    "fig18": Drawing(fig18, ["incast", "incast_100kB"]),
    "fig19": Drawing(fig19, ["incast_shared"]),
    "websearch": Drawing(websearch, ["websearch"]),
    "spraying": Drawing(spraying, ["spraying", "spraying_failed"]),
    "marking": Drawing(marking, ["marking"]),
    "thresholds": Drawing(thresholds, ["marking"]),
}
