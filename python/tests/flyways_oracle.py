"""The best that flyways can do on small networks, by integer programs of scipy (HiGHS): shares no
code with the controller.

A link may have any rate that its SINR allows. Instead of the time T, its inverse is made large:
with what flows per second as unknowns, links' capacities times T become linear.
"""

from __future__ import annotations

import csv
import itertools
import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

RADIO = Path(__file__).resolve().parents[2] / "data" / "radio"
#: IEEE 802.11ad, OFDM: Mb/s and dBm.
OFDM = (
    (693.0, -66), (866.25, -64), (1386.0, -63), (1732.5, -62), (2079.0, -60), (2772.0, -58),
    (3465.0, -56), (4158.0, -54), (4504.5, -53), (5197.5, -51), (6237.0, -49), (6756.75, -47),
)  # fmt: skip
NOISE_DBM, MARGIN_DB, POWER_DBM, CARRIER = -81.0, 3.0, 10.0, 59.4e9
UPLINK, HOST, CORE = 10e9 / 8, 1e9 / 8, 40e9 / 8


def ratio(db):
    """Decibels as a ratio."""
    return 10 ** (db / 10)


def pattern(name):
    """Gain in dBi by degrees: linear between rows, round the circle."""
    file, column = ("antenna_geofencing.csv", "gain_dBi") if name == "geofencing" else ("antenna_measured.csv", f"{name}_dBi")
    with (RADIO / file).open(newline="", encoding="utf-8") as text:
        rows = sorted((float(r["azimuth_deg"]), float(r[column])) for r in csv.DictReader(line for line in text if line[0] != "#"))
    at, gain = zip(*rows, strict=True)
    return lambda degrees: np.interp(degrees, at, gain, period=360)


@dataclass
class Case:
    """A network, and what it has to carry."""

    demand: np.ndarray
    layout: np.ndarray
    antenna: str
    radios: int = 1
    channels: int = 2
    oversubscription: int = 2
    core: bool = False
    powers: dict = field(default_factory=dict)

    @property
    def racks(self):
        return len(self.demand)

    @property
    def pairs(self):
        return list(itertools.combinations(range(self.racks), 2))

    def power(self, sender, aim, receiver, listens):
        """What a receiver hears of a sender, both pointed somewhere; 1 is the noise."""
        key = (sender, aim, receiver, listens)
        if key not in self.powers:
            gain = self.powers.setdefault("gain", pattern(self.antenna))
            bearing = lambda a, b: math.degrees(math.atan2(*(self.layout[b] - self.layout[a])[::-1]))
            distance = float(np.hypot(*(self.layout[receiver] - self.layout[sender])))
            path = 20 * math.log10(4 * math.pi * max(distance * CARRIER / 299_792_458.0, 1.0))
            there = gain(bearing(sender, receiver) - bearing(sender, aim))
            here = gain(bearing(receiver, sender) - bearing(receiver, listens))
            self.powers[key] = ratio(POWER_DBM + there + here - path - NOISE_DBM)
        return self.powers[key]

    def heard(self, other, at, to):
        """What both ends of a link send to a rack that listens to another."""
        c, d = other
        if at in other:
            return math.inf
        return self.power(c, d, at, to) + self.power(d, c, at, to)

    def room(self, link, sensitivity):
        """Interference that a rate of a link bears, by the signal less its margin; negative where
        noise is too much.
        """
        a, b = link
        return self.power(a, b, b, a) / ratio(MARGIN_DB) / ratio(sensitivity - NOISE_DBM) - 1

    def infeasible(self, links):
        """Links (a, b, channel, Mb/s) whose SINR does not do, or whose radios there are not."""
        sensitivity = dict(OFDM)
        wrong = []
        for i, (a, b, channel, rate) in enumerate(links):
            others = [o for j, o in enumerate(links) if j != i and o[2] == channel]
            heard = max(sum(self.heard(o[:2], at, to) for o in others) for at, to in ((a, b), (b, a)))
            if heard > self.room((a, b), sensitivity[rate]) * (1 + 1e-9) + 1e-9:
                wrong.append((a, b, channel, rate))
        ends = np.bincount([end for link in links for end in link[:2]], minlength=self.racks)
        return wrong + [rack for rack, count in enumerate(ends) if count > self.radios]


class Program:
    """Columns, and rows that bound sums of them."""

    def __init__(self):
        self.upper, self.integer, self.rows, self.bounds = [], [], [], []

    def column(self, upper=np.inf, integer=False):
        self.upper.append(upper)
        self.integer.append(integer)
        return len(self.upper) - 1

    def row(self, terms, low, high):
        self.rows.append(terms)
        self.bounds.append((low, high))

    def matrix(self):
        entries = [(r, c, v) for r, terms in enumerate(self.rows) for c, v in terms]
        rows, columns, values = zip(*entries, strict=True)
        return sparse.csr_array((values, (rows, columns)), shape=(len(self.rows), len(self.upper)))


