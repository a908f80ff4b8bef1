//! What cannot be planned.

use timeplane_model::Rate;

/// Why there is no plan of flyways.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FlywayError {
    /// A matrix of another shape.
    #[error("{found} numbers for {racks} racks: a matrix of {racks} x {racks} has {}", racks * racks)]
    Shape {
        /// Numbers given.
        found: usize,
        /// Racks.
        racks: usize,
    },
    /// Traffic that never leaves its rack.
    #[error("rack {rack} has {bytes} bytes for itself: what stays in a rack is no demand between racks")]
    Inside {
        /// The rack.
        rack: usize,
        /// Bytes on the diagonal.
        bytes: u64,
    },
    /// Parts of different networks.
    #[error("{what} of {found} racks beside traffic of {racks}")]
    Racks {
        /// What does not fit.
        what: &'static str,
        /// Its racks.
        found: usize,
        /// Those of the traffic.
        racks: usize,
    },
    /// A wire or a port without a rate.
    #[error("the {what} has rate {found}: it needs a positive one")]
    NoRate {
        /// Which.
        what: &'static str,
        /// Its rate.
        found: Rate,
    },
    /// Less than no oversubscription, or none that counts give.
    #[error("an oversubscription of 1:{found}: from 1:1 to 1:{most}")]
    Oversubscription {
        /// The second number.
        found: u32,
        /// At most.
        most: u32,
    },
    /// Links start in the past.
    #[error("a setup time below zero")]
    Setup,
    /// Links were up before the controller began.
    #[error("the set of links has {found} in it: a plan begins with none, links that are up are named by the request")]
    NotEmpty {
        /// How many.
        found: usize,
    },
    /// A route that the link does not offer, or twice.
    #[error("link {link} carries nothing from rack {from} to rack {to}, or has a share of it already")]
    Route {
        /// Sender's rack.
        from: usize,
        /// Receiver's rack.
        to: usize,
        /// The link, by its place in the plan.
        link: usize,
    },
    /// Shares that are none.
    #[error("the shares from rack {from} to rack {to} are {found}: each from 0 to 1, and together at most 1")]
    Share {
        /// Sender's rack.
        from: usize,
        /// Receiver's rack.
        to: usize,
        /// Their sum, or the one that is out of bounds.
        found: f64,
    },
}
