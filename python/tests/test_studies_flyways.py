"""The study of flyways, and small versions of its figures."""

import csv
import math

import numpy as np
import pytest

import timeplane as tp
from test_studies import judged, made_as_committed, part
from timeplane import studies
from timeplane.__main__ import main


@pytest.fixture(scope="module")
def flyways():
    found = studies.find("flyways")
    found.load()
    return found


def test_flyways_demand_is_that_of_the_traces(flyways):
    traces = part(flyways, "traces")
    assert traces.projector_matrix().sum() == pytest.approx(1, abs=1e-6)
    assert np.count_nonzero(traces.projector_matrix()) == 8366
    # 706,397 flows of 35.5 TB in all, of which 244 GB stay in a rack.
    total = sum(matrix.sum() for _, matrix in traces.coflows()) * 1e6
    assert len(traces.coflows()) == 526 and total == pytest.approx(35.5e12 - 244e9, rel=2e-3)
    assert traces.pod_matrices().shape == (2023, 8, 8)
    for name, matrices in traces.TRACES.items():
        found = matrices(3)
        assert len(found) == 3, name
        for matrix in found:
            assert matrix.max() == traces.LARGEST and not matrix.diagonal().any() and (matrix == np.round(matrix)).all()
    # Other places, the same demand.
    first, second = traces.projector(2)
    assert (first != second).any() and np.array_equal(np.sort(first, None), np.sort(second, None))
    assert traces.spread(10, 3) == [0, 3, 6] and traces.spread(2, 5) == [0, 1]


def test_flyways_are_no_faster_than_their_rates(flyways):
    bound = part(flyways, "arithmetic").bound
    # One way: 16.76 Gb/s instead of 10. Both ways: the flyway is shared. Two radios carry what
    # hosts send.
    one = np.array([[0.0, 1.0], [0.0, 0.0]])
    assert bound(one, 0) == 2 and bound(one, 1) == pytest.approx(20 / 16.75675) and bound(one, 2) == 1
    assert bound(one + one.T, 1) == pytest.approx(40 / 26.75675)
    for matrix in part(flyways, "traces").pods(12):
        for radios in (1, 2):
            relative = tp.algorithms.flyways(matrix, radios=radios, core=False).relative
            assert bound(matrix, radios) * (1 - 1e-9) <= relative <= 1.1 * bound(matrix, radios)
            if radios == 1:
                assert relative == pytest.approx(bound(matrix, 1), rel=2e-3)


#: Verdicts of statements that need no run.
APART = {"devices": "not tried", "bit_errors": "arithmetic"}


def test_flyways_figures(flyways, tmp_path, capsys):
    assert main(["study", "flyways", "--quick", "--figures", "antennas,phases", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert "finding beams" in capsys.readouterr().out
    assert made_as_committed(tmp_path, flyways) and judged(tmp_path, "flyways") == APART | {"traffic_steering": "yes", "movement": "arithmetic"}
    with (tmp_path / "tables/phases.csv").open(newline="", encoding="utf-8") as file:
        rows = {(float(r["x"]), r["scheme"], r["quantity"]): float(r["mean"]) for r in csv.DictReader(file)}
    none, told, trained = part(flyways, "phases").POINTING
    for length in part(flyways, "phases").LENGTHS:
        relative = [rows[length, name, "relative"] for name in (none, told, trained)]
        assert 1 <= relative[0] <= relative[1] * 1.01 and relative[2] < rows[length, none, "wired"]
    # A training of milliseconds is more of a short phase than of a long one.
    short, long = (rows[length, trained, "relative"] - rows[length, none, "relative"] for length in (1.0, 100.0))
    assert short > long


def test_flyways_goodput_by_arithmetic_is_that_of_table_2(flyways):
    arithmetic, table2 = part(flyways, "arithmetic"), part(flyways, "table2")
    for column in table2.COLUMNS.values():
        for mcs, published in zip(table2.RATES, column.published or (), strict=False):
            access = column.access.removesuffix("_without_collisions")
            found = arithmetic.tcp_goodput(arithmetic.DRAFT, mcs, access, by_air=column.acknowledgements == "air")
            assert found / 1e6 == pytest.approx(published, rel=0.005), column
    # By hand: 169 packets of 1544 octets; AIFS and half a window, the frame, SIFS, and a block ACK.
    octets = 169 * 1544
    frame = 3328 / 1760 + 640 / 2640 * (1 + math.ceil(672 * math.ceil(8 * octets / 546) / 2016))
    assert arithmetic.airtime(arithmetic.STANDARD, 24, octets) == pytest.approx(frame)
    expected = 169 * 1460 * 8 / (18 + 37.5 + frame + 3 + 5952 / 1760) * 1e6
    assert arithmetic.tcp_goodput(arithmetic.STANDARD, 24, "dcf", by_air=False) == pytest.approx(expected)


def test_flyways_packets_carry_the_demand(flyways):
    packets = part(flyways, "packets")
    for trace in ("projector", "fb2010"):
        matrix = packets.lasting(packets.cases(trace, 1)[0], 30)
        assert max(matrix.sum(0).max(), matrix.sum(1).max()) * 8 / packets.UPLINK == pytest.approx(0.03, rel=1e-3)
        sums = np.zeros_like(matrix)
        for begin, source, destination, size in packets.flows(matrix):
            assert begin == 0 and size > 0
            sums[source, destination] += size
        assert np.array_equal(sums, matrix) and not matrix.diagonal().any()


def test_flyways_packet_by_packet(flyways, tmp_path, capsys):
    assert main(["study", "flyways", "--quick", "--figures", "table2,packets", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert "without collisions" in capsys.readouterr().out and made_as_committed(tmp_path, flyways)
    # Without collisions the first column is the paper's, and with them it is not.
    verdicts = {"table2_air": "in part", "table2_wire": "yes", "table2_no_dcf": "yes"}
    # The gains mean the column with collisions by one reading.
    found = judged(tmp_path, "flyways")
    assert found == APART | verdicts | {"gain_wire": "in part", "gain_no_dcf": "yes", "gain_both": "in part", "ack_traffic": found["ack_traffic"]}

    def rows(name):
        with (tmp_path / f"tables/{name}.csv").open(newline="", encoding="utf-8") as file:
            return {(float(r["x"]), r["scheme"], r["quantity"]): float(r["mean"]) for r in csv.DictReader(file)}

    table2 = part(flyways, "table2")
    for mac in table2.MACS:
        of = rows(f"table2_{mac}")
        for x in table2.RATES:
            for column in table2.COLUMNS:
                if column != "air":
                    assert of[x, column, "mbps"] == pytest.approx(of[x, column, "arithmetic_mbps"], rel=0.005), (mac, x, column)
                assert of[x, column, "timeouts"] == 0
            # What collides is sent again: the draft's short windows make that often.
            assert mac == "standard" or of[x, "air", "mbps"] < 0.95 * of[x, "air_calm", "mbps"]
    for trace in ("projector", "fb2010"):
        of = rows(f"packets_{trace}")
        # Headers, and a controller who hears late: less than the medium allows, most of it all the
        # same.
        assert 1 < of[30, "wired", "ms"] / 30 < 1.05
        assert 0.6 * of[30, "flyways", "fluid_shorter"] < of[30, "flyways", "shorter"] < of[30, "flyways", "medium_shorter"]
        assert of[30, "trained", "shorter"] < of[30, "flyways", "shorter"]
