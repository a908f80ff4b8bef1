"""Schedulers written in Python."""

from datetime import timedelta

import numpy as np
import polars as pl
import pytest

import timeplane as tp


def greedy(demand):
    """Fills slots with the largest pairs that fit; pairs count until a slot's bytes have served
    them.
    """
    left, matchings = demand.copy(), []
    while left.any() and len(matchings) < 32:
        matching, taken = np.full(len(left), -1), set()
        for flat in np.argsort(-left, axis=None, kind="stable"):
            i, j = divmod(int(flat), len(left))
            if left[i, j] > 0 and matching[i] < 0 and j not in taken:
                matching[i] = j
                taken.add(j)
                left[i, j] = max(0, left[i, j] - 10e9 / 8 * 300e-6)
        matchings.append(matching)
    return matchings, None


def slots(name, **more):
    return tp.Scheme(transport=tp.Raw(), plan=tp.Tdma(scheduler=name, **more))


def test_it_completes_what_the_built_in_completes(make, register):
    register(tp.register_scheduler, "greedy", greedy)
    scheme = {"built_in": slots("weighted_round_robin"), "greedy": slots("greedy")}
    results = make(scheme=scheme).run(results=None)
    summary = results.summary.to_polars()
    assert summary["finished_flows"].to_list() == [30] * 4 and summary["dropped_packets"].sum() == 0
    times = summary.group_by("scheme", maintain_order=True).agg(pl.col("completion_ps").mean())["completion_ps"]
    # Both fill slots about as well.
    assert times[1] == pytest.approx(times[0], rel=0.25)
    assert set(results.runs[2].slots["open_ps"]) == {300_000_000}


def test_a_class_is_made_for_every_run(make, register):
    made = []

    class Rotation:
        def __init__(self, parameters):
            made.append(parameters)
            self.round = 0

        def __call__(self, demand):
            assert demand.dtype == np.float64 and not np.diag(demand).any()
            self.round += 1
            if not demand.any():
                return [], None
            hosts = np.arange(len(demand))
            return [(hosts + k) % len(demand) for k in range(1, len(demand))], timedelta(microseconds=200)

    register(tp.register_scheduler, "rotation", Rotation)
    results = make(scheme={"rotation": slots("rotation", guard="10 us")}).run(results=None)
    assert len(made) == 2 and made[0].slot == pytest.approx(300e-6) and made[0].guard == pytest.approx(10e-6)
    assert made[0].round_slots == 32
    # The MTU of 9000 B and what Ethernet adds.
    assert made[0].frame_bytes == 9038
    assert results.summary["finished_flows"].tolist() == [30, 30]
    assert set(results.slots["open_ps"]) == {200_000_000}


def test_durations_come_in_many_forms(make, register):
    forms = iter([["100 us", 200e-6, timedelta(microseconds=300)], 1e-4, "0.2 ms", np.array([1e-4, 2e-4, 3e-4])])
    last = [None]

    def mixed(demand):
        if not demand.any():
            return [], None
        last[0] = next(forms, last[0])
        n = len(demand)
        return np.array([(np.arange(n) + k) % n for k in (1, 2, 3)]), last[0]

    def all_shifts(demand):
        matchings, opens = mixed(demand)
        rest = [(np.arange(len(demand)) + k) % len(demand) for k in (4, 5)] if len(matchings) else []
        more = [300e-6] * len(rest)
        if not isinstance(opens, (list, np.ndarray)):
            opens = [opens] * len(matchings)
        return [*matchings, *rest], [*opens, *more] if len(matchings) else None

    register(tp.register_scheduler, "mixed", all_shifts)
    results = make(scheme={"mixed": slots("mixed")}, seeds=1).run(results=None)
    assert {100_000_000, 200_000_000, 300_000_000} <= set(results.slots["open_ps"].tolist())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: ([np.ones(n, int)], None), "slot 0: host 1 sends to itself"),
        (lambda n: ([[2, 2, *[-1] * (n - 2)]], None), "hosts 0 and 1 both send to host 2"),
        (lambda n: ([[99, *[-1] * (n - 1)]], None), "host 0 sends to host 99"),
        (lambda n: ([[-2, *[-1] * (n - 1)]], None), "-1 is nobody"),
        (lambda n: ([[1, 0]], None), "one number for each of 6 hosts"),
        (lambda n: ([np.full(n, -1.0)], None), "array of integers"),
        (lambda n: ([np.full(n, -1)] * 33, None), "at most 32"),
        (lambda n: ([np.full(n, -1)], ["1 us", "2 us"]), "1 matchings and 2 durations"),
        (lambda n: ([np.full(n, -1)], "1 parsec"), "parsec"),
        (lambda n: ([np.full(n, -1)], -1e-6), "positive"),
        (lambda n: ([np.full(n, -1)], [None]), "not NoneType"),
        (lambda n: None, "tuple"),
    ],
)
def test_what_is_no_plan_is_refused(make, register, answer, message):
    register(tp.register_scheduler, "wrong", lambda demand: answer(len(demand)))
    with pytest.raises(tp.RunError, match="the plan of round 1 was refused: scheduler `wrong` failed") as caught:
        make(scheme={"wrong": slots("wrong")}).run(results=None)
    assert message in str(caught.value) and message in str(caught.value.__cause__)


def test_an_exception_arrives_as_it_was(make, register, tmp_path):
    class Mine(Exception):
        pass

    def fails(demand):
        if demand.any():
            raise Mine("no idea")
        return [], None

    register(tp.register_scheduler, "fails", fails)
    with pytest.raises(tp.RunError, match="no idea") as caught:
        make(scheme={"fails": slots("fails"), "cubic": tp.Scheme(transport=tp.Tcp())}).run(results=tmp_path)
    assert type(caught.value.__cause__) is Mine and caught.value.__cause__.__traceback__ is not None
    # What failed never counts as complete.
    register(tp.register_scheduler, "fails", greedy)
    assert make(scheme={"fails": slots("fails")}).run(results=tmp_path).is_complete


def test_runs_of_a_python_scheduler_are_run_again(make, register, tmp_path):
    rounds = []
    register(tp.register_scheduler, "counted", lambda demand: rounds.append(1) or greedy(demand))
    scenario = make(scheme={"counted": slots("counted")}, seeds=1)
    scenario.run(results=tmp_path)
    first = len(rounds)
    scenario.run(results=tmp_path)
    assert len(rounds) == 2 * first > 0


def test_names(register):
    assert "weighted_round_robin" in tp.schedulers()
    with pytest.raises(ValueError, match="built-in"):
        tp.register_scheduler("weighted_round_robin", greedy)
    with pytest.raises(TypeError):
        tp.register_scheduler("number", 3)

    @tp.register_scheduler("decorated")
    def decorated(demand):
        return [], None

    assert "decorated" in tp.schedulers()
    tp.unregister_scheduler("decorated")
    assert "decorated" not in tp.schedulers()
