"""Runs of the packet simulator, as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import timeplane as tp
from timeplane import studies
from timeplane.scenario import Scenario
from timeplane.studies import Options


def runs(values: Mapping[str, Any], options: Options, base: Path) -> Iterator[tuple[tp.Run, Mapping[str, Any]]]:
    """Runs a scenario whose files are in ``base``; returns all runs with their rows of the
    summary. Completed runs are reused.
    """
    results = Scenario.from_dict(values, base=base).run(jobs=options.jobs, results=options.out / "runs")
    summary = studies.by_run(results.summary)
    for run in results.runs:
        yield run, summary[run.key]
