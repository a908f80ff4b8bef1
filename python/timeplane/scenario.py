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
    "Access",
    "AckPath",
    "AirQueue",
    "AntennaName",
    "Arrivals",
    "BackgroundSpec",
    "Buffer",
    "Bulk",
    "BulkBy",
    "BulkRelay",
    "Bytes",
    "Cdf",
    "CdfPoints",
    "Chakra",
    "Change",
    "ChangedWire",
    "ChangedWires",
    "Check",
    "CircuitAlgorithm",
    "CircuitDemand",
    "CircuitShare",
    "Circuits",
    "Codel",
    "Coflows",
    "Collective",
    "CollectiveAlgorithm",
    "CollectiveAlgorithms",
    "CollectiveWorkload",
    "Congestion",
    "ControlNetwork",
    "ControlSpec",
    "ControllersSpec",
    "Coordinated",
    "DarkBetween",
    "DarkTime",
    "Datagrams",
    "DelayedAck",
    "Direct",
    "Discipline",
    "Disjoint",
    "DropTail",
    "Duration",
    "Ecmp",
    "Ecn",
    "Element",
    "Expander",
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
    "FlowOrder",
    "Flows",
    "FlywayPolicy",
    "Flyways",
    "Forwarding",
    "Framing",
    "Graph",
    "GraphLink",
    "GridMatchings",
    "HandoverSpec",
    "Hoho",
    "Horizon",
    "HostLatency",
    "HostSpec",
    "Hybrid",
    "InBand",
    "InOutage",
    "Incast",
    "Interfaces",
    "Interference",
    "Late",
    "LatencyFrom",
    "LatencyTimes",
    "LeafSpine",
    "Limit",
    "LinkTraceSpec",
    "MacName",
    "Matchings",
    "Matrix",
    "MoreRacks",
    "Ndp",
    "Nic",
    "Own",
    "OwnAlgorithm",
    "OwnFabric",
    "OwnRadio",
    "OwnSwitch",
    "PacketMix",
    "PathColoring",
    "Pattern",
    "Pause",
    "PausedPackets",
    "PerInput",
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
    "RandomMatchings",
    "Rate",
    "RateEstimator",
    "RateNormalizer",
    "Rates",
    "Raw",
    "Reaction",
    "Reactive",
    "ReceiveSpec",
    "Record",
    "Retune",
    "RoomName",
    "Rotor",
    "RotorLb",
    "RotorRoutes",
    "RotorRouting",
    "Rows",
    "RtoRule",
    "Scenario",
    "ScheduleFile",
    "Scheme",
    "Shale",
    "Shared",
    "Shortest",
    "Shuffle",
    "SignalSpec",
    "Simai",
    "SingleSwitch",
    "Sizes",
    "SlotFill",
    "SlotMetric",
    "Spray",
    "Spread",
    "StandbySpec",
    "Stepping",
    "Stride",
    "Switch",
    "Tcp",
    "TcpPreset",
    "Tdma",
    "TdmaScheduler",
    "Times",
    "Timeslots",
    "Topology",
    "Trained",
    "Transport",
    "Tree",
    "Ucmp",
    "Vlb",
    "Window",
    "Wires",
    "Workload",
]


@dataclass(kw_only=True)
class SingleSwitch(Values):
    """All hosts under one switch."""

    _key: ClassVar[str] = "single_switch"

    hosts: int
    """Number of hosts."""


@dataclass(kw_only=True)
class LeafSpine(Values):
    """Every leaf connected to every spine."""

    _key: ClassVar[str] = "leaf_spine"

    leaves: int
    """Number of leaf switches."""
    hosts_per_leaf: int
    """Hosts under each leaf."""
    spines: int
    """Number of spine switches."""


@dataclass(kw_only=True)
class Tree(Values):
    """Edge switches under one root."""

    _key: ClassVar[str] = "tree"

    edges: int
    """Number of edge switches."""
    hosts_per_edge: int
    """Hosts under each edge switch."""


@dataclass(kw_only=True)
class FatTree(Values):
    """The k-ary fat tree (Al-Fares et al., SIGCOMM 2008): k³/4 hosts. With more hosts under each
    edge switch, an oversubscribed folded Clos network.
    """

    _key: ClassVar[str] = "fat_tree"

    k: int
    """Ports of a switch; even."""
    hosts_per_edge: int | None = None
    """Hosts under each edge switch, whose other ports lead up; default: k/2, which oversubscribes
    nothing.
    """


@dataclass(kw_only=True)
class Expander(Values):
    """Racks joined directly by a random regular graph, a static expander (Jellyfish, NSDI 2012).
    Packets take shortest paths.
    """

    _key: ClassVar[str] = "expander"

    hosts: int
    """Number of hosts; the last rack may have fewer than others."""
    hosts_per_rack: int
    """Hosts in each rack."""
    uplinks: int
    """Wires from each rack to other racks."""
    seed: int = 0
    """Seed of the graph, which does not follow that of the run."""


#: Bits per second: a number and one of b/s, kb/s, Mb/s, Gb/s, Tb/s.
Rate: TypeAlias = str

#: Ports of a circuit switch that go dark when its configuration changes.
#:
#: - ``"all_stop"``: All ports.
#: - ``"moved"``: Only ports whose partner changes.
Retune: TypeAlias = Literal["all_stop", "moved"]

#: A span of time: a number and one of ps, ns, us, ms, s, min, h.
Duration: TypeAlias = str


@dataclass
class FixedDark(Values):
    """A fixed time."""

    _key: ClassVar[str] = "fixed"
    _bare: ClassVar[bool] = True

    value: Duration


@dataclass(kw_only=True)
class DarkBetween(Values):
    """Bounds of the dark time."""

    _key: ClassVar[str] = "between"

    least: Duration
    """Minimum."""
    most: Duration
    """Maximum."""


#: Time that ports of a circuit switch are dark after a change.
#:
#: - ``"mordia"``: Uniform from 9.16 us to 14.84 us, as REACToR measured the Mordia switch (section
#:   4.1): mean 12 us, maximum 14.84 us.
#: - :class:`FixedDark`: A fixed time.
#: - :class:`DarkBetween`: Uniform between two bounds.
DarkTime: TypeAlias = Literal["mordia"] | FixedDark | DarkBetween
_DarkTime = {"fixed": FixedDark, "between": DarkBetween}


@dataclass(kw_only=True)
class Hybrid(Values):
    """Racks under a packet switch and a circuit switch."""

    _key: ClassVar[str] = "hybrid"

    _reads: ClassVar[dict[str, str]] = {"dark": "_DarkTime"}

    tors: int
    """Number of top-of-rack switches; at least 2, because a circuit joins two racks."""
    hosts_per_tor: int
    """Hosts under each."""
    packet_uplinks: int | None = None
    """Wires from each rack to the packet switch; default: the number of hosts in the rack."""
    circuit_uplinks: int | None = None
    """Wires from each rack to the circuit switch; default: the number of hosts in the rack."""
    packet_rate: Rate
    """Rate of a wire to the packet switch."""
    retune: Retune = "all_stop"
    """Ports that go dark when the configuration of the circuit switch changes."""
    dark: DarkTime = "mordia"
    """Time that they are dark."""
    multiplexer_frames: int = 3
    """Frames of the MTU that a rack switch buffers for a host, per input: a wire from the circuit
    switch or the packet switch, or another host. REACToR buffers one frame (section 3.2). One frame
    suffices unless a host sends packets alongside its own circuit, whose traffic then arrives
    unevenly.
    """


#: When the rotor switches show their next matching.
#:
#: - ``"together"``: All at the start of every slice, as in RotorNet (SIGCOMM 2017) and Shale
#:   (SIGCOMM 2024).
#: - ``"staggered"``: One switch in each slice, in turn, so that each holds its matching for as many
#:   slices as there are switches. This is Opera (NSDI 2020): while one switch changes, the others
#:   connect the racks.
Stepping: TypeAlias = Literal["together", "staggered"]


@dataclass(kw_only=True)
class RandomMatchings(Values):
    """The same at random, lifted from a smaller graph (Opera)."""

    _key: ClassVar[str] = "random"

    factor: int = 2
    """Racks that replace one of the small graph; a divisor of the number of racks. With at least 2, a
    few of the matchings form a good expander.
    """
    seed: int = 0
    """Seed of the matchings, which does not follow that of the run."""


@dataclass(kw_only=True)
class GridMatchings(Values):
    """A round robin in each dimension of a grid in turn (Shale). Racks meet if they differ in one
    dimension.
    """

    _key: ClassVar[str] = "grid"

    dimensions: int
    """Number of dimensions."""


@dataclass
class ScheduleFile(Values):
    """File with a row for each slice. A row has, rack by rack, the rack to which each uplink
    leads, or -1.
    """

    _key: ClassVar[str] = "file"
    _bare: ClassVar[bool] = True

    value: str


#: Matchings of rotor switches.
#:
#: - ``"round_robin"``: The complete graph as disjoint matchings, by the circle method (RotorNet).
#: - :class:`RandomMatchings`: The same at random, lifted from a smaller graph (Opera).
#: - :class:`GridMatchings`: A round robin in each dimension of a grid in turn (Shale). Racks meet
#:   if they differ in one dimension.
#: - :class:`ScheduleFile`: File with a row for each slice. A row has, rack by rack, the rack to
#:   which each uplink leads, or -1.
Matchings: TypeAlias = Literal["round_robin"] | RandomMatchings | GridMatchings | ScheduleFile
_Matchings = {"random": RandomMatchings, "grid": GridMatchings, "file": ScheduleFile}


@dataclass(kw_only=True)
class Rotor(Values):
    """Racks whose uplinks lead to rotor switches (RotorNet, SIGCOMM 2017; Opera, NSDI 2020).
    Uplink p of every rack leads to rotor switch p. In each slice, a switch joins racks in
    pairs, by a matching that does not depend on demand; after a cycle of slices, all matchings
    repeat. Slices begin at the switches, and racks send as much earlier as light takes to get
    there. Light crosses two wires from rack to rack, which is one hop.
    """

    _key: ClassVar[str] = "rotor"

    _reads: ClassVar[dict[str, str]] = {"matchings": "_Matchings"}

    racks: int
    """Number of racks, at least 2."""
    hosts_per_rack: int
    """Hosts in each rack."""
    switches: int
    """Number of rotor switches, which is that of the uplinks of each rack."""
    slice: Duration
    """Time from the start of a slice to the start of the next."""
    dark: Duration = "0 ps"
    """Time that a switch is dark at the start of a slice in which its matching changes."""
    stepping: Stepping = "together"
    """Switches that change at the start of a slice. A schedule file says it itself."""
    matchings: Matchings = "round_robin"
    """Matchings that the switches cycle through."""


@dataclass(kw_only=True)
class GraphLink(Values):
    """One wire of a graph."""

    nodes: tuple[int, int]
    """The two nodes."""
    rate: Rate | None = None
    """Rate, if it differs from the fabric's."""
    propagation: Duration | None = None
    """Propagation delay, if it differs from the fabric's."""


@dataclass(kw_only=True)
class Graph(Values):
    """Any graph, written out."""

    _key: ClassVar[str] = "graph"

    _reads: ClassVar[dict[str, str]] = {"links": "[GraphLink]"}

    hosts: int
    """Number of hosts; they are nodes 0 to `hosts` - 1."""
    switches: int
    """Number of switches; they are the nodes after the hosts."""
    links: list[GraphLink]
    """Wires of the graph."""


#: Shape of a fabric.
#:
#: - :class:`SingleSwitch`: All hosts under one switch.
#: - :class:`LeafSpine`: Every leaf connected to every spine.
#: - :class:`Tree`: Edge switches under one root.
#: - :class:`FatTree`: The k-ary fat tree (Al-Fares et al., SIGCOMM 2008): k³/4 hosts. With more
#:   hosts under each edge switch, an oversubscribed folded Clos network.
#: - :class:`Expander`: Racks joined directly by a random regular graph, a static expander
#:   (Jellyfish, NSDI 2012). Packets take shortest paths.
#: - :class:`Hybrid`: Racks that a packet switch and a circuit switch connect (REACToR, NSDI 2014).
#: - :class:`Rotor`: Racks that rotor switches join in turn (RotorNet, SIGCOMM 2017).
#: - :class:`Graph`: Any graph, written out.
Topology: TypeAlias = SingleSwitch | LeafSpine | Tree | FatTree | Expander | Hybrid | Rotor | Graph
_Topology = {"single_switch": SingleSwitch, "leaf_spine": LeafSpine, "tree": Tree, "fat_tree": FatTree, "expander": Expander, "hybrid": Hybrid, "rotor": Rotor, "graph": Graph}

#: Bytes that a link layer adds to a packet.
#:
#: - ``"ethernet"``: Ethernet: 38 B (preamble 8, header 14, FCS 4, interframe space 12), at least 84
#:   B on the wire (IEEE 802.3, clause 3).
#: - ``"ethernet_frame"``: Ethernet frames alone, without preamble and interframe space, as htsim
#:   and others count: 18 B, at least 64 B.
#: - ``"ppp"``: Point-to-point protocol, as ns-3's point-to-point link: 2 B.
#: - ``"none"``: None: wire bytes equal packet bytes.
Framing: TypeAlias = Literal["ethernet", "ethernet_frame", "ppp", "none"]

#: A count of octets: a number and one of B, kB, MB, GB, TB, KiB, MiB, GiB.
Bytes: TypeAlias = str

