"""Results that need no simulator: transceivers, duty cycles, and the share of a circuit switch that
cover-all uses.

The circuit switch of section 5.4 is not simulated. :func:`circuit_goodput` checks the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Preamble 8, header 14, check sequence 4, gap 12; a raw frame's own header.
FRAMING, RAW_HEADER = 38, 16


def transceivers(levels: int, circuit_top: bool = False, electrical: int = 0) -> int:
    """Optical transceivers per upward port of a rack switch, in a fully provisioned tree with this
    number of ``levels`` of switches.

    Between two levels there is one wire for each such port, with a transceiver at both ends. With
    ``circuit_top`` the uppermost level is optical and needs no transceivers. ``electrical`` is the
    number of pairs of adjacent levels, from the racks up, that copper connects. REACToR adds two
    levels: racks under a circuit switch. Raises ``ValueError`` for a tree without wires between
    switches.
    """
    steps = levels - 1
    if steps < 1 or not 0 <= electrical <= steps:
        raise ValueError(f"{electrical} steps of copper in a tree of {levels} levels: expected 0 to {max(steps, 0)}")
    optical = steps - electrical
    return 2 * optical - (1 if circuit_top and optical else 0)


@dataclass(frozen=True)
class Network:
    """A network of table 1."""

    name: str
    rate: str
    #: Transceivers per upward port: with as many copper wires as the rate allows, and with none.
    least: int
    most: int


#: Table 1 and the sentence on five levels. Wires of 10 Gb/s between racks and the next level may be
#: copper; wires of 100 Gb/s may not.
TABLE1: Sequence[Network] = (
    Network("fat tree, 3 levels", "10 Gb/s", transceivers(3, electrical=1), transceivers(3)),
    Network("Helios-like, 3 levels", "10 Gb/s", transceivers(3, True, electrical=1), transceivers(3, True)),
    Network("fat tree, 3 levels", "100 Gb/s", transceivers(3), transceivers(3)),
    Network("Helios-like, 3 levels", "100 Gb/s", transceivers(3, True), transceivers(3, True)),
    Network("REACToR beside a 10 Gb/s network", "100 Gb/s", transceivers(2, True), transceivers(2, True)),
    Network("fat tree, 5 levels", "100 Gb/s", transceivers(5), transceivers(5)),
)


def break_even(transceiver: float, levels: int = 3) -> float:
    """The price of a port of the circuit switch below which REACToR costs less than a packet
    network of the same rate whose switches are free.

    ``transceiver`` is the price of a transceiver at that rate, in any currency; the result is in
    the same currency.
    """
    return (transceivers(levels) - transceivers(2, True)) * transceiver


def cost(upward_ports: int, count: int, transceiver: float, port: float = 0.0) -> float:
    """Price of these upward ports with ``count`` transceivers each and a ``port`` of an optical
    switch.
    """
    return upward_ports * (count * transceiver + port)


def duty(configuration: float, dark: float) -> float:
    """Share of a configuration in which its circuits are lit. Times in any unit."""
    return 1 - dark / configuration


def control_bound(rate: float, mtu: int, spread: float) -> float:
    """Time (s) within which hosts that are told to pause have stopped, if the interface first ends
    a frame of ``mtu`` bytes at ``rate`` (bit/s). ``spread`` is the time between the first and the
    last host to stop: what the fastest one needs is hidden by pausing earlier (section 3.4).
    """
    return (mtu + FRAMING) * 8 / rate + spread


def payload_share(mtu: int) -> float:
    """Share of a flow's bytes in the bytes on the wire, for full raw frames."""
    return (mtu - RAW_HEADER) / (mtu + FRAMING)


def circuit_goodput(large: float, small: float, count: int, period: float, dark: float, least_open: float) -> float:
    """Share of a port's line rate that a pure circuit switch carries, for one flow of ``large`` and
    ``count`` flows of ``small`` of the line rate.

    Every flow gets one circuit per period, for the requested time but at least ``least_open``,
    after a dark time of ``dark``. The large flow gets the rest of the period. A single flow needs
    no second configuration and never goes dark. All times have the same unit. As in figures 10 and
    11, the large flow is the longest, and all small flows fit.
    """
    if count == 0 or small <= 0:
        return min(large, 1.0)
    open_ = max(small * period, least_open)
    left = period - (count + 1) * dark - count * open_
    carried = count * min(small * period, open_) + min(large * period, max(left, 0.0))
    # If the large flow is no longer than a small one, all get the same time.
    even = (period - (count + 1) * dark) / (count + 1)
    if open_ > even:
        carried = count * min(small * period, even) + min(large * period, even)
    return carried / period


@dataclass(frozen=True)
class Hybrid:
    """What a circuit switch beside a packet switch carries of a port's demand in a period."""

    #: Small flows with a circuit.
    covered: int
    #: Share of the port's line rate.
    goodput: float


def hybrid_goodput(large: float, small: float, count: int, packet: float, period: float, dark: float, least_open: float) -> Hybrid:
    """The most that a circuit switch and a packet switch of ``packet`` of the line rate carry of one
    flow of ``large`` and ``count`` flows of ``small`` of the line rate, over the number of small flows
    that get a circuit.

    Flows without a circuit share the packet switch. Circuits have the rate that it leaves for the
    whole period (section 3.3). Each circuit of a small flow takes ``dark`` and what the flow needs
    at that rate, at least ``least_open``; the large flow then needs a change of its own. Without
    circuits for small flows, the large one stays up. Whatever is not carried waits, as in
    figure 10. All times have the same unit.
    """

    def carried(covered: int) -> float:
        by_packets = min((count - covered) * small, packet)
        rate = 1 - by_packets
        open_ = max(small * period / rate, least_open)
        left = period - covered * (dark + open_) - (dark if covered else 0)
        return by_packets + covered * small + min(large, rate * max(left, 0.0) / period)

    most = max(range(count + 1), key=carried)
    return Hybrid(most, carried(most))
