"""The gallery of scenarios: results that are missing, old or wrong are refused, and answers say what
the results show.
"""

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT / "python" / "tools")]

import follow  # noqa: E402
import gallery_results  # noqa: E402
import generated  # noqa: E402
import reproduce  # noqa: E402
import scenario_answers as answers  # noqa: E402
import scenario_gallery as gallery  # noqa: E402
import scenario_results as stored  # noqa: E402

NAME = "lab"


@pytest.fixture
def folders(tmp_path):
    """Copies of the scenarios and of their results."""
    return shutil.copytree(stored.SCENARIOS, tmp_path / "scenarios"), shutil.copytree(stored.PLACE, tmp_path / "gallery")


def changed(file, before, after):
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")


def test_results_of_all_scenarios_are_stored_and_pictures_are_small():
    rows, values = stored.read()
    stored.check(rows)
    assert sorted(rows) == stored.names() and all(values[name] for name in rows)
    for name in rows:
        picture = stored.PLACE / "pictures" / f"{name}.svg"
        assert picture.stat().st_size < 60_000
        assert "#000000" not in picture.read_text(encoding="utf-8")


def test_tables_are_read_as_they_are_written(tmp_path):
    stored.write(*stored.read(), tmp_path)
    for name in ("scenarios.csv", "metrics.csv"):
        assert (tmp_path / name).read_bytes() == (stored.PLACE / name).read_bytes()


@pytest.mark.parametrize(
    ("file", "before", "after", "says"),
    [
        ("lab.toml", "600 kB", "700 kB", "scenarios/lab.toml has changed since its results were stored: run `.venv/bin/python python/tools/gallery_results.py`"),
        ("lab.toml", "# All-to-all", "# All to all", "scenarios/lab.toml has changed"),
        ("cells-parked.csv", "0", "1", "scenarios/cells.toml has changed"),
    ],
)
def test_old_results_are_refused(folders, file, before, after, says):
    changed(folders[0] / file, before, after)
    with pytest.raises(stored.ResultsError, match=re.escape(says)):
        stored.check(stored.read(folders[1])[0], *folders)


def test_missing_results_are_refused(folders):
    scenarios, place = folders
    rows = stored.read(place)[0]
    shutil.copy(scenarios / "lab.toml", scenarios / "novel.toml")
    with pytest.raises(stored.ResultsError, match=r"scenarios/novel.toml has no row in docs/gallery/scenarios.csv: run"):
        stored.check(rows, *folders)
    (scenarios / "novel.toml").unlink()
    (place / "pictures" / "lab.svg").unlink()
    with pytest.raises(stored.ResultsError, match=r"no picture of scenarios/lab.toml"):
        stored.check(rows, *folders)
    (scenarios / "lab.toml").unlink()
    with pytest.raises(stored.ResultsError, match=r"has a row of `lab`, which is not in scenarios/"):
        stored.check(rows, *folders)


def test_comments_and_descriptions_change_no_values(folders):
    file = folders[0] / "lab.toml"
    text, values = stored.digests(file)
    changed(file, "# All-to-all", "# All to all")
    changed(file, 'description = "A shuffle', 'description = "The shuffle')
    assert stored.digests(file)[0] != text and stored.digests(file)[1] == values
    changed(file, "600 kB", "700 kB")
    assert stored.digests(file)[1] != values


def test_a_quick_scenario_that_gives_other_numbers_is_refused():
    rows, values = stored.read()
    quick = [name for name, row in rows.items() if row.processor_s < gallery.QUICK]
    assert NAME in quick
    gallery.run_again([NAME], values)
    values[NAME][0] = replace(values[NAME][0], mean=1.0)
    with pytest.raises(stored.ResultsError, match=r"scenarios/lab.toml: `completion_ps` of `slots` is not what docs/gallery/metrics.csv says"):
        gallery.run_again([NAME], values)


