"""The experiments. Each is one scenario, a variant of ``scenario.toml``, with its own lists of
flows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from timeplane.studies import base_scenario, write_flows

from . import workloads
from .workloads import US, Row

FOLDER = Path(__file__).resolve().parent
FLOWS = "workload.flows.file"
PAUSED, CLOSED = "pause.0.what", "pause.0.closed"

Plan = Mapping[str, Any]


def length(us: float) -> str:
    """A time of so many microseconds in a scenario."""
    return f"{us:g} us"


RAW: Mapping[str, Any] = {"raw": {}}


def circuits(**changes: Any) -> Plan:
    """Cover-all with the prototype's period and control plane, but a scheduler that takes no
    time, and messages that take no bandwidth: the paper counts none.
    """
    return {"circuits": {"scheduler": "cover_all", "period": "1500 us", "dark": "30 us", "least_open": "130 us", "control": "unlimited"} | changes}


def ideal(**changes: Any) -> Plan:
    """Section 5.4: hosts react at once and messages take no time."""
    instant = {"control_latency": "0 ns", "compute_time": "0 ns", "signals": {"reaction": "immediate"}}
    return circuits(period="3000 us", dark="20 us", least_open="20 us", **instant, **changes)


@dataclass(frozen=True)
class Scheme:
    """A plan and the transport under it."""

    plan: Plan | None
    transport: Mapping[str, Any] = field(default_factory=lambda: RAW)


@dataclass(frozen=True)
class Experiment:
    """One scenario: schemes by name, and lists of flows by position on the figure's axis."""

    name: str
    schemes: Mapping[str, Scheme]
    fabric: Mapping[str, Any]
    #: Functions that make the lists when the experiment runs.
    flows: Mapping[float, Callable[[], list[Row]]]
    #: Measured interval; runs end with it.
    window: str
    #: A swept key in addition to the flows: dotted key and values.
    sweep: tuple[str, Sequence[Any]] | None = None
    #: Pauses of the hosts: kinds, and lengths in us, with :data:`OPEN6` between two of them. Every
    #: kind is run with every length.
    pauses: tuple[Sequence[str], Sequence[float]] | None = None
    #: Number of periods in the measured interval, from the first configuration to the last.
    periods: int = 0
    #: Number of seeds of the full study; 1 if nothing is random.
    seeds: int = 1

    def file(self, x: float) -> str:
        """The file of the list of flows at ``x``."""
        return f"{self.name}_{x:g}.csv"

    def x_of(self, file: str) -> float:
        """The position of a list on the axis."""
        return float(file.removeprefix(f"{self.name}_").removesuffix(".csv"))

    def write(self, folder: Path) -> None:
        """Writes all lists of flows."""
        for x, make in self.flows.items():
            write_flows(folder / self.file(x), make())

    def scenario(self, seeds: int) -> dict[str, Any]:
        """The scenario as nested dicts, with the keys of a scenario file."""
        values = base_scenario(FOLDER)
        values |= {"name": self.name, "seeds": seeds, "description": self.name}
        values["fabric"] |= self.fabric
        values["workload"] = {"flows": {"file": self.file(next(iter(self.flows)))}}
        values["window"] = {"measure": self.window, "drain": "0 ms"}
        values["sweep"] = {FLOWS: [self.file(x) for x in self.flows]}
        if self.sweep:
            values["sweep"][self.sweep[0]] = list(self.sweep[1])
        if self.pauses:
            kinds, lengths = self.pauses
            values["pause"] = [{"what": kinds[0], "closed": length(lengths[0]), "open": length(OPEN6)}]
            values["sweep"] |= {PAUSED: list(kinds), CLOSED: [length(of) for of in lengths]}
        values["scheme"] = {
            name: {"transport": dict(c.transport)} | ({"plan": dict(c.plan)} if c.plan else {}) for name, c in self.schemes.items()
        }
        return values


# Section 5.4: figures 10 and 11.

LINE = 100e9
#: Frames of twice the usual size halve the number of events; the shortest circuit still carries 83.
MTU54 = 3000
PERIOD54 = 3000
#: Time from the arrival of a period's demand to its start, us.
LATE54 = 4
SMALL = 20
D10 = (50.0, 60.0, 70.0, 75.0, 78.0, 80.0, 82.0, 84.0, 86.0, 86.7, 88.0, 89.0, 90.0, 92.0, 95.0, 97.0, 99.0, 99.5, 100.0)
N11 = (1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0, 30.0, 40.0, 50.0, 62.0)

