//! What a proxy does with reports: one file per policy, one line here.

use super::ladder::RateLadder;
use super::predicted::{Predicted, PredictedConfig};
use super::proactive::{Proactive, ProactiveConfig};
use super::reactive::Reactive;
use core::fmt;
use timeplane_model::{Rate, Time};

/// A link as the newest report has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkView {
    /// Its rate; zero in an outage.
    pub rate: Rate,
    /// The place of that rate on the ladder, from 1; 0 in an outage.
    pub rung: usize,
    /// What it receives, dBm.
    pub level_dbm: f64,
}

/// Decides how much of a link's rate may be used: the rate whose bandwidth-delay product the windows are.
///
/// Called with times that never fall; deterministic; no clock.
pub trait WindowPolicy: fmt::Debug + Send {
    /// A report has come.
    fn report(&mut self, now: Time, link: LinkView);
    /// The rate to allow now; at the deadline or later, timers that have run out count.
    fn allowed(&mut self, now: Time) -> Rate;
    /// When to ask again if no report comes before.
    fn deadline(&self) -> Option<Time>;
}

macro_rules! policies {
    ($($variant:ident $name:literal $about:literal: |$ladder:ident| $make:expr;)*) => {
        /// The policies by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum PolicyName {
            $(#[doc = $about] $variant,)*
        }
        impl PolicyName {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];
            /// The name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
            /// What it does, in a line.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about),* }
            }
            /// A policy with its default parameters.
            pub fn build(self, ladder: &RateLadder) -> Box<dyn WindowPolicy> {
                match self { $(Self::$variant => { let $ladder = ladder.clone(); Box::new($make) }),* }
            }
        }
    };
}

policies! {
    Reactive "reactive" "The window is the bandwidth-delay product of the rate reported last.": |_ladder| Reactive::default();
    Proactive "proactive" "After a fast fall the window is that of the slowest rate for a while, and grows back step by step.":
        |ladder| Proactive::new(ProactiveConfig::default(), ladder);
    Predicted "predicted" "The window is that of the rate which a trained predictor expects for the next 150 ms.":
        |ladder| Predicted::new(PredictedConfig::default(), ladder);
}
