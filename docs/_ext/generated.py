"""Pages that are made of the code, each time the site is built."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def cell(text: str) -> str:
    """As a cell of a Markdown table takes it."""
    return " ".join(text.split()).replace("|", "\\|")


class Page:
    """A page in Markdown."""

    def __init__(self, title: str, about: str) -> None:
        self._parts = [f"# {title}", about]

    def add(self, *parts: str) -> None:
        """Adds paragraphs."""
        self._parts += [part for part in parts if part]

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Adds a table; an empty head is a table without one to be seen."""
        lines = [head, ["---"] * len(head), *rows]
        self._parts.append("\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in lines))

    def __str__(self) -> str:
        return "\n\n".join(self._parts) + "\n"

    def write(self, path: Path) -> None:
        """Writes it, where it has changed: what has not is not built again."""
        text = str(self)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
