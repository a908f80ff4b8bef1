"""Lists of flows, one row each: start (ps), source, destination, bytes. Nothing is random."""

from __future__ import annotations

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