def test_answers_say_what_the_results_show():
    rows, values = stored.read()
    assert {*answers.CARDS} <= {*rows}
    for name in rows:
        text = answers.card(name).answer(answers.Told(name, values[name]))
        assert len([word for word in text.split() if word != "%"]) <= 25 and text.endswith(".") and not re.search(r"\bnan\b", text)
    told = [replace(v, mean=0.5 * v.mean) if v.scheme == "circuits" and v.mean else v for v in values["allreduce"]]
    with pytest.raises(answers.AnswerError, match=r"results of scenarios/allreduce.toml do not show that `circuits` is within 1 %"):
        answers.card("allreduce").answer(answers.Told("allreduce", told))
    with pytest.raises(answers.AnswerError, match=r"0 values of `fct_mean` of `cubik`"):
        answers.Told("load", values["load"]).mean("fct_mean", "cubik")


def test_a_scenario_without_a_line_has_an_answer():
    values = stored.read()[1]
    assert answers.card("novel").answer is answers.best
    assert answers.best(answers.Told("lab", values["lab"])) == "`rates` has the least completion: 711 ms, against 792 ms of `slots`."
    assert answers.best(answers.Told("cells", values["cells"])).startswith("`one_channel` has the highest goodput: 2.98 Gb/s")
    assert answers.best(answers.Told("queue", values["queue"])) == "`datagrams` has the least fct mean: 299 us."


def test_the_question_is_that_of_the_comment():
    assert gallery.question("# What is it?\n#\n# Who asks?\nx = 1") == "What is it?"
    assert gallery.question("# In a hall of 1.5 m: what\n# is it? Nothing.\n") == "In a hall of 1.5 m: what is it?"
    assert gallery.question("# A fact. What is it?\n") == "" and gallery.question("x = 1 # What?\n") == ""


def test_commands_of_the_gallery_are_such_that_there_are():
    text = str(gallery.page())
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert len(blocks) > len(stored.names())
    asked = {" ".join(command[:2]) for block in blocks for command in follow.commands(block)}
    assert asked == {"timeplane run", "timeplane live"}
    named = re.findall(r"scenarios/([\w-]+\.toml)\n", text)
    assert all((stored.SCENARIOS / name).exists() for name in named)


def test_a_slim_picture_has_the_same_lines():
    assert gallery_results.thinned([(0, 0), (1, 0.01), (2, 0), (2, 2)]) == [(0, 0), (2, 0), (2, 2)]
    assert gallery_results.thinned([(0, 0), (1, 1), (0, 0)]) == [(0, 0), (1, 1), (0, 0)]
    slim = gallery_results.slim('<path d="M 0.123 0 \nL 5 0 \nL 9.987 0 \nz\n" x="1.26"/>\n   <text>0.35</text><!-- 1 -->')
    assert slim == '<path d="M0.1 0.0 10.0 0.0z" x="1.2"/>\n<text>0.35</text>'


def test_a_claim_has_the_figures_that_show_its_experiments():
    figures = {"fig1": ["a", "b"], "fig2": ["b"], "fig3": ["c"], "rest": ["a", "b", "c", "d"]}
    minutes = {"a": 1.0, "b": 2.0, "c": 0.5, "d": 60.0}
    assert reproduce.cover([], figures, minutes) == ()
    assert reproduce.cover(["b"], figures, minutes) == ("fig2",)
    assert reproduce.cover(["b"], figures, minutes, "text and fig 1") == ("fig1",)
    assert reproduce.cover(["b", "c"], figures, minutes) == ("rest",)
    assert reproduce.cover(["e"], figures, minutes) is None
    del figures["rest"]
    assert reproduce.cover(["b", "c"], figures, minutes) == ("fig2", "fig3")


def test_a_table_of_a_page_is_escaped():
    page = generated.Page("A", "")
    page.table(("a",), [("b|c",)])
    assert "| b\\|c |" in str(page)
