"""Tables, comparison, figures."""

import hashlib
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import timeplane as tp
from timeplane._html import comparison


def test_tables_are_arrow_for_everybody(results):
    flows = pl.DataFrame(results.flows)
    assert flows.columns[:3] == ["run", "scheme", "seed"]
    # 30 pairs, two schemes, two seeds.
    assert flows.height == len(results.flows) == 120
    assert flows["fct_ps"].null_count() == 0
    assert set(flows["scheme"].cast(pl.String)) == {"slots", "cubic"}
    assert flows.equals(results.flows.to_polars())
    table = pa.table(results.flows)
    assert table.num_rows == 120 and table.schema.field("fct_ps").metadata[b"description"]
    frame = results.flows.to_pandas()
    assert isinstance(frame, pd.DataFrame) and len(frame) == 120
    means = frame.groupby("scheme", observed=True)["fct_ps"].mean()
    assert set(means.index) == {"slots", "cubic"}
    joined = flows.join(pl.DataFrame(results.summary), on=["run", "scheme", "seed"])
    assert joined.height == 120
    np.testing.assert_array_equal(results.flows["fct_ps"], flows["fct_ps"].to_numpy())


def test_columns_are_numpy_arrays(results):
    flows = results.flows
    assert flows["size_bytes"].dtype == np.uint64 and flows["measured"].dtype == bool
    assert flows["scheme"].dtype == object and flows["scheme"][0] == "slots"
    assert np.isnan(flows["coflow"]).all() and len(flows["coflow"]) == 120
    assert flows.descriptions["fct_ps"].startswith("From arrival")
    with pytest.raises(KeyError, match="fct_ps"):
        flows["fct"]
    with pytest.raises(KeyError, match="coflows"):
        results.table("flow")


def test_a_notebook_shows_the_first_rows_of_a_table(results):
    html = results.flows._repr_html_()
    assert html.count("<tr>") == 1 + 10 and "flows: 120 rows, the first 10" in html
    assert '<th title="From arrival' in html and html.count("<td>slots</td>") == 10
    first = results.flows.to_polars().row(0, named=True)
    cells = html[html.index("<tbody>") :].split("</tr>")[0]
    assert [f"<td>{first[name]}</td>" in cells for name in ("run", "seed", "size_bytes", "fct_ps")] == [True] * 4
    # A coflow is missing: its cell is empty. All rows of a short table are shown.
    assert "<td></td>" in cells
    assert "summary: 4 rows</p>" in results.summary._repr_html_()
    assert "coflows: 0 rows</p>" in results.coflows._repr_html_()


def test_every_table_is_there(results):
    for name in ("flows", "coflows", "queues", "drops", "control", "slots", "rates", "signals", "links", "latency", "received", "tcp", "air", "rtt", "round_trips", "steps", "collectives"):
        table = getattr(results, name)
        assert table.name == name and pl.DataFrame(table).height == len(table)
    assert len(results.slots) > 0 and len(results.queues) > 0 and len(results.coflows) == 0
    run = results.runs[0]
    assert (run.scheme_name, run.seed, len(run.flows)) == ("slots", 1, 30)
    assert set(run.flows["scheme"]) == {"slots"}
    summary = results.summary.to_polars()
    assert summary.height == 4 and summary["finished_flows"].to_list() == [30] * 4


def test_a_sweep_has_its_values_in_columns(make):
    results = make(sweep={"workload.shuffle.bytes": ["1 MB", "2 MB"]}).run(results=None)
    assert results.points == [{"workload.shuffle.bytes": "1 MB"}, {"workload.shuffle.bytes": "2 MB"}]
    assert set(results.flows["workload.shuffle.bytes"]) == {"1 MB", "2 MB"}
    assert results._repr_html_().count("<tr") == 1 + 4 + 2
    with pytest.raises(ValueError, match="several points"):
        tp.plot.fct_cdf(results)
    tp.plot.fct_cdf(results, point={"workload.shuffle.bytes": "2 MB"})


