"""Figures for papers: columns of 3.33 inches, text of 7 to 8 pt, embedded fonts, and colors and
lines that are distinct in gray.

Each function draws into ``axes`` or creates a figure, and returns the axes. Unless stated
otherwise, lines are means over seeds, and bands are 95 % confidence intervals of these means
(Student's t) for two or more seeds.

>>> axes = tp.plot.cct_cdf(results)
>>> axes.figure.savefig("cct.pdf")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from timeplane import _core

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from timeplane.results import Results, Run

__all__ = ["STYLE", "cct_cdf", "fct_cdf", "queue_over_time", "slowdown_by_size", "style"]

#: Okabe and Ito's colors, in an order that is distinct in gray; without yellow, which is invisible
#: on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", (0, (1, 1.2)), (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 1)))

#: For ``matplotlib.rc_context``.
STYLE: Mapping[str, Any] = {
    "figure.figsize": (3.33, 2.1),
    "figure.dpi": 150,
    "savefig.dpi": 300,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.02,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "font.size": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.35,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "figure.constrained_layout.use": True,
}

_TIMES = (("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12))
_BYTES = (("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12))


def style() -> Any:
    """A context that applies :data:`STYLE`: ``with tp.plot.style(): ...``."""
    import matplotlib

    settings: Any = dict(STYLE)
    return matplotlib.rc_context(settings)


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    with style():
        return plt.subplots()[1]


def _scale(units: Sequence[tuple[str, float]], value: float) -> tuple[str, float]:
    """The largest unit in which the value is at least 1."""
    return max((u for u in units if u[1] <= max(value, 1.0)), key=lambda u: u[1])


def _runs(
    results: Results, point: Mapping[str, Any] | None, schemes: Sequence[str] | None
) -> dict[str, list[Run]]:
    """Runs of one point, by scheme."""
    wanted = {key: str(value) for key, value in (point or {}).items()}
    runs = [r for r in results.runs if all(r.point.get(k) == v for k, v in wanted.items())]
    points = list({tuple(r.point.items()): r.point for r in runs}.values())
    if len(points) > 1:
        shown = ", ".join(str(dict(p)) for p in points)
        raise ValueError(f"several points match, choose one with point=...: {shown}")
    names = list(dict.fromkeys(r.scheme_name for r in runs))
    for name in schemes or []:
        if name not in names:
            raise ValueError(f"there is no run of a scheme `{name}`; there are {', '.join(names) or 'none'}")
    groups = {name: [r for r in runs if r.scheme_name == name] for name in schemes or names}
    if not groups:
        raise ValueError("no run matches this point")
    return groups


def _looks(results: Results, name: str) -> dict[str, Any]:
    """Color, line and marker of a scheme, the same in all figures of these results."""
    i = results.schemes.index(name)
    return {
        "color": COLORS[i % len(COLORS)],
        "linestyle": LINES[i % len(LINES)],
        "marker": MARKERS[i % len(MARKERS)],
    }


def _band(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Mean of each column's known values, and half of its 95 % interval (``None`` for one row)."""
    count = np.sum(~np.isnan(curves), axis=0)
    total = np.nansum(curves, axis=0)
    mean = np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)
    if curves.shape[0] < 2:
        return mean, None
    square = np.nansum((curves - mean) ** 2, axis=0)
    error = np.sqrt(np.divide(square, (count - 1) * count, out=np.full(count.shape, np.nan), where=count > 1))
    quantiles = {n: _core.t_quantile(0.975, int(n) - 1) for n in np.unique(count) if n > 1}
    return mean, error * np.array([quantiles.get(n, np.nan) for n in count])


