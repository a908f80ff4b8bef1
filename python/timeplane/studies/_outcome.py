"""One experiment of a study: it is run, and its numbers are kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from timeplane.studies._statistics import Difference, Estimate, difference, estimate

if TYPE_CHECKING:
    from timeplane._core import Table
    from timeplane.results import Results
    from timeplane.studies._run import Options


class Experiment(Protocol):
    """What :func:`simulate` asks of an experiment: one scenario of a study, with all its points, schemes and seeds."""

    @property
    def name(self) -> str:
        """Names its table and its results."""

    @property
    def schemes(self) -> Mapping[str, Any]:
        """By name; the first is the baseline."""

    @property
    def seeds(self) -> int:
        """Seeds of every run; 1 where nothing is random."""

    def scenario(self, seeds: int) -> Mapping[str, Any]:
        """As nested dicts, with the keys of a scenario file."""


E = TypeVar("E", bound=Experiment)


@dataclass
class Outcome(Generic[E]):
    """Numbers of all runs of an experiment: by place on the axis, scheme and quantity one per seed."""

    experiment: E
    values: dict[tuple[float, str, str], dict[int, float]] = field(default_factory=dict)

    def add(self, x: float, scheme: str, seed: int, numbers: Mapping[str, float]) -> None:
        """Takes the numbers of a run, by quantity."""
        for quantity, value in numbers.items():
            self.values.setdefault((x, scheme, quantity), {})[seed] = value

    @property
    def places(self) -> list[float]:
        """On the axis, in order."""
        return sorted({x for x, _, _ in self.values})

    @property
    def quantities(self) -> list[str]:
        """Their names, in the order in which they came."""
        return list(dict.fromkeys(quantity for _, _, quantity in self.values))

    def estimate(self, x: float, scheme: str, quantity: str) -> Estimate:
        """Mean over seeds; of no seed where nothing is known."""
        return estimate(self.values.get((x, scheme, quantity), {}).values())

    def mean(self, x: float, scheme: str, quantity: str) -> float:
        """The same, without its interval; ``nan`` where nothing is known."""
        return self.estimate(x, scheme, quantity).mean

    def difference(self, x: float, scheme: str, quantity: str, to: str | None = None) -> Difference:
        """Relative difference to the first scheme, or to that one, of the seeds that both have."""
        own = self.values.get((x, scheme, quantity), {})
        other = self.values.get((x, to or next(iter(self.experiment.schemes)), quantity), {})
        seeds = sorted(own.keys() & other.keys())
        return difference([own[s] for s in seeds], [other[s] for s in seeds])

    def curve(self, scheme: str, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        """Places and means of what was run."""
        points = [(x, self.mean(x, scheme, quantity)) for x in self.places if (x, scheme, quantity) in self.values]
        return np.array([p[0] for p in points]), np.array([p[1] for p in points])


O = TypeVar("O", bound=Outcome[Any])  # noqa: E741 (as E is for experiments)


def simulate(outcome: O, options: Options, measure: Callable[[O, Results], None], base: Path) -> O:
    """Runs the experiment of ``outcome``, or takes runs that are complete, and has ``measure`` fill it with their numbers.

    ``base`` is the folder from which the scenario's files are named. More seeds than one are run only where the experiment has more.
    """
    from timeplane.scenario import Scenario

    experiment = outcome.experiment
    # What nothing in is random needs no more seeds.
    seeds = (options.seeds or experiment.seeds) if experiment.seeds > 1 else 1
    begin = time.monotonic()
    scenario = Scenario.from_dict(experiment.scenario(seeds), base=base)
    results = scenario.run(jobs=options.jobs, results=options.out / "runs")
    measure(outcome, results)
    options.tell(f"{experiment.name}: {len(results.runs)} runs in {time.monotonic() - begin:.0f} s")
    return outcome


def by_run(summary: Table) -> dict[str, dict[str, Any]]:
    """Rows of a summary (:attr:`timeplane.Results.summary`), as dicts by column, by the key of the run."""
    columns = {name: summary[name] for name in summary.columns}
    return {str(key): {name: column[i] for name, column in columns.items()} for i, key in enumerate(columns["run"])}
