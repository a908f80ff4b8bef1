"""Flyways against integer programs on small networks, and against linear programs on larger ones.
"""

import csv
from pathlib import Path

import numpy as np
import pytest

from timeplane import algorithms
from timeplane.flyway_optimum import OFDM, Network, best_links, best_shares

RADIO = Path(__file__).resolve().parents[2] / "data" / "radio"

POLICIES = ("straggler", "transit", "greedy", "greedy_direct")


def pattern(name):
    """Gain in dBi by degrees: linear between rows, round the circle."""
    file, column = ("antenna_geofencing.csv", "gain_dBi") if name == "geofencing" else ("antenna_measured.csv", f"{name}_dBi")
    with (RADIO / file).open(newline="", encoding="utf-8") as text:
        rows = sorted((float(r["azimuth_deg"]), float(r[column])) for r in csv.DictReader(line for line in text if line[0] != "#"))
    at, gain = zip(*rows, strict=True)
    return lambda degrees: np.interp(degrees, at, gain, period=360)


def network(demand, layout, antenna, radios=1, channels=2, core=False):
    return Network(demand, layout=layout, antenna=antenna, radios=radios, channels=channels, core=core)


def planned(case, policy="greedy"):
    return algorithms.flyways(
        case.demand,
        layout=case.layout,
        antenna=case.antenna,
        radios=case.radios,
        channels=case.channels,
        policy=policy,
        oversubscription=case.oversubscription,
        core=case.core,
    )


def links_of(plan):
    """As the oracle has them."""
    return [(int(a), int(b), int(channel), float(rate)) for (a, b, channel), rate in zip(plan.links, plan.rates, strict=True)]


