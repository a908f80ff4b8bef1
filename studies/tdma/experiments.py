"""The experiments. Each is one scenario, a variant of ``scenario.toml``."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeplane.studies import base_scenario, write_flows

from . import workloads
from .arithmetic import REACTIONS, least_guard
from .workloads import MS, US, Row

if TYPE_CHECKING:
    from .study import Outcome

FOLDER = Path(__file__).resolve().parent
FLOWS = "workload.flows.file"

MB = 10**6
GB = 10**9
HOSTS, EDGES, UNDER = 24, 3, 8
#: us, on top of each other.
SLOT, GUARD = 300, 15
LINE = 10e9
BUFFERS = (40, 80, 160, 320, 640, 1_250, 2_500, 5_000, 10_000)
#: Where the memory of a switch is: at its inputs, as in the paper's, or at its outputs.
BUFFER_KEY, PORT_KEY = "fabric.switch.buffer.per_input", "fabric.switch.buffer.per_port"

SWITCH: Mapping[str, Any] = {"topology": {"single_switch": {"hosts": HOSTS}}}
TREE: Mapping[str, Any] = {"topology": {"tree": {"edges": EDGES, "hosts_per_edge": UNDER}}}
JUMBO: Mapping[str, Any] = {"mtu": "9000 B"}
USUAL: Mapping[str, Any] = {"mtu": "1500 B"}
#: The paper's switches cut through. Memories of inputs store whole packets, so this one has none.
CUT_THROUGH: Mapping[str, Any] = {"switch": {"latency": "1 us", "forwarding": "cut_through", "buffer": {"per_port": "640 kB"}}}
PER_PORT: Mapping[str, Any] = {"switch": {"latency": "1 us", "buffer": {"per_port": "640 kB"}}}
TCP: Mapping[str, Any] = {"transport": {"tcp": {"congestion": "cubic", "min_rto": "200 ms"}}}


def _reaction(name: str) -> Any:
    """The value of ``signals.reaction``: the slow one is drawn from all of the paper's averages."""
    if name != "user_space":
        return name
    least, most = REACTIONS[name]
    return {"times": {f"{to}_{bound}": f"{us:g} us" for to in ("off", "on") for bound, us in (("least", least), ("most", most))}}


def tdma(guard: float = GUARD, reaction: str = "interface", interfaces: str = "per_edge_switch", **changes: Any) -> dict[str, Any]:
    """Slots opened by control frames, from one interface of the controller per edge switch. Other
    messages take no bandwidth: the paper counts none.
    """
    signals = {"reaction": _reaction(reaction), "interfaces": interfaces}
    return {
        "transport": {"raw": {}},
        "plan": {"tdma": {"slot": f"{SLOT} us", "guard": f"{guard:g} us", "signals": signals, "control": "unlimited"} | changes},
    }


def clocks(guard: float = GUARD, **changes: Any) -> dict[str, Any]:
    """Slots by the hosts' clocks, which are exact."""
    return {"transport": {"raw": {}}, "plan": {"tdma": {"slot": f"{SLOT} us", "guard": f"{guard:g} us", "control": "unlimited"} | changes}}


