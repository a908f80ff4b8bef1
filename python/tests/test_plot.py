"""Figures show what the tables say, and where their labels can be read."""

import numpy as np
import pytest
from matplotlib import pyplot

import timeplane as tp
from timeplane.__main__ import main
from timeplane.plot._style import interval, log_ticks, read_quantities


@pytest.fixture(autouse=True)
def closed():
    """No test leaves figures behind."""
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def sweep(make):
    """Two schemes, three sizes, two seeds."""
    return make(sweep={"workload.shuffle.bytes": ["500 kB", "1 MB", "2 MB"]}).run(results=None)


def test_a_metric_over_a_key_is_that_of_the_summary(sweep):
    axes = tp.plot.metric_over_key(sweep, "fct_p99")
    summary = sweep.summary.to_pandas()
    means = summary.groupby(["scheme", "workload.shuffle.bytes"], observed=True)["fct_p99_ps"].mean()
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert axes.get_xlabel() == "Bytes (MB)" and axes.get_ylabel() == "FCT p99 (ms)"
    for scheme in ("slots", "cubic"):
        expected = [means[scheme, size] / 1e9 for size in ("500 kB", "1 MB", "2 MB")]
        np.testing.assert_allclose(lines[scheme].get_ydata(), expected)
        np.testing.assert_allclose(lines[scheme].get_xdata(), [0.5, 1, 2])
    # Two seeds of two schemes have bands.
    assert len(axes.collections) == 2


def test_a_metric_is_drawn_for_some_schemes_and_points(make):
    sweep = {"workload.shuffle.bytes": ["1 MB", "2 MB"], "fabric.rate": ["10 Gb/s", "40 Gb/s"]}
    results = make(sweep=sweep, seeds=1).run(results=None)
    with pytest.raises(ValueError, match=r"choose the key to draw over with key=...: workload.shuffle.bytes, fabric.rate"):
        tp.plot.metric_over_key(results, "fct_mean")
    with pytest.raises(ValueError, match=r"they differ in fabric.rate"):
        tp.plot.metric_over_key(results, "fct_mean", "workload.shuffle.bytes")
    with pytest.raises(ValueError, match=r"`fabric.rat` is not swept; swept keys are workload.shuffle.bytes, fabric.rate"):
        tp.plot.metric_over_key(results, "fct_mean", point={"fabric.rat": "10 Gb/s"})
    with pytest.raises(ValueError, match=r"no point has fabric.rate = 20 Gb/s"):
        tp.plot.metric_over_key(results, "fct_mean", point={"fabric.rate": "20 Gb/s"})
    with pytest.raises(ValueError, match="no run has the scheme `reno`: expected one of slots, cubic"):
        tp.plot.metric_over_key(results, "fct_mean", point={"fabric.rate": "10 Gb/s"}, schemes=["reno"])
    with pytest.raises(KeyError, match="fct_mean"):
        tp.plot.metric_over_key(results, "fct_men", point={"fabric.rate": "10 Gb/s"})
    axes = tp.plot.metric_over_key(results, "fct_mean", point={"fabric.rate": "10 Gb/s"}, schemes=["cubic"])
    drawn = [line.get_label() for line in axes.get_lines() if not str(line.get_label()).startswith("bound")]
    assert drawn == ["cubic"]
    bars = tp.plot.metric_bars(results, "fct_mean")
    assert [len(group.patches) for group in bars.containers] == [4, 4]
    assert next(t.get_text() for t in bars.get_xticklabels()) == "1 MB\n10 Gb/s"


def test_bars_have_the_means_as_heights(results):
    axes = tp.plot.metric_bars(results, "fct_mean_ps")
    means = results.summary.to_pandas().groupby("scheme", observed=True)["fct_mean_ps"].mean() / 1e9
    assert [t.get_text() for t in axes.get_xticklabels()] == ["slots", "cubic"]
    np.testing.assert_allclose([bar.get_height() for bar in axes.patches], [means["slots"], means["cubic"]])
    assert axes.get_ylim()[0] == 0


