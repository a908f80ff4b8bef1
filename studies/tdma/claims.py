"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from timeplane.studies import Claims, Found, scale
from timeplane.studies.scale import Range

from .arithmetic import COUNTED, ideal_switch, ideal_tree
from .experiments import (
    BELOW,
    EDGES,
    FAST,
    FIG10_GUARDS,
    GB,
    GUARD,
    GUARDS,
    HOSTS,
    LINE,
    MOMENTS,
    PACKETS,
    SLOT,
    SLOW,
    UNDER,
    fig10_names,
    least,
)

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

#: Share of the windows from which something is frequent.
OFTEN = 0.1


def ideal(outcome: Outcome) -> float:
    """Ideal duration of the experiment's all-to-all in seconds, by its size and fabric."""
    size = outcome.experiment.size
    if "tree" in outcome.experiment.fabric["topology"]:
        return ideal_tree(EDGES, UNDER, size, LINE)
    return ideal_switch(HOSTS, size, LINE)


def ratio(outcome: Outcome, scheme: str, x: float = 0.0, quantity: str = "completion_s") -> Range:
    """A time relative to the ideal one."""
    return outcome.range(x, scheme, quantity).times(1 / ideal(outcome))


def size_of(outcome: Outcome) -> str:
    """Bytes of a pair, as text."""
    size = outcome.experiment.size
    return f"{size / GB:g} GB" if size >= GB else f"{size / 1e6:g} MB"


def ideals() -> Found:
    switch, tree = ideal_switch(HOSTS, 10 * GB, LINE), ideal_tree(EDGES, UNDER, 10 * GB, LINE)
    return f"{switch:.0f} s; {tree:.0f} s", scale.arithmetic((switch, tree) == (184, 1024))


def transfer(outcomes: Outcomes, name: str, phrase: str) -> Found:
    """The duration under TDMA; if the size is not the paper's, its ratio to the ideal is
    compared.
    """
    o, small = outcomes[name], outcomes[f"{name}_1500"]
    time = o.range(0, "tdma", "completion_s")
    text = f"{time.mean:.1f} s with {size_of(o)} ({ratio(o, 'tdma').mean:.3f} of the ideal), 9000 B frames"
    text += f"; with 1500 B frames {ratio(small, 'tdma').mean:.3f} of the ideal ({size_of(small)})"
    if collisions := o.mean(0, "tdma", "collisions"):
        text += f"; {collisions:.0f} collisions in switches, {o.mean(0, 'tdma', 'dropped_packets'):.0f} frames lost"
    return text, scale.matches(time.times(10 * GB / o.experiment.size), phrase)


def near(outcomes: Outcomes) -> Found:
    """Half of the flows among hosts under one switch, compared with half of the others."""
    text, agrees = [], []
    for name, scheme, title in (("fig8", "tdma", "TDMA"), ("fig8_tcp", "tcp", "TCP")):
        o = outcomes[name]
        inside, across = (ratio(o, scheme, quantity=f"{where}_50") for where in ("inside", "across"))
        last = ratio(o, scheme, quantity="inside_100")
        text.append(
            f"{title}: half of them after {inside.shown('.2f')} of the ideal, the last after {last.shown('.2f')}; "
            f"half of the others after {across.shown('.2f')}"
        )
        agrees.append(scale.higher(across.over(inside)))
    return "; ".join(text), scale.together(*agrees)


def tcp(outcomes: Outcomes, name: str, phrase: str) -> Found:
    """At the paper's size with one seed, and at a smaller one with several: both have to agree."""
    o, seeds, small = outcomes[f"{name}_tcp"], outcomes[f"{name}_tcp_seeds"], outcomes[f"{name}_1500"]
    of, dropped = ratio(o, "tcp"), o.mean(0, "tcp", "dropped_packets")
    most = ratio(o, "tcp", quantity="end_95")
    text = f"{of.shown('.2f')} with {size_of(o)} and 9000 B frames ({most.mean:.2f} until 95 % of the flows are done)"
    text += f", {dropped:.0f} frames lost, {o.mean(0, 'tcp', 'timeouts'):.0f} timeouts"
    text += f"; {ratio(seeds, 'tcp').shown('.2f')} with {size_of(seeds)}"
    text += f"; {ratio(small, 'tcp').mean:.2f} ({ratio(small, 'tcp', quantity='end_95').mean:.2f}) with {size_of(small)} and 1500 B frames"
    return text, scale.readings(scale.matches(of, phrase), scale.matches(ratio(seeds, "tcp"), phrase))