@dataclass(frozen=True)
class Experiment:
    """One scenario: schemes by name, and one key that is swept."""

    name: str
    schemes: Mapping[str, Mapping[str, Any]]
    fabric: Mapping[str, Any]
    #: Bytes per pair in an all-to-all; 0 with lists of flows.
    size: int = 0
    #: Lists of flows by position on the figure's axis. They are made when the experiment runs, from
    #: the results of the experiment that it `follows`.
    flows: Mapping[float, Callable[..., list[Row]]] = field(default_factory=dict)
    follows: str = ""
    #: Whether a host's transfers of an all-to-all run one after the other.
    in_turn: bool = False
    #: Interval from which start times of an all-to-all are drawn.
    jitter: str = "100 us"
    #: Swept key and values; the index of a value is its position on the axis.
    sweep: tuple[str, Sequence[str]] | None = None
    #: Measured interval and drain; without them, runs end with the last flow.
    window: tuple[str, str] | None = None
    #: Rate changes of wires, and additional records.
    change: Sequence[Mapping[str, Any]] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    #: Times in us at which host 0 pauses for `PAUSE`.
    paused: Sequence[float] = ()
    seeds: int = 1

    def file(self, x: float) -> str:
        """The file of the list of flows at ``x``."""
        return f"{self.name}_{x:g}.csv"

    def x_of(self, point: Mapping[str, str]) -> float:
        """Position of a run on the axis."""
        if len(self.flows) > 1:
            file = point.get(FLOWS, self.file(next(iter(self.flows))))
            return float(file.removeprefix(f"{self.name}_").removesuffix(".csv"))
        # Results do not treat a single value as a sweep.
        key, values = self.sweep or ("", ["0"])
        return float(str(point.get(key, values[0])).split()[0])

    def write(self, folder: Path, outcomes: Mapping[str, Outcome]) -> None:
        """Writes all lists of flows."""
        before = [outcomes[self.follows]] if self.follows else []
        for x, make in self.flows.items():
            write_flows(folder / self.file(x), make(*before))

    def scenario(self, seeds: int) -> dict[str, Any]:
        """The scenario as nested dicts, with the keys of a scenario file."""
        values = base_scenario(FOLDER)
        values |= {"name": self.name, "seeds": seeds, "description": self.name}
        values["fabric"] |= self.fabric
        sweep: dict[str, Any] = {}
        if self.flows:
            values["workload"] = {"flows": {"file": self.file(next(iter(self.flows)))}}
            if len(self.flows) > 1:
                sweep[FLOWS] = [self.file(x) for x in self.flows]
        else:
            values["workload"] = {"shuffle": {"bytes": f"{self.size} B", "jitter": self.jitter, "in_turn": self.in_turn}}
        if self.change:
            values["change"] = [dict(change) for change in self.change]
        if self.paused:
            values["pause"] = [{"hosts": [0], "what": "data", "at": f"{at:.6f} us", "closed": f"{PAUSE} us"} for at in self.paused]
        if self.record:
            values["record"] = dict(self.record)
        if self.sweep:
            sweep[self.sweep[0]] = list(self.sweep[1])
        if sweep:
            values["sweep"] = sweep
        if self.window:
            values["window"] = {"measure": self.window[0], "drain": self.window[1]}
        values["scheme"] = {name: copy.deepcopy(dict(of)) for name, of in self.schemes.items()}
        return values


#: Bytes per pair in experiments with several seeds.
TCP_SIZE, SMALL_SIZE = 500 * MB, 100 * MB
BOTH: Mapping[str, Any] = {"tdma": tdma(), "tcp": TCP}
SLOTS: Mapping[str, Any] = {"tdma": tdma()}
KERNEL, BYPASS = ({"host": {"latency": latency}} for latency in ("kernel", "bypass"))


def _progress(name: str, fabric: Mapping[str, Any], size: int) -> Experiment:
    """TCP at the paper's size; with what has been acknowledged of each flow, over time."""
    return Experiment(name, {"tcp": TCP}, fabric | JUMBO, size, record={"tcp_every": f"{2 * size / (10 * GB):g} s"})


#: Guard times by reaction, us; the minimum of `arithmetic` is added.
GUARDS: Mapping[str, Sequence[float]] = {
    "immediate": (0, 2, 4, 6, 8),
    "interface": (0, 3, 6, 9, 11, 12, 15),
    "user_space": (0, 25, 50, 75, 95, 105, 120),
}
GUARD_KEY = "scheme.tdma.plan.tdma.guard"
#: The paper's guard time, and the one that `timeplane validate` asks for in the tree.
TREE_GUARDS = ("15 us", "30.2 us")
#: The paper's guard time in switches that cut through, and less than is needed there.
CUT_GUARDS = ("5 us", "15 us")


def least(reaction: str) -> float:
    """The minimum guard time in us, rounded up to a nanosecond."""
    return math.ceil(1000 * least_guard(reaction, HOSTS, 9000, LINE)) / 1000


def guards(reaction: str) -> list[float]:
    """The guard times to try."""
    return sorted({*GUARDS[reaction], least(reaction)})


