"""Computes the numbers of the figures from the tables of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import timeplane as tp

from .experiments import APART, ASKS, BEFORE, BELOW, HOSTS, MOMENTS, OVER, PACED, PAUSE, PING, SAMPLE, SHOWN, SLOW, SPAN, UNDER, Experiment
from .workloads import US

#: Percentiles of the flows' completion times that are kept.
SHARES = tuple(range(0, 101, 5))


def count(value: Any) -> float:
    """A number of a summary; a missing one counts as 0."""
    return 0.0 if value is None or np.isnan(float(value)) else float(value)


def quantiles(times: np.ndarray, name: str) -> dict[str, float]:
    """Seconds after which these percentages of flows have finished; an empty dict without flows."""
    if not len(times):
        return {}
    return {f"{name}_{share}": float(np.percentile(times, share)) / 1e12 for share in SHARES}


def completions(run: tp.Run, tree: bool) -> dict[str, float]:
    """End times of flows from the start of the run; in a tree, flows under one switch and others
    separately.
    """
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
    """Number of PFC frames of a run."""
    table = run.control
    return float(sum(m for kind, m in zip(table["kind"], table["messages"], strict=True) if str(kind) == "pfc"))


def block_rate(run: tp.Run) -> dict[str, float]:
    """Goodput of a host in Gb/s, from its start to the end of its last block: mean over hosts."""
    flows = run.flows
    start = flows["start_ps"].astype(float)
    end = start + flows["fct_ps"].astype(float)
    rates = []
    for host in range(HOSTS):
        own = flows["source"] == host
        rates.append(float(flows["size_bytes"][own].sum()) * 8e3 / (end[own].max() - start[own].min()))
    return {"gbps": float(np.mean(rates))}


def slots_of_pings(run: tp.Run) -> dict[str, float]:
    """Start times, in ps, of the slots that carried packets which requested one, by sender,
    packet by packet.
    """
    flows, slots = run.flows, run.slots
    numbers = {}
    for source, destination in ((1, 9), (9, 1)):
        use = (flows["size_bytes"] == ASKS) & (flows["source"] == source)
        end = np.sort((flows["start_ps"] + flows["fct_ps"].astype(float))[use])
        begun = np.sort(slots["start_ps"][(slots["source"] == source) & (slots["destination"] == destination)].astype(float))
        numbers |= {f"slot_{source}_{i}": float(begun[np.searchsorted(begun, e) - 1]) for i, e in enumerate(end)}
    return numbers


def moments(run: tp.Run) -> dict[str, float]:
    """RTTs in us by the time in the slot at which pings were sent: mean and maximum.

    Each direction has its own slot, and a ping at the same time in it.
    """
    flows = run.flows
    use = flows["size_bytes"] == PING
    start, source = flows["start_ps"][use], flows["source"][use]
    fct = flows["fct_ps"].astype(float)[use]
    there, back = (fct[source == host][np.argsort(start[source == host])] for host in (1, 9))
    rtt = (there + back) / 1e6
    at = np.resize(MOMENTS, len(rtt))
    numbers = {f"rtt_{name}_{m}": float(of(rtt[at == m])) for m in MOMENTS for name, of in (("mean", np.mean), ("most", np.max))}
    return numbers | {"rtt_alone": 2 * float(flows["ideal_ps"].astype(float)[use].mean()) / 1e6}


def bandwidth(run: tp.Run, end: int) -> dict[str, float]:
    """Goodput of the receiver in Gb/s until ``end`` ms, over the last samples, sample by sample;
    and the same by the capacity at the time.
    """
    table = run.received
    every, length = SAMPLE * 1_000_000, end * 1000 // SAMPLE
    received = np.zeros(length)
    place = table["time_ps"] // every - 1
    received[place[place < length]] = table["received_bytes"][place < length]
    total = np.concatenate(([0.0], np.cumsum(received)))
    over = (total[OVER:] - total[:-OVER]) * 8e3 / (OVER * every)
    time = np.arange(OVER, length + 1) * SAMPLE / 1000
    # Averages whose samples lie in one span.
    span = np.ceil(time / SPAN) - 1
    inside = time - OVER * SAMPLE / 1000 >= span * SPAN
    fast, slow = (over[inside & (span % 2 == odd) & (span * SPAN >= BEFORE)] for odd in (0, 1))
    shown = (time >= BEFORE) & (time <= BEFORE + SHOWN)
    numbers = {f"gbps_{t:g}": float(y) for t, y in zip(time[shown], over[shown], strict=True)}
    numbers |= {"fast_mean": float(fast.mean()), "slow_mean": float(slow.mean())}
    numbers |= {"fast_best": float(fast.max()), "slow_least": float(slow.min())}
    return numbers | {"slow_below": float((slow < BELOW * SLOW).mean())}


def pings(run: tp.Run, in_slots: bool) -> dict[str, float]:
    """RTTs of pings in us: the sum of both directions, which start at the same time. Lost pings are
    counted and left out.

    With ``in_slots``, times count from the start of the slot that carries the ping; the wait for it
    is separate.
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
            # The last slot that opens before the arrival of the ping is the one that carries it.
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
        # Both directions are alike: the completion time of a single ping in the network.
        numbers["rtt_alone_us"] = 2 * float(flows["ideal_ps"].astype(float)[use].mean()) / 1e6
        numbers["wait_mean_us"] = float(wait[~lost].mean()) / 1e6
    return numbers


