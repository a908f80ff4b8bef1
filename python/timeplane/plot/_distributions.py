"""Distributions of completion times, and slowdown by flow size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from timeplane.plot._style import (
    BYTES,
    TIMES,
    axes_or_new,
    draw_curves,
    ends_of,
    largest_unit,
    log_ticks,
    look_of,
    place_legend,
    runs_by_scheme,
    statistic_of,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from timeplane.results import Results


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
    for name, runs in runs_by_scheme(results, point, schemes).items():
        for run in runs:
            rows = run.table(table)
            values, measured = rows[column].astype(float)[rows["measured"]], int(rows["measured"].sum())
            if measured:
                times.setdefault(name, []).append((np.sort(values[~np.isnan(values)]), measured))
    finite = [v for runs in times.values() for v, _ in runs if v.size]
    if not finite:
        raise ValueError(f"no measured row of the table {table} has a {column}")
    low, high = min(v[0] for v in finite), max(v[-1] for v in finite)
    unit, factor = largest_unit(TIMES, float(np.sqrt(max(low, 1.0) * high)))
    # A margin at the left shows that every line starts at 0.
    grid = np.geomspace(max(low, 1.0) / 1.05, high * 1.05, 400)
    axes = axes_or_new(axes)
    with style():
        for i, (name, samples) in enumerate(times.items()):
            # Unfinished flows are in the denominator: the line ends below 1.
            curves = np.array([np.searchsorted(v, grid, side="right") / n for v, n in samples])
            missing = sum(n - v.size for v, n in samples)
            text = f"{name} ({missing:,} unfinished)" if missing else name
            draw_curves(axes, grid / factor, curves, text, look_of(results, name), limits=(0.0, 1.0), offset=i)
        axes.set_xscale("log")
        axes.set_xlim(grid[0] / factor, grid[-1] / factor)
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(f"{label} ({unit})")
        axes.set_ylabel("CDF")
        log_ticks(axes.xaxis)
        place_legend(axes)
    return axes


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
    """Draw the slowdown of flows over flow size.

    Slowdown is the completion time relative to an empty network. ``statistic`` is a percentile or
    ``"mean"``. Sizes are divided into ``bins`` of about as many flows each, drawn at the geometric
    mean of their sizes. Unfinished flows count with the time that they have waited, as in
    summaries. The legend then calls the scheme's line a lower bound.
    """
    reduce, name = statistic_of(statistic)
    data: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    ends, bounds = ends_of(results), set()
    for scheme, runs in runs_by_scheme(results, point, schemes).items():
        for run in runs:
            flows = run.flows
            size, fct, ideal = flows["size_bytes"].astype(float), flows["fct_ps"].astype(float), flows["ideal_ps"]
            use = flows["measured"] & (ideal > 0)
            waits = np.isnan(fct)
            fct = np.where(waits, np.maximum(ends[run.key] - flows["start_ps"], 0.0), fct)
            if (waits & use).any():
                bounds.add(scheme)
            data.setdefault(scheme, []).append((size[use], fct[use] / ideal[use]))
    sizes = np.concatenate([s for runs in data.values() for s, _ in runs])
    if not sizes.size:
        raise ValueError("no flow is measured")
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, bins + 1)))
    count = max(1, len(edges) - 1)
    place = lambda s: np.clip(np.searchsorted(edges, s, side="right") - 1, 0, count - 1)
    all_bins = place(sizes)
    centers = np.array([np.exp(np.log(sizes[all_bins == b]).mean()) if (all_bins == b).any() else np.nan for b in range(count)])
    unit, factor = largest_unit(BYTES, float(np.nanmedian(centers)))
    axes = axes_or_new(axes)
    with style():
        for scheme, samples in data.items():
            curves = np.full((len(samples), count), np.nan)
            for row, (size, slowdown) in zip(curves, samples, strict=True):
                bin_of = place(size)
                for b in np.unique(bin_of):
                    row[b] = reduce(slowdown[bin_of == b])
            some = ~np.isnan(centers) & ~np.all(np.isnan(curves), axis=0)
            # No flow is faster than in an empty network.
            label = f"{scheme} (lower bound)" if scheme in bounds else scheme
            draw_curves(
                axes, centers[some] / factor, curves[:, some], label, look_of(results, scheme), limits=(1.0, np.inf), logarithmic=True
            )
        axes.set_yscale("log")
        if count > 1:
            axes.set_xscale("log")
            log_ticks(axes.xaxis)
        else:
            axes.set_xticks(centers / factor, [f"{c / factor:g}" for c in centers])
        log_ticks(axes.yaxis)
        axes.set_xlabel(f"Flow size ({unit})")
        axes.set_ylabel(f"{name} slowdown")
        place_legend(axes)
    return axes
