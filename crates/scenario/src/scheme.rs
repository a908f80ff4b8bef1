//! The `[scheme.NAME]` tables: transport, routing, network interface and plan of a scheme. All
//! schemes of a scenario get the same workload.

use crate::control::ControlSpec;
use crate::controllers::ControllersSpec;
use crate::flyways::FlywaysSpec;
use crate::host::{HostLatency, HostSpec};
use crate::ndp::Ndp;
use crate::own_fabric::OwnFabric;
use crate::proxy::ProxySpec;
use crate::rotor::RotorRoutingSpec;
use crate::signals::{Reaction, SignalSpec};
use crate::standby::StandbySpec;
use crate::tcp::{Tcp, TcpPreset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use timeplane_model::{Bytes, Duration, Fabric, Rate};
use timeplane_protocol::{Message, RateEstimator, size};
use timeplane_schedule::circuits::CircuitAlgorithm;
use timeplane_schedule::{Algorithm, OwnAlgorithm, PathColoring, RateNormalizer, SlotFill, SlotMetric, TdmaScheduler};

/// Scheme: how the network is operated, that is transport, routing and planning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// Transport that carries flows from host to host.
    pub transport: Transport,
    /// Choice of packets among paths of equal cost.
    #[serde(default)]
    pub ecmp: Ecmp,
    /// Network interface of the hosts.
    #[serde(default)]
    pub nic: Nic,
    /// The hosts themselves; default: hosts that take no time for packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSpec>,
    /// Plan that decides when hosts send; default: none, a plain network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanSpec>,
    /// Routing over rotor switches, which a fabric with `topology.rotor` needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotor: Option<RotorRoutingSpec>,
    /// Proxy that tells TCP the capacity of an air link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxySpec>,
    /// Differences of the scheme's fabric from `[fabric]`; hosts and flows stay the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<OwnFabric>,
}

impl Scheme {
    /// Time that hosts take for packets.
    pub fn host_latency(&self) -> HostLatency {
        self.host.unwrap_or_default().latency
    }

    /// The order in which queues of hosts send where no plan decides: as given, or by the
    /// transport.
    pub fn discipline(&self) -> Discipline {
        let by_transport = match &self.transport {
            Transport::Tcp(tcp) if tcp.preset.unwrap_or_default() != TcpPreset::Rfc => Discipline::FairQueue,
            Transport::Ndp(_) => Discipline::FairQueue,
            _ => Discipline::Fifo,
        };
        self.nic.discipline.unwrap_or(by_transport)
    }
}

/// Transport of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Transport {
    /// Open-loop UDP datagrams with 28 B of headers; lost datagrams stay lost.
    Datagrams {},
    /// Raw frames with end-to-end repair: receivers report missing frames, senders resend them.
    Raw(Raw),
    /// TCP.
    Tcp(Tcp),
    /// NDP: receivers pull packets, and switches cut packets that find a full queue to their
    /// headers.
    Ndp(Ndp),
}

/// Raw frames with end-to-end repair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Raw {
    /// Bytes of each frame's payload that identify its flow and offset.
    pub header: Bytes,
    /// Time between two reports of a receiver that misses frames. It reports a loss at once, or
    /// after `reordering`.
    pub report_every: Duration,
    /// How long a frame may come after those sent later, before its receiver reports a loss;
    /// default: the period of `plan.circuits`, where frames by circuit overtake those by packet
    /// switch, else zero.
    pub reordering: Option<Duration>,
}

impl Default for Raw {
    fn default() -> Self {
        Self { header: Bytes::new(16), report_every: Duration::from_ms(10), reordering: None }
    }
}

/// Choice of packets among paths of equal cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ecmp {
    /// All packets of a flow take one path, chosen by a hash.
    #[default]
    Flow,
    /// Each packet takes its own path, chosen by a hash of flow and sequence number.
    Packet,
}

/// Network interface of a host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Nic {
    /// Order in which a host sends. Where a plan opens gates, it holds for the packets of each
    /// destination. Default: `fair_queue` for NDP and for TCP with another preset than `rfc`,
    /// `fifo` otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Discipline>,
    /// Segmentation offload: the interface takes packets of one queue in bursts of at most this
    /// many bytes and sends each burst back to back. With `fair_queue`, a flow's turn is at least
    /// this long.
    pub burst: Bytes,
}

impl Default for Nic {
    fn default() -> Self {
        Self { discipline: None, burst: Bytes::ZERO }
    }
}

/// Order in which queues send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// The packet that arrived first.
    #[default]
    Fifo,
    /// Destinations in turn.
    RoundRobin,
    /// Flows in turn, and acknowledgements first, as with `fq` of Linux. A flow hands over a
    /// segment when it is its turn (TCP small queues), so no window waits in the interface. Where a
    /// plan opens gates, reports count the segments that windows allow.
    FairQueue,
    /// What has no payload first, such as acknowledgements and pulls, then retransmissions, then
    /// other data, each in the order of arrival. Opera's simulated hosts do so. Where a plan opens
    /// gates, all packets for a destination leave in the order of arrival.
    ControlFirst,
}

