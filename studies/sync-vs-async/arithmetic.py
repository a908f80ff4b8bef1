"""How well packets fill timeslots, computed without a simulator.

SYN gives each packet a slot of one full frame, however small the packet is. So it carries at most
the mean packet size relative to a full packet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Bytes that framing adds to an IP packet on an Ethernet wire (preamble 8, header 14, check
#: sequence 4, gap 12), and the minimum of both together.
FRAMING, LEAST = 38, 84
MTU = 1500

#: Probability, minimum and maximum size of IP packets; sizes in between are equally likely.
Mix = Sequence[tuple[float, int, int]]
BIMODAL: Mix = ((0.4, 40, 40), (0.6, MTU, MTU))
ALTERNATING: Mix = ((0.5, 40, 40), (0.5, MTU, MTU))
#: The bundled distribution `facebook_web`: linear between the published points.
WEB: Mix = ((0.5, 40, 150), (0.35, 151, MTU - 1), (0.15, MTU, MTU))
#: The largest packets that are consistent with a median of 150 B and 15 % of full size.
WEB_AT_MOST: Mix = ((0.5, 150, 150), (0.35, MTU, MTU), (0.15, MTU, MTU))


@dataclass(frozen=True)
class Fill:
    """Used share of a slot, which is the load at which SYN saturates."""

    #: In bytes of IP packets.
    ip: float
    #: In bytes on the wire, as in loads.
    wire: float


def wire(size: int) -> int:
    """Bytes that an IP packet takes on the wire."""
    return max(size + FRAMING, LEAST)


def fill(mix: Mix) -> Fill:
    """Mean packet size relative to the largest."""
    sizes = [(p / (most - least + 1), size) for p, least, most in mix for size in range(least, most + 1)]
    ip, on_wire = sum(p * s for p, s in sizes), sum(p * wire(s) for p, s in sizes)
    return Fill(ip / MTU, on_wire / wire(MTU))


def crossing(propagation: float) -> float:
    """Time of a full packet from the first switch to a server of another leaf in an empty network,
    in ps: two links at 10 Gb/s and one at 1 Gb/s, each ``propagation`` long.
    """
    bits = 8 * wire(MTU)
    return 2 * bits / 10e9 * 1e12 + bits / 1e9 * 1e12 + 3 * propagation
