//! Which pairs have a route, as far as is known.

use std::sync::Arc;
use timeplane_model::{Fabric, HostId, LinkId};

/// A fabric of which some links may be known to carry nothing.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    fabric: Arc<Fabric>,
    /// What is left of it, where that is not all.
    left: Option<Fabric>,
}

impl Live {
    /// All of it works.
    pub(crate) fn new(fabric: Arc<Fabric>) -> Self {
        Self { fabric, left: None }
    }
    /// These links carry nothing, and all others do.
    pub(crate) fn set_down(&mut self, links: Vec<LinkId>) {
        self.left = (!links.is_empty()).then(|| self.fabric.without(links));
    }
    /// Whether packets from one host come to the other.
    pub(crate) fn reaches(&self, from: HostId, to: HostId) -> bool {
        self.left.as_ref().is_none_or(|left| left.reaches(from, to))
    }
}
