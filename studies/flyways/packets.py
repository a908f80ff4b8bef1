"""The gain that remains with packets instead of a fluid: with medium access, TCP, and a
controller that gets delayed reports.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import timeplane as tp
from timeplane import algorithms
from timeplane.studies import Options, write_flows

from . import simulated
from .arithmetic import DRAFT, bound, tcp_goodput
from .traces import TRACES

if TYPE_CHECKING:
    from .study import Outcome

RACKS = 16
#: Number of flows that the busiest rack sends or receives. Shares consist of whole flows, so fewer
#: flows make shares coarser.
FLOWS = 125
#: Rate of an uplink in bit/s, as in the fluid model; the hosts of a rack have twice that.
UPLINK = 10e9
#: Rate in bit/s of a single TCP flow at the fastest rate with a token.
LEFT = tcp_goodput(DRAFT, 24, "token", by_air=False)

Row = tuple[int, int, int, int]

#: Reports and plans ten times as often, without compute time.
OFTEN: Mapping[str, Any] = {"every": "1 ms", "report_every": "500 us", "compute_time": "0 us", "pointing": {"coordinated": {"steering": "1 us"}}}
#: Keys of plans. The first plans every 10 ms, gets reports every 5 ms, and points beams by wire.
FLYWAYS: Mapping[str, Mapping[str, Any]] = {
    "flyways": {},
    "often": OFTEN,
    "impatient": OFTEN,
    "trained": {"pointing": {"trained": {"sectors": 36}}},
    "standard": {"mac": "11ad-2012"},
}
#: Controllers that know all patterns, and that wait for measurements of racks without links: one
#: per rack in each interval, which is longer than a training of both ends. ``once`` sends each
#: packet once over the air, so that every disturbance is a loss.
MEASURED: Mapping[str, Mapping[str, Any]] = {"flyways": {}, "measured": {"measure_every": "2 ms"}, "once": {"retries": 0}}
#: Minimum TCP timeouts: Linux's, and one that is shorter than radio queues.
TIMEOUT, SHORT = "200 ms", "10 ms"


def hottest(matrix: np.ndarray) -> np.ndarray:
    """Demand between the racks with the most bytes."""
    which = np.sort(np.argsort(-(matrix.sum(0) + matrix.sum(1)), kind="stable")[:RACKS])
    return matrix[np.ix_(which, which)]


def cases(trace: str, count: int) -> list[np.ndarray]:
    """The demands of the trace's first cases, without empty ones."""
    return [matrix for matrix in map(hottest, TRACES[trace](count)) if matrix.max() > 0]


def lasting(matrix: np.ndarray, milliseconds: float) -> np.ndarray:
    """The demand, scaled so that the uplinks take this time for it, in whole bytes."""
    busiest = max(matrix.sum(0).max(), matrix.sum(1).max())
    return np.round(matrix * (milliseconds / 1000 * UPLINK / 8 / busiest))


def flows(matrix: np.ndarray) -> Iterator[Row]:
    """Flows of about equal sizes, all at the start."""
    size = max(matrix.sum(0).max(), matrix.sum(1).max()) / FLOWS
    for source, destination in zip(*np.nonzero(matrix), strict=True):
        total = int(matrix[source, destination])
        count = max(1, round(total / size))
        ends = [total * k // count for k in range(count + 1)]
        yield from ((0, int(source), int(destination), end - begin) for begin, end in itertools.pairwise(ends) if end > begin)


def scenario(trace: str, files: Sequence[str], seeds: int, plans: Mapping[str, Mapping[str, Any]] = FLYWAYS) -> dict[str, Any]:
    """A tree oversubscribed 1:2, without flyways and with these plans."""
    transport = lambda name: {"tcp": {"congestion": "dctcp", "initial_window": 4, "min_rto": SHORT if name == "impatient" else TIMEOUT}}
    return {
        "name": f"packets_{trace}" if plans is FLYWAYS else "measured",
        "description": f"The demand of {RACKS} racks, by wire and with flyways.",
        "seeds": seeds,
        "fabric": {
            "topology": {"tree": {"edges": RACKS, "hosts_per_edge": 1}},
            "rate": "20 Gb/s",
            "uplink_rate": "10 Gb/s",
            "propagation": "1 us",
            "mtu": "9000 B",
            "switch": {"buffer": {"per_port": "10 MB"}, "ecn": "300 kB"},
        },
        "workload": {"flows": {"file": files[0]}},
        "sweep": {"workload.flows.file": list(files)},
        "scheme": {"wired": {"transport": transport("wired")}}
        | {name: {"transport": transport(name), "plan": {"flyways": {"control": "unlimited"} | dict(keys)}} for name, keys in plans.items()},
    }


def lost_in_the_air(run: tp.Run) -> float:
    """Share of the packets that racks send over the air that are lost there."""
    drops, links = run.drops, run.links
    sent = int(links["sent_packets"][links["link"] >= 4 * RACKS].sum())
    lost = int(drops["packets"][(np.asarray(drops["reason"], str) == "air") & (drops["link"] >= 4 * RACKS)].sum())
    return lost / sent if sent else 0.0


def fill(
    trace: str, count: int, lengths: Sequence[float], seeds: int, plans: Mapping[str, Mapping[str, Any]] = FLYWAYS
) -> Callable[[Outcome, Options], None]:
    """A function that fills an outcome: lengths by scheme, for each case and seed. Gains are
    relative to the same demand by wire in the same model.
    """

    def all_cases(outcome: Outcome, options: Options) -> None:
        base, number = options.out / "flows", options.seeds or seeds
        places: dict[str, tuple[float, int]] = {}
        for case, matrix in enumerate(cases(trace, count)):
            for x in lengths:
                file = f"{'packets' if plans is FLYWAYS else 'measured'}_{trace}_{case}_{x:g}.csv"
                places[file] = x, case
                write_flows(base / file, flows(lasting(matrix, x)))
                if plans is MEASURED:
                    continue
                plan = algorithms.flyways(lasting(matrix, x), core=False)
                found = {"fluid_shorter": 1 - plan.ctd / plan.wired, "medium_shorter": 1 - bound(matrix, 1, LEFT / 1e9) / bound(matrix, 0)}
                outcome.add(x, "flyways", case * number, found)
        files = list(places)
        # Results do not treat a single file as a sweep.
        file_of = lambda run: run.point.get("workload.flows.file", files[0])
        every = list(simulated.runs(scenario(trace, files, number, plans), options, base))
        wired = {(file_of(run), run.seed): of["completion_ps"] for run, of in every if run.scheme_name == "wired"}
        for run, of in every:
            x, case = places[file_of(run)]
            links = run.links
            # Wires to hosts and to the root come first, in both directions.
            air = links["max_queue_bytes"][links["link"] >= 4 * RACKS]
            found = {
                "ms": of["completion_ps"] / 1e9,
                "shorter": 1 - of["completion_ps"] / wired[file_of(run), run.seed],
                "timeouts": of["timeouts"],
                "retransmissions": of["retransmissions"],
                "air_queue_mb": float(air.max(initial=0)) / 1e6,
            }
            if plans is MEASURED:
                found["air_lost"] = lost_in_the_air(run)
            outcome.add(x, run.scheme_name, case * number + run.seed - 1, found)

    return all_cases