def pauses(run: tp.Run, paused: Sequence[float]) -> dict[str, float]:
    """From each time at which the sender pauses until the last packet before the pause has arrived, in
    us: mean and standard deviation.
    """
    flows = run.flows
    fct = flows["fct_ps"].astype(float)
    end = np.sort((flows["start_ps"] + fct)[~np.isnan(fct)]) / US
    late = []
    for at in paused:
        # Packets stop in the longest gap between arrivals.
        first, beyond = np.searchsorted(end, (at, at + 2 * PAUSE))
        arrived = end[first:beyond]
        late.append(float(arrived[np.argmax(np.diff(arrived))] - at))
    return {"pause_us": float(np.mean(late)), "pause_deviation_us": float(np.std(late)), "pauses": float(len(late))}


def skew(run: tp.Run) -> dict[str, float]:
    """By how much the time between the two packets of a pair differs at hosts from that at the sender,
    in us: percentiles of the absolute differences.
    """
    flows = run.flows
    use = flows["size_bytes"] == PACED
    start, to = flows["start_ps"][use], flows["destination"][use]
    end = start + flows["fct_ps"].astype(float)[use]
    order = np.lexsort((start, to))
    first, second = end[order][::2], end[order][1::2]
    differ = np.abs(second - first - APART) / 1e6
    return {f"skew_us_{q:g}": float(np.nanpercentile(differ, q)) for q in (*SHARES, 99)}


def progress(run: tp.Run, size: int) -> dict[str, float]:
    """Percentiles of the flows by the share of their bytes that has been acknowledged, at each sample.

    Flows have no row once they have finished.
    """
    table = run.tcp
    time, done = table["time_ps"], table["acknowledged_bytes"].astype(float) / size
    numbers = {}
    for t in np.unique(time):
        of = done[time == t]
        every = np.concatenate((of, np.ones(HOSTS * (HOSTS - 1) - len(of))))
        numbers |= {f"done_{q}_at_{t / 1e12:g}": float(np.percentile(every, q)) for q in (0, 5, 50, 95, 100)}
    return numbers


def measured(experiment: Experiment, run: tp.Run, summary: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a run."""
    names = ("completion_ps", "collisions", "retransmissions", "timeouts", "simulated_ps", "packet_hops", "dropped_packets")
    numbers = {name: count(summary.get(name)) for name in names}
    numbers["completion_s"] = numbers.pop("completion_ps") / 1e12
    numbers["simulated_s"] = numbers.pop("simulated_ps") / 1e12
    numbers["pfc_frames"] = control_frames(run)
    if experiment.name.startswith("fig9"):
        return numbers | pings(run, run.scheme_name == "tdma")
    if experiment.name.startswith("fig10_slots"):
        return numbers | slots_of_pings(run)
    if experiment.name.startswith("fig10"):
        return numbers | moments(run)
    if experiment.name == "fig12":
        return numbers | bandwidth(run, int(experiment.window[0].split()[0]) if experiment.window else 0)
    if experiment.name.startswith("fig11"):
        return numbers | block_rate(run)
    if experiment.name == "fig2":
        return numbers | pauses(run, experiment.paused)
    if experiment.name.startswith(("fig3", "fig4")):
        return numbers | skew(run)
    if "tcp_every" in experiment.record:
        numbers |= progress(run, experiment.size)
    return numbers | completions(run, "tree" in experiment.fabric["topology"])
