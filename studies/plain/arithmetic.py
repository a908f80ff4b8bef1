"""What the papers' settings follow from, computed without a simulator."""

from __future__ import annotations

from collections.abc import Sequence

#: Bytes on the wire of a full packet and of an acknowledgement.
PACKET, ACK = 1538, 84


def dynamic_share(most: float, memory: float) -> float:
    """The `alpha` of a shared buffer whose single busy port may take ``most`` of ``memory``. A port
    takes `alpha` times the free memory (Choudhury and Hahne 1998).
    """
    return most / (memory - most)


def round_trip(rates: Sequence[float], propagation: float, latency: float = 0.0) -> float:
    """Seconds from the start of a full packet to the end of its acknowledgement in an empty
    network, over links of these rates (bit/s). Each switch in between takes ``latency``.
    """
    sending = sum((PACKET + ACK) * 8 / rate for rate in rates)
    return sending + 2 * len(rates) * propagation + 2 * (len(rates) - 1) * latency


def least_threshold(rate: float, round_trip: float) -> float:
    """Bytes that DCTCP's guideline asks of a threshold: K > C x RTT / 7 (section 3.4)."""
    return rate * round_trip / 8 / 7
