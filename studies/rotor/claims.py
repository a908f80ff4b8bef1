"""Compares the papers' statements with the results of this study."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from timeplane.studies import Claims, Found, published, scale
from timeplane.studies.scale import Range

from .arithmetic import shale_slices, shale_throughput, static_networks, vlb_permutation
from .experiments import (
    ALPHA,
    CLASSES,
    DIMENSIONS,
    EVEN_DARK,
    EVEN_SLICE,
    FOLDER,
    GRID_RACKS,
    HOSTS,
    PER_RACK,
    VLB_RACKS,
    WEB_LOADS,
    side,
)

if TYPE_CHECKING:
    from .study import Outcome

Outcomes = Mapping[str, "Outcome"]

#: Accepted deviations, which are narrower than those of the scale: of completion times in a class
#: of sizes, of their ratios, of RotorLB, of the shuffle, and of theory.
CELL, RATIO, LB, TIME, THEORY = 0.1, 0.15, 0.02, 0.03, 0.05
#: The same for throughput, as a difference: of the shuffle alone, and beside web search.
PEAK, MIXED = 0.01, 0.03

PAPER = {row["id"]: row["paper"] for row in published(FOLDER)}


def numbers(name: str) -> list[float]:
    """The decimal numbers of a statement."""
    return [float(text) for text in re.findall(r"\d+\.\d+", PAPER[name])]


def within(of: Range, value: float, low: float, high: float) -> str:
    """The verdict of a number in a band that is not that of the scale's wordings: in part within a
    factor of 2.
    """
    if not of.known:
        return "undecided"
    if of.within(low, high):
        return "yes"
    near = scale.band(value, scale.NEAR)
    return "in part" if of.within(*near) else "no" if of.outside(*near) else "undecided"


def deviates(of: Range, value: float, by: float) -> str:
    """The verdict of a number that may deviate by this share of the paper's."""
    return within(of, value, value * (1 - by), value * (1 + by))


def differs(of: Range, value: float, by: float) -> str:
    """The verdict of a number that may differ from the paper's by ``by``."""
    return within(of, value, value - by, value + by)


def price(outcomes: Outcomes) -> Found:
    clos, expander = static_networks(HOSTS, 2 * PER_RACK, ALPHA)
    per_edge, up = clos.topology["fat_tree"]["hosts_per_edge"], expander.topology["expander"]["uplinks"]
    text = f"{per_edge}:{2 * PER_RACK - per_edge} Clos for {clos.price:.2f} ports a host, u = {up} for {expander.price:.2f}; Opera {ALPHA:.2f}"
    return text, scale.arithmetic((per_edge, up) == (9, 7))


# Completion times by size.


def shown(of: Range) -> str:
    """A time as text, in ms or us."""
    return f"{of.mean:.3g} ms" if of.mean >= 1 else f"{1e3 * of.mean:.3g} us"


def cell(outcomes: Outcomes, load: int, number: int, share: int) -> Found:
    of = outcomes[f"cells_{load}"].range(0, "opera", f"p{share} {list(CLASSES)[number]}")
    (value,) = numbers(f"cell_{load}_{number}_p{share}")
    return f"{shown(of)}, {100 * (of.mean / value - 1):+.1f} %", deviates(of, value, CELL)


def rotor_lb(outcomes: Outcomes) -> Found:
    of = outcomes["cells_lb"].range(0, "rotor_lb", "p50 under 10 kB")
    (value,) = numbers("rotor_lb")
    return f"{shown(of)}, {100 * (of.mean / value - 1):+.1f} %", deviates(of, value, LB)


def ratios(outcomes: Outcomes, scheme: str) -> list[Range]:
    """Times over Opera's: the medians by size, then the 99th percentiles."""
    opera, static = outcomes["cells_10"], outcomes[f"cells_10_{scheme}"]
    return [static.range(0, scheme, q).over(opera.range(0, "opera", q)) for q in (f"p{share} {name}" for share in (50, 99) for name in CLASSES)]


def _by_size(of: Sequence[Range]) -> str:
    text = [", ".join(f"{r.mean:.2f}" for r in part) for part in (of[: len(CLASSES)], of[len(CLASSES) :])]
    return f"median {text[0]}; 99th percentile {text[1]}"


def static_order(outcomes: Outcomes, scheme: str) -> Found:
    of = ratios(outcomes, scheme)
    said = numbers(f"{scheme}_ratio")
    parts = [scale.higher(r) if value > 1 else scale.lower(r) for r, value in zip(of, said, strict=True)]
    return f"over Opera's by size: {_by_size(of)}", scale.everywhere(parts)


def static_ratio(outcomes: Outcomes, scheme: str) -> Found:
    of = ratios(outcomes, scheme)
    parts = [deviates(r, value, RATIO) for r, value in zip(of, numbers(f"{scheme}_ratio"), strict=True)]
    return f"{_by_size(of)}; {parts.count('yes')} of {len(of)} within 15 %", scale.everywhere(parts)


# The shuffle.


def shuffle(outcomes: Outcomes, share: int) -> Found:
    name = "max" if share == 100 else f"p{share}"
    of = outcomes["shuffle"].range(0, "opera", f"fct_p{share}_ms")
    (value,) = numbers(f"shuffle_{name}")
    return f"{of.shown('.1f')} ms, {100 * (of.mean / value - 1):+.1f} %", deviates(of, value, TIME)


def peak(outcomes: Outcomes) -> Found:
    of = outcomes["shuffle"].range(0, "opera", "peak")
    (value,) = numbers("shuffle_peak")
    return f"{of.shown('.3f')} in the best ms", differs(of, value, PEAK)