def flows(case, program, joined, capacity, transit=True):
    """Adds what flows over wires and links in a second; the column of the inverse of the time (in
    units that keep numbers near 1).

    ``joined`` are links as pairs of racks, ``capacity`` by link terms of their rates in bytes per
    second.
    """
    unit = case.demand.sum() / UPLINK
    inverse = program.column()
    group = lambda rack: rack // (4 * case.oversubscription) if case.core else 0
    places = {}
    hosts = 10 * case.oversubscription * HOST

    def by_wire(i, j):
        across = [("up", group(i)), ("down", group(j))] if group(i) != group(j) else []
        return [("out", i), ("in", j), *across]

    for i, j in zip(*np.nonzero(case.demand), strict=True):
        ways = [by_wire(i, j)]
        for link, (a, b) in enumerate(joined):
            over = [("link", link)]
            if {a, b} == {i, j}:
                ways.append(over)
            elif transit and i in (a, b):
                ways.append(over + by_wire(a + b - i, j))
            elif transit and j in (a, b):
                ways.append(by_wire(i, a + b - j) + over)
        columns = [program.column() for _ in ways]
        program.row([*((c, 1.0) for c in columns), (inverse, -case.demand[i, j] / unit / UPLINK)], 0, 0)
        for c, way in zip(columns, ways, strict=True):
            for place in way:
                places.setdefault(place, []).append((c, 1.0))
    for place, terms in places.items():
        if place[0] == "link":
            limit = capacity(place[1])
            program.row([*terms, *((c, -v / UPLINK) for c, v in limit if c is not None)], -np.inf, sum(v for c, v in limit if c is None) / UPLINK)
        else:
            program.row(terms, -np.inf, 1.0 if place[0] in ("out", "in") else CORE / UPLINK)
    busiest = max(case.demand.sum(0).max(), case.demand.sum(1).max())
    program.upper[inverse] = unit * hosts / busiest
    return inverse, unit


def best_shares(case, links, transit=True):
    """The least time with these links (a, b, channel, Mb/s): a linear program."""
    program = Program()
    inverse, unit = flows(case, program, [link[:2] for link in links], lambda k: [(None, links[k][3] * 1e6 / 8)], transit)
    low, high = np.array(program.bounds).T
    equal = low == high
    matrix = program.matrix()
    cost = np.zeros(len(program.upper))
    cost[inverse] = -1
    found = linprog(cost, matrix[~equal], high[~equal], matrix[equal], high[equal], bounds=[(0, u) for u in program.upper], method="highs")
    assert found.status == 0, found.message
    return unit / -found.fun


def best_links(case, transit=True, seconds=60):
    """The least time with the best links, and a bound that no links are under."""
    program = Program()
    up = {}
    for pair in case.pairs:
        for channel in range(case.channels):
            for rate, sensitivity in OFDM:
                if case.room(pair, sensitivity) > 0:
                    up[pair, channel, rate, sensitivity] = program.column(1, True)
    on = lambda test: [(c, 1.0) for key, c in up.items() if test(*key)]
    for channel in range(case.channels):
        for rack in range(case.racks):
            if terms := on(lambda pair, ch, *_: ch == channel and rack in pair):
                program.row(terms, -np.inf, 1)
    for rack in range(case.racks):
        if terms := on(lambda pair, *_: rack in pair):
            program.row(terms, -np.inf, case.radios)
    for (pair, channel, _, sensitivity), column in up.items():
        room = case.room(pair, sensitivity)
        for at, to in (pair, pair[::-1]):
            terms = []
            for (other, ch, *_), c in up.items():
                # What shares a rack is excluded already. More than the room is as good as twice the
                # room.
                if ch == channel and not set(pair) & set(other):
                    terms.append((c, min(case.heard(other, at, to) / room, 2.0)))
            if sum(v for _, v in terms) > 0:
                # Racks that are left can have so many links.
                most = 2.0 * (case.racks // 2 - 1)
                program.row([*terms, (column, most)], -np.inf, 1 + most)
    rates = lambda k: [(c, key[2] * 1e6 / 8) for key, c in up.items() if key[0] == case.pairs[k]]
    inverse, unit = flows(case, program, case.pairs, rates, transit)
    cost = np.zeros(len(program.upper))
    cost[inverse] = -1
    low, high = np.array(program.bounds).T
    found = milp(
        cost,
        integrality=np.array(program.integer, int),
        bounds=Bounds(0, np.array(program.upper)),
        constraints=LinearConstraint(program.matrix(), low, high),
        options={"time_limit": seconds, "mip_rel_gap": 1e-4},
    )
    assert found.x is not None, found.message
    links = [(*pair, channel, rate) for (pair, channel, rate, _), c in up.items() if found.x[c] > 0.5]
    return unit / -found.fun, unit / -found.mip_dual_bound, links