PURE = Scheme(ideal(packets=False))
#: Circuits are paced to the capacity that the packet switch's demand leaves. All demand is known at
#: the start of a period. Demands have no circuit where that carries more.
REACTOR = Scheme(ideal(unreported=0.0, scheduler="cover_most"))
#: The same, with a circuit for every demand that the packet switch cannot carry.
COVERED = Scheme(ideal(unreported=0.0))
#: Circuits are always paced to 90 %, or never.
NINETY = Scheme(ideal(scheduler="cover_most"))
UNLIMITED = Scheme(ideal(scheduler="cover_most", limits=False))
#: If circuits get more than 90 %, bursts from the packet switch wait at the multiplexer.
FRAMES = 16
FRAMES_KEY = "fabric.topology.hybrid.multiplexer_frames"


def hybrid54(hosts: int, packet_rate: str) -> dict[str, Any]:
    """Hosts at 100 Gb/s. Pausing takes at most 5 us of the 20 us of a change."""
    hybrid = {"tors": hosts, "hosts_per_tor": 1, "packet_rate": packet_rate, "dark": {"fixed": "15 us"}}
    return {
        "topology": {"hybrid": hybrid | {"multiplexer_frames": FRAMES}},
        "rate": "100 Gb/s",
        "propagation": "0 ns",
        "mtu": f"{MTU54} B",
    }


def _fig10(name: str, schemes: Mapping[str, Scheme], rate: str, points: Sequence[float], hosts: int, periods: int) -> Experiment:
    def list_of(large: float) -> Callable[[], list[Row]]:
        return lambda: workloads.neighbors(
            hosts, workloads.large_and_small(large, SMALL), periods, PERIOD54, LINE, MTU54
        )

    flows = {x: list_of(x) for x in points}
    return Experiment(name, schemes, hybrid54(hosts, rate), flows, f"{periods * PERIOD54 + LATE54} us", periods=periods)


def _limits(name: str, schemes: Mapping[str, Scheme], large: float, frames: Sequence[int], hosts: int, periods: int) -> Experiment:
    """One point of figure 10, by the capacity of a multiplexer."""
    return replace(_fig10(name, schemes, "10 Gb/s", (large,), hosts, periods), sweep=(FRAMES_KEY, list(frames)))


def _fig11(points: Sequence[float], hosts: int, periods: int) -> Experiment:
    def list_of(n: float) -> Callable[[], list[Row]]:
        return lambda: workloads.neighbors(hosts, workloads.large_and_small(90.0, int(n)), periods, PERIOD54, LINE, MTU54)

    flows = {x: list_of(x) for x in points if x + 1 < hosts}
    schemes = {"circuits": PURE, "reactor": REACTOR}
    return Experiment("fig11", schemes, hybrid54(hosts, "10 Gb/s"), flows, f"{periods * PERIOD54 + LATE54} us", periods=periods)


# The prototype: figures 6 to 9.

HOSTS = 8
RATE = 10e9
MTU = 1500
PERIOD = 1500
TCP: Mapping[str, Any] = {"tcp": {"min_rto": "200 ms"}}
PROTOTYPE = {"topology": {"hybrid": {"tors": 8, "hosts_per_tor": 1, "packet_rate": "1 Gb/s"}}}
ENDLESS = 4_000_000_000


#: Seven configurations of 214.3 us, whatever is waiting.
DAY7 = f"{PERIOD / 7 - 30:.6f} us"
TURNS7: Plan = {"scheduler": "round_robin", "day": DAY7}


def _fig7(name: str, schemes: Mapping[str, Plan], measures: Sequence[str]) -> Experiment:
    pairs = [(0, i, j, ENDLESS) for i in range(HOSTS) for j in range(HOSTS) if i != j]
    of = {scheme: Scheme(circuits(**{"acknowledgements": 0.99} | plan), TCP) for scheme, plan in schemes.items()}
    return Experiment(name, of, PROTOTYPE, {0.0: lambda: pairs}, measures[-1], sweep=("window.measure", list(measures)))


#: A schedule that is written by hand, with another order of configurations in each period.
REORDERED: Plan = {**TURNS7, "reorder": True, "limits": False}
#: The same with one order, with room for 1 Gb/s of packets, and one that follows the backlog.
OTHERS7: Mapping[str, Plan] = {
    "reordered": REORDERED,
    "one_order": {**TURNS7, "limits": False},
    "limits": {**TURNS7, "reorder": True},
    "by_backlog": {"limits": False},
}


#: The workload changes in the fourth period, 750 us after its start. Periods start this much after
#: the arrival of their demands.
FIG8_PERIODS, FIG8_LATE = 6, 12
FIG8_AT = 3 * PERIOD * US + (750 + FIG8_LATE) * US
INSTANT = {"compute_time": "0 us"}


