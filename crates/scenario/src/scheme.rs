//! The `[scheme.NAME]` tables.

use crate::controllers::ControllersSpec;
use crate::flyways::FlywaysSpec;
use crate::own_fabric::OwnFabric;
use crate::proxy::ProxySpec;
use crate::signals::{Reaction, SignalSpec};
use crate::standby::StandbySpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timeplane_model::{Bytes, Duration, Rate};

/// How the network is run: what carries the flows, how they are routed, and what plans them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// What carries flows from host to host.
    pub transport: Transport,
    /// How packets choose among equal paths.
    #[serde(default)]
    pub ecmp: Ecmp,
    /// The hosts' network interface.
    #[serde(default)]
    pub nic: Nic,
    /// Who decides when hosts send; missing: nobody, a plain network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanSpec>,
    /// Tells TCP what an air link carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxySpec>,
    /// A network of its own, with the hosts and the flows of the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<OwnFabric>,
}

/// What carries flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Transport {
    /// Open-loop UDP datagrams (28 B of headers): what is lost stays lost.
    Datagrams {},
    /// Raw frames with an end-to-end repair: receivers report what is missing, senders resend it.
    Raw(Raw),
    /// TCP.
    Tcp(Tcp),
}

/// Raw frames with repair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Raw {
    /// Bytes of each frame's payload that name its flow and offset.
    pub header: Bytes,
    /// A receiver reports after this long with a flow incomplete, and at once where it sees a gap.
    pub report_every: Duration,
}

impl Default for Raw {
    fn default() -> Self {
        Self { header: Bytes::new(16), report_every: Duration::from_ms(10) }
    }
}

/// TCP: SACK (RFC 2018, 6675), RTO (RFC 6298), 40 B of headers without timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// The congestion control.
    pub congestion: Congestion,
    /// Segments that a connection begins with (RFC 6928).
    pub initial_window: u32,
    /// The least retransmission timeout: 1 s in RFC 6298, 200 ms in Linux.
    pub min_rto: Duration,
    /// When a receiver holds an acknowledgement back.
    pub delayed_ack: DelayedAck,
    /// Selective acknowledgements.
    pub sack: bool,
    /// Asks switches to mark instead of drop (RFC 3168); DCTCP always does.
    pub ecn: bool,
    /// Spreads a window over its round trip.
    pub pacing: bool,
    /// CUBIC leaves slow start where round trips lengthen, before it loses (HyStart++, RFC 9406).
    pub hystart: bool,
    /// Opens each flow with SYN and SYN-ACK, which is then part of its completion time.
    pub handshake: bool,
    /// The receiver's window; missing: without bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<Bytes>,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            congestion: Congestion::Cubic,
            initial_window: 10,
            min_rto: Duration::from_ms(200),
            delayed_ack: DelayedAck::default(),
            sack: true,
            ecn: false,
            pacing: false,
            hystart: false,
            handshake: true,
            receive_window: None,
        }
    }
}

/// When a receiver holds an acknowledgement back (RFC 5681 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DelayedAck {
    /// One acknowledgement for so many segments; 1 acknowledges each.
    pub segments: u32,
    /// But never later than this after the first of them.
    pub timeout: Duration,
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self { segments: 2, timeout: Duration::from_ms(1) }
    }
}

/// A congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Congestion {
    /// RFC 5681, 6582.
    NewReno,
    /// RFC 9438.
    #[default]
    Cubic,
    /// RFC 8257.
    Dctcp,
    /// Version 1: Cardwell et al., ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00. It always paces.
    Bbr,
}

/// How packets choose among equal paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ecmp {
    /// All packets of a flow take one path, by a hash.
    #[default]
    Flow,
    /// Each packet takes its own, by a hash of flow and sequence.
    Packet,
}

/// A host's network interface.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Nic {
    /// Which queue sends next where several may.
    pub discipline: Discipline,
    /// Segmentation offload: packets of one queue are emitted back to back in bursts of at most so many bytes, and
    /// a burst is handed to the interface whole.
    pub burst: Bytes,
}

