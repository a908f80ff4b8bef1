"""What studies share, and a whole one in a folder of its own."""

import csv
import dataclasses
import importlib
import math
import shutil
import sys

import pytest

from timeplane import studies
from timeplane.__main__ import main
from timeplane.studies import _command, _inputs, figures, scale

STUDY = '''"""Is a small flow of two done first?"""

from dataclasses import dataclass
from pathlib import Path

from timeplane import studies
from timeplane.studies import figures, scale

SIZES = (2, 4)


@dataclass(frozen=True)
class Experiment:
    name: str
    schemes: tuple = ("raw", "slots")
    seeds: int = 1

    def scenario(self, seeds):
        return {
            "name": self.name,
            "seeds": seeds,
            "fabric": {"topology": {"single_switch": {"hosts": 3}}, "rate": "10 Gb/s"},
            "workload": {"shuffle": {"bytes": f"{SIZES[0]} kB"}},
            "sweep": {"workload.shuffle.bytes": [f"{kB} kB" for kB in SIZES]},
            "scheme": {"raw": {"transport": {"raw": {}}}, "slots": {"transport": {"raw": {}}, "plan": {"tdma": {"slot": "100 us"}}}},
        }


def simulate(experiment, options, outcomes):
    assert ("first" in outcomes) == (experiment.name == "second")
    return studies.simulate(studies.Outcome(experiment), options, measure, base=Path(__file__).parent)


def measure(outcome, results):
    rows = studies.by_run(results.summary)
    for run in results.runs:
        kB = float(run.point["workload.shuffle.bytes"].split()[0])
        outcome.add(kB, run.scheme_name, run.seed, {"fct_ps": rows[run.key]["fct_mean_ps"], "nothing": float("nan")})


def draw(outcomes):
    figure, axes = figures.panels(2)
    for panel, outcome in zip(axes, outcomes.values()):
        panel.plot(*outcome.curve("raw", "fct_ps"), label="raw")
    figures.letter(axes[: len(outcomes)], list(outcomes))
    figures.legend(figure, axes)
    return figure


def longer(outcomes):
    small, large = (outcomes["first"].range(kB, "raw", "fct_ps") for kB in SIZES)
    ratio = large.over(small)
    return f"{ratio.mean:.2f}", scale.higher(ratio)


FIGURES = {
    "one": figures.Drawing(draw, ["first"], ["absent"]),
    "both": figures.Drawing(draw, ["first"], ["second"]),
}
CLAIMS = {
    "longer": (["first"], longer),
    "other": (["second"], lambda outcomes: ("nothing", "in part")),
}


def run(options):
    return studies.run(
        options,
        Path(__file__).parent,
        experiments={name: Experiment(name) for name in ("first", "second")},
        simulate=simulate,
        figures=FIGURES,
        claims=CLAIMS,
    )
'''

