"""Algorithms written in Python for circuits, timeslots, rates and flyways, and their parameters."""

import json

import numpy as np
import pytest

import timeplane as tp
from timeplane import algorithms

HYBRID = tp.Hybrid(tors=4, hosts_per_tor=1, packet_rate="1 Gb/s", dark="mordia", multiplexer_frames=4)
CIRCUITS = {"period": "1 ms", "dark": "30 us", "least_open": "130 us"}


def scenario(plans, fabric=None, **changes):
    """Schemes with these plans, on the same Poisson traffic."""
    values = {
        "name": "own",
        "fabric": fabric or tp.Fabric(topology=tp.SingleSwitch(hosts=4), rate="10 Gb/s"),
        "workload": tp.Poisson(load=0.3, sizes=tp.Exponential("50 kB")),
        "window": tp.Window(measure="3 ms", drain="3 ms"),
        "scheme": {name: tp.Scheme(transport=tp.Raw(), plan=plan) for name, plan in plans.items()},
    }
    return tp.Scenario(**(values | changes))


def circuits(scheduler, **more):
    return tp.Circuits(scheduler=scheduler, **(CIRCUITS | more))


def hybrid(plans, **changes):
    return scenario(plans, tp.Fabric(topology=HYBRID, rate="10 Gb/s", propagation="500 ns"), **changes)


def flows(run):
    """The flows of a run, without the columns that name the run."""
    return run.flows.to_polars().drop("run", "scheme")


def tables(results):
    """The flows of each run."""
    return [flows(run) for run in results.runs]


def assert_same(results):
    """The runs of two schemes have the same flows."""
    first, *others = tables(results)
    assert len(first) > 20 and first["fct_ps"].null_count() < len(first)
    for other in others:
        assert other.equals(first)


def refused(case, match):
    """The `RunError` that ends a batch."""
    with pytest.raises(tp.RunError, match=match) as caught:
        case.run(results=None)
    return caught.value


class Rotor:
    """The built-in round robin."""

    oblivious = True

    def __init__(self, parameters, day=None):
        self.parameters, self.served = parameters, 0
        self.day = max(9 * parameters.dark, 1e-6) if day is None else day

    def __call__(self, demand, standing):
        p, hosts = self.parameters, np.arange(len(demand))
        left, matchings, opens = p.window, [], []
        while (room := left - p.dark) >= p.least_open - 1e-15:
            opens.append(min(max(self.day, p.least_open), room))
            matchings.append((hosts + 1 + self.served % (len(hosts) - 1)) % len(hosts))
            left -= p.dark + opens[-1]
            self.served += 1
        return matchings, opens


def test_own_circuits_do_what_the_built_in_do(register):
    register(tp.register_circuits, "rotor", Rotor)
    assert_same(hybrid({"built_in": circuits("round_robin"), "own": circuits("rotor")}).run(results=None))
    day = {"built_in": circuits("round_robin", day="200 us"), "own": circuits({"name": "rotor", "day": 200e-6})}
    assert_same(hybrid(day).run(results=None))


def test_circuits_get_what_the_scenario_says(register):
    seen = []

    class Seen(Rotor):
        oblivious = False

        def __init__(self, parameters):
            super().__init__(parameters)
            seen.append(parameters)

        def __call__(self, demand, standing):
            assert demand.dtype == np.float64 and demand.shape == (4, 4) and not np.diag(demand).any()
            seen.append(standing)
            return super().__call__(demand, standing)

    register(tp.register_circuits, "seen", Seen)
    hybrid({"own": circuits("seen", configurations=5, limits=False)}).run(results=None)
    parameters, first, second, *_ = seen
    assert (parameters.circuit, parameters.packet) == (10_000_000_000, 1_000_000_000)
    times = (parameters.dark, parameters.least_open, parameters.window)
    assert times == pytest.approx((30e-6, 130e-6, 1e-3)) and parameters.most == 5 and not parameters.moved_only
    assert "dark=3e-5" in repr(parameters) or "dark=0.00003" in repr(parameters)
    assert first is None and second.dtype == np.int64 and sorted(second) == [0, 1, 2, 3]


def test_a_function_gets_its_parameters_with_each_call(register):
    calls = []

    def one(demand, standing, parameters, shift, open="300 us"):
        calls.append((shift, parameters.window))
        return [(np.arange(len(demand)) + shift) % len(demand)], open

    register(tp.register_circuits, "one", one)
    case = hybrid({"own": circuits({"name": "one", "shift": 2})})
    results = case.run(results=None)
    assert set(calls) == {(2, 1e-3)}
    # The last configuration of a period stays up to its end.
    assert set(results.slots["open_ps"].tolist()) >= {970_000_000}