def _guard(reaction: str, size: int, seeds: int) -> Experiment:
    values = [f"{g:g} us" for g in guards(reaction)]
    schemes = {"tdma": tdma(reaction=reaction)}
    return Experiment(f"guard_{reaction}", schemes, SWITCH | JUMBO, size, sweep=(GUARD_KEY, values), seeds=seeds)


#: Figure 2: bytes of a packet's payload, and the number of pauses.
PACKETS = (64, 512, 1500, 3000, 6000, 8900)
PAUSES = 60
PAIR: Mapping[str, Any] = {"topology": {"single_switch": {"hosts": 2}}}
#: Between two pauses, and their length, in us: longer than a packet takes on two links.
PAUSE_EVERY, PAUSE = 100, 40


def _fig2(pauses: int) -> Experiment:
    """One host sends packets of one size as fast as it can, and pauses at random times."""
    draw = random.Random(1)
    paused = [(i + 1 + draw.uniform(0, 0.5)) * PAUSE_EVERY for i in range(pauses)]
    end = (pauses + 2) * PAUSE_EVERY
    flows = {float(size): partial(workloads.stream, round(end * US * LINE / 8e12 / size), size) for size in PACKETS}
    datagrams = {"free": {"transport": {"datagrams": {}}}}
    return Experiment("fig2", datagrams, PAIR | JUMBO, flows=flows, window=(f"{end} us", "1 ms"), paused=paused)


#: Figures 3 and 4: a control packet's payload, the time between two of a pair (a slot), and
#: between pairs.
PACED, APART, EVERY = 26, (SLOT + GUARD) * US, 400 * US
#: Bytes that a datagram has besides its payload, on a link.
DATAGRAM = 66
LOADS = (0.1, 0.3, 0.5, 0.7, 0.9)
DATA = (200, 500, 1000, 1472, 4000, 8900)
#: Hosts see a frame as late as the paper's interfaces do by its figure 1.
SEEN: Mapping[str, Any] = {"times": {"send_least": "0 us", "send_most": "0 us", "receive_least": "2 us", "receive_most": "6 us"}}
FREE: Mapping[str, Any] = {"free": {"transport": {"datagrams": {}}, "host": {"latency": SEEN}}}


def _skew(name: str, fabric: Mapping[str, Any], pairs: int, points: Mapping[float, tuple[int, float]]) -> Experiment:
    """Pairs of control packets among data, by payload and load of the data."""
    flows = {
        x: partial(workloads.control_pairs, pairs, EVERY, APART, PACED, HOSTS, size, (size + DATAGRAM) * 8e12 / LINE, load)
        for x, (size, load) in points.items()
    }
    window = (f"{((pairs + 1) * EVERY + APART) / MS + 1:g} ms", "5 ms")
    return Experiment(name, FREE, fabric | JUMBO | PER_PORT, flows=flows, window=window)


def _skews(pairs: int) -> list[Experiment]:
    by_load = {load: (1472, load) for load in LOADS}
    # Uplinks of the tree carry what eight hosts send to other pods.
    inside = {load / 10: (1472, load / 10) for load in (0.25, 0.5, 1.0)}
    return [
        _skew("fig3", SWITCH, pairs, by_load | inside),
        _skew("fig3_tree", TREE, pairs, inside),
        _skew("fig4", SWITCH, pairs, {float(size): (size, 0.5) for size in DATA}),
    ]


#: Figure 9: pings of one small packet every 30 ms.
PING_EVERY, PING = 30 * MS, 64
ENDLESS = 4 * GB * 10
#: TCP's hosts use the kernel, those of TDMA do not. A ping is one packet without a handshake.
PING_TCP: Mapping[str, Any] = {"transport": {"tcp": {"congestion": "cubic", "min_rto": "200 ms", "handshake": False}}} | KERNEL
PING_CONTROLS: Mapping[str, Any] = {
    "tcp": PING_TCP,
    "tdma": clocks() | BYPASS,
    "outside": clocks(background={"rate": "100 Mb/s", "below": "1 kB"}) | BYPASS,
}


