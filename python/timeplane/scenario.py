"""Scenarios in Python: one class for every table of a scenario file.

Made by ``python/tools/generate_scenario.py`` from the JSON Schema of scenarios; do not edit. Quantities are texts with a unit, as in
scenario files: ``"10 Gb/s"``, ``"20 us"``, ``"46 kB"``. A choice among alternatives is an object of the alternative's class, or its bare
name where it has no values. Classes only hold values; :meth:`Scenario.validate` checks them.

>>> import timeplane as tp
>>> scenario = tp.Scenario(
...     name="two_hosts",
...     fabric=tp.Fabric(topology=tp.SingleSwitch(hosts=2), rate="10 Gb/s"),
...     workload=tp.Shuffle(bytes="1 MB"),
...     scheme={"cubic": tp.Scheme(transport=tp.Tcp())},
... )
>>> results = scenario.run(results=None)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from timeplane._run import Runnable
from timeplane._values import Values

__all__ = [
    "AccessSpec",
    "AckWay",
    "AirQueue",
    "AntennaName",
    "Arrivals",
    "BackgroundSpec",
    "Buffer",
    "Bytes",
    "Cdf",
    "Chakra",
    "Change",
    "ChangedWire",
    "ChangedWires",
    "Check",
    "CircuitAlgorithm",
    "CircuitDemand",
    "Circuits",
    "Codel",
    "Coflows",
    "Collective",
    "CollectiveAlgorithm",
    "CollectiveAlgorithms",
    "CollectiveWorkload",
    "Congestion",
    "ControllersSpec",
    "Coordinated",
    "DarkBetween",
    "DarkTime",
    "Datagrams",
    "DelayedAck",
    "Discipline",
    "DropTail",
    "Duration",
    "Ecmp",
    "Ecn",
    "Element",
    "Exponential",
    "Fabric",
    "FailedHost",
    "FailedRelay",
    "FailedSwitch",
    "FailedWire",
    "FailedWires",
    "Failure",
    "FatTree",
    "Fixed",
    "FixedDark",
    "Flows",
    "FlywayPolicy",
    "Flyways",
    "Forwarding",
    "Framing",
    "Graph",
    "GraphLink",
    "HandoverSpec",
    "Horizon",
    "Hybrid",
    "InOutage",
    "Incast",
    "Interfaces",
    "Interference",
    "LeafSpine",
    "Limit",
    "LinkTraceSpec",
    "MacName",
    "Matrix",
    "Nic",
    "OwnFabric",
    "OwnRadio",
    "OwnSwitch",
    "PacketMix",
    "PathColouring",
    "Pattern",
    "PerPort",
    "Pfc",
    "Plan",
    "PointingSpec",
    "Poisson",
    "Predicted",
    "Proactive",
    "ProxyPolicy",
    "ProxySpec",
    "QueuedSpec",
    "RadioLink",
    "RadioSpec",
    "Rate",
    "RateEstimator",
    "RateNormaliser",
    "Rates",
    "Raw",
    "Reaction",
    "Reactive",
    "ReceiveSpec",
    "Record",
    "Retune",
    "RoomName",
    "Scenario",
    "Scheme",
    "Shared",
    "Shuffle",
    "SignalSpec",
    "Simai",
    "SingleSwitch",
    "Sizes",
    "SlotFill",
    "SlotMetric",
    "StandbySpec",
    "Stride",
    "Switch",
    "Tcp",
    "Tdma",
    "Times",
    "Timeslots",
    "Topology",
    "Trained",
    "Transport",
    "Tree",
    "Window",
    "Wires",
    "Workload",
]


@dataclass(kw_only=True)
class SingleSwitch(Values):
    """All hosts under one switch."""

    _key: ClassVar[str] = "single_switch"

    hosts: int
    """How many hosts."""


@dataclass(kw_only=True)
class LeafSpine(Values):
    """Every leaf joined to every spine."""

    _key: ClassVar[str] = "leaf_spine"

    leaves: int
    """Leaf switches."""
    hosts_per_leaf: int
    """Hosts under each."""
    spines: int
    """Spine switches."""


@dataclass(kw_only=True)
class Tree(Values):
    """Edge switches under one root."""

    _key: ClassVar[str] = "tree"

    edges: int
    """Edge switches."""
    hosts_per_edge: int
    """Hosts under each."""


@dataclass(kw_only=True)
class FatTree(Values):
    """The k-ary fat tree (Al-Fares et al., SIGCOMM 2008): k³/4 hosts."""

    _key: ClassVar[str] = "fat_tree"

    k: int
    """Ports of a switch; even."""


#: Bits per second: a number and one of b/s, kb/s, Mb/s, Gb/s, Tb/s.
Rate: TypeAlias = str

#: Which ports of a circuit switch go dark when it changes.
#:
#: - ``"all_stop"``: All.
#: - ``"moved"``: Those that are joined to another one.
Retune: TypeAlias = Literal["all_stop", "moved"]

#: A span of time: a number and one of ps, ns, us, ms, s, min, h.
Duration: TypeAlias = str


@dataclass
class FixedDark(Values):
    """Always so long."""

    _key: ClassVar[str] = "fixed"
    _bare: ClassVar[bool] = True

    value: Duration


@dataclass(kw_only=True)
class DarkBetween(Values):
    """The least and the longest dark time."""

    _key: ClassVar[str] = "between"

    least: Duration
    """The least."""
    most: Duration
    """The longest."""


#: How long ports of a circuit switch are dark when it changes.
#:
#: - ``"mordia"``: As REACToR measured the Mordia switch: 12 us in the mean, 14.84 us at most
#:   (section 4.1). Drawn evenly from 9.16 to 14.84 us.
#: - :class:`FixedDark`: Always so long.
#: - :class:`DarkBetween`: Drawn evenly between two bounds.
DarkTime: TypeAlias = Literal["mordia"] | FixedDark | DarkBetween
_DarkTime = {"fixed": FixedDark, "between": DarkBetween}


@dataclass(kw_only=True)
class Hybrid(Values):
    """Racks under a packet switch and a circuit switch."""

    _key: ClassVar[str] = "hybrid"

    _reads: ClassVar[dict[str, str]] = {"dark": "_DarkTime"}

    tors: int
    """Top-of-rack switches, at least 2: a circuit joins two racks."""
    hosts_per_tor: int
    """Hosts under each."""
    packet_uplinks: int | None = None
    """Wires from each to the packet switch; as many as hosts where it is missing."""
    circuit_uplinks: int | None = None
    """Wires from each to the circuit switch; as many as hosts where it is missing."""
    packet_rate: Rate
    """Rate of a wire to the packet switch."""
    retune: Retune = "all_stop"
    """Which ports go dark when the circuit switch changes."""
    dark: DarkTime = "mordia"
    """For how long they are dark."""
    multiplexer_frames: int = 3
    """Frames of the MTU that a rack switch holds for a host, of each input: a wire from the circuit
    switch or the packet switch, or another host. REACToR has one (section 3.2); that is enough
    while a host does not send packets beside its own circuit, which then no longer comes evenly.
    """


@dataclass(kw_only=True)
class GraphLink(Values):
    """One wire of a graph."""

    nodes: tuple[int, int]
    """The two nodes."""
    rate: Rate | None = None
    """Its rate, where it is not the fabric's."""
    propagation: Duration | None = None
    """Its propagation delay, where it is not the fabric's."""


@dataclass(kw_only=True)
class Graph(Values):
    """Any graph, written out."""

    _key: ClassVar[str] = "graph"

    _reads: ClassVar[dict[str, str]] = {"links": "[GraphLink]"}

    hosts: int
    """Hosts are nodes 0 to hosts - 1."""
    switches: int
    """Switches follow."""
    links: list[GraphLink]
    """Its wires."""


#: A fabric's shape.
#:
#: - :class:`SingleSwitch`: All hosts under one switch.
#: - :class:`LeafSpine`: Every leaf joined to every spine.
#: - :class:`Tree`: Edge switches under one root.
#: - :class:`FatTree`: The k-ary fat tree (Al-Fares et al., SIGCOMM 2008): k³/4 hosts.
#: - :class:`Hybrid`: Racks with two ways out, a packet switch and a circuit switch (REACToR, NSDI
#:   2014).
#: - :class:`Graph`: Any graph, written out.
Topology: TypeAlias = SingleSwitch | LeafSpine | Tree | FatTree | Hybrid | Graph
_Topology = {"single_switch": SingleSwitch, "leaf_spine": LeafSpine, "tree": Tree, "fat_tree": FatTree, "hybrid": Hybrid, "graph": Graph}

#: What a link's layer adds to a packet on the wire.
#:
#: - ``"ethernet"``: Ethernet: 38 B (preamble 8, header 14, FCS 4, gap 12), never under 84 B on the
#:   wire (IEEE 802.3, clause 3).
#: - ``"ppp"``: Point-to-point protocol, as ns-3's point-to-point link: 2 B.
#: - ``"none"``: Nothing: a wire byte is a byte of the packet.
Framing: TypeAlias = Literal["ethernet", "ppp", "none"]

#: A count of octets: a number and one of B, kB, MB, GB, TB, KiB, MiB, GiB.
Bytes: TypeAlias = str

