"""Builds the pages of studies from the tables that `timeplane study` writes."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

from generated import Page

from timeplane.studies import _audit, find, published, scale, studies
from timeplane.studies._audit import APART
from timeplane.studies._claims import HEAD, markdown
from timeplane.studies._history import history
from timeplane.studies._history import markdown as history_markdown
from timeplane.studies._inputs import costs


class GalleryError(ValueError):
    """The files of a study disagree."""


def compared(folder: Path) -> list[list[str]]:
    """Read ``tables/compared.csv``, one row per statement of ``published.csv``. Raise :class:`GalleryError` if they disagree."""
    with (folder / "tables" / "compared.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    says = f"`timeplane study {folder.name} --judge --in-place` writes it anew"
    if tuple(head) != HEAD:
        raise GalleryError(f"{folder.name}/tables/compared.csv has other columns than {', '.join(HEAD)}: {says}")
    statements = {row["id"]: [row[column] for column in HEAD[:5]] for row in published(folder)}
    if [row[0] for row in rows] != list(statements):
        raise GalleryError(f"{folder.name}/tables/compared.csv is not about the statements of published.csv, in their order: {says}")
    for row in rows:
        if row[:5] != statements[row[0]]:
            raise GalleryError(f"{folder.name}/tables/compared.csv: `{row[0]}` is not what published.csv says: {says}")
        if row[-1] not in scale.VERDICTS:
            raise GalleryError(f"{folder.name}/tables/compared.csv: `{row[0]}`: verdict `{row[-1]}` is not one of the scale: {says}")
    changes = _changes(folder, {row[0]: row[-1] for row in rows})
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for line in (*markdown(rows).splitlines()[2:], *changes):
        if line not in readme:
            raise GalleryError(f"{folder.name}/README.md does not have what its tables say: {line}")
    return rows


def _changes(folder: Path, verdicts: dict[str, str]) -> list[str]:
    """The lines of ``history.csv`` in a README. Raise :class:`GalleryError` for a change without a reason, or one that does not lead to today's verdict."""
    rows = history(folder)
    last = {row["id"]: row["after"] for row in rows}
    for row in rows:
        if not row["reason"]:
            raise GalleryError(f"{folder.name}/history.csv: `{row['id']}` has a new verdict: expected the reason")
    for name, after in last.items():
        if verdicts.get(name) != after:
            raise GalleryError(f"{folder.name}/history.csv: the last verdict of `{name}` is `{after}`: expected `{verdicts.get(name)}`")
    return history_markdown(rows).splitlines()[2:]


def pages(root: Path) -> dict[str, Page]:
    """Build the gallery, and a page for each study, by name."""
    index = Page(
        "Studies",
        "Reproduced papers: their statements next to the results here. Each study is a folder of the repository. It has a scenario, the paper's statements "
        "(`published.csv`), the code that finds each in the results (`claims.py`), and the tables of a full run, which this page shows. Each study "
        "names what disagrees, with the reason if it is known.",
    )
    made = {"index": index}
    rows = []
    for study in studies():
        folder = study.folder
        found = compared(folder)
        counted = Counter(row[-1] for row in found)
        answer = ", ".join(f"{counted[word]} {word}" for word in scale.VERDICTS if counted[word])
        rows.append((f"[{study.name}]({study.name}.md)", study.about, str(len(found)), answer))
        made[study.name] = _study(folder)
    if not rows:
        raise GalleryError("no study: expected at least one")
    rows.append(("all papers", f"all but {', '.join(APART)}", *_sum(root)))
    index.table(("study", "what it asks", "statements", "agrees"), rows)
    index.add(
        "## The scale",
        "All studies use one scale (`timeplane.studies.scale`). It judges the 95 % interval of a result, from the tables. A number of the paper "
        f"accepts a band by its wording: a ratio of {scale.EXACT:g} in both directions for three or more digits, {scale.STATED:g} for fewer "
        f'and for "the same", {scale.ABOUT:g} for "about" and "similar". Statements with one side, such as "more than double", have one limit.',
    )
    index.table(("verdict", "meaning"), [(word, meaning) for word, meaning in scale.VERDICTS.items()])
    index.add(
        "## All statements",
        "[One page](audit.md) has every statement of these papers by fewer words, and why it is not reproduced if it is not. "
        "Only `yes` counts as reproduced.",
    )
    index.table(*_counts())
    made["audit"] = _audit_page(root)
    names = "\n".join(name for name in made if name != "index")
    index.add(f"```{{toctree}}\n:hidden:\n\n{names}\n```")
    for name in made:
        if name not in ("index", "audit"):
            index.add(f"## {name}", find(name).about)
            # The first figure of its README.
            shown = re.search(r"!\[[^\]]*\]\((figures/[^)]+)\)", (root / "studies" / name / "README.md").read_text(encoding="utf-8"))
            index.add(f"![A figure of {name}](../../../studies/{name}/{shown[1]})" if shown else "")
            index.add(f"[All statements and figures]({name}.md)")
    return made


def _counts() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head and the rows of the audit's counts."""
    head, *rows = _audit.counts({study.name: [row[-1] for row in compared(study.folder)] for study in studies()})
    return head, rows


def _audit_page(root: Path) -> Page:
    """The committed audit. Raise :class:`GalleryError` if it is not that of the tables."""
    file = root / "studies" / "README.md"
    text = _audit.page(studies())
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        raise GalleryError("studies/README.md is not the audit of the tables: `timeplane study all --judge --in-place` writes it anew")
    made = Page(text.splitlines()[0].removeprefix("# "), "")
    made.add(text.partition("\n")[2].strip().replace("/README.md)", ".md)"))
    return made


def _sum(root: Path) -> tuple[str, str]:
    """The number of statements of all reproduced papers, and their verdicts."""
    found = [row[-1] for study in studies() if study.name not in APART for row in compared(study.folder)]
    counted = Counter(found)
    return str(len(found)), ", ".join(f"{counted[word]} {word}" for word in scale.VERDICTS if counted[word])


def _study(folder: Path) -> Page:
    title = (folder / "README.md").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    made = Page(title, "")
    made.add(f"```{{include}} ../../../studies/{folder.name}/README.md\n:start-line: 1\n:relative-images:\n```")
    if cost := costs(folder):
        made.add(
            "## Cost",
            "Experiments that were run as a whole on the machine that made the tables: minutes, minutes of processor time, and the peak memory of "
            "the process with all concurrent runs.",
        )
        made.table(("experiment", "seeds", "jobs", "minutes", "processor", "peak MB"), [tuple(row.values()) for row in cost.values()])
    return made