def level(outcomes: Outcomes, scheme: str) -> Found:
    o = outcomes["shuffle_static"]
    of = o.range(0, scheme, "level")
    (value,) = numbers(f"shuffle_{scheme}")
    return f"{of.shown('.3f')} on average, {o.mean(0, scheme, 'peak'):.3f} in the best ms", differs(of, value, MIXED)


def four(outcomes: Outcomes) -> Found:
    o, static = outcomes["shuffle"], outcomes["shuffle_static"]
    of = {scheme: o.range(0, "opera", "peak").over(static.range(0, scheme, "level")) for scheme in ("expander", "clos")}
    text = ", ".join(f"{r.shown('.2f')} times that of the {'Clos' if scheme == 'clos' else scheme}" for scheme, r in of.items())
    return text, scale.together(*(scale.compares(r, "4x higher") for r in of.values()))


def mixed(outcomes: Outcomes, load: float) -> Found:
    o = outcomes["mixed"]
    of = o.range(load, "opera", "peak")
    (value,) = numbers(f"mixed_{load:g}")
    finished = 100 * o.mean(load, "opera", "web_finished")
    return f"{of.shown('.3f')}, {of.mean - value:+.2f}; {finished:.0f} % of the web search flows have finished", differs(of, value, MIXED)


# Theory.


def most(outcome: Outcome, scheme: str) -> tuple[float, Range]:
    """The most that is carried at any load, and where."""
    x = max(outcome.places, key=lambda x: outcome.mean(x, scheme, "carried"))
    return x, outcome.range(x, scheme, "carried")


def vlb(outcomes: Outcomes) -> Found:
    x, of = most(outcomes["permutation"], "vlb")
    exact = vlb_permutation(VLB_RACKS)
    over = outcomes["permutation"].mean(max(outcomes["permutation"].places), "vlb", "carried")
    text = f"{of.shown('.3f')} at most, of {x:g} offered; {over:.3f} if 0.6 is offered; {exact:.3f} with the circuits that are direct"
    return text, deviates(of, exact, THEORY)


def even(outcomes: Outcomes) -> Found:
    o = outcomes["all_to_all"]
    lit = 1 - EVEN_DARK / EVEN_SLICE
    of = {scheme: most(o, scheme)[1] for scheme in ("direct", "rotor_lb")}
    text = f"directly {of['direct'].shown('.3f')}, RotorLB {of['rotor_lb'].shown('.3f')}; {lit:.2f} of the time is lit"
    return text, scale.together(*(deviates(r, lit, THEORY) for r in of.values()))


def shale(outcomes: Outcomes) -> Found:
    text, parts = [], []
    for h in DIMENSIONS:
        _, of = most(outcomes[f"shale_{h}"], "shale")
        exact = shale_throughput(side(h), h)
        text.append(f"h = {h}: {of.shown('.3f')} at most, {exact:.3f} with steps that keep their place (1/(2h) = {1 / (2 * h):.3f})")
        parts.append(deviates(of, exact, THEORY))
    return "; ".join(text), scale.together(*parts)


def shale_latency(outcomes: Outcomes) -> Found:
    """The mean and the most, of which either could be meant."""
    text, parts = [], []
    for h in DIMENSIONS:
        o = outcomes[f"shale_{h}"]
        x = min(o.places)
        mean, longest = (o.range(x, "shale", f"slices_{name}") for name in ("mean", "max"))
        own, bound = shale_slices(side(h), h)
        said = h * GRID_RACKS ** (1 / h)
        text.append(f"h = {h}: mean {mean.shown('.1f')} (all cases {own:.1f}), most {longest.shown('.0f')} (all cases {bound}), h N^(1/h) = {said:.0f}")
        parts += [scale.same(r.times(1 / said), scale.ABOUT) for r in (mean, longest)]
    return "; ".join(text), scale.readings(*parts)


CLAIMS: Claims = {
    "price": ([], price),
    **{
        f"cell_{load}_{number}_p{share}": ([f"cells_{load}"], partial(cell, load=load, number=number, share=share))
        for load, number, share in itertools.product((1, 10), range(len(CLASSES)), (50, 99))
    },
    "rotor_lb": (["cells_lb"], rotor_lb),
    "clos_order": (["cells_10", "cells_10_clos"], lambda o: static_order(o, "clos")),
    "clos_ratio": (["cells_10", "cells_10_clos"], lambda o: static_ratio(o, "clos")),
    "expander_order": (["cells_10", "cells_10_expander"], lambda o: static_order(o, "expander")),
    "expander_ratio": (["cells_10", "cells_10_expander"], lambda o: static_ratio(o, "expander")),
    "shuffle_p50": (["shuffle"], lambda o: shuffle(o, 50)),
    "shuffle_p99": (["shuffle"], lambda o: shuffle(o, 99)),
    "shuffle_max": (["shuffle"], lambda o: shuffle(o, 100)),
    "shuffle_peak": (["shuffle"], peak),
    "shuffle_clos": (["shuffle_static"], lambda o: level(o, "clos")),
    "shuffle_expander": (["shuffle_static"], lambda o: level(o, "expander")),
    "four": (["shuffle", "shuffle_static"], four),
    **{f"mixed_{load:g}": (["mixed"], partial(mixed, load=load)) for load in WEB_LOADS},
    "vlb": (["permutation"], vlb),
    "even": (["all_to_all"], even),
    "shale": ([f"shale_{h}" for h in DIMENSIONS], shale),
    "shale_latency": ([f"shale_{h}" for h in DIMENSIONS], shale_latency),
}
