//! Flyway policies: which links might relieve a bottleneck, the best ones first.
//!
//! To add one, write its file, its `mod` line and its variant of [`FlywayPolicy`], with its
//! constructor in `build`.

use super::{Bottleneck, Fluid, Greedy, LinkSet, Offer, Straggler, Transit};
use crate::OwnError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use strum::{EnumMessage, IntoStaticStr, VariantArray};
use timeplane_model::Named;

/// A link that might help.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// One rack.
    pub a: usize,
    /// The other rack.
    pub b: usize,
    /// The offer of the set of links for the two racks.
    pub offer: Offer,
}

/// Proposes links that may relieve a wire.
pub trait Policy: Send + Sync {
    /// Whether links also carry traffic of other pairs, over two hops.
    fn transit(&self) -> bool;

    /// Offered links that may relieve a wire, the best first. The planner takes the first that
    /// helps.
    ///
    /// # Errors
    /// Fails if an own policy has no answer. The plan, and the run with it, then end.
    fn candidates(
        &self,
        fluid: &Fluid,
        links: &dyn LinkSet,
        bottleneck: Bottleneck,
    ) -> Result<Vec<Candidate>, OwnError>;
}

/// Policy that decides which link is added next.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    VariantArray,
    IntoStaticStr,
    EnumMessage,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FlywayPolicy {
    /// The feasible link that takes the most traffic off the busiest wire, other pairs' included.
    #[schemars(extend(
        "x-source" = "Flyways, Daniel Halperin et al., SIGCOMM 2011",
        "x-departures" = "the estimate of what a link takes over and the balance of shares are ours"
    ))]
    #[default]
    Greedy,
    /// The feasible link that takes the most of its own pair's traffic off the busiest wire.
    #[schemars(extend(
        "x-source" = "Flyways, Daniel Halperin et al., SIGCOMM 2011",
        "x-departures" = "`greedy` without traffic of other pairs, which the paper does not have"
    ))]
    GreedyDirect,
    /// A link for the pair of racks that would finish last, open to other pairs over two hops.
    #[schemars(extend(
        "x-source" = "Flyways, Daniel Halperin et al., SIGCOMM 2011",
        "x-departures" = "the balance of shares is ours"
    ))]
    Transit,
    /// A link for the pair of racks that would finish last, for that pair only.
    #[schemars(extend(
        "x-source" = "Flyways, Daniel Halperin et al., SIGCOMM 2011",
        "x-departures" = "of pairs that finish together, the one with the most bytes counts as last"
    ))]
    Straggler,
}

impl FlywayPolicy {
    /// Makes the policy.
    pub fn build(self) -> Arc<dyn Policy> {
        match self {
            Self::Greedy => Arc::new(Greedy { transit: true }),
            Self::GreedyDirect => Arc::new(Greedy { transit: false }),
            Self::Transit => Arc::new(Transit),
            Self::Straggler => Arc::new(Straggler),
        }
    }
}

impl Named for FlywayPolicy {
    const KIND: &'static str = "flyway policy";
}
