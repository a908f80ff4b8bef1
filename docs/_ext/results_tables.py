"""Builds the page of results: tables, columns with units, and the metrics of comparisons."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from generated import Page

#: The smallest run; all runs have the same columns.
_SMALLEST = {
    "fabric": {"topology": {"single_switch": {"hosts": 2}}, "rate": "10 Gb/s"},
    "workload": {"shuffle": {"bytes": "10 kB"}},
    "scheme": {"datagrams": {"transport": {"datagrams": {}}}},
}
#: Units by the suffix of a name.
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
    """Return the unit of a column, from the suffix of its name."""
    return next((said for end, said in _UNITS.items() if name.endswith(end)), "")


def page() -> Page:
    """All tables."""
    import timeplane as tp

    listed = subprocess.run([sys.executable, "-m", "timeplane", "list", "results", "--json"], check=True, capture_output=True, text=True).stdout
    metrics, tables = json.loads(listed)
    made = Page(
        "Results and metrics",
        "All tables of a results folder. The name of a column ends with its unit. Times are picoseconds since the start of the run, or durations. "
        "In Python, each table has the additional columns `run`, `scheme`, one for each swept key, and `seed`.",
    )
    made.add(
        "(results-metrics)=",
        f"## {metrics['title'].partition(' (')[0]}",
        "Names for `timeplane compare --metrics`, for `metric` of a `[[check]]` and for `timeplane sweep --until`. The suffix of the unit is optional.",
    )
    made.table(("name", "in tables", "unit"), [(f"`{e['name']}`", e["about"], unit(e["name"])) for e in metrics["entries"]])
    with tempfile.TemporaryDirectory() as folder:
        results = tp.Scenario.from_dict(_SMALLEST).run(results=Path(folder))
        made.add("(results-summary)=", "## summary", "One row per run, in `summary.parquet` and `summary.csv`. The last column is the heading in printed tables.")
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
        raise RuntimeError(f"table {table.name}: no column has a description")
    made.table(("column", "unit", ""), [(f"`{name}`", unit(name), descriptions[name].replace("<", "&lt;")) for name in known])
