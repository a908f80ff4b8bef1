"""The algorithms against networkx and scipy."""

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy import optimize

import timeplane as tp
from timeplane import algorithms

SEEDS = range(20)


def draw_edges(rng, left, right, most=120):
    m = int(rng.integers(0, most))
    return np.stack([rng.integers(0, left, m), rng.integers(0, right, m)], axis=1)


def assert_proper(edges, colors):
    for side in (0, 1):
        assert len(set(zip(edges[:, side], colors, strict=True))) == len(edges)


def maximum_matching(pairs):
    graph = nx.Graph()
    graph.add_nodes_from((0, int(u)) for u in pairs[:, 0])
    graph.add_edges_from(((0, int(u)), (1, int(v))) for u, v in pairs)
    top = [n for n in graph if n[0] == 0]
    return len(nx.bipartite.maximum_matching(graph, top_nodes=top)) // 2


@pytest.mark.parametrize("seed", SEEDS)
def test_colorings_are_proper_and_use_the_largest_degree(seed):
    rng = np.random.default_rng(seed)
    left, right = (int(n) for n in rng.integers(1, 12, 2))
    edges = draw_edges(rng, left, right)
    graph = nx.MultiGraph()
    graph.add_nodes_from(["none"])
    graph.add_edges_from((f"l{u}", f"r{v}") for u, v in edges)
    # Koenig: the largest degree is the least number of colors.
    largest = max(d for _, d in graph.degree())
    colors, number = tp.algorithms.color(left, right, edges)
    assert number == largest
    assert colors.dtype == np.uint16 and (colors < number).all()
    assert_proper(edges, colors)

    one_by_one, moved = algorithms.color_one_by_one(left, right, edges, max(number, 1))
    assert (one_by_one >= 0).all() and (one_by_one < max(number, 1)).all()
    assert_proper(edges, one_by_one)
    assert (moved < min(left, right)).all()

    spread = algorithms.color_within(left, right, edges, 4)
    for vertex in range(left):
        counts = np.bincount(spread[edges[:, 0] == vertex], minlength=4)
        assert counts.max() - counts.min() <= 1


def test_one_color_is_one_edge_a_vertex():
    colors, moved = algorithms.color_one_by_one(2, 2, [(0, 0), (0, 1), (1, 1)], 1)
    assert colors.tolist() == [0, -1, 0] and moved.tolist() == [0, 0, 0]


@pytest.mark.parametrize("seed", SEEDS)
def test_slots_are_maximal_and_half_as_large_as_any(seed):
    rng = np.random.default_rng(seed)
    pairs = np.unique(draw_edges(rng, 15, 15), axis=0)
    rng.shuffle(pairs)
    largest = maximum_matching(pairs)
    for slot in (algorithms.greedy(15, pairs), algorithms.allocate(15, pairs, 1, slots=1)):
        assert (slot[:, 0] == 0).all()
        chosen = nx.Graph()
        chosen.add_edges_from((f"s{s}", f"d{d}") for s, d in pairs)
        matching = {(f"s{s}", f"d{d}") for _, s, d in slot}
        assert len(matching) == len(slot) and nx.is_maximal_matching(chosen, matching)
        assert 2 * len(slot) >= largest


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_by_weight_has_half_the_highest_weight(seed):
    weight = np.random.default_rng(seed).random((12, 12))
    order = np.argsort(-weight, axis=None)
    slot = algorithms.greedy(12, np.stack(np.divmod(order, 12), axis=1))
    rows, columns = optimize.linear_sum_assignment(weight, maximize=True)
    assert weight[slot[:, 1], slot[:, 2]].sum() >= weight[rows, columns].sum() / 2


def test_batches_serve_all_that_is_wanted():
    rng = np.random.default_rng(3)
    wanted = rng.integers(0, 30, (20, 20))
    pairs = np.stack(np.nonzero(wanted), axis=1)
    slots = algorithms.allocate(20, pairs, wanted[tuple(pairs.T)], slots=64, batches=20)
    served = np.zeros_like(wanted)
    np.add.at(served, (slots[:, 1], slots[:, 2]), 1)
    assert (served == wanted).all()
    for side in (1, 2):
        assert len(np.unique(slots[:, [0, side]], axis=0)) == len(slots)
    # Maximal: at most twice as many slots as the busiest node needs (less one).
    assert slots[:, 0].max() < 2 * max(wanted.sum(0).max(), wanted.sum(1).max()) - 1


