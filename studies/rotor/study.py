"""Circuits that take turns: RotorNet (SIGCOMM 2017), Opera (NSDI 2020) and Shale (SIGCOMM 2024)
against networks of packet switches that cost the same, and against REACToR.
"""

from __future__ import annotations

from collections.abc import Mapping

import timeplane as tp
from timeplane import studies
from timeplane.studies import Options

from . import measures
from .experiments import Experiment

Outcome = studies.Outcome[Experiment]


def simulate(experiment: Experiment, options: Options, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Runs an experiment on its lists of flows."""
    lists = options.out / "flows"
    experiment.write(lists)
    return studies.simulate(Outcome(experiment), options, _measure, base=lists)


def _measure(outcome: Outcome, results: tp.Results) -> None:
    experiment, summary = outcome.experiment, studies.by_run(results.summary)
    measure = getattr(measures, experiment.measured)
    for run in results.runs:
        measure(outcome, experiment.place(run.point), run, summary[run.key])


def run(options: Options) -> dict[str, Outcome]:
    """Run the chosen figures' experiments; draw, tabulate and compare them."""
    return studies.reproduce(options, __name__, simulate)
