"""Computes the numbers of the figures from the tables of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import timeplane as tp
from timeplane.studies import Summary

from .experiments import ACCESS_POINT, DATA, DEVICE, HEADERS, RADIO, Experiment

MS, S = 10**9, 10**12
#: Percentiles of round trips.
PERCENTILES = (50.0, 99.0, 99.9, 99.999)
#: Interval over which goodput is averaged, and start of the connection that evaluations leave out,
#: in ms.
OVER, BEGIN = 100, 300
#: Interval of samples of windows and goodput, in ms.
EVERY = 10
#: Goodput in Mb/s below which it is "close to nothing" in figure 6.
NOTHING = 10.0
#: Time before and after a blockage that counts as around it, in ms.
AROUND = 500


#: What a round trip can be measured on, with the beginning of the names of its numbers.
READINGS: Mapping[str, str] = {"segment": "rtt", "acknowledgement": "ack", "delivery": "app"}


def quantity(percentile: float, reading: str = "segment") -> str:
    """The name of a percentile of round trips."""
    return f"{READINGS[reading]}_p{percentile:g}_ms"


@dataclass(frozen=True)
class RoundTrips:
    """Measured round trips: ends of intervals (ps), times (ms), and how many there are of each.
    Bins of times are 1.6 % wide and named by their lower end.
    """

    when: np.ndarray
    times: np.ndarray
    counts: np.ndarray


def round_trips(run: tp.Run, readings: bool, back_ms: float) -> dict[str, RoundTrips]:
    """Round trips by segment or by all ``readings``. A delivery in order is a way there, so
    ``back_ms`` is added.
    """
    if not readings:
        table = run.rtt
        times = table["rtt_ps"].astype(float) / MS
        return {"segment": RoundTrips(np.zeros(len(times), np.int64), times, table["packets"].astype(np.int64))}
    table = run.round_trips
    reading = np.array([str(r) for r in table["reading"]])
    found = {}
    for name in READINGS:
        own = reading == name
        times = table["rtt_ps"][own].astype(float) / MS + (back_ms if name == "delivery" else 0.0)
        found[name] = RoundTrips(table["time_ps"][own].astype(np.int64), times, table["packets"][own].astype(np.int64))
    return found


def bins(of: RoundTrips) -> tuple[np.ndarray, np.ndarray]:
    """Different times, and how many of each there are, in all intervals together."""
    times, place = np.unique(of.times, return_inverse=True)
    return times, np.bincount(place, weights=of.counts, minlength=len(times)).astype(np.int64)


def percentile(times: np.ndarray, counts: np.ndarray, percent: float) -> float:
    """The smallest time that at least this percentage does not exceed; ``nan`` without any."""
    total = int(counts.sum())
    if not total:
        return float("nan")
    order = np.argsort(times, kind="stable")
    within = np.cumsum(counts[order])
    return float(times[order][np.searchsorted(within, total * percent / 100 - 1e-9)])


def _percentiles(of: Mapping[str, RoundTrips]) -> dict[str, float]:
    return {quantity(p, reading): percentile(trips.times, trips.counts, p) for reading, trips in of.items() for p in PERCENTILES}


#: Number of resamples of the walks, from which the intervals of pooled percentiles come.
RESAMPLES = 1000


def pooled(parts: Sequence[tuple[np.ndarray, np.ndarray]], reading: str = "segment") -> dict[str, Summary]:
    """Percentiles over the packets of all seeds together, and the number of packets: ``parts`` has
    the times and counts of each seed.

    Each seed is a walk, and packets of a walk are not independent. So a 95 % interval is a
    bootstrap over walks; one walk has none.
    """
    bins = np.unique(np.concatenate([times for times, _ in parts]))
    counts = np.zeros((len(parts), len(bins)), np.int64)
    for of, (times, number) in zip(counts, parts, strict=True):
        np.add.at(of, np.searchsorted(bins, times), number)
    total = counts.sum(axis=0)
    limits = dict.fromkeys(PERCENTILES, (math.nan, math.nan))
    if len(parts) > 1:
        drawn = np.random.default_rng(1).multinomial(len(parts), np.full(len(parts), 1 / len(parts)), RESAMPLES) @ counts
        for p in PERCENTILES:
            found = [percentile(bins, of, p) for of in drawn]
            low, high = np.nanquantile(found, (0.025, 0.975))
            limits[p] = float(low), float(high)
    summaries = {f"all_{quantity(p, reading)}": Summary(percentile(bins, total, p), *limits[p], len(parts)) for p in PERCENTILES}
    packets = "packets" if reading == "segment" else f"packets_{READINGS[reading]}"
    return summaries | {packets: Summary(float(total.sum()), math.nan, math.nan, len(parts))}


def link_trace(run: tp.Run) -> tuple[np.ndarray, np.ndarray]:
    """The rate of the link to the device over time: times of changes (ps) and rates (bit/s). The
    rate is 0 while nothing gets through.
    """
    links, air = run.links, run.air
    (link,) = links["link"][(links["from"] == ACCESS_POINT) & (links["to"] == RADIO)]
    own = air["link"] == link
    carries = air["lost_ppm"][own] < 1_000_000
    return air["time_ps"][own].astype(np.int64), np.where(carries, air["rate_bps"][own], 0).astype(float)


def at(times: np.ndarray, values: np.ndarray, when: np.ndarray) -> np.ndarray:
    """Values of a step function at these times."""
    return values[np.maximum(np.searchsorted(times, when, side="right") - 1, 0)]


def integral(times: np.ndarray, values: np.ndarray, end: int) -> float:
    """Integral of a step function from 0 to ``end``, per second."""
    return float((np.diff(np.append(times, end)) * values).sum()) / S


def binned(when: np.ndarray, amounts: np.ndarray, every: int, end: int) -> np.ndarray:
    """Sums of samples, each taken at the end of its interval, in bins of ``every`` ps from 0 to
    ``end``.
    """
    sums = np.zeros(end // every)
    place = (when - 1) // every
    inside = place < len(sums)
    np.add.at(sums, place[inside], amounts[inside].astype(float))
    return sums


def longest(flags: Iterable[bool]) -> int:
    """Length of the longest run of true values."""
    most = now = 0
    for flag in flags:
        now = now + 1 if flag else 0
        most = max(most, now)
    return most


def lost(run: tp.Run) -> dict[str, float]:
    """Lost packets by reason: full queue, queue discipline, air."""
    drops = run.drops
    reasons = np.array([str(r) for r in drops["reason"]])
    return {f"lost_{name}": float(drops["packets"][reasons == reason].sum() if len(reasons) else 0)
            for name, reason in (("queue", "buffer_full"), ("aqm", "aqm"), ("air", "air"))}  # fmt: skip


def _longest(when: np.ndarray, values: np.ndarray, at_ends: np.ndarray) -> np.ndarray:
    """The largest value by the end of its interval; ``nan`` without any."""
    most = np.full(len(at_ends), -np.inf)
    place = np.searchsorted(at_ends, when)
    inside = place < len(at_ends)
    np.maximum.at(most, place[inside], values[inside])
    return np.where(np.isfinite(most), most, np.nan)


def over_time(run: tp.Run, of: Mapping[str, RoundTrips], end: int, times: np.ndarray, rates: np.ndarray) -> dict[str, np.ndarray]:
    """Every 10 ms: the channel's rate, goodput over 100 ms (Mb/s), the window (bytes) and the
    longest round trips of the interval (ms), those of segments without the width of bins.
    """
    tcp, received = run.tcp, run.received
    to = received["host"] == DEVICE
    each = binned(received["time_ps"][to].astype(np.int64), received["received_bytes"][to], EVERY * MS, end)
    over = OVER // EVERY
    total = np.concatenate((np.zeros(over), np.cumsum(each)))
    when = tcp["time_ps"].astype(np.int64)
    # The number of the sender over the air. In a split connection it is the second half, which has
    # the flow's number.
    own = tcp["flow"] == 0
    when = when[own]
    longest = {f"rtt_{name}": _longest(trips.when, trips.times, when) for name, trips in of.items() if len(of) > 1}
    goodput = (total[over:] - total[:-over]) * 8 / (OVER * 1000)
    place = np.clip(when // (EVERY * MS) - 1, 0, len(goodput) - 1)
    return {
        "s": when / S,
        "rate": at(times, rates, when) / 1e6,
        "goodput": goodput[place],
        "window": tcp["window_bytes"][own].astype(float),
        "rtt": tcp["longest_rtt_ps"][own].astype(float) / MS,
        "timeouts": tcp["timeouts"][own].astype(float),
        **longest,
    }


#: Names of the longest round trip around a blockage by reading.
PEAKS: Mapping[str, str] = {"segment": "peak_ms", "acknowledgement": "peak_ack_ms", "delivery": "peak_app_ms"}


def judged(
    trace: Mapping[str, np.ndarray], least: float, delay_ms: float, queue: float, times: np.ndarray, rates: np.ndarray, end: int
) -> dict[str, float]:
    """The numbers of a run that figures 6 to 8 are judged by; ``least`` is its shortest round trip
    in ms.
    """
    when = np.round(trace["s"] * S).astype(np.int64)
    settled = when >= BEGIN * MS
    numbers: dict[str, float] = {}
    # Figure 6: the window against what path and queue hold.
    product = at(times, rates, when) / 8 * least / 1000
    holds = product + queue * (DATA + HEADERS)
    numbers["window_over"] = float(np.nanmax(trace["window"] / np.maximum(holds, 1))) if len(when) else float("nan")
    numbers["over_s"] = float((trace["window"] > holds).sum()) * EVERY / 1000
    # Bins of 100 ms in which the link always carried traffic, at least a timeout of one second
    # after an outage.
    ends = np.arange(OVER * MS, end + 1, OVER * MS)
    place = np.minimum(np.searchsorted(when, ends), len(when) - 1)
    up = np.array([_least(times, rates, e - OVER * MS, e) > 0 for e in ends]) & (ends > BEGIN * MS)
    starved = up & (trace["goodput"][place] < NOTHING)
    numbers["starved_s"] = float(starved.sum()) * OVER / 1000
    numbers["starved_longest_s"] = float(longest(starved)) * OVER / 1000
    after = np.flatnonzero(np.diff(trace["timeouts"], prepend=0) > 0)
    numbers["rto_s"] = float(trace["s"][after[0]]) if len(after) else float("nan")
    # Not due to an outage: the link has carried traffic for 1.5 s.
    numbers["rtos_up"] = float(sum(_least(times, rates, int(when[i]) - 3 * S // 2, int(when[i])) > 0 for i in after))
    # Figure 7: the window against the last reported rate.
    known = at(times, rates, when - int(delay_ms * MS)) / 8 * least / 1000
    use = settled & (known > 0)
    numbers["follows"] = float((np.abs(trace["window"] / np.where(known > 0, known, 1) - 1) <= 0.1)[use].mean()) if use.any() else float("nan")
    # Figure 8.
    slower = np.flatnonzero(rates < rates.max())
    blocked = settled if not len(slower) else settled & (when >= times[slower[0]] - AROUND * MS) & (when <= _last(times, rates, end) + AROUND * MS)
    round_trip = np.where(blocked, trace["rtt"], np.nan)
    numbers["peak_ms"] = _most(round_trip)
    numbers |= {
        peak: _most(np.where(blocked, trace[f"rtt_{reading}"], np.nan))
        for reading, peak in PEAKS.items()
        if f"rtt_{reading}" in trace and reading != "segment"
    }
    flight = np.nan_to_num(trace["rtt"]) * MS
    clear = np.array([_least(times, rates, int(w - f) - EVERY * MS, int(w)) > 0 for w, f in zip(when, flight, strict=True)], bool)
    numbers["peak_clear_ms"] = _most(np.where(clear, round_trip, np.nan))
    return numbers


def _most(values: np.ndarray) -> float:
    return float(np.nanmax(values)) if np.isfinite(values).any() else float("nan")


def _last(times: np.ndarray, rates: np.ndarray, end: int) -> int:
    """The time from which the rate stays at its maximum."""
    slower = np.flatnonzero(rates < rates.max())[-1]
    return int(times[slower + 1]) if slower + 1 < len(times) else end


def _least(times: np.ndarray, rates: np.ndarray, begin: int, end: int) -> float:
    """The lowest rate in an interval."""
    first = max(int(np.searchsorted(times, begin, side="right")) - 1, 0)
    return float(rates[first : max(int(np.searchsorted(times, end)), first + 1)].min())


def measured(experiment: Experiment, run: tp.Run, of: Mapping[str, RoundTrips]) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """The numbers of a run with these round trips, and its values over time if they were
    recorded.
    """
    flows = run.flows
    end = round(experiment.seconds * S)
    times, rates = link_trace(run)
    carried = integral(times, rates, end) * DATA / (DATA + HEADERS) / experiment.seconds / 1e6
    # In a split connection, the half over the air.
    to = flows["destination"] == DEVICE
    got = flows["received_bytes"][to].astype(float).sum()
    goodput = float(got) * 8e-6 / experiment.seconds
    numbers = {"goodput_mbps": goodput, "capacity_mbps": carried, "use": goodput / carried if carried else float("nan")}
    numbers["outage_s"] = integral(times, (rates == 0).astype(float), end)
    numbers |= {"timeouts": float(flows["timeouts"][to].sum()), "retransmissions": float(flows["retransmissions"][to].sum())}
    numbers |= lost(run) | _percentiles(of)
    if not experiment.over_time:
        return numbers, {}
    trace = over_time(run, of, end, times, rates)
    queue = experiment.queue_of(run.point)
    least = float(of["segment"].times.min(initial=np.inf))
    return numbers | judged(trace, least, experiment.delay_of(run.scheme_name), queue, times, rates, end), trace
