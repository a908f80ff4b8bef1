"""Queues over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from timeplane.plot._style import BYTES, TIMES, axes_or_new, draw_curves, largest_unit, look_of, place_legend, runs_by_scheme, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from timeplane.results import Results


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
    for scheme, runs in runs_by_scheme(results, point, schemes).items():
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
    time_unit, time_factor = largest_unit(TIMES, end / 2)
    unit, factor = largest_unit(BYTES, max(float(c.max()) for c in curves.values()) / 2)
    axes = axes_or_new(axes)
    with style():
        for i, (scheme, rows) in enumerate(curves.items()):
            looks = look_of(results, scheme)
            draw_curves(axes, centers / time_factor, rows / factor, scheme, looks, offset=i, extremes=True)
        axes.set_xlim(0, end / time_factor)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(f"Time ({time_unit})")
        what = f"Queue of link {link}" if link is not None else f"Longest {'host' if hosts else 'switch'} queue"
        axes.set_ylabel(f"{what} ({unit})")
        place_legend(axes)
    return axes
