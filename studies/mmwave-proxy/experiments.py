"""The experiments. Each is one scenario, a variant of ``scenario.toml``."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timeplane.studies import base_scenario

FOLDER = Path(__file__).resolve().parent

LINK_TRACE = "fabric.radio.link.0.trace"
LEVEL, TARGET = f"{LINK_TRACE}.level_dbm", f"{LINK_TRACE}.target"
QUEUE = "fabric.radio.queue.drop_tail.packets"
#: Values for parameters that the paper does not give: dBm, packets, packet error rates.
LEVELS, QUEUES, TARGETS = (-62.0, -64.0, -66.0, -68.0, -70.0), (300, 1000, 3000), (0.001, 0.01, 0.1)
#: Target error rate at which almost no packet is lost if the rate is selected every millisecond.
CLEAN = (1e-6,)
#: The default setting.
LEVEL_0, QUEUE_0, TARGET_0 = -66.0, 1000, 0.01
#: Nodes of the air link, from the access point to the device.
ACCESS_POINT, RADIO, DEVICE = 3, 4, 1
#: Headers and data of a packet, bytes.
HEADERS, DATA = 40, 8140
WIRE, REPORT = "20 ms", "20 ms"

#: Rooms by their differences from the link trace of ``scenario.toml``. In B as modeled the body
#: takes 27 dB in addition to the edges of its shadow, and the queue waits during an outage. The
#: others are alternatives that the paper may have used.
ROOMS: Mapping[str, Mapping[str, Any]] = {
    "a": {"room": "a"},
    "b": {"room": "b"},
    "b_lossy": {"room": "b", "in_outage": "lose"},
    "b_0": {"room": "b", "body_loss_db": 0.0},
    "a_clean": {"room": "a", "select_every": "1 ms"},
    "b_0_clean": {"room": "b", "body_loss_db": 0.0, "select_every": "1 ms"},
}
#: Names of rooms for tables and figures.
NAMES: Mapping[str, str] = {
    "a": "A",
    "b": "B",
    "b_lossy": "B, outages lose",
    "b_0": "B, body's edges",
    "a_clean": "A, no losses",
    "b_0_clean": "B, body's edges, no losses",
}


def tcp(**changes: Any) -> dict[str, Any]:
    """TCP without a proxy. Each packet is acknowledged. Only a queue of 10000 packets exceeds the
    receive window.
    """
    return {"transport": {"tcp": {"min_rto": "1 s", "receive_window": "64 MB", "window_growth": False, "delayed_ack": {"segments": 1}} | changes}}


def steered(policy: str, values: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """CUBIC under a policy of the proxy."""
    return tcp(hystart=False) | {"proxy": {"policy": {policy: dict(values or {})}, "report_delay": REPORT} | changes}


#: The constraint of the predictor's training in the fluid model: no less goodput than `proactive`.
BOLD = {"boldness": 0.75}
CUBIC = tcp(hystart=False)
REACTIVE, PROACTIVE, PREDICTED = steered("reactive"), steered("proactive"), steered("predicted", BOLD)
PROXIES: Mapping[str, Any] = {"reactive": REACTIVE, "proactive": PROACTIVE, "predicted": PREDICTED}
#: Variants of CUBIC that the paper may have used: early exit from slow start, and Linux's minimum
#: timeout.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "cubic": {"hystart": False},
    "cubic_hystart": {"hystart": True},
    "cubic_200ms": {"hystart": False, "min_rto": "200 ms"},
    "cubic_hystart_200ms": {"hystart": True, "min_rto": "200 ms"},
}
#: Both kinds of TCP, by the end of the names of schemes: with SACK, and without. The paper does not
#: say which it used; its TCP for ns-3 is of 2016, and ns-3 got SACK later.
KINDS: Mapping[str, str] = {"": "SACK", "_no_sack": "no SACK"}
CUBICS: Mapping[str, Any] = {name + kind: tcp(sack=not kind, **changes) for kind in KINDS for name, changes in VARIANTS.items()}


def _without_sack(scheme: Mapping[str, Any]) -> dict[str, Any]:
    return {**scheme, "transport": {"tcp": {**scheme["transport"]["tcp"], "sack": False}}}


#: The policies that are judged, on both kinds of TCP.
POLICIES: Mapping[str, Any] = {
    name + kind: _without_sack(scheme) if kind else scheme for kind in KINDS for name, scheme in (("reactive", REACTIVE), ("proactive", PROACTIVE))
}


def kind_of(scheme: str) -> str:
    """The end of a scheme's name that says which kind of TCP it has."""
    return "_no_sack" if scheme.endswith("_no_sack") else ""


