"""Computes the numbers of the figures from the tables of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import timeplane as tp
from timeplane.studies import jain

MS = 1e9  # picoseconds
US = 1e6


def picoseconds(text: str) -> float:
    """Converts a duration of a scenario to ps."""
    value, unit = text.split()
    return float(value) * {"ps": 1.0, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12}[unit]


def variation(values: np.ndarray) -> float:
    """Coefficient of variation: standard deviation relative to the mean."""
    return float(values.std() / values.mean()) if len(values) else math.nan


def of_flows(run: tp.Run, summary: Mapping[str, Any], load: float, window: float) -> dict[str, float]:
    """Completion times, throughput and fairness; ``window`` is the length of the measured interval.

    A flow that did not finish counts with its time until the end of the run. With such flows, means
    are lower bounds; ``unfinished`` is their share.
    """
    flows = run.flows
    measured = flows["measured"].astype(bool)
    start = flows["start_ps"].astype(float)[measured]
    fct = flows["fct_ps"].astype(float)[measured]
    size, ideal = flows["size_bytes"].astype(float)[measured], flows["ideal_ps"].astype(float)[measured]
    missing = np.isnan(fct)
    took = np.where(missing, float(summary["simulated_ps"]) - start, fct)
    slowdown = took / ideal
    offered = float(size.sum()) * 8 / (window * 1e-12)
    goodput = float(summary["goodput_bps"])
    source = flows["source"][measured]
    late = start >= start.min() + 0.75 * window
    wanted = np.bincount(source, weights=size)
    got = np.bincount(source, weights=flows["received_bytes"].astype(float)[measured])
    return {
        "slowdown_mean": float(slowdown.mean()),
        # Over flows that arrived in the last quarter of the measured interval.
        "slowdown_late": float(slowdown[late].mean()) if late.any() else math.nan,
        "slowdown_variation": variation(slowdown),
        "slowdown_p99": float(np.percentile(slowdown, 99)),
        "fct_mean_ms": float(took.mean()) / MS,
        "fct_variation": variation(took),
        "fct_p99_ms": float(np.percentile(took, 99)) / MS,
        "unfinished": float(missing.mean()),
        "flows": float(len(took)),
        # Received bytes relative to arrivals in the interval: about 1 if the scheme keeps up.
        "carried_load": load * goodput / offered,
        "jain_servers": float(summary["goodput_jain"]),
        # Over the shares of their offered bytes that servers could send.
        "jain_senders": jain(got[wanted > 0] / wanted[wanted > 0]),
        # Over the flows' rates relative to an empty network.
        "jain_flows": jain(1 / slowdown),
    }


def slowdown_over_time(run: tp.Run, simulated: float, begin: float, length: float, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Times (ms) and the mean slowdown of flows that arrived then; flows that did not finish
    count with their time until the end of the run.
    """
    flows = run.flows
    start, fct = flows["start_ps"].astype(float), flows["fct_ps"].astype(float)
    slowdown = np.where(np.isnan(fct), simulated - start, fct) / flows["ideal_ps"].astype(float)
    at = np.floor((start - begin) / length * bins).astype(int)
    use = (at >= 0) & (at < bins)
    count = np.bincount(at[use], minlength=bins)
    total = np.bincount(at[use], weights=slowdown[use], minlength=bins)
    return (begin + (np.arange(bins) + 0.5) * length / bins) / MS, total / np.maximum(count, 1)


def tiers(run: tp.Run) -> dict[str, np.ndarray]:
    """Nodes by tier: servers, switches of servers (leaves), switches of switches (spines)."""
    source, target = run.links["from"], run.links["to"]
    nodes, out = np.unique(source, return_counts=True)
    servers = nodes[out == 1]
    leaves = np.unique(source[np.isin(target, servers)])
    return {"servers": servers, "leaves": leaves, "spines": np.setdiff1d(nodes, np.concatenate([servers, leaves]))}


