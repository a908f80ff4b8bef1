"""A proxy that tells TCP the capacity of a 60 GHz link: windows follow reports of the access point
(MASS 2019).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import timeplane as tp
from timeplane import studies
from timeplane.studies import Options

from . import measures, settings
from .experiments import FOLDER, Experiment


@dataclass
class Outcome(studies.Outcome[Experiment]):
    """The numbers of all runs, and the first seed's values over time."""

    #: Values over time by position, scheme and quantity, see :func:`measures.over_time`.
    traces: dict[tuple[float, str], dict[str, np.ndarray]] = field(default_factory=dict)


def simulate(experiment: Experiment, options: Options, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Runs an experiment."""
    return studies.simulate(Outcome(experiment), options, _measure, base=FOLDER)


def _measure(outcome: Outcome, results: tp.Results) -> None:
    experiment = outcome.experiment
    together: dict[tuple[float, str], list[tuple[np.ndarray, np.ndarray]]] = {}
    for run in results.runs:
        place = experiment.place(run.point, run.scheme_name)
        numbers, trace = measures.measured(experiment, run)
        outcome.add(*place, run.seed, numbers)
        if trace:
            outcome.traces.setdefault(place, trace)
        together.setdefault(place, []).append(measures.round_trips(run))
    for (x, scheme), parts in together.items():
        outcome.add(x, scheme, 0, measures.pooled(parts))


#: Columns of a grid's table: the criteria of settings.
JUDGED = ("goodput_mbps", "use", "window_over", "lost_queue", "timeouts", "rtos_up", "starved_s", "follows", "peak_ms", "peak_clear_ms")


def table(outcome: Outcome) -> Iterator[Sequence[Any]]:
    """Writes the table of :func:`timeplane.studies.table`. With several swept keys it has a row
    for each combination and scheme, with the criteria.
    """
    if len(outcome.experiment.sweep) < 2:
        yield from studies.table(outcome, 5)
        return
    columns = (*JUDGED, *settings.RTTS)
    yield (*(key.rpartition(".")[2] for key in outcome.experiment.sweep), "scheme", *columns)
    for x, setting in enumerate(outcome.experiment.settings):
        for scheme in outcome.experiment.schemes:
            yield *setting.values(), scheme, *(studies.digits(outcome.mean(x, scheme, quantity)) for quantity in columns)


def run(options: Options) -> dict[str, Outcome]:
    """Run the chosen figures' experiments; draw, tabulate and compare them."""
    return studies.reproduce(options, __name__, simulate, table)
