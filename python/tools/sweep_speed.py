"""Measure the overhead of a sweep of short runs over Dask: ``python python/tools/sweep_speed.py
[RUNS [ROUNDS [WORKERS]]]``.

The default is 1000 runs, three rounds, and two workers with a thread each. A round executes the
same runs twice, on the workers and on as many threads of this process, so that other load of the
machine affects both. Prints the share of the workers' time without a task, and the time over Dask
relative to threads, both for the median round. ``crates/sim/examples/sweep.rs`` measures the
overhead of threads.
"""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import Executor, Future
from statistics import median
from typing import Any

import distributed

import timeplane as tp

#: The scenario of ``crates/sim/examples/sweep.rs``.
SCENARIO: dict[str, Any] = {
    "name": "short",
    "fabric": {"topology": {"single_switch": {"hosts": 16}}, "rate": "10 Gb/s", "propagation": "1 us"},
    "workload": {"poisson": {"load": 0.5, "sizes": {"exponential": "20 kB"}}},
    "window": {"warmup": "1 ms", "measure": "10 ms"},
    "scheme": {
        "cubic": {"transport": {"tcp": {"min_rto": "2 ms"}}},
        "slots": {"transport": {"raw": {}}, "plan": {"tdma": {"slot": "50 us", "guard": "5 us"}}},
    },
}


def timed(function: Any, *args: Any) -> tuple[Any, float]:
    """The result of a task, and its duration in seconds."""
    begin = time.perf_counter()
    return function(*args), time.perf_counter() - begin


class Timed(Executor):
    """An executor that adds up the durations of its tasks."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.seconds, self.tasks = inner, 0.0, 0
        # By it a sweep counts the workers.
        self._client = inner._client

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit to the inner executor; the future has the result only."""
        outer: Future[Any] = Future()
        inner = self.inner.submit(timed, function, *args, **kwargs)

        def over(done: Future[Any]) -> None:
            if done.cancelled():
                outer.cancel()
            elif error := done.exception():
                outer.set_exception(error)
            else:
                answer, seconds = done.result()
                self.seconds, self.tasks = self.seconds + seconds, self.tasks + 1
                outer.set_result(answer)

        inner.add_done_callback(over)
        return outer


def main() -> None:
    runs, rounds, workers = [int(a) for a in sys.argv[1:]] + [1000, 3, 2][len(sys.argv) - 1 :]
    scenario = tp.Scenario.from_dict(SCENARIO | {"seeds": runs // 2})
    idle, ratio = [], []
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(workers)
        # Workers import timeplane once, not in every sweep.
        client.run(lambda: __import__("timeplane._sweep"))
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                executor = Timed(client.get_executor())
                begin = time.perf_counter()
                tp.sweep(scenario, executor, results=f"{folder}/dask")
                dask = time.perf_counter() - begin
                begin = time.perf_counter()
                scenario.run(jobs=workers, results=f"{folder}/threads")
                threads = time.perf_counter() - begin
            idle.append(1 - executor.seconds / (workers * dask))
            ratio.append(dask / threads)
            print(
                f"Dask {dask:.2f} s in {executor.tasks} tasks, workers without one {100 * idle[-1]:.1f} % of it; threads {threads:.2f} s: "
                f"{100 * (ratio[-1] - 1):+.1f} %",
                flush=True,
            )
    print(f"{runs} runs, {workers} workers: {100 * median(idle):.1f} % of their time lost, {100 * (median(ratio) - 1):+.1f} % beside threads")


if __name__ == "__main__":
    main()
