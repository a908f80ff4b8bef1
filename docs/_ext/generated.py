"""Builds pages of the reference as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def cell(text: str) -> str:
    """Escape text for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


class Page:
    """A page in Markdown."""

    def __init__(self, title: str, about: str) -> None:
        self.parts = [f"# {title}", about]

    def add(self, *parts: str) -> None:
        """Add paragraphs."""
        self.parts += [part for part in parts if part]

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Add a table. An empty head is not shown."""
        lines = [head, ["---"] * len(head), *rows]
        self.parts.append("\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in lines))

    def __str__(self) -> str:
        return "\n\n".join(self.parts) + "\n"

    def write(self, path: Path) -> None:
        """Write the page if it has changed, so that Sphinx rebuilds only changed pages."""
        text = str(self)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
