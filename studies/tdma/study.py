"""Practical TDMA: exclusive slots on plain Ethernet, opened and closed by pause frames (EuroSys
2012).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import timeplane as tp
from timeplane import studies
from timeplane.studies import Options

from . import measures
from .experiments import Experiment

Outcome = studies.Outcome[Experiment]


def simulate(experiment: Experiment, options: Options, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Runs an experiment on its lists of flows."""
    lists = options.out / "flows"
    experiment.write(lists, outcomes)
    return studies.simulate(Outcome(experiment), options, _measure, base=lists)


def _measure(outcome: Outcome, results: tp.Results) -> None:
    experiment, summary = outcome.experiment, studies.by_run(results.summary)
    for run in results.runs:
        numbers = measures.measured(experiment, run, summary[run.key])
        outcome.add(experiment.x_of(run.point), run.scheme_name, run.seed, numbers)


def run(options: Options) -> dict[str, Outcome]:
    """Run the chosen figures' experiments; draw, tabulate and compare them."""
    return studies.reproduce(options, __name__, simulate, partial(studies.table, count=7))
