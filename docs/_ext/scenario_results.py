"""Stored results of the scenarios in `scenarios/`, which the gallery shows.

`docs/gallery/scenarios.csv` has a row for each scenario: digests, the cost of its runs, and the
program that made them. `docs/gallery/metrics.csv` has its comparison, one row per point, scheme and
metric. `python python/tools/gallery_results.py` writes both, and the pictures next to them.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from built import ROOT

SCENARIOS = ROOT / "scenarios"
PLACE = ROOT / "docs" / "gallery"
#: The command that renews results. Messages of errors name it.
RENEW = "`.venv/bin/python python/tools/gallery_results.py`"
_FILE = re.compile(r'"([\w.-]+\.csv)"')


class ResultsError(ValueError):
    """Stored results are missing, or are those of another scenario."""


@dataclass(frozen=True)
class Row:
    """What made the results of a scenario."""

    scenario: str
    #: Digest of the file's text and of the files that it names.
    text: str
    #: Digest of its values without the description. Comments do not change it.
    values: str
    program: str
    #: `release`, or `development`, which is slower.
    build: str
    runs: int
    #: Seconds of processor time of all runs.
    processor_s: float
    peak_mb: int


@dataclass(frozen=True)
class Value:
    """A metric of a scheme at a point, as `timeplane compare` has it."""

    scenario: str
    #: Swept keys and values: `workload.poisson.load=0.3`. Empty without a sweep.
    point: str
    scheme: str
    metric: str
    #: In the unit of the metric's name; `None` if there is nothing to measure.
    mean: float | None
    #: Half of the 95 % interval; `None` for one seed.
    half_width: float | None
    #: Whether unfinished flows make the mean a lower bound.
    lower_bound: bool
    #: Relative difference from the first scheme.
    difference: float | None
    #: `significant`, `equivalent`, both, or nothing.
    verdict: str
    #: What no scheme can beat, in the unit of the mean.
    bound: float | None


def names(folder: Path = SCENARIOS) -> list[str]:
    """All scenarios, by name."""
    return sorted(file.stem for file in folder.glob("*.toml"))


def digests(file: Path) -> tuple[str, str]:
    """The digest of a scenario's text, and that of its values without the description."""
    text = file.read_text(encoding="utf-8")
    values = tomllib.loads(text)
    values.pop("description", None)
    others = [file.with_name(name) for name in dict.fromkeys(_FILE.findall(text))]
    data = [other.read_bytes() for other in others if other.exists()]
    return _digest(text.encode(), *data), _digest(json.dumps(values, sort_keys=True, default=str).encode(), *data)


def _digest(*parts: bytes) -> str:
    found = hashlib.blake2b(digest_size=8)
    for part in parts:
        found.update(b"%d\n" % len(part) + part)
    return found.hexdigest()


def values_of(scenario: str, comparison: Mapping[str, Any]) -> list[Value]:
    """The stored form of `Comparison.to_dict`."""
    found = []
    for line in comparison["lines"]:
        point = ", ".join(f"{key}={value}" for key, value in line["point"].items())
        for metric, cell in line["metrics"].items():
            if cell is None:
                continue
            value, change = cell["value"] or {}, (cell["difference"] or {}).get("relative") or {}
            verdict = ["significant"] if cell["significant"] else []
            verdict += ["equivalent"] if (cell["equivalence"] or {}).get("equivalent") else []
            numbers = (value.get("mean"), value.get("half_width"), bool(cell["lower_bound"]), change.get("mean"))
            found.append(Value(scenario, point, line["scheme"], metric, *numbers, " ".join(verdict), cell["bound"]))
    return found


def _text(value: Any) -> str:
    if value is None or value is False:
        return ""
    return "yes" if value is True else f"{value:.7g}" if isinstance(value, float) else str(value)


def rounded(values: Iterable[Value]) -> list[dict[str, str]]:
    """Rows as the table has them, to compare with it."""
    return [{name: _text(cell) for name, cell in vars(value).items()} for value in values]


def write(rows: Mapping[str, Row], values: Mapping[str, list[Value]], place: Path = PLACE) -> None:
    """Write both tables, in the order of names."""
    place.mkdir(parents=True, exist_ok=True)
    _write(place / "scenarios.csv", Row, [rows[name] for name in sorted(rows)])
    _write(place / "metrics.csv", Value, [value for name in sorted(rows) for value in values[name]])


def _write(file: Path, of: type, rows: Iterable[Any]) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([field.name for field in fields(of)])
        writer.writerows([_text(cell) for cell in vars(row).values()] for row in rows)


def read(place: Path = PLACE) -> tuple[dict[str, Row], dict[str, list[Value]]]:
    """Both tables, by scenario. They are empty without files."""
    number = lambda text: float(text) if text else None
    rows = {
        row["scenario"]: Row(**(row | {"runs": int(row["runs"]), "processor_s": float(row["processor_s"]), "peak_mb": int(row["peak_mb"])}))
        for row in _read(place / "scenarios.csv")
    }
    values: dict[str, list[Value]] = {name: [] for name in rows}
    for row in _read(place / "metrics.csv"):
        numbers = {name: number(row[name]) for name in ("mean", "half_width", "difference", "bound")}
        values.setdefault(row["scenario"], []).append(Value(**(row | numbers | {"lower_bound": row["lower_bound"] == "yes"})))
    return rows, values


def _read(file: Path) -> list[dict[str, str]]:
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def check(rows: Mapping[str, Row], folder: Path = SCENARIOS, place: Path = PLACE) -> None:
    """Check that the tables are about the scenarios of the folder as they are. Raise :class:`ResultsError` otherwise."""
    for name in names(folder):
        if name not in rows:
            raise ResultsError(f"scenarios/{name}.toml has no row in docs/gallery/scenarios.csv: run {RENEW}")
        if rows[name].text != digests(folder / f"{name}.toml")[0]:
            raise ResultsError(f"scenarios/{name}.toml has changed since its results were stored: run {RENEW}")
        if not (place / "pictures" / f"{name}.svg").exists():
            raise ResultsError(f"docs/gallery/pictures has no picture of scenarios/{name}.toml: run {RENEW}")
    for name in sorted(set(rows) - set(names(folder))):
        raise ResultsError(f"docs/gallery/scenarios.csv has a row of `{name}`, which is not in scenarios/: run {RENEW}")
