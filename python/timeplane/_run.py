"""Reading, checking and running scenarios: the methods of :class:`timeplane.Scenario`."""

from __future__ import annotations

import json
import os
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self

from timeplane import _core, _schedulers
from timeplane._errors import Issue, ScenarioWarning
from timeplane._progress import Progress, bar_for
from timeplane._storage import Upload, is_address

if TYPE_CHECKING:
    from timeplane.results import Results


def _text(value: Any) -> str:
    """A value in TOML syntax."""
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
    """Dotted keys, each with one value or with several to sweep."""
    several = lambda value: value if isinstance(value, (list, tuple)) else [value]
    return [(key, [_text(v) for v in several(value)]) for key, value in (changes or {}).items()]


class _Folder:
    """A temporary folder that is removed with the last reference to it."""

    def __init__(self) -> None:
        import shutil
        import tempfile

        self.path = tempfile.mkdtemp(prefix="timeplane-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _place(
    results: str | os.PathLike[str] | None, loaded: _core.Loaded, until: str | None
) -> tuple[str, _Folder | None, Upload | None]:
    """The folder of results, its owner if it is temporary, and what copies it to an address."""
    if results is not None and not is_address(results):
        return os.fspath(results), None, None
    folder = _Folder()
    return folder.path, folder, None if results is None else Upload(results, folder.path, loaded, until)


class Runnable:
    """Base class of :class:`timeplane.Scenario` with its methods."""

    base: str

    if TYPE_CHECKING:
        # The generated class defines them.
        @classmethod
        def _from_values(cls, values: Any) -> Self: ...
        def to_dict(self) -> dict[str, Any]: ...

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], set: Mapping[str, Any] | None = None) -> Self:
        """Read a TOML file.

        ``set`` changes values by dotted key: ``{"workload.poisson.load": 0.5}``. A list of values
        becomes a dimension of the sweep.

        Raises :class:`ScenarioError` with file, line and key of all errors.
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
        """Read nested dicts and lists with the keys of a TOML file.

        ``base`` is the folder that relative file names in the scenario refer to. ``set`` is as for
        :meth:`from_file`.
        """
        loaded = _core.Loaded.from_json(json.dumps(values), os.fspath(base), _overrides(set))
        return cls._of(loaded)

    @classmethod
    def _of(cls, loaded: _core.Loaded) -> Self:
        scenario = cls._from_values(json.loads(loaded.to_json()))
        scenario.base = os.fspath(loaded.base)
        # While the values are unchanged, messages name the place in the file, and results hold its
        # text.
        scenario.__dict__["_loaded"] = (scenario.to_dict(), scenario.base, loaded)
        return scenario

    def __getstate__(self) -> dict[str, Any]:
        # Copies and pickles hold values only, without places in the file.
        return {key: value for key, value in self.__dict__.items() if key != "_loaded"}

    def _load(self) -> _core.Loaded:
        values = self.to_dict()
        before, base, loaded = self.__dict__.get("_loaded", (None, None, None))
        if loaded is not None and before == values and base == self.base:
            return loaded
        return _core.Loaded.from_json(json.dumps(values), os.fspath(self.base), [])

    def resolved(self) -> dict[str, Any]:
        """All values in one canonical form with defaults; equal for equivalent scenarios."""
        return json.loads(self._load().to_json())

    def validate(self) -> list[Issue]:
        """Check the scenario and the files that it names, and return warnings.

        Raises :class:`ScenarioError` if it cannot be run.
        """
        return self._load().validate(_schedulers.registered())

    def run(
        self,
        jobs: int | None = None,
        results: str | os.PathLike[str] | None = "results",
        progress: bool | Callable[[Progress], object] | None = None,
        until: str | None = None,
    ) -> Results:
        """Run every scheme at every point with every seed, and compare them.

        Complete runs in ``results`` are reused. Ctrl-C stops the runs in progress and raises
        ``KeyboardInterrupt``. Complete runs stay, and the next call continues from there. Other
        Python threads keep running.

        jobs:
            Number of concurrent runs; by default one per processor.
        results:
            The parent of this scenario's folder ``NAME``, or its address, such as
            ``"s3://bucket/results"``. ``None`` is a temporary folder that is removed with the last
            reference to the results. An address requires fsspec and the package of its storage.
            Runs are written to a temporary folder, and copied when they are complete.
        progress:
            ``True`` for a progress line on stderr, ``False`` for none, or a callable that gets a
            :class:`Progress` a few times a second. By default terminals have a line, and notebooks
            a bar.
        until:
            End each point when a metric is precise enough, as ``"fct_mean=5%"``; see
            :func:`timeplane.sweep`.
        """
        from timeplane.results import Comparison, Results

        loaded = self._load()
        _schedulers.check_parameters(loaded)
        for issue in loaded.validate(_schedulers.registered()):
            warnings.warn(str(issue), ScenarioWarning, stacklevel=2)
        if jobs is None:
            jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        elif jobs < 1:
            raise ValueError(f"jobs is {jobs}: expected at least 1")
        root, folder, upload = _place(results, loaded, until)
        bar = bar_for(progress)
        call = bar or (progress if callable(progress) else None)
        begin = time.monotonic()
        tell = None
        if call is not None:
            tell = lambda *values: call(Progress._make((*values, time.monotonic() - begin)))
        if upload:
            tell = upload.telling(tell)
        try:
            with upload or nullcontext():
                core, comparison = _core.run(loaded, jobs, root, tell, _schedulers.registered(), folder, until)
        finally:
            if bar:
                bar.close()
        return Results(core, Comparison(comparison), upload.address.url if upload else None)
