"""Studies: papers done again, each a folder with a ``study.py``.

``timeplane study`` lists them, ``timeplane study NAME`` runs one. A study's folder has the paper's numbers (``published.csv``), its
scenario, and a ``study.py`` whose first line says what it asks and whose ``run(options)`` does it. What studies share is here:

- :func:`run`: all experiments that the chosen figures need, then tables, figures, and the paper's statements beside what comes out;
- :func:`simulate`: one experiment, whose numbers an :class:`Outcome` keeps by place on the axis, scheme, quantity and seed;
- :func:`estimate` and :func:`difference`: statistics over seeds that follow the rules of the comparison;
- :mod:`timeplane.studies.figures`: axes, legends and colours, which need matplotlib.
"""

from __future__ import annotations

from timeplane.studies._claims import Claims, Found, published, yes_or_no
from timeplane.studies._command import main
from timeplane.studies._find import Study, find, places, studies
from timeplane.studies._outcome import Experiment, Outcome, by_run, simulate
from timeplane.studies._run import Options, base_scenario, reproduce, run
from timeplane.studies._statistics import Difference, Estimate, difference, estimate, jain
from timeplane.studies._tables import digits, table, write_csv, write_flows

__all__ = [
    "Claims",
    "Difference",
    "Estimate",
    "Experiment",
    "Found",
    "Options",
    "Outcome",
    "Study",
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
    "reproduce",
    "run",
    "simulate",
    "studies",
    "table",
    "write_csv",
    "write_flows",
    "yes_or_no",
]
