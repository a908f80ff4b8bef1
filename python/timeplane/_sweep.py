"""Sweeps whose runs are spread over processes, on one machine or many."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from timeplane import _core, _schedulers
from timeplane._errors import RunError, ScenarioWarning
from timeplane._progress import Progress, bar_for
from timeplane._run import Runnable, _place
from timeplane._scratch import scratch
from timeplane._storage import Upload, is_address

if TYPE_CHECKING:
    from timeplane.results import Results

#: Most batches of runs that an executor has at the same time if it does not say how many workers
#: it has: few enough to submit quickly, enough for many workers.
_BATCHES = 512
#: Seconds after which workers are counted again, as more may have come.
_COUNT_AFTER = 1.0

#: How often a run is sent before it counts as what kills its workers. Dask sends each time to
#: several workers, of which any may be taken away for another reason.
_SENDINGS = 3

#: Folders whose files are in memory.
_IN_MEMORY = ("/dev/shm",)

#: The files of a run.
_Files = list[tuple[str, bytes]]


def _work(version: str, tasks: Sequence[tuple[Any, ...]]) -> list[tuple[_Files, float]]:
    """Run tasks in a worker; return the files of each run and the seconds that it took."""
    if version != _core.__version__:
        raise RunError(
            f"a worker has timeplane {_core.__version__}, this program {version}: expected the same version. "
            "Install it on all workers and restart them"
        )
    done = []
    for task in tasks:
        begin = time.monotonic()
        done.append((_run(task), time.monotonic() - begin))
    return done


def _run(task: tuple[Any, ...]) -> _Files:
    """Run a task. Its files are only read back, so they need no disk, which others may keep busy."""
    for folder in filter(os.path.isdir, () if "TMPDIR" in os.environ else _IN_MEMORY):
        try:
            return _run_in(folder, task)
        except (OSError, RunError) as e:
            # Little memory, or a folder that this process may not write to: take the disk.
            if not any(os.strerror(code) in str(e) for code in (errno.ENOSPC, errno.EACCES, errno.EROFS)):
                raise
    return _run_in(None, task)


def _run_in(folder: str | None, task: tuple[Any, ...]) -> _Files:
    with scratch(folder) as root:
        return _core.run_elsewhere(*task, root)  # type: ignore[call-arg] # a task has six values


def sweep(
    scenario: Runnable | str | os.PathLike[str],
    executor: Executor | None = None,
    *,
    results: str | os.PathLike[str] | None = "results",
    until: str | None = None,
    at_once: int | None = None,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Results:
    """Run every scheme at every point with every seed on the workers of ``executor``, and compare
    them.

    A run's key is a hash of its scenario, its seed and the program. The same run has the same bytes
    on any machine, in any order and after any interruption. Tables therefore equal those of
    :meth:`Scenario.run <timeplane.Scenario.run>`. Complete runs in ``results`` are reused.

    >>> from dask.distributed import Client
    >>> results = tp.sweep("scenarios/load.toml", Client("tcp://head:8786").get_executor(), until="fct_mean=5%")

    scenario:
        A scenario or a file. Workers read the files that it names from the same folder.
    executor:
        A :class:`concurrent.futures.Executor` of processes, such as Dask's; ``None``: threads of
        this process.
    results:
        The parent of this scenario's folder ``NAME``, or its address, as in :meth:`Scenario.run
        <timeplane.Scenario.run>`. ``None`` is a temporary folder that is removed with the last
        reference to the results. Only this process writes there.
    until:
        End each point at the seed where a metric is known for all schemes. ``"fct_mean=5%"`` is
        known when half of the 95 % interval of its mean over seeds is at most 5 % of the mean.
        Seeds count in order, from the third on, so the order of completion does not matter.
    at_once:
        Number of concurrent runs with ``until``, some of which may turn out to be unnecessary; by
        default one per worker, or per processor of this machine if the executor does not count its
        workers.
    progress:
        As in :meth:`Scenario.run <timeplane.Scenario.run>`.

    Raises :class:`RunError` if a run fails, a worker has another version, or workers die
    repeatedly. Complete runs stay, and the next call continues from there.
    """
    if not isinstance(scenario, Runnable):
        from timeplane.scenario import Scenario

        scenario = Scenario.from_file(scenario)
    if executor is None:
        return scenario.run(jobs=at_once, results=results, progress=progress, until=until)
    from timeplane.results import Comparison, Results

    loaded = scenario._load()
    for key, _, plan, name, _ in loaded.own_algorithms():
        if name in _schedulers.registered()[plan]:
            raise ValueError(f"{key}: {name!r} is written in Python and known only in this process: sweep without an executor")
    for issue in loaded.validate({}):
        warnings.warn(str(issue), ScenarioWarning, stacklevel=2)
    root, folder, upload = _place(results, loaded, until)
    bar = bar_for(progress)
    tell = bar or (progress if callable(progress) else None)
    try:
        with upload or nullcontext():
            found, comparison = _swept(executor, _core.Sweep(loaded, root, until), at_once, tell, upload, folder)
    finally:
        if bar:
            bar.close()
    return Results(found, Comparison(comparison), upload.address.url if upload else None)


def _swept(
    executor: Executor,
    core: _core.Sweep,
    at_once: int | None,
    tell: Callable[[Progress], object] | None,
    upload: Upload | None,
    folder: object | None,
) -> tuple[_core.Results, _core.Comparison]:
    """Run what is missing."""
    begin = time.monotonic()
    workers = _Workers(executor)
    done = core.cached

    def shown() -> None:
        if upload:
            upload.check()
        if tell is not None:
            now = time.monotonic()
            left = core.left(now, workers.count or os.cpu_count() or 1)
            tell(Progress(done, core.cached, core.total, 0, None if done == core.total else left, now - begin))

    def saved() -> None:
        nonlocal done
        done += 1
        shown()

    try:
        while core.wave(at_once or workers.count or os.cpu_count() or 1):
            shown()
            _wave(executor, core, workers, saved)
        return core.conclude(True, folder)
    finally:
        core.close()


class _Workers:
    """How many tasks an executor runs at the same time."""

    def __init__(self, executor: Executor) -> None:
        # Dask's has a client; those of processes know their number.
        self._client = getattr(executor, "_client", None)
        self._counted = time.monotonic()
        self.count: int | None = getattr(executor, "_max_workers", None)
        if self._client is not None:
            self.count = sum(self._client.nthreads().values())

    def look(self) -> None:
        """Count again once in a while."""
        if self._client is not None and time.monotonic() - self._counted > _COUNT_AFTER:
            self.count, self._counted = sum(self._client.nthreads().values()), time.monotonic()

    @property
    def batches(self) -> int:
        """How many batches to submit: one more for each worker than it runs, so that none waits
        for the next. More would fix their order before it is known how long runs take.
        """
        return _BATCHES if self.count is None else 2 * max(self.count, 1)


def _wave(executor: Executor, core: _core.Sweep, workers: _Workers, saved: Callable[[], None]) -> None:
    """Run a wave, and call ``saved`` for each run that is durable. The longest runs go first, once
    one of each kind has run. Runs that end while others are made durable are the next group.
    """
    futures: dict[Future[list[tuple[_Files, float]]], Sequence[int]] = {}
    failed: list[tuple[Future[Any], Sequence[int]]] = []
    lost: Counter[int] = Counter()
    finished: list[tuple[int, _Files]] = []
    saving: Future[None] | None = None
    group = 0

    def submit(batch: Sequence[int]) -> None:
        futures[executor.submit(_work, _core.__version__, [core.task(run) for run in batch])] = batch

    def fill() -> None:
        while len(futures) < workers.batches and (batch := core.next_batch(time.monotonic(), workers.count or _BATCHES)):
            submit(batch)

    def fail(future: Future[Any], batch: Sequence[int]) -> None:
        """Send the runs of a batch whose workers died again, each alone: one may be to blame."""
        lost.update(batch)
        if not _is_killed(future) or max(lost[run] for run in batch) >= _SENDINGS:
            failed.append((future, batch))
            return
        for run in batch:
            submit([run])

    with ThreadPoolExecutor(1) as saver:
        try:
            fill()
            # Keep complete runs before raising a failure.
            while saving or (futures and not failed):
                watched: list[Future[Any]] = [*futures, *([saving] if saving else [])]
                done, _ = wait(watched, timeout=_COUNT_AFTER, return_when=FIRST_COMPLETED)
                for future in [future for future in futures if future in done]:
                    batch = futures.pop(future)
                    if future.cancelled() or future.exception() is not None:
                        fail(future, batch)
                        continue
                    answers = future.result()
                    core.end_batch([(run, seconds) for run, (_, seconds) in zip(batch, answers, strict=True)], time.monotonic())
                    finished += [(run, files) for run, (files, _) in zip(batch, answers, strict=True)]
                if not failed:
                    workers.look()
                    fill()
                if saving and saving in done:
                    saving.result()
                    saving = None
                    for _ in range(group):
                        saved()
                if finished and saving is None:
                    saving, group, finished = saver.submit(core.adopt, finished), len(finished), []
        finally:
            for future in futures:
                future.cancel()
    for future, batch in failed:
        _raise(future, core.task(batch[0]))


def _is_killed(future: Future[Any]) -> bool:
    """Whether Dask has given a task up because several workers died with it."""
    return not future.cancelled() and type(future.exception()).__name__ == "KilledWorker"


def _raise(future: Future[Any], task: tuple[Any, ...]) -> None:
    """Raise an error that explains why a batch has no answer; ``task`` is its first run."""
    try:
        future.result()
    except (BrokenExecutor, CancelledError) as e:
        raise RunError(f"workers ended before their runs: {e or type(e).__name__}. Complete runs stay; call again to continue") from e
    except Exception as e:
        if _is_killed(future):
            _, _, scheme, _, seed, _ = task
            raise RunError(
                f"workers died each time with the run of `{scheme}` with seed {seed}, possibly out of memory; see their logs. "
                "Complete runs stay; call again to continue",
                scheme,
                seed,
            ) from e
        raise


def command(arguments: Sequence[str]) -> int:
    """``timeplane sweep FILE --dask ADDRESS``: run what is missing on workers, then call the
    compiled command, which finds complete runs.
    """
    parser = argparse.ArgumentParser(prog="timeplane sweep", add_help=False, allow_abbrev=False)
    parser.add_argument("file")
    parser.add_argument("--dask", required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--seeds")
    parser.add_argument("--results", default="results")
    parser.add_argument("--until")
    parser.add_argument("--jobs")
    parser.add_argument("--quiet", "-q", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args(arguments)
    rest = list(arguments)
    at = next(i for i, a in enumerate(rest) if a.partition("=")[0] == "--dask")
    del rest[at : at + (1 if "=" in rest[at] else 2)]
    if is_address(args.results):
        print(f"error: `--results {args.results}`: expected a folder. In Python, `tp.sweep` writes to addresses", file=sys.stderr)
        return 2
    if not args.dry_run:
        try:
            from distributed import Client
        except ImportError:
            print("error: Dask is not installed: pip install 'timeplane[dask]'", file=sys.stderr)
            return 2
        from timeplane.scenario import Scenario

        changes = [*args.set, *([f"seeds={args.seeds}"] if args.seeds else [])]
        try:
            loaded = _core.Loaded.from_file(args.file, [_core.split_override(change) for change in changes])
        except ValueError:
            # The compiled command prints a better message.
            return _core.main(["timeplane", "sweep", *rest])
        scenario = Scenario._of(loaded)
        try:
            client = Client(args.dask, timeout="10s")
        except (OSError, ValueError) as e:
            print(f"error: no Dask scheduler answers at {args.dask}: {e}", file=sys.stderr)
            return 2
        with client, warnings.catch_warnings():
            # The compiled command prints warnings.
            warnings.simplefilter("ignore", ScenarioWarning)
            workers = sum(client.nthreads().values())
            if not workers:
                print(f"waiting for workers: {args.dask} has none yet", file=sys.stderr)
            try:
                sweep(
                    scenario, client.get_executor(), results=args.results, until=args.until, at_once=workers or None, progress=not args.quiet
                )
            except KeyboardInterrupt:
                print("interrupted; complete runs stay, and the same command continues from there", file=sys.stderr)
                return 130
            except RunError as e:
                print(f"error: {e}", file=sys.stderr)
                return 1
    sys.stdout.flush()
    return _core.main(["timeplane", "sweep", *rest])
