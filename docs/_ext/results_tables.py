"""The page of results: every table and column with its unit and meaning, and the metrics that comparisons, checks and sweeps name."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from generated import Page

#: A run that takes no time: columns are the same for all.
_SMALLEST = {
    "fabric": {"topology": {"single_switch": {"hosts": 2}}, "rate": "10 Gb/s"},
    "workload": {"shuffle": {"bytes": "10 kB"}},
    "scheme": {"datagrams": {"transport": {"datagrams": {}}}},
}
#: By the end of a name; the longest that fits.
_UNITS = {
    "_ps": "picoseconds",
    "_bytes": "bytes",
    "_bps": "bits per second",
    "_packets": "packets",
    "_ppm": "millionths",
    "_ns": "nanoseconds",
    "_jain": "0 to 1",
}


def unit(name: str) -> str:
    """Of a column: names end in it."""
    return next((said for end, said in _UNITS.items() if name.endswith(end)), "")


def page() -> Page:
    """All tables."""
    import timeplane as tp

    listed = subprocess.run([sys.executable, "-m", "timeplane", "list", "results", "--json"], check=True, capture_output=True, text=True).stdout
    metrics, tables = json.loads(listed)
    made = Page(
        "Results and metrics",
        "What a folder of results holds. Units are in the names of columns; times are picoseconds since the run's begin, or spans of them. In Python, "
        "and for all runs of a folder together, each table has the columns `run`, `scheme`, one for each swept key, and `seed` in front.",
    )
    made.add(
        "(results-metrics)=",
        f"## {metrics['title'].partition(' (')[0]}",
        "Names for `timeplane compare --metrics`, for `metric` of a `[[check]]` and for `timeplane sweep --until`; the suffix of the unit may be left out.",
    )
    made.table(("name", "in tables", "unit"), [(f"`{e['name']}`", e["about"], unit(e["name"])) for e in metrics["entries"]])
    with tempfile.TemporaryDirectory() as folder:
        results = tp.Scenario.from_dict(_SMALLEST).run(results=Path(folder))
        made.add("(results-summary)=", "## summary", "One row per run: `summary.parquet` and `summary.csv`. Metrics among its columns are named as in tables.")
        labels = {entry["name"]: entry["about"] for entry in metrics["entries"]}
        own = [name for name in results.summary.columns if name not in {"run", "scheme", "seed"}]
        made.table(("column", "unit", "in tables"), [(f"`{name}`", unit(name), labels.get(name, "")) for name in own])
        for entry in tables["entries"]:
            name = entry["name"]
            about = getattr(type(results), name, None)
            made.add(f"(results-{name})=", f"## {name}", (about.__doc__ or "").replace("``", "`") if about else "", f"`runs/KEY/{name}.parquet`")
            _columns(made, results.table(name))
    return made


def _columns(made: Page, table: object) -> None:
    descriptions = table.descriptions
    known = [name for name in table.columns if descriptions.get(name)]
    if not known:
        raise RuntimeError(f"no column of {table.name} says what it means")
    made.table(("column", "unit", ""), [(f"`{name}`", unit(name), descriptions[name].replace("<", "&lt;")) for name in known])
