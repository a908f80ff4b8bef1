"""What can go wrong, and what is doubtful."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Issue(NamedTuple):
    """One thing that is wrong with a scenario, or doubtful."""

    #: The dotted key of the value; empty for the whole scenario.
    key: str
    #: What is wrong.
    message: str
    #: What to do about it.
    help: str | None
    #: The file, or the override, that it stands in; ``None`` for scenarios that were made in Python.
    file: str | None
    #: Its line, counted from 1.
    line: int | None
    #: Its column, counted from 1.
    column: int | None

    def __str__(self) -> str:
        place = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
        return ": ".join(p for p in (place, self.key, self.message) if p)


class TimeplaneError(Exception):
    """Any error of timeplane."""


class ScenarioError(TimeplaneError, ValueError):
    """A scenario, or a file that it names, is wrong; nothing was run."""

    #: Everything that is wrong, in the order of the file.
    issues: tuple[Issue, ...]

    def __init__(self, message: str, issues: Sequence[Issue] = ()) -> None:
        super().__init__(message)
        self.issues = tuple(issues)


class RunError(TimeplaneError, RuntimeError):
    """A run failed, or its results cannot be written or read. Runs that are complete are kept.

    Where a scheduler written in Python raised an exception, that one is the ``__cause__``.
    """

    #: The scheme of the run that failed, where it is known.
    scheme: str | None
    #: Its seed.
    seed: int | None

    def __init__(self, message: str, scheme: str | None = None, seed: int | None = None) -> None:
        super().__init__(message)
        self.scheme = scheme
        self.seed = seed


class ScenarioWarning(UserWarning):
    """Something about a scenario is doubtful; it is run all the same."""