def small(seed):
    """Racks in two rows; demand everywhere, or in a few hot spots."""
    rng = np.random.default_rng(seed)
    racks = int(rng.integers(5, 7))
    layout = np.stack([np.arange(racks) % 3 * 2.0, np.arange(racks) // 3 * 3.0], 1) + rng.uniform(0, 0.5, (racks, 2))
    demand = rng.uniform(0, 2e8, (racks, racks))
    if seed % 2:
        for _ in range(int(rng.integers(1, 4))):
            demand[tuple(rng.integers(0, racks, 2))] += rng.uniform(1e9, 5e9)
        demand[:, rng.integers(racks)] += rng.uniform(0, 1e9, racks)
    np.fill_diagonal(demand, 0)
    antenna = ("narrow_beam", "wide_beam", "geofencing")[seed % 3]
    return network(np.ceil(demand), layout, antenna, radios=1 + seed // 3 % 2)


SEEDS = range(12)


@pytest.fixture(scope="module")
def optima():
    return {seed: best_links(small(seed)) for seed in SEEDS}


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_better_than_the_optimum_and_all_is_feasible(seed, optima):
    case = small(seed)
    best, bound = optima[seed].ctd, optima[seed].bound
    links = links_of(optima[seed])
    assert not case.infeasible(links)
    assert best_shares(case, links) == pytest.approx(best, rel=1e-3)
    for policy in POLICIES:
        plan = planned(case, policy)
        assert not case.infeasible(links_of(plan))
        assert bound * (1 - 1e-6) <= plan.ctd <= plan.wired


def test_greedy_is_near_the_optimum(optima):
    # Of these cases it is 1.4 % above on average, 7.3 % at worst.
    over = np.array([planned(small(seed)).ctd / optima[seed].ctd - 1 for seed in SEEDS])
    assert over.mean() < 0.02
    assert over.max() < 0.08


def published_layout(racks):
    """The first racks of the bundled 160, meters."""
    return np.loadtxt(RADIO / "racks_160.csv", delimiter=",", skiprows=1, usecols=(1, 2))[:racks] * 0.3048


def test_rows_of_racks_are_the_published_ones():
    every = algorithms.rack_rows(160)
    assert sorted(np.round(every, 6).tolist()) == sorted(np.round(published_layout(160), 6).tolist())
    assert np.allclose(algorithms.published_layout(40), published_layout(40))
    pair = algorithms.rack_rows(3, row=2, spacing_m=1.0, row_spacing_m=4.0)
    assert pair.tolist() == [[0, 0], [1, 0], [0, 4]]
    with pytest.raises(ValueError, match="at most 10000"):
        algorithms.rack_rows(10_001)


def test_an_optimum_refuses_what_is_impossible():
    for demand, more, text in (
        (np.ones((2, 3)), {}, "as many rows as columns"),
        (np.ones((2, 2)), {}, "none of a rack for itself"),
        (np.full((2, 2), np.nan), {}, "bytes from 0"),
        (np.zeros((2, 2)), {"radios": 0}, "radios = 0: expected at least 1"),
        (np.zeros((2, 2)), {"layout": np.zeros((3, 2))}, "x and y of 2 racks"),
    ):
        with pytest.raises(ValueError, match=text):
            Network(demand, **more)
    nothing = best_links(Network(np.zeros((3, 3))))
    assert (nothing.ctd, nothing.bound, nothing.links.shape) == (0, 0, (0, 3))
    # Two racks next to each other: the fastest rate, and the wire with it.
    demand = np.zeros((2, 2))
    demand[0, 1] = 1e9
    best = best_links(Network(demand))
    assert best.links[:, :2].tolist() == [[0, 1]] and best.rates.tolist() == [6756.75e6]
    assert best.ctd == pytest.approx(8e9 / (10e9 + 6756.75e6), rel=1e-3) and best.bound <= best.ctd


@pytest.mark.parametrize("seed", range(6))
def test_shares_are_near_a_linear_programs(seed):
    rng = np.random.default_rng(seed)
    racks = 40
    demand = rng.pareto(1.2, (racks, racks)) * 1e7 * (rng.random((racks, racks)) < 0.3)
    np.fill_diagonal(demand, 0)
    case = network(np.ceil(demand), published_layout(racks), "narrow_beam", radios=2, channels=3, core=bool(seed % 2))
    for policy in POLICIES:
        plan = planned(case, policy)
        assert not case.infeasible(links_of(plan))
        least = best_shares(case, links_of(plan), transit=policy in ("transit", "greedy"))
        assert least * (1 - 1e-6) <= plan.ctd <= least * 1.01


def test_without_a_layout_racks_stand_as_published():
    demand = small(1).demand
    case = network(demand, published_layout(len(demand)), "narrow_beam")
    first, second = planned(case), algorithms.flyways(case.demand, channels=2, core=False)
    assert np.array_equal(first.links, second.links) and first.ctd == pytest.approx(second.ctd, rel=1e-9)


def test_circuits_beside_flyways():
    demand = np.zeros((4, 4))
    demand[0, 1] = demand[2, 3] = 10e9
    # 8 s over 10 Gb/s; with a circuit of 10 Gb/s beside it, half of it each. Hosts take as long.
    plan = algorithms.flyways(demand, antenna=None, circuits=(1, "10 Gb/s"))
    assert plan.wired == 8 and plan.ctd == pytest.approx(4, rel=2e-3) and plan.relative == pytest.approx(1, rel=2e-3)
    assert plan.links.tolist() in ([[0, 1, 65536], [2, 3, 65536]], [[2, 3, 65536], [0, 1, 65536]])
    assert plan.rates.tolist() == [10e9, 10e9]
    # What is faster is taken: 6.76 Gb/s over the air rather than 1 Gb/s.
    both = algorithms.flyways(demand, circuits=(1, "1 Gb/s"))
    assert both.rates.max() == 6756.75e6 and both.ctd < algorithms.flyways(demand, antenna=None, circuits=(1, "1 Gb/s")).ctd
    # Neither: wires alone.
    assert algorithms.flyways(demand, antenna=None).ctd == 8


def test_phases_keep_links_and_charge_new_ones():
    demand = np.zeros((2, 4, 4))
    demand[:, 0, 1] = 1e9
    training = algorithms.beam_training(36)
    assert 1e-3 < training < 3e-3
    first, second = algorithms.flyway_phases(demand, setup=training, core=False)
    assert (first.begun, second.kept, second.begun) == (1, 1, 0)
    assert first.plan.setup.tolist() == pytest.approx([training]) and second.plan.setup.tolist() == [0]
    # The link carries r (T - training) of 1 GB, the wire the rest.
    rate = first.plan.rates[0] / 8
    assert second.plan.ctd == pytest.approx(1e9 / (rate + 1.25e9), rel=2e-3)
    assert first.plan.ctd == pytest.approx((1e9 + rate * training) / (rate + 1.25e9), rel=2e-3)
    assert algorithms.flyway_phases(demand, setup="2 ms", core=False)[0].plan.setup.tolist() == [2e-3]


def test_antennas_and_ranges_are_those_of_the_budget():
    degrees = np.linspace(-200, 200, 101)
    for name in ("narrow_beam", "wide_beam", "geofencing"):
        assert algorithms.antenna_gain(name, degrees) == pytest.approx(pattern(name)(degrees), abs=1e-9)
        for meters in (1.0, 7.0, 19.0, 60.0):
            case = network(np.zeros((2, 2)), np.array([[0.0, 0.0], [meters, 0.0]]), name)
            rates = [rate for rate, sensitivity in OFDM if case.room((0, 1), sensitivity) >= 0]
            assert algorithms.link_rate(name, [meters])[0] == max(rates, default=0)
    # 2 dB short of the slowest rate over 20 m with the wide beam.
    assert algorithms.link_rate("wide_beam", [15.9, 20]).tolist() == [693e6, 0]


def test_what_is_wrong_is_said():
    square = np.zeros((3, 3))
    for wrong, text in (
        ({"policy": "gredy"}, "did you mean `greedy`"),
        ({"antenna": "horn"}, "unknown antenna `horn`"),
        ({"layout": np.zeros((2, 2))}, "x and y of 3 racks"),
        ({"layout": np.zeros((3, 2))}, "stands inside"),
        ({"layout": np.full((3, 2), np.nan)}, "racks stand within"),
        ({"oversubscription": 0}, "1:0"),
        ({"circuits": (1, "0 Gb/s")}, "positive"),
        ({"radios": 10**9}, "64 at most"),
    ):
        with pytest.raises(ValueError, match=text):
            algorithms.flyways(square, **wrong)
    with pytest.raises(ValueError, match="bytes for itself"):
        algorithms.flyways(np.ones((3, 3)))
    with pytest.raises(ValueError, match="bundled layout has 160"):
        algorithms.flyways(np.zeros((161, 161)))
    with pytest.raises(ValueError, match="from 0 to"):
        algorithms.flyways(-square - 1)
    with pytest.raises(ValueError, match="as many rows as columns"):
        algorithms.flyways(np.zeros((2, 3)))