#: When a switch starts to forward a packet.
#:
#: - ``"store_and_forward"``: After its last bit has arrived.
#: - ``"cut_through"``: After its first 64 B have arrived, if the outgoing link is idle and not
#:   faster than the incoming one.
Forwarding: TypeAlias = Literal["store_and_forward", "cut_through"]


@dataclass
class PerPort(Values):
    """Limit of each output port."""

    _key: ClassVar[str] = "per_port"
    _bare: ClassVar[bool] = True

    value: Bytes


@dataclass(kw_only=True)
class Shared(Values):
    """One memory for all ports. A port takes at most `alpha` times the free memory (dynamic
    thresholds: Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998).
    """

    _key: ClassVar[str] = "shared"

    memory: Bytes
    """The memory of the switch."""
    alpha: float
    """Multiple of the free memory that one port may take; 0.125 to 8 in hardware."""


@dataclass
class PerInput(Values):
    """Memory of each input port. A packet takes its wire bytes from its last bit in to its last
    bit out; without room for the whole packet it is lost (`input_full`). Each output has a
    queue for each input and serves them round robin, packet by packet. The crossbar never
    blocks: an input may send to several outputs at once. Store-and-forward only.
    """

    _key: ClassVar[str] = "per_input"
    _bare: ClassVar[bool] = True

    value: Bytes


#: Where a switch queues packets, and how many wire bytes of them.
#:
#: - ``"unbounded"``: No limit.
#: - :class:`PerPort`: Limit of each output port.
#: - :class:`Shared`: One memory for all ports. A port takes at most `alpha` times the free memory
#:   (dynamic thresholds: Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998).
#: - :class:`PerInput`: Memory of each input port. A packet takes its wire bytes from its last bit
#:   in to its last bit out; without room for the whole packet it is lost (`input_full`). Each
#:   output has a queue for each input and serves them round robin, packet by packet. The crossbar
#:   never blocks: an input may send to several outputs at once. Store-and-forward only.
Buffer: TypeAlias = Literal["unbounded"] | PerPort | Shared | PerInput
_Buffer = {"per_port": PerPort, "shared": Shared, "per_input": PerInput}


@dataclass(kw_only=True)
class Pfc(Values):
    """Priority flow control (IEEE 802.1Qbb, in 802.1Q clause 36): a switch pauses senders that
    exceed its buffer. A switch counts its wire bytes per input and priority, from a packet's
    last bit in to its last bit out. If these leave no room below `pause_at` for another frame
    of the MTU, it sends a PFC frame back. When they have fallen to `resume_at`, it sends
    another one. The port that receives it finishes its current frame and starts no other of
    this priority. Pauses last until they are revoked; real switches repeat them. PFC frames
    have no bit errors, and links do not count their bytes. A packet's priority is its class,
    and the lowest class goes first.
    """

    pause_at: Bytes
    """Limit of an input and priority before it is paused, in wire bytes."""
    resume_at: Bytes
    """Level at which it resumes."""
    headroom: Bytes | None = None
    """Buffer above `pause_at` for frames in flight. By default it suffices on each link to lose
    nothing; with less, packets may be dropped (`input_full`).
    """
    reaction: Duration = "614.4 ns"
    """Time from a PFC frame's last bit until the port starts no more frames. 802.1Qbb allows 614.4 ns
    at 10 Gb/s.
    """


@dataclass(kw_only=True)
class Switch(Values):
    """A packet switch with output queues."""

    _reads: ClassVar[dict[str, str]] = {"buffer": "_Buffer", "pfc": "Pfc"}

    latency: Duration = "0 ps"
    """Time from a packet's arrival to its place in an output queue."""
    forwarding: Forwarding = "store_and_forward"
    """Store-and-forward or cut-through."""
    buffer: Buffer = "unbounded"
    """Limit of the output queues."""
    ecn: Bytes | None = None
    """Marks packets (Congestion Experienced) that find at least this many wire bytes in their output
    queue: DCTCP's step marking, RFC 8257 section 3.1.
    """
    pfc: Pfc | None = None
    """Pauses senders instead of dropping packets."""


#: Set of constants of medium access.
#:
#: - ``"flyways-draft"``: The draft of the flyways simulator: SIFS 1 us, slots of 3 us, frames of
#:   66,500 B of payload.
#: - ``"11ad-2012"``: IEEE 802.11ad-2012: SIFS 3 us, slots of 5 us, A-MPDUs of at most 262,143 B and
#:   2 ms.
MacName: TypeAlias = Literal["flyways-draft", "11ad-2012"]

#: Medium access.
#:
#: - ``"dcf"``: Carrier sense and back-off with collisions (DCF).
#: - ``"dcf_without_collisions"``: DCF without collisions; frames that only carry acknowledgements
#:   go first, without back-off. No protocol does this, but published figures without collisions
#:   assume it.
#: - ``"no_backoff"``: AIFS without back-off, for links that carry data in one direction.
#: - ``"token"``: Both ends of a link pass a token with their responses, for links that carry data
#:   in both directions.
#: - ``"planned"``: Links are independent: no carrier sense, no responses, one packet per frame.
Access: TypeAlias = Literal["dcf", "dcf_without_collisions", "no_backoff", "token", "planned"]

#: Path of TCP acknowledgements.
#:
#: - ``"air"``: The air link, as for data.
#: - ``"wire"``: The wires, if there are any.
AckPath: TypeAlias = Literal["air", "wire"]

#: Bundled antenna.
#:
#: - ``"narrow_beam"``: Horn with the narrow beam of the flyways measurements.
#: - ``"wide_beam"``: Horn with the wide beam of the flyways measurements.
#: - ``"geofencing"``: Antenna of the Geo-fencing measurements.
AntennaName: TypeAlias = Literal["narrow_beam", "wide_beam", "geofencing"]


@dataclass(kw_only=True)
class DropTail(Values):
    """Packets that do not fit are lost."""

    _key: ClassVar[str] = "drop_tail"

    packets: int | None = None
    """Capacity in packets; default: unlimited."""


@dataclass(kw_only=True)
class Ecn(Values):
    """Packets that find a long queue are marked, as DCTCP requires."""

    _key: ClassVar[str] = "ecn"

    mark_at: int
    """Queue length in packets from which arriving packets are marked."""
    packets: int | None = None
    """Capacity in packets; default: unlimited."""


@dataclass(kw_only=True)
class Codel(Values):
    """Controlled delay (RFC 8289)."""

    _key: ClassVar[str] = "codel"

    target: Duration = "5 ms"
    """Acceptable queuing delay."""
    interval: Duration = "100 ms"
    """Approximate longest round trip of the traffic."""
    ecn: bool = False
    """Mark packets that support it instead of dropping them."""
    packets: int | None = None
    """Capacity in packets; default: unlimited."""


#: Queue in front of an air link.
#:
#: - :class:`DropTail`: Packets that do not fit are lost.
#: - :class:`Ecn`: Packets that find a long queue are marked, as DCTCP requires.
#: - :class:`Codel`: Controlled delay (RFC 8289).
AirQueue: TypeAlias = DropTail | Ecn | Codel
_AirQueue = {"drop_tail": DropTail, "ecn": Ecn, "codel": Codel}

#: Treatment of packets queued at an access point whose device leaves.
#:
#: - ``"lost"``: They are lost, with reason `handover`.
#: - ``"forwarded"``: They are forwarded to the new access point over the wires.
QueuedSpec: TypeAlias = Literal["lost", "forwarded"]


@dataclass(kw_only=True)
class HandoverSpec(Values):
    """Handover of devices between access points. A device is the second node of several links with
    link traces. It uses one of them at a time, initially the one with the highest power. It
    changes to another link whose power has been higher by more than the hysteresis for the
    whole trigger time (event A3 of 3GPP TS 38.331, clause 5.5.4.4). The network then sends to
    the new access point, and no packet starts on the device's links during the delay; a packet
    in the air finishes normally. Powers are those of the selected beams, in steps of 0.01 dB.
    """

    hysteresis_db: float = 3.0
    """Minimum difference of the received powers in dB."""
    trigger: Duration = "100 ms"
    """Time for which the difference has to last."""
    delay: Duration = "20 ms"
    """Interruption of the device's links."""
    queued: QueuedSpec = "lost"
    """Treatment of packets queued at the old access point. Packets queued in the device use the new
    link.
    """


@dataclass(kw_only=True)
class Interference(Values):
    """Received power between two nodes that are not the two ends of an active link, on each
    channel that both use. It represents the directions of their beams while they communicate
    with others, and is constant. Links without a link trace neither cause interference nor
    suffer from it.
    """

    nodes: tuple[int, int]
    """The two switches."""
    level_dbm: float
    """Power that each receives from the other, in dBm."""


#: Room of the proxy's measurements.
#:
#: - ``"a"``: A laboratory with many reflectors, crossed by a trolley.
#: - ``"b"``: An aisle between partitions without a way around, crossed by a manikin.
RoomName: TypeAlias = Literal["a", "b"]

#: Behavior of an access point in an outage, which the paper leaves open.
#:
#: - ``"hold"``: It pauses and keeps its queue.
#: - ``"lose"``: It continues at the slowest rate, and all packets are lost.
InOutage: TypeAlias = Literal["hold", "lose"]


@dataclass(kw_only=True)
class LinkTraceSpec(Values):
    """Rate of a link over time, derived from the power of its beams (Drago et al., MASS 2019,
    section III). The access point selects the pair of beams with the highest power, and the
    fastest MCS from 1 to 12 that meets the target packet error rate. Losses follow the channel
    until the next selection. Both directions have the same rate. A link trace repeats after its
    end.
    """

    room: RoomName | None = None
    """One of the two rooms of the proxy's measurements, in which a person or a trolley moves."""
    beams: str | None = None
    """File with received power by pair of beams and time, instead of a room: columns `time_s`,
    `tx_deg`, `rx_deg`, `power_dbm`.
    """
    level_dbm: float = -66.0
    """Received power in dBm in room B without an obstacle; room A has the same transmit power."""
    varied: bool = False
    """Draw a different walk for each run: speed and start vary by a tenth, the crossing point by a
    tenth of the link's length.
    """
    body_loss_db: float | None = None
    """Loss in dB in the middle of the obstacle's shadow, in addition to diffraction at its edges.
    Default: that of the room, 15 dB in A and 27 dB in B. A file already includes shadows.
    """
    target: float = 0.01
    """Target packet error rate."""
    packet: Bytes = "8140 B"
    """Packet size that the target refers to."""
    loss_db: float = 6.5
    """Implementation and demodulation loss in dB between the SNR and the decoder."""
    every: Duration = "1 ms"
    """Interval at which the channel is sampled."""
    select_every: Duration = "10 ms"
    """Interval at which beams and rate are selected."""
    in_outage: InOutage = "hold"
    """Treatment of packets while no rate meets the target."""
    rate_factor: float = 1.0
    """Factor for all rates, 0.001 to 1. Use 0.25 to run the same link trace on Linux, whose emulated
    links support up to 500 Mb/s.
    """


@dataclass(kw_only=True)
class RadioLink(Values):
    """An air link between two switches, in both directions."""

    _reads: ClassVar[dict[str, str]] = {"trace": "LinkTraceSpec"}

    nodes: tuple[int, int]
    """The two switches, numbered after the hosts."""
    share: float | None = None
    """Share of the flows between hosts under the two ends that the link carries, from 0 to 1. Default:
    the link replaces the wire between the two switches, which has to exist.
    """
    channel: int = 0
    """Channel. Channels do not interfere; links of one node on one channel share a radio."""
    mcs: int | None = None
    """MCS of data frames, 0 to 31 of 802.11ad; default: the fastest that the signal supports."""
    signal_dbm: float | None = None
    """Received power at both ends in dBm, after all margins."""
    distance_m: float | None = None
    """Distance of the ends in meters. The received power follows from 10 mW, the antennas and a margin
    of 3 dB.
    """
    trace: LinkTraceSpec | None = None
    """Rate over time that follows from a channel of 500 MHz; requires `access = "planned"`. The first
    node is the access point, which selects the rate. Links of one access point on one channel take
    turns, packet by packet.
    """


@dataclass(kw_only=True)
class RadioSpec(Values):
    """Radios on racks or in devices, and the air links between them. Air links connect switches.
    To model a host with its own radio, put one host under a switch and connect them by a wire
    that is faster than both.
    """

    _reads: ClassVar[dict[str, str]] = {"queue": "_AirQueue", "handover": "HandoverSpec", "interference": "[Interference]", "link": "[RadioLink]"}

    mac: MacName = "11ad-2012"
    """Constants of medium access: interframe spaces, back-off, aggregation, responses."""
    access: Access = "dcf"
    """Medium access."""
    retries: int = 7
    """Maximum number of retransmissions of a packet; 0 turns retransmission off."""
    acknowledgements: AckPath = "air"
    """Path of TCP acknowledgements that would use an air link alongside wires."""
    antenna: AntennaName | None = None
    """Antennas at both ends of links with `distance_m`, pointed at each other."""
    senses_dbm: float = -68.0
    """Received power in dBm from which a radio considers the channel busy. -68 dBm is the sensitivity
    of MCS 1, which the preamble of every data frame uses.
    """
    queue: AirQueue | None = None
    """Queue of each air link, one for each direction; default: unlimited. It belongs to the switch
    that sends, so TCP small queues of hosts do not bound it.
    """
    handover: HandoverSpec | None = None
    """Handover of devices with links to several access points; default: such links are paths of equal
    cost.
    """
    interference: list[Interference] = field(default_factory=list)
    """Interference between links with link traces. Pairs that are not listed do not interfere."""
    link: list[RadioLink]
    """The air links."""