#: When a switch begins to send a packet on.
#:
#: - ``"store_and_forward"``: After its last bit came in.
#: - ``"cut_through"``: After its first 64 B came in, where the outgoing link is free and not faster
#:   than the incoming one needs.
Forwarding: TypeAlias = Literal["store_and_forward", "cut_through"]


@dataclass
class PerPort(Values):
    """At most so much at each output port."""

    _key: ClassVar[str] = "per_port"
    _bare: ClassVar[bool] = True

    value: Bytes


@dataclass(kw_only=True)
class Shared(Values):
    """One memory for all ports; a port takes at most `alpha` times what is still free (dynamic
    thresholds: Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998).
    """

    _key: ClassVar[str] = "shared"

    memory: Bytes
    """The memory of the switch."""
    alpha: float
    """The share of the free memory that one port may take; 0.125 to 8 in hardware."""


#: How much of a queue a switch keeps. Sizes count wire bytes.
#:
#: - ``"unbounded"``: All of it.
#: - :class:`PerPort`: At most so much at each output port.
#: - :class:`Shared`: One memory for all ports; a port takes at most `alpha` times what is still
#:   free (dynamic thresholds: Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998).
Buffer: TypeAlias = Literal["unbounded"] | PerPort | Shared
_Buffer = {"per_port": PerPort, "shared": Shared}


@dataclass(kw_only=True)
class Pfc(Values):
    """Priority flow control (IEEE 802.1Qbb, in 802.1Q clause 36): a switch that has no room for
    what comes in pauses who sends it. A switch counts the wire bytes that it holds of each
    input and priority, from a packet's last bit in to its last bit out. Where these leave no
    room below `pause_at` for another frame of the MTU it sends a PFC frame back; where they
    have fallen to `resume_at`, another one. The port that gets it ends the frame that it sends,
    and begins no other of this priority. Pauses last until they are taken back (a real switch
    repeats them); PFC frames have no bit errors, and their bytes are in no link's count. A
    packet's priority is its class. Of several that may go, that of the lowest class goes first.
    """

    pause_at: Bytes
    """What an input may hold of a priority before it is paused, in wire bytes."""
    resume_at: Bytes
    """It goes on once it holds no more than this."""
    headroom: Bytes | None = None
    """Room above `pause_at` for what still comes. Missing: what each link needs, so that nothing is
    lost. With less, packets may be (`input_full`).
    """
    reaction: Duration = "614400 ps"
    """From a PFC frame's last bit until the port that gets it begins no more frames. 802.1Qbb allows
    614.4 ns at 10 Gb/s.
    """


@dataclass(kw_only=True)
class Switch(Values):
    """A packet switch with output queues."""

    _reads: ClassVar[dict[str, str]] = {"buffer": "_Buffer", "pfc": "Pfc"}

    latency: Duration = "0 ps"
    """From a packet's arrival to its place in an output queue."""
    forwarding: Forwarding = "store_and_forward"
    """Store-and-forward or cut-through."""
    buffer: Buffer = "unbounded"
    """Bound of the output queues."""
    ecn: Bytes | None = None
    """Marks a packet (Congestion Experienced) that finds at least so many wire bytes in its output
    queue (the step marking that DCTCP asks for, RFC 8257 section 3.1).
    """
    pfc: Pfc | None = None
    """Pauses who sends it more than it has room for, and loses nothing."""


#: A named set of constants of medium access.
#:
#: - ``"flyways-draft"``: The draft that flyways' simulator followed: SIFS 1 us, slots of 3 us,
#:   frames of 66,500 B of payload.
#: - ``"11ad-2012"``: IEEE 802.11ad-2012: SIFS 3 us, slots of 5 us, A-MPDUs of at most 262,143 B and
#:   2 ms.
MacName: TypeAlias = Literal["flyways-draft", "11ad-2012"]

#: Who sends when on the air.
#:
#: - ``"dcf"``: Carrier sense and back-off (DCF), with the collisions that they have.
#: - ``"dcf_without_collisions"``: The same where nobody collides, and frames of nothing but
#:   acknowledgements go first, without back-off. No protocol does that: it is what published
#:   figures without collisions assume.
#: - ``"no_backoff"``: AIFS and no back-off: for links that carry data one way.
#: - ``"token"``: Both ends of a link pass a token with their answers: for links that carry data
#:   both ways.
#: - ``"planned"``: Each link is its own: no carrier sense, no answers, one frame a packet.
AccessSpec: TypeAlias = Literal["dcf", "dcf_without_collisions", "no_backoff", "token", "planned"]

#: Where TCP's acknowledgements go.
#:
#: - ``"air"``: As data do.
#: - ``"wire"``: By the wires, where there are any.
AckWay: TypeAlias = Literal["air", "wire"]

#: A measured antenna.
#:
#: - ``"narrow_beam"``: The horn with the narrow beam of flyways' measurements.
#: - ``"wide_beam"``: The horn with the wide beam.
#: - ``"geofencing"``: The pattern of Geo-fencing.
AntennaName: TypeAlias = Literal["narrow_beam", "wide_beam", "geofencing"]


@dataclass(kw_only=True)
class DropTail(Values):
    """What does not fit is lost."""

    _key: ClassVar[str] = "drop_tail"

    packets: int | None = None
    """Packets that it holds; as many as come where it is missing."""


@dataclass(kw_only=True)
class Ecn(Values):
    """Packets that find so many others are marked, as DCTCP asks for."""

    _key: ClassVar[str] = "ecn"

    mark_at: int
    """From how many on."""
    packets: int | None = None
    """Packets that it holds; as many as come where it is missing."""


@dataclass(kw_only=True)
class Codel(Values):
    """Controlled delay (RFC 8289)."""

    _key: ClassVar[str] = "codel"

    target: Duration = "5 ms"
    """An acceptable wait."""
    interval: Duration = "100 ms"
    """About the longest round trip of what passes."""
    ecn: bool = False
    """Packets that can be are marked where others are lost."""
    packets: int | None = None
    """Packets that it holds; as many as come where it is missing."""


#: What becomes of packets that wait for an air link.
#:
#: - :class:`DropTail`: What does not fit is lost.
#: - :class:`Ecn`: Packets that find so many others are marked, as DCTCP asks for.
#: - :class:`Codel`: Controlled delay (RFC 8289).
AirQueue: TypeAlias = DropTail | Ecn | Codel
_AirQueue = {"drop_tail": DropTail, "ecn": Ecn, "codel": Codel}

#: What becomes of packets that wait at an access point whose device leaves.
#:
#: - ``"lost"``: They are lost, with the reason `handover`.
#: - ``"forwarded"``: They are sent on to the new one by the wires.
QueuedSpec: TypeAlias = Literal["lost", "forwarded"]


@dataclass(kw_only=True)
class HandoverSpec(Values):
    """How a device goes from one access point to another. A device is the second node of several
    links that follow a link trace; it uses one of them at a time, at the begin the loudest.
    Once another one has been louder by more than the hysteresis for all of the trigger time
    (event A3 of 3GPP TS 38.331, clause 5.5.4.4), the device goes over: from then on the network
    sends to the new access point, and for the delay no packet begins on the device's links. One
    in the air then ends as it would have. Levels are those of the beams in use, to a hundredth
    of a decibel.
    """

    hysteresis_db: float = 3.0
    """How much louder the other one has to be, dB."""
    trigger: Duration = "100 ms"
    """For how long."""
    delay: Duration = "20 ms"
    """How long nothing is carried."""
    queued: QueuedSpec = "lost"
    """What becomes of packets that wait at the old access point. Those that wait in the device go the
    new way.
    """


@dataclass(kw_only=True)
class Interference(Values):
    """What two nodes receive of each other that are not the two ends of a link in use: of what one
    sends to others, on each channel that both use. It stands for the directions in which their
    beams point then, and does not change. Links without a link trace neither disturb nor are
    disturbed.
    """

    nodes: tuple[int, int]
    """The two switches."""
    level_dbm: float
    """What each receives of the other, dBm."""


#: A room of the proxy's measurements.
#:
#: - ``"a"``: Many reflectors; a trolley crosses.
#: - ``"b"``: An aisle between partitions with no way round; a manikin crosses.
RoomName: TypeAlias = Literal["a", "b"]

#: What an access point does in an outage. The paper says nothing of it.
#:
#: - ``"hold"``: It waits, and its queue with it.
#: - ``"lose"``: It goes on at the slowest rate, and all that it sends is lost.
InOutage: TypeAlias = Literal["hold", "lose"]


@dataclass(kw_only=True)
class LinkTraceSpec(Values):
    """How what a link carries comes from the power of its beams over time (Drago et al., MASS
    2019, section III). The access point takes the pair of beams with the most power and the
    fastest MCS from 1 to 12 that keeps the packet error rate at its target; until it looks
    again, losses follow the channel. The link carries the same both ways. After its end a link
    trace begins again.
    """

    room: RoomName | None = None
    """One of the two rooms of the proxy's measurements, in which somebody walks."""
    beams: str | None = None
    """A file of received power by pair of beams and time, in place of a room: columns `time_s`,
    `tx_deg`, `rx_deg`, `power_dbm`.
    """
    level_dbm: float = -66.0
    """What is received in room B with nobody in the way, dBm; A is as the same sender has it."""
    varied: bool = False
    """Each run has a walk of its own: speed and begin within a tenth, the place where the line is
    crossed within a tenth of its length.
    """
    body_loss_db: float | None = None
    """What whoever walks takes off in the middle of its shadow beyond what passes its edges, dB.
    Missing: as the room has it, 15 dB in A and 27 dB in B. A file has its shadows in it.
    """
    target: float = 0.01
    """The packet error rate that a rate may have."""
    packet: Bytes = "8140 B"
    """The packets that it is for."""
    loss_db: float = 6.5
    """Implementation and demodulation loss between SNR and what the decoder has, dB."""
    every: Duration = "1 ms"
    """How often the channel is looked at."""
    select_every: Duration = "10 ms"
    """How often beams and rate are chosen."""
    in_outage: InOutage = "hold"
    """What becomes of packets while no rate meets the target."""
    rate_factor: float = 1.0
    """All rates are this much of what the channel allows, 0.001 to 1: 0.25 where the same link trace
    is run on Linux, whose emulated links end at 500 Mb/s.
    """


