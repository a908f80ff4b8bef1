//! The working part of a fabric.
//!
//! Controllers leave out demand between hosts that no working route connects.

use std::sync::Arc;
use timeplane_model::{Fabric, HostId, LinkId};

/// A fabric and its links that are known to be down.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    fabric: Arc<Fabric>,
    /// The working part, if some links are down.
    left: Option<Fabric>,
}

impl Live {
    /// A fabric whose links all work.
    pub(crate) fn new(fabric: Arc<Fabric>) -> Self {
        Self { fabric, left: None }
    }
    /// Sets the links that are down; all other ones work.
    pub(crate) fn set_down(&mut self, links: Vec<LinkId>) {
        self.left = (!links.is_empty()).then(|| self.fabric.without(links));
    }
    /// Whether a working route leads from one host to the other.
    pub(crate) fn reaches(&self, from: HostId, to: HostId) -> bool {
        self.left.as_ref().is_none_or(|left| left.reaches(from, to))
    }
}
