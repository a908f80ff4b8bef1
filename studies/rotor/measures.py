"""Adds the numbers of a run to the outcome of its experiment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import timeplane as tp

from .experiments import CLASSES, FRAME, HOSTS, NDP_PAYLOAD, RATE, SATURATED, SHUFFLE, THEORY_SLICE

if TYPE_CHECKING:
    from .study import Outcome

MS = 1e9  # picoseconds
#: Percentiles of completion times.
SHARES = (50, 99)
#: Payload of a full packet of datagrams, whose headers have 28 B.
PAYLOAD = 1454
#: ns of a wire.
WIRE = 250
#: Largest of the short flows of a demand, and smallest of the large ones.
SHORT, LARGE = 100e3, 1e6

Row = Mapping[str, Any]


def _flows(run: tp.Run) -> dict[str, np.ndarray]:
    """Flows of the measured interval: times in ms; ``inf`` where a flow did not finish."""
    table = run.flows
    use = table["measured"].astype(bool)
    of = {name: table[name].astype(float)[use] for name in ("source", "destination", "start_ps", "fct_ps", "acknowledged_ps", "size_bytes")}
    for name in ("fct", "acknowledged"):
        of[name] = np.where(np.isnan(of[f"{name}_ps"]), np.inf, of[f"{name}_ps"] / MS)
    return of


def _acknowledged(run: tp.Run, of: Mapping[str, np.ndarray]) -> np.ndarray:
    """Completion times (ms) as the published simulator counts those of NDP: they end when the sender
    has the last acknowledgement. Its wires of hosts have no delay, and those of Opera are left out.
    """
    if run.scheme_name == "rotor_lb":
        return of["fct"]
    wires = 4 * WIRE if run.scheme_name == "opera" else 0
    return of["acknowledged"] - wires / 1e6


def cells(outcome: Outcome, x: float, run: tp.Run, row: Row) -> None:
    """Completion times (ms) by size. All flows are between racks."""
    of = _flows(run)
    times = _acknowledged(run, of)
    for name, (low, high) in CLASSES.items():
        fct = times[(of["size_bytes"] >= low) & (of["size_bytes"] < high)]
        if len(fct):
            outcome.add(x, run.scheme_name, run.seed, {f"p{share} {name}": float(np.percentile(fct, share)) for share in SHARES})


def rates(run: tp.Run, every: float, payload: int = PAYLOAD) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals of ``every`` ms, and what all hosts receive in them as a share of their
    links, with headers of packets of ``payload``.
    """
    received = run.received
    time, bytes_ = received["time_ps"].astype(float), received["received_bytes"].astype(float)
    ends = np.arange(1, int(time.max() / MS / every + 0.5) + 1) * every
    sums = np.bincount(np.rint(time / MS / every).astype(int), bytes_, len(ends) + 1)[1:]
    return ends, sums * (FRAME / payload) * 8 / (HOSTS * RATE * every / 1e3)


def shuffle(outcome: Outcome, x: float, run: tp.Run, row: Row) -> None:
    """Completion times of the shuffle, and throughput over time."""
    ends, share = rates(run, 1, PAYLOAD if run.scheme_name == "opera" else NDP_PAYLOAD)
    fct = run.flows["fct_ps"].astype(float) / MS
    numbers = {f"throughput_{end:g}": float(s) for end, s in zip(ends, share, strict=True)}
    numbers["peak"] = float(share.max())
    numbers["level"] = float(share[(ends > SATURATED[0]) & (ends <= SATURATED[1])].mean())
    numbers["finished"] = float(np.isfinite(fct).mean())
    if np.isfinite(fct).all():
        numbers |= {f"fct_p{p}_ms": float(np.percentile(fct, p)) for p in (50, 99, 100)}
    outcome.add(x, run.scheme_name, run.seed, numbers)


def mixed(outcome: Outcome, x: float, run: tp.Run, row: Row) -> None:
    """Throughput of the shuffle and web search together, and of both apart, in the best interval."""
    ends, share = rates(run, 10)
    flows = run.flows
    of_shuffle = flows["size_bytes"] == SHUFFLE
    fct = flows["fct_ps"].astype(float) / MS
    web = fct[~of_shuffle]
    numbers = {f"throughput_{end:g}": float(s) for end, s in zip(ends, share, strict=True)}
    numbers |= {"peak": float(share.max()), "web_finished": float(np.isfinite(web).mean()), "shuffle_finished": float(np.isfinite(fct[of_shuffle]).mean())}
    if np.isfinite(web).any():
        numbers["web_p50_ms"] = float(np.nanmedian(web))
    outcome.add(x, run.scheme_name, run.seed, numbers)


def carried(outcome: Outcome, x: float, run: tp.Run, row: Row) -> None:
    """Share of the links that is carried, and the time in the network in slices."""
    of = _flows(run)
    slices = of["fct"] * 1e3 / THEORY_SLICE
    hosts = int(max(of["source"].max(), of["destination"].max())) + 1
    share = float(row["goodput_bps"]) * FRAME / PAYLOAD / (hosts * RATE)
    numbers = {"carried": share, "late": float((~np.isfinite(slices)).mean()), "dropped": float(row["dropped_packets"])}
    if np.isfinite(slices).all():
        numbers |= {"slices_mean": float(slices.mean()), "slices_max": float(slices.max())}
    outcome.add(x, run.scheme_name, run.seed, numbers)


def demand(outcome: Outcome, x: float, run: tp.Run, row: Row) -> None:
    """Completion times by size (ms). Flows that did not finish count as infinite."""
    of = _flows(run)
    numbers = {"finished": float(np.isfinite(of["fct"]).mean()), "flows": float(len(of["fct"]))}
    for name, use in (("short", of["size_bytes"] <= SHORT), ("large", of["size_bytes"] >= LARGE)):
        if use.any():
            for share in SHARES:
                value = float(np.percentile(of["fct"][use], share, method="higher"))
                numbers[f"{name}_p{share}_ms"] = value if math.isfinite(value) else math.nan
    bytes_ = of["size_bytes"]
    numbers["carried"] = float(bytes_[np.isfinite(of["fct"])].sum() / bytes_.sum())
    outcome.add(x, run.scheme_name, run.seed, numbers)


def coflows(outcome: Outcome, x: float, run: tp.Run, row: Row) -> None:
    """The same, and completion times of coflows, which are the flows of one start."""
    demand(outcome, x, run, row)
    flows = run.flows
    start, fct = flows["start_ps"].astype(float), flows["fct_ps"].astype(float) / MS
    _, group = np.unique(start, return_inverse=True)
    ends = np.zeros(group.max() + 1)
    np.maximum.at(ends, group, np.where(np.isnan(fct), np.inf, fct))
    numbers = {"coflow_mean_ms": float(ends.mean()), "coflow_p50_ms": float(np.median(ends)), "all_ms": float(np.nanmax(start / MS + fct))}
    outcome.add(x, run.scheme_name, run.seed, {name: v if math.isfinite(v) else math.nan for name, v in numbers.items()})