ROLL = (np.arange(4) + 1) % 4


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (([np.arange(4)], 2e-4), "configuration 0: host 0 sends to itself"),
        (([ROLL, [1, 1, -1, -1]], 2e-4), "configuration 1: host 1 sends to itself"),
        (([[2, 2, -1, -1]], 2e-4), "hosts 0 and 1 both send to host 2"),
        (([[9, -1, -1, -1]], 2e-4), "host 0 sends to host 9"),
        (([ROLL[:3]], 2e-4), "one number for each of 4 hosts"),
        (([ROLL * 1.0], 2e-4), "array of integers"),
        (([ROLL], None), "NoneType"),
        (([ROLL], [2e-4, 2e-4]), "1 matchings and 2 durations"),
        (([ROLL], "100 us"), "is open for 100 us: at least 130 us"),
        (([ROLL], 1e-3), "the plan takes 1.03 ms, its window is 1 ms"),
        (([ROLL, (ROLL + 2) % 4, ROLL], 2e-4), "3 configurations: at most 2"),
        ([ROLL], "tuple"),
        (None, "tuple"),
    ],
)
def test_invalid_circuits_are_refused(register, answer, message):
    register(tp.register_circuits, "wrong", lambda demand, standing: answer)
    error = refused(hybrid({"own": circuits("wrong", configurations=2)}), "circuit scheduler `wrong` failed")
    assert message in str(error) and message in str(error.__cause__)
    assert (error.scheme, error.seed) == ("own", 1)


def test_circuits_that_serve_nobody_end(register):
    register(tp.register_circuits, "idle", lambda demand, standing: ([], []))
    # The packet switch carries everything.
    assert hybrid({"own": circuits("idle")}).run(results=None).summary["finished_flows"].sum() > 0
    without = circuits("idle", packets=False, period="200 us", least_open="50 us", compute_time="1 us")
    refused(hybrid({"own": without}, window=tp.Window(measure="1 ms")), "served nobody in 10000 plans")


class Key:
    """An order of timeslots by one of the columns."""

    def __init__(self, parameters, column="arrived_ps", scale=1):
        self.column, self.scale = column, scale
        assert parameters.slot == pytest.approx(1538 * 8 / 10e9) and parameters.slot_bytes == 1538
        assert parameters.batch == 1

    def __call__(self, waiting):
        columns = ["source", "destination", "traffic_class", "arrived_ps", "first_since_ps", "flow_bytes", "bytes", "packets"]
        assert {getattr(waiting, c).shape for c in columns} == {(len(waiting),)}
        assert (waiting.bytes >= waiting.flow_bytes).all() and (waiting.arrived_ps <= waiting.start_ps).all()
        return getattr(waiting, self.column) * self.scale


@pytest.mark.parametrize(("metric", "column"), [("ocf", "arrived_ps"), ("mmf", "first_since_ps"), ("srjf", "flow_bytes")])
def test_own_orders_do_what_the_built_in_do(register, metric, column):
    register(tp.register_order, "key", Key)
    plan = lambda metric: tp.Timeslots(metric=metric, flow_order="arrival")
    results = scenario({"built_in": plan(metric), "own": plan({"name": "key", "column": column})}).run(results=None)
    assert_same(results)


def test_keys_are_integers_or_floats(register):
    register(tp.register_order, "key", Key)
    newest = lambda **more: tp.Timeslots(metric={"name": "key", **more})
    # Negative keys and floats keep their order. Ties are rare, and differ.
    results = scenario({"integers": newest(scale=-1), "floats": newest(scale=-1.0)}).run(results=None)
    one, other = tables(results)
    assert (one["fct_ps"] == other["fct_ps"]).mean() > 0.9
    fifo, lifo = tables(scenario({"fifo": newest(), "lifo": newest(scale=-1)}).run(results=None))
    assert not fifo.equals(lifo)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.zeros(n + 1), "keys for"),
        (lambda n: np.full(n, np.nan), "the key of pair 0 is not a number"),
        (lambda n: ["a"] * n, "keys are numbers"),
        (lambda n: np.zeros((n, 1)), "an array of keys has one dimension"),
        (lambda n: None, "an array of keys has one dimension"),
    ],
)
def test_invalid_orders_are_refused(register, answer, message):
    register(tp.register_order, "wrong", lambda waiting: answer(len(waiting)))
    error = refused(scenario({"own": tp.Timeslots(metric="wrong")}), "order of timeslots `wrong` failed")
    assert message in str(error) and message in str(error.__cause__)


