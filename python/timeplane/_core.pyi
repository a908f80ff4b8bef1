"""The compiled part of timeplane."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas
import polars
import pyarrow

from timeplane._errors import Issue

__version__: str

_Planned: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[float, float, float]]

def main(arguments: Sequence[str]) -> int: ...
def printable_line(text: str) -> str: ...
def schedulers() -> list[tuple[str, list[str]]]: ...
def schema() -> str: ...
def t_quantile(p: float, freedom: int) -> float: ...
def interval(values: Sequence[float], level: float) -> tuple[float, float | None] | None: ...
def equivalence(values: Sequence[float], baseline: Sequence[float], margin: float) -> float | None: ...
def color(left: int, right: int, edges: np.ndarray) -> tuple[np.ndarray, int]: ...
def color_within(left: int, right: int, edges: np.ndarray, colors: int) -> np.ndarray: ...
def color_one_by_one(left: int, right: int, edges: np.ndarray, colors: int) -> tuple[np.ndarray, np.ndarray]: ...
def greedy(nodes: int, pairs: np.ndarray, wanted: np.ndarray, slots: int) -> np.ndarray: ...
def allocate(nodes: int, pairs: np.ndarray, wanted: np.ndarray, slots: int, batches: int) -> np.ndarray: ...
def scale_both(
    offered: np.ndarray, send: np.ndarray, receive: np.ndarray, tolerance: float, rounds: int
) -> tuple[np.ndarray, float, int]: ...
def scale_down(offered: np.ndarray, send: np.ndarray, receive: np.ndarray) -> np.ndarray: ...
def max_min(
    capacity: np.ndarray, links: np.ndarray, hops: np.ndarray, weight: np.ndarray, demand: np.ndarray
) -> np.ndarray: ...
def proportional(
    capacity: np.ndarray, links: np.ndarray, hops: np.ndarray, weight: np.ndarray, demand: np.ndarray, iterations: int
) -> tuple[np.ndarray, float]: ...
def circuit_schedule(
    demand: np.ndarray,
    algorithm: str,
    circuit: str | float,
    packet: str | float,
    dark: str | float,
    least_open: str | float,
    window: str | float | None,
    most: int,
    moved: bool,
    standing: np.ndarray | None,
    day: str | float | None,
    granularity: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float | None, float, float]: ...
def circuit_schedulers() -> list[str]: ...
def flyways(
    demand: np.ndarray,
    positions: np.ndarray | None,
    antenna: str | None,
    radios: int,
    channels: int,
    policy: str,
    oversubscription: int,
    core: bool,
    circuits: tuple[int, str | float] | None,
) -> _Planned: ...
def flyway_phases(
    demands: np.ndarray,
    setup: str | float,
    positions: np.ndarray | None,
    antenna: str | None,
    radios: int,
    channels: int,
    policy: str,
    oversubscription: int,
    core: bool,
    circuits: tuple[int, str | float] | None,
) -> list[tuple[_Planned, tuple[int, int, int]]]: ...
def flyway_policies() -> list[tuple[str, str]]: ...
def beam_training(sectors: int, mac: str) -> float: ...
def antenna_gain(name: str, degrees: np.ndarray) -> np.ndarray: ...
def link_rate(name: str, meters: np.ndarray) -> np.ndarray: ...
def published_layout(racks: int) -> np.ndarray: ...
def rack_rows(
    racks: int, row: int, spacing_m: float, rows: int, row_spacing_m: float, block_spacing_m: float
) -> np.ndarray: ...
def run(
    loaded: Loaded,
    jobs: int,
    root: str,
    progress: Callable[[float, int, int, int, int], object] | None,
    registered: Mapping[str, Mapping[str, Any]],
    keep: object | None,
    until: str | None = None,
) -> tuple[Results, Comparison]: ...
def split_override(text: str) -> tuple[str, list[str]]: ...
def run_elsewhere(
    text: str,
    base: str | os.PathLike[str],
    scheme: str,
    values: Sequence[tuple[str, str]],
    seed: int,
    key: str,
    root: str,
) -> list[tuple[str, bytes]]: ...

class Sweep:
    """All runs of a scenario and the folder that keeps them."""

    def __init__(self, loaded: Loaded, root: str, until: str | None) -> None: ...
    @property
    def total(self) -> int: ...
    @property
    def cached(self) -> int: ...
    def wave(self, at_once: int) -> int: ...
    def next_batch(self, now: float, workers: int) -> list[int]: ...
    def end_batch(self, batch: Sequence[tuple[int, float]], now: float) -> None: ...
    def left(self, now: float, workers: int) -> float | None: ...
    def task(self, run: int) -> tuple[str, Path, str, list[tuple[str, str]], int, str]: ...
    def adopt(self, runs: Sequence[tuple[int, Sequence[tuple[str, bytes]]]]) -> None: ...
    def close(self) -> None: ...
    def conclude(self, over: bool, keep: object | None) -> tuple[Results, Comparison]: ...

class Loaded:
    """A scenario that was read, with the places of its values."""

    @staticmethod
    def from_file(path: str, overrides: Sequence[tuple[str, Sequence[str]]] = ...) -> Loaded: ...
    @staticmethod
    def from_json(text: str, base: str, overrides: Sequence[tuple[str, Sequence[str]]] = ...) -> Loaded: ...
    @property
    def name(self) -> str: ...
    @property
    def base(self) -> Path: ...
    def to_json(self) -> str: ...
    def own_algorithms(self) -> list[tuple[str, str, str, str, str]]: ...
    def validate(self, registered: Mapping[str, Mapping[str, Any]]) -> list[Issue]: ...

class Results:
    """The complete runs of a folder of results."""

    @staticmethod
    def open(directory: str, keep: object | None = None) -> Results: ...
    @property
    def directory(self) -> Path: ...
    @property
    def name(self) -> str: ...
    @property
    def planned(self) -> int: ...
    def manifest(self) -> str: ...
    def runs(self) -> list[tuple[str, str, dict[str, str], int]]: ...
    def table(self, name: str, run: int | None = None) -> Table: ...
    def summary(self) -> Table: ...
    def compare(self, baseline: str | None = None, metrics: Sequence[str] = ...) -> Comparison: ...

class Comparison:
    """Schemes side by side."""

    def text(self, width: int) -> str: ...
    def json(self) -> str: ...
    def csv(self) -> str: ...
    def labels(self) -> dict[str, str]: ...

class SlotParameters:
    """What the scenario says about slots: given to a scheduler that is a class when it is made."""

    @property
    def slot(self) -> float:
        """How long the gates of a slot are open, in seconds."""
    @property
    def guard(self) -> float:
        """From a slot's end to the next one's begin, in seconds."""
    @property
    def round_slots(self) -> int:
        """The most slots of a round."""
    @property
    def frame_bytes(self) -> int:
        """The largest frame, in wire bytes: who may not cut a frame has no use for a grant of less."""

class CircuitParameters:
    """Properties of both switches and limits of a plan: given to a circuit scheduler that is a class."""

    @property
    def circuit(self) -> int:
        """Rate of a circuit in bit/s."""
    @property
    def packet(self) -> int:
        """Rate of a host through the packet switch in bit/s; 0 if there is none."""
    @property
    def dark(self) -> float:
        """Dark time of a reconfiguration in seconds."""
    @property
    def moved_only(self) -> bool:
        """Whether only the moved ports go dark, not all."""
    @property
    def least_open(self) -> float:
        """Minimum open time in seconds."""
    @property
    def window(self) -> float:
        """Upper limit on the sum of all dark and open times of a plan, in seconds."""
    @property
    def most(self) -> int | None:
        """Maximum number of configurations in a plan."""

class RoutingParameters:
    """Rotor switches of the scenario: given to a routing that is a class."""

    @property
    def slice(self) -> float:
        """Time from the start of a slice to the start of the next, in seconds."""
    @property
    def rate(self) -> int:
        """Rate of a circuit in bit/s."""

class TimeslotParameters:
    """Timeslots of the scenario: given to an order of timeslots that is a class."""

    @property
    def slot(self) -> float:
        """Time from the start of a slot to the start of the next, in seconds."""
    @property
    def slot_bytes(self) -> int:
        """Wire bytes that fit into a slot."""
    @property
    def batch(self) -> int:
        """Number of slots that are allocated together."""

class WaitingPairs:
    """The pairs that wait for a timeslot, as arrays of int64, sorted by source, destination, class."""

    def __len__(self) -> int: ...
    @property
    def start_ps(self) -> int:
        """Start of the timeslot."""
    @property
    def source(self) -> np.ndarray:
        """Sending host."""
    @property
    def destination(self) -> np.ndarray:
        """Receiving host."""
    @property
    def traffic_class(self) -> np.ndarray:
        """Traffic class; lower ones go first, whatever the keys."""
    @property
    def arrived_ps(self) -> np.ndarray:
        """Arrival of the first packet."""
    @property
    def first_since_ps(self) -> np.ndarray:
        """Time since which the first packet is first: its arrival, or the pair's last timeslot."""
    @property
    def flow_bytes(self) -> np.ndarray:
        """Wire bytes that are left of the pair's first flow."""
    @property
    def bytes(self) -> np.ndarray:
        """Wire bytes of all flows of the pair."""
    @property
    def packets(self) -> np.ndarray:
        """Packets of all flows of the pair."""