def together(outcomes: Outcomes, name: str, scheme: str) -> Found:
    """The first flow's end, and that of half of the flows, relative to the last flow's."""
    o = outcomes[name]
    first, half, last = (o.range(0, scheme, f"end_{share}") for share in (0, 50, 100))
    text = f"the first is done after {first.over(last).times(100).shown('.1f')} % of the time, half of them after {half.over(last).times(100).shown('.1f')} %"
    return text, scale.same(first.over(last)) if scheme == "tdma" else scale.above(last.over(first), scale.STATED)


def gain(outcomes: Outcomes) -> Found:
    found = [ratio(outcomes[name], "tdma").over(ratio(outcomes[f"{name}_tcp"], "tcp")) for name in ("fig7", "fig8")]
    shown = [f.minus(1).times(-100).shown(".1f") for f in found]
    text = f"{shown[0]} %; {shown[1]} %"
    return text, scale.together(*(scale.compares(f, "about 15 % shorter") for f in found))


def collisions(outcome: Outcome) -> dict[float, float]:
    """Mean number of collisions by guard time, us."""
    return {x: outcome.mean(x, "tdma", "collisions") for x in outcome.places}


def guard(outcomes: Outcomes) -> Found:
    """Collisions below and above the guard time that covers the variation of the reaction, the
    frame in transmission, and the skew of the controller's frames.
    """
    text, agrees = [], []
    for reaction in GUARDS:
        of = collisions(outcomes[f"guard_{reaction}"])
        enough = least(reaction)
        none = not any(count for x, count in of.items() if x >= enough)
        agrees.append(scale.holds(none and of[min(of)] > 0))
        worst = max((x for x, count in of.items() if count), default=0.0)
        text.append(
            f"{reaction.replace('_', ' ')}: {of[min(of)]:.0f} collisions without a guard, some up to {worst:g} us, "
            f"{'none' if none else 'some'} from the formula's {enough:g} us on"
        )
    of = collisions(outcomes["guard_tree"])
    text.append("tree, interface: " + ", ".join(f"{count:.0f} with {x:g} us" for x, count in of.items()))
    return "; ".join(text), scale.together(*agrees, scale.holds(not of[max(of)]))


def guard_15(outcomes: Outcomes) -> Found:
    """Collisions with the paper's guard time. Its switches cut through."""
    text, none = [], []
    for forwarding, one, tree in (("cut through", "cut_through", "tree_cut_through"), ("store and forward", "interface", "tree")):
        found = [collisions(outcomes[f"guard_{name}"]) for name in (one, tree)]
        none.append(not any(of[float(GUARD)] for of in found))
        text.append(f"switches that {forwarding}: {found[0][float(GUARD)]:.0f} collisions under one switch, {found[1][float(GUARD)]:.0f} in the tree")
        if forwarding == "cut through":
            less = min(found[1])
            text.append(f"with {less:g} us {found[0][less]:.0f} and {found[1][less]:.0f}")
    return "; ".join(text), scale.holds(none[0])


def pause(outcomes: Outcomes) -> Found:
    """A straight line through the mean delays explains nearly all of their variation."""
    o = outcomes["fig2"]
    found = [o.mean(size, "free", "pause_us") for size in PACKETS]
    slope, base = np.polyfit(PACKETS, found, 1)
    explained = float(np.corrcoef(PACKETS, found)[0, 1] ** 2)
    text = ", ".join(f"{size} B {delay:.1f}" for size, delay in zip(PACKETS, found, strict=True))
    text += f" us; {base:.1f} us and {1000 * slope:.2f} us per kB, which explains {100 * explained:.1f} % of the variation"
    return text, scale.holds(slope > 0 and explained > 0.95)


