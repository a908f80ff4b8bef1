#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Count what ten fixed runs cost, and compare with the table in the repository.

    python benches/costs.py            builds the program and writes benches/costs.csv
    python benches/costs.py --check    says which rows moved by more than 3 %; exit code 1 if any

The runs are the scenarios of benches/costs. Valgrind counts instructions, and misses of a simulated
data cache, so neither the load of the machine nor its caches matter. Only the thread of the run
counts, without reading the scenario and comparing results. A run has one seed and one thread, a
fixed environment and addresses that valgrind chooses: two counts differ by less than 0.01 %.

The compiler, the C library and the instructions that the processor offers do matter. On another
machine, write a table with the older program first, and compare with that one:

    python benches/costs.py --program old/timeplane --table /tmp/costs.csv
    python benches/costs.py --check --table /tmp/costs.csv
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
#: Caches of a fixed size, not those of this machine: size, ways, bytes of a line. The data cache
#: has the size of a core's second level, because misses of the first level cost little.
CACHES = ["--I1=32768,8,64", "--D1=1048576,16,64", "--LL=33554432,16,64"]
#: Instructions that run while a miss is served: 50 cycles with two instructions each.
MISS = 100
#: Changes of a row that matter.
LIMIT = 0.03


class Cost(NamedTuple):
    """What a run costs."""

    packet_hops: int
    instructions: int
    misses: int

    def per_hop(self) -> dict[str, float]:
        """Costs of a packet on a link, by name."""
        weighted = self.instructions + MISS * self.misses
        return {
            "instructions": self.instructions / self.packet_hops,
            "instructions with misses": weighted / self.packet_hops,
        }


def main() -> int:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the table instead of writing it")
    parser.add_argument("--table", type=Path, default=HERE / "costs.csv", help="the table (benches/costs.csv)")
    parser.add_argument("--program", type=Path, help="a timeplane command; without it, the release build of this checkout")
    parser.add_argument("--only", default="", metavar="TEXT", help="only runs with this text in their names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at the same time (one per core)")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        parser.exit(2, "error: valgrind is not installed: apt-get install valgrind\n")
    if args.program is None:
        subprocess.run(["cargo", "build", "--release", "--locked", "-p", "timeplane-cli"], cwd=ROOT, check=True)
        args.program = target / "release/timeplane"
    elif not args.program.exists():
        parser.error(f"{args.program} does not exist")
    before = read(args.table)
    scenarios = sorted((HERE / "costs").glob("*.toml"))
    wanted = [s for s in scenarios if args.only in s.stem]
    with ThreadPoolExecutor(args.jobs) as pool:
        counted = pool.map(lambda scenario: count(args.program.resolve(), scenario), wanted)
        after = {scenario.stem: cost for scenario, cost in zip(wanted, counted)}
    if not args.check:
        write(args.table, {s.stem: cost for s in scenarios if (cost := after.get(s.stem) or before.get(s.stem))})
        return 0
    if not args.only:
        gone = before.keys() - after.keys()
        print("".join(f"{name}: only in the table\n" for name in sorted(gone)), end="")
    moved = [name for name, cost in after.items() if has_moved(name, before.get(name), cost)]
    print(f"{len(moved)} of {len(after)} runs moved by more than {LIMIT:.0%}" + (f": {', '.join(moved)}" if moved else ""))
    return 1 if moved else 0


def count(program: Path, scenario: Path) -> Cost:
    """Run one scenario under valgrind."""
    with tempfile.TemporaryDirectory(prefix="costs-") as folder:
        # The length of the environment moves the stack, and so the lines of the cache.
        valgrind = [shutil.which("valgrind"), "--quiet", "--tool=callgrind", "--separate-threads=yes", "--cache-sim=yes", *CACHES]
        run = [program, "run", scenario, "--quiet", "--seeds=1", "--jobs=1", "--results=results"]
        done = subprocess.run([*valgrind, *run], cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{scenario}: exit code {done.returncode}\n{done.stderr}")
        (summary,) = Path(folder).glob("results/*/runs/*/summary.json")
        hops = json.loads(summary.read_text())["packet_hops"]
        threads = [totals(path) for path in Path(folder).glob("callgrind.out.*-*")]
    # The others parse, wait, and make files durable.
    busiest = max(threads, key=lambda thread: thread["Ir"])
    return Cost(hops, busiest["Ir"], busiest["D1mr"] + busiest["D1mw"])


def totals(path: Path) -> dict[str, int]:
    """The counts of a thread, by callgrind's names of events."""
    lines = dict(line.split(":", 1) for line in path.read_text().splitlines() if line.startswith(("events:", "totals:")))
    return dict(zip(lines["events"].split(), map(int, lines["totals"].split())))


def has_moved(name: str, before: Cost | None, after: Cost) -> bool:
    """Whether a cost of a row has changed too much. Prints what has changed."""
    if before is None:
        print(f"{name}: not in the table")
        return True
    if before.packet_hops != after.packet_hops:
        print(f"{name}: {before.packet_hops} packet hops, now {after.packet_hops}: the run itself has changed")
    was, now = before.per_hop(), after.per_hop()
    changes = {what: now[what] / was[what] - 1 for what in was}
    for what, change in changes.items():
        print(f"{name}: {was[what]:.1f} {what} per hop, now {now[what]:.1f}: {change:+.1%}")
    return any(abs(change) > LIMIT for change in changes.values())


def read(table: Path) -> dict[str, Cost]:
    """The rows of a table; none if it does not exist."""
    if not table.exists():
        return {}
    with table.open(newline="") as file:
        return {row["run"]: Cost(*(int(row[column]) for column in Cost._fields)) for row in csv.DictReader(file)}


def write(table: Path, rows: dict[str, Cost]) -> None:
    """Write all rows, with the costs of a hop for people who read the diff."""
    with table.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run", *Cost._fields, "instructions_per_hop", "misses_per_hop"])
        for name, cost in rows.items():
            hops = cost.packet_hops
            writer.writerow([name, *cost, f"{cost.instructions / hops:.1f}", f"{cost.misses / hops:.3f}"])


if __name__ == "__main__":
    sys.exit(main())
