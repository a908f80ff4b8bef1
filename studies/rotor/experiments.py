"""The experiments. Each is one scenario, on Opera's network or on a small one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from timeplane.studies import base_scenario, write_flows

from . import arithmetic, workloads
from .workloads import MS, NS, Row

FOLDER = Path(__file__).resolve().parent
FLOWS, LOAD = "workload.flows.file", "workload.poisson.load"

Keys = Mapping[str, Any]

# Settings that all experiments on Opera's network share. The fabric is that of `scenario.toml`.

RACKS, PER_RACK, SWITCHES, RATE, FRAME = 108, 6, 6, 10e9, 1500
HOSTS = RACKS * PER_RACK
#: A superslice of Opera (us), and the dark time of a switch. The published runs have two topology
#: files. The period of completion times in their logs is 108 superslices, which tells how long
#: these are: long enough for the queues of five hops in figure 7, of seven in figures 8 and 10.
SLICE, LONG_SLICE, DARK = 98.9, 138.3, "10 us"
#: Paths between two racks that packets choose from, in the same files: a shortest one, or five of
#: which no two share a circuit, as the published times of short flows in figure 9 show.
PATHS: Keys = {"shortest": {"paths": 1}}
LONG_PATHS: Keys = {"disjoint": {"paths": 5}}
#: Packets that a sender of NDP sends at once, and that wait at a port behind the one that is being
#: sent; Opera's queues of 8 and more count that one. Its scripts give static networks more of both,
#: and even more in the shuffle, where windows wait at their hosts for longer than 1 ms. Hosts of
#: the published simulator have no timeouts.
NDP: Keys = {"ndp": {"window": 20, "queue": 7}}
NDP_STATIC: Keys = {"ndp": {"window": 30, "queue": 45}}
NDP_CLOS_SHUFFLE: Keys = {"ndp": {"window": 40, "queue": 59, "rto": "1 s"}}
NDP_EXPANDER_SHUFFLE: Keys = {"ndp": {"window": 40, "queue": 45, "rto": "1 s"}}
#: Hosts of the published simulator send control packets and retransmissions first, and others in
#: the order of their arrival, so the first window of a flow leaves in a row. Ours serve flows in
#: turn by default.
AS_PUBLISHED: Keys = {"nic": {"discipline": "control_first"}}
#: Flows of more bytes wait for circuits, and so do all flows of the shuffle. Its 100 kB are 70
#: packets in Opera's simulator, which have 1436 B of payload there, and 1454 B here.
BULK, BULK_BESIDE_WEB, SHUFFLE = "15 MB", "30 MB", 70 * 1454
#: Ports of a packet switch that cost as much as a port of a rotor switch (Opera, appendix A).
ALPHA = 4 / 3
#: Classes of sizes: names and the bytes of their ends.
CLASSES: Mapping[str, tuple[float, float]] = {
    "under 10 kB": (0, 10e3),
    "10 to 100 kB": (10e3, 100e3),
    "100 kB to 1 MB": (100e3, 1e6),
    "1 to 15 MB": (1e6, 15e6),
}


def rotor(**changes: Any) -> dict[str, Any]:
    """The topology of Opera's network."""
    topology = base_scenario(FOLDER)["fabric"]["topology"]["rotor"]
    return {"rotor": topology | {"slice": f"{SLICE} us", "dark": DARK} | changes}


#: In the published simulator, hosts have equal parts of circuits and relay bulk, and void packets
#: fill their links between it.
LB: Keys = {"relay": "hosts", "share": "equal", "void_packets": True}


def opera(paths: Keys = PATHS, **changes: Any) -> Keys:
    """Opera: short flows over paths of the slice, bulk by RotorLB."""
    bulk = {"above": BULK, "routing": {"rotor_lb": LB}} | changes
    return {"transport": NDP, "rotor": {"routing": paths, "bulk": bulk}} | AS_PUBLISHED


