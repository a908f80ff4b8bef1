"""Circuit switching under the radar: a packet switch beside circuits, for racks that buffer nothing (REACToR, NSDI 2014)."""

from __future__ import annotations

import csv
import difflib
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import timeplane as tp
from timeplane.studies import Estimate, Options, estimate

from . import measures
from .arithmetic import TABLE1
from .experiments import FLOWS, FOLDER, HOSTS, LINE, MTU54, PERIOD54, Experiment, experiments


@dataclass
class Outcome:
    """Numbers of all runs of an experiment: by place on the axis, control and quantity one per seed; and traces of the first run."""

    experiment: Experiment
    values: dict[tuple[float, str, str], dict[int, float]] = field(default_factory=dict)
    #: By control.
    traces: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)

    def add(self, x: float, control: str, seed: int, numbers: Mapping[str, float]) -> None:
        """Takes the numbers of a run."""
        for quantity, value in numbers.items():
            self.values.setdefault((x, control, quantity), {})[seed] = value

    @property
    def places(self) -> list[float]:
        """On the axis."""
        return sorted({x for x, _, _ in self.values})

    def estimate(self, x: float, control: str, quantity: str) -> Estimate:
        """Mean over seeds."""
        return estimate(self.values.get((x, control, quantity), {}).values())

    def mean(self, x: float, control: str, quantity: str) -> float:
        """The same, without its interval."""
        return self.estimate(x, control, quantity).mean

    def curve(self, control: str, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        """Places and means of what was run."""
        points = [(x, self.mean(x, control, quantity)) for x in self.places if (x, control, quantity) in self.values]
        return np.array([p[0] for p in points]), np.array([p[1] for p in points])


def run_experiment(experiment: Experiment, options: Options) -> Outcome:
    """Runs it, or takes runs that are complete."""
    # What nothing in is random but the switch's dark time needs no more seeds.
    seeds = (options.seeds or experiment.seeds) if experiment.seeds > 1 else 1
    lists = options.out / "flows"
    experiment.write(lists)
    begin = time.monotonic()
    scenario = tp.Scenario.from_dict(experiment.scenario(seeds), base=lists)
    results = scenario.run(jobs=options.jobs, results=options.out / "runs")
    outcome = Outcome(experiment)
    for run in results.runs:
        x, numbers = _measured(experiment, run)
        outcome.add(x, run.control_name, run.seed, numbers)
        if experiment.name in ("fig8", "fig9"):
            outcome.traces.setdefault(run.control_name, measures.arrivals(run, 7))
    options.tell(f"{experiment.name}: {len(results.runs)} runs in {time.monotonic() - begin:.0f} s")
    return outcome


def _measured(experiment: Experiment, run: tp.Run) -> tuple[float, dict[str, float]]:
    """Place on the axis and numbers of a run."""
    x = experiment.x_of(run.point[FLOWS]) if FLOWS in run.point else next(iter(experiment.flows))
    numbers = measures.dropped(run)
    if experiment.periods and experiment.fabric.get("mtu"):
        hosts = experiment.fabric["topology"]["hybrid"]["tors"]
        seconds = experiment.periods * PERIOD54 * 1e-6
        numbers["goodput"] = measures.goodput_share(run, hosts, MTU54, LINE, seconds)
        numbers["offered"] = measures.offered_share(run, hosts, MTU54, LINE, seconds)
    received = measures.by_receiver(run, HOSTS) if not experiment.fabric.get("mtu") else None
    if experiment.sweep:
        key, values = experiment.sweep
        x = float(measures.number(run.point[key])) if len(values) > 1 else measures.number(values[0])
    if received is not None:
        numbers["received_bytes"] = float(received.sum())
        for i in range(HOSTS):
            numbers[f"received_{i}_by_7"] = float(received[i, 7])
        numbers["fct_mean_ps"] = measures.completion_mean(run)
    return x, numbers


def digits(value: float, count: int = 4) -> str:
    """A number of so many digits, without what it does not need; empty for none."""
    return "" if math.isnan(value) else f"{value:.{count}g}"


HEAD = ("x", "control", "quantity", "mean", "half_95", "n")


def table(outcome: Outcome) -> Iterator[Sequence[str]]:
    """One row per place, control and quantity."""
    for x, control, quantity in sorted(outcome.values):
        of = outcome.estimate(x, control, quantity)
        if of.n:
            yield [f"{x:g}", control, quantity, digits(of.mean, 6), digits(of.half, 2), str(of.n)]


def transceivers() -> Iterator[Sequence[str]]:
    """Table 1."""
    for network in TABLE1:
        yield [network.name, network.rate, str(network.least), str(network.most)]


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Writes a table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def published() -> list[dict[str, str]]:
    """What the paper says, row by row."""
    with (FOLDER / "published.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def chosen(options: Options, known: Mapping[str, Any]) -> list[str]:
    """Figures that are asked for; raises ``LookupError`` for one that does not exist."""
    for name in options.figures:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise LookupError(f"there is no figure `{name}`: did you mean `{near}`? There are {', '.join(known)}")
    return list(options.figures or known)


def run(options: Options) -> dict[str, Outcome]:
    """Runs what the figures need, draws them and writes tables."""
    from . import claims, figures

    names = chosen(options, figures.FIGURES)
    all_experiments = experiments(options.quick)
    outcomes: dict[str, Outcome] = {}
    begin = time.monotonic()
    write_csv(options.out / "tables" / "table1.csv", ("network", "rate", "least", "most"), transceivers())
    for name in dict.fromkeys(e for name in names for e in figures.FIGURES[name].needs):
        outcomes[name] = run_experiment(all_experiments[name], options)
        write_csv(options.out / "tables" / f"{name}.csv", HEAD, table(outcomes[name]))
    for name in names:
        figures.save(name, outcomes, options.out / "figures")
    rows = claims.compare(published(), outcomes)
    write_csv(options.out / "tables" / "compared.csv", claims.HEAD, rows)
    (options.out / "tables" / "compared.md").write_text(claims.markdown(rows), encoding="utf-8")
    options.tell(f"{time.monotonic() - begin:.0f} s in all; figures and tables are in {options.out}")
    claims.show(rows)
    return outcomes
