"""The simulator beside Linux hosts: slots, rates, circuits and the proxy from one file each, in
virtual time and in a lab of namespaces.

Needs root and the program ``timeplane-lab``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import timeplane as tp
from timeplane import studies
from timeplane.studies import Options, Outcome

from .experiments import LIVE, SIMULATED, Experiment

#: Builds and installs the program.
INSTALL = "bash install.sh && cargo install --path crates/lab"


def simulate(experiment: Experiment, options: Options, outcomes: Mapping[str, Outcome[Experiment]]) -> Outcome[Experiment]:
    """Runs an experiment in both worlds."""
    outcome, seeds = Outcome(experiment), options.seeds or experiment.seeds
    key, axis = experiment.axis
    for position, value in axis.items():
        settings = {**experiment.changes, key: value, "seeds": str(seeds)}
        scenario = tp.Scenario.from_file(experiment.file, set=settings)
        _add(outcome, position, SIMULATED, scenario.run(jobs=options.jobs, results=options.out / "runs"))
        _add(outcome, position, LIVE, _lab(experiment, options, settings, f"{experiment.name}-{position:g}"))
        options.tell(f"{experiment.name}, {value}: {seeds} runs of each scheme in each world")
    return outcome


def _lab(experiment: Experiment, options: Options, settings: Mapping[str, str], name: str) -> tp.Results:
    """Runs a scenario in a lab. Runs in a lab are repeated, not reused: each is a measurement."""
    results = options.out / "live" / name
    shutil.rmtree(results, ignore_errors=True)
    changes = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    schemes = ["--scheme", ",".join(experiment.of)]
    command = [program(), "lab", str(experiment.file), "--quiet", "--results", str(results), *schemes, *changes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LookupError(f"the lab of `{name}` ended with exit code {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    (folder,) = results.iterdir()
    return tp.Results.open(folder)


def program() -> str:
    """The program of the lab, beside the command ``timeplane`` or in PATH; empty if there is none."""
    return os.environ.get("TIMEPLANE_LAB") or shutil.which("timeplane-lab") or ""


def _add(outcome: Outcome[Experiment], position: float, world: str, results: tp.Results) -> None:
    summary = studies.by_run(results.summary)
    for run in results.runs:
        if run.scheme_name in outcome.experiment.of:
            seen = _seen(Path(results.directory) / "runs" / run.key / "live.json") if world == LIVE else None
            outcome.add(position, f"{run.scheme_name} {world}", run.seed, numbers(outcome.experiment.name, run, summary[run.key], seen))


def _seen(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text(encoding="utf-8")))


def numbers(kind: str, run: tp.Run, row: Mapping[str, Any], seen: Mapping[str, Any] | None) -> dict[str, float]:
    """The numbers of a run that both worlds have; ``seen`` is the ``live.json`` of a lab."""
    if kind == "proxy":
        if seen is not None:
            return {"goodput_Mbps": seen["goodput_bps"] / 1e6, "rtt_p50_ms": seen["rtt_p50_us"] / 1e3, "rtt_p99_ms": seen["rtt_p99_us"] / 1e3}
        return {"goodput_Mbps": row["goodput_bps"] / 1e6, "rtt_p50_ms": row["rtt_p50_ps"] / 1e9, "rtt_p99_ms": row["rtt_p99_ps"] / 1e9}
    found = {"completion_ms": float(row["completion_ps"]) / 1e9, "goodput_Mbps": float(row["goodput_bps"]) / 1e6}
    if seen is not None:
        found |= {"lag": seen["slipped_us"] / 1e3 / found["completion_ms"], "load": os.getloadavg()[0]}
    if kind == "slots":
        found["filled"] = float(seen["slots_filled"]) if seen is not None else _filled(run)
        if seen is not None:
            found |= {"violations": float(seen["violations"]), "frames": float(seen["frames"])}
    if kind == "circuits":
        found["circuit_share"] = float(seen["circuit_share"]) if seen is not None else _circuit_share(run)
    return found


def _filled(run: tp.Run) -> float:
    """Bytes in slots that were used, over what these could carry."""
    slots = run.slots
    used = slots["sent_bytes"].astype(float) > 0
    capacity = slots["granted_bytes"].astype(float)[used]
    return float(slots["sent_bytes"].astype(float)[used].sum() / capacity.sum())


def _circuit_share(run: tp.Run) -> float:
    """Bytes in circuits over all bytes that hosts sent."""
    links = run.links
    hosts = np.unique(links["from"])
    senders = hosts[[int((links["from"] == h).sum()) == 1 for h in hosts]]
    return float(run.slots["sent_bytes"].astype(float).sum() / links["sent_bytes"].astype(float)[np.isin(links["from"], senders)].sum())


def run(options: Options) -> dict[str, Outcome[Experiment]]:
    """Run the chosen figures' experiments; draw, tabulate and compare them. Without root or the
    program of the lab it says so, and judges nothing.
    """
    if not options.judge and (os.geteuid() != 0 or not program()):
        options.tell(f"live: left out, as a lab needs root and `timeplane-lab` in PATH ({INSTALL})")
        return {}
    return studies.reproduce(options, __name__, simulate)