def shuffled(**bulk: Any) -> Keys:
    """Opera in the runs with a shuffle, whose flows take one circuit only."""
    return opera(LONG_PATHS, also=f"{SHUFFLE} B", routing={"rotor_lb": {**LB, "relay": "off"}}, **bulk)


def rotor_lb(**keys: Any) -> Keys:
    """RotorLB alone."""
    return {"transport": {"datagrams": {}}, "rotor": {"routing": {"rotor_lb": keys}}}


ROTOR_LB = rotor_lb()
CLOS, EXPANDER = arithmetic.static_networks(HOSTS, 2 * PER_RACK, ALPHA)


def on(static: arithmetic.Static, transport: Keys) -> dict[str, Any]:
    """A scheme on a network of packet switches."""
    return {"transport": transport, "fabric": {"topology": static.topology}}


@dataclass(frozen=True)
class Experiment:
    """One scenario: schemes by name (the first is the baseline), and a workload or lists of flows
    by their position on the axis.
    """

    name: str
    #: The function of ``measures.py`` that computes its numbers.
    measured: str
    schemes: Mapping[str, Keys]
    #: Warm-up, measured interval and drain.
    window: tuple[str, str, str]
    fabric: Keys = field(default_factory=lambda: {"topology": rotor()})
    workload: Keys = field(default_factory=dict)
    #: Functions that make the lists when the experiment runs.
    lists: Mapping[float, Callable[[], list[Row]]] = field(default_factory=dict)
    #: A swept key of the workload: dotted key and values.
    sweep: tuple[str, Sequence[float]] | None = None
    record: Keys = field(default_factory=dict)
    seeds: int = 1

    def _file(self, x: float) -> str:
        return f"{self.name}_{x:g}.csv"

    def write(self, folder: Path) -> None:
        """Writes all lists of flows."""
        for x, make in self.lists.items():
            write_flows(folder / self._file(x), make())

    def place(self, point: Mapping[str, str]) -> float:
        """Position of a run on the axis."""
        if self.lists:
            name = point.get(FLOWS, self._file(next(iter(self.lists))))
            return float(name.removeprefix(f"{self.name}_").removesuffix(".csv"))
        return float(point[self.sweep[0]]) if self.sweep else 0.0

    def scenario(self, seeds: int) -> dict[str, Any]:
        """The scenario as nested dicts, with the keys of a scenario file."""
        values = base_scenario(FOLDER)
        values |= {"name": self.name, "description": self.name, "seeds": seeds, "scheme": dict(self.schemes)}
        values["fabric"] |= self.fabric
        values["window"] = dict(zip(("warmup", "measure", "drain"), self.window, strict=True))
        if self.record:
            values["record"] = dict(self.record)
        if self.lists:
            files = [self._file(x) for x in self.lists]
            values |= {"workload": {"flows": {"file": files[0]}}, "sweep": {FLOWS: files}}
        else:
            values["workload"] = dict(self.workload)
            if self.sweep:
                values["sweep"] = {self.sweep[0]: list(self.sweep[1])}
        return values


# Flow completion times by size (Opera, figure 7).

#: Payload of a full packet of NDP, whose headers have 46 B.
NDP_PAYLOAD = 1436
#: Hosts and hosts of a rack, where flows are those between racks.
OPERA_RACKS, CLOS_RACKS, EXPANDER_RACKS = (HOSTS, PER_RACK), (HOSTS, 9), (650, 5)
#: The flows of the published runs: for how long (s), and how many random numbers MATLAB had drawn
#: before those at load 1 %, at 10 %, and at 10 % for the expander.
CELLS_TIME = 10.001
DRAWN_1, DRAWN_10, DRAWN_EXPANDER = 0, 31_150, 2_204_493


def _list_of_cells(racks: tuple[int, int], load: float, drawn: int, until: float) -> list[Row]:
    """Flows of several packets have full ones only, as the published simulator sends them: the last
    packet of 3160 B has 288 B otherwise, and its flow would end by 0.9 us earlier.
    """
    rows = workloads.by_matlab(*racks, "datamining", load, RATE, until, drawn)
    return workloads.in_packets(rows, NDP_PAYLOAD)


