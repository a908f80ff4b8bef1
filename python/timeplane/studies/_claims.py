"""Comparison of a paper's statements with results."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

#: A result and its verdict: ``yes``, ``no``, or words such as ``in part``.
Found = tuple[str, str]

#: By the ``id`` in ``published.csv``: the necessary experiments, and a function of their outcomes.
Claims = Mapping[str, tuple[Sequence[str], Callable[[Any], Found]]]

HEAD = ("id", "figure", "quantity", "condition", "paper", "ours", "agrees")


def yes_or_no(agrees: bool) -> str:
    """The verdict of a :data:`Found` that is either ``yes`` or ``no``."""
    return "yes" if agrees else "no"


def published(folder: Path) -> list[dict[str, str]]:
    """The paper's statements: the rows of ``published.csv`` in a study's folder."""
    with (folder / "published.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def compare(rows: Sequence[Mapping[str, str]], claims: Claims, outcomes: Mapping[str, Any]) -> list[list[str]]:
    """One row with the columns of ``HEAD`` for each statement whose experiments were run.

    Raises ``LookupError`` for a statement without a claim.
    """
    found = []
    for row in rows:
        if row["id"] not in claims:
            raise LookupError(f"statement `{row['id']}` of published.csv: expected a claim for it")
        needs, find = claims[row["id"]]
        if all(need in outcomes for need in needs):
            found.append([*(row[column] for column in HEAD[:5]), *find(outcomes)])
    return found


def show(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of :func:`compare` on the terminal."""
    for _, figure, quantity, condition, paper, ours, agrees in rows:
        print(f"{figure}: {quantity} ({condition})\n    paper: {paper}\n    here:  {ours}\n    agrees: {agrees}")


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows of :func:`compare` as a table for a README."""
    lines = ["| figure | quantity | paper | here | agrees |", "| --- | --- | --- | --- | --- |"]
    for _, figure, quantity, condition, paper, ours, agrees in rows:
        lines.append(f"| {figure} | {quantity}; {condition} | {paper} | {ours} | {agrees} |")
    return "\n".join(lines) + "\n"