def _skews(outcome: Outcome) -> dict[float, tuple[float, float]]:
    """Percentiles 90 and 99 of the differences, by position on the axis."""
    return {x: (outcome.mean(x, "free", "skew_us_90"), outcome.mean(x, "free", "skew_us_99")) for x in outcome.places}


def skew(outcomes: Outcomes) -> Found:
    """The vast majority: 90 %; rarely: 1 %. The largest differences are compared."""
    by_load, by_size = _skews(outcomes["fig3"]), _skews(outcomes["fig4"])
    text = [
        "by load " + ", ".join(f"{x:g}: {y:.1f} ({z:.1f})" for x, (y, z) in by_load.items()),
        "by payload at load 0.5 " + ", ".join(f"{x:g} B: {y:.1f} ({z:.1f})" for x, (y, z) in by_size.items()),
    ]
    every = [*by_load.values(), *by_size.values()]
    most, rarely = (Range.point(max(of)) for of in zip(*every, strict=True))
    agrees = scale.together(scale.holds(most.within(10 / scale.STATED, 15 * scale.STATED)), scale.below(rarely, 20))
    return "; ".join(text) + " us: 90 % are below, and 99 % below the number in brackets", agrees


def skew_tree(outcomes: Outcomes) -> Found:
    """At loads that the tree's uplinks carry."""
    tree, single = _skews(outcomes["fig3_tree"]), _skews(outcomes["fig3"])
    text = ", ".join(f"load {x:g}: {y:.2f} us (one switch {single[x][1]:.2f} us)" for x, (_, y) in tree.items())
    return f"99 % below: {text}", scale.everywhere([scale.same(Range.point(y / single[x][1])) for x, (_, y) in tree.items()])


def rtt(outcomes: Outcomes) -> Found:
    """Without kernel bypass on either side, by 95th percentiles: the paper's own comparison."""
    o, baseline = outcomes["fig9"], outcomes["fig9_baseline"]
    without, other = baseline.range(0, "tcp", "rtt_us_95"), o.range(0, "tcp", "rtt_us_95")
    text = f"95th percentile {without.mean:.0f} us through the kernel in an empty network, {other.mean:.0f} us beside TCP: {other.mean / without.mean:.1f}x"
    text += f"; on average {o.mean(0, 'tdma', 'rtt_mean_us'):.1f} us in its slot with kernel bypass, {o.mean(0, 'outside', 'rtt_mean_us'):.1f} us"
    text += f" in a share outside the slots, {o.mean(0, 'tcp', 'rtt_mean_us'):.0f} us beside TCP"
    return text, scale.compares(without.over(other), "3x lower")


def kernel_gain(outcomes: Outcomes) -> Found:
    of = (outcomes[name].range(0, "tcp", "rtt_us_95") for name in ("fig9", "fig9_baseline"))
    ratio = Range.over(*of)
    return f"{ratio.shown('.1f')} times", scale.above(ratio, 3)


def kernel(outcomes: Outcomes) -> Found:
    of = outcomes["fig9_baseline"].range(0, "tcp", "rtt_us_95")
    return f"{of.mean:.0f} us; {outcomes['fig9_baseline'].mean(0, 'tcp', 'rtt_mean_us'):.0f} us on average", scale.matches(of, "170 us")


def rtt_mean(outcomes: Outcomes) -> Found:
    o = outcomes["fig9"]
    mean, alone = (o.range(0, "tdma", q) for q in ("rtt_mean_us", "rtt_alone_us"))
    # Ideal times leave out hosts, which take 2.5 us to send and 5 us to receive.
    empty = alone.minus(-15.0)
    wait = o.mean(0, "tdma", "wait_mean_us")
    text = f"{mean.mean:.2f} us; {empty.mean:.2f} us in an empty network; before that, {wait / 1000:.1f} ms of waiting for the slot"
    return text, scale.together(scale.matches(mean, "26 us"), scale.same(mean.over(empty)))


def ping_cost(outcomes: Outcomes) -> Found:
    pings, without = (outcomes[name].range(0, "tdma", "bulk_bytes") for name in ("fig9", "fig9_alone"))
    cost = without.over(pings).minus(1).times(100)
    return f"{cost.mean:.2f} %", scale.matches(cost, "about 1 %")