@dataclass(kw_only=True)
class RadioLink(Values):
    """An air link between two switches, both ways."""

    _reads: ClassVar[dict[str, str]] = {"trace": "LinkTraceSpec"}

    nodes: tuple[int, int]
    """Its ends: switches, numbered after the hosts."""
    share: float | None = None
    """How much of what hosts under one end send to hosts under the other it takes, by flow, from 0 to
    1. Missing: it takes the place of the wire between the two, and there has to be one.
    """
    channel: int = 0
    """Its channel. Channels do not disturb each other; links of one node on one channel share a radio.
    """
    mcs: int | None = None
    """The rate of its frames of data: MCS 0 to 31 of 802.11ad. Missing: the fastest that bears the
    signal.
    """
    signal_dbm: float | None = None
    """What both ends receive of each other, dBm, after all margins."""
    distance_m: float | None = None
    """How far its ends are from each other, in meters: the signal is what the antennas leave of 10 mW,
    less 3 dB.
    """
    trace: LinkTraceSpec | None = None
    """Its rate follows what a channel of 500 MHz lets through, over time; with `access = "planned"`.
    Its first node is the access point, which chooses the rate; links of one access point on one
    channel take turns, a packet each.
    """


@dataclass(kw_only=True)
class RadioSpec(Values):
    """Radios on top of racks, or in devices, and the air links between them. Air links join
    switches. A host with a radio of its own is a switch with one host under it, and a wire
    between them that is faster than both.
    """

    _reads: ClassVar[dict[str, str]] = {"queue": "_AirQueue", "handover": "HandoverSpec", "interference": "[Interference]", "link": "[RadioLink]"}

    mac: MacName = "11ad-2012"
    """Constants of medium access: gaps, back-off, aggregation, answers."""
    access: AccessSpec = "dcf"
    """Who sends when."""
    retries: int = 7
    """How often a packet is sent again at most; 0 turns retransmission off."""
    acknowledgements: AckWay = "air"
    """Where TCP's acknowledgements go that would take an air link beside the wires."""
    antenna: AntennaName | None = None
    """Antennas at both ends of a link whose `distance_m` is given, pointed at each other."""
    senses_dbm: float = -68.0
    """What a radio takes for a busy channel, dBm. -68 is the sensitivity of MCS 1, which has the
    preamble of all frames of data.
    """
    queue: AirQueue | None = None
    """The queue of each air link, one for each direction. Missing: it takes what comes."""
    handover: HandoverSpec | None = None
    """How devices with links to several access points go from one to another. Missing: such links are
    equal paths.
    """
    interference: list[Interference] = field(default_factory=list)
    """Who disturbs whom, where links follow a link trace. Pairs that are not named do not hear each
    other.
    """
    link: list[RadioLink]
    """The air links."""


@dataclass(kw_only=True)
class Fabric(Values):
    """Everything between hosts."""

    _reads: ClassVar[dict[str, str]] = {"topology": "_Topology", "switch": "Switch", "radio": "RadioSpec"}

    topology: Topology
    """Its shape."""
    rate: Rate
    """Rate of the hosts' links."""
    uplink_rate: Rate | None = None
    """Rate of links between switches; the hosts' rate where it is missing."""
    propagation: Duration = "1 us"
    """Propagation delay of every link."""
    framing: Framing = "ethernet"
    """What the link layer adds to a packet."""
    mtu: Bytes = "1500 B"
    """The largest packet, as an IP packet or as the payload of a raw frame."""
    bit_error: float = 0.0
    """Probability that a bit on a link is wrong."""
    switch: Switch = field(default_factory=Switch)
    """All switches."""
    radio: RadioSpec | None = None
    """Radios, and the air links between them."""


@dataclass(kw_only=True)
class Incast(Values):
    """All others to one host."""

    _key: ClassVar[str] = "incast"

    receiver: int
    """Who receives."""


@dataclass(kw_only=True)
class Stride(Values):
    """Host i to host i + by, modulo the hosts."""

    _key: ClassVar[str] = "stride"

    by: int
    """By how much."""


@dataclass(kw_only=True)
class Matrix(Values):
    """Pairs drawn with the weights of a matrix: a CSV file `source,destination,weight` with a
    header, or the name of a bundled one.
    """

    _key: ClassVar[str] = "matrix"

    file: str
    """The file, looked up beside the scenario, or a bundled name (`projector`)."""


#: Who sends to whom.
#:
#: - ``"uniform"``: A random host to a random other one, flow by flow.
#: - :class:`Incast`: All others to one host.
#: - ``"permutation"``: Every host to one other, drawn once from the seed; everyone receives from
#:   one (no host from itself).
#: - :class:`Stride`: Host i to host i + by, modulo the hosts.
#: - ``"all_to_all"``: Every host to all others in turn.
#: - :class:`Matrix`: Pairs drawn with the weights of a matrix: a CSV file
#:   `source,destination,weight` with a header, or the name of a bundled one.
Pattern: TypeAlias = Literal["uniform", "permutation", "all_to_all"] | Incast | Stride | Matrix
_Pattern = {"incast": Incast, "stride": Stride, "matrix": Matrix}


@dataclass
class Fixed(Values):
    """All the same. Or: All of one size."""

    _key: ClassVar[str] = "fixed"
    _bare: ClassVar[bool] = True

    value: Bytes


@dataclass
class Exponential(Values):
    """Exponential with this mean, at least 1 B."""

    _key: ClassVar[str] = "exponential"
    _bare: ClassVar[bool] = True

    value: Bytes


@dataclass
class Cdf(Values):
    """From a CDF: a CSV file `bytes,cdf` (linear between its points), or the name of a bundled one."""

    _key: ClassVar[str] = "cdf"
    _bare: ClassVar[bool] = True

    value: str


#: Bytes of a flow.
#:
#: - :class:`Fixed`: All the same.
#: - :class:`Exponential`: Exponential with this mean, at least 1 B.
#: - :class:`Cdf`: From a CDF: a CSV file `bytes,cdf` (linear between its points), or the name of a
#:   bundled one.
Sizes: TypeAlias = Fixed | Exponential | Cdf
_Sizes = {"fixed": Fixed, "exponential": Exponential, "cdf": Cdf}

#: How a flow is cut into packets. Sizes are of IP packets, headers included.
#:
#: - ``"mtu"``: As large as the MTU allows.
#: - :class:`Fixed`: All of one size.
#: - ``"bimodal"``: 40 B with probability 0.4, else 1500 B.
#: - ``"facebook_web"``: A Facebook web server's: median about 150 B, 15 % at 1500 B (Roy et al.,
#:   SIGCOMM 2015).
#: - ``"alternating"``: 1500 B and 40 B in turn, each flow from its first packet on: what fits
#:   timeslots worst.
#: - ``"single"``: One packet a flow, however large: for queueing theory.
PacketMix: TypeAlias = Literal["mtu", "bimodal", "facebook_web", "alternating", "single"] | Fixed
_PacketMix = {"fixed": Fixed}


@dataclass(kw_only=True)
class Poisson(Values):
    """Flows that arrive as a Poisson process."""

    _key: ClassVar[str] = "poisson"

    _reads: ClassVar[dict[str, str]] = {"pattern": "_Pattern", "sizes": "_Sizes", "packets": "_PacketMix"}

    load: float
    """Wire bytes over the rate of the hosts' links, as datagrams of the fabric's MTU would fill them:
    averaged over receivers, or at the one receiver of an incast. A matrix is scaled so that its
    most loaded host link has this load.
    """
    pattern: Pattern = "uniform"
    """Who sends to whom."""
    sizes: Sizes
    """Bytes of a flow."""
    packets: PacketMix = "mtu"
    """How a flow is cut into packets; datagrams and raw frames only."""


@dataclass(kw_only=True)
class Flows(Values):
    """A list of flows: CSV or Parquet with the columns `start_ps`, `source`, `destination`,
    `size_bytes`.
    """

    _key: ClassVar[str] = "flows"

    file: str
    """The file, looked up beside the scenario."""


@dataclass(kw_only=True)
class Shuffle(Values):
    """Every host sends `bytes` to every other, all from time zero."""

    _key: ClassVar[str] = "shuffle"

    bytes: Bytes
    """For each pair."""
    jitter: Duration = "0 ps"
    """Each flow starts at a random time in `[0, jitter)`."""
    in_turn: bool = False
    """A host sends to its next neighbour first, then to the one after, and so on: each flow starts, at
    the earliest, when the host's flow before it is over, so that its sender knows that all has
    arrived. When flows start then depends on the scheme.
    """


