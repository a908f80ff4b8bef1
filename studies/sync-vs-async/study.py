"""Synchronous or asynchronous central control: timeslots against rates (Sviridov, Bianco, Giaccone, IEEE Globecom 2018)."""

from __future__ import annotations

import csv
import difflib
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import timeplane as tp
from timeplane.studies import Difference, Estimate, Options, difference, estimate

from . import measures
from .experiments import FOLDER, LOAD, Experiment, experiments


@dataclass
class Outcome:
    """Numbers of all runs of an experiment: by load, control and quantity one per seed."""

    experiment: Experiment
    values: dict[tuple[float, str, str], dict[int, float]] = field(default_factory=dict)
    results: tp.Results | None = None

    def add(self, load: float, control: str, seed: int, numbers: Mapping[str, float]) -> None:
        """Takes the numbers of a run."""
        for quantity, value in numbers.items():
            self.values.setdefault((load, control, quantity), {})[seed] = value

    @property
    def quantities(self) -> list[str]:
        """Their names."""
        return list(dict.fromkeys(quantity for _, _, quantity in self.values))

    def estimate(self, load: float, control: str, quantity: str) -> Estimate:
        """Mean over seeds."""
        return estimate(self.values.get((load, control, quantity), {}).values())

    def difference(self, load: float, control: str, quantity: str, to: str | None = None) -> Difference:
        """Relative difference to the first control, or to that one."""
        own = self.values.get((load, control, quantity), {})
        other = self.values.get((load, to or next(iter(self.experiment.controls)), quantity), {})
        seeds = sorted(own.keys() & other.keys())
        return difference([own[s] for s in seeds], [other[s] for s in seeds])


def run_experiment(experiment: Experiment, options: Options) -> Outcome:
    """Runs it, or takes runs that are complete."""
    seeds = options.seeds or experiment.seeds
    scenario = tp.Scenario.from_dict(experiment.scenario(seeds), base=FOLDER)
    begin = time.monotonic()
    results = scenario.run(jobs=options.jobs, results=options.out / "runs")
    outcome = Outcome(experiment, results=results)
    for (load, control, seed), numbers in _measured(experiment, results):
        outcome.add(load, control, seed, numbers)
    options.tell(f"{experiment.name}: {len(results.runs)} runs in {time.monotonic() - begin:.0f} s")
    return outcome


def _measured(experiment: Experiment, results: tp.Results) -> Iterator[tuple[tuple[float, str, int], dict[str, float]]]:
    summary = results.summary
    columns = {name: summary[name] for name in summary.columns}
    row_of = {key: row for row, key in enumerate(columns["run"])}
    warmup, measure, _ = map(measures.picoseconds, experiment.window)
    for run in results.runs:
        row = {name: column[row_of[run.key]] for name, column in columns.items()}
        load = float(run.point[LOAD])
        numbers = measures.of_flows(run, row, load, measure) | measures.of_latency(row) | measures.of_control(run, row)
        if experiment.queues_every:
            numbers |= measures.of_queues(run, warmup, warmup + measure, measures.picoseconds(experiment.queues_every))
        yield (load, run.control_name, run.seed), numbers


def digits(value: float, count: int = 4) -> str:
    """A number of so many digits, without what it does not need; empty for none."""
    return "" if math.isnan(value) else f"{value:.{count}g}"


HEAD = ("load", "control", "quantity", "mean", "half_95", "n", "difference", "difference_half_95", "p_equivalent", "verdict")


def table(outcome: Outcome) -> Iterator[Sequence[str]]:
    """One row per load, control and quantity; differences are to the first control, relative, paired by seed."""
    first = next(iter(outcome.experiment.controls))
    for load in outcome.experiment.loads:
        for control in outcome.experiment.controls:
            for quantity in outcome.quantities:
                of = outcome.estimate(load, control, quantity)
                if not of.n:
                    continue
                row = [f"{load:g}", control, quantity, digits(of.mean), digits(of.half, 2), str(of.n)]
                if control == first:
                    yield [*row, "", "", "", ""]
                    continue
                d = outcome.difference(load, control, quantity)
                yield [*row, digits(d.mean, 3), digits(d.half, 2), digits(d.p_equivalent, 2), d.verdict]


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
    wanted = dict.fromkeys(e for name in names for e in (*figures.FIGURES[name].needs, *figures.FIGURES[name].optional))
    outcomes: dict[str, Outcome] = {}
    begin = time.monotonic()
    for name in wanted:
        if name in all_experiments:
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
