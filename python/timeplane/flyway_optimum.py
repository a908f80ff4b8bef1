"""The best that flyways can do: an integer program over links, channels, rates and shares.

The controller of :func:`timeplane.algorithms.flyways` adds one link at a time. This module says how
far from the best its plan is. It shares no code with the controller, and it needs scipy, whose
solver is HiGHS. Networks of up to six racks take seconds, and of eight minutes; then the result
comes with a bound.

A link may have any rate that its SINR allows. Instead of the completion time T, its inverse is made
large: with what flows per second as unknowns, links' capacities times T become linear.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import algorithms

#: OFDM rates in bit/s, and the sensitivity of each in dBm (IEEE 802.11ad, 21.3.3.7).
OFDM = (
    (693.0e6, -66), (866.25e6, -64), (1386.0e6, -63), (1732.5e6, -62), (2079.0e6, -60), (2772.0e6, -58),
    (3465.0e6, -56), (4158.0e6, -54), (4504.5e6, -53), (5197.5e6, -51), (6237.0e6, -49), (6756.75e6, -47),
)  # fmt: skip
#: The link budget of flyways (Halperin et al., SIGCOMM 2011): noise, margin, power, and the lowest
#: of the carriers.
NOISE_DBM, MARGIN_DB, POWER_DBM, CARRIER_HZ = -81.0, 3.0, 10.0, 59.4e9
#: Bit/s of a rack's uplink, a host's link, and what 4 k racks share to the core.
UPLINK, HOST, CORE = 10e9, 1e9, 40e9

#: Two racks, the lower first.
Pair = tuple[int, int]
#: Two racks, a channel, bit/s.
Link = tuple[int, int, int, float]
#: Columns of a program and their factors; no column is a constant.
Terms = list[tuple[int, float]]


class FlywayOptimum(NamedTuple):
    """The best links found, and how much better others could be. Times are in seconds."""

    #: Completion time of demands with the links.
    ctd: float
    #: No links have a shorter completion time than this. It is ``ctd`` but for the solver's gap of
    #: 1e-4, unless the solver ran out of time.
    bound: float
    #: Rows (a, b, channel).
    links: NDArray[np.int64]
    #: Bit/s of each link.
    rates: NDArray[np.float64]


def _ratio(db: float) -> float:
    return float(10 ** (db / 10))


class Network:
    """Racks with radios on an oversubscribed tree, and what they have to carry.

    Arguments are those of :func:`timeplane.algorithms.flyways`.
    """

    def __init__(
        self,
        demand: ArrayLike,
        *,
        layout: ArrayLike | None = None,
        antenna: str = "narrow_beam",
        radios: int = 1,
        channels: int = 3,
        oversubscription: int = 2,
        core: bool = True,
    ) -> None:
        self.demand = np.ceil(np.asarray(demand, dtype=np.float64))
        if self.demand.ndim != 2 or len(self.demand) != self.demand.shape[1]:
            raise ValueError(f"a demand of shape {self.demand.shape}: expected as many rows as columns")
        if not (np.isfinite(self.demand).all() and (self.demand >= 0).all()):
            raise ValueError("invalid demand: expected bytes from 0")
        if self.demand.diagonal().any():
            raise ValueError("invalid demand: expected none of a rack for itself")
        for what, found in (("radios", radios), ("channels", channels), ("oversubscription", oversubscription)):
            if found < 1:
                raise ValueError(f"{what} = {found}: expected at least 1")
        self.racks = len(self.demand)
        self.layout = algorithms.published_layout(self.racks) if layout is None else np.asarray(layout, dtype=np.float64)
        if self.layout.shape != (self.racks, 2):
            raise ValueError(f"a layout of shape {self.layout.shape}: expected x and y of {self.racks} racks")
        self.antenna, self.radios, self.channels = antenna, radios, channels
        self.oversubscription, self.core = oversubscription, core
        self._powers: dict[tuple[int, int, int, int], float] = {}

    @property
    def pairs(self) -> list[Pair]:
        return list(itertools.combinations(range(self.racks), 2))

    def power(self, sender: int, aim: int, receiver: int, listens: int) -> float:
        """What a receiver hears of a sender, both pointed at some rack; 1 is the noise."""
        key = (sender, aim, receiver, listens)
        if key not in self._powers:
            place = self.layout
            bearing = lambda a, b: math.degrees(math.atan2(*(place[b] - place[a])[::-1]))
            distance = float(np.hypot(*(place[receiver] - place[sender])))
            path = 20 * math.log10(4 * math.pi * max(distance * CARRIER_HZ / 299_792_458.0, 1.0))
            off = [bearing(sender, receiver) - bearing(sender, aim), bearing(receiver, sender) - bearing(receiver, listens)]
            gain = float(algorithms.antenna_gain(self.antenna, off).sum())
            self._powers[key] = _ratio(POWER_DBM + gain - path - NOISE_DBM)
        return self._powers[key]

    def heard(self, other: Pair, at: int, to: int) -> float:
        """What both ends of a link send to a rack that listens to another."""
        c, d = other
        if at in other:
            return math.inf
        return self.power(c, d, at, to) + self.power(d, c, at, to)

    def room(self, pair: Pair, sensitivity: float) -> float:
        """Interference that a rate of a link bears, by the signal less its margin; negative where
        noise is too much.
        """
        a, b = pair
        return self.power(a, b, b, a) / _ratio(MARGIN_DB) / _ratio(sensitivity - NOISE_DBM) - 1

    def infeasible(self, links: Sequence[Link]) -> list[Link | int]:
        """Links whose SINR does not do, and racks without so many radios."""
        sensitivity = dict(OFDM)
        wrong: list[Link | int] = []
        for i, (a, b, channel, rate) in enumerate(links):
            others = [o for j, o in enumerate(links) if j != i and o[2] == channel]
            heard = max(sum(self.heard(o[:2], at, to) for o in others) for at, to in ((a, b), (b, a)))
            if heard > self.room((a, b), sensitivity[rate]) * (1 + 1e-9) + 1e-9:
                wrong.append((a, b, channel, rate))
        ends = np.bincount([end for link in links for end in link[:2]], minlength=self.racks)
        return wrong + [rack for rack, count in enumerate(ends) if count > self.radios]


class _Program:
    """Columns, and rows that bound sums of them."""

    def __init__(self) -> None:
        self.upper: list[float] = []
        self.integer: list[bool] = []
        self.rows: list[Terms] = []
        self.bounds: list[tuple[float, float]] = []

    def column(self, upper: float = np.inf, integer: bool = False) -> int:
        self.upper.append(upper)
        self.integer.append(integer)
        return len(self.upper) - 1

    def row(self, terms: Terms, low: float, high: float) -> None:
        self.rows.append(terms)
        self.bounds.append((low, high))

    def largest(self, column: int, seconds: float = np.inf) -> Any:
        """Makes a column as large as its rows allow."""
        from scipy import sparse
        from scipy.optimize import Bounds, LinearConstraint, milp

        entries = [(r, c, v) for r, terms in enumerate(self.rows) for c, v in terms]
        rows, columns, values = zip(*entries, strict=True)
        matrix = sparse.csr_array((values, (rows, columns)), shape=(len(self.rows), len(self.upper)))
        low, high = np.array(self.bounds).T
        cost = np.zeros(len(self.upper))
        cost[column] = -1
        found = milp(
            cost,
            integrality=np.array(self.integer, int),
            bounds=Bounds(0, np.array(self.upper)),
            constraints=LinearConstraint(matrix, low, high),
            options={"time_limit": seconds},
        )
        if found.x is None:
            raise TimeoutError(f"no links were found in time: {found.message}")
        return found


def _flows(
    network: Network, program: _Program, pairs: Sequence[Pair], capacity: Callable[[int], Terms | float], transit: bool
) -> tuple[int, float]:
    """Adds what flows over wires and links in a second, and gives the column of the inverse of the
    time in a unit that keeps numbers near 1, and that unit in seconds.

    ``capacity`` is that of a link in bit/s, or terms of it.
    """
    uplink = UPLINK / 8
    unit = network.demand.sum() / uplink
    inverse = program.column()
    group = lambda rack: rack // (4 * network.oversubscription) if network.core else 0
    places: dict[tuple[str, int], Terms] = {}
    hosts = 10 * network.oversubscription * HOST / 8

    def by_wire(i: int, j: int) -> list[tuple[str, int]]:
        across = [("up", group(i)), ("down", group(j))] if group(i) != group(j) else []
        return [("out", i), ("in", j), *across]

    for i, j in np.argwhere(network.demand).tolist():
        ways = [by_wire(i, j)]
        for link, (a, b) in enumerate(pairs):
            over = [("link", link)]
            if {a, b} == {i, j}:
                ways.append(over)
            elif transit and i in (a, b):
                ways.append(over + by_wire(a + b - i, j))
            elif transit and j in (a, b):
                ways.append(by_wire(i, a + b - j) + over)
        columns = [program.column() for _ in ways]
        program.row([*((c, 1.0) for c in columns), (inverse, -network.demand[i, j] / unit / uplink)], 0, 0)
        for c, way in zip(columns, ways, strict=True):
            for place in way:
                places.setdefault(place, []).append((c, 1.0))
    for place, terms in places.items():
        if place[0] == "link":
            limit = capacity(place[1])
            if isinstance(limit, float):
                program.row(terms, -np.inf, limit / UPLINK)
            else:
                program.row([*terms, *((c, -v / UPLINK) for c, v in limit)], -np.inf, 0)
        else:
            program.row(terms, -np.inf, 1.0 if place[0] in ("out", "in") else CORE / UPLINK)
    busiest = max(network.demand.sum(0).max(), network.demand.sum(1).max())
    program.upper[inverse] = unit * hosts / busiest
    return inverse, unit


def best_shares(network: Network, links: Sequence[Link], transit: bool = True) -> float:
    """The least completion time in seconds with these links: a linear program over shares."""
    program = _Program()
    inverse, unit = _flows(network, program, [link[:2] for link in links], lambda k: links[k][3], transit)
    return float(unit / -program.largest(inverse).fun)


def best_links(network: Network, *, transit: bool = True, seconds: float = 60) -> FlywayOptimum:
    """The links, channels, rates and shares with the least completion time.

    With ``transit``, traffic may take a link and then a wire, or a wire and then a link. After
    ``seconds``, the best links so far are the result.
    """
    if not network.demand.any():
        return FlywayOptimum(0.0, 0.0, np.zeros((0, 3), np.int64), np.zeros(0))
    program = _Program()
    up: dict[tuple[Pair, int, float, int], int] = {}
    for pair in network.pairs:
        for channel in range(network.channels):
            for rate, sensitivity in OFDM:
                if network.room(pair, sensitivity) > 0:
                    up[pair, channel, rate, sensitivity] = program.column(1, True)
    racks = range(network.racks)
    touching = lambda rack, of: [(c, 1.0) for (pair, channel, *_), c in up.items() if rack in pair and channel in of]
    for rack in racks:
        # A rack has one link on a channel, and one on a radio.
        for of, most in [*(((channel,), 1) for channel in range(network.channels)), (range(network.channels), network.radios)]:
            if terms := touching(rack, of):
                program.row(terms, -np.inf, most)
    for (pair, channel, _, sensitivity), column in up.items():
        _bear(network, program, up.items(), pair, channel, sensitivity, column)
    rates = lambda k: [(c, key[2]) for key, c in up.items() if key[0] == network.pairs[k]]
    inverse, unit = _flows(network, program, network.pairs, rates, transit)
    found = program.largest(inverse, seconds)
    chosen = [key for key, c in up.items() if found.x[c] > 0.5]
    links = np.array([(*pair, channel) for pair, channel, *_ in chosen], np.int64).reshape(-1, 3)
    return FlywayOptimum(
        float(unit / -found.fun), float(unit / -found.mip_dual_bound), links, np.array([rate for _, _, rate, _ in chosen])
    )


def _bear(
    network: Network,
    program: _Program,
    up: Iterable[tuple[tuple[Pair, int, float, int], int]],
    pair: Pair,
    channel: int,
    sensitivity: int,
    column: int,
) -> None:
    """If a link has this rate, both its ends bear what they hear of the others."""
    room = network.room(pair, sensitivity)
    for at, to in (pair, pair[::-1]):
        terms: Terms = []
        for (other, ch, *_), c in up:
            # What shares a rack is excluded already. More than the room is as good as twice the
            # room.
            if ch == channel and not set(pair) & set(other):
                terms.append((c, min(network.heard(other, at, to) / room, 2.0)))
        if sum(v for _, v in terms) > 0:
            # Racks that are left can have so many links.
            most = 2.0 * (network.racks // 2 - 1)
            program.row([*terms, (column, most)], -np.inf, 1 + most)
