//! Identifiers: small integers of distinct types.
//!
//! They index tables of the same order.

use core::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into a table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $letter, self.0)
            }
        }
    };
}

id!(
    /// An end point; hosts of a fabric are numbered from 0. A host is also the node of the same
    /// number.
    HostId,
    "h"
);
id!(
    /// A host or a switch: hosts first, then switches.
    NodeId,
    "n"
);
id!(
    /// One direction of a wire, and the port at its sending end.
    LinkId,
    "l"
);
id!(
    /// A flow of one run, numbered from 0 in the order of arrival.
    FlowId,
    "f"
);
id!(
    /// A coflow of one run, numbered from 0 in the order of arrival.
    CoflowId,
    "c"
);

impl HostId {
    /// The node that this host is.
    pub const fn node(self) -> NodeId {
        NodeId(self.0)
    }
}
