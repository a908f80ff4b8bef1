"""What can be computed without a simulator: transceivers, duty cycles, and what cover-all leaves of
a circuit switch.

The circuit switch of section 5.4 is not put into the simulation; :func:`circuit_goodput` is what
the simulation is checked against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Preamble 8, header 14, check sequence 4, gap 12; a raw frame's own header.
FRAMING, RAW_HEADER = 38, 16


def transceivers(levels: int, circuit_top: bool = False, electrical: int = 0) -> int:
    """Optical transceivers per upward port of a rack switch in a fully provisioned tree of so many
    ``levels`` of switches.

    Between two levels there is one wire for each such port, with a transceiver at both ends.
    ``circuit_top``: the uppermost level is optical and needs none at its end. ``electrical``: of so
    many gaps, from the racks up, wires are copper. REACToR adds racks under a circuit switch, two
    levels, to what is there. Raises ``ValueError`` for a tree without wires between switches.
    """
    gaps = levels - 1
    if gaps < 1 or not 0 <= electrical <= gaps:
        raise ValueError(f"{levels} levels have {max(gaps, 0)} gaps: {electrical} of them can not be copper")
    optical = gaps - electrical
    return 2 * optical - (1 if circuit_top and optical else 0)


@dataclass(frozen=True)
class Network:
    """A network that table 1 counts."""

    name: str
    rate: str
    #: Transceivers per upward port, with as many copper wires as that rate allows, and with none.
    least: int
    most: int


#: Table 1 and the sentence on five levels. Wires at 10 Gb/s may be copper between racks and the
#: next level; at 100 Gb/s none.
TABLE1: Sequence[Network] = (
    Network("fat tree, 3 levels", "10 Gb/s", transceivers(3, electrical=1), transceivers(3)),
    Network("Helios-like, 3 levels", "10 Gb/s", transceivers(3, True, electrical=1), transceivers(3, True)),
    Network("fat tree, 3 levels", "100 Gb/s", transceivers(3), transceivers(3)),
    Network("Helios-like, 3 levels", "100 Gb/s", transceivers(3, True), transceivers(3, True)),
    Network("REACToR beside a 10 Gb/s network", "100 Gb/s", transceivers(2, True), transceivers(2, True)),
    Network("fat tree, 5 levels", "100 Gb/s", transceivers(5), transceivers(5)),
)


def break_even(transceiver: float, levels: int = 3) -> float:
    """What a port of the circuit switch may cost for REACToR to cost less than a packet network of
    that rate whose switches are free.

    ``transceiver`` is the price of one at that rate, in any currency; the result is in the same
    one.
    """
    return (transceivers(levels) - transceivers(2, True)) * transceiver


def cost(upward_ports: int, count: int, transceiver: float, port: float = 0.0) -> float:
    """Price of so many upward ports with ``count`` transceivers each and a ``port`` of an optical
    switch.
    """
    return upward_ports * (count * transceiver + port)


def duty(configuration: float, dark: float) -> float:
    """Share of a configuration, in any unit of time, in which its circuits are lit."""
    return 1 - dark / configuration


def payload_share(mtu: int) -> float:
    """Bytes of a flow over bytes on the wire, in full raw frames."""
    return (mtu - RAW_HEADER) / (mtu + FRAMING)


def circuit_goodput(large: float, small: float, count: int, period: float, dark: float, least_open: float) -> float:
    """Share of a port's line rate that a pure circuit switch carries: one flow of ``large`` and
    ``count`` flows of ``small`` of the line rate.

    Every flow gets one circuit a period, for as long as it asks for but ``least_open`` at least,
    and goes dark for ``dark`` before; the large one takes what is left. One flow alone needs no
    second configuration and never goes dark. Times in any one unit. The large flow is the longest,
    and all small ones fit: as in figures 10 and 11.
    """
    if count == 0 or small <= 0:
        return min(large, 1.0)
    open_ = max(small * period, least_open)
    left = period - (count + 1) * dark - count * open_
    carried = count * min(small * period, open_) + min(large * period, max(left, 0.0))
    # With the large one no longer than a small one all get the same time.
    even = (period - (count + 1) * dark) / (count + 1)
    if open_ > even:
        carried = count * min(small * period, even) + min(large * period, even)
    return carried / period
