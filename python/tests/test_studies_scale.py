"""The scale of verdicts: every word of it, and both sides of every band."""

import math

import pytest

from timeplane.studies import scale
from timeplane.studies.scale import Range

point = Range.point


def around(mean, half):
    return Range(mean, mean - half, mean + half)


UNKNOWN = Range(5.0, math.nan, math.nan)


@pytest.mark.parametrize(
    ("phrase", "value", "width", "side", "direction"),
    [
        ("194 s", 194, scale.EXACT, 0, 0),
        ("1.20", 1.2, scale.EXACT, 0, 0),
        ("8.1 Gb/s", 8.1, scale.STATED, 0, 0),
        ("0.015 %", 0.015, scale.STATED, 0, 0),
        ("200 ms", 200, scale.STATED, 0, 0),
        ("about 10", 10, scale.ABOUT, 0, 0),
        ("about 7.5 kB", 7.5, scale.ABOUT, 0, 0),
        ("at most 70 ms", 70, scale.STATED, -1, 0),
        ("above 10", 10, scale.STATED, 1, 0),
        ("more than double", 2, scale.STATED, 1, 1),
        ("twice", 2, scale.STATED, 0, 1),
        ("3x lower", 1 / 3, scale.STATED, 0, -1),
        ("40 % lower", -0.4, scale.STATED, 0, -1),
        ("45 % higher", 0.45, scale.STATED, 0, 1),
        ("about 15 % shorter", -0.15, scale.ABOUT, 0, -1),
        ("up to 50 % less", -0.5, scale.STATED, 0, -1),
    ],
)
def test_wording_decides_the_band(phrase, value, width, side, direction):
    assert scale.read(phrase) == scale.Said(pytest.approx(value), width, side, direction)


@pytest.mark.parametrize("phrase", ["", "falls off a cliff", "4 lower", "ten"])
def test_a_phrase_without_a_number_is_refused(phrase):
    with pytest.raises(ValueError, match="expected"):
        scale.read(phrase)


@pytest.mark.parametrize(
    ("result", "phrase", "verdict"),
    [
        # Both sides, and the quarter of "about": 5 to 20 is not about 10.
        (point(10), "about 10", "yes"),
        (point(8.1), "about 10", "yes"),
        (point(12.4), "about 10", "yes"),
        (point(7.9), "about 10", "in part"),
        (point(12.6), "about 10", "in part"),
        (point(4.9), "about 10", "no"),
        (point(20.1), "about 10", "no"),
        # Without "about", a tenth; with three digits, a fortieth.
        (point(8.8), "8.1 Gb/s", "yes"),
        (point(9.0), "8.1 Gb/s", "in part"),
        (point(7.3), "8.1 Gb/s", "in part"),
        (point(198.0), "194 s", "yes"),
        (point(199.0), "194 s", "in part"),
        (point(189.0), "194 s", "in part"),
        # The whole interval counts.
        (around(10, 1.9), "about 10", "yes"),
        (around(10, 3), "about 10", "in part"),
        (around(10, 30), "about 10", "undecided"),
        (around(20, 1), "about 10", "undecided"),
        (around(30, 1), "about 10", "no"),
        (UNKNOWN, "about 10", "undecided"),
        # A lower bound never agrees with a number that has two sides.
        (Range.at_least(point(10)), "about 10", "undecided"),
        (Range.at_least(point(30)), "about 10", "no"),
        # One side.
        (point(69), "at most 70 ms", "yes"),
        (around(69, 2), "at most 70 ms", "undecided"),
        (point(71), "at most 70 ms", "no"),
    ],
)
def test_numbers(result, phrase, verdict):
    assert scale.matches(result, phrase) == verdict


@pytest.mark.parametrize(
    ("ratio", "phrase", "verdict"),
    [
        # 10 times lower is lower, and not 3 times.
        (point(1 / 3), "3x lower", "yes"),
        (point(1 / 10), "3x lower", "in part"),
        (point(1 / 2), "3x lower", "in part"),
        (point(0.95), "3x lower", "no"),
        (point(1.2), "3x lower", "no"),
        # Changes are compared as changes: no change is far from -40 %, although 0.6 and 1 are near.
        (point(0.6), "40 % lower", "yes"),
        (point(0.66), "40 % lower", "in part"),
        (point(0.5), "40 % lower", "in part"),
        (point(0.95), "40 % lower", "no"),
        (around(0.66, 0.24), "40 % lower", "in part"),
        (around(0.66, 0.4), "40 % lower", "undecided"),
        (point(1.45), "45 % higher", "yes"),
        (point(1.04), "45 % higher", "no"),
        (point(0.55), "45 % higher", "no"),
        (point(1.03), "twice", "no"),
        (point(2.1), "twice", "yes"),
        (point(3), "twice", "in part"),
        (point(0.51), "up to 50 % less", "yes"),
        (point(0.4), "up to 50 % less", "in part"),
        # One side.
        (point(3.4), "more than double", "yes"),
        (point(1.5), "more than double", "in part"),
        (around(2.1, 0.5), "more than double", "in part"),
        (point(1.0), "more than double", "no"),
        (point(24), "above 10", "yes"),
        (Range.at_least(point(4.4)), "above 10", "in part"),
        (Range.at_least(point(11)), "above 10", "yes"),
        (UNKNOWN, "above 10", "undecided"),
    ],
)
def test_comparisons(ratio, phrase, verdict):
    assert scale.compares(ratio, phrase) == verdict


