"""What all figures share: the style, and colors, units, intervals, and places of legends."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from timeplane import _core

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from timeplane.results import Results, Run

#: Okabe and Ito's colors, in an order that is distinct in gray; without yellow, which is invisible
#: on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
#: Markers of points, in the order of colors.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Dashes of lines, in the order of colors.
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

_QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\d\s]*)")
#: Label of the axes that keep titles above a legend.
_ABOVE = "above the legend"

TIMES = (("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12))
RATES = (("b/s", 1.0), ("kb/s", 1e3), ("Mb/s", 1e6), ("Gb/s", 1e9), ("Tb/s", 1e12))
BYTES = (("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12))


def style() -> Any:
    """A context that applies :data:`STYLE`: ``with tp.plot.style(): ...``."""
    import matplotlib

    settings: Any = dict(STYLE)
    return matplotlib.rc_context(settings)


def axes_or_new(axes: Axes | None) -> Axes:
    """These axes, or those of a new figure."""
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    with style():
        return plt.subplots()[1]


def figure_of(axes: Axes) -> Figure:
    """The figure that these axes are in."""
    figure = axes.get_figure()
    assert figure is not None, "axes are in a figure"
    # That of its canvas, where it is a part of another one.
    return figure.canvas.figure


def largest_unit(units: Sequence[tuple[str, float]], value: float) -> tuple[str, float]:
    """The largest unit in which the value is at least 1."""
    return max((u for u in units if u[1] <= max(value, 1.0)), key=lambda u: u[1])


def read_quantities(values: Sequence[str]) -> tuple[np.ndarray, str] | None:
    """Numbers of texts such as ``"300 us"``, in the unit that is returned; ``None`` if one of them
    is not a number with a known unit, or if their units measure different things.
    """
    parts = [_QUANTITY.fullmatch(v.strip()) for v in values]
    read = [(float(m[1]), m[2]) for m in parts if m]
    if len(read) < len(values):
        return None
    units = list(dict.fromkeys(unit for _, unit in read))
    if len(units) == 1:
        return np.array([number for number, _ in read]), units[0]
    for family in (TIMES, BYTES, RATES):
        factors = dict(family)
        if all(unit in factors for unit in units):
            absolute = np.array([number * factors[unit] for number, unit in read])
            unit, factor = largest_unit(family, float(np.median(absolute)))
            return absolute / factor, unit
    return None


def quantity(text: str, units: Sequence[tuple[str, float]], what: str) -> float:
    """The quantity of a text such as ``"100 kB"``, in the first of its units."""
    read = read_quantities([text])
    factor = dict(units).get(read[1]) if read else None
    if read is None or factor is None:
        raise ValueError(f"`{text}` is not a {what}: expected a number and one of {', '.join(unit for unit, _ in units)}")
    return float(read[0][0]) * factor


def statistic_of(statistic: str | float) -> tuple[Callable[[np.ndarray], float], str]:
    """What a statistic computes, and its name: that of ``"mean"`` or of a percentile."""
    if statistic == "mean":
        return (lambda values: float(np.mean(values))), "Mean"
    try:
        percent = float(statistic)
    except ValueError:
        percent = np.nan
    if not 0 <= percent <= 100:
        raise ValueError(f"`{statistic}` is not a statistic: expected `mean` or a percentile from 0 to 100")
    return (lambda values: float(np.percentile(values, percent))), f"p{percent:g}"


def check_schemes(schemes: Sequence[str] | None, names: Sequence[str]) -> None:
    """Every chosen scheme has runs."""
    for name in schemes or []:
        if name not in names:
            raise ValueError(f"no run has the scheme `{name}`: expected one of {', '.join(names) or 'none'}")


def runs_by_scheme(
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
    check_schemes(schemes, names)
    groups = {name: [r for r in runs if r.scheme_name == name] for name in schemes or names}
    if not groups:
        raise ValueError("no run matches this point")
    return groups


def ends_of(results: Results) -> dict[str, float]:
    """When each run ended, in picoseconds, by key: unfinished flows have waited until then."""
    summary = results.summary
    return dict(zip(summary["run"], summary["simulated_ps"].astype(float), strict=True))


def look_of(results: Results, name: str) -> dict[str, Any]:
    """Color, line and marker of a scheme, the same in all figures of these results."""
    i = results.schemes.index(name)
    return {
        "color": COLORS[i % len(COLORS)],
        "linestyle": LINES[i % len(LINES)],
        "marker": MARKERS[i % len(MARKERS)],
    }


def band(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
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


def interval(mean: Any, half: Any, logarithmic: bool) -> tuple[Any, Any]:
    """Ends of the intervals. On a logarithmic axis these are intervals of the logarithm, which the
    relative error gives to the first order: they stay above 0.
    """
    if not logarithmic:
        return mean - half, mean + half
    ratio = np.exp(half / mean)
    return mean / ratio, mean * ratio


def draw_curves(
    axes: Axes,
    x: np.ndarray,
    curves: np.ndarray,
    label: str,
    looks: Mapping[str, Any],
    markers: int = 6,
    limits: tuple[float, float] | None = None,
    offset: int = 0,
    extremes: bool = False,
    logarithmic: bool = False,
) -> None:
    """Draw the mean of the rows of ``curves`` over ``x``, and its interval or their extremes."""
    mean, half = band(curves)
    every = max(1, len(x) // markers)
    axes.plot(x, mean, label=label, markevery=(min(offset * every // 4, len(x) - 1), every) if len(x) > markers * 2 else None, **looks)
    if half is not None:
        if extremes:
            low, high = curves.min(axis=0), curves.max(axis=0)
        else:
            low, high = interval(mean, half, logarithmic)
        if limits:
            low, high = np.clip(low, *limits), np.clip(high, *limits)
        axes.fill_between(x, low, high, color=looks["color"], alpha=0.2, linewidth=0)


def place_legend(axes: Axes) -> None:
    """Place the legend above the axes, where it covers no line, and titles above the legend."""
    labels = axes.get_legend_handles_labels()[1]
    if len(labels) < 2:
        return
    row = sum(len(label) + 7 for label in labels) <= 54
    columns = len(labels) if row else max(1, 50 // (max(map(len, labels)) + 7))
    legend = axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, borderaxespad=0.2, columnspacing=1.2, handletextpad=0.5
    )
    for child in [c for c in axes.child_axes if c.get_label() == _ABOVE]:
        child.remove()
    # Titles move above child axes, but not above legends: empty ones stand where the legend is.
    above = axes.inset_axes((0, 1, 1, 0), label=_ABOVE)
    above.set_axis_off()
    above.set_in_layout(False)

    def place(_: Any, renderer: Any) -> Any:
        return legend.get_window_extent(renderer).transformed(figure_of(axes).transFigure.inverted())

    above.set_axes_locator(place)


def log_ticks(axis: Any) -> None:
    """Label ticks with plain numbers (0.1, 1, 10), also between powers of ten if these are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    decades = np.log10(high / low) if low > 0 else 9
    subs = (1.0,) if decades > 2 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.6g}" if v < 1e6 else f"{v:,.0f}"))
    axis.set_minor_formatter(NullFormatter())