class MaxMin:
    """The built-in max-min fairness."""

    def __init__(self, parameters, share=1.0):
        self.capacity, self.share, self.hosts = parameters.capacity, share, parameters.hosts

    def __call__(self, flows):
        assert (flows.links[:, 0] == flows.source).all() and (flows.links[:, 1] == self.hosts + flows.destination).all()
        paths = [row[row >= 0] for row in flows.links]
        return self.share * algorithms.max_min(self.capacity, paths, demand=flows.demand)


@pytest.mark.parametrize("spines", [None, 1])
def test_own_rates_do_what_the_built_in_do(register, spines):
    register(tp.register_rates, "mine", MaxMin)
    fabric = None
    if spines:
        # Two hosts share what leaves their switch.
        fabric = tp.Fabric(topology=tp.LeafSpine(leaves=2, hosts_per_leaf=2, spines=spines), rate="10 Gb/s")
    results = scenario({"built_in": tp.Rates(normalizer="max_min"), "own": tp.Rates(normalizer="mine")}, fabric).run(results=None)
    assert_same(results)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda flows: flows.demand[1:], "rates for"),
        (lambda flows: -flows.demand, "a rate is finite and not negative"),
        (lambda flows: flows.demand * np.nan, "a rate is finite and not negative"),
        (lambda flows: flows.demand * 1.001, "more than its capacity of 1"),
        (lambda flows: "fast", "an array of rates has one dimension"),
    ],
)
def test_invalid_rates_are_refused(register, answer, message):
    register(tp.register_rates, "wrong", answer)
    error = refused(scenario({"own": tp.Rates(normalizer="wrong")}), "rate normalizer `wrong` failed")
    assert message in str(error) and message in str(error.__cause__) and error.scheme == "own"


def test_rates_that_serve_nobody_end(register):
    register(tp.register_rates, "idle", lambda flows: flows.demand * 0)
    case = scenario({"own": tp.Rates(normalizer="idle")}, window=tp.Window(measure="500 us"))
    refused(case, "rate normalizer `idle` served nobody in 10000 plans")


class Greedy:
    """The built-in greedy policy."""

    def __init__(self, parameters, transit=True):
        self.transit, self.uplink = transit, parameters.uplink / 8
        assert parameters.racks == 6 and parameters.hosts >= parameters.uplink

    def __call__(self, wire):
        rack, up = wire.rack, wire.is_uplink
        own = wire.traffic[rack] if up else wire.traffic[:, rack]
        busy = wire.up_seconds if up else wire.down_seconds
        links = wire.rates / 8
        most = busy[rack] * self.uplink * links / (self.uplink + links)
        room = np.maximum((busy[rack] - busy) * self.uplink * self.uplink / (self.uplink + self.uplink), 0)
        taken = own + (np.minimum(own.sum() - own, room) if self.transit else 0)
        relief = np.minimum(taken, most)
        racks = [r for r in range(len(own)) if r != rack and wire.rates[r] > 0 and relief[r] > 0 and (self.transit or own[r] > 0)]
        return sorted(racks, key=lambda r: (-relief[r], -own[r], r))


def racks(policies, **changes):
    """Six racks on uplinks with half of their rate, under these policies."""
    fabric = tp.Fabric(topology=tp.Tree(edges=6, hosts_per_edge=1), rate="10 Gb/s", uplink_rate="5 Gb/s", mtu="9000 B")
    plan = lambda policy: tp.Flyways(policy=policy, every="2 ms", report_every="1 ms")
    values = {
        "workload": tp.Poisson(load=0.35, sizes=tp.Exponential("1 MB")),
        "window": tp.Window(measure="30 ms", drain="20 ms"),
        "scheme": {name: tp.Scheme(transport=tp.Tcp(), plan=plan(policy)) for name, policy in policies.items()},
    }
    return scenario({}, fabric, **(values | changes))