@dataclass(kw_only=True)
class Coflows(Values):
    """Coflows of a trace in the format of the Coflow benchmark; racks are hosts."""

    _key: ClassVar[str] = "coflows"

    file: str
    """The file, looked up beside the scenario, or a bundled name (`fb2010`)."""
    max_flows: int | None = None
    """Only coflows of at most so many flows that cross the fabric."""
    time_scale: float = 1.0
    """Arrival times are multiplied by this."""
    byte_scale: float = 1.0
    """Sizes are multiplied by this; at least 1 B is left."""
    jitter: Duration = "0 ps"
    """Each flow starts at a random time in `[0, jitter)` after its coflow: mappers do not end in the
    same picosecond.
    """


#: An operation of a group of ranks.
#:
#: - ``"all_reduce"``: Everybody has the sum of all buffers.
#: - ``"all_gather"``: Everybody has the pieces of all.
#: - ``"reduce_scatter"``: Everybody has a piece of the sum.
#: - ``"all_to_all"``: Everybody has a piece from everybody.
#: - ``"broadcast"``: Everybody has what the first rank has.
Collective: TypeAlias = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"]

#: How a collective is made of transfers.
#:
#: - ``"ring"``: To the next rank, piece by piece (Patarasuk and Yuan, JPDC 2009).
#: - ``"halving_doubling"``: With the rank of one other bit, half as much or twice as much each time
#:   (Thakur, Rabenseifner and Gropp, IJHPCA 2005); ranks are a power of two. For an all-to-all half
#:   of the buffer each time, for a broadcast a binomial tree.
#: - ``"tree"``: Up a binary tree to its root and down again, piece after piece; not for an
#:   all-to-all.
#: - ``"direct"``: Everybody to everybody at once.
CollectiveAlgorithm: TypeAlias = Literal["ring", "halving_doubling", "tree", "direct"]


@dataclass(kw_only=True)
class CollectiveWorkload(Values):
    """A collective among all hosts, or among groups of them at the same time: each rank sends when
    it has received what that needs.
    """

    _key: ClassVar[str] = "collective"

    operation: Collective
    """What is done."""
    algorithm: CollectiveAlgorithm = "ring"
    """How."""
    bytes: Bytes
    """The whole buffer: what each rank has before an all-reduce, a reduce-scatter or an all-to-all,
    and after an all-gather or a broadcast. It is cut into as many pieces as a group has ranks,
    which differ by a byte at most.
    """
    group: int | None = None
    """Ranks of a group; all hosts where it is missing. The hosts have to be a multiple of `group`
    times `stride`.
    """
    stride: int = 1
    """A group's ranks are so many hosts apart."""
    steps: int = 1
    """So many times, each time when all groups are done with the time before: each is a step."""
    compute: Duration = "0 ps"
    """How long each rank computes at the begin of a step."""


@dataclass(kw_only=True)
class CollectiveAlgorithms(Values):
    """How the collectives of a trace are done."""

    all_reduce: CollectiveAlgorithm = "ring"
    """All-reduces."""
    all_gather: CollectiveAlgorithm = "ring"
    """All-gathers."""
    reduce_scatter: CollectiveAlgorithm = "ring"
    """Reduce-scatters."""
    all_to_all: CollectiveAlgorithm = "direct"
    """All-to-alls."""
    broadcast: CollectiveAlgorithm = "tree"
    """Broadcasts."""


@dataclass(kw_only=True)
class Chakra(Values):
    """A Chakra execution trace: a file per rank, length-delimited protobuf. Rank r is host r. A
    node begins when all that it depends on is over. A send is over when all has been received,
    a receive when its send is; the first send to a rank with a tag belongs to the first receive
    there, and so on. Computations take their `duration_micros`, and others at the same rank do
    not delay them.
    """

    _key: ClassVar[str] = "chakra"

    _reads: ClassVar[dict[str, str]] = {"algorithms": "CollectiveAlgorithms"}

    prefix: str
    """The files without their ends, looked up beside the scenario: `PREFIX.0.et`, `PREFIX.1.et`, ...
    """
    ranks: int | None = None
    """How many ranks there have to be; as many as there are files where it is missing."""
    algorithms: CollectiveAlgorithms = field(default_factory=CollectiveAlgorithms)
    """How collectives are done."""
    steps: int = 1
    """So many times, each time when all is over."""
    time_scale: float = 1.0
    """Computing times are multiplied by this."""
    byte_scale: float = 1.0
    """Sizes are multiplied by this; at least 1 B is left of those that are not zero."""


@dataclass(kw_only=True)
class Simai(Values):
    """A training workload of SimAI: a layer a line, with times to compute and collectives of the
    forward pass, the input gradient and the weight gradient. Hosts are ranks: with a
    tensor-parallel size of T (from the file), host h is in the tensor group of `h / T`, whose
    ranks are next to each other, and in the data group of `h % T`, whose ranks are T apart.
    Collectives of the forward pass and of input gradients are done in the tensor groups, those
    of weight gradients in the data groups; those of layers in `across` all in the data groups.
    `_EP` and `_DP_EP` at a collective's name are the expert groups.
    """

    _key: ClassVar[str] = "simai"

    _reads: ClassVar[dict[str, str]] = {"algorithms": "CollectiveAlgorithms"}

    file: str
    """The file, looked up beside the scenario, or a bundled name (`gpt_13b`, `llama_7b`)."""
    across: list[str] = field(default_factory=list)
    """Names of layers whose collectives all are among the data groups: in files of AICB those of
    gradients and parameters, `grad_norm`, `layernorm` and `embedding_norm`.
    """
    layers: int | None = None
    """Only the first so many layers of a name, of those names that come more often; all where it is
    missing. Layers in `across` then have the share of their bytes and times that these layers are
    of theirs.
    """
    algorithms: CollectiveAlgorithms = field(default_factory=CollectiveAlgorithms)
    """How collectives are done."""
    steps: int = 1
    """Training steps, one after the other."""
    time_scale: float = 1.0
    """Computing times are multiplied by this."""
    byte_scale: float = 1.0
    """Sizes are multiplied by this; at least 1 B is left of those that are not zero."""


#: What is sent.
#:
#: - :class:`Poisson`: Flows that arrive as a Poisson process.
#: - :class:`Flows`: A list of flows from a file.
#: - :class:`Shuffle`: Every host sends the same amount to every other.
#: - :class:`Coflows`: Groups of flows from a trace; a group is done when its last flow is.
#: - :class:`CollectiveWorkload`: A collective of AI training: transfers that wait for each other.
#: - :class:`Chakra`: A Chakra execution trace: computations, sends, receives and collectives that
#:   wait for each other.
#: - :class:`Simai`: A training workload of SimAI: layers with their computations and collectives.
Workload: TypeAlias = Poisson | Flows | Shuffle | Coflows | CollectiveWorkload | Chakra | Simai
_Workload = {"poisson": Poisson, "flows": Flows, "shuffle": Shuffle, "coflows": Coflows, "collective": CollectiveWorkload, "chakra": Chakra, "simai": Simai}


@dataclass(kw_only=True)
class Window(Values):
    """What counts. A flow is measured where it arrives in `[warmup, warmup + measure)`."""

    warmup: Duration = "0 ps"
    """Flows before this are simulated and not counted."""
    measure: Duration | None = None
    """Length of the measured window. Missing: until the workload ends, which a Poisson workload never
    does.
    """
    drain: Duration | None = None
    """How long the run goes on after the last arrival; flows that do not finish are counted as
    unfinished. Arrivals go on in the drain, so that the load stays. Missing: arrivals end with the
    window and the run ends when every flow is done.
    """


@dataclass(kw_only=True)
class Record(Values):
    """What is recorded."""

    queues_every: Duration | None = None
    """Takes the length of every queue that is not empty, once in each such interval."""
    received_every: Duration | None = None
    """Takes what each host has received, once in each such interval."""
    tcp_every: Duration | None = None
    """Takes the window of every TCP sender and its round-trip times, once in each such interval.
    """
    latency: bool = False
    """Takes the time that each packet spends in the network."""
    rtt: bool = False
    """Takes the round-trip time of every TCP segment."""
    grants: bool = False
    """Writes down what hosts were granted where rates or timeslots are planned: each change of a
    pair's rate, and each timeslot as a slot. Slots and circuits are written down in any case.
    """
    capture: list[str] = field(default_factory=list)
    """Writes the frames of these places to a file each, as `host-3.pcapng` in the folder of a run, for
    Wireshark and its like. `host 3` is what this host sends and receives, data and control
    messages; `link 5` one direction of a wire, by its number in the table `links`; `controller 0`
    the messages of a controller (then come a standby and relays). All else stays as it is.
    """


@dataclass
class FailedWire(Values):
    """A wire, both ways, by its number from 0: hosts' wires first, in the order of hosts, then those between switches, switch by switch from its lower end (in a fat tree pod by pod); those of a graph in the order written. Wire `k` is links `2k` and `2k + 1` of the results."""

    _key: ClassVar[str] = "wire"
    _bare: ClassVar[bool] = True

    value: int


@dataclass
class FailedWires(Values):
    """All wires between two nodes. Hosts are nodes from 0, switches follow."""

    _key: ClassVar[str] = "between"
    _bare: ClassVar[bool] = True

    value: tuple[int, int]