def highest_total(offered, send, receive):
    """By linear programming, on the pairs that offer something."""
    n = len(offered)
    pairs = np.argwhere(offered > 0)
    if not len(pairs):
        return 0.0
    sums = np.zeros((2 * n, len(pairs)))
    sums[pairs[:, 0], np.arange(len(pairs))] = 1
    sums[n + pairs[:, 1], np.arange(len(pairs))] = 1
    return -optimize.linprog(-np.ones(len(pairs)), sums, np.concatenate([send, receive])).fun


def assert_feasible(rates, send, receive):
    assert (rates >= 0).all()
    assert (rates.sum(axis=1) <= send * (1 + 1e-12)).all()
    assert (rates.sum(axis=0) <= receive * (1 + 1e-12)).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_scaled_rates_against_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    offered = rng.random((n, n)) * (rng.random((n, n)) < rng.choice([0.15, 0.4, 1.0]))
    send, receive = rng.uniform(0.5, 2, (2, n))
    scaled = algorithms.scale_both(offered, send, receive, tolerance=1e-3, rounds=5000)
    assert_feasible(scaled.rates, send, receive)
    assert not scaled.rates[offered == 0].any()
    highest = highest_total(offered, send, receive)
    assert scaled.bound >= highest - 1e-9
    assert highest * 0.995 <= scaled.rates.sum() <= highest + 1e-9
    if scaled.rounds < 5000:
        assert scaled.rates.sum() >= highest * (1 - 1.1e-3)

    down = algorithms.scale_down(offered, send, receive)
    assert_feasible(down, send, receive)
    assert (down <= offered).all()
    rows = offered * np.minimum(1, send / np.maximum(offered.sum(axis=1), 1e-300))[:, None]
    assert down == pytest.approx(rows * np.minimum(1, receive / np.maximum(rows.sum(axis=0), 1e-300)))

    fair = algorithms.max_min_matrix(np.where(offered > 0, np.inf, 0), send, receive)
    assert_feasible(fair, send, receive)
    # Every pair has a full end: a maximal set of rates has at least half of the highest total.
    assert highest / 2 - 1e-9 <= fair.sum() <= highest + 1e-9


def draw_flows(rng):
    links = int(rng.integers(1, 7))
    capacity = rng.uniform(0.5, 4, links)
    paths = [rng.permutation(links)[: rng.integers(1, min(links, 4) + 1)] for _ in range(rng.integers(1, 9))]
    weight = rng.uniform(0.3, 3, len(paths))
    crosses = np.zeros((links, len(paths)))
    for f, path in enumerate(paths):
        crosses[path, f] = 1
    return capacity, paths, weight, crosses


def max_min_by_programs(capacity, crosses, weight, demand):
    """The highest common level again and again; who can not exceed it is fixed there."""
    flows = len(weight)
    fixed = np.full(flows, np.nan)
    while np.isnan(fixed).any():
        free = np.isnan(fixed)
        bounds = [(0, d) if np.isnan(x) else (x, x) for x, d in zip(fixed, np.where(np.isinf(demand), None, demand), strict=True)]
        # Variables: rates and the level; weight * level <= rate.
        above = np.hstack([-np.eye(flows), weight[:, None]])[free]
        rows = np.vstack([np.hstack([crosses, np.zeros((len(capacity), 1))]), above])
        room = np.concatenate([capacity * (1 + 1e-12), np.zeros(free.sum())])
        level = -optimize.linprog(np.append(np.zeros(flows), -1), rows, room, bounds=[*bounds, (0, None)]).fun
        at_level = np.where(free, weight * level, fixed)
        stuck = [f for f in np.flatnonzero(free) if most(f, at_level, capacity, crosses, demand) <= at_level[f] + 1e-7]
        assert stuck
        fixed[stuck] = at_level[stuck]
    return fixed


