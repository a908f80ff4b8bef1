"""The planning algorithms alone, without a network: colourings, matchings, rates, circuits and flyways, from and to numpy arrays.

>>> rng = np.random.default_rng(1)
>>> slot = tp.algorithms.greedy(120, rng.integers(0, 120, (500, 2)))
>>> edges = slot[:, 1:] // 30  # from leaf to leaf
>>> colours, number = tp.algorithms.colour(4, 4, edges)

They are what controllers use, so they can be checked, compared and drawn by themselves. Everything is deterministic.
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
    "colour",
    "colour_one_by_one",
    "colour_within",
    "flyway_phases",
    "flyway_policies",
    "flyways",
    "greedy",
    "link_rate",
    "max_min",
    "max_min_matrix",
    "proportional",
    "scale_both",
    "scale_down",
]


def colour(left: int, right: int, edges: ArrayLike) -> tuple[NDArray[np.uint16], int]:
    """Colours the edges of a bipartite multigraph, so that no vertex has two of one colour, with the fewest colours.

    ``edges`` has a row (left vertex, right vertex) for each edge. Returns the colour of each and how many there are: the
    largest degree (Koenig). Vertices are leaves and edges the transmissions of a slot; colours are then spines, or unit links to them.
    """
    return _core.colour(left, right, _pairs(edges))


def colour_within(left: int, right: int, edges: ArrayLike, colours: int) -> NDArray[np.uint16]:
    """Spreads edges evenly over ``colours``, a power of two: of d edges at a vertex, each colour has d / ``colours``, rounded up
    or down. This is how Fastpass chooses among paths of equal rate."""
    return _core.colour_within(left, right, _pairs(edges), colours)


def colour_one_by_one(
    left: int, right: int, edges: ArrayLike, colours: int
) -> tuple[NDArray[np.int32], NDArray[np.uintp]]:
    """Colours edges in their order, as circuits arrive (Paull, 1962).

    Returns the colours that they have at last (-1 where all were in use at an end), and how many earlier edges each
    one moved: fewer than there are vertices on the smaller side.
    """
    return _core.colour_one_by_one(left, right, _pairs(edges), colours)


def greedy(nodes: int, pairs: ArrayLike, wanted: ArrayLike = 1, *, slots: int = 1) -> NDArray[np.int64]:
    """Maximal matchings of ``slots`` slots (64 at most): each pair in turn gets the first slots that are free at both ends.

    ``pairs`` has a row (source, destination) for each, the most important first; ``wanted`` says how many slots, one number or
    one for each pair. Returns rows (slot, source, destination).
    """
    pairs = _pairs(pairs)
    return _core.greedy(nodes, pairs, _each(wanted, len(pairs), np.uint32), slots)


def allocate(
    nodes: int, pairs: ArrayLike, wanted: ArrayLike, *, slots: int = 64, batches: int = 1
) -> NDArray[np.int64]:
    """Timeslots as Fastpass's arbiter allocates them: maximal matchings, least recently served pairs first.

    ``pairs`` and ``wanted`` are as for :func:`greedy`; a pair that comes again wants more. A batch is ``slots`` slots (64 at most).
    Returns rows (slot, source, destination), slots numbered through all batches.
    """
    pairs = _pairs(pairs)
    return _core.allocate(nodes, pairs, _each(wanted, len(pairs), np.uint32), slots, batches)


class Scaled(NamedTuple):
    """A matrix of rates, and how good it is."""

    #: ``rates[i, j]`` from host ``i`` to host ``j``.
    rates: NDArray[np.float64]
    #: What no matrix of rates of the same pairs exceeds in total.
    bound: float
    #: Rounds of row and column scaling that it took.
    rounds: int


def scale_both(
    offered: ArrayLike,
    send: ArrayLike = 1.0,
    receive: ArrayLike = 1.0,
    *,
    tolerance: float = 1e-3,
    rounds: int = 1000,
) -> Scaled:
    """Rates by scaling rows and columns up and down in turn (Sinkhorn), towards the highest total; at last down only.

    ``offered[i, j]`` is what host ``i`` offers to host ``j``, not negative; only its proportions count. ``send`` and ``receive`` are the
    hosts' capacities, one number or one for each. Row and column sums of the result do not exceed them. Rounds end when the total
    is within ``tolerance`` (relative) of a bound, or after ``rounds``.
    """
    return Scaled(*_core.scale_both(*_matrix(offered, send, receive), tolerance, rounds))


def scale_down(offered: ArrayLike, send: ArrayLike = 1.0, receive: ArrayLike = 1.0) -> NDArray[np.float64]:
    """Rates by scaling rows down where they exceed what a host sends, then columns where they exceed what one receives."""
    return _core.scale_down(*_matrix(offered, send, receive))


def max_min(
    capacity: ArrayLike, paths: Iterable[Sequence[int]], *, weight: ArrayLike = 1.0, demand: ArrayLike = np.inf
) -> NDArray[np.float64]:
    """Weighted max-min fair rates of flows over links: none can have more without taking from one that has no more (per weight).

    ``capacity`` is each link's; ``paths`` has each flow's links, by number. ``weight`` and ``demand`` (the most a flow can use) are
    one number or one for each flow.
    """
    return _core.max_min(*_flows(capacity, paths, weight, demand))


def max_min_matrix(demand: ArrayLike, send: ArrayLike = 1.0, receive: ArrayLike = 1.0) -> NDArray[np.float64]:
    """Max-min fair rates of pairs of hosts, bounded by the hosts' capacities and by ``demand[i, j]``, which may be infinite."""
    demand = np.asarray(demand, dtype=np.float64)
    n = len(demand)
    if demand.shape != (n, n):
        raise ValueError(f"a matrix of shape {demand.shape}: as many rows as columns")
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
    """Weighted proportionally fair rates (the highest sum of weight times log of rate) by prices of links, as Flowtune's.

    Arguments are as for :func:`max_min`; capacities are positive. Returns the rates, none of which exceeds a link however few the
    iterations, and by how much links were off before that was made so, as a share of their capacity: 0 at the optimum.
    """
    return _core.proportional(*_flows(capacity, paths, weight, demand), iterations)


