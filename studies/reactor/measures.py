"""Computes the numbers of the figures from the tables of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import timeplane as tp

from .arithmetic import payload_share
from .experiments import FIG8_AT, HOSTS, PERIOD

US, MS = 1e6, 1e9
#: The host whose arrivals figures 8 and 9 show, and the number of its flows and of steps.
WATCHED, STEPS = 7, 7


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


def configurations(trace: dict[str, np.ndarray], begin: float) -> list[tuple[int, float]]:
    """Packet trains of one source in the period from ``begin`` on: source, and first arrival in us."""
    found = []
    for source in np.unique(trace["source"]):
        times = trace["time"][(trace["source"] == source) & (trace["time"] >= begin) & (trace["time"] < begin + PERIOD * US)]
        # Packets from the packet switch are more than 12 us apart, those from a circuit less than 2
        # us.
        found += [(int(source), (a - begin) / US) for a, _, n in trains(times, 3 * US) if n > 100]
    return sorted(found, key=lambda f: f[1])


def change(trace: dict[str, np.ndarray]) -> dict[str, float]:
    """Figure 8: configurations in the period before the change and in the one after its period, and
    the new flows until that period ends.
    """
    begin = FIG8_AT - 750 * US
    numbers: dict[str, float] = {}
    for which, at in (("before", begin - PERIOD * US), ("committed", begin), ("after", begin + PERIOD * US)):
        found = configurations(trace, at)
        numbers[f"{which}_trains"] = float(len(found))
        numbers |= {f"{which}_host_{i}": float(source) for i, (source, _) in enumerate(found)}
        apart = np.diff([first for _, first in found])
        if len(apart):
            numbers |= {f"{which}_apart_{name}_us": float(of(apart)) for name, of in (("least", np.min), ("mean", np.mean), ("most", np.max))}
    circuits = [PERIOD - 750 + first for source, first in configurations(trace, begin + PERIOD * US) if source < HOSTS // 2]
    numbers["reaction_us"] = float(min(circuits, default=np.nan))
    low, high = begin + 750 * US, begin + PERIOD * US
    new = (trace["source"] < HOSTS // 2) & (trace["time"] >= low) & (trace["time"] < high)
    numbers["between_gbps"] = float(trace["bytes"][new].sum()) * 8 / ((high - low) * 1e-12) / 1e9
    numbers["between_hosts"] = float(len(np.unique(trace["source"][new])))
    numbers["between_circuits"] = float(sum(source < HOSTS // 2 for source, _ in configurations(trace, begin)))
    return numbers


def growth(trace: dict[str, np.ndarray], window: str) -> tuple[np.ndarray, np.ndarray]:
    """Figure 9: edges of periods (ps), and rates of the flows to the watched host in the order in
    which they become large.
    """
    edges = np.arange(0, number(window) * US + 1, PERIOD * US)
    return edges, rates(trace, [(WATCHED - x) % HOSTS for x in range(1, HOSTS)], edges)


def steps(trace: dict[str, np.ndarray], window: str) -> dict[str, float]:
    """Figure 9, by step: each flow's mean rate in its second half; the first three periods of the
    flow that has become large, relative to the mean of the second half; and from the third
    period on, the lowest rate of a large flow in a period, and the number of times that one has
    less than half of the mean in a period.
    """
    edges, of = growth(trace, window)
    each = (len(edges) - 1) // STEPS
    numbers = {}
    for k in range(STEPS):
        late = of[:, k * each + each // 2 : (k + 1) * each].mean(axis=1)
        numbers |= {f"step_{k + 1}_flow_{i}_gbps": float(rate) for i, rate in enumerate(late)}
        large = of[: k + 1, k * each + 2 : (k + 1) * each]
        numbers[f"step_{k + 1}_lowest_gbps"] = float(large.min())
        numbers[f"step_{k + 1}_halved"] = float((large < large.mean() / 2).sum())
        if k and late[k] > 0:
            numbers |= {f"{name}_{k + 1}": float(of[k, k * each + i] / late[k]) for i, name in enumerate(("first", "second", "third"))}
    return numbers


def completion_mean(run: tp.Run) -> float:
    """Mean completion time in ps; ``nan`` if a flow did not finish."""
    return float(run.flows["fct_ps"].astype(float).mean())


#: Microseconds of a unit of time.
UNITS = {"ps": 1e-6, "ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


def microseconds(time: str) -> float:
    """A time of a scenario, such as ``1 ms``, in us."""
    value, unit = time.split()
    return float(value) * UNITS[unit]


def number(value: Any) -> float:
    """A swept value, which is a text, as a number."""
    return float(str(value).split()[0])
