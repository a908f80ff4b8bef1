"""Compares the paper's statements with the results of this study."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from timeplane.studies import Claims, Found, yes_or_no

from .arithmetic import COUNTED, ideal_switch, ideal_tree
from .experiments import BELOW, EDGES, FAST, FIG9_BUFFERS, FIG10_GUARDS, GB, GUARDS, HOSTS, LINE, MOMENTS, SLOT, SLOW, UNDER, fig10_names, least

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

#: Durations of the paper's transfers under TDMA, s.
PAPER = {"fig7": 194.0, "fig8": 1075.0}


def ideal(outcome: Outcome) -> float:
    """Ideal duration of the experiment's all-to-all in seconds, by its size and fabric."""
    size = outcome.experiment.size
    if "tree" in outcome.experiment.fabric["topology"]:
        return ideal_tree(EDGES, UNDER, size, LINE)
    return ideal_switch(HOSTS, size, LINE)


def ratio(outcome: Outcome, scheme: str, x: float = 0.0, quantity: str = "completion_s") -> float:
    """A time relative to the ideal one."""
    return outcome.mean(x, scheme, quantity) / ideal(outcome)


def size_of(outcome: Outcome) -> str:
    """Bytes of a pair, as text."""
    size = outcome.experiment.size
    return f"{size / GB:g} GB" if size >= GB else f"{size / 1e6:g} MB"


def ideals() -> Found:
    switch, tree = ideal_switch(HOSTS, 10 * GB, LINE), ideal_tree(EDGES, UNDER, 10 * GB, LINE)
    return f"{switch:.0f} s; {tree:.0f} s", yes_or_no((switch, tree) == (184, 1024))


def transfer(outcomes: Outcomes, name: str) -> Found:
    """The duration under TDMA; if the size is not the paper's, its ratio to the ideal is
    compared.
    """
    o, small = outcomes[name], outcomes[f"{name}_1500"]
    time = o.mean(0, "tdma", "completion_s")
    scaled = time * 10 * GB / o.experiment.size
    text = f"{time:.1f} s with {size_of(o)} ({ratio(o, 'tdma'):.3f} of the ideal), 9000 B frames"
    text += f"; with 1500 B frames {ratio(small, 'tdma'):.3f} of the ideal ({size_of(small)})"
    if collisions := o.mean(0, "tdma", "collisions"):
        text += f"; {collisions:.0f} collisions in switches, {o.mean(0, 'tdma', 'dropped_packets'):.0f} frames lost"
    return text, yes_or_no(abs(scaled / PAPER[name] - 1) < 0.01)


def near(outcomes: Outcomes) -> Found:
    """The last flow among hosts under one switch, compared with the first of the others."""
    text, agrees = [], []
    for name, scheme, title in (("fig8", "tdma", "TDMA"), ("fig8_tcp", "tcp", "TCP")):
        o = outcomes[name]
        inside, across = (ratio(o, scheme, quantity=f"{where}_{at}") for where, at in (("inside", 50), ("across", 50)))
        last = ratio(o, scheme, quantity="inside_100")
        text.append(
            f"{title}: half of them after {inside:.2f} of the ideal, the last after {last:.2f}; half of the others after {across:.2f}"
        )
        agrees.append(inside < across)
    return "; ".join(text), yes_or_no(all(agrees))


def tcp(outcomes: Outcomes, name: str) -> Found:
    o, small = outcomes[f"{name}_tcp"], outcomes[f"{name}_1500"]
    of, dropped = ratio(o, "tcp"), o.mean(0, "tcp", "dropped_packets")
    most = ratio(o, "tcp", quantity="end_95")
    text = f"{of:.2f} with {size_of(o)} and 9000 B frames ({most:.2f} until 95 % of the flows are done)"
    text += f", {dropped:.0f} frames lost, {o.mean(0, 'tcp', 'timeouts'):.0f} timeouts"
    text += f"; {ratio(small, 'tcp'):.2f} ({ratio(small, 'tcp', quantity='end_95'):.2f}) with {size_of(small)} and 1500 B frames"
    if name == "fig7":
        large = outcomes["fig7_large"]
        text += f", {ratio(large, 'tcp'):.2f} ({ratio(large, 'tcp', quantity='end_95'):.2f}) with {size_of(large)}"
    tdma = ratio(outcomes[name], "tdma")
    return text, "yes" if abs(of / {"fig7": 225 / 184, "fig8": 1225 / 1024}[name] - 1) < 0.05 else "in part" if of > tdma else "no"


