"""A paper's statements beside what comes out here."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

#: What comes out, and whether that is what the paper says: ``yes``, ``no``, or words such as ``in part``.
Found = tuple[str, str]

#: By the ``id`` of ``published.csv``: names of the experiments that it takes, and what finds it in their outcomes.
Claims = Mapping[str, tuple[Sequence[str], Callable[[Any], Found]]]

HEAD = ("id", "figure", "quantity", "condition", "paper", "ours", "agrees")


def yes_or_no(agrees: bool) -> str:
    """The second half of a :data:`Found` that has no in-between."""
    return "yes" if agrees else "no"


def published(folder: Path) -> list[dict[str, str]]:
    """What the paper says, row by row: ``published.csv`` of a study's folder."""
    with (folder / "published.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def compare(rows: Sequence[Mapping[str, str]], claims: Claims, outcomes: Mapping[str, Any]) -> list[list[str]]:
    """One row, with the columns of ``HEAD``, per statement whose experiments were run; raises ``LookupError`` for one that no claim is about."""
    found = []
    for row in rows:
        if row["id"] not in claims:
            raise LookupError(f"published.csv has a statement `{row['id']}` that no claim is about")
        needs, find = claims[row["id"]]
        if all(need in outcomes for need in needs):
            found.append([*(row[column] for column in HEAD[:5]), *find(outcomes)])
    return found


def show(rows: Sequence[Sequence[str]]) -> None:
    """On the terminal."""
    for _, figure, quantity, condition, paper, ours, agrees in rows:
        print(f"{figure}: {quantity} ({condition})\n    paper: {paper}\n    here:  {ours}\n    agrees: {agrees}")


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """As a table of a README."""
    lines = ["| figure | quantity | paper | here | agrees |", "| --- | --- | --- | --- | --- |"]
    for _, figure, quantity, condition, paper, ours, agrees in rows:
        lines.append(f"| {figure} | {quantity}; {condition} | {paper} | {ours} | {agrees} |")
    return "\n".join(lines) + "\n"
