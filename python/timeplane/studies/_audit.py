"""The audit of all reproduced papers: their statements, one by one and counted.

``timeplane study all --judge --in-place`` writes it to ``README.md`` beside the studies.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from timeplane.studies._claims import published, verdicts
from timeplane.studies._find import Study

#: Studies that do not reproduce one paper; their statements are not part of the audit.
APART = ("live", "plain")

#: The words of the audit by the verdicts of the scale. Whatever has no answer is missing: more
#: seeds, or an experiment, could still show that it disagrees.
WORDS: Mapping[str, str] = {
    "yes": "reproduced",
    "in part": "in part",
    "no": "disagree",
    "undecided": "missing",
    "not tried": "missing",
    "too short": "missing",
    "arithmetic": "arithmetic",
}
MEANINGS: Mapping[str, str] = {
    "reproduced": "the whole statement holds, with its interval and by every reading",
    "in part": "a part of the statement or one of its readings holds, the number is within a factor of 2, or the change has the direction",
    "disagree": "the result is another one",
    "missing": "there is no answer: no experiment is about it, or its interval reaches across the edge of a band",
    "arithmetic": "the paper has calculated it, and so have we; nothing was measured, so it is no reproduction",
}
#: Columns of ``reasons.csv`` in a study's folder: why a statement is not reproduced.
HEAD = ("id", "reason")


def reasons(folder: Path) -> dict[str, str]:
    """Why statements of a study are not reproduced, by id: the rows of ``reasons.csv``.

    Raises ``LookupError`` for a statement that does not exist or is reproduced, and for a row
    without a reason.
    """
    place = folder / "reasons.csv"
    if not place.exists():
        return {}
    with place.open(newline="", encoding="utf-8") as file:
        found = {row["id"]: row["reason"] for row in csv.DictReader(file)}
    judged = verdicts(folder / "tables" / "compared.csv")
    for name, reason in found.items():
        if WORDS.get(judged.get(name, "yes")) == "reproduced":
            raise LookupError(f"{place}: `{name}`: expected a statement that is not reproduced")
        if not reason:
            raise LookupError(f"{place}: `{name}`: expected the reason why it is not reproduced")
    return found


def counts(of: Mapping[str, Collection[str]]) -> list[tuple[str, ...]]:
    """A table: for each paper and for all, its statements and how many of them have each word.

    ``of`` has the verdicts by study; those of :data:`APART` are left out.
    """
    words = list(MEANINGS)
    papers = {name: [WORDS[verdict] for verdict in found] for name, found in of.items() if name not in APART}
    every = [word for found in papers.values() for word in found]
    rows = [(name, str(len(found)), *(str(found.count(word)) for word in words)) for name, found in (*papers.items(), ("all", every))]
    return [("paper", "statements", *words), *rows]


def page(studies: Sequence[Study]) -> str:
    """The audit as Markdown, from the ``compared.csv`` of each study."""
    papers = [study for study in studies if study.name not in APART]
    found = {study.name: verdicts(study.folder / "tables" / "compared.csv") for study in papers}
    open_ = [verdict for of in found.values() for verdict in of.values() if WORDS[verdict] == "missing"]
    parts = [
        "# The statements of all papers",
        "Every statement of a result in the reproduced papers, with what came out of it here. Parameters\n"
        "are left out. The number that we found is in each study's own page.\n"
        "`timeplane study all --judge --in-place` writes this page from the tables of the studies. It runs\n"
        "nothing, and a test compares the page with the tables.",
        "## Words",
        "Verdicts of the studies are words of one scale (`timeplane.studies.scale`). Here they are counted\n"
        "by fewer words. A statement counts as reproduced only if it is `yes`.",
        _table([("word", "verdicts", "meaning"), *((word, _of(word), meaning) for word, meaning in MEANINGS.items())]),
        "## Counts",
        _table(counts({name: list(of.values()) for name, of in found.items()})),
        f"Of the {len(open_)} that are missing, {open_.count('undecided')} are undecided.",
    ]
    for study in papers:
        why, judged = reasons(study.folder), found[study.name]
        rows = [
            (row["figure"], f"{row['quantity']}; {row['condition']}", row["paper"], WORDS[verdict], verdict, why.get(row["id"], ""))
            for row in published(study.folder)
            if (verdict := judged.get(row["id"], "not tried"))
        ]
        parts += [f"## [{study.name}]({study.name}/README.md)", _table([("figure", "quantity", "paper", "found", "verdict", "why"), *rows])]
    return "\n\n".join(parts) + "\n"


def write(studies: Sequence[Study]) -> Path:
    """Write the page beside the studies, which are in one folder."""
    (place,) = {study.folder.parent for study in studies}
    file = place / "README.md"
    file.write_text(page(studies), encoding="utf-8")
    return file


def _of(word: str) -> str:
    return ", ".join(f"`{verdict}`" for verdict, of in WORDS.items() if of == word)


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *others = rows
    lines = [head, ["---"] * len(head), *others]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