@dataclass(kw_only=True)
class Fabric(Values):
    """Network between the hosts."""

    _reads: ClassVar[dict[str, str]] = {"topology": "_Topology", "switch": "Switch", "radio": "RadioSpec"}

    topology: Topology
    """Shape of the network."""
    rate: Rate
    """Rate of the hosts' links."""
    uplink_rate: Rate | None = None
    """Rate of links between switches; default: the rate of the hosts' links."""
    propagation: Duration = "1 us"
    """Propagation delay of each link."""
    framing: Framing = "ethernet"
    """Bytes that the link layer adds to a packet."""
    mtu: Bytes = "1500 B"
    """Size of the largest packet: an IP packet or the payload of a raw frame."""
    bit_error: float = 0.0
    """Probability of a bit error on a link."""
    switch: Switch = field(default_factory=Switch)
    """Parameters of all switches."""
    radio: RadioSpec | None = None
    """Radios and the air links between them."""


@dataclass(kw_only=True)
class Incast(Values):
    """From all hosts to one host."""

    _key: ClassVar[str] = "incast"

    receiver: int
    """The receiver."""


@dataclass(kw_only=True)
class Stride(Values):
    """From host `i` to host `i + by`, modulo the number of hosts."""

    _key: ClassVar[str] = "stride"

    by: int
    """Distance between source and destination."""


#: How a matrix of more racks than hosts becomes one of the hosts.
#:
#: - ``"fold"``: Rack `i` becomes a part of host `i` modulo the number of hosts. Traffic between two
#:   racks of one host is left out.
#: - ``"busiest"``: The racks that send and receive most, in the order of their numbers. Traffic of
#:   others is left out.
MoreRacks: TypeAlias = Literal["fold", "busiest"]


@dataclass(kw_only=True)
class Matrix(Values):
    """Pairs drawn with the weights of a matrix: a CSV file `source,destination,weight` with a
    header, or the name of a bundled matrix.
    """

    _key: ClassVar[str] = "matrix"

    file: str
    """File relative to the scenario, or a bundled name (`projector`)."""
    more_racks: MoreRacks | None = None
    """What to do with a matrix of more racks than the fabric has hosts; default: refuse it."""


#: Sources and destinations of the flows.
#:
#: - ``"uniform"``: From a random host to a random other host, for each flow.
#: - :class:`Incast`: From all hosts to one host.
#: - ``"permutation"``: From every host to one other host: a permutation without fixed points, drawn
#:   once from the seed.
#: - :class:`Stride`: From host `i` to host `i + by`, modulo the number of hosts.
#: - ``"all_to_all"``: From every host to all others in turn.
#: - :class:`Matrix`: Pairs drawn with the weights of a matrix: a CSV file
#:   `source,destination,weight` with a header, or the name of a bundled matrix.
Pattern: TypeAlias = Literal["uniform", "permutation", "all_to_all"] | Incast | Stride | Matrix
_Pattern = {"incast": Incast, "stride": Stride, "matrix": Matrix}


@dataclass
class Fixed(Values):
    """All flows have the same size. Or: All packets have the same size."""

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
    """From a CDF: a CSV file `bytes,cdf` (interpolated linearly), or the name of a bundled CDF."""

    _key: ClassVar[str] = "cdf"
    _bare: ClassVar[bool] = True

    value: str


@dataclass
class CdfPoints(Values):
    """Only the sizes of a CDF's points, from such a file or a bundled one: the next larger one of
    the interpolated size. Opera's simulations draw sizes in this way (NSDI 2020, section 5).
    """

    _key: ClassVar[str] = "cdf_points"
    _bare: ClassVar[bool] = True

    value: str


#: Distribution of the bytes of a flow.
#:
#: - :class:`Fixed`: All flows have the same size.
#: - :class:`Exponential`: Exponential with this mean, at least 1 B.
#: - :class:`Cdf`: From a CDF: a CSV file `bytes,cdf` (interpolated linearly), or the name of a
#:   bundled CDF.
#: - :class:`CdfPoints`: Only the sizes of a CDF's points, from such a file or a bundled one: the
#:   next larger one of the interpolated size. Opera's simulations draw sizes in this way (NSDI
#:   2020, section 5).
Sizes: TypeAlias = Fixed | Exponential | Cdf | CdfPoints
_Sizes = {"fixed": Fixed, "exponential": Exponential, "cdf": Cdf, "cdf_points": CdfPoints}

#: Sizes of the packets of a flow: IP packets, including headers.
#:
#: - ``"mtu"``: As large as the MTU allows.
#: - :class:`Fixed`: All packets have the same size.
#: - ``"bimodal"``: 40 B with probability 0.4, else 1500 B.
#: - ``"facebook_web"``: A Facebook web server: median about 150 B, 15 % at 1500 B (Roy et al.,
#:   SIGCOMM 2015).
#: - ``"alternating"``: 1500 B and 40 B in turn, for each flow from its first packet; the worst case
#:   for timeslots.
#: - ``"single"``: One packet per flow, however large; for queueing theory.
PacketMix: TypeAlias = Literal["mtu", "bimodal", "facebook_web", "alternating", "single"] | Fixed
_PacketMix = {"fixed": Fixed}


@dataclass(kw_only=True)
class Poisson(Values):
    """Flows that arrive as a Poisson process."""

    _key: ClassVar[str] = "poisson"

    _reads: ClassVar[dict[str, str]] = {"pattern": "_Pattern", "sizes": "_Sizes", "packets": "_PacketMix"}

    load: float
    """Load: wire bytes as a share of the rate of the hosts' links, if datagrams fill the MTU of the
    fabric. It is the mean over receivers, or the load of the single receiver of an incast. A matrix
    is scaled so that its most loaded host link has this load.
    """
    pattern: Pattern = "uniform"
    """Sources and destinations of the flows."""
    sizes: Sizes
    """Distribution of the bytes of a flow."""
    packets: PacketMix = "mtu"
    """Sizes of the packets of a flow; datagrams and raw frames only."""


@dataclass(kw_only=True)
class Flows(Values):
    """A list of flows: CSV or Parquet with the columns `start_ps`, `source`, `destination`,
    `size_bytes`.
    """

    _key: ClassVar[str] = "flows"

    file: str
    """File relative to the scenario."""


@dataclass(kw_only=True)
class Shuffle(Values):
    """Every host sends `bytes` to every other host, starting at time zero."""

    _key: ClassVar[str] = "shuffle"

    bytes: Bytes
    """Bytes for each pair."""
    jitter: Duration = "0 ps"
    """Flows start at random times in `[0, jitter)`."""
    in_turn: bool = False
    """Send to one destination at a time: first to the next host, then to the one after it, and so on.
    A flow starts when the host's previous flow has completed, so start times depend on the scheme.
    """


@dataclass(kw_only=True)
class Coflows(Values):
    """Coflows of a trace in the format of the Coflow benchmark; racks are hosts."""

    _key: ClassVar[str] = "coflows"

    file: str
    """File relative to the scenario, or a bundled name (`fb2010`)."""
    max_flows: int | None = None
    """Maximum number of flows across the fabric; larger coflows are skipped."""
    time_scale: float = 1.0
    """Factor for arrival times."""
    byte_scale: float = 1.0
    """Factor for sizes; at least 1 B remains."""
    jitter: Duration = "0 ps"
    """Flows start at random times in `[0, jitter)` after their coflow, because mappers do not all end
    at the same picosecond.
    """
    blocks: int | None = None
    """Number of equal blocks of time into which the trace is cut. Each seed draws as many of them,
    with repetition, and joins them, so that seeds vary the traffic (a block bootstrap); default:
    n^(2/3) for n coflows. `1` replays the trace as it is, for every seed.
    """


#: Operation among a group of ranks.
#:
#: - ``"all_reduce"``: All ranks get the sum of all buffers.
#: - ``"all_gather"``: All ranks get the pieces of all ranks.
#: - ``"reduce_scatter"``: Each rank gets a piece of the sum.
#: - ``"all_to_all"``: Each rank gets a piece from every rank.
#: - ``"broadcast"``: All ranks get the buffer of the first rank.
Collective: TypeAlias = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"]

#: Algorithm that decomposes a collective into transfers.
#:
#: - ``"ring"``: Ring: each rank sends piece by piece to the next (Patarasuk and Yuan, JPDC 2009).
#: - ``"halving_doubling"``: Exchange with ranks that differ in one bit, with half or twice the data
#:   each time (Thakur, Rabenseifner and Gropp, IJHPCA 2005); the number of ranks is a power of two.
#:   An all-to-all exchanges half of the buffer each time; a broadcast uses a binomial tree.
#: - ``"tree"``: Up a binary tree to its root and down again, piece by piece; not for all-to-all.
#: - ``"direct"``: From every rank to every rank at once.
CollectiveAlgorithm: TypeAlias = Literal["ring", "halving_doubling", "tree", "direct"]


@dataclass(kw_only=True)
class CollectiveWorkload(Values):
    """A collective among all hosts, or among several groups at the same time. A rank sends as soon
    as it has received the data that it needs.
    """

    _key: ClassVar[str] = "collective"

    operation: Collective
    """Operation of the collective."""
    algorithm: CollectiveAlgorithm = "ring"
    """Algorithm."""
    bytes: Bytes
    """Size of the whole buffer. It is what each rank has before an all-reduce, a reduce-scatter or an
    all-to-all, and after an all-gather or a broadcast. It is cut into as many pieces as a group has
    ranks; their sizes differ by at most one byte.
    """
    group: int | None = None
    """Ranks per group; default: all hosts. The number of hosts has to be a multiple of `group` times
    `stride`.
    """
    stride: int = 1
    """Distance between the hosts of two consecutive ranks of a group."""
    steps: int = 1
    """Number of repetitions. Each is a step, which starts when all groups have finished the one
    before.
    """
    compute: Duration = "0 ps"
    """Computation time of each rank at the start of a step."""


@dataclass(kw_only=True)
class CollectiveAlgorithms(Values):
    """Algorithms of the collectives of a trace."""

    all_reduce: CollectiveAlgorithm = "ring"
    """Algorithm of all-reduce."""
    all_gather: CollectiveAlgorithm = "ring"
    """Algorithm of all-gather."""
    reduce_scatter: CollectiveAlgorithm = "ring"
    """Algorithm of reduce-scatter."""
    all_to_all: CollectiveAlgorithm = "direct"
    """Algorithm of all-to-all."""
    broadcast: CollectiveAlgorithm = "tree"
    """Algorithm of broadcast."""


@dataclass(kw_only=True)
class Chakra(Values):
    """A Chakra execution trace: one file per rank, length-delimited protobuf. Rank `r` is host
    `r`. A node starts when all its dependencies are complete. A send is complete when all its
    data has arrived, and a receive when its send is. The n-th send to a rank with a tag belongs
    to the n-th receive there. Computations take their `duration_micros`, and do not delay other
    computations of the same rank.
    """

    _key: ClassVar[str] = "chakra"

    _reads: ClassVar[dict[str, str]] = {"algorithms": "CollectiveAlgorithms"}

    prefix: str
    """Common prefix of the files, relative to the scenario: `PREFIX.0.et`, `PREFIX.1.et`, ..."""
    ranks: int | None = None
    """Expected number of ranks; default: the number of files."""
    algorithms: CollectiveAlgorithms = field(default_factory=CollectiveAlgorithms)
    """Algorithms of the collectives."""
    steps: int = 1
    """Number of repetitions; each starts when the one before is complete."""
    time_scale: float = 1.0
    """Factor for computation times."""
    byte_scale: float = 1.0
    """Factor for sizes; at least 1 B remains of sizes that are not zero."""


@dataclass(kw_only=True)
class Simai(Values):
    """A SimAI training workload: one layer per line, with computation times and collectives of the
    forward pass, the input gradient and the weight gradient. Hosts are ranks. With a
    tensor-parallel size of T (from the file), host `h` belongs to tensor group `h / T`, whose
    ranks are adjacent, and to data group `h % T`, whose ranks are T apart. Collectives of the
    forward pass and of input gradients run in the tensor groups, those of weight gradients in
    the data groups. All collectives of layers in `across` run in the data groups. Suffixes
    `_EP` and `_DP_EP` of a collective's name select the expert groups.
    """

    _key: ClassVar[str] = "simai"

    _reads: ClassVar[dict[str, str]] = {"algorithms": "CollectiveAlgorithms"}

    file: str
    """File relative to the scenario, or a bundled name (`gpt_13b`, `llama_7b`)."""
    across: list[str] = field(default_factory=list)
    """Names of layers whose collectives all run in the data groups. In files of AICB these are the
    layers of gradients and parameters: `grad_norm`, `layernorm` and `embedding_norm`.
    """
    layers: int | None = None
    """Number of layers to keep of each name that occurs several times; default: all. Layers in
    `across` are scaled by the share of bytes and times that is kept.
    """
    algorithms: CollectiveAlgorithms = field(default_factory=CollectiveAlgorithms)
    """Algorithms of the collectives."""
    steps: int = 1
    """Number of training steps, one after the other."""
    time_scale: float = 1.0
    """Factor for computation times."""
    byte_scale: float = 1.0
    """Factor for sizes; at least 1 B remains of sizes that are not zero."""


