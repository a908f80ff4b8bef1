"""Computes the numbers of the figures from the tables of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import timeplane as tp

from .arithmetic import payload_share

US, MS = 1e6, 1e9


def dropped(run: tp.Run) -> dict[str, float]:
    """Lost packets by reason; always includes those of the racks' multiplexers."""
    found = {"multiplexer_full": 0.0}
    drops = run.drops
    for reason, packets in zip(drops["reason"], drops["packets"], strict=True):
        found[str(reason)] = found.get(str(reason), 0.0) + float(packets)
    return {f"dropped_{reason}": count for reason, count in found.items()}


def goodput_share(run: tp.Run, hosts: int, mtu: int, line: float, seconds: float) -> float:
    """Received bytes, with framing as of full frames, as a share of the capacity of the hosts'
    links in that time.
    """
    received = float(run.flows["received_bytes"].sum())
    return received * 8 / payload_share(mtu) / (hosts * line * seconds)


def offered_share(run: tp.Run, hosts: int, mtu: int, line: float, seconds: float) -> float:
    """Offered bytes as a share of the same capacity: below the intended share, because flows
    have whole frames.
    """
    offered = float(run.flows["size_bytes"].sum())
    return offered * 8 / payload_share(mtu) / (hosts * line * seconds)


def by_receiver(run: tp.Run, hosts: int) -> np.ndarray:
    """Bytes from each source (rows) at each destination."""
    flows = run.flows
    table = np.zeros((hosts, hosts))
    np.add.at(table, (flows["source"], flows["destination"]), flows["received_bytes"].astype(float))
    return table


def arrivals(run: tp.Run, host: int) -> dict[str, np.ndarray]:
    """Flows that a host has received, by time: end (ps), source and bytes."""
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


def trains(times: np.ndarray, longest_pause: float) -> list[tuple[float, float, int]]:
    """Groups of arrivals that are at most ``longest_pause`` apart: first, last and number."""
    if not len(times):
        return []
    cuts = np.flatnonzero(np.diff(times) > longest_pause) + 1
    return [(float(part[0]), float(part[-1]), len(part)) for part in np.split(times, cuts)]


def rates(found: dict[str, np.ndarray], sources: Sequence[int], edges: np.ndarray) -> np.ndarray:
    """Rates of flows' bytes from each source (rows) between edges (ps), in Gb/s."""
    rows = [
        np.histogram(found["time"][found["source"] == s], edges, weights=found["bytes"][found["source"] == s])[0] for s in sources
    ]
    return np.array(rows) * 8 / (np.diff(edges) * 1e-12) / 1e9


def completion_mean(run: tp.Run) -> float:
    """Mean completion time in ps; ``nan`` if a flow did not finish."""
    return float(run.flows["fct_ps"].astype(float).mean())


def number(value: Any) -> float:
    """A swept value, which is a text, as a number."""
    return float(str(value).split()[0])
