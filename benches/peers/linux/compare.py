#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks TCP of the kernel and TCP of the simulator the same questions, and prints the ratios.

The kernel sends between two network namespaces over a link that a program of the lab emulates. The
simulator runs the same flows over the same link. Build both programs first, and run as root:

    cargo build --release --locked -p timeplane-cli -p timeplane-lab --bins --example kernel_tcp
    python3 benches/peers/linux/compare.py

A ratio is the simulator's value over the kernel's, each the median of the repetitions.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[3]
MTU = 1500
#: Names of congestion controls in the kernel, by those in scenarios.
KERNEL = {"new_reno": "reno", "cubic": "cubic", "bbr": "bbr", "dctcp": "dctcp"}
PRESETS = ["linux", "rfc"]


@dataclass
class Flow:
    """A flow; without bytes it sends until the run ends."""

    congestion: str
    start_ms: float = 0.0
    bytes: int | None = None


@dataclass
class Question:
    """A link, flows over it, and what to measure."""

    name: str
    rate_mbps: float
    rtt_ms: float
    #: In packets of the MTU.
    queue: float
    seconds: float
    flows: list[Flow]
    #: Names of quantities, with functions of an outcome.
    measures: dict[str, Callable[[Outcome], float]]
    loss: float = 0.0
    mark: float | None = None


