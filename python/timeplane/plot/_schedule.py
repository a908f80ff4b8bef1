"""A run's schedule and demand: who sends to whom, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from timeplane.plot._style import BYTES, COLORS, TIMES, axes_or_new, figure_of, largest_unit, log_ticks, quantity, runs_by_scheme, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from timeplane.results import Results, Run

#: Without a time, a schedule is drawn until this many slots of a host have begun.
_SLOTS = 24


def _one_run(
    results: Results, scheme: str | None, seed: int | None, point: Mapping[str, Any] | None, needs: str
) -> Run:
    """The run of a scheme and seed: without a scheme, of the first one that has rows in ``needs``."""
    groups = runs_by_scheme(results, point, None if scheme is None else [scheme])
    for name, runs in groups.items():
        if seed is not None and all(r.seed != seed for r in runs):
            raise ValueError(f"{name} has no run with seed {seed}; seeds are {', '.join(str(r.seed) for r in runs)}")
        run = next(r for r in runs if seed is None or r.seed == seed)
        if len(run.table(needs)):
            return run
    raise ValueError(f"no run of {', '.join(groups)} has rows in the table {needs}")


def gantt(
    results: Results,
    scheme: str | None = None,
    axes: Axes | None = None,
    point: Mapping[str, Any] | None = None,
    seed: int | None = None,
    time: tuple[str, str] | None = None,
) -> Axes:
    """Draw the slots of one run: a row per sender, a box per slot with its receiver's number.

    Without ``scheme`` it is the first scheme with slots. ``time`` is what to draw, as
    ``("1 ms", "1.5 ms")``; by default it begins with the first slot. White between boxes is guard
    and dark time, or a slot that nobody uses. Receivers have one of seven colors each.
    """
    from matplotlib.ticker import MaxNLocator

    run = _one_run(results, scheme, seed, point, "slots")
    slots = run.slots
    opens, lasts = slots["start_ps"].astype(float), slots["open_ps"].astype(float)
    sources, destinations = slots["source"], slots["destination"]
    if time is not None:
        low, high = quantity(time[0], TIMES, "time"), quantity(time[1], TIMES, "time")
        if low >= high:
            raise ValueError(f"nothing is between {time[0]} and {time[1]}")
    else:
        low = float(opens.min())
        begins = np.unique(opens)
        high = float(begins[_SLOTS]) if len(begins) > _SLOTS else float((opens + lasts).max())
    use = (opens < high) & (opens + lasts > low)
    if not use.any():
        raise ValueError(f"no slot is between {low / 1e6:g} us and {high / 1e6:g} us")
    unit, factor = largest_unit(TIMES, high - low)
    hosts = int(max(sources.max(), destinations.max())) + 1
    axes = axes_or_new(axes)
    # A number is as wide as three fifths of its size.
    digits = len(str(hosts - 1))
    with style():
        width_points = axes.bbox.width / figure_of(axes).dpi * 72
        for destination in np.unique(destinations[use]):
            of = use & (destinations == destination)
            color = COLORS[int(destination) % len(COLORS)]
            for source in np.unique(sources[of]):
                mine = of & (sources == source)
                boxes = list(zip(opens[mine] / factor, lasts[mine] / factor, strict=True))
                axes.broken_barh(boxes, (float(source) - 0.42, 0.84), facecolor=color, linewidth=0)
                for begin, length in boxes:
                    points = length / ((high - low) / factor) * width_points
                    size = min(6.0, points / (0.65 * digits), 110.0 / hosts)
                    if size >= 2.5:
                        axes.text(
                            begin + length / 2, float(source), str(destination), ha="center", va="center",
                            fontsize=size, color="white", clip_on=True,
                        )
        axes.set_xlim(low / factor, high / factor)
        axes.set_ylim(hosts - 0.5, -0.5)
        axes.grid(False, axis="y")
        axes.set_xlabel(f"Time ({unit})")
        axes.set_ylabel("Sender")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    return axes


def demand_matrix(
    results: Results,
    axes: Axes | None = None,
    point: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> Axes:
    """Draw how many bytes each host has to send to each other host, with a logarithmic color.

    White pairs have no flow. All schemes of a seed have the same flows; the first one is read.
    """
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import MaxNLocator

    run = _one_run(results, None, seed, point, "flows")
    flows = run.flows
    hosts = int(max(flows["source"].max(), flows["destination"].max())) + 1
    sums = np.zeros((hosts, hosts))
    np.add.at(sums, (flows["source"].astype(int), flows["destination"].astype(int)), flows["size_bytes"].astype(float))
    shown = np.where(sums > 0, sums, np.nan)
    unit, factor = largest_unit(BYTES, float(np.nanmedian(shown)))
    low, high = float(np.nanmin(shown)) / factor, float(np.nanmax(shown)) / factor
    axes = axes_or_new(axes)
    with style():
        # Equal values need some range of colors.
        norm = LogNorm(low, max(high, low * 1.01))
        image = axes.imshow(shown / factor, norm=norm, cmap="viridis_r", interpolation="nearest")
        axes.grid(False)
        axes.set_xlabel("Receiver")
        axes.set_ylabel("Sender")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        bar = figure_of(axes).colorbar(image, ax=axes, label=f"Bytes ({unit})")
        if high <= low * 1.01:
            bar.set_ticks([low], labels=[f"{low:g}"])
            bar.minorticks_off()
        else:
            log_ticks(bar.ax.yaxis)
    return axes
