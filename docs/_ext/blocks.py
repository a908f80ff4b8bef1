"""Fenced blocks of a page: the rules by which a program can follow it.

A program runs the blocks of a page in a fresh clone, from the first to the last:

- ``sh`` is typed into one shell. A block of ``text`` right after it is its output on stdout, where a
  line ``...`` stands for any lines. ``<!-- exits: 3 -->`` before it gives an exit code other than 0.
- ``toml``, ``python`` and ``rust`` name a file in a comment on their first line (``# mine.toml``),
  and are saved there.
- ``<!-- on a bare clone: REASON -->`` before a block: it builds the program that the others use, and
  runs only if there is none.
- ``<!-- not run: REASON -->``: it cannot run here. ``timeplane`` still has to parse its commands.
- ``{code-cell}`` and other directives belong to Sphinx; ``text`` elsewhere is a picture.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

#: Languages of files.
FILES = ("toml", "python", "rust")
_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[^`]*)$")
_COMMENT = re.compile(r"^ *<!-- (?P<key>not run|on a bare clone|exits): (?P<value>.*\S) -->$")
_FILE = re.compile(r"^(?:#|//) (?P<name>[\w./-]+\.\w+)$")


class PageError(ValueError):
    """A page breaks the rules."""


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: Path
    #: Line number of its first line of content, from 1.
    line: int
    language: str
    #: Content; each line ends with a newline.
    text: str
    #: Reason why it is not run, if any.
    not_run: str | None = None
    #: Reason why it runs on a bare clone only, if any.
    bare: str | None = None
    #: Expected exit code.
    exits: int = 0
    #: Expected output on stdout, if the page has it.
    prints: Block | None = None

    @property
    def file(self) -> str | None:
        """The file in which a reader saves it."""
        found = _FILE.match(self.text.partition("\n")[0]) if self.language in FILES else None
        return found["name"] if found else None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """All blocks of a page that a reader follows, in order. Raises :class:`PageError` if it breaks the rules."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found: list[Block] = []
    comments: dict[str, str] = {}
    at_once, at = False, 0
    while at < len(lines):
        comment, fence = _COMMENT.match(lines[at]), _FENCE.match(lines[at])
        at += 1
        if comment:
            comments[comment["key"]] = comment["value"]
            at_once = False
        elif fence:
            begin = at
            while at < len(lines) and lines[at].strip() != fence["ticks"]:
                at += 1
            if at == len(lines):
                raise PageError(f"{page}:{begin}: a block that does not end")
            text = "".join(f"{line.removeprefix(fence['indent'])}\n" for line in lines[begin:at])
            at += 1
            block = Block(
                page,
                begin + 1,
                fence["language"].strip(),
                text,
                comments.pop("not run", None),
                comments.pop("on a bare clone", None),
                int(comments.pop("exits", "0")),
            )
            if block.language == "text" and at_once:
                found[-1] = replace(found[-1], prints=block)
            elif block.language in ("sh", *FILES):
                if block.language != "sh" and block.file is None and block.not_run is None:
                    raise PageError(f"{block}: its first line says in a comment which file it is, or a comment in front why it is none")
                found.append(block)
            elif block.language != "text" and not block.language.startswith("{"):
                raise PageError(f"{block}: a reader does not know what to do with a block of `{block.language}`")
            at_once = block.language == "sh"
        elif lines[at - 1].strip():
            if comments:
                raise PageError(f"{page}:{at}: `{', '.join(comments)}` stands right in front of its block")
            at_once = False
    return found
