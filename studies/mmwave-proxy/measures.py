"""From the tables of a run to the numbers that the figures show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

import timeplane as tp

from .experiments import ACCESS_POINT, DATA, DEVICE, HEADERS, RADIO, Experiment

MS, S = 10**9, 10**12
#: Of round trips, percent.
PERCENTILES = (50.0, 99.0, 99.9, 99.999)
#: Goodput is taken over so long, ms; the first so long is the connection's begin and is left out of
#: what is judged.
OVER, BEGIN = 100, 300
#: Windows and goodputs are taken so often, ms.
EVERY = 10
#: Mb/s: less than this is "close to nothing" in figure 6.
NOTHING = 10.0
#: Of the time around a blockage, ms before and after.
AROUND = 500


def quantity(percentile: float) -> str:
    """The name of a percentile of round trips."""
    return f"rtt_p{percentile:g}_ms"


def round_trips(run: tp.Run) -> tuple[np.ndarray, np.ndarray]:
    """Round trips, ms, and how many segments had them; bins are 1.6 % wide and named by their lower
    end.
    """
    table = run.rtt
    return table["rtt_ps"].astype(float) / MS, table["packets"].astype(np.int64)


def percentile(times: np.ndarray, counts: np.ndarray, percent: float) -> float:
    """The least time that so many percent do not exceed; ``nan`` where nothing was counted."""
    total = int(counts.sum())
    if not total:
        return float("nan")
    order = np.argsort(times, kind="stable")
    within = np.cumsum(counts[order])
    return float(times[order][np.searchsorted(within, total * percent / 100 - 1e-9)])


def _percentiles(times: np.ndarray, counts: np.ndarray) -> dict[str, float]:
    return {quantity(p): percentile(times, counts, p) for p in PERCENTILES}


def pooled(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    """Percentiles over the packets of all seeds together, and how many they are."""
    times, counts = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    return {f"all_{name}": value for name, value in _percentiles(times, counts).items()} | {"packets": float(counts.sum())}


def link_trace(run: tp.Run) -> tuple[np.ndarray, np.ndarray]:
    """From when on (ps) the link to the device has which rate, bit/s; 0 where nothing comes
    through.
    """
    links, air = run.links, run.air
    (link,) = links["link"][(links["from"] == ACCESS_POINT) & (links["to"] == RADIO)]
    own = air["link"] == link
    carries = air["lost_ppm"][own] < 1_000_000
    return air["time_ps"][own].astype(np.int64), np.where(carries, air["rate_bps"][own], 0).astype(float)


def at(times: np.ndarray, values: np.ndarray, when: np.ndarray) -> np.ndarray:
    """A link_trace's values at these times."""
    return values[np.maximum(np.searchsorted(times, when, side="right") - 1, 0)]


def integral(times: np.ndarray, values: np.ndarray, end: int) -> float:
    """Of a link_trace from 0 to ``end``, by seconds."""
    return float((np.diff(np.append(times, end)) * values).sum()) / S