def spread(outcome: Outcome, scheme: str) -> tuple[float, float, float]:
    """Times at which the first flow, half of the flows and the last flow finish, relative to the
    last.
    """
    first, half, last = (outcome.mean(0, scheme, f"end_{share}") for share in (0, 50, 100))
    return first / last, half / last, 1.0


def together(outcomes: Outcomes, name: str, scheme: str) -> Found:
    first, half, _ = spread(outcomes[name], scheme)
    text = f"the first is done after {100 * first:.1f} % of the time, half of them after {100 * half:.1f} %"
    return text, yes_or_no(first > 0.98 if scheme == "tdma" else first < 0.95)


def gain(outcomes: Outcomes) -> Found:
    found = [1 - ratio(outcomes[name], "tdma") / ratio(outcomes[f"{name}_tcp"], "tcp") for name in ("fig7", "fig8")]
    text = f"{100 * found[0]:.1f} %; {100 * found[1]:.1f} % (ratios to the ideal, of different sizes)"
    return text, "yes" if all(0.1 <= f <= 0.2 for f in found) else "in part" if min(found) > 0 else "no"


def guard(outcomes: Outcomes) -> Found:
    """The smallest guard time without collisions in the experiment, and that of the formula."""
    text, good = [], True
    for reaction in GUARDS:
        o = outcomes[f"guard_{reaction}"]
        of = {x: o.mean(x, "tdma", "collisions") for x in o.places}
        enough = least(reaction)
        good = good and not any(count for x, count in of.items() if x >= enough) and of[min(of)] > 0
        worst = max((x for x, count in of.items() if count), default=0.0)
        text.append(
            f"{reaction.replace('_', ' ')}: {of[min(of)]:.0f} collisions without a guard, some up to {worst:g} us, "
            f"{'none' if not any(count for x, count in of.items() if x >= enough) else 'some'} from the formula's {enough:g} us on"
        )
    tree = outcomes["guard_tree"]
    of = {x: tree.mean(x, "tdma", "collisions") for x in tree.places}
    text.append("tree, interface: " + ", ".join(f"{count:.0f} with {x:g} us" for x, count in of.items()))
    return "; ".join(text), yes_or_no(good and not of[max(of)])


#: The buffer of figure 9 that the other experiments also have.
BUFFER = float(FIG9_BUFFERS[0].split()[0])


def rtt(outcomes: Outcomes) -> Found:
    text = []
    factors = []
    for x in outcomes["fig9"].places:
        o = outcomes["fig9"]
        own, other = (o.mean(x, scheme, "rtt_mean_us") for scheme in ("tdma", "tcp"))
        outside = o.mean(x, "outside", "rtt_mean_us")
        factors.append(other / own)
        text.append(
            f"{x:g} kB a port: {own:.1f} us against {other:.0f} us, {other / own:.0f}x; in a share outside the slots {outside:.1f} us"
        )
    return "; ".join(text), yes_or_no(min(factors) >= 3)


def rtt_mean(outcomes: Outcomes) -> Found:
    o = outcomes["fig9"]
    mean, alone, wait = (o.mean(BUFFER, "tdma", q) for q in ("rtt_mean_us", "rtt_alone_us", "wait_mean_us"))
    text = f"{mean:.2f} us; {alone:.2f} us in an empty network; before that, {wait / 1000:.1f} ms of waiting for the slot"
    # The paper's hosts take time for a packet, the simulated ones none.
    return text, "no" if abs(mean / alone - 1) > 0.05 else "yes" if abs(mean / 26 - 1) < 0.05 else "in part"


def ping_cost(outcomes: Outcomes) -> Found:
    pings, without = (outcomes[name].mean(BUFFER, "tdma", "bulk_bytes") for name in ("fig9", "fig9_alone"))
    cost = without / pings - 1
    return f"{100 * cost:.2f} %", yes_or_no(0.005 < cost < 0.015)


def later(outcomes: Outcomes) -> Found:
    """Whether the RTT returns to that of an empty network and stays there."""
    text, falls = [], []
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
        falls.append(mean[0] > alone * 1.001 and least < MOMENTS[-1])
    return "; ".join(text), yes_or_no(all(falls))


def curve(outcome: Outcome, scheme: str) -> dict[float, float]:
    """Goodput of a host in Gb/s, by kB of a block."""
    return {x: outcome.mean(x, scheme, "gbps") for x in outcome.places}


def _listed(of: Mapping[float, float]) -> str:
    return ", ".join(f"{x:g} kB {y:.1f}" for x, y in of.items())


def blocks_tcp(outcomes: Outcomes) -> Found:
    of = curve(outcomes["fig11"], "tcp")
    text = f"one block at a time: {_listed(of)} Gb/s"
    best = max(of.values())
    return text, "yes" if abs(best / 4.5 - 1) <= 0.2 else "in part" if best <= 8 else "no"


