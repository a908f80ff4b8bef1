"""Builds the pages of studies from the tables that `timeplane study` writes."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

from generated import Page

from timeplane.studies import find, published, studies
from timeplane.studies._claims import HEAD, markdown


class GalleryError(ValueError):
    """The files of a study disagree."""


def compared(folder: Path) -> list[list[str]]:
    """Read ``tables/compared.csv``, one row per statement of ``published.csv``. Raise :class:`GalleryError` if they disagree."""
    with (folder / "tables" / "compared.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    says = f"`timeplane study {folder.name}` writes it anew"
    if tuple(head) != HEAD:
        raise GalleryError(f"{folder.name}/tables/compared.csv has other columns than {', '.join(HEAD)}: {says}")
    statements = {row["id"]: [row[column] for column in HEAD[:5]] for row in published(folder)}
    if [row[0] for row in rows] != list(statements):
        raise GalleryError(f"{folder.name}/tables/compared.csv is not about the statements of published.csv, in their order: {says}")
    for row in rows:
        if row[:5] != statements[row[0]]:
            raise GalleryError(f"{folder.name}/tables/compared.csv: `{row[0]}` is not what published.csv says: {says}")
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for line in markdown(rows).splitlines()[2:]:
        if line not in readme:
            raise GalleryError(f"{folder.name}/README.md does not have what tables/compared.csv says: {line}")
    return rows


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
        counted = Counter(row[6] for row in found)
        answer = ", ".join(f"{count} {word}" for word, count in sorted(counted.items(), key=lambda one: (one[0] != "yes", -one[1])))
        rows.append((f"[{study.name}]({study.name}.md)", study.about, str(len(found)), answer))
        made[study.name] = _study(folder)
    if not rows:
        raise GalleryError("no study: expected at least one")
    index.table(("study", "what it asks", "statements", "agrees"), rows)
    names = "\n".join(name for name in made if name != "index")
    index.add(f"```{{toctree}}\n:hidden:\n\n{names}\n```")
    for name in made:
        if name != "index":
            index.add(f"## {name}", find(name).about)
            # The first figure of its README.
            shown = re.search(r"!\[[^\]]*\]\((figures/[^)]+)\)", (root / "studies" / name / "README.md").read_text(encoding="utf-8"))
            index.add(f"![A figure of {name}](../../../studies/{name}/{shown[1]})" if shown else "")
            index.add(f"[All statements and figures]({name}.md)")
    return made


def _study(folder: Path) -> Page:
    title = (folder / "README.md").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    made = Page(title, "")
    made.add(f"```{{include}} ../../../studies/{folder.name}/README.md\n:start-line: 1\n:relative-images:\n```")
    return made
