"""Flyways: 60 GHz links between racks for the hot spots of an oversubscribed network (SIGCOMM
2011).
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from timeplane import studies
from timeplane.studies import Options

from .experiments import Experiment

Outcome = studies.Outcome[Experiment]


def simulate(experiment: Experiment, options: Options, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Fills an outcome."""
    begin = time.monotonic()
    outcome = Outcome(experiment)
    experiment.fill(outcome, options)
    options.tell(f"{experiment.name}: {time.monotonic() - begin:.0f} s")
    return outcome


def run(options: Options) -> dict[str, Outcome]:
    """Run the chosen figures' experiments; draw, tabulate and compare them."""
    return studies.reproduce(options, __name__, simulate)
