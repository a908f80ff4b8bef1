"""Tables of studies as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from timeplane.studies._outcome import Outcome


def digits(value: float, count: int = 4) -> str:
    """A number of so many digits, without what it does not need; empty for none."""
    return "" if math.isnan(value) else f"{value:.{count}g}"


def table(outcome: Outcome[Any], count: int = 6) -> Iterator[Sequence[str]]:
    """Its head, then one row per place, scheme and quantity: means of so many digits with half of their 95 % intervals."""
    yield "x", "scheme", "quantity", "mean", "half_95", "n"
    for x, scheme, quantity in sorted(outcome.values):
        of = outcome.estimate(x, scheme, quantity)
        if of.n:
            yield f"{x:g}", scheme, quantity, digits(of.mean, count), digits(of.half, 2), str(of.n)


def write_csv(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    """Writes a table whose first row is its head; makes the folder where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def write_flows(path: Path, rows: Iterable[tuple[int, int, int, int]]) -> None:
    """Writes a list of flows that a scenario can name: start (ps), source, destination, bytes; sorted by these."""
    write_csv(path, [("start_ps", "source", "destination", "size_bytes"), *sorted(rows)])
