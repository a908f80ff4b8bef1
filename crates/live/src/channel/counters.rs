//! Counters of a demand channel.
//!
//! They are shared by all connections of a server.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident),* $(,)?) => {
        /// Counters of a channel since its start.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[doc = $doc])+ pub $name: u64,)*
        }

        impl Counters {
            /// Names and descriptions of the counters.
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
    /// Connections started: by peers of a server, or by a client itself.
    connections,
    /// Peers that have authenticated.
    joined,
    /// Connections whose handshake failed: no certificate, one of another authority, a wrong name,
    /// or no TLS.
    refused,
    /// Connections whose handshake took too long.
    handshakes_late,
    /// Unauthenticated connections that were closed because there were too many.
    turned_away,
    /// Connections that were closed at once because their source connected too often.
    too_often,
    /// Connections that the system could not accept or establish.
    failed,
    /// Peers that were replaced by one of the same name.
    replaced,
    /// Peers that fell silent or accepted nothing.
    silent,
    /// Peers that sent invalid records.
    broken,
    /// Complete notes and control messages received.
    received,
    /// Pauses in reading a peer that had sent more than it may.
    slowed,
    /// Datagrams that did not belong to a message.
    malformed,
    /// Complete notes and control messages passed to the system.
    sent,
    /// Control messages dropped to make room for newer ones.
    dropped,
}

impl Counting {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
