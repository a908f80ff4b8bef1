"""Verdicts that have changed, and the generated parts of a study's README."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from timeplane.studies._tables import write_csv

#: Columns of ``history.csv``: a statement, its verdict before and after, and the reason.
HEAD = ("id", "before", "after", "reason")


def history(folder: Path) -> list[dict[str, str]]:
    """The rows of ``history.csv`` in a study's folder, the oldest first."""
    place = folder / "history.csv"
    if not place.exists():
        return []
    with place.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def extend(folder: Path, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Append the verdicts that differ to ``history.csv``, without a reason, and return the ids of
    all rows that lack one.
    """
    rows = history(folder)
    changed = [{"id": name, "before": before[name], "after": after[name], "reason": ""} for name in after if before.get(name, after[name]) != after[name]]
    # A row without a reason is of an earlier judgement of the same change.
    open_ = {row["id"]: row for row in rows if not row["reason"]}
    for row in changed:
        if row["id"] in open_:
            open_[row["id"]]["after"] = row["after"]
        else:
            rows.append(row)
    rows = [row for row in rows if row["reason"] or row["before"] != row["after"]]
    if rows:
        write_csv(folder / "history.csv", [HEAD, *([row[column] for column in HEAD] for row in rows)])
    return [row["id"] for row in rows if not row["reason"]]


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows of :func:`history` as a table for a README."""
    lines = ["| statement | verdict before | verdict since | reason |", "| --- | --- | --- | --- |"]
    lines += [f"| `{row['id']}` | {row['before']} | {row['after']} | {row['reason']} |" for row in rows]
    return "\n".join(lines) + "\n"


def rewrite(text: str, parts: Mapping[str, str]) -> str:
    """Replace the generated parts of a README: the lines between ``<!-- NAME -->`` and
    ``<!-- end of NAME -->``. Raises ``LookupError`` for a part that is missing.
    """
    for name, part in parts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        head, found, rest = text.partition(begin)
        _, also, tail = rest.partition(end)
        if not (found and also):
            raise LookupError(f"README.md: expected the lines `{begin.strip()}` and `{end.strip()}`")
        text = f"{head}{begin}\n{part}\n{end}{tail}"
    return text