#: Traffic between the hosts.
#:
#: - :class:`Poisson`: Flows that arrive as a Poisson process.
#: - :class:`Flows`: A list of flows from a file.
#: - :class:`Shuffle`: Every host sends the same amount to every other host.
#: - :class:`Coflows`: Coflows from a trace: groups of flows, each complete when its last flow is.
#: - :class:`CollectiveWorkload`: A collective of AI training: transfers that depend on each other.
#: - :class:`Chakra`: A Chakra execution trace: computations, sends, receives and collectives that
#:   depend on each other.
#: - :class:`Simai`: A SimAI training workload: layers with computations and collectives.
Workload: TypeAlias = Poisson | Flows | Shuffle | Coflows | CollectiveWorkload | Chakra | Simai
_Workload = {"poisson": Poisson, "flows": Flows, "shuffle": Shuffle, "coflows": Coflows, "collective": CollectiveWorkload, "chakra": Chakra, "simai": Simai}


@dataclass(kw_only=True)
class Window(Values):
    """Measurement. A flow counts if it arrives in `[warmup, warmup + measure)`."""

    warmup: Duration = "0 ps"
    """Flows that arrive earlier are simulated but not counted."""
    measure: Duration | None = None
    """Length of the measured interval; default: until the workload ends, which a Poisson workload
    never does.
    """
    drain: Duration | None = None
    """Time that the run continues after the measured interval; flows that are still active then count
    as unfinished. Arrivals continue during the drain to keep up the load. Default: arrivals end
    with the measured interval, and the run ends when every flow has finished.
    """


#: Begin of a packet's time in the network. It ends with the packet's last bit at its destination.
#:
#: - ``"host"``: Its first bit leaves the host.
#: - ``"first_switch"``: Its last bit arrives at the first switch, which leaves out the host's own
#:   link.
LatencyFrom: TypeAlias = Literal["host", "first_switch"]


@dataclass(kw_only=True)
class Record(Values):
    """Data to record."""

    queues_every: Duration | None = None
    """Interval at which the lengths of all queues that are not empty are sampled."""
    received_every: Duration | None = None
    """Interval at which the bytes that each host has received are sampled."""
    tcp_every: Duration | None = None
    """Interval at which the congestion window and the round-trip times of each TCP sender are sampled.
    """
    latency: bool = False
    """Record the time that each packet spends in the network."""
    latency_from: LatencyFrom = "host"
    """Begin of that time."""
    rtt: bool = False
    """Record the round-trip time of each TCP segment."""
    round_trips: bool = False
    """Record round-trip times of TCP by three readings, and over time with `tcp_every`: of each
    segment; one per acknowledgement of new data, and none of segments that were sent again, as a
    sender without SACK measures them; and until a segment is delivered in order.
    """
    grants: bool = False
    """Record what hosts were granted by plans of rates or timeslots: each change of a pair's rate, and
    each timeslot as a slot. Slots and circuits are always recorded.
    """
    signals: bool = False
    """Record when each control frame arrives at its host, what it opens or closes, and when the host
    obeys, under plans with `signals`.
    """
    capture: list[str] = field(default_factory=list)
    """Capture points. The frames at each are written to a file in the folder of the run, such as
    `host-3.pcapng`, for Wireshark and similar tools. `host 3` captures what this host sends and
    receives, data and control messages. `link 5` captures one direction of a wire, by its number in
    the table `links`. `controller 0` captures the messages of a controller; higher numbers are the
    standby, then the relays. Captures do not change the run.
    """


@dataclass
class FailedWire(Values):
    """A wire, in both directions, by its number from 0. Wires of hosts come first, in the order of
    the hosts. Wires between switches follow, switch by switch from the lower end (in a fat tree
    pod by pod); wires of a graph follow in the order of the file. Wire `k` is links `2k` and
    `2k + 1` in the results.
    """

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
    """A switch with all that it buffers, but not its wires, by its number from 0; switches nearest
    to the hosts come first.
    """

    _key: ClassVar[str] = "switch"
    _bare: ClassVar[bool] = True

    value: int


@dataclass
class FailedHost(Values):
    """A host: it sends and receives nothing, grants included. Datagrams and raw frames of its
    flows wait; TCP segments are lost.
    """

    _key: ClassVar[str] = "host"
    _bare: ClassVar[bool] = True

    value: int


@dataclass
class FailedRelay(Values):
    """A relay of a TDMA plan (`plan.tdma.controllers`), by its number from 0. Its hosts get no
    slots while it is down. It keeps no state, so another machine may take its place.
    """

    _key: ClassVar[str] = "relay"
    _bare: ClassVar[bool] = True

    value: int


#: Element that can fail.
#:
#: - :class:`FailedWire`: A wire, in both directions, by its number from 0. Wires of hosts come
#:   first, in the order of the hosts. Wires between switches follow, switch by switch from the
#:   lower end (in a fat tree pod by pod); wires of a graph follow in the order of the file. Wire
#:   `k` is links `2k` and `2k + 1` in the results.
#: - :class:`FailedWires`: All wires between two nodes. Hosts are nodes from 0, switches follow.
#: - :class:`FailedSwitch`: A switch with all that it buffers, but not its wires, by its number from
#:   0; switches nearest to the hosts come first.
#: - :class:`FailedHost`: A host: it sends and receives nothing, grants included. Datagrams and raw
#:   frames of its flows wait; TCP segments are lost.
#: - ``"controller"``: The controller of a plan. It recovers without state and grants nothing before
#:   its predecessor's grants have ended. With a standby (`plan.tdma.standby`), it recovers as a
#:   follower.
#: - ``"standby"``: The standby controller of a TDMA plan. It recovers as a follower, or leads if it
#:   hears no other controller.
#: - :class:`FailedRelay`: A relay of a TDMA plan (`plan.tdma.controllers`), by its number from 0.
#:   Its hosts get no slots while it is down. It keeps no state, so another machine may take its
#:   place.
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
    """An element that fails at a given time in every run. Packets on it, in it or queued for it
    are lost, and so are packets that reach it until it recovers. It recovers empty. Failures of
    the same element may overlap; it works while none of them lasts.
    """

    _reads: ClassVar[dict[str, str]] = {"element": "_Element"}

    element: Element
    """Element that fails."""
    at: Duration
    """Time of the failure, from the start of the run."""
    until: Duration | None = None
    """Time of the recovery; default: never."""
    detection: Duration = "1 ms"
    """Delay until the rest of the network knows of the failure, and of the recovery. Switches then
    choose other paths, and controllers replan; pairs without a path get no slots and no rates.
    """


@dataclass
class ChangedWire(Values):
    """One wire, by its number, as in `failure`."""

    _key: ClassVar[str] = "wire"
    _bare: ClassVar[bool] = True

    value: int


@dataclass
class ChangedWires(Values):
    """All wires between two nodes. Hosts are nodes from 0, switches follow."""

    _key: ClassVar[str] = "between"
    _bare: ClassVar[bool] = True

    value: tuple[int, int]


#: Wires that change.
#:
#: - :class:`ChangedWire`: One wire, by its number, as in `failure`.
#: - :class:`ChangedWires`: All wires between two nodes. Hosts are nodes from 0, switches follow.
#: - ``"all"``: All wires of the fabric.
Wires: TypeAlias = Literal["all"] | ChangedWire | ChangedWires
_Wires = {"wire": ChangedWire, "between": ChangedWires}


@dataclass(kw_only=True)
class Change(Values):
    """Wires whose rate changes at given times in every run, in both directions. A packet that is
    being sent finishes at its old rate; packets that wait are sent at the new rate. No packet
    is lost. Buffers keep their bytes and measure delay at the current rate. If several tables
    change one wire, the last change holds; of changes at the same time, the one that is last in
    the file.
    """

    _reads: ClassVar[dict[str, str]] = {"wires": "_Wires"}

    wires: Wires
    """Wires that change."""
    at: Duration
    """Time of the first rate, from the start of the run."""
    rates: list[Rate]
    """Rates in order. None may exceed the rate in the fabric, so that ideal times and bounds hold.
    """
    every: Duration | None = None
    """Time from one rate to the next; after the last rate the first follows again, for the whole run.
    Default: one rate that lasts.
    """
    notice: Duration = "0 ps"
    """Time by which the TDMA controller knows of each change in advance. Slots then end before the
    change and continue after it, at the rates of their time. At 0 the controller learns of the
    change when it happens, and slots that are already granted stay as they are.
    """


#: Packets that a host can pause.
#:
#: - ``"data"``: Datagrams, and all segments of TCP with payload or SYN from the sender of a flow.
#: - ``"acknowledgements"``: Acknowledgements of TCP.
#: - ``"both"``: All packets.
PausedPackets: TypeAlias = Literal["data", "acknowledgements", "both"]


@dataclass(kw_only=True)
class Pause(Values):
    """Hosts that start no packets of a kind during given times, in every run. Packets wait in the
    hosts' interfaces; none is lost, and a frame that has begun finishes. Packets of the other
    kind pass those that wait. If several tables pause a host, it waits for all of them. Ideal
    times know no pauses. Source of the experiment: REACToR (NSDI 2014), figure 6.
    """

    hosts: list[int] | None = None
    """Hosts that pause, by their numbers from 0; default: all."""
    what: PausedPackets
    """Packets that wait."""
    at: Duration = "0 ps"
    """Start of the first pause, from the start of the run; default: 0."""
    closed: Duration
    """Length of a pause."""
    open: Duration | None = None
    """Time from the end of a pause to the start of the next one, at least 1 us; then pauses repeat for
    the whole run. Default: one pause.
    """


@dataclass(kw_only=True)
class Datagrams(Values):
    """Open-loop UDP datagrams with 28 B of headers; lost datagrams stay lost."""

    _key: ClassVar[str] = "datagrams"


@dataclass(kw_only=True)
class Raw(Values):
    """Raw frames with end-to-end repair."""

    _key: ClassVar[str] = "raw"

    header: Bytes = "16 B"
    """Bytes of each frame's payload that identify its flow and offset."""
    report_every: Duration = "10 ms"
    """Time between two reports of a receiver that misses frames. It reports a loss at once, or after
    `reordering`.
    """
    reordering: Duration | None = None
    """How long a frame may come after those sent later, before its receiver reports a loss; default:
    the period of `plan.circuits`, where frames by circuit overtake those by packet switch, else
    zero.
    """


#: Set of defaults for TCP.
#:
#: - ``"rfc"``: RFC 5681, 6298, 6675 and the control's own RFC, without later improvements.
#: - ``"linux"``: Linux: its timeout, growth only of windows that limit, HyStart++, RACK-TLP, PRR,
#:   F-RTO and a receive window that grows.
#: - ``"datacenter"``: As `linux`, with a minimum timeout of 5 ms, and ECN where switches mark.
TcpPreset: TypeAlias = Literal["rfc", "linux", "datacenter"]

#: Congestion control of TCP.
#:
#: - ``"new_reno"``: NewReno: halves at a loss, grows by a segment per round trip (RFC 5681, 6582).
#: - ``"cubic"``: CUBIC: grows by the cube of the time since the last loss (RFC 9438).
#: - ``"dctcp"``: DCTCP: reduces by the share of marked bytes (RFC 8257).
#: - ``"bbr"``: BBR version 1: a model of the path's rate and round trip; it always paces (Cardwell,
#:   2016).
#: - ``"bbr3"``: BBR version 3: version 1 with bounds from losses, and rarer probes alongside CUBIC
#:   (draft-ietf-ccwg-bbr-06).
Congestion: TypeAlias = Literal["new_reno", "cubic", "dctcp", "bbr", "bbr3"]

#: How the retransmission timeout follows from round-trip times.
#:
#: - ``"rfc"``: SRTT + 4 RTTVAR, at least the minimum (RFC 6298).
#: - ``"linux"``: SRTT and the larger of 4 RTTVAR and the minimum, where RTTVAR falls by at most a
#:   quarter per round trip (`tcp_rtt_estimator` of Linux).
RtoRule: TypeAlias = Literal["rfc", "linux"]


@dataclass(kw_only=True)
class DelayedAck(Values):
    """How long a receiver delays acknowledgements (RFC 5681, section 4.2)."""

    segments: int = 2
    """Number of segments per acknowledgement; RFC 5681 allows 2, and 1 acknowledges each segment.
    """
    timeout: Duration = "1 ms"
    """Longest delay after the first unacknowledged segment. RFC 5681 allows 500 ms; Linux uses 40 ms
    or more.
    """


