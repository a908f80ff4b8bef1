"""Circuit switching under the radar: circuits alongside a packet switch, for racks without buffers
(REACToR, NSDI 2014).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

import timeplane as tp
from timeplane import studies
from timeplane.studies import Options

from . import measures
from .arithmetic import TABLE1
from .experiments import CLOSED, FLOWS, FOLDER, HOSTS, LINE, MTU54, PAUSED, PERIOD54, Experiment


@dataclass
class Outcome(studies.Outcome[Experiment]):
    """An outcome with packet traces of the first run."""

    #: Traces by scheme.
    traces: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)


def simulate(experiment: Experiment, options: Options, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Runs an experiment on its lists of flows."""
    lists = options.out / "flows"
    experiment.write(lists)
    return studies.simulate(Outcome(experiment), options, _measure, base=lists)


def _measure(outcome: Outcome, results: tp.Results) -> None:
    for run in results.runs:
        scheme, x, numbers = _measured(outcome.experiment, run)
        if outcome.experiment.name in ("fig8", "fig9"):
            trace = measures.arrivals(run, measures.WATCHED)
            outcome.traces.setdefault(run.scheme_name, trace)
            numbers |= measures.change(trace) if outcome.experiment.name == "fig8" else measures.steps(trace, outcome.experiment.window)
        outcome.add(x, scheme, run.seed, numbers)


def _measured(experiment: Experiment, run: tp.Run) -> tuple[str, float, dict[str, float]]:
    """Scheme, position on the axis and numbers of a run. With pauses, the axis is their length, and
    the scheme names their kind and whatever else was swept.
    """
    x = experiment.x_of(run.point[FLOWS]) if FLOWS in run.point else next(iter(experiment.flows))
    scheme, numbers = run.scheme_name, measures.dropped(run)
    if experiment.periods and experiment.fabric.get("mtu"):
        hosts = experiment.fabric["topology"]["hybrid"]["tors"]
        seconds = experiment.periods * PERIOD54 * 1e-6
        numbers["goodput"] = measures.goodput_share(run, hosts, MTU54, LINE, seconds)
        numbers["offered"] = measures.offered_share(run, hosts, MTU54, LINE, seconds)
    received = measures.by_receiver(run, HOSTS) if not experiment.fabric.get("mtu") else None
    swept = None
    if experiment.sweep:
        key, values = experiment.sweep
        swept = measures.number(run.point[key]) if len(values) > 1 else measures.number(values[0])
    if experiment.pauses:
        parts = [scheme, str(run.point.get(PAUSED, experiment.pauses[0][0]))]
        parts += [f"{x:g}"] if len(experiment.flows) > 1 else []
        parts += [f"{swept:g}"] if swept is not None else []
        scheme, x = "_".join(parts), measures.microseconds(run.point[CLOSED])
    elif swept is not None:
        x = swept
    if received is not None:
        numbers["received_bytes"] = float(received.sum())
        if experiment.name.startswith("fig7"):
            numbers |= {f"received_{i}_by_7": float(received[i, 7]) for i in range(HOSTS)}
        numbers["fct_mean_ps"] = measures.completion_mean(run)
    return scheme, x, numbers


def transceivers() -> Iterator[Sequence[str]]:
    """Table 1."""
    yield "network", "rate", "least", "most"
    for network in TABLE1:
        yield network.name, network.rate, str(network.least), str(network.most)


def run(options: Options) -> dict[str, Outcome]:
    """Run the chosen figures' experiments; draw, tabulate and compare them."""
    if not options.judge:
        studies.write_csv(options.place(FOLDER) / "tables" / "table1.csv", transceivers())
    return studies.reproduce(options, __name__, simulate)