def test_swept_values_become_numbers():
    def read(*values: str):
        numbers = read_quantities(values)
        return None if numbers is None else (numbers[0].tolist(), numbers[1])

    assert read("0.2", "0.5") == ([0.2, 0.5], "")
    assert read("300 us", "1 ms", "3 ms") == ([0.3, 1, 3], "ms")
    assert read("1e3 B", "4 kB") == ([1, 4], "kB")
    assert read("10 m", "20 m") == ([10, 20], "m")
    assert read("10 m", "1 us") is None
    assert read("dctcp", "cubic") is None
    assert read("1.2.3") is None


def test_intervals_on_a_logarithmic_axis_stay_above_zero():
    # The interval of a mean of 1 is wider than the mean itself.
    low, high = interval(np.array([1.0, 100.0]), np.array([3.0, 1.0]), logarithmic=True)
    assert (low > 0).all() and (high > low).all()
    # A small one is that of the linear axis.
    np.testing.assert_allclose([low[1], high[1]], [99, 101], rtol=1e-4)
    assert interval(1.0, 3.0, logarithmic=False) == (-2.0, 4.0)


def test_slowdown_has_no_interval_below_one(results):
    axes = tp.plot.slowdown_by_size(results)
    for band in axes.collections:
        assert band.get_paths()[0].vertices[:, 1].min() >= 1


def test_a_title_is_above_the_legend(results):
    axes = tp.plot.fct_cdf(results)
    axes.set_title("A title of this figure")
    figure = axes.figure
    figure.canvas.draw()
    assert axes.title.get_window_extent().y0 >= axes.get_legend().get_window_extent().y1 - 0.5
    # Both are inside the figure.
    assert axes.title.get_window_extent().y1 <= figure.bbox.y1


def test_a_schedule_has_a_box_for_every_slot(results):
    axes = tp.plot.gantt(results, time=("0 us", "1 s"))
    slots = next(r for r in results.runs if r.scheme_name == "slots").slots
    assert sum(len(c.get_paths()) for c in axes.collections) == len(slots) > 0
    default = tp.plot.gantt(results)
    assert 0 < sum(len(c.get_paths()) for c in default.collections) <= len(slots)
    with pytest.raises(ValueError, match=r"no run of cubic has rows in the table slots"):
        tp.plot.gantt(results, "cubic")
    with pytest.raises(ValueError, match=r"slots has no run with seed 9; seeds are 1, 2"):
        tp.plot.gantt(results, seed=9)
    with pytest.raises(ValueError, match="`1 hour` is not a time"):
        tp.plot.gantt(results, time=("0 s", "1 hour"))
    with pytest.raises(ValueError, match="no slot is between"):
        tp.plot.gantt(results, time=("5 s", "6 s"))


def test_a_matrix_has_all_bytes(results):
    axes = tp.plot.demand_matrix(results)
    (image,) = axes.images
    flows = results.runs[0].flows
    # In MB: 30 pairs of 2 MB.
    assert np.nansum(image.get_array().filled(np.nan)) == pytest.approx(flows["size_bytes"].sum() / 1e6)
    assert image.get_array().shape == (6, 6)


def test_times_by_class_are_those_of_the_flows(make):
    mix = tp.Poisson(load=0.4, sizes=tp.Cdf("websearch"))
    values = {"workload": mix, "window": tp.Window(measure="5 ms", drain="20 ms"), "scheme": {"plain": tp.Scheme(transport=tp.Tcp())}, "seeds": 1}
    results = make(**values).run(results=None)
    axes = tp.plot.times_by_class(results, edges=("20 kB", "1 MB"))
    flows = results.flows.to_pandas()
    flows = flows[flows["measured"] & flows["fct_ps"].notna()]
    size = flows["size_bytes"]
    expected = [flows["fct_ps"][of].mean() / 1e9 for of in (size <= 20e3, (size > 20e3) & (size <= 1e6), size > 1e6)]
    scale = {"us": 1e3, "ms": 1.0, "s": 1e-3}[axes.get_ylabel().rpartition("(")[2].rstrip(")")]
    np.testing.assert_allclose([bar.get_height() for bar in axes.patches], np.array(expected) * scale)
    assert [t.get_text() for t in axes.get_xticklabels()] == ["up to 20 kB", "20 kB to 1 MB", "over 1 MB"]
    # A class without flows has no bars.
    assert len(tp.plot.times_by_class(results, edges=("1 B", "1 GB")).patches) == 1
    with pytest.raises(ValueError, match="ascending"):
        tp.plot.times_by_class(results, edges=("1 MB", "20 kB"))
    with pytest.raises(ValueError, match="`20` is not a size"):
        tp.plot.times_by_class(results, edges=("20",))