/// Plan that decides when hosts send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[strum(serialize_all = "snake_case")]
pub enum PlanSpec {
    /// TDMA: a controller collects reports, plans rounds of slots ahead and grants them; gates at
    /// the hosts enforce them.
    Tdma(TdmaSpec),
    /// Timeslots: a controller gives each packet a slot and a path (SYN, Fastpass).
    Timeslots(TimeslotsSpec),
    /// Rates: a controller gives each pair with a backlog a rate (ASY, Flowtune).
    Rates(RatesSpec),
    /// Circuits: a controller configures a circuit switch in each period and tells hosts by PFC
    /// frames when their circuit is up (REACToR).
    Circuits(CircuitsSpec),
    /// Flyways: 60 GHz links between racks, in addition to the wires.
    Flyways(FlywaysSpec),
}

impl Scheme {
    /// The algorithms of a program that the scheme uses: the key under the scheme that names it,
    /// what it is for (the key of a plan, or `rotor`), and its name and parameters.
    pub fn own_algorithms(&self) -> impl Iterator<Item = (String, &'static str, &OwnAlgorithm)> {
        let planned = self.plan.iter().filter_map(|plan| {
            let (key, own) = plan.own_algorithm()?;
            Some((format!("plan.{}.{key}", plan.key()), plan.key(), own))
        });
        let routings = self.rotor.iter().flat_map(RotorRoutingSpec::routings).filter_map(|(bulk, routing)| {
            let key = if bulk { "rotor.bulk.routing.own" } else { "rotor.routing.own" };
            Some((key.to_owned(), "rotor", routing.own()?))
        });
        planned.chain(routings)
    }
}

impl PlanSpec {
    /// The key in a scenario.
    pub fn key(&self) -> &'static str {
        self.into()
    }
    /// The algorithm of a program that the plan uses, with the key of the plan that names it.
    pub fn own_algorithm(&self) -> Option<(&'static str, &OwnAlgorithm)> {
        let (key, own) = match self {
            Self::Tdma(s) => ("scheduler", s.scheduler.own()),
            Self::Timeslots(t) => ("metric", t.metric.own()),
            Self::Rates(r) => ("normalizer", r.normalizer.own()),
            Self::Circuits(c) => ("scheduler", c.scheduler.own()),
            Self::Flyways(f) => ("policy", f.policy.own()),
        };
        Some((key, own?))
    }
    /// Path of the messages between controller and hosts.
    pub fn control(&self) -> ControlSpec {
        match self {
            Self::Tdma(s) => s.control,
            Self::Timeslots(t) => t.control,
            Self::Rates(r) => r.control,
            Self::Circuits(c) => c.control,
            Self::Flyways(f) => f.control,
        }
    }
    /// One-way latency between controller and hosts, besides the time on ports.
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

/// Rounds of exclusive slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TdmaSpec {
    /// Time that the gates of a slot are open.
    pub slot: Duration,
    /// Guard time between the end of a slot and the start of the next.
    pub guard: Duration,
    /// Slots per round; a round is planned as a whole.
    pub round_slots: u32,
    /// Scheduling algorithm, as `timeplane list schedulers` names it, or one that a program has
    /// registered.
    pub scheduler: Algorithm<TdmaScheduler>,
    /// One-way latency between controller and hosts, besides the time on ports.
    pub control_latency: Duration,
    /// Probability that a control message is lost.
    pub control_loss: f64,
    /// Path of the messages between controller and hosts.
    pub control: ControlSpec,
    /// Time that the scheduler computes before its grants are sent.
    pub compute_time: Duration,
    /// Maximum offset of a host's clock, in either direction.
    pub clock_error: Duration,
    /// Maximum drift of a host's clock in parts per million; at 50, two clocks diverge by up to 100
    /// us per second.
    pub clock_drift: f64,
    /// Interval of beacons that correct the hosts' clocks to within `clock_error`; default: only
    /// once, at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resync: Option<Duration>,
    /// Receive buffers of the hosts; default: hosts receive at line rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<ReceiveSpec>,
    /// Share of the network that is reserved for short flows outside the slots; default: all flows
    /// wait for slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundSpec>,
    /// Open and close gates by PFC frames at the start and the end of each slot, instead of by the
    /// hosts' clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signals: Option<SignalSpec>,
    /// Second controller, which takes over if the first one fails; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standby: Option<StandbySpec>,
    /// Relays, each responsible for some of the hosts; default: the controller talks to all hosts
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controllers: Option<ControllersSpec>,
}