@dataclass
class FailedSwitch(Values):
    """A switch by its number from 0, those nearest to the hosts first: with all that it holds, and not its wires."""

    _key: ClassVar[str] = "switch"
    _bare: ClassVar[bool] = True

    value: int


@dataclass
class FailedHost(Values):
    """A host: it sends nothing, receives nothing and hears of no grants. Datagrams and raw frames that its flows have to send wait, TCP's segments are lost."""

    _key: ClassVar[str] = "host"
    _bare: ClassVar[bool] = True

    value: int


@dataclass
class FailedRelay(Values):
    """One of several controllers of a plan of slots (`plan.tdma.controllers`), from 0: its part of the hosts has no slots while it is away. As it keeps nothing that anybody could miss, another machine may be what returns in its place."""

    _key: ClassVar[str] = "relay"
    _bare: ClassVar[bool] = True

    value: int


#: What can fail.
#:
#: - :class:`FailedWire`: A wire, both ways, by its number from 0: hosts' wires first, in the order
#:   of hosts, then those between switches, switch by switch from its lower end (in a fat tree pod
#:   by pod); those of a graph in the order written. Wire `k` is links `2k` and `2k + 1` of the
#:   results.
#: - :class:`FailedWires`: All wires between two nodes. Hosts are nodes from 0, switches follow.
#: - :class:`FailedSwitch`: A switch by its number from 0, those nearest to the hosts first: with
#:   all that it holds, and not its wires.
#: - :class:`FailedHost`: A host: it sends nothing, receives nothing and hears of no grants.
#:   Datagrams and raw frames that its flows have to send wait, TCP's segments are lost.
#: - ``"controller"``: The controller of a plan. It starts anew when it returns, and grants nothing
#:   before its predecessor's grants are over; where there is a standby (`plan.tdma.standby`), it
#:   returns as one that follows.
#: - ``"standby"``: The second controller of a plan of slots. It returns as one that follows, or
#:   leads where it hears of no other.
#: - :class:`FailedRelay`: One of several controllers of a plan of slots (`plan.tdma.controllers`),
#:   from 0: its part of the hosts has no slots while it is away. As it keeps nothing that anybody
#:   could miss, another machine may be what returns in its place.
Element: TypeAlias = (
    Literal["controller", "standby"]
    | FailedWire
    | FailedWires
    | FailedSwitch
    | FailedHost
    | FailedRelay
)
_Element = {"wire": FailedWire, "between": FailedWires, "switch": FailedSwitch, "host": FailedHost, "relay": FailedRelay}


@dataclass(kw_only=True)
class Failure(Values):
    """An element that fails at a given time, in every run. What is on it, in it or queued for it
    is lost then, and what comes to it until it returns; nothing else is. It returns empty.
    Failures of the same element may overlap: it works while none of them lasts.
    """

    _reads: ClassVar[dict[str, str]] = {"element": "_Element"}

    element: Element
    """What fails."""
    at: Duration
    """When, from the run's begin."""
    until: Duration | None = None
    """When it works again; missing: never."""
    detection: Duration = "1 ms"
    """How much later the others know, that it failed as well as that it returned: switches choose
    other paths, and controllers plan without it: what has no way gets no slots and no rates.
    """


@dataclass
class ChangedWire(Values):
    """One, by its number, as for `failure`."""

    _key: ClassVar[str] = "wire"
    _bare: ClassVar[bool] = True

    value: int


@dataclass
class ChangedWires(Values):
    """All between two nodes. Hosts are nodes from 0, switches follow."""

    _key: ClassVar[str] = "between"
    _bare: ClassVar[bool] = True

    value: tuple[int, int]


#: Which wires change.
#:
#: - :class:`ChangedWire`: One, by its number, as for `failure`.
#: - :class:`ChangedWires`: All between two nodes. Hosts are nodes from 0, switches follow.
#: - ``"all"``: All wires of the fabric.
Wires: TypeAlias = Literal["all"] | ChangedWire | ChangedWires
_Wires = {"wire": ChangedWire, "between": ChangedWires}


@dataclass(kw_only=True)
class Change(Values):
    """Wires whose rate changes at given times, in every run, both ways alike. A packet whose first
    bit has left ends at the rate at which it began; all that wait are sent at the new one.
    Nothing is lost by it. Buffers keep their bytes, and count what waits by the time that it
    takes at the rate of the moment. Where several tables change one wire, the last change
    holds, of those at one instant that of the table written last.
    """

    _reads: ClassVar[dict[str, str]] = {"wires": "_Wires"}

    wires: Wires
    """Which wires."""
    at: Duration
    """When the first of the rates holds, from the run's begin."""
    rates: list[Rate]
    """Rates, one after the other; none above what the fabric gives the wire, so that ideals and bounds
    hold.
    """
    every: Duration | None = None
    """From one rate to the next; after the last the first comes again, as long as anything goes on.
    Missing: one rate, for good.
    """
    notice: Duration = "0 ps"
    """How long before each change the controller of slots knows of it: its slots end before, and go on
    after, at the rates of their time. At 0 it hears when it happens, and slots that are granted by
    then go on as they are.
    """


@dataclass(kw_only=True)
class Datagrams(Values):
    """Open-loop UDP datagrams (28 B of headers): what is lost stays lost."""

    _key: ClassVar[str] = "datagrams"


@dataclass(kw_only=True)
class Raw(Values):
    """Raw frames with repair."""

    _key: ClassVar[str] = "raw"

    header: Bytes = "16 B"
    """Bytes of each frame's payload that name its flow and offset."""
    report_every: Duration = "10 ms"
    """A receiver reports after this long with a flow incomplete, and at once where it sees a gap.
    """


#: A congestion control.
#:
#: - ``"new_reno"``: RFC 5681, 6582.
#: - ``"cubic"``: RFC 9438.
#: - ``"dctcp"``: RFC 8257.
#: - ``"bbr"``: Version 1: Cardwell et al., ACM Queue 14(5), 2016;
#:   draft-cardwell-iccrg-bbr-congestion-control-00. It always paces.
Congestion: TypeAlias = Literal["new_reno", "cubic", "dctcp", "bbr"]


@dataclass(kw_only=True)
class DelayedAck(Values):
    """When a receiver holds an acknowledgement back (RFC 5681 section 4.2)."""

    segments: int = 2
    """One acknowledgement for so many segments; 1 acknowledges each."""
    timeout: Duration = "1 ms"
    """But never later than this after the first of them."""


@dataclass(kw_only=True)
class Tcp(Values):
    """TCP: SACK (RFC 2018, 6675), RTO (RFC 6298), 40 B of headers without timestamps."""

    _key: ClassVar[str] = "tcp"

    _reads: ClassVar[dict[str, str]] = {"delayed_ack": "DelayedAck"}

    congestion: Congestion = "cubic"
    """The congestion control."""
    initial_window: int = 10
    """Segments that a connection begins with (RFC 6928)."""
    min_rto: Duration = "200 ms"
    """The least retransmission timeout: 1 s in RFC 6298, 200 ms in Linux."""
    delayed_ack: DelayedAck = field(default_factory=DelayedAck)
    """When a receiver holds an acknowledgement back."""
    sack: bool = True
    """Selective acknowledgements."""
    ecn: bool = False
    """Asks switches to mark instead of drop (RFC 3168); DCTCP always does."""
    pacing: bool = False
    """Spreads a window over its round trip."""
    hystart: bool = False
    """CUBIC leaves slow start where round trips lengthen, before it loses (HyStart++, RFC 9406).
    """
    handshake: bool = True
    """Opens each flow with SYN and SYN-ACK, which is then part of its completion time."""
    receive_window: Bytes | None = None
    """The receiver's window; missing: without bound."""


#: What carries flows.
#:
#: - :class:`Datagrams`: Open-loop UDP datagrams (28 B of headers): what is lost stays lost.
#: - :class:`Raw`: Raw frames with an end-to-end repair: receivers report what is missing, senders
#:   resend it.
#: - :class:`Tcp`: TCP.
Transport: TypeAlias = Datagrams | Raw | Tcp
_Transport = {"datagrams": Datagrams, "raw": Raw, "tcp": Tcp}

#: How packets choose among equal paths.
#:
#: - ``"flow"``: All packets of a flow take one path, by a hash.
#: - ``"packet"``: Each packet takes its own, by a hash of flow and sequence.
Ecmp: TypeAlias = Literal["flow", "packet"]

#: Which queue sends next.
#:
#: - ``"fifo"``: The packet that came first.
#: - ``"round_robin"``: Destinations in turn.
Discipline: TypeAlias = Literal["fifo", "round_robin"]


@dataclass(kw_only=True)
class Nic(Values):
    """A host's network interface."""

    discipline: Discipline = "fifo"
    """Which queue sends next where several may."""
    burst: Bytes = "0 B"
    """Segmentation offload: packets of one queue are emitted back to back in bursts of at most so many
    bytes, and a burst is handed to the interface whole.
    """


@dataclass(kw_only=True)
class ReceiveSpec(Values):
    """A host's receive buffer, and the application that empties it. What does not fit is lost."""

    buffer: Bytes
    """What it holds, in bytes on the wire."""
    drain: Rate
    """How fast the application takes it out, in bits on the wire."""


