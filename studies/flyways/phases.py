"""The series of matrices between pods, phase by phase: which links stay, and the cost of
pointing the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from timeplane import algorithms
from timeplane.studies import Options

from .traces import pod_matrices

if TYPE_CHECKING:
    from .study import Outcome

#: Sectors of each end.
SECTORS = 36
#: Seconds that an antenna takes to switch its pattern: the standard's interval between the frames
#: of a sweep.
STEERING = 1e-6
#: Rate of the hosts of a rack at 1:2 oversubscription, in bytes/s.
RACK = 20e9 / 8
#: Setup time of a new link in seconds, by way of pointing its beams.
POINTING = {"no delay": 0.0, "told by wire": STEERING, "trained over the air": algorithms.beam_training(SECTORS)}
#: Mean duration of a phase in ms without oversubscription; the series has no unit.
LENGTHS = (1.0, 3.0, 10.0, 100.0)


def series(count: int, milliseconds: float) -> np.ndarray:
    """The first matrices of the series, scaled so that the busiest rack takes this time on
    average.
    """
    matrices = pod_matrices()[:count]
    busiest = np.maximum(matrices.sum(1).max(1), matrices.sum(2).max(1)).mean()
    return np.round(matrices * (milliseconds / 1000 * RACK / busiest))


def run(count: int) -> Callable[[Outcome, Options], None]:
    """A function that fills an outcome: lengths by way of pointing, with phases as seeds."""

    def fill(outcome: Outcome, options: Options) -> None:
        for length in LENGTHS:
            for name, setup in POINTING.items():
                for k, phase in enumerate(algorithms.flyway_phases(series(count, length), setup=setup, core=False)):
                    plan = phase.plan
                    found = {"relative": plan.relative, "wired": plan.wired / plan.unsubscribed}
                    found |= {"kept": float(phase.kept), "begun": float(phase.begun), "ended": float(phase.ended)}
                    outcome.add(length, name, k, found)

    return fill