PUBLISHED = """id,figure,quantity,condition,paper,kind
longer,fig 1,time of twice the bytes,two sizes,longer,text
other,fig 2,something,"one, two",2,figure
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A study of one file, and its statements."""
    place = tmp_path / "studies" / "small-flows"
    place.mkdir(parents=True)
    (place / "study.py").write_text(STUDY, encoding="utf-8")
    (place / "published.csv").write_text(PUBLISHED, encoding="utf-8")
    # That of another test is of another folder.
    monkeypatch.delitem(sys.modules, "timeplane_study_small_flows", raising=False)
    monkeypatch.setenv("TIMEPLANE_STUDIES", str(place.parent))
    return place


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_a_study_is_one_folder(folder, tmp_path, capsys):
    assert main(["study"]) == 0
    assert "small-flows  Is a small flow of two done first?\n" in capsys.readouterr().out
    out = tmp_path / "out"
    # An experiment of which nothing is random is run once, and only what the figure needs is run.
    assert main(["study", "small-flows", "--seeds", "3", "--figures", "one", "--out", str(out)]) == 0
    told = capsys.readouterr()
    assert "first: 4 runs in" in told.err and "second" not in told.err
    assert "fig 1: time of twice the bytes (two sizes)\n    paper: longer\n    here:  " in told.out and "agrees: yes" in told.out
    assert sorted(str(file.relative_to(out)) for kind in ("figures", "tables") for file in (out / kind).iterdir()) == [
        "figures/one.png",
        "figures/one.svg",
        "tables/compared.csv",
        "tables/compared.md",
        "tables/first.csv",
    ]
    head, *table = rows(out / "tables" / "first.csv")
    assert head == ["x", "scheme", "quantity", "mean", "low_95", "high_95", "seeds", "values"]
    # What has no value has no row; one seed has no interval.
    assert [row[:3] for row in table] == [[x, scheme, "fct_ps"] for x in "24" for scheme in ("raw", "slots")]
    assert all(float(row[3]) > 0 and row[4:] == ["", "", "1", ""] for row in table)
    assert rows(out / "tables" / "compared.csv")[0] == ["id", "figure", "quantity", "condition", "paper", "ours", "seeds", "agrees"]

    # The rest: an optional experiment that exists is run, after those before it; what is complete
    # is taken.
    before = (out / "tables" / "first.csv").read_bytes()
    assert main(["study", "small-flows", "--out", str(out)]) == 0
    assert (out / "tables" / "first.csv").read_bytes() == before and (out / "tables" / "second.csv").exists()
    assert (out / "tables" / "compared.md").read_text(encoding="utf-8").splitlines()[3] == "| fig 2 | something; one, two | 2 | nothing | none | in part |"

    # The same from the tables alone; only the short version is not judged.
    verdicts = (out / "tables" / "compared.csv").read_bytes()
    (out / "tables" / "compared.csv").unlink()
    capsys.readouterr()
    assert main(["study", "small-flows", "--judge", "--out", str(out)]) == 0
    told = capsys.readouterr()
    assert "agrees: yes" in told.out and "runs in" not in told.err and (out / "tables" / "compared.csv").read_bytes() == verdicts
    assert main(["study", "small-flows", "--judge", "--quick", "--out", str(out)]) == 0
    assert "agrees: too short" in capsys.readouterr().out


README = "# Small flows\n\nBefore.\n\n<!-- statements -->\n<!-- end of statements -->\n\n<!-- history -->\n<!-- end of history -->\n\nAfter.\n"