@dataclass
class Outcome:
    """What came of a question: by flow, bytes in time and completion times; samples of flow 0."""

    question: Question
    in_time: list[int]
    fct_ms: list[float | None]
    windows: list[float] = field(default_factory=list)
    late_us: float = 0.0

    def goodput(self, flow: int = 0) -> float:
        """Mb/s from the flow's start to the end of the run."""
        seconds = self.question.seconds - self.question.flows[flow].start_ms / 1000
        return self.in_time[flow] * 8e-6 / seconds

    def share(self, flow: int) -> float:
        """A flow's part of all bytes in time."""
        return self.in_time[flow] / sum(self.in_time)

    def fct(self, quantile: float) -> float:
        """A quantile of the completion times of the flows of known size, in ms."""
        known = [t for t, flow in zip(self.fct_ms, self.question.flows, strict=True) if flow.bytes]
        times = sorted(math.inf if t is None else t for t in known)
        return times[min(len(times) - 1, math.ceil(quantile * len(times)) - 1)]

    def window(self) -> float:
        """The mean window of flow 0 in the second half of the run, in packets."""
        return statistics.fmean(self.windows[len(self.windows) // 2 :])


def bdp(rate_mbps: float, rtt_ms: float) -> float:
    """The bandwidth-delay product in packets of the MTU."""
    return rate_mbps * 1e3 * rtt_ms / 8 / MTU


def questions() -> list[Question]:
    """All questions."""
    goodput = {"goodput, Mb/s": lambda o: o.goodput()}
    window = {"mean window, packets": lambda o: o.window()}
    asked = []
    for control in ("new_reno", "cubic", "bbr"):
        queue = bdp(50, 40)
        asked.append(Question(f"one flow, {control}", 50, 40, queue, 20, [Flow(control)], goodput | window))
    for control in ("cubic", "new_reno", "bbr"):
        flows = [Flow(control), Flow(control, 2000)]
        shares = {"share of the second flow": lambda o: o.share(1)}
        asked.append(Question(f"two flows, {control}", 20, 20, 2 * bdp(20, 20), 30, flows, shares))
    for control in ("cubic", "new_reno"):
        flows = [Flow(control)] + [Flow(control, 2000 + 230 * i, 30_000) for i in range(50)]
        fct = {"FCT p50, ms": lambda o: o.fct(0.5), "FCT p99, ms": lambda o: o.fct(0.99)}
        asked.append(Question(f"short flows beside {control}", 20, 20, 2 * bdp(20, 20), 14, flows, fct))
    rounds = [Flow("cubic", 1500 * i, 250_000) for i in range(10) for _ in range(8)]
    fct = {"FCT p50, ms": lambda o: o.fct(0.5), "FCT p99, ms": lambda o: o.fct(0.99)}
    asked.append(Question("incast 8 to 1, cubic", 100, 2, 64, 16, rounds, fct))
    for loss in (1e-4, 1e-3, 1e-2):
        for control in ("cubic", "new_reno", "bbr"):
            name = f"loss {loss:g}, {control}"
            asked.append(Question(name, 50, 20, bdp(50, 20), 20, [Flow(control)], goodput, loss=loss))
    for control in ("cubic", "new_reno", "bbr"):
        name = f"queue of a tenth, {control}"
        asked.append(Question(name, 50, 40, bdp(50, 40) / 10, 20, [Flow(control)], goodput | window))
    for control in ("cubic", "new_reno"):
        name = f"marks, {control}"
        asked.append(Question(name, 50, 20, 4 * bdp(50, 20), 20, [Flow(control)], goodput | window, mark=bdp(50, 20) / 2))
    return asked


def ask_kernel(program: Path, question: Question, seed: int) -> Outcome:
    """Lets the kernel answer."""
    flows = [
        {"start_ms": flow.start_ms, "congestion": KERNEL[flow.congestion], "bytes": flow.bytes}
        for flow in jittered(question, seed)
    ]
    asked = {
        "rate_bps": round(question.rate_mbps * 1e6),
        "delay_us": round(question.rtt_ms * 500),
        "queue_bytes": round(question.queue * MTU),
        "mark_bytes": round(question.mark * MTU) if question.mark else None,
        "loss": question.loss,
        "mtu": MTU,
        "seconds": question.seconds,
        "sample_ms": 10,
        "seed": seed,
        "timestamps": False,
        "ecn": question.mark is not None,
        "flows": flows,
    }
    run = subprocess.run([program], input=json.dumps(asked), capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{question.name}: {run.stderr}")
    answer = json.loads(run.stdout)
    return Outcome(
        question,
        [flow["in_time"] for flow in answer["flows"]],
        [flow["fct_us"] and flow["fct_us"] / 1000 for flow in answer["flows"]],
        [sample["window"] for sample in answer["samples"]],
        answer["late_us"],
    )


def jittered(question: Question, seed: int) -> list[Flow]:
    """The flows, with starts that differ by up to a round trip from seed to seed."""
    draw = random.Random(f"{question.name} {seed}")
    return [
        Flow(f.congestion, f.start_ms + (draw.uniform(0, question.rtt_ms) if len(question.flows) > 1 else 0), f.bytes)
        for f in question.flows
    ]


def scenario(question: Question, flows: list[Flow], control: str, preset: str, file: str) -> str:
    """The question as a scenario, for the flows of one congestion control."""
    hosts = len(flows)
    half = question.rtt_ms * 1000 / 2
    links = [f"{{ nodes = [{h}, {hosts + 1}] }}" for h in range(hosts)]
    links.append(f'{{ nodes = [{hosts}, {hosts + 1}], rate = "{question.rate_mbps} Mb/s", propagation = "{half - 1} us" }}')
    # Half of the losses are on the sender's link, as bit errors are the same on all links.
    bits = -math.log1p(-question.loss) / 2 / (8 * MTU)
    longest = any(flow.bytes for flow in flows)
    mark = f'switch.ecn = "{round(question.mark * MTU)} B"' if question.mark else ""
    return f"""
[fabric]
rate = "10 Gb/s"
propagation = "1 us"
framing = "none"
mtu = "{MTU} B"
bit_error = {bits:.6e}
switch.buffer.per_port = "{round(question.queue * MTU)} B"
{mark}
[fabric.topology.graph]
hosts = {hosts + 1}
switches = 1
links = [{", ".join(links)}]
[workload.flows]
file = "{file}"
[window]
measure = "{question.seconds} s"
drain = "{20 if longest else 0} s"
[record]
tcp_every = "10 ms"
received_every = "10 ms"
[scheme.{preset}]
transport.tcp = {{ congestion = "{control}", preset = "{preset}"{", ecn = true" if question.mark else ""} }}
"""


def ask_simulator(program: Path, question: Question, preset: str, seed: int) -> Outcome:
    """Lets the simulator answer."""
    flows = jittered(question, seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        order = sorted(range(len(flows)), key=lambda i: flows[i].start_ms)
        lines = [f"{round(flows[i].start_ms * 1e9)},{i},{len(flows)},{flows[i].bytes or 10**11}" for i in order]
        (folder / "flows.csv").write_text("start_ps,source,destination,size_bytes\n" + "\n".join(lines) + "\n")
        text = scenario(question, flows, flows[0].congestion, preset, "flows.csv")
        (folder / "question.toml").write_text(f"seed = {seed}\n{text}")
        command = [program, "run", "question.toml", "--quiet"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(run.stderr)
        tables = next((folder / "results/question/runs").iterdir())
        rows = pq.read_table(tables / "flows.parquet").to_pylist()
        received = pq.read_table(tables / "tcp.parquet").to_pylist()
    fct = {order[row["flow"]]: row["fct_ps"] and row["fct_ps"] / 1e9 for row in rows}
    in_time = dict.fromkeys(range(len(flows)), 0)
    for row in received:
        if row["time_ps"] <= question.seconds * 1e12:
            in_time[order[row["flow"]]] = row["acknowledged_bytes"]
    windows = [row["window_bytes"] / (MTU - 40) for row in received if order[row["flow"]] == 0]
    windows = windows[: round(question.seconds * 100)]
    return Outcome(question, list(in_time.values()), [fct[i] for i in range(len(flows))], windows)


def main() -> None:
    """Asks all questions and prints a table."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, help="repetitions of each question (3)")
    parser.add_argument("--only", default="", help="only questions whose name has this text")
    parser.add_argument("--timeplane", type=Path, default=target / "release/timeplane")
    parser.add_argument("--kernel", type=Path, default=target / "release/examples/kernel_tcp")
    parser.add_argument("--json", type=Path, help="also write the values to this file")
    args = parser.parse_args()
    for program in (args.timeplane, args.kernel):
        if not program.exists():
            parser.error(f"{program} does not exist: the head of this file says how to build it")
    rows = []
    print(f"| question | quantity | kernel (least to most) | {' | '.join(f'{p}, ratio' for p in PRESETS)} |")
    print(f"| --- | --- | ---: | {' | '.join('---:' for _ in PRESETS)} |")
    latest = 0.0
    for question in questions():
        if args.only not in question.name:
            continue
        seeds = range(1, args.repeat + 1)
        kernel = [ask_kernel(args.kernel, question, seed) for seed in seeds]
        latest = max([latest, *(o.late_us for o in kernel)])
        ours = {p: [ask_simulator(args.timeplane, question, p, seed) for seed in seeds] for p in PRESETS}
        for quantity, measure in question.measures.items():
            values = [measure(o) for o in kernel]
            middle = statistics.median(values)
            found = {p: statistics.median(measure(o) for o in ours[p]) for p in PRESETS}
            spread = f"{middle:.3g} ({min(values):.3g} to {max(values):.3g})"
            cells = [f"{found[p]:.3g}, {found[p] / middle:.2f}" for p in PRESETS]
            print(f"| {question.name} | {quantity} | {spread} | {' | '.join(cells)} |", flush=True)
            rows.append({"question": question.name, "quantity": quantity, "kernel": values, **found})
    print(f"\nThe emulated link handed packets over at most {latest:.0f} us late at p99.")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