def _cells(name: str, schemes: Mapping[str, Keys], racks: tuple[int, int], load: float, drawn: int, until: float = CELLS_TIME) -> Experiment:
    lists = {0.0: partial(_list_of_cells, racks, load, drawn, until)}
    return Experiment(name, "cells", schemes, ("0 ms", f"{until:g} s", "60 ms"), lists=lists)


EXPANDER_650 = {"expander": EXPANDER.topology["expander"] | {"hosts": EXPANDER_RACKS[0]}}
SCHEMES_LB: Mapping[str, Keys] = {"rotor_lb": rotor_lb(**LB)}
SCHEMES_OPERA: Mapping[str, Keys] = {"opera": opera()}
SCHEMES_CLOS: Mapping[str, Keys] = {"clos": on(CLOS, NDP_STATIC) | AS_PUBLISHED}
SCHEMES_EXPANDER: Mapping[str, Keys] = {"expander": {"transport": NDP_STATIC} | AS_PUBLISHED}

# A shuffle, alone (figure 8) and beside short flows (figure 10).

#: On the static networks, flows begin within this time (ms), as in the published lists: if all
#: began at once, all hosts would send to the same host first. Their throughput is measured after
#: 20 ms, when it does not change any more.
BEGIN, SATURATED = 10, (22, 32)
WEB_LOADS = (0.0001, 0.01, 0.025, 0.05, 0.07, 0.08, 0.09, 0.1)
#: Web search flows arrive for so long (ms) before the shuffle begins, and the runs end so long
#: after that.
WEB_BEFORE, WEB_AFTER = 30, 20
EVERY, WEB_EVERY = 1, 10


def _list_of_shuffle() -> list[Row]:
    return workloads.across(HOSTS, PER_RACK, SHUFFLE, NS)


def _list_of_staggered() -> list[Row]:
    return workloads.across(HOSTS, PER_RACK, SHUFFLE, 0, BEGIN * MS)


def _shuffle(name: str, schemes: Mapping[str, Keys], window: str, make: Callable[[], list[Row]]) -> Experiment:
    record = {"received_every": f"{EVERY} ms"}
    fabric = {"topology": rotor(slice=f"{LONG_SLICE} us")}
    return Experiment(name, "shuffle", schemes, ("0 ms", window, "0 ms"), fabric, lists={0.0: make}, record=record)


def _list_of_mixed(load: float) -> list[Row]:
    web = workloads.poisson(HOSTS, PER_RACK, "websearch", load, RATE, (WEB_BEFORE + WEB_AFTER) * MS)
    return web + workloads.across(HOSTS, PER_RACK, SHUFFLE, WEB_BEFORE * MS)


def _mixed(loads: Sequence[float]) -> Experiment:
    schemes = {"opera": shuffled(above=BULK_BESIDE_WEB)}
    lists = {load: partial(_list_of_mixed, load) for load in loads}
    window = ("0 ms", f"{WEB_BEFORE + WEB_AFTER} ms", "0 ms")
    fabric = {"topology": rotor(slice=f"{LONG_SLICE} us")}
    return Experiment("mixed", "mixed", schemes, window, fabric, lists=lists, record={"received_every": f"{WEB_EVERY} ms"})


# Theory: small networks with one host and one uplink in each rack.

#: A slice (us) fits 20 packets.
THEORY_SLICE = 24.01
#: With a dark time, a slice fits 100 packets, of which that takes ten.
EVEN_SLICE, EVEN_DARK = 120.01, 12
#: Backlogs have settled after this time.
THEORY_WARMUP = "12 ms"
VLB_RACKS, GRID_RACKS = 16, 64
#: Flows are full packets.
PACKET = 1454
PERMUTED = (0.1, 0.3, 0.5, 0.55, 0.6)
EVEN = (0.5, 0.85, 0.95)
#: Offered loads of Shale as shares of what theory says that it carries.
OFFERED = (0.02, 0.5, 0.9, 1.0, 1.1)
DIMENSIONS = (1, 2, 3)
DEEP = "100 MB"


