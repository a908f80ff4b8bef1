"""Routings over rotor switches, written in Python."""

import numpy as np
import pytest

import timeplane as tp

ROTOR = tp.Rotor(racks=6, hosts_per_rack=2, switches=2, slice="20 us", dark="1 us")


def scheme(routing):
    return tp.Scheme(transport=tp.Datagrams(), rotor=tp.RotorRoutes(routing=routing))


def scenario(routings, **changes):
    values = {
        "name": "own_routings",
        "fabric": tp.Fabric(topology=ROTOR, rate="10 Gb/s", propagation="100 ns"),
        "workload": tp.Poisson(load=0.1, sizes=tp.Fixed("20 kB")),
        "window": tp.Window(measure="2 ms", drain="5 ms"),
        "scheme": {name: scheme(routing) for name, routing in routings.items()},
    }
    return tp.Scenario(**(values | changes))


def direct(circuits):
    """The next circuit to the destination, as the built-in one."""
    slices, racks, uplinks = circuits.shape
    waits = np.zeros((slices, racks, racks), dtype=int)
    links = np.full_like(waits, -1)
    wait, link = np.full((racks, racks), 2 * slices), np.full((racks, racks), -1)
    for s in reversed(range(2 * slices)):
        wait = wait + 1
        for uplink in reversed(range(uplinks)):
            rack = np.flatnonzero(circuits[s % slices, :, uplink] >= 0)
            to = circuits[s % slices, rack, uplink]
            wait[rack, to], link[rack, to] = 0, uplink
        waits[s % slices], links[s % slices] = wait, link
    links[:, wait >= slices] = -1
    waits[links < 0] = 0
    return waits, links


def flows(run):
    return run.flows.to_polars().drop("run", "scheme")


def test_an_own_routing_does_what_the_built_in_does(register):
    register(tp.register_routing, "mine", direct)
    first, second = scenario({"direct": tp.Direct(), "mine": tp.Own("mine")}).run(results=None).runs
    assert len(flows(first)) > 100 and flows(first).equals(flows(second))


def test_a_class_gets_the_slices_and_its_parameters(register):
    made = []

    class Mine:
        per_packet = True

        def __init__(self, parameters, ways):
            made.append(parameters)
            self.ways = ways

        def __call__(self, circuits):
            assert circuits.shape == (3, 6, 2) and circuits.dtype == np.int64
            waits, links = direct(circuits)
            return np.stack([waits] * self.ways), np.stack([links] * self.ways)

    register(tp.register_routing, "mine", Mine)
    first, second = scenario({"direct": tp.Direct(), "mine": tp.Own({"name": "mine", "ways": 3})}).run(results=None).runs
    assert flows(first).equals(flows(second))
    assert (made[0].slice, made[0].rate) == (pytest.approx(20e-6), 10_000_000_000)
    assert repr(made[0]).startswith("RoutingParameters(slice=0.0000") and "rate=10000000000" in repr(made[0])


def test_bulk_and_failures_have_it_too(register):
    asked = []

    def mine(circuits):
        asked.append(int((circuits < 0).sum()))
        return direct(circuits)

    register(tp.register_routing, "mine", mine)
    def bulk(routing):
        routes = tp.RotorRoutes(routing=tp.Shortest(), bulk=tp.Bulk(above="10 kB", routing=routing))
        return tp.Scheme(transport=tp.Datagrams(), rotor=routes)

    both = {"built_in": bulk(tp.Direct()), "mine": bulk(tp.Own("mine"))}
    case = scenario({}, scheme=both, failure=[tp.Failure(element={"switch": 6}, at="500 us")])
    first, second = case.run(results=None).runs
    assert flows(first).equals(flows(second))
    # Before the first run, at its start and when the switch has failed, with its circuits gone.
    assert len(asked) >= 3 and asked[-1] > asked[0]


def changed(change):
    """The direct routing with a mistake."""

    def wrong(circuits):
        answer = direct(circuits)
        return change(*answer)

    return wrong


def put(array, value, place=(0, 0, 1)):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda waits, links: waits, "tuple"),
        (lambda waits, links: (waits, links * 1.0), "uplinks are an array of integers, not of float64"),
        (lambda waits, links: (waits[:2], links[:2]), r"shape (3, 6, 6) of slices, racks and destinations"),
        (lambda waits, links: (waits, np.stack([links] * 2)), "these have [3, 6, 6] and [2, 3, 6, 6]"),
        (lambda waits, links: (put(waits, 3), links), "at rack 0 in slice 0, for rack 1: it waits for 3 slices, but a cycle has 3"),
        (lambda waits, links: (put(waits, -1), links), "it waits for -1 slices"),
        (lambda waits, links: (waits, put(links, 2)), "uplink 2 has no circuit in slice"),
        (lambda waits, links: (waits, put(links, -1)), "packets for rack 1 at rack 0 in slice 0 have no path"),
        (lambda waits, links: (waits, put(links, -1, (2, 5, 3))), "packets for rack 3 at rack 5 in slice 2 have no path"),
        (lambda waits, links: (np.stack([waits] * 2), np.stack([links, put(links, -1)])), "in slice 0 have no path"),
        (lambda waits, links: (waits * 0, np.zeros_like(links)), "go round and come back"),
    ],
)
def test_wrong_tables_are_refused_before_the_first_run(register, change, message):
    register(tp.register_routing, "wrong", changed(change))
    with pytest.raises(tp.TimeplaneError) as caught:
        scenario({"mine": tp.Own("wrong")}).run(results=None)
    assert message in str(caught.value), caught.value


def test_names_and_parameters_are_checked(register):
    register(tp.register_routing, "mine", direct)
    with pytest.raises(tp.ScenarioError, match="unknown routing `mien`, did you mean `mine`"):
        scenario({"a": tp.Own("mien")}).run(results=None)
    with pytest.raises(tp.RunError, match="`mine` does not accept these parameters"):
        scenario({"a": tp.Own({"name": "mine", "depth": 3})}).run(results=None)
    with pytest.raises(tp.ScenarioError, match="`vlb`: expected a routing that a program has registered"):
        scenario({"a": tp.Own("vlb")}).run(results=None)
    assert tp.schedulers("rotor") == ["mine"]


def test_runs_are_never_reused(register, tmp_path):
    register(tp.register_routing, "mine", direct)
    case = scenario({"mine": tp.Own("mine")})
    case.run(results=tmp_path)
    register(tp.register_routing, "mine", lambda circuits: 1 / 0)
    with pytest.raises(tp.TimeplaneError) as caught:
        case.run(results=tmp_path)
    assert "division by zero" in str(caught.value)