impl Default for Nic {
    fn default() -> Self {
        Self { discipline: Discipline::Fifo, burst: Bytes::ZERO }
    }
}

/// Which queue sends next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// The packet that came first.
    #[default]
    Fifo,
    /// Destinations in turn.
    RoundRobin,
}

/// Who decides when hosts send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PlanSpec {
    /// Slots: a controller takes reports, plans a round of slots ahead and grants them; gates at the hosts execute.
    Tdma(TdmaSpec),
    /// Timeslots: an arbiter gives each packet a slot and a path (SYN, Fastpass).
    Timeslots(TimeslotsSpec),
    /// Rates: a controller gives each pair that has something to send a rate (ASY, Flowtune).
    Rates(RatesSpec),
    /// Circuits: a controller sets a circuit switch, period by period, and tells hosts by PFC frames when theirs is up (REACToR).
    Circuits(CircuitsSpec),
    /// 60 GHz links between racks, beside the wires.
    Flyways(FlywaysSpec),
}

impl PlanSpec {
    /// One way between controller and hosts.
    pub fn control_latency(&self) -> Duration {
        match self {
            Self::Tdma(s) => s.control_latency,
            Self::Timeslots(t) => t.control_latency,
            Self::Rates(r) => r.control_latency,
            Self::Circuits(c) => c.control_latency,
            Self::Flyways(f) => f.control_latency,
        }
    }
}

/// Slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TdmaSpec {
    /// How long the gates of a slot are open.
    pub slot: Duration,
    /// From a slot's end to the next one's begin.
    pub guard: Duration,
    /// Slots in a round; a round is planned whole.
    pub round_slots: u32,
    /// The planning algorithm: `weighted_round_robin`, or one registered by name.
    pub scheduler: String,
    /// One way between controller and hosts over the control network.
    pub control_latency: Duration,
    /// Probability that a control message is lost.
    pub control_loss: f64,
    /// How long the scheduler computes; charged before its grants go out.
    pub compute_time: Duration,
    /// Hosts' clocks are off by up to so much either way.
    pub clock_error: Duration,
    /// Hosts' clocks run fast or slow by up to so many parts per million: 50 lets two of them part by 100 us in a second.
    pub clock_drift: f64,
    /// How often a beacon sets the hosts' clocks right, up to `clock_error`; missing: only once, at the begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resync: Option<Duration>,
    /// Hosts' receive buffers; missing: they take everything at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<ReceiveSpec>,
    /// A share of the network outside the slots, for short flows; missing: all flows wait for slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundSpec>,
    /// PFC frames open and close the gates, at the begin and the end of each slot, instead of the hosts' clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signals: Option<SignalSpec>,
    /// A second controller, which takes over where the first one is lost; missing: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standby: Option<StandbySpec>,
    /// Several controllers, each in charge of a part of the hosts; missing: the one that plans is in charge of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controllers: Option<ControllersSpec>,
}

impl Default for TdmaSpec {
    fn default() -> Self {
        Self {
            slot: Duration::from_us(300),
            guard: Duration::from_us(15),
            round_slots: 32,
            scheduler: "weighted_round_robin".to_owned(),
            control_latency: Duration::from_us(20),
            control_loss: 0.0,
            compute_time: Duration::from_us(100),
            clock_error: Duration::ZERO,
            clock_drift: 0.0,
            resync: None,
            receive: None,
            background: None,
            signals: None,
            standby: None,
            controllers: None,
        }
    }
}

impl TdmaSpec {
    /// By how much a clock may be off at most, where beacons keep it from going astray for good.
    pub fn clock_bound(&self) -> Duration {
        self.clock_error + self.resync.map_or(Duration::ZERO, |every| every.scale(self.clock_drift * 1e-6))
    }
}

/// A share of the network for short flows that do not wait for slots.
///
/// Every host sends them at once, in the order in which they came, as fast as this rate. Slots run at the rate of their links less the share, so that no
/// link carries more than it can while the short flows towards no host, and across no inner link, come to more than the share together. Where
/// they do for a while, as several hosts may send to one, packets of slots queue behind them in switches: by what exceeded the share, which
/// drains with the next pause. A bounded switch buffer must hold that much, or frames are lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundSpec {
    /// Of each link, in bits on the wire.
    pub rate: Rate,
    /// Flows of at most this size are short.
    pub below: Bytes,
}

