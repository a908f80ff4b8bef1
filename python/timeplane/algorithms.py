"""The planning algorithms without a network, on numpy arrays: colorings, matchings, rates, circuits
and flyways.

>>> rng = np.random.default_rng(1)
>>> slot = tp.algorithms.greedy(120, rng.integers(0, 120, (500, 2)))
>>> edges = slot[:, 1:] // 30  # from leaf to leaf
>>> colors, number = tp.algorithms.color(4, 4, edges)

Controllers use the same code. All functions are deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from timeplane import _core

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CircuitSchedule",
    "FlywayPhase",
    "FlywayPlan",
    "Scaled",
    "allocate",
    "antenna_gain",
    "beam_training",
    "circuit_schedule",
    "circuit_schedulers",
    "color",
    "color_one_by_one",
    "color_within",
    "flyway_phases",
    "flyway_policies",
    "flyways",
    "greedy",
    "link_rate",
    "max_min",
    "max_min_matrix",
    "proportional",
    "published_layout",
    "rack_rows",
    "scale_both",
    "scale_down",
]


def color(left: int, right: int, edges: ArrayLike) -> tuple[NDArray[np.uint16], int]:
    """Color the edges of a bipartite multigraph with the fewest colors, so that edges at a vertex
    differ.

    ``edges`` has a row (left vertex, right vertex) for each edge. Returns the color of each edge
    and the number of colors, which is the largest degree (Koenig). For a slot, vertices are leaves,
    edges are transmissions, and colors are spines or unit links to them.
    """
    return _core.color(left, right, _pairs(edges))


def color_within(left: int, right: int, edges: ArrayLike, colors: int) -> NDArray[np.uint16]:
    """Distribute edges evenly over ``colors``, a power of two.

    Of d edges at a vertex, each color gets d / ``colors``, rounded up or down. Fastpass chooses
    among paths of equal rate this way.
    """
    return _core.color_within(left, right, _pairs(edges), colors)


def color_one_by_one(
    left: int, right: int, edges: ArrayLike, colors: int
) -> tuple[NDArray[np.int32], NDArray[np.uintp]]:
    """Color edges in their order, as circuits arrive (Paull, 1962).

    Returns the final colors (-1 if an end had no free color), and how many earlier edges each edge
    moved. That number is less than the number of vertices on the smaller side.
    """
    return _core.color_one_by_one(left, right, _pairs(edges), colors)


def greedy(nodes: int, pairs: ArrayLike, wanted: ArrayLike = 1, *, slots: int = 1) -> NDArray[np.int64]:
    """Maximal matchings for ``slots`` slots (at most 64): each pair in turn gets the first slots
    that are free at both ends.

    ``pairs`` has a row (source, destination) for each pair, the most important first. ``wanted`` is
    the number of slots, one for all pairs or one per pair. Returns rows (slot, source,
    destination).
    """
    pairs = _pairs(pairs)
    return _core.greedy(nodes, pairs, _each(wanted, len(pairs), np.uint32), slots)


def allocate(
    nodes: int, pairs: ArrayLike, wanted: ArrayLike, *, slots: int = 64, batches: int = 1
) -> NDArray[np.int64]:
    """Timeslots as Fastpass allocates them: maximal matchings, least recently served pairs first.

    ``pairs`` and ``wanted`` are as for :func:`greedy`; repeated pairs add up. A batch is ``slots``
    slots (at most 64). Returns rows (slot, source, destination), with slots numbered through all
    batches.
    """
    pairs = _pairs(pairs)
    return _core.allocate(nodes, pairs, _each(wanted, len(pairs), np.uint32), slots, batches)


class Scaled(NamedTuple):
    """A matrix of rates and its quality."""

    #: ``rates[i, j]`` from host ``i`` to host ``j``.
    rates: NDArray[np.float64]
    #: Upper bound on the total of any matrix of rates of the same pairs.
    bound: float
    #: Rounds of row and column scaling.
    rounds: int


def scale_both(
    offered: ArrayLike,
    send: ArrayLike = 1.0,
    receive: ArrayLike = 1.0,
    *,
    tolerance: float = 1e-3,
    rounds: int = 1000,
) -> Scaled:
    """Rates by scaling rows and columns up and down in turn (Sinkhorn) towards the highest total;
    the last scaling is down only.

    ``offered[i, j]`` is the nonnegative load that host ``i`` offers to host ``j``; only proportions
    matter. ``send`` and ``receive`` are the hosts' capacities, one number or one per host. Row and
    column sums of the result do not exceed them. Scaling ends when the total is within
    ``tolerance`` (relative) of a bound, or after ``rounds``.
    """
    return Scaled(*_core.scale_both(*_matrix(offered, send, receive), tolerance, rounds))


def scale_down(offered: ArrayLike, send: ArrayLike = 1.0, receive: ArrayLike = 1.0) -> NDArray[np.float64]:
    """Rates by scaling down rows that exceed a sender's capacity, then columns that exceed a
    receiver's.
    """
    return _core.scale_down(*_matrix(offered, send, receive))


def max_min(
    capacity: ArrayLike, paths: Iterable[Sequence[int]], *, weight: ArrayLike = 1.0, demand: ArrayLike = np.inf
) -> NDArray[np.float64]:
    """Weighted max-min fair rates of flows over links: raising one lowers another with at most the
    same rate per weight.

    ``capacity`` is per link; ``paths`` holds each flow's links by number. ``weight`` and ``demand``
    (the highest useful rate) are one number or one per flow.
    """
    return _core.max_min(*_flows(capacity, paths, weight, demand))


def max_min_matrix(demand: ArrayLike, send: ArrayLike = 1.0, receive: ArrayLike = 1.0) -> NDArray[np.float64]:
    """Max-min fair rates of pairs of hosts, bounded by the hosts' capacities and by ``demand[i,
    j]``, which may be infinite.
    """
    demand = np.asarray(demand, dtype=np.float64)
    n = len(demand)
    if demand.shape != (n, n):
        raise ValueError(f"a matrix of shape {demand.shape}: expected as many rows as columns")
    capacity = np.concatenate([_each(send, n, np.float64), _each(receive, n, np.float64)])
    i, j = np.nonzero(demand)
    rates = np.zeros((n, n))
    paths = np.stack([i, n + j], axis=1)
    rates[i, j] = max_min(capacity, paths, demand=demand[i, j])
    return rates


def proportional(
    capacity: ArrayLike,
    paths: Iterable[Sequence[int]],
    *,
    weight: ArrayLike = 1.0,
    demand: ArrayLike = np.inf,
    iterations: int = 200,
) -> tuple[NDArray[np.float64], float]:
    """Weighted proportionally fair rates (the highest sum of weight times log rate) by link prices,
    as in Flowtune.

    Arguments are as for :func:`max_min`; capacities are positive. Returns the rates, which never
    exceed a link, and the largest relative error of a link before the final correction: 0 at the
    optimum.
    """
    return _core.proportional(*_flows(capacity, paths, weight, demand), iterations)


class CircuitSchedule(NamedTuple):
    """Configurations of a circuit switch. Times are in seconds."""

    #: ``matchings[k, i]`` is host ``i``'s partner in configuration ``k``, or -1.
    matchings: NDArray[np.int64]
    #: Dark time before each configuration, of the switch or of its moved ports.
    dark: NDArray[np.float64]
    #: Open time of each configuration after its dark time.
    open: NDArray[np.float64]
    #: Completion of the last byte, with the packet switch alongside; ``None`` if it never
    #: completes.
    finish: float | None
    #: Lower bound on ``finish``: the largest row or column sum over both rates together.
    bound: float
    #: Share of bytes that circuits carry.
    share: float


def circuit_schedule(
    demand: ArrayLike,
    algorithm: str = "solstice_refined",
    *,
    circuit: str | float,
    dark: str | float,
    packet: str | float = 0.0,
    least_open: str | float = 0.0,
    window: str | float | None = None,
    most: int = 2**32 - 1,
    moved_only: bool = False,
    standing: ArrayLike | None = None,
    day: str | float | None = None,
    granularity: int | None = None,
) -> CircuitSchedule:
    """Plan a circuit switch, with a packet switch alongside that carries the rest.

    ``demand[i, j]`` is host ``i``'s backlog for host ``j`` in wire bytes, rounded up to whole
    bytes. :func:`circuit_schedulers` lists the algorithms. ``circuit`` and ``packet`` are the rates
    of a port. ``dark`` is how long reconfigured ports carry nothing: all ports, or with
    ``moved_only`` those with a new partner.

    A configuration is open for at least ``least_open``. There are at most ``most`` configurations,
    and all fit into ``window``. Without a window, the schedule continues until the packet switch
    can carry the rest. ``standing`` is the matching at the start, as a row of
    :attr:`CircuitSchedule.matchings`. ``day`` is the length of a configuration of ``max_weight``
    and ``round_robin``, ``granularity`` the steps of ``adjust`` (its lambda). For ``sunflow``, the
    demand is one coflow.

    Rates and times are text with a unit (``"100 Gb/s"``, ``"20 us"``), or numbers in bit/s and
    seconds.
    """
    demand = np.asarray(demand, dtype=np.float64)
    if demand.ndim != 2 or demand.shape[0] != demand.shape[1]:
        raise ValueError(f"a demand of shape {demand.shape}: expected as many rows as columns")
    if not (np.isfinite(demand).all() and (demand >= 0).all() and (demand <= 2**53).all()):
        raise ValueError("invalid demand: expected bytes from 0 to 2^53")
    if standing is not None:
        standing = np.ascontiguousarray(standing)
        if standing.ndim != 1 or not np.issubdtype(standing.dtype, np.integer):
            raise ValueError("invalid matching: expected a host or -1 for each host")
        standing = standing.astype(np.int64)
    if not 0 <= most < 1 << 32:
        raise ValueError(f"at most {most} configurations: expected 1 to 2^32 - 1")
    bytes_ = np.ascontiguousarray(np.ceil(demand).astype(np.uint64))
    rest = (least_open, window, most, moved_only, standing, day, granularity)
    return CircuitSchedule(*_core.circuit_schedule(bytes_, algorithm, circuit, packet, dark, *rest))


def circuit_schedulers() -> list[str]:
    """Names of the circuit schedulers."""
    return _core.circuit_schedulers()


class FlywayPlan(NamedTuple):
    """Links between racks, and the traffic that they carry. Times are in seconds."""

    #: Rows (a, b, channel). Channels of circuits start at 65536.
    links: NDArray[np.int64]
    #: Bit/s of each link.
    rates: NDArray[np.float64]
    #: Setup time of each link before it carries traffic.
    setup: NDArray[np.float64]
    #: Rows (from, to, link): traffic between two racks over a link, by the link's row.
    routes: NDArray[np.int64]
    #: Share of the pair's traffic on each route.
    shares: NDArray[np.float64]
    #: Completion time of demands.
    ctd: float
    #: Completion time by wire alone.
    wired: float
    #: Completion time without oversubscription, limited by the racks' hosts alone.
    unsubscribed: float

    @property
    def relative(self) -> float:
        """Completion time relative to the network without oversubscription; 1 without demand."""
        return self.ctd / self.unsubscribed if self.unsubscribed else 1.0


class FlywayPhase(NamedTuple):
    """A phase of :func:`flyway_phases`."""

    plan: FlywayPlan
    #: Links between racks that were linked in the previous phase.
    kept: int
    #: New links.
    begun: int
    #: Links of the previous phase between racks that are not linked now.
    ended: int


def flyways(
    demand: ArrayLike,
    *,
    layout: ArrayLike | None = None,
    antenna: str | None = "narrow_beam",
    radios: int = 1,
    channels: int = 3,
    policy: str = "greedy",
    oversubscription: int = 2,
    core: bool = True,
    circuits: tuple[int, str | float] | None = None,
) -> FlywayPlan:
    """Links between racks that relieve an oversubscribed tree, and the share of traffic that each
    carries.

    Links are 60 GHz flyways (Halperin et al., SIGCOMM 2011), circuits, or both. ``demand[i, j]`` is
    rack ``i``'s demand for rack ``j`` in bytes, rounded up, with a zero diagonal. ``layout`` has x
    and y of each rack in meters; by default racks take the first of the published 160 positions.
    ``antenna`` is ``narrow_beam``, ``wide_beam``, ``geofencing`` or ``isotropic``, or ``None`` for
    no radios. Racks have ``radios`` radios on ``channels`` channels. :func:`flyway_policies` lists
    the policies.

    With ``oversubscription`` 1:k, a rack has 10 k hosts of 1 Gb/s on an uplink of 10 Gb/s. With
    ``core``, 4 k racks share 40 Gb/s to the core; otherwise only uplinks are oversubscribed.
    ``circuits`` is the number of circuit ports per rack and their rate in each direction: ``(1, "10
    Gb/s")``.

    Links must be jointly feasible by the flyway rules, at PHY rates without protocol overhead. The
    two directions of a flyway share its rate. Traffic is a fluid, and completes when the busiest
    resource has carried its bytes.
    """
    plan = _core.flyways(_bytes(demand, 2), *_setting(layout, antenna, radios, channels, policy, oversubscription, core, circuits))
    return _plan(plan)


def flyway_phases(
    demands: ArrayLike,
    *,
    setup: str | float,
    layout: ArrayLike | None = None,
    antenna: str | None = "narrow_beam",
    radios: int = 1,
    channels: int = 3,
    policy: str = "greedy",
    oversubscription: int = 2,
    core: bool = True,
    circuits: tuple[int, str | float] | None = None,
) -> list[FlywayPhase]:
    """Plan flyways phase by phase: ``demands[t]`` is the demand of a phase. Other arguments are as
    for :func:`flyways`.

    A link between racks that were linked in the previous phase carries at once, any other after
    ``setup`` (text with a unit, or seconds). Use :func:`beam_training` if the ends search each
    other, and the steering time alone if the wires coordinate them. Links stay if they help, unless
    a plan from nothing is faster.
    """
    setting = _setting(layout, antenna, radios, channels, policy, oversubscription, core, circuits)
    return [FlywayPhase(_plan(plan), *count) for plan, count in _core.flyway_phases(_bytes(demands, 3), setup, *setting)]


def flyway_policies() -> dict[str, str]:
    """The policies of :func:`flyways`, each with a one-line description."""
    return dict(_core.flyway_policies())


def beam_training(sectors: int = 36, mac: str = "11ad-2012") -> float:
    """Seconds that two radios take to find each other over the air: sector sweeps of both and
    feedback (IEEE 802.11ad).
    """
    return _core.beam_training(sectors, mac)


def antenna_gain(antenna: str, degrees: ArrayLike) -> NDArray[np.float64]:
    """Gain in dBi of an antenna by degrees off its axis, in the horizontal plane."""
    return _core.antenna_gain(antenna, np.ascontiguousarray(degrees, dtype=np.float64))


def link_rate(antenna: str, meters: ArrayLike) -> NDArray[np.float64]:
    """OFDM rates in bit/s over distances in meters, 0 beyond the range.

    The link budget is that of flyways: 10 mW, 3 dB of margin, antennas pointed at each other, no
    interference.
    """
    return _core.link_rate(antenna, np.ascontiguousarray(meters, dtype=np.float64))


def published_layout(racks: int) -> NDArray[np.float64]:
    """x and y in meters of the first of the published 160 racks (Halperin et al., SIGCOMM 2011)."""
    return _core.published_layout(racks)


def rack_rows(
    racks: int,
    *,
    row: int = 10,
    spacing_m: float = 0.6096,
    rows: int = 6,
    row_spacing_m: float = 3.048,
    block_spacing_m: float = 9.144,
) -> NDArray[np.float64]:
    """Places of racks in rows for the ``layout`` of :func:`flyways`: x and y of each rack in
    meters.

    ``row`` racks stand side by side, ``spacing_m`` apart. A block has ``rows`` rows, one behind the
    other; the next block stands ``block_spacing_m`` along the rows. The defaults are the distances
    of the published 160 racks (Halperin et al., SIGCOMM 2011), for any number of racks. In a
    scenario, this is ``plan.flyways.rows``.
    """
    return _core.rack_rows(racks, row, spacing_m, rows, row_spacing_m, block_spacing_m)


def _setting(layout: ArrayLike | None, *rest: Any) -> tuple[Any, ...]:
    return (None if layout is None else np.ascontiguousarray(layout, dtype=np.float64), *rest)


def _plan(found: tuple[Any, ...]) -> FlywayPlan:
    return FlywayPlan(*found[:5], *found[5])


def _bytes(demand: ArrayLike, dimensions: int) -> NDArray[np.uint64]:
    demand = np.asarray(demand, dtype=np.float64)
    if demand.ndim != dimensions:
        raise ValueError(f"a demand of shape {demand.shape}: expected {dimensions} dimensions")
    if not (np.isfinite(demand).all() and (demand >= 0).all() and (demand <= 2**53).all()):
        raise ValueError("invalid demand: expected bytes from 0 to 2^53")
    return np.ascontiguousarray(np.ceil(demand).astype(np.uint64))


def _pairs(pairs: ArrayLike) -> NDArray[np.uint32]:
    return _unsigned(np.asarray(pairs).reshape(-1, 2) if np.size(pairs) == 0 else np.asarray(pairs))


def _unsigned(values: Any) -> NDArray[np.uint32]:
    values = np.asarray(values)
    if values.size and not np.issubdtype(values.dtype, np.integer):
        raise TypeError(f"values of type {values.dtype}: expected whole numbers")
    if values.size and (values.min() < 0 or values.max() >= 1 << 32):
        raise ValueError("number out of range: expected 0 to 2^32 - 1")
    return np.asarray(values, dtype=np.uint32, order="C")


def _each(values: ArrayLike, n: int, kind: type) -> NDArray[Any]:
    """One value for all, or one per item."""
    values = _unsigned(values) if kind is np.uint32 else np.asarray(values, dtype=kind)
    if values.ndim == 0:
        return np.full(n, values, dtype=kind)
    if values.shape != (n,):
        raise ValueError(f"values of shape {values.shape}: expected {n}")
    return np.ascontiguousarray(values)


def _matrix(offered: ArrayLike, send: ArrayLike, receive: ArrayLike) -> tuple[Any, Any, Any]:
    offered = np.ascontiguousarray(offered, dtype=np.float64)
    if offered.ndim != 2:
        raise ValueError(f"{offered.ndim} dimensions: expected a matrix")
    n = len(offered)
    return offered, _each(send, n, np.float64), _each(receive, n, np.float64)


def _flows(
    capacity: ArrayLike, paths: Iterable[Sequence[int]], weight: ArrayLike, demand: ArrayLike
) -> tuple[Any, Any, Any, Any, Any]:
    lists = [_unsigned(path) for path in paths]
    hops = np.array([len(path) for path in lists], dtype=np.uint32)
    links = np.concatenate(lists) if lists else np.zeros(0, dtype=np.uint32)
    n = len(lists)
    capacity = np.ascontiguousarray(capacity, dtype=np.float64)
    return capacity, links, hops, _each(weight, n, np.float64), _each(demand, n, np.float64)