def later(outcomes: Outcomes) -> Found:
    """Whether the RTT falls during the slot, and is that of an empty network at its end."""
    text, agrees = [], []
    for guard in FIG10_GUARDS:
        o = outcomes[fig10_names(guard)[1]]
        mean, most = ([o.mean(0, "tdma", f"rtt_{name}_{m}") for m in MOMENTS] for name in ("mean", "most"))
        alone = o.mean(0, "tdma", "rtt_alone")
        last = max((m for m, y in zip(MOMENTS, most, strict=True) if y > alone * 1.001), default=-1)
        least = min((m for m in MOMENTS if m > last), default=math.inf)
        text.append(
            f"guard {guard:g} us: {mean[0]:.1f} us on average at the slot's begin, {max(most):.1f} us at most; "
            f"from {least:g} us on {alone:.2f} us, that of an empty network"
        )
        begin, end = (o.range(0, "tdma", f"rtt_mean_{m}") for m in (MOMENTS[0], MOMENTS[-1]))
        agrees += [scale.above(begin.over(end), scale.STATED), scale.same(end.over(o.range(0, "tdma", "rtt_alone")))]
    return "; ".join(text), scale.together(*agrees)


def curve(outcome: Outcome, scheme: str) -> dict[float, Range]:
    """Goodput of a host in Gb/s, by kB of a block."""
    return {x: outcome.range(x, scheme, "gbps") for x in outcome.places}


def _listed(of: Mapping[float, Range]) -> str:
    return ", ".join(f"{x:g} kB {y.mean:.1f}" for x, y in of.items())


def blocks_tcp(outcomes: Outcomes) -> Found:
    """The best block, as the paper gives the best one."""
    of = curve(outcomes["fig11"], "tcp")
    best = max(of.values(), key=lambda y: y.mean)
    return f"one block at a time: {_listed(of)} Gb/s; at best {best.shown('.1f')}", scale.matches(best, "about 4.5 Gb/s")


def blocks_tdma(outcomes: Outcomes) -> Found:
    """The paper does not say when blocks are handed over: both ways count.

    A block that only partly fills its last slot loses the rest of it. So among the larger blocks,
    only those that fill nine tenths of their slots tell whether only smaller blocks lose.
    """
    tcp = curve(outcomes["fig11"], "tcp")
    ways = {"all blocks handed over": curve(outcomes["fig11_ahead"], "tdma"), "one block at a time": curve(outcomes["fig11"], "tdma")}
    text = "; ".join(f"{name}: {_listed(of)}" for name, of in ways.items())
    full, agrees = SLOT * 1.25, []
    for of in ways.values():
        large = [x for x in of if x >= 0.9 * full]
        filled = [of[x] for x in large if x / (math.ceil(x / full) * full) >= 0.9]
        best = max(of.values(), key=lambda y: y.mean)
        higher = scale.everywhere([scale.higher(of[x].over(tcp[x])) for x in large])
        falls = scale.everywhere([scale.above(best.over(of[x]), scale.STATED) for x in of if x not in large])
        # All that is lost is lost by blocks that do not fill their slots.
        only = scale.everywhere([scale.same(y.over(best), scale.ABOUT) for y in filled])
        agrees.append(scale.together(higher, falls, only))
    return f"{text} Gb/s", scale.readings(*agrees)


def capacity_tcp(outcomes: Outcomes) -> Found:
    """Far from 10 Gb/s both on average and at best; a tenth of the windows or more is frequent."""
    o = outcomes["fig12"]
    fast, best, slow, below = (o.range(0, "tcp", q) for q in ("fast_mean", "fast_best", "slow_mean", "slow_below"))
    text = f"at 10 Gb/s {fast.mean:.2f} Gb/s on average, {best.mean:.2f} at best; "
    text += f"at 1 Gb/s {slow.mean:.2f} on average, under {BELOW * SLOW:g} in {100 * below.mean:.0f} % of the windows"
    text += f"; {o.mean(0, 'tcp', 'dropped_packets'):.0f} segments lost, {o.mean(0, 'tcp', 'timeouts'):.0f} timeouts"
    far = [scale.below(of, FAST / scale.STATED) for of in (fast, best)]
    return text, scale.together(*far, scale.above(below, OFTEN))


