"""Lists of flows, one row each: start (ps), source, destination, bytes. Nothing is random."""

from __future__ import annotations

from collections.abc import Sequence

from .arithmetic import FRAMING, RAW_HEADER

Row = tuple[int, int, int, int]
US, MS = 10**6, 10**9


def whole_frames(seconds: float, rate: float, mtu: int) -> int:
    """Bytes of a flow whose full raw frames take no more than this time at ``rate`` (bit/s)."""
    # A frame that fits but for rounding does fit.
    return int(seconds * rate / 8 / (mtu + FRAMING) + 1e-6) * (mtu - RAW_HEADER)


def sizes(shares: Sequence[float], period_us: int, rate: float, mtu: int) -> list[int]:
    """Bytes of flows that bring these shares of a line in a period, the large one first.

    Small ones are a frame short of theirs: where they are to fill the packet switch to the last
    bit, a frame that the period before has left over is more than it carries, and the scheduler
    gives it a circuit.
    """
    payload = mtu - RAW_HEADER
    whole = [whole_frames(share * period_us * 1e-6, rate, mtu) for share in shares]
    return [whole[0], *(max(size - payload, min(size, payload)) for size in whole[1:])]


def neighbors(hosts: int, shares: Sequence[float], periods: int, period_us: int, rate: float, mtu: int) -> list[Row]:
    """Every host to the next ``len(shares)`` ones; each period brings what that share of the line
    carries in it (section 5.4).
    """
    of = sizes(shares, period_us, rate, mtu)
    return [
        (k * period_us * US, host, (host + 1 + x) % hosts, size)
        for k in range(periods)
        for host in range(hosts)
        for x, size in enumerate(of)
        if size
    ]


def large_and_small(large: float, small: int) -> list[float]:
    """A flow of ``large`` percent and so many that share the rest."""
    return [large / 100, *([(100 - large) / 100 / small] * small)]


def stride(hosts: int, by: int, size: int) -> list[Row]:
    """One flow from every host."""
    return [(0, host, (host + by) % hosts, size) for host in range(hosts)]


def packets(begin: int, end: int, wire_bytes_per_s: float, source: int, destination: int, mtu: int, frames: int = 1) -> list[Row]:
    """Flows of ``frames`` full frames each, evenly from ``begin`` to ``end`` (ps) at this rate."""
    gap = frames * (mtu + FRAMING) / wire_bytes_per_s * 1e12
    count = int((end - begin) / gap)
    return [(begin + round(i * gap), source, destination, frames * (mtu - RAW_HEADER)) for i in range(count)]


def burst(at: int, frames: int, source: int, destination: int, mtu: int) -> list[Row]:
    """So many flows of one frame at once: their completions are arrivals of packets."""
    return [(at, source, destination, mtu - RAW_HEADER)] * frames


def groups(changes_at: int, periods: int, period_us: int, frames: int, mtu: int, after: int) -> list[Row]:
    """Figure 8: hosts 0 to 3 and 4 to 7 among themselves until ``changes_at`` (ps), then each to
    the other group only.

    Each period before brings ``frames`` for every pair, the new workload ``after`` for every pair
    at once.
    """
    group = lambda host: host // 4
    rows: list[Row] = []
    for source in range(8):
        for destination in range(8):
            if source == destination:
                continue
            if group(source) == group(destination):
                for k in range(periods):
                    if k * period_us * US < changes_at:
                        rows += burst(k * period_us * US, frames, source, destination, mtu)
            else:
                rows += burst(changes_at, after, source, destination, mtu)
    return rows


def growing(steps: Sequence[int], end: int, line: float, small: float, period_us: int, dark_us: float, mtu: int) -> list[Row]:
    """Figure 9: eight hosts, each to all others; at ``steps[j]`` (ps) its flow to the host j + 1
    further becomes large.

    Small ones are paced at ``small`` bit/s. Large ones bring together what circuits at ``line``
    bit/s carry when each of them has one configuration a period, evenly over time.
    """
    rows: list[Row] = []
    for at, (begin, stop) in enumerate(zip(steps, [*steps[1:], end], strict=True)):
        count = at + 1
        lit = 1.0 if count == 1 else 1 - count * dark_us / period_us
        for source in range(8):
            for x in range(1, 8):
                rate, frames = (line * lit / count, 8) if x <= count else (small, 1)
                rows += packets(begin, stop, rate / 8, source, (source + x) % 8, mtu, frames)
    return rows