def side(dimensions: int) -> int:
    """Racks along each dimension of the grid."""
    return round(GRID_RACKS ** (1 / dimensions))


def small(racks: int, matchings: Any, slice_: float = THEORY_SLICE, dark: float = 0) -> Keys:
    """A network of racks with one host and one uplink."""
    shape = {"racks": racks, "hosts_per_rack": 1, "switches": 1, "stepping": "together"}
    return {
        "topology": {"rotor": shape | {"slice": f"{slice_} us", "dark": f"{dark} us", "matchings": matchings}},
        "propagation": "0 ns",
    }


def _oblivious(routing: Keys) -> Keys:
    return {"transport": {"datagrams": {}}, "rotor": {"routing": routing, "queue": DEEP}}


def _carried(name: str, schemes: Mapping[str, Keys], fabric: Keys, pattern: str, loads: Sequence[float], window: str) -> Experiment:
    workload = {"poisson": {"load": loads[0], "pattern": pattern, "sizes": {"fixed": f"{PACKET} B"}}}
    return Experiment(name, "carried", schemes, (THEORY_WARMUP, window, "4 ms"), fabric, workload, sweep=(LOAD, loads))


def _permutation(window: str, loads: Sequence[float] = PERMUTED) -> Experiment:
    schemes = {"vlb": _oblivious({"vlb": {}}), "direct": _oblivious({"direct": {}}), "rotor_lb": ROTOR_LB}
    return _carried("permutation", schemes, small(VLB_RACKS, "round_robin"), "permutation", loads, window)


def _all_to_all(window: str, loads: Sequence[float] = EVEN) -> Experiment:
    schemes = {"direct": _oblivious({"direct": {}}), "rotor_lb": ROTOR_LB, "vlb": _oblivious({"vlb": {}})}
    return _carried("all_to_all", schemes, small(VLB_RACKS, "round_robin", EVEN_SLICE, EVEN_DARK), "uniform", loads, window)


def _shale(dimensions: int, window: str, offered: Sequence[float] = OFFERED) -> Experiment:
    fabric = small(GRID_RACKS, {"grid": {"dimensions": dimensions}})
    schemes = {"shale": _oblivious({"shale": {"dimensions": dimensions}})}
    most = arithmetic.shale_throughput(side(dimensions), dimensions)
    loads = [round(share * most, 4) for share in offered]
    return _carried(f"shale_{dimensions}", schemes, fabric, "uniform", loads, window)


# One demand for all networks.

#: Racks have five hosts and as many uplinks.
DEMAND_RACKS, DEMAND_PER_RACK, DEMAND_TIERS = 12, 5, 2
DEMAND_HOSTS, DEMAND_K = DEMAND_RACKS * DEMAND_PER_RACK, 2 * DEMAND_PER_RACK
DEMAND_LOADS = (0.2, 0.5, 0.8)
#: Most flows of a coflow, and bytes of all.
COFLOW_FLOWS, DEMAND_BYTES = 50, 1.5e9
#: Rate of REACToR's packet switch as a share of the hosts' rate.
PACKETS = 0.1
DEMAND_CLOS, DEMAND_EXPANDER = arithmetic.static_networks(DEMAND_HOSTS, DEMAND_K, ALPHA, DEMAND_TIERS)
#: A Clos that is not oversubscribed.
FULL = arithmetic.Static(
    {"leaf_spine": {"leaves": DEMAND_RACKS, "hosts_per_leaf": DEMAND_PER_RACK, "spines": DEMAND_PER_RACK}},
    arithmetic.clos_price(DEMAND_TIERS, DEMAND_PER_RACK, DEMAND_PER_RACK),
)
DCTCP: Keys = {"tcp": {"congestion": "dctcp", "preset": "datacenter"}}
PRICES: Mapping[str, float] = {
    "full": FULL.price,
    "clos": DEMAND_CLOS.price,
    "expander": DEMAND_EXPANDER.price,
    "opera": arithmetic.rotor_price(ALPHA),
    "rotornet": arithmetic.rotor_price(ALPHA),
    "vlb": arithmetic.rotor_price(ALPHA),
    "reactor": arithmetic.hybrid_price(ALPHA, DEMAND_TIERS, PACKETS),
}