def test_a_comparison_is_no_number():
    with pytest.raises(ValueError, match="compares"):
        scale.matches(point(1), "40 % lower")


def test_one_side():
    assert [scale.above(r, 1) for r in (around(2, 0.5), around(1.1, 0.5), around(0.2, 0.5), UNKNOWN)] == ["yes", "undecided", "no", "undecided"]
    assert [scale.below(r, 1) for r in (around(0.2, 0.5), around(1.1, 0.5), around(2, 0.5), UNKNOWN)] == ["yes", "undecided", "no", "undecided"]


def test_the_same_has_two_sides():
    given = [point(1), point(0.95), point(1.05), point(1.2), point(0.8), around(1, 0.05), around(1, 0.2), around(1.5, 0.2), UNKNOWN]
    assert [scale.same(r) for r in given] == ["yes", "yes", "yes", "no", "no", "yes", "undecided", "no", "undecided"]
    assert [scale.same(r, scale.ABOUT) for r in (point(1.2), point(0.82), point(1.3), point(0.75))] == ["yes", "yes", "no", "no"]


def test_order():
    # Significant, equal, the other way round, and not decided.
    given = [around(1.1, 0.05), around(1.0, 0.01), around(0.8, 0.1), around(1.02, 0.05), UNKNOWN]
    assert [scale.higher(r) for r in given] == ["yes", "no", "no", "undecided", "undecided"]
    assert scale.lower(around(0.8, 0.1)) == "yes" and scale.lower(around(1.1, 0.05)) == "no"
    assert scale.ordered([point(2), point(1.5)]) == "yes"
    assert scale.ordered([point(2), point(0.5)]) == "in part"
    assert scale.ordered([point(0.9), point(0.5)]) == "no"
    assert scale.ordered([point(2), around(1.1, 0.5)]) == "undecided"


@pytest.mark.parametrize(
    ("parts", "together", "readings", "everywhere"),
    [
        (["yes", "yes"], "yes", "yes", "yes"),
        (["yes", "no"], "in part", "in part", "no"),
        (["yes", "yes", "no"], "in part", "in part", "in part"),
        (["in part", "in part"], "in part", "in part", "in part"),
        (["no", "no"], "no", "no", "no"),
        (["yes", "undecided"], "undecided", "undecided", "undecided"),
        (["undecided", "undecided"], "undecided", "undecided", "undecided"),
        (["no", "undecided"], "no", "undecided", "no"),
        (["no", "undecided", "undecided"], "no", "undecided", "undecided"),
        (["yes", "no", "no"], "in part", "in part", "no"),
        ([], "not tried", "not tried", "not tried"),
    ],
)
def test_statements_of_several_parts(parts, together, readings, everywhere):
    assert (scale.together(*parts), scale.readings(*parts), scale.everywhere(parts)) == (together, readings, everywhere)


def test_only_words_of_the_scale():
    for combine in (scale.together, scale.readings, lambda *parts: scale.everywhere(parts)):
        with pytest.raises(ValueError, match="verdict `maybe` of a part"):
            combine("yes", "maybe")
    # A calculation that is the paper's own is no reproduction; one that is not is an error of ours.
    assert scale.arithmetic(True) == "arithmetic" and scale.arithmetic(False) == "no"
    assert scale.holds(True) == "yes" and scale.holds(False) == "no"
    assert {"yes", "in part", "no", "undecided", "arithmetic", "not tried", "too short"} == scale.VERDICTS.keys()


def test_ranges():
    assert point(6).over(point(3)) == point(2)
    of = around(6, 0.6).over(around(3, 0.0))
    assert (of.mean, of.low, of.high) == pytest.approx((2, 1.8, 2.2))
    # Relative errors of 10 and 10 % are 14 % together.
    of = Range(1, 0.9, 1.1).over(Range(1, 1 / 1.1, 1 / 0.9))
    assert of.high == pytest.approx(1 + math.hypot(0.1, 0.1)) and of.low == pytest.approx(1 - math.hypot(0.1, 0.1))
    assert not UNKNOWN.over(point(1)).known and not point(1).over(UNKNOWN).known and not point(1).over(point(0)).known
    assert math.isinf(point(1).over(around(1, 2)).high)
    assert Range.at_least(point(4)).over(point(2)) == Range(2, 2, math.inf)
    assert point(4).over(Range.at_least(point(2))).low == 0
    assert point(3).times(-2) == point(-6) and around(3, 1).times(-1) == Range(-3, -4, -2) and point(3).minus(1) == point(2)
    of = Range.average([around(2, 3), around(4, 4)])
    assert (of.mean, of.low, of.high) == (3, 0.5, 5.5)
    assert [r.shown(".1f", " s") for r in (point(2), around(2, 1), UNKNOWN)] == ["2.0 s", "2.0 s (1.0 to 3.0)", "5.0 s (no interval)"]
    assert Range.at_least(point(2)).shown(".0f") == "2 (2 to more)"
