"""Experiments of a study, and the numbers of their runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from timeplane.studies._statistics import Difference, Estimate, difference, estimate
from timeplane.studies.scale import Range

if TYPE_CHECKING:
    from timeplane._core import Table
    from timeplane.results import Results
    from timeplane.studies._run import Options


class Experiment(Protocol):
    """The attributes of an experiment that :func:`simulate` needs: one scenario with all its
    points, schemes and seeds.
    """

    @property
    def name(self) -> str:
        """Names its table and its results."""

    @property
    def schemes(self) -> Mapping[str, Any]:
        """By name; the first is the baseline."""

    @property
    def seeds(self) -> int:
        """Seeds of every run; 1 if nothing is random."""

    def scenario(self, seeds: int) -> Mapping[str, Any]:
        """Nested dicts with the keys of a scenario file."""


E = TypeVar("E", bound=Experiment)


@dataclass(frozen=True)
class Summary:
    """A number over several seeds whose values by seed are not kept, such as a percentile over the
    packets of all of them.
    """

    mean: float
    #: Limits of its 95 % interval; ``nan`` if unknown.
    low: float
    high: float
    #: Number of seeds.
    n: int


#: Axis value, scheme and quantity.
Key = tuple[float, str, str]


@dataclass
class Outcome(Generic[E]):
    """Numbers of all runs of an experiment, by axis value, scheme, quantity and seed."""

    experiment: E
    values: dict[Key, dict[int, float]] = field(default_factory=dict)
    summaries: dict[Key, Summary] = field(default_factory=dict)
    #: Differences to the first scheme that a table has, for numbers without values by seed.
    differences: dict[Key, Difference] = field(default_factory=dict)
    #: Numbers of seeds behind the numbers that were asked for.
    asked: set[int] = field(default_factory=set)

    def add(self, x: float, scheme: str, seed: int, numbers: Mapping[str, float]) -> None:
        """Add a run's numbers, by quantity."""
        for quantity, value in numbers.items():
            self.values.setdefault((x, scheme, quantity), {})[seed] = value

    @property
    def keys(self) -> list[Key]:
        """All numbers: axis value, scheme and quantity, in the order in which they were added."""
        return list(dict.fromkeys((*self.values, *self.summaries)))

    @property
    def places(self) -> list[float]:
        """Axis values in order."""
        return sorted({x for x, _, _ in self.keys})

    @property
    def quantities(self) -> list[str]:
        """Names of quantities in the order of their first appearance."""
        return list(dict.fromkeys(quantity for _, _, quantity in self.keys))

    @property
    def counts(self) -> str:
        """What the number of values of a mean counts: seeds, unless the experiment says ``cases``."""
        return str(getattr(self.experiment, "counts", "seeds"))

    @property
    def random(self) -> bool:
        """Whether seeds change its numbers."""
        return self.experiment.seeds > 1

    def peek(self, x: float, scheme: str, quantity: str) -> Estimate:
        """Like :meth:`estimate`, for a number that is shown beside a verdict and does not decide
        it.
        """
        summary = self.summaries.get((x, scheme, quantity))
        if summary is not None:
            return Estimate(summary.mean, (summary.high - summary.low) / 2, summary.n)
        return estimate(self.values.get((x, scheme, quantity), {}).values())

    def estimate(self, x: float, scheme: str, quantity: str) -> Estimate:
        """Mean over seeds with its interval; zero seeds if nothing is known."""
        found = self.peek(x, scheme, quantity)
        if found.n:
            self.asked.add(found.n)
        return found

    def mean(self, x: float, scheme: str, quantity: str) -> float:
        """Mean over seeds; ``nan`` if nothing is known."""
        return self.estimate(x, scheme, quantity).mean

    def range(self, x: float, scheme: str, quantity: str) -> Range:
        """The number with its interval, to be judged. A number of an experiment without randomness
        has none; that of one seed of a random experiment is unknown.
        """
        of, summary = self.estimate(x, scheme, quantity), self.summaries.get((x, scheme, quantity))
        if not self.random:
            return Range.point(of.mean)
        if summary is not None:
            return Range(summary.mean, summary.low, summary.high)
        return Range(of.mean, of.mean - of.half, of.mean + of.half)

    def difference(self, x: float, scheme: str, quantity: str, to: str | None = None) -> Difference:
        """Relative difference to the scheme ``to`` (default: the first), paired by the seeds of
        both.
        """
        first = next(iter(self.experiment.schemes))
        known = self.differences.get((x, scheme, quantity))
        if known is not None and (to or first) == first:
            self.asked.add(known.n)
            return known
        own = self.values.get((x, scheme, quantity), {})
        other = self.values.get((x, to or first, quantity), {})
        seeds = sorted(own.keys() & other.keys())
        found = difference([own[s] for s in seeds], [other[s] for s in seeds])
        if found.n:
            self.asked.add(found.n)
        return found

    def ratio(self, x: float, scheme: str, quantity: str, to: str | None = None) -> Range:
        """Ratio to the scheme ``to`` (default: the first): paired by seed if both have the same
        seeds, otherwise that of independent numbers.
        """
        own, other = (self.range(x, c, quantity) for c in (scheme, to or next(iter(self.experiment.schemes))))
        if self.random:
            of = self.difference(x, scheme, quantity, to)
            if of.n > 1:
                return Range(1 + of.mean, 1 + of.mean - of.half, 1 + of.mean + of.half)
        return own.over(other)

    def curve(self, scheme: str, quantity: str) -> tuple[np.ndarray, np.ndarray]:
        """Axis values and means of the runs of a scheme."""
        known = set(self.keys)
        points = [(x, self.mean(x, scheme, quantity)) for x in self.places if (x, scheme, quantity) in known]
        return np.array([p[0] for p in points]), np.array([p[1] for p in points])


O = TypeVar("O", bound=Outcome[Any])  # noqa: E741 (as E is for experiments)


def simulate(outcome: O, options: Options, measure: Callable[[O, Results], None], base: Path) -> O:
    """Run the experiment of ``outcome``, reusing complete runs, and call ``measure`` to add its
    numbers.

    The scenario's file names are relative to ``base``. Experiments with one seed are not random,
    and ignore ``options.seeds``.
    """
    from timeplane.scenario import Scenario

    experiment = outcome.experiment
    seeds = (options.seeds or experiment.seeds) if experiment.seeds > 1 else 1
    begin = time.monotonic()
    scenario = Scenario.from_dict(experiment.scenario(seeds), base=base)
    results = scenario.run(jobs=options.jobs, results=options.out / "runs")
    measure(outcome, results)
    options.tell(f"{experiment.name}: {len(results.runs)} runs in {time.monotonic() - begin:.0f} s")
    return outcome


def by_run(summary: Table) -> dict[str, dict[str, Any]]:
    """Rows of a summary (:attr:`timeplane.Results.summary`) by run key, each a dict by column."""
    columns = {name: summary[name] for name in summary.columns}
    return {str(key): {name: column[i] for name, column in columns.items()} for i, key in enumerate(columns["run"])}