@dataclass(kw_only=True)
class BackgroundSpec(Values):
    """A share of the network for short flows that do not wait for slots. Every host sends them at
    once, in the order in which they came, as fast as this rate. Slots run at the rate of their
    links less the share, so that no link carries more than it can while the short flows towards
    no host, and across no inner link, come to more than the share together. Where they do for a
    while, as several hosts may send to one, packets of slots queue behind them in switches: by
    what exceeded the share, which drains with the next pause. A bounded switch buffer must hold
    that much, or frames are lost.
    """

    rate: Rate
    """Of each link, in bits on the wire."""
    below: Bytes
    """Flows of at most this size are short."""


@dataclass(kw_only=True)
class Times(Values):
    """From a control frame's arrival until it is obeyed: evenly between two bounds."""

    _key: ClassVar[str] = "times"

    off_least: Duration
    """No frame is begun any more: at the earliest."""
    off_most: Duration
    """At the latest."""
    on_least: Duration
    """Frames may begin: at the earliest."""
    on_most: Duration
    """At the latest."""


#: How fast a host obeys a control frame. A frame that is being sent is always finished.
#:
#: - ``"immediate"``: At once.
#: - ``"interface"``: An interface that obeys 802.3x by itself: 2 to 6 us (Practical TDMA, figure
#:   1).
#: - ``"user_space"``: A program that parses PFC and opens queues: 100 to 200 us (Practical TDMA,
#:   section 3).
#: - ``"intel_82599"``: The interface of REACToR's hosts (section 4.2): no frame is begun 1,014 ns
#:   after the control frame, so that one more may leave than was being sent; on after 1.2 to 1.3
#:   us.
#: - :class:`Times`: As measured.
Reaction: TypeAlias = Literal["immediate", "interface", "user_space", "intel_82599"] | Times
_Reaction = {"times": Times}

#: Through how many interfaces control frames go out; those of one interface leave one after the
#: other.
#:
#: - ``"one"``: One.
#: - ``"per_edge_switch"``: One for each switch with hosts.
Interfaces: TypeAlias = Literal["one", "per_edge_switch"]


@dataclass(kw_only=True)
class SignalSpec(Values):
    """PFC frames that open and close the hosts' gates: how they are sent, and how fast hosts obey."""

    _reads: ClassVar[dict[str, str]] = {"reaction": "_Reaction"}

    reaction: Reaction = "interface"
    """From a frame's arrival at a host until it is obeyed."""
    frame_gap: Duration = "0 ps"
    """From the end of one control frame to the begin of the next one of the same interface, at least:
    what it costs to hand it over.
    """
    interfaces: Interfaces = "one"
    """Through how many interfaces the controller sends."""
    hold: Duration = "3355 us"
    """For how long a frame opens a gate at most, unless another one comes. A pause time of IEEE 802.3x
    is at most 65,535 quanta of 512 bits: 3.36 ms at 10 Gb/s.
    """


@dataclass(kw_only=True)
class StandbySpec(Values):
    """A second controller of slots. It hears what hosts report, and leads once it has heard
    nothing of the first one for a while; one that returns follows it. Messages between the two
    are lost as all control messages are.
    """

    takeover: Duration | None = None
    """It takes over after so long without a heartbeat, of which there is one per round; missing: after
    two rounds and two messages, so that one heartbeat may be lost.
    """
    latency: Duration | None = None
    """One way between the two controllers; missing: `control_latency`."""


@dataclass(kw_only=True)
class ControllersSpec(Values):
    """Relays of the controller that plans, for more hosts than one controller can talk to. Each is
    in charge of the hosts below some switches: hosts in the order of their switches are cut
    into parts of the same size to one. It gathers their reports, passes on their grants, and
    with `signals` sends their frames at times of its own clock, through interfaces of its own.
    All slots are of the one plan, so that a message that is lost between controllers costs
    slots of a part, and nothing else.
    """

    count: int
    """How many relays there are; no more than hosts."""
    clock_error: Duration = "0 ps"
    """Their clocks are off by up to so much either way. With `signals`, a guard has to cover twice as
    much more.
    """
    latency: Duration | None = None
    """One way between a relay and the controller that plans; missing: `control_latency`."""
    loss: float | None = None
    """Probability that a message between a relay and the controller that plans is lost; missing:
    `control_loss`.
    """


@dataclass(kw_only=True)
class Tdma(Values):
    """Slots."""

    _key: ClassVar[str] = "tdma"

    _reads: ClassVar[dict[str, str]] = {"receive": "ReceiveSpec", "background": "BackgroundSpec", "signals": "SignalSpec", "standby": "StandbySpec", "controllers": "ControllersSpec"}

    slot: Duration = "300 us"
    """How long the gates of a slot are open."""
    guard: Duration = "15 us"
    """From a slot's end to the next one's begin."""
    round_slots: int = 32
    """Slots in a round; a round is planned whole."""
    scheduler: str = "weighted_round_robin"
    """The planning algorithm: `weighted_round_robin`, or one registered by name."""
    control_latency: Duration = "20 us"
    """One way between controller and hosts over the control network."""
    control_loss: float = 0.0
    """Probability that a control message is lost."""
    compute_time: Duration = "100 us"
    """How long the scheduler computes; charged before its grants go out."""
    clock_error: Duration = "0 ps"
    """Hosts' clocks are off by up to so much either way."""
    clock_drift: float = 0.0
    """Hosts' clocks run fast or slow by up to so many parts per million: 50 lets two of them part by
    100 us in a second.
    """
    resync: Duration | None = None
    """How often a beacon sets the hosts' clocks right, up to `clock_error`; missing: only once, at the
    begin.
    """
    receive: ReceiveSpec | None = None
    """Hosts' receive buffers; missing: they take everything at once."""
    background: BackgroundSpec | None = None
    """A share of the network outside the slots, for short flows; missing: all flows wait for slots.
    """
    signals: SignalSpec | None = None
    """PFC frames open and close the gates, at the begin and the end of each slot, instead of the
    hosts' clocks.
    """
    standby: StandbySpec | None = None
    """A second controller, which takes over where the first one is lost; missing: there is none.
    """
    controllers: ControllersSpec | None = None
    """Several controllers, each in charge of a part of the hosts; missing: the one that plans is in
    charge of all.
    """


#: Which pair goes first in a timeslot.
#:
#: - ``"ocf"``: Oldest cell first: that whose first packet has waited longest.
#: - ``"srjf"``: Shortest remaining job first: that whose first flow has the fewest bytes left.
#: - ``"mmf"``: Max-min fairness: that whose first packet has been first for longest.
SlotMetric: TypeAlias = Literal["ocf", "srjf", "mmf"]

#: What may fill a timeslot.
#:
#: - ``"packet"``: One packet, however small.
#: - ``"packets"``: As many whole packets of the pair as fit.
#: - ``"fragments"``: As many packets as fit, and a part of the next one.
SlotFill: TypeAlias = Literal["packet", "packets", "fragments"]

#: How the paths of a timeslot's packets are found.
#:
#: - ``"euler_split"``: All at once, halving the slot along Euler circuits.
#: - ``"paull"``: One after the other, exchanging the colours along a path where none is free
#:   (Paull).
PathColouring: TypeAlias = Literal["euler_split", "paull"]


@dataclass(kw_only=True)
class Timeslots(Values):
    """Timeslots of one packet."""

    _key: ClassVar[str] = "timeslots"

    slot: Duration | None = None
    """From one slot's begin to the next one's; missing: a frame of the MTU on a host's link."""
    metric: SlotMetric = "mmf"
    """Which pair goes first."""
    fill: SlotFill = "packet"
    """What may fill a slot."""
    colouring: PathColouring = "euler_split"
    """How paths are found."""
    classes: list[Bytes] = field(default_factory=list)
    """Flows of at most these sizes go first, the smallest first of all; each size opens a class. None:
    all flows are of one class.
    """
    batch: int = 1
    """Slots that are allocated together and granted in one message."""
    ahead: Duration | None = None
    """From the allocation of a batch until its first slot begins; missing: just enough to compute and
    to tell.
    """
    report_every: Duration = "1 ms"
    """A host reports on every change, and at the latest after so long without a word of the arbiter.
    """
    control_latency: Duration = "0 ps"
    """One way between arbiter and hosts over the control network."""
    control_loss: float = 0.0
    """Probability that a control message is lost."""
    compute_time: Duration = "0 ps"
    """How long the allocation of a batch takes; batches are computed in a pipeline."""
    clock_error: Duration = "0 ps"
    """Hosts' clocks are off by up to so much either way."""


@dataclass
class Horizon(Values):
    """What it takes to send all that waits within this time."""

    _key: ClassVar[str] = "horizon"
    _bare: ClassVar[bool] = True

    value: Duration


@dataclass
class Arrivals(Values):
    """What arrives, averaged over this time, and what it takes to send all that waits within it."""

    _key: ClassVar[str] = "arrivals"
    _bare: ClassVar[bool] = True

    value: Duration


#: How the rate that a pair asks for is found.
#:
#: - ``"backlogged"``: The whole link, while anything waits.
#: - :class:`Horizon`: What it takes to send all that waits within this time.
#: - :class:`Arrivals`: What arrives, averaged over this time, and what it takes to send all that
#:   waits within it.
RateEstimator: TypeAlias = Literal["backlogged"] | Horizon | Arrivals
_RateEstimator = {"horizon": Horizon, "arrivals": Arrivals}

