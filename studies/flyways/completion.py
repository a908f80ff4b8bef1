"""Completion times of demands, case by case, relative to a network without oversubscription."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from timeplane import algorithms
from timeplane.studies import Options, Summary

from .arithmetic import bound
from .traces import Matrices

if TYPE_CHECKING:
    from .study import Outcome

#: Maximum relative completion time that counts as equal to a network without oversubscription;
#: shares are balanced to within about 0.1 %.
SAME = 1.01
#: Reductions by which the paper's "sped up by 45 %" can be read: 1.45 times as fast, and 45 % less
#: time.
READINGS = {"shorter_31": 1 - 1 / 1.45, "shorter_45": 0.45}


def numbers(matrix: np.ndarray, setting: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of one case."""
    plan = algorithms.flyways(matrix, **setting)
    return {
        "relative": plan.relative,
        "wired": plan.wired / plan.unsubscribed,
        "shorter": 1 - plan.ctd / plan.wired,
        "links": float(len(plan.links)),
        "bound": bound(matrix, setting["radios"]),
    }


def compare(
    matrices: Callable[[int], Matrices],
    cases: int,
    places: Mapping[float, Mapping[str, Any]],
    schemes: Mapping[str, Mapping[str, Any]],
) -> Callable[[Outcome, Options], None]:
    """A function that fills an outcome with all cases at all positions under all schemes. An
    outcome stores cases as seeds.
    """

    def run(outcome: Outcome, options: Options) -> None:
        tasks = [
            (x, scheme, case, matrix, dict(at) | dict(how))
            for x, at in places.items()
            for scheme, how in schemes.items()
            for case, matrix in enumerate(matrices(cases))
        ]
        # The planner runs without the interpreter's lock.
        with ThreadPoolExecutor(options.jobs or 2) as pool:
            every = pool.map(lambda task: numbers(task[3], task[4]), tasks)
            for (x, scheme, case, *_), found in zip(tasks, every, strict=True):
                outcome.add(x, scheme, case, found)
        for x, scheme, of in list(shares(outcome)):
            count = len(outcome.values[x, scheme, "relative"])
            for quantity, share in of.items():
                outcome.summaries[x, scheme, quantity] = Summary(share, math.nan, math.nan, count)

    return run


def values(outcome: Outcome, x: float, scheme: str, quantity: str) -> np.ndarray:
    """The values of all cases."""
    return np.array(list(outcome.values[x, scheme, quantity].values()))


def shares(outcome: Outcome) -> Iterator[tuple[float, str, dict[str, float]]]:
    """Shares of cases by position and scheme: as much shorter as each of ``READINGS``, as fast as
    without oversubscription, and as fast as the bound; mean and median.
    """
    for x, scheme in dict.fromkeys((x, scheme) for x, scheme, _ in outcome.values):
        relative, shorter, least = (values(outcome, x, scheme, q) for q in ("relative", "shorter", "bound"))
        yield x, scheme, {
            **{name: float((shorter >= least_gain).mean()) for name, least_gain in READINGS.items()},
            "same": float((relative <= SAME).mean()),
            "at_bound": float((relative <= SAME * least).mean()),
            "relative_mean": float(relative.mean()),
            "relative_median": float(np.median(relative)),
            "shorter_mean": float(shorter.mean()),
        }
