"""Flyways: 60 GHz links between racks for the hot spots of an oversubscribed network (SIGCOMM
2011).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from timeplane import studies
from timeplane.studies import Options

from .completion import shares
from .experiments import Experiment

Outcome = studies.Outcome[Experiment]


def simulate(experiment: Experiment, options: Options, outcomes: Mapping[str, Outcome]) -> Outcome:
    """Fills an outcome."""
    begin = time.monotonic()
    outcome = Outcome(experiment)
    experiment.fill(outcome, options)
    options.tell(f"{experiment.name}: {time.monotonic() - begin:.0f} s")
    return outcome


def table(outcome: Outcome) -> Iterator[Sequence[str]]:
    """Writes means over cases and, for completion times, shares of cases."""
    yield from studies.table(outcome)
    if "bound" in outcome.quantities:
        for x, scheme, of in shares(outcome):
            for quantity, value in of.items():
                yield f"{x:g}", scheme, quantity, studies.digits(value, 6), "", str(len(outcome.values[x, scheme, "relative"]))


def run(options: Options) -> dict[str, Outcome]:
    """Run the chosen figures' experiments; draw, tabulate and compare them."""
    return studies.reproduce(options, __name__, simulate, table)
