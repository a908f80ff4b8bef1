"""The pods' series phase by phase: links that stay, and what pointing the others costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from timeplane import algorithms
from timeplane.studies import Options

from .traces import pod_matrices

if TYPE_CHECKING:
    from .study import Outcome

#: Of each end.
SECTORS = 36
#: Seconds that an antenna takes to use another pattern: the standard's gap between frames of a
#: sweep.
STEERING = 1e-6
#: Hosts of a rack under 1:2, B/s.
RACK = 20e9 / 8
#: How beams of a new link find each other.
POINTING = {"no delay": 0.0, "told by wire": STEERING, "trained over the air": algorithms.beam_training(SECTORS)}
#: ms that a phase takes on average without oversubscription: the series has no unit.
LENGTHS = (1.0, 3.0, 10.0, 100.0)


def series(count: int, milliseconds: float) -> np.ndarray:
    """The first matrices of the series, such that the busiest rack takes so long on average."""
    matrices = pod_matrices()[:count]
    busiest = np.maximum(matrices.sum(1).max(1), matrices.sum(2).max(1)).mean()
    return np.round(matrices * (milliseconds / 1000 * RACK / busiest))


def run(count: int) -> Callable[[Outcome, Options], None]:
    """Fills an outcome: lengths by ways to point, a phase as a seed."""

    def fill(outcome: Outcome, options: Options) -> None:
        for length in LENGTHS:
            for name, setup in POINTING.items():
                for k, phase in enumerate(algorithms.flyway_phases(series(count, length), setup=setup, core=False)):
                    plan = phase.plan
                    found = {"relative": plan.relative, "wired": plan.wired / plan.unsubscribed}
                    found |= {"kept": float(phase.kept), "begun": float(phase.begun), "ended": float(phase.ended)}
                    outcome.add(length, name, k, found)

    return fill
