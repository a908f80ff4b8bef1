"""What is run: a line of ``experiments`` each, and a function that fills its outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeplane.studies import Options

from . import packets, phases, radio, table2
from .completion import compare
from .radio import ANTENNAS
from .traces import TRACES

if TYPE_CHECKING:
    from .study import Outcome

FOLDER = Path(__file__).resolve().parent

#: Radios of a rack.
RADIOS: Mapping[float, Mapping[str, Any]] = {float(n): {"radios": n} for n in (1, 2, 3)}
#: Uplinks are 1:2 oversubscribed, the core is not: what 45 % shorter times speak of, as no time is
#: more than twice the other.
UPLINKS: Mapping[str, Any] = {"oversubscription": 2, "core": False}
#: Both are, so that traffic across the core has 1:4.
BOTH: Mapping[str, Any] = {"oversubscription": 2, "core": True}

BY_ANTENNA = {name: UPLINKS | {"antenna": name} for name in ANTENNAS}
BY_POLICY = {name: UPLINKS | {"policy": name} for name in ("greedy", "transit", "greedy_direct", "straggler")}
BY_TREE = {"uplinks": UPLINKS, "both": BOTH}
#: Full and quick: cases of a trace.
CASES = {"projector": (24, 2), "fb2010": (61, 1), "pods": (506, 20)}
#: The same of packets: cases, ms that uplinks take for the demand, seeds.
PACKETS = {
    "projector": ((3, (30.0, 100.0, 300.0, 1000.0), 3), (1, (30.0,), 1)),
    "fb2010": ((6, (30.0, 100.0, 300.0, 1000.0), 3), (1, (30.0,), 1)),
}


@dataclass(frozen=True)
class Experiment:
    """Numbers by place on the axis, scheme and case."""

    name: str
    fill: Callable[[Outcome, Options], None]
    schemes: Mapping[str, Any]
    seeds: int = 1


def _antennas(trace: str, cases: int) -> Experiment:
    return Experiment(trace, compare(TRACES[trace], cases, RADIOS, BY_ANTENNA), BY_ANTENNA)


def _policies(trace: str, cases: int) -> Experiment:
    """With one radio and two."""
    places = {x: at for x, at in RADIOS.items() if x < 3}
    return Experiment(f"{trace}_policies", compare(TRACES[trace], cases, places, BY_POLICY), BY_POLICY)


def _tree(trace: str, cases: int) -> Experiment:
    """Racks of one aggregation switch never meet the core."""
    places = {x: at for x, at in RADIOS.items() if x < 3}
    return Experiment(f"{trace}_tree", compare(TRACES[trace], cases, places, BY_TREE), BY_TREE)


def _packets(trace: str, cases: int, lengths: Sequence[float], seeds: int) -> Experiment:
    return Experiment(f"packets_{trace}", packets.fill(trace, cases, lengths, seeds), {"wired": {}, **packets.FLYWAYS})


def experiments(quick: bool) -> dict[str, Experiment]:
    """By name."""
    of = {trace: counts[quick] for trace, counts in CASES.items()}
    every = [
        Experiment("antennas", radio.gains, ANTENNAS),
        Experiment("links", radio.ranges, ANTENNAS),
        *(_antennas(trace, cases) for trace, cases in of.items()),
        *(_policies(trace, cases) for trace, cases in of.items()),
        *(_tree(trace, cases) for trace, cases in of.items() if trace != "pods"),
        *(Experiment(f"table2_{name}", table2.fill(mac, 500, 2 if quick else 10), table2.COLUMNS) for name, mac in table2.MACS.items()),
        *(_packets(trace, *(given[quick])) for trace, given in PACKETS.items()),
        Experiment("phases", phases.run(60 if quick else 500), phases.POINTING),
    ]
    return {e.name: e for e in every}
