//! Counters of a demand channel.
//!
//! They are shared by all connections of a server.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident),* $(,)?) => {
        /// What a channel has counted since it was started.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[doc = $doc])+ pub $name: u64,)*
        }

        impl Counters {
            /// Names, and what each counts, in a line.
            pub const ABOUT: &'static [(&'static str, &'static str)] =
                &[$((stringify!($name), concat!($($doc),+).trim_ascii()),)*];
            /// Names and values, for metrics.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }

        #[derive(Debug, Default)]
        pub(super) struct Counting {
            $(pub(super) $name: AtomicU64,)*
        }

        impl Counting {
            pub(super) fn read(&self) -> Counters {
                Counters { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Connections that were begun: by others to a server, by a client itself.
    connections,
    /// Peers that have proved who they are.
    joined,
    /// Connections whose handshake failed: no certificate, one of another authority, another name
    /// than asked for, or no TLS at all.
    refused,
    /// Connections whose handshake took too long.
    handshakes_late,
    /// Strangers that were turned away because there were too many.
    turned_away,
    /// Connections that could not be accepted, as the system had no room, or not be made.
    failed,
    /// Peers that were replaced by one of the same name.
    replaced,
    /// Peers that fell silent, or took nothing.
    silent,
    /// Peers that broke the rules of records.
    broken,
    /// Notes and control messages that came, as a whole.
    received,
    /// Datagrams that were no part of a message.
    malformed,
    /// Notes and control messages that were handed over to the system, as a whole.
    sent,
    /// Control messages that were dropped because newer ones needed their room.
    dropped,
}

impl Counting {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