#: How rates asked for become rates that no link of a host exceeds.
#:
#: - ``"scale_both"``: Rows and columns in turn, up and down (Sinkhorn), for the highest total.
#: - ``"scale_down"``: Rows, then columns, down only.
#: - ``"max_min"``: Max-min fairness.
#: - ``"proportional"``: Proportional fairness, by prices of links (Flowtune's NED).
RateNormaliser: TypeAlias = Literal["scale_both", "scale_down", "max_min", "proportional"]


@dataclass(kw_only=True)
class Rates(Values):
    """A rate for each pair."""

    _key: ClassVar[str] = "rates"

    _reads: ClassVar[dict[str, str]] = {"estimator": "_RateEstimator"}

    estimator: RateEstimator = "backlogged"
    """Rates asked for."""
    normaliser: RateNormaliser = "scale_both"
    """Rates given."""
    every: Duration = "10 us"
    """From one computation to the next, at least; between them, on change."""
    threshold: float = 0.0
    """A host is told of new rates where one has moved by more than this share of it; at 0, of every
    change.
    """
    report_every: Duration = "1 ms"
    """A host reports on every change, and at the latest after so long without a word of the
    controller. Rates hold ten times as long.
    """
    control_latency: Duration = "0 ps"
    """One way between controller and hosts over the control network."""
    control_loss: float = 0.0
    """Probability that a control message is lost."""
    compute_time: Duration = "0 ps"
    """How long a computation takes."""


#: How circuits are scheduled.
#:
#: - ``"solstice"``: Long configurations first, and the packet switch takes the rest (CoNEXT 2015).
#: - ``"eclipse"``: The configuration that carries most for its time, again and again (SIGMETRICS
#:   2016).
#: - ``"tms"``: A doubly stochastic matrix as a sum of matchings (Mordia, SIGCOMM 2013).
#: - ``"max_weight"``: The matching of the largest demand, for fixed days (Helios, SIGCOMM 2010).
#: - ``"adjust"``: Demand in coarse steps, coloured (ADJUST, JSAC 2003).
#: - ``"sunflow"``: One circuit for each demand, without a break; only where moved ports alone go
#:   dark (CoNEXT 2016).
#: - ``"cover_all"``: A circuit for every demand that the packet switch can not carry.
#: - ``"round_robin"``: All matchings in turn, whatever the demand.
#: - ``"hold"``: One matching until something waits that it does not join: for senders that wait for
#:   each other.
CircuitAlgorithm: TypeAlias = (
    Literal["solstice", "eclipse", "tms", "max_weight", "adjust", "sunflow", "cover_all", "round_robin", "hold"]
)

#: How the controller of circuits knows what waits at hosts.
#:
#: - ``"reports"``: From hosts' reports, which are as old as control latencies make them, or lost.
#: - ``"oracle"``: From an oracle, as REACToR's prototype has it (section 3.1): what waits in all
#:   queues at the moment of planning.
CircuitDemand: TypeAlias = Literal["reports", "oracle"]


@dataclass(kw_only=True)
class Circuits(Values):
    """Circuits beside packets."""

    _key: ClassVar[str] = "circuits"

    _reads: ClassVar[dict[str, str]] = {"signals": "SignalSpec"}

    scheduler: CircuitAlgorithm = "solstice"
    """How circuits are scheduled."""
    demand: CircuitDemand = "reports"
    """How the controller knows what waits."""
    period: Duration = "3 ms"
    """From one schedule to the next."""
    dark: Duration = "30 us"
    """From one configuration's end to the next one's begin, as schedules assume it: pausing hosts, the
    switch's dark time, and what is in the air. The switch itself may be faster, see
    `fabric.topology.hybrid.dark`.
    """
    least_open: Duration = "130 us"
    """The least open time of a configuration."""
    configurations: int | None = None
    """Configurations of a period, at most; as many as it holds where it is missing."""
    packets: bool = True
    """Whether pairs without a circuit may use the packet switch."""
    limits: bool = True
    """Whether circuits leave room on hosts' links for what the packet switch brings."""
    acknowledgements: float = 0.0
    """The share of the packet switch for TCP's acknowledgements, which then take no circuits; at 0
    they go with the data.
    """
    unreported: float = 1.0
    """The share of what is left of the packet switch for pairs that have asked for nothing yet, until
    the next schedule; circuits leave room for it.
    """
    control_latency: Duration = "1 us"
    """One way between controller and hosts over the control network."""
    control_loss: float = 0.0
    """Probability that a control message is lost."""
    compute_time: Duration = "100 us"
    """How long the scheduler computes."""
    signals: SignalSpec = field(default_factory=lambda: SignalSpec(reaction="intel_82599"))
    """How the PFC frames are sent, and how fast hosts obey."""


#: Which link is added next.
#:
#: - ``"greedy"``: Of all feasible links the one that takes most traffic off the busiest wire, the
#:   traffic of others included.
#: - ``"transit"``: For the pair of racks that would finish last; the link also carries what others
#:   send to one of them, one hop on.
#: - ``"straggler"``: For the pair of racks that would finish last, and for nobody else.
FlywayPolicy: TypeAlias = Literal["greedy", "transit", "straggler"]


@dataclass(kw_only=True)
class Trained(Values):
    """By sector sweeps of both ends over the air: nobody knows anything."""

    _key: ClassVar[str] = "trained"

    sectors: int
    """Sectors of each end."""


@dataclass(kw_only=True)
class Coordinated(Values):
    """The wires tell both ends which pattern points at the other: they only steer."""

    _key: ClassVar[str] = "coordinated"

    steering: Duration
    """How long that takes."""


#: How the beams of a new link find each other.
#:
#: - :class:`Trained`: By sector sweeps of both ends over the air: nobody knows anything.
#: - :class:`Coordinated`: The wires tell both ends which pattern points at the other: they only
#:   steer.
PointingSpec: TypeAlias = Trained | Coordinated
_PointingSpec = {"trained": Trained, "coordinated": Coordinated}


@dataclass(kw_only=True)
class Flyways(Values):
    """A controller that hears what racks have to send, and points radios on top of them at each
    other (Halperin et al., SIGCOMM 2011). Each host is a rack and has a switch of its own, on
    which its radios stand. Racks report the bytes of their flows that have not been
    acknowledged; links and shares of the traffic come back, with a lease. Shares are of flows,
    so that none is torn apart.
    """

    _key: ClassVar[str] = "flyways"

    _reads: ClassVar[dict[str, str]] = {"queue": "_AirQueue", "pointing": "_PointingSpec"}

    policy: FlywayPolicy = "greedy"
    """Which link is added next."""
    antenna: AntennaName = "narrow_beam"
    """Antennas of all radios."""
    radios: int = 1
    """Radios on each rack."""
    channels: int = 3
    """Channels in use, 3 as in the source; those of 802.11ad are 4. Radios of one rack use different
    ones.
    """
    positions_m: list[tuple[float, float]] | None = None
    """Where racks stand, in meters, by host; at the first places of the source's layout of 160 racks
    where it is missing.
    """
    mac: MacName = "flyways-draft"
    """Constants of medium access."""
    access: AccessSpec = "token"
    """Who of a link sends when. Links are planned not to disturb each other, so that no access needs
    carrier sense.
    """
    retries: int = 7
    """How often a packet is sent again at most."""
    queue: AirQueue | None = None
    """The queue of each radio. Missing: it takes what comes."""
    acknowledgements: AckWay = "wire"
    """Where TCP's acknowledgements go."""
    every: Duration = "10 ms"
    """From one plan to the next, at least."""
    report_every: Duration = "5 ms"
    """How often racks report."""
    control_latency: Duration = "50 us"
    """One way between controller and racks."""
    control_loss: float = 0.0
    """Probability that a control message is lost."""
    compute_time: Duration = "1 ms"
    """How long a plan takes."""
    lease: Duration = "100 ms"
    """How long links and shares hold without a word of the controller."""
    pointing: PointingSpec | None = None
    """How the beams of a new link find each other. Missing: the wires tell them, and they steer within
    100 us.
    """


#: Who decides when hosts send.
#:
#: - :class:`Tdma`: Slots: a controller takes reports, plans a round of slots ahead and grants them;
#:   gates at the hosts execute.
#: - :class:`Timeslots`: Timeslots: an arbiter gives each packet a slot and a path (SYN, Fastpass).
#: - :class:`Rates`: Rates: a controller gives each pair that has something to send a rate (ASY,
#:   Flowtune).
#: - :class:`Circuits`: Circuits: a controller sets a circuit switch, period by period, and tells
#:   hosts by PFC frames when theirs is up (REACToR).
#: - :class:`Flyways`: 60 GHz links between racks, beside the wires.
Plan: TypeAlias = Tdma | Timeslots | Rates | Circuits | Flyways
_Plan = {"tdma": Tdma, "timeslots": Timeslots, "rates": Rates, "circuits": Circuits, "flyways": Flyways}


@dataclass(kw_only=True)
class Reactive(Values):
    """The window is the bandwidth-delay product of the rate reported last."""

    _key: ClassVar[str] = "reactive"