class CircuitSchedule(NamedTuple):
    """What a circuit switch does, configuration by configuration. Times are in seconds."""

    #: ``matchings[k, i]`` is the host that host ``i`` is joined to in configuration ``k``, or -1.
    matchings: NDArray[np.int64]
    #: How long the switch is dark before each, or those of its ports that have moved.
    dark: NDArray[np.float64]
    #: How long each is open after that.
    open: NDArray[np.float64]
    #: When the last byte is through, with the packet switch at work beside it; ``None`` if it never is.
    finish: float | None
    #: No schedule finishes earlier: the longest row or column sum over both rates together.
    bound: float
    #: The share of bytes that circuits carry.
    share: float


def circuit_schedule(
    demand: ArrayLike,
    algorithm: str = "solstice",
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
    """Plans a circuit switch, with a packet switch beside it that carries what circuits leave.

    ``demand[i, j]`` is the wire bytes that host ``i`` has for host ``j``; parts of bytes are rounded up. :func:`circuit_schedulers` has the
    names of algorithms. ``circuit`` and ``packet`` are the rates of a port, ``dark`` is how long ports carry nothing when they are joined
    anew, all of them or, with ``moved_only``, those with another partner. A configuration is open for ``least_open`` or longer. All of them
    fit into ``window``, and are ``most`` or fewer; without a window the schedule goes on until the packet switch can have carried the
    rest. ``standing`` is the matching that is up at the begin, as a row of :attr:`CircuitSchedule.matchings`. ``day`` is the length of
    a configuration of ``max_weight``, ``granularity`` the lambda of ``adjust``.

    Rates and times are text with a unit (``"100 Gb/s"``, ``"20 us"``), or numbers of bits per second and of seconds.
    """
    demand = np.asarray(demand, dtype=np.float64)
    if demand.ndim != 2 or demand.shape[0] != demand.shape[1]:
        raise ValueError(f"a demand of shape {demand.shape}: as many rows as columns")
    if not (np.isfinite(demand).all() and (demand >= 0).all() and (demand <= 2**53).all()):
        raise ValueError("a demand has bytes from 0 to 2^53")
    if standing is not None:
        standing = np.ascontiguousarray(standing)
        if standing.ndim != 1 or not np.issubdtype(standing.dtype, np.integer):
            raise ValueError("a matching is a host or -1 for each host")
        standing = standing.astype(np.int64)
    if not 0 <= most < 1 << 32:
        raise ValueError(f"at most {most} configurations: from 1 to 2^32 - 1")
    bytes_ = np.ascontiguousarray(np.ceil(demand).astype(np.uint64))
    rest = (least_open, window, most, moved_only, standing, day, granularity)
    return CircuitSchedule(*_core.circuit_schedule(bytes_, algorithm, circuit, packet, dark, *rest))


def circuit_schedulers() -> list[str]:
    """Names of the circuit schedulers."""
    return _core.circuit_schedulers()


class FlywayPlan(NamedTuple):
    """Links between racks, and what goes over them. Times are in seconds."""

    #: Rows (a, b, channel). Channels of circuits begin at 65536.
    links: NDArray[np.int64]
    #: Bits per second of each.
    rates: NDArray[np.float64]
    #: How long each is set up before it carries.
    setup: NDArray[np.float64]
    #: Rows (from, to, link): traffic between two racks that takes a link, by the link's row.
    routes: NDArray[np.int64]
    #: What share of the pair's traffic each route takes.
    shares: NDArray[np.float64]
    #: Completion time of demands.
    ctd: float
    #: By wire alone.
    wired: float
    #: Without oversubscription: the racks' hosts alone.
    unsubscribed: float

    @property
    def relative(self) -> float:
        """Completion time over that without oversubscription; 1 where there is no demand."""
        return self.ctd / self.unsubscribed if self.unsubscribed else 1.0


class FlywayPhase(NamedTuple):
    """A phase of :func:`flyway_phases`."""

    plan: FlywayPlan
    #: Links between racks that had one in the phase before.
    kept: int
    #: Others.
    begun: int
    #: Links of the phase before whose racks have none now.
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
    """Links between racks that relieve an oversubscribed tree, and what share of the traffic takes them: 60 GHz flyways (Halperin et
    al., SIGCOMM 2011), circuits, or both.

    ``demand[i, j]`` is the bytes that rack ``i`` has for rack ``j``, none on the diagonal; parts of bytes are rounded up. ``layout`` has x
    and y of each rack in metres; without it racks stand as the first ones of the published 160. ``antenna`` is ``narrow_beam``,
    ``wide_beam``, ``geofencing`` or ``isotropic``, or ``None`` for no radios; racks have ``radios`` of them, on ``channels`` channels.
    :func:`flyway_policies` has the policies' names. Under 1:k ``oversubscription`` a rack has 10 k hosts of 1 Gb/s on 10 Gb/s, and with
    ``core`` 4 k racks share 40 Gb/s to the core; without, uplinks alone are oversubscribed. ``circuits`` is how many ports a rack has
    for circuits, and their rate, each way: ``(1, "10 Gb/s")``.

    Links are feasible together by the rules of flyways, at the PHY's rates: protocols take some of it. The two directions of a flyway
    share its rate. Traffic flows as a fluid, and is over when the busiest place has carried its bytes.
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
    """The same phase by phase: ``demands[t]`` is what a phase has to carry.

    A link between racks that had one in the phase before carries at once, any other one after ``setup`` (text with a unit, or seconds):
    :func:`beam_training` where ends search each other, the steering alone where the wires tell them. Links stay where they help; where a
    plan from nothing is faster, that is taken.
    """
    setting = _setting(layout, antenna, radios, channels, policy, oversubscription, core, circuits)
    return [FlywayPhase(_plan(plan), *count) for plan, count in _core.flyway_phases(_bytes(demands, 3), setup, *setting)]


def flyway_policies() -> dict[str, str]:
    """The policies of :func:`flyways`, with a line about each."""
    return dict(_core.flyway_policies())


def beam_training(sectors: int = 36, mac: str = "11ad-2012") -> float:
    """Seconds that two radios take to find each other over the air: sector sweeps of both and feedback, as IEEE 802.11ad does it."""
    return _core.beam_training(sectors, mac)


def antenna_gain(antenna: str, degrees: ArrayLike) -> NDArray[np.float64]:
    """Gain in dBi of an antenna by degrees off its axis, in the horizontal plane."""
    return _core.antenna_gain(antenna, np.ascontiguousarray(degrees, dtype=np.float64))


def link_rate(antenna: str, metres: ArrayLike) -> NDArray[np.float64]:
    """OFDM rates in bit/s over distances, by the link budget of flyways: 10 mW, 3 dB of margin, antennas pointed at each other, and
    nobody else who sends; 0 beyond the range."""
    return _core.link_rate(antenna, np.ascontiguousarray(metres, dtype=np.float64))


def _setting(layout: ArrayLike | None, *rest: Any) -> tuple[Any, ...]:
    return (None if layout is None else np.ascontiguousarray(layout, dtype=np.float64), *rest)


def _plan(found: tuple[Any, ...]) -> FlywayPlan:
    return FlywayPlan(*found[:5], *found[5])


def _bytes(demand: ArrayLike, dimensions: int) -> NDArray[np.uint64]:
    demand = np.asarray(demand, dtype=np.float64)
    if demand.ndim != dimensions:
        raise ValueError(f"a demand of shape {demand.shape}: {dimensions} dimensions are wanted")
    if not (np.isfinite(demand).all() and (demand >= 0).all() and (demand <= 2**53).all()):
        raise ValueError("a demand has bytes from 0 to 2^53")
    return np.ascontiguousarray(np.ceil(demand).astype(np.uint64))


def _pairs(pairs: ArrayLike) -> NDArray[np.uint32]:
    return _unsigned(np.asarray(pairs).reshape(-1, 2) if np.size(pairs) == 0 else np.asarray(pairs))


def _unsigned(values: Any) -> NDArray[np.uint32]:
    values = np.asarray(values)
    if values.size and not np.issubdtype(values.dtype, np.integer):
        raise TypeError(f"whole numbers are wanted, not {values.dtype}")
    if values.size and (values.min() < 0 or values.max() >= 1 << 32):
        raise ValueError("numbers from 0 to 2^32 - 1 are wanted")
    return np.asarray(values, dtype=np.uint32, order="C")


def _each(values: ArrayLike, n: int, kind: type) -> NDArray[Any]:
    """One value for all, or one for each."""
    values = _unsigned(values) if kind is np.uint32 else np.asarray(values, dtype=kind)
    if values.ndim == 0:
        return np.full(n, values, dtype=kind)
    if values.shape != (n,):
        raise ValueError(f"{values.shape} values where {n} are wanted")
    return np.ascontiguousarray(values)


def _matrix(offered: ArrayLike, send: ArrayLike, receive: ArrayLike) -> tuple[Any, Any, Any]:
    offered = np.ascontiguousarray(offered, dtype=np.float64)
    if offered.ndim != 2:
        raise ValueError(f"a matrix is wanted, not {offered.ndim} dimensions")
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