def test_the_committed_tables_are_written_in_place(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Not the repository's, which take hours.
    monkeypatch.setattr(_command, "studies", lambda: [studies.find("small-flows")])
    (folder / "README.md").write_text(README, encoding="utf-8")
    run = ["study", "all", "--in-place"]
    assert main(run) == 0
    assert sorted(str(file.relative_to(folder)) for kind in ("figures", "tables") for file in (folder / kind).iterdir() if file.suffix != ".svg") == [
        "figures/both.png",
        "figures/one.png",
        "tables/compared.csv",
        "tables/first.csv",
        "tables/second.csv",
    ]
    assert (tmp_path / "results" / "small-flows" / "runs").is_dir() and not (folder / "history.csv").exists()
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# Small flows\n\nBefore.") and text.endswith("After.\n") and "| 1 | yes |" in text

    # A verdict that changes is kept, and asks for its reason.
    table = folder / "tables" / "compared.csv"
    table.write_text(table.read_text(encoding="utf-8").replace(",yes", ",no"), encoding="utf-8")
    judge = [*run, "--judge"]
    capsys.readouterr()
    assert main(judge) == 0 and "history.csv: write the reason for the new verdicts of longer" in capsys.readouterr().err
    assert rows(folder / "history.csv") == [["id", "before", "after", "reason"], ["longer", "no", "yes", ""]]
    with (folder / "history.csv").open("w", encoding="utf-8") as file:
        file.write("id,before,after,reason\nlonger,no,yes,The band was too narrow.\n")
    assert main(judge) == 0 and "history.csv" not in capsys.readouterr().err
    assert "| `longer` | no | yes | The band was too narrow. |" in (folder / "README.md").read_text(encoding="utf-8")
    assert main(judge) == 0 and len(rows(folder / "history.csv")) == 2

    # A verdict that changes back before its reason is written leaves no row.
    assert studies._history.extend(folder, {"other": "yes"}, {"other": "no"}) == ["other"]
    assert studies._history.extend(folder, {"other": "no"}, {"other": "yes"}) == []
    assert len(rows(folder / "history.csv")) == 2

    # All statements, and full runs only.
    (folder / "tables" / "second.csv").unlink()
    assert main(judge) == 2 and "lacks the tables of other" in capsys.readouterr().err
    for wrong in (["--quick"], ["--seeds", "2"]):
        assert main([*run, *wrong]) == 2 and "expected neither --quick nor --seeds" in capsys.readouterr().err
    (folder / "README.md").write_text("# Small flows\n", encoding="utf-8")
    assert main(run) == 2 and "expected the lines `<!-- statements -->`" in capsys.readouterr().err


def test_all_studies_go_on_where_they_were(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_command, "studies", lambda: [studies.find("small-flows")])
    out = tmp_path / "results" / "small-flows"
    assert main(["study", "--all"]) == 0
    told = capsys.readouterr()
    assert "first: 4 runs" in told.err
    counted = told.out.splitlines()[told.out.splitlines().index("# all") :]
    assert counted[1:4] == ["study        statements  yes  in part", "small-flows           2    1        1", "sum                   2    1        1"]
    assert counted[4] == "# audit" and [line.split()[:4] for line in counted[6:]] == [["small-flows", "2", "1", "1"], ["all", "2", "1", "1"]]
    head, *inputs = rows(out / "inputs.csv")
    assert head == ["table", "digest", "program"] and [row[0] for row in inputs] == ["first", "second", "figures"]
    assert inputs[0][2] == inputs[1][2] == _inputs.program() and inputs[0][1] != inputs[1][1]
    head, *costs = rows(out / "costs.csv")
    assert [row[:2] for row in costs] == [["first", "1"], ["second", "1"]]
    assert all(float(of) >= 0 for row in costs for of in row[3:5]) and all(20 < float(row[5]) < 10_000 for row in costs)

    # All is there; a table that is lost is made from the runs, which do not count as a cost.
    before = (out / "costs.csv").read_bytes()
    assert main(["study", "all"]) == 0
    told = capsys.readouterr()
    assert "small-flows: complete" in told.err and "runs in" not in told.err and "agrees: yes" in told.out
    (out / "tables" / "first.csv").unlink()
    assert main(["study", "all"]) == 0
    assert "first: 4 runs" in capsys.readouterr().err and (out / "costs.csv").read_bytes() == before

    # Tables of another program, and of other sources, are made again.
    _inputs.write(out, {"first": (inputs[0][1], "another")}, ["first", "second"])
    assert main(["study", "all"]) == 0 and "first: 4 runs" in capsys.readouterr().err
    with (folder / "study.py").open("a", encoding="utf-8") as file:
        file.write("# Another line.\n")
    assert main(["study", "all"]) == 0 and "first: 4 runs" in capsys.readouterr().err


def test_stale_tables_are_named(tmp_path, capsys, monkeypatch):
    copy = tmp_path / "studies" / "tdma-copy"
    shutil.copytree(studies.find("tdma").folder, copy, ignore=shutil.ignore_patterns("figures"))
    monkeypatch.setenv("TIMEPLANE_STUDIES", str(copy.parent))
    check = ["study", "tdma-copy", "--check"]
    assert main(["study", "tdma-copy", "--stamp"]) == 0 and main(check) == 0
    assert "tdma-copy: 0 of" in capsys.readouterr().out
    # What judges and draws makes no table.
    for name, told in (("claims.py", ""), ("figures.py", "its figures are stale\n"), ("scenario.toml", "30 of 30 tables are stale: fig7")):
        with (copy / name).open("a", encoding="utf-8") as file:
            file.write("# Another line.\n")
        assert main(check) == int(bool(told)) and told in capsys.readouterr().out
    # One definition that changes is one table.
    assert main(["study", "tdma-copy", "--stamp"]) == 0
    parts = importlib.import_module("timeplane_study_tdma_copy.experiments")
    changed = {name: dataclasses.replace(of, seeds=of.seeds + 1) if name == "fig9" else of for name, of in parts.experiments(False).items()}
    assert _inputs.stale(copy, copy, changed, changed) == ["fig9"]
    (copy / "tables" / "fig7.csv").unlink()
    assert _inputs.stale(copy, copy, changed, ["fig7", "fig8"]) == ["fig7"]


def test_verdicts_are_counted():
    found = {"a": ["yes", "no", "yes"], "plain": ["in part"], "b": ["yes"]}
    assert [line.split() for line in _command.counts(found)] == [
        ["study", "statements", "yes", "in", "part", "no"],
        ["a", "3", "2", "0", "1"],
        ["b", "1", "1", "0", "0"],
        ["sum", "4", "3", "0", "1"],
        ["plain", "1", "0", "1", "0"],
    ]


def test_the_audit_is_written_beside_the_studies(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(_command, "studies", lambda: [studies.find("small-flows")])
    (folder / "README.md").write_text(README, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["study", "all", "--in-place"]) == 0
    file = folder.parent / "README.md"
    text = file.read_text(encoding="utf-8")
    assert "the audit is in" in capsys.readouterr().out
    assert "| small-flows | 2 | 1 | 1 | 0 | 0 | 0 |" in text and "| fig 1 | time of twice the bytes; two sizes | longer | reproduced | yes |  |" in text
    # A reason is shown, and is one of a statement that is not reproduced.
    reasons = folder / "reasons.csv"
    reasons.write_text("id,reason\nother,It is only a test.\n", encoding="utf-8")
    judge = ["study", "all", "--judge", "--in-place"]
    assert main(judge) == 0
    assert file.read_text(encoding="utf-8") == text.replace("| in part | in part |  |", "| in part | in part | It is only a test. |")
    for wrong, told in (("longer,Why not?", "`longer`: expected a statement that is not reproduced"), ("third,a", "`third`: expected a"), ("other,", "`other`: expected the reason")):
        reasons.write_text(f"id,reason\n{wrong}\n", encoding="utf-8")
        assert main(judge) == 2 and told in capsys.readouterr().err


def test_figures_have_the_formats_that_are_asked_for(tmp_path, capsys):
    def draw(outcomes):
        figure, (axes,) = figures.panels(1)
        axes.plot([outcomes["two"].mean(0.5, "a", "t")])
        return figure

    outcome = studies.Outcome(Two())
    for seed in (1, 2, 3):
        outcome.add(0.5, "a", seed, {"t": float(seed)})
    for folder in ("a", "b"):
        figures.save("one", figures.Drawing(draw, ["two"]), {"two": outcome}, tmp_path / folder, "salt", ("pdf", "svg"))
    files = sorted(file.name for file in (tmp_path / "a").iterdir())
    assert files == ["one.pdf", "one.svg"]
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in files)
    # The number of seeds is in the figure.
    assert "n = 3<" in (tmp_path / "a" / "one.svg").read_text(encoding="utf-8")
    assert main(["study", "tdma", "--format", "jpeg"]) == 2 and "jpeg: expected png, svg or pdf" in capsys.readouterr().err


def test_a_statement_that_no_claim_is_about_is_told_of(folder, tmp_path, capsys):
    with (folder / "published.csv").open("a", encoding="utf-8") as file:
        file.write("third,fig 3,a,b,c,text\n")
    assert main(["study", "small-flows", "--figures", "one", "--out", str(tmp_path / "out")]) == 2
    assert "error: statement `third` of published.csv: expected a claim for it" in capsys.readouterr().err


def test_a_verdict_is_a_word_of_the_scale():
    row = {"id": "a", "figure": "fig 1", "quantity": "b", "condition": "c", "paper": "d"}
    with pytest.raises(ValueError, match="verdict `maybe`"):
        studies._claims.compare([row], {"a": ([], lambda outcomes: ("text", "maybe"))}, {})


class Two:
    """An experiment of which only the schemes matter."""

    name, schemes, seeds = "two", ("a", "b"), 3

    def scenario(self, seeds):
        raise AssertionError


def test_differences_are_of_the_seeds_that_both_have():
    outcome = studies.Outcome(Two())
    for seed, (a, b) in enumerate([(1.0, 2.0), (2.0, 4.5), (4.0, 7.0)]):
        outcome.add(0.5, "a", seed, {"t": a})
        outcome.add(0.5, "b", seed, {"t": b})
    outcome.add(0.5, "a", 3, {"t": 1000.0})
    outcome.add(0.25, "b", 0, {"u": 1.0})
    assert outcome.places == [0.25, 0.5] and outcome.quantities == ["t", "u"]
    found = outcome.difference(0.5, "b", "t")
    assert found == studies.difference([2.0, 4.5, 7.0], [1.0, 2.0, 4.0]) and found.n == 3 and found.mean == pytest.approx(1.0)
    assert outcome.difference(0.5, "a", "t", to="b").mean == pytest.approx((1 / 2 + 2 / 4.5 + 4 / 7) / 3 - 1)
    assert outcome.estimate(0.5, "a", "u").n == 0 and math.isnan(outcome.mean(0.5, "c", "t"))
    x, y = outcome.curve("b", "t")
    assert x.tolist() == [0.5] and y.tolist() == [4.5]


def test_a_table_has_all_that_is_judged(tmp_path):
    outcome = studies.Outcome(Two())
    for seed, (a, b) in enumerate([(1.0, 2.0), (2.0, 4.5), (4.0, 7.0)], 1):
        outcome.add(0.5, "a", seed, {"t": a, "none": math.nan})
        outcome.add(0.5, "b", seed, {"t": b})
        outcome.add(0.5, "b", seed, {"some": b if seed > 1 else math.nan})
    for seed in range(30):
        outcome.add(1.0, "a", seed, {"t": float(seed)})
    outcome.add(2.0, "a", 1, {"t": 3.0})
    outcome.summaries[2.0, "b", "t"] = studies.Summary(5.0, 4.0, 8.0, 3)
    studies.write_csv(tmp_path / "t.csv", studies.table(outcome, 9))
    read = studies.read_table(tmp_path / "t.csv", studies.Outcome(Two()))
    assert rows(tmp_path / "t.csv")[1] == ["0.5", "a", "t", *rows(tmp_path / "t.csv")[1][3:7], "1:1 2:2 3:4"][:8]
    for key in outcome.keys:
        if key[2] != "none":
            was, now = outcome.range(*key), read.range(*key)
            assert (now.mean, now.known) == (pytest.approx(was.mean), was.known)
            assert not was.known or (now.low, now.high) == pytest.approx((was.low, was.high))
    # Pairs of seeds survive; of thirty values the interval does; of one there is none.
    assert read.difference(0.5, "b", "t") == outcome.difference(0.5, "b", "t") and read.ratio(0.5, "b", "t").mean == pytest.approx(2.0)
    assert read.values[0.5, "b", "some"] == {2: 4.5, 3: 7.0} and (1.0, "a", "t") in read.summaries
    assert not read.range(2.0, "a", "t").known and read.range(2.0, "b", "t") == scale.Range(5, 4, 8)
    # Only what decides a verdict counts as its seeds.
    read.asked.clear()
    assert read.peek(1.0, "a", "t").n == 30 and not read.asked
    assert read.ratio(0.5, "b", "t").known and read.asked == {3}
    # Numbers of an experiment without randomness have no interval.
    read.experiment.seeds = 1
    assert read.range(2.0, "a", "t") == scale.Range.point(3.0)
    with (tmp_path / "old.csv").open("w", encoding="utf-8") as file:
        file.write("x,scheme,quantity,mean,half_95,n\n")
    with pytest.raises(LookupError, match="expected the columns scheme, quantity, mean, low_95"):
        studies.read_table(tmp_path / "old.csv", studies.Outcome(Two()))


def test_independent_ratios_where_seeds_are_not_paired(tmp_path):
    outcome = studies.Outcome(Two())
    outcome.summaries[0.0, "a", "t"] = studies.Summary(10.0, 9.0, 11.0, 5)
    outcome.summaries[0.0, "b", "t"] = studies.Summary(20.0, 18.0, 22.0, 5)
    assert outcome.ratio(0.0, "b", "t") == scale.Range(20, 18, 22).over(scale.Range(10, 9, 11))
    # A difference that the table has is a paired one.
    outcome.differences[0.0, "b", "t"] = studies.Difference(1.0, 0.1, 5, 1.0)
    of = outcome.ratio(0.0, "b", "t")
    assert (of.mean, of.low, of.high) == pytest.approx((2.0, 1.9, 2.1))
    assert outcome.ratio(0.0, "a", "t", to="b").mean == pytest.approx(0.5)


def test_digits():
    assert [studies.digits(v) for v in (1234567.0, 0.5, 1.0, math.nan)] == ["1.235e+06", "0.5", "1", ""]
    assert studies.digits(2 / 3, 2) == "0.67"


def test_flows_are_sorted(tmp_path):
    studies.write_flows(tmp_path / "a" / "flows.csv", [(5, 0, 1, 10), (1, 2, 0, 20), (1, 0, 2, 30)])
    text = (tmp_path / "a" / "flows.csv").read_bytes()
    assert text == b"start_ps,source,destination,size_bytes\n1,0,2,30\n1,2,0,20\n5,0,1,10\n"


def test_a_label_is_in_a_legend_once():
    figure, axes = figures.panels(2)
    for panel in axes:
        panel.plot([0, 1], [0, 1], label="one")
    axes[1].plot([0, 1], [1, 0], label="two")
    figures.legend(figure, axes)
    figures.letter(axes, ["left", "right"])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two"]
    assert [panel.get_title() for panel in axes] == ["(a) left", "(b) right"]
