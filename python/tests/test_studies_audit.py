"""The audit of all papers, and numbers that a README repeats from its tables."""

import importlib

import pytest

from timeplane import studies
from timeplane.studies import _audit, scale


def test_the_audit_is_that_of_the_tables():
    page = studies.studies()[0].folder.parent / "README.md"
    # If it is not: timeplane study all --judge --in-place
    assert page.read_text(encoding="utf-8") == _audit.page(studies.studies())


def test_nothing_but_a_yes_is_reproduced():
    assert _audit.WORDS.keys() == scale.VERDICTS.keys() and set(_audit.WORDS.values()) == _audit.MEANINGS.keys()
    assert [verdict for verdict, word in _audit.WORDS.items() if word == "reproduced"] == ["yes"]
    every = list(scale.VERDICTS)
    # Seven verdicts: one of each word, and three that have no answer. Other studies are no papers.
    head, a, b, both = _audit.counts({"a": every, "live": every, "b": ["yes", "no"]})
    assert head == ("paper", "statements", "reproduced", "in part", "disagree", "missing", "arithmetic")
    assert a == ("a", "7", "1", "1", "1", "3", "1") and b == ("b", "2", "1", "0", "1", "0", "0")
    assert both == ("all", "9", "2", "1", "2", "3", "1")


def test_the_combinations_of_sync_vs_async_are_those_of_its_table():
    """The README's table of what queues count and when servers start."""
    study = studies.find("sync-vs-async")
    parts = importlib.import_module(f"{study.load().__name__}.experiments")
    outcome = studies.read_table(study.folder / "tables" / "trace.csv", studies.Outcome(parts.experiments(False)["trace"]))
    lines = (study.folder / "README.md").read_text(encoding="utf-8").splitlines()
    words = {"together": "syn", "each at a phase": "syn_phase", "waiting frames": "", "all frames": "_all"}
    found = 0
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 8 or cells[0] not in words:
            continue
        syn, suffix = words[cells[0]], words[cells[1]]
        quantities = [*(f"{tier}_mean{suffix}_kB" for tier in ("servers", "leaves", "spines")), "latency_p50_us"]
        for quantity, cell in zip(quantities, (*cells[2:5], cells[7]), strict=True):
            before, after = (outcome.mean(0.8, scheme, quantity) for scheme in (syn, "asy"))
            change = 100 * (outcome.ratio(0.8, "asy", quantity, syn).mean - 1)
            assert cell == f"{before:.3g} to {after:.3g}, {change:+.0f} %", quantity
        assert cells[5] == f"{100 * (outcome.ratio(0.8, 'asy', f'leaves_p99{suffix}_kB', syn).mean - 1):+.0f} %"
        assert cells[6] == f"{outcome.mean(0.8, 'asy', f'spines_p99{suffix}_kB'):.1f}"
        found += 1
    assert found == 4


def test_windows_are_fair_if_all_receive_the_same():
    study = studies.find("sync-vs-async")
    study.load()
    measures = importlib.import_module("timeplane_study_sync_vs_async.measures")

    class Run:
        def __init__(self, rows):
            import numpy as np

            columns = zip(*rows, strict=True)
            self.received = {name: np.array(column) for name, column in zip(("time_ps", "host", "received_bytes"), columns, strict=True)}

    index = lambda rows, hosts: tuple(measures.of_windows(Run(rows), hosts, 0.0, 30.0, 10.0).values())
    # Two of four servers have the same in the first window, one of them alone in the second. The
    # third is empty, and what comes after the end is not counted.
    assert index([(10, 0, 5), (10, 1, 5), (20, 3, 7), (40, 2, 9)], 4) == pytest.approx(((0.5 + 0.25) / 2, 1.0))
    # Shares of 3 to 1.
    assert index([(30, 0, 3), (30, 1, 1)], 2) == pytest.approx((16 / 20, 16 / 20))
