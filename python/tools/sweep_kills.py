"""Kill workers of a sweep over Dask at random: ``python python/tools/sweep_kills.py [RUNS [SECONDS
[SEED]]]``.

The default is 2000 short runs with two, three and four workers, one kill every two seconds on
average, and seed 1. A kill is SIGKILL to a worker that this program has started. Another worker
starts at once. The seed determines the pauses between kills and which worker is next.

Every file of the results must equal that of a run on threads of this process. Only
``.timeplane-results`` may differ, because it has the number of the process that wrote last. A run
is repeated if the batch that it was sent in has started more than once. The last column counts
temporary folders of workers that exist afterwards, so no other sweep may run on the machine. The
exit code is 1 if files differ or folders stay.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import distributed

import timeplane as tp
from timeplane import _scratch

SCENARIO: dict[str, Any] = {
    "name": "kills",
    "fabric": {"topology": {"single_switch": {"hosts": 8}}, "rate": "10 Gb/s", "propagation": "1 us"},
    "workload": {"poisson": {"load": 0.5, "sizes": {"exponential": "20 kB"}}},
    "window": {"warmup": "500 us", "measure": "2 ms"},
    "scheme": {
        "cubic": {"transport": {"tcp": {"min_rto": "2 ms"}}},
        "slots": {"transport": {"raw": {}}, "plan": {"tdma": {"slot": "50 us", "guard": "5 us"}}},
    },
}
#: The file that may differ.
MARKER = ".timeplane-results"


def logged(log: str, work: Any, version: str, tasks: Sequence[Any]) -> Any:
    """Note that a batch starts, and run it."""
    with open(log, "a") as file:
        file.write("".join(f"{task[-1]}\n" for task in tasks))
    return work(version, tasks)


class Logged(Executor):
    """An executor whose workers write the key of each run of a batch to a file."""

    def __init__(self, inner: Any, log: str) -> None:
        self.inner, self.log = inner, log
        # By it a sweep counts the workers.
        self._client = inner._client

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.inner.submit(logged, self.log, function, *args, **kwargs)


class Workers:
    """Processes of workers, one of which is killed and replaced now and then."""

    def __init__(self, address: str, count: int, seconds: float, seed: int, log: str) -> None:
        self.address, self.seconds, self.log = address, seconds, log
        self.random = random.Random(seed)
        self.kills = 0
        self.over = threading.Event()
        self.processes = [self.start() for _ in range(count)]
        self.killer = threading.Thread(target=self.kill)

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", "worker", self.address, "--nthreads=1", "--no-nanny", "--no-dashboard"]
        with open(self.log, "ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    def kill(self) -> None:
        while not self.over.wait(self.random.expovariate(1 / self.seconds)):
            place = self.random.randrange(len(self.processes))
            os.kill(self.processes[place].pid, signal.SIGKILL)
            self.processes[place].wait()
            self.kills += 1
            self.processes[place] = self.start()

    def __enter__(self) -> Workers:
        self.killer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.killer.join()
        for process in self.processes:
            process.kill()
            process.wait()


def digests(folder: str) -> dict[str, str]:
    """SHA-256 of each file in a folder of results."""
    files = (path for path in Path(folder).rglob("*") if path.is_file() and path.name != MARKER)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def left() -> set[Path]:
    """Temporary folders of workers, after the removal that each worker does before a run."""
    folders = [folder for folder in {"/dev/shm", tempfile.gettempdir()} if os.path.isdir(folder)]
    for folder in folders:
        _scratch.remove_abandoned(folder)
    return {path for folder in folders for path in Path(folder).glob("timeplane-run-*")}


def row(scenario: tp.Scenario, expected: dict[str, str], workers: int, seconds: float, seed: int, folder: str) -> bool:
    """Sweep, print a line of the table, and say whether all is as it should be."""
    before, log = left(), f"{folder}/started.txt"
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
        Workers(cluster.scheduler_address, workers, seconds, seed, f"{folder}/workers.log") as pool,
    ):
        assert not cluster.workers, "expected only workers that can be killed"
        begin = time.perf_counter()
        results = tp.sweep(scenario, Logged(client.get_executor(), log), results=f"{folder}/dask", progress=False)
        took, kills = time.perf_counter() - begin, pool.kills
        started = Counter(Path(log).read_text().split())
    found = digests(results.directory)
    different = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    leftovers = len(left() - before)
    repeated = started.total() - len(started)
    print(f"{len(results.runs):>6}{workers:>9}{kills:>7}{repeated:>10}{took:>9.1f}{len(found):>7}{len(different):>11}{leftovers:>6}", flush=True)
    for name in different[:10]:
        print(f"  {name} differs")
    return not different and not leftovers and results.is_complete


def main() -> None:
    runs, seconds, seed = [kind(a) for kind, a in zip((int, float, int), [*sys.argv[1:], *("2000", "2", "1")[len(sys.argv) - 1 :]])]
    scenario = tp.Scenario.from_dict(SCENARIO | {"seeds": runs // 2})
    good = True
    with tempfile.TemporaryDirectory(prefix="sweep-kills-") as folder:
        begin = time.perf_counter()
        expected = digests(scenario.run(results=f"{folder}/threads", progress=False).directory)
        print(f"Threads of this process: {time.perf_counter() - begin:.1f} s, {len(expected)} files.\n", flush=True)
        print("  runs  workers  kills  repeated  seconds  files  different  left", flush=True)
        for workers in (2, 3, 4):
            place = f"{folder}/{workers}"
            os.mkdir(place)
            good &= row(scenario, expected, workers, seconds, seed, place)
    print(f"\n`{MARKER}` is not compared: it has the number of the process that wrote last.")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
