"""The experiments. Each is one scenario that the simulator and a lab run from the same file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
SCENARIOS = FOLDER.parents[1] / "scenarios"
#: Where a scenario runs, after the name of its scheme.
SIMULATED, LIVE = "simulated", "live"


@dataclass(frozen=True)
class Experiment:
    """A scenario file, run in both worlds at each value of an axis."""

    name: str
    file: Path
    #: Schemes of the file.
    of: Sequence[str]
    #: Key of the axis, and its values by their positions.
    axis: tuple[str, Mapping[float, str]]
    #: Changes of the file.
    changes: Mapping[str, str]
    #: Runs of each point in each world: seeds there, repetitions here.
    seeds: int = 5

    @property
    def schemes(self) -> dict[str, str]:
        """Schemes of the table: each in both worlds, the simulated one first."""
        return {f"{scheme} {world}": scheme for scheme in self.of for world in (SIMULATED, LIVE)}

    @property
    def settings(self) -> dict[str, str]:
        """All changes, with the values of the axis as a list."""
        key, values = self.axis
        return {**self.changes, key: ",".join(values.values())}

    def scenario(self, seeds: int) -> dict[str, Any]:
        """The scenario as nested dicts, with the keys of a scenario file."""
        return tomllib.loads(self.file.read_text(encoding="utf-8")) | {"seeds": seeds}


SLOT, HOSTS = "scheme.slots.plan.tdma.slot", "fabric.topology.single_switch.hosts"
OWN = FOLDER / "scenario.toml"
FULL = [
    Experiment("slots", OWN, ["slots"], (SLOT, {2.0: "2 ms", 1.0: "1 ms", 0.5: "500 us", 0.3: "300 us"}), {}),
    Experiment("rates", OWN, ["rates"], (HOSTS, {4: "4", 8: "8"}), {"fabric.rate": "50 Mb/s", "workload.shuffle.bytes": "600 kB", "scheme.slots.plan.tdma.guard": "400 us"}),
    Experiment("circuits", SCENARIOS / "lab_circuits.toml", ["circuits"], ("workload.flows.file", {6: "lab_circuits-flows.csv"}), {}),
    Experiment(
        "proxy",
        SCENARIOS / "proxy_live.toml",
        ["cubic", "reactive", "proactive", "predicted"],
        ("window.measure", {5: "5 s"}),
        {},
        3,
    ),
]
QUICK = [replace(e, seeds=2) for e in FULL]


def experiments(quick: bool) -> dict[str, Experiment]:
    """All experiments by name."""
    return {e.name: e for e in (QUICK if quick else FULL)}