def binned(when: np.ndarray, amounts: np.ndarray, every: int, end: int) -> np.ndarray:
    """Sums of what samples at the ends of intervals say, in bins of ``every`` ps from 0 to ``end``.
    """
    sums = np.zeros(end // every)
    place = (when - 1) // every
    inside = place < len(sums)
    np.add.at(sums, place[inside], amounts[inside].astype(float))
    return sums


def longest(flags: Iterable[bool]) -> int:
    """Of the stretches of true ones."""
    most = now = 0
    for flag in flags:
        now = now + 1 if flag else 0
        most = max(most, now)
    return most


def lost(run: tp.Run) -> dict[str, float]:
    """Packets by reason: a full queue, a discipline that sheds, the air."""
    drops = run.drops
    reasons = np.array([str(r) for r in drops["reason"]])
    return {f"lost_{name}": float(drops["packets"][reasons == reason].sum() if len(reasons) else 0)
            for name, reason in (("queue", "buffer_full"), ("aqm", "aqm"), ("air", "air"))}  # fmt: skip


def over_time(run: tp.Run, end: int, times: np.ndarray, rates: np.ndarray) -> dict[str, np.ndarray]:
    """Every 10 ms: the channel's rate, goodput over 100 ms (Mb/s), the window and the longest round
    trip of the samples (bytes, ms).
    """
    tcp, received = run.tcp, run.received
    to = received["host"] == DEVICE
    each = binned(received["time_ps"][to].astype(np.int64), received["received_bytes"][to], EVERY * MS, end)
    over = OVER // EVERY
    total = np.concatenate((np.zeros(over), np.cumsum(each)))
    when = tcp["time_ps"].astype(np.int64)
    # The sender over the air: of a split connection that of the second half, whose number is the
    # flow's.
    own = tcp["flow"] == 0
    when = when[own]
    goodput = (total[over:] - total[:-over]) * 8 / (OVER * 1000)
    place = np.clip(when // (EVERY * MS) - 1, 0, len(goodput) - 1)
    return {
        "s": when / S,
        "rate": at(times, rates, when) / 1e6,
        "goodput": goodput[place],
        "window": tcp["window_bytes"][own].astype(float),
        "rtt": tcp["longest_rtt_ps"][own].astype(float) / MS,
        "timeouts": tcp["timeouts"][own].astype(float),
    }


def judged(
    trace: Mapping[str, np.ndarray], run: tp.Run, delay_ms: float, queue: float, times: np.ndarray, rates: np.ndarray, end: int
) -> dict[str, float]:
    """What figures 6 to 8 say of a run in numbers."""
    when = np.round(trace["s"] * S).astype(np.int64)
    settled = when >= BEGIN * MS
    least = round_trips(run)[0].min(initial=np.inf)
    numbers: dict[str, float] = {}
    # Figure 6: what the path and its queue hold, and the window.
    product = at(times, rates, when) / 8 * least / 1000
    holds = product + queue * (DATA + HEADERS)
    numbers["window_over"] = float(np.nanmax(trace["window"] / np.maximum(holds, 1))) if len(when) else float("nan")
    numbers["over_s"] = float((trace["window"] > holds).sum()) * EVERY / 1000
    # Bins of 100 ms in which the link carries all the time, and an outage has been over for a
    # second's timeout.
    ends = np.arange(OVER * MS, end + 1, OVER * MS)
    place = np.minimum(np.searchsorted(when, ends), len(when) - 1)
    up = np.array([_least(times, rates, e - OVER * MS, e) > 0 for e in ends]) & (ends > BEGIN * MS)
    starved = up & (trace["goodput"][place] < NOTHING)
    numbers["starved_s"] = float(starved.sum()) * OVER / 1000
    numbers["starved_longest_s"] = float(longest(starved)) * OVER / 1000
    after = np.flatnonzero(np.diff(trace["timeouts"], prepend=0) > 0)
    numbers["rto_s"] = float(trace["s"][after[0]]) if len(after) else float("nan")
    # Not one of an outage: the link has carried something all the time since a second and a half.
    numbers["rtos_up"] = float(sum(_least(times, rates, int(when[i]) - 3 * S // 2, int(when[i])) > 0 for i in after))
    # Figure 7: against the rate that was known.
    known = at(times, rates, when - int(delay_ms * MS)) / 8 * least / 1000
    use = settled & (known > 0)
    numbers["follows"] = float((np.abs(trace["window"] / np.where(known > 0, known, 1) - 1) <= 0.1)[use].mean()) if use.any() else float("nan")
    # Figure 8.
    slower = np.flatnonzero(rates < rates.max())
    blocked = (settled if not len(slower) else settled & (when >= times[slower[0]] - AROUND * MS) & (when <= _last(times, rates, end) + AROUND * MS))
    round_trip = np.where(blocked, trace["rtt"], np.nan)
    numbers["peak_ms"] = _most(round_trip)
    flight = np.nan_to_num(trace["rtt"]) * MS
    clear = np.array([_least(times, rates, int(w - f) - EVERY * MS, int(w)) > 0 for w, f in zip(when, flight, strict=True)], bool)
    numbers["peak_clear_ms"] = _most(np.where(clear, round_trip, np.nan))
    return numbers


def _most(values: np.ndarray) -> float:
    return float(np.nanmax(values)) if np.isfinite(values).any() else float("nan")


def _last(times: np.ndarray, rates: np.ndarray, end: int) -> int:
    """When the rate is the highest again for good."""
    slower = np.flatnonzero(rates < rates.max())[-1]
    return int(times[slower + 1]) if slower + 1 < len(times) else end


def _least(times: np.ndarray, rates: np.ndarray, begin: int, end: int) -> float:
    """The slowest rate in this time."""
    first = max(int(np.searchsorted(times, begin, side="right")) - 1, 0)
    return float(rates[first : max(int(np.searchsorted(times, end)), first + 1)].min())


def measured(experiment: Experiment, run: tp.Run) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Numbers of a run, and what it did over time where that was recorded."""
    flows = run.flows
    end = round(experiment.seconds * S)
    times, rates = link_trace(run)
    carried = integral(times, rates, end) * DATA / (DATA + HEADERS) / experiment.seconds / 1e6
    # Of a split connection the half over the air.
    to = flows["destination"] == DEVICE
    got = flows["received_bytes"][to].astype(float).sum()
    goodput = float(got) * 8e-6 / experiment.seconds
    numbers = {"goodput_mbps": goodput, "capacity_mbps": carried, "use": goodput / carried if carried else float("nan")}
    numbers["outage_s"] = integral(times, (rates == 0).astype(float), end)
    numbers |= {"timeouts": float(flows["timeouts"][to].sum()), "retransmissions": float(flows["retransmissions"][to].sum())}
    numbers |= lost(run) | _percentiles(*round_trips(run))
    if not experiment.over_time:
        return numbers, {}
    trace = over_time(run, end, times, rates)
    queue = experiment.queue_of(run.point)
    return numbers | judged(trace, run, experiment.delay_of(run.scheme_name), queue, times, rates, end), trace
