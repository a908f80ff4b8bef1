"""Results that need no simulator: a lower bound on completion times with any set of flyways, and
the goodput of a TCP flow over a link.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Rates in Gb/s: an uplink, the hosts of a rack at 1:2, the fastest flyway.
UPLINK, HOSTS, FLYWAY = 10.0, 20.0, 6.75675


def bound(demand: np.ndarray, radios: int, flyway: float = FLYWAY) -> float:
    """Lower bound on the completion time relative to a network without oversubscription, with
    ``radios`` flyways of ``flyway`` Gb/s per rack and uplinks oversubscribed 1:2.

    A rack sends over its uplink or its flyways and receives over its downlink or its flyways; both
    directions share the flyways. So each direction takes at least its bytes over the rate of the
    uplink and the flyways together. Both directions together take at least their bytes over the
    rate of uplink, downlink and flyways.
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
    #: OFDM: time of preamble and header, and of a symbol.
    before: float
    symbol: float
    #: Time of the response to a frame.
    answer: float
    #: Octets that a frame adds to each IP packet, alignment of packets in octets, and octets that
    #: it adds once.
    per_packet: int
    align: int
    per_frame: int
    #: Maximum size of a frame in octets and maximum duration in us.
    octets: int
    most: float
    #: TCP payload of a packet in octets.
    segment: int
    #: Whether segments are cut to fill a frame.
    cut: bool

    @property
    def aifs(self) -> float:
        """AIFS: SIFS and three slots."""
        return self.sifs + 3 * self.slot


#: By MCS: coded bits per OFDM symbol, and data bits per codeword of 672 bits.
OFDM = {13: (336, 336), 24: (2016, 546)}

#: Appendix B of the paper, and public copies of its simulator: times in whole nanoseconds. An ACK
#: of 14 octets takes one codeword at MCS 13.
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
#: IEEE 802.11ad-2012, clause 21: 3328 chips and 640 samples precede OFDM symbols of 640 samples. A
#: block ACK at MCS 1 takes 3328 and 1024 chips, then three blocks of 512 chips and 64 more.
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
    """Duration of a frame in us."""
    coded, data = OFDM[mcs]
    return mac.before + mac.symbol * math.ceil(672 * math.ceil(8 * octets / data) / coded)


def tcp_goodput(mac: Mac, mcs: int, access: str, by_air: bool) -> float:
    """Goodput in bit/s of a single TCP flow without losses, with full frames and an acknowledgement
    for every second segment.

    ``access`` is ``dcf`` (with half of the minimum window as back-off), ``no_backoff`` or
    ``token``. The acknowledgements of a frame use a wire, or return in one frame without back-off.
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
