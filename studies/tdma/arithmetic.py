"""What can be computed without a simulator: ideal times, slots, control frames, guards."""

from __future__ import annotations

#: Preamble 8, header 14, check sequence 4, gap 12; a raw frame's own header.
FRAMING, RAW_HEADER = 38, 16
#: Reactions of hosts to control frames, us: the least and the longest. The paper's sections 3.2.3
#: and 3.2.4.
REACTIONS = {"immediate": (0.0, 0.0), "interface": (2.0, 6.0), "user_space": (100.0, 200.0)}
#: A control frame's bytes: as the paper counts, and on the wire with preamble and gap.
COUNTED, ON_WIRE = 60, 84


def ideal_switch(hosts: int, size: float, rate: float) -> float:
    """Seconds of an all-to-all of ``size`` bytes a pair under one switch: payload only, as the
    paper counts.
    """
    return (hosts - 1) * size * 8 / rate


def ideal_tree(edges: int, under: int, size: float, rate: float) -> float:
    """The same in a tree of ``edges`` switches with ``under`` hosts each, one uplink of ``rate``
    bit/s from each to the root.
    """
    hosts = edges * under
    return max(ideal_switch(hosts, size, rate), under * (hosts - under) * size * 8 / rate)


def frame_time(mtu: int, rate: float) -> float:
    """Microseconds of a full frame on a link."""
    return (mtu + FRAMING) * 8 / rate * 1e6


def slot_frames(slot: float, mtu: int, rate: float) -> int:
    """Full frames of a slot of ``slot`` us that a control frame closes: the frame that is being
    sent is finished.
    """
    return int(-(-slot // frame_time(mtu, rate)))


def slotted(ideal: float, slot: float, guard: float, mtu: int, rate: float) -> float:
    """Seconds of a transfer that takes ``ideal`` s of payload, in slots full of whole frames."""
    payload = slot_frames(slot, mtu, rate) * (mtu - RAW_HEADER) * 8
    return ideal * rate / payload * (slot + guard) * 1e-6


def control_rate(slot: float, guard: float, size: int) -> float:
    """Bit/s of control frames to a host that sends in every slot: one opens it, one closes it."""
    return 2 * size * 8 / ((slot + guard) * 1e-6)


def least_guard(reaction: str, hosts: int, mtu: int, rate: float) -> float:
    """Microseconds between slots under one switch with which no frame ever meets one of the slot
    before.

    The last of the frames that close a slot comes after those of all other hosts; its host may
    react slowest, and then ends its frame. The first host of the next slot may react at once.
    """
    quick, slow = REACTIONS[reaction]
    skew = (hosts - 1) * ON_WIRE * 8 / rate * 1e6
    return skew + slow - quick + frame_time(mtu, rate)
