"""Lists of flows, one row each: start (ps), source, destination, bytes."""

from __future__ import annotations

import numpy as np

Row = tuple[int, int, int, int]
US, MS = 10**6, 10**9


def pings(count: int, every: int, first: int, source: int, destination: int, size: int) -> list[Row]:
    """One packet in each direction at the same time; the RTT is the sum of both."""
    times = [first + i * every for i in range(count)]
    return [row for t in times for row in ((t, source, destination, size), (t, destination, source, size))]


def beside(count: int, every: int, size: int, bulk: int) -> list[Row]:
    """Figure 9: in a tree of pods of 8 hosts, hosts 0 and 16 send to host 8 without end; hosts 1
    and 9 ping each other.
    """
    return [(0, 0, 8, bulk), (0, 16, 8, bulk), *pings(count, every, every // 2, 1, 9, size)]


def stream(count: int, size: int) -> list[Row]:
    """Figure 2: host 0 has packets of one size for host 1, all from the start."""
    return [(0, 0, 1, size)] * count


def control_pairs(pairs: int, every: int, apart: int, control: int, hosts: int, size: int, packet_ps: float, load: float) -> list[Row]:
    """Figures 3 and 4: the last host sends pairs of packets of ``control`` bytes to all others, one
    host after the other; the second ones of a pair follow after ``apart``.

    The others send packets of ``size`` bytes to each other, at random times to random hosts. A
    packet takes ``packet_ps`` on a link, so ``load`` is the share of the time that links are busy.
    """
    controller = hosts - 1
    rows = [(i * every + after, controller, h, control) for i in range(1, pairs + 1) for after in (0, apart) for h in range(controller)]
    draw = np.random.default_rng(1)
    end = (pairs + 1) * every + apart
    for source in range(controller):
        number = draw.poisson(load * end / packet_ps)
        start = draw.integers(0, end, number)
        others = draw.integers(0, controller - 1, number)
        others += others >= source
        rows += [(int(t), source, int(d), size) for t, d in zip(start, others, strict=True)]
    return rows
