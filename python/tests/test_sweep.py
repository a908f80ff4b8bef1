"""Sweeps whose runs other processes run."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import distributed
import duckdb
import numpy as np
import pytest

import timeplane as tp
from timeplane import _scratch, _sweep

TEXT = """
name = "sweep"
seeds = 6
fabric = { topology.single_switch.hosts = 8, rate = "10 Gb/s", propagation = "1 us" }
workload.poisson = { load = 0.5, sizes.exponential = "20 kB" }
window = { warmup = "100 us", measure = "500 us" }
scheme.cubic.transport.tcp.min_rto = "2 ms"
scheme.slots = { transport.raw = {}, plan.tdma = { slot = "50 us", guard = "5 us" } }
[sweep]
"workload.poisson.load, fabric.rate" = [[0.2, "10 Gb/s"], [0.6, "40 Gb/s"]]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(TEXT)
    return path


def files(folder: str | Path) -> dict[str, bytes]:
    """All files of a results folder but its marker, which says who wrote last."""
    folder = Path(folder)
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != ".timeplane-results"}


def whole(file: Path, tmp_path: Path) -> tp.Results:
    return tp.Scenario.from_file(file).run(results=tmp_path / "whole")


def test_processes_leave_what_threads_leave(file: Path, tmp_path: Path) -> None:
    told: list[tp.Progress] = []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        results = tp.sweep(file, pool, results=tmp_path / "pool", progress=told.append)
    expected = whole(file, tmp_path)
    assert results.is_complete and len(results.runs) == 24
    assert files(results.directory) == files(expected.directory)
    assert results.to_dict() == expected.to_dict()
    assert [p.done for p in told] == list(range(25)) and told[-1].fraction == 1


def test_a_dask_worker_that_is_killed_changes_no_byte(file: Path, tmp_path: Path) -> None:
    killed: list[int] = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        assert len(pids) == 2

        def halfway(progress: tp.Progress) -> None:
            if progress.done == 12 and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        results = tp.sweep(file, client.get_executor(), results=tmp_path / "dask", progress=halfway)
    assert killed == pids[:1]
    assert files(results.directory) == files(whole(file, tmp_path).directory)


