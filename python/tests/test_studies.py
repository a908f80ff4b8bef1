"""Studies: how they are found, what the paper's numbers look like, one of them small."""

import csv
import importlib
import math

import numpy as np
import pytest

import timeplane as tp
from timeplane import studies
from timeplane.__main__ import main

NAME = "sync-vs-async"
COLUMNS = ["id", "figure", "quantity", "condition", "paper", "kind"]


@pytest.fixture(scope="module")
def study():
    found = studies.find(NAME)
    found.load()
    return found


def part(study, name):
    """A file of a study, as a module."""
    return importlib.import_module(f"{study.load().__name__}.{name}")


def test_studies_are_listed(capsys):
    assert NAME in [s.name for s in studies.studies()]
    assert main(["study"]) == 0
    assert f"{NAME}  Synchronous or asynchronous" in capsys.readouterr().out


def test_the_nearest_name_helps(capsys):
    assert main(["study", "sync-vs-asnc"]) == 2
    assert "there is no study `sync-vs-asnc`: did you mean `sync-vs-async`?" in capsys.readouterr().err
    assert main(["study", NAME, "--figures", "fig33"]) == 2
    assert "did you mean `fig3`?" in capsys.readouterr().err
    assert main(["study", NAME, "--jobs", "0"]) == 2
    with pytest.raises(LookupError):
        studies.find("")


def test_what_was_published_is_well_formed():
    found = [s for s in studies.studies() if (s.folder / "published.csv").exists()]
    assert found
    for study in found:
        with (study.folder / "published.csv").open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
        assert reader.fieldnames == COLUMNS
        assert len({row["id"] for row in rows}) == len(rows) > 0
        assert all(all(row[c] for c in COLUMNS) and row["kind"] in ("text", "figure") for row in rows)


def test_every_statement_is_compared(study):
    assert list(part(study, "claims").CLAIMS) == [row["id"] for row in study.load().published()]


def test_every_scenario_is_right(study):
    tp.Scenario.from_file(study.folder / "scenario.toml").validate()
    experiments = part(study, "experiments")
    for experiment in experiments.FULL + experiments.QUICK:
        tp.Scenario.from_dict(experiment.scenario(1), base=study.folder).validate()
    names = {name for drawing in part(study, "figures").FIGURES.values() for name in (*drawing.needs, *drawing.optional)}
    assert names == experiments.experiments(quick=False).keys()


def test_the_arithmetic_of_slots(study):
    arithmetic = part(study, "arithmetic")
    bimodal, web = arithmetic.fill(arithmetic.BIMODAL), arithmetic.fill(arithmetic.WEB)
    assert bimodal.ip == pytest.approx((0.4 * 40 + 0.6 * 1500) / 1500)
    assert bimodal.wire == pytest.approx((0.4 * 84 + 0.6 * 1538) / 1538)
    assert web.ip * 1500 == pytest.approx(561, abs=1)
    assert web.ip < arithmetic.fill(arithmetic.WEB_AT_MOST).ip == pytest.approx(0.55)


def test_differences_are_those_of_the_comparison(results):
    lines = results.to_dict()["lines"]
    summary = results.summary
    names = np.asarray(summary["control"], str)
    slots, cubic = (summary["fct_mean_ps"][names == c] for c in ("slots", "cubic"))
    found = studies.difference(cubic.tolist(), slots.tolist())
    expected = next(line for line in lines if line["control"] == "cubic")["metrics"]["fct_mean_ps"]
    relative = expected["difference"]["relative"]
    assert found.mean == pytest.approx(relative["mean"]) and found.half == pytest.approx(relative["half_width"])
    assert found.p_equivalent == pytest.approx(expected["equivalence"]["p_value"], abs=1e-6)
    own = studies.estimate(slots.tolist())
    assert own.mean == pytest.approx(next(x for x in lines if x["control"] == "slots")["metrics"]["fct_mean_ps"]["value"]["mean"])


def test_of_one_seed_nothing_is_known():
    assert studies.estimate([2.0, math.nan]).n == 1
    assert math.isnan(studies.estimate([2.0]).half)
    assert studies.difference([2.0], [1.0]).verdict == "unknown"
    assert studies.difference([1.0, 1.01, 0.99], [1.0, 1.0, 1.0]).verdict == "same"
    assert studies.difference([2.0, 2.1, 1.9], [1.0, 1.0, 1.0]).verdict == "differs"
    assert studies.difference([1.02, 1.021, 1.019], [1.0, 1.0, 1.0]).verdict == "both"


def test_a_figure_of_a_study(study, tmp_path, capsys):
    arguments = ["study", NAME, "--quick", "--figures", "fig4", "--jobs", "2"]
    assert main([*arguments, "--out", str(tmp_path / "a")]) == 0
    assert "OCF highest" in capsys.readouterr().out
    for file in ("figures/fig4.png", "figures/fig4.svg", "tables/incast.csv", "tables/compared.csv"):
        assert (tmp_path / "a" / file).stat().st_size > 0
    with (tmp_path / "a/tables/incast.csv").open(newline="", encoding="utf-8") as file:
        rows = {(r["control"], r["quantity"]): float(r["mean"]) for r in csv.DictReader(file)}
    # The order of the metrics, on one saturated queue.
    assert rows["syn_ocf", "slowdown_mean"] > rows["syn_mmf", "slowdown_mean"] > rows["syn_srjf", "slowdown_mean"]
    assert rows["syn_ocf", "fct_variation"] < rows["syn_mmf", "fct_variation"] < rows["syn_srjf", "fct_variation"]
    # The same again, byte by byte.
    assert main([*arguments, "--out", str(tmp_path / "b")]) == 0
    for file in ("figures/fig4.svg", "tables/incast.csv", "tables/compared.csv"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
