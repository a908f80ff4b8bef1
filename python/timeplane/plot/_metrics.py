"""A metric of the comparison: over a swept key, or as bars by scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from timeplane.plot._style import (
    BYTES,
    RATES,
    TIMES,
    axes_or_new,
    check_schemes,
    interval,
    largest_unit,
    log_ticks,
    look_of,
    place_legend,
    read_quantities,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from timeplane.results import Results

#: Units by the end of a metric's name.
_UNITS: Mapping[str, Sequence[tuple[str, float]]] = {"ps": TIMES, "bps": RATES, "bytes": BYTES}
#: An axis is logarithmic if its largest value is this many times its smallest.
_WIDE = 20.0


class _Metric:
    """The values of one metric at some points, of all schemes."""

    def __init__(
        self, results: Results, metric: str, point: Mapping[str, Any] | None, schemes: Sequence[str] | None
    ) -> None:
        comparison = results.compare(metrics=[metric])
        values = comparison.to_dict()
        ((self.name, self.label),) = comparison._core.labels().items()
        wanted = {key: str(value) for key, value in (point or {}).items()}
        self.points = list({tuple(line["point"].items()): line["point"] for line in values["lines"]}.values())
        keys = list(dict.fromkeys(key for p in self.points for key in p))
        if unknown := [key for key in wanted if key not in keys]:
            raise ValueError(f"`{unknown[0]}` is not swept; swept keys are {', '.join(keys) or 'none'}")
        self.points = [p for p in self.points if all(p[key] == value for key, value in wanted.items())]
        if not self.points:
            raise ValueError(f"no point has {', '.join(f'{k} = {v}' for k, v in wanted.items())}")
        self.schemes = list(dict.fromkeys(line["scheme"] for line in values["lines"]))
        check_schemes(schemes, self.schemes)
        self.schemes = list(schemes or self.schemes)
        self._cells = {(*line["point"].values(), line["scheme"]): line["metrics"][self.name] for line in values["lines"]}
        self._bound = next((b["label"] for b in values["bounds"] if b["metric"] == self.name), None)
        known = [v for name in self.schemes for v in self.means(name) if not np.isnan(v)]
        if not known:
            raise ValueError(f"no run has a {self.label}")
        self.low, self.high = min(known), max(known)
        #: No interval goes below: of the metrics, those without negative values cannot have any.
        self.least = 0.0 if self.low >= 0 else -np.inf
        units = next((u for end, u in _UNITS.items() if self.name.endswith(f"_{end}")), None)
        self.unit, self.factor = largest_unit(units, float(np.median(np.abs(known)))) if units else ("", 1.0)

    def cell(self, point: Mapping[str, str], scheme: str) -> Mapping[str, Any]:
        return self._cells.get((*point.values(), scheme)) or {}

    def means(self, scheme: str) -> np.ndarray:
        """A scheme's mean at every point; ``nan`` where there is none."""
        cells = [self.cell(p, scheme).get("value") or {} for p in self.points]
        return np.array([c.get("mean", np.nan) for c in cells], dtype=float)

    def halves(self, scheme: str) -> np.ndarray:
        """Half of each interval; ``nan`` with less than two seeds."""
        cells = [self.cell(p, scheme).get("value") or {} for p in self.points]
        return np.array([np.nan if c.get("half_width") is None else c["half_width"] for c in cells], dtype=float)

    def at_least(self, scheme: str) -> np.ndarray:
        """Where unfinished flows make a mean a lower bound."""
        return np.array([bool(self.cell(p, scheme).get("lower_bound")) for p in self.points])

    def bound(self) -> tuple[str, np.ndarray] | None:
        """What no scheme can beat at every point, and its name."""
        if self._bound is None:
            return None
        of = [[self.cell(p, s).get("bound") for s in self.schemes] for p in self.points]
        values = np.array([next((v for v in row if v is not None), np.nan) for row in of], dtype=float)
        return None if np.isnan(values).all() else (f"bound: {self._bound}", values)

    @property
    def axis_label(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


def _key_of(metric: _Metric, key: str | None) -> str:
    """The key to draw over: the given one, or the only one that changes."""
    keys = list(metric.points[0])
    if key is not None:
        if key not in keys:
            raise ValueError(f"`{key}` is not swept; swept keys are {', '.join(keys) or 'none'}")
        chosen = key
    else:
        changing = [k for k in keys if len({p[k] for p in metric.points}) > 1]
        if len(changing) != 1:
            raise ValueError(f"choose the key to draw over with key=...: {', '.join(changing or keys) or 'nothing is swept'}")
        (chosen,) = changing
    if len({p[chosen] for p in metric.points}) < len(metric.points):
        others = [k for k in keys if k != chosen and len({p[k] for p in metric.points}) > 1]
        raise ValueError(f"several points have the same {chosen}, choose one with point=...: they differ in {', '.join(others)}")
    return chosen


def metric_over_key(
    results: Results,
    metric: str,
    key: str | None = None,
    axes: Axes | None = None,
    point: Mapping[str, Any] | None = None,
    schemes: Sequence[str] | None = None,
) -> Axes:
    """Draw a metric over a swept key, one line per scheme.

    ``metric`` is a column of the summary (``"fct_p99"``). ``key`` is needed if several keys are
    swept; ``point`` then fixes the others (``{"fabric.rate": "40 Gb/s"}``). An axis is logarithmic
    where its values span a factor of 20. A hollow marker is a lower bound, because flows are
    unfinished. A dotted line is what no scheme can beat, if the comparison knows it.
    """
    from matplotlib.lines import Line2D

    data = _Metric(results, metric, point, schemes)
    chosen = _key_of(data, key)
    texts = [p[chosen] for p in data.points]
    numbers = read_quantities(texts)
    x = numbers[0] if numbers else np.arange(len(texts), dtype=float)
    order = np.argsort(x, kind="stable")
    logarithmic = bool(data.low > 0 and data.high / data.low >= _WIDE)
    axes = axes_or_new(axes)
    with style():
        for scheme in data.schemes:
            mean, half, open_ = data.means(scheme)[order], data.halves(scheme)[order], data.at_least(scheme)[order]
            looks = look_of(results, scheme)
            known = ~np.isnan(mean)
            axes.plot(x[order][known], mean[known] / data.factor, label=scheme, **looks)
            low, high = interval(mean, half, logarithmic)
            low = np.maximum(low, data.least)
            axes.fill_between(x[order], low / data.factor, high / data.factor, color=looks["color"], alpha=0.2, linewidth=0)
            if open_.any():
                hollow = Line2D(
                    x[order][open_], mean[open_] / data.factor, linestyle="none", marker=looks["marker"],
                    markerfacecolor="white", markeredgecolor=looks["color"], zorder=3,
                )
                axes.add_line(hollow)
        if bound := data.bound():
            axes.plot(x[order], bound[1][order] / data.factor, color="black", linestyle=":", linewidth=0.8, label=bound[0])
        if logarithmic:
            axes.set_yscale("log")
            log_ticks(axes.yaxis)
        elif data.low >= 0:
            axes.set_ylim(bottom=0)
        name, unit = chosen.rpartition(".")[2].replace("_", " "), f" ({numbers[1]})" if numbers and numbers[1] else ""
        if numbers is None:
            axes.set_xticks(x, texts)
        elif x.min() > 0 and x.max() / x.min() >= _WIDE:
            axes.set_xscale("log")
            log_ticks(axes.xaxis)
        axes.set_xlabel(f"{name[:1].upper()}{name[1:]}{unit}")
        axes.set_ylabel(data.axis_label)
        place_legend(axes)
    return axes


def metric_bars(
    results: Results,
    metric: str,
    axes: Axes | None = None,
    point: Mapping[str, Any] | None = None,
    schemes: Sequence[str] | None = None,
) -> Axes:
    """Draw a metric as one bar per scheme, in groups by point.

    Whiskers are intervals. A hatched bar is a lower bound, because flows are unfinished. The axis
    begins at 0, so that bars show ratios. Other arguments are those of :func:`metric_over_key`.
    """
    data = _Metric(results, metric, point, schemes)
    axes = axes_or_new(axes)
    width = 0.8 / len(data.schemes)
    alone = len(data.points) == 1
    with style():
        for i, scheme in enumerate(data.schemes):
            mean, half, open_ = data.means(scheme), data.halves(scheme), data.at_least(scheme)
            at = np.array([float(i)]) if alone else np.arange(len(data.points)) + (i - (len(data.schemes) - 1) / 2) * width
            low, high = interval(mean, half, logarithmic=False)
            low = np.maximum(low, data.least)
            errors = np.nan_to_num(np.array([mean - low, high - mean])) / data.factor
            bars = axes.bar(
                at, mean / data.factor, 0.65 if alone else width * 0.92, label=None if alone else scheme,
                color=look_of(results, scheme)["color"], yerr=errors if np.any(errors) else None,
                error_kw={"elinewidth": 0.8, "capsize": 2},
            )
            for bar in np.array(bars.patches)[open_]:
                bar.set(hatch="////", edgecolor="white")
        if alone:
            axes.set_xticks(range(len(data.schemes)), data.schemes)
        else:
            changing = [k for k in data.points[0] if len({p[k] for p in data.points}) > 1]
            axes.set_xticks(range(len(data.points)), ["\n".join(p[k] for k in changing) for p in data.points])
            axes.set_xlabel(", ".join(k.rpartition(".")[2].replace("_", " ") for k in changing).capitalize())
        axes.grid(False, axis="x")
        axes.set_ylabel(data.axis_label)
        place_legend(axes)
    return axes
