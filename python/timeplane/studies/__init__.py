"""Studies: reproductions of papers, each a folder with a ``study.py``.

``timeplane study`` lists them, ``timeplane study NAME`` runs one. A study's folder holds the
paper's numbers (``published.csv``), its scenario, and a ``study.py``. The first line of
``study.py`` names the question, and its ``run(options)`` runs the study. Studies share these parts:

- :func:`reproduce` runs all experiments of the chosen figures, writes tables and figures, and
  compares results with the paper's statements;
- :func:`simulate` runs one experiment, whose numbers an :class:`Outcome` keeps by axis value,
  scheme, quantity and seed;
- :func:`estimate` and :func:`difference` compute statistics over seeds by the comparison's rules;
- :mod:`timeplane.studies.scale` is the scale of all verdicts;
- :mod:`timeplane.studies.figures` provides axes, legends and colors, and needs matplotlib.
"""

from __future__ import annotations

from timeplane.studies import scale
from timeplane.studies._claims import Claims, Found, published
from timeplane.studies._command import main
from timeplane.studies._find import Study, find, places, studies
from timeplane.studies._outcome import Experiment, Outcome, Summary, by_run, simulate
from timeplane.studies._run import Options, base_scenario, reproduce, run
from timeplane.studies._statistics import Difference, Estimate, difference, estimate, jain
from timeplane.studies._tables import digits, read_coflows, read_table, row, table, write_csv, write_flows

__all__ = [
    "Claims",
    "Difference",
    "Estimate",
    "Experiment",
    "Found",
    "Options",
    "Outcome",
    "Study",
    "Summary",
    "base_scenario",
    "by_run",
    "difference",
    "digits",
    "estimate",
    "find",
    "jain",
    "main",
    "places",
    "published",
    "read_coflows",
    "read_table",
    "reproduce",
    "row",
    "run",
    "scale",
    "simulate",
    "studies",
    "table",
    "write_csv",
    "write_flows",
]
