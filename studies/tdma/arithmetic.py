"""Results that need no simulator: ideal times, slots, control frames, guard times."""

from __future__ import annotations

#: Preamble 8, header 14, check sequence 4, gap 12; a raw frame's own header.
FRAMING, RAW_HEADER = 38, 16
#: Reaction times of hosts to control frames in us, minimum and maximum (sections 3.2.3 and 3.2.4).
REACTIONS = {"immediate": (0.0, 0.0), "interface": (2.0, 6.0), "user_space": (100.0, 200.0)}
#: Bytes of a control frame: as the paper counts, and on the wire with preamble and interframe gap.
COUNTED, ON_WIRE = 60, 84


def ideal_switch(hosts: int, size: float, rate: float) -> float:
    """Duration in seconds of an all-to-all of ``size`` bytes per pair under one switch, counting
    payload only, as the paper does.
    """
    return (hosts - 1) * size * 8 / rate


def ideal_tree(edges: int, under: int, size: float, rate: float) -> float:
    """Duration in a tree of ``edges`` switches with ``under`` hosts each, with one uplink of
    ``rate`` bit/s from each to the root.
    """
    hosts = edges * under
    return max(ideal_switch(hosts, size, rate), under * (hosts - under) * size * 8 / rate)


def frame_time(mtu: int, rate: float) -> float:
    """Time of a full frame on a link, in us."""
    return (mtu + FRAMING) * 8 / rate * 1e6


def slot_frames(slot: float, mtu: int, rate: float) -> int:
    """Number of full frames in a slot of ``slot`` us that a control frame closes; the frame in
    progress is finished.
    """
    return int(-(-slot // frame_time(mtu, rate)))


def slotted(ideal: float, slot: float, guard: float, mtu: int, rate: float) -> float:
    """Duration in seconds of a transfer with ``ideal`` seconds of payload, in slots full of
    whole frames.
    """
    payload = slot_frames(slot, mtu, rate) * (mtu - RAW_HEADER) * 8
    return ideal * rate / payload * (slot + guard) * 1e-6


def control_rate(slot: float, guard: float, size: int) -> float:
    """Rate of control frames in bit/s to a host that sends in every slot: one opens the slot,
    one closes it.
    """
    return 2 * size * 8 / ((slot + guard) * 1e-6)


def least_guard(reaction: str, hosts: int, mtu: int, rate: float) -> float:
    """Minimum guard time in us under one switch with which frames of two slots never meet.

    The last closing frame of a slot comes after those of all other hosts. Its host may react
    slowest, and then finishes its frame. The first host of the next slot may react at once.
    """
    quick, slow = REACTIONS[reaction]
    skew = (hosts - 1) * ON_WIRE * 8 / rate * 1e6
    return skew + slow - quick + frame_time(mtu, rate)
