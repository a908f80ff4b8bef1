"""Practical TDMA: exclusive slots on plain Ethernet, opened and closed by pause frames (EuroSys 2012)."""

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
from timeplane.studies import Estimate, Options, estimate

from . import measures
from .experiments import FOLDER, Experiment, experiments


@dataclass
class Outcome:
    """Numbers of all runs of an experiment: by place on the axis, control and quantity one per seed."""

    experiment: Experiment
    values: dict[tuple[float, str, str], dict[int, float]] = field(default_factory=dict)

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


def run_experiment(experiment: Experiment, options: Options, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Runs it, or takes runs that are complete."""
    # What nothing in is random but reactions needs no more seeds.
    seeds = (options.seeds or experiment.seeds) if experiment.seeds > 1 else 1
    lists = options.out / "flows"
    experiment.write(lists, outcomes)
    begin = time.monotonic()
    scenario = tp.Scenario.from_dict(experiment.scenario(seeds), base=lists)
    results = scenario.run(jobs=options.jobs, results=options.out / "runs")
    outcome = Outcome(experiment)
    summary = measures.by_run(results.summary)
    for run in results.runs:
        numbers = measures.measured(experiment, run, summary[run.key])
        outcome.add(experiment.x_of(run.point), run.control_name, run.seed, numbers)
    options.tell(f"{experiment.name}: {len(results.runs)} runs in {time.monotonic() - begin:.0f} s")
    return outcome


def digits(value: float, count: int = 4) -> str:
    """A number of so many digits, without what it does not need; empty for none."""
    return "" if math.isnan(value) else f"{value:.{count}g}"


HEAD = ("x", "control", "quantity", "mean", "half_95", "n")


def table(outcome: Outcome) -> Iterator[Sequence[str]]:
    """One row per place, control and quantity."""
    for x, control, quantity in sorted(outcome.values):
        of = outcome.estimate(x, control, quantity)
        if of.n:
            yield [f"{x:g}", control, quantity, digits(of.mean, 7), digits(of.half, 2), str(of.n)]


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
    for name in dict.fromkeys(e for figure in names for e in figures.FIGURES[figure].needs):
        outcomes[name] = run_experiment(all_experiments[name], options, outcomes)
        write_csv(options.out / "tables" / f"{name}.csv", HEAD, table(outcomes[name]))
    for name in names:
        figures.save(name, outcomes, options.out / "figures")
    rows = claims.compare(published(), outcomes)
    write_csv(options.out / "tables" / "compared.csv", claims.HEAD, rows)
    (options.out / "tables" / "compared.md").write_text(claims.markdown(rows), encoding="utf-8")
    options.tell(f"{time.monotonic() - begin:.0f} s in all; figures and tables are in {options.out}")
    claims.show(rows)
    return outcomes
