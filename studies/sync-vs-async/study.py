"""Synchronous or asynchronous central control: timeslots against rates (Sviridov, Bianco, Giaccone,
IEEE Globecom 2018).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import timeplane as tp
from timeplane import studies
from timeplane.studies import Options, digits

from . import measures
from .experiments import FOLDER, LOAD, SERVERS, Experiment


@dataclass
class Outcome(studies.Outcome[Experiment]):
    """An outcome with all results, for figures over time. Its axis is the load."""

    results: tp.Results | None = None


def simulate(experiment: Experiment, options: Options, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Runs an experiment."""
    return studies.simulate(Outcome(experiment), options, _measure, base=FOLDER)


def _measure(outcome: Outcome, results: tp.Results) -> None:
    outcome.results = results
    experiment, summary = outcome.experiment, studies.by_run(results.summary)
    warmup, measure, _ = map(measures.picoseconds, experiment.window)
    for run in results.runs:
        row, load = summary[run.key], float(run.point[LOAD])
        numbers = measures.of_flows(run, row, load, measure) | measures.of_latency(row) | measures.of_control(run, row)
        if experiment.queues_every:
            numbers |= measures.of_queues(run, warmup, warmup + measure, measures.picoseconds(experiment.queues_every))
        if experiment.received_every:
            numbers |= measures.of_windows(run, SERVERS, warmup, warmup + measure, measures.picoseconds(experiment.received_every))
            numbers["jain_times"] = measures.fairness_of_times(run)
        outcome.add(load, run.scheme_name, run.seed, numbers)


def table(outcome: Outcome) -> Iterator[Sequence[str]]:
    """Writes one row per load, scheme and quantity; differences are relative to the first
    scheme, paired by seed.
    """
    head = next(studies.table(outcome, axis="load"))
    yield *head, "difference", "difference_half_95", "p_equivalent", "verdict"
    first = next(iter(outcome.experiment.schemes))
    for load in outcome.experiment.loads:
        for scheme in outcome.experiment.schemes:
            for quantity in outcome.quantities:
                row = studies.row(outcome, (load, scheme, quantity))
                if not row:
                    continue
                if scheme == first:
                    yield [*row, "", "", "", ""]
                    continue
                d = outcome.difference(load, scheme, quantity)
                yield [*row, digits(d.mean, 3), digits(d.half, 2), digits(d.p_equivalent, 2), d.verdict]


def run(options: Options) -> dict[str, Outcome]:
    """Run the chosen figures' experiments; draw, tabulate and compare them."""
    return studies.reproduce(options, __name__, simulate, table)