@dataclass(kw_only=True)
class Tcp(Values):
    """TCP with SACK (RFC 2018, 6675) and 40 B of headers, or 52 B with timestamps."""

    _key: ClassVar[str] = "tcp"

    _reads: ClassVar[dict[str, str]] = {"delayed_ack": "DelayedAck"}

    preset: TcpPreset | None = None
    """Set of defaults for the keys whose description names presets; default: `linux`."""
    congestion: Congestion = "cubic"
    """Congestion control."""
    initial_window: int = 10
    """Initial window in segments (RFC 6928)."""
    min_rto: Duration | None = None
    """Minimum retransmission timeout: 1 s in RFC 6298, 200 ms in Linux. Default: 200 ms; 5 ms in
    preset `datacenter`.
    """
    rto: RtoRule | None = None
    """Rule by which the retransmission timeout follows from round-trip times; default: `rfc`, in other
    presets `linux`.
    """
    delayed_ack: DelayedAck = field(default_factory=DelayedAck)
    """Delayed acknowledgements."""
    sack: bool = True
    """Use selective acknowledgements."""
    timestamps: bool = False
    """Add timestamps of 12 B to all headers (RFC 7323), so that round trips are measured after
    repetitions too, and needless repetitions show earlier (RFC 3522). Their clock ticks each
    millisecond, as in Linux. Off in all presets; Linux has them on.
    """
    ecn: bool | None = None
    """Ask switches to mark packets instead of dropping them (RFC 3168); DCTCP always does. Default:
    false; true in preset `datacenter`, except for version 1 of BBR.
    """
    pacing: bool = False
    """Spread each window over its round trip."""
    hystart: bool | None = None
    """Let CUBIC and NewReno leave slow start when round trips lengthen, before a loss (HyStart++, RFC
    9406). Default: false in preset `rfc`, true in others.
    """
    limited_growth: bool | None = None
    """Grow the window only while it limits the sender, as in Linux. Otherwise it also grows while
    three quarters of it are in use. Default: false in preset `rfc`, true in others.
    """
    byte_counting: bool | None = None
    """Let NewReno and DCTCP count acknowledged bytes instead of acknowledgements, which may be delayed
    (RFC 3465). Default: false in preset `rfc`, true in others.
    """
    w_max_from_cwnd: bool | None = None
    """Let CUBIC return to the window before a loss instead of the bytes then in flight (RFC 9438,
    section 4.6). Default: false in preset `rfc`, true in others.
    """
    prr: bool | None = None
    """Spread the reduction of a window over a round trip, after losses (proportional rate reduction,
    RFC 9937) and after marks, as Linux does. Default: false in preset `rfc` and without SACK, true
    otherwise.
    """
    f_rto: bool | None = None
    """Recognize timeouts without a loss, and undo their effect (F-RTO, RFC 5682). Default: false in
    preset `rfc`, true in others.
    """
    rack: bool | None = None
    """Find losses by the time of sending instead of by counts, with a window for reordering that
    adapts (RACK, RFC 8985). Default: false in preset `rfc` and without SACK, true otherwise.
    """
    tail_loss_probe: bool | None = None
    """Ask for an acknowledgement after two silent round trips, so that a loss at the end of a flight
    needs no timeout (RFC 8985, section 7). Default: as `rack`.
    """
    handshake: bool = True
    """Open each flow with SYN and SYN-ACK, which count in its completion time."""
    receive_window: Bytes | None = None
    """Receive window, or the most of one that grows. Default: 3 MB for one that grows, about half of
    the buffer in Linux (`net.ipv4.tcp_rmem`); unlimited otherwise.
    """
    window_growth: bool | None = None
    """Start with a receive window of 64 KiB, and enlarge it while more arrives in a round trip.
    Default: false in preset `rfc`, true in others.
    """


#: Choice of the path of each packet.
#:
#: - ``"permutation"``: The sender uses all equal paths in turn, each round in another random order.
#: - ``"hash"``: Each packet takes a path by a hash of its own.
Spray: TypeAlias = Literal["permutation", "hash"]


@dataclass(kw_only=True)
class Ndp(Values):
    """NDP: receivers pull packets at the rate of their links, and switches cut packets down to
    their headers. A sender sends its window at once. The switches of the scheme hold few
    packets; the memory and the marking of `fabric.switch` do not apply to them. A packet that
    finds its queue full loses its payload. Its header goes on before all data, with
    acknowledgements and pulls. Headers have 46 B: frames of 64 B on an Ethernet, 84 B with
    preamble and pause. Each packet that arrives lets the receiver send one pull later, which
    asks for one packet more. A host sends its pulls at the rate of full packets on its link,
    flow by flow in turn.
    """

    _key: ClassVar[str] = "ndp"

    window: int = 30
    """Packets that a sender sends before it hears of the receiver. A flow has its full rate if they
    take at least a round trip to send.
    """
    queue: int = 8
    """Data packets that wait at a port of a switch, besides the one that is sent. The packet that
    comes next is cut, or the last one in the queue, with equal probability.
    """
    headers: int = 1125
    """Headers, acknowledgements and pulls that wait at a port of a switch; further ones are lost.
    While data waits too, ten of them leave for each data packet. By default they take as much
    memory as 8 packets of 9 kB.
    """
    rto: Duration = "1 ms"
    """How long a sender waits for an answer to a packet before it repeats it. It doubles with each
    timeout in a row. Timeouts come from lost headers, bit errors and failures only, unless
    `nic.discipline` lets packets wait in their host for as long.
    """
    spray: Spray = "permutation"
    """Choice of the path of each packet."""


#: Transport of flows.
#:
#: - :class:`Datagrams`: Open-loop UDP datagrams with 28 B of headers; lost datagrams stay lost.
#: - :class:`Raw`: Raw frames with end-to-end repair: receivers report missing frames, senders
#:   resend them.
#: - :class:`Tcp`: TCP.
#: - :class:`Ndp`: NDP: receivers pull packets, and switches cut packets that find a full queue to
#:   their headers.
Transport: TypeAlias = Datagrams | Raw | Tcp | Ndp
_Transport = {"datagrams": Datagrams, "raw": Raw, "tcp": Tcp, "ndp": Ndp}

#: Choice of packets among paths of equal cost.
#:
#: - ``"flow"``: All packets of a flow take one path, chosen by a hash.
#: - ``"packet"``: Each packet takes its own path, chosen by a hash of flow and sequence number.
Ecmp: TypeAlias = Literal["flow", "packet"]

#: Order in which queues send.
#:
#: - ``"fifo"``: The packet that arrived first.
#: - ``"round_robin"``: Destinations in turn.
#: - ``"fair_queue"``: Flows in turn, and acknowledgements first, as with `fq` of Linux. A flow
#:   hands over a segment when it is its turn (TCP small queues), so no window waits in the
#:   interface. Where a plan opens gates, reports count the segments that windows allow.
#: - ``"control_first"``: What has no payload first, such as acknowledgements and pulls, then
#:   retransmissions, then other data, each in the order of arrival. Opera's simulated hosts do so.
#:   Where a plan opens gates, all packets for a destination leave in the order of arrival.
Discipline: TypeAlias = Literal["fifo", "round_robin", "fair_queue", "control_first"]


@dataclass(kw_only=True)
class Nic(Values):
    """Network interface of a host."""

    discipline: Discipline | None = None
    """Order in which a host sends. Where a plan opens gates, it holds for the packets of each
    destination. Default: `fair_queue` for NDP and for TCP with another preset than `rfc`, `fifo`
    otherwise.
    """
    burst: Bytes = "0 B"
    """Segmentation offload: the interface takes packets of one queue in bursts of at most this many
    bytes and sends each burst back to back. With `fair_queue`, a flow's turn is at least this long.
    """


@dataclass(kw_only=True)
class LatencyTimes(Values):
    """Bounds of the times of a host for a packet."""

    _key: ClassVar[str] = "times"

    send_least: Duration
    """Minimum time to send."""
    send_most: Duration
    """Maximum time to send."""
    receive_least: Duration
    """Minimum time to receive."""
    receive_most: Duration
    """Maximum time to receive."""


#: Time of a host for a packet: from its queues to the wire when it sends, and from the wire to the
#: transport when it receives. Each packet draws its times, uniform between two bounds, and packets
#: never overtake each other. Hosts work on many packets at once, so the rate stays that of the
#: link. Gates are in front of the sending time, as they are in programs: slots lag, and the guard
#: time has to cover the variation. Control messages and repair reports have latencies of their own.
#: Ideal times and bounds are those of the network, without hosts, so that all schemes are measured
#: on one scale.
#:
#: - ``"none"``: Hosts pass packets on at once.
#: - ``"kernel"``: Sockets of an operating system: 17.5 to 47 us in each direction. Rumble et al.
#:   ("It's Time for Low Latency", HotOS 2011, table 1) have 15 us for its network stack and 2.5 to
#:   32 us for network interfaces. Their range is taken as the bounds of one host.
#: - ``"bypass"``: A program that reads and writes the interface without the kernel: 2.5 us to send,
#:   the fastest interface of Rumble et al., and 5 us to receive, as Practical TDMA has it (section
#:   5.3).
#: - :class:`LatencyTimes`: Measured times.
HostLatency: TypeAlias = Literal["none", "kernel", "bypass"] | LatencyTimes
_HostLatency = {"times": LatencyTimes}


@dataclass(kw_only=True)
class HostSpec(Values):
    """Hosts of a scheme."""

    _reads: ClassVar[dict[str, str]] = {"latency": "_HostLatency"}

    latency: HostLatency = "none"
    """Time of a host for each packet of data and each acknowledgement."""


#: Algorithm that plans the slots of a round.
#:
#: - ``"weighted_round_robin"``: Pairs in turn, in proportion to their backlog; a fixed demand takes
#:   the fewest slots (Practical TDMA, Bhanu Vattikonda et al., EuroSys 2012).
#: - ``"conflict_free"``: Pairs with explicit paths on any fabric; mixed link rates, and small
#:   senders share slots (Practical TDMA, Bhanu Vattikonda et al., EuroSys 2012).
TdmaScheduler: TypeAlias = Literal["weighted_round_robin", "conflict_free"]

#: Algorithm that a program has registered, such as one in Python: its name, or a table of its name
#: and its parameters, `{ name = "mine", depth = 3 }`. All keys besides `name` are handed to its
#: constructor.
OwnAlgorithm: TypeAlias = str | dict[str, Any]


@dataclass(kw_only=True)
class ControlNetwork(Values):
    """Ports of the control network."""

    _key: ClassVar[str] = "network"

    host_rate: Rate = "10 Gb/s"
    """Rate of a host's port."""
    controller_rate: Rate = "100 Gb/s"
    """Rate of the port of each controller, standby and relay."""


@dataclass(kw_only=True)
class InBand(Values):
    """Place of the controller in the fabric."""

    _key: ClassVar[str] = "in_band"

    controller: int
    """Number of the host that also runs the controller. `control_latency` is then the time that both
    ends take to handle a message; links add theirs.
    """


#: Path of the messages between a controller and its hosts, and of the repair reports of `raw`.
#:
#: - :class:`ControlNetwork`: Network of their own with a port for each host and each controller.
#:   Messages leave a port one after the other and arrive one after the other.
#: - :class:`InBand`: Links of the fabric, where control frames go before all data that has not
#:   started.
#: - ``"unlimited"``: Network of their own whose ports take no time.
ControlSpec: TypeAlias = Literal["unlimited"] | ControlNetwork | InBand
_ControlSpec = {"network": ControlNetwork, "in_band": InBand}


@dataclass(kw_only=True)
class ReceiveSpec(Values):
    """Receive buffer of a host and the application that empties it. Frames that do not fit are
    lost.
    """

    buffer: Bytes
    """Capacity in bytes on the wire."""
    drain: Rate
    """Rate at which the application empties the buffer, on the wire."""


@dataclass(kw_only=True)
class BackgroundSpec(Values):
    """Share of the network for short flows, which do not wait for slots. Each host sends its short
    flows at once, in order of arrival, at this rate. Slots run at the link rate less this rate.
    No link is overloaded while the short flows to each host and across each inner link stay
    within the share. If several hosts exceed it for a while by sending to one host, packets of
    slots queue behind short flows in switches. The queue holds the excess and drains in the
    next pause. A bounded switch buffer must hold that much, or frames are lost.
    """

    rate: Rate
    """Rate on each link, on the wire."""
    below: Bytes
    """Largest size of a short flow."""


@dataclass(kw_only=True)
class Times(Values):
    """Time from a control frame's arrival until it takes effect; uniform between two bounds."""

    _key: ClassVar[str] = "times"

    off_least: Duration
    """Minimum time until no more frames start."""
    off_most: Duration
    """Maximum time until no more frames start."""
    on_least: Duration
    """Minimum time until frames start again."""
    on_most: Duration
    """Maximum time until frames start again."""


#: Time until a host reacts to a control frame. A frame that is being sent always finishes.
#:
#: - ``"immediate"``: No delay.
#: - ``"interface"``: An interface that implements 802.3x in hardware: 2 to 6 us (Practical TDMA,
#:   figure 1).
#: - ``"user_space"``: A program that parses PFC frames and opens queues: 147.5 to 152.5 us.
#:   Practical TDMA (section 3.2.4) has averages of 100 to 200 us for most frame sizes with a low
#:   variation; the spread is that of a host's interface there, about 5 us. For another one, give
#:   `times`.
#: - ``"intel_82599"``: The interface of REACToR's hosts (section 4.2). No frame starts later than
#:   1,014 ns after the control frame, so one more frame may follow the current one. Sending resumes
#:   after 1.2 to 1.3 us.
#: - :class:`Times`: Measured times.
Reaction: TypeAlias = Literal["immediate", "interface", "user_space", "intel_82599"] | Times
_Reaction = {"times": Times}

#: Interfaces of the controller. Control frames of one interface are sent one after the other.
#:
#: - ``"one"``: One interface.
#: - ``"per_edge_switch"``: One interface for each switch with hosts.
Interfaces: TypeAlias = Literal["one", "per_edge_switch"]


@dataclass(kw_only=True)
class SignalSpec(Values):
    """PFC frames that open and close the hosts' gates: how they are sent, and how fast hosts
    react.
    """

    _reads: ClassVar[dict[str, str]] = {"reaction": "_Reaction"}

    reaction: Reaction = "interface"
    """Time from a frame's arrival at a host until it takes effect."""
    frame_gap: Duration = "0 ps"
    """Minimum time between two control frames of one interface: the cost of sending one."""
    interfaces: Interfaces = "one"
    """Number of interfaces of the controller."""
    hold: Duration = "3.355 ms"
    """Longest time that a frame opens a gate without another frame. A pause time of IEEE 802.3x is at
    most 65,535 quanta of 512 bits, or 3.36 ms at 10 Gb/s.
    """


