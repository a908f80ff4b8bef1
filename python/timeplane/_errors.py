"""Exceptions, warnings, and the issues of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Issue(NamedTuple):
    """One error in a scenario, or one warning about it."""

    #: Dotted key of the value; empty for the whole scenario.
    key: str
    message: str
    #: How to fix it.
    help: str | None
    #: File or override that contains it; ``None`` for scenarios made in Python.
    file: str | None
    #: Counted from 1.
    line: int | None
    #: Counted from 1.
    column: int | None

    def __str__(self) -> str:
        place = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
        return ": ".join(p for p in (place, self.key, self.message) if p)


class TimeplaneError(Exception):
    """Base class of all errors of timeplane."""


class ScenarioError(TimeplaneError, ValueError):
    """A scenario, or a file that it names, is invalid; nothing was run."""

    #: All errors, in the order of the file.
    issues: tuple[Issue, ...]

    def __init__(self, message: str, issues: Sequence[Issue] = ()) -> None:
        super().__init__(message)
        self.issues = tuple(issues)


class RunError(TimeplaneError, RuntimeError):
    """A run failed, or results cannot be written or read. Complete runs are kept.

    If an algorithm written in Python raised an exception, ``__cause__`` is that exception.
    """

    #: Scheme of the failed run, if known.
    scheme: str | None
    #: Seed of the failed run, if known.
    seed: int | None

    def __init__(self, message: str, scheme: str | None = None, seed: int | None = None) -> None:
        super().__init__(message)
        self.scheme = scheme
        self.seed = seed


class ScenarioWarning(UserWarning):
    """A scenario is doubtful; it runs nevertheless."""
