"""The experiments: one line of ``experiments`` each, with a function that fills the outcome."""

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

#: Positions on the axis: the number of radios per rack.
RADIOS: Mapping[float, Mapping[str, Any]] = {float(n): {"radios": n} for n in (1, 2, 3)}
#: Uplinks are oversubscribed 1:2, the core is not. Only then can times be 45 % shorter: wires alone
#: take at most twice the time of a network without oversubscription.
UPLINKS: Mapping[str, Any] = {"oversubscription": 2, "core": False}
#: Uplinks and core are oversubscribed, so traffic across the core gets 1:4.
BOTH: Mapping[str, Any] = {"oversubscription": 2, "core": True}

BY_ANTENNA = {name: UPLINKS | {"antenna": name} for name in ANTENNAS}
BY_POLICY = {name: UPLINKS | {"policy": name} for name in ("greedy", "transit", "greedy_direct", "straggler")}
BY_TREE = {"uplinks": UPLINKS, "both": BOTH}
#: Number of cases of each trace, full and quick.
CASES = {"projector": (24, 2), "fb2010": (61, 1), "pods": (506, 20)}
#: For packets, full and quick: cases, ms that uplinks take for the demand, seeds.
PACKETS = {
    "projector": ((3, (30.0, 100.0, 300.0, 1000.0), 3), (1, (30.0,), 1)),
    "fb2010": ((6, (30.0, 100.0, 300.0, 1000.0), 3), (1, (30.0,), 1)),
}


#: As :data:`PACKETS`, for the plans of ``packets.MEASURED``, on FB2010.
MEASURED = ((3, (30.0, 100.0, 300.0), 3), (1, (30.0,), 1))


@dataclass(frozen=True)
class Experiment:
    """One experiment: numbers by position on the axis, scheme and case."""

    name: str
    fill: Callable[[Outcome, Options], None]
    schemes: Mapping[str, Any]
    #: More than 1 if something is random.
    seeds: int = 1
    #: What the number of values of a mean counts.
    counts: str = "seeds"


def _antennas(trace: str, cases: int) -> Experiment:
    return Experiment(trace, compare(TRACES[trace], cases, RADIOS, BY_ANTENNA), BY_ANTENNA, counts="cases")


def _policies(trace: str, cases: int) -> Experiment:
    """All policies with one and two radios."""
    places = {x: at for x, at in RADIOS.items() if x < 3}
    return Experiment(f"{trace}_policies", compare(TRACES[trace], cases, places, BY_POLICY), BY_POLICY, counts="cases")


def _tree(trace: str, cases: int) -> Experiment:
    """The traffic of racks under one aggregation switch never crosses the core."""
    places = {x: at for x, at in RADIOS.items() if x < 3}
    return Experiment(f"{trace}_tree", compare(TRACES[trace], cases, places, BY_TREE), BY_TREE, counts="cases")


def _packets(trace: str, cases: int, lengths: Sequence[float], seeds: int) -> Experiment:
    fill = packets.fill(trace, cases, lengths, seeds)
    return Experiment(f"packets_{trace}", fill, {"wired": {}, **packets.FLYWAYS}, seeds, counts="runs")


def _measured(cases: int, lengths: Sequence[float], seeds: int) -> Experiment:
    fill = packets.fill("fb2010", cases, lengths, seeds, packets.MEASURED)
    return Experiment("measured", fill, {"wired": {}, **packets.MEASURED}, seeds, counts="runs")


def experiments(quick: bool) -> dict[str, Experiment]:
    """The experiments by name."""
    of = {trace: counts[quick] for trace, counts in CASES.items()}
    seeds = 2 if quick else 10
    every = [
        Experiment("antennas", radio.gains, ANTENNAS),
        Experiment("links", radio.ranges, ANTENNAS),
        *(_antennas(trace, cases) for trace, cases in of.items()),
        *(_policies(trace, cases) for trace, cases in of.items()),
        *(_tree(trace, cases) for trace, cases in of.items() if trace != "pods"),
        *(Experiment(f"table2_{name}", table2.fill(mac, 500, seeds), table2.COLUMNS, seeds) for name, mac in table2.MACS.items()),
        *(_packets(trace, *(given[quick])) for trace, given in PACKETS.items()),
        _measured(*MEASURED[quick]),
        Experiment("two_way", table2.fill_two_way(100 if quick else 500, seeds), table2.TWO_WAY, seeds),
        Experiment("phases", phases.run(60 if quick else 500), phases.POINTING, counts="cases"),
    ]
    return {e.name: e for e in every}
