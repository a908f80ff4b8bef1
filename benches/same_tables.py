#!/usr/bin/env python3
"""Compare the tables that two versions of timeplane write.

Run each version once, in its own checkout, then compare the two folders:

    python benches/same_tables.py run old-checkout old-tables --program old-checkout/target/release/timeplane
    python benches/same_tables.py run . new-tables --program target/release/timeplane
    python benches/same_tables.py compare old-tables new-tables

`run` executes every scenario of `scenarios/` with one seed (with the overrides of SHORTER), every
template of `timeplane new`, the scenario of every study, and the quick version of every study. The
latter needs the Python package of that version (`--python .venv/bin/python`) and is skipped without
it. Completed parts are not run again.

`compare` needs pyarrow. It matches runs by scheme, seed and sweep point, because the keys of runs
change with names, and prints one line per part: `equal`, or what differs. Its exit code is 1 if
anything differs. Renamed keys, columns and files stand in the tables below; empty them when the old
version has the new names.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Scenarios that take minutes, with overrides that shorten them. In a short run a check may fail,
# with exit code 3; both versions must agree on it.
SHORTER = {
    "cells": ["window.measure=1 s"],
    "factory": ["window.measure=2 s"],
    "fb2010": ["workload.coflows.byte_scale=0.02"],
    "fb2010-large": ["workload.coflows.max_flows=500", "workload.coflows.byte_scale=0.02"],
    "hybrid": ["window.measure=5 ms", "window.drain=5 ms"],
    "load": ["window.measure=10 ms", "window.drain=10 ms"],
    "proxy_live": ["window.measure=4 s"],
    "queue": ["window.measure=2 s"],
    "shuffle": ["workload.shuffle.bytes=5 MB"],
    "studies/mmwave-proxy": ["window.measure=500 ms"],
    "studies/reactor": ["window.measure=10 ms"],
    "studies/rotor": ["window.measure=5 ms"],
    "studies/sync-vs-async": ["window.warmup=5 ms", "window.measure=5 ms", "window.drain=5 ms"],
    "studies/tdma": ["workload.shuffle.bytes=5 MB"],
}

# Names of the old version, and what the new version calls them: columns, keys of JSON files, and
# parts of swept keys between dots.
RENAMED: dict[str, str] = {
    "control": "scheme",
    "course": "trace",
}
# Several parts of a swept key at once.
RENAMED_KEYS: dict[str, str] = {
    "plan.slots.": "plan.tdma.",
}
# Tables whose file has another name.
RENAMED_TABLES: dict[str, str] = {}
# Templates and scenarios that have another name in the new version.
RENAMED_PARTS: dict[str, str] = {}
# Tables and columns that only the new version has.
ADDED_TABLES: set[str] = {"round_trips.parquet", "signals.parquet"}
ADDED_COLUMNS: set[str] = {"waiting_bytes"}
# Entries of JSON files that differ between any two versions, and the amount of work.
IGNORED = {"key", "version", "format", "events"}

Value = Any


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="Run one version's scenarios, templates and studies")
    run.add_argument("checkout", type=Path)
    run.add_argument("out", type=Path)
    run.add_argument("--program", type=Path, required=True, help="The timeplane command of this checkout")
    run.add_argument("--python", type=Path, help="A Python with the package of this checkout, for studies")
    run.add_argument("--only", default="*", metavar="PATTERN", help="Parts such as `scenario/load` or `study/*`")
    run.set_defaults(act=lambda a: run_all(a.checkout.resolve(), a.out.resolve(), a.program, a.python, a.only))
    both = commands.add_parser("compare", help="Compare two folders that `run` wrote")
    both.add_argument("old", type=Path)
    both.add_argument("new", type=Path)
    both.add_argument("--only", default="*", metavar="PATTERN")
    both.set_defaults(act=lambda a: compare_all(a.old, a.new, a.only))
    given = parser.parse_args()
    return int(given.act(given))


def run_all(checkout: Path, out: Path, program: Path, python: Path | None, only: str) -> int:
    # Not resolved: the path of a virtual environment's Python is what makes it one.
    program = Path(os.path.abspath(program))
    failed = 0
    for part, command in parts(checkout, out, program, python):
        folder = out / part
        if not fnmatch.fnmatch(part, only) or (folder / "outcome.json").exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
        print(f"{part}: exit code {done.returncode}, {time.monotonic() - began:.1f} s", flush=True)
        if done.returncode not in (0, 3):
            failed += 1
            print(done.stderr[-2000:], flush=True)
            continue
        (folder / "outcome.json").write_text(json.dumps({"code": done.returncode}))
    return 1 if failed else 0


def parts(checkout: Path, out: Path, program: Path, python: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Names of everything to run, each with its command."""

    def run(part: str, scenario: Path) -> tuple[str, list[str]]:
        changes = [f"--set={change}" for change in SHORTER.get(part.removeprefix("scenario/"), [])]
        return part, [str(program), "run", str(scenario), "--quiet", "--seeds=1", *changes, f"--results={out / part}"]

    for scenario in sorted((checkout / "scenarios").glob("*.toml")):
        yield run(f"scenario/{scenario.stem}", scenario)
    listed = subprocess.run([program, "new", "--list", "--json"], check=True, capture_output=True, text=True).stdout
    for template in json.loads(listed):
        name = template["name"]
        file = out / "template" / name / f"{name}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([program, "new", "--force", "--template", name, file], check=True, capture_output=True)
        yield run(f"template/{name}", file)
    for scenario in sorted((checkout / "studies").glob("*/scenario.toml")):
        yield run(f"studies/{scenario.parent.name}", scenario)
    if python is None:
        print("no --python: skipping quick studies", file=sys.stderr)
        return
    for study in sorted((checkout / "studies").glob("*/study.py")):
        name = study.parent.name
        command = [str(Path(os.path.abspath(python))), "-m", "timeplane", "study", name, "--quick"]
        yield f"study/{name}", [*command, f"--out={out / 'study' / name}"]