impl Default for TdmaSpec {
    fn default() -> Self {
        Self {
            slot: Duration::from_us(300),
            guard: Duration::from_us(15),
            round_slots: 32,
            scheduler: Algorithm::default(),
            control_latency: Duration::from_us(20),
            control_loss: 0.0,
            control: ControlSpec::default(),
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
    /// Maximum offset of a host's clock, including drift between two beacons.
    pub fn clock_bound(&self) -> Duration {
        self.clock_error + self.resync.map_or(Duration::ZERO, |every| every.scale(self.clock_drift * 1e-6))
    }
}

/// Share of the network for short flows, which do not wait for slots.
///
/// Each host sends its short flows at once, in order of arrival, at this rate. Slots run at the
/// link rate less this rate. No link is overloaded while the short flows to each host and across
/// each inner link stay within the share. If several hosts exceed it for a while by sending to one
/// host, packets of slots queue behind short flows in switches. The queue holds the excess and
/// drains in the next pause. A bounded switch buffer must hold that much, or frames are lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundSpec {
    /// Rate on each link, on the wire.
    pub rate: Rate,
    /// Largest size of a short flow.
    pub below: Bytes,
}

/// Receive buffer of a host and the application that empties it. Frames that do not fit are lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiveSpec {
    /// Capacity in bytes on the wire.
    pub buffer: Bytes,
    /// Rate at which the application empties the buffer, on the wire.
    pub drain: Rate,
}

/// Timeslots of one packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeslotsSpec {
    /// Time from the start of a slot to the start of the next; default: a frame of the MTU on a
    /// host's link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Duration>,
    /// Order in which pairs are matched.
    pub metric: Algorithm<SlotMetric>,
    /// What may fill a slot.
    pub fill: SlotFill,
    /// Algorithm that finds the paths.
    pub coloring: PathColoring,
    /// Upper bounds of flow sizes, one for each class; smaller flows go first. Default: all flows
    /// are in one class.
    pub classes: Vec<Bytes>,
    /// Slots that are allocated together and granted in one message.
    pub batch: u32,
    /// Time from the allocation of a batch to the start of its first slot; default: just enough for
    /// computation and delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Duration>,
    /// Interval at which a host reports if it hears nothing from the controller; it also reports
    /// every change.
    pub report_every: Duration,
    /// One-way latency between controller and hosts, besides the time on ports.
    pub control_latency: Duration,
    /// Probability that a control message is lost.
    pub control_loss: f64,
    /// Path of the messages between controller and hosts.
    pub control: ControlSpec,
    /// Time to allocate a batch; batches are computed in a pipeline.
    pub compute_time: Duration,
    /// Maximum offset of a host's clock, in either direction.
    pub clock_error: Duration,
    /// Maximum phase of a host: it starts each of its timeslots later than the plan says by a
    /// constant, drawn uniformly from 0 to this. By default all hosts start in the same instant, so
    /// packets that share a faster link meet there.
    pub phase: Duration,
    /// Order of the flows of one pair.
    pub flow_order: FlowOrder,
}

/// Order in which the flows of one pair use its timeslots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowOrder {
    /// As `metric` orders pairs: under `srjf` the flow with the fewest bytes left goes first, under
    /// all others the first that came. Flows over TCP that take turns at the interface
    /// (`nic.discipline = "fair_queue"`) still do.
    #[default]
    Metric,
    /// The first that came.
    Arrival,
}

impl TimeslotsSpec {
    /// Whether the flow of a pair with the fewest bytes left goes first.
    pub fn shortest_first(&self) -> bool {
        self.metric == SlotMetric::Srjf.into() && self.flow_order == FlowOrder::Metric
    }

    /// Minimum time from an allocation to its slot: computation, delivery, and a host's clock that
    /// is fast. Frames of data have at most `mtu` bytes.
    pub fn least_ahead(&self, fabric: &Fabric, mtu: u32) -> Duration {
        let delivery = self.control_latency + self.control.transfer(fabric, mtu, self.grants());
        self.compute_time + delivery + self.clock_error
    }

    /// Most wire bytes of the grants for one host of a batch, with room for a limit in bytes or in
    /// packets.
    pub fn grants(&self) -> Bytes {
        Message::most_of_grants(self.batch.into(), size::GRANT + size::LIMIT)
    }
}

impl Default for TimeslotsSpec {
    fn default() -> Self {
        Self {
            slot: None,
            metric: Algorithm::default(),
            fill: SlotFill::default(),
            coloring: PathColoring::default(),
            classes: Vec::new(),
            batch: 1,
            ahead: None,
            report_every: Duration::from_ms(1),
            control_latency: Duration::ZERO,
            control_loss: 0.0,
            control: ControlSpec::default(),
            compute_time: Duration::ZERO,
            clock_error: Duration::ZERO,
            phase: Duration::ZERO,
            flow_order: FlowOrder::default(),
        }
    }
}