def _fig9(name: str, count: int, pings: bool) -> Experiment:
    """With pings, or the same without them."""
    flows = {0.0: lambda: workloads.beside(count if pings else 0, PING_EVERY, PING, ENDLESS)}
    window = (f"{(count + 1) * PING_EVERY // MS} ms", "0 ms")
    return Experiment(name, PING_CONTROLS, TREE | USUAL, flows=flows, window=window)


def _baseline(count: int) -> Experiment:
    """The paper's baseline: pings through the kernel, and no other traffic."""
    flows = {0.0: lambda: workloads.pings(count, PING_EVERY, PING_EVERY // 2, 1, 9, PING)}
    window = (f"{(count + 1) * PING_EVERY // MS} ms", "0 ms")
    return Experiment("fig9_baseline", {"tcp": PING_TCP}, TREE | USUAL, flows=flows, window=window)


#: Figure 10: times at which pings are sent, in us after the arrival of the frame that opens the
#: slot; the interface reacts after 2 to 6 us. Guard times in us: 0 shows the effect of the
#: paper's.
MOMENTS = (*range(30), *range(30, 60, 5), *range(60, 300, 20))
FIG10_GUARDS = (GUARD, 0)
#: Time from the start of a slot at the controller until its frame has arrived at a host, us: the
#: default of `control_latency`.
CONTROL = 20
#: Size of a packet that requests a slot; it differs from that of a ping to tell them apart.
ASKS = PING + 1


def _moments(each: int) -> list[int]:
    """The time of each ping."""
    return [moment for _ in range(each) for moment in MOMENTS]


def fig10_names(guard: float) -> tuple[str, str]:
    """The names of the experiment that finds slots, and of the one that pings in them."""
    return f"fig10_slots_{guard:g}", f"fig10_{guard:g}"


def _fig10(each: int, guard: float) -> list[Experiment]:
    """The same number of pings at each time. The first experiment only sends packets that
    request slots. The second has the same slots, and pings in them.
    """
    count = each * len(MOMENTS)
    window = (f"{(count + 1) * PING_EVERY // MS} ms", "0 ms")

    def asking() -> list[Row]:
        return workloads.beside(count, PING_EVERY, ASKS, ENDLESS)

    def pinging(before: Outcome) -> list[Row]:
        pings = []
        for source, destination in ((1, 9), (9, 1)):
            for i, moment in enumerate(_moments(each)):
                begin = round(before.mean(0, "tdma", f"slot_{source}_{i}"))
                pings.append((begin + (CONTROL + moment) * US, source, destination, PING))
        return asking() + pings

    first, then = fig10_names(guard)
    slots = Experiment(first, {"tdma": tdma(guard)}, TREE | JUMBO, flows={0.0: asking}, window=window)
    return [slots, Experiment(then, {"tdma": tdma(guard)}, TREE | JUMBO, flows={0.0: pinging}, follows=first, window=window)]


#: Figure 11: kB of a block. Some blocks fill their slots, others just do not.
BLOCKS = (10.0, 30.0, 100.0, 200.0, 360.0, 500.0, 720.0, 750.0, 1100.0, 1500.0, 3000.0, 10000.0)


def _fig11(blocks: Sequence[float], seeds: int) -> list[Experiment]:
    """Each block starts when the previous one has finished; or all blocks are queued at once."""
    values = [f"{b:g} kB" for b in blocks]
    sweep = ("workload.shuffle.bytes", values)
    return [
        Experiment("fig11", BOTH, SWITCH | JUMBO, MB, sweep=sweep, in_turn=True, seeds=seeds),
        Experiment("fig11_ahead", SLOTS, SWITCH | JUMBO, MB, sweep=sweep),
    ]


#: Figures 12 and 13: the receiver's wire has these rates (Gb/s) in turn, for so many ms each. The
#: RTT is 250 us, most of it in the hosts.
FAST, SLOW, SPAN = 10.0, 1.0, 10
MIDDLE: Mapping[str, Any] = {
    "topology": {"single_switch": {"hosts": 2}},
    "switch": {"latency": "117 us", "buffer": {"per_port": "160 kB"}},
}
FLAPPING = {"wires": {"wire": 1}, "at": f"{SPAN} ms", "rates": [f"{SLOW:g} Gb/s", f"{FAST:g} Gb/s"], "every": f"{SPAN} ms", "notice": "30 ms"}
#: TCP, without slots and in slots.
TCP_CONTROLS: Mapping[str, Any] = {"tcp": TCP, "tdma": tdma() | TCP}
#: Sampling interval of received bytes in us, and number of samples per average; ms that are skipped
#: while the first losses are repaired; ms in the figure.
SAMPLE, OVER, BEFORE, SHOWN = 500, 5, 300, 100
#: Minimum share of the slow rate: slots of whole frames with guard times leave 0.91 of it.
BELOW = 0.85


def _fig12(spans: int) -> Experiment:
    """One flow for a number of spans, and some before them."""
    flows = {0.0: lambda: [(0, 0, 1, ENDLESS)]}
    record = {"received_every": f"{SAMPLE} us"}
    window = (f"{BEFORE + spans * SPAN} ms", "0 ms")
    return Experiment("fig12", TCP_CONTROLS, MIDDLE | JUMBO, flows=flows, window=window, change=[FLAPPING], record=record)


def _all(
    full: int,
    tcp: int,
    small: int,
    buffers: Sequence[int],
    guard: int,
    pauses: int,
    pairs: int,
    pings: int,
    each: int,
    blocks: Sequence[float],
    spans: int,
    seeds: int,
) -> list[Experiment]:
    """Sizes of all experiments: bytes per pair, kB of buffers, number of pauses, of pairs of control
    packets, and of pings, pings at each time, kB of blocks, spans of a rate.
    """
    sweep = (BUFFER_KEY, [f"{b} kB" for b in buffers])
    return [
        # Under slots only the reactions of interfaces are random.
        Experiment("fig7", SLOTS, SWITCH | JUMBO, full),
        Experiment("fig8", SLOTS, TREE | JUMBO, full),
        # One seed at the paper's size, and several of a smaller one.
        _progress("fig7_tcp", SWITCH, full),
        _progress("fig8_tcp", TREE, full),
        Experiment("fig7_tcp_seeds", {"tcp": TCP}, SWITCH | JUMBO, tcp, seeds=seeds),
        Experiment("fig8_tcp_seeds", {"tcp": TCP}, TREE | JUMBO, tcp, seeds=seeds),
        Experiment("fig7_1500", BOTH, SWITCH | USUAL, small, seeds=seeds),
        Experiment("fig8_1500", BOTH, TREE | USUAL, small, seeds=seeds),
        Experiment("buffers", BOTH, SWITCH | JUMBO, small, sweep=sweep, seeds=seeds),
        Experiment("buffers_port", BOTH, SWITCH | JUMBO | PER_PORT, small, sweep=(PORT_KEY, sweep[1]), seeds=seeds),
        *(_guard(reaction, guard, seeds) for reaction in GUARDS),
        Experiment("guard_tree", SLOTS, TREE | JUMBO, guard, sweep=(GUARD_KEY, TREE_GUARDS), seeds=seeds),
        Experiment("guard_cut_through", SLOTS, SWITCH | JUMBO | CUT_THROUGH, guard, sweep=(GUARD_KEY, CUT_GUARDS), seeds=seeds),
        Experiment("guard_tree_cut_through", SLOTS, TREE | JUMBO | CUT_THROUGH, guard, sweep=(GUARD_KEY, CUT_GUARDS), seeds=seeds),
        _fig2(pauses),
        *_skews(pairs),
        _fig9("fig9", pings, True),
        _fig9("fig9_alone", pings, False),
        _baseline(pings),
        *(e for guard in FIG10_GUARDS for e in _fig10(each, guard)),
        *_fig11(blocks, seeds),
        _fig12(spans),
    ]


FULL = _all(10 * GB, TCP_SIZE, SMALL_SIZE, BUFFERS, 10 * MB, PAUSES, 20, 100, 5, BLOCKS, 50, 5)
QUICK = _all(50 * MB, 20 * MB, 5 * MB, (40, 160, 10_000), 2 * MB, 10, 2, 10, 1, (100.0, 360.0, 3000.0), 10, 1)


def experiments(quick: bool) -> dict[str, Experiment]:
    """The experiments by name."""
    return {e.name: e for e in (QUICK if quick else FULL)}
