"""The experiments. Each is one scenario, a variant of ``scenario.toml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from timeplane.studies import base_scenario

FOLDER = Path(__file__).resolve().parent
LOAD = "workload.poisson.load"
SERVERS = 120

Plan = Mapping[str, Any] | None


def syn(**changes: Any) -> Plan:
    """Timeslots, max-min fair."""
    return {"timeslots": {"metric": "mmf", "control": "unlimited"} | changes}


def asy(**changes: Any) -> Plan:
    """Rates: each pair with a backlog requests the whole link; requests are scaled up and down.
    Buckets of two packets guarantee the rate; deeper ones change nothing more.
    """
    return {"rates": {"estimator": "backlogged", "normalizer": "scale_both", "depth": 2, "control": "unlimited"} | changes}


@dataclass(frozen=True)
class Experiment:
    """One scenario: schemes by name (the first is the baseline), loads, and differences from
    ``scenario.toml``.
    """

    name: str
    schemes: Mapping[str, Plan]
    loads: Sequence[float]
    #: Warm-up, measured interval, drain.
    window: tuple[str, str, str] = ("20 ms", "30 ms", "30 ms")
    #: Differences by dotted key.
    changes: Mapping[str, Any] = field(default_factory=dict)
    queues_every: str | None = None
    #: The interval at which received bytes are recorded; throughput is measured in windows of it.
    received_every: str | None = None
    #: Number of seeds of the full study: more where schemes are near each other.
    seeds: int = 3

    def scenario(self, seeds: int) -> dict[str, Any]:
        """The scenario as nested dicts, with the keys of a scenario file."""
        values = base_scenario(FOLDER)
        values |= {"name": self.name, "seeds": seeds, "sweep": {LOAD: list(self.loads)}}
        values["window"] = dict(zip(("warmup", "measure", "drain"), self.window, strict=True))
        values["scheme"] = {
            name: {"transport": {"datagrams": {}}} | ({"plan": plan} if plan else {}) for name, plan in self.schemes.items()
        }
        sampled = {"queues_every": self.queues_every, "received_every": self.received_every}
        values["record"] = {"latency": True} | {key: every for key, every in sampled.items() if every}
        for key, value in self.changes.items():
            _set(values, key, value)
        return values


def _set(values: dict[str, Any], key: str, value: Any) -> None:
    *path, last = key.split(".")
    for part in path:
        values = values.setdefault(part, {})
    values[last] = value


BOTH = {"syn": syn(), "asy": asy()}
#: With packets of several sizes a timeslot carries several of the pair's, up to a full one, as in
#: Fastpass; ``syn_packet`` carries one.
MIXED = {"syn": syn(fill="packets"), "syn_packet": syn(), "asy": asy()}


def metrics(**changes: Any) -> dict[str, Plan]:
    """SYN by each metric, and ASY. A pair sends the packet at the head of its queue (II-A), so its
    flows go in the order of arrival; in ``syn_srjf_flows`` the shortest goes first.
    """
    plans = {f"syn_{m}": syn(metric=m, flow_order="arrival", **changes) for m in ("ocf", "srjf", "mmf")}
    return plans | {"syn_srjf_flows": syn(metric="srjf", **changes), "asy": asy()}


ALL_LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
PARTIAL_LOADS = (0.2, 0.4, 0.5, 0.6, 0.65, 0.8, 0.95)
SHORTER = ("10 ms", "20 ms", "30 ms")
#: The only length that the paper gives is that of its traces, 100 ms.
TRACED = ("20 ms", "100 ms", "30 ms")
#: A full packet at 1 Gb/s.
SLOT = "12.304 us"
#: Hosts that start their timeslots together, or each at a phase of its own.
PHASES = {"syn": syn(), "syn_phase": syn(phase=SLOT), "asy": asy(), "asy_max_min": asy(normalizer="max_min"), "ecmp": None}
#: Timeslots of one, two and four full packets, which carry as many packets of the pair as fit, or
#: one.
LENGTHS = {
    f"syn_{fill}_{n}": syn(fill=fill, slot=f"{n * 12304} ns") for fill in ("packets", "packet") for n in (1, 2, 4)
}
#: Ten meters of cable.
CABLE = "50 ns"

ESTIMATORS = {
    "syn": syn(),
    "asy": asy(),
    "asy_scale_down": asy(normalizer="scale_down"),
    "asy_max_min": asy(normalizer="max_min"),
    "asy_proportional": asy(normalizer="proportional"),
    "asy_depth_1": asy(depth=1),
    "asy_horizon_1ms": asy(estimator={"horizon": "1 ms"}),
    "asy_arrivals_1ms": asy(estimator={"arrivals": "1 ms"}),
    "asy_horizon_1ms_down": asy(estimator={"horizon": "1 ms"}, normalizer="scale_down"),
}
FILLS = {"syn": syn(), "syn_packets": syn(fill="packets"), "syn_fragments": syn(fill="fragments"), "asy": asy()}

#: Imperfections: key in both plans, values (the first is the ideal), and the schemes that have it.
IMPERFECTIONS: Mapping[str, tuple[str, Sequence[Any], Sequence[str]]] = {
    "latency": ("control_latency", ("0 us", "10 us", "30 us", "100 us", "300 us", "1 ms"), ("syn", "asy")),
    "loss": ("control_loss", (0.0, 0.001, 0.01, 0.05), ("syn", "asy")),
    "clock": ("clock_error", ("0 us", "3 us", "12 us", "50 us"), ("syn",)),
    "compute": ("compute_time", ("0 us", "10 us", "100 us", "1 ms"), ("syn", "asy")),
}


def imperfect_name(scheme: str, kind: str, value: Any) -> str:
    """Name of a scheme that is ideal except for one imperfection."""
    return f"{scheme}_{kind}_{str(value).replace(' ', '').replace('.', 'p')}"


def imperfect(chosen: Mapping[str, Sequence[Any]] | None = None) -> dict[str, Plan]:
    """The ideal schemes, and schemes with one imperfection each: with all values, or those in
    ``chosen`` by kind.
    """
    plans: dict[str, Plan] = dict(BOTH)
    for kind, (key, values, who) in IMPERFECTIONS.items():
        for value in values[1:] if chosen is None else chosen.get(kind, ()):
            for scheme in who:
                make = syn if scheme == "syn" else asy
                # With slow responses, frequent repetitions of reports would be redundant.
                patience = {"report_every": "10 ms"} if value in ("300 us", "1 ms") else {}
                plans[imperfect_name(scheme, kind, value)] = make(**{key: value}, **patience)
    return plans


#: With 1,024 servers a run takes half a minute: one value of each kind, two of latencies.
SOME = {"latency": ("100 us", "1 ms"), "loss": (0.01,), "clock": ("12 us",), "compute": ("100 us",)}
SAMPLED = "100 us"
LARGE = {
    "fabric.topology": {"leaf_spine": {"leaves": 32, "hosts_per_leaf": 32, "spines": 4}},
    "fabric.uplink_rate": "8 Gb/s",
}

FULL = [
    Experiment("fixed", BOTH, ALL_LOADS, ("20 ms", "20 ms", "30 ms"), seeds=10),
    # Throughput in windows of a timeslot and of a millisecond.
    *(
        Experiment(f"fairness_{name}", BOTH, (0.05, 0.1, 0.15, 0.2, 0.4, 0.6, 0.8), ("20 ms", "20 ms", "10 ms"), received_every=every, seeds=10)
        for name, every in (("slot", SLOT), ("1ms", "1 ms"))
    ),
    Experiment(
        "incast",
        metrics(),
        (0.5, 0.8, 0.9),
        ("200 ms", "1 s", "500 ms"),
        {"workload.poisson.pattern": {"incast": {"receiver": 0}}},
        seeds=10,
    ),
    Experiment(
        "incast_bimodal",
        metrics(fill="packets"),
        (0.3, 0.5),
        ("200 ms", "1 s", "500 ms"),
        {"workload.poisson.pattern": {"incast": {"receiver": 0}}, "workload.poisson.packets": "bimodal"},
        seeds=10,
    ),
    Experiment("bimodal", MIXED, PARTIAL_LOADS, TRACED, changes={"workload.poisson.packets": "bimodal"}, seeds=5),
    # Starts with an empty network: above saturation, completion times grow with the measured
    # interval.
    Experiment("bimodal_long", MIXED, (0.8,), ("0 ms", "200 ms", "100 ms"), {"workload.poisson.packets": "bimodal"}),
    Experiment("web", MIXED, PARTIAL_LOADS, TRACED, changes={"workload.poisson.packets": "facebook_web"}, seeds=5),
    Experiment("alternating", MIXED, (0.4, 0.5, 0.6, 0.8, 0.95), SHORTER, changes={"workload.poisson.packets": "alternating"}),
    # The trace is stationary after 200 ms.
    *(
        Experiment(
            name,
            PHASES,
            (0.8,),
            ("200 ms", "100 ms", "30 ms"),
            {"record.latency_from": "first_switch", "fabric.propagation": propagation},
            queues_every=SAMPLED,
            seeds=10,
        )
        for name, propagation in (("trace", CABLE), ("trace_1us", "1 us"))
    ),
    Experiment("estimators", ESTIMATORS, (0.8,), ("20 ms", "20 ms", "20 ms"), queues_every=SAMPLED),
    Experiment("fill", FILLS, (0.4, 0.6, 0.65, 0.8), SHORTER, changes={"workload.poisson.packets": "bimodal"}),
    Experiment("slot_length", LENGTHS, (0.2, 0.95), SHORTER, changes={"workload.poisson.packets": "bimodal"}),
    Experiment("imperfect", imperfect(), (0.8,), ("20 ms", "20 ms", "20 ms")),
    Experiment("imperfect_1024", imperfect(SOME), (0.8,), ("3 ms", "3 ms", "4 ms"), LARGE),
    Experiment(
        "oversubscribed", BOTH | {"ecmp": None}, (0.2, 0.4, 0.5, 0.6), SHORTER, {"fabric.uplink_rate": "5 Gb/s"}
    ),
    Experiment(
        "fat_tree",
        BOTH | {"ecmp": None},
        (0.2, 0.4, 0.6, 0.8),
        SHORTER,
        {"fabric.topology": {"fat_tree": {"k": 8}}, "fabric.uplink_rate": "1 Gb/s"},
    ),
]


def _quick(of: Experiment) -> Experiment | None:
    """A version that runs in seconds."""
    loads = {"fixed": (0.2, 0.8), "fairness_slot": (0.1, 0.8), "fairness_1ms": (0.1, 0.8), "slot_length": (0.2, 0.8), "bimodal": (0.3, 0.8), "web": (0.2, 0.8), "oversubscribed": (0.5,), "fat_tree": (0.6,)}
    short = ("3 ms", "6 ms", "9 ms")
    small = replace(of, seeds=2, window=short, loads=loads.get(of.name, (0.8,)))
    match of.name:
        case "imperfect_1024" | "trace_1us":
            return None
        case "incast" | "incast_bimodal":
            return replace(small, window=("50 ms", "200 ms", "100 ms"))
        case "bimodal_long":
            return replace(small, window=("0 ms", "20 ms", "10 ms"))
        case "imperfect":
            return replace(small, schemes=imperfect({"latency": ("100 us",), "loss": (0.01,)}))
        case _:
            return small


QUICK = [small for small in map(_quick, FULL) if small]


def experiments(quick: bool) -> dict[str, Experiment]:
    """All experiments by name."""
    return {e.name: e for e in (QUICK if quick else FULL)}