def test_unfinished_flows_count_with_the_time_that_they_have_waited(make):
    mix = tp.Poisson(load=0.6, sizes=tp.Cdf("websearch"))
    values = {"workload": mix, "window": tp.Window(measure="5 ms", drain="10 us"), "scheme": {"plain": tp.Scheme(transport=tp.Tcp())}, "seeds": 1}
    results = make(**values).run(results=None)
    flows = results.flows.to_pandas()
    flows = flows[flows["measured"]]
    unfinished = flows["fct_ps"].isna()
    assert 0 < unfinished.sum() < len(flows)
    axes = tp.plot.times_by_class(results, edges=("1 kB", "1 GB"))
    (bar,) = axes.patches
    waited = results.summary["simulated_ps"][0] - flows["start_ps"]
    times = flows["fct_ps"].where(~unfinished, waited)
    scale = {"us": 1e-6, "ms": 1e-9, "s": 1e-12}[axes.get_ylabel().rpartition("(")[2].rstrip(")")]
    np.testing.assert_allclose(bar.get_height(), times.mean() * scale)
    assert bar.get_hatch() and times.mean() > flows["fct_ps"].mean()
    # The summary has the same mean, and says that it is a bound.
    np.testing.assert_allclose(results.summary["fct_mean_ps"][0], times.mean())
    assert "fct_mean_ps" in results.summary["lower_bounds"][0].split()
    axes = tp.plot.slowdown_by_size(results)
    assert next(line.get_label() for line in axes.get_lines()) == "plain (lower bound)"


@pytest.mark.parametrize(
    ("figure", "options"),
    [
        ("metric", ["--metric", "fct_mean", "--schemes", "cubic"]),
        ("bars", []),
        ("fct-cdf", ["--point", "workload.shuffle.bytes=1 MB"]),
        ("slowdown", ["--point", "workload.shuffle.bytes=1 MB", "--statistic", "50"]),
        ("fct-by-class", ["--point", "workload.shuffle.bytes=1 MB"]),
        ("gantt", ["--point", "workload.shuffle.bytes=1 MB", "--time", "0 us..900 us"]),
        ("matrix", ["--point", "workload.shuffle.bytes=1 MB", "--seed", "2"]),
    ],
)
def test_the_command_draws(sweep, tmp_path, capsys, figure, options):
    out = tmp_path / "figure.svg"
    assert main(["plot", sweep.directory, figure, "--out", str(out), *options]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert "</svg>" in out.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pie"], "invalid choice: 'pie'"),
        (["matrix", "--metric", "fct_p99"], "--metric is for metric, bars, not for matrix"),
        (["fct-cdf", "--over", "workload.shuffle.bytes"], "--over is for metric, not for fct-cdf"),
        (["fct-cdf", "--point", "bytes"], "expected KEY=VALUE"),
        (["fct-cdf"], "several points match"),
        (["metric", "--metric", "fct_men"], "fct_mean"),
        (["gantt", "--time", "1 ms"], "expected two times"),
        (["fct-by-class", "--point", "workload.shuffle.bytes=1 MB", "--statistic", "p99"], "expected `mean` or a percentile from 0 to 100"),
    ],
)
def test_the_command_says_what_is_wrong(sweep, capsys, arguments, message):
    assert main(["plot", sweep.directory, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_command_names_a_folder_without_results(tmp_path, capsys):
    assert main(["plot", str(tmp_path), "bars"]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_ticks_of_a_logarithmic_axis_have_all_their_digits():
    axes = pyplot.subplots()[1]
    axes.set_xscale("log")
    axes.set_xlim(3.2, 4.3)
    log_ticks(axes.xaxis)
    axes.figure.canvas.draw()
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert "3.4" in shown and len(shown) == len({*shown})
    axes.set_xlim(0.1, 20_000)
    log_ticks(axes.xaxis)
    axes.figure.canvas.draw()
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert {"0.1", "1", "10", "10,000"} <= {*shown}
