# SPDX-License-Identifier: MIT OR Apache-2.0
"""TCP of ns-3: `tcp`, a program beside this folder, simulates the question."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from questions import MTU, Outcome, Question

#: Names of congestion controls in ns-3, by those in scenarios.
NAMES = {"new_reno": "TcpLinuxReno", "cubic": "TcpCubic", "bbr": "TcpBbr", "dctcp": "TcpDctcp"}


class Ns3:
    """ns-3, as installed."""

    name = "ns-3"

    def __init__(self, program: Path, options: list[str]) -> None:
        self.program = program
        #: Further options: attributes of ns-3, as `--ns3::TcpSocket::DelAckCount=1`.
        self.options = options

    def missing(self) -> str | None:
        """Why it cannot be asked here."""
        return None if self.program.exists() else f"{self.program} does not exist"

    def has(self, question: Question) -> bool:
        """Whether it has the question's congestion control."""
        return question.congestion in NAMES

    def ask(self, question: Question, seed: int) -> Outcome:
        """Answers a question in virtual time."""
        command = [
            str(self.program),
            f"--congestion={NAMES[question.congestion]}",
            f"--rate={round(question.rate_mbps * 1e6)}",
            f"--delay={question.rtt_ms * 500:g}",
            f"--queue={round(question.queue * MTU)}",
            f"--mark={round(question.mark * MTU) if question.mark else 0}",
            f"--ecn={str(question.mark is not None).lower()}",
            f"--loss={question.loss}",
            f"--seconds={question.seconds}",
            f"--run={seed}",
            *self.options,
        ]
        flows = "".join(f"{flow.start_ms * 1000:.3f} {flow.bytes or 0}\n" for flow in question.jittered(seed))
        run = subprocess.run(command, input=flows, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise SystemExit(f"{question.name}: {run.stderr}")
        answer = json.loads(run.stdout)
        return Outcome(
            question,
            [flow["in_time"] for flow in answer["flows"]],
            [flow["fct_us"] and flow["fct_us"] / 1000 for flow in answer["flows"]],
            answer["windows"],
        )
