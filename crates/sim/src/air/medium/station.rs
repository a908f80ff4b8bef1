//! A radio station: when its turn to send comes.
//!
//! A station counts its back-off and knows when it hears others. It does not know what its links
//! hold.

use crate::engine::time::SimTime;
use rand_xoshiro::Xoshiro256PlusPlus;
use timeplane_model::Duration;

/// The state of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It may start, or waits for its turn.
    Free,
    /// It sends a frame.
    Sends,
    /// It waits for the answer to its frame.
    Waits,
    /// It will answer a frame of this link.
    Owes { link: u32 },
}

/// A radio station, which sends or receives, never both.
#[derive(Debug)]
pub(super) struct Station {
    pub state: State,
    /// Frames of others that it hears.
    pub busy: u32,
    /// Since when the channel has been idle for it, while `busy` is 0.
    pub idle_since: SimTime,
    /// Until when frames that it heard reserve the channel.
    pub reserved: SimTime,
    /// Back-off slots left.
    pub backoff: u32,
    /// Failed attempts in a row.
    pub failures: u32,
    /// Its links, and the next one to send.
    pub links: Vec<u32>,
    pub next: usize,
    /// The number of the only valid request for a turn.
    pub turn: u32,
    /// When its turn comes, where it asked for one.
    due_at: SimTime,
    pub last_sent: SimTime,
    pub answered: bool,
    pub has_token: bool,
    /// Stations that heard the start of its frame.
    pub listeners: Vec<u32>,
    pub stream: Xoshiro256PlusPlus,
}

impl Station {
    pub fn new(stream: Xoshiro256PlusPlus) -> Self {
        Self {
            state: State::Free,
            busy: 0,
            idle_since: SimTime::ZERO,
            reserved: SimTime::ZERO,
            backoff: 0,
            failures: 0,
            links: Vec::new(),
            next: 0,
            turn: 0,
            due_at: SimTime::MAX,
            last_sent: SimTime::ZERO,
            answered: false,
            has_token: false,
            listeners: Vec::new(),
            stream,
        }
    }

    pub fn is_contending(&self) -> bool {
        self.due_at < SimTime::MAX
    }

    pub fn is_due(&self, now: SimTime) -> bool {
        self.due_at == now
    }

    /// Asks for a turn at `at`, and returns the number of the request.
    pub fn ask(&mut self, at: SimTime) -> u32 {
        self.due_at = at;
        self.turn += 1;
        self.turn
    }

    /// Its turn is over: it sends, or waits for something else.
    pub fn turn_is_over(&mut self) {
        self.due_at = SimTime::MAX;
        self.turn += 1;
    }

    /// Another station starts to send. Passed slots count. A turn that comes at this instant stays
    /// where stations collide.
    pub fn becomes_busy(&mut self, now: SimTime, aifs: Duration, slot: Duration, collides: bool) {
        self.busy += 1;
        if self.busy == 1 {
            let idle = (now - self.idle_since - aifs).as_ps();
            let slots = (idle / slot.as_ps().max(1)).max(0);
            self.backoff -= self.backoff.min(u32::try_from(slots).unwrap_or(u32::MAX));
        }
        if self.is_contending() && !(collides && self.due_at <= now) {
            self.turn_is_over();
        }
    }

    /// A frame that it heard has ended.
    pub fn hears_end(&mut self, now: SimTime) {
        self.busy -= 1;
        if self.busy == 0 {
            self.idle_since = self.idle_since.max(now).max(self.reserved);
        }
    }
}
