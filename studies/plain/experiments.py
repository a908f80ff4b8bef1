"""The experiments. Each is one scenario, on the network of a paper or on that of
``scenario.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from timeplane.studies import base_scenario, write_flows

from . import workloads
from .workloads import Row

FOLDER = Path(__file__).resolve().parent
LOAD = "workload.poisson.load"
FLOWS = "workload.flows.file"

Scheme = Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """One scenario: schemes by name (the first is the baseline), and either loads of Poisson
    traffic or lists of flows.
    """

    name: str
    #: The function of ``measures.py`` that computes its numbers.
    measured: str
    schemes: Mapping[str, Scheme]
    #: Warm-up, measured interval, drain.
    window: tuple[str, str, str]
    loads: Sequence[float] = ()
    #: By position on the axis, such as a number of servers: a list of flows for each seed.
    lists: Mapping[int, Callable[[int], list[Row]]] = field(default_factory=dict)
    #: Instead of the fabric of ``scenario.toml``.
    fabric: Mapping[str, Any] = field(default_factory=dict)
    failure: Sequence[Mapping[str, Any]] = ()
    queues_every: str | None = None
    #: Number of seeds of the full study.
    seeds: int = 10

    def _file(self, x: int, seed: int) -> str:
        return f"{self.name}_{x}_{seed}.csv"

    def write(self, folder: Path, seeds: int) -> None:
        """Writes all lists of flows."""
        for x, make in self.lists.items():
            for seed in range(1, seeds + 1):
                write_flows(folder / self._file(x, seed), make(seed))

    def place(self, point: Mapping[str, str], seed: int) -> tuple[float, int]:
        """Position on the axis and seed of a run; a list of flows has its own seed."""
        if not self.lists:
            return float(point[LOAD]), seed
        _, x, own = point[FLOWS].removesuffix(".csv").rsplit("_", 2)
        return float(x), int(own)

    def scenario(self, seeds: int) -> dict[str, Any]:
        """The scenario as nested dicts, with the keys of a scenario file."""
        values = base_scenario(FOLDER)
        values |= {"name": self.name, "description": self.name, "seeds": seeds, "scheme": dict(self.schemes)}
        if self.fabric:
            values["fabric"] = dict(self.fabric)
        values["window"] = dict(zip(("warmup", "measure", "drain"), self.window, strict=True))
        if self.lists:
            files = [self._file(x, seed) for x in self.lists for seed in range(1, seeds + 1)]
            values |= {"seeds": 1, "workload": {"flows": {"file": files[0]}}, "sweep": {FLOWS: files}}
        else:
            values["sweep"] = {LOAD: list(self.loads)}
        if self.queues_every:
            values["record"] = {"queues_every": self.queues_every}
        if self.failure:
            values["failure"] = [dict(f) for f in self.failure]
        return values


def tcp(congestion: str, ecn: str | None = None, **tcp: Any) -> dict[str, Any]:
    """A scheme of TCP, with its own marking threshold if its switches mark."""
    nic, ecmp = tcp.pop("nic", None), tcp.pop("ecmp", None)
    scheme: dict[str, Any] = {"transport": {"tcp": {"congestion": congestion, "handshake": False} | tcp}}
    if ecn:
        scheme["fabric"] = {"switch": {"ecn": ecn}}
    if nic:
        scheme["nic"] = {"discipline": nic}
    return scheme | ({"ecmp": ecmp} if ecmp else {})


# DCTCP (SIGCOMM 2010).

#: "TCP New Reno (w/ SACK)" of 2010, without the loss detection of later years. Windows start at
#: the two packets with which the paper calculates (4.2.1). Queues of hosts are as everywhere.
OF_2010: Mapping[str, Any] = {"preset": "rfc", "initial_window": 2, "nic": "fair_queue"}
#: K = 20 packets of 1500 B.
K20, K5 = "30 kB", "7500 B"
#: A share of the free memory that gives one busy port up to 700 kB of 4 MB: 0.7 / (4 - 0.7).
TRIUMPH: Mapping[str, Any] = {"buffer": {"shared": {"memory": "4 MB", "alpha": 0.212}}}
STATIC: Mapping[str, Any] = {"buffer": {"per_port": "150 kB"}}
#: The paper calculates with 100 kB where it says 100 packets.
STATIC_100KB: Mapping[str, Any] = {"buffer": {"per_port": "100 kB"}}


#: Hosts of the testbed; host 0 receives.
HOSTS = 41


def testbed(switch: Mapping[str, Any]) -> dict[str, Any]:
    """One switch with links of 1 Gb/s. Four links' propagation makes a round trip of 0.1 ms, the
    lower of the paper's (3.4).

    Senders' clocks differ by up to 100 ppm, as IEEE 802.3 allows. If they were equal, a sender that
    fills its link would keep a full queue in step, and all packets of others would be lost (phase
    effects, Floyd and Jacobson 1992).
    """
    random = Random("clocks")
    rates = [1e9] + [1e9 * (1 + random.uniform(-100e-6, 100e-6)) for _ in range(1, HOSTS)]
    links = [{"nodes": [host, HOSTS], "rate": f"{rate:.0f} b/s"} for host, rate in enumerate(rates)]
    graph = {"hosts": HOSTS, "switches": 1, "links": links}
    return {"topology": {"graph": graph}, "rate": "1 Gb/s", "propagation": "20 us", "switch": dict(switch)}


QUEUES: Mapping[str, Scheme] = {
    "tcp": tcp("new_reno", **OF_2010),
    "dctcp": tcp("dctcp", K20, **OF_2010),
    "dctcp_k5": tcp("dctcp", K5, **OF_2010),
    "tcp_today": tcp("cubic"),
    "dctcp_today": tcp("dctcp", K20),
}

#: Segments of a short transfer (20 kB), and of an answer of 40 servers (25 kB).
CHUNK_WINDOW, ANSWER_WINDOW = 14, 18


def _open(window: int) -> dict[str, Any]:
    """Hosts whose connections are open, as the paper's are, with a window for all of the answer.
    Flows are connections here, so the window of 2010 is that of a connection's first transfer.
    """
    return {**OF_2010, "initial_window": window}


SHORTS: Mapping[str, Scheme] = {
    "tcp": tcp("new_reno", min_rto="10 ms", **OF_2010),
    "tcp_open": tcp("new_reno", min_rto="10 ms", **_open(CHUNK_WINDOW)),
    "dctcp": tcp("dctcp", K20, min_rto="10 ms", **OF_2010),
    "dctcp_open": tcp("dctcp", K20, min_rto="10 ms", **_open(CHUNK_WINDOW)),
    "dctcp_today": tcp("dctcp", K20, preset="datacenter"),
}
TEN: Mapping[str, Scheme] = {
    "tcp_10": tcp("new_reno", min_rto="10 ms", **OF_2010),
    "dctcp_10": tcp("dctcp", K20, min_rto="10 ms", **OF_2010),
}
INCASTS: Mapping[str, Scheme] = TEN | {
    "tcp_300": tcp("new_reno", min_rto="300 ms", **OF_2010),
    "tcp_200": tcp("new_reno", min_rto="200 ms", **OF_2010),
    "tcp_rack": tcp("new_reno", min_rto="10 ms", rack=True, tail_loss_probe=True, prr=True, f_rto=True, **OF_2010),
    "dctcp_300": tcp("dctcp", K20, min_rto="300 ms", **OF_2010),
    "cubic_today": tcp("cubic"),
    "dctcp_today": tcp("dctcp", K20, preset="datacenter"),
}
SHARED: Mapping[str, Scheme] = TEN | {
    "tcp_open": tcp("new_reno", min_rto="10 ms", **_open(ANSWER_WINDOW)),
    "dctcp_open": tcp("dctcp", K20, min_rto="10 ms", **_open(ANSWER_WINDOW)),
}
SERVERS = (2, 5, 10, 15, 20, 30, 35, 40)
#: Queries of a seed; the paper has 1000 in all.
QUERIES = 200
CHUNKS = 200


def _incast(name: str, schemes: Mapping[str, Scheme], switch: Mapping[str, Any], servers: Sequence[int], count: int) -> Experiment:
    return Experiment(
        name,
        "incast",
        schemes,
        ("0 ms", f"{3 * count} s", "10 s"),
        lists={n: partial(workloads.queries, n, HOSTS, count) for n in servers},
        fabric=testbed(switch),
    )


# pFabric (SIGCOMM 2013).

#: Switches and hosts of the paper's DCTCP. The propagation makes a round trip across the spine
#: 14.6 us with a full packet and its acknowledgement.
PFABRIC: Mapping[str, Any] = {
    "topology": {"leaf_spine": {"leaves": 9, "hosts_per_leaf": 16, "spines": 4}},
    "rate": "10 Gb/s",
    "uplink_rate": "40 Gb/s",
    "propagation": "1420 ns",
    "switch": {"buffer": {"per_port": "225 kB"}, "ecn": "22500 B"},
}
_PFABRIC_TCP: Mapping[str, Any] = {"initial_window": 12, "min_rto": "200 us", "delayed_ack": {"segments": 1}}
WEBSEARCH: Mapping[str, Scheme] = {
    "ecmp": tcp("dctcp", **_PFABRIC_TCP),
    "spraying": tcp("dctcp", ecmp="packet", **_PFABRIC_TCP),
}

# Packet spraying (INFOCOM 2013).

K = 8


def fat_tree(k: int) -> dict[str, Any]:
    """A fat tree of 1 Gb/s with the static buffers of the incast experiment."""
    return {"topology": {"fat_tree": {"k": k}}, "rate": "1 Gb/s", "propagation": "5 us", "switch": dict(STATIC)}


TODAY = {"ecmp": tcp("new_reno"), "spraying": tcp("new_reno", ecmp="packet")}
SPRAYING: Mapping[str, Scheme] = TODAY | {
    "ecmp_rfc": tcp("new_reno", preset="rfc", nic="fair_queue"),
    "spraying_rfc": tcp("new_reno", preset="rfc", nic="fair_queue", ecmp="packet"),
}


#: Some times the least timeout of 200 ms.
PERMUTATION = "1 s"


def _spraying(k: int, window: str) -> Experiment:
    return Experiment(
        "spraying",
        "spraying",
        SPRAYING,
        ("0 ms", window, "0 ms"),
        lists={k: partial(workloads.permutation, k**3 // 4)},
        fabric=fat_tree(k),
        queues_every="1 ms",
        seeds=5,
    )


def _failed(of: Experiment, k: int) -> Experiment:
    """The same with a failed link between a core switch and the first pod."""
    hosts = k**3 // 4
    link = {"between": [hosts + k * k // 2, hosts + k * k]}
    return replace(of, name="spraying_failed", schemes=TODAY, failure=[{"element": link, "at": "0 ms"}])


# Our own network.

_OPEN: Mapping[str, Any] = {"preset": "datacenter"}
MARKING: Mapping[str, Scheme] = {
    "k20": tcp("dctcp", "20 kB", **_OPEN),
    "k40": tcp("dctcp", "40 kB", **_OPEN),
    "k65": tcp("dctcp", "65 kB", **_OPEN),
    "k150": tcp("dctcp", "150 kB", **_OPEN),
    "handshake": tcp("dctcp", "20 kB", **_OPEN, handshake=True),
    "fifo": tcp("dctcp", "40 kB", preset="rfc", nic="fifo"),
    "fifo_handshake": tcp("dctcp", "40 kB", preset="rfc", handshake=True, nic="fifo"),
}
#: Marking thresholds of its schemes in kB.
THRESHOLDS: Mapping[str, int] = {"k20": 20, "k40": 40, "k65": 65, "k150": 150}

_QUEUE = {n: partial(workloads.long_flows, n, HOSTS) for n in (2, 20)}
FULL = [
    Experiment("queue", "queue", QUEUES, ("0 ms", "10 s", "0 ms"), lists=_QUEUE, fabric=testbed(TRIUMPH), queues_every="1 ms"),
    Experiment(
        "short",
        "short",
        SHORTS,
        ("0 ms", f"{2 + CHUNKS * 0.05:g} s", "100 ms"),
        lists={2: partial(workloads.short_beside_long, CHUNKS, HOSTS)},
        fabric=testbed(TRIUMPH),
    ),
    _incast("incast", INCASTS, STATIC, SERVERS, QUERIES),
    _incast("incast_100kB", TEN, STATIC_100KB, SERVERS, QUERIES),
    _incast("incast_shared", SHARED, TRIUMPH, SERVERS, QUERIES),
    Experiment("websearch", "flows", WEBSEARCH, ("10 ms", "30 ms", "30 ms"), loads=(0.3, 0.45, 0.6), fabric=PFABRIC),
    _spraying(K, PERMUTATION),
    _failed(_spraying(K, PERMUTATION), K),
    Experiment("marking", "flows", MARKING, ("5 ms", "40 ms", "20 ms"), loads=(0.3, 0.6, 0.8)),
]


def _quick(of: Experiment) -> Experiment:
    """A version that runs in seconds."""
    match of.name:
        case "queue":
            return replace(of, seeds=2, window=("0 ms", "3 s", "0 ms"))
        case "short":
            return replace(of, seeds=2, window=("0 ms", "3 s", "100 ms"), lists={2: partial(workloads.short_beside_long, 20, HOSTS)})
        case "spraying":
            return replace(_spraying(4, "50 ms"), seeds=2)
        case "spraying_failed":
            return replace(_failed(_spraying(4, "50 ms"), 4), seeds=2)
        case "websearch" | "marking":
            return replace(of, seeds=2, window=("1 ms", "3 ms", "10 ms"), loads=(0.3, 0.6))
        case name:
            switch = of.fabric["switch"]
            return replace(_incast(name, of.schemes, switch, (5, 20, 40), 10), seeds=2)


QUICK = [_quick(of) for of in FULL]


def experiments(quick: bool) -> dict[str, Experiment]:
    """All experiments by name."""
    return {e.name: e for e in (QUICK if quick else FULL)}
