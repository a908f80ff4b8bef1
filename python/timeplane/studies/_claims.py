"""Comparison of a paper's statements with results."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from timeplane.studies.scale import VERDICTS

#: A result in words, and its verdict: a word of ``VERDICTS``.
Found = tuple[str, str]

#: By the ``id`` in ``published.csv``: the necessary experiments, and a function of their outcomes.
Claims = Mapping[str, tuple[Sequence[str], Callable[[Any], Found]]]

HEAD = ("id", "figure", "quantity", "condition", "paper", "ours", "seeds", "agrees")
#: Verdicts that do not depend on the length of experiments.
_WITHOUT_RUNS = ("arithmetic", "not tried")


def published(folder: Path) -> list[dict[str, str]]:
    """The paper's statements: the rows of ``published.csv`` in a study's folder."""
    with (folder / "published.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def verdicts(file: Path) -> dict[str, str]:
    """The verdicts of a ``compared.csv`` by statement; none if there is no such file."""
    if not file.exists():
        return {}
    with file.open(newline="", encoding="utf-8") as text:
        return {row["id"]: row["agrees"] for row in csv.DictReader(text)}


def compare(rows: Sequence[Mapping[str, str]], claims: Claims, outcomes: Mapping[str, Any], quick: bool = False) -> list[list[str]]:
    """One row with the columns of ``HEAD`` for each statement whose experiments were run.

    Experiments of ``--quick`` are too short to judge. Raises ``LookupError`` for a statement
    without a claim, and ``ValueError`` for a verdict that the scale does not have.
    """
    found = []
    for row in rows:
        if row["id"] not in claims:
            raise LookupError(f"statement `{row['id']}` of published.csv: expected a claim for it")
        needs, find = claims[row["id"]]
        if not all(need in outcomes for need in needs):
            continue
        for need in needs:
            outcomes[need].asked.clear()
        ours, verdict = find(outcomes)
        if verdict not in VERDICTS:
            raise ValueError(f"statement `{row['id']}`: verdict `{verdict}`: expected one of {', '.join(VERDICTS)}")
        if quick and needs and verdict not in _WITHOUT_RUNS:
            verdict = "too short"
        found.append([*(row[column] for column in HEAD[:5]), ours, seeds_of([outcomes[need] for need in needs]), verdict])
    return found


def seeds_of(outcomes: Sequence[Any]) -> str:
    """How many seeds, or cases, the numbers have that were asked for."""
    parts = []
    for counts in dict.fromkeys(outcome.counts for outcome in outcomes):
        asked = sorted({n for outcome in outcomes if outcome.counts == counts for n in outcome.asked})
        if asked:
            text = f"{asked[0]} to {asked[-1]}" if len(asked) > 1 else f"{asked[0]}"
            parts.append(text if counts == "seeds" else f"{text} {counts}")
    return ", ".join(parts) or "none"


def show(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of :func:`compare` on the terminal."""
    for _, figure, quantity, condition, paper, ours, seeds, agrees in rows:
        print(f"{figure}: {quantity} ({condition})\n    paper: {paper}\n    here:  {ours}\n    seeds: {seeds}\n    agrees: {agrees}")


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows of :func:`compare` as a table for a README."""
    lines = ["| figure | quantity | paper | here | seeds | agrees |", "| --- | --- | --- | --- | --- | --- |"]
    for _, figure, quantity, condition, paper, ours, seeds, agrees in rows:
        lines.append(f"| {figure} | {quantity}; {condition} | {paper} | {ours} | {seeds} | {agrees} |")
    return "\n".join(lines) + "\n"