@pytest.mark.parametrize(("policy", "transit"), [("greedy", True), ("greedy_direct", False)])
def test_own_flyways_do_what_the_built_in_do(register, policy, transit):
    register(tp.register_flyways, "mine", Greedy)
    results = racks({"built_in": policy, "own": {"name": "mine", "transit": transit}}).run(results=None)
    assert_same(results)
    # There are flyways, and which ones matters.
    register(tp.register_flyways, "none", lambda wire: [])
    without = racks({"own": "none"}).run(results=None)
    assert not tables(without)[0].equals(tables(results)[0])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda wire: [wire.rack], "no link from rack"),
        (lambda wire: [99], "the racks are 0 to 5"),
        (lambda wire: [-1], "the racks are 0 to 5"),
        (lambda wire: [int(np.argmax(wire.rates))] * 2, "is chosen twice"),
        (lambda wire: np.flatnonzero(wire.rates == 0), "`rates` is 0 there"),
        (lambda wire: [0.5], "array of integers"),
        (lambda wire: [[1]], "one dimension"),
    ],
)
def test_invalid_flyways_are_refused(register, answer, message):
    register(tp.register_flyways, "wrong", answer)
    error = refused(racks({"own": "wrong"}), "flyway policy `wrong` failed")
    assert message in str(error) and message in str(error.__cause__)


PLANS = {
    "tdma": lambda own: tp.Tdma(scheduler=own, slot="100 us", guard="10 us"),
    "timeslots": lambda own: tp.Timeslots(metric=own),
    "rates": lambda own: tp.Rates(normalizer=own),
    "circuits": circuits,
}
HOWS = {
    "tdma": tp.register_scheduler,
    "timeslots": tp.register_order,
    "rates": tp.register_rates,
    "circuits": tp.register_circuits,
}
KEYS = {"tdma": "scheduler", "timeslots": "metric", "rates": "normalizer", "circuits": "scheduler"}


def of(plan, own):
    return (hybrid if plan == "circuits" else scenario)({"scheme": PLANS[plan](own)})


@pytest.mark.parametrize("plan", PLANS)
class TestEveryPlan:
    """What holds for all kinds of algorithms."""

    def test_an_unknown_name_gets_the_nearest(self, register, plan):
        register(HOWS[plan], "my_algorithm", lambda *inputs: None)
        with pytest.raises(tp.ScenarioError, match=r"unknown .* `my_algoritm`, did you mean `my_algorithm`") as caught:
            of(plan, "my_algoritm").validate()
        issue = caught.value.issues[0]
        assert issue.key == f"scheme.scheme.plan.{plan}.{KEYS[plan]}"
        # All known ones are listed, and only those of the plan.
        assert issue.help == "expected one of: " + ", ".join(tp.schedulers(plan)) and "my_algorithm" in issue.help
        built_in = tp.schedulers(plan)[0]
        with pytest.raises(tp.ScenarioError, match=f"did you mean `{built_in}`"):
            of(plan, built_in + "x").validate()

    def test_built_in_algorithms_have_no_parameters_of_their_own(self, plan):
        name = tp.schedulers(plan)[0]
        with pytest.raises(tp.ScenarioError, match=f"`{name}` with parameters: expected"):
            of(plan, {"name": name, "depth": 3}).validate()
        of(plan, {"name": name}).validate()
        with pytest.raises(tp.ScenarioError, match="missing key `name`"):
            of(plan, {"depth": 3}).validate()

    def test_built_in_names_are_taken(self, plan):
        with pytest.raises(ValueError, match="built-in"):
            HOWS[plan](tp.schedulers(plan)[0], lambda *inputs: None)

    def test_parameters_reach_the_constructor(self, register, plan):
        class Mine:
            def __init__(self, parameters, depth, weight="slow", more=()):
                raise ValueError(json.dumps([depth, weight, more]))

        register(HOWS[plan], "mine", Mine)
        own = {"name": "mine", "depth": 3, "weight": "fast", "more": [1.5, {"a": True}]}
        error = refused(of(plan, own), "`mine` could not be made")
        assert '[3, "fast", [1.5, {"a": true}]]' in str(error) and isinstance(error.__cause__, ValueError)
        assert error.scheme == "scheme" and f"plan.{plan}.{KEYS[plan]}: " in str(error)

    def test_parameters_that_it_does_not_have_end_the_batch_before_it_starts(self, register, plan, tmp_path):
        made = []

        class Mine:
            def __init__(self, parameters, *, depth):
                made.append(depth)

        register(HOWS[plan], "mine", Mine)
        for own, message in [("mine", "depth"), ({"name": "mine", "depth": 3, "depht": 3}, "depht")]:
            with pytest.raises(tp.RunError, match=message) as caught:
                of(plan, own).run(results=tmp_path)
            assert f"scheme.scheme.plan.{plan}.{KEYS[plan]}: `mine` does not accept" in str(caught.value)
            assert caught.value.scheme == "scheme" and isinstance(caught.value.__cause__, TypeError)
        register(HOWS[plan], "function", lambda *inputs, depth: None)
        refused(of(plan, "function"), "depth")
        assert not made and not list(tmp_path.iterdir())

    def test_exceptions_arrive_as_they_were(self, register, plan):
        class Mine(Exception):
            pass

        def fails(*inputs):
            raise Mine("no idea")

        register(HOWS[plan], "fails", fails)
        error = refused(of(plan, "fails"), r"`fails` failed: .*Mine: no idea")
        assert type(error.__cause__) is Mine and error.__cause__.__traceback__ is not None
        assert (error.scheme, error.seed) == ("scheme", 1)