def test_numbers_of_a_sweep_are_numbers():
    scenario = tp.Scenario(
        fabric=tp.Fabric(topology=tp.SingleSwitch(hosts=4), rate="10 Gb/s"),
        workload=tp.Poisson(load=0.5, sizes=tp.Fixed("10 kB")),
        window=tp.Window(measure="1 ms", drain="1 ms"),
        scheme={"plain": tp.Scheme(transport=tp.Datagrams())},
        sweep={"workload.poisson.load": [0.2, 0.5]},
    )
    results = scenario.run(results=None)
    assert sorted(set(results.flows["workload.poisson.load"])) == [0.2, 0.5]
    assert results.summary["workload.poisson.load"].tolist() == [0.2, 0.5]


def test_the_comparison_speaks_to_people_and_programs(results):
    text = str(results)
    assert "slots" in text and "vs slots" in text and "bound: busiest link" in text
    values = results.to_dict()
    assert values["baseline"] == "slots" and len(values["lines"]) == 2
    html = results._repr_html_()
    assert "bound: busiest link" in html and "±" in html and "Means over 2 seeds" in html
    assert results.compare(baseline="cubic", metrics=["fct_p99"]).to_dict()["baseline"] == "cubic"
    with pytest.raises(KeyError):
        results.compare(metrics=["nonsense"])


def test_a_notebook_shows_lower_bounds_and_what_is_not_tested():
    def cell(mean: float, **marks: object) -> dict:
        plain = {"lower_bound": False, "unfinished": False, "untested": False, "significant": None, "difference": None, "bound": None}
        return plain | {"value": {"mean": mean, "half_width": None}} | marks

    difference = {"relative": {"mean": -0.5}, "absolute": {"mean": -6e9}}
    cells = [cell(12e9), cell(6e9, lower_bound=True, unfinished=True, untested=True, difference=difference)]
    lines = [{"point": {}, "scheme": name, "metrics": {"fct_mean_ps": c}} for name, c in zip(("tcp", "planned"), cells, strict=True)]
    html = comparison({"lines": lines, "baseline": "tcp", "bounds": []}, {"fct_mean_ps": "FCT mean"}, [])
    assert "<td>12.0 ms</td>" in html
    assert '<td>&gt;= 6.00 ms !<span class="d">-50.0 % ?</span></td>' in html


def test_a_folder_opens_again(make, tmp_path):
    first = make().run(results=tmp_path)
    again = tp.Results.open(tmp_path / "shuffle")
    assert [r.key for r in again.runs] == [r.key for r in first.runs] and again.is_complete
    assert pl.DataFrame(again.flows).equals(pl.DataFrame(first.flows))
    assert again.manifest["scenario"]["workload"]["shuffle"]["bytes"] == "2 MB"
    with pytest.raises(tp.RunError, match=r"manifest.json"):
        tp.Results.open(tmp_path / "nothing")


def test_results_can_be_pickled(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = make(seeds=1).run(results="kept")
    pickled = pickle.dumps(results)
    # Another process may be in another folder.
    monkeypatch.chdir("/")
    again = pickle.loads(pickled)
    assert [r.key for r in again.runs] == [r.key for r in results.runs] and str(again) == str(results)


def test_the_same_run_is_the_same_bytes(make, tmp_path):
    def digests(folder: Path) -> dict:
        files = sorted(f for f in folder.rglob("*") if f.is_file() and f.suffix in {".parquet", ".json", ".csv"})
        return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}

    make().run(jobs=1, results=tmp_path / "one")
    make().run(jobs=2, results=tmp_path / "two")
    assert digests(tmp_path / "one") == digests(tmp_path / "two") != {}


def test_a_temporary_folder_goes_with_the_last_reader(make):
    results = make(seeds=1).run(results=None)
    folder, flows = Path(results.directory), results.flows
    del results
    assert folder.is_dir() and len(flows["fct_ps"]) == 60
    del flows
    assert not folder.exists()


def test_figures(results, tmp_path):
    for draw in (tp.plot.fct_cdf, tp.plot.slowdown_by_size, tp.plot.queue_over_time):
        axes = draw(results)
        assert len(axes.get_lines()) == 2 and len(axes.collections) == 2
        axes.figure.savefig(tmp_path / f"{draw.__name__}.pdf")
    with pytest.raises(ValueError, match="coflows"):
        tp.plot.cct_cdf(results)
