"""The study of rotor switches: its arithmetic, its lists of flows and its scenarios."""

import hashlib
import math
import re

import numpy as np
import pytest

import timeplane as tp
from test_studies import made_as_committed, part
from timeplane import studies
from timeplane.__main__ import main


@pytest.fixture(scope="module")
def rotor():
    found = studies.find("rotor")
    found.load()
    return found


def test_rotor_networks_of_one_price_are_operas(rotor):
    a = part(rotor, "arithmetic")
    clos, expander = a.static_networks(648, 12, 4 / 3)
    assert clos == a.Static({"fat_tree": {"k": 12, "hosts_per_edge": 9}}, pytest.approx(4 / 3))
    assert expander == a.Static({"expander": {"hosts": 648, "hosts_per_rack": 5, "uplinks": 7}}, 1.4)
    # Two tiers of ten ports: 6 hosts and 4 uplinks.
    clos, expander = a.static_networks(60, 10, 4 / 3, 2)
    assert clos.topology == {"leaf_spine": {"leaves": 10, "hosts_per_leaf": 6, "spines": 4}} and clos.price == pytest.approx(4 / 3)
    assert expander.topology["expander"]["uplinks"] == 6 and expander.price == 1.5
    assert a.hybrid_price(4 / 3, 2, 0.1) == pytest.approx(a.rotor_price(4 / 3) + 0.2)
    with pytest.raises(ValueError, match="700 hosts: expected"):
        a.static_networks(700, 12, 4 / 3)


def test_rotor_theory_of_small_networks(rotor):
    a = part(rotor, "arithmetic")
    # Of two racks, all circuits are direct; of three, half of them, and the others carry half.
    assert [a.vlb_permutation(n) for n in (2, 3)] == [1, 0.75]
    assert [a.shale_throughput(2, h) for h in (1, 2)] == [1, 0.5]
    # Two racks of one dimension meet in each slice: a packet leaves at once.
    assert a.shale_slices(2, 1) == (0, 0)
    # Four racks of two dimensions. From slice 0: the random step in dimension 0 is now or none,
    # that in dimension 1 is in slice 1 or none, and direct steps end in slice 2 or 3 at the latest.
    mean, most = a.shale_slices(2, 2)
    assert most == 3 and 0 < mean < 3


def test_rotor_lists(rotor):
    w = part(rotor, "workloads")
    rows = w.across(6, 2, 100, 5)
    assert len(rows) == 6 * 4 and all(a // 2 != b // 2 for _, a, b, _ in rows)
    assert {start for start, *_ in rows} == {5}
    spread = w.across(6, 2, 100, 5, 1000)
    starts = [start for start, *_ in spread]
    assert [row[1:] for row in spread] == [row[1:] for row in rows] and len(set(starts)) > 12 and 5 <= min(starts) <= max(starts) <= 1005
    sizes, share = w.points("websearch")
    assert share.sum() == pytest.approx(1) and share.min() >= 0
    web = w.poisson(12, 3, "websearch", 0.5, 10e9, 200 * w.MS)
    assert all(a // 3 != b // 3 and 0 <= b < 12 for _, a, b, _ in web) and {n for *_, n in web} <= set(sizes.astype(int))
    assert sum(n for *_, n in web) * 8 / (0.2 * 12 * 10e9) == pytest.approx(0.5, rel=0.02)
    for of in (w.fb2010(12, 5, 50, 0.5, 10e9, 1e9), w.projector(12, 5, "websearch", 0.5, 10e9, 1e9)):
        assert all(a // 5 != b // 5 for _, a, b, _ in of) and max(b for _, _, b, _ in of) < 60
        busiest = max(np.bincount([r[i] // 5 for r in of], [r[3] for r in of]).max() for i in (1, 2))
        assert busiest * 8 / 50e9 / (max(r[0] for r in of) / 1e12) == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("racks", "load", "drawn", "published"),
    [
        ("OPERA_RACKS", 0.01, "DRAWN_1", "6274bf33af0faac7c3bb1fc063249bc1eb94e5a2"),
        ("OPERA_RACKS", 0.1, "DRAWN_10", "879ad41c62e2c4bd574b0c98081377c15eed54e4"),
        ("CLOS_RACKS", 0.1, "DRAWN_10", "6ff89efdaa1321e703c6f8dacfe99aafc5c283af"),
        ("EXPANDER_RACKS", 0.1, "DRAWN_EXPANDER", "977d9ad2593f5d87f49f6c8043ac135baa9ecf63"),
    ],
)
def test_rotor_lists_are_the_published_ones(rotor, racks, load, drawn, published):
    e, w = part(rotor, "experiments"), part(rotor, "workloads")
    rows = w.by_matlab(*getattr(e, racks), "datamining", load, e.RATE, e.CELLS_TIME, getattr(e, drawn))
    # The name of a file in git is a hash of what it holds.
    text = "\n".join(f"{source} {to} {size} {start // w.NS}" for start, source, to, size in rows).encode()
    assert hashlib.sha1(b"blob %d\0" % len(text) + text).hexdigest() == published
    assert w.in_packets([(0, 1, 2, size) for size in (560, 1436, 3160)], 1436) == [(0, 1, 2, size) for size in (560, 1436, 3 * 1436)]


def test_rotor_verdicts_of_narrow_bands(rotor):
    claims, at = part(rotor, "claims"), studies.scale.Range
    assert [claims.deviates(at.point(x), 1.0, 0.1) for x in (1.09, 1.2, 0.4)] == ["yes", "in part", "no"]
    assert claims.deviates(at(1, 0.95, math.inf), 1.0, 0.1) == "undecided"
    assert [claims.differs(at.point(x), 0.98, 0.01) for x in (0.985, 0.96)] == ["yes", "in part"]
    assert claims.numbers("clos_ratio") == [1.24, 1.08, 1.10, 1.22, 3.83, 2.21, 1.87, 2.17]


def test_rotor_scenarios_are_right(rotor, tmp_path):
    for experiment in part(rotor, "experiments").experiments(quick=True).values():
        experiment.write(tmp_path)
        assert not tp.Scenario.from_dict(experiment.scenario(1), base=tmp_path).validate(), experiment.name


def test_figures_of_rotor(rotor, tmp_path, capsys):
    arguments = ["study", "rotor", "--quick", "--figures", "theory", "--jobs", "1", "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert set(re.findall(r"agrees: (.*)", capsys.readouterr().out)) == {"arithmetic", "too short"}
    assert made_as_committed(tmp_path, rotor)
    for file in ("figures/theory.png", "tables/shale_2.csv", "tables/compared.csv"):
        assert (tmp_path / file).stat().st_size > 0