def _draw(
    axes: Axes,
    x: np.ndarray,
    curves: np.ndarray,
    label: str,
    looks: Mapping[str, Any],
    markers: int = 6,
    limits: tuple[float, float] | None = None,
    offset: int = 0,
    extremes: bool = False,
) -> None:
    mean, half = _band(curves)
    every = max(1, len(x) // markers)
    axes.plot(x, mean, label=label, markevery=(min(offset * every // 4, len(x) - 1), every) if len(x) > markers * 2 else None, **looks)
    if half is not None:
        low, high = (curves.min(axis=0), curves.max(axis=0)) if extremes else (mean - half, mean + half)
        if limits:
            low, high = np.clip(low, *limits), np.clip(high, *limits)
        axes.fill_between(x, low, high, color=looks["color"], alpha=0.2, linewidth=0)


def _legend(axes: Axes) -> None:
    """Place the legend above the axes, where it covers no line."""
    labels = axes.get_legend_handles_labels()[1]
    if len(labels) > 1:
        row = sum(len(label) + 7 for label in labels) <= 54
        columns = len(labels) if row else max(1, 50 // (max(map(len, labels)) + 7))
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, borderaxespad=0.2, columnspacing=1.2, handletextpad=0.5
        )


def _cdf(
    results: Results,
    table: str,
    column: str,
    label: str,
    axes: Axes | None,
    point: Mapping[str, Any] | None,
    schemes: Sequence[str] | None,
) -> Axes:
    times: dict[str, list[tuple[np.ndarray, int]]] = {}
    for name, runs in _runs(results, point, schemes).items():
        for run in runs:
            rows = run.table(table)
            values, measured = rows[column].astype(float)[rows["measured"]], int(rows["measured"].sum())
            if measured:
                times.setdefault(name, []).append((np.sort(values[~np.isnan(values)]), measured))
    finite = [v for runs in times.values() for v, _ in runs if v.size]
    if not finite:
        raise ValueError(f"no measured row of the table {table} has a {column}")
    low, high = min(v[0] for v in finite), max(v[-1] for v in finite)
    unit, factor = _scale(_TIMES, float(np.sqrt(max(low, 1.0) * high)))
    # A margin at the left shows that every line starts at 0.
    grid = np.geomspace(max(low, 1.0) / 1.05, high * 1.05, 400)
    axes = _axes(axes)
    with style():
        for i, (name, samples) in enumerate(times.items()):
            # Unfinished flows are in the denominator: the line ends below 1.
            curves = np.array([np.searchsorted(v, grid, side="right") / n for v, n in samples])
            missing = sum(n - v.size for v, n in samples)
            text = f"{name} ({missing:,} unfinished)" if missing else name
            _draw(axes, grid / factor, curves, text, _looks(results, name), limits=(0.0, 1.0), offset=i)
        axes.set_xscale("log")
        axes.set_xlim(grid[0] / factor, grid[-1] / factor)
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(f"{label} ({unit})")
        axes.set_ylabel("CDF")
        _log_ticks(axes.xaxis)
        _legend(axes)
    return axes


def _log_ticks(axis: Any) -> None:
    """Label ticks with plain numbers (0.1, 1, 10), also between powers of ten if these are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    decades = np.log10(high / low) if low > 0 else 9
    subs = (1.0,) if decades > 2 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 1 else f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


def fct_cdf(
    results: Results,
    axes: Axes | None = None,
    point: Mapping[str, Any] | None = None,
    schemes: Sequence[str] | None = None,
) -> Axes:
    """Draw the distribution of flow completion times, one line per scheme, on a logarithmic axis.

    Unfinished flows count as slower than all others. ``point`` selects a point of the sweep
    (``{"workload.poisson.load": 0.5}``), ``schemes`` the schemes to draw (default: all).
    """
    return _cdf(results, "flows", "fct_ps", "Flow completion time", axes, point, schemes)


def cct_cdf(
    results: Results,
    axes: Axes | None = None,
    point: Mapping[str, Any] | None = None,
    schemes: Sequence[str] | None = None,
) -> Axes:
    """Draw the distribution of coflow completion times; arguments as for :func:`fct_cdf`."""
    return _cdf(results, "coflows", "cct_ps", "Coflow completion time", axes, point, schemes)


def slowdown_by_size(
    results: Results,
    axes: Axes | None = None,
    point: Mapping[str, Any] | None = None,
    schemes: Sequence[str] | None = None,
    statistic: str | float = 99.0,
    bins: int = 8,
) -> Axes:
    """Draw the slowdown of finished flows over flow size.

    Slowdown is the completion time relative to an empty network. ``statistic`` is a percentile or
    ``"mean"``. Sizes are divided into ``bins`` of about as many flows each, drawn at the geometric
    mean of their sizes.
    """
    reduce: Callable[[np.ndarray], float]
    if statistic == "mean":
        reduce, name = (lambda v: float(np.mean(v))), "Mean slowdown"
    else:
        percent = float(statistic)
        reduce, name = (lambda v: float(np.percentile(v, percent))), f"p{percent:g} slowdown"
    data: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for scheme, runs in _runs(results, point, schemes).items():
        for run in runs:
            flows = run.flows
            size, fct, ideal = flows["size_bytes"].astype(float), flows["fct_ps"].astype(float), flows["ideal_ps"]
            use = flows["measured"] & ~np.isnan(fct) & (ideal > 0)
            data.setdefault(scheme, []).append((size[use], fct[use] / ideal[use]))
    sizes = np.concatenate([s for runs in data.values() for s, _ in runs])
    if not sizes.size:
        raise ValueError("no measured flow finished")
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, bins + 1)))
    count = max(1, len(edges) - 1)
    place = lambda s: np.clip(np.searchsorted(edges, s, side="right") - 1, 0, count - 1)
    all_bins = place(sizes)
    centers = np.array([np.exp(np.log(sizes[all_bins == b]).mean()) if (all_bins == b).any() else np.nan for b in range(count)])
    unit, factor = _scale(_BYTES, float(np.nanmedian(centers)))
    axes = _axes(axes)
    with style():
        for scheme, samples in data.items():
            curves = np.full((len(samples), count), np.nan)
            for row, (size, slowdown) in zip(curves, samples, strict=True):
                bin_of = place(size)
                for b in np.unique(bin_of):
                    row[b] = reduce(slowdown[bin_of == b])
            some = ~np.isnan(centers) & ~np.all(np.isnan(curves), axis=0)
            _draw(axes, centers[some] / factor, curves[:, some], scheme, _looks(results, scheme), limits=(1e-3, np.inf))
        axes.set_yscale("log")
        if count > 1:
            axes.set_xscale("log")
            _log_ticks(axes.xaxis)
        else:
            axes.set_xticks(centers / factor, [f"{c / factor:g}" for c in centers])
        _log_ticks(axes.yaxis)
        axes.set_xlabel(f"Flow size ({unit})")
        axes.set_ylabel(name)
        _legend(axes)
    return axes


def queue_over_time(
    results: Results,
    axes: Axes | None = None,
    point: Mapping[str, Any] | None = None,
    schemes: Sequence[str] | None = None,
    link: int | None = None,
    hosts: bool = False,
    bins: int = 200,
) -> Axes:
    """Draw the queue of a link over time; without ``link``, the longest queue of all switches at
    each moment.

    ``hosts`` selects the longest queue of all hosts instead: backlog that waits for its slot there
    is not in the network. Requires ``record.queues_every``. Time is divided into ``bins``, and each
    shows its longest sample. Bands are minimum and maximum over seeds, because an interval could
    exceed a buffer.
    """
    data: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    end = 0
    for scheme, runs in _runs(results, point, schemes).items():
        for run in runs:
            queues = run.queues
            time, length = queues["time_ps"], queues["queue_bytes"]
            end = max(end, int(time.max(initial=0)))
            if link is not None:
                use = queues["link"] == link
            else:
                # A host has one outgoing link.
                nodes, links = np.unique(run.links["from"], return_counts=True)
                use = np.isin(queues["node"], nodes[links == 1]) == hosts
            data.setdefault(scheme, []).append((time[use], length[use]))
    if not end:
        raise ValueError("no queue was recorded: set record.queues_every, as in --set record.queues_every='100 us'")
    edges = np.linspace(0, end, bins + 1)
    centers = (edges[:-1] + edges[1:]) / 2
    curves: dict[str, np.ndarray] = {}
    for scheme, samples in data.items():
        curves[scheme] = np.zeros((len(samples), bins))
        for row, (time, length) in zip(curves[scheme], samples, strict=True):
            np.maximum.at(row, np.clip(np.searchsorted(edges, time, side="right") - 1, 0, bins - 1), length)
    time_unit, time_factor = _scale(_TIMES, end / 2)
    unit, factor = _scale(_BYTES, max(float(c.max()) for c in curves.values()) / 2)
    axes = _axes(axes)
    with style():
        for i, (scheme, rows) in enumerate(curves.items()):
            looks = _looks(results, scheme)
            _draw(axes, centers / time_factor, rows / factor, scheme, looks, offset=i, extremes=True)
        axes.set_xlim(0, end / time_factor)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(f"Time ({time_unit})")
        what = f"Queue of link {link}" if link is not None else f"Longest {'host' if hosts else 'switch'} queue"
        axes.set_ylabel(f"{what} ({unit})")
        _legend(axes)
    return axes
