"""What a study's tables were made from, and what they cost.

``inputs.csv`` lies next to ``tables`` and has a row for each table, and one for all figures: a
digest of what it was made from, and the program that made its runs. The digest of a table covers
the study's files, apart from those that only judge, draw and explain, and the definition of its
experiment. A table whose digest differs is *stale*. The program is not a part of the digest,
because the engine's own tests show that its results stay; a table of another program is told.

``costs.csv`` has a row for each experiment that was run as a whole, without earlier runs.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timeplane.studies._tables import write_csv

HEAD = ("table", "digest", "program")
COSTS = ("experiment", "seeds", "jobs", "minutes", "processor_minutes", "peak_mb")
#: The row of figures in ``inputs.csv``.
FIGURES = "figures"
#: Files of a study that change no table.
_OTHERS = ("README.md", "published.csv", "history.csv", "reasons.csv", "inputs.csv", "costs.csv", "claims.py", "figures.py")


def digest(folder: Path, experiment: Any) -> str:
    """A digest of what the table of an experiment is made from.

    The definition is that of its scenario. An experiment without one is defined by
    ``experiments.py``.
    """
    sources = [file for file in _files(folder) if file.name not in _OTHERS]
    definition = ""
    if hasattr(experiment, "scenario"):
        sources = [file for file in sources if file.name != "experiments.py"]
        definition = json.dumps(experiment.scenario(experiment.seeds), sort_keys=True, default=str)
    return _digest(sources, f"{experiment.name} {experiment.seeds} {definition}")


def digest_of_figures(folder: Path) -> str:
    """A digest of what draws the figures."""
    return _digest([file for file in _files(folder) if file.name == "figures.py"], "")


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))


def _digest(files: Iterable[Path], text: str) -> str:
    found = hashlib.blake2b(text.encode(), digest_size=8)
    for file in files:
        content = file.read_bytes()
        found.update(f"\n{file.name} {len(content)}\n".encode() + content)
    return found.hexdigest()


def read(place: Path) -> dict[str, tuple[str, str]]:
    """Digest and program by table, from ``inputs.csv``; nothing without the file."""
    file = place / "inputs.csv"
    if not file.exists():
        return {}
    with file.open(newline="", encoding="utf-8") as text:
        return {row["table"]: (row["digest"], row["program"]) for row in csv.DictReader(text)}


def write(place: Path, rows: Mapping[str, tuple[str, str]], known: Iterable[str]) -> None:
    """Add rows to ``inputs.csv``, in the order of the ``known`` tables."""
    every = read(place) | dict(rows)
    order = [name for name in (*known, FIGURES) if name in every]
    write_csv(place / "inputs.csv", [HEAD, *((name, *every[name]) for name in order)])


def stale(folder: Path, place: Path, experiments: Mapping[str, Any], wanted: Iterable[str]) -> list[str]:
    """The ``wanted`` tables, and figures, in ``place`` that are missing, or that were made from
    something else than the study in ``folder`` is now.
    """
    made = read(place)
    now = {name: digest(folder, experiments[name]) for name in wanted if name in experiments} | {FIGURES: digest_of_figures(folder)}
    missing = {name for name in now if name != FIGURES and not (place / "tables" / f"{name}.csv").exists()}
    return [name for name, of in now.items() if name in missing or made.get(name, ("", ""))[0] != of]


def program() -> str:
    """This program: its version and a digest of its engine's sources, as results name it."""
    from timeplane.scenario import Scenario

    smallest = {
        "name": "program",
        "fabric": {"topology": {"single_switch": {"hosts": 2}}, "rate": "1 Gb/s"},
        "workload": {"shuffle": {"bytes": "1 B"}},
        "scheme": {"raw": {"transport": {"raw": {}}}},
    }
    with tempfile.TemporaryDirectory() as folder:
        Scenario.from_dict(smallest).run(jobs=1, results=folder, progress=False)
        return _program_of(Path(folder) / "program" / "manifest.json")


def _program_of(manifest: Path) -> str:
    return str(json.loads(manifest.read_text(encoding="utf-8"))["program"])


@dataclass
class Cost:
    """What an experiment cost. Memory is the high-water mark of this process, which has all runs
    and the measurement in it. Where the system cannot reset the mark, it is that since the start.
    """

    begin: float = field(default_factory=time.time)
    minutes: float = 0.0
    processor_minutes: float = 0.0
    peak_mb: float = 0.0
    #: The program that made the runs; empty for experiments without runs.
    program: str = ""
    #: Whether nothing was taken from earlier runs.
    whole: bool = True


@contextmanager
def measured(runs: Path) -> Iterator[Cost]:
    """Measure what happens inside: an experiment with its results in the folder ``runs``."""
    cost, clock, processor = Cost(), time.monotonic(), time.process_time()
    _forget_peak()
    yield cost
    cost.minutes = (time.monotonic() - clock) / 60
    cost.processor_minutes = (time.process_time() - processor) / 60
    cost.peak_mb = _peak_mb()
    for manifest in runs.glob("*/manifest.json"):
        # Each experiment writes the manifests of its own scenarios again.
        if manifest.stat().st_mtime >= cost.begin - 0.01:
            text = json.loads(manifest.read_text(encoding="utf-8"))
            cost.program = str(text["program"])
            done = [manifest.parent / "runs" / run["key"] / "summary.json" for run in text["runs"]]
            cost.whole &= all(file.exists() and file.stat().st_mtime >= cost.begin - 0.01 for file in done)


def _forget_peak() -> None:
    """Let the high-water mark of memory start again (Linux, proc(5))."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak_mb() -> float:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (1024**2 if sys.platform == "darwin" else 1024)


def costs(place: Path) -> dict[str, dict[str, str]]:
    """The rows of ``costs.csv`` by experiment; none without the file."""
    file = place / "costs.csv"
    if not file.exists():
        return {}
    with file.open(newline="", encoding="utf-8") as text:
        return {row["experiment"]: row for row in csv.DictReader(text)}


def write_costs(place: Path, rows: Mapping[str, tuple[int, int, Cost]], known: Iterable[str]) -> None:
    """Add rows to ``costs.csv``: seeds, jobs and the cost of each experiment that was run as a
    whole.
    """
    every = {name: [row[column] for column in COSTS] for name, row in costs(place).items()}
    for name, (seeds, jobs, cost) in rows.items():
        if cost.whole:
            numbers = (f"{cost.minutes:.2f}", f"{cost.processor_minutes:.2f}", f"{cost.peak_mb:.0f}")
            every[name] = [name, str(seeds), str(jobs), *numbers]
    if every:
        write_csv(place / "costs.csv", [COSTS, *(every[name] for name in known if name in every)])
