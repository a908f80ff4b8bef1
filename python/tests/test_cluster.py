"""The files for clusters: scripts run as they are, with stand-ins for the programs of a cluster."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import timeplane as tp

FILES = Path(__file__).resolve().parents[2] / "packaging" / "cluster"
SCENARIO = """
name = "loads"
seeds = 3
fabric = { topology.single_switch.hosts = 4, rate = "10 Gb/s", propagation = "1 us" }
workload.poisson = { load = 0.5, sizes.exponential = "20 kB" }
window = { warmup = "100 us", measure = "300 us" }
scheme.cubic.transport.tcp.min_rto = "2 ms"
[sweep]
"workload.poisson.load" = [0.2, 0.6]
"""
#: Runs two tasks, one of which dies.
SRUN = """#!/usr/bin/env bash
echo "$*" > srun.txt
while [[ $1 == --* ]]; do shift; done
"$@" & dies=$!
"$@" &
sleep 3
kill -9 "$dies"
wait
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "loads.toml").write_text(SCENARIO)
    (tmp_path / "bin").mkdir()
    return tmp_path


def script(folder: Path, name: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, **variables}
    return subprocess.run(["bash", FILES / name, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def program(folder: Path, name: str, text: str) -> None:
    file = folder / "bin" / name
    file.write_text(text)
    file.chmod(0o755)


def test_an_array_of_slurm_runs_all_shares(folder: Path) -> None:
    for share in ("2", "1"):
        done = script(folder, "slurm-array.sh", "loads.toml", "2", SLURM_ARRAY_TASK_ID=share, SLURM_CPUS_PER_TASK="1")
        assert done.returncode == 0, done.stderr
    results = tp.Results.open(folder / "results/loads")
    assert results.is_complete and len(results.runs) == 6
    assert script(folder, "slurm-array.sh", "loads.toml").returncode == 2


def test_a_job_of_slurm_sweeps_on_dask(folder: Path) -> None:
    program(folder, "srun", SRUN)
    done = script(folder, "slurm-dask.sh", "loads.toml", SLURM_JOB_ID="7")
    assert done.returncode == 0, done.stderr
    assert tp.Results.open(folder / "results/loads").is_complete
    assert not (folder / "scheduler-7.json").exists()
    assert "--kill-on-bad-exit=0" in (folder / "srun.txt").read_text()


@pytest.mark.parametrize("name", ["slurm-array.sh", "slurm-dask.sh"])
def test_slurm_finds_its_options(name: str) -> None:
    # It stops at the first command.
    lines = (FILES / name).read_text().splitlines()
    options = [line for line in lines if line.startswith("#SBATCH")]
    assert lines[1 : 1 + len(options)] == options
    assert all(re.fullmatch(r"#SBATCH --[a-z-]+(=\S+)?", line) for line in options)


def test_an_indexed_job_has_each_share_once(folder: Path) -> None:
    yaml = pytest.importorskip("yaml")
    _, job = yaml.safe_load_all((FILES / "kubernetes-job.yaml").read_text())
    count = job["spec"]["completions"]
    (container,) = job["spec"]["template"]["spec"]["containers"]
    program(folder, "timeplane", '#!/bin/sh\necho "$@"\n')
    shares = []
    for index in range(count):
        environment = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": str(index)}
        done = subprocess.run([*container["command"], *container["args"]], env=environment, capture_output=True, text=True, check=True)
        shares.append(done.stdout.split()[-1])
    assert shares == [f"{share}/{count}" for share in range(1, count + 1)]


def test_names_in_manifests_lead_to_each_other() -> None:
    yaml = pytest.importorskip("yaml")
    for file in FILES.glob("*.yaml"):
        resources = list(yaml.safe_load_all(file.read_text()))
        named = {(r["kind"], r["metadata"]["name"]): r for r in resources}
        pods = [r["spec"]["template"] for r in resources if "template" in r["spec"]]
        claims = [v["persistentVolumeClaim"]["claimName"] for pod in pods for v in pod["spec"].get("volumes", ()) if "persistentVolumeClaim" in v]
        assert claims and all(("PersistentVolumeClaim", claim) in named for claim in claims)
        for pod in pods:
            volumes = {v["name"] for v in pod["spec"].get("volumes", ())}
            assert volumes == {m["name"] for c in pod["spec"]["containers"] for m in c.get("volumeMounts", ())}
        for service in (r for r in resources if r["kind"] == "Service"):
            assert any(service["spec"]["selector"] == pod.get("metadata", {}).get("labels") for pod in pods)
        for host in re.findall(r"tcp://([\w-]+):8786", file.read_text()):
            assert ("Service", host) in named
