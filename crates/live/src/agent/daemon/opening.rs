//! Queues that may send: grants, signals and rates open and close them. The kernel's gate obeys
//! signals by itself; for grants and rates the agent sets it.

use super::LiveAgent;
use crate::agent::pace::Pace;
use timeplane_model::{HostId, Medium, Rate, Time};
use timeplane_protocol::Opening;
use timeplane_protocol::numbering::CIRCUIT;

/// A queue that may send.
#[derive(Clone, Debug)]
pub(super) struct OpenQueue {
    pub(super) destination: HostId,
    /// Class of its frames in the gate.
    class: u16,
    /// Whether a signal has opened it; the next signal closes it. A rate may be in force at the
    /// same time for the same destination, briefly, when a period with a circuit is followed by one
    /// without.
    by_signal: bool,
    medium: Medium,
    pub(super) until: Time,
    /// Wire bytes that it still may send, if limited.
    pub(super) bytes: Option<u64>,
    pub(super) pace: Option<Pace>,
    /// Packets that it still may send, if limited: those of a timeslot.
    pub(super) packets: Option<u32>,
}

impl OpenQueue {
    /// Sending without a slot until `until`, while controllers are silent.
    pub(super) fn unscheduled(destination: HostId, until: Time) -> Self {
        let class = u16::try_from(destination.0).unwrap_or(0);
        Self {
            destination,
            class,
            by_signal: false,
            medium: Medium::Fabric,
            until,
            bytes: None,
            pace: None,
            packets: None,
        }
    }
    /// A queue with a rate.
    #[cfg(test)]
    pub(super) fn with_rate(destination: HostId, until: Time, pace: Pace) -> Self {
        Self { pace: Some(pace), ..Self::unscheduled(destination, until) }
    }
    /// The class field of its frames.
    pub(super) fn class_field(&self) -> u16 {
        if self.by_circuit() { self.class | CIRCUIT } else { self.class }
    }
    /// Whether its frames go through the circuit switch.
    pub(super) fn by_circuit(&self) -> bool {
        matches!(self.medium, Medium::Link(_))
    }
    /// Whether it ends once the gate refuses a frame, as only another signal can open it again, or
    /// no controller has opened it.
    pub(super) fn is_slot(&self) -> bool {
        self.by_signal || self.pace.is_none()
    }
}

impl LiveAgent {
    /// Opens a queue. If a signal has opened it, the kernel's gate has obeyed already, and `class`
    /// is the signal's class.
    pub(super) fn opened(&mut self, now: Time, opening: &Opening, class: Option<u16>) {
        let Opening { destination, medium, rate, bytes, packets, until, .. } = *opening;
        let by_number = u16::try_from(destination.0).unwrap_or(u16::MAX);
        let (number, by_signal) = (class.unwrap_or(by_number), class.is_some());
        let same = |o: &OpenQueue| o.destination == destination && o.by_signal == by_signal;
        let before = self.open.iter().position(same).map(|i| self.open.swap_remove(i));
        if !by_signal {
            let held = until - now;
            let done = match rate {
                Some(Rate::ZERO) => self.gate.close(number),
                rate => self.gate.open(number, held, rate),
            };
            if let Err(e) = done {
                self.troubles.say(now, |more| tracing::error!("{e}{more}"));
            }
        }
        if rate == Some(Rate::ZERO) {
            return;
        }
        // The bucket counts from when the kernel opened the gate, however late this thread was
        // woken.
        let opened = if by_signal { self.gate.class(number) } else { None };
        let opened = opened.map_or(now, |c| Time::from_ps((c.opened_ns * 1000) as i64)).min(now);
        let new = |rate| if by_signal { Pace::since(opened, rate) } else { Pace::new(now, rate) };
        let pace = rate.map(|rate| before.and_then(|b| b.pace).map_or_else(|| new(rate), |p| p.at(now, rate)));
        if self.open.is_empty() {
            self.link.start(opened);
        }
        let bytes = bytes.map(|b| b.get());
        self.open.push(OpenQueue { destination, class: number, by_signal, medium, until, bytes, pace, packets });
    }

    /// Closes a queue that a signal has opened.
    pub(super) fn closed(&mut self, now: Time, destination: HostId) {
        self.open.retain(|o| !(o.by_signal && o.destination == destination));
        if self.open.is_empty() {
            self.link.stop(now);
        }
    }
}
