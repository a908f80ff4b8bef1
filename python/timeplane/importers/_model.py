"""What all importers make: flows, a network, and the list of what is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from timeplane.importers._text import LATEST_PS, Place


class Flow(NamedTuple):
    """One flow between two hosts."""

    #: Hosts, counted from 0.
    source: int
    destination: int
    #: Application bytes, 1 to 1e15.
    size_bytes: int
    #: Time of arrival. With `after`, the wait after the last of these flows.
    start_ps: int
    #: Number of the group that it belongs to.
    coflow: int | None = None
    #: Positions of the flows that it waits for.
    after: tuple[int, ...] = ()


class Wire(NamedTuple):
    """One cable between two nodes, with the same rate and delay in both directions."""

    #: Nodes: hosts are 0 to `hosts` - 1, switches follow.
    nodes: tuple[int, int]
    rate_bps: int
    propagation_ps: int


@dataclass
class Network:
    """Hosts, switches and wires; each host has one wire."""

    hosts: int
    switches: int
    wires: Sequence[Wire]
    #: Latency of all switches.
    switch_latency_ps: int = 0
    #: Limit of each output queue, if all switches have the same.
    buffer_bytes: int | None = None


@dataclass
class Imported:
    """A workload and its network, read from files of another simulator."""

    #: Name of the simulator.
    simulator: str
    network: Network
    #: In the order of the file.
    flows: Sequence[Flow]
    #: What the files have and the scenario does not, with how often.
    lost: Sequence[str] = ()
    #: What the scenario has and the files do not.
    assumed: Sequence[str] = ()
    #: Names of the hosts in the files, if they are not the numbers of the hosts.
    names: Sequence[str] | None = None

    @property
    def bytes(self) -> int:
        """Bytes of all flows."""
        return sum(flow.size_bytes for flow in self.flows)


class Losses:
    """Counts what cannot be carried over; each kind becomes one line."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    def add(self, what: str, values: Iterable[object] | int = 1) -> None:
        """Count elements, or elements with a value each, which the line then shows."""
        shown = [""] * values if isinstance(values, int) else [str(value) for value in values]
        self._found.setdefault(what, []).extend(shown)

    def lines(self) -> list[str]:
        """Return `what: count (values)` for each kind, in the order in which they were met."""
        return [f"{what}: {len(values):,}{_kinds(values)}" for what, values in self._found.items() if values]


def _kinds(values: Sequence[str]) -> str:
    """Describe values: ` (all 3)`, or ` (3 in 10, 1 in 2)` and how many others there are."""
    counts = Counter(values).most_common()
    if not values[0]:
        return ""
    if len(counts) == 1:
        return f" ({'all ' if len(values) > 1 else ''}{values[0]})"
    if len(counts) == len(values) and len(counts) <= 4:
        return f" ({', '.join(values)})"
    more = f", and {len(counts) - 4} more" if len(counts) > 4 else ""
    return f" ({', '.join(f'{value} in {count:,}' for value, count in counts[:4])}{more})"


def picoseconds(place: Place, value: Fraction, what: str, losses: Losses) -> int:
    """Round a time to whole picoseconds, and count it if that changes it."""
    if value.denominator != 1:
        losses.add("starts with a fraction of a picosecond, which are rounded")
    rounded = round(value)
    if rounded > LATEST_PS:
        raise place.error(f"{what} is {float(value / 10**12):.6g} s", "at most 53 days (4.6e18 ps)")
    return rounded


def one_switch(hosts: int, rate_bps: int) -> Network:
    """All hosts under one switch, 1 us away."""
    return Network(hosts, 1, [Wire((host, hosts), rate_bps, 10**6) for host in range(hosts)])