def compare_all(old: Path, new: Path, only: str) -> int:
    failed = 0
    names = {RENAMED_PARTS.get(part, part): part for part in completed(old)}
    for name in sorted(names.keys() | completed(new)):
        if not fnmatch.fnmatch(name, only):
            continue
        if name not in names or not (new / name / "outcome.json").exists():
            verdict = [f"only in {new if name not in names else old}"]
        else:
            verdict = list(differences(old / names[name], new / name))
        counted = sum(1 for _ in (new / name).rglob("*.parquet"))
        print(f"{name}: " + (f"equal ({counted} tables)" if not verdict else f"{len(verdict)} differences"), flush=True)
        for line in verdict[:8]:
            print(f"    {line}")
        failed += bool(verdict)
    return 1 if failed else 0


def completed(out: Path) -> set[str]:
    return {str(p.parent.relative_to(out)) for p in out.glob("*/*/outcome.json")}


def differences(old: Path, new: Path) -> Iterator[str]:
    """Differences between the two versions' folders of one part."""
    codes = [json.loads((side / "outcome.json").read_text())["code"] for side in (old, new)]
    if codes[0] != codes[1]:
        yield f"exit code {codes[0]}, now {codes[1]}"
    before, after = runs(old, old=True), runs(new, old=False)
    for run in sorted(before.keys() ^ after.keys()):
        yield f"run {run}: only in the {'old' if run in before else 'new'} version"
    for run in sorted(before.keys() & after.keys()):
        for difference in run_differences(before[run], after[run]):
            yield f"{' '.join(run)}: {difference}"
    for table in sorted({p.relative_to(side) for side in (old, new) for p in side.glob("tables/*.csv")}):
        yield from csv_differences(table, old / table, new / table)


Run = tuple[str, ...]


