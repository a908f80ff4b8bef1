"""Results at addresses: what is copied, in which order, and what an interruption leaves."""

import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import timeplane as tp
from timeplane import _storage

SCENARIO: dict[str, Any] = {
    "name": "stored",
    "seeds": 3,
    "fabric": {"topology": {"single_switch": {"hosts": 4}}, "rate": "10 Gb/s", "propagation": "1 us"},
    "workload": {"poisson": {"load": 0.5, "sizes": {"exponential": "20 kB"}}},
    "window": {"warmup": "100 us", "measure": "300 us"},
    "scheme": {
        "cubic": {"transport": {"tcp": {"min_rto": "2 ms"}}},
        "slots": {"transport": {"raw": {}}, "plan": {"tdma": {"slot": "50 us", "guard": "5 us"}}},
    },
}


class Breaking(MemoryFileSystem):
    """Storage that notes what is written, and fails when it is told to."""

    protocol = "breaking"
    store: dict[str, Any] = {}  # noqa: RUF012 (of all instances, as in the base class)
    pseudo_dirs = [""]  # noqa: RUF012
    cachable = False
    written: list[str] = []  # noqa: RUF012
    removed: list[str] = []  # noqa: RUF012
    #: The number of files that can still be written, and the error after them.
    left: int | None = None
    error: Exception = OSError("connection reset")

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path.replace("breaking://", "memory://"))

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
        if mode == "wb":
            if Breaking.left == 0:
                raise Breaking.error
            Breaking.left = None if Breaking.left is None else Breaking.left - 1
            Breaking.written.append(path)
        return super()._open(path, mode, **kwargs)

    def _rm(self, path: str) -> None:
        Breaking.removed.append(path)
        super()._rm(path)