def blocks_tdma(outcomes: Outcomes) -> Found:
    """A block that only partly fills its last slot loses the rest of it. So among the larger
    blocks, only those that fill nine tenths of their slots are compared.
    """
    ahead, single, tcp = (curve(outcomes[name], scheme) for name, scheme in (("fig11_ahead", "tdma"), ("fig11", "tdma"), ("fig11", "tcp")))
    text = f"all blocks handed over: {_listed(ahead)}; one block at a time: {_listed(single)} Gb/s"
    full, best = SLOT * 1.25, max(ahead.values())
    falls = all(y < 0.9 * best for x, y in ahead.items() if x < 0.9 * full)
    filled = [x for x in ahead if x >= 0.9 * full and x / (math.ceil(x / full) * full) >= 0.9]
    higher = all(y > tcp[x] for x, y in ahead.items() if x > full)
    return text, "yes" if falls and higher and all(ahead[x] >= 0.9 * best for x in filled) else "in part" if falls and higher else "no"


def capacity_tcp(outcomes: Outcomes) -> Found:
    o = outcomes["fig12"]
    fast, best, slow, below = (o.mean(0, "tcp", q) for q in ("fast_mean", "fast_best", "slow_mean", "slow_below"))
    text = f"at 10 Gb/s {fast:.2f} Gb/s on average, {best:.2f} at best; at 1 Gb/s {slow:.2f} on average, under {BELOW * SLOW:g} in {100 * below:.0f} % of the windows"
    text += f"; {o.mean(0, 'tcp', 'dropped_packets'):.0f} segments lost, {o.mean(0, 'tcp', 'timeouts'):.0f} timeouts"
    return text, "yes" if fast < 0.7 * FAST and below > 0.05 else "in part" if fast < 0.9 * FAST else "no"


def capacity_tdma(outcomes: Outcomes) -> Found:
    o = outcomes["fig12"]
    fast, slow, below = (o.mean(0, "tdma", q) for q in ("fast_mean", "slow_mean", "slow_below"))
    text = f"at 10 Gb/s {fast:.2f} Gb/s on average, at 1 Gb/s {slow:.2f}, under {BELOW * SLOW:g} in {100 * below:.0f} % of the windows"
    text += f"; {o.mean(0, 'tdma', 'dropped_packets'):.0f} segments lost"
    # Guard times take 5 %; headers and the rest of slots behind whole frames take the remainder.
    follows = fast > 0.85 * FAST and 0.85 * SLOW < slow <= SLOW
    return text, "yes" if follows and below < 0.05 else "in part" if fast > 0.7 * FAST else "no"


def control_mbps(outcome: Outcome, size: int = COUNTED) -> float:
    """Rate of control frames to a host in Mb/s."""
    frames, time = (outcome.mean(0, "tdma", q) for q in ("pfc_frames", "completion_s"))
    return frames / HOSTS / time * size * 8 / 1e6


def frames(outcomes: Outcomes) -> Found:
    of = control_mbps(outcomes["fig7"])
    return f"{of:.2f} Mb/s; {control_mbps(outcomes['fig7'], 84):.2f} Mb/s on the wire, with 84 B", yes_or_no(abs(of - 3) < 0.3)


def overhead(outcomes: Outcomes) -> Found:
    share = control_mbps(outcomes["fig7"]) / 2 * 1e6 / LINE
    return f"{100 * share:.4f} %", yes_or_no(abs(100 * share - 0.015) < 0.0015)


GUARD_RUNS = [*(f"guard_{reaction}" for reaction in GUARDS), "guard_tree"]

CLAIMS: Claims = {
    "ideal": ([], lambda o: ideals()),
    "switch": (["fig7", "fig7_1500"], lambda o: transfer(o, "fig7")),
    "tree": (["fig8", "fig8_1500"], lambda o: transfer(o, "fig8")),
    "near": (["fig8", "fig8_tcp"], near),
    "switch_tcp": (["fig7", "fig7_tcp", "fig7_1500", "fig7_large"], lambda o: tcp(o, "fig7")),
    "tree_tcp": (["fig8", "fig8_tcp", "fig8_1500"], lambda o: tcp(o, "fig8")),
    "early": (["fig7_tcp"], lambda o: together(o, "fig7_tcp", "tcp")),
    "together": (["fig7"], lambda o: together(o, "fig7", "tdma")),
    "gain": (["fig7", "fig8", "fig7_tcp", "fig8_tcp"], gain),
    "guard": (GUARD_RUNS, guard),
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
