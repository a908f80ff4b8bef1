"""Lists of flows, one row each: start (ps), source, destination, bytes. Nothing is random."""

from __future__ import annotations

from collections.abc import Sequence

from .arithmetic import FRAMING, RAW_HEADER

Row = tuple[int, int, int, int]
US, MS = 10**6, 10**9


def whole_frames(seconds: float, rate: float, mtu: int) -> int:
    """Bytes of the flow whose full raw frames take at most this time at ``rate`` (bit/s)."""
    # The tolerance keeps a frame that exceeds the time by rounding only.
    return int(seconds * rate / 8 / (mtu + FRAMING) + 1e-6) * (mtu - RAW_HEADER)


def sizes(shares: Sequence[float], period_us: int, rate: float, mtu: int) -> list[int]:
    """Bytes of flows that bring these shares of a line per period, in whole frames."""
    return [whole_frames(share * period_us * 1e-6, rate, mtu) for share in shares]


def neighbors(hosts: int, shares: Sequence[float], periods: int, period_us: int, rate: float, mtu: int) -> list[Row]:
    """Flows from every host to the next ``len(shares)`` hosts; each period brings that share of
    what the line carries in it (section 5.4).
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
    """Shares of a flow of ``large`` percent and of ``small`` flows that share the rest equally."""
    return [large / 100, *([(100 - large) / 100 / small] * small)]


def stride(hosts: int, by: int, size: int) -> list[Row]:
    """One flow from each host to the host ``by`` further."""
    return [(0, host, (host + by) % hosts, size) for host in range(hosts)]


def packets(begin: int, end: int, wire_bytes_per_s: float, source: int, destination: int, mtu: int, frames: int = 1) -> list[Row]:
    """Flows of ``frames`` full frames each, evenly spaced from ``begin`` to ``end`` (ps) at this
    rate.
    """
    interval = frames * (mtu + FRAMING) / wire_bytes_per_s * 1e12
    count = int((end - begin) / interval)
    return [(begin + round(i * interval), source, destination, frames * (mtu - RAW_HEADER)) for i in range(count)]


def burst(at: int, frames: int, source: int, destination: int, mtu: int) -> list[Row]:
    """Flows of one frame each, all at once: their completions are arrivals of packets."""
    return [(at, source, destination, mtu - RAW_HEADER)] * frames


def groups(changes_at: int, periods: int, period_us: int, frames: int, mtu: int, after: int) -> list[Row]:
    """Figure 8: until ``changes_at`` (ps) hosts 0 to 3 and hosts 4 to 7 send within their group,
    then to the other group only.

    Before the change, each period brings ``frames`` for each pair; the new workload brings
    ``after`` for each pair at once.
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
    """Figure 9: eight hosts, each sends to all others. At ``steps[j]`` (ps) its flow to the host j
    + 1 further becomes large.

    Small flows are paced at ``small`` bit/s. The large flows together bring what circuits at
    ``line`` bit/s carry if each has one configuration per period, evenly over time.
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