def capacity_tdma(outcomes: Outcomes) -> Found:
    """Guard times take 5 %; headers and the rest of slots behind whole frames take the remainder."""
    o = outcomes["fig12"]
    fast, slow, below = (o.range(0, "tdma", q) for q in ("fast_mean", "slow_mean", "slow_below"))
    text = f"at 10 Gb/s {fast.mean:.2f} Gb/s on average, at 1 Gb/s {slow.mean:.2f}, under {BELOW * SLOW:g} in {100 * below.mean:.0f} % of the windows"
    text += f"; {o.mean(0, 'tdma', 'dropped_packets'):.0f} segments lost"
    follows = [scale.same(of.times(1 / capacity), scale.ABOUT) for of, capacity in ((fast, FAST), (slow, SLOW))]
    return text, scale.together(*follows, scale.below(below, OFTEN))


def control_mbps(outcome: Outcome, size: int = COUNTED) -> float:
    """Rate of control frames to a host in Mb/s, counted in the run."""
    frames, time = (outcome.mean(0, "tdma", q) for q in ("pfc_frames", "completion_s"))
    return frames / HOSTS / time * size * 8 / 1e6


def frames(outcomes: Outcomes) -> Found:
    """Two frames in each slot are what the controller is told to send."""
    of = control_mbps(outcomes["fig7"])
    text = f"{of:.2f} Mb/s counted in the run; {control_mbps(outcomes['fig7'], 84):.2f} Mb/s on the wire, with 84 B"
    return text, scale.arithmetic(scale.matches(Range.point(of), "about 3 Mb/s") == "yes")


def overhead(outcomes: Outcomes) -> Found:
    share = 100 * control_mbps(outcomes["fig7"]) / 2 * 1e6 / LINE
    return f"{share:.4f} %", scale.arithmetic(scale.matches(Range.point(share), "0.015 %") == "yes")


GUARD_RUNS = [*(f"guard_{reaction}" for reaction in GUARDS), "guard_tree"]

CLAIMS: Claims = {
    "ideal": ([], lambda o: ideals()),
    "switch": (["fig7", "fig7_1500"], lambda o: transfer(o, "fig7", "194 s")),
    "tree": (["fig8", "fig8_1500"], lambda o: transfer(o, "fig8", "1075 s")),
    "near": (["fig8", "fig8_tcp"], near),
    "switch_tcp": (["fig7", "fig7_tcp", "fig7_tcp_seeds", "fig7_1500"], lambda o: tcp(o, "fig7", "1.22")),
    "tree_tcp": (["fig8", "fig8_tcp", "fig8_tcp_seeds", "fig8_1500"], lambda o: tcp(o, "fig8", "1.20")),
    "early": (["fig7_tcp"], lambda o: together(o, "fig7_tcp", "tcp")),
    "together": (["fig7"], lambda o: together(o, "fig7", "tdma")),
    "gain": (["fig7", "fig8", "fig7_tcp", "fig8_tcp"], gain),
    "guard": (GUARD_RUNS, guard),
    "guard_15": (["guard_cut_through", "guard_tree_cut_through", "guard_interface", "guard_tree"], guard_15),
    "pause": (["fig2"], pause),
    "skew": (["fig3", "fig4"], skew),
    "skew_tree": (["fig3", "fig3_tree"], skew_tree),
    "rtt": (["fig9", "fig9_baseline"], rtt),
    "kernel": (["fig9_baseline"], kernel),
    "kernel_gain": (["fig9", "fig9_baseline"], kernel_gain),
    "rtt_mean": (["fig9"], rtt_mean),
    "ping_cost": (["fig9", "fig9_alone"], ping_cost),
    "later": ([name for guard in FIG10_GUARDS for name in fig10_names(guard)], later),
    "blocks_tcp": (["fig11"], blocks_tcp),
    "blocks_tdma": (["fig11", "fig11_ahead"], blocks_tdma),
    "capacity_tcp": (["fig12"], capacity_tcp),
    "capacity_tdma": (["fig12"], capacity_tdma),
    "frames": (["fig7"], frames),
    "overhead": (["fig7"], overhead),
}
