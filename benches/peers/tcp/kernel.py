# SPDX-License-Identifier: MIT OR Apache-2.0
"""TCP of the kernel: `kernel_tcp`, an example of the lab, sends over an emulated link."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from questions import MTU, SAMPLE_MS, Outcome, Question

#: Names of congestion controls in the kernel, by those in scenarios.
NAMES = {"new_reno": "reno", "cubic": "cubic", "bbr": "bbr", "dctcp": "dctcp"}
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


class Kernel:
    """The kernel of this machine."""

    name = "kernel"

    def __init__(self, program: Path) -> None:
        self.program = program
        #: How late the emulated link was at most, at p99 of a run.
        self.late_us = 0.0

    def missing(self) -> str | None:
        """Why it cannot be asked here."""
        if not self.program.exists():
            return f"{self.program} does not exist"
        return "it needs root" if os.geteuid() != 0 else None

    def has(self, question: Question) -> bool:
        """Whether it has the question's congestion control."""
        return NAMES[question.congestion] in AVAILABLE.read_text().split()

    def ask(self, question: Question, seed: int) -> Outcome:
        """Answers a question in real time."""
        flows = [{"start_ms": flow.start_ms, "congestion": NAMES[question.congestion], "bytes": flow.bytes} for flow in question.jittered(seed)]
        asked = {
            "rate_bps": round(question.rate_mbps * 1e6),
            "delay_us": round(question.rtt_ms * 500),
            "queue_bytes": round(question.queue * MTU),
            "mark_bytes": round(question.mark * MTU) if question.mark else None,
            "loss": question.loss,
            "mtu": MTU,
            "seconds": question.seconds,
            "sample_ms": SAMPLE_MS,
            "seed": seed,
            "timestamps": False,
            "ecn": question.mark is not None,
            "flows": flows,
        }
        run = subprocess.run([self.program], input=json.dumps(asked), capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise SystemExit(f"{question.name}: {run.stderr}")
        answer = json.loads(run.stdout)
        self.late_us = max(self.late_us, answer["late_us"])
        return Outcome(
            question,
            [flow["in_time"] for flow in answer["flows"]],
            [flow["fct_us"] and flow["fct_us"] / 1000 for flow in answer["flows"]],
            [sample["window"] for sample in answer["samples"]],
        )