@dataclass(kw_only=True)
class StandbySpec(Values):
    """A second TDMA controller. It receives the hosts' reports and leads once it has not heard
    from the first one for a while, unless most hosts still learn of new rounds. A controller
    that recovers follows it, and so does one that hears fewer than half of the hosts. Messages
    between the two can be lost, as all control messages can.
    """

    takeover: Duration | None = None
    """Time without a heartbeat after which it takes over; heartbeats are sent twice per round. Default
    and minimum: a round, and the time of its first reports and a heartbeat, so that one heartbeat
    may be lost.
    """
    latency: Duration | None = None
    """One-way latency between the two controllers; default: `control_latency`."""


@dataclass(kw_only=True)
class ControllersSpec(Values):
    """Relays of the planning controller, for more hosts than one controller can communicate with.
    Hosts are divided into groups of equal size (up to one host), in the order of their
    switches. Each relay gathers the reports of its group and forwards their grants. With
    `signals` it sends their frames, timed by its own clock, through its own interfaces. All
    slots belong to one plan, so a lost message between controllers only costs slots of one
    group.
    """

    count: int
    """Number of relays; at most the number of hosts."""
    clock_error: Duration = "0 ps"
    """Maximum offset of a relay's clock, in either direction. With `signals`, the guard time has to be
    longer by twice this.
    """
    latency: Duration | None = None
    """One-way latency between a relay and the planning controller; default: `control_latency`."""
    loss: float | None = None
    """Probability that a message between a relay and the planning controller is lost; default:
    `control_loss`.
    """


@dataclass(kw_only=True)
class Tdma(Values):
    """Rounds of exclusive slots."""

    _key: ClassVar[str] = "tdma"

    _reads: ClassVar[dict[str, str]] = {"control": "_ControlSpec", "receive": "ReceiveSpec", "background": "BackgroundSpec", "signals": "SignalSpec", "standby": "StandbySpec", "controllers": "ControllersSpec"}

    slot: Duration = "300 us"
    """Time that the gates of a slot are open."""
    guard: Duration = "15 us"
    """Guard time between the end of a slot and the start of the next."""
    round_slots: int = 32
    """Slots per round; a round is planned as a whole."""
    scheduler: TdmaScheduler | OwnAlgorithm = "weighted_round_robin"
    """Scheduling algorithm, as `timeplane list schedulers` names it, or one that a program has
    registered.
    """
    control_latency: Duration = "20 us"
    """One-way latency between controller and hosts, besides the time on ports."""
    control_loss: float = 0.0
    """Probability that a control message is lost."""
    control: ControlSpec = field(default_factory=ControlNetwork)
    """Path of the messages between controller and hosts."""
    compute_time: Duration = "100 us"
    """Time that the scheduler computes before its grants are sent."""
    clock_error: Duration = "0 ps"
    """Maximum offset of a host's clock, in either direction."""
    clock_drift: float = 0.0
    """Maximum drift of a host's clock in parts per million; at 50, two clocks diverge by up to 100 us
    per second.
    """
    resync: Duration | None = None
    """Interval of beacons that correct the hosts' clocks to within `clock_error`; default: only once,
    at the start.
    """
    receive: ReceiveSpec | None = None
    """Receive buffers of the hosts; default: hosts receive at line rate."""
    background: BackgroundSpec | None = None
    """Share of the network that is reserved for short flows outside the slots; default: all flows wait
    for slots.
    """
    signals: SignalSpec | None = None
    """Open and close gates by PFC frames at the start and the end of each slot, instead of by the
    hosts' clocks.
    """
    standby: StandbySpec | None = None
    """Second controller, which takes over if the first one fails; default: none."""
    controllers: ControllersSpec | None = None
    """Relays, each responsible for some of the hosts; default: the controller talks to all hosts
    itself.
    """


#: Order in which pairs are matched; within a pair the oldest packet always goes first.
#:
#: - ``"ocf"``: Oldest cell first: the pair whose first packet has waited longest (SYN, German
#:   Sviridov et al., Globecom 2018).
#: - ``"srjf"``: Shortest remaining job first: the pair whose first flow has the fewest bytes left
#:   (SYN, German Sviridov et al., Globecom 2018).
#: - ``"mmf"``: Max-min fairness: the pair whose first packet has been first for longest (SYN,
#:   German Sviridov et al., Globecom 2018).
SlotMetric: TypeAlias = Literal["ocf", "srjf", "mmf"]

#: What may fill a timeslot, which is as long as one frame of the largest size.
#:
#: - ``"packet"``: One packet, however small.
#: - ``"packets"``: As many whole packets of the pair as fit.
#: - ``"fragments"``: As many packets as fit, and a part of the next one.
SlotFill: TypeAlias = Literal["packet", "packets", "fragments"]

#: Algorithm that finds paths for the packets of a timeslot. Each finds them whenever they exist.
#:
#: - ``"euler_split"``: All packets at once, by halving the slot along Euler circuits (Euler
#:   partitions, Harold Gabow, 1976).
#: - ``"paull"``: One packet at a time, exchanging colors along a path if none is free (M. C. Paull,
#:   Bell System Technical Journal, 1962).
PathColoring: TypeAlias = Literal["euler_split", "paull"]

#: Order in which the flows of one pair use its timeslots.
#:
#: - ``"metric"``: As `metric` orders pairs: under `srjf` the flow with the fewest bytes left goes
#:   first, under all others the first that came. Flows over TCP that take turns at the interface
#:   (`nic.discipline = "fair_queue"`) still do.
#: - ``"arrival"``: The first that came.
FlowOrder: TypeAlias = Literal["metric", "arrival"]


@dataclass(kw_only=True)
class Timeslots(Values):
    """Timeslots of one packet."""

    _key: ClassVar[str] = "timeslots"

    _reads: ClassVar[dict[str, str]] = {"control": "_ControlSpec"}

    slot: Duration | None = None
    """Time from the start of a slot to the start of the next; default: a frame of the MTU on a host's
    link.
    """
    metric: SlotMetric | OwnAlgorithm = "mmf"
    """Order in which pairs are matched."""
    fill: SlotFill = "packet"
    """What may fill a slot."""
    coloring: PathColoring = "euler_split"
    """Algorithm that finds the paths."""
    classes: list[Bytes] = field(default_factory=list)
    """Upper bounds of flow sizes, one for each class; smaller flows go first. Default: all flows are
    in one class.
    """
    batch: int = 1
    """Slots that are allocated together and granted in one message."""
    ahead: Duration | None = None
    """Time from the allocation of a batch to the start of its first slot; default: just enough for
    computation and delivery.
    """
    report_every: Duration = "1 ms"
    """Interval at which a host reports if it hears nothing from the controller; it also reports every
    change.
    """
    control_latency: Duration = "0 ps"
    """One-way latency between controller and hosts, besides the time on ports."""
    control_loss: float = 0.0
    """Probability that a control message is lost."""
    control: ControlSpec = field(default_factory=ControlNetwork)
    """Path of the messages between controller and hosts."""
    compute_time: Duration = "0 ps"
    """Time to allocate a batch; batches are computed in a pipeline."""
    clock_error: Duration = "0 ps"
    """Maximum offset of a host's clock, in either direction."""
    phase: Duration = "0 ps"
    """Maximum phase of a host: it starts each of its timeslots later than the plan says by a constant,
    drawn uniformly from 0 to this. By default all hosts start in the same instant, so packets that
    share a faster link meet there.
    """
    flow_order: FlowOrder = "metric"
    """Order of the flows of one pair."""


@dataclass
class Horizon(Values):
    """The rate that sends the whole backlog within this time."""

    _key: ClassVar[str] = "horizon"
    _bare: ClassVar[bool] = True

    value: Duration


@dataclass
class Arrivals(Values):
    """The arrival rate, averaged over this time, plus the rate that sends the backlog within it."""

    _key: ClassVar[str] = "arrivals"
    _bare: ClassVar[bool] = True

    value: Duration


#: Estimator of the rate that a pair requests, which is at most the rate of the link.
#:
#: - ``"backlogged"``: The rate of the link while the pair has a backlog (ASY, German Sviridov et
#:   al., Globecom 2018).
#: - :class:`Horizon`: The rate that sends the whole backlog within this time (ASY, German Sviridov
#:   et al., Globecom 2018).
#: - :class:`Arrivals`: The arrival rate, averaged over this time, plus the rate that sends the
#:   backlog within it (ASY, German Sviridov et al., Globecom 2018).
RateEstimator: TypeAlias = Literal["backlogged"] | Horizon | Arrivals
_RateEstimator = {"horizon": Horizon, "arrivals": Arrivals}

#: Algorithm that turns requested rates into rates that fit on the links of all hosts.
#:
#: - ``"scale_both"``: Scales rows and columns in turn, up and down, for the highest total
#:   (Sinkhorn) (ASY, German Sviridov et al., Globecom 2018).
#: - ``"scale_down"``: Scales rows, then columns, down only.
#: - ``"max_min"``: Max-min fairness (Data Networks, Dimitri Bertsekas and Robert Gallager, 1992,
#:   section 6.5.2).
#: - ``"proportional"``: Proportional fairness, by prices of links (Flowtune's NED) (Flowtune,
#:   Jonathan Perry et al., NSDI 2017).
RateNormalizer: TypeAlias = Literal["scale_both", "scale_down", "max_min", "proportional"]


@dataclass(kw_only=True)
class Rates(Values):
    """A rate for each pair."""

    _key: ClassVar[str] = "rates"

    _reads: ClassVar[dict[str, str]] = {"estimator": "_RateEstimator", "control": "_ControlSpec"}

    estimator: RateEstimator = "backlogged"
    """Estimator of the requested rates."""
    normalizer: RateNormalizer | OwnAlgorithm = "scale_both"
    """Algorithm that turns requested rates into feasible ones."""
    every: Duration = "10 us"
    """Minimum time between two computations, which happen on changes."""
    threshold: float = 0.0
    """Relative change of a rate that is reported to a host; 0 reports every change."""
    report_every: Duration = "1 ms"
    """Interval at which a host reports if it hears nothing from the controller; it also reports every
    change. Rates expire after ten intervals.
    """
    control_latency: Duration = "0 ps"
    """One-way latency between controller and hosts, besides the time on ports."""
    control_loss: float = 0.0
    """Probability that a control message is lost."""
    control: ControlSpec = field(default_factory=ControlNetwork)
    """Path of the messages between controller and hosts."""
    compute_time: Duration = "0 ps"
    """Time of a computation."""
    depth: int = 1
    """Depth of a pair's leaky bucket in packets. A packet that others of its interface have delayed
    lets the next ones catch up by less than this; what a bucket has missed beyond is lost. 1 keeps
    to the rate closely, and loses part of it at high load. Daemons have a depth of 4 ms instead,
    see `timeplane live`.
    """


#: Algorithm that schedules the circuits. All keep to the period, the least open time and the limit
#: on configurations, and circuits that stay up cost no dark time.
#:
#: - ``"solstice"``: Long configurations first; the packet switch takes the rest (Solstice, He Liu
#:   et al., CoNEXT 2015).
#: - ``"solstice_refined"``: As `solstice`, with the longest configurations that exist (Solstice, He
#:   Liu et al., CoNEXT 2015).
#: - ``"eclipse"``: Repeatedly the configuration that carries the most per unit of time (Eclipse,
#:   Shaileshh Bojja Venkatakrishnan et al., SIGMETRICS 2016).
#: - ``"tms"``: A doubly stochastic matrix as a sum of matchings (Mordia, George Porter et al.,
#:   SIGCOMM 2013).
#: - ``"max_weight"``: The matching of the largest demand, for days of fixed length (`day`) (Helios,
#:   Nathan Farrington et al., and c-Through, Guohui Wang et al., SIGCOMM 2010).
#: - ``"adjust"``: Demand in coarse steps (`granularity`), colored (ADJUST, Xin Li and Mounir Hamdi,
#:   JSAC 2003).
#: - ``"double"``: Demand in steps of its longest line over the number of ports, colored (DOUBLE,
#:   Brian Towles and William Dally, ToN 2003).
#: - ``"sunflow"``: Short coflows first, one uninterrupted circuit for each demand; requires
#:   `retune` to be `moved` (Sunflow, Xin Sunny Huang et al., CoNEXT 2016).
#: - ``"cover_all"``: A circuit for every demand that the packet switch cannot carry (REACToR, He
#:   Liu et al., NSDI 2014, section 5.4).
#: - ``"cover_most"``: As `cover_all`, without configurations that cost more than they carry
#:   (REACToR, He Liu et al., NSDI 2014, section 5.4).
#: - ``"round_robin"``: All matchings in turn, whatever the demand, each for a `day` (RotorNet,
#:   William Mellette et al., SIGCOMM 2017).
#: - ``"hold"``: One matching until it does not serve some demand; for senders that wait for each
#:   other.
CircuitAlgorithm: TypeAlias = (
    Literal["solstice", "solstice_refined", "eclipse", "tms", "max_weight", "adjust", "double", "sunflow", "cover_all", "cover_most", "round_robin", "hold"]
)

