//! Errors of flyway planning: inconsistent inputs and invalid routes.
//!
//! Every error names the value that was found and the limit that it breaks.

use crate::OwnError;
use timeplane_model::Rate;

/// A reason why there is no flyway plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FlywayError {
    /// A traffic matrix has the wrong number of entries.
    #[error("{found} numbers for {racks} racks: a matrix of {racks} x {racks} has {}", racks * racks)]
    Shape {
        /// Number of entries in the matrix.
        found: usize,
        /// Number of racks.
        racks: usize,
    },
    /// A rack has traffic for itself.
    #[error("rack {rack} has {bytes} bytes for itself: what stays in a rack is no demand between racks")]
    Inside {
        /// Number of the rack.
        rack: usize,
        /// Bytes on the diagonal.
        bytes: u64,
    },
    /// Parts of the input have different numbers of racks.
    #[error("{what} of {found} racks beside traffic of {racks}")]
    Racks {
        /// The part that does not fit.
        what: &'static str,
        /// Number of racks of the part.
        found: usize,
        /// Number of racks of the traffic.
        racks: usize,
    },
    /// A wire or a port has an impossible rate.
    #[error("the {what} has rate {found}: it needs a positive one")]
    NoRate {
        /// Name of the wire or port.
        what: &'static str,
        /// The rate in the input.
        found: Rate,
    },
    /// The oversubscription factor is out of range.
    #[error("an oversubscription of 1:{found}: from 1:1 to 1:{most}")]
    Oversubscription {
        /// The factor N of 1:N.
        found: u32,
        /// The largest supported factor.
        most: u32,
    },
    /// The setup time is negative.
    #[error("a setup time below zero")]
    Setup,
    /// Links are up before planning starts.
    #[error("the set of links has {found} in it: a plan begins with none, links that are up are named by the request")]
    NotEmpty {
        /// Number of links that are up.
        found: usize,
    },
    /// A route takes a link that is not on its way, or appears twice.
    #[error("link {link} carries nothing from rack {from} to rack {to}, or has a share of it already")]
    Route {
        /// Rack of the sender.
        from: usize,
        /// Rack of the receiver.
        to: usize,
        /// Index of the link in the plan.
        link: usize,
    },
    /// The shares of a pair are out of range.
    #[error("the shares from rack {from} to rack {to} are {found}: each from 0 to 1, and together at most 1")]
    Share {
        /// Rack of the sender.
        from: usize,
        /// Rack of the receiver.
        to: usize,
        /// Sum of the shares, or the share that is out of range.
        found: f64,
    },
    /// An own policy has no valid answer.
    #[error(transparent)]
    Own(#[from] OwnError),
}