def split(policy: str, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Like :func:`steered`, in the second half of a split connection. The simulated proxy
    accepts everything that the server sends. So the server's wire is only slightly faster than
    the air, and the proxy's wire is not a bottleneck.
    """
    graph = base_scenario(FOLDER)["fabric"]["topology"]["graph"]
    server, proxy, *_ = graph["links"]
    server["rate"], proxy["rate"] = "2 Gb/s", "100 Gb/s"
    return steered(policy, values, split_at=2) | {"fabric": {"topology": {"graph": graph}}}


def _queue(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"fabric": {"radio": {"queue": values}}}


ALL: Mapping[str, Any] = {
    **CUBICS,
    "newreno": tcp(congestion="new_reno"),
    "dctcp": tcp(congestion="dctcp") | _queue({"ecn": {"mark_at": 100, "packets": QUEUE_0}}),
    "bbr": tcp(congestion="bbr"),
    "codel": CUBIC | _queue({"codel": {"packets": QUEUE_0}}),
    **PROXIES,
    **POLICIES,
    "reactive_free": steered("reactive", hold=False),
    "reactive_split": split("reactive"),
    "proactive_split": split("proactive"),
    "predicted_split": split("predicted", BOLD),
}


def number(value: Any) -> float:
    """The number of a value with or without a unit."""
    return float(str(value).split()[0])


@dataclass(frozen=True)
class Experiment:
    """One scenario: schemes by name in one room, and keys that are swept."""

    name: str
    schemes: Mapping[str, Mapping[str, Any]]
    room: str = "b"
    seconds: float = 10
    seeds: int = 1
    #: Dotted keys and values; every combination is run.
    sweep: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    #: Whether a number at the end of a scheme's name is its position on the axis.
    numbered: bool = False
    #: Whether windows, goodput and round trips are recorded over time.
    over_time: bool = False
    #: Whether round trips are recorded by all readings, and not by segments only.
    readings: bool = False

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The combinations of the sweep, in order; one empty combination without a sweep."""
        return [dict(zip(self.sweep, values, strict=True)) for values in itertools.product(*self.sweep.values())]

    def place(self, point: Mapping[str, str], scheme: str) -> tuple[float, str]:
        """Position of a run on the axis, and the name of its scheme there. The position is the
        swept value, the number in the scheme's name or, with several swept keys, the number of
        the combination.
        """
        if self.numbered:
            of, _, end = scheme.rpartition("_")
            return (float(end), of) if end.isdecimal() else (0.0, scheme)
        if len(self.settings) == 1:
            return 0.0, scheme
        found = next(i for i, of in enumerate(self.settings) if all(number(v) == number(point.get(k, v)) for k, v in of.items()))
        if len(self.sweep) == 1:
            (value,) = self.settings[found].values()
            return number(value), scheme
        return float(found), scheme

    def queue_of(self, point: Mapping[str, str]) -> float:
        """Capacity of the access point's queue in packets."""
        return float(point.get(QUEUE, QUEUE_0))

    def way_back_of(self, point: Mapping[str, str]) -> float:
        """Time of an acknowledgement's way back in ms, on which nothing waits."""
        return number(point.get("fabric.propagation", WIRE))

    def delay_of(self, scheme: str) -> float:
        """Delay of a report in ms; 0 without a proxy."""
        proxy = self.schemes[scheme].get("proxy", {})
        return float(str(proxy.get("report_delay", "0 ms")).split()[0])

    def scenario(self, seeds: int) -> dict[str, Any]:
        """The scenario as nested dicts, with the keys of a scenario file."""
        values = base_scenario(FOLDER)
        values |= {"name": self.name, "seeds": seeds, "description": self.name}
        values["window"]["measure"] = f"{self.seconds:g} s"
        link_trace = values["fabric"]["radio"]["link"][0]["trace"]
        link_trace |= ROOMS[self.room]
        if self.sweep:
            values["sweep"] = {key: list(of) for key, of in self.sweep.items()}
        if self.over_time:
            values["record"] |= {"tcp_every": "10 ms", "received_every": "10 ms"}
        if self.readings:
            values["record"]["round_trips"] = True
        values["scheme"] = {name: copy.deepcopy(dict(of)) for name, of in self.schemes.items()}
        return values


#: Rooms of the published sweeps: the variants of B, each with its A.
PAIRS: Mapping[str, str] = {"b": "a", "b_lossy": "a", "b_0": "a", "b_0_clean": "a_clean"}
GRID = tuple(dict.fromkeys((*PAIRS.values(), *PAIRS)))
#: Rooms of the sweep without SACK: A, and the B that is judged.
NO_SACK_GRID = ("a", "b_0")
#: Sensitivity: ms of report delay, ms of the recovery timer, percent of lost messages.
DELAYS, TTRS, LOSSES = (0, 10, 20, 50, 100), (0, 200, 400, 800, 1200, 2000), (0, 10, 50, 90)
SIZES = (100, 300, 1000, 3000, 10000)
ROOMS_SHOWN = ("a", "b", "b_0")


def _numbered(make: Mapping[str, Any]) -> dict[str, Any]:
    return {"cubic": CUBIC, **make}


def _delays(delays: Sequence[int]) -> dict[str, Any]:
    policies = {"reactive": None, "proactive": None, "predicted": BOLD}
    return _numbered({f"{p}_{d}": steered(p, values, report_delay=f"{d} ms") for p, values in policies.items() for d in delays})


def _ttrs(ttrs: Sequence[int]) -> dict[str, Any]:
    return _numbered({f"proactive_{t}": steered("proactive", {"ttr": f"{t} ms"}) for t in ttrs})


def _losses(losses: Sequence[int]) -> dict[str, Any]:
    policies = {"reactive": None, "proactive": None, "predicted": BOLD}
    return _numbered({f"{p}_{x}": steered(p, values, loss=x / 100) for p, values in policies.items() for x in losses})


def _all(seeds: int, few: int, seconds: float, long: float, tail: float, levels: Sequence[float], queues: Sequence[int], targets: Sequence[float],
         delays: Sequence[int], ttrs: Sequence[int], losses: Sequence[int], sizes: Sequence[int]) -> list[Experiment]:  # fmt: skip
    grid = {room: {LEVEL: levels, QUEUE: queues, TARGET: CLEAN if room.endswith("clean") else targets} for room in GRID}
    with_sack = {name: of for name, of in (CUBICS | POLICIES).items() if not kind_of(name)}
    without = {name: of for name, of in (CUBICS | POLICIES).items() if kind_of(name)}
    four = {"cubic": CUBIC, **PROXIES}
    return [
        *(Experiment(f"main_{room}", ALL, room, seconds, seeds, over_time=True, readings=True) for room in ROOMS_SHOWN),
        *(Experiment(f"long_{room}", four, room, long, seeds) for room in ROOMS_SHOWN),
        # CUBIC sends fewer packets, so it runs longer to send as many.
        *(Experiment(f"tail_{room}", {"cubic": CUBIC}, room, tail, seeds) for room in ROOMS_SHOWN),
        *(Experiment(f"grid_{room}", with_sack, room, seconds, 1, grid[room], over_time=True) for room in GRID),
        # At the target that is judged, which keeps the number of runs small.
        *(Experiment(f"grid_no_sack_{room}", without, room, seconds, 1, {LEVEL: levels, QUEUE: queues}, over_time=True, readings=True)
          for room in NO_SACK_GRID),
        *(Experiment(f"delay_{room}", _delays(delays), room, seconds, few, numbered=True) for room in ROOMS_SHOWN),
        *(Experiment(f"ttr_{room}", _ttrs(ttrs), room, seconds, few, numbered=True) for room in ROOMS_SHOWN),
        *(Experiment(f"loss_{room}", _losses(losses), room, seconds, few, numbered=True) for room in ROOMS_SHOWN),
        *(Experiment(f"queue_{room}", four, room, seconds, few, {QUEUE: sizes}) for room in ROOMS_SHOWN),
        *(Experiment(f"wire_{room}", four, room, seconds, few, {"fabric.propagation": ("10 ms", "20 ms")}) for room in ROOMS_SHOWN),
    ]


FULL = _all(10, 3, 10, 72, 432, LEVELS, QUEUES, TARGETS, DELAYS, TTRS, LOSSES, SIZES)
QUICK = _all(2, 1, 8, 8, 16, (-66.0, -70.0), (1000,), (0.01,), (0, 20), (0, 800), (0, 50), (300, 1000))


def experiments(quick: bool) -> dict[str, Experiment]:
    """The experiments by name."""
    return {e.name: e for e in (QUICK if quick else FULL)}
