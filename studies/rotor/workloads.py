"""Lists of flows, one row each: start (ps), source, destination, bytes."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np

from timeplane.studies import read_coflows

Row = tuple[int, int, int, int]
DATA = Path(__file__).resolve().parents[2] / "data"
NS, MS, S = 10**3, 10**9, 10**12


def across(hosts: int, per_rack: int, size: int, at: int, within: int = 0) -> list[Row]:
    """A shuffle: from each host to all hosts of other racks, all at once, or at random times of as
    many ps.
    """
    random = np.random.default_rng(1)
    pairs = [(a, b) for a in range(hosts) for b in range(hosts) if a // per_rack != b // per_rack]
    starts = at + random.integers(0, within, len(pairs), endpoint=True)
    return [(int(start), a, b, size) for start, (a, b) in zip(starts, pairs, strict=True)]


@cache
def points(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Sizes of a bundled distribution, and the probability of each."""
    table = np.loadtxt(DATA / "cdf" / f"{name}.csv", delimiter=",")
    return table[:, 0], np.diff(table[:, 1], prepend=0.0)


def in_packets(rows: list[Row], payload: int) -> list[Row]:
    """The same flows, with the sizes above ``payload`` rounded up to whole packets."""
    return [(start, a, b, size if size < payload else -(-size // payload) * payload) for start, a, b, size in rows]


def by_matlab(hosts: int, per_rack: int, name: str, load: float, rate: float, until: float, drawn: int) -> list[Row]:
    """Flows as Opera's MATLAB program makes them, until ``until`` seconds: first it draws all times,
    then the sizes, then the pairs. MATLAB has the same random numbers in each session. It has drawn
    ``drawn`` of them for other lists before.

    Source: ``generate_traffic.m`` of TritonNetworking/opera-sim.
    """
    sizes, share = points(name)
    # The program leaves out the first size.
    rate_of_flows = hosts * (load * (rate / 8 / float(sizes[1:] @ share[1:])))
    most = round(rate_of_flows * until * 1.2) + 1000
    # The Mersenne Twister, with the seed that MATLAB starts with.
    random = np.random.RandomState(5489)
    random.random_sample(drawn)
    numbers = random.random_sample(3 * most)
    times = np.cumsum(-np.log(1 - numbers[:most]) / rate_of_flows)
    count = int(np.searchsorted(times, until, side="right"))
    of_sizes, of_pairs = numbers[count + 1 :][:count], numbers[2 * count + 1 :][:count]
    of = sizes[np.searchsorted(np.cumsum(share), of_sizes)].astype(int)
    source, away = np.divmod(np.ceil(of_pairs * hosts * (hosts - per_rack)).astype(int) - 1, hosts - per_rack)
    to = np.where(away < source // per_rack * per_rack, away, away + per_rack)
    start = np.floor(times[:count] * 1e9 + 0.5).astype(int) * NS
    return [(int(t), int(a), int(b), int(n)) for t, a, b, n in zip(start, source, to, of, strict=True)]


def poisson(hosts: int, per_rack: int, name: str, load: float, rate: float, until: int) -> list[Row]:
    """Flows at random times between random hosts of different racks, with the sizes of the points
    of a distribution. ``load`` is that of the hosts' links of ``rate`` bit/s. There are as many flows
    as have its bytes. With a random number, the load of 50 ms of web search at 10 % would have a
    standard deviation of half a percentage point.
    """
    random = np.random.default_rng(1)
    sizes, share = points(name)
    bytes_ = load * hosts * rate / 8 * until / S
    of = random.choice(sizes, 2 * math.ceil(bytes_ / (sizes @ share)) + 100, p=share).astype(int)
    number = int(np.searchsorted(np.cumsum(of), bytes_)) + 1
    start, source = random.integers(0, until, number), random.integers(0, hosts, number)
    # One of the hosts of all other racks.
    away = random.integers(per_rack, hosts, number)
    to = (source // per_rack * per_rack + away) % hosts
    return [(int(t), int(a), int(b), int(n)) for t, a, b, n in zip(start, source, to, of[:number], strict=True)]


@cache
def coflows(most: int) -> list[tuple[float, list[tuple[int, int, float]]]]:
    """FB2010's coflows of at most ``most`` flows: start in seconds; mapper, reducer and bytes of each
    flow between 150 racks.
    """
    found = []
    for start, senders, parts in read_coflows(DATA / "coflow" / "fb2010.txt"):
        flows = [(a, b, megabytes * 1e6 / len(senders)) for b, megabytes in parts for a in senders if a != b]
        if 0 < len(flows) <= most:
            found.append((start, flows))
    return found


def spread(rows: list[tuple[float, int, int, float]], per_rack: int, load: float, rate: float, seed: int = 1) -> list[Row]:
    """Flows between racks, with times in any unit, as flows between random hosts of these racks. Times
    are scaled so that the most loaded rack's hosts together have the load ``load``.
    """
    random = np.random.default_rng(seed)
    ends = [np.bincount([row[i] for row in rows], [row[3] for row in rows]).max() for i in (1, 2)]
    first, last = rows[0][0], rows[-1][0]
    scale = float(max(ends)) * 8 / (rate * per_rack * load) / (last - first)
    host = lambda rack: rack * per_rack + int(random.integers(per_rack))
    return [(round((start - first) * scale * S), host(a), host(b), max(round(size), 1)) for start, a, b, size in rows]


def fb2010(racks: int, per_rack: int, most: int, load: float, rate: float, bytes_: float) -> list[Row]:
    """FB2010 on fewer racks: rack i is rack i modulo their number, and flows within a rack are left
    out. Coflows of at most ``most`` flows, from the first on until they have ``bytes_``, with the
    sizes of the trace.
    """
    rows: list[tuple[float, int, int, float]] = []
    total = 0.0
    for start, flows in coflows(most):
        if total >= bytes_:
            break
        folded = [(start, a % racks, b % racks, size) for a, b, size in flows if a % racks != b % racks]
        rows += folded
        total += sum(row[3] for row in folded)
    return spread(rows, per_rack, load, rate)


@cache
def projector_matrix(racks: int) -> np.ndarray:
    """Shares of the bytes between racks: rack i of ProjecToR is rack i modulo their number."""
    table = np.loadtxt(DATA / "matrices" / "projector_tors_128_probabilities.txt", delimiter=",")
    matrix = np.zeros((racks, racks))
    np.add.at(matrix, (table[:, 1].astype(int) % racks, table[:, 2].astype(int) % racks), table[:, 3])
    np.fill_diagonal(matrix, 0)
    return matrix / matrix.sum()


def projector(racks: int, per_rack: int, name: str, load: float, rate: float, bytes_: float) -> list[Row]:
    """Poisson flows with the sizes of the points of a distribution between the pairs of ProjecToR,
    with ``bytes_`` in all on average.
    """
    random = np.random.default_rng(1)
    sizes, share = points(name)
    number = round(bytes_ / (sizes @ share))
    pair = random.choice(racks * racks, number, p=projector_matrix(racks).ravel())
    start = np.cumsum(random.exponential(1.0, number))
    of = random.choice(sizes, number, p=share)
    return spread([(float(t), int(p) // racks, int(p) % racks, float(n)) for t, p, n in zip(start, pair, of, strict=True)], per_rack, load, rate)
