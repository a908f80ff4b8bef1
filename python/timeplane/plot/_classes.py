"""Completion times by class of size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from timeplane.plot._style import (
    BYTES,
    TIMES,
    axes_or_new,
    band,
    ends_of,
    interval,
    largest_unit,
    log_ticks,
    look_of,
    place_legend,
    quantity,
    runs_by_scheme,
    statistic_of,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from timeplane.results import Results

#: The times of each table, and what they are.
_TIMES_OF = {"flows": ("fct_ps", "FCT"), "coflows": ("cct_ps", "CCT")}


def times_by_class(
    results: Results,
    table: Literal["flows", "coflows"] = "flows",
    edges: Sequence[str] = ("100 kB", "10 MB"),
    statistic: str | float = "mean",
    axes: Axes | None = None,
    point: Mapping[str, Any] | None = None,
    schemes: Sequence[str] | None = None,
) -> Axes:
    """Draw completion times by class of size: a group of bars per class, a bar per scheme.

    ``edges`` divide the sizes: a flow of exactly an edge is in the class below. The default classes
    are those of pFabric (SIGCOMM 2013, section 5). ``statistic`` is ``"mean"`` or a percentile.
    Unfinished flows count with the time that they have waited, as in summaries: a hatched bar is a
    lower bound. The axis is logarithmic, as classes differ by orders of magnitude.
    """
    if table not in _TIMES_OF:
        raise ValueError(f"`{table}` has no completion times: expected {' or '.join(_TIMES_OF)}")
    column, short = _TIMES_OF[table]
    limits = np.array([quantity(edge, BYTES, "size") for edge in edges])
    if not np.all(np.diff(limits) > 0):
        raise ValueError(f"edges are not in ascending order: {', '.join(edges)}")
    reduce, what = statistic_of(statistic)
    classes = len(limits) + 1
    values: dict[str, np.ndarray] = {}
    unfinished: dict[str, np.ndarray] = {}
    counts = np.zeros(classes, dtype=int)
    ends = ends_of(results)
    for scheme, runs in runs_by_scheme(results, point, schemes).items():
        values[scheme], unfinished[scheme] = np.full((len(runs), classes), np.nan), np.zeros(classes, dtype=bool)
        for row, run in zip(values[scheme], runs, strict=True):
            rows = run.table(table)
            measured = rows["measured"]
            times, sizes = rows[column].astype(float)[measured], rows["size_bytes"].astype(float)[measured]
            waits = np.isnan(times)
            times = np.where(waits, np.maximum(ends[run.key] - rows["start_ps"][measured], 0.0), times)
            of = np.searchsorted(limits, sizes, side="left")
            counts += np.bincount(of, minlength=classes)
            for k in range(classes):
                unfinished[scheme][k] |= waits[of == k].any()
                if (of == k).any():
                    row[k] = reduce(times[of == k])
    if not counts.any():
        raise ValueError(f"the table {table} has no measured row")
    shown = [k for k in range(classes) if counts[k]]
    names = [f"up to {edges[0]}", *(f"{a} to {b}" for a, b in pairwise(edges)), f"over {edges[-1]}"]
    known = np.concatenate([v[:, shown].ravel() for v in values.values()])
    unit, factor = largest_unit(TIMES, float(np.nanmedian(known)))
    axes = axes_or_new(axes)
    width = 0.8 / len(values)
    with style():
        for i, (scheme, curves) in enumerate(values.items()):
            mean, half = band(curves[:, shown])
            at = np.arange(len(shown)) + (i - (len(values) - 1) / 2) * width
            errors = None
            if half is not None:
                low, high = interval(mean, half, logarithmic=True)
                errors = np.nan_to_num(np.array([mean - low, high - mean])) / factor
            bars = axes.bar(
                at, mean / factor, width * 0.92, label=scheme, color=look_of(results, scheme)["color"],
                yerr=errors, error_kw={"elinewidth": 0.8, "capsize": 2},
            )
            for bar in np.array(bars.patches)[unfinished[scheme][shown]]:
                bar.set(hatch="////", edgecolor="white")
        axes.set_yscale("log")
        log_ticks(axes.yaxis)
        axes.set_xticks(range(len(shown)), [names[k] for k in shown])
        axes.grid(False, axis="x")
        axes.set_ylabel(f"{what} {short} ({unit})")
        axes.set_xlabel("Size of the flow" if table == "flows" else "Size of the coflow")
        place_legend(axes)
    return axes
