"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from timeplane.studies import Claims, Found, scale
from timeplane.studies.scale import Range

from .arithmetic import COUNTED, ideal_switch, ideal_tree
from .experiments import (
    BELOW,
    EDGES,
    FAST,
    FIG9_BUFFERS,
    FIG10_GUARDS,
    GB,
    GUARD,
    GUARDS,
    HOSTS,
    LINE,
    MOMENTS,
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
    o, small = outcomes[f"{name}_tcp"], outcomes[f"{name}_1500"]
    of, dropped = ratio(o, "tcp"), o.mean(0, "tcp", "dropped_packets")
    most = ratio(o, "tcp", quantity="end_95")
    text = f"{of.shown('.2f')} with {size_of(o)} and 9000 B frames ({most.mean:.2f} until 95 % of the flows are done)"
    text += f", {dropped:.0f} frames lost, {o.mean(0, 'tcp', 'timeouts'):.0f} timeouts"
    text += f"; {ratio(small, 'tcp').mean:.2f} ({ratio(small, 'tcp', quantity='end_95').mean:.2f}) with {size_of(small)} and 1500 B frames"
    if name == "fig7":
        large = outcomes["fig7_large"]
        text += f", {ratio(large, 'tcp').mean:.2f} ({ratio(large, 'tcp', quantity='end_95').mean:.2f}) with {size_of(large)}"
    return text, scale.matches(of, phrase)


def together(outcomes: Outcomes, name: str, scheme: str) -> Found:
    """The first flow's end, and that of half of the flows, relative to the last flow's."""
    o = outcomes[name]
    first, half, last = (o.range(0, scheme, f"end_{share}") for share in (0, 50, 100))
    text = f"the first is done after {first.over(last).times(100).shown('.1f')} % of the time, half of them after {half.over(last).times(100).shown('.1f')} %"
    return text, scale.same(first.over(last)) if scheme == "tdma" else scale.above(last.over(first), scale.STATED)


def gain(outcomes: Outcomes) -> Found:
    found = [ratio(outcomes[name], "tdma").over(ratio(outcomes[f"{name}_tcp"], "tcp")) for name in ("fig7", "fig8")]
    shown = [f.minus(1).times(-100).shown(".1f") for f in found]
    text = f"{shown[0]} %; {shown[1]} % (ratios to the ideal, of different sizes)"
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
    """Collisions with the paper's guard time, on one switch and in the tree."""
    found = {name: collisions(outcomes[f"guard_{name}"])[float(GUARD)] for name in ("interface", "tree")}
    text = f"one switch: {found['interface']:.0f} collisions; tree: {found['tree']:.0f}, in switches that store and forward"
    return text, scale.together(*(scale.holds(not count) for count in found.values()))


#: The buffer of figure 9 that the other experiments also have.
BUFFER = float(FIG9_BUFFERS[0].split()[0])


def rtt(outcomes: Outcomes) -> Found:
    text, agrees = [], []
    for x in outcomes["fig9"].places:
        o = outcomes["fig9"]
        own, other = (o.range(x, scheme, "rtt_mean_us") for scheme in ("tdma", "tcp"))
        outside = o.mean(x, "outside", "rtt_mean_us")
        agrees.append(scale.compares(own.over(other), "3x lower"))
        text.append(
            f"{x:g} kB a port: {own.mean:.1f} us against {other.mean:.0f} us, {other.mean / own.mean:.0f}x; "
            f"in a share outside the slots {outside:.1f} us"
        )
    return "; ".join(text), scale.readings(*agrees)


def rtt_mean(outcomes: Outcomes) -> Found:
    """The paper's hosts take time for a packet, the simulated ones none."""
    o = outcomes["fig9"]
    mean, alone = (o.range(BUFFER, "tdma", q) for q in ("rtt_mean_us", "rtt_alone_us"))
    wait = o.mean(BUFFER, "tdma", "wait_mean_us")
    text = f"{mean.mean:.2f} us; {alone.mean:.2f} us in an empty network; before that, {wait / 1000:.1f} ms of waiting for the slot"
    return text, scale.together(scale.matches(mean, "26 us"), scale.same(mean.over(alone)))


def ping_cost(outcomes: Outcomes) -> Found:
    pings, without = (outcomes[name].range(BUFFER, "tdma", "bulk_bytes") for name in ("fig9", "fig9_alone"))
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
    "switch_tcp": (["fig7", "fig7_tcp", "fig7_1500", "fig7_large"], lambda o: tcp(o, "fig7", "1.22")),
    "tree_tcp": (["fig8", "fig8_tcp", "fig8_1500"], lambda o: tcp(o, "fig8", "1.20")),
    "early": (["fig7_tcp"], lambda o: together(o, "fig7_tcp", "tcp")),
    "together": (["fig7"], lambda o: together(o, "fig7", "tdma")),
    "gain": (["fig7", "fig8", "fig7_tcp", "fig8_tcp"], gain),
    "guard": (GUARD_RUNS, guard),
    "guard_15": (["guard_interface", "guard_tree"], guard_15),
    "rtt": (["fig9"], rtt),
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