/// A host's receive buffer, and the application that empties it. What does not fit is lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiveSpec {
    /// What it holds, in bytes on the wire.
    pub buffer: Bytes,
    /// How fast the application takes it out, in bits on the wire.
    pub drain: Rate,
}

/// Timeslots of one packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeslotsSpec {
    /// From one slot's begin to the next one's; missing: a frame of the MTU on a host's link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Duration>,
    /// Which pair goes first.
    pub metric: SlotMetric,
    /// What may fill a slot.
    pub fill: SlotFill,
    /// How paths are found.
    pub colouring: PathColouring,
    /// Flows of at most these sizes go first, the smallest first of all; each size opens a class. None: all flows are of one class.
    pub classes: Vec<Bytes>,
    /// Slots that are allocated together and granted in one message.
    pub batch: u32,
    /// From the allocation of a batch until its first slot begins; missing: just enough to compute and to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Duration>,
    /// A host reports on every change, and at the latest after so long without a word of the arbiter.
    pub report_every: Duration,
    /// One way between arbiter and hosts over the control network.
    pub control_latency: Duration,
    /// Probability that a control message is lost.
    pub control_loss: f64,
    /// How long the allocation of a batch takes; batches are computed in a pipeline.
    pub compute_time: Duration,
    /// Hosts' clocks are off by up to so much either way.
    pub clock_error: Duration,
}

impl TimeslotsSpec {
    /// The least time from an allocation to its slot: computing, telling, and a host's clock that is ahead.
    pub fn least_ahead(&self) -> Duration {
        self.compute_time + self.control_latency + self.clock_error
    }
}

impl Default for TimeslotsSpec {
    fn default() -> Self {
        Self {
            slot: None,
            metric: SlotMetric::default(),
            fill: SlotFill::default(),
            colouring: PathColouring::default(),
            classes: Vec::new(),
            batch: 1,
            ahead: None,
            report_every: Duration::from_ms(1),
            control_latency: Duration::ZERO,
            control_loss: 0.0,
            compute_time: Duration::ZERO,
            clock_error: Duration::ZERO,
        }
    }
}

/// Which pair goes first in a timeslot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotMetric {
    /// Oldest cell first: that whose first packet has waited longest.
    Ocf,
    /// Shortest remaining job first: that whose first flow has the fewest bytes left.
    Srjf,
    /// Max-min fairness: that whose first packet has been first for longest.
    #[default]
    Mmf,
}

/// What may fill a timeslot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotFill {
    /// One packet, however small.
    #[default]
    Packet,
    /// As many whole packets of the pair as fit.
    Packets,
    /// As many packets as fit, and a part of the next one.
    Fragments,
}

/// How the paths of a timeslot's packets are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathColouring {
    /// All at once, halving the slot along Euler circuits.
    #[default]
    EulerSplit,
    /// One after the other, exchanging the colours along a path where none is free (Paull).
    Paull,
}

/// A rate for each pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RatesSpec {
    /// Rates asked for.
    pub estimator: RateEstimator,
    /// Rates given.
    pub normaliser: RateNormaliser,
    /// From one computation to the next, at least; between them, on change.
    pub every: Duration,
    /// A host is told of new rates where one has moved by more than this share of it; at 0, of every change.
    pub threshold: f64,
    /// A host reports on every change, and at the latest after so long without a word of the controller. Rates hold ten times as long.
    pub report_every: Duration,
    /// One way between controller and hosts over the control network.
    pub control_latency: Duration,
    /// Probability that a control message is lost.
    pub control_loss: f64,
    /// How long a computation takes.
    pub compute_time: Duration,
}

impl Default for RatesSpec {
    fn default() -> Self {
        Self {
            estimator: RateEstimator::default(),
            normaliser: RateNormaliser::default(),
            every: Duration::from_us(10),
            threshold: 0.0,
            report_every: Duration::from_ms(1),
            control_latency: Duration::ZERO,
            control_loss: 0.0,
            compute_time: Duration::ZERO,
        }
    }
}