def test_runs_are_repeated_and_sweeps_reach_parameters(register, tmp_path):
    made = []

    class Counted(Key):
        def __init__(self, parameters, scale):
            super().__init__(parameters, "arrived_ps", scale)
            made.append(scale)

    register(tp.register_order, "counted", Counted)
    schemes = {"own": tp.Timeslots(metric={"name": "counted", "scale": 1}), "built_in": tp.Timeslots(metric="ocf")}
    case = scenario(schemes, sweep={"scheme.own.plan.timeslots.metric.scale": [1, -1]})
    results = case.run(results=tmp_path)
    assert sorted(made) == [-1, 1]
    runs = {(run.scheme_name, run.point["scheme.own.plan.timeslots.metric.scale"]): run for run in results.runs}
    assert len(runs) == 4
    same = lambda one, other: flows(runs[one]).equals(flows(runs[other]))
    assert same(("own", "1"), ("built_in", "1")) and not same(("own", "-1"), ("built_in", "-1"))
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("flows.parquet")}
    case.run(results=tmp_path)
    assert sorted(made) == [-1, -1, 1, 1]
    # The built-in order's runs are reused.
    again = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("flows.parquet")}
    assert sum(written[path] != again[path] for path in written) == 2


def test_a_file_and_a_setting_name_own_algorithms(register, tmp_path):
    depths = []

    class Mine(Rotor):
        def __init__(self, parameters, depth, weight="slow"):
            super().__init__(parameters)
            depths.append((depth, weight))

    register(tp.register_circuits, "mine", Mine)
    file = tmp_path / "own.toml"
    file.write_text(
        """
        [fabric]
        topology.hybrid = { tors = 4, hosts_per_tor = 1, packet_rate = "1 Gb/s", dark = "mordia", multiplexer_frames = 4 }
        rate = "10 Gb/s"
        propagation = "500 ns"
        [workload.shuffle]
        bytes = "100 kB"
        [scheme.own]
        transport.raw = {}
        plan.circuits = { scheduler = { name = "mine", depth = 3 }, period = "1 ms" }
        """
    )
    tp.Scenario.from_file(file).run(results=None)
    key = "scheme.own.plan.circuits.scheduler"
    tp.Scenario.from_file(file, set={f"{key}.depth": [4, 5], f"{key}.weight": "fast"}).run(results=None, jobs=1)
    # A setting turns a name into a table.
    tp.Scenario.from_file(file, set={key: "mine"}).validate()
    both = tp.Scenario.from_file(file, set={key: {"name": "mine", "depth": 6}})
    both.run(results=None)
    assert sorted(depths) == [(3, "slow"), (4, "fast"), (5, "fast"), (6, "slow")]
    assert both.resolved()["scheme"]["own"]["plan"]["circuits"]["scheduler"] == {"name": "mine", "depth": 6}
    with pytest.raises(tp.ScenarioError, match=r"own.toml:10:.*datetime|date or time"):
        file.write_text(file.read_text().replace("depth = 3", "depth = 2026-01-01"))
        tp.Scenario.from_file(file)


def test_own_algorithms_stay_in_this_process(register):
    register(tp.register_rates, "mine", MaxMin)
    case = scenario({"own": tp.Rates(normalizer={"name": "mine", "share": 0.5})})
    with pytest.raises(ValueError, match=r"plan.rates.normalizer: 'mine' is written in Python"):
        tp.sweep(case, object())


def test_lists_of_names(register):
    register(tp.register_flyways, "mine", lambda wire: [])
    assert tp.schedulers("flyways")[-1] == "mine" and "mine" not in tp.schedulers()
    with pytest.raises(ValueError, match="unknown plan 'slots': expected one of tdma"):
        tp.schedulers("slots")
    with pytest.raises(TypeError, match="callable"):
        tp.register_rates("number", 3)
    tp.unregister_scheduler("mine")
    assert "mine" not in tp.schedulers("flyways")
