"""From the tables of a run to the numbers that the figures show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import timeplane as tp

from .arithmetic import payload_share

US, MS = 1e6, 1e9


def dropped(run: tp.Run) -> dict[str, float]:
    """Packets lost, by reason; those of the racks' multiplexers always."""
    found = {"multiplexer_full": 0.0}
    drops = run.drops
    for reason, packets in zip(drops["reason"], drops["packets"], strict=True):
        found[str(reason)] = found.get(str(reason), 0.0) + float(packets)
    return {f"dropped_{reason}": count for reason, count in found.items()}


def goodput_share(run: tp.Run, hosts: int, mtu: int, line: float, seconds: float) -> float:
    """What came, framing counted as if all frames were full, over what the hosts' links carry in
    that time.
    """
    received = float(run.flows["received_bytes"].sum())
    return received * 8 / payload_share(mtu) / (hosts * line * seconds)


def offered_share(run: tp.Run, hosts: int, mtu: int, line: float, seconds: float) -> float:
    """The same of what was there to send: below one by what whole frames leave of a share."""
    offered = float(run.flows["size_bytes"].sum())
    return offered * 8 / payload_share(mtu) / (hosts * line * seconds)


def by_receiver(run: tp.Run, hosts: int) -> np.ndarray:
    """Bytes from every source (rows) at every destination."""
    flows = run.flows
    table = np.zeros((hosts, hosts))
    np.add.at(table, (flows["source"], flows["destination"]), flows["received_bytes"].astype(float))
    return table


def arrivals(run: tp.Run, host: int) -> dict[str, np.ndarray]:
    """Flows that were done at a host: when (ps), from whom, how many bytes; by time."""
    flows = run.flows
    fct = flows["fct_ps"].astype(float)
    use = (flows["destination"] == host) & ~np.isnan(fct)
    end = flows["start_ps"].astype(float)[use] + fct[use]
    order = np.argsort(end, kind="stable")
    return {
        "time": end[order],
        "source": flows["source"][use][order],
        "bytes": flows["size_bytes"].astype(float)[use][order],
        "start": flows["start_ps"].astype(float)[use][order],
    }


def trains(times: np.ndarray, longest_gap: float) -> list[tuple[float, float, int]]:
    """Runs of arrivals no further apart than this: first, last, how many."""
    if not len(times):
        return []
    cuts = np.flatnonzero(np.diff(times) > longest_gap) + 1
    return [(float(part[0]), float(part[-1]), len(part)) for part in np.split(times, cuts)]


def rates(found: dict[str, np.ndarray], sources: Sequence[int], edges: np.ndarray) -> np.ndarray:
    """Gb/s of flows' bytes from every source (rows) between edges (ps)."""
    rows = [
        np.histogram(found["time"][found["source"] == s], edges, weights=found["bytes"][found["source"] == s])[0] for s in sources
    ]
    return np.array(rows) * 8 / (np.diff(edges) * 1e-12) / 1e9


def completion_mean(run: tp.Run) -> float:
    """Mean completion time, ps; ``nan`` where a flow is not done."""
    return float(run.flows["fct_ps"].astype(float).mean())


def number(value: Any) -> float:
    """Of a point of a sweep, which is a text."""
    return float(str(value).split()[0])
