"""From the tables of a run to the numbers that the figures show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import timeplane as tp

from .experiments import HOSTS, PING, UNDER, Experiment

#: Shares of flows, in percent, whose completion times are kept.
SHARES = tuple(range(0, 101, 5))


def by_run(summary: Any) -> dict[str, dict[str, Any]]:
    """Rows of a summary by the run's key."""
    columns = {name: summary[name] for name in summary.columns}
    return {str(key): {name: column[i] for name, column in columns.items()} for i, key in enumerate(columns["run"])}


def count(value: Any) -> float:
    """A number of a summary; none is 0."""
    return 0.0 if value is None or np.isnan(float(value)) else float(value)


def quantiles(times: np.ndarray, name: str) -> dict[str, float]:
    """Seconds after which so many percent of flows are done; an empty dict for no flows."""
    if not len(times):
        return {}
    return {f"{name}_{share}": float(np.percentile(times, share)) / 1e12 for share in SHARES}


def completions(run: tp.Run, tree: bool) -> dict[str, float]:
    """When flows end, from the run's begin; in a tree pairs under one switch and others by themselves."""
    flows = run.flows
    fct = flows["fct_ps"].astype(float)
    done = ~np.isnan(fct)
    end = (flows["start_ps"].astype(float) + fct)[done]
    numbers = quantiles(end, "end")
    if tree:
        near = (flows["source"] // UNDER == flows["destination"] // UNDER)[done]
        numbers |= quantiles(end[near], "inside") | quantiles(end[~near], "across")
    return numbers


def control_frames(run: tp.Run) -> float:
    """PFC frames of a run."""
    table = run.control
    return float(sum(m for kind, m in zip(table["kind"], table["messages"], strict=True) if str(kind) == "pfc"))


def block_rate(run: tp.Run) -> dict[str, float]:
    """Gb/s of a host from the end of its first block to that of its last one, and blocks done: mean over hosts."""
    flows = run.flows
    fct = flows["fct_ps"].astype(float)
    end = flows["start_ps"].astype(float) + fct
    size = float(flows["size_bytes"][0])
    rates, whole = [], []
    for host in range(HOSTS):
        own = np.sort(end[flows["source"] == host])
        rates.append((len(own) - 1) * size * 8 / (own[-1] - own[0]) * 1e3)
        whole.append(len(own) * size * 8 / own[-1] * 1e3)
    return {"gbps": float(np.mean(rates)), "gbps_from_begin": float(np.mean(whole))}


def pings(run: tp.Run, in_slots: bool) -> dict[str, float]:
    """RTTs of pings, us: a way there and a way back, which begin at the same time. Lost ones are counted, and left out.

    ``in_slots``: without the wait, from the begin of the slot that carries it; the wait by itself.
    """
    flows = run.flows
    use = flows["size_bytes"] == PING
    start = flows["start_ps"].astype(float)[use]
    fct = flows["fct_ps"].astype(float)[use]
    there = (flows["source"] == 1)[use]
    lost = (flows["retransmissions"][use] > 0) | np.isnan(fct)
    took, wait = fct.copy(), np.zeros(len(fct))
    if in_slots and len(fct):
        slots = run.slots
        for source, destination, of in ((1, 9, there), (9, 1, ~there)):
            opened = np.sort(slots["start_ps"][(slots["source"] == source) & (slots["destination"] == destination)].astype(float))
            end = (start + fct)[of]
            # The last slot that opens before the ping has come is the one that carries it.
            begin = np.maximum(opened[np.maximum(np.searchsorted(opened, end) - 1, 0)] if len(opened) else end * np.nan, start[of])
            wait[of], took[of] = begin - start[of], end - begin
    order = np.argsort(start, kind="stable")
    split = lambda values: (values[order][there[order]], values[order][~there[order]])
    (a, b), (lost_a, lost_b) = split(took), split(lost)
    rtt = (a + b)[~(lost_a | lost_b)] / 1e6
    numbers = {"pings_lost": float((lost_a | lost_b).sum()), "pings": float(len(rtt))}
    bulk = float(flows["received_bytes"][~use].sum())
    numbers["bulk_bytes"] = bulk
    if len(rtt):
        numbers |= {"rtt_mean_us": float(rtt.mean())} | {f"rtt_us_{q}": float(np.percentile(rtt, q)) for q in SHARES}
        # Both ways are alike: the completion time of a ping alone in the network.
        numbers["rtt_alone_us"] = 2 * float(flows["ideal_ps"].astype(float)[use].mean()) / 1e6
        numbers["wait_mean_us"] = float(wait[~lost].mean()) / 1e6
    return numbers


def measured(experiment: Experiment, run: tp.Run, summary: Mapping[str, Any]) -> dict[str, float]:
    """Numbers of a run."""
    names = ("completion_ps", "collisions", "retransmissions", "timeouts", "simulated_ps", "packet_hops", "dropped_packets")
    numbers = {name: count(summary.get(name)) for name in names}
    numbers["completion_s"] = numbers.pop("completion_ps") / 1e12
    numbers["simulated_s"] = numbers.pop("simulated_ps") / 1e12
    numbers["pfc_frames"] = control_frames(run)
    if experiment.name.startswith("fig9"):
        return numbers | pings(run, run.control_name == "tdma")
    if experiment.name.startswith("fig11"):
        return numbers | block_rate(run)
    return numbers | completions(run, "tree" in experiment.fabric["topology"])