def _fig8() -> Experiment:
    # Slightly more than a circuit of 470 us carries at the 9 Gb/s that packets leave.
    frames = 344
    flows = {0.0: lambda: workloads.groups(FIG8_AT, FIG8_PERIODS, PERIOD, frames, MTU, 1500)}
    window = f"{FIG8_PERIODS * PERIOD + 50} us"
    return Experiment("fig8", {"reactor": Scheme(circuits(**INSTANT))}, PROTOTYPE, flows, window, periods=FIG8_PERIODS)


#: Number of periods between two changes of flows.
FIG9_STEP = 24
SMALL_RATE = 96e6
#: Pairs return to packets if half of what these carry in a period is enough for them.
HYSTERESIS9 = 2.0


def _fig9(periods: int) -> Experiment:
    steps = [i * periods * PERIOD * US for i in range(7)]
    end = 7 * periods * PERIOD * US
    flows = {0.0: lambda: workloads.growing(steps, end, 9e9, SMALL_RATE, PERIOD, 30, MTU)}
    schemes = {"reactor": Scheme(circuits(**INSTANT)), "hysteresis": Scheme(circuits(**INSTANT, hysteresis=HYSTERESIS9))}
    return Experiment("fig9", schemes, PROTOTYPE, flows, f"{7 * periods * PERIOD} us")


#: Time between two circuits of a pair, or length of a pause; us.
PAUSES = (500, 1000, 2000, 3000)
DARK6 = 10
LOSSES = (0.0, 1e-4, 1e-3, 1e-2)
#: Links that a data frame crosses, and its time on them.
HOPS6 = 2
FRAME6 = 1538
SMALL6 = 1_000_000
#: Time between two pauses of hosts, us.
OPEN6 = 500
#: A pause that changes nothing, us.
NEVER6 = 0.001
#: Sizes of flows in slow start. At 10 Gb/s, the second one takes 40 ms.
SIZES6 = (10_000_000, 50_000_000)
KINDS6 = ("data", "acknowledgements", "both")
#: Buffers of hosts that are tuned for 10 Gb/s: at a pause of 3 ms, 3.75 MB are on their way.
TUNED: Mapping[str, Any] = {"tcp": {"min_rto": "200 ms", "receive_window": "32 MB", "window_growth": False}}
DATAGRAMS: Mapping[str, Any] = {"datagrams": {}}
STANDING = {"topology": {"single_switch": {"hosts": HOSTS}}}


def turns(pause: float, **changes: Any) -> Plan:
    """All seven matchings of eight hosts in turn: a pair's next circuit starts after ``pause``
    us.
    """
    open_ = (pause - 7 * DARK6) / 6
    # The period is a little longer than its configurations, so that rounding leaves none out.
    period = 7 * (open_ + DARK6) + 0.01
    spans = {"period": f"{period:.3f} us", "dark": f"{DARK6} us", "least_open": "10 us", "day": f"{open_:.3f} us", "compute_time": "10 us"}
    return circuits(scheduler="round_robin", **spans, **changes)


def _turns6(name: str, size: int, window: str, pauses: Sequence[int]) -> Experiment:
    """Circuits in turn. Stride 4, so a pair and its acknowledgements have their circuits at the
    same time.
    """
    fabric = {"topology": {"hybrid": PROTOTYPE["topology"]["hybrid"] | {"dark": {"fixed": "2 us"}}}}
    schemes: dict[str, Scheme] = {}
    for p in pauses:
        schemes[f"both_{p}"] = Scheme(turns(p), TCP)
        schemes[f"data_{p}"] = Scheme(turns(p, acknowledgements=0.99), TCP)
        schemes[f"raw_{p}"] = Scheme(turns(p))
        schemes[f"raw_data_{p}"] = Scheme(turns(p, acknowledgements=0.99))
    return Experiment(name, schemes, fabric, {0.0: lambda: workloads.stride(HOSTS, 4, size)}, window)


def _pauses6(name: str, sizes: Sequence[int], windows: Sequence[str], lengths: Sequence[float]) -> Experiment:
    """A standing path whose hosts pause, as in the paper. Flows of a finite size start one after the
    other within a pause and the time until the next one.
    """

    def list_of(size: int) -> Callable[[], list[Row]]:
        apart = 0 if size == ENDLESS else round((max(lengths) + OPEN6) * US / HOSTS)
        return lambda: [(host * apart, *row[1:]) for host, row in enumerate(workloads.stride(HOSTS, 4, size))]

    schemes = {"tcp": Scheme(None, TUNED), "datagrams": Scheme(None, DATAGRAMS)}
    sweep = ("window.measure", list(windows)) if len(windows) > 1 else None
    return Experiment(
        name, schemes, STANDING, {float(s): list_of(s) for s in sizes}, windows[0], sweep=sweep, pauses=(KINDS6, (NEVER6, *lengths))
    )


