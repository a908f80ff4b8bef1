"""How full packets leave timeslots, computed without a simulator.

SYN gives a packet a slot of one full frame, however small the packet is. So it can carry no more
than the mean packet over the full one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: An IP packet and its frame at least take this on an Ethernet wire: preamble 8, header 14, check
#: sequence 4, gap 12.
FRAMING, LEAST = 38, 84
MTU = 1500

#: Probability, least and most size of an IP packet; sizes between are alike likely.
Mix = Sequence[tuple[float, int, int]]
BIMODAL: Mix = ((0.4, 40, 40), (0.6, MTU, MTU))
ALTERNATING: Mix = ((0.5, 40, 40), (0.5, MTU, MTU))
#: The bundled distribution `facebook_web`: linear between the facts that are known.
WEB: Mix = ((0.5, 40, 150), (0.35, 151, MTU - 1), (0.15, MTU, MTU))
#: The largest packets that agree with a median of 150 B and 15 % of full size.
WEB_AT_MOST: Mix = ((0.5, 150, 150), (0.35, MTU, MTU), (0.15, MTU, MTU))


@dataclass(frozen=True)
class Fill:
    """Share of a slot that is used, and so the load at which SYN saturates."""

    #: In bytes of IP packets.
    ip: float
    #: In bytes on the wire, as loads count.
    wire: float


def wire(size: int) -> int:
    """Bytes that an IP packet takes on the wire."""
    return max(size + FRAMING, LEAST)


def fill(mix: Mix) -> Fill:
    """Mean packet over the largest."""
    sizes = [(p / (most - least + 1), size) for p, least, most in mix for size in range(least, most + 1)]
    ip, on_wire = sum(p * s for p, s in sizes), sum(p * wire(s) for p, s in sizes)
    return Fill(ip / MTU, on_wire / wire(MTU))
