//! What few acknowledgements carry: SACK blocks, and a receive window that has grown. With
//! timestamps, each one carries an echo.
//!
//! It stands beside the packets, so that a packet fits in a cache line.

use core::num::NonZeroU32;

use timeplane_transport::{Ack, SackBlocks};

use crate::network::packet::NO_OPTIONS;

/// The options of an acknowledgement.
#[derive(Clone, Copy, Default)]
pub struct AckOptions {
    /// Ranges that have arrived.
    pub sacks: SackBlocks,
    /// The receive window, if it has grown.
    pub window: Option<NonZeroU32>,
    /// The timestamp that is echoed.
    pub timestamp_echo: Option<u32>,
}

/// The options of all acknowledgements in the network.
#[derive(Default)]
pub struct Options {
    entries: Vec<AckOptions>,
    free: Vec<u32>,
}

impl Options {
    /// Keeps the options of an acknowledgement. Returns their place, or [`NO_OPTIONS`].
    #[inline]
    pub fn keep(&mut self, ack: &Ack) -> u32 {
        if ack.sacks.is_empty() && ack.window.is_none() && ack.timestamp_echo.is_none() {
            return NO_OPTIONS;
        }
        let Ack { sacks, window, timestamp_echo, .. } = *ack;
        let options = AckOptions { sacks, window, timestamp_echo };
        if let Some(free) = self.free.pop() {
            self.entries[free as usize] = options;
            return free;
        }
        self.entries.push(options);
        (self.entries.len() - 1) as u32
    }

    /// The options at a place.
    pub fn get(&self, place: u32) -> AckOptions {
        if place == NO_OPTIONS { AckOptions::default() } else { self.entries[place as usize] }
    }

    /// Takes the options from a place, which becomes free.
    pub fn take(&mut self, place: u32) -> AckOptions {
        let options = self.get(place);
        if place != NO_OPTIONS {
            self.free.push(place);
        }
        options
    }
}