class RateParameters:
    """Hosts and links of the fabric: given to a normalizer of rates that is a class."""

    @property
    def hosts(self) -> int:
        """Number of hosts."""
    @property
    def capacity(self) -> np.ndarray:
        """Capacity of each link, as a multiple of a host's link."""

class RateFlows:
    """The pairs that request a rate."""

    def __len__(self) -> int: ...
    @property
    def source(self) -> np.ndarray:
        """Sending host of each flow."""
    @property
    def destination(self) -> np.ndarray:
        """Receiving host of each flow."""
    @property
    def demand(self) -> np.ndarray:
        """Requested rate of each flow, as a share of a host's link."""
    @property
    def links(self) -> np.ndarray:
        """The links of each flow, in rows filled up with -1."""

class FlywayParameters:
    """The wired network between racks: given to a policy of flyways that is a class."""

    @property
    def racks(self) -> int:
        """Number of racks."""
    @property
    def hosts(self) -> int:
        """Rate in bit/s at which all hosts of a rack together send, and receive."""
    @property
    def uplink(self) -> int:
        """Rate in bit/s from a rack to other racks, and back."""

class BusyWire:
    """A busy wire between a rack and the others, and the links that may relieve it."""

    @property
    def rack(self) -> int:
        """The rack of the wire."""
    @property
    def is_uplink(self) -> bool:
        """Whether the wire carries what the rack sends; otherwise what it receives."""
    @property
    def rates(self) -> np.ndarray:
        """Bit/s of the link that the rack could get to each other rack now; 0 where there is none."""
    @property
    def traffic(self) -> np.ndarray:
        """Bytes between racks, by sender and receiver, that use wires only."""
    @property
    def up_seconds(self) -> np.ndarray:
        """Seconds that the wire from each rack takes for its traffic."""
    @property
    def down_seconds(self) -> np.ndarray:
        """Seconds that the wire to each rack takes for its traffic."""

class Table:
    """A table of results, as columns.

    polars, pandas, pyarrow and DuckDB take it as it is (``polars.DataFrame(table)``); nothing is read before it is asked for.
    Times are picoseconds; the unit of every other column is in its name.
    """

    @property
    def name(self) -> str:
        """Its name: ``flows``, ``coflows``, ..."""
    @property
    def columns(self) -> list[str]:
        """Names of its columns, with their units."""
    @property
    def descriptions(self) -> dict[str, str]:
        """What every column means, by name; empty for columns that name the run."""
    def __len__(self) -> int: ...
    def __getitem__(self, column: str) -> np.ndarray:
        """One column: integers, booleans, floats (``nan`` where a value is missing) or texts as objects."""
    def _repr_html_(self) -> str: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def to_polars(self) -> polars.DataFrame:
        """As a polars data frame."""
    def to_pyarrow(self) -> pyarrow.Table:
        """As a pyarrow table."""
    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas data frame; pyarrow does it."""
