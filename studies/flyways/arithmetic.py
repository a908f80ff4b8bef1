"""What can be computed without a simulator: what no set of flyways is faster than, and what a TCP
flow gets of a link.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Gb/s: an uplink, the hosts of a rack under 1:2, the fastest flyway.
UPLINK, HOSTS, FLYWAY = 10.0, 20.0, 6.75675


def bound(demand: np.ndarray, radios: int, flyway: float = FLYWAY) -> float:
    """Least time over that without oversubscription, with ``radios`` of ``flyway`` Gb/s for each
    rack and uplinks of 1:2.

    What a rack sends leaves it by its uplink or its flyways, what it receives comes by its downlink
    or its flyways, and both directions share the flyways. So each takes no less than its bytes over
    uplink and flyways, nor both together than theirs over uplink, downlink and flyways.
    """
    sent, received = demand.sum(1), demand.sum(0)
    air = radios * flyway
    single = np.maximum(sent, received).max() / (UPLINK + air)
    both = (sent + received).max() / (2 * UPLINK + air)
    hosts = max(sent.max(), received.max()) / HOSTS
    return float(max(single, both, hosts) / hosts)


@dataclass(frozen=True)
class Mac:
    """Constants of a medium access; times in us, lengths in octets."""

    name: str
    sifs: float
    slot: float
    cw_min: int
    #: Preamble and header, and a symbol, of OFDM.
    before: float
    symbol: float
    #: The answer to a frame.
    answer: float
    #: Beside an IP packet in a frame, what this is a multiple of, and beside all packets.
    per_packet: int
    align: int
    per_frame: int
    #: Octets and microseconds of a frame, at most.
    octets: int
    most: float
    #: TCP payload of a packet.
    segment: int
    #: Segments are cut where a frame is full.
    cut: bool

    @property
    def aifs(self) -> float:
        """SIFS and three slots."""
        return self.sifs + 3 * self.slot


#: By MCS: coded bits of a symbol of OFDM, and data bits of a codeword of 672.
OFDM = {13: (336, 336), 24: (2016, 546)}

#: Appendix B of the paper and what public copies of its simulator say: whole nanoseconds. An ACK of
#: 14 octets takes a codeword at MCS 13.
DRAFT = Mac(
    name="flyways-draft",
    sifs=1,
    slot=3,
    cw_min=3,
    before=1.891 + 0.242,
    symbol=0.242,
    answer=1.891 + 3 * 0.242,
    per_packet=22,
    align=1,
    per_frame=30,
    octets=66_943,
    most=math.inf,
    segment=10_000,
    cut=True,
)
#: IEEE 802.11ad-2012, clause 21: 3328 chips and 640 samples before OFDM's symbols of 640 samples. A
#: block ACK at MCS 1 is 3328 and 1024 chips, three blocks of 512 and 64 more.
STANDARD = Mac(
    name="11ad-2012",
    sifs=3,
    slot=5,
    cw_min=15,
    before=3328 / 1760 + 640 / 2640,
    symbol=640 / 2640,
    answer=(3328 + 1024 + 3 * 512 + 64) / 1760,
    per_packet=42,
    align=4,
    per_frame=0,
    octets=262_143,
    most=2000,
    segment=1_460,
    cut=False,
)


def airtime(mac: Mac, mcs: int, octets: float) -> float:
    """Microseconds of a frame."""
    coded, data = OFDM[mcs]
    return mac.before + mac.symbol * math.ceil(672 * math.ceil(8 * octets / data) / coded)


def tcp_goodput(mac: Mac, mcs: int, access: str, by_air: bool) -> float:
    """Application bit/s of one TCP flow, nobody else and no loss: full frames, an acknowledgement
    for every other segment.

    ``access`` is ``dcf`` (a back-off of half the least window), ``no_backoff`` or ``token``.
    Acknowledgements of a frame go by wire, or back in one frame, without back-off.
    """
    in_frame = lambda packet: math.ceil((packet + mac.per_packet) / mac.align) * mac.align
    packet, acknowledgement = in_frame(mac.segment + 40), in_frame(40)
    count = (mac.octets - mac.per_frame) / packet
    if mac.cut:
        count = math.floor(100 * count) / 100
    else:
        count = math.floor(count)
        while airtime(mac, mcs, mac.per_frame + count * packet) > mac.most:
            count -= 1
    wait = {"dcf": mac.aifs + mac.slot * mac.cw_min / 2, "no_backoff": mac.aifs, "token": mac.sifs}[access]
    time = wait + airtime(mac, mcs, mac.per_frame + count * packet) + mac.sifs + mac.answer
    if by_air:
        back = mac.per_frame + count / 2 * acknowledgement
        time += (mac.sifs if access == "token" else mac.aifs) + airtime(mac, mcs, back) + mac.sifs + mac.answer
    return count * mac.segment * 8 / time * 1e6