#: Source of the controller's knowledge about backlogs.
#:
#: - ``"reports"``: Reports of the hosts, which are delayed by the control latency and can be lost.
#: - ``"oracle"``: An oracle, as in REACToR's prototype (section 3.1): the backlog of all queues at
#:   the time of planning.
CircuitDemand: TypeAlias = Literal["reports", "oracle"]


@dataclass(kw_only=True)
class Circuits(Values):
    """Circuits alongside packets."""

    _key: ClassVar[str] = "circuits"

    _reads: ClassVar[dict[str, str]] = {"control": "_ControlSpec", "signals": "SignalSpec"}

    scheduler: CircuitAlgorithm | OwnAlgorithm = "solstice_refined"
    """Scheduling algorithm."""
    day: Duration | None = None
    """Time that each matching of `max_weight` or `round_robin` is open; default: nine times `dark`,
    and at least 1 us.
    """
    granularity: int | None = None
    """Steps of `adjust`, as a multiple of the number of ports; default: what is best for the demand
    and the dark time. At 1 it is `double`.
    """
    hysteresis: float | None = None
    """How often the demand of a pair counts that had a circuit in the last period, when `cover_all`
    and `cover_most` choose demands for the packet switch; 1 to 1000, default: 1. More keeps pairs
    on circuits whose demand is small for once.
    """
    reorder: bool = False
    """Let `round_robin` serve its matchings in another order in each round. A round has all matchings
    once.
    """
    coflows: bool = True
    """Let hosts report backlogs by coflow, if the scheduler orders coflows (`sunflow`). Otherwise it
    takes all demand for one coflow.
    """
    demand: CircuitDemand = "reports"
    """Source of the controller's knowledge about backlogs."""
    period: Duration = "3 ms"
    """Time from one schedule to the next."""
    dark: Duration = "30 us"
    """Time between two configurations that schedules assume. It covers pausing the hosts, the switch's
    dark time and packets in flight. The switch itself may be faster, see
    `fabric.topology.hybrid.dark`.
    """
    least_open: Duration = "130 us"
    """Minimum time that a configuration is open."""
    configurations: int | None = None
    """Maximum number of configurations per period; default: as many as fit."""
    packets: bool = True
    """Let pairs without a circuit use the packet switch."""
    limits: bool = True
    """Keep room on hosts' links for traffic from the packet switch."""
    acknowledgements: float = 0.0
    """Share of the packet switch for TCP acknowledgements, which then do not use circuits; at 0 they
    travel with the data.
    """
    unreported: float = 1.0
    """Share of the rest of the packet switch for pairs that have not requested anything yet, until the
    next schedule. Circuits leave room for it.
    """
    control_latency: Duration = "1 us"
    """One-way latency between controller and hosts, besides the time on ports."""
    control_loss: float = 0.0
    """Probability that a control message is lost."""
    control: ControlSpec = field(default_factory=ControlNetwork)
    """Path of the messages between controller and hosts."""
    compute_time: Duration = "100 us"
    """Time that the scheduler computes."""
    signals: SignalSpec = field(default_factory=lambda: SignalSpec(reaction="intel_82599"))
    """PFC frames: how they are sent and how fast hosts react."""


#: Policy that decides which link is added next.
#:
#: - ``"greedy"``: The feasible link that takes the most traffic off the busiest wire, other pairs'
#:   included (Flyways, Daniel Halperin et al., SIGCOMM 2011).
#: - ``"greedy_direct"``: The feasible link that takes the most of its own pair's traffic off the
#:   busiest wire (Flyways, Daniel Halperin et al., SIGCOMM 2011).
#: - ``"transit"``: A link for the pair of racks that would finish last, open to other pairs over
#:   two hops (Flyways, Daniel Halperin et al., SIGCOMM 2011).
#: - ``"straggler"``: A link for the pair of racks that would finish last, for that pair only
#:   (Flyways, Daniel Halperin et al., SIGCOMM 2011).
FlywayPolicy: TypeAlias = Literal["greedy", "greedy_direct", "transit", "straggler"]


@dataclass(kw_only=True)
class Rows(Values):
    """Racks in straight rows with aisles between them, in the order of the racks: along a row,
    then the rows of a block, then the next block along the rows. The defaults are those of the
    160 racks of Halperin et al., SIGCOMM 2011.
    """

    racks: int = 10
    """Racks side by side in a row of a block."""
    spacing_m: float = 0.6096
    """Distance from rack to rack in a row, in meters; at least 0.6096, the width of a rack."""
    rows: int = 6
    """Rows of a block, one behind the other."""
    row_spacing_m: float = 3.048
    """Distance from row to row in meters; at least 1.2192, the depth of a rack."""
    block_spacing_m: float = 9.144
    """Distance from block to block in meters; at least the width of a row."""


@dataclass(kw_only=True)
class Trained(Values):
    """Both ends sweep their sectors over the air, without prior knowledge."""

    _key: ClassVar[str] = "trained"

    sectors: int
    """Sectors of each end."""


@dataclass(kw_only=True)
class Coordinated(Values):
    """The wires tell both ends which patterns point at each other; the ends only steer."""

    _key: ClassVar[str] = "coordinated"

    steering: Duration
    """Time to steer."""


#: Alignment of the beams of a new link.
#:
#: - :class:`Trained`: Both ends sweep their sectors over the air, without prior knowledge.
#: - :class:`Coordinated`: The wires tell both ends which patterns point at each other; the ends
#:   only steer.
PointingSpec: TypeAlias = Trained | Coordinated
_PointingSpec = {"trained": Trained, "coordinated": Coordinated}


@dataclass(kw_only=True)
class Flyways(Values):
    """A controller that points radios on racks at each other, depending on the racks' backlogs
    (Halperin et al., SIGCOMM 2011). Each host is a rack with its own switch, which carries its
    radios. Racks report the unacknowledged bytes of their flows. The controller replies with
    links and shares of the traffic, which expire after a lease. Shares consist of whole flows,
    so no flow is split.
    """

    _key: ClassVar[str] = "flyways"

    _reads: ClassVar[dict[str, str]] = {"rows": "Rows", "queue": "_AirQueue", "control": "_ControlSpec", "pointing": "_PointingSpec"}

    policy: FlywayPolicy | OwnAlgorithm = "greedy"
    """Policy that decides which link is added next."""
    antenna: AntennaName = "narrow_beam"
    """Antennas of all radios."""
    radios: int = 1
    """Radios on each rack."""
    channels: int = 3
    """Number of channels; 3 in the source, 4 in 802.11ad. Radios of one rack use different channels.
    """
    positions_m: list[tuple[float, float]] | None = None
    """Positions of the racks in meters, in the order of the hosts; default: the first positions in the
    source's layout of 160 racks.
    """
    rows: Rows | None = None
    """Racks in rows, instead of `positions_m`."""
    mac: MacName = "flyways-draft"
    """Constants of medium access."""
    access: Access = "token"
    """Medium access. Planned links do not interfere with each other, so access does not need carrier
    sense.
    """
    retries: int = 7
    """Maximum number of retransmissions of a packet."""
    queue: AirQueue | None = None
    """Queue of each radio; default: unlimited."""
    acknowledgements: AckPath = "wire"
    """Path of TCP acknowledgements."""
    every: Duration = "10 ms"
    """Minimum time between two plans."""
    report_every: Duration = "5 ms"
    """Interval at which racks report."""
    control_latency: Duration = "50 us"
    """One-way latency between controller and racks."""
    control_loss: float = 0.0
    """Probability that a control message is lost."""
    control: ControlSpec = field(default_factory=ControlNetwork)
    """Path of the messages between controller and racks."""
    compute_time: Duration = "1 ms"
    """Time to compute a plan."""
    lease: Duration = "100 ms"
    """Time for which links and shares hold without a message from the controller."""
    pointing: PointingSpec | None = None
    """Alignment of the beams of a new link; default: coordinated over the wires, within 100 us."""
    measure_every: Duration | None = None
    """Interval at which each rack without a link measures its pattern towards another rack. Racks
    without a link measure each other if that disturbs no link; one that listens to a rack with a
    link measures its own pattern only. Two racks get a link when both of their patterns are
    measured. Default: all patterns are known from the start.
    """


#: Plan that decides when hosts send.
#:
#: - :class:`Tdma`: TDMA: a controller collects reports, plans rounds of slots ahead and grants
#:   them; gates at the hosts enforce them.
#: - :class:`Timeslots`: Timeslots: a controller gives each packet a slot and a path (SYN,
#:   Fastpass).
#: - :class:`Rates`: Rates: a controller gives each pair with a backlog a rate (ASY, Flowtune).
#: - :class:`Circuits`: Circuits: a controller configures a circuit switch in each period and tells
#:   hosts by PFC frames when their circuit is up (REACToR).
#: - :class:`Flyways`: Flyways: 60 GHz links between racks, in addition to the wires.
Plan: TypeAlias = Tdma | Timeslots | Rates | Circuits | Flyways
_Plan = {"tdma": Tdma, "timeslots": Timeslots, "rates": Rates, "circuits": Circuits, "flyways": Flyways}


@dataclass(kw_only=True)
class Direct(Values):
    """A packet waits for a circuit to its destination."""

    _key: ClassVar[str] = "direct"


#: How the first hop is chosen among the circuits of a slice.
#:
#: - ``"random"``: At random, by the packet's [`Position::draw`].
#: - ``"in_turn"``: In turn: packet number `draw` takes circuit `draw` modulo their number.
Spread: TypeAlias = Literal["random", "in_turn"]


@dataclass(kw_only=True)
class Vlb(Values):
    """Valiant load balancing: over a rack that has a circuit now, then directly."""

    _key: ClassVar[str] = "vlb"

    spread: Spread = "random"
    """Choice of the first hop."""


#: Where packets wait that go over another rack.
#:
#: - ``"racks"``: In the other rack's queues, as RotorNet has it.
#: - ``"hosts"``: At its hosts, in turn, which send them again when they are granted a circuit.
#:   Racks need less memory, and links of hosts carry such packets too. Opera's hosts do so.
#: - ``"off"``: None do: each waits for the circuit to its destination, as in the shuffle of Opera's
#:   paper.
BulkRelay: TypeAlias = Literal["racks", "hosts", "off"]

#: What a host may send over a circuit of its rack.
#:
#: - ``"demand"``: A fair share among the hosts that have packets for it.
#: - ``"equal"``: At most the part that it has if all hosts of the rack send, whether they do or
#:   not. Hosts need not know of each other. Opera's hosts do so.
CircuitShare: TypeAlias = Literal["demand", "equal"]


@dataclass(kw_only=True)
class RotorLb(Values):
    """RotorLB: hosts keep their packets until racks have agreed to send them directly or over one
    other rack.
    """

    _key: ClassVar[str] = "rotor_lb"

    relay: BulkRelay = "racks"
    """Where packets wait that go over another rack."""
    share: CircuitShare = "demand"
    """What a host may send over a circuit."""
    void_packets: bool = False
    """Hosts pace packets by void packets: while a circuit is open over which they may send, they send
    void packets of the MTU in all gaps, which their rack discards and nobody counts. A packet that
    is not bulk waits until the void packet in transmission has left. Opera's simulated hosts do so,
    and those of Silo (SIGCOMM 2015).
    """


@dataclass(kw_only=True)
class Shortest(Values):
    """The fewest hops over circuits of the present slice, as Opera sends short flows."""

    _key: ClassVar[str] = "shortest"

    paths: int = 1
    """Maximum number of shortest paths between two racks; Opera's figure 7 has 1."""
    settled: bool = True
    """Leave out switches that change at the start of the slice."""


@dataclass(kw_only=True)
class Disjoint(Values):
    """Paths over circuits of the present slice that share no circuit: a shortest one, the shortest
    over the circuits that are left, and so on. Opera's figures 9 and 10 have five.
    """

    _key: ClassVar[str] = "disjoint"

    paths: int = 5
    """Maximum number of paths between two racks."""
    settled: bool = True
    """Leave out switches that change at the start of the slice."""


@dataclass(kw_only=True)
class Hoho(Values):
    """The earliest arrival over a bounded number of hops (HOHO)."""

    _key: ClassVar[str] = "hoho"

    hops: int = 4
    """Maximum number of hops."""


@dataclass(kw_only=True)
class Ucmp(Values):
    """Uniform cost of latency and hops, by the bytes that the flow has sent (UCMP)."""

    _key: ClassVar[str] = "ucmp"

    hops: int = 4
    """Maximum number of hops."""
    alpha: float = 0.5
    """Weight of latency, from 0 to 1; the rest is the weight of hops. The paper has 0.3, 0.5 and 0.7.
    """
    buckets: list[Bytes] = field(default_factory=lambda: ["10 kB", "100 kB", "1 MB", "15 MB"])
    """Upper bounds of the bytes sent, one for each bucket, in rising order."""


@dataclass(kw_only=True)
class Shale(Values):
    """Random hops in all dimensions of a grid, then direct ones (Shale)."""

    _key: ClassVar[str] = "shale"

    dimensions: int
    """Dimensions of the grid, as `matchings.grid` has them."""


@dataclass
class Own(Values):
    """A routing that a program has registered, with its parameters."""

    _key: ClassVar[str] = "own"
    _bare: ClassVar[bool] = True

    value: OwnAlgorithm


