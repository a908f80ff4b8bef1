"""Reading, checking and running scenarios: what :class:`timeplane.Scenario` can do beside holding values."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TextIO

from timeplane import _core, _schedulers
from timeplane._errors import Issue, ScenarioWarning

if TYPE_CHECKING:
    from timeplane.results import Results


class Progress(NamedTuple):
    """How far a scenario's runs are."""

    #: Share that is done, 0 to 1, over all runs.
    fraction: float
    #: Runs that are complete.
    done: int
    #: Of them, complete before.
    cached: int
    #: Runs in all.
    total: int
    #: Events simulated.
    events: int
    #: Seconds since the beginning.
    elapsed: float

    @property
    def remaining(self) -> float | None:
        """Seconds that are left, as far as that can be told."""
        return self.elapsed * (1 - self.fraction) / self.fraction if self.fraction > 0 else None


def _text(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(str(k))} = {_quoted(v)}" for k, v in value.items()) + " }"
    return str(value)


def _quoted(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_quoted(v) for v in value) + "]"
    return _text(value)


def _overrides(changes: Mapping[str, Any] | None) -> list[tuple[str, list[str]]]:
    """Dotted keys with one value, or with several that are swept."""
    several = lambda value: value if isinstance(value, (list, tuple)) else [value]
    return [(key, [_text(v) for v in several(value)]) for key, value in (changes or {}).items()]


class _Folder:
    """A folder that goes when nobody needs it any more."""

    def __init__(self) -> None:
        import shutil
        import tempfile

        self.path = tempfile.mkdtemp(prefix="timeplane-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class Bar:
    """One line on stderr: how far it is and how long it takes."""

    def __init__(self, file: TextIO | None = None) -> None:
        self.file = file or sys.stderr
        self.live = self.file.isatty()
        self.written = self.over = False

    def __call__(self, progress: Progress) -> None:
        last = progress.done == progress.total
        if self.over or not (self.live or last):
            return
        self.over = last
        left = progress.remaining
        text = f"{100 * progress.fraction:5.1f} %  {progress.done} of {progress.total} runs"
        text += f"  {progress.elapsed:.0f} s" if last or left is None else f"  {left:.0f} s left"
        self.file.write(f"\r{text:<60}" if self.live else f"{text}\n")
        self.file.flush()
        self.written = True

    def close(self) -> None:
        """Ends the line."""
        if self.live and self.written:
            self.file.write("\n")
            self.file.flush()


def _place(results: str | os.PathLike[str] | None) -> tuple[str, _Folder | None]:
    """Where results go; and the temporary folder that this is, if it is one."""
    if results is not None:
        return os.fspath(results), None
    folder = _Folder()
    return folder.path, folder


class Runnable:
    """What a scenario can do."""

    base: str

    if TYPE_CHECKING:
        # The generated class has them.
        @classmethod
        def _from_values(cls, values: Any) -> Self: ...
        def to_dict(self) -> dict[str, Any]: ...

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], set: Mapping[str, Any] | None = None) -> Self:
        """Reads a TOML file.

        ``set`` changes values by dotted key: ``{"workload.poisson.load": 0.5}``. A list of values becomes a dimension of the
        sweep.

        Raises :class:`ScenarioError` with file, line and key of everything that is wrong.
        """
        loaded = _core.Loaded.from_file(os.fspath(path), _overrides(set))
        return cls._of(loaded)

    @classmethod
    def from_dict(
        cls,
        values: Mapping[str, Any],
        set: Mapping[str, Any] | None = None,
        base: str | os.PathLike[str] = ".",
    ) -> Self:
        """Takes nested dicts and lists, with the keys of a TOML file.

        ``base`` is the folder in which files that the scenario names are looked up.
        """
        loaded = _core.Loaded.from_json(json.dumps(values), os.fspath(base), _overrides(set))
        return cls._of(loaded)

    @classmethod
    def _of(cls, loaded: _core.Loaded) -> Self:
        scenario = cls._from_values(json.loads(loaded.to_json()))
        scenario.base = os.fspath(loaded.base)
        # As long as nothing is changed, messages name the place in the file, and results hold its text.
        scenario.__dict__["_loaded"] = (scenario.to_dict(), scenario.base, loaded)
        return scenario

    def __getstate__(self) -> dict[str, Any]:
        # Copies and pickles hold values; places in the file stay behind.
        return {key: value for key, value in self.__dict__.items() if key != "_loaded"}

    def _load(self) -> _core.Loaded:
        values = self.to_dict()
        before, base, loaded = self.__dict__.get("_loaded", (None, None, None))
        if loaded is not None and before == values and base == self.base:
            return loaded
        return _core.Loaded.from_json(json.dumps(values), os.fspath(self.base), [])

    def resolved(self) -> dict[str, Any]:
        """All values in one canonical form, defaults written out: equal for scenarios that ask the same."""
        return json.loads(self._load().to_json())

    def validate(self) -> list[Issue]:
        """Checks everything, also the files that it names; returns what is doubtful.

        Raises :class:`ScenarioError` where it cannot be run.
        """
        return self._load().validate(list(_schedulers.registered()))

    def run(
        self,
        jobs: int | None = None,
        results: str | os.PathLike[str] | None = "results",
        progress: bool | Callable[[Progress], object] | None = None,
        until: str | None = None,
    ) -> Results:
        """Runs every scheme at every point with every seed, and compares them.

        Runs that are complete in ``results`` are not run again. Ctrl-C ends the runs in progress and raises
        ``KeyboardInterrupt``; those that are complete stay, and the next call goes on from there. Other Python threads go on meanwhile.

        jobs:
            Runs at the same time; one per processor where it is missing.
        results:
            The folder in which the folder ``NAME`` of this scenario is made; ``None``: a temporary folder that goes with the last reference
            to the results.
        progress:
            ``True`` for a line on stderr; or something to call with a :class:`Progress` a few times a second.
        until:
            Ends each point when a metric is known well enough, as ``"fct_mean=5%"``; see :func:`timeplane.sweep`.
        """
        from timeplane.results import Comparison, Results

        loaded = self._load()
        for issue in loaded.validate(list(_schedulers.registered())):
            warnings.warn(str(issue), ScenarioWarning, stacklevel=2)
        if jobs is None:
            jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        elif jobs < 1:
            raise ValueError("jobs is at least 1")
        root, folder = _place(results)
        bar = Bar() if progress is True else None
        call = bar or (progress if callable(progress) else None)
        begin = time.monotonic()
        tell = None
        if call is not None:
            tell = lambda *values: call(Progress._make((*values, time.monotonic() - begin)))
        try:
            core, comparison = _core.run(loaded, jobs, root, tell, _schedulers.registered(), folder, until)
        finally:
            if bar:
                bar.close()
        return Results(core, Comparison(comparison))
