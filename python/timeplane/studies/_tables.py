"""Tables of studies as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from timeplane.studies._outcome import Outcome


def digits(value: float, count: int = 4) -> str:
    """A number with ``count`` significant digits; empty for ``nan``."""
    return "" if math.isnan(value) else f"{value:.{count}g}"


def table(outcome: Outcome[Any], count: int = 6) -> Iterator[Sequence[str]]:
    """The header, then one row per axis value, scheme and quantity: mean and half of its 95 %
    interval.
    """
    yield "x", "scheme", "quantity", "mean", "half_95", "n"
    for x, scheme, quantity in sorted(outcome.values):
        of = outcome.estimate(x, scheme, quantity)
        if of.n:
            yield f"{x:g}", scheme, quantity, digits(of.mean, count), digits(of.half, 2), str(of.n)


def write_csv(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    """Write a table whose first row is the header, creating its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def write_flows(path: Path, rows: Iterable[tuple[int, int, int, int]]) -> None:
    """Write a sorted list of flows for a scenario: start (ps), source, destination, bytes."""
    write_csv(path, [("start_ps", "source", "destination", "size_bytes"), *sorted(rows)])