/// Circuits beside packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CircuitsSpec {
    /// How circuits are scheduled.
    pub scheduler: CircuitAlgorithm,
    /// How the controller knows what waits.
    pub demand: CircuitDemand,
    /// From one schedule to the next.
    pub period: Duration,
    /// From one configuration's end to the next one's begin, as schedules assume it: pausing hosts, the switch's dark time, and what is in the
    /// air. The switch itself may be faster, see `fabric.topology.hybrid.dark`.
    pub dark: Duration,
    /// The least open time of a configuration.
    pub least_open: Duration,
    /// Configurations of a period, at most; as many as it holds where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configurations: Option<u32>,
    /// Whether pairs without a circuit may use the packet switch.
    pub packets: bool,
    /// Whether circuits leave room on hosts' links for what the packet switch brings.
    pub limits: bool,
    /// The share of the packet switch for TCP's acknowledgements, which then take no circuits; at 0 they go with the data.
    pub acknowledgements: f64,
    /// The share of what is left of the packet switch for pairs that have asked for nothing yet, until the next schedule; circuits leave room for it.
    pub unreported: f64,
    /// One way between controller and hosts over the control network.
    pub control_latency: Duration,
    /// Probability that a control message is lost.
    pub control_loss: f64,
    /// How long the scheduler computes.
    pub compute_time: Duration,
    /// How the PFC frames are sent, and how fast hosts obey.
    pub signals: SignalSpec,
}

impl Default for CircuitsSpec {
    fn default() -> Self {
        Self {
            scheduler: CircuitAlgorithm::default(),
            demand: CircuitDemand::default(),
            period: Duration::from_ms(3),
            dark: Duration::from_us(30),
            least_open: Duration::from_us(130),
            configurations: None,
            packets: true,
            limits: true,
            acknowledgements: 0.0,
            unreported: 1.0,
            control_latency: Duration::from_us(1),
            control_loss: 0.0,
            compute_time: Duration::from_us(100),
            signals: SignalSpec { reaction: Reaction::Intel82599, ..SignalSpec::default() },
        }
    }
}

/// How the controller of circuits knows what waits at hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CircuitDemand {
    /// From hosts' reports, which are as old as control latencies make them, or lost.
    #[default]
    Reports,
    /// From an oracle, as REACToR's prototype has it (section 3.1): what waits in all queues at the moment of planning.
    Oracle,
}

/// How circuits are scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CircuitAlgorithm {
    /// Long configurations first, and the packet switch takes the rest (CoNEXT 2015).
    #[default]
    Solstice,
    /// The configuration that carries most for its time, again and again (SIGMETRICS 2016).
    Eclipse,
    /// A doubly stochastic matrix as a sum of matchings (Mordia, SIGCOMM 2013).
    Tms,
    /// The matching of the largest demand, for fixed days (Helios, SIGCOMM 2010).
    MaxWeight,
    /// Demand in coarse steps, coloured (ADJUST, JSAC 2003).
    Adjust,
    /// One circuit for each demand, without a break; only where moved ports alone go dark (CoNEXT 2016).
    Sunflow,
    /// A circuit for every demand that the packet switch can not carry.
    CoverAll,
    /// All matchings in turn, whatever the demand.
    RoundRobin,
    /// One matching until something waits that it does not join: for senders that wait for each other.
    Hold,
}

/// How the rate that a pair asks for is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateEstimator {
    /// The whole link, while anything waits.
    #[default]
    Backlogged,
    /// What it takes to send all that waits within this time.
    Horizon(Duration),
    /// What arrives, averaged over this time, and what it takes to send all that waits within it.
    Arrivals(Duration),
}

/// How rates asked for become rates that no link of a host exceeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateNormaliser {
    /// Rows and columns in turn, up and down (Sinkhorn), for the highest total.
    #[default]
    ScaleBoth,
    /// Rows, then columns, down only.
    ScaleDown,
    /// Max-min fairness.
    MaxMin,
    /// Proportional fairness, by prices of links (Flowtune's NED).
    Proportional,
}