@dataclass(kw_only=True)
class Proactive(Values):
    """What counts as a fast fall, and what follows."""

    _key: ClassVar[str] = "proactive"

    window: Duration = "150 ms"
    """Falls are looked for over so long."""
    drop: int = 2
    """A fall by so many usable rates is a fast one."""
    ttr: Duration = "800 ms"
    """How long the slowest rate's window holds after a fast fall."""
    growth: Duration = "40 ms"
    """On the way back it climbs one usable rate per so long."""


@dataclass(kw_only=True)
class Predicted(Values):
    """How far a prediction is trusted."""

    _key: ClassVar[str] = "predicted"

    boldness: float = 0.5
    """Added to the predicted place on the ladder of rates before it is rounded down: below 0.5 it is
    cautious, above it bold.
    """


#: How reports become windows.
#:
#: - :class:`Reactive`: The window is the bandwidth-delay product of the rate reported last.
#: - :class:`Proactive`: After a fast fall it is that of the slowest rate for a while, and grows
#:   back step by step.
#: - :class:`Predicted`: It is that of the rate which a trained predictor expects for the next 150
#:   ms.
ProxyPolicy: TypeAlias = Reactive | Proactive | Predicted
_ProxyPolicy = {"reactive": Reactive, "proactive": Proactive, "predicted": Predicted}


@dataclass(kw_only=True)
class ProxySpec(Values):
    """A proxy that sets the windows of TCP senders whose flows cross an air link with a link trace
    (Drago et al., MASS 2019, section III). The link's access point reports whenever the rate
    changes, and now and then otherwise; the proxy makes a window of rate and least round trip,
    which its policy may hold back. Losses are the sender's to find and repair.
    """

    _reads: ClassVar[dict[str, str]] = {"policy": "_ProxyPolicy"}

    policy: ProxyPolicy
    """How reports become windows."""
    split_at: int | None = None
    """The proxy ends the connections at this host, and begins others there: each flow is two
    connections of TCP, of which it is the second one's sender. Its memory has no bound. Missing: it
    steers the senders by messages.
    """
    hold: bool = True
    """After a loss recovery the window is again what the proxy said last. Otherwise it stays what the
    recovery left, until the next message.
    """
    pace: bool = True
    """Senders are told how fast to send, too, so that a window that jumps does not burst into the
    queue.
    """
    report_delay: Duration = "10 ms"
    """From the access point to the proxy."""
    command_delay: Duration = "0 ps"
    """From the proxy to a sender, and back for its round trips."""
    report_every: Duration = "10 ms"
    """The access point reports at least so often. A predictor lives of reports between the changes.
    """
    repeat: Duration = "100 ms"
    """What was said to a sender is said again after so long."""
    silence: Duration = "1 s"
    """A link that has not been reported on for so long counts as one at its slowest rate."""
    base_rtt: Duration = "40 ms"
    """The round trip until one has been measured."""
    loss: float = 0.0
    """Probability that a message of either kind is lost."""


@dataclass(kw_only=True)
class OwnSwitch(Values):
    """What the switches of a scheme's fabric have other than the scenario's. Marks and pauses that
    `[fabric.switch]` has cannot be taken away here: leave them out there, and give them to the
    schemes that want them.
    """

    _reads: ClassVar[dict[str, str]] = {"buffer": "_Buffer", "pfc": "Pfc"}

    latency: Duration | None = None
    """From a packet's arrival to its place in an output queue."""
    forwarding: Forwarding | None = None
    """Store-and-forward or cut-through."""
    buffer: Buffer | None = None
    """Bound of the output queues, whole."""
    ecn: Bytes | None = None
    """Marks a packet that finds at least so many wire bytes in its output queue."""
    pfc: Pfc | None = None
    """Pauses who sends more than there is room for, whole."""


@dataclass(kw_only=True)
class OwnRadio(Values):
    """What a scheme's radios have other than the scenario's. What is missing is as there."""

    _reads: ClassVar[dict[str, str]] = {"queue": "_AirQueue", "handover": "HandoverSpec"}

    mac: MacName | None = None
    """Constants of medium access."""
    access: AccessSpec | None = None
    """Who sends when."""
    retries: int | None = None
    """How often a packet is sent again at most."""
    acknowledgements: AckWay | None = None
    """Where TCP's acknowledgements go."""
    antenna: AntennaName | None = None
    """Antennas."""
    senses_dbm: float | None = None
    """What a radio takes for a busy channel, dBm."""
    queue: AirQueue | None = None
    """The queue of each air link, whole."""
    handover: HandoverSpec | None = None
    """How devices go from one access point to another, whole."""
    interference: list[Interference] | None = None
    """Who disturbs whom, all of it."""
    link: list[RadioLink] | None = None
    """The air links, all of them."""


@dataclass(kw_only=True)
class OwnFabric(Values):
    """What a scheme's fabric has other than the scenario's. What is missing is as in `[fabric]`.
    There are as many hosts as in `[fabric]`, and the flows are the same: the load of a workload
    is that of `[fabric]`, whatever rate hosts have here. Slowdowns count from the least time in
    `[fabric]` and bounds are its bounds, so that all schemes are measured by one scale; a
    faster fabric can beat both. Failures and changes count the elements of each scheme's fabric
    as it has them.
    """

    _reads: ClassVar[dict[str, str]] = {"topology": "_Topology", "switch": "OwnSwitch", "radio": "OwnRadio"}

    topology: Topology | None = None
    """Its shape, whole."""
    rate: Rate | None = None
    """Rate of the hosts' links."""
    uplink_rate: Rate | None = None
    """Rate of links between switches."""
    propagation: Duration | None = None
    """Propagation delay of every link."""
    framing: Framing | None = None
    """What the link layer adds to a packet."""
    mtu: Bytes | None = None
    """The largest packet."""
    bit_error: float | None = None
    """Probability that a bit on a link is wrong."""
    switch: OwnSwitch | None = None
    """All switches, key by key."""
    radio: OwnRadio | None = None
    """Radios, key by key."""


@dataclass(kw_only=True)
class Scheme(Values):
    """How the network is run: what carries the flows, how they are routed, and what plans them."""

    _reads: ClassVar[dict[str, str]] = {"transport": "_Transport", "nic": "Nic", "plan": "_Plan", "proxy": "ProxySpec", "fabric": "OwnFabric"}

    transport: Transport
    """What carries flows from host to host."""
    ecmp: Ecmp = "flow"
    """How packets choose among equal paths."""
    nic: Nic = field(default_factory=Nic)
    """The hosts' network interface."""
    plan: Plan | None = None
    """Who decides when hosts send; missing: nobody, a plain network."""
    proxy: ProxySpec | None = None
    """Tells TCP what an air link carries."""
    fabric: OwnFabric | None = None
    """A network of its own, with the hosts and the flows of the scenario's."""


#: A number, or a quantity with its unit, as "1.3 s", "9 Gb/s" or "1 MB".
Limit: TypeAlias = float | str


@dataclass(kw_only=True)
class Check(Values):
    """A bound on what comes out, at every point of the sweep. It changes nothing in the runs."""

    metric: str
    """The metric, with or without its unit: `completion`, `fct_p99`, ...; `timeplane list results`
    shows all.
    """
    scheme: str
    """The scheme whose mean over seeds is checked."""
    at_most: Limit | None = None
    """The mean must not be above this."""
    at_least: Limit | None = None
    """The mean must not be below this."""
    relative_to: str | None = None
    """Checks the ratio to the mean of this scheme instead."""
    relative_to_bound: bool = False
    """Checks the ratio to the bound that theory gives for `[fabric]` instead."""


@dataclass(kw_only=True)
class Scenario(Values, Runnable):
    """A question: one workload under several schemes, on one fabric or, where a scheme has its
    own, on several.
    """

    _reads: ClassVar[dict[str, str]] = {"fabric": "Fabric", "workload": "_Workload", "window": "Window", "record": "Record", "failure": "[Failure]", "change": "[Change]", "scheme": "{Scheme}", "check": "[Check]"}

    name: str | None = None
    """Name of the results folder; the file's name where it is missing."""
    description: str | None = None
    """What is asked, in a sentence or two; printed above the table."""
    seed: int = 1
    """The first seed."""
    seeds: int = 1
    """How many seeds, counted up from the first; intervals need at least two."""
    fabric: Fabric
    """Everything between hosts."""
    workload: Workload
    """What is sent. It never depends on the scheme."""
    window: Window = field(default_factory=Window)
    """What counts: warm-up, measured window, drain."""
    record: Record = field(default_factory=Record)
    """What is recorded beside flows, coflows, drops and control messages."""
    failure: list[Failure] = field(default_factory=list)
    """What fails while it runs, and returns."""
    change: list[Change] = field(default_factory=list)
    """Which wires change their rate while it runs."""
    scheme: dict[str, Scheme]
    """The schemes to compare, by name; the first is the baseline of differences."""
    sweep: dict[str, list[Any]] = field(default_factory=dict)
    """Values to try, by dotted key: `"workload.poisson.load" = [0.2, 0.5]`; several keys make a grid.
    Keys with commas between them change together: `"fabric.rate, workload.poisson.load" = [["10
    Gb/s", 0.2], ["40 Gb/s", 0.5]]`.
    """
    check: list[Check] = field(default_factory=list)
    """What must come out; where it does not, the command ends with 3."""
    base: str = field(default=".", repr=False, compare=False)
    """The folder in which files that the scenario names are looked up; no part of what is asked."""
