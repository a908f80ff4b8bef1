"""Scenarios: classes, files, errors."""

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import timeplane as tp

ROOT = Path(__file__).resolve().parents[2]
TOML = """
name = "shuffle"
seeds = 2
[fabric]
topology.single_switch.hosts = 6
rate = "10 Gb/s"
mtu = "9 kB"
[workload.shuffle]
bytes = "2 MB"
jitter = "0.1 ms"
[scheme.slots]
transport.raw = {}
plan.tdma = { slot = "300 us", guard = "15 us" }
[scheme.cubic]
transport.tcp = { congestion = "cubic" }
"""


def test_classes_are_generated_from_the_schema():
    script = ROOT / "python" / "tools" / "generate_scenario.py"
    done = subprocess.run([sys.executable, script, "--check"], check=False)
    assert done.returncode == 0, "run python/tools/generate_scenario.py"


def test_classes_say_the_same_as_the_file(tmp_path, make):
    file = tmp_path / "shuffle.toml"
    file.write_text(TOML)
    read = tp.Scenario.from_file(file)
    assert read.resolved() == make().resolved()
    assert list(read.scheme) == ["slots", "cubic"]
    assert read.scheme["slots"].plan == tp.Tdma()
    assert read.scheme["cubic"].transport == tp.Tcp()
    assert read.fabric.switch == tp.Switch() and read.fabric.mtu == "9 kB"


def test_every_alternative_goes_to_json_and_back():
    base = {"fabric": {"topology": {"single_switch": {"hosts": 4}}, "rate": "1 Gb/s"}}
    for topology in (
        tp.LeafSpine(leaves=2, hosts_per_leaf=2, spines=2),
        tp.Tree(edges=2, hosts_per_edge=2),
        tp.FatTree(k=4),
        tp.Graph(hosts=2, switches=1, links=[tp.GraphLink(nodes=(0, 2)), tp.GraphLink(nodes=(1, 2), rate="2 Gb/s")]),
    ):
        for workload in (
            tp.Poisson(load=0.5, sizes=tp.Fixed("1 kB"), packets="bimodal"),
            tp.Poisson(load=0.5, sizes=tp.Cdf("web"), pattern=tp.Incast(receiver=1), packets=tp.Fixed("100 B")),
            tp.Coflows(file="fb2010", max_flows=10),
            tp.Flows(file="flows.csv"),
        ):
            for buffer in ("unbounded", tp.PerPort("100 kB"), tp.Shared(memory="1 MB", alpha=1.0)):
                scenario = tp.Scenario(
                    fabric=tp.Fabric(topology=topology, rate=base["fabric"]["rate"], switch=tp.Switch(buffer=buffer)),
                    workload=workload,
                    scheme={"a": tp.Scheme(transport=tp.Datagrams()), "b": tp.Scheme(transport=tp.Raw(), plan=tp.Tdma())},
                    sweep={"fabric.rate": ["1 Gb/s", "2 Gb/s"]},
                )
                values = json.loads(json.dumps(scenario.to_dict()))
                again = tp.Scenario.from_dict(values)
                assert again.resolved() == scenario.resolved()
                assert type(again.fabric.topology) is type(topology) and type(again.workload) is type(workload)
                assert type(again.fabric.switch.buffer) is type(buffer)


def test_a_control_has_a_fabric_of_its_own(tmp_path, make):
    file = tmp_path / "shuffle.toml"
    file.write_text(TOML + '[scheme.cubic.fabric]\ntopology.tree = { edges = 2, hosts_per_edge = 3 }\nswitch.ecn = "60 kB"\n')
    read = tp.Scenario.from_file(file)
    own = tp.OwnFabric(topology=tp.Tree(edges=2, hosts_per_edge=3), switch=tp.OwnSwitch(ecn="60 kB"))
    assert read.scheme["cubic"].fabric == own and read.scheme["slots"].fabric is None
    scenario = make()
    scenario.scheme["cubic"].fabric = own
    assert scenario.resolved() == read.resolved()
    assert tp.Scenario.from_dict(json.loads(json.dumps(scenario.to_dict()))).resolved() == read.resolved()
    own.topology = tp.SingleSwitch(hosts=7)
    with pytest.raises(tp.ScenarioError) as caught:
        scenario.validate()
    assert caught.value.issues[0].key == "scheme.cubic.fabric.topology"


def test_set_changes_values_and_sweeps(tmp_path):
    file = tmp_path / "shuffle.toml"
    file.write_text(TOML)
    read = tp.Scenario.from_file(file, set={"workload.shuffle.bytes": ["1 MB", "3 MB"], "seeds": 5, "fabric.rate": "1 Gb/s"})
    assert (read.seeds, read.fabric.rate) == (5, "1 Gb/s")
    assert read.sweep == {"workload.shuffle.bytes": ["1 MB", "3 MB"]}


def test_errors_name_the_place(tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text(TOML.replace("jitter", "jiter"))
    with pytest.raises(tp.ScenarioError) as caught:
        tp.Scenario.from_file(file)
    (issue,) = caught.value.issues
    assert (issue.line, issue.file) == (10, str(file))
    assert "jitter" in issue.message and "wrong.toml:10" in str(caught.value)
    with pytest.raises(tp.ScenarioError, match="cannot read the file"):
        tp.Scenario.from_file(tmp_path / "missing.toml")
    # What is only found when it is about to run still knows its line.
    file.write_text(TOML + 'plan.tdma = { scheduler = "nonsense" }\n')
    with pytest.raises(tp.ScenarioError) as caught:
        tp.Scenario.from_file(file).run(results=None)
    assert any(issue.line and issue.line > 15 for issue in caught.value.issues)


def test_values_of_classes_are_checked(make):
    with pytest.raises(TypeError):
        tp.Tcp(congestoin="cubic")
    scenario = make(fabric=tp.Fabric(topology=tp.SingleSwitch(hosts=6), rate="10 Gbps"))
    with pytest.raises(tp.ScenarioError) as caught:
        scenario.validate()
    assert caught.value.issues[0].key == "fabric.rate"
    with pytest.raises(tp.ScenarioError):
        make(workload=tp.Coflows(file="nowhere.txt")).run(results=None)


def test_a_changed_scenario_is_what_runs(tmp_path):
    file = tmp_path / "shuffle.toml"
    file.write_text(TOML)
    scenario = tp.Scenario.from_file(file)
    scenario.seeds = 1
    del scenario.scheme["cubic"]
    assert len(scenario.run(results=None).runs) == 1


def test_scenarios_are_copied_and_sent(tmp_path):
    file = tmp_path / "shuffle.toml"
    file.write_text(TOML)
    scenario = tp.Scenario.from_file(file)
    for again in (copy.deepcopy(scenario), pickle.loads(pickle.dumps(scenario)), dataclasses.replace(scenario)):
        assert again == scenario and again.base == str(tmp_path)
        assert again.resolved() == scenario.resolved()


def test_importing_is_cheap():
    code = "import sys, timeplane; print(*[m for m in ('numpy', 'matplotlib', 'polars', 'pandas', 'pyarrow', 'dataclasses') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_names_of_the_package():
    assert {"Scenario", "Results", "LeafSpine", "register_scheduler", "plot"} <= set(dir(tp))
    for name in dir(tp):
        assert getattr(tp, name) is not None
    with pytest.raises(AttributeError):
        tp.nonsense  # noqa: B018 (reading it fails)