def of_queues(run: tp.Run, begin: float, end: float, every: float) -> dict[str, float]:
    """Wire bytes in a port's queue, by tier: mean and 99th percentile over ports and samples,
    including empty queues. Without the frame that is being sent, and ``_all`` with its rest.
    """
    source, queues = run.links["from"], run.queues
    time, node = queues["time_ps"].astype(float), queues["node"]
    within = (time >= begin) & (time < end)
    samples = round((end - begin) / every)
    measures = {}
    for tier, nodes in tiers(run).items():
        cells = int(np.isin(source, nodes).sum()) * samples
        if not cells:
            continue
        for column, suffix in (("waiting_bytes", ""), ("queue_bytes", "_all")):
            some = np.sort(queues[column].astype(float)[within & np.isin(node, nodes)])
            # Rank of the percentile among all samples; empty ones come first.
            rank = math.ceil(0.99 * cells) - 1 - (cells - len(some))
            measures[f"{tier}_mean{suffix}_kB"] = float(some.sum()) / cells / 1e3
            measures[f"{tier}_p99{suffix}_kB"] = float(some[rank]) / 1e3 if rank >= 0 else 0.0
    return measures


def of_windows(run: tp.Run, hosts: int, begin: float, end: float, every: float) -> dict[str, float]:
    """Fairness of the servers' throughput in windows of length ``every``: the mean of Jain's index
    over the windows in which something arrives. Once over all servers, and once over those to
    which something arrives in the window.
    """
    received = run.received
    time, host = received["time_ps"].astype(float), received["host"]
    # A sample ends its window.
    window = np.ceil((time - begin) / every).astype(int) - 1
    count = round((end - begin) / every)
    use = (window >= 0) & (window < count)
    table = np.zeros((count, hosts))
    np.add.at(table, (window[use], host[use]), received["received_bytes"].astype(float)[use])
    busy = table[table.sum(axis=1) > 0]
    squares, totals = (busy**2).sum(axis=1), busy.sum(axis=1)
    index = totals**2 / squares
    return {"jain_window": float((index / hosts).mean()), "jain_window_busy": float((index / (busy > 0).sum(axis=1)).mean())}


def fairness_of_times(run: tp.Run) -> float:
    """Jain's index of the slowdowns of measured flows that finished."""
    flows = run.flows
    slowdown = (flows["fct_ps"].astype(float) / flows["ideal_ps"].astype(float))[flows["measured"].astype(bool)]
    return jain(slowdown[~np.isnan(slowdown)])


def trace(run: tp.Run, begin: float, end: float, every: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Times (ms from the start of the measured interval) and mean queue of a port (kB), by tier."""
    source, queues = run.links["from"], run.queues
    time, node, length = queues["time_ps"].astype(float), queues["node"], queues["waiting_bytes"].astype(float)
    samples = round((end - begin) / every)
    lines = {}
    for tier, nodes in tiers(run).items():
        ports = max(1, int(np.isin(source, nodes).sum()))
        use = (time >= begin) & (time < end) & np.isin(node, nodes)
        at = np.minimum(((time[use] - begin) / every).astype(int), samples - 1)
        total = np.bincount(at, weights=length[use], minlength=samples)
        lines[tier] = (np.arange(samples) * every / MS, total / ports / 1e3)
    return lines


def of_latency(summary: Mapping[str, Any]) -> dict[str, float]:
    """Time of a packet in the network, from where the scenario counts it to the arrival of its last
    bit.
    """
    names = {p: f"network_latency_{p}_ps" for p in ("mean", "p50", "p95", "p99", "max")}
    return {f"latency_{p}_us": float(summary[column]) / US for p, column in names.items() if summary.get(column) is not None}


def of_control(run: tp.Run, summary: Mapping[str, Any]) -> dict[str, float]:
    """Control messages per second and their rate in bit/s, from hosts and from the controller."""
    table = run.control
    kind, seconds = np.asarray(table["kind"], str), float(summary["simulated_ps"]) * 1e-12
    measures = {}
    for name, use in (("reports", kind == "report"), ("grants", kind != "report")):
        measures[f"{name}_per_s"] = float(table["messages"][use].sum()) / seconds
        measures[f"{name}_Mbps"] = float(table["bytes"][use].sum()) * 8 / seconds / 1e6
    measures["control_Mbps"] = measures["reports_Mbps"] + measures["grants_Mbps"]
    measures["late_messages"] = float(table["late"].sum())
    return measures