def _rotors(**changes: Any) -> Keys:
    shape = {"racks": DEMAND_RACKS, "hosts_per_rack": DEMAND_PER_RACK, "switches": DEMAND_PER_RACK, "slice": "60 us", "dark": DARK}
    return {"topology": {"rotor": shape | changes}}


def _rotor_scheme(scheme: Keys, **changes: Any) -> Keys:
    return {**scheme, "fabric": _rotors(**changes)}


REACTOR: Keys = {
    "transport": {"raw": {}},
    "plan": {"circuits": {"scheduler": "solstice_refined", "period": "3 ms", "dark": "30 us", "least_open": "130 us"}},
    "fabric": {"topology": {"hybrid": {"tors": DEMAND_HOSTS, "hosts_per_tor": 1, "packet_rate": "1 Gb/s", "dark": "mordia"}}},
}
#: Packets that miss a slice wait for the same circuit.
VLB: Keys = {"transport": {"datagrams": {}}, "rotor": {"routing": {"vlb": {}}, "queue": DEEP, "late": "bounce"}}
DEMANDED: Mapping[str, Keys] = {
    "full": on(FULL, NDP),
    "clos": on(DEMAND_CLOS, NDP),
    "expander": on(DEMAND_EXPANDER, NDP),
    "opera": _rotor_scheme(
        {"transport": NDP, "rotor": {"routing": {"shortest": {"paths": 5}}, "bulk": {"above": "1 MB", "routing": {"rotor_lb": {}}}}},
        stepping="staggered",
        matchings={"random": {}},
    ),
    "rotornet": _rotor_scheme(ROTOR_LB, stepping="together", slice="100 us"),
    "vlb": _rotor_scheme(VLB, stepping="together", slice="4 us", dark="100 ns"),
    "reactor": REACTOR,
}
#: The plain network with other windows, queues and transports.
TUNED: Mapping[str, Keys] = {
    "full": on(FULL, NDP),
    "window_30": on(FULL, NDP_STATIC),
    "window_10": on(FULL, {"ndp": {"window": 10, "queue": 8}}),
    "dctcp": on(FULL, DCTCP)
    | {"fabric": {"topology": FULL.topology, "switch": {"ecn": "65 kB", "buffer": {"shared": {"memory": "10 MB", "alpha": 1.0}}}}},
}
DEMAND_FABRIC: Keys = {"topology": FULL.topology, "framing": "ethernet", "mtu": "1500 B"}
#: Longer than any run: all flows finish.
DEMAND_WINDOW = ("0 ms", "10 s", "0 ms")


def _fb2010(loads: Sequence[float], bytes_: float = DEMAND_BYTES) -> Experiment:
    lists = {x: partial(workloads.fb2010, DEMAND_RACKS, DEMAND_PER_RACK, COFLOW_FLOWS, x, RATE, bytes_) for x in loads}
    return Experiment("demand_fb2010", "coflows", DEMANDED, DEMAND_WINDOW, DEMAND_FABRIC, lists=lists)


def _projector(name: str, schemes: Mapping[str, Keys], loads: Sequence[float], bytes_: float = DEMAND_BYTES) -> Experiment:
    lists = {x: partial(workloads.projector, DEMAND_RACKS, DEMAND_PER_RACK, "websearch", x, RATE, bytes_) for x in loads}
    return Experiment(name, "demand", schemes, DEMAND_WINDOW, DEMAND_FABRIC, lists=lists)


