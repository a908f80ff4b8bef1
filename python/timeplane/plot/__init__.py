"""Figures for papers: columns of 3.33 inches, text of 7 to 8 pt, embedded fonts, and colors and
lines that are distinct in gray.

Each function draws into ``axes`` or creates a figure, and returns the axes. Unless stated
otherwise, lines are means over seeds, and bands and bars are 95 % confidence intervals of these
means (Student's t) for two or more seeds. On a logarithmic axis they are intervals of the mean's
logarithm.

>>> axes = tp.plot.metric_over_key(results, "fct_p99", "workload.poisson.load")
>>> axes.figure.savefig("p99.pdf")
"""

from timeplane.plot._classes import times_by_class
from timeplane.plot._distributions import cct_cdf, fct_cdf, slowdown_by_size
from timeplane.plot._metrics import metric_bars, metric_over_key
from timeplane.plot._queues import queue_over_time
from timeplane.plot._schedule import demand_matrix, gantt
from timeplane.plot._style import COLORS, LINES, MARKERS, STYLE, style

__all__ = [
    "COLORS",
    "LINES",
    "MARKERS",
    "STYLE",
    "cct_cdf",
    "demand_matrix",
    "fct_cdf",
    "gantt",
    "metric_bars",
    "metric_over_key",
    "queue_over_time",
    "slowdown_by_size",
    "style",
    "times_by_class",
]
