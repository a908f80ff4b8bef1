"""Sweeps whose runs are spread over processes, on one machine or many."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from typing import TYPE_CHECKING, Any

from timeplane import _core, _schedulers
from timeplane._errors import RunError, ScenarioWarning
from timeplane._run import Bar, Progress, Runnable, _place

if TYPE_CHECKING:
    from timeplane.results import Results

#: Most tasks per wave of runs: few enough to submit quickly, enough to balance many workers.
_TASKS = 512


def _work(version: str, tasks: Sequence[tuple[Any, ...]]) -> list[list[tuple[str, bytes]]]:
    """Run tasks in a worker; return the files of each run."""
    if version != _core.__version__:
        raise RunError(
            f"a worker has timeplane {_core.__version__}, this program {version}: expected the same version. "
            "Install it on all workers and restart them"
        )
    files = []
    for task in tasks:
        with tempfile.TemporaryDirectory(prefix="timeplane-") as root:
            files.append(_core.run_elsewhere(*task, root))  # type: ignore[call-arg] # a task has six values
    return files


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
        The parent of this scenario's folder ``NAME``. ``None`` is a temporary folder that is
        removed with the last reference to the results. Only this process writes there.
    until:
        End each point at the seed where a metric is known for all schemes. ``"fct_mean=5%"`` is
        known when half of the 95 % interval of its mean over seeds is at most 5 % of the mean.
        Seeds count in order, from the third on, so the order of completion does not matter.
    at_once:
        Number of concurrent runs with ``until``, some of which may turn out to be unnecessary; by
        default one per processor of this machine.
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
    known = _core.schedulers()
    for name in _schedulers.registered():
        if name not in known and f'"{name}"' in loaded.to_json():
            raise ValueError(f"the scheduler {name!r} is written in Python and known only in this process: sweep without an executor")
    for issue in loaded.validate([]):
        warnings.warn(str(issue), ScenarioWarning, stacklevel=2)
    root, folder = _place(results)
    bar = Bar() if progress is True else None
    tell = bar or (progress if callable(progress) else None)
    begin = time.monotonic()
    core = _core.Sweep(loaded, root, until)
    done = core.cached

    def shown() -> None:
        if tell is not None:
            elapsed = time.monotonic() - begin
            left = elapsed * (core.total - done) / (done - core.cached) if done > core.cached else None
            tell(Progress(done, core.cached, core.total, 0, left, elapsed))

    try:
        while wanted := core.wanted(at_once or os.cpu_count() or 1):
            shown()
            for runs in _wave(executor, core, wanted):
                core.adopt(runs)
                for _ in runs:
                    done += 1
                    shown()
        found, comparison = core.conclude(True, folder)
    finally:
        core.close()
        if bar:
            bar.close()
    return Results(found, Comparison(comparison))


def _wave(executor: Executor, core: _core.Sweep, wanted: Sequence[int]) -> Iterator[list[tuple[int, list[tuple[str, bytes]]]]]:
    """Run some runs and yield them with their files, grouped as they complete, so that each group
    is made durable at once.
    """
    size = -(-len(wanted) // _TASKS)
    parts = [wanted[at : at + size] for at in range(0, len(wanted), size)]
    futures: dict[Future[list[list[tuple[str, bytes]]]], Sequence[int]] = {}
    try:
        for part in parts:
            futures[executor.submit(_work, _core.__version__, [core.task(run) for run in part])] = part
        pending = set(futures)
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            # Keep complete runs before raising a failure.
            for whole in (True, False):
                chosen = [future for future in done if (not future.cancelled() and future.exception() is None) is whole]
                runs = [run for future in chosen for run in zip(futures[future], _result(future), strict=True)]
                if runs:
                    yield runs
    finally:
        for future in futures:
            future.cancel()


def _result(future: Future[list[list[tuple[str, bytes]]]]) -> list[list[tuple[str, bytes]]]:
    """The answer of a task; raises an error that explains why there is none."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as e:
        raise RunError(f"workers ended before their runs: {e or type(e).__name__}. Complete runs stay; call again to continue") from e
    except Exception as e:
        if type(e).__name__ == "KilledWorker":
            raise RunError(
                "several workers died with the same runs, possibly out of memory; see their logs. Complete runs stay; "
                "call again to continue"
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