FULL_SIZE = [
    _cells("cells_1", SCHEMES_OPERA, OPERA_RACKS, 0.01, DRAWN_1),
    _cells("cells_lb", SCHEMES_LB, OPERA_RACKS, 0.01, DRAWN_1),
    _cells("cells_10", SCHEMES_OPERA, OPERA_RACKS, 0.1, DRAWN_10),
    _cells("cells_10_clos", SCHEMES_CLOS, CLOS_RACKS, 0.1, DRAWN_10),
    replace(_cells("cells_10_expander", SCHEMES_EXPANDER, EXPANDER_RACKS, 0.1, DRAWN_EXPANDER), fabric={"topology": EXPANDER_650}),
    _shuffle("shuffle", {"opera": shuffled()}, "1 s", _list_of_shuffle),
    _shuffle(
        "shuffle_static",
        {"clos": on(CLOS, NDP_CLOS_SHUFFLE) | AS_PUBLISHED, "expander": on(EXPANDER, NDP_EXPANDER_SHUFFLE) | AS_PUBLISHED},
        f"{SATURATED[1]} ms",
        _list_of_staggered,
    ),
    _mixed(WEB_LOADS),
    _permutation("8 ms"),
    _all_to_all("9 ms"),
    *(_shale(h, "8 ms") for h in DIMENSIONS),
    _fb2010(DEMAND_LOADS),
    _projector("demand_projector", DEMANDED, DEMAND_LOADS),
    _projector("tuning", TUNED, DEMAND_LOADS[1:]),
]


#: Small networks for `--quick`: 18 racks of Opera's shape, and short windows.
QUICK_RACKS = 18


def _smaller(of: Experiment) -> Experiment:
    """A version that runs in seconds."""
    hosts = QUICK_RACKS * PER_RACK
    match of.name:
        case "cells_1" | "cells_lb" | "cells_10" | "cells_10_clos" | "cells_10_expander":
            small = _cells(of.name, _fewer(of.schemes, hosts), (hosts, PER_RACK), 0.05, DRAWN_1, 0.005)
            return replace(small, fabric={"topology": rotor(racks=QUICK_RACKS)})
        case "shuffle" | "mixed":
            at = WEB_BEFORE * MS if of.name == "mixed" else NS
            lists = {x: partial(workloads.across, hosts, PER_RACK, SHUFFLE, at) for x in of.lists}
            if of.name == "mixed":
                lists = {x: lists[x] for x in WEB_LOADS[:4]}
            return replace(of, fabric={"topology": rotor(racks=QUICK_RACKS)}, lists=lists, schemes=_fewer(of.schemes, hosts))
        case "shuffle_static":
            lists = {x: partial(workloads.across, hosts, PER_RACK, SHUFFLE, 0, BEGIN * MS) for x in of.lists}
            return replace(of, fabric={"topology": rotor(racks=QUICK_RACKS)}, lists=lists, schemes=_fewer(of.schemes, hosts))
        case "permutation" | "all_to_all" | "shale_1" | "shale_2" | "shale_3":
            assert of.sweep
            return replace(of, window=("0 ms", "1 ms", "4 ms"), sweep=(LOAD, of.sweep[1][:2]))
        case "demand_fb2010":
            return _fb2010(DEMAND_LOADS[:1], 20e6)
        case _:
            return _projector(of.name, of.schemes, DEMAND_LOADS[:1], 20e6)


def _fewer(schemes: Mapping[str, Keys], hosts: int) -> dict[str, Keys]:
    """Schemes for fewer hosts, with smaller networks of packet switches."""
    small_clos = {"leaf_spine": {"leaves": hosts // 9, "hosts_per_leaf": 9, "spines": 3}}
    shapes = {"clos": small_clos, "expander": EXPANDER.topology["expander"] | {"hosts": hosts}}
    shapes["expander"] = {"expander": shapes["expander"]}
    return {name: {**scheme, "fabric": {"topology": shapes[name]}} if name in shapes else scheme for name, scheme in schemes.items()}


QUICK = [_smaller(of) for of in FULL_SIZE]


def experiments(quick: bool) -> dict[str, Experiment]:
    """All experiments by name, in the order of the figures."""
    return {e.name: e for e in (QUICK if quick else FULL_SIZE)}
