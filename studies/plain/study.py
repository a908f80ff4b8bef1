"""Plain networks as their papers measured them: DCTCP (SIGCOMM 2010), pFabric (SIGCOMM 2013) and
packet spraying (INFOCOM 2013).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import timeplane as tp
from timeplane import studies
from timeplane.studies import Options

from . import measures
from .experiments import Experiment


@dataclass
class Outcome(studies.Outcome[Experiment]):
    """An outcome with all results, for figures of distributions."""

    results: tp.Results | None = None


def simulate(experiment: Experiment, options: Options, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Runs an experiment on its lists of flows."""
    lists = options.out / "flows"
    experiment.write(lists, options.seeds or experiment.seeds)
    return studies.simulate(Outcome(experiment), options, _measure, base=lists)


def _measure(outcome: Outcome, results: tp.Results) -> None:
    outcome.results = results
    experiment, summary = outcome.experiment, studies.by_run(results.summary)
    measure = getattr(measures, experiment.measured)
    for run in results.runs:
        x, seed = experiment.place(run.point, run.seed)
        outcome.add(x, run.scheme_name, seed, measure(run, summary[run.key]))


def run(options: Options) -> dict[str, Outcome]:
    """Run the chosen figures' experiments; draw, tabulate and compare them."""
    return studies.reproduce(options, __name__, simulate)
