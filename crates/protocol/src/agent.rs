//! The contract between an agent and what drives it.

use crate::message::Message;
use timeplane_model::{Backlog, Bytes, Class, Duration, Grant, HostId, LinkId, Matching, Medium, Rate, Round, Time};
use timeplane_schedule::circuits::CircuitError;

/// A state machine that a driver gives time and I/O.
///
/// The driver calls [`handle`](Self::handle) with [`Input::Due`] when the agent's clock shows [`deadline`](Self::deadline) or
/// later, and with other inputs as they come; it carries the outputs out in order, and asks for the deadline again
/// after every call. Calls never go back in time; one too many, or late, does no harm.
pub trait Agent {
    /// When it wants to be called next if nothing comes in before; one deadline, whatever timers hide behind it.
    fn deadline(&self) -> Option<Time>;
    /// Takes one input at `now`, and appends what is to be done to `out`.
    fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>);
}

/// Who sends or gets a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// The agent that plans.
    Controller,
    /// The agent of a host.
    Host(HostId),
    /// Other agents that could plan, for one that plans.
    Peer,
    /// A [`Relay`](crate::Relay) of the agent that plans, by its number.
    Relay(u32),
}

/// What an agent is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Its deadline has come.
    Due,
    /// A message came in.
    Message {
        /// From whom.
        from: Address,
        /// What it says.
        message: Message,
    },
    /// What waits in the host's queues at this moment, and its receive buffer's room: the answer to [`Output::ReadBacklog`].
    Backlog(Backlog),
    /// These links carry nothing now, as far as is known: plan without them. It replaces what was said before; with none, all work. For
    /// a controller.
    Down(Vec<LinkId>),
    /// These links have these rates from this time of the agent's clock on, which may have come or not. For a controller of slots.
    Rates(Time, Vec<(LinkId, Rate)>),
    /// Packets came to wait in a queue that the agent has not heard of, or one ran empty.
    Changed,
}

/// What an agent wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Send this message now; it may be lost, doubled or overtaken.
    Send {
        /// To whom.
        to: Address,
        /// What it says.
        message: Message,
    },
    /// Call again at once with [`Input::Backlog`], flow by flow where `bursts`.
    ReadBacklog {
        /// Whether [`Backlog::bursts`] is asked for.
        bursts: bool,
    },
    /// Let a queue send.
    Open(Opening),
    /// Begin no more frames of a queue that was opened without a known end; one that is being sent is finished.
    Close {
        /// The queue: to whom.
        destination: HostId,
        /// The queue: which class.
        class: Class,
    },
    /// Set the circuit switch so, from now on.
    Retune(Matching),
    /// For the results; changes nothing.
    Log(Event),
}

/// A queue may send, from now on and until a known end.
///
/// A frame is begun only if its last bit leaves before `until`. No call says that it closes, unless a [`Output::Close`] comes before. One with a `rate` replaces the rate that its queue
/// had; [`Rate::ZERO`] takes it away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The queue: to whom.
    pub destination: HostId,
    /// The queue: which class.
    pub class: Class,
    /// Over what.
    pub medium: Medium,
    /// How fast, in wire bits per second; `None` is line rate.
    pub rate: Option<Rate>,
    /// The most wire bytes; `None` is what the time allows.
    pub bytes: Option<Bytes>,
    /// The most packets; `None` is what the time allows.
    pub packets: Option<u32>,
    /// When it opens: now.
    pub from: Time,
    /// When it closes, by the host's own clock; the instant itself is outside. Never later than the grant's lease.
    pub until: Time,
}

impl Opening {
    /// What a grant opens at `from`.
    pub fn of(grant: &Grant, from: Time, until: Time) -> Self {
        let Grant { destination, class, medium, rate, bytes, packets, .. } = *grant;
        Self { destination, class, medium, rate, bytes, packets, from, until }
    }
}

/// What happened, for tables of results.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A round was planned. It has no slots where nothing waited.
    RoundPlanned {
        /// Its number.
        round: Round,
        /// When its first slot opens, by the controller's clock.
        effective: Time,
        /// What it was planned for: bytes that will still wait then, as far as reports tell.
        demand: Bytes,
        /// How many slots it has.
        slots: u32,
    },
    /// A slot of that round; in order.
    SlotPlanned {
        /// The round.
        round: Round,
        /// Its place in the round, from 0.
        index: u32,
        /// When it opens, by the controller's clock.
        start: Time,
        /// For how long.
        open: Duration,
        /// From its end to the next slot's begin.
        gap: Duration,
        /// Who sends to whom.
        pairs: Vec<(HostId, HostId)>,
    },
    /// The scheduler's plan cannot be granted as slots; the round stays empty.
    PlanRefused {
        /// The round.
        round: Round,
        /// What is wrong with it.
        fault: PlanFault,
    },
    /// Grants came after their schedule was in effect, or could not be kept; none of them is executed.
    GrantsLost {
        /// The round.
        round: Round,
        /// How many.
        grants: u32,
    },
}

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanFault {
    /// It has rates instead of slots.
    #[error("a controller of slots got rates")]
    Rates,
    /// It has more slots than a round may have.
    #[error("a round of at most {most} slots got {slots}")]
    TooLong {
        /// How many it has.
        slots: u32,
        /// How many it may have.
        most: u32,
    },
    /// Its parameters are impossible for the circuit scheduler.
    #[error("no circuits can be scheduled: {0}")]
    Circuits(#[from] CircuitError),
    /// Its circuits and rates break the rules of classes.
    #[error(transparent)]
    Classes(#[from] ClassFault),
    /// A gap is negative.
    #[error("the gap after slot {index} is negative")]
    Gap {
        /// The slot's place, from 0.
        index: u32,
    },
}

/// Which rule of REACToR's section 3.3 a period breaks, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClassFault {
    /// The rates of a host's packets are more than the packet switch carries for it.
    #[error("host {} {} packets at {rate}, and the packet switch carries {most}", host.0, side.verb())]
    Packets {
        /// The host.
        host: HostId,
        /// Which way.
        side: Side,
        /// All its rates.
        rate: Rate,
        /// What it may have.
        most: Rate,
    },
    /// A host's circuit and its packets together are more than its link carries.
    #[error("host {} {} packets at {packets} beside a circuit of {circuit}, on a link of {line}", host.0, side.verb())]
    Line {
        /// The host.
        host: HostId,
        /// Which way.
        side: Side,
        /// The rates of its packets.
        packets: Rate,
        /// What its circuit may carry.
        circuit: Rate,
        /// Its link.
        line: Rate,
    },
    /// A pair has a circuit and a rate of packets in the same period, so that its frames could overtake each other.
    #[error("host {} has a circuit to host {} and a rate of packets, too", source_host.0, destination.0)]
    Both {
        /// Who sends.
        source_host: HostId,
        /// To whom.
        destination: HostId,
    },
    /// A circuit of a host begins before its last one has ended.
    #[error(
        "the circuit from host {} to host {} begins {begin} after the period does, while host {} {} by another one until {until}",
        source_host.0, destination.0, if *side == Side::Sends { source_host.0 } else { destination.0 }, side.verb()
    )]
    Overlap {
        /// Who sends.
        source_host: HostId,
        /// To whom.
        destination: HostId,
        /// Whose other circuit is still there: the sender's, or the receiver's.
        side: Side,
        /// When it begins, from the period's begin.
        begin: Duration,
        /// When the other one ends.
        until: Duration,
    },
}

/// One direction of a host's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// To the network.
    Sends,
    /// From it.
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