def test_the_command_sweeps_on_dask(file: Path, tmp_path: Path) -> None:
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50) as cluster:
        command = [sys.executable, "-m", "timeplane", "sweep", str(file), "--set", "seeds=2", "--results", str(tmp_path / "command"), "--json"]
        done = subprocess.run([*command, "--dask", cluster.scheduler_address], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert '"cached": 8' in done.stdout, "the compiled command finds what the workers have run"
    nobody = subprocess.run([*command, "--dask=tcp://127.0.0.1:1"], capture_output=True, text=True, timeout=120)
    assert nobody.returncode == 2 and "no Dask scheduler answers at tcp://127.0.0.1:1" in nobody.stderr


def test_a_worker_of_another_version_is_refused() -> None:
    with pytest.raises(tp.RunError, match=r"expected the same version\. Install it on all workers"):
        _sweep._work("0.0.0", [])


class Now(Executor):
    """Runs everything at once, and fails where it is told to."""

    def __init__(self, fails_at: int = -1) -> None:
        self.fails_at, self.calls = fails_at, 0

    def submit(self, f, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        future: Future = Future()
        self.calls += 1
        if self.calls == self.fails_at:
            future.set_exception(KeyboardInterrupt())
        else:
            future.set_result(f(*args, **kwargs))
        return future


class Few(Now):
    """The same with a number of workers."""

    _max_workers = 1

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    def submit(self, f, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        self.batches.append(len(args[1]))
        return super().submit(f, *args, **kwargs)


class KilledWorker(Exception):
    """Dask's, by its name."""


class Killing(Few):
    """Its workers die with the tasks of some runs."""

    def __init__(self, dies: Callable[[list[str]], bool]) -> None:
        super().__init__()
        self.dies = dies

    def submit(self, f, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        if not self.dies([task[-1] for task in args[1]]):
            return super().submit(f, *args, **kwargs)
        self.batches.append(len(args[1]))
        future: Future = Future()
        future.set_exception(KilledWorker())
        return future


def test_batches_that_are_given_up_are_sent_again(file: Path, tmp_path: Path) -> None:
    alone: Counter[str] = Counter()

    def dies(keys: list[str]) -> bool:
        if len(keys) > 1:
            return True
        alone.update(keys)
        return alone[keys[0]] == 1 and int(keys[0], 16) % 2 == 0

    executor = Killing(dies)
    results = tp.sweep(file, executor, results=tmp_path / "killing")
    assert max(executor.batches) > 1
    assert files(results.directory) == files(whole(file, tmp_path).directory)


def test_a_run_that_kills_its_workers_ends_the_sweep_alone(file: Path, tmp_path: Path) -> None:
    whole_keys = {run.key: run for run in whole(file, tmp_path).runs}
    bad = next(run for run in whole_keys.values() if run.scheme_name == "slots" and run.seed == 5)
    tried: list[list[str]] = []

    def dies(keys: list[str]) -> bool:
        tried.extend([keys] if bad.key in keys else [])
        return bad.key in keys

    with pytest.raises(tp.RunError, match="workers died each time with the run of `slots` with seed 5, possibly out of memory") as raised:
        tp.sweep(file, Killing(dies), results=tmp_path / "bad")
    assert (raised.value.scheme, raised.value.seed) == ("slots", 5)
    assert len(tried) == 3 and tried[1:] == [[bad.key]] * 2
    # Those that were sent with it are complete.
    assert all((tmp_path / "bad/sweep/runs" / key).is_dir() for key in tried[0] if key != bad.key)


def test_short_runs_share_tasks(file: Path, tmp_path: Path) -> None:
    executor, told = Few(), []
    results = tp.sweep(file, executor, results=tmp_path / "few", progress=told.append)
    assert sum(executor.batches) == 24 and len(executor.batches) < 24
    assert executor.batches[:2] == [1, 1], "nothing is known yet of what runs take"
    assert files(results.directory) == files(whole(file, tmp_path).directory)
    assert told[0].remaining is None and told[0].fraction == 0
    assert all(p.remaining is not None for p in told[8:-1])


def test_a_worker_without_room_in_memory_takes_the_disk(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str | None] = []
    run_in = _sweep._run_in

    def full(folder: str | None, task: tuple[object, ...]) -> list[tuple[str, bytes]]:
        tried.append(folder)
        if folder is not None:
            raise tp.RunError("cannot write flows.parquet: No space left on device (os error 28)")
        return run_in(folder, task)

    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(_sweep, "_IN_MEMORY", (str(tmp_path),))
    monkeypatch.setattr(_sweep, "_run_in", full)
    results = tp.sweep(tp.Scenario.from_file(file, set={"seeds": 1}), Now(), results=tmp_path / "disk")
    assert results.is_complete and tried == [str(tmp_path), None] * 4
    monkeypatch.setattr(_sweep, "_run_in", lambda folder, task: run_in(folder, (task[0], task[1], "nobody", *task[3:])))
    with pytest.raises(tp.RunError, match="nobody"):
        tp.sweep(tp.Scenario.from_file(file, set={"seeds": 2}), Now(), results=tmp_path / "other")


def test_what_a_killed_worker_leaves_is_removed(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    other = tmp_path / "timeplane-other"
    other.mkdir()
    program = f"import time; from timeplane._scratch import scratch\nwith scratch({str(tmp_path)!r}): print('in', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as worker:
        assert worker.stdout and worker.stdout.readline() == b"in\n"
        (left,) = tmp_path.glob("timeplane-run-*")
        (left / "flows.parquet").write_bytes(b"rows")
        with _scratch.scratch(str(tmp_path)) as here:
            assert left.is_dir() and Path(here).is_dir(), "both workers live"
        worker.kill()
    with _scratch.scratch(str(tmp_path)) as here:
        assert sorted(tmp_path.iterdir()) == sorted([other, Path(here)])
    assert list(tmp_path.iterdir()) == [other]


def test_the_command_refuses_an_address(file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "timeplane", "sweep", str(file), "--dask=tcp://127.0.0.1:1", "--results", "s3://bucket/results"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 2 and "`--results s3://bucket/results`: expected a folder" in done.stderr


def test_an_interrupted_sweep_goes_on_where_it_was(file: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        tp.sweep(file, Now(fails_at=15), results=tmp_path / "again")
    kept = len(list((tmp_path / "again/sweep/runs").glob("*/summary.json")))
    executor = Now()
    results = tp.sweep(file, executor, results=tmp_path / "again")
    assert executor.calls == 24 - kept
    assert files(results.directory) == files(whole(file, tmp_path).directory)


def test_seeds_end_when_enough_is_known(file: Path, tmp_path: Path) -> None:
    file.write_text("".join(line for line in TEXT.splitlines(True) if not line.startswith("scheme.slots")))
    one = tp.sweep(file, Now(), results=tmp_path / "one", until="goodput=40%", at_once=1)
    many = tp.sweep(file, None, results=tmp_path / "many", until="goodput=40%", at_once=16)
    assert one.is_complete and 6 <= len(one.runs) < 12
    assert one.to_dict() == many.to_dict()
    assert (Path(one.directory) / "summary.parquet").read_bytes() == (Path(many.directory) / "summary.parquet").read_bytes()
    with pytest.raises(ValueError, match="expected METRIC=PERCENT"):
        tp.sweep(file, Now(), results=tmp_path / "wrong", until="goodput")


def test_schedulers_of_this_process_stay_here(file: Path, tmp_path: Path) -> None:
    tp.register_scheduler("nobody", lambda demand: [])
    try:
        scenario = tp.Scenario.from_file(file, set={"scheme.slots.plan.tdma.scheduler": "nobody"})
        with pytest.raises(ValueError, match="written in Python"):
            tp.sweep(scenario, Now(), results=tmp_path)
    finally:
        tp.unregister_scheduler("nobody")


def test_a_database_has_a_view_for_each_table(file: Path, tmp_path: Path) -> None:
    results = whole(file, tmp_path)
    database = results.to_duckdb()
    rows = database.execute('SELECT scheme, "workload.poisson.load", seed, count(*) FROM flows GROUP BY ALL').fetchall()
    counted = Counter(zip(results.flows["scheme"], results.flows["workload.poisson.load"], results.flows["seed"], strict=True))
    # The other swept key changes with the load at some points.
    assert {row[:3]: row[3] for row in rows} == counted
    joined = database.execute("SELECT count(*) FROM flows JOIN summary USING (run) WHERE measured AND fct_ps > fct_max_ps").fetchone()
    assert joined == (0,)
    assert database.execute("SELECT count(*) FROM queues").fetchone() == (len(results.queues),)
    # Numbers are numbers in the file, too.
    types = duckdb.execute(f"DESCRIBE SELECT * FROM '{results.directory}/summary.parquet'").fetchall()
    assert {name: of for name, of, *_ in types if "." in name} == {"workload.poisson.load": "DOUBLE", "fabric.rate": "VARCHAR"}


def test_an_array_has_a_dimension_for_each_key(file: Path, tmp_path: Path) -> None:
    results = whole(file, tmp_path)
    array = results.to_xarray()
    assert dict(array.sizes) == {"workload.poisson.load": 2, "fabric.rate": 2, "scheme": 2, "seed": 6}
    one = array.fct_mean_ps.sel({"workload.poisson.load": 0.6, "fabric.rate": "40 Gb/s", "scheme": "slots"})
    summary = results.summary.to_pandas()
    rows = summary[(summary["fabric.rate"] == "40 Gb/s") & (summary["scheme"] == "slots")].sort_values("seed")
    assert np.array_equal(one.values, rows["fct_mean_ps"].to_numpy())
    assert array.fct_mean_ps.isnull().sum() == 24, "keys that change together do not meet in all ways"
    assert array.fct_mean_ps.attrs == {"long_name": "FCT mean", "units": "ps"}
