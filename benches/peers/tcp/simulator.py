# SPDX-License-Identifier: MIT OR Apache-2.0
"""TCP of timeplane: a scenario with the question's link, by a preset of `transport.tcp`."""

from __future__ import annotations

import math
import subprocess
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from questions import MSS, MTU, SAMPLE_MS, Outcome, Question


def scenario(question: Question, preset: str, keys: list[str]) -> str:
    """The question as a scenario whose flows are in `flows.csv`, with further keys of TCP."""
    # Each flow has a host of its own; the receiver follows, then the switch.
    receiver = len(question.flows)
    bridge = receiver + 1
    links = [f"{{ nodes = [{host}, {bridge}] }}" for host in range(receiver)]
    delay = f'propagation = "{question.rtt_ms * 500 - 1} us"'
    links.append(f'{{ nodes = [{receiver}, {bridge}], rate = "{question.rate_mbps} Mb/s", {delay} }}')
    # Half of the losses are on the sender's link, as bit errors are the same on all links.
    bits = -math.log1p(-question.loss) / 2 / (8 * MTU)
    mark = f'switch.ecn = "{round(question.mark * MTU)} B"' if question.mark else ""
    window = ['receive_window = "8 MB"', "window_growth = false"]
    tcp = [f'congestion = "{question.congestion}"', f'preset = "{preset}"', *window, *["ecn = true"] * bool(mark), *keys]
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
hosts = {receiver + 1}
switches = 1
links = [{", ".join(links)}]
[workload.flows]
file = "flows.csv"
[window]
measure = "{question.seconds} s"
drain = "{20 if question.ends else 0} s"
[record]
tcp_every = "{SAMPLE_MS} ms"
[scheme.{preset}]
transport.tcp = {{ {", ".join(tcp)} }}
"""


class Simulator:
    """timeplane with a preset."""

    def __init__(self, program: Path, preset: str, keys: list[str]) -> None:
        self.program = program
        self.name = preset
        #: Further keys of `transport.tcp`, as `rto = "rfc"`.
        self.keys = keys

    def ask(self, question: Question, seed: int) -> Outcome:
        """Answers a question in virtual time."""
        flows = question.jittered(seed)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            order = sorted(range(len(flows)), key=lambda i: flows[i].start_ms)
            lines = [f"{round(flows[i].start_ms * 1e9)},{i},{len(flows)},{flows[i].bytes or 10**11}" for i in order]
            (folder / "flows.csv").write_text("start_ps,source,destination,size_bytes\n" + "\n".join(lines) + "\n")
            (folder / "question.toml").write_text(f"seed = {seed}\n{scenario(question, self.name, self.keys)}")
            command = [str(self.program), "run", "question.toml", "--quiet"]
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if run.returncode != 0:
                raise SystemExit(f"{question.name}: {run.stderr}")
            tables = next((folder / "results/question/runs").iterdir())
            rows = pq.read_table(tables / "flows.parquet").to_pylist()
            samples = pq.read_table(tables / "tcp.parquet").to_pylist()
        fct = {order[row["flow"]]: row["fct_ps"] and row["fct_ps"] / 1e9 for row in rows}
        in_time = dict.fromkeys(range(len(flows)), 0)
        for row in samples:
            if row["time_ps"] <= question.seconds * 1e12:
                in_time[order[row["flow"]]] = row["acknowledged_bytes"]
        windows = [row["window_bytes"] / MSS for row in samples if order[row["flow"]] == 0]
        windows = windows[: round(question.seconds * 1000 / SAMPLE_MS)]
        return Outcome(question, list(in_time.values()), [fct[i] for i in range(len(flows))], windows)
