//! The contract between agents and their drivers.
//!
//! An [`Agent`] gets inputs with the time of its own clock, and answers with outputs. Drivers own
//! clocks, sockets and queues.

use crate::batch::GrantBatch;
use crate::host::Detail;
use crate::message::Message;
use timeplane_model::{Backlog, Bytes, Class, Duration, Grant, HostId, LinkId, Matching, Medium, Rate, Round, Time};
use timeplane_schedule::OwnError;
use timeplane_schedule::circuits::CircuitError;

/// A state machine that a driver gives time and I/O.
///
/// The driver calls [`handle`](Self::handle) with [`Input::Due`] once the agent's clock shows
/// [`deadline`](Self::deadline), and with other inputs as they arrive. It carries out the outputs
/// in order and reads the deadline again after every call. Time never goes back between calls.
/// Extra or late calls do no harm.
pub trait Agent {
    /// When the next [`Input::Due`] is due, if no other input comes before. All timers share it.
    fn deadline(&self) -> Option<Time>;
    /// Handles one input at `now` and appends outputs.
    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>);
}

/// The sender or recipient of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// The planning agent.
    Controller,
    /// The agent of a host.
    Host(HostId),
    /// All other planning agents; for messages between them.
    Peer,
    /// A [`Relay`](crate::Relay), by its number.
    Relay(u32),
}

/// An input of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The deadline has passed.
    Due,
    /// A message arrived.
    Message {
        /// Its sender.
        from: Address,
        /// Its content.
        message: Message,
    },
    /// The answer to [`Output::ReadBacklog`]: the current backlog of the host's queues and the room
    /// in its receive buffer.
    Backlog(Backlog),
    /// For controllers: these links are known to be down. Replaces earlier news; an empty list
    /// means that all links work.
    Down(Vec<LinkId>),
    /// For controllers of slots: these links have these rates from this time on, which may be past.
    Rates(Time, Vec<(LinkId, Rate)>),
    /// Packets arrived at a queue that the agent does not know of, or a queue became empty.
    Changed,
}

/// An output of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Sends a message now. It may get lost, doubled or overtaken.
    Send {
        /// Its recipient.
        to: Address,
        /// Its content.
        message: Message,
    },
    /// Sends all [messages](GrantBatch::messages) of a batch now, as [`Output::Send`] would.
    Grants(GrantBatch),
    /// Asks for [`Input::Backlog`] at once, in this detail.
    ReadBacklog(Detail),
    /// Lets a queue send.
    Open(Opening),
    /// Replaces the rates of these queues, in the order of destination and class, each at most
    /// once. Other queues keep theirs. Equals an [`Output::Open`] for each.
    Rates(Vec<RateChange>),
    /// Starts no more frames of a queue that was opened without a known end. A started frame is
    /// finished.
    Close {
        /// The destination of the queue.
        destination: HostId,
        /// The class of the queue.
        class: Class,
    },
    /// Sets the circuit switch from now on.
    Retune(Matching),
    /// An event for tables of results, without effect on the driver.
    Log(Event),
}

/// The rate of a queue from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// The destination of the queue.
    pub destination: HostId,
    /// The class of the queue.
    pub class: Class,
    /// The rate on the wire; [`Rate::ZERO`] removes it.
    pub rate: Rate,
    /// When it ends by the host's clock, exclusive.
    pub until: Time,
}

impl RateChange {
    /// The opening that gives this rate at `now`.
    pub fn opening(&self, now: Time) -> Opening {
        let Self { destination, class, rate, until } = *self;
        let medium = Medium::Fabric;
        Opening { destination, class, medium, rate: Some(rate), bytes: None, packets: None, from: now, until }
    }
}

/// Lets a queue send from now until a known end.
///
/// A frame starts only if its last bit leaves before `until`. No call announces the end, except an
/// earlier [`Output::Close`]. An opening with a `rate` replaces the queue's rate; [`Rate::ZERO`]
/// removes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The destination of the queue.
    pub destination: HostId,
    /// The class of the queue.
    pub class: Class,
    /// The network that frames use.
    pub medium: Medium,
    /// The rate on the wire; `None` for the line rate.
    pub rate: Option<Rate>,
    /// The most bytes on the wire; `None` if only the time limits them.
    pub bytes: Option<Bytes>,
    /// The most packets; `None` if only the time limits them.
    pub packets: Option<u32>,
    /// The time of opening, which is now.
    pub from: Time,
    /// The time of closing by the host's clock, exclusive. Never later than the grant's lease.
    pub until: Time,
}

impl Opening {
    /// The opening of a grant that starts at `from`.
    pub fn of(grant: &Grant, from: Time, until: Time) -> Self {
        let Grant { destination, class, medium, rate, bytes, packets, .. } = *grant;
        Self { destination, class, medium, rate, bytes, packets, from, until }
    }
}