def runs(part: Path, *, old: bool) -> dict[Run, Path]:
    """The folders of a part's runs, by folder of results, scheme, sweep point and seed."""
    found = {}
    for manifest in part.rglob("manifest.json"):
        where = str(manifest.parent.relative_to(part))
        read = json.loads(manifest.read_text())
        for run in renamed(read["runs"]) if old else read["runs"]:
            point = ",".join(f"{k}={v}" for k, v in run["point"].items())
            name = (where, run["scheme"], point, f"seed {run['seed']}")
            found[name] = manifest.parent / "runs" / run["key"]
    return found


def run_differences(old: Path, new: Path) -> Iterator[str]:
    files = {RENAMED_TABLES.get(p.name, p.name): p.name for p in old.iterdir()}
    for name in sorted(files.keys() ^ ({p.name for p in new.iterdir()} - ADDED_TABLES)):
        yield f"{name}: only in the {'old' if name in files else 'new'} version"
    for name, before in sorted(files.items()):
        if not (new / name).exists():
            continue
        if name.endswith(".parquet"):
            yield from table_differences(name, old / before, new / name)
        elif name.endswith(".json"):
            pair = renamed(json.loads((old / before).read_text())), json.loads((new / name).read_text())
            yield from (f"{name}: {difference}" for difference in json_differences(*pair))
        elif (old / before).read_bytes() != (new / name).read_bytes():
            yield f"{name}: other bytes"


def table_differences(name: str, old: Path, new: Path) -> Iterator[str]:
    import pyarrow.parquet as parquet

    before, after = parquet.read_table(old), parquet.read_table(new)
    before = before.rename_columns([rename(column) for column in before.column_names])
    after = after.drop_columns([c for c in after.column_names if c in ADDED_COLUMNS - {*before.column_names}])
    if before.column_names != after.column_names:
        yield f"{name}: columns {before.column_names}, now {after.column_names}"
        return
    if before.num_rows != after.num_rows:
        yield f"{name}: {before.num_rows} rows, now {after.num_rows}"
        return
    for column in before.column_names:
        one, other = before[column], after[column]
        if one.type != other.type:
            yield f"{name}: {column} has type {one.type}, now {other.type}"
        elif not one.equals(other):
            was, now = one.to_pylist(), other.to_pylist()
            rows = [i for i in range(len(was)) if rename(was[i]) != now[i]]
            if rows:
                at = rows[0]
                yield f"{name}: {column} differs in {len(rows)} rows, first in {at}: {was[at]}, now {now[at]}"


def csv_differences(name: Path, old: Path, new: Path) -> Iterator[str]:
    if not (old.exists() and new.exists()):
        yield f"{name}: only in the {'old' if old.exists() else 'new'} version"
        return
    with old.open(newline="") as one, new.open(newline="") as other:
        before = [[rename(cell) for cell in row] for row in csv.reader(one)]
        after = list(csv.reader(other))
    if len(before) != len(after):
        yield f"{name}: {len(before)} rows, now {len(after)}"
    for row, (was, now) in enumerate(zip(before, after, strict=False)):
        if was != now:
            yield f"{name}: row {row}: {was}, now {now}"
            return


def json_differences(old: Value, new: Value, at: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted((old.keys() ^ new.keys()) - IGNORED):
            yield f"{at}.{key}: only in the {'old' if key in old else 'new'} version"
        for key in sorted((old.keys() & new.keys()) - IGNORED):
            yield from json_differences(old[key], new[key], f"{at}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (was, now) in enumerate(zip(old, new, strict=True)):
            yield from json_differences(was, now, f"{at}[{i}]")
    elif old != new:
        yield f"{at}: {old!r}, now {new!r}"


def renamed(value: Value) -> Value:
    """JSON of the old version with the names of the new one."""
    if isinstance(value, dict):
        return {rename(key): renamed(v) for key, v in value.items()}
    return [renamed(v) for v in value] if isinstance(value, list) else rename(value)


def rename(value: Value) -> Value:
    """A key, a column or a value of the old version."""
    if not isinstance(value, str):
        return value
    for old, new in RENAMED_KEYS.items():
        value = value.replace(old, new)
    return ".".join(RENAMED.get(word, word) for word in value.split("."))


if __name__ == "__main__":
    sys.exit(main())
