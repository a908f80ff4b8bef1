"""Computes the numbers of the figures from the tables of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import timeplane as tp

from .workloads import CHUNK, QUERY_EVERY, SETTLED

MS = 1e9  # picoseconds
#: Time between two samples of queues.
EVERY = 1e9
#: Payload of a full packet over its bytes on the wire: the goodput of a full link.
FULL = 1460 / 1538
#: Largest of the short and of the medium flows, as in pFabric's figures.
SHORT, MEDIUM = 100e3, 10e6
#: Percentiles of a queue that its table has.
PERCENTILES = (5, 25, 50, 75, 95, 99)

Numbers = dict[str, float]
Row = Mapping[str, Any]


def port(run: tp.Run) -> np.ndarray:
    """Packets in the queue of the switch's port to host 0, by sample, once flows have settled."""
    links, queues = run.links, run.queues
    to_receiver = links["link"][links["to"] == 0]
    time = queues["time_ps"].astype(float)
    use = np.isin(queues["link"], to_receiver) & (time >= SETTLED)
    # Empty queues have no row.
    found = queues["queue_packets"][use].astype(float)
    samples = int((queues["time_ps"].max() - SETTLED) // EVERY) + 1
    return np.concatenate([np.zeros(max(samples - len(found), 0)), found])


def queue(run: tp.Run, row: Row) -> Numbers:
    """The queue at the receiver's port, and the receiver's goodput."""
    packets = port(run)
    numbers = {f"queue_p{p}": float(np.percentile(packets, p)) for p in PERCENTILES}
    return numbers | {"queue_max": float(packets.max()), "goodput_Gbps": float(row["goodput_bps"]) / 1e9, **losses(run, row)}


def chunks(run: tp.Run) -> np.ndarray:
    """Completion times of short transfers (ms); ``inf`` where one did not finish."""
    flows = run.flows
    fct = flows["fct_ps"].astype(float)[flows["size_bytes"] == CHUNK] / MS
    return np.where(np.isnan(fct), np.inf, fct)


def short(run: tp.Run, row: Row) -> Numbers:
    """Short transfers beside long flows."""
    took, flows = chunks(run), run.flows
    timeouts = flows["timeouts"].astype(float)[flows["size_bytes"] == CHUNK]
    return {"fct_p50_ms": float(np.median(took)), "fct_p95_ms": float(np.percentile(took, 95)), "chunk_timeouts": float(timeouts.sum())}


def incast(run: tp.Run, row: Row) -> Numbers:
    """Queries: from the first server's answer to the last byte at the client."""
    flows = run.flows
    start, fct = flows["start_ps"].astype(float), flows["fct_ps"].astype(float)
    of = (start // QUERY_EVERY).astype(int)
    count = int(of.max()) + 1
    first, last, late = np.full(count, np.inf), np.zeros(count), np.zeros(count)
    np.minimum.at(first, of, start)
    np.maximum.at(last, of, np.where(np.isnan(fct), np.inf, start + fct))
    np.maximum.at(late, of, flows["timeouts"].astype(float))
    took = (last - first) / MS
    return {
        "qct_mean_ms": float(took.mean()),
        "qct_p95_ms": float(np.percentile(took, 95)),
        "with_timeout": float((late > 0).mean()),
        **losses(run, row),
    }


def flows(run: tp.Run, row: Row) -> Numbers:
    """Slowdowns by size. A flow that did not finish counts with its time until the end of the
    run.
    """
    table = run.flows
    measured = table["measured"].astype(bool)
    start, fct, size, ideal = (table[c].astype(float)[measured] for c in ("start_ps", "fct_ps", "size_bytes", "ideal_ps"))
    missing = np.isnan(fct)
    slowdown = np.where(missing, float(row["simulated_ps"]) - start, fct) / ideal
    numbers = {"flows": float(len(size)), "unfinished": float(missing.mean())}
    for name, use in (("short", size <= SHORT), ("medium", (size > SHORT) & (size <= MEDIUM)), ("long", size > MEDIUM)):
        if use.any():
            numbers[f"{name}_mean"] = float(slowdown[use].mean())
            numbers[f"{name}_p99"] = float(np.percentile(slowdown[use], 99))
    numbers["short_unfinished"] = float(missing[size <= SHORT].mean())
    # Without a lost packet, a timeout has no cause.
    numbers["baseless_timeouts"] = math.nan if row["dropped_packets"] else float(row["timeouts"])
    return numbers | losses(run, row)


def spraying(run: tp.Run, row: Row) -> Numbers:
    """Goodputs of a permutation's flows as shares of a full link, and queues between switches."""
    shares = goodputs(run, float(row["simulated_ps"]))
    links, queues = run.links, run.queues
    hosts = len(shares)
    inner = links["link"][(links["from"] >= hosts) & (links["to"] >= hosts)]
    length = np.bincount(queues["link"].astype(int), weights=queues["queue_packets"].astype(float), minlength=int(links["link"].max()) + 1)
    mean = length[inner.astype(int)] / (float(row["simulated_ps"]) / EVERY)
    return {
        "goodput_share": float(shares.mean()),
        "goodput_least": float(shares.min()),
        "queue_mean": float(mean.mean()),
        "queue_deviation": float(mean.std()),
        "retransmissions": float(row["retransmissions"]),
        **losses(run, row),
    }


def goodputs(run: tp.Run, simulated: float) -> np.ndarray:
    """Each flow's goodput from its start to the end of the run, as a share of a full link."""
    table = run.flows
    seconds = (simulated - table["start_ps"].astype(float)) * 1e-12
    return table["received_bytes"].astype(float) * 8 / seconds / (1e9 * FULL)


def losses(run: tp.Run, row: Row) -> Numbers:
    """Lost packets, and timeouts."""
    return {"dropped": float(row["dropped_packets"]), "timeouts": float(row["timeouts"])}
