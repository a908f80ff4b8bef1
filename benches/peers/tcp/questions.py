# SPDX-License-Identifier: MIT OR Apache-2.0
"""The questions that each TCP is asked: a bottleneck, flows over it, and what to measure."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

MTU = 1500
MSS = MTU - 40
SAMPLE_MS = 10


@dataclass
class Flow:
    """A flow; without bytes it sends until the run ends."""

    start_ms: float = 0.0
    bytes: int | None = None


@dataclass
class Question:
    """A link, flows over it, and what to measure."""

    name: str
    congestion: str
    rate_mbps: float
    rtt_ms: float
    #: In packets of the MTU.
    queue: float
    seconds: float
    #: Functions of an outcome by the quantity's name.
    measures: dict[str, Callable[[Outcome], float]]
    flows: list[Flow] = field(default_factory=lambda: [Flow()])
    #: Share of full packets that are lost.
    loss: float = 0.0
    #: Packets in the queue from which others are marked. Hosts then use ECN.
    mark: float | None = None

    def jittered(self, seed: int) -> list[Flow]:
        """The flows; several of them start up to a round trip later, by the seed."""
        if len(self.flows) == 1:
            return self.flows
        draw = random.Random(f"{self.name} {seed}")
        return [replace(flow, start_ms=flow.start_ms + draw.uniform(0, self.rtt_ms)) for flow in self.flows]

    @property
    def ends(self) -> bool:
        """Whether there are flows that end by themselves."""
        return any(flow.bytes for flow in self.flows)


@dataclass
class Outcome:
    """One TCP's answer: by flow, bytes in time and completion times; samples of flow 0."""

    question: Question
    in_time: list[int]
    fct_ms: list[float | None]
    #: In packets, every `SAMPLE_MS`.
    windows: list[float]

    def goodput(self) -> float:
        """Mb/s of flow 0 from its start to the end of the run."""
        return self.in_time[0] * 8e-6 / (self.question.seconds - self.question.flows[0].start_ms / 1000)

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


GOODPUT = {"goodput, Mb/s": Outcome.goodput}
WINDOW = {"mean window, packets": Outcome.window}
SHARE = {"share of the second flow": lambda o: o.share(1)}
FCT = {"FCT p50, ms": lambda o: o.fct(0.5), "FCT p99, ms": lambda o: o.fct(0.99)}


def bdp(rate_mbps: float, rtt_ms: float) -> float:
    """The bandwidth-delay product in packets of the MTU."""
    return rate_mbps * 1e3 * rtt_ms / 8 / MTU


def questions() -> list[Question]:
    """All questions."""
    asked: list[Question] = []

    def ask(name: str, congestion: str, *args: Any, **others: Any) -> None:
        asked.append(Question(f"{name}, {congestion}", congestion, *args, **others))

    for control in ("new_reno", "cubic", "bbr"):
        ask("one flow", control, 50, 40, bdp(50, 40), 20, GOODPUT | WINDOW)
    pair = [Flow(), Flow(2000)]
    for control in ("cubic", "new_reno", "bbr"):
        ask("two flows", control, 20, 20, 2 * bdp(20, 20), 30, SHARE, pair)
    short = [Flow()] + [Flow(2000 + 230 * i, 30_000) for i in range(100)]
    for control in ("cubic", "new_reno"):
        ask("short flows beside a long one", control, 20, 20, 2 * bdp(20, 20), 26, FCT, short)
    rounds = [Flow(1500 * i, 250_000) for i in range(25) for _ in range(8)]
    ask("incast 8 to 1", "cubic", 100, 2, 64, 38, FCT, rounds)
    for loss in (1e-4, 1e-3, 1e-2):
        for control in ("cubic", "new_reno", "bbr"):
            ask(f"loss {loss:g}", control, 50, 20, bdp(50, 20), 20, GOODPUT, loss=loss)
    for control in ("cubic", "new_reno", "bbr"):
        ask("queue of a tenth", control, 50, 40, bdp(50, 40) / 10, 20, GOODPUT | WINDOW)
    for control in ("cubic", "new_reno", "dctcp"):
        ask("marks", control, 50, 20, 4 * bdp(50, 20), 20, GOODPUT | WINDOW, mark=bdp(50, 20) / 2)
    ask("two flows", "dctcp", 20, 20, 2 * bdp(20, 20), 30, SHARE, pair, mark=bdp(20, 20) / 2)
    ask("short flows beside a long one", "dctcp", 20, 20, 2 * bdp(20, 20), 26, FCT, short, mark=bdp(20, 20) / 2)
    ask("incast 8 to 1", "dctcp", 100, 2, 64, 38, FCT, rounds, mark=16)
    return asked