#: Routing over rotor switches: the circuits that a packet takes, and when.
#:
#: - :class:`Direct`: A packet waits for a circuit to its destination.
#: - :class:`Vlb`: Valiant load balancing: over a rack that has a circuit now, then directly.
#: - :class:`RotorLb`: RotorLB: hosts keep their packets until racks have agreed to send them
#:   directly or over one other rack.
#: - :class:`Shortest`: The fewest hops over circuits of the present slice, as Opera sends short
#:   flows.
#: - :class:`Disjoint`: Paths over circuits of the present slice that share no circuit: a shortest
#:   one, the shortest over the circuits that are left, and so on. Opera's figures 9 and 10 have
#:   five.
#: - :class:`Hoho`: The earliest arrival over a bounded number of hops (HOHO).
#: - :class:`Ucmp`: Uniform cost of latency and hops, by the bytes that the flow has sent (UCMP).
#: - :class:`Shale`: Random hops in all dimensions of a grid, then direct ones (Shale).
#: - :class:`Own`: A routing that a program has registered, with its parameters.
RotorRouting: TypeAlias = Direct | Vlb | RotorLb | Shortest | Disjoint | Hoho | Ucmp | Shale | Own
_RotorRouting = {"direct": Direct, "vlb": Vlb, "rotor_lb": RotorLb, "shortest": Shortest, "disjoint": Disjoint, "hoho": Hoho, "ucmp": Ucmp, "shale": Shale, "own": Own}

#: Bytes of a flow that make it bulk.
#:
#: - ``"size"``: Its size, known at the start.
#: - ``"age"``: What it has sent before a packet, so that large flows begin as small ones.
BulkBy: TypeAlias = Literal["size", "age"]


@dataclass(kw_only=True)
class Bulk(Values):
    """Large flows over rotor switches."""

    _reads: ClassVar[dict[str, str]] = {"routing": "_RotorRouting"}

    above: Bytes
    """Flows of more bytes are bulk; Opera has 15 MB."""
    also: Bytes | None = None
    """Flows of exactly this many bytes are bulk too, such as those of a shuffle; only with `by =
    "size"`.
    """
    by: BulkBy = "size"
    """Whether the size of the flow counts, or the bytes that it has sent."""
    routing: RotorRouting
    """Routing of bulk."""


#: What happens to packets whose circuit ends before they have left.
#:
#: - ``"reroute"``: They ask for a new route.
#: - ``"bounce"``: They stay in their queue until the same circuit comes again.
#: - ``"lose"``: They are lost.
Late: TypeAlias = Literal["reroute", "bounce", "lose"]


@dataclass(kw_only=True)
class RotorRoutes(Values):
    """Routing over rotor switches, and the queues of the racks."""

    _reads: ClassVar[dict[str, str]] = {"routing": "_RotorRouting", "bulk": "Bulk"}

    routing: RotorRouting
    """Routing of all flows, or of those that are not `bulk`."""
    bulk: Bulk | None = None
    """Large flows, which go behind others and have a routing of their own; default: all flows are of
    one class.
    """
    late: Late = "reroute"
    """Packets that a circuit has not carried when it ends."""
    queue: Bytes | None = None
    """Limit of a rack's queue for one circuit, in wire bytes; a packet that does not fit is lost.
    Default: what the circuit carries while it is open; a packet that finds that much asks for a
    later slice, and is lost if all circuits of a cycle are full.
    """


@dataclass(kw_only=True)
class Reactive(Values):
    """The window is the bandwidth-delay product of the rate reported last."""

    _key: ClassVar[str] = "reactive"


@dataclass(kw_only=True)
class Proactive(Values):
    """Definition of a fast fall and the reaction to it."""

    _key: ClassVar[str] = "proactive"

    window: Duration = "150 ms"
    """Time over which falls are detected."""
    drop: int = 2
    """Number of usable rates by which the rate has to fall."""
    ttr: Duration = "800 ms"
    """Time for which the window of the slowest rate holds after a fast fall."""
    growth: Duration = "40 ms"
    """Time per usable rate on the way back; the default is the proxy's round trip."""


@dataclass(kw_only=True)
class Predicted(Values):
    """Trust in the prediction."""

    _key: ClassVar[str] = "predicted"

    boldness: float = 0.5
    """Number added to the predicted position in the list of rates before rounding down. Below 0.5 is
    cautious, above is bold: higher values increase goodput and round-trip times.
    """


#: How a proxy turns link reports into windows.
#:
#: - :class:`Reactive`: The window is the bandwidth-delay product of the rate reported last.
#: - :class:`Proactive`: After a fast fall the window is that of the slowest rate for a while, then
#:   grows stepwise.
#: - :class:`Predicted`: The window is that of the rate that a trained predictor expects for the
#:   next 150 ms.
ProxyPolicy: TypeAlias = Reactive | Proactive | Predicted
_ProxyPolicy = {"reactive": Reactive, "proactive": Proactive, "predicted": Predicted}


@dataclass(kw_only=True)
class ProxySpec(Values):
    """A proxy that sets the windows of TCP senders whose flows cross an air link with a link trace
    (Drago et al., MASS 2019, section III). The access point of the link reports every change of
    the rate, and also periodically. The proxy computes a window from the rate and the minimum
    round trip; its policy may reduce the window. Senders detect and repair losses themselves.
    """

    _reads: ClassVar[dict[str, str]] = {"policy": "_ProxyPolicy"}

    policy: ProxyPolicy
    """Policy that turns reports into windows."""
    split_at: int | None = None
    """Host at which the proxy splits connections: each flow becomes two TCP connections, and the proxy
    is the sender of the second. Its memory is unlimited. Default: the proxy steers the senders by
    messages.
    """
    hold: bool = True
    """Restore the window from the proxy's last message after each loss recovery. Otherwise the window
    stays as recovery left it until the next message.
    """
    pace: bool = True
    """Also tell senders a pacing rate, so that a larger window does not cause a burst."""
    report_delay: Duration = "10 ms"
    """Latency from the access point to the proxy."""
    command_delay: Duration = "0 ps"
    """Latency from the proxy to a sender, and back for its round trips."""
    report_every: Duration = "10 ms"
    """Longest interval between reports of the access point. Predictors need reports between changes.
    """
    repeat: Duration = "100 ms"
    """Interval at which the last message to a sender is repeated."""
    silence: Duration = "1 s"
    """Time without a report after which a link counts as one at its slowest rate."""
    base_rtt: Duration = "40 ms"
    """Assumed round trip until one has been measured."""
    loss: float = 0.0
    """Probability that a report or a message to a sender is lost."""


@dataclass(kw_only=True)
class OwnSwitch(Values):
    """Differences of a scheme's switches from `[fabric.switch]`. A scheme cannot remove marking or
    pausing that `[fabric.switch]` sets: set them only in the schemes that use them.
    """

    _reads: ClassVar[dict[str, str]] = {"buffer": "_Buffer", "pfc": "Pfc"}

    latency: Duration | None = None
    """Latency from a packet's arrival to its output queue."""
    forwarding: Forwarding | None = None
    """Store-and-forward or cut-through."""
    buffer: Buffer | None = None
    """Bound of the output queues; replaces the whole table."""
    ecn: Bytes | None = None
    """Queue length in wire bytes from which arriving packets are marked."""
    pfc: Pfc | None = None
    """Priority flow control; replaces the whole table."""


@dataclass(kw_only=True)
class OwnRadio(Values):
    """Differences of a scheme's radios from `[fabric.radio]`; keys that are absent keep the value
    there.
    """

    _reads: ClassVar[dict[str, str]] = {"queue": "_AirQueue", "handover": "HandoverSpec"}

    mac: MacName | None = None
    """Constants of medium access."""
    access: Access | None = None
    """Medium access."""
    retries: int | None = None
    """Maximum number of retransmissions of a packet."""
    acknowledgements: AckPath | None = None
    """Path of TCP acknowledgements."""
    antenna: AntennaName | None = None
    """Antennas."""
    senses_dbm: float | None = None
    """Received power in dBm from which a radio considers the channel busy."""
    queue: AirQueue | None = None
    """Queue of each air link; replaces the whole table."""
    handover: HandoverSpec | None = None
    """Handover; replaces the whole table."""
    interference: list[Interference] | None = None
    """Interference; replaces the whole list."""
    link: list[RadioLink] | None = None
    """Air links; replaces the whole list."""


@dataclass(kw_only=True)
class OwnFabric(Values):
    """Differences of a scheme's fabric from `[fabric]`; keys that are absent keep the value in
    `[fabric]`. The number of hosts and the flows stay the same: the load of a workload refers
    to `[fabric]`. Slowdowns and bounds also refer to `[fabric]`, so that all schemes are
    measured on one scale; a faster fabric can beat the bounds. Failures and changes number the
    elements of each scheme's own fabric.
    """

    _reads: ClassVar[dict[str, str]] = {"topology": "_Topology", "switch": "OwnSwitch", "radio": "OwnRadio"}

    topology: Topology | None = None
    """Shape of the network; replaces the whole table."""
    rate: Rate | None = None
    """Rate of the hosts' links."""
    uplink_rate: Rate | None = None
    """Rate of links between switches."""
    propagation: Duration | None = None
    """Propagation delay of each link."""
    framing: Framing | None = None
    """Bytes that the link layer adds to a packet."""
    mtu: Bytes | None = None
    """Size of the largest packet."""
    bit_error: float | None = None
    """Probability of a bit error on a link."""
    switch: OwnSwitch | None = None
    """Parameters of all switches, key by key."""
    radio: OwnRadio | None = None
    """Radios, key by key."""


@dataclass(kw_only=True)
class Scheme(Values):
    """Scheme: how the network is operated, that is transport, routing and planning."""

    _reads: ClassVar[dict[str, str]] = {"transport": "_Transport", "nic": "Nic", "host": "HostSpec", "plan": "_Plan", "rotor": "RotorRoutes", "proxy": "ProxySpec", "fabric": "OwnFabric"}

    transport: Transport
    """Transport that carries flows from host to host."""
    ecmp: Ecmp = "flow"
    """Choice of packets among paths of equal cost."""
    nic: Nic = field(default_factory=Nic)
    """Network interface of the hosts."""
    host: HostSpec | None = None
    """The hosts themselves; default: hosts that take no time for packets."""
    plan: Plan | None = None
    """Plan that decides when hosts send; default: none, a plain network."""
    rotor: RotorRoutes | None = None
    """Routing over rotor switches, which a fabric with `topology.rotor` needs."""
    proxy: ProxySpec | None = None
    """Proxy that tells TCP the capacity of an air link."""
    fabric: OwnFabric | None = None
    """Differences of the scheme's fabric from `[fabric]`; hosts and flows stay the same."""


#: A number, or a quantity with its unit, as "1.3 s", "9 Gb/s" or "1 MB".
Limit: TypeAlias = float | str


@dataclass(kw_only=True)
class Check(Values):
    """A bound on a result, at every point of the sweep. It does not change the runs."""

    metric: str
    """Metric with or without its unit, such as `completion` or `fct_p99`; `timeplane list results`
    lists all.
    """
    scheme: str
    """Scheme whose mean over seeds is checked."""
    at_most: Limit | None = None
    """Upper bound of the mean."""
    at_least: Limit | None = None
    """Lower bound of the mean."""
    relative_to: str | None = None
    """Check the ratio to the mean of this scheme instead."""
    relative_to_bound: bool = False
    """Check the ratio to the theoretical bound for `[fabric]` instead."""
    allow_unfinished: float | None = None
    """Flows that may be unfinished in all runs of a point, under this scheme and under that of
    `relative_to`: a number, or below 1 a share of the measured flows. The check fails if there are
    more. For metrics of coflows, coflows count instead. Default: none.
    """


@dataclass(kw_only=True)
class Scenario(Values, Runnable):
    """An experiment: one workload under several schemes. Schemes share one fabric unless they
    define their own.
    """

    _reads: ClassVar[dict[str, str]] = {"fabric": "Fabric", "workload": "_Workload", "window": "Window", "record": "Record", "failure": "[Failure]", "change": "[Change]", "pause": "[Pause]", "scheme": "{Scheme}", "check": "[Check]"}

    name: str | None = None
    """Name of the results folder; default: the name of the file."""
    description: str | None = None
    """Question that the scenario answers, in one or two sentences; printed above the table."""
    seed: int = 1
    """First seed."""
    seeds: int = 1
    """Number of consecutive seeds; confidence intervals need at least two."""
    fabric: Fabric
    """Network between the hosts."""
    workload: Workload
    """Traffic; it never depends on the scheme."""
    window: Window = field(default_factory=Window)
    """Measurement: warm-up, measured interval, drain."""
    record: Record = field(default_factory=Record)
    """Data to record in addition to flows, coflows, drops and control messages."""
    failure: list[Failure] = field(default_factory=list)
    """Elements that fail during the run, and when they recover."""
    change: list[Change] = field(default_factory=list)
    """Wires that change their rate during the run."""
    pause: list[Pause] = field(default_factory=list)
    """Hosts that pause data or acknowledgements at given times."""
    scheme: dict[str, Scheme]
    """Schemes to compare, by name; the first is the baseline for differences."""
    sweep: dict[str, list[Any]] = field(default_factory=dict)
    """Values to sweep, by dotted key: `"workload.poisson.load" = [0.2, 0.5]`. Several keys form a
    grid. Keys joined by commas change together: `"fabric.rate, workload.poisson.load" = [["10
    Gb/s", 0.2], ["40 Gb/s", 0.5]]`.
    """
    check: list[Check] = field(default_factory=list)
    """Bounds on the results; if one is violated, the command exits with code 3."""
    base: str = field(default=".", repr=False, compare=False)
    """The folder in which files that the scenario names are looked up; no part of what is asked."""
