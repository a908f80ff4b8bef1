"""Tables of studies as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from timeplane.studies._outcome import Key, O, Outcome, Summary
from timeplane.studies._statistics import Difference


def digits(value: float, count: int = 4) -> str:
    """A number with ``count`` significant digits; empty for ``nan``."""
    return "" if math.isnan(value) else f"{value:.{count}g}"


#: Most seeds whose values a table keeps.
KEPT = 20


def columns(counts: str = "seeds") -> tuple[str, ...]:
    """Columns of every table after its axis. ``values`` has the value of each seed, as
    ``seed:value``.
    """
    return "scheme", "quantity", "mean", "low_95", "high_95", counts, "values"


def table(outcome: Outcome[Any], count: int = 6, axis: str = "x") -> Iterator[Sequence[str]]:
    """The header, then one row per axis value, scheme and quantity: mean, 95 % interval, number of
    seeds, and the value of each seed if they are at most :data:`KEPT`.
    """
    yield axis, *columns(outcome.counts)
    for key in sorted(outcome.keys):
        if cells := row(outcome, key, count):
            yield cells


def row(outcome: Outcome[Any], key: Key, count: int = 6) -> list[str]:
    """The cells of a number; empty if nothing is known."""
    x, scheme, quantity = key
    summary = outcome.summaries.get(key)
    if summary is not None:
        numbers = [digits(v, count) for v in (summary.mean, summary.low, summary.high)]
        return [f"{x:g}", scheme, quantity, *numbers, str(summary.n), ""]
    of = outcome.estimate(*key)
    if not of.n:
        return []
    values = {seed: v for seed, v in sorted(outcome.values[key].items()) if not math.isnan(v)}
    kept = " ".join(f"{seed}:{digits(v, count)}" for seed, v in values.items()) if 1 < of.n <= KEPT else ""
    limits = [digits(of.mean + side * of.half, count) for side in (-1, 1)]
    return [f"{x:g}", scheme, quantity, digits(of.mean, count), *limits, str(of.n), kept]


def read_table(path: Path, outcome: O) -> O:
    """Fill an empty outcome with the numbers of a table of :func:`table`. Raises ``LookupError`` for
    a file with other columns.
    """
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        axis = (reader.fieldnames or [""])[0]
        expected = columns(outcome.counts)
        if tuple(reader.fieldnames or ())[1 : len(expected) + 1] != expected:
            raise LookupError(f"{path}: expected the columns {', '.join(expected)} after the first")
        for cells in reader:
            key = float(cells[axis]), cells["scheme"], cells["quantity"]
            if cells["values"]:
                pairs = (pair.partition(":") for pair in cells["values"].split())
                outcome.values[key] = {int(seed): float(value) for seed, _, value in pairs}
                continue
            count = int(cells[outcome.counts])
            mean, low, high = (_number(cells[name]) for name in ("mean", "low_95", "high_95"))
            outcome.summaries[key] = Summary(mean, low, high, count)
            if cells.get("difference"):
                mean, half, p = (_number(cells[name]) for name in ("difference", "difference_half_95", "p_equivalent"))
                outcome.differences[key] = Difference(mean, half, count, p)
    return outcome


def _number(text: str) -> float:
    return float(text) if text else math.nan


def write_csv(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    """Write a table whose first row is the header, creating its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def write_flows(path: Path, rows: Iterable[tuple[int, int, int, int]]) -> None:
    """Write a sorted list of flows for a scenario: start (ps), source, destination, bytes."""
    write_csv(path, [("start_ps", "source", "destination", "size_bytes"), *sorted(rows)])


def read_coflows(path: Path) -> Iterator[tuple[float, list[int], list[tuple[int, float]]]]:
    """The coflows of a file of coflow-benchmark, such as FB2010: start in seconds, racks of the
    mappers, and rack and MB of each reducer. Its MB come in equal parts from all mappers.
    """
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) < 5:
            continue
        mappers, reducers = fields[4].split("#")
        parts = [reducer.split(":") for reducer in reducers.split(",")]
        senders = [int(rack) for rack in mappers.split(",")]
        yield float(fields[1]) / 1000, senders, [(int(rack), float(megabytes)) for rack, megabytes in parts]