/// A rate for each pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RatesSpec {
    /// Estimator of the requested rates.
    pub estimator: RateEstimator,
    /// Algorithm that turns requested rates into feasible ones.
    pub normalizer: Algorithm<RateNormalizer>,
    /// Minimum time between two computations, which happen on changes.
    pub every: Duration,
    /// Relative change of a rate that is reported to a host; 0 reports every change.
    pub threshold: f64,
    /// Interval at which a host reports if it hears nothing from the controller; it also reports
    /// every change. Rates expire after ten intervals.
    pub report_every: Duration,
    /// One-way latency between controller and hosts, besides the time on ports.
    pub control_latency: Duration,
    /// Probability that a control message is lost.
    pub control_loss: f64,
    /// Path of the messages between controller and hosts.
    pub control: ControlSpec,
    /// Time of a computation.
    pub compute_time: Duration,
    /// Depth of a pair's leaky bucket in packets. A packet that others of its interface have
    /// delayed lets the next ones catch up by less than this; what a bucket has missed beyond is
    /// lost. 1 keeps to the rate closely, and loses part of it at high load. Daemons have a depth
    /// of 4 ms instead, see `timeplane live`.
    pub depth: u32,
}

impl Default for RatesSpec {
    fn default() -> Self {
        Self {
            estimator: RateEstimator::default(),
            normalizer: Algorithm::default(),
            every: Duration::from_us(10),
            threshold: 0.0,
            report_every: Duration::from_ms(1),
            control_latency: Duration::ZERO,
            control_loss: 0.0,
            control: ControlSpec::default(),
            compute_time: Duration::ZERO,
            depth: 1,
        }
    }
}

/// Circuits alongside packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CircuitsSpec {
    /// Scheduling algorithm.
    pub scheduler: Algorithm<CircuitAlgorithm>,
    /// Time that each matching of `max_weight` or `round_robin` is open; default: nine times
    /// `dark`, and at least 1 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<Duration>,
    /// Steps of `adjust`, as a multiple of the number of ports; default: what is best for the
    /// demand and the dark time. At 1 it is `double`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<u32>,
    /// How often the demand of a pair counts that had a circuit in the last period, when
    /// `cover_all` and `cover_most` choose demands for the packet switch; 1 to 1000, default: 1.
    /// More keeps pairs on circuits whose demand is small for once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hysteresis: Option<f64>,
    /// Let `round_robin` serve its matchings in another order in each round. A round has all
    /// matchings once.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub reorder: bool,
    /// Let hosts report backlogs by coflow, if the scheduler orders coflows (`sunflow`). Otherwise
    /// it takes all demand for one coflow.
    pub coflows: bool,
    /// Source of the controller's knowledge about backlogs.
    pub demand: CircuitDemand,
    /// Time from one schedule to the next.
    pub period: Duration,
    /// Time between two configurations that schedules assume. It covers pausing the hosts, the
    /// switch's dark time and packets in flight. The switch itself may be faster, see
    /// `fabric.topology.hybrid.dark`.
    pub dark: Duration,
    /// Minimum time that a configuration is open.
    pub least_open: Duration,
    /// Maximum number of configurations per period; default: as many as fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configurations: Option<u32>,
    /// Let pairs without a circuit use the packet switch.
    pub packets: bool,
    /// Keep room on hosts' links for traffic from the packet switch.
    pub limits: bool,
    /// Share of the packet switch for TCP acknowledgements, which then do not use circuits; at 0
    /// they travel with the data.
    pub acknowledgements: f64,
    /// Share of the rest of the packet switch for pairs that have not requested anything yet, until
    /// the next schedule. Circuits leave room for it.
    pub unreported: f64,
    /// One-way latency between controller and hosts, besides the time on ports.
    pub control_latency: Duration,
    /// Probability that a control message is lost.
    pub control_loss: f64,
    /// Path of the messages between controller and hosts.
    pub control: ControlSpec,
    /// Time that the scheduler computes.
    pub compute_time: Duration,
    /// PFC frames: how they are sent and how fast hosts react.
    pub signals: SignalSpec,
}

impl Default for CircuitsSpec {
    fn default() -> Self {
        Self {
            scheduler: Algorithm::default(),
            day: None,
            granularity: None,
            hysteresis: None,
            reorder: false,
            coflows: true,
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
            control: ControlSpec::default(),
            compute_time: Duration::from_us(100),
            signals: SignalSpec { reaction: Reaction::Intel82599, ..SignalSpec::default() },
        }
    }
}

/// Source of the controller's knowledge about backlogs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CircuitDemand {
    /// Reports of the hosts, which are delayed by the control latency and can be lost.
    #[default]
    Reports,
    /// An oracle, as in REACToR's prototype (section 3.1): the backlog of all queues at the time of
    /// planning.
    Oracle,
}
