"""Text of other programs' files: lines, numbers and quantities, and errors that name their place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from timeplane._errors import TimeplaneError

#: Limits of a flow list and of a fabric in timeplane.
LATEST_PS = 4_600_000_000_000_000_000
LARGEST_BYTES = 10**15
MOST_HOSTS = 131_072
MOST_LINKS = 1_048_576

_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?")
#: Units of time in picoseconds.
TIME: Mapping[str, int | Fraction] = {"fs": Fraction(1, 1000), "ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9, "s": 10**12, "min": 60 * 10**12, "h": 3600 * 10**12}
#: Units of size in bytes.
SIZE: Mapping[str, int | Fraction] = {prefix + "B": factor for prefix, factor in _PREFIXES.items()}
#: Units of rate in bit/s, as ns-3 writes them.
RATE: Mapping[str, int | Fraction] = {
    prefix + unit: factor * bits for prefix, factor in _PREFIXES.items() for unit, bits in (("bps", 1), ("b/s", 1), ("Bps", 8), ("B/s", 8))
}


class FormatError(TimeplaneError, ValueError):
    """A file of another simulator cannot be converted; the message has its place and what is allowed."""


class Place:
    """A line of a file, for messages."""

    def __init__(self, file: str | os.PathLike[str], line: int | None = None) -> None:
        self.file = os.fspath(file)
        self.line = line

    def error(self, found: str, expected: str) -> FormatError:
        """Make the error `file:line: found: expected ...`."""
        line = "" if self.line is None else f":{self.line}"
        return FormatError(f"{self.file}{line}: {found}: expected {expected}")

    def whole(self, text: str, what: str, least: int = 0, most: int = LATEST_PS) -> int:
        """Read a whole number from ``least`` to ``most``."""
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
        if not least <= value <= most:
            raise self.error(f"{what} is `{shown(text)}`", f"a whole number from {least:,} to {most:,}")
        return value

    def number(self, text: str, what: str) -> Fraction:
        """Read a number that is not negative, without rounding it."""
        value = _fraction(text)
        if value is None or value < 0:
            raise self.error(f"{what} is `{shown(text)}`", "a number that is not negative")
        return value

    def quantity(self, text: str, what: str, units: Mapping[str, int | Fraction], unit: str | None = None) -> Fraction:
        """Read a number with a unit, in the base of ``units``. ``unit`` is that of a number alone."""
        found = _NUMBER.match(text)
        value = _fraction(found[0]) if found else None
        after = text[found.end() :].strip() if found else ""
        factor = units.get(after or unit or "")
        if value is None or value < 0 or factor is None:
            few = [u for u in units if u in ("ns", "us", "ms", "s", "B", "kB", "MB", "MiB", "Mbps", "Gbps", "Gb/s")]
            alone = f", or a number alone in {unit}" if unit else ""
            raise self.error(f"{what} is `{shown(text)}`", f"a number with a unit such as {', '.join(few)}{alone}")
        return value * factor

    def size(self, text: str, what: str) -> int:
        """Read the bytes of a flow."""
        return self.whole(text, what, 1, LARGEST_BYTES)


def _fraction(text: str) -> Fraction | None:
    if not _NUMBER.fullmatch(text) or len(text) > 60:
        return None
    value = Decimal(text)
    return Fraction(value) if value == 0 or abs(value.adjusted()) <= 40 else None


def shown(text: str) -> str:
    """Shorten a text for a message, and escape what terminals obey."""
    short = text if len(text) <= 40 else text[:39] + "…"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in short)


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a file.

    Raises :class:`FormatError` if it is not UTF-8, and :class:`OSError` if it cannot be read.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Place(path).error(f"byte {error.start} is not UTF-8", "a text file") from None
    if "\0" in text:
        raise Place(path).error("there is a zero byte", "a text file")
    return text


def lines(path: str | os.PathLike[str], text: str) -> Iterator[tuple[Place, list[str]]]:
    """The words of each line that is neither empty nor a comment (`#`), with its place."""
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield Place(path, number), words


class Words:
    """The words of a file one after the other, as C++ streams read them."""

    def __init__(self, path: str | os.PathLike[str], text: str) -> None:
        self._words = [(number, word) for number, line in enumerate(text.split("\n"), 1) for word in line.split()]
        self._next = 0
        self._path = path

    def take(self, count: int, what: str) -> tuple[Place, Sequence[str]]:
        """Take the next words, with the place of the first one."""
        taken = self._words[self._next : self._next + count]
        if len(taken) < count:
            last = self._words[-1][0] if self._words else 1
            raise Place(self._path, last).error("the file ends", what)
        self._next += count
        return Place(self._path, taken[0][0]), [word for _, word in taken]

    def rest(self) -> int:
        """Count the lines that have words left."""
        return len({number for number, _ in self._words[self._next :]})
