"""A proxy that tells TCP the capacity of a 60 GHz link: windows follow reports of the access point
(MASS 2019).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import timeplane as tp
from timeplane import studies
from timeplane.studies import Options, Summary

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
    together: dict[tuple[float, str, str], list[tuple[np.ndarray, np.ndarray]]] = {}
    for run in results.runs:
        place = experiment.place(run.point, run.scheme_name)
        trips = measures.round_trips(run, experiment.readings, experiment.way_back_of(run.point))
        numbers, trace = measures.measured(experiment, run, trips)
        outcome.add(*place, run.seed, numbers)
        if trace:
            outcome.traces.setdefault(place, trace)
        for reading, of in trips.items():
            together.setdefault((*place, reading), []).append(measures.bins(of))
    for (x, scheme, reading), parts in together.items():
        outcome.summaries |= {(x, scheme, name): summary for name, summary in measures.pooled(parts, reading).items()}


#: Columns of a grid's table: the criteria of settings.
JUDGED = ("goodput_mbps", "use", "window_over", "lost_queue", "timeouts", "rtos_up", "rto_s", "starved_s", "follows", "peak_ms", "peak_clear_ms")


def _columns(experiment: Experiment) -> tuple[str, ...]:
    """Columns of a grid's table, with all readings of round trips if there are some."""
    readings = measures.READINGS if experiment.readings else ("segment",)
    peaks = [peak for reading, peak in measures.PEAKS.items() if reading in readings and peak not in JUDGED]
    return (*JUDGED, *peaks, *(measures.quantity(p, reading) for reading in readings for p in settings.SHOWN))


def table(outcome: Outcome) -> Iterator[Sequence[Any]]:
    """Writes the table of :func:`timeplane.studies.table`. With several swept keys it has a row
    for each combination and scheme, with the criteria.
    """
    if len(outcome.experiment.sweep) < 2:
        yield from studies.table(outcome, 5)
        return
    yield (*_swept(outcome.experiment), "scheme", "seeds", *_columns(outcome.experiment))
    for x, setting in enumerate(outcome.experiment.settings):
        for scheme in outcome.experiment.schemes:
            seeds = outcome.estimate(x, scheme, JUDGED[0]).n
            yield *setting.values(), scheme, seeds, *(studies.digits(outcome.mean(x, scheme, quantity)) for quantity in _columns(outcome.experiment))


def _swept(experiment: Experiment) -> list[str]:
    """Columns of the swept keys."""
    return [key.rpartition(".")[2] for key in experiment.sweep]


def read(path: Path, outcome: studies.Outcome[Experiment]) -> studies.Outcome[Experiment]:
    """Reads a table of :func:`table`."""
    experiment = outcome.experiment
    if len(experiment.sweep) < 2:
        return studies.read_table(path, outcome)
    place = {tuple(map(str, setting.values())): float(x) for x, setting in enumerate(experiment.settings)}
    with path.open(newline="", encoding="utf-8") as file:
        for cells in csv.DictReader(file):
            x = place[tuple(cells[name] for name in _swept(experiment))]
            for quantity in _columns(experiment):
                value = float(cells[quantity] or "nan")
                outcome.summaries[x, cells["scheme"], quantity] = Summary(value, math.nan, math.nan, int(cells["seeds"]))
    return outcome


def run(options: Options) -> dict[str, Outcome]:
    """Run the chosen figures' experiments; draw, tabulate and compare them."""
    return studies.reproduce(options, __name__, simulate, table, read)