def most(flow, rates, capacity, crosses, demand):
    """The highest rate of a flow while nobody falls below what they have."""
    bounds = [(max(r - 1e-9, 0), None if np.isinf(d) else d + 1e-9) for r, d in zip(rates, demand, strict=True)]
    goal = np.zeros(len(rates))
    goal[flow] = -1
    return -optimize.linprog(goal, crosses, capacity * (1 + 1e-9), bounds=bounds).fun


@pytest.mark.parametrize("seed", SEEDS)
def test_max_min_against_linear_programs(seed):
    rng = np.random.default_rng(seed)
    capacity, paths, weight, crosses = draw_flows(rng)
    demand = np.where(rng.random(len(paths)) < 0.3, rng.uniform(0.1, 2, len(paths)), np.inf)
    rates = algorithms.max_min(capacity, paths, weight=weight, demand=demand)
    assert (crosses @ rates <= capacity * (1 + 1e-12)).all()
    assert rates == pytest.approx(max_min_by_programs(capacity, crosses, weight, demand), abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_proportional_fairness_against_a_convex_program(seed):
    capacity, paths, weight, crosses = draw_flows(np.random.default_rng(seed))
    for iterations in (0, 1, 5):
        rates, _ = algorithms.proportional(capacity, paths, weight=weight, iterations=iterations)
        assert (crosses @ rates <= capacity * (1 + 1e-12)).all()
    rates, off = algorithms.proportional(capacity, paths, weight=weight, iterations=5000)
    assert off < 1e-3
    assert (crosses @ rates <= capacity * (1 + 1e-12)).all()

    start = 0.9 * np.min(np.where(crosses > 0, (capacity / np.maximum(crosses.sum(axis=1), 1))[:, None], np.inf), axis=0)
    best = optimize.minimize(
        lambda x: -(weight * np.log(x)).sum(),
        start,
        jac=lambda x: -weight / x,
        bounds=[(1e-9, None)] * len(start),
        constraints={"type": "ineq", "fun": lambda x: capacity - crosses @ x, "jac": lambda _: -crosses},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    # At the optimum the sum of logs is flat: compare that, then the rates.
    assert (weight * np.log(rates)).sum() == pytest.approx(-best.fun, abs=5e-3)
    assert rates == pytest.approx(best.x, rel=2e-2)


def test_the_parking_lot():
    paths = [[0, 1], [0], [1]]
    assert algorithms.max_min([1, 1], paths).tolist() == [0.5, 0.5, 0.5]
    rates, off = algorithms.proportional([1, 1], paths)
    assert rates == pytest.approx([1 / 3, 2 / 3, 2 / 3]) and off < 1e-6


def permutations(n):
    """All ways to join n hosts, as matrices; a host that is joined to itself is idle."""
    return [np.eye(n)[list(p)] for p in itertools.permutations(range(n))]


def best_finish(demand, circuit, packet, dark):
    """The least time in which demand is through, by a mixed-integer program.

    Which permutations are set up at all, how long each is open, what packets carry of each pair;
    the time is at least that of all configurations, and that of every line of the packet switch.
    """
    n = len(demand)
    all_ways = permutations(n)
    k, m = len(all_ways), n * n
    # Variables: open times, whether set up, bytes by packets, the time.
    size = 2 * k + m + 1
    longest = demand.sum() / circuit + k * dark
    rows, upper = [], []

    def at_most(bound, **parts):
        row = np.zeros(size)
        for name, value in parts.items():
            row[{"open": slice(0, k), "up": slice(k, 2 * k), "packets": slice(2 * k, 2 * k + m), "time": -1}[name]] = value
        rows.append(row)
        upper.append(bound)

    for p in range(k):
        at_most(0, open=np.eye(k)[p], up=-longest * np.eye(k)[p])
    for pair in range(m):
        carried = np.array([way.flat[pair] for way in all_ways]) * circuit
        at_most(-demand.flat[pair], open=-carried, packets=-np.eye(m)[pair])
    at_most(0, open=np.ones(k), up=np.full(k, dark), time=-1)
    for line in range(n):
        grid = np.zeros((n, n))
        grid[line] = 1
        for lines in (grid, grid.T):
            at_most(0, packets=lines.ravel(), time=-packet)
    goal = np.zeros(size)
    goal[-1] = 1
    whole = np.zeros(size)
    whole[k : 2 * k] = 1
    ceiling = np.full(size, np.inf)
    ceiling[k : 2 * k] = 1
    found = optimize.milp(
        goal,
        constraints=optimize.LinearConstraint(np.array(rows), -np.inf, upper),
        integrality=whole,
        bounds=optimize.Bounds(0, ceiling),
    )
    assert found.success
    return found.fun


def draw_demand(rng, n, scale):
    demand = np.ceil(rng.uniform(0, scale, (n, n))) * (rng.random((n, n)) < 0.7)
    np.fill_diagonal(demand, 0)
    return demand


def carried(schedule, demand, circuit):
    """Bytes that circuits carry, added up configuration by configuration, where all ports stop."""
    left = demand.copy()
    for matching, open_ in zip(schedule.matchings, schedule.open, strict=True):
        for i, j in enumerate(matching):
            if j >= 0:
                left[i, j] = max(0, left[i, j] - open_ * circuit)
    return demand.sum() - left.sum()


ALL_STOP = [name for name in algorithms.circuit_schedulers() if name != "sunflow"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("packet", [0.0, 0.1])
def test_no_circuit_schedule_is_faster_than_the_best(seed, packet):
    rng = np.random.default_rng(seed)
    n = 3 + seed % 2
    dark = [0.0, 20e-6][seed // 2 % 2]
    # 1 Gb/s: 125 bytes in a microsecond.
    demand = draw_demand(rng, n, 30_000)
    best = best_finish(demand, 125e6, 125e6 * packet, dark)
    # Without dark time that is the bound: a matrix with equal line sums is a mixture of
    # permutations (Birkhoff).
    bound = max(demand.sum(axis=0).max(), demand.sum(axis=1).max()) / (125e6 * (1 + packet))
    assert best >= bound * (1 - 1e-6)
    if dark == 0:
        assert best == pytest.approx(bound, rel=1e-6)
    for name in ALL_STOP:
        s = tp.algorithms.circuit_schedule(demand, name, circuit="1 Gb/s", packet=1e9 * packet, dark=dark)
        assert s.bound == pytest.approx(bound, rel=1e-6)
        assert s.finish >= best * (1 - 1e-6), name
        assert s.share * demand.sum() == pytest.approx(carried(s, demand, 125e6), abs=n * n)
        if packet == 0:
            assert s.share == 1
        if name in ("solstice", "solstice_refined"):
            # A slice is there for all ports; the packet switch may be done with some of them
            # earlier.
            assert s.finish <= best * (1 + 1e-6 if dark == packet == 0 else 1.3)


@pytest.mark.parametrize("seed", range(8))
def test_eclipse_carries_half_of_the_best_in_a_window(seed):
    rng = np.random.default_rng(seed)
    n = 3 + seed % 2
    demand = draw_demand(rng, n, 30_000)
    dark, window = 20e-6, rng.uniform(60e-6, 400e-6)
    all_ways = permutations(n)
    k, m = len(all_ways), n * n
    # Open times, whether set up, bytes carried.
    carry = np.hstack([-125e6 * np.array([way.ravel() for way in all_ways]).T, np.zeros((m, k)), np.eye(m)])
    set_up = np.hstack([np.eye(k), -window * np.eye(k), np.zeros((k, m))])
    fits = np.hstack([np.ones(k), np.full(k, dark), np.zeros(m)])[None]
    limit = np.concatenate([np.zeros(m + k), [window]])
    found = optimize.milp(
        np.concatenate([np.zeros(2 * k), -np.ones(m)]),
        constraints=optimize.LinearConstraint(np.vstack([carry, set_up, fits]), -np.inf, limit),
        integrality=np.concatenate([np.zeros(k), np.ones(k), np.zeros(m)]),
        bounds=optimize.Bounds(0, np.concatenate([np.full(k, np.inf), np.ones(k), demand.ravel()])),
    )
    best = -found.fun
    for name in ALL_STOP:
        s = algorithms.circuit_schedule(demand, name, circuit=1e9, dark="20 us", window=window, most=75)
        assert s.share * demand.sum() <= best * (1 + 1e-6) + n * n, name
        assert s.dark.sum() + s.open.sum() <= window + 1e-12  # whole picoseconds
        if name == "eclipse":
            assert s.share * demand.sum() >= best / 2


def test_circuits_that_stay_up_and_ports_that_move():
    demand = np.array([[0, 12_500, 0], [0, 0, 12_500], [12_500, 0, 0]])
    settings = {"circuit": "1 Gb/s", "dark": "20 us"}
    s = algorithms.circuit_schedule(demand, **settings)
    assert s.matchings.tolist() == [[1, 2, 0]] and s.dark.tolist() == [20e-6] and s.open.tolist() == [100e-6]
    assert s.finish == pytest.approx(120e-6) and s.bound == pytest.approx(100e-6) and s.share == 1
    assert algorithms.circuit_schedule(demand, standing=[1, 2, 0], **settings).dark.tolist() == [0]
    s = algorithms.circuit_schedule(demand, "sunflow", moved_only=True, standing=[1, -1, -1], **settings)
    assert s.finish == pytest.approx(120e-6)
    s = algorithms.circuit_schedule(demand, "max_weight", day="30 us", **settings)
    assert s.open == pytest.approx([120e-6])
    assert algorithms.circuit_schedule(np.zeros((3, 3)), **settings).matchings.shape == (0, 3)


def test_circuits_that_can_not_be_planned_are_refused():
    demand = np.array([[0.0, 1], [1, 0]])
    settings = {"circuit": "1 Gb/s", "dark": "20 us"}
    for wrong, match in [
        (np.full((2, 2), np.nan), "from 0 to"),
        (np.array([[0.0, -1], [0, 0]]), "from 0 to"),
        (np.ones((2, 3)), "as many rows as columns"),
        (np.ones(4), "as many rows as columns"),
        (np.ones((2, 2)), "host 0 has 1 bytes for itself"),
    ]:
        with pytest.raises(ValueError, match=match):
            algorithms.circuit_schedule(wrong, **settings)
    for change, match in [
        ({"algorithm": "solstise"}, "did you mean `solstice`"),
        ({"algorithm": "sunflow"}, "only the moved ports"),
        ({"circuit": "1 Gb"}, "circuit: "),
        ({"circuit": 0.0}, "rate zero"),
        ({"dark": -1.0}, "dark: -1 is not"),
        ({"window": "10 us"}, "leaves nothing of a window"),
        ({"most": 0, "window": 1.0}, "at most 0 configurations"),
        ({"most": -1}, "at most -1"),
        ({"standing": [1, 2, 0]}, "is of 3 hosts"),
        ({"standing": [1, 1]}, "sends to itself"),
        ({"standing": [1, -2]}, "is no host"),
        ({"standing": [0.5, 1]}, "a host or -1"),
        ({"day": "1 us"}, "day is for max_weight"),
        ({"algorithm": "adjust", "granularity": 0}, "granularity of `adjust` is 0"),
    ]:
        with pytest.raises(ValueError, match=match):
            algorithms.circuit_schedule(demand, **{**settings, **change})
    # What stands is no matching: two hosts send to one.
    with pytest.raises(ValueError, match="hosts 0 and 1 both send to host 2"):
        algorithms.circuit_schedule(np.zeros((3, 3)), **settings, standing=[2, 2, -1])


def test_what_is_wrong_is_refused():
    with pytest.raises(ValueError, match="not below 2, 2"):
        algorithms.color(2, 2, [(0, 2)])
    with pytest.raises(ValueError, match="power of two"):
        algorithms.color_within(2, 2, [(0, 1)], 3)
    with pytest.raises(TypeError, match="whole numbers"):
        algorithms.greedy(2, [(0.5, 1.0)])
    with pytest.raises(ValueError, match="1 to 64"):
        algorithms.allocate(2, [(0, 1)], 1, slots=65)
    with pytest.raises(ValueError, match="expected 3"):
        algorithms.scale_both(np.ones((3, 3)), send=[1, 1])
    with pytest.raises(ValueError, match="not negative"):
        algorithms.scale_down([[-1.0]])
    with pytest.raises(ValueError, match="at most once"):
        algorithms.max_min([1.0], [[0, 0]])
    with pytest.raises(ValueError, match="positive"):
        algorithms.proportional([0.0], [[0]])
    assert algorithms.color(2, 2, [])[1] == 0
    assert algorithms.max_min([1.0], []).size == 0