class Now(Executor):
    """Runs everything at once."""

    def __init__(self) -> None:
        self.runs = 0

    def submit(self, f, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        self.runs += len(args[1])
        future: Future = Future()
        future.set_result(f(*args, **kwargs))
        return future


@pytest.fixture
def breaking() -> Iterator[type[Breaking]]:
    fsspec.register_implementation("breaking", Breaking, clobber=True)
    Breaking.store, Breaking.pseudo_dirs, Breaking.written, Breaking.removed = {}, [""], [], []
    Breaking.left, Breaking.error = None, OSError("connection reset")
    yield Breaking
    Breaking.left = None


@pytest.fixture(params=["memory", "file"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "file":
        yield f"file://{tmp_path.as_posix()}/bucket/results"
        return
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    yield "memory://bucket/results"
    memory.store.clear()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the same runs in a folder."""
    return in_folder(scenario().run(results=tmp_path_factory.mktemp("folder")).directory)


def scenario(**changes: Any) -> tp.Scenario:
    return tp.Scenario.from_dict(SCENARIO | changes)


def in_folder(folder: str) -> dict[str, bytes]:
    found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}
    return {name: content for name, content in found.items() if name != ".timeplane-results"}


def stored(url: str) -> dict[str, bytes]:
    """All files at an address."""
    fs, root = fsspec.core.url_to_fs(url)
    found = {path.removeprefix(f"{root}/"): fs.cat_file(path) for path in fs.find(root)}
    return {name: content for name, content in found.items() if name != ".timeplane-results"}


def test_an_address_has_the_files_of_a_folder(address: str, expected: dict[str, bytes]) -> None:
    results = scenario().run(results=address)
    assert stored(f"{address}/stored") == expected
    again = tp.Results.open(f"{address}/stored/")
    assert again.is_complete and again.to_dict() == results.to_dict()
    assert len(again.flows) == len(results.flows) > 0
    assert again.directory != results.directory
    copy = pickle.loads(pickle.dumps(results))
    assert copy.to_dict() == results.to_dict() and copy.directory != results.directory


def test_a_copy_of_an_address_is_a_folder_of_results(address: str, tmp_path: Path, expected: dict[str, bytes]) -> None:
    scenario().run(results=address)
    fs, root = fsspec.core.url_to_fs(address)
    fs.get(f"{root}/stored/", f"{tmp_path}/copied/stored/", recursive=True)
    told: list[tp.Progress] = []
    scenario().run(results=tmp_path / "copied", progress=told.append)
    assert told[-1].cached == 6
    assert in_folder(f"{tmp_path}/copied/stored") == expected


def test_complete_runs_at_an_address_are_not_repeated(address: str, expected: dict[str, bytes]) -> None:
    first, second = Now(), Now()
    tp.sweep(scenario(seeds=2), first, results=address)
    results = tp.sweep(scenario(), second, results=address)
    assert (first.runs, second.runs) == (4, 2)
    assert stored(f"{address}/stored") == expected
    assert results.is_complete and len(results.runs) == 6
    told: list[tp.Progress] = []
    scenario().run(results=address, progress=told.append)
    assert told[-1].cached == 6


def test_a_damaged_run_is_repeated_and_replaced(breaking: type[Breaking], expected: dict[str, bytes]) -> None:
    address = "breaking://bucket/results"
    scenario().run(results=address)
    fs = breaking()
    (first, *_) = sorted(path for path in fs.find("bucket/results/stored/runs") if path.endswith("flows.parquet"))
    fs.pipe_file(first, b"nothing")
    breaking.written.clear()
    with pytest.raises(tp.RunError, match=r"flows\.parquet"):
        tp.Results.open(f"{address}/stored")
    with pytest.warns(UserWarning, match=r"flows\.parquet"):
        scenario().run(results=address)
    assert stored(f"{address}/stored") == expected
    run = first.rpartition("/")[0]
    assert breaking.removed == [f"{run}/summary.json"], "it is incomplete while its files are replaced"
    written = [path for path in breaking.written if "/runs/" in path]
    assert {path.rpartition("/")[0] for path in written} == {run} and written[-1] == f"{run}/summary.json"


def test_an_interrupted_copy_shows_no_incomplete_run(breaking: type[Breaking], expected: dict[str, bytes]) -> None:
    address = "breaking://bucket/results"
    files = len(expected) + 1
    seen = set()
    # The first two files are the marker and the manifest. The last ones are summaries.
    for left in (*range(2, files - 9, 12), *range(files - 9, files)):
        breaking.store.clear()
        breaking.left = left
        with pytest.raises(tp.RunError, match=r"cannot write `breaking://bucket/results/stored`: connection reset"):
            tp.sweep(scenario(), Now(), results=address)
        there = stored(f"{address}/stored")
        complete = {name.split("/")[1] for name in there if name.endswith("summary.json")}
        seen.add(len(complete))
        for name, content in expected.items():
            if name.startswith("runs/") and name.split("/")[1] in complete:
                assert there[name] == content, name
        breaking.left = None
        # It checks the digests of all files.
        assert {run.key for run in tp.Results.open(f"{address}/stored").runs} == complete
        executor = Now()
        tp.sweep(scenario(), executor, results=address)
        assert executor.runs == 6 - len(complete)
        assert stored(f"{address}/stored") == expected
    assert len(seen) > 2


def test_runs_are_copied_while_others_run(breaking: type[Breaking], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_storage, "_LOOK", 0.01)
    complete: list[int] = []
    put_runs = _storage.Address.put_runs

    def put(self: _storage.Address, folder: Path, keys: list[str], replaced: set[str]) -> None:
        if threading.current_thread() is not threading.main_thread():
            complete.append(len(list((folder / "runs").glob("[!.]*"))))
        put_runs(self, folder, keys, replaced)

    monkeypatch.setattr(_storage.Address, "put_runs", put)
    scenario(seeds=100).run(results="breaking://bucket/results", jobs=1)
    assert complete and complete[0] < 200
    assert len([path for path in breaking.written if path.endswith("/summary.json")]) == 200


def test_a_run_on_threads_ends_when_nothing_can_be_written(breaking: type[Breaking], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_storage, "_LOOK", 0.01)
    breaking.left, breaking.error = 4, PermissionError("s3:PutObject")
    with pytest.raises(tp.RunError, match=r"permission denied: s3:PutObject\. Check the credentials"):
        scenario(seeds=400).run(results="breaking://bucket/results", jobs=1)
    assert not [path for path in breaking.store if path.endswith("summary.json")]


def test_an_error_of_a_run_keeps_complete_runs(breaking: type[Breaking]) -> None:
    class Failing(Now):
        _max_workers = 1

        def submit(self, f, /, *args, **kwargs):  # type: ignore[no-untyped-def]
            if self.runs >= 2:
                future: Future = Future()
                future.set_exception(KeyboardInterrupt())
                return future
            return super().submit(f, *args, **kwargs)

    with pytest.raises(KeyboardInterrupt):
        tp.sweep(scenario(), Failing(), results="breaking://bucket/results")
    results = tp.Results.open("breaking://bucket/results/stored")
    assert len(results.runs) == 2 and not results.is_complete


def test_errors_are_for_people(breaking: type[Breaking], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tp.RunError, match=r"`memory://nowhere/x` has no manifest\.json: expected a folder of results"):
        tp.Results.open("memory://nowhere/x")
    with pytest.raises(tp.RunError, match=r"cannot open `what://x/y`: Protocol not known: what"):
        tp.Results.open("what://x/y")
    breaking.left, breaking.error = 0, FileNotFoundError("The specified bucket does not exist")
    with pytest.raises(tp.RunError, match=r"The specified bucket does not exist"):
        scenario().run(results="breaking://bucket/results")
    breaking.error = PermissionError("Forbidden")
    with pytest.raises(tp.RunError, match=r"cannot write `breaking://bucket/results/stored`: permission denied: Forbidden"):
        scenario().run(results="breaking://bucket/results")
    for missing in ("s3fs", "gcsfs"):
        monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(tp.RunError, match=r"cannot open `s3://bucket/x`: a package is missing: Install s3fs"):
        tp.Results.open("s3://bucket/x")
    with pytest.raises(tp.RunError, match=r"cannot open `gs://bucket/x`: a package is missing: Please install gcsfs"):
        tp.Results.open("gs://bucket/x")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(tp.RunError, match=r"needs fsspec, which is not installed: pip install 'timeplane\[fsspec\]'"):
        tp.Results.open("s3://bucket/x")


def test_a_folder_needs_no_fsspec(tmp_path: Path) -> None:
    program = f"""
import sys, timeplane as tp
results = tp.Scenario.from_dict({SCENARIO!r}).run(results={str(tmp_path)!r})
tp.Results.open(results.directory)
print("fsspec" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False\n"


def test_schedulers_of_this_process_can_be_stored(address: str) -> None:
    tp.register_scheduler("nobody", lambda demand: ([], []))
    try:
        scheme = {"slots": {"transport": {"raw": {}}, "plan": {"tdma": {"slot": "50 us", "guard": "5 us", "scheduler": "nobody"}}}}
        one = scenario(scheme=scheme, window={"warmup": "0 s", "measure": "100 us", "drain": "1 ms"}, seeds=1)
        for _ in range(2):
            told: list[tp.Progress] = []
            one.run(results=address, progress=told.append)
            assert told[-1].cached == 0, "its code is not part of the key"
        assert len(tp.Results.open(f"{address}/stored").runs) == 1
    finally:
        tp.unregister_scheduler("nobody")