/// An event for tables of results.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A round was planned. Without demand it has no slots.
    RoundPlanned {
        /// The number of the round.
        round: Round,
        /// When the first slot opens, by the controller's clock.
        effective: Time,
        /// The planned bytes: the expected backlog at that time.
        demand: Bytes,
        /// How many slots the round has.
        slots: u32,
    },
    /// A slot of that round. Slots come in order.
    SlotPlanned {
        /// The number of the round.
        round: Round,
        /// The slot's position in the round, from 0.
        index: u32,
        /// When the slot opens, by the controller's clock.
        start: Time,
        /// How long it stays open.
        open: Duration,
        /// The time from its end to the next slot's start.
        guard: Duration,
        /// Senders and receivers.
        pairs: Vec<(HostId, HostId)>,
    },
    /// The plan cannot be granted. The round stays empty.
    PlanRefused {
        /// The number of the round.
        round: Round,
        /// The first violated rule.
        fault: PlanFault,
    },
    /// Grants arrived after their schedule took effect, or could not be kept. None is executed.
    GrantsLost {
        /// The number of the round.
        round: Round,
        /// How many grants.
        grants: u32,
    },
    /// A follower hears no leader, but most hosts learn of new rounds: one leads that it does not
    /// hear.
    UnheardLeader {
        /// The epoch of that controller.
        epoch: u32,
    },
    /// A follower cannot take over, as no epoch is left above the known one.
    NoEpoch {
        /// The highest known epoch.
        after: u32,
    },
    /// One of several controllers hears too few hosts to lead, as another one may hear the others.
    FewHosts {
        /// How many hosts it hears.
        heard: u32,
        /// How many it has heard since its start.
        of: u32,
    },
}

/// Why a plan cannot be granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFault {
    /// The plan has rates instead of slots.
    #[error("a controller of slots got rates")]
    Rates,
    /// The round has too many slots.
    #[error("a round of at most {most} slots got {slots}")]
    TooLong {
        /// The planned number.
        slots: u32,
        /// The largest allowed number.
        most: u32,
    },
    /// The parameters are impossible for the circuit scheduler.
    #[error("no circuits can be scheduled: {0}")]
    Circuits(#[from] CircuitError),
    /// An own algorithm failed, or its answer is invalid.
    #[error(transparent)]
    Own(#[from] OwnError),
    /// Circuits and rates violate the rules of classes.
    #[error(transparent)]
    Classes(#[from] ClassFault),
    /// A guard is negative.
    #[error("the guard after slot {index} is negative")]
    Guard {
        /// The slot's position, from 0.
        index: u32,
    },
}

/// The violated rule of REACToR's section 3.3, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClassFault {
    /// The rates of a host's packets exceed the rate of the packet switch.
    #[error("host {} {} packets at {rate}, and the packet switch carries {most}", host.0, side.verb())]
    Packets {
        /// The number of the host.
        host: HostId,
        /// The direction.
        side: Side,
        /// The sum of its rates.
        rate: Rate,
        /// The rate of the packet switch.
        most: Rate,
    },
    /// A host's circuit and packets together exceed its link.
    #[error("host {} {} packets at {packets} beside a circuit of {circuit}, on a link of {line}", host.0, side.verb())]
    Line {
        /// The number of the host.
        host: HostId,
        /// The direction.
        side: Side,
        /// The sum of the rates of its packets.
        packets: Rate,
        /// The rate of its circuit.
        circuit: Rate,
        /// The rate of its link.
        line: Rate,
    },
    /// A pair has a circuit and a rate of packets in the same period, so frames could overtake each
    /// other.
    #[error("host {} has a circuit to host {} and a rate of packets, too", source_host.0, destination.0)]
    Both {
        /// The sender.
        source_host: HostId,
        /// The receiver.
        destination: HostId,
    },
    /// A circuit of a host starts before the last one ends.
    #[error(
        "the circuit from host {} to host {} begins {begin} after the period does, while host {} {} by another one until {until}",
        source_host.0, destination.0, if *side == Side::Sends { source_host.0 } else { destination.0 }, side.verb()
    )]
    Overlap {
        /// The sender.
        source_host: HostId,
        /// The receiver.
        destination: HostId,
        /// The end whose other circuit still stands.
        side: Side,
        /// Its start, relative to the period's.
        begin: Duration,
        /// The end of the other circuit, relative to the period's start.
        until: Duration,
    },
}

/// A direction of a host's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the host to the network.
    Sends,
    /// From the network to the host.
    Receives,
}

impl Side {
    const fn verb(self) -> &'static str {
        match self {
            Self::Sends => "sends",
            Self::Receives => "receives",
        }
    }
}