def bit_error(loss: float, hops: int) -> float:
    """The bit error rate of each link for which this share of full frames is lost on so many
    links.
    """
    return 1 - (1 - loss) ** (1 / (hops * FRAME6 * 8))


def _loss6(losses: Sequence[float], window: str, seeds: int) -> Experiment:
    """Data and acknowledgements paused for 1 ms, and never."""
    schemes = {"tcp": Scheme(None, TUNED)}
    flows = {0.0: lambda: workloads.stride(HOSTS, 4, ENDLESS)}
    sweep = ("fabric.bit_error", [bit_error(p, HOPS6) for p in losses])
    return Experiment("fig6_loss", schemes, STANDING, flows, window, sweep=sweep, pauses=(("both",), (NEVER6, 1000)), seeds=seeds)


def _duty(window: str) -> Experiment:
    """Configurations of 160 us, 30 us of them dark."""
    turns = Scheme(circuits(scheduler="round_robin", day="130 us", period="1120 us", limits=False))
    pairs = [(0, i, j, ENDLESS) for i in range(HOSTS) for j in range(HOSTS) if i != j]
    return Experiment("duty", {"raw": turns}, PROTOTYPE, {0.0: lambda: pairs}, window)


HYBRID = {"circuits": PURE, "reactor": REACTOR}
FULL = [
    _fig10("fig10", HYBRID | {"covered": COVERED}, "10 Gb/s", D10, 64, 3),
    _fig10("fig10_20", {"reactor": REACTOR}, "20 Gb/s", D10, 64, 3),
    _fig11(N11, 64, 3),
    _limits("limits", {"ninety": NINETY, "unlimited": UNLIMITED}, 90.0, (1, 2, 4), 64, 3),
    _limits("limits95", {"reactor": REACTOR}, 95.0, (1, 4, 16), 64, 3),
    _fig7("fig7", {"reordered": REORDERED}, ("300 ms", "3000 ms")),
    _fig7("fig7_others", OTHERS7, ("75 ms", "150 ms")),
    _fig8(),
    _fig9(FIG9_STEP),
    _turns6("fig6_large", ENDLESS, "60 ms", PAUSES),
    _turns6("fig6_small", SMALL6, "60 ms", PAUSES),
    _pauses6("fig6_slow_start", SIZES6, ("1 s",), PAUSES),
    _pauses6("fig6_steady", (ENDLESS,), ("100 ms", "200 ms"), PAUSES),
    _loss6(LOSSES, "1 s", 12),
    _duty("20 ms"),
]


def _quick(of: Experiment) -> Experiment:
    """A version that runs in seconds."""
    match of.name:
        case "fig10":
            return _fig10("fig10", HYBRID | {"covered": COVERED}, "10 Gb/s", (60.0, 86.7, 90.0, 99.5, 100.0), 24, 2)
        case "fig10_20":
            return _fig10("fig10_20", {"reactor": REACTOR}, "20 Gb/s", (60.0, 80.0, 90.0), 24, 2)
        case "fig11":
            return _fig11((1.0, 8.0, 20.0), 24, 2)
        case "limits":
            return _limits("limits", {"ninety": NINETY, "unlimited": UNLIMITED}, 90.0, (1, 2), 24, 2)
        case "limits95":
            return _limits("limits95", {"reactor": REACTOR}, 95.0, (1, 16), 24, 2)
        case "fig7":
            return _fig7("fig7", {"reordered": REORDERED}, ("15 ms", "30 ms"))
        case "fig7_others":
            return _fig7("fig7_others", OTHERS7, ("15 ms", "30 ms"))
        case "fig9":
            return _fig9(4)
        case "fig6_large" | "fig6_small":
            return _turns6(of.name, ENDLESS if of.name == "fig6_large" else SMALL6, "20 ms", (1000, 3000))
        case "fig6_slow_start":
            return _pauses6(of.name, SIZES6[:1], ("100 ms",), (1000, 3000))
        case "fig6_steady":
            return _pauses6(of.name, (ENDLESS,), ("10 ms", "20 ms"), (1000, 3000))
        case "fig6_loss":
            return _loss6((0.0, 1e-2), "20 ms", 2)
        case _:
            return replace(of)


QUICK = [_quick(of) for of in FULL]


def experiments(quick: bool) -> dict[str, Experiment]:
    """All experiments by name."""
    return {e.name: e for e in (QUICK if quick else FULL)}
